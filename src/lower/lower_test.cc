// What the blocks look like, and that types, orders and splits compute what the interpreter says.
#include "lower/lower.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.h"
#include "leir/parser.h"
#include "lower/testing/agreement.h"
#include "tvm/runtime.h"
#include "tvm/schedule.h"

namespace tw::lower {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class LowerTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    const auto loaded = tvm_api::Load();
    ASSERT_TRUE(loaded.ok()) << loaded.error().message;
  }

  static leir::Program Parse(const std::string& text) {
    auto program = leir::ParseFile("leir 1\n" + text, "test.leir");
    EXPECT_TRUE(program.ok()) << program.error().message;
    return std::move(program).value();
  }
  static std::string Script(const std::string& text, Mode mode = Mode::kForScheduling) {
    const auto module = Lower(Parse(text), mode);
    EXPECT_TRUE(module.ok()) << module.error().message;
    return module->Script();
  }
  static int Count(const std::string& text, const std::string& part) {
    int count = 0;
    for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
      ++count;
    }
    return count;
  }
  static void Agrees(const std::string& text) {
    for (Mode mode : {Mode::kForScheduling, Mode::kAsWritten}) {
      EXPECT_EQ(testing::Disagreement(Parse(text), mode, testing::Range::kSigned), "") << text;
    }
  }
};

TEST_F(LowerTest, AMatmulIsOneBlockWithAnInit) {
  const std::string script = Script(R"(input A: f32[8,16]
input B: f32[16,4]
output C: f32[8,4]
L^{8}_{i=0} L^{4}_{j=0} L^{16}_{r=0} [ C_{i,j} = C_{i,j} + A_{i,r}*B_{r,j}; ];
)");
  EXPECT_THAT(script, HasSubstr("def main(A: T.Buffer((8, 16), \"float32\")"));
  EXPECT_THAT(script, HasSubstr("T.axis.remap(\"SSR\", [i, j, r])"));
  EXPECT_THAT(script, HasSubstr("T.reads(A[v_i, v_r], B[v_r, v_j])"));
  EXPECT_THAT(script, HasSubstr("T.writes(C[v_i, v_j])"));
  EXPECT_THAT(script, HasSubstr("with T.init():"));
  EXPECT_THAT(script, HasSubstr("C[v_i, v_j] + A[v_i, v_r] * B[v_r, v_j]"));
  EXPECT_THAT(script, HasSubstr("\"tirx.noalias\": True"));
}

TEST_F(LowerTest, AnUpdateOfWhatIsThereHasNoInitAndItsBlockAnotherName) {
  const std::string script = Script(R"(input A: f32[8,16]
input Bias: f32[8]
output C: f32[8]
L^{8}_{i=0} L^{16}_{r=0} [ C_{i} = C_{i} + A_{i,r}; ];
L^{8}_{i=0} [ C_{i} = C_{i} + Bias_{i}; ];
L^{8}_{i=0} L^{16}_{r=0} [ C_{i} = C_{i} + A_{i,r}*2; ];
)");
  EXPECT_EQ(Count(script, "T.init()"), 1);
  EXPECT_THAT(script, HasSubstr("sblock(\"C\")"));
  EXPECT_THAT(script, HasSubstr("sblock(\"C_1\")"));
  EXPECT_THAT(script, HasSubstr("sblock(\"C_2\")"));
}

TEST_F(LowerTest, APaddedReadIsLazy) {
  const char* text = R"(input X: f32[8]
output C: f32[10]
L^{10}_{i=0} [ C_{i} = if_then_else(0 <= i-1 < 8, X_{i-1}, 0); ];
)";
  const std::string script = Script(text);
  EXPECT_THAT(script, HasSubstr("T.if_then_else("));
  EXPECT_THAT(script, HasSubstr("T.reads(X[v_i - 1])"));
  Agrees(text);
}

TEST_F(LowerTest, AGatheredDimensionIsReadWhole) {
  EXPECT_THAT(Script(R"(input X: f32[8,4]
input Row: i64[5]
output C: f32[5,4]
L^{5}_{i=0} L^{4}_{j=0} [ C_{i,j} = X_{Row_{i},j}; ];
)"),
              HasSubstr("T.reads(X[0:8, v_j], Row[v_i])"));
}

