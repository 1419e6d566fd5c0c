// All searchers on a space whose optimum is known.
#include <gmock/gmock.h>

#include <map>
#include <set>

#include "search/droplet.h"
#include "search/mcts.h"
#include "search/random_proposer.h"
#include "search/random_search.h"
#include "search/testing/toy_space.h"

namespace tw::search {
namespace {

using testing::ToyModel;
using testing::ToySpace;

struct Bench {
  explicit Bench(const std::string& name, uint64_t seed, double noise = 0.3,
                 ToySpace toy = ToySpace())
      : space(std::move(toy)), model(space, noise), proposer(space, seed) {
    if (name == "random") searcher = std::make_unique<RandomSearch>(space, seed);
    if (name == "droplet") searcher = std::make_unique<Droplet>(space, seed);
    if (name == "mcts") {
      searcher = std::make_unique<Mcts>(space, proposer, model, seed, MctsOptions::Default());
    }
    if (name == "paper") {
      searcher = std::make_unique<Mcts>(space, proposer, model, seed, MctsOptions::Paper());
    }
  }
  ToySpace space;
  ToyModel model;
  RandomProposer proposer;
  std::unique_ptr<Searcher> searcher;
  std::vector<Observation> observations;
  std::map<int64_t, NodeRecord> records;
  std::vector<std::string> keys;

  // Measures `trials` programs in rounds of 8; every `fail_every`-th fails. Returns the best
  // latency.
  double Run(int trials, std::size_t fail_every = 7) {
    const int batch = 8;
    double best = 1e300;
    while (static_cast<int>(keys.size()) < trials) {
      const auto candidates =
          searcher->Propose(std::min(batch, trials - static_cast<int>(keys.size())));
      for (const NodeRecord& r : searcher->TakeChanges()) records[r.id] = r;
      if (candidates.empty()) break;
      std::vector<Observation> round;
      for (const Candidate& c : candidates) {
        keys.push_back(space.Key(*c.state));
        const bool valid = keys.size() % fail_every != 0;
        const double latency = space.Latency(*c.state);
        if (valid) best = std::min(best, latency);
        round.push_back({c.node, valid, latency});
      }
      searcher->Observe(round);
      observations.insert(observations.end(), round.begin(), round.end());
    }
    for (const NodeRecord& r : searcher->TakeChanges()) records[r.id] = r;
    return best;
  }
  std::vector<NodeRecord> Records() const {
    std::vector<NodeRecord> all;
    for (const auto& [id, record] : records) all.push_back(record);
    return all;
  }
};

class AllSearchers : public ::testing::TestWithParam<const char*> {};

TEST_P(AllSearchers, NoProgramIsHandedOutTwice) {
  Bench s(GetParam(), 1);
  s.Run(120);
  EXPECT_EQ(std::set<std::string>(s.keys.begin(), s.keys.end()).size(), 120u);
}

TEST_P(AllSearchers, TheSameSeedGivesTheSamePrograms) {
  Bench a(GetParam(), 5), b(GetParam(), 5), c(GetParam(), 6);
  a.Run(40);
  b.Run(40);
  c.Run(40);
  EXPECT_EQ(a.keys, b.keys);
  EXPECT_NE(a.keys, c.keys);
}

TEST_P(AllSearchers, ATinySpaceEnds) {
  Bench s(GetParam(), 1, 0, ToySpace({2}, 1));  // one factorisation, four unroll steps
  s.Run(64);
  EXPECT_LE(s.keys.size(), 4u);
  EXPECT_GE(s.keys.size(), 3u);
}

TEST_P(AllSearchers, EveryCandidateIsAStoredNodeWithAParentBeforeIt) {
  Bench s(GetParam(), 2);
  s.Run(40);
  int64_t expected = 0;
  int handed_out = 0;
  for (const auto& [id, r] : s.records) {
    EXPECT_EQ(id, expected++);
    EXPECT_LT(r.parent, id);
    handed_out += r.proposed ? 1 : 0;
  }
  EXPECT_EQ(handed_out, 40);
}

TEST_P(AllSearchers, ARestoredRunGoesOnWithoutMeasuringAgain) {
  Bench first(GetParam(), 3);
  first.Run(32);
  // Handed out and never observed: what a killed run had in flight.
  const auto in_flight = first.searcher->Propose(4);
  for (const NodeRecord& r : first.searcher->TakeChanges()) first.records[r.id] = r;
  ASSERT_EQ(in_flight.size(), 4u);

  Bench second(GetParam(), 3);
  const Status restored = second.searcher->Restore(first.Records(), first.observations);
  ASSERT_TRUE(restored.ok()) << restored.error().message;
  const auto again = second.searcher->Propose(4);
  ASSERT_EQ(again.size(), 4u);
  std::set<std::string> known(first.keys.begin(), first.keys.end());
  std::set<std::string> wanted, got;
  for (std::size_t i = 0; i < 4; ++i) {
    wanted.insert(first.space.Key(*in_flight[i].state));
    got.insert(second.space.Key(*again[i].state));
  }
  EXPECT_EQ(got, wanted);
  known.insert(got.begin(), got.end());
  for (const Candidate& c : second.searcher->Propose(16)) {
    EXPECT_TRUE(known.insert(second.space.Key(*c.state)).second) << "measured before";
  }
}

TEST_P(AllSearchers, StoredNodesWithAGapAreRefused) {
  Bench first(GetParam(), 3);
  first.Run(16);
  std::vector<NodeRecord> records = first.Records();
  records.erase(records.begin() + 2);
  Bench second(GetParam(), 3);
  EXPECT_FALSE(second.searcher->Restore(records, {}).ok());
}

INSTANTIATE_TEST_SUITE_P(Each, AllSearchers,
                         ::testing::Values("random", "droplet", "mcts", "paper"));

constexpr std::size_t kNever = 1 << 30;

double MeanBest(const char* name, int trials, double noise) {
  double sum = 0;
  for (uint64_t seed = 1; seed <= 12; ++seed) sum += Bench(name, seed, noise).Run(trials, kNever);
  return sum / 12;
}

TEST(Searchers, DropletAndMctsBeatRandomOnAverage) {
  const double random = MeanBest("random", 96, 0.3);
  EXPECT_LT(MeanBest("droplet", 96, 0.3), random);
  EXPECT_LT(MeanBest("mcts", 96, 0.3), random);
}

TEST(Searchers, DropletComesToTheOptimum) { EXPECT_LT(MeanBest("droplet", 400, 0), 1.05); }

TEST(Searchers, MctsWithAGoodModelComesNearTheOptimumSoon) {
  EXPECT_LT(MeanBest("mcts", 160, 0), 1.3);
}

TEST(Droplet, WhenNoSampleIsValidItSamplesAgain) {
  ToySpace space;
  Droplet droplet(space, 1);
  for (int round = 0; round < 5; ++round) {
    const auto candidates = droplet.Propose(8);
    ASSERT_FALSE(candidates.empty());
    std::vector<Observation> failed;
    for (const Candidate& c : candidates) failed.push_back({c.node, false, 0});
    droplet.Observe(failed);
  }
}

}  // namespace
}  // namespace tw::search
