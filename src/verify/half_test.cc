// 16-bit floats against the compiler's own conversions, and their NaNs.
#include "verify/half.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "base/random.h"

namespace tw::verify {
namespace {

#ifdef __FLT16_MANT_DIG__

double ByTheCompiler(uint16_t bits) { return static_cast<double>(std::bit_cast<_Float16>(bits)); }
uint16_t ByTheCompiler(double value) {
  return std::bit_cast<uint16_t>(static_cast<_Float16>(value));
}

TEST(Half, EveryPatternReadsAsTheCompilerReadsIt) {
  for (int bits = 0; bits < 0x10000; ++bits) {
    const auto b = static_cast<uint16_t>(bits);
    const double expected = ByTheCompiler(b), got = FromHalf(b);
    ASSERT_EQ(std::isnan(got), std::isnan(expected)) << bits;
    if (std::isnan(expected)) continue;
    ASSERT_EQ(got, expected) << bits;
    ASSERT_EQ(std::signbit(got), std::signbit(expected)) << bits;
  }
}

// Between, on and beside all neighbours: the numbers where rounding can go wrong.
TEST(Half, RoundsAsTheCompilerRounds) {
  for (int bits = 0; bits < 0x7bff; ++bits) {
    const double low = FromHalf(static_cast<uint16_t>(bits));
    const double high = FromHalf(static_cast<uint16_t>(bits + 1));
    const double tie = (low + high) / 2;
    for (double value : {tie, std::nextafter(tie, low), std::nextafter(tie, high),
                         std::nextafter(low, high), std::nextafter(high, low)}) {
      ASSERT_EQ(ToHalf(value), ByTheCompiler(value)) << value;
      ASSERT_EQ(ToHalf(-value), ByTheCompiler(-value)) << -value;
    }
  }
  Random random(1);
  for (int i = 0; i < 100'000; ++i) {
    const double value = std::ldexp(random.Unit() - 0.5, static_cast<int>(random.Below(60)) - 40);
    ASSERT_EQ(ToHalf(value), ByTheCompiler(value)) << value;
  }
}

#endif

// A bfloat16 is the upper half of a float.
TEST(BrainFloat, RoundsEveryTieToEvenAndTheRestToTheNearest) {
  for (int bits = 0; bits < 0x7f7f; ++bits) {
    const double low = FromBrainFloat(static_cast<uint16_t>(bits));
    const double high = FromBrainFloat(static_cast<uint16_t>(bits + 1));
    const double tie = (low + high) / 2;
    ASSERT_EQ(ToBrainFloat(tie), bits + bits % 2);
    ASSERT_EQ(ToBrainFloat(std::nextafter(tie, low)), bits);
    ASSERT_EQ(ToBrainFloat(std::nextafter(tie, high)), bits + 1);
    ASSERT_EQ(ToBrainFloat(-tie), 0x8000 | (bits + bits % 2));
  }
}

TEST(Half, EveryNanStaysOne) {
  int halves = 0, brain_floats = 0;
  for (int bits = 0; bits < 0x10000; ++bits) {
    const auto b = static_cast<uint16_t>(bits);
    if (std::isnan(FromHalf(b))) {
      ++halves;
      ASSERT_TRUE(std::isnan(FromHalf(ToHalf(FromHalf(b))))) << bits;
    }
    if (std::isnan(FromBrainFloat(b))) {
      ++brain_floats;
      ASSERT_TRUE(std::isnan(FromBrainFloat(ToBrainFloat(FromBrainFloat(b))))) << bits;
    }
  }
  EXPECT_EQ(halves, 2 * 1023);
  EXPECT_EQ(brain_floats, 2 * 127);
}

}  // namespace
}  // namespace tw::verify
