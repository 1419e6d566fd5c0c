#include <cmath>
#include <cstring>
#include <numbers>

#include "base/random.h"
#include "verify/half.h"
#include "verify/reference.h"

namespace tw::verify {
namespace {

// A counter-based generator: the number at (seed, argument, index) needs none of the others. One
// SplitMix64 output per element, with the seed of its own stream.
class Stream {
 public:
  Stream(uint64_t seed, int argument) {
    Random mix(seed ^ (0x9e3779b97f4a7c15 * static_cast<uint64_t>(argument + 1)));
    start_ = mix.Next();
  }
  uint64_t Bits(int64_t index) const {
    uint64_t z = start_ + 0x9e3779b97f4a7c15 * static_cast<uint64_t>(index + 1);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  double Unit(int64_t index) const { return static_cast<double>(Bits(index) >> 11) * 0x1p-53; }

 private:
  uint64_t start_;
};

double Draw(Distribution distribution, const Stream& stream, int64_t index) {
  switch (distribution) {
    case Distribution::kUniform:
      return 2 * stream.Unit(index) - 1;
    case Distribution::kPositive:
      return 0.5 + stream.Unit(index);
    case Distribution::kNormal: {
      // Box-Muller from the two halves of one output.
      const uint64_t bits = stream.Bits(index);
      const double u = (static_cast<double>(bits >> 32) + 1) * 0x1p-32;
      const double v = static_cast<double>(bits & 0xffffffff) * 0x1p-32;
      return std::sqrt(-2 * std::log(u)) * std::cos(2 * std::numbers::pi * v);
    }
  }
  return 0;
}

template <typename T, typename Convert>
void Fill(Distribution distribution, const Stream& stream, int64_t count, void* data,
          Convert convert) {
  T* out = static_cast<T*>(data);
  for (int64_t i = 0; i < count; ++i) out[i] = convert(Draw(distribution, stream, i));
}

// Small integers: sums of products stay exact in every accumulator type.
template <typename T>
void FillIntegers(const Stream& stream, int64_t count, void* data, bool is_signed) {
  T* out = static_cast<T*>(data);
  for (int64_t i = 0; i < count; ++i) {
    const auto value = static_cast<int64_t>(stream.Bits(i) >> 61);  // 0 to 7
    out[i] = static_cast<T>(is_signed ? value - 4 : value);
  }
}

}  // namespace

void FillInput(Distribution distribution, uint64_t seed, int argument, DType dtype, int64_t count,
               void* data) {
  const Stream stream(seed, argument);
  switch (dtype) {
    case DType::kF32:
      return Fill<float>(distribution, stream, count, data,
                         [](double x) { return static_cast<float>(x); });
    case DType::kF64:
      return Fill<double>(distribution, stream, count, data, [](double x) { return x; });
    case DType::kF16:
      return Fill<uint16_t>(distribution, stream, count, data, ToHalf);
    case DType::kBF16:
      return Fill<uint16_t>(distribution, stream, count, data, ToBrainFloat);
    case DType::kBool: {
      auto* out = static_cast<uint8_t*>(data);
      for (int64_t i = 0; i < count; ++i) out[i] = static_cast<uint8_t>(stream.Bits(i) >> 63);
      return;
    }
    case DType::kI8:
      return FillIntegers<int8_t>(stream, count, data, true);
    case DType::kI16:
      return FillIntegers<int16_t>(stream, count, data, true);
    case DType::kI32:
      return FillIntegers<int32_t>(stream, count, data, true);
    case DType::kI64:
      return FillIntegers<int64_t>(stream, count, data, true);
    case DType::kU8:
      return FillIntegers<uint8_t>(stream, count, data, false);
    case DType::kU16:
      return FillIntegers<uint16_t>(stream, count, data, false);
    case DType::kU32:
      return FillIntegers<uint32_t>(stream, count, data, false);
    case DType::kU64:
      return FillIntegers<uint64_t>(stream, count, data, false);
  }
}

}  // namespace tw::verify
