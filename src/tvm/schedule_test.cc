#include "tvm/schedule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <thread>

#include "tvm/features.h"
#include "tvm/runtime.h"
#include "tvm/testing.h"
#include "tvm/testing_programs.h"

namespace tw::tvm_api {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class ScheduleTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    const auto versions = Load();
    ASSERT_TRUE(versions.ok()) << versions.error().message;
  }

  static Target Cpu() { return Target::Parse("llvm", 2).value(); }

  static DesignSpace Sketches(const Module& module) {
    auto space = DesignSpace::Generate(module, Cpu());
    EXPECT_TRUE(space.ok()) << space.error().message;
    return std::move(space).value();
  }
};

TEST_F(ScheduleTest, MatmulHasThreeSketchesWithTilesUnrollAndAnnotations) {
  const DesignSpace space = Sketches(testing::Matmul(32, 64, 128));
  ASSERT_EQ(space.Sketches().size(), 3u);
  EXPECT_THAT(space.Notes(), IsEmpty());
  for (const Trace& sketch : space.Sketches()) {
    std::vector<int> parts;
    std::string annotates;
    for (const Sampling& sampling : sketch.Samplings()) {
      if (sampling.kind == Sampling::Kind::kPerfectTile) parts.push_back(sampling.parts);
      if (sampling.kind == Sampling::Kind::kCategorical) {
        annotates = sampling.annotates;
        EXPECT_THAT(sampling.candidates, ElementsAre(0, 16, 64, 512));
      }
    }
    EXPECT_THAT(parts, ElementsAre(4, 4, 2));
    EXPECT_EQ(annotates, "meta_schedule.unroll_explicit");
    const auto annotations = sketch.Annotations();
    ASSERT_EQ(annotations.size(), 2u);
    EXPECT_EQ(annotations[0].key, "meta_schedule.parallel");
    EXPECT_EQ(annotations[0].value, 32);  // 16 jobs on each of two cores
    EXPECT_EQ(annotations[1].key, "meta_schedule.vectorize");
    EXPECT_EQ(annotations[1].value, 64);
  }
}

TEST_F(ScheduleTest, ReplayKeepsDecisionsAndDrawsMissingOnesBySeed) {
  const Module module = testing::Matmul(32, 64, 128);
  const DesignSpace space = Sketches(module);
  const Trace& sketch = space.Sketches()[0];
  const int tile = sketch.Samplings()[0].instruction;
  const Trace wanted = sketch.WithDecision(tile, {2, 1, 4, 4});
  auto replayed = Schedule::Replay(module, wanted, 1);
  ASSERT_TRUE(replayed.ok()) << replayed.error().message;
  EXPECT_THAT(replayed->GetTrace().Samplings()[0].decision, ElementsAre(2, 1, 4, 4));

  const auto draw = [&](int64_t seed) {
    auto drawn = Schedule::Replay(module, sketch.WithoutDecisions(), seed);
    EXPECT_TRUE(drawn.ok());
    return drawn->GetModule().StructuralHash();
  };
  std::set<uint64_t> programs;
  for (int64_t seed = 1; seed <= 8; ++seed) {
    EXPECT_EQ(draw(seed), draw(seed));
    programs.insert(draw(seed));
  }
  EXPECT_GT(programs.size(), 4u);
}

TEST_F(ScheduleTest, WithSetsDecisionsAndAnnotationValues) {
  const Module module = testing::Matmul(32, 64, 128);
  const DesignSpace space = Sketches(module);
  const Trace& sketch = space.Sketches()[0];
  std::vector<Decision> decisions;
  for (const Sampling& sampling : sketch.Samplings()) {
    decisions.emplace_back(sampling.instruction, sampling.decision);
  }
  const std::vector<std::pair<int, int64_t>> values{{sketch.Annotations()[1].instruction, 8}};
  const Trace changed = sketch.With(decisions, values);
  EXPECT_EQ(changed.Annotations()[1].value, 8);
  EXPECT_EQ(sketch.Annotations()[1].value, 64);
  EXPECT_EQ(changed.Structure(), sketch.Structure());
  EXPECT_EQ(sketch.WithoutDecisions().Structure(), sketch.Structure());
  EXPECT_NE(space.Sketches()[1].Structure(), sketch.Structure());
  ASSERT_TRUE(space.Apply(changed, 1).ok());
}

TEST_F(ScheduleTest, PostprocessingLeavesTheScheduleAloneAndEqualsApply) {
  const Module module = testing::Matmul(32, 64, 128);
  const DesignSpace space = Sketches(module);
  const Trace& sketch = space.Sketches()[1];
  const Schedule plain = Schedule::Replay(module, sketch, 1).value();
  const uint64_t before = plain.GetModule().StructuralHash();
  auto done = space.Postprocess(plain);
  ASSERT_TRUE(done.ok()) << done.error().message;
  EXPECT_EQ(plain.GetModule().StructuralHash(), before);
  EXPECT_NE(done->GetModule().StructuralHash(), before);
  auto direct = space.Apply(sketch, 1);
  ASSERT_TRUE(direct.ok());
  EXPECT_EQ(direct->GetModule().StructuralHash(), done->GetModule().StructuralHash());
  EXPECT_EQ(direct->GetTrace().WithoutPostproc().Structure(), sketch.Structure());
}

