#include "measure/timing.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "measure/statistics.h"

namespace tw::measure {

double MonotonicSeconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

Result<Timing> TimeAdaptively(const std::function<Status()>& call, const TimingOptions& options,
                              const std::function<double()>& now) {
  // The mean seconds of `calls` calls in a row.
  auto time_calls = [&](int calls) -> Result<double> {
    const double start = now();
    for (int i = 0; i < calls; ++i) TW_CHECK(call());
    const double taken = now() - start;
    if (!(taken >= 0)) return Fail(Code::kInternal, "the clock ran backwards while timing");
    return taken / calls;
  };

  Timing timing;
  const double start = now();
  TW_TRY(double first, time_calls(1));
  timing.calls = 1;
  const bool hopeless = options.cutoff_s > 0 && first > options.cutoff_s;
  if (hopeless || first > options.patience_s) {
    timing.seconds = {first};
  } else {
    // The first call is cold, so a second one decides how many make a repeat.
    TW_TRY(double second, time_calls(1));
    timing.calls = 2;
    // A clock that did not move says only that a call takes less than its step.
    const double fastest = std::max(std::min(first, second), 1e-9);
    const int calls =
        static_cast<int>(std::clamp(std::ceil(options.min_repeat_s / fastest), 1.0, 1e6));
    if (calls == 1) timing.seconds.push_back(second);
    while (static_cast<int>(timing.seconds.size()) < options.max_repeats) {
      const int repeats = static_cast<int>(timing.seconds.size());
      const double spent = now() - start;
      const bool enough = repeats >= options.min_repeats &&
                          RelativeUncertainty(timing.seconds) <= options.uncertainty;
      // Three repeats are owed even to a program that takes longer than the limit.
      if (enough || (spent >= options.max_s && repeats >= 3)) break;
      TW_TRY(double repeat, time_calls(calls));
      if (repeat <= 0) {
        return Fail(Code::kInternal, "{} calls took no time by the clock: no measurement", calls);
      }
      timing.calls += calls;
      timing.seconds.push_back(repeat);
    }
  }
  timing.median_s = Median(timing.seconds);
  timing.spread_s = Spread(timing.seconds);
  return timing;
}

}  // namespace tw::measure
