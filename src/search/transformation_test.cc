#include "search/transformation.h"

#include <gmock/gmock.h>

#include <numeric>

namespace tw::search {
namespace {

using ::testing::HasSubstr;
using Factors = std::vector<int64_t>;

TEST(Transformation, PrintsInOneLineAndReadsBack) {
  const Transformation t{"TileSize",
                         {{"block", "C_1"}, {"loop", "i"}, {"factors", Factors{1, 4, 16}}}};
  EXPECT_EQ(ToString(t), "TileSize(block=C_1, loop=i, factors=[1,4,16])");
  auto read = ParseTransformation(ToString(t));
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(*read, t);
}

TEST(Transformation, BlanksAreFree) {
  auto read = ParseTransformation("  Unroll ( max_step = 64 ) ");
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(*read, (Transformation{"Unroll", {{"max_step", int64_t{64}}}}));
  EXPECT_TRUE(ParseTransformation("Nothing()").ok());
}

TEST(Transformation, MistakesNameTheirColumn) {
  const std::pair<const char*, const char*> cases[] = {
      {"", "column 1"},
      {"Tile", "column 5: expected '('"},
      {"T(a)", "column 4"},
      {"T(a=)", "column 5: expected a value"},
      {"T(a=[1,)", "column 8"},
      {"T(a=1", "column 6"},
      {"T(a=1) x", "column 8"},
      {"T(a=1, a=2)", "given twice"},
      {"T(a=99999999999999999999)", "64 bits"},
  };
  for (const auto& [text, says] : cases) {
    auto read = ParseTransformation(text);
    ASSERT_FALSE(read.ok()) << text;
    EXPECT_THAT(read.error().message, HasSubstr(says)) << text;
  }
}

TEST(Transformation, FactorizationsAreAllOfThem) {
  for (int64_t product : {1, 7, 12, 64, 360}) {
    const auto all = Factorizations(product, 3, 16);
    std::size_t count = 0;
    for (int64_t a = 1; a <= product; ++a) {
      for (int64_t b = 1; b <= product; ++b) {
        if (product % (a * b) == 0 && product / (a * b) <= 16) ++count;
      }
    }
    EXPECT_EQ(all.size(), count) << product;
    for (const auto& f : all) {
      EXPECT_EQ(std::accumulate(f.begin(), f.end(), int64_t{1}, std::multiplies<>()), product);
    }
  }
  EXPECT_TRUE(Factorizations(7, 1, 4).empty());
}

Domain SomeDomain() {
  return {"T",
          {{"n", Parameter::Kind::kInteger, {0, 2, 8}, {}, 1, 1, 0},
           {"at", Parameter::Kind::kName, {}, {"root", "L0_i"}, 1, 1, 0},
           {"factors", Parameter::Kind::kFactors, {}, {}, 720, 4, 16}},
          1};
}

TEST(Transformation, WhatIsDrawnIsInTheDomain) {
  Random random(1);
  for (int i = 0; i < 2000; ++i) {
    const Transformation t = SampleFrom(SomeDomain(), random);
    const Status status = CheckAgainst(SomeDomain(), t);
    ASSERT_TRUE(status.ok()) << ToString(t) << ": " << status.error().message;
  }
}

TEST(Transformation, WhatIsNotInTheDomainIsRefusedWithAReason) {
  const std::pair<const char*, const char*> cases[] = {
      {"U(n=2, at=root, factors=[1,1,45,16])", "U is not T"},
      {"T(n=3, at=root, factors=[1,1,45,16])", "n=3 is not one of [0,2,8]"},
      {"T(n=2, at=leaf, factors=[1,1,45,16])", "at=leaf is not one of root, L0_i"},
      {"T(n=2, at=root, factors=[1,1,45,15])", "not 4 factors of 720"},
      {"T(n=2, at=root, factors=[1,45,16])", "not 4 factors of 720"},
      {"T(n=2, at=root, factors=[1,1,36,20])", "over its limit of 16"},
      {"T(n=2, at=root, factors=[0,1,1,16])", "not 4 factors"},
      {"T(n=2, at=root, factors=[-1,-1,45,16])", "not 4 factors"},
      {"T(n=2, at=root, factors=7)", "not 4 factors"},
      {"T(n=2, at=root)", "lacks its parameter 'factors'"},
      {"T(n=2, at=root, factors=[1,1,45,16], x=1)", "no parameter 'x'"},
  };
  for (const auto& [text, says] : cases) {
    auto t = ParseTransformation(text);
    ASSERT_TRUE(t.ok()) << text;
    const Status status = CheckAgainst(SomeDomain(), *t);
    ASSERT_FALSE(status.ok()) << text;
    EXPECT_THAT(status.error().message, HasSubstr(says));
  }
}

}  // namespace
}  // namespace tw::search
