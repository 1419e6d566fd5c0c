#include <algorithm>

#include "tune/workload.h"

namespace tw::tune {

const std::vector<BuiltIn>& BuiltIns() {
  static const std::vector<BuiltIn> workloads{
#include "workloads.inc"
  };
  return workloads;
}

std::string Describe(const BuiltIn& workload) {
  std::size_t start = workload.text.find('#');
  if (start == std::string_view::npos) return "";
  start = workload.text.find_first_not_of("# ", start);
  if (start == std::string_view::npos) return "";
  return std::string(workload.text.substr(start, workload.text.find('\n', start) - start));
}

}  // namespace tw::tune