TEST_F(LowerTest, StatementsThatDoNotDependOnTheOrderAreTakenApart) {
  const std::string split = Script(R"(input A: f32[8,16]
output C: f32[8]
output D: f32[8]
L^{8}_{i=0} [ L^{16}_{r=0} [ C_{i} = C_{i} + A_{i,r}; ]; D_{i} = C_{i}*2; ];
)");
  EXPECT_EQ(Count(split, "for i in"), 1);  // the second one has a loop of its own
  EXPECT_EQ(Count(split, "T.grid(8, 16)"), 1);
  // The same, but D takes part in every turn of r.
  const std::string kept = Script(R"(input A: f32[8,16]
output C: f32[8]
output D: f32[8]
L^{8}_{i=0} L^{16}_{r=0} [ C_{i} = C_{i} + A_{i,r}; D_{i} = D_{i} + C_{i}; ];
)");
  EXPECT_EQ(Count(kept, "T.grid(8, 16)"), 1);
  EXPECT_EQ(Count(kept, "sblock(\"D\")"), 1);
}

TEST_F(LowerTest, SplitAndKeptNestsComputeTheSame) {
  Agrees(R"(input A: f32[8,16]
output C: f32[8]
output D: f32[8]
L^{8}_{i=0} [ L^{16}_{r=0} [ C_{i} = C_{i} + A_{i,r}; ]; D_{i} = C_{i}*2; ];
)");
  Agrees(R"(input A: f32[8,16]
output C: f32[8]
output D: f32[8]
L^{8}_{i=0} L^{16}_{r=0} [ C_{i} = C_{i} + A_{i,r}; D_{i} = D_{i} + C_{i}; ];
)");
  Agrees(R"(input A: f32[9]
output C: f32[9]
output D: f32[9]
L^{9}_{i=0} [ D_{i} = A_{i}; ];
L^{9}_{i=0} [ C_{i} = D_{8-i}; D_{i} = D_{i} + 1; ];
)");
}

TEST_F(LowerTest, PrefixFormsRunInOrder) {
  const char* text = R"(input A: f32[3,9]
output C: f32[3,9]
L^{3}_{n=0} L^{9}_{i=0} [ C_{n,i} = C_{n,i-1} + A_{n,i}; ];
)";
  const std::string script = Script(text);
  EXPECT_THAT(script, HasSubstr("T.axis.scan(3, n)"));
  EXPECT_THAT(script, HasSubstr("T.axis.scan(9, i)"));
  EXPECT_THAT(script, Not(HasSubstr("T.init()")));
  Agrees(text);
  Agrees(R"(input A: f32[9]
output C: f32[9]
L^{9}_{i=0} [ C_{i} = if_then_else(i-1 < 0, 0, C_{i-1}) + A_{i}; ];
)");
}

TEST_F(LowerTest, LoopKindsStayAsWritten) {
  const std::string script = Script(R"(input A: f32[4,2,3,4]
output C: f32[4,2,3,4]
P^{4}_{i=0} L^{2}_{j=0} U^{3}_{k=0} V^{4}_{l=0} [ C_{i,j,k,l} = A_{i,j,k,l}; ];
B^{4}_{bx=0} B^{2}_{tx=0} P^{3}_{k=0} L^{4}_{l=0} [ C_{bx,tx,k,l} = C_{bx,tx,k,l}*2; ];
)",
                                    Mode::kAsWritten);
  EXPECT_THAT(script, HasSubstr("for i in T.parallel(4)"));
  EXPECT_THAT(script, HasSubstr("for k in T.unroll(3)"));
  EXPECT_THAT(script, HasSubstr("for l in T.vectorized(4)"));
  EXPECT_THAT(script, HasSubstr("for bx in T.parallel(4)"));
  EXPECT_EQ(Count(script, "T.parallel"), 2);  // none inside another
}

