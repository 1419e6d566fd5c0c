// Kernels with one bug each must be caught; right ones that round differently must pass.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>

#include "leir/parser.h"
#include "verify/buffers.h"

namespace tw::verify {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr int64_t kM = 20, kN = 23, kK = 300;

const char* const kMatmul = R"(leir 1
input A: f32[20,300]
input B: f32[300,23]
output C: f32[20,23]
L^{20}_{i=0} L^{23}_{j=0} L^{300}_{r=0} [ C_{i,j} = C_{i,j} + A_{i,r}*B_{r,j}; ];
)";

const char* const kSoftmax = R"(leir 1
input A: f32[20,300]
output C: f32[20,300]
temp M: f32[20]
temp S: f32[20]
L^{20}_{i=0} L^{300}_{j=0} [ M_{i} = max(M_{i}, A_{i,j}); ];
L^{20}_{i=0} L^{300}_{j=0} [ S_{i} = S_{i} + exp(A_{i,j} - M_{i}); ];
L^{20}_{i=0} L^{300}_{j=0} [ C_{i,j} = exp(A_{i,j} - M_{i})/S_{i}; ];
)";

leir::Program Parse(const char* text) {
  auto program = leir::ParseFile(text, "test.leir");
  EXPECT_TRUE(program.ok()) << program.error().message;
  return std::move(program).value();
}

using Kernel = std::function<void(const std::vector<tvm_api::TensorView>&)>;

// What Buffers says about one call of `kernel`; "" when it is right.
std::string Verdict(const char* text, const Kernel& kernel, int points = 64,
                    int64_t max_statements = 1'000'000,
                    Distribution distribution = Distribution::kUniform) {
  auto reference = ReferenceFromInterpreter(Parse(text), 5, distribution, points, max_statements);
  EXPECT_TRUE(reference.ok()) << reference.error().message;
  auto buffers = Buffers::Allocate(*reference);
  EXPECT_TRUE(buffers.ok()) << buffers.error().message;
  kernel(buffers->views());
  double worst = 0;
  return buffers->Check({&*reference, 1}, &worst).value_or("");
}

float* Floats(const tvm_api::TensorView& view) { return static_cast<float*>(view.data); }

// C = A B over the given ranges, the sum over k in blocks of `block`, starting from `initial`.
struct Ranges {
  int64_t first_k = 0, last_k = kK, last_i = kM, last_j = kN, block = kK;
  bool initialise = true;
  int64_t a_shift = 0;
};

void Matmul(const std::vector<tvm_api::TensorView>& views, const Ranges& r) {
  const float *a = Floats(views[0]), *b = Floats(views[1]);
  float* c = Floats(views[2]);
  for (int64_t i = 0; i < r.last_i; ++i) {
    for (int64_t j = 0; j < r.last_j; ++j) {
      float total = r.initialise ? 0 : c[i * kN + j];
      for (int64_t k0 = r.first_k; k0 < r.last_k; k0 += r.block) {
        float part = 0;
        for (int64_t k = k0; k < std::min(k0 + r.block, r.last_k); ++k) {
          part += a[i * kK + (k + r.a_shift) % kK] * b[k * kN + j];
        }
        total += part;
      }
      c[i * kN + j] = total;
    }
  }
}

TEST(PlantedBugs, RightSumsInAnyOrderPass) {
  for (int64_t block : {1, 7, 16, 300}) {
    for (Distribution d :
         {Distribution::kUniform, Distribution::kNormal, Distribution::kPositive}) {
      EXPECT_EQ(Verdict(
                    kMatmul, [&](const auto& v) { Matmul(v, {.block = block}); }, 64, 1'000'000, d),
                "");
    }
  }
}

TEST(PlantedBugs, ATileThatEndsOneEarly) {
  EXPECT_THAT(Verdict(kMatmul, [](const auto& v) { Matmul(v, {.last_k = kK - 1}); }),
              AllOf(StartsWith("C["), HasSubstr("times the tolerance")));
  EXPECT_THAT(Verdict(kMatmul, [](const auto& v) { Matmul(v, {.first_k = 1}); }), StartsWith("C["));
}

TEST(PlantedBugs, ATileThatStartsOneLate) {
  EXPECT_THAT(Verdict(kMatmul, [](const auto& v) { Matmul(v, {.a_shift = 1}); }), StartsWith("C["));
}

TEST(PlantedBugs, NoInitialisation) {
  EXPECT_NE(Verdict(kMatmul, [](const auto& v) { Matmul(v, {.initialise = false}); }), "");
}

TEST(PlantedBugs, InitialisedOnceButRunTwice) {
  EXPECT_THAT(Verdict(kMatmul,
                      [](const auto& v) {
                        Matmul(v, {});
                        Matmul(v, {.initialise = false});
                      }),
              StartsWith("C["));
}

TEST(PlantedBugs, TheLastRowOrColumnIsSkipped) {
  EXPECT_EQ(Verdict(kMatmul, [](const auto& v) { Matmul(v, {.last_i = kM - 1}); }),
            "did not write C[19,0]");
  EXPECT_EQ(Verdict(kMatmul, [](const auto& v) { Matmul(v, {.last_j = kN - 1}); }),
            "did not write C[0,22]");
}

TEST(PlantedBugs, OneElementThatNoPointLooksAtIsSkipped) {
  // Three rows and few columns are compared; any single hole is found.
  for (int64_t hole : {1, 100, 250, 301, 458}) {
    EXPECT_EQ(Verdict(
                  kMatmul,
                  [&](const auto& v) {
                    const float before = Floats(v[2])[hole];
                    Matmul(v, {});
                    Floats(v[2])[hole] = before;
                  },
                  4, 3 * kN * kK),
              fmt::format("did not write C[{},{}]", hole / kN, hole % kN));
  }
}

