#include "measure/statistics.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "base/random.h"

namespace tw::measure {
namespace {

using Values = std::vector<double>;

TEST(Statistics, MedianOfOddAndEven) {
  EXPECT_EQ(Median(Values{3}), 3);
  EXPECT_EQ(Median(Values{9, 1, 5}), 5);
  EXPECT_EQ(Median(Values{4, 1, 3, 2}), 2.5);
}

TEST(Statistics, QuantilesInterpolate) {
  const Values values{10, 20, 30, 40, 50};
  EXPECT_EQ(Quantile(values, 0), 10);
  EXPECT_EQ(Quantile(values, 0.25), 20);
  EXPECT_EQ(Quantile(values, 0.9), 46);
  EXPECT_EQ(Quantile(values, 1), 50);
}

TEST(Statistics, SpreadIsHalfTheInterquartileRange) {
  EXPECT_EQ(Spread(Values{7}), 0);
  EXPECT_EQ(Spread(Values{10, 20, 30, 40, 50}), 10);
  EXPECT_EQ(Spread(Values{10, 20, 30, 40, 1e9}), 10) << "one outlier does not move it";
}

TEST(Statistics, UncertaintyOfFewIsInfinite) {
  EXPECT_EQ(RelativeUncertainty(Values{1, 1}), std::numeric_limits<double>::infinity());
  EXPECT_EQ(RelativeUncertainty(Values{2, 2, 2}), 0);
}

TEST(Statistics, UncertaintyIsRelativeToTheMedian) {
  const Values values{9, 10, 11};
  Values scaled;
  for (double v : values) scaled.push_back(v * 1e-6);
  EXPECT_DOUBLE_EQ(RelativeUncertainty(values), 0.1);
  EXPECT_DOUBLE_EQ(RelativeUncertainty(scaled), 0.1);
}

TEST(Statistics, OutliersDoNotInflateTheUncertainty) {
  Values values(50, 1.0);
  values[3] = values[17] = 1000;
  EXPECT_EQ(RelativeUncertainty(values), 0);
}

// With n values, the interval between ranks l and u (from 1) covers the true median with
// probability P(l <= B < u), B binomial(n, 1/2).
double Coverage(int n, int l, int u) {
  double covered = 0;
  for (int k = l; k < u; ++k) {
    covered += std::exp(std::lgamma(n + 1) - std::lgamma(k + 1) - std::lgamma(n - k + 1) -
                        n * std::log(2.0));
  }
  return covered;
}

TEST(Statistics, IntervalIsTheNarrowestThatCoversTheMedian) {
  for (int n = 6; n <= 1500; n += n < 200 ? 1 : 100) {
    Values ranks;  // 1 to n: their interval shows which ranks were taken
    for (int i = 1; i <= n; ++i) ranks.push_back(i);
    const double half = RelativeUncertainty(ranks) * Median(ranks);
    const int l = static_cast<int>(std::lround(Median(ranks) - half));
    const int u = static_cast<int>(std::lround(Median(ranks) + half));
    EXPECT_GE(Coverage(n, l, u), 0.95) << n << " values";
    EXPECT_LT(Coverage(n, l + 1, u - 1), 0.95) << n << " values";
  }
}

TEST(Statistics, IntervalOfVeryFewIsAllOfThem) {
  EXPECT_DOUBLE_EQ(RelativeUncertainty(Values{8, 9, 10, 11, 12}), 0.2);
}

// A/A: two series of one distribution must not look different, and the interval of 200 samples of 1
// % noise is well below 1 %.
TEST(Statistics, SameNoiseSameMedian) {
  Random random(1);
  auto series = [&] {
    Values values;
    for (int i = 0; i < 200; ++i) {
      double noise = 0;
      for (int j = 0; j < 12; ++j) noise += random.Unit() - 0.5;  // standard normal, nearly
      values.push_back(1e-3 * (1 + 0.01 * noise));
    }
    return values;
  };
  int apart = 0;
  for (int trial = 0; trial < 100; ++trial) {
    const Values a = series(), b = series();
    const double ua = RelativeUncertainty(a), ub = RelativeUncertainty(b);
    EXPECT_LT(ua, 0.005);
    apart += std::abs(Median(a) - Median(b)) > ua * Median(a) + ub * Median(b);
  }
  EXPECT_LE(apart, 5);
}

}  // namespace
}  // namespace tw::measure
