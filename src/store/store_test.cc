#include "store/store.h"

#include <gmock/gmock.h>
#include <sqlite3.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmath>
#include <csignal>
#include <limits>

#include "store/sqlite.h"
#include "store/testing/store_fixture.h"

namespace tw::store {
namespace {

using ::testing::HasSubstr;
using testing::Latency;
using testing::SomeNode;
using testing::StoreTest;

TEST_F(StoreTest, GivesBackWhatWasCommitted) {
  Node root = SomeNode(0);
  root.parent = -1;
  Node node = SomeNode(1);
  node.sequence = "Unroll(step=1)\nTileSize(loop=i, factors=[4,4])";
  node.rationale = std::string("because\0of that", 15);
  node.proposed = true;
  Measurement m = Latency(1, 2.5e-3);
  m.seconds = {2.4e-3, 2.5e-3, 2.6e-3};
  m.spread_s = 1e-4;
  {
    Store store = Open();
    ASSERT_TRUE(store.Commit({root, node}, {m}, {{"state", std::string("\0\xff", 2)}}).ok());
    ASSERT_TRUE(store.SetFact("workload", "gemm").ok());
    ASSERT_TRUE(store.SetFact("workload", "softmax").ok());
  }
  Store store = Open();
  const auto nodes = store.Nodes();
  ASSERT_TRUE(nodes.ok());
  ASSERT_EQ(nodes->size(), 2u);
  EXPECT_EQ((*nodes)[0].parent, -1);
  EXPECT_EQ((*nodes)[1].sequence, node.sequence);
  EXPECT_EQ((*nodes)[1].rationale, node.rationale);
  EXPECT_EQ((*nodes)[1].predicted, node.predicted);
  EXPECT_TRUE((*nodes)[1].proposed);
  const auto measurements = store.Measurements();
  ASSERT_EQ(measurements->size(), 1u);
  EXPECT_EQ((*measurements)[0].seconds, m.seconds);
  EXPECT_EQ((*measurements)[0].median_s, m.median_s);
  EXPECT_EQ((*measurements)[0].key, m.key);
  EXPECT_EQ(store.Blob("state")->value(), std::string("\0\xff", 2));
  EXPECT_EQ(store.Fact("workload")->value(), "softmax");
  EXPECT_FALSE(store.Fact("no such")->has_value());
  EXPECT_FALSE(store.Blob("no such")->has_value());
  EXPECT_EQ(store.Facts()->size(), 1u);
}

TEST_F(StoreTest, ANodeIsUpdatedById) {
  Store store = Open();
  Node node = SomeNode(0);
  ASSERT_TRUE(store.Commit({node}, {}).ok());
  node.visits = 9;
  node.value = 0.1 + 0.2;
  node.proposed = true;
  ASSERT_TRUE(store.Commit({node}, {}).ok());
  ASSERT_EQ(store.Nodes()->size(), 1u);
  EXPECT_EQ(store.Nodes()->front().visits, 9);
  EXPECT_EQ(store.Nodes()->front().value, 0.1 + 0.2);  // to the last bit
  EXPECT_TRUE(store.Nodes()->front().proposed);
}

TEST_F(StoreTest, WhatIsRecordedAlreadyIsRefusedAndNothingIsWritten) {
  Store store = Open();
  ASSERT_TRUE(store.Commit({SomeNode(0)}, {Latency(1, 1)}, {{"state", "old"}}).ok());
  Measurement same_trial = Latency(1, 2);
  same_trial.key = "another";
  Measurement same_key = Latency(2, 2);
  same_key.key = Latency(1, 1).key;
  for (const Measurement& m : {same_trial, same_key}) {
    const Status status = store.Commit({SomeNode(1)}, {m}, {{"state", "new"}});
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.error().code, Code::kRunDirectory);
    EXPECT_THAT(status.error().message, HasSubstr(path().string()));
    EXPECT_THAT(status.error().message, HasSubstr("recorded already"));
  }
  EXPECT_EQ(store.Measurements()->size(), 1u);
  EXPECT_EQ(store.Nodes()->size(), 1u);
  EXPECT_EQ(store.Blob("state")->value(), "old");
  Node same_program = SomeNode(1);
  same_program.key = SomeNode(0).key;
  EXPECT_FALSE(store.Commit({same_program}, {}).ok());
  EXPECT_TRUE(store.Commit({SomeNode(1)}, {Latency(2, 2)}).ok());  // goes on after a refusal
}

TEST_F(StoreTest, WhatIsNoLatencyNeverWins) {
  Store store = Open();
  Measurement baseline = Latency(0, 1e-9);
  Measurement failed = Latency(1, 1e-6);
  failed.failure = "wrong-numbers";
  ASSERT_TRUE(store.Commit({}, {baseline, failed}).ok());
  int64_t trial = 2;
  for (double s : {0.0, -0.0, -1.0, -std::numeric_limits<double>::infinity(),
                   std::numeric_limits<double>::infinity(), std::nan(""), 1e10}) {
    ASSERT_TRUE(store.Commit({}, {Latency(trial++, s)}).ok()) << s;
    const auto best = store.Best();
    ASSERT_TRUE(best.ok());
    EXPECT_FALSE(best->has_value()) << s;
  }
  ASSERT_TRUE(
      store.Commit({}, {Latency(trial, 2e-3), Latency(trial + 1, 1e-3), Latency(trial + 2, 1e-3)})
          .ok());
  EXPECT_EQ(store.Best()->value().trial, trial + 1);  // of two alike the earlier one
}

TEST_F(StoreTest, NumbersThatAreNoneDoNotStopACommit) {
  Store store = Open();
  const double nan = std::nan("");
  Measurement m = Latency(1, 1e-3);
  m.spread_s = m.max_error = m.build_s = m.check_s = m.time_s = nan;
  m.seconds = {1e-3, nan};
  Node node = SomeNode(0);
  node.predicted = node.reward = nan;
  node.value = std::numeric_limits<double>::infinity();
  ASSERT_TRUE(store.Commit({node}, {m}).ok());
  EXPECT_EQ(store.Measurements()->front().seconds, std::vector<double>{1e-3});
  EXPECT_GT(store.Measurements()->front().max_error, 1e100);  // no error that is within a tolerance
  EXPECT_EQ(store.Nodes()->front().predicted, 0);
  EXPECT_EQ(store.Nodes()->front().value, 0);
}

TEST_F(StoreTest, AmendReplacesTheVerdictOfATrialThatIsThere) {
  Store store = Open();
  ASSERT_TRUE(store.Commit({}, {Latency(1, 1e-3), Latency(2, 2e-3)}).ok());
  Measurement again = Latency(1, 3e-3);
  ASSERT_TRUE(store.Amend(again).ok());
  EXPECT_EQ(store.Best()->value().trial, 2);
  EXPECT_FALSE(store.Amend(Latency(7, 1)).ok());
}

TEST_F(StoreTest, ReadOnlyReadsAndRefusesToWrite) {
  ASSERT_TRUE(Open().Commit({SomeNode(0)}, {Latency(1, 1e-3)}).ok());
  Result<Store> reader = Store::OpenReadOnly(path());
  ASSERT_TRUE(reader.ok()) << reader.error().message;
  EXPECT_EQ(reader->Measurements()->size(), 1u);
  const Status status = reader->SetFact("a", "b");
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, Code::kRunDirectory);
  EXPECT_THAT(status.error().message, HasSubstr("reading only"));
}

