// Scores and latencies that are no numbers, moves that never apply, spaces that end.
#include <gmock/gmock.h>

#include <cmath>
#include <limits>
#include <set>

#include "search/droplet.h"
#include "search/mcts.h"
#include "search/random_proposer.h"
#include "search/testing/toy_space.h"

namespace tw::search {
namespace {

using testing::ToyModel;
using testing::ToySpace;

const double kNoLatencies[] = {0.0, -1.0, std::nan(""), std::numeric_limits<double>::infinity(),
                               1e10};

// Answers with nothing that compares.
class NoNumbers : public CostModel {
 public:
  std::vector<double> Predict(std::span<const StatePtr> states) override {
    std::vector<double> scores;
    for (std::size_t i = 0; i < states.size(); ++i) {
      scores.push_back(i % 2 == 0 ? std::nan("") : std::numeric_limits<double>::infinity());
    }
    return scores;
  }
};

// Keeps the contexts that it is asked about, and proposes nothing.
class Listener : public Proposer {
 public:
  std::string Name() const override { return "listener"; }
  std::vector<Proposal> Propose(const Context& context, int) override {
    last = context;
    return {};
  }
  Context last;
};

// The toy space, but only its sketches apply.
class StuckSpace : public ToySpace {
 public:
  Result<StatePtr> Apply(const StatePtr& from, const Transformation& t) override {
    if (!IsRoot(*from)) return Fail(Code::kUsage, "stuck");
    return ToySpace::Apply(from, t);
  }
};

TEST(Mcts, ScoresThatAreNoNumbersCountForNothing) {
  ToySpace space;
  NoNumbers model;
  RandomProposer proposer(space, 1);
  Mcts mcts(space, proposer, model, 1, MctsOptions::Default());
  std::set<std::string> keys;
  for (int round = 0; round < 6; ++round) {
    std::vector<Observation> round_observed;
    for (const Candidate& c : mcts.Propose(8)) {
      EXPECT_TRUE(keys.insert(space.Key(*c.state)).second);
      round_observed.push_back({c.node, true, space.Latency(*c.state)});
    }
    mcts.Observe(round_observed);
  }
  EXPECT_EQ(keys.size(), 48u);
  for (const NodeRecord& r : mcts.TakeChanges()) {
    EXPECT_EQ(r.predicted, 0) << r.id;
    EXPECT_EQ(r.reward, 0) << r.id;
    EXPECT_TRUE(std::isfinite(r.value)) << r.id;
  }
}

TEST(Mcts, WhatIsNoLatencyIsAFailureWithoutReward) {
  for (double latency : kNoLatencies) {
    ToySpace space;
    ToyModel model(space);
    Listener listener;
    Mcts mcts(space, listener, model, 1, MctsOptions::Default());
    const auto candidates = mcts.Propose(4);
    std::map<int64_t, NodeRecord> before;
    for (const NodeRecord& r : mcts.TakeChanges()) before[r.id] = r;
    mcts.Observe(std::vector<Observation>{{candidates[0].node, true, latency}});
    std::set<int64_t> above;  // with itself
    for (int64_t id = candidates[0].node; id >= 0; id = before[id].parent) above.insert(id);
    std::size_t seen = 0;
    for (const NodeRecord& r : mcts.TakeChanges()) {
      seen += above.count(r.id);
      EXPECT_EQ(r.visits, before[r.id].visits + (above.contains(r.id) ? 1 : 0)) << latency;
      EXPECT_NEAR(r.value, before[r.id].value, 1e-12) << latency;
    }
    EXPECT_EQ(seen, above.size());
    mcts.Grow();
    EXPECT_FALSE(listener.last.best_latency_s.has_value()) << latency;
    for (const Ancestor& a : listener.last.path) EXPECT_FALSE(a.latency_s.has_value());
  }
}

TEST(Mcts, ContextsTellWhatWasMeasuredOnTheWay) {
  ToySpace space;
  ToyModel model(space);
  Listener listener;
  MctsOptions options = MctsOptions::Default();
  options.root_branching = 1;  // all below one program
  options.growth = 1;
  options.measure_rollouts = false;
  Mcts mcts(space, listener, model, 1, options);
  const auto candidates = mcts.Propose(64);  // all that the tree has
  std::vector<Observation> observations;
  for (const Candidate& c : candidates) observations.push_back({c.node, true, 2e-3});
  observations.front().latency_s = 1e-3;
  mcts.Observe(observations);
  mcts.Grow();
  EXPECT_EQ(listener.last.best_latency_s, 1e-3);
  ASSERT_GE(listener.last.path.size(), 2u);
  EXPECT_TRUE(ToySpace::IsRoot(*listener.last.path[0].state));
  EXPECT_FALSE(listener.last.path[0].latency_s.has_value());
  EXPECT_TRUE(listener.last.path[1].latency_s.has_value());
  EXPECT_EQ(listener.last.path[1].sequence.front().name, "Sketch");
}

// With more exploitation than the paper's c = sqrt 2, whose term outweighs rewards that lie close
// together.
TEST(Mcts, FindsTheOptimum) {
  for (uint64_t seed : {1, 2, 3, 4}) {
    ToySpace space({32, 24}, 2);
    ToyModel model(space, 0.2);
    RandomProposer proposer(space, seed);
    MctsOptions options = MctsOptions::Default();
    options.exploration = 0.2;
    options.branching = 4;
    Mcts mcts(space, proposer, model, seed, options);
    double best = 1e300;
    for (int round = 0; round < 8; ++round) {
      std::vector<Observation> observations;
      for (const Candidate& c : mcts.Propose(8)) {
        best = std::min(best, space.Latency(*c.state));
        observations.push_back({c.node, true, space.Latency(*c.state)});
      }
      mcts.Observe(observations);
    }
    EXPECT_DOUBLE_EQ(best, 1) << seed;
  }
}

TEST(Mcts, ASpaceWhereNothingAppliesBelowTheSketchesEnds) {
  StuckSpace space;
  ToyModel model(space);
  RandomProposer proposer(space, 1);
  for (const MctsOptions& options : {MctsOptions::Paper(), MctsOptions::Default()}) {
    Mcts mcts(space, proposer, model, 1, options);
    std::size_t total = 0;
    for (int round = 0; round < 8; ++round) total += mcts.Propose(8).size();
    EXPECT_EQ(total, static_cast<std::size_t>(options.root_branching));
    EXPECT_TRUE(mcts.Propose(8).empty());
    EXPECT_GT(mcts.counts().invalid.at("stuck"), 0);
  }
}

// A tree that has grown by several leaves at a time goes on like one that was only read from its
// records.
TEST(Mcts, VirtualVisitsAreGoneAfterARound) {
  ToySpace space;
  ToyModel model(space);
  Listener none;
  MctsOptions options = MctsOptions::Paper();
  options.width = 4;
  Mcts grown(space, none, model, 3, options);
  std::map<int64_t, NodeRecord> records;
  for (int round = 0; round < 10; ++round) {
    // The same tree without a past: only what is stored, so no virtual visits.
    Mcts fresh(space, none, model, 3, options);
    std::vector<NodeRecord> stored;
    for (const auto& [id, r] : records) stored.push_back(r);
    ASSERT_TRUE(fresh.LoadState(grown.SaveState()).ok());
    ASSERT_TRUE(fresh.Restore(stored, {}).ok());
    EXPECT_EQ(grown.Grow(), fresh.Grow());
    const auto ours = grown.TakeChanges();
    if (round > 0) {
      const auto theirs = fresh.TakeChanges();
      ASSERT_EQ(ours.size(), theirs.size()) << round;
      for (std::size_t i = 0; i < ours.size(); ++i) {
        EXPECT_EQ(ours[i].key, theirs[i].key);
        EXPECT_EQ(ours[i].parent, theirs[i].parent);
        EXPECT_EQ(ours[i].visits, theirs[i].visits);
        EXPECT_EQ(ours[i].value, theirs[i].value);
      }
    }
    for (const NodeRecord& r : ours) records[r.id] = r;
  }
  EXPECT_GT(records.size(), 20u);
}

TEST(Droplet, WhatIsNoLatencyIsNeverTheCentre) {
  for (double latency : kNoLatencies) {
    ToySpace space;
    DropletOptions options;
    options.samples = 4;
    Droplet droplet(space, 1, options);
    std::vector<Observation> samples;
    for (const Candidate& c : droplet.Propose(4))
      samples.push_back({c.node, true, 1.0 + static_cast<double>(c.node)});
    samples[2].latency_s = latency;
    droplet.Observe(samples);
    const auto neighbours = droplet.Propose(8);
    ASSERT_FALSE(neighbours.empty());
    for (const NodeRecord& r : droplet.TakeChanges()) {
      if (r.id > 4) {
        EXPECT_EQ(r.parent, samples[0].node) << latency;
      }
    }
  }
}

TEST(Droplet, MovesOnlyWhenTheGainIsSignificant) {
  ToySpace space;
  DropletOptions options;
  options.samples = 1;
  options.significance = 0.1;
  Droplet droplet(space, 1, options);
  const Candidate start = droplet.Propose(1).at(0);
  droplet.Observe(std::vector<Observation>{{start.node, true, 1.0}});
  const Candidate first = droplet.Propose(1).at(0);
  droplet.Observe(std::vector<Observation>{{first.node, true, 0.95}});
  const Candidate second = droplet.Propose(1).at(0);
  droplet.Observe(std::vector<Observation>{{second.node, true, 0.85}});
  const Candidate third = droplet.Propose(1).at(0);
  std::map<int64_t, int64_t> parents;
  for (const NodeRecord& r : droplet.TakeChanges()) parents[r.id] = r.parent;
  EXPECT_EQ(parents[second.node], start.node);
  EXPECT_EQ(parents[third.node], second.node);
}

TEST(RandomProposer, ProposesOneLegalMoveEach) {
  ToySpace space;
  RandomProposer proposer(space, 1);
  Context context;
  context.path.push_back({space.Root(), {}, 0, std::nullopt});
  const auto proposals = proposer.Propose(context, 5);
  ASSERT_EQ(proposals.size(), 5u);
  for (const Proposal& p : proposals) {
    ASSERT_EQ(p.sequence.size(), 1u);
    EXPECT_TRUE(space.Apply(space.Root(), p.sequence[0]).ok());
    EXPECT_EQ(p.source, "random");
  }
  Random random(1);
  EXPECT_FALSE(DrawTransformation({}, random).has_value());
}

}  // namespace
}  // namespace tw::search
