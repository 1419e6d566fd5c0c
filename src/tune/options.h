// What a tuning run was asked to do. Defaults here, then config file, environment and flags in the
// CLI.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace tw::tune {

struct Options {
  std::string workload;  // built-in name, path of a .leir file, or of a TVM module in JSON
  std::map<std::string, int64_t> dims;  // --shape
  std::filesystem::path run_dir;
  int64_t trials = 64;             // measured candidates, failures included
  std::string search = "mcts";     // see SearcherNames()
  std::string preset = "default";  // mcts: "default", or "paper" (c, B, rollouts as published)
  std::string proposer = "random";
  std::string cost_model = "xgboost";  // or "random"
  uint64_t seed = 1;
  // At level 3 LLVM 22 takes more than twice as long to compile a schedule's unrolled loops, for
  // the same speed (docs/design/compile-time.md).
  std::string target = "llvm -opt-level=2";
  int cores = 0;                    // threads of the compiled program; 0: all of this machine
  int builders = 0;                 // worker processes; 0: all cores
  std::vector<int> pin;             // CPUs the workers are pinned to; empty: not pinned
  int batch = 0;                    // candidates per round; 0: chosen from `trials`
  double timeout_s = 20;            // for building, and for checking and timing, one candidate
  int64_t memory_limit_mib = 8192;  // of one worker
};

const std::vector<std::string>& SearcherNames();
const std::vector<std::string>& ProposerNames();
const std::vector<std::string>& CostModelNames();

}  // namespace tw::tune
