// Does every record of a MetaSchedule database compute what its workload computes?
#pragma once

#include <atomic>
#include <filesystem>
#include <functional>
#include <string>

#include "base/result.h"
#include "tune/options.h"

namespace tw::tune {

struct RecordVerdict {
  int line = 0;         // of the record file, from 1
  std::string verdict;  // "right", "wrong", "failed"
  std::string detail;   // largest error, what differs, why it failed
};

struct VerifyOptions {
  std::filesystem::path database;  // folder of the pair of files
  int cores = 0;                   // threads of the programs; 0: all cores
  double timeout_s = 60;
  int64_t memory_limit_mib = 8192;
};

// Runs each record in a worker process against its workload's unscheduled program, compiled.
// `on_verdict` is called record by record, in the order of the file. Errors: kUsage (no such
// database), kEnvironment, or what makes a workload itself unusable.
Status VerifyDatabase(const VerifyOptions& options,
                      const std::function<void(const RecordVerdict&)>& on_verdict,
                      const std::atomic<bool>& stop);

}  // namespace tw::tune
