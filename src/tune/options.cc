#include "tune/options.h"

namespace tw::tune {

const std::vector<std::string>& SearcherNames() {
  static const std::vector<std::string> names{"mcts", "random", "droplet", "evolutionary"};
  return names;
}
const std::vector<std::string>& ProposerNames() {
  static const std::vector<std::string> names{"random"};
  return names;
}
const std::vector<std::string>& CostModelNames() {
  static const std::vector<std::string> names{"xgboost", "random"};
  return names;
}

}  // namespace tw::tune
