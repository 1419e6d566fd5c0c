#include "llm/tokens.h"

#include <gtest/gtest.h>

namespace tw::llm {
namespace {

TEST(Tokens, EstimateFromAbove) {
  // Tokens as o200k_base and cl100k_base count them (the larger of the two).
  struct Case {
    const char* text;
    int64_t real;
  };
  const Case cases[] = {
      {"for i0, j0 in T.grid(1024, 1024):\n    with T.sblock(\"C\"):\n        vi, vj = "
       "T.axis.remap(\"SS\", [i0, j0])\n",
       45},
      {"L^{m}_{i=0} L^{n}_{j=0} [ C_{i,j} = C_{i,j} + A_{i,r}*B_{r,j}; ];", 41},
      {"Propose a sequence of transformations and say why each one helps.", 13},
      {"{\"name\":\"TileSize\",\"parameters\":{\"block\":\"matmul\",\"loop\":2,\"factors\":[1,1,"
       "128,16]}}",
       29},
      {"vfmadd231ps ymm0, ymm1, ymmword ptr [rdi + 4*rax + 128]", 29},
      {"f32[2048,7168]", 9},
      {"Ünïcödé und 中文字符", 11},
      {"================ --------", 2},
  };
  for (const Case& test : cases) {
    SCOPED_TRACE(test.text);
    EXPECT_GE(EstimateTokens(test.text), test.real);
    EXPECT_LE(EstimateTokens(test.text), 2 * test.real + 4);
  }
}

TEST(Tokens, MessagesCostTheirTemplate) {
  EXPECT_EQ(EstimateTokens(""), 0);
  EXPECT_EQ(EstimateTokens(std::vector<Message>{}), 8);
  EXPECT_EQ(EstimateTokens({{"user", "one two"}}), 8 + 8 + 2 + 2);
}

}  // namespace
}  // namespace tw::llm
