// TVM's own evolutionary search, asked for candidates and told what measuring found.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "base/result.h"
#include "tvm/schedule.h"

namespace tw::tvm_api {

struct EvolutionOptions {
  // TVM's own population is 512, which costs 8 to 90 seconds a round in replays; 128 costs a
  // quarter of that.
  int population = 128;
  int generations = 4;          // here and below: TVM's defaults
  double measured_share = 0.2;  // of the first population, from the best measured
  int min_unmeasured = 50;      // random programs without which TVM gives up
  int max_failed_rounds = 5;
  double mutate_probability = 0.85;
  int max_failed_mutations = 10;
  double random_share = 0.05;  // of each round's candidates
  int threads = 2;
  uint64_t seed = 1;
};

// Scores of schedules, higher is faster; called from Propose, on its thread.
using Predictor = std::function<std::vector<double>(std::span<const Schedule>)>;

class Evolution {
 public:
  struct Impl;
  static Result<Evolution> Make(const DesignSpace& space, const EvolutionOptions& options,
                                Predictor predict);

  // One round. Up to `count` post-processed schedules; none when TVM finds no new ones. Asking for
  // another count than before makes TVM forget which programs it handed out.
  Result<std::vector<Schedule>> Propose(int count);
  // A measured program, for later rounds to start from.
  Status Commit(const Trace& trace, double seconds);
  // Ends the round: `count` candidates were measured, in whatever way.
  Status Finish(int count);

 private:
  explicit Evolution(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
  std::shared_ptr<Impl> impl_;
};

}  // namespace tw::tvm_api
