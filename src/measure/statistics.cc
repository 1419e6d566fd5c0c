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

// The largest k (from 0) such that the true median lies below the k-th of n sorted values with a
// probability of at most 2.5 %: P(B <= k) for B binomial(n, 1/2). 0 when there is none.
std::size_t LowRank(std::size_t n) {
  double log_term = -static_cast<double>(n) * std::log(2.0);  // log P(B = 0)
  double below = std::exp(log_term);
  std::size_t low = 0;
  for (std::size_t k = 1; 2 * k < n; ++k) {
    log_term += std::log(static_cast<double>(n - k + 1) / static_cast<double>(k));
    below += std::exp(log_term);
    if (below > 0.025) break;
    low = k;
  }
  return low;
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
  const std::size_t low = LowRank(sorted.size());
  return (sorted[sorted.size() - 1 - low] - sorted[low]) / 2 / QuantileOfSorted(sorted, 0.5);
}

}  // namespace tw::measure
