#include <algorithm>
#include <cmath>
#include <limits>

#include "verify/element.h"
#include "verify/reference.h"

namespace tw::verify {

double Tolerance(DType dtype, int64_t reduction_length, double expected, double scale) {
  const double factor = 16 + 4 * std::sqrt(static_cast<double>(reduction_length));
  return Epsilon(dtype) * factor * std::max(std::fabs(expected), scale);
}

Comparison Compare(const Reference& reference, const ExpectedOutput& output, const void* data) {
  const DType dtype = reference.arguments[static_cast<std::size_t>(output.argument)].dtype;
  Comparison result;
  for (std::size_t i = 0; i < output.value.size(); ++i) {
    const int64_t index = output.index.empty() ? static_cast<int64_t>(i) : output.index[i];
    const double expected = output.value[i];
    const double got = Element(dtype, data, index);
    double error;
    if (std::isnan(expected) || std::isnan(got) || std::isinf(expected) || std::isinf(got)) {
      // NaN equals only NaN, an infinity only itself.
      const bool same = (std::isnan(expected) && std::isnan(got)) || expected == got;
      error = same ? 0 : std::numeric_limits<double>::infinity();
    } else {
      const double difference = std::fabs(got - expected);
      const double tolerance = Tolerance(dtype, reference.reduction_length, expected, output.scale);
      error = difference == 0 ? 0
              : tolerance > 0 ? difference / tolerance
                              : std::numeric_limits<double>::infinity();
    }
    if (i == 0 || error > result.worst) result = {error, index, got, expected};
  }
  return result;
}

}  // namespace tw::verify