TEST(PlantedBugs, OutputsOfAnEarlierCall) {
  auto reference =
      ReferenceFromInterpreter(Parse(kMatmul), 5, Distribution::kUniform, 64, 1'000'000);
  ASSERT_TRUE(reference.ok());
  auto buffers = Buffers::Allocate(*reference);
  ASSERT_TRUE(buffers.ok());
  Matmul(buffers->views(), {});
  double worst = 0;
  EXPECT_EQ(buffers->Check({&*reference, 1}, &worst), std::nullopt);
  buffers->FillOutputsWithSentinel();
  // This call does nothing.
  EXPECT_EQ(buffers->Check({&*reference, 1}, &worst), "did not write C[0,0]");
}

TEST(PlantedBugs, NanInPlaceOfANumber) {
  EXPECT_THAT(Verdict(kMatmul,
                      [](const auto& v) {
                        Matmul(v, {});
                        Floats(v[2])[100] = std::nanf("");
                      }),
              StartsWith("C[4,8] is nan"));
}

TEST(PlantedBugs, OneByteBeforeOrBehindAnyArgument) {
  for (std::size_t argument : {0, 1, 2}) {
    for (int64_t at : {-1, -64, -4096}) {
      EXPECT_THAT(Verdict(kMatmul,
                          [&](const auto& v) {
                            Matmul(v, {});
                            static_cast<char*>(v[argument].data)[at] ^= 1;
                          }),
                  AllOf(StartsWith("wrote outside"), HasSubstr(fmt::format("byte {} ", at))));
    }
    for (int64_t beyond : {0, 63, 4095}) {
      EXPECT_THAT(Verdict(kMatmul,
                          [&](const auto& v) {
                            Matmul(v, {});
                            int64_t bytes = 4;
                            for (int64_t extent : v[argument].shape) bytes *= extent;
                            static_cast<char*>(v[argument].data)[bytes + beyond] ^= 1;
                          }),
                  StartsWith("wrote outside"));
    }
  }
}

TEST(PlantedBugs, OneBitOfAnInputIsChanged) {
  for (int64_t at : {0, 1, 3000, 5998, 5999}) {
    EXPECT_EQ(Verdict(kMatmul,
                      [&](const auto& v) {
                        Matmul(v, {});
                        auto* bytes = static_cast<unsigned char*>(v[0].data);
                        bytes[at * 4] ^= 1;
                      }),
              "changed its input A");
  }
}

void Softmax(const std::vector<tvm_api::TensorView>& views, float sum_factor) {
  const float* a = Floats(views[0]);
  float* c = Floats(views[1]);
  for (int64_t i = 0; i < kM; ++i) {
    float sum = 0;
    for (int64_t j = 0; j < kK; ++j) sum += std::exp(a[i * kK + j]);
    for (int64_t j = 0; j < kK; ++j) {
      c[i * kK + j] = std::exp(a[i * kK + j]) / (sum * sum_factor);
    }
  }
}

// What MetaSchedule's hoisted initialisation does to attention: row sums that are too large.
TEST(PlantedBugs, ARowSumThatIsWrongByAPart) {
  EXPECT_EQ(Verdict(kSoftmax, [](const auto& v) { Softmax(v, 1); }), "");
  for (float factor : {1.3f, 0.7f, 1.001f}) {
    EXPECT_THAT(Verdict(kSoftmax, [&](const auto& v) { Softmax(v, factor); }), StartsWith("C["));
  }
}

TEST(PlantedBugs, AConstant) {
  for (float constant : {0.0f, 1.0f / kK, 1.0f}) {
    EXPECT_THAT(
        Verdict(kSoftmax, [&](const auto& v) { std::fill_n(Floats(v[1]), kM * kK, constant); }),
        StartsWith("C["));
  }
}

TEST(Buffers, AreAlignedAndHoldTheInputsOfTheReference) {
  auto reference =
      ReferenceFromInterpreter(Parse(kMatmul), 9, Distribution::kNormal, 64, 1'000'000);
  ASSERT_TRUE(reference.ok());
  auto buffers = Buffers::Allocate(*reference);
  ASSERT_TRUE(buffers.ok());
  ASSERT_EQ(buffers->views().size(), 3u);
  for (const tvm_api::TensorView& view : buffers->views()) {
    EXPECT_EQ(reinterpret_cast<uintptr_t>(view.data) % 64, 0u);
  }
  std::vector<float> b(kK * kN);
  FillInput(Distribution::kNormal, 9, 1, DType::kF32, kK * kN, b.data());
  EXPECT_EQ(std::memcmp(b.data(), buffers->views()[1].data, b.size() * 4), 0);
  EXPECT_TRUE(std::isnan(Floats(buffers->views()[2])[0]));
}

TEST(Buffers, TensorsThatNoMachineHoldsAreRefusedAtOnce) {
  for (int64_t extent : {int64_t{1} << 20, int64_t{1} << 31}) {
    Reference reference;
    reference.arguments = {{"Small", DType::kF32, {8}, false},
                           {"Big", DType::kF32, {extent, extent, extent}, false}};
    const auto buffers = Buffers::Allocate(reference);
    ASSERT_FALSE(buffers.ok());
    EXPECT_EQ(buffers.error().code, Code::kEnvironment);
    EXPECT_THAT(buffers.error().message, HasSubstr("Big"));
  }
}

}  // namespace
}  // namespace tw::verify
