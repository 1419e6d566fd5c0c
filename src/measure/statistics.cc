#include "measure/statistics.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace tw::measure {
namespace {

std::vector<double> Sorted(std::span<const double> values) {
  std::vector<double> sorted(values.begin(), values.end());
  std::sort(sorted.begin(), sorted.end());
  return sorted;
}

double QuantileOfSorted(const std::vector<double>& sorted, double q) {
  const double at = q * static_cast<double>(sorted.size() - 1);
  const auto low = static_cast<std::size_t>(at);
  const std::size_t high = std::min(low + 1, sorted.size() - 1);
  return sorted[low] + (at - static_cast<double>(low)) * (sorted[high] - sorted[low]);
}

}  // namespace

double Quantile(std::span<const double> values, double q) {
  return QuantileOfSorted(Sorted(values), q);
}

double Median(std::span<const double> values) { return Quantile(values, 0.5); }

double Spread(std::span<const double> values) {
  const std::vector<double> sorted = Sorted(values);
  return (QuantileOfSorted(sorted, 0.75) - QuantileOfSorted(sorted, 0.25)) / 2;
}

double RelativeUncertainty(std::span<const double> values) {
  if (values.size() < 3) return std::numeric_limits<double>::infinity();
  const std::vector<double> sorted = Sorted(values);
  const double n = static_cast<double>(sorted.size());
  const double half = 0.98 * std::sqrt(n);
  const auto low = static_cast<std::size_t>(std::max(0.0, std::floor(n / 2 - half)));
  const auto high = static_cast<std::size_t>(std::min(n - 1, std::ceil(n / 2 + half)));
  return (sorted[high] - sorted[low]) / 2 / QuantileOfSorted(sorted, 0.5);
}

}  // namespace tw::measure