TEST_F(ScheduleTest, JsonOfATraceReplaysToTheSameProgram) {
  const Module module = testing::NormalizedMatmul(32, 64, 128);
  const DesignSpace space = Sketches(module);
  for (const Trace& sketch : space.Sketches()) {
    auto schedule = space.Apply(sketch, 1);
    if (!schedule.ok()) continue;
    auto again = Schedule::ReplayJson(module, schedule->GetTrace().ToJson());
    ASSERT_TRUE(again.ok()) << again.error().message;
    EXPECT_EQ(again->GetModule().StructuralHash(), schedule->GetModule().StructuralHash());
  }
  EXPECT_FALSE(Schedule::ReplayJson(module, "[[").ok());
  EXPECT_FALSE(Schedule::ReplayJson(module, "[1,2]").ok());
  const auto unknown =
      Schedule::ReplayJson(module, R"([[["GetSBlock",[],["Z","main"],["b0"]]],[]])");
  ASSERT_FALSE(unknown.ok());
  EXPECT_EQ(unknown.error().message.find('\n'), std::string::npos) << unknown.error().message;
}

TEST_F(ScheduleTest, StockRulesThatThrowOnTheMlpAreTriedInASimplerForm) {
  const Module module = testing::GatedMlp(16, 64, 32);
  const DesignSpace space = Sketches(module);
  ASSERT_FALSE(space.Sketches().empty());
  EXPECT_THAT(space.Notes(), Contains(HasSubstr("MultiLevelTiling does not apply to block")));
  int tiles = 0;
  for (const Sampling& sampling : space.Sketches()[0].Samplings()) {
    tiles += sampling.kind == Sampling::Kind::kPerfectTile;
  }
  EXPECT_EQ(tiles, 9);  // all three matmuls are tiled
  EXPECT_TRUE(space.Apply(space.Sketches()[0], 1).ok());
}

TEST_F(ScheduleTest, ProgramsWithTwoOutputsHaveSketches) {
  const DesignSpace space = Sketches(testing::TwoOutputs(16, 32, 64));
  int legal = 0;
  for (const Trace& sketch : space.Sketches()) legal += space.Apply(sketch, 1).ok();
  EXPECT_GT(legal, 0);
}

TEST_F(ScheduleTest, SitesNameBlocksLoopsAndComputeLocations) {
  const Module module = testing::NormalizedMatmul(32, 64, 128);
  const DesignSpace space = Sketches(module);
  bool located = false;
  for (const Trace& sketch : space.Sketches()) {
    auto sites = FindSites(module, sketch);
    ASSERT_TRUE(sites.ok()) << sites.error().message;
    for (const Site& site : *sites) {
      if (site.block == "O" && site.loop == "k") {
        EXPECT_EQ(site.extent, 128);
      }
      if (site.block != "S" || site.locations.empty()) continue;
      located = true;
      const auto at_root = std::find_if(site.locations.begin(), site.locations.end(),
                                        [](const auto& l) { return l.index == -1; });
      ASSERT_NE(at_root, site.locations.end());
      EXPECT_EQ(at_root->name, "root");
      EXPECT_TRUE(std::is_sorted(site.locations.begin(), site.locations.end(),
                                 [](const auto& a, const auto& b) { return a.index < b.index; }));
    }
  }
  EXPECT_TRUE(located);
}

TEST_F(ScheduleTest, TwoThreadsGetWhatOneThreadGets) {
  const Module module = testing::NormalizedMatmul(32, 64, 128);
  const DesignSpace space = Sketches(module);
  const FeatureExtractor extractor = FeatureExtractor::Make(module, Cpu()).value();
  constexpr int kSamples = 12;
  const auto run = [&](int begin, int end, std::vector<std::pair<uint64_t, float>>& out) {
    for (int i = begin; i < end; ++i) {
      const auto& sketches = space.Sketches();
      auto schedule = space.Apply(sketches[i % sketches.size()].WithoutDecisions(), i + 1);
      if (!schedule.ok()) continue;
      float sum = 0;
      const Features features = extractor.Extract(*schedule).value();
      for (float value : features.values) sum += value;
      out[i] = {schedule->GetModule().StructuralHash(), sum};
    }
  };
  std::vector<std::pair<uint64_t, float>> alone(kSamples), together(kSamples);
  run(0, kSamples, alone);
  std::thread other([&] { run(0, kSamples / 2, together); });
  run(kSamples / 2, kSamples, together);
  other.join();
  EXPECT_EQ(alone, together);
}

TEST_F(ScheduleTest, FeaturesDifferBetweenProgramsAndHaveOneRowAStore) {
  const Module module = testing::Matmul(32, 64, 128);
  const DesignSpace space = Sketches(module);
  const FeatureExtractor extractor = FeatureExtractor::Make(module, Cpu()).value();
  const Trace& sketch = space.Sketches()[0];
  const auto features = [&](int64_t seed) {
    return extractor.Extract(space.Apply(sketch.WithoutDecisions(), seed).value()).value();
  };
  const Features a = features(1), b = features(2);
  EXPECT_GT(a.rows, 0);
  EXPECT_EQ(a.columns, kFeatureColumns);
  EXPECT_EQ(a.values.size(), static_cast<std::size_t>(a.rows) * kFeatureColumns);
  EXPECT_NE(a.values, b.values);
}

}  // namespace
}  // namespace tw::tvm_api
