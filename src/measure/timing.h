// How long one call takes, with as few calls as the noise allows.
#pragma once

#include <functional>

#include "base/result.h"
#include "measure/types.h"

namespace tw::measure {

struct TimingOptions {
  double min_repeat_s = 0.005;  // calls are grouped into repeats at least this long
  int min_repeats = 5;
  int max_repeats = 200;
  double max_s = 0.25;  // spent on one candidate, about; a slow one gets min_repeats if it can
  double uncertainty = 0.01;  // relative, at which no further repeat is made
  double cutoff_s = 0;        // a first call slower than this is the measurement; 0: no cutoff
  double patience_s = 1;      // likewise, in absolute time: such a program is not called again
};

// Calls `call` until the median is known to `uncertainty` or a limit is reached. The first call
// warms caches up and counts only when it is the only one. `now` returns seconds; tests pass a
// clock of their own.
Result<Timing> TimeAdaptively(const std::function<Status()>& call, const TimingOptions& options,
                              const std::function<double()>& now);
// Seconds of the monotonic clock.
double MonotonicSeconds();

}  // namespace tw::measure
