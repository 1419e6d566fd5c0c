#include "base/signals.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <cstdlib>

namespace tw {
namespace {

// Each in a process of its own: the handlers stay installed.
void AskOnce(int first) {
  InstallStopSignals();
  if (StopRequested() || StopSignal() != 0) std::exit(1);
  raise(first);
  std::exit(StopRequested() && StopSignal() == first ? 0 : 2);
}

void AskTwice(int first, int second) {
  InstallStopSignals();
  raise(first);
  raise(second);
  std::exit(3);
}

TEST(StopSignalsDeathTest, FirstOneAsks) {
  EXPECT_EXIT(AskOnce(SIGINT), ::testing::ExitedWithCode(0), "");
  EXPECT_EXIT(AskOnce(SIGTERM), ::testing::ExitedWithCode(0), "");
}

TEST(StopSignalsDeathTest, SecondOneEndsTheProcessWhicheverItIs) {
  EXPECT_EXIT(AskTwice(SIGINT, SIGINT), ::testing::KilledBySignal(SIGINT), "");
  EXPECT_EXIT(AskTwice(SIGINT, SIGTERM), ::testing::KilledBySignal(SIGTERM), "");
  EXPECT_EXIT(AskTwice(SIGTERM, SIGINT), ::testing::KilledBySignal(SIGINT), "");
}

}  // namespace
}  // namespace tw
