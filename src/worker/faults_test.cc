#include "worker/faults.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdlib>

#include "measure/protocol.h"

namespace tw::worker {
namespace {

std::optional<FaultPlan> Parse(const char* text) {
  setenv("TENSORWRIGHT_INJECT", text, 1);
  std::optional<FaultPlan> plan = FaultsFromEnvironment();
  unsetenv("TENSORWRIGHT_INJECT");
  return plan;
}

TEST(Faults, NoneWithoutTheVariable) {
  unsetenv("TENSORWRIGHT_INJECT");
  EXPECT_FALSE(FaultsFromEnvironment().has_value());
}

TEST(Faults, PlanIsReadFromTheEnvironment) {
  const auto plan = Parse("segv@build:3");
  ASSERT_TRUE(plan.has_value());
  EXPECT_EQ(plan->fault, "segv");
  EXPECT_EQ(plan->stage, "build");
  EXPECT_EQ(plan->every, 3);
  EXPECT_EQ(Parse("hang@time:all")->every, 1);
  EXPECT_EQ(Parse("hang@time:0")->every, 1) << "never a division by zero";
  EXPECT_EQ(Parse("hang@time:-4")->every, 1);
}

TEST(Faults, OtherTextsInjectNothingAndSaySo) {
  for (const char* text : {"", "segv", "segv@build", "segv:3", "segv:3@build"}) {
    ::testing::internal::CaptureStderr();
    EXPECT_FALSE(Parse(text).has_value()) << text;
    EXPECT_THAT(::testing::internal::GetCapturedStderr(),
                ::testing::HasSubstr("not FAULT@STAGE:N"));
  }
}

TEST(Faults, AreDueForEveryNthCandidateAtTheirStage) {
  const auto plan = Parse("wrong@check:3");
  for (int64_t id = 0; id < 10; ++id) {
    EXPECT_EQ(Due(plan, "wrong", "check", id), id == 3 || id == 6 || id == 9) << id;
    EXPECT_FALSE(Due(plan, "wrong", "time", id));
    EXPECT_FALSE(Due(plan, "segv", "check", id));
    EXPECT_FALSE(Due(std::nullopt, "wrong", "check", id));
  }
  EXPECT_FALSE(Due(Parse("wrong@check:all"), "wrong", "check", 0)) << "the unscheduled program";
  EXPECT_TRUE(Due(Parse("wrong@check:all"), "wrong", "check", 1));
}

// What a death test's process does: die of signals as a worker would, without a core file.
void InjectFor(const char* text, int64_t id, const char* stage = "build") {
  const rlimit none{0, 0};
  setrlimit(RLIMIT_CORE, &none);
  signal(SIGSEGV, SIG_DFL);  // sanitizers catch it
  Inject(Parse(text), stage, id, STDOUT_FILENO);
  _exit(0);
}

TEST(FaultsDeathTest, AreCarriedOutWhenDue) {
  EXPECT_EXIT(InjectFor("segv@build:2", 2), ::testing::KilledBySignal(SIGSEGV), "");
  EXPECT_EXIT(InjectFor("exit@build:2", 2), ::testing::ExitedWithCode(3), "");
  EXPECT_EXIT(InjectFor("segv@build:2", 3), ::testing::ExitedWithCode(0), "");
  EXPECT_EXIT(InjectFor("segv@build:2", 2, "check"), ::testing::ExitedWithCode(0), "");
}

TEST(Faults, GarbageIsNoFrame) {
  int frames[2];
  ASSERT_EQ(pipe(frames), 0);
  Inject(Parse("garbage@time:all"), "time", 5, frames[1]);
  char bytes[100];
  const ssize_t size = read(frames[0], bytes, sizeof bytes);
  close(frames[0]);
  close(frames[1]);
  ASSERT_GT(size, 0);
  measure::FrameReader reader(measure::kMaxAnswerBytes);
  reader.Append({bytes, static_cast<std::size_t>(size)});
  EXPECT_FALSE(reader.Next().ok());
}

}  // namespace
}  // namespace tw::worker
