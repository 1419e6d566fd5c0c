// The mistakes that schedules of attention make in their row sums, and long sums in any order.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "leir/parser.h"
#include "verify/buffers.h"

namespace tw::verify {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

using Views = std::vector<tvm_api::TensorView>;

float* Floats(const tvm_api::TensorView& view) { return static_cast<float*>(view.data); }

// Runs `kernel` once and returns why it is wrong, "" when it is right.
std::string Verdict(const char* text, const std::function<void(const Views&)>& kernel,
                    Distribution distribution, int64_t max_statements = 1'000'000) {
  auto program = leir::ParseFile(text, "test.leir");
  EXPECT_TRUE(program.ok()) << program.error().message;
  auto reference = ReferenceFromInterpreter(*program, 5, distribution, 64, max_statements);
  EXPECT_TRUE(reference.ok()) << reference.error().message;
  auto buffers = Buffers::Allocate(*reference);
  EXPECT_TRUE(buffers.ok()) << buffers.error().message;
  kernel(buffers->views());
  double worst = 0;
  return buffers->Check({&*reference, 1}, &worst).value_or("");
}

constexpr int kSeq = 24, kDim = 8;

const char* const kAttention = R"(leir 1
input Q: f32[24,8]
input K: f32[24,8]
input V: f32[24,8]
output O: f32[24,8]
temp S: f32[24,24]
temp M: f32[24]
temp E: f32[24,24]
temp R: f32[24]
L^{24}_{i=0} L^{24}_{j=0} L^{8}_{d=0} [ S_{i,j} = S_{i,j} + Q_{i,d}*K_{j,d}; ];
L^{24}_{i=0} L^{24}_{j=0} [ M_{i} = max(M_{i}, S_{i,j}); ];
L^{24}_{i=0} L^{24}_{j=0} [ E_{i,j} = exp(S_{i,j} - M_{i}); ];
L^{24}_{i=0} L^{24}_{j=0} [ R_{i} = R_{i} + E_{i,j}; ];
L^{24}_{i=0} L^{8}_{d=0} L^{24}_{j=0} [ O_{i,d} = O_{i,d} + E_{i,j}/R_{i}*V_{j,d}; ];
)";

// One pass without a maximum, the division last: a right program that rounds quite differently.
// `row_sum` maps the weights of row i to what the program takes for their sum.
void Attention(const Views& views, const std::function<float(int, const float*)>& row_sum) {
  const float *q = Floats(views[0]), *k = Floats(views[1]), *v = Floats(views[2]);
  for (int i = 0; i < kSeq; ++i) {
    float weights[kSeq], out[kDim] = {};
    for (int j = kSeq - 1; j >= 0; --j) {
      float score = 0;
      for (int d = kDim - 1; d >= 0; --d) score += q[i * kDim + d] * k[j * kDim + d];
      weights[j] = std::exp(score);
      for (int d = 0; d < kDim; ++d) out[d] += weights[j] * v[j * kDim + d];
    }
    const float sum = row_sum(i, weights);
    for (int d = 0; d < kDim; ++d) Floats(views[3])[i * kDim + d] = out[d] / sum;
  }
}

float Sum(const float* values, int count) {
  float sum = 0;
  for (int j = 0; j < count; ++j) sum += values[j];
  return sum;
}

constexpr Distribution kEach[] = {Distribution::kUniform, Distribution::kNormal,
                                  Distribution::kPositive};

TEST(Attention, ARightOneThatRoundsDifferentlyPasses) {
  for (Distribution distribution : kEach) {
    EXPECT_EQ(Verdict(
                  kAttention,
                  [](const Views& views) {
                    Attention(views, [](int, const float* w) { return Sum(w, kSeq); });
                  },
                  distribution),
              "");
  }
}

TEST(Attention, RowSumsAThirdTooLargeAreRejected) {
  for (Distribution distribution : kEach) {
    EXPECT_THAT(Verdict(
                    kAttention,
                    [](const Views& views) {
                      Attention(views, [](int, const float* w) { return 1.33f * Sum(w, kSeq); });
                    },
                    distribution),
                StartsWith("O["));
  }
}

