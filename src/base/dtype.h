// Element types of tensors, with the names used by LEIR (f32) and by TVM and numpy (float32).
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace tw {

enum class DType { kF16, kBF16, kF32, kF64, kI8, kI16, kI32, kI64, kU8, kU16, kU32, kU64, kBool };

std::size_t SizeOf(DType type);                          // bytes of one element
std::string_view ShortName(DType type);                  // "f32"
std::string_view LongName(DType type);                   // "float32"
std::optional<DType> ParseDType(std::string_view name);  // either name
bool IsFloat(DType type);
bool IsInteger(DType type);  // signed or unsigned, not bool
// Distance from 1 to the next representable number; 0 for integers and bool.
double Epsilon(DType type);

}  // namespace tw