TEST_F(LowerTest, ABlockAxisThatReducesIsSerial) {
  EXPECT_THAT(Script(R"(input A: f32[4,8]
output C: f32[8]
B^{4}_{bx=0} L^{8}_{j=0} [ C_{j} = C_{j} + A_{bx,j}; ];
)",
                     Mode::kAsWritten),
              Not(HasSubstr("T.parallel")));
}

TEST_F(LowerTest, IndicesHave64BitsOnlyWhereSomethingIsLarge) {
  EXPECT_THAT(Script("output C: i64[8]\nL^{8}_{i=0} [ C_{i} = i*1000; ];\n"),
              Not(HasSubstr("int64(8)")));
  EXPECT_THAT(Script("output C: i64[8]\nL^{8}_{i=0} [ C_{i} = i*1000000000; ];\n"),
              HasSubstr("int64(8)"));
  Agrees("output C: i64[8]\nL^{8}_{i=0} [ C_{i} = i*1000000000; ];\n");
  EXPECT_THAT(
      Script("input A: f32[65536,65536]\noutput C: f32[8]\nL^{8}_{i=0} [ C_{i} = A_{i,i}; ];\n"),
      HasSubstr("int64(65536)"));
}

TEST_F(LowerTest, SmallIntegersAreMultipliedInTheTypeOfTheSum) {
  for (const char* types : {"i8", "u8", "i16"}) {
    Agrees(fmt::format(
        "input A: {0}[4,64]\ninput B: {0}[64]\noutput C: i32[4]\n"
        "L^{{4}}_{{i=0}} L^{{64}}_{{r=0}} [ C_{{i}} = C_{{i}} + 100*A_{{i,r}}*B_{{r}}; ];\n",
        types));
  }
  Agrees("input A: i8[8]\noutput C: f32[8]\nL^{8}_{i=0} [ C_{i} = A_{i}*A_{i}*300 - 7; ];\n");
  Agrees("input A: i32[8]\noutput C: f64[8]\nL^{8}_{i=0} [ C_{i} = A_{i}*1000000000; ];\n");
  Agrees(
      "input A: i32[8]\noutput C: i32[8]\nL^{8}_{i=0} [ C_{i} = A_{i}//3 + A_{i}%3*10 - "
      "abs(A_{i}); ];\n");
  Agrees("input A: i8[9]\noutput C: i8[]\nL^{9}_{i=0} [ C = max(C, A_{i}); ];\n");
  Agrees("input M: bool[8]\noutput C: f32[8]\nL^{8}_{i=0} [ C_{i} = M_{i}*3; ];\n");
}

TEST_F(LowerTest, MixedFloatsMeetInTheWiderOrTheTargetsType) {
  Agrees(
      "input A: f16[4,64]\ninput B: f16[64]\noutput C: f32[4]\n"
      "L^{4}_{i=0} L^{64}_{r=0} [ C_{i} = C_{i} + A_{i,r}*B_{r}; ];\n");
  Agrees("input A: f32[8]\noutput C: f64[8]\nL^{8}_{i=0} [ C_{i} = A_{i}*A_{i} + exp(A_{i}); ];\n");
  Agrees("input A: f32[8]\ninput S: f64[]\noutput C: f32[8]\nL^{8}_{i=0} [ C_{i} = A_{i}*S; ];\n");
  Agrees(
      "input A: f16[8]\ninput B: f16[8]\noutput C: f16[8]\nL^{8}_{i=0} [ C_{i} = max(A_{i}*B_{i}, "
      "0); ];\n");
  Agrees("input A: f16[8]\noutput C: f16[]\nL^{8}_{i=0} [ C = max(C, A_{i}); ];\n");
  Agrees("input A: bf16[8]\noutput C: f32[8]\nL^{8}_{i=0} [ C_{i} = A_{i}*A_{i}; ];\n");
}

TEST_F(LowerTest, PowersOfNegativeNumbers) {
  for (int n = 0; n <= 9; ++n) {
    Agrees(fmt::format(
        "input A: f64[8]\noutput C: f64[8]\nL^{{8}}_{{i=0}} [ C_{{i}} = A_{{i}}**{}; ];\n", n));
  }
  Agrees("input A: i32[8]\noutput C: i32[8]\nL^{8}_{i=0} [ C_{i} = A_{i}**3; ];\n");
}

