// 16-bit floats as their bits. Reading is exact; writing rounds a double to nearest even, once.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

namespace tw::verify {

// A double in the normal range of a format with `kMantissa` explicit bits and exponent bias
// `kBias`: the bits without sign, rounded to nearest even. A carry out of the mantissa enters the
// exponent, as it should.
template <int kMantissa, int kBias>
uint16_t RoundNormal(double magnitude) {
  constexpr int kDropped = 52 - kMantissa;
  constexpr uint64_t kHalf = (uint64_t{1} << (kDropped - 1)) - 1;
  const auto bits = std::bit_cast<uint64_t>(magnitude) - (uint64_t{1023 - kBias} << 52);
  return static_cast<uint16_t>((bits + kHalf + ((bits >> kDropped) & 1)) >> kDropped);
}

inline double FromBrainFloat(uint16_t bits) {
  return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
}

inline uint16_t ToBrainFloat(double value) {
  const auto sign = static_cast<uint16_t>(std::signbit(value) ? 0x8000 : 0);
  const double magnitude = std::fabs(value);
  if (std::isnan(value)) return sign | 0x7fc0;
  if (magnitude >= 0x1.ffp127) return sign | 0x7f80;  // rounds to infinity
  if (magnitude >= 0x1p-126) return sign | RoundNormal<7, 127>(magnitude);
  return static_cast<uint16_t>(sign | static_cast<int>(std::nearbyint(magnitude * 0x1p133)));
}

inline double FromHalf(uint16_t bits) {
  const double sign = (bits & 0x8000) != 0 ? -1 : 1;
  const int exponent = (bits >> 10) & 0x1f;
  const int mantissa = bits & 0x3ff;
  if (exponent == 0x1f) return mantissa != 0 ? std::nan("") : sign * INFINITY;
  if (exponent == 0) return sign * std::ldexp(mantissa, -24);
  return sign * std::ldexp(mantissa + 0x400, exponent - 25);
}

inline uint16_t ToHalf(double value) {
  const auto sign = static_cast<uint16_t>(std::signbit(value) ? 0x8000 : 0);
  const double magnitude = std::fabs(value);
  if (std::isnan(value)) return sign | 0x7e00;
  if (magnitude >= 65520) return sign | 0x7c00;  // rounds to infinity
  if (magnitude >= 0x1p-14) return sign | RoundNormal<10, 15>(magnitude);
  // Subnormal, or carries into the first normal.
  return static_cast<uint16_t>(sign | static_cast<int>(std::nearbyint(magnitude * 0x1p24)));
}

}  // namespace tw::verify
