#include "base/dtype.h"

#include <array>

namespace tw {
namespace {

struct Row {
  DType type;
  std::size_t size;
  std::string_view short_name;
  std::string_view long_name;
  double epsilon;
};

constexpr std::array<Row, 13> kRows{{
    {DType::kF16, 2, "f16", "float16", 0x1p-10},
    {DType::kBF16, 2, "bf16", "bfloat16", 0x1p-7},
    {DType::kF32, 4, "f32", "float32", 0x1p-23},
    {DType::kF64, 8, "f64", "float64", 0x1p-52},
    {DType::kI8, 1, "i8", "int8", 0},
    {DType::kI16, 2, "i16", "int16", 0},
    {DType::kI32, 4, "i32", "int32", 0},
    {DType::kI64, 8, "i64", "int64", 0},
    {DType::kU8, 1, "u8", "uint8", 0},
    {DType::kU16, 2, "u16", "uint16", 0},
    {DType::kU32, 4, "u32", "uint32", 0},
    {DType::kU64, 8, "u64", "uint64", 0},
    {DType::kBool, 1, "bool", "bool", 0},
}};

const Row& Of(DType type) { return kRows[static_cast<std::size_t>(type)]; }

}  // namespace

std::size_t SizeOf(DType type) { return Of(type).size; }
std::string_view ShortName(DType type) { return Of(type).short_name; }
std::string_view LongName(DType type) { return Of(type).long_name; }
double Epsilon(DType type) { return Of(type).epsilon; }
bool IsFloat(DType type) { return Of(type).epsilon > 0; }
bool IsInteger(DType type) { return !IsFloat(type) && type != DType::kBool; }

std::optional<DType> ParseDType(std::string_view name) {
  for (const Row& row : kRows) {
    if (name == row.short_name || name == row.long_name) return row.type;
  }
  return std::nullopt;
}

}  // namespace tw
