// Robust statistics of a few latencies.
#pragma once

#include <span>

namespace tw::measure {

// Linear interpolation between order statistics; `q` in [0, 1]; values must not be empty.
double Quantile(std::span<const double> values, double q);
double Median(std::span<const double> values);
// Half the interquartile range.
double Spread(std::span<const double> values);

// Half the width of the distribution-free 95 % confidence interval of the median, over the median
// (Conover, Practical Nonparametric Statistics, section 3.2: the ranks n/2 -+ 0.98 sqrt(n)).
// Infinity for fewer than 3.
double RelativeUncertainty(std::span<const double> values);

}  // namespace tw::measure
