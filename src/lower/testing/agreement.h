// For tests: does a compiled program compute what the interpreter says?
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "leir/interpreter.h"
#include "lower/lower.h"
#include "tvm/build.h"
#include "tvm/target.h"

namespace tw::lower::testing {

enum class Range {
  kPositive,  // floats in 0.1 to 0.9, integers 0 to 2: inside the domain of every function, and
              // indices
  kSigned,    // floats in -0.8 to 0.8, signed integers in -80 to 80, unsigned ones to 240
};

// The same numbers for the same argument, element and range.
inline double Unit(std::size_t argument, int64_t i) {
  uint64_t x = (static_cast<uint64_t>(i) + 1) * 0x9e3779b97f4a7c15 + argument * 0x94d049bb133111eb;
  x ^= x >> 29;
  x *= 0xbf58476d1ce4e5b9;
  return static_cast<double>(x >> 40) / static_cast<double>(1 << 24);
}

// 16-bit floats of multiples of 1/16 below 1, which both formats hold exactly.
inline uint16_t Bits16(DType dtype, double value) {
  if (value == 0) return 0;
  int exponent = 0;
  const double fraction = std::frexp(std::fabs(value), &exponent) * 2 - 1;
  const bool half = dtype == DType::kF16;
  const int mantissa = static_cast<int>(fraction * (half ? 1024 : 128));
  const int biased = exponent - 1 + (half ? 15 : 127);
  return static_cast<uint16_t>((value < 0 ? 0x8000 : 0) | biased << (half ? 10 : 7) | mantissa);
}

inline double FromBits16(DType dtype, uint16_t bits) {
  const int wide = dtype == DType::kF16 ? 10 : 7;
  const int mantissa = bits & ((1 << wide) - 1), exponent = (bits & 0x7fff) >> wide;
  const int bias = dtype == DType::kF16 ? 15 : 127;
  const double magnitude = exponent == 0
                               ? std::ldexp(mantissa, 1 - bias - wide)
                               : std::ldexp(mantissa + (1 << wide), exponent - bias - wide);
  return (bits & 0x8000) != 0 ? -magnitude : magnitude;
}

template <typename T>
void SetAs(void* data, int64_t i, double value) {
  static_cast<T*>(data)[i] = static_cast<T>(value);
}

inline void Set(DType dtype, void* data, int64_t i, double value) {
  switch (dtype) {
    case DType::kF32:
      return SetAs<float>(data, i, value);
    case DType::kF64:
      return SetAs<double>(data, i, value);
    case DType::kI8:
      return SetAs<int8_t>(data, i, value);
    case DType::kI16:
      return SetAs<int16_t>(data, i, value);
    case DType::kI32:
      return SetAs<int32_t>(data, i, value);
    case DType::kI64:
      return SetAs<int64_t>(data, i, value);
    case DType::kU16:
      return SetAs<uint16_t>(data, i, value);
    case DType::kU32:
      return SetAs<uint32_t>(data, i, value);
    case DType::kU64:
      return SetAs<uint64_t>(data, i, value);
    case DType::kU8:
    case DType::kBool:
      return SetAs<uint8_t>(data, i, value);
    case DType::kF16:
    case DType::kBF16:
      static_cast<uint16_t*>(data)[i] = Bits16(dtype, value);
  }
}

inline double Get(DType dtype, const void* data, std::size_t i) {
  switch (dtype) {
    case DType::kF32:
      return static_cast<const float*>(data)[i];
    case DType::kF64:
      return static_cast<const double*>(data)[i];
    case DType::kI8:
      return static_cast<const int8_t*>(data)[i];
    case DType::kI16:
      return static_cast<const int16_t*>(data)[i];
    case DType::kI32:
      return static_cast<const int32_t*>(data)[i];
    case DType::kI64:
      return static_cast<double>(static_cast<const int64_t*>(data)[i]);
    case DType::kU16:
      return static_cast<const uint16_t*>(data)[i];
    case DType::kU32:
      return static_cast<const uint32_t*>(data)[i];
    case DType::kU64:
      return static_cast<double>(static_cast<const uint64_t*>(data)[i]);
    case DType::kU8:
    case DType::kBool:
      return static_cast<const uint8_t*>(data)[i];
    case DType::kF16:
    case DType::kBF16:
      return FromBits16(dtype, static_cast<const uint16_t*>(data)[i]);
  }
  return 0;
}

inline double InputValue(DType dtype, Range range, double unit) {
  if (dtype == DType::kBool) return unit > 0.5 ? 1 : 0;
  if (IsInteger(dtype)) {
    if (range == Range::kPositive) return std::floor(unit * 3);
    return ShortName(dtype)[0] == 'u' ? std::floor(unit * 240) : std::floor(unit * 160) - 80;
  }
  const double value = range == Range::kPositive ? 0.1 + 0.8 * unit : 1.6 * unit - 0.8;
  return SizeOf(dtype) == 2 ? std::round(value * 16) / 16 : value;
}

// "" when `module` computes what the interpreter says of `program`; else the first element that
// differs, or the error.
inline std::string Disagreement(const leir::Program& program, const tvm_api::Module& module,
                                Range range) {
  auto target = tvm_api::Target::Parse("llvm", 1);
  if (!target.ok()) return target.error().message;
  auto built = tvm_api::Build(module, *target);
  if (!built.ok()) return built.error().message;
  std::vector<std::vector<double>> storage;  // as much as the widest type needs
  std::vector<tvm_api::TensorView> views;
  leir::Inputs inputs;
  for (const leir::Tensor& t : program.tensors) {
    if (t.role == leir::Role::kTemporary) continue;
    int64_t count = 1;
    for (int64_t extent : t.shape) count *= extent;
    storage.emplace_back(static_cast<std::size_t>(count) + 16);
    const auto address = reinterpret_cast<uintptr_t>(storage.back().data());
    void* data = reinterpret_cast<void*>((address + 63) / 64 * 64);
    for (int64_t i = 0; i < count; ++i) {
      Set(t.dtype, data, i, InputValue(t.dtype, range, Unit(storage.size(), i)));
    }
    views.push_back({data, t.dtype, t.shape});
    if (t.role != leir::Role::kOutput) inputs[t.name] = {t.dtype, t.shape, data};
  }
  auto expected = leir::Evaluate(program, inputs);
  if (!expected.ok()) return expected.error().message;
  if (Status status = built->Run(views); !status.ok()) return status.error().message;
  std::size_t argument = 0;
  for (const leir::Tensor& t : program.tensors) {
    if (t.role == leir::Role::kTemporary) continue;
    const tvm_api::TensorView& view = views[argument++];
    if (t.role != leir::Role::kOutput) continue;
    const leir::TensorValues& want = expected->at(t.name);
    const std::size_t count = std::max(want.real.size(), want.integer.size());
    // Some hundred roundings, and for doubles what TVM's own approximations leave.
    double tolerance = 0;
    if (IsFloat(t.dtype)) {
      tolerance =
          SizeOf(t.dtype) == 2 ? 2 * Epsilon(t.dtype) : std::max(1e-7, 800 * Epsilon(t.dtype));
    }
    for (std::size_t i = 0; i < count; ++i) {
      const double a = Get(t.dtype, view.data, i), b = want.At(i);
      if ((std::isnan(a) && std::isnan(b)) || a == b) continue;
      if (std::abs(a - b) <= tolerance * (1 + std::abs(b))) continue;
      return fmt::format("{}[{}] is {}, expected {}", t.name, i, a, b);
    }
  }
  return "";
}

inline std::string Disagreement(const leir::Program& program, Mode mode,
                                Range range = Range::kPositive) {
  auto module = Lower(program, mode);
  if (!module.ok()) return module.error().message;
  return Disagreement(program, *module, range);
}

}  // namespace tw::lower::testing
