// Names to objects: the searcher, proposer and cost model that the options ask for.
#pragma once

#include <memory>

#include "base/result.h"
#include "search/proposer.h"
#include "search/searcher.h"
#include "space/cost_model.h"
#include "space/schedule_space.h"
#include "tune/options.h"

namespace tw::tune {

struct SearchParts {
  std::unique_ptr<search::Proposer> proposer;  // of mcts
  std::unique_ptr<search::Searcher> searcher;
};

// `space` and `model` must outlive what is returned.
Result<SearchParts> MakeSearcher(const Options& options, space::ScheduleSpace& space,
                                 search::CostModel& model, int threads);
Result<std::unique_ptr<space::TrainableCostModel>> MakeCostModel(const Options& options);

}  // namespace tw::tune
