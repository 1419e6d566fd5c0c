#include "measure/timing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <vector>

#include "base/random.h"

namespace tw::measure {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

// A program and a clock that only the program moves.
class Program {
 public:
  // Seconds of the i-th call, from 0.
  explicit Program(std::function<double(int)> latency) : latency_(std::move(latency)) {}

  Result<Timing> Time(const TimingOptions& options = {}) {
    return TimeAdaptively(
        [this] {
          now_ += latency_(calls_++);
          return Ok();
        },
        options, [this] { return now_; });
  }
  int calls() const { return calls_; }
  double spent() const { return now_ - kStart; }

 private:
  static constexpr double kStart = 1024;
  std::function<double(int)> latency_;
  double now_ = kStart;
  int calls_ = 0;
};

TEST(TimeAdaptively, SteadyProgramIsDoneAfterTheFewestRepeats) {
  Program program([](int) { return 0.0078125; });
  const Result<Timing> timing = program.Time();
  ASSERT_TRUE(timing.ok());
  EXPECT_DOUBLE_EQ(timing->median_s, 0.0078125);
  EXPECT_DOUBLE_EQ(timing->spread_s, 0);
  EXPECT_THAT(timing->seconds, SizeIs(TimingOptions{}.min_repeats));
  EXPECT_EQ(timing->calls, program.calls());
}

TEST(TimeAdaptively, ShortCallsAreGrouped) {
  Program program([](int) { return 0x1p-16; });  // 15 us
  const Result<Timing> timing = program.Time();
  ASSERT_TRUE(timing.ok());
  EXPECT_DOUBLE_EQ(timing->median_s, 0x1p-16);
  const double repeat_s =
      (program.calls() - 2) * 0x1p-16 / static_cast<double>(timing->seconds.size());
  EXPECT_GE(repeat_s, TimingOptions{}.min_repeat_s);
  EXPECT_LT(repeat_s, 1.1 * TimingOptions{}.min_repeat_s);
}

TEST(TimeAdaptively, ColdFirstCallDoesNotCount) {
  Program program([](int call) { return call == 0 ? 0.5 : 0.0078125; });
  TimingOptions options;
  options.max_s = 10;
  EXPECT_DOUBLE_EQ(program.Time(options)->median_s, 0.0078125);
}

TEST(TimeAdaptively, FirstCallOverTheCutoffIsTheMeasurement) {
  Program program([](int) { return 0.25; });
  TimingOptions options;
  options.cutoff_s = 0.125;
  const Result<Timing> timing = program.Time(options);
  ASSERT_TRUE(timing.ok());
  EXPECT_EQ(program.calls(), 1);
  EXPECT_EQ(timing->calls, 1);
  EXPECT_THAT(timing->seconds, ElementsAre(0.25));
  EXPECT_EQ(timing->median_s, 0.25);
}

// An unscheduled program may take 24 s a call.
TEST(TimeAdaptively, PatienceEndsAfterOneCall) {
  Program program([](int) { return 24.0; });
  EXPECT_EQ(program.Time()->median_s, 24.0);
  EXPECT_EQ(program.calls(), 1);
}

TEST(TimeAdaptively, SlowProgramGetsThreeRepeats) {
  Program program([](int) { return 0.5; });
  const Result<Timing> timing = program.Time();
  EXPECT_THAT(timing->seconds, SizeIs(3));
  EXPECT_EQ(program.calls(), 4) << "the first call warms up";
}

TEST(TimeAdaptively, NoiseIsAveragedUntilItIsKnownOrTheTimeIsSpent) {
  auto noisy = [](double noise) {
    return Program([noise, random = Random(7)](int) mutable {
      return 0.006 * (1 + noise * (2 * random.Unit() - 1));
    });
  };
  TimingOptions options;
  options.max_s = 100;
  Program calm = noisy(0.005), rough = noisy(0.05);
  const Result<Timing> few = calm.Time(options), many = rough.Time(options);
  EXPECT_GT(many->seconds.size(), 2 * few->seconds.size());
  EXPECT_NEAR(many->median_s, 0.006, 0.006 * 0.02);

  Program hopeless = noisy(0.9);
  ASSERT_TRUE(hopeless.Time().ok());
  EXPECT_GE(hopeless.spent(), TimingOptions{}.max_s);
  EXPECT_LT(hopeless.spent(), TimingOptions{}.max_s + 0.1);
}

TEST(TimeAdaptively, RepeatsHaveALimit) {
  Program program([](int call) { return call % 2 == 0 ? 0.01 : 0.02; });
  TimingOptions options;
  options.max_s = 1e9;
  options.max_repeats = 17;
  EXPECT_THAT(program.Time(options)->seconds, SizeIs(17));
}

TEST(TimeAdaptively, OutliersDoNotMoveTheMedian) {
  Program program([](int call) { return call % 9 == 5 ? 0.1 : 0.0078125; });
  TimingOptions options;
  options.max_s = 100;
  EXPECT_DOUBLE_EQ(program.Time(options)->median_s, 0.0078125);
}

TEST(TimeAdaptively, NoTimeIsNoMeasurement) {
  Program program([](int) { return 0.0; });
  const Result<Timing> timing = program.Time();
  ASSERT_FALSE(timing.ok());
  EXPECT_THAT(timing.error().message, HasSubstr("took no time"));
}

TEST(TimeAdaptively, ClockThatRunsBackwardsIsAnError) {
  Program program([](int call) { return call == 3 ? -1.0 : 0.01; });
  const Result<Timing> timing = program.Time();
  ASSERT_FALSE(timing.ok());
  EXPECT_THAT(timing.error().message, HasSubstr("ran backwards"));
}

TEST(TimeAdaptively, ErrorOfTheProgramEndsIt) {
  int calls = 0;
  double now = 0;
  const Result<Timing> timing = TimeAdaptively(
      [&]() -> Status {
        now += 0.01;
        if (++calls == 4) return Fail(Code::kInternal, "assertion in the kernel");
        return Ok();
      },
      {}, [&] { return now; });
  ASSERT_FALSE(timing.ok());
  EXPECT_EQ(timing.error().message, "assertion in the kernel");
  EXPECT_EQ(calls, 4);
}

}  // namespace
}  // namespace tw::measure
