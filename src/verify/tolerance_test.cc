// Tolerances, the comparison, and 16-bit floats.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "verify/element.h"
#include "verify/half.h"
#include "verify/reference.h"

namespace tw::verify {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
const double kNan = std::nan("");

Reference OneOutput(DType dtype, std::vector<double> expected, int64_t reduction_length = 1) {
  Reference r;
  r.arguments = {{"C", dtype, {static_cast<int64_t>(expected.size())}, true}};
  r.reduction_length = reduction_length;
  ExpectedOutput output;
  output.scale = RootMeanSquare(expected);
  output.value = std::move(expected);
  r.outputs = {output};
  return r;
}

template <typename T>
double Worst(const Reference& r, const std::vector<T>& got) {
  return Compare(r, r.outputs[0], got.data()).worst;
}

TEST(Tolerance, GrowsWithTypeReductionAndScale) {
  const double f32 = Tolerance(DType::kF32, 1, 1.0, 1.0);
  EXPECT_DOUBLE_EQ(f32, Epsilon(DType::kF32) * 20);
  EXPECT_DOUBLE_EQ(Tolerance(DType::kF32, 10000, 1.0, 1.0), Epsilon(DType::kF32) * 416);
  EXPECT_DOUBLE_EQ(Tolerance(DType::kF32, 1, 0.0, 3.0), 3 * f32);
  EXPECT_DOUBLE_EQ(Tolerance(DType::kF32, 1, -7.0, 3.0), 7 * f32);
  EXPECT_DOUBLE_EQ(Tolerance(DType::kF64, 1, 1.0, 1.0), Epsilon(DType::kF64) * 20);
}

TEST(Tolerance, NeverPassesAnEighth) {
  for (DType dtype : {DType::kF16, DType::kBF16}) {
    EXPECT_LE(Tolerance(dtype, 1 << 20, 1.0, 1.0), 0.125);
  }
}

TEST(Tolerance, IsExactForIntegersAndAtLeastTheSmallestNormal) {
  for (DType dtype : {DType::kI8, DType::kU32, DType::kI64, DType::kBool}) {
    EXPECT_EQ(Tolerance(dtype, 1000, 100, 100), 0);
  }
  EXPECT_EQ(Tolerance(DType::kF32, 1, 1e-60, 1e-60), 0x1p-126);
}

TEST(Compare, NanEqualsOnlyNanAndInfinityOnlyItself) {
  const Reference r = OneOutput(DType::kF32, {kNan, kInf, -kInf, 1});
  const auto nan = std::nanf("");
  const auto inf = std::numeric_limits<float>::infinity();
  EXPECT_EQ(Worst<float>(r, {nan, inf, -inf, 1}), 0);
  EXPECT_EQ(Worst<float>(r, {0, inf, -inf, 1}), kInf);
  EXPECT_EQ(Worst<float>(r, {nan, -inf, -inf, 1}), kInf);
  EXPECT_EQ(Worst<float>(r, {nan, 3e38f, -inf, 1}), kInf);
  EXPECT_EQ(Worst<float>(r, {nan, inf, nan, 1}), kInf);
  EXPECT_EQ(Worst<float>(r, {nan, inf, -inf, inf}), kInf);
  EXPECT_EQ(Worst<float>(r, {nan, inf, -inf, nan}), kInf);
}

TEST(Compare, SaysWhereTheLargestErrorIs) {
  const Reference r = OneOutput(DType::kF64, {1, 2, 3, 4});
  const Comparison c = Compare(r, r.outputs[0], std::vector<double>{1, 2.5, 2, 4}.data());
  EXPECT_GT(c.worst, 1);
  EXPECT_EQ(c.index, 2);
  EXPECT_EQ(c.got, 2);
  EXPECT_EQ(c.expected, 3);
}

TEST(Compare, LooksAtPointsByTheirIndex) {
  Reference r = OneOutput(DType::kI32, {5, 7});
  r.arguments[0].shape = {100};
  r.outputs[0].index = {3, 99};
  std::vector<int32_t> got(100, -1);
  got[3] = 5;
  got[99] = 7;
  EXPECT_EQ(Worst<int32_t>(r, got), 0);
  got[99] = 8;
  EXPECT_EQ(Worst<int32_t>(r, got), kInf);
}

TEST(Compare, AConstantIsNoAnswer) {
  std::vector<double> expected;
  for (int i = 0; i < 1000; ++i) expected.push_back(std::sin(i));
  for (DType dtype : {DType::kF16, DType::kBF16}) {
    // However long the sum.
    const Reference r = OneOutput(dtype, expected, 1 << 20);
    EXPECT_GT(Worst<uint16_t>(r, std::vector<uint16_t>(1000, 0)), 1);
  }
  const Reference r = OneOutput(DType::kF32, expected, 1 << 20);
  for (float constant : {0.0f, 0.5f, -1.0f}) {
    EXPECT_GT(Worst<float>(r, std::vector<float>(1000, constant)), 1);
  }
}

// Cancellation: elements near 0 whose terms are of size 1 carry errors of the size of the terms.
TEST(Compare, AcceptsRightSumsInAnyOrderAndRejectsOneMissingTerm) {
  constexpr int kLength = 4096, kOutputs = 64;
  std::vector<float> terms(kLength * kOutputs);
  FillInput(Distribution::kUniform, 7, 0, DType::kF32, kLength * kOutputs, terms.data());
  std::vector<double> expected;
  std::vector<float> forwards, blocked, short_of_one;
  for (int o = 0; o < kOutputs; ++o) {
    const float* t = &terms[static_cast<std::size_t>(o) * kLength];
    double exact = 0;
    float sum = 0, lanes[16] = {};
    for (int i = 0; i < kLength; ++i) {
      exact += t[i];
      sum += t[i];
      lanes[i % 16] += t[i];
    }
    float total = 0;
    for (float lane : lanes) total += lane;
    expected.push_back(exact);
    forwards.push_back(sum);
    blocked.push_back(total);
    short_of_one.push_back(sum - t[kLength - 1]);
  }
  const Reference r = OneOutput(DType::kF32, expected, kLength);
  EXPECT_LT(Worst(r, forwards), 0.5);
  EXPECT_LT(Worst(r, blocked), 0.5);
  EXPECT_GT(Worst(r, short_of_one), 10);
}

TEST(Compare, TemporariesOfFewerBitsWidenTheTolerance) {
  Reference r = OneOutput(DType::kF32, {1, -1});
  const std::vector<float> got{1.002f, -1};
  EXPECT_GT(Worst(r, got), 1);
  r.precision = DType::kF16;
  EXPECT_LT(Worst(r, got), 1);
  r.precision = DType::kF64;  // more bits change nothing
  EXPECT_GT(Worst(r, got), 1);
}

TEST(Saturate, MakesInfinitiesWhereTheTypeDoes) {
  EXPECT_EQ(Saturate(DType::kF16, 65519), 65519);
  EXPECT_EQ(Saturate(DType::kF16, -65520), -kInf);
  EXPECT_EQ(Saturate(DType::kBF16, 3.4e38), kInf);
  EXPECT_EQ(Saturate(DType::kF32, 1e39), kInf);
  EXPECT_EQ(Saturate(DType::kF64, 1e300), 1e300);
  EXPECT_EQ(Saturate(DType::kI32, 1e12), 1e12);
  EXPECT_TRUE(std::isnan(Saturate(DType::kF16, kNan)));
}

TEST(Half, EveryValueSurvivesTheRoundTrip) {
  for (int bits = 0; bits < 0x10000; ++bits) {
    const auto b = static_cast<uint16_t>(bits);
    if (!std::isnan(FromHalf(b))) {
      EXPECT_EQ(ToHalf(FromHalf(b)), b);
    }
    if (!std::isnan(FromBrainFloat(b))) {
      EXPECT_EQ(ToBrainFloat(FromBrainFloat(b)), b);
    }
  }
  EXPECT_TRUE(std::isnan(FromHalf(ToHalf(kNan))));
  EXPECT_TRUE(std::isnan(FromBrainFloat(ToBrainFloat(kNan))));
}

TEST(Half, RoundsToNearestEvenOnce) {
  EXPECT_EQ(ToHalf(1 + 0x1p-11), 0x3c00);  // a tie goes to the even neighbour
  EXPECT_EQ(ToHalf(1 + 3 * 0x1p-11), 0x3c02);
  EXPECT_EQ(ToHalf(1 + 0x1p-11 + 0x1p-40), 0x3c01);  // no tie: float would make it one
  EXPECT_EQ(ToHalf(65519.999), 0x7bff);
  EXPECT_EQ(ToHalf(-65520), 0xfc00);
  EXPECT_EQ(ToHalf(0x1p-14 - 0x1p-26), 0x0400);  // carries into the first normal
  EXPECT_EQ(ToHalf(-0.0), 0x8000);
  EXPECT_EQ(ToBrainFloat(1 + 0x1p-8), 0x3f80);
  EXPECT_EQ(ToBrainFloat(1 + 0x1p-8 + 0x1p-40), 0x3f81);
  EXPECT_EQ(ToBrainFloat(1e39), 0x7f80);
  EXPECT_EQ(ToBrainFloat(-1e-45), 0x8000);
}

TEST(Element, ReadsEveryType) {
  const std::vector<uint8_t> bytes(8, 0xff);
  EXPECT_EQ(Element(DType::kI8, bytes.data(), 3), -1);
  EXPECT_EQ(Element(DType::kU8, bytes.data(), 3), 255);
  EXPECT_EQ(Element(DType::kI16, bytes.data(), 1), -1);
  EXPECT_EQ(Element(DType::kU16, bytes.data(), 1), 65535);
  EXPECT_EQ(Element(DType::kI64, bytes.data(), 0), -1);
  EXPECT_EQ(Element(DType::kU32, bytes.data(), 1), 4294967295.0);
  EXPECT_TRUE(std::isnan(Element(DType::kF16, bytes.data(), 0)));
  EXPECT_TRUE(std::isnan(Element(DType::kF64, bytes.data(), 0)));
}

}  // namespace
}  // namespace tw::verify
