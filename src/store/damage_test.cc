// Files that were cut off, altered or never ours, and processes that are killed: an error or the
// whole truth, never a crash and never half a transaction.
#include <gmock/gmock.h>
#include <poll.h>
#include <sqlite3.h>
#include <unistd.h>

#include <fstream>

#include "base/files.h"
#include "base/subprocess.h"
#include "store/sqlite.h"
#include "store/testing/store_fixture.h"

namespace tw::store {
namespace {

using ::testing::HasSubstr;
using testing::Latency;
using testing::SomeNode;

constexpr int kTrials = 40;

class DamageTest : public testing::StoreTest {
 protected:
  // The bytes of a database with some tens of pages.
  std::string Healthy() {
    {
      Store store = Open();
      for (int i = 0; i < kTrials; ++i) {
        Measurement m = Latency(i + 1, 1e-3 * (i + 1));
        m.trace_json.assign(2000, static_cast<char>('a' + i % 26));
        EXPECT_TRUE(store.Commit({SomeNode(i)}, {m}, {{"model", std::string(9000, 'm')}}).ok());
      }
    }
    return *ReadFile(path(), Code::kRunDirectory);
  }
  void Write(const std::string& bytes) {
    std::filesystem::remove(path());
    std::filesystem::remove(path().string() + "-wal");
    std::filesystem::remove(path().string() + "-shm");
    std::ofstream(path(), std::ios::binary) << bytes;
  }
  // Opens and reads everything. Returns whether it was opened; every error must name the file.
  bool ReadsOrRefuses(const Result<Store>& store) {
    auto check = [&](const auto& result) {
      if (result.ok()) return true;
      EXPECT_EQ(result.error().code, Code::kRunDirectory);
      EXPECT_THAT(result.error().message, HasSubstr(path().string()));
      return false;
    };
    if (!check(store)) return false;
    check(store->Nodes());
    check(store->Measurements());
    check(store->Best());
    check(store->Facts());
    check(store->Blob("model"));
    return true;
  }
};

TEST_F(DamageTest, ACutOffFileIsRefused) {
  const std::string bytes = Healthy();
  ASSERT_GT(bytes.size(), 100000u);
  for (std::size_t length : {1ul, 15ul, 99ul, 100ul, 511ul, 512ul, 4095ul, 4096ul, 4097ul, 20000ul,
                             bytes.size() / 2, bytes.size() - 4096, bytes.size() - 1}) {
    Write(bytes.substr(0, length));
    EXPECT_FALSE(ReadsOrRefuses(Store::OpenReadOnly(path()))) << length;
    EXPECT_FALSE(ReadsOrRefuses(Store::Open(path()))) << length;
    EXPECT_EQ(std::filesystem::file_size(path()), length) << "a refused file is left as it was";
  }
}

TEST_F(DamageTest, AlteredBytesNeverCrash) {
  const std::string bytes = Healthy();
  int refused = 0;
  for (std::size_t at = 0; at < bytes.size(); at += at < 200 ? 1 : 487) {
    std::string altered = bytes;
    altered[at] = static_cast<char>(altered[at] ^ 0xff);
    Write(altered);
    if (!ReadsOrRefuses(Store::OpenReadOnly(path()))) ++refused;
    ReadsOrRefuses(Store::Open(path()));
  }
  EXPECT_GT(refused, 20);
}

TEST_F(DamageTest, AZeroedPageIsRefused) {
  std::string bytes = Healthy();
  std::fill_n(bytes.begin() + 4096 * 5, 4096, '\0');
  Write(bytes);
  const Result<Store> store = Store::Open(path());
  ASSERT_FALSE(store.ok());
  EXPECT_THAT(store.error().message, HasSubstr("damaged"));
}

TEST_F(DamageTest, OtherFilesAreRefusedAndLeftAlone) {
  const std::string text(5000, 't');
  Write(text);
  EXPECT_FALSE(ReadsOrRefuses(Store::Open(path())));
  EXPECT_EQ(*ReadFile(path(), Code::kRunDirectory), text);

  std::filesystem::remove(path());
  sqlite3* db = nullptr;
  ASSERT_EQ(sqlite3_open(path().c_str(), &db), SQLITE_OK);
  ASSERT_TRUE(Execute(db, path(), "create table songs (name text)").ok());
  sqlite3_close(db);
  const std::string foreign = *ReadFile(path(), Code::kRunDirectory);
  const Result<Store> store = Store::Open(path());
  ASSERT_FALSE(store.ok());
  EXPECT_THAT(store.error().message, HasSubstr("not a Tensorwright run database"));
  EXPECT_EQ(*ReadFile(path(), Code::kRunDirectory), foreign);
}

TEST_F(DamageTest, AnotherSchemaVersionIsRefused) {
  {
    Store store = Open();
  }
  sqlite3* db = nullptr;
  ASSERT_EQ(sqlite3_open(path().c_str(), &db), SQLITE_OK);
  ASSERT_TRUE(Execute(db, path(), "pragma user_version = 999").ok());
  sqlite3_close(db);
  const Result<Store> store = Store::Open(path());
  ASSERT_FALSE(store.ok());
  EXPECT_THAT(store.error().message, HasSubstr("schema version 999"));
}

// What is left when the process is killed before its first commit.
TEST_F(DamageTest, AnEmptyDatabaseIsTakenAsNew) {
  Write("");
  EXPECT_TRUE(Open().Commit({}, {Latency(1, 1)}).ok());
  std::filesystem::remove(path());
  sqlite3* db = nullptr;
  ASSERT_EQ(sqlite3_open(path().c_str(), &db), SQLITE_OK);
  ASSERT_TRUE(Execute(db, path(), "pragma journal_mode = wal").ok());
  sqlite3_close(db);
  ASSERT_GT(std::filesystem::file_size(path()), 0u);
  EXPECT_TRUE(Open().Commit({}, {Latency(1, 1)}).ok());
}

// Run as a child by the test below: commits without end and says so after each.
TEST(DamageChild, DISABLED_CommitsUntilKilled) {
  const char* path = std::getenv("TW_STORE_CHILD");
  ASSERT_NE(path, nullptr);
  Result<Store> store = Store::Open(path);
  ASSERT_TRUE(store.ok()) << store.error().message;
  for (int64_t i = static_cast<int64_t>(store->Measurements()->size()) + 1;; ++i) {
    Measurement m = Latency(i, 1e-3);
    m.trace_json.assign(static_cast<std::size_t>(1000 + i * 997 % 20000), 'x');
    ASSERT_TRUE(store->Commit({SomeNode(i)}, {m}, {{"state", fmt::format("{}", i)}}).ok());
    const std::string line = fmt::format("committed {}\n", i);
    if (write(STDOUT_FILENO, line.data(), line.size()) < 0) return;
  }
}

TEST_F(DamageTest, NothingCommittedIsLostWhenTheProcessIsKilled) {
  int64_t before = 0;
  for (int round = 0; round < 5; ++round) {
    Result<Subprocess> child =
        Subprocess::Spawn({std::filesystem::read_symlink("/proc/self/exe"),
                           {"--gtest_filter=DamageChild.*", "--gtest_also_run_disabled_tests"},
                           {{"TW_STORE_CHILD", path().string()}}});
    ASSERT_TRUE(child.ok()) << child.error().message;
    // Killed after a number of commits that differs each round, wherever the child then is.
    const int64_t enough = before + 20 + 7 * round;
    int64_t said = 0;
    std::string text;
    while (said < enough) {
      pollfd ready{child->output(), POLLIN, 0};
      ASSERT_GT(poll(&ready, 1, 30000), 0) << text;
      char buffer[512];
      const ssize_t got = read(child->output(), buffer, sizeof buffer);
      ASSERT_GT(got, 0) << text;
      text.append(buffer, static_cast<std::size_t>(got));
      const std::size_t end = text.rfind('\n');
      const std::size_t at = end == std::string::npos ? end : text.rfind("committed ", end);
      if (at != std::string::npos) said = std::stoll(text.substr(at + 10));
    }
    child->KillGroup();
    EXPECT_EQ(child->Wait().signal, SIGKILL);

    Store store = Open();
    const auto measurements = store.Measurements();
    const auto nodes = store.Nodes();
    ASSERT_TRUE(measurements.ok() && nodes.ok());
    const auto count = static_cast<int64_t>(measurements->size());
    EXPECT_GE(count, said);
    ASSERT_EQ(nodes->size(), measurements->size());
    for (int64_t i = 0; i < count; ++i) {
      EXPECT_EQ((*measurements)[static_cast<std::size_t>(i)].trial, i + 1);
      EXPECT_EQ((*nodes)[static_cast<std::size_t>(i)].id, i + 1);
    }
    EXPECT_EQ(store.Blob("state")->value(), fmt::format("{}", count));
    before = count;
  }
}

}  // namespace
}  // namespace tw::store
