// Cost models of ScheduleSpace: predicted throughput from what TVM's feature extractor sees of a
// program.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/random.h"
#include "base/result.h"
#include "search/evaluator.h"
#include "tvm/features.h"

namespace tw::space {

// A cost model that learns from measurements as they come.
class TrainableCostModel : public search::CostModel {
 public:
  // Adds measured programs: seconds of one call, or nothing for a program that failed, which counts
  // as infinitely slow. One latency for each state.
  virtual Status Update(std::span<const search::StatePtr> states,
                        std::span<const std::optional<double>> latencies) = 0;
  // Everything learned so far, for the run's store; Load restores it. Errors of Load are
  // kRunDirectory.
  virtual Result<std::string> Save() = 0;
  virtual Status Load(const std::string& bytes) = 0;
};

struct XgbOptions {
  int rounds = 120;
  int threads = 1;  // two threads wait for each other longer than they work on so few samples
  uint64_t seed = 1;
  int min_samples = 6;  // valid measurements below which the prior answers
};

// Gradient-boosted trees (XGBoost) on one row of features a program. TVM's own model predicts a
// number for each buffer store and sums them, for which 64 measurements are few; here a program's
// stores are first aggregated (AggregateFeatures) and one squared error is minimised on best
// latency / latency, 0 for failures. The labels change with every new best, so the trees are fitted
// anew at each Update; that takes milliseconds for hundreds of samples and makes the result depend
// on the samples alone.
class XgbCostModel : public TrainableCostModel {
 public:
  explicit XgbCostModel(XgbOptions options = {});
  ~XgbCostModel() override;

  std::vector<double> Predict(std::span<const search::StatePtr> states) override;
  Status Update(std::span<const search::StatePtr> states,
                std::span<const std::optional<double>> latencies) override;
  Result<std::string> Save() override;
  Status Load(const std::string& bytes) override;
  int valid_samples() const;

 private:
  struct Trees;
  Status Fit();

  XgbOptions options_;
  mutable std::mutex mutex_;
  std::vector<std::vector<float>> rows_;  // aggregated features of each sample
  std::vector<std::optional<double>> latencies_;
  std::unique_ptr<Trees> trees_;  // null until there are enough samples
};

// Uniform noise, for ablation: what a search does without a cost model.
class RandomCostModel : public TrainableCostModel {
 public:
  explicit RandomCostModel(uint64_t seed) : random_(seed) {}

  std::vector<double> Predict(std::span<const search::StatePtr> states) override;
  Status Update(std::span<const search::StatePtr>,
                std::span<const std::optional<double>>) override {
    return Ok();
  }
  Result<std::string> Save() override;
  Status Load(const std::string& bytes) override;

 private:
  std::mutex mutex_;
  Random random_;
};

// One row for a program: the features of its heaviest store (most arithmetic), the largest value of
// each feature over all stores, and the totals over all stores (TVM scales counts by log2(x + 1);
// sums are of counts).
std::vector<float> AggregateFeatures(const tvm_api::Features& features);
inline constexpr int kAggregatedColumns = 3 * tvm_api::kFeatureColumns;

// A guess before anything was measured, 0 to 1: half for vectors as long as eight lanes on the
// heaviest store, a bit less for arithmetic intensity (operations a byte touched, over the loop
// depths), a little for unrolling.
double PriorScore(const tvm_api::Features& features);

}  // namespace tw::space
