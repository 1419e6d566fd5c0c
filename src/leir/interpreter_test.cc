#include "leir/interpreter.h"

#include <gmock/gmock.h>

#include <cmath>

#include "leir/counts.h"
#include "leir/parser.h"

namespace tw::leir {
namespace {

using testing::DoubleEq;
using testing::ElementsAre;

Program Read(const std::string& text) {
  auto program = ParseFile("leir 1\n" + text, "test");
  EXPECT_TRUE(program.ok()) << program.error().message;
  return program.ok() ? *program : Program{};
}

TensorValues Output(const std::string& text, const Inputs& inputs) {
  const auto outputs = Evaluate(Read(text), inputs);
  EXPECT_TRUE(outputs.ok()) << outputs.error().message;
  return outputs.ok() ? outputs->begin()->second : TensorValues{};
}

TEST(Interpreter, MatmulSumsFromZero) {
  const float a[] = {1, 2, 3, 4, 5, 6}, b[] = {1, 0, 0, 1, 1, 1};
  const Inputs inputs{{"A", {DType::kF32, {2, 3}, a}}, {"B", {DType::kF32, {3, 2}, b}}};
  const std::string text =
      "input A: f32[2,3]\ninput B: f32[3,2]\noutput C: f32[2,2]\n"
      "L^{3}_{k=0} L^{2}_{i=0} L^{2}_{j=0} [ C_{i,j} = C_{i,j} + A_{i,k}*B_{k,j}; ];";
  EXPECT_THAT(Output(text, inputs).real, ElementsAre(4, 5, 10, 11));
  const auto points = EvaluatePoints(Read(text), inputs, {{"C", {3, 0}}});
  ASSERT_TRUE(points.ok());
  EXPECT_THAT((*points)[0].real, ElementsAre(11, 4));
}

TEST(Interpreter, ReductionsStartFromTheirNeutralValue) {
  const double a[] = {-3, -5, -2};
  const Inputs inputs{{"A", {DType::kF64, {3}, a}}};
  const std::string head = "input A: f64[3]\noutput C: f64[]\nL^{3}_{a=0} [ ";
  EXPECT_THAT(Output(head + "C = max(C, A_{a}); ];", inputs).real, ElementsAre(-2));
  EXPECT_THAT(Output(head + "C = min(C, A_{a}); ];", inputs).real, ElementsAre(-5));
  EXPECT_THAT(Output(head + "C = C*A_{a}; ];", inputs).real, ElementsAre(-30));
  EXPECT_THAT(Output(head + "C = C - A_{a}; ];", inputs).real, ElementsAre(10));
}

TEST(Interpreter, LaterUpdatesKeepTheValue) {
  const double a[] = {1, 2, 3};
  EXPECT_THAT(Output("input A: f64[3]\noutput C: f64[]\nL^{3}_{a=0} [ C = C + A_{a}; ];\n"
                     "L^{1}_{a=0} [ C = C + 10; ];",
                     {{"A", {DType::kF64, {3}, a}}})
                  .real,
              ElementsAre(16));
}

TEST(Interpreter, PrefixFormsRunInOrder) {
  const double a[] = {1, 2, 3, 4};
  const Inputs inputs{{"A", {DType::kF64, {4}, a}}};
  const std::string head = "input A: f64[4]\noutput C: f64[4]\nL^{4}_{a=0} [ ";
  const std::string guarded = head + "C_{a} = if_then_else(a - 1 < 0, 0, C_{a-1}) + A_{a}; ];";
  EXPECT_THAT(Output(guarded, inputs).real, ElementsAre(1, 3, 6, 10));
  EXPECT_THAT(Output(head + "C_{a} = C_{a-2} + A_{a}; ];", inputs).real, ElementsAre(1, 2, 4, 6));
  const auto points = EvaluatePoints(Read(guarded), inputs, {{"C", {2}}});
  ASSERT_TRUE(points.ok());
  EXPECT_THAT((*points)[0].real, ElementsAre(6));
}

TEST(Interpreter, IntegersAreExactAndWrapToTheirType) {
  const int64_t a[] = {int64_t{1} << 60, -7};
  const Inputs inputs{{"A", {DType::kI64, {2}, a}}};
  const std::string head = "input A: i64[2]\noutput C: ";
  EXPECT_THAT(Output(head + "i64[2]\nL^{2}_{a=0} [ C_{a} = A_{a} + 1; ];", inputs).integer,
              ElementsAre((int64_t{1} << 60) + 1, -6));
  EXPECT_THAT(Output(head + "i64[2]\nL^{2}_{a=0} [ C_{a} = A_{a}//2 + A_{a}%4; ];", inputs).integer,
              ElementsAre(int64_t{1} << 59, -4 + 1));
  EXPECT_THAT(Output(head + "u8[2]\nL^{2}_{a=0} [ C_{a} = A_{a} + 300; ];", inputs).integer,
              ElementsAre(44, 37));
  EXPECT_THAT(Output(head + "f64[2]\nL^{2}_{a=0} [ C_{a} = (a + 1)/2; ];", inputs).real,
              ElementsAre(0.5, 1));
}

TEST(Interpreter, HalfPrecisionInputsAreExact) {
  const uint16_t half[] = {0x3c00, 0xc000, 0x0001, 0x7bff};    // 1, -2, 2^-24, 65504
  const uint16_t bfloat[] = {0x3f80, 0xc000, 0x0001, 0x7f7f};  // 1, -2, 2^-133, max
  const std::string copy = "[4]\noutput C: f64[4]\nL^{4}_{a=0} [ C_{a} = A_{a}; ];";
  EXPECT_THAT(Output("input A: f16" + copy, {{"A", {DType::kF16, {4}, half}}}).real,
              ElementsAre(1, -2, std::ldexp(1, -24), 65504));
  EXPECT_THAT(Output("input A: bf16" + copy, {{"A", {DType::kBF16, {4}, bfloat}}}).real,
              ElementsAre(1, -2, std::ldexp(1, -133), std::ldexp(255, 120)));
}

TEST(Interpreter, GatheredIndexOutsideIsAnError) {
  const int64_t labels[] = {1, 5};
  const double a[] = {1, 2};
  const Inputs inputs{{"A", {DType::kF64, {2}, a}}, {"I", {DType::kI64, {2}, labels}}};
  const Program program = Read(
      "input A: f64[2]\ninput I: i64[2]\noutput C: f64[2]\nL^{2}_{a=0} [ C_{a} = A_{I_{a}}; ];");
  EXPECT_EQ(
      Evaluate(program, inputs).error().message,
      "test:5:1: an index read from a tensor is outside the tensor that it indexes; check the "
      "values of the index input");
  const auto points = EvaluatePoints(program, inputs, {{"C", {0}}});
  ASSERT_TRUE(points.ok());
  EXPECT_THAT((*points)[0].real, ElementsAre(2));
}

TEST(Interpreter, BadRequestsAndInputsAreErrors) {
  const float a[8] = {};
  const Program program =
      Read("input A: f32[8]\noutput C: f32[8]\nL^{8}_{a=0} [ C_{a} = A_{a}; ];");
  EXPECT_EQ(Evaluate(program, {}).error().message, "test:2:7: no data for the input A");
  EXPECT_EQ(Evaluate(program, {{"A", {DType::kF32, {4}, a}}}).error().message,
            "test:2:7: the data for A has another type or shape than declared");
  const Inputs inputs{{"A", {DType::kF32, {8}, a}}};
  EXPECT_EQ(EvaluatePoints(program, inputs, {{"C", {8}}}).error().message,
            "test: C has 8 elements, so there is no element 8");
  EXPECT_EQ(EvaluatePoints(program, inputs, {{"A", {0}}}).error().message,
            "test: A is not an output or a temporary of the program");
}

TEST(Counts, AddAccumulationsAlongTheChain) {
  const Program program = Read(
      "input A: f32[8,16]\noutput C: f32[]\ntemp D: f32[8]\ntemp M: f32[8]\n"
      "L^{8}_{i=0} L^{16}_{k=0} [ D_{i} = D_{i} + A_{i,k}; ];\n"
      "L^{8}_{i=0} L^{16}_{k=0} [ M_{i} = max(M_{i}, A_{i,k}); ];\n"
      "L^{8}_{i=0} [ C = C + D_{i}*M_{i}; ];");
  EXPECT_EQ(CountStatements(program), 128 + 128 + 8);
  EXPECT_EQ(ReductionLength(program), 24);
}

}  // namespace
}  // namespace tw::leir
