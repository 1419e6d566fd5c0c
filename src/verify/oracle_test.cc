// Expected values by the interpreter: whole and at points; which inputs suit a program.
#include <gtest/gtest.h>

#include <filesystem>
#include <set>

#include "base/files.h"
#include "leir/counts.h"
#include "leir/parser.h"
#include "verify/reference.h"

namespace tw::verify {
namespace {

leir::Program Parse(const std::string& text) {
  auto program = leir::ParseFile(text, "test.leir");
  EXPECT_TRUE(program.ok()) << program.error().message;
  return std::move(program).value();
}

leir::Program Workload(const std::string& name, const std::map<std::string, int64_t>& dims = {}) {
  const auto text = ReadFile(TW_SOURCE_DIR "/workloads/" + name + ".leir", Code::kUsage);
  EXPECT_TRUE(text.ok());
  auto program = leir::ParseFile(*text, name, {.dims = dims});
  EXPECT_TRUE(program.ok()) << program.error().message;
  return std::move(program).value();
}

TEST(Oracle, OutputsMayStandAnywhereAmongTheArguments) {
  const auto arguments = ArgumentsOf(Parse(R"(leir 1
output C: f32[4]
input A: f16[4]
output D: i32[4]
temp T: f32[4]
L^{4}_{i=0} [ T_{i} = A_{i}; ];
L^{4}_{i=0} [ C_{i} = T_{i}; ];
L^{4}_{i=0} [ D_{i} = 2*i; ];
)"));
  ASSERT_EQ(arguments.size(), 3u);
  EXPECT_EQ(arguments[0].name, "C");
  EXPECT_TRUE(arguments[0].is_output);
  EXPECT_EQ(arguments[1].name, "A");
  EXPECT_FALSE(arguments[1].is_output);
  EXPECT_EQ(arguments[1].dtype, DType::kF16);
  EXPECT_TRUE(arguments[2].is_output);
}

TEST(Oracle, PointsAreElementsOfTheWhole) {
  const leir::Program program =
      Workload("flux-attention", {{"heads", 3}, {"seq", 16}, {"headdim", 8}});
  const auto whole = ReferenceFromInterpreter(program, 3, Distribution::kNormal, 64, 100'000'000);
  const auto some = ReferenceFromInterpreter(program, 3, Distribution::kNormal, 64, 10'000);
  ASSERT_TRUE(whole.ok() && some.ok());
  EXPECT_TRUE(whole->outputs[0].index.empty());
  EXPECT_EQ(whole->outputs[0].value.size(), 3u * 16 * 8);
  const auto& index = some->outputs[0].index;
  ASSERT_GE(index.size(), 32u);
  EXPECT_LT(index.size(), 200u);
  EXPECT_EQ(std::set<int64_t>(index.begin(), index.end()).size(), index.size());
  EXPECT_EQ(index.front(), 0);
  EXPECT_EQ(index.back(), 3 * 16 * 8 - 1);
  for (std::size_t i = 0; i < index.size(); ++i) {
    EXPECT_DOUBLE_EQ(some->outputs[0].value[i],
                     whole->outputs[0].value[static_cast<std::size_t>(index[i])]);
  }
  EXPECT_EQ(some->reduction_length, leir::ReductionLength(program));
}

TEST(Oracle, TheBoundLimitsTheRows) {
  const leir::Program program = Workload("gemm", {{"m", 64}, {"n", 32}, {"k", 16}});
  for (int64_t rows : {1, 2, 5}) {
    const auto reference =
        ReferenceFromInterpreter(program, 3, Distribution::kUniform, 64, rows * 32 * 16);
    ASSERT_TRUE(reference.ok());
    std::set<int64_t> chosen;
    for (int64_t i : reference->outputs[0].index) chosen.insert(i / 32);
    EXPECT_EQ(static_cast<int64_t>(chosen.size()), rows);
  }
}

TEST(Oracle, AScalarAndAnIntegerOutput) {
  const auto reference = ReferenceFromInterpreter(Parse(R"(leir 1
input A: i8[300]
output S: i32[]
L^{300}_{i=0} [ S = S + A_{i}*A_{i}; ];
)"),
                                                  1, Distribution::kUniform, 64, 10);
  ASSERT_TRUE(reference.ok()) << reference.error().message;
  std::vector<int8_t> a(300);
  FillInput(Distribution::kUniform, 1, 0, DType::kI8, 300, a.data());
  double sum = 0;
  for (int8_t x : a) sum += x * x;
  ASSERT_EQ(reference->outputs[0].value.size(), 1u);
  EXPECT_EQ(reference->outputs[0].value[0], sum);
}

TEST(Oracle, PrecisionIsThatOfTheCoarsestTemporary) {
  const char* text = R"(leir 1
input A: {}[4]
output C: f32[4]
temp T: {}[4]
L^{{4}}_{{i=0}} [ T_{{i}} = 70000*A_{{i}}; ];
L^{{4}}_{{i=0}} [ C_{{i}} = T_{{i}}; ];
)";
  const auto precision = [&](const char* input, const char* temporary) {
    const auto r =
        ReferenceFromInterpreter(Parse(fmt::format(fmt::runtime(text), input, temporary)), 1,
                                 Distribution::kPositive, 64, 1000);
    EXPECT_TRUE(r.ok());
    return r->precision;
  };
  EXPECT_EQ(precision("f32", "f16"), DType::kF16);
  EXPECT_EQ(precision("f16", "f32"), DType::kF32);  // inputs are exact
  EXPECT_EQ(precision("f16", "f64"), DType::kF64);
}

TEST(Oracle, NumbersTooLargeForTheOutputAreInfinite) {
  const auto r = ReferenceFromInterpreter(Parse(R"(leir 1
input A: f32[4]
output C: f16[4]
L^{4}_{i=0} [ C_{i} = 200000*A_{i}; ];
)"),
                                          1, Distribution::kPositive, 64, 1000);
  ASSERT_TRUE(r.ok());
  for (double v : r->outputs[0].value) EXPECT_EQ(v, INFINITY);
  EXPECT_EQ(r->outputs[0].scale, 0);
}

TEST(DefaultDistribution, IsPositiveOnlyWhereSignsMatter) {
  const auto of = [](const std::string& value) {
    return DefaultDistribution(Parse(
        "leir 1\ninput A: f32[8]\noutput C: f32[8]\nL^{8}_{i=0} [ C_{i} = " + value + "; ];\n"));
  };
  for (const char* any : {"A_{i}*2 - 3", "exp(A_{i})", "1/(1+exp(-A_{i}))", "log(1+exp(A_{i}))",
                          "sqrt(abs(A_{i}))", "sqrt(A_{i}*A_{i})", "A_{i}/sqrt(A_{i}**2+0.00001)",
                          "A_{i}**2", "A_{i}/8", "A_{i}*0.5*(1+erf(A_{i}/sqrt(2)))"}) {
    EXPECT_EQ(of(any), Distribution::kUniform) << any;
  }
  for (const char* positive :
       {"log(A_{i})", "sqrt(A_{i})", "1/A_{i}", "2/(1-exp(A_{i}))", "A_{i}**0.5", "1/abs(A_{i})",
        "log(max(A_{i}, 0))", "sqrt(min(A_{i}, 1))"}) {
    EXPECT_EQ(of(positive), Distribution::kPositive) << positive;
  }
}

TEST(DefaultDistribution, OfPrograms) {
  for (const char* name : {"gemm", "flux-conv", "softmax", "flux-attention", "llama3-8b-attention",
                           "layer-norm", "rms-norm", "llama4-scout-mlp"}) {
    EXPECT_EQ(DefaultDistribution(Workload(name)), Distribution::kUniform) << name;
  }
  // A maximum starts from nothing, not from something positive; and indices must not be negative.
  EXPECT_EQ(DefaultDistribution(Parse(R"(leir 1
input A: f32[8]
output C: f32[]
temp M: f32[]
L^{8}_{i=0} [ M = max(M, A_{i}); ];
L^{1}_{i=0} [ C = log(M); ];
)")),
            Distribution::kPositive);
  EXPECT_EQ(DefaultDistribution(Parse(R"(leir 1
input A: f32[8]
input I: i64[4]
output C: f32[4]
L^{4}_{i=0} [ C_{i} = A_{I_{i}}; ];
)")),
            Distribution::kPositive);
}

}  // namespace
}  // namespace tw::verify
