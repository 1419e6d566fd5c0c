#include "llm/clock.h"

#include <algorithm>
#include <chrono>
#include <thread>

namespace tw::llm {
namespace {

class RealClock : public Clock {
 public:
  double Seconds() override {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
  }
  std::time_t WallSeconds() override { return std::time(nullptr); }
  bool Sleep(double seconds, const std::atomic<bool>* stop) override {
    const double end = Seconds() + seconds;
    for (double left = seconds; left > 0; left = end - Seconds()) {
      if (stop && stop->load()) return false;
      // In slices, because a signal handler can set a flag and cannot wake a condition variable.
      std::this_thread::sleep_for(std::chrono::duration<double>(std::min(left, 0.05)));
    }
    return !(stop && stop->load());
  }
};

}  // namespace

Clock& SystemClock() {
  static RealClock clock;
  return clock;
}

}  // namespace tw::llm
