// Cheap estimates for many states. Measurements reach the searcher through Searcher::Observe.
#pragma once

#include <span>
#include <vector>

#include "search/space.h"

namespace tw::search {

class CostModel {
 public:
  virtual ~CostModel() = default;
  // Score of each state, higher is faster: predicted throughput relative to the best measured,
  // about 0 to 1.
  virtual std::vector<double> Predict(std::span<const StatePtr> states) = 0;
};

}  // namespace tw::search
