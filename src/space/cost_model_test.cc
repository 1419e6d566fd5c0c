#include "space/cost_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "space/schedule_space.h"
#include "tvm/runtime.h"
#include "tvm/testing.h"

namespace tw::space {
namespace {

using search::StatePtr;
using Latencies = std::vector<std::optional<double>>;
using ::testing::AllOf;
using ::testing::Each;
using ::testing::Ge;
using ::testing::Le;

// Kendall's tau without ties: -1 to 1.
double RankAgreement(const std::vector<double>& a, const std::vector<double>& b) {
  int agree = 0, pairs = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (a[i] == a[j] || b[i] == b[j]) continue;
      ++pairs;
      agree += (a[i] < a[j]) == (b[i] < b[j]) ? 1 : -1;
    }
  }
  return pairs == 0 ? 0 : static_cast<double>(agree) / pairs;
}

class CostModelTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    ASSERT_TRUE(tvm_api::Load().ok());
    auto space = ScheduleSpace::Make(tvm_api::testing::Matmul(64, 128, 256),
                                     tvm_api::Target::Parse("llvm", 2).value());
    ASSERT_TRUE(space.ok());
    space_ = space->release();
    Random random(11);
    for (int i = 0; i < 48; ++i) states_.push_back(space_->RandomState(random).value());
  }
  static void TearDownTestSuite() {
    states_.clear();
    delete space_;
  }

  // An invented machine that likes long inner tiles of j and dislikes long inner tiles of k.
  static double Seconds(const StatePtr& state) {
    const auto& decisions = static_cast<const ScheduleState&>(*state).choices().decisions;
    return 1e-3 * (1.0 + 8.0 / decisions[1][3] + 0.05 * decisions[2][1]);
  }
  static Latencies SecondsOf(std::span<const StatePtr> states) {
    Latencies seconds;
    for (const auto& state : states) seconds.emplace_back(Seconds(state));
    return seconds;
  }
  static std::span<const StatePtr> States(int begin, int count) {
    return std::span(states_).subspan(begin, count);
  }

  inline static ScheduleSpace* space_ = nullptr;
  inline static std::vector<StatePtr> states_;
};

TEST_F(CostModelTest, RanksUnseenProgramsAfterSixteenSamples) {
  XgbCostModel model;
  ASSERT_TRUE(model.Update(States(0, 16), SecondsOf(States(0, 16))).ok());
  std::vector<double> truth;
  for (const auto& state : States(16, 32)) truth.push_back(1 / Seconds(state));
  const auto predicted = model.Predict(States(16, 32));
  EXPECT_GT(RankAgreement(predicted, truth), 0.4);
  EXPECT_THAT(predicted, Each(AllOf(Ge(0.0), Le(1.5))));
}

TEST_F(CostModelTest, PriorAnswersBeforeThereAreEnoughSamples) {
  XgbCostModel model;
  const auto prior = model.Predict(States(0, 8));
  for (std::size_t i = 0; i < prior.size(); ++i) {
    EXPECT_EQ(prior[i], PriorScore(*static_cast<const ScheduleState&>(*states_[i]).features()));
  }
  ASSERT_TRUE(model.Update(States(0, 5), SecondsOf(States(0, 5))).ok());
  EXPECT_EQ(model.Predict(States(0, 8)), prior);
  EXPECT_GT(*std::max_element(prior.begin(), prior.end()),
            *std::min_element(prior.begin(), prior.end()));
  ASSERT_TRUE(model.Update(States(5, 1), SecondsOf(States(5, 1))).ok());
  EXPECT_NE(model.Predict(States(0, 8)), prior);
  EXPECT_EQ(model.valid_samples(), 6);
}

TEST_F(CostModelTest, PriorPrefersVectors) {
  const auto first =
      space_->Apply(space_->Root(), {"Sketch", {{"index", int64_t{0}}, {"sample", int64_t{1}}}});
  ASSERT_TRUE(first.ok());
  const auto tiled = space_->Apply(*first, {"TileSize",
                                            {{"block", std::string("C")},
                                             {"loop", std::string("j")},
                                             {"factors", std::vector<int64_t>{2, 2, 4, 8}}}});
  const StatePtr wide = tiled.ok() ? *tiled : *first;
  const auto scalar = space_->Apply(wide, {"Vectorize", {{"max_extent", int64_t{1}}}});
  ASSERT_TRUE(scalar.ok()) << scalar.error().message;
  const auto score = [](const StatePtr& s) {
    return PriorScore(*static_cast<const ScheduleState&>(*s).features());
  };
  EXPECT_GT(score(wide), score(*scalar));
}

TEST_F(CostModelTest, FailuresCountAsSlow) {
  XgbCostModel model;
  Latencies latencies = SecondsOf(States(0, 24));
  for (int i = 0; i < 24; i += 3) latencies[i] = std::nullopt;
  ASSERT_TRUE(model.Update(States(0, 24), latencies).ok());
  const auto predicted = model.Predict(States(0, 24));
  double failed = 0, worked = 0;
  for (int i = 0; i < 24; ++i)
    (i % 3 == 0 ? failed : worked) += predicted[i] / (i % 3 == 0 ? 8 : 16);
  EXPECT_LT(failed, worked);
  EXPECT_FALSE(model.Update(States(0, 2), SecondsOf(States(0, 1))).ok());
}

TEST_F(CostModelTest, SameSamplesSamePredictionsAlsoAfterSaving) {
  XgbCostModel once, twice, loaded;
  ASSERT_TRUE(once.Update(States(0, 16), SecondsOf(States(0, 16))).ok());
  ASSERT_TRUE(twice.Update(States(0, 9), SecondsOf(States(0, 9))).ok());
  ASSERT_TRUE(twice.Update(States(9, 7), SecondsOf(States(9, 7))).ok());
  const auto expected = once.Predict(States(16, 32));
  EXPECT_EQ(twice.Predict(States(16, 32)), expected);
  ASSERT_TRUE(loaded.Load(once.Save().value()).ok());
  EXPECT_EQ(loaded.Predict(States(16, 32)), expected);
  EXPECT_EQ(loaded.Load("nonsense").error().code, Code::kRunDirectory);
  EXPECT_EQ(loaded.Load("").error().code, Code::kRunDirectory);
}

TEST_F(CostModelTest, RandomModelIsSeededAndResumes) {
  RandomCostModel a(7), b(7), c(8);
  const auto first = a.Predict(States(0, 8));
  EXPECT_EQ(b.Predict(States(0, 8)), first);
  EXPECT_NE(c.Predict(States(0, 8)), first);
  RandomCostModel resumed(1);
  ASSERT_TRUE(resumed.Load(a.Save().value()).ok());
  EXPECT_EQ(resumed.Predict(States(0, 8)), b.Predict(States(0, 8)));
  EXPECT_FALSE(resumed.Load("x").ok());
}

}  // namespace
}  // namespace tw::space