// The first of three tiles is added before and after the others, as when the initialisation of the
// sum is moved out of the loop over tiles.
TEST(Attention, ATileThatIsCountedTwiceIsRejected) {
  for (Distribution distribution : kEach) {
    EXPECT_THAT(
        Verdict(
            kAttention,
            [](const Views& views) {
              Attention(views, [](int, const float* w) { return Sum(w, kSeq) + Sum(w, kSeq / 3); });
            },
            distribution),
        StartsWith("O["));
  }
}

// Only the bound on the work keeps the reference from being whole; the last row is among its rows.
TEST(Attention, OneWrongRowIsNamed) {
  const auto verdict = [](int wrong, int64_t max_statements) {
    return Verdict(
        kAttention,
        [&](const Views& views) {
          Attention(views, [&](int i, const float* w) {
            return (i == wrong ? 1.33f : 1.0f) * Sum(w, kSeq);
          });
        },
        Distribution::kUniform, max_statements);
  };
  constexpr int64_t kWhole = 1'000'000, kSome = 2000;
  for (int row = 0; row < kSeq; ++row) {
    EXPECT_THAT(verdict(row, kWhole), StartsWith("O[" + std::to_string(row) + ","));
  }
  EXPECT_THAT(verdict(0, kSome), StartsWith("O[0,"));
  EXPECT_THAT(verdict(kSeq - 1, kSome), StartsWith("O[23,"));
  int missed = 0;
  for (int row = 0; row < kSeq; ++row) missed += verdict(row, kSome).empty();
  EXPECT_GT(missed, 0) << "the second reference is whole, too";
}

constexpr int kRows = 2, kColumns = 3, kLength = 7168;

const char* const kLongSums = R"(leir 1
input A: f32[2,7168]
input B: f32[7168,3]
output C: f32[2,3]
L^{2}_{i=0} L^{3}_{j=0} L^{7168}_{r=0} [ C_{i,j} = C_{i,j} + A_{i,r}*B_{r,j}; ];
)";

// `sum` adds the 7168 products of an element up, as it likes.
void LongSums(const Views& views, const std::function<float(const std::vector<float>&)>& sum) {
  for (int i = 0; i < kRows; ++i) {
    for (int j = 0; j < kColumns; ++j) {
      std::vector<float> terms(kLength);
      for (int r = 0; r < kLength; ++r) {
        terms[r] = Floats(views[0])[i * kLength + r] * Floats(views[1])[r * kColumns + j];
      }
      Floats(views[2])[i * kColumns + j] = sum(terms);
    }
  }
}

float InLanes(const std::vector<float>& terms, int lanes) {
  std::vector<float> sums(lanes);
  for (int r = 0; r < kLength; ++r) sums[r % lanes] += terms[r];
  return Sum(sums.data(), lanes);
}

TEST(LongSums, OfSinglePrecisionPassInAnyOrder) {
  const auto passes = [](const std::function<float(const std::vector<float>&)>& sum) {
    for (Distribution distribution : kEach) {
      EXPECT_EQ(
          Verdict(kLongSums, [&](const Views& views) { LongSums(views, sum); }, distribution), "");
    }
  };
  for (int lanes : {1, 8, 16, 64, 1024}) {
    passes([&](const std::vector<float>& terms) { return InLanes(terms, lanes); });
  }
  passes([](std::vector<float> terms) {
    std::reverse(terms.begin(), terms.end());
    return InLanes(terms, 1);
  });
  passes([](std::vector<float> terms) {  // pairwise, as a tree of vectors does
    for (int count = kLength; count > 1; count = (count + 1) / 2) {
      for (int r = 0; r < count / 2; ++r) terms[r] += terms[count - 1 - r];
    }
    return terms[0];
  });
}

TEST(LongSums, OneMissingTermIsRejected) {
  for (Distribution distribution : kEach) {
    EXPECT_THAT(Verdict(
                    kLongSums,
                    [](const Views& views) {
                      LongSums(views, [](std::vector<float> terms) {
                        terms.back() = 0;
                        return InLanes(terms, 16);
                      });
                    },
                    distribution),
                HasSubstr("times the tolerance"));
  }
}

}  // namespace
}  // namespace tw::verify
