#include "base/dtype.h"

#include <gtest/gtest.h>

#include <limits>
#include <set>
#include <string>

namespace tw {
namespace {

constexpr DType kAll[] = {DType::kF16, DType::kBF16, DType::kF32, DType::kF64, DType::kI8,
                          DType::kI16, DType::kI32,  DType::kI64, DType::kU8,  DType::kU16,
                          DType::kU32, DType::kU64,  DType::kBool};

TEST(DType, BothNamesAreReadBackAndDistinct) {
  std::set<std::string_view> names;
  for (DType type : kAll) {
    EXPECT_EQ(ParseDType(ShortName(type)), type) << ShortName(type);
    EXPECT_EQ(ParseDType(LongName(type)), type) << LongName(type);
    names.insert(ShortName(type));
    names.insert(LongName(type));
  }
  EXPECT_EQ(names.size(), 2 * std::size(kAll) - 1) << "only bool has one name";
  EXPECT_EQ(ParseDType("bfloat16"), DType::kBF16);
}

TEST(DType, OtherNamesAreNone) {
  for (const char* name : {"", "f", "f8", "F32", "float", "f32 ", "int128", "float32x4"}) {
    EXPECT_EQ(ParseDType(name), std::nullopt) << name;
  }
}

// The digits of a short name are the bits of an element.
TEST(DType, SizesFollowTheNames) {
  for (DType type : kAll) {
    if (type == DType::kBool) continue;
    const std::string name(ShortName(type));
    EXPECT_EQ(SizeOf(type) * 8, std::stoul(name.substr(name.find_first_of("0123456789")))) << name;
  }
  EXPECT_EQ(SizeOf(DType::kBool), 1U);
}

TEST(DType, IsFloatOrIntegerOrBool) {
  for (DType type : kAll) {
    const bool is_float = ShortName(type).find('f') != std::string_view::npos;
    EXPECT_EQ(IsFloat(type), is_float) << ShortName(type);
    EXPECT_EQ(IsInteger(type), !is_float && type != DType::kBool) << ShortName(type);
    EXPECT_EQ(Epsilon(type) > 0, is_float) << ShortName(type);
  }
}

TEST(DType, EpsilonIsThatOfTheType) {
  EXPECT_EQ(Epsilon(DType::kF32), std::numeric_limits<float>::epsilon());
  EXPECT_EQ(Epsilon(DType::kF64), std::numeric_limits<double>::epsilon());
  EXPECT_EQ(Epsilon(DType::kF16), 1.0 / 1024);
  EXPECT_EQ(Epsilon(DType::kBF16), 1.0 / 128);
}

}  // namespace
}  // namespace tw
