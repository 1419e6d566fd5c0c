#include "tune/searchers.h"

#include <algorithm>

#include "search/droplet.h"
#include "search/mcts.h"
#include "search/random_proposer.h"
#include "search/random_search.h"
#include "space/evolutionary.h"

namespace tw::tune {

Result<SearchParts> MakeSearcher(const Options& options, space::ScheduleSpace& space,
                                 search::CostModel& model, int threads) {
  SearchParts parts;
  if (options.search == "random") {
    parts.searcher = std::make_unique<search::RandomSearch>(space, options.seed);
  } else if (options.search == "droplet") {
    parts.searcher = std::make_unique<search::Droplet>(space, options.seed);
  } else if (options.search == "evolutionary") {
    tvm_api::EvolutionOptions evolution;
    evolution.threads = threads;
    evolution.seed = std::max<uint64_t>(options.seed, 1);
    TW_TRY(parts.searcher, space::EvolutionarySearcher::Make(space, model, evolution));
  } else if (options.search == "mcts") {
    parts.proposer = std::make_unique<search::RandomProposer>(space, options.seed);
    const auto settings =
        options.preset == "paper" ? search::MctsOptions::Paper() : search::MctsOptions::Default();
    parts.searcher =
        std::make_unique<search::Mcts>(space, *parts.proposer, model, options.seed, settings);
  } else {
    return Fail(Code::kUsage, "no such search '{}'", options.search);
  }
  return parts;
}

Result<std::unique_ptr<space::TrainableCostModel>> MakeCostModel(const Options& options) {
  if (options.cost_model == "random") {
    return std::unique_ptr<space::TrainableCostModel>(new space::RandomCostModel(options.seed));
  }
  space::XgbOptions xgb;
  xgb.seed = options.seed;
  return std::unique_ptr<space::TrainableCostModel>(new space::XgbCostModel(xgb));
}

}  // namespace tw::tune
