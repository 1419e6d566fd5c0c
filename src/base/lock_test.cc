#include "base/lock.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "base/files.h"
#include "base/subprocess.h"

namespace tw {
namespace {

using ::testing::HasSubstr;

class LockTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = ::testing::TempDir() + "tw_lock_XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::filesystem::path folder_;
};

TEST_F(LockTest, SecondHolderIsToldWhoHasIt) {
  const Result<FileLock> first = FileLock::Acquire(folder_ / "lock");
  ASSERT_TRUE(first.ok()) << first.error().message;
  EXPECT_EQ(*ReadFile(folder_ / "lock", Code::kUsage), std::to_string(getpid()));
  const Result<FileLock> second = FileLock::Acquire(folder_ / "lock");
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.error().code, Code::kRunDirectory);
  EXPECT_THAT(second.error().message,
              HasSubstr(folder_.string() + ": in use by process " + std::to_string(getpid())));
}

TEST_F(LockTest, IsFreeAgainAfterItsHolder) {
  {
    ASSERT_TRUE(FileLock::Acquire(folder_ / "lock").ok());
  }
  EXPECT_TRUE(FileLock::Acquire(folder_ / "lock").ok());
}

TEST_F(LockTest, MovingKeepsItLocked) {
  Result<FileLock> first = FileLock::Acquire(folder_ / "lock");
  ASSERT_TRUE(first.ok());
  const FileLock moved = std::move(first).value();
  EXPECT_FALSE(FileLock::Acquire(folder_ / "lock").ok());
}

TEST_F(LockTest, ChildrenDoNotKeepIt) {
  Result<FileLock> lock = FileLock::Acquire(folder_ / "lock");
  ASSERT_TRUE(lock.ok());
  // Lives until it is killed, with whatever it inherited.
  const Result<Subprocess> child =
      Subprocess::Spawn({.program = "cat", .arguments = {}, .environment = {}});
  ASSERT_TRUE(child.ok());
  {
    const FileLock gone = std::move(lock).value();
  }
  EXPECT_TRUE(FileLock::Acquire(folder_ / "lock").ok());
}

TEST_F(LockTest, AStalePidOfADeadProcessDoesNotLock) {
  ASSERT_TRUE(WriteFileAtomic(folder_ / "lock", "999999999", Code::kUsage).ok());
  ASSERT_TRUE(FileLock::Acquire(folder_ / "lock").ok());
  EXPECT_EQ(*ReadFile(folder_ / "lock", Code::kUsage), std::to_string(getpid()));
}

TEST_F(LockTest, MissingFolderIsAnError) {
  const Result<FileLock> lock = FileLock::Acquire(folder_ / "no" / "lock");
  ASSERT_FALSE(lock.ok());
  EXPECT_THAT(lock.error().message, HasSubstr("cannot open the lock file"));
}

}  // namespace
}  // namespace tw
