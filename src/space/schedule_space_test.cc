#include "space/schedule_space.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "space/transformations.h"
#include "tvm/reduction_check.h"
#include "tvm/runtime.h"
#include "tvm/testing.h"
#include "tvm/testing_programs.h"

namespace tw::space {
namespace {

using search::StatePtr;
using search::Transformation;
using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

class ScheduleSpaceTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { ASSERT_TRUE(tvm_api::Load().ok()); }

  static std::unique_ptr<ScheduleSpace> Make(const tvm_api::Module& module, bool features = false) {
    auto space =
        ScheduleSpace::Make(module, tvm_api::Target::Parse("llvm -mcpu=x86-64-v3", 2).value(),
                            {.threads = 2, .features = features});
    EXPECT_TRUE(space.ok()) << space.error().message;
    return std::move(space).value();
  }
  static std::unique_ptr<ScheduleSpace> Matmul() {
    return Make(tvm_api::testing::Matmul(32, 64, 128));
  }

  static Transformation Sketch(int64_t index, int64_t sample) {
    return {"Sketch", {{"index", index}, {"sample", sample}}};
  }
  static Transformation Tile(const std::string& loop, std::vector<int64_t> factors) {
    return {"TileSize",
            {{"block", std::string("C")}, {"loop", loop}, {"factors", std::move(factors)}}};
  }
  static StatePtr Apply(ScheduleSpace& space, const StatePtr& from, const Transformation& t) {
    auto state = space.Apply(from, t);
    EXPECT_TRUE(state.ok()) << t.name << ": " << state.error().message;
    return state.ok() ? *state : from;
  }
  static std::string Refusal(ScheduleSpace& space, const StatePtr& from, const Transformation& t) {
    auto state = space.Apply(from, t);
    return state.ok() ? "accepted" : state.error().message;
  }
  static const Choices& ChoicesOf(const StatePtr& state) {
    return static_cast<const ScheduleState&>(*state).choices();
  }
};

TEST_F(ScheduleSpaceTest, OnlySketchAppliesToTheProgramAsGiven) {
  auto space = Matmul();
  const auto domains = space->Domains(*space->Root());
  ASSERT_THAT(domains, SizeIs(1));
  EXPECT_EQ(domains[0].name, "Sketch");
  EXPECT_THAT(domains[0].parameters[0].integers, testing::ElementsAre(0, 1, 2));
  EXPECT_THAT(Refusal(*space, space->Root(), Tile("i", {1, 1, 1, 32})),
              HasSubstr("apply Sketch first"));
  EXPECT_THAT(space->Neighbours(*space->Root()), IsEmpty());
}

TEST_F(ScheduleSpaceTest, SketchIsDeterministicAndSamplesDiffer) {
  auto space = Matmul(), other = Matmul();
  std::set<std::string> keys;
  for (int64_t sample = 1; sample <= 6; ++sample) {
    const std::string key = space->Key(*Apply(*space, space->Root(), Sketch(0, sample)));
    EXPECT_EQ(other->Key(*Apply(*other, other->Root(), Sketch(0, sample))), key);
    keys.insert(key);
  }
  EXPECT_THAT(keys, SizeIs(6));
}

TEST_F(ScheduleSpaceTest, TransformationsChangeWhatTheySay) {
  auto space = Matmul();
  StatePtr state = Apply(*space, space->Root(), Sketch(0, 1));
  state = Apply(*space, state, Tile("i", {2, 1, 4, 4}));
  state = Apply(*space, state, Tile("k", {16, 8}));
  EXPECT_THAT(ChoicesOf(state).decisions[0], testing::ElementsAre(2, 1, 4, 4));
  EXPECT_THAT(ChoicesOf(state).decisions[2], testing::ElementsAre(16, 8));
  const std::string before = space->Key(*state);
  for (int64_t step : {16, 64, 512}) {
    const Transformation unroll{"Unroll", {{"max_step", step}}};
    if (Refusal(*space, state, unroll) != "accepted") continue;
    EXPECT_NE(space->Key(*Apply(*space, state, unroll)), before);
  }
  state = Apply(*space, state, {"Vectorize", {{"max_extent", int64_t{1}}}});
  EXPECT_EQ(space->ModuleOf(*state)->Script().find("T.vectorized"), std::string::npos);
  state = Apply(*space, state, {"Parallel", {{"max_jobs", int64_t{2}}}});
  EXPECT_THAT(ChoicesOf(state).annotations, testing::ElementsAre(2, 1));
}

TEST_F(ScheduleSpaceTest, RefusalsSayWhy) {
  auto space = Matmul();
  const StatePtr state =
      Apply(*space, Apply(*space, space->Root(), Sketch(0, 1)), Tile("i", {2, 1, 4, 4}));
  EXPECT_THAT(Refusal(*space, state, Tile("z", {1, 1})),
              AllOf(HasSubstr("loop z"), HasSubstr("C.i, C.j, C.k")));
  EXPECT_THAT(Refusal(*space, state, Tile("i", {2, 1, 4})), HasSubstr("has 4 tiles, not 3"));
  EXPECT_THAT(Refusal(*space, state, Tile("i", {2, 1, 4, 5})), HasSubstr("must be 32"));
  EXPECT_THAT(Refusal(*space, state, Tile("i", {2, 1, -4, -4})), HasSubstr("must be 32"));
  EXPECT_THAT(Refusal(*space, state, Tile("i", {2, 1, 4, 4})), HasSubstr("no change"));
  EXPECT_THAT(Refusal(*space, state, Tile("k", {1, 128})), HasSubstr("at most 64, not 128"));
  EXPECT_THAT(Refusal(*space, state, Sketch(0, 2)), HasSubstr("no change"));
  EXPECT_THAT(Refusal(*space, state, Sketch(7, 2)), HasSubstr("0 to 2"));
  EXPECT_THAT(Refusal(*space, state, Sketch(1, 0)), HasSubstr("1 to 256"));
  EXPECT_THAT(Refusal(*space, state, {"Unroll", {{"max_step", int64_t{3}}}}),
              HasSubstr("0, 16, 64, 512"));
  EXPECT_THAT(Refusal(*space, state, {"Unroll", {{"max_step", std::string("x")}}}),
              HasSubstr("an integer"));
  EXPECT_THAT(Refusal(*space, state, {"Unroll", {}}), HasSubstr("needs the parameter max_step"));
  EXPECT_THAT(Refusal(*space, state, {"Unroll", {{"steps", int64_t{16}}}}),
              HasSubstr("no parameter steps"));
  EXPECT_THAT(Refusal(*space, state, {"Vectorize", {{"max_extent", int64_t{3}}}}),
              HasSubstr("one of 1, 8, 16"));
  EXPECT_THAT(Refusal(*space, state, {"Fuse", {}}), HasSubstr("no transformation Fuse"));
  EXPECT_THAT(
      Refusal(*space, state,
              {"ComputeLocation", {{"block", std::string("C")}, {"loop", std::string("root")}}}),
      HasSubstr("cannot be moved"));
}

TEST_F(ScheduleSpaceTest, AnotherSketchKeepsTheTiles) {
  auto space = Matmul();
  StatePtr state =
      Apply(*space, Apply(*space, space->Root(), Sketch(0, 1)), Tile("i", {2, 1, 4, 4}));
  const StatePtr other = Apply(*space, state, Sketch(2, 5));
  EXPECT_EQ(ChoicesOf(other).decisions, ChoicesOf(state).decisions);
  EXPECT_NE(space->Key(*other), space->Key(*state));
}

TEST_F(ScheduleSpaceTest, ASequenceEndsWhereItsStepsEnd) {
  auto space = Matmul();
  const std::vector<Transformation> sequence{
      Sketch(1, 9), Tile("i", {1, 2, 4, 4}), {"Vectorize", {{"max_extent", int64_t{8}}}}};
  StatePtr one_by_one = space->Root();
  for (const auto& t : sequence) one_by_one = Apply(*space, one_by_one, t);
  std::vector<search::Step> steps(5, search::Step{space->Root(), sequence});
  steps[3].sequence = {Sketch(1, 9), Tile("i", {1, 2, 4, 5})};
  steps[4].sequence = {};
  const auto results = space->ApplyAll(steps);
  for (int i : {0, 1, 2}) EXPECT_EQ(space->Key(**results[i]), space->Key(*one_by_one));
  EXPECT_FALSE(results[3].ok());
  EXPECT_EQ(*results[4], space->Root());
}

TEST_F(ScheduleSpaceTest, TextBringsTheSameProgramBack) {
  auto space = Make(tvm_api::testing::NormalizedMatmul(16, 32, 64));
  Random random(3);
  for (int i = 0; i < 6; ++i) {
    auto state = space->RandomState(random);
    ASSERT_TRUE(state.ok()) << state.error().message;
    auto fresh = Make(tvm_api::testing::NormalizedMatmul(16, 32, 64));
    auto decoded = fresh->Decode(space->Encode(**state));
    ASSERT_TRUE(decoded.ok()) << decoded.error().message << space->Encode(**state);
    EXPECT_EQ(fresh->Key(**decoded), space->Key(**state));
    auto replayed = tvm_api::Schedule::ReplayJson(space->design_space().GetModule(),
                                                  space->TraceJson(**state).value());
    ASSERT_TRUE(replayed.ok());
    EXPECT_EQ(fmt::format("{:016x}", replayed->GetModule().StructuralHash()), space->Key(**state));
    EXPECT_EQ(space->ModuleOf(**state)->StructuralHash(), replayed->GetModule().StructuralHash());
  }
  EXPECT_EQ(*space->Decode(space->Encode(*space->Root())), space->Root());
  for (const char* bad : {"", "[]", "{}", R"({"sketch":99})", R"({"sketch":0})",
                          R"({"sketch":0,"decisions":[[1]],"annotations":[1,1]})",
                          R"({"sketch":"a","decisions":[],"annotations":[]})"}) {
    EXPECT_FALSE(space->Decode(bad).ok()) << bad;
  }
}

TEST_F(ScheduleSpaceTest, EveryNeighbourIsOneStepAway) {
  auto space = Matmul();
  const StatePtr state =
      Apply(*space, Apply(*space, space->Root(), Sketch(0, 1)), Tile("i", {2, 1, 4, 4}));
  const auto neighbours = space->Neighbours(*state);
  EXPECT_GT(neighbours.size(), 10u);
  EXPECT_EQ(space->Neighbours(*state), neighbours);
  std::vector<search::Step> steps;
  for (const auto& t : neighbours) steps.push_back({state, {t}});
  std::set<std::string> names;
  int legal = 0;
  for (const auto& result : space->ApplyAll(steps)) legal += result.ok();
  EXPECT_EQ(legal, static_cast<int>(neighbours.size()));
  for (const auto& t : neighbours) names.insert(t.name);
  EXPECT_THAT(names, UnorderedElementsAre("TileSize", "Unroll", "Parallel", "Vectorize"));
}

TEST_F(ScheduleSpaceTest, MovesBlocksAndRefusesRepeatedReductions) {
  auto space = Make(tvm_api::testing::NormalizedMatmul(16, 32, 64));
  Random random(1);
  int moved = 0;
  for (int i = 0; i < 40; ++i) {
    auto state = space->RandomState(random);
    ASSERT_TRUE(state.ok());
    EXPECT_EQ(tvm_api::FindRepeatedReduction(*space->ModuleOf(**state)), std::nullopt);
    for (const auto& domain : space->Domains(**state)) {
      if (domain.name != kComputeLocation) continue;
      for (const std::string& loop : domain.parameters[1].names) {
        auto next = space->Apply(
            *state,
            {"ComputeLocation", {{"block", domain.parameters[0].names[0]}, {"loop", loop}}});
        if (!next.ok()) continue;
        ++moved;
        EXPECT_NE(ChoicesOf(*next).decisions, ChoicesOf(*state).decisions);
      }
    }
    if (moved > 10 && space->Refusals().count("repeated reduction")) break;
  }
  EXPECT_GT(moved, 0);
  EXPECT_GT(space->Refusals()["repeated reduction"], 0);
}

TEST_F(ScheduleSpaceTest, TheTableNamesEveryParameterOfEveryDomain) {
  auto space = Make(tvm_api::testing::NormalizedMatmul(16, 32, 64));
  Random random(5);
  std::set<std::string> seen;
  for (int i = 0; i < 6; ++i) {
    for (const auto& domain : space->Domains(**space->RandomState(random))) {
      const TransformationInfo* info = FindTransformation(domain.name);
      ASSERT_NE(info, nullptr);
      ASSERT_THAT(domain.parameters, SizeIs(info->parameters.size()));
      for (std::size_t p = 0; p < info->parameters.size(); ++p) {
        EXPECT_EQ(domain.parameters[p].name, info->parameters[p].name);
      }
      seen.insert(domain.name);
    }
  }
  EXPECT_THAT(seen, SizeIs(Transformations().size()));
}

TEST_F(ScheduleSpaceTest, TheMlpHasRandomSchedules) {
  auto space = Make(tvm_api::testing::GatedMlp(16, 64, 32), /*features=*/true);
  Random random(1);
  auto state = space->RandomState(random);
  ASSERT_TRUE(state.ok()) << state.error().message;
  EXPECT_TRUE(static_cast<const ScheduleState&>(**state).features().has_value());
}

}  // namespace
}  // namespace tw::space
