// The arithmetic of the tree, step by step, against numbers worked out by hand.
#include "search/mcts.h"

#include <gmock/gmock.h>

#include <cmath>

#include "search/testing/toy_space.h"

namespace tw::search {
namespace {

using testing::ToySpace;

// Proposes what a test has written down.
class Script : public Proposer {
 public:
  std::string Name() const override { return "script"; }
  std::vector<Proposal> Propose(const Context& context, int) override {
    contexts.push_back(context);
    if (next == lines.size()) return {};
    auto t = ParseTransformation(lines[next++]);
    return {{{*t}, "because", Name()}};
  }
  std::vector<std::string> lines;
  std::size_t next = 0;
  std::vector<Context> contexts;
};

// Scores what a test has written down, in order; two numbers an expansion: the node, then its
// rollout's end.
class Scores : public CostModel {
 public:
  std::vector<double> Predict(std::span<const StatePtr> states) override {
    std::vector<double> scores;
    for (std::size_t i = 0; i < states.size(); ++i) scores.push_back(values.at(next++));
    return scores;
  }
  std::vector<double> values;
  std::size_t next = 0;
};

std::map<int64_t, NodeRecord> NodesOf(Mcts& mcts) {
  std::map<int64_t, NodeRecord> nodes;
  for (const NodeRecord& r : mcts.TakeChanges()) nodes[r.id] = r;
  return nodes;
}

TEST(Uct, IsMeanRewardPlusExploration) {
  EXPECT_DOUBLE_EQ(Mcts::Uct(1.2, 2, 5, std::sqrt(2)),
                   0.6 + std::sqrt(2) * std::sqrt(std::log(5.0) / 2));
  EXPECT_DOUBLE_EQ(Mcts::Uct(0.5, 1, 1, 3), 0.5);
  EXPECT_TRUE(std::isinf(Mcts::Uct(0, 0, 10, 1)));
}

TEST(Mcts, PaperTreeByHand) {
  ToySpace space;
  Script script;
  Scores scores;
  // Root takes two children (B = 2); then UCT: child 1 has mean 0.2, child 2 has 0.8, both one
  // visit, so the exploration terms are equal and child 2 is expanded; it gets nodes 3 and 4.
  script.lines = {"Sketch(sample=1)", "Sketch(sample=2)", "Unroll(step=0)", "Unroll(step=1)"};
  scores.values = {0.11, 0.2, 0.12, 0.8, 0.13, 0.5, 0.14, 0.1};
  Mcts mcts(space, script, scores, 1, MctsOptions::Paper());
  for (int i = 0; i < 2; ++i) ASSERT_EQ(mcts.Grow(), 1);
  auto nodes = NodesOf(mcts);
  EXPECT_EQ(nodes[0].visits, 2);
  EXPECT_DOUBLE_EQ(nodes[0].value, 1.0);
  EXPECT_DOUBLE_EQ(nodes[1].value, 0.2);
  EXPECT_DOUBLE_EQ(nodes[2].value, 0.8);
  EXPECT_DOUBLE_EQ(nodes[1].predicted, 0.11);
  EXPECT_EQ(nodes[2].rationale, "because");
  EXPECT_EQ(nodes[2].source, "script");

  // Which unroll step the second sketch has, two others are proposed.
  const std::string state = nodes[2].state;
  const int has = state[0] - '0';
  script.lines[2] = "Unroll(step=" + std::to_string((has + 1) % 4) + ")";
  script.lines[3] = "Unroll(step=" + std::to_string((has + 2) % 4) + ")";
  ASSERT_EQ(mcts.Grow(), 1);
  nodes = NodesOf(mcts);
  ASSERT_TRUE(nodes.contains(3));
  EXPECT_EQ(nodes[3].parent, 2);
  EXPECT_EQ(nodes[0].visits, 3);
  EXPECT_DOUBLE_EQ(nodes[0].value, 1.5);
  EXPECT_EQ(nodes[2].visits, 2);
  EXPECT_DOUBLE_EQ(nodes[2].value, 1.3);
  ASSERT_EQ(script.contexts.back().path.size(), 2u);
  EXPECT_DOUBLE_EQ(script.contexts.back().path[1].predicted, 0.12);

  // Child 1: 0.2 + sqrt2 sqrt(ln 3 / 1) = 1.682; child 2: 0.65 + sqrt2 sqrt(ln 3 / 2) = 1.698.
  // Child 2 again.
  EXPECT_LT(Mcts::Uct(0.2, 1, 3, std::sqrt(2)), Mcts::Uct(1.3, 2, 3, std::sqrt(2)));
  ASSERT_EQ(mcts.Grow(), 1);
  nodes = NodesOf(mcts);
  EXPECT_EQ(nodes[4].parent, 2);
  EXPECT_EQ(nodes[2].visits, 3);
  EXPECT_DOUBLE_EQ(nodes[2].value, 1.4);
  EXPECT_EQ(nodes[0].visits, 4);
  EXPECT_EQ(mcts.counts().fallbacks, 0);
  EXPECT_EQ(mcts.counts().expansions, 4);
}

TEST(Mcts, WhatDoesNotApplyIsReplacedByARandomMoveAndCounted) {
  ToySpace space;
  Script script;
  script.lines = {"Unroll(step=1)"};  // the root has only sketches
  Scores scores;
  scores.values = {0.5, 0.5};
  Mcts mcts(space, script, scores, 1, MctsOptions::Paper());
  ASSERT_EQ(mcts.Grow(), 1);
  EXPECT_EQ(mcts.counts().fallbacks, 1);
  ASSERT_EQ(mcts.counts().invalid.size(), 1u);
  EXPECT_EQ(mcts.counts().invalid.begin()->first, "Unroll(step=1) does not apply");
  EXPECT_EQ(NodesOf(mcts)[1].source, "random");
}

TEST(Mcts, AProgramInTheTreeIsNotAddedAgain) {
  ToySpace space;
  Script script;
  script.lines = {"Sketch(sample=7)", "Sketch(sample=7)"};
  Scores scores;
  scores.values = {0.5, 0.5};
  Mcts mcts(space, script, scores, 1, MctsOptions::Paper());
  EXPECT_EQ(mcts.Grow(), 1);
  EXPECT_EQ(mcts.Grow(), 0);
  EXPECT_EQ(mcts.counts().duplicates, 1);
  EXPECT_EQ(NodesOf(mcts).size(), 2u);
}

TEST(Mcts, VisitsAddUpWithManyLeavesAtATime) {
  ToySpace space;
  testing::ToyModel model(space);
  Script none;
  MctsOptions options = MctsOptions::Paper();
  options.width = 8;
  options.root_branching = 3;
  Mcts mcts(space, none, model, 4, options);
  int64_t grown = 0;
  for (int i = 0; i < 20; ++i) grown += mcts.Grow();
  auto nodes = NodesOf(mcts);
  EXPECT_EQ(static_cast<int64_t>(nodes.size()), grown + 1);
  EXPECT_EQ(nodes[0].visits, grown);
  std::map<int64_t, int> children;
  std::map<int64_t, int64_t> below;
  std::map<int64_t, double> value;
  for (auto& [id, n] : nodes) {
    if (id == 0) continue;
    ++children[n.parent];
    below[n.parent] += n.visits;
    value[n.parent] += n.value;
  }
  for (auto& [id, n] : nodes) {
    EXPECT_LE(children[id], id == 0 ? 3 : 2) << id;
    EXPECT_EQ(n.visits, below[id] + (id == 0 ? 0 : 1)) << id;
    EXPECT_NEAR(n.value, value[id] + n.reward, 1e-9) << id;
  }
}

TEST(Mcts, RestoreGivesTheSameSums) {
  ToySpace space;
  testing::ToyModel model(space, 0.2);
  Script none;
  Mcts first(space, none, model, 4, MctsOptions::Default());
  std::map<int64_t, NodeRecord> before;
  std::vector<Observation> observations;
  for (int round = 0; round < 4; ++round) {
    std::vector<Observation> now;
    for (const Candidate& c : first.Propose(6)) {
      now.push_back({c.node, c.node % 3 != 0, space.Latency(*c.state)});
    }
    first.Observe(now);
    observations.insert(observations.end(), now.begin(), now.end());
    for (const NodeRecord& r : first.TakeChanges()) before[r.id] = r;
  }
  std::vector<NodeRecord> records;
  for (const auto& [id, r] : before) records.push_back(r);
  Mcts second(space, none, model, 4, MctsOptions::Default());
  ASSERT_TRUE(second.Restore(records, observations).ok());
  // A much faster program makes the share of every measured one smaller, in both trees alike.
  const std::vector<Observation> faster{{observations.front().node, true, 1e-3}};
  first.Observe(faster);
  second.Observe(faster);
  const auto expected = NodesOf(first);
  const auto after = NodesOf(second);
  EXPECT_GT(expected.size(), observations.size() / 2);
  ASSERT_EQ(after.size(), expected.size());
  for (const auto& [id, r] : after) {
    EXPECT_EQ(r.visits, expected.at(id).visits) << id;
    EXPECT_DOUBLE_EQ(r.value, expected.at(id).value) << id;
    EXPECT_EQ(r.proposed, expected.at(id).proposed) << id;
  }
}

}  // namespace
}  // namespace tw::search
