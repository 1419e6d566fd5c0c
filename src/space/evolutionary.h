// TVM's evolutionary search as one of our searchers.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "search/evaluator.h"
#include "search/searcher.h"
#include "space/schedule_space.h"
#include "tvm/evolutionary.h"

namespace tw::space {

// TVM's own strategy object on our sketches and our cost model. Schedules that ScheduleSpace
// refuses score 0 and are never handed out.
class EvolutionarySearcher : public search::Searcher {
 public:
  // `space` and `model` must outlive the searcher.
  static Result<std::unique_ptr<EvolutionarySearcher>> Make(
      ScheduleSpace& space, search::CostModel& model, const tvm_api::EvolutionOptions& options);

  std::string Name() const override { return "evolutionary"; }
  std::vector<search::Candidate> Propose(int count) override;
  void Observe(std::span<const search::Observation> observations) override;
  std::vector<search::NodeRecord> TakeChanges() override;
  Status Restore(std::span<const search::NodeRecord> nodes,
                 std::span<const search::Observation> observations) override;
  int64_t Scored() const override { return scored_; }

 private:
  EvolutionarySearcher(ScheduleSpace& space, search::CostModel& model, int threads)
      : space_(space), model_(model), threads_(threads) {}

  std::vector<double> Score(std::span<const tvm_api::Schedule> schedules);
  std::vector<std::optional<search::StatePtr>> AdoptAll(
      std::span<const tvm_api::Schedule> schedules);
  void AddNode(search::NodeRecord node);

  ScheduleSpace& space_;
  search::CostModel& model_;
  int threads_;
  std::optional<tvm_api::Evolution> evolution_;
  std::vector<search::NodeRecord> nodes_;  // by id
  std::size_t taken_ = 0;                  // nodes_ reported by TakeChanges; nodes never change
  std::set<std::string> keys_;             // of nodes_
  std::atomic<int64_t> scored_{0};
};

}  // namespace tw::space
