// The lock between processes, one of which is killed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "base/lock.h"

namespace tw {
namespace {

using ::testing::HasSubstr;

TEST(LockHolder, AnotherProcessIsNamedAndItsDeathFreesTheLock) {
  std::string folder = ::testing::TempDir() + "tw_holder_XXXXXX";
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  const std::filesystem::path path = std::filesystem::path(folder) / "lock";
  int held[2];
  ASSERT_EQ(pipe(held), 0);
  const pid_t holder = fork();
  ASSERT_GE(holder, 0);
  if (holder == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    const Result<FileLock> lock = FileLock::Acquire(path);
    if (!lock.ok() || write(held[1], "x", 1) != 1) _exit(1);
    while (true) pause();
  }
  close(held[1]);
  char byte;
  const ssize_t got = read(held[0], &byte, 1);
  close(held[0]);
  const Result<FileLock> refused = FileLock::Acquire(path);
  kill(holder, SIGKILL);
  int status = 0;
  ASSERT_EQ(waitpid(holder, &status, 0), holder);
  ASSERT_EQ(got, 1) << "the holder could not lock";
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::kRunDirectory);
  EXPECT_THAT(refused.error().message,
              HasSubstr("in use by process " + std::to_string(holder) + ";"));
  EXPECT_TRUE(FileLock::Acquire(path).ok()) << "the holder is gone";
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace tw
