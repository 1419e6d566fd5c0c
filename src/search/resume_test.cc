// Runs that end at any moment and go on in another process: the same programs as without the
// interruption.
#include <gmock/gmock.h>

#include <cmath>
#include <limits>
#include <map>
#include <memory>

#include "search/droplet.h"
#include "search/mcts.h"
#include "search/random_proposer.h"
#include "search/random_search.h"
#include "search/saved_state.h"
#include "search/testing/toy_space.h"

namespace tw::search {
namespace {

using ::testing::HasSubstr;
using testing::ToyModel;
using testing::ToySpace;

// What survives a process: what the session commits.
struct Stored {
  std::map<int64_t, NodeRecord> nodes;
  std::vector<Observation> observations;
  std::string state;
  std::vector<std::string> keys;  // measured, in order

  std::vector<NodeRecord> Records() const {
    std::vector<NodeRecord> records;
    for (const auto& [id, record] : nodes) records.push_back(record);
    return records;
  }
};

// A process that tunes on the toy space.
struct Process {
  explicit Process(const std::string& name, bool tiny = false)
      : space(tiny ? ToySpace({2}, 1) : ToySpace()), model(space, 0.3), proposer(space, 5) {
    if (name == "random") searcher = std::make_unique<RandomSearch>(space, 5);
    if (name == "droplet") searcher = std::make_unique<Droplet>(space, 5);
    if (name == "mcts" || name == "paper") {
      const auto options = name == "mcts" ? MctsOptions::Default() : MctsOptions::Paper();
      searcher = std::make_unique<Mcts>(space, proposer, model, 5, options);
    }
  }

  Status Continue(const Stored& stored, bool with_state = true) {
    if (with_state) TW_CHECK(searcher->LoadState(stored.state));
    return searcher->Restore(stored.Records(), stored.observations);
  }

  // Rounds as tune makes them. When `killed` measurements are in, the process ends without another
  // word.
  void Run(Stored& stored, std::size_t trials, std::size_t killed) {
    while (stored.keys.size() < trials) {
      const auto candidates = searcher->Propose(8);
      for (const NodeRecord& r : searcher->TakeChanges()) stored.nodes[r.id] = r;
      stored.state = searcher->SaveState();
      if (candidates.empty()) return;
      std::vector<Observation> round;
      for (const Candidate& c : candidates) {
        if (stored.keys.size() == killed) return;
        stored.keys.push_back(space.Key(*c.state));
        round.push_back({c.node, stored.keys.size() % 7 != 0, space.Latency(*c.state)});
        stored.observations.push_back(round.back());
      }
      searcher->Observe(round);
    }
  }

