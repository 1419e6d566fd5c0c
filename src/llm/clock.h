// Time as the client sees it, so that tests do not wait.
#pragma once

#include <atomic>
#include <ctime>

namespace tw::llm {

class Clock {
 public:
  virtual ~Clock() = default;
  virtual double Seconds() = 0;           // monotonic
  virtual std::time_t WallSeconds() = 0;  // since 1970, to read dates in headers
  // Returns false at once when *stop becomes true; stop may be null.
  virtual bool Sleep(double seconds, const std::atomic<bool>* stop) = 0;
};

Clock& SystemClock();

}  // namespace tw::llm
