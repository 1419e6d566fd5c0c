// Reads one element of a raw buffer as a double.
#pragma once

#include <cstdint>
#include <cstring>

#include "base/dtype.h"
#include "verify/half.h"

namespace tw::verify {

template <typename T>
double ElementAs(const void* data, int64_t index) {
  T value;
  std::memcpy(&value, static_cast<const char*>(data) + index * static_cast<int64_t>(sizeof(T)),
              sizeof(T));
  return static_cast<double>(value);
}

inline double Element(DType dtype, const void* data, int64_t index) {
  switch (dtype) {
    case DType::kF32:
      return ElementAs<float>(data, index);
    case DType::kF64:
      return ElementAs<double>(data, index);
    case DType::kF16:
    case DType::kBF16: {
      uint16_t bits;
      std::memcpy(&bits, static_cast<const char*>(data) + index * 2, 2);
      return dtype == DType::kF16 ? FromHalf(bits) : FromBrainFloat(bits);
    }
    case DType::kBool:
    case DType::kU8:
      return ElementAs<uint8_t>(data, index);
    case DType::kI8:
      return ElementAs<int8_t>(data, index);
    case DType::kI16:
      return ElementAs<int16_t>(data, index);
    case DType::kI32:
      return ElementAs<int32_t>(data, index);
    case DType::kI64:
      return ElementAs<int64_t>(data, index);
    case DType::kU16:
      return ElementAs<uint16_t>(data, index);
    case DType::kU32:
      return ElementAs<uint32_t>(data, index);
    case DType::kU64:
      return ElementAs<uint64_t>(data, index);
  }
  return 0;
}

}  // namespace tw::verify