TEST_F(StoreTest, AReaderSeesWhatAWriterCommitsMeanwhile) {
  Store writer = Open();
  ASSERT_TRUE(writer.Commit({}, {Latency(1, 1e-3)}).ok());
  Result<Store> reader = Store::OpenReadOnly(path());
  ASSERT_TRUE(reader.ok()) << reader.error().message;
  ASSERT_TRUE(writer.Commit({}, {Latency(2, 1e-3)}).ok());
  EXPECT_EQ(reader->Measurements()->size(), 2u);
}

TEST_F(StoreTest, ASecondWriterIsToldThatTheFileIsInUse) {
  Store first = Open();
  ASSERT_TRUE(first.SetFact("a", "b").ok());
  sqlite3* db = nullptr;
  ASSERT_EQ(sqlite3_open(path().c_str(), &db), SQLITE_OK);
  const Database other(db);
  ASSERT_TRUE(Execute(db, path(), "begin immediate").ok());
  const Status status = first.Commit({SomeNode(0)}, {});
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, Code::kRunDirectory);
  EXPECT_THAT(status.error().message, HasSubstr("in use by another process"));
  ASSERT_TRUE(Execute(db, path(), "rollback").ok());
  EXPECT_TRUE(first.Commit({SomeNode(0)}, {}).ok());
}

TEST_F(StoreTest, AFullDiskIsNamed) {
  sqlite3* db = nullptr;
  ASSERT_EQ(sqlite3_open(path().c_str(), &db), SQLITE_OK);
  const Database small(db);
  ASSERT_TRUE(Execute(db, path(), "pragma max_page_count = 4; create table t (x)").ok());
  const Status status = Execute(db, path(), "insert into t values (zeroblob(100000))");
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(status.error().message, HasSubstr("disk is full; make room"));
}

// A limit on file sizes fails a write half way, as a full file system does.
TEST_F(StoreTest, AWriteThatFailsIsAnErrorAndWhatWasCommittedStays) {
  Store store = Open();
  ASSERT_TRUE(store.Commit({}, {Latency(1, 1e-3)}).ok());
  const auto old_handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit old{};
  getrlimit(RLIMIT_FSIZE, &old);
  rlimit limit = old;
  limit.rlim_cur = 256 << 10;
  setrlimit(RLIMIT_FSIZE, &limit);
  Measurement large = Latency(2, 1e-3);
  large.trace_json.assign(1 << 20, 'x');
  const Status status = store.Commit({SomeNode(0)}, {large});
  setrlimit(RLIMIT_FSIZE, &old);
  std::signal(SIGXFSZ, old_handler);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, Code::kRunDirectory);
  EXPECT_THAT(status.error().message, HasSubstr(path().string()));
  EXPECT_EQ(store.Measurements()->size(), 1u);
  EXPECT_EQ(store.Nodes()->size(), 0u);
  EXPECT_TRUE(store.Commit({SomeNode(0)}, {large}).ok());  // after room was made
}

TEST_F(StoreTest, PathsThatCannotBeOpenedAreErrors) {
  const std::filesystem::path bad[] = {directory() / "no such directory" / "run.db", directory(),
                                       directory() / std::string(5000, 'x')};
  for (const auto& p : bad) {
    for (const Result<Store>& store : {Store::Open(p), Store::OpenReadOnly(p)}) {
      ASSERT_FALSE(store.ok());
      EXPECT_EQ(store.error().code, Code::kRunDirectory);
      EXPECT_THAT(store.error().message, HasSubstr(p.string()));
    }
  }
  const Result<Store> missing = Store::OpenReadOnly(path());
  ASSERT_FALSE(missing.ok());
  EXPECT_THAT(missing.error().message, HasSubstr("no run database"));
  EXPECT_FALSE(std::filesystem::exists(path()));
}

}  // namespace
}  // namespace tw::store
