#include "search/space.h"

namespace tw::search {

std::vector<Result<StatePtr>> Space::ApplyAll(std::span<const Step> steps) {
  std::vector<Result<StatePtr>> results;
  for (const Step& step : steps) {
    Result<StatePtr> state = step.from;
    for (const Transformation& t : step.sequence) {
      state = Apply(*state, t);
      if (!state.ok()) break;
    }
    results.push_back(std::move(state));
  }
  return results;
}

}  // namespace tw::search
