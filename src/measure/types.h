// What is sent to a worker and what comes back.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tw::measure {

// How a candidate ended. Everything but kNone is a failure; none of them has a latency.
enum class FailureKind {
  kNone,
  kScheduleError,  // the trace could not be replayed
  kBuildError,     // lowering or code generation refused
  kRunError,       // the compiled function reported an error
  kCrash,          // the worker died of a signal, which `message` names
  kTimeout,        // the parent's deadline passed and the worker was killed
  kOutOfMemory,    // the worker reached its memory limit
  kWrongNumbers,   // the outputs differ from the reference, or it wrote outside its outputs or to
                   // its inputs
  kGarbage,        // the worker answered something that is not the protocol, or left
};
std::string_view Name(FailureKind kind);  // "schedule-error", ...
std::optional<FailureKind> ParseFailureKind(std::string_view name);

// One program to build, check and time. Exactly one of `trace_json` and `module_json` is not empty,
// or neither: then it is the workload as given (the baseline).
struct Job {
  int64_t id = 0;
  std::string trace_json;   // a TVM trace of the loaded workload, post-processing included
  std::string module_json;  // a scheduled module
};

struct Timing {
  std::vector<double> seconds;  // one per repeat, each the mean of its calls
  double median_s = 0;
  double spread_s = 0;  // half the interquartile range
  int calls = 0;        // timed calls in all
};

struct Outcome {
  int64_t id = 0;
  FailureKind failure = FailureKind::kNone;
  std::string message;       // for a failure: what, in one line
  Timing timing;             // when failure is kNone
  double max_error = 0;      // largest error over its tolerance seen by the check; > 1 is wrong
  uint64_t module_hash = 0;  // structural hash of the module that ran
  double build_s = 0;        // replay, lowering, code generation, JIT
  double check_s = 0;
  double time_s = 0;  // spent timing
  int worker_pid = 0;
};

}  // namespace tw::measure
