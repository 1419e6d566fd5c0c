// A tuning session: wires space, searcher, cost model, workers, checks and store together.
#pragma once

#include <atomic>
#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "base/result.h"
#include "tune/options.h"

namespace tw::tune {

struct Progress {
  int64_t done = 0;    // trials finished, earlier sessions included
  int64_t trials = 0;  // trials asked for
  std::optional<double> baseline_s;
  std::optional<double> best_s;
  std::map<std::string, int64_t> failures;  // by kind
  int64_t scored = 0;                       // states applied and scored by the searcher
  double elapsed_s = 0;                     // of this session
  double left_s = 0;                        // estimate
};

// What a session tells its caller while it runs.
class Listener {
 public:
  virtual ~Listener() = default;
  virtual void OnNote(const std::string& text) = 0;  // one line, for a person
  virtual void OnProgress(const Progress& progress) = 0;
};

struct Summary {
  std::filesystem::path run_dir;
  std::string workload;
  std::string target;
  int64_t trials = 0;                // measured candidates in all
  std::optional<double> baseline_s;  // the program as given
  std::optional<double> best_s;
  int64_t best_trial = 0;
  std::map<std::string, int64_t> failures;      // by kind
  std::map<std::string, std::string> examples;  // first message of each kind
  std::map<std::string, int64_t> refused;       // schedules refused before measuring, by reason
  std::string verdict;                          // of the final check of the best
  bool exhausted = false;                       // the space had no more programs
  bool stopped = false;                         // by a signal; the run can be resumed
  double elapsed_s = 0;
  std::map<std::string, double> spent_s;  // of it: "prepare", "baseline", "propose", "measure", ...
};

// Runs until `options.trials` candidates are measured, the space is exhausted or `stop` becomes
// true. Calling it again with the same options continues the run. When nothing valid was found the
// summary has no best_s. Errors: kUsage (options, workload), kEnvironment (TVM, worker),
// kRunDirectory, kVerification (the unscheduled program itself computes the wrong thing).
Result<Summary> Tune(const Options& options, Listener& listener, const std::atomic<bool>& stop);

}  // namespace tw::tune
