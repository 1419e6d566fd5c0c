#include <numbers>
#include <type_traits>

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

// The sum of four uniform numbers of 16 bits, centred and scaled to variance 1 (Irwin-Hall):
// bell-shaped, within +-3.47.
double NearlyNormal(uint64_t bits) {
  const auto sum = static_cast<int64_t>((bits & 0xffff) + (bits >> 16 & 0xffff) +
                                        (bits >> 32 & 0xffff) + (bits >> 48));
  return static_cast<double>(sum + 2 - (int64_t{1} << 17)) * (std::numbers::sqrt3 / 65536);
}

// Every distribution uses only operations that IEEE 754 rounds exactly, so that a reference file
// means the same inputs on every machine and with every C library.
template <typename T, typename Convert>
void Fill(Distribution distribution, const Stream& stream, int64_t count, void* data,
          Convert convert) {
  T* out = static_cast<T*>(data);
  switch (distribution) {
    case Distribution::kUniform:
      for (int64_t i = 0; i < count; ++i) out[i] = convert(2 * stream.Unit(i) - 1);
      return;
    case Distribution::kPositive:
      for (int64_t i = 0; i < count; ++i) out[i] = convert(0.5 + stream.Unit(i));
      return;
    case Distribution::kNormal:
      for (int64_t i = 0; i < count; ++i) out[i] = convert(NearlyNormal(stream.Bits(i)));
      return;
  }
}

// Small integers: sums of products stay exact in every accumulator type. Positive ones are 0 to 3,
// so that they can be indices of whatever has at least four elements.
template <typename T>
void FillIntegers(Distribution distribution, const Stream& stream, int64_t count, void* data) {
  T* out = static_cast<T*>(data);
  const int drop = distribution == Distribution::kPositive ? 62 : 61;
  const int64_t lowest = drop == 61 && std::is_signed_v<T> ? -4 : 0;
  for (int64_t i = 0; i < count; ++i) {
    out[i] = static_cast<T>(lowest + static_cast<int64_t>(stream.Bits(i) >> drop));
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
      return FillIntegers<int8_t>(distribution, stream, count, data);
    case DType::kI16:
      return FillIntegers<int16_t>(distribution, stream, count, data);
    case DType::kI32:
      return FillIntegers<int32_t>(distribution, stream, count, data);
    case DType::kI64:
      return FillIntegers<int64_t>(distribution, stream, count, data);
    case DType::kU8:
      return FillIntegers<uint8_t>(distribution, stream, count, data);
    case DType::kU16:
      return FillIntegers<uint16_t>(distribution, stream, count, data);
    case DType::kU32:
      return FillIntegers<uint32_t>(distribution, stream, count, data);
    case DType::kU64:
      return FillIntegers<uint64_t>(distribution, stream, count, data);
  }
}

}  // namespace tw::verify
