#include "base/subprocess.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

namespace tw {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

// Far more than any of these programs takes; reached only when something is broken.
constexpr std::chrono::seconds kLong{60};

Subprocess::Options Shell(const std::string& script) {
  return {.program = "/bin/sh", .arguments = {"-c", script}, .environment = {}};
}

std::string ReadLine(int fd) {
  std::string line;
  pollfd waiting{fd, POLLIN, 0};
  while (poll(&waiting, 1, 60'000) > 0) {
    char c;
    if (read(fd, &c, 1) != 1 || c == '\n') break;
    line += c;
  }
  return line;
}

int OpenFiles() {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    (void)entry;
    ++count;
  }
  return count;
}

TEST(RunProgram, CollectsOutputOfBothStreamsAndTheExitCode) {
  const Result<Finished> done = RunProgram(Shell("echo out; echo err >&2; exit 3"), kLong);
  ASSERT_TRUE(done.ok()) << done.error().message;
  EXPECT_THAT(done->output, HasSubstr("out\n"));
  EXPECT_THAT(done->output, HasSubstr("err\n"));
  EXPECT_EQ(done->status.code, 3);
  EXPECT_EQ(done->status.ToString(), "exit code 3");
}

TEST(RunProgram, NamesTheSignal) {
  const Result<Finished> done = RunProgram(Shell("kill -SEGV $$"), kLong);
  ASSERT_TRUE(done.ok());
  EXPECT_EQ(done->status.signal, SIGSEGV);
  EXPECT_EQ(done->status.ToString(), "signal SIGSEGV");
}

TEST(RunProgram, TakesMoreOutputThanAPipeHolds) {
  const Result<Finished> done = RunProgram(Shell("head -c 1000000 /dev/zero"), kLong);
  ASSERT_TRUE(done.ok());
  EXPECT_EQ(done->output.size(), 1'000'000U);
}

TEST(RunProgram, MissingProgramIsNamed) {
  const Result<Finished> done =
      RunProgram({.program = "/no/such/program", .arguments = {}, .environment = {}}, kLong);
  ASSERT_FALSE(done.ok());
  EXPECT_EQ(done.error().code, Code::kEnvironment);
  EXPECT_THAT(done.error().message, HasSubstr("cannot start /no/such/program: No such file"));
}

TEST(RunProgram, KillsAtTheDeadline) {
  const Result<Finished> done = RunProgram(Shell("sleep 1000"), std::chrono::seconds(0));
  ASSERT_FALSE(done.ok());
  EXPECT_THAT(done.error().message, HasSubstr("/bin/sh: killed after 0 s"));
}

TEST(Subprocess, EnvironmentIsAddedAndReplaced) {
  ASSERT_EQ(setenv("TW_TEST_OLD", "old", 1), 0);
  ASSERT_EQ(setenv("TW_TEST_KEPT", "kept", 1), 0);
  Subprocess::Options options = Shell("echo $TW_TEST_OLD $TW_TEST_KEPT $TW_TEST_NEW");
  options.environment = {{"TW_TEST_OLD", "replaced"}, {"TW_TEST_NEW", "new"}};
  EXPECT_EQ(RunProgram(options, kLong)->output, "replaced kept new\n");
}

TEST(Subprocess, ArgumentsAreNotInterpreted) {
  const Subprocess::Options options{
      .program = "printf", .arguments = {"%s|", "a b", "$HOME", ""}, .environment = {}};
  EXPECT_EQ(RunProgram(options, kLong)->output, "a b|$HOME||");
}

TEST(Subprocess, LeadsItsOwnGroupAndBlocksNoSignal) {
  sigset_t blocked;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGUSR1);
  ASSERT_EQ(sigprocmask(SIG_BLOCK, &blocked, nullptr), 0);
  const Result<Finished> done = RunProgram(Shell("kill -USR1 $$; echo deaf"), kLong);
  ASSERT_EQ(sigprocmask(SIG_UNBLOCK, &blocked, nullptr), 0);
  ASSERT_TRUE(done.ok());
  EXPECT_EQ(done->status.signal, SIGUSR1);

  Result<Subprocess> child = Subprocess::Spawn(Shell("read line"));
  ASSERT_TRUE(child.ok());
  EXPECT_EQ(getpgid(child->pid()), child->pid());
}

TEST(Subprocess, PollSeesTheEndWithoutWaiting) {
  Result<Subprocess> child = Subprocess::Spawn(Shell("read line; exit 7"));
  ASSERT_TRUE(child.ok());
  EXPECT_FALSE(child->Poll().has_value());
  child->CloseInput();
  EXPECT_EQ(child->Wait().code, 7);
  EXPECT_EQ(child->Poll()->code, 7);
  EXPECT_EQ(child->Wait().code, 7);
}

// This process adopts what its children leave behind, so that the test can wait for it.
class GroupTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(prctl(PR_SET_CHILD_SUBREAPER, 1), 0); }
  void TearDown() override { prctl(PR_SET_CHILD_SUBREAPER, 0); }

  // The child prints the number of a grandchild that ignores SIGTERM, and goes on with `then`.
  static std::string WithGrandchild(const std::string& then) {
    return "sh -c 'trap \"\" TERM; echo $$; sleep 1000 & wait' & " + then;
  }
  static void ExpectKilled(pid_t grandchild) {
    int status = 0;
    ASSERT_EQ(waitpid(grandchild, &status, 0), grandchild);
    EXPECT_TRUE(WIFSIGNALED(status));
    EXPECT_EQ(WTERMSIG(status), SIGKILL);
    while (waitpid(-1, &status, 0) > 0) {  // its `sleep`
    }
  }
};

TEST_F(GroupTest, DestructionKillsGrandchildrenToo) {
  pid_t grandchild = 0;
  {
    Result<Subprocess> child = Subprocess::Spawn(Shell(WithGrandchild("wait")));
    ASSERT_TRUE(child.ok());
    grandchild = std::stoi(ReadLine(child->output()));
  }
  ExpectKilled(grandchild);
}

TEST_F(GroupTest, GrandchildrenDieWhenTheChildIsReaped) {
  Result<Subprocess> child = Subprocess::Spawn(Shell(WithGrandchild("read line; exit 4")));
  ASSERT_TRUE(child.ok());
  const pid_t grandchild = std::stoi(ReadLine(child->output()));
  child->CloseInput();
  EXPECT_EQ(child->Wait().code, 4);
  ExpectKilled(grandchild);
}

TEST(Subprocess, StoppedChildIsKilled) {
  Result<Subprocess> child = Subprocess::Spawn(Shell("kill -STOP $$"));
  ASSERT_TRUE(child.ok());
  child->KillGroup();
  EXPECT_EQ(child->Wait().signal, SIGKILL);
}

TEST(Subprocess, LeavesNoFilesAndNoZombies) {
  const int before = OpenFiles();
  for (int i = 0; i < 50; ++i) {
    ASSERT_TRUE(RunProgram(Shell("true"), kLong).ok());
    const Result<Subprocess> child = Subprocess::Spawn(Shell("read line"));
    ASSERT_TRUE(child.ok());
    ASSERT_FALSE(
        Subprocess::Spawn({.program = "/no/such/program", .arguments = {}, .environment = {}})
            .ok());
  }
  EXPECT_EQ(OpenFiles(), before);
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1);
  EXPECT_EQ(errno, ECHILD);
}

TEST(SignalName, KnownAndUnknown) {
  EXPECT_EQ(SignalName(SIGFPE), "SIGFPE");
  EXPECT_THAT(SignalName(63), StartsWith("signal 63"));
}

}  // namespace
}  // namespace tw
