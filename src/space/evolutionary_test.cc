#include "space/evolutionary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "space/cost_model.h"
#include "tvm/reduction_check.h"
#include "tvm/runtime.h"
#include "tvm/testing.h"
#include "tvm/testing_programs.h"

namespace tw::space {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

class EvolutionaryTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { ASSERT_TRUE(tvm_api::Load().ok()); }
  static std::unique_ptr<ScheduleSpace> Make(const tvm_api::Module& module) {
    return std::move(ScheduleSpace::Make(module, tvm_api::Target::Parse("llvm", 1).value()))
        .value();
  }
  static std::unique_ptr<EvolutionarySearcher> Searcher(ScheduleSpace& space,
                                                        search::CostModel& model) {
    tvm_api::EvolutionOptions options;
    options.population = 16;
    options.generations = 2;
    auto searcher = EvolutionarySearcher::Make(space, model, options);
    EXPECT_TRUE(searcher.ok()) << searcher.error().message;
    return std::move(searcher).value();
  }
};

TEST_F(EvolutionaryTest, ProposesNewLegalProgramsRoundAfterRound) {
  auto space = Make(tvm_api::testing::Matmul(32, 64, 128));
  XgbCostModel model;
  auto searcher = Searcher(*space, model);
  std::set<std::string> keys;
  int proposed = 0;
  for (int round = 0; round < 3; ++round) {
    const auto candidates = searcher->Propose(4);
    EXPECT_THAT(candidates, SizeIs(4));
    std::vector<search::Observation> observations;
    for (const auto& candidate : candidates) {
      keys.insert(space->Key(*candidate.state));
      observations.push_back({candidate.node, true, 1e-3 * static_cast<double>(++proposed)});
    }
    searcher->Observe(observations);
  }
  EXPECT_THAT(keys, SizeIs(proposed));
  EXPECT_GT(searcher->Scored(), 3 * 16);
  const auto nodes = searcher->TakeChanges();
  ASSERT_THAT(nodes, SizeIs(proposed + 1));
  EXPECT_EQ(nodes[0].parent, -1);
  EXPECT_TRUE(nodes[1].proposed);
  EXPECT_THAT(searcher->TakeChanges(), IsEmpty());
}

TEST_F(EvolutionaryTest, RestoredSearchRepeatsNothing) {
  auto space = Make(tvm_api::testing::Matmul(16, 32, 64));
  RandomCostModel model(3);
  auto first = Searcher(*space, model);
  const auto candidates = first->Propose(6);
  const std::vector<search::Observation> observations{{candidates[0].node, true, 1e-3},
                                                      {candidates[1].node, false, 0}};
  first->Observe(observations);
  const auto nodes = first->TakeChanges();

  auto second = Searcher(*space, model);
  ASSERT_TRUE(second->Restore(nodes, observations).ok());
  EXPECT_THAT(second->TakeChanges(), IsEmpty());
  std::set<std::string> keys;
  for (const auto& node : nodes) keys.insert(node.key);
  for (const auto& candidate : second->Propose(6)) {
    EXPECT_TRUE(keys.insert(space->Key(*candidate.state)).second);
  }
  auto other = Make(tvm_api::testing::Matmul(16, 32, 32));
  auto third = Searcher(*other, model);
  EXPECT_EQ(third->Restore(nodes, {}).error().code, Code::kRunDirectory);
}

TEST_F(EvolutionaryTest, NeverHandsOutARepeatedReductionAndSearchesTheMlp) {
  RandomCostModel model(3);
  auto attention = Make(tvm_api::testing::NormalizedMatmul(16, 32, 64));
  auto searcher = Searcher(*attention, model);
  for (const auto& candidate : searcher->Propose(8)) {
    EXPECT_EQ(tvm_api::FindRepeatedReduction(*attention->ModuleOf(*candidate.state)), std::nullopt);
  }
  auto mlp = Make(tvm_api::testing::GatedMlp(8, 32, 16));
  EXPECT_THAT(Searcher(*mlp, model)->Propose(2), SizeIs(2));
}

}  // namespace
}  // namespace tw::space