  ToySpace space;
  ToyModel model;
  RandomProposer proposer;
  std::unique_ptr<Searcher> searcher;
};

constexpr std::size_t kNever = std::numeric_limits<std::size_t>::max();

class Resume : public ::testing::TestWithParam<const char*> {};

TEST_P(Resume, GoesOnAsIfThereHadBeenNoInterruption) {
  Stored whole;
  Process uninterrupted(GetParam());
  uninterrupted.Run(whole, 120, kNever);
  ASSERT_GE(whole.keys.size(), 120u);
  for (std::size_t killed : {0, 1, 8, 11, 16, 47, 64, 101}) {
    Stored stored;
    Process(GetParam()).Run(stored, 120, killed);
    ASSERT_EQ(stored.keys.size(), killed);
    Process second(GetParam());
    const Status status = second.Continue(stored);
    ASSERT_TRUE(status.ok()) << status.error().message;
    second.Run(stored, 120, kNever);
    EXPECT_EQ(stored.keys, whole.keys) << "killed after " << killed;
    EXPECT_EQ(second.searcher->Scored(), uninterrupted.searcher->Scored());
  }
}

TEST_P(Resume, GoesOnAfterManyInterruptions) {
  Stored whole;
  Process(GetParam()).Run(whole, 96, kNever);
  Stored stored;
  Process(GetParam()).Run(stored, 96, 5);
  for (std::size_t killed = 10; stored.keys.size() < 96; killed += 5) {
    Process next(GetParam());
    ASSERT_TRUE(next.Continue(stored).ok());
    next.Run(stored, 96, killed);
  }
  EXPECT_EQ(stored.keys, whole.keys);
}

TEST_P(Resume, WithoutASavedStateNothingIsMeasuredTwice) {
  Stored stored;
  Process(GetParam()).Run(stored, 64, 20);
  Process second(GetParam());
  ASSERT_TRUE(second.Continue(stored, false).ok());
  second.Run(stored, 64, kNever);
  EXPECT_EQ(std::set<std::string>(stored.keys.begin(), stored.keys.end()).size(), 64u);
}

TEST_P(Resume, AnExhaustedRunStaysExhausted) {
  Stored stored;
  Process(GetParam(), true).Run(stored, 64, kNever);
  const std::size_t all = stored.keys.size();
  Process second(GetParam(), true);
  ASSERT_TRUE(second.Continue(stored).ok());
  second.Run(stored, 64, kNever);
  EXPECT_LE(stored.keys.size(), 4u);
  EXPECT_GE(stored.keys.size(), all);
}

TEST_P(Resume, ADamagedStateIsRefusedOrTaken) {
  Stored stored;
  Process(GetParam()).Run(stored, 64, 20);
  const std::string whole = stored.state;
  for (std::size_t length = 1; length < whole.size(); length += 1 + length / 8) {
    stored.state = whole.substr(0, length);
    const Status status = Process(GetParam()).Continue(stored);
    ASSERT_FALSE(status.ok()) << length;
    EXPECT_EQ(status.error().code, Code::kRunDirectory);
    EXPECT_THAT(status.error().message, HasSubstr("damaged"));
  }
  for (std::size_t at = 0; at < whole.size(); at += 1 + at / 8) {
    stored.state = whole;
    stored.state[at] = stored.state[at] == '9' ? ' ' : '9';
    Process second(GetParam());
    const Status status = second.Continue(stored);
    if (status.ok()) {
      EXPECT_LE(second.searcher->Propose(8).size(), 8u);
    } else {
      EXPECT_THAT(status.error().message, HasSubstr("damaged"));
    }
  }
}

TEST_P(Resume, RecordsThatDoNotFitTogetherAreRefused) {
  Stored good;
  Process(GetParam()).Run(good, 32, 20);
  const auto refused = [&](const Stored& stored, const char* says) {
    const Status status = Process(GetParam()).Continue(stored, false);
    ASSERT_FALSE(status.ok()) << says;
    EXPECT_EQ(status.error().code, Code::kRunDirectory);
    EXPECT_THAT(status.error().message, HasSubstr(says));
  };
  Stored bad = good;
  bad.nodes.erase(2);
  refused(bad, "damaged at node 3");
  bad = good;
  bad.nodes[3].parent = 3;
  refused(bad, "damaged at node 3");
  bad = good;
  bad.nodes[3].parent = -1;
  refused(bad, "damaged at node 3");
  bad = good;
  bad.nodes[4].key = bad.nodes[2].key;
  refused(bad, "damaged at node 4");
  bad = good;
  bad.nodes[0].key = "another";
  refused(bad, "another program");
  for (int64_t node : {int64_t{-1}, int64_t{0}, int64_t{1} << 40}) {
    bad = good;
    bad.observations[0].node = node;
    refused(bad, "which the stored search does not have");
  }
}

TEST_P(Resume, NothingStoredIsANewRun) {
  Stored whole;
  Process(GetParam()).Run(whole, 24, kNever);
  Stored stored;
  Process second(GetParam());
  ASSERT_TRUE(second.Continue(stored, false).ok());
  second.Run(stored, 24, kNever);
  EXPECT_EQ(stored.keys, whole.keys);
}

INSTANTIATE_TEST_SUITE_P(Each, Resume, ::testing::Values("random", "droplet", "mcts", "paper"));

TEST(SavedState, GivesBackWhatWasPut) {
  StateWriter writer;
  writer.Put(int64_t{-5}).Put(~uint64_t{0}).Put(0.1 + 0.2).Put(-0.0).Put("two words\n").Put("");
  const std::string text = writer.Take();
  StateReader reader(text);
  EXPECT_EQ(reader.Integer(), -5);
  EXPECT_EQ(reader.Unsigned(), ~uint64_t{0});
  EXPECT_EQ(reader.Real(), 0.1 + 0.2);
  EXPECT_TRUE(std::signbit(reader.Real()));
  EXPECT_EQ(reader.Text(), "two words\n");
  EXPECT_FALSE(reader.AtEnd());
  EXPECT_EQ(reader.Text(), "");
  EXPECT_TRUE(reader.AtEnd());
  EXPECT_EQ(reader.Integer(), 0);
  EXPECT_FALSE(reader.ok());
}

TEST(SavedState, WhatIsNotAsExpectedEndsReading) {
  for (const char* text : {"", "5", "x ", "5x ", "99999999999999999999 ", "-1 "}) {
    StateReader reader(text);
    EXPECT_EQ(reader.Text(), "") << text;
    EXPECT_FALSE(reader.ok()) << text;
  }
  StateReader many("1000000 1 1 ");
  EXPECT_EQ(many.Count(), 0);
  EXPECT_FALSE(many.ok());
}

}  // namespace
}  // namespace tw::search
