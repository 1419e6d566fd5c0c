#include <algorithm>
#include <cmath>
#include <limits>

#include "verify/element.h"
#include "verify/reference.h"

namespace tw::verify {

namespace {

constexpr double kLargestRelative = 0.125;

struct FloatRange {
  double smallest_normal;
  double infinite_from;  // numbers from here on round to infinity
};

FloatRange RangeOf(DType dtype) {
  switch (dtype) {
    case DType::kF16:
      return {0x1p-14, 65520};
    case DType::kBF16:
      return {0x1p-126, 0x1.ffp127};
    case DType::kF32:
      return {0x1p-126, 0x1.ffffffp127};
    default:
      return {std::numeric_limits<double>::min(), std::numeric_limits<double>::infinity()};
  }
}

}  // namespace

double Tolerance(DType precision, int64_t reduction_length, double expected, double scale) {
  if (!IsFloat(precision)) return 0;
  const double relative =
      Epsilon(precision) * (16 + 4 * std::sqrt(static_cast<double>(reduction_length)));
  return std::max(std::min(relative, kLargestRelative) * std::max(std::fabs(expected), scale),
                  RangeOf(precision).smallest_normal);
}

double Saturate(DType dtype, double value) {
  if (!IsFloat(dtype) || std::fabs(value) < RangeOf(dtype).infinite_from) return value;
  return std::isnan(value) ? value : std::copysign(std::numeric_limits<double>::infinity(), value);
}

Comparison Compare(const Reference& reference, const ExpectedOutput& output, const void* data) {
  const DType dtype = reference.arguments[static_cast<std::size_t>(output.argument)].dtype;
  const bool coarser = IsFloat(dtype) && Epsilon(reference.precision) > Epsilon(dtype);
  const DType precision = coarser ? reference.precision : dtype;
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
      const double tolerance =
          Tolerance(precision, reference.reduction_length, expected, output.scale);
      error = difference == 0 ? 0
              : tolerance > 0 ? difference / tolerance
                              : std::numeric_limits<double>::infinity();
    }
    if (i == 0 || error > result.worst) result = {error, index, got, expected};
  }
  return result;
}

}  // namespace tw::verify