TEST_F(LowerTest, TheSameProgramGivesTheSameModule) {
  const auto text = ReadFile(TW_SOURCE_DIR "/workloads/flux-attention.leir", Code::kUsage);
  ASSERT_TRUE(text.ok());
  const auto program = leir::ParseFile(*text, "flux-attention");
  ASSERT_TRUE(program.ok());
  const auto a = Lower(*program, Mode::kForScheduling), b = Lower(*program, Mode::kForScheduling);
  ASSERT_TRUE(a.ok() && b.ok());
  EXPECT_EQ(a->StructuralHash(), b->StructuralHash());
  EXPECT_TRUE(a->StructuralEqual(*b));
  EXPECT_EQ(a->ToJson(), b->ToJson());
  EXPECT_EQ(a->Script(), b->Script());
}

TEST_F(LowerTest, ErrorsSayWhere) {
  leir::Program program =
      Parse("input A: f32[8]\noutput C: f32[8]\nL^{8}_{i=0} [ C_{i} = A_{i}; ];\n");
  program.tensors[0].shape = {7};
  const auto module = Lower(program, Mode::kForScheduling);
  ASSERT_FALSE(module.ok());
  EXPECT_EQ(module.error().code, Code::kUsage);
  EXPECT_THAT(module.error().message, HasSubstr("test.leir:4:"));
}

// MetaSchedule can schedule what is lowered.
TEST_F(LowerTest, PaperWorkloadsHaveDesignSpaces) {
  const auto target = tvm_api::Target::Parse("llvm", 2);
  ASSERT_TRUE(target.ok());
  for (const char* name : {"deepseek-r1-moe", "flux-conv", "flux-attention", "llama3-8b-attention",
                           "llama4-scout-mlp", "layer-norm", "depthwise-conv2d"}) {
    const auto text =
        ReadFile(fmt::format("{}/workloads/{}.leir", TW_SOURCE_DIR, name), Code::kUsage);
    ASSERT_TRUE(text.ok());
    const auto program = leir::ParseFile(*text, name);
    ASSERT_TRUE(program.ok()) << program.error().message;
    const auto module = Lower(*program, Mode::kForScheduling);
    ASSERT_TRUE(module.ok()) << module.error().message;
    const auto space = tvm_api::DesignSpace::Generate(*module, *target);
    ASSERT_TRUE(space.ok()) << name << ": " << space.error().message;
    EXPECT_GE(space->Sketches().size(), 1u) << name;
    bool tiles = false;
    for (const tvm_api::Trace& sketch : space->Sketches()) tiles |= !sketch.Samplings().empty();
    EXPECT_TRUE(tiles) << name;
  }
}

// No schedule reorders a prefix form: whatever is drawn computes the same.
TEST_F(LowerTest, SchedulesOfAPrefixFormKeepItsOrder) {
  const leir::Program program = Parse(R"(input A: f32[64,32]
output C: f32[64,32]
temp D: f32[64,32]
L^{64}_{n=0} L^{32}_{i=0} [ D_{n,i} = A_{n,i}*2; ];
L^{64}_{n=0} L^{32}_{i=0} [ C_{n,i} = C_{n,i-1} + D_{n,i}; ];
)");
  const auto module = Lower(program, Mode::kForScheduling);
  const auto target = tvm_api::Target::Parse("llvm", 2);
  ASSERT_TRUE(module.ok() && target.ok());
  const auto space = tvm_api::DesignSpace::Generate(*module, *target);
  ASSERT_TRUE(space.ok()) << space.error().message;
  int ran = 0;
  for (const tvm_api::Trace& sketch : space->Sketches()) {
    for (int64_t seed : {1, 2}) {
      const auto schedule = space->Apply(sketch.WithoutDecisions(), seed);
      if (!schedule.ok()) continue;  // post-processing may refuse a draw
      ++ran;
      EXPECT_EQ(testing::Disagreement(program, schedule->GetModule(), testing::Range::kSigned), "");
    }
  }
  EXPECT_GT(ran, 0);
}

}  // namespace
}  // namespace tw::lower
