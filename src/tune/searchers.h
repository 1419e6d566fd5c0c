// Names to objects: the searcher, proposer and cost model that the options ask for.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "search/evaluator.h"
#include "search/proposer.h"
#include "search/searcher.h"
#include "space/schedule_space.h"
#include "tune/options.h"

namespace tw::tune {

struct SearchParts {
  std::unique_ptr<search::Proposer> proposer;
  std::unique_ptr<search::Searcher> searcher;
};

Result<SearchParts> MakeSearcher(const Options& options, space::ScheduleSpace& space,
                                 search::CostModel& model);

}  // namespace tw::tune
