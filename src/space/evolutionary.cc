#include "space/evolutionary.h"

#include <algorithm>

#include "space/workers.h"

namespace tw::space {

using search::Candidate;
using search::NodeRecord;
using search::Observation;
using search::StatePtr;

Result<std::unique_ptr<EvolutionarySearcher>> EvolutionarySearcher::Make(
    ScheduleSpace& space, search::CostModel& model, const tvm_api::EvolutionOptions& options) {
  std::unique_ptr<EvolutionarySearcher> searcher(
      new EvolutionarySearcher(space, model, options.threads));
  EvolutionarySearcher* self = searcher.get();
  TW_TRY(searcher->evolution_,
         tvm_api::Evolution::Make(space.design_space(), options,
                                  [self](std::span<const tvm_api::Schedule> schedules) {
                                    return self->Score(schedules);
                                  }));
  NodeRecord root;
  root.state = space.Encode(*space.Root());
  root.key = space.Key(*space.Root());
  root.source = self->Name();
  self->AddNode(std::move(root));
  return searcher;
}

void EvolutionarySearcher::AddNode(NodeRecord node) {
  keys_.insert(node.key);
  nodes_.push_back(std::move(node));
}

std::vector<std::optional<StatePtr>> EvolutionarySearcher::AdoptAll(
    std::span<const tvm_api::Schedule> schedules) {
  std::vector<std::optional<StatePtr>> states(schedules.size());
  ForEach(schedules.size(), threads_, [&](std::size_t i) {
    if (auto state = space_.Adopt(schedules[i]); state.ok()) states[i] = *state;
  });
  return states;
}

std::vector<double> EvolutionarySearcher::Score(std::span<const tvm_api::Schedule> schedules) {
  std::vector<double> scores(schedules.size(), 0.0);
  const auto adopted = AdoptAll(schedules);
  std::vector<StatePtr> states;
  std::vector<std::size_t> at;
  for (std::size_t i = 0; i < adopted.size(); ++i) {
    if (!adopted[i]) continue;
    states.push_back(*adopted[i]);
    at.push_back(i);
  }
  const auto predicted = model_.Predict(states);
  // TVM draws parents by score, so even the worst legal program needs some.
  constexpr double kLeast = 1e-6;
  for (std::size_t i = 0; i < at.size(); ++i) scores[at[i]] = std::max(predicted[i], kLeast);
  scored_ += static_cast<int64_t>(states.size());
  return scores;
}

std::vector<Candidate> EvolutionarySearcher::Propose(int count) {
  constexpr int kRounds = 5;  // without anything new: the space is exhausted
  std::vector<Candidate> candidates;
  for (int round = 0; round < kRounds && static_cast<int>(candidates.size()) < count; ++round) {
    const auto schedules = evolution_->Propose(count);
    if (!schedules.ok() || schedules->empty()) continue;
    for (const auto& state : AdoptAll(*schedules)) {
      if (!state || static_cast<int>(candidates.size()) == count) continue;
      const std::string key = space_.Key(**state);
      if (keys_.count(key)) continue;
      NodeRecord node;
      node.id = static_cast<int64_t>(nodes_.size());
      node.parent = 0;
      node.state = space_.Encode(**state);
      node.key = key;
      node.source = Name();
      node.predicted = model_.Predict(std::span(&*state, 1)).front();
      node.proposed = true;
      candidates.push_back({node.id, *state});
      AddNode(std::move(node));
    }
  }
  return candidates;
}

void EvolutionarySearcher::Observe(std::span<const Observation> observations) {
  for (const Observation& observation : observations) {
    if (!observation.valid || observation.node < 0 ||
        observation.node >= static_cast<int64_t>(nodes_.size())) {
      continue;
    }
    const auto state = space_.Decode(nodes_[observation.node].state);
    if (!state.ok()) continue;
    // A program that cannot be committed is only one fewer to breed from.
    if (auto trace = space_.TraceOf(**state); trace.ok()) {
      static_cast<void>(evolution_->Commit(*trace, observation.latency_s));
    }
  }
  static_cast<void>(evolution_->Finish(static_cast<int>(observations.size())));
}

std::vector<NodeRecord> EvolutionarySearcher::TakeChanges() {
  std::vector<NodeRecord> changes(nodes_.begin() + static_cast<std::ptrdiff_t>(taken_),
                                  nodes_.end());
  taken_ = nodes_.size();
  return changes;
}

Status EvolutionarySearcher::Restore(std::span<const NodeRecord> nodes,
                                     std::span<const Observation> observations) {
  if (nodes.empty()) return Ok();
  if (nodes[0].key != space_.Key(*space_.Root())) {
    return Fail(Code::kRunDirectory, "the stored search is of another program");
  }
  nodes_.clear();
  keys_.clear();
  for (const NodeRecord& node : nodes) {
    if (node.id != static_cast<int64_t>(nodes_.size())) {
      return Fail(Code::kRunDirectory, "the stored search lacks node {}", nodes_.size());
    }
    AddNode(node);
  }
  taken_ = nodes_.size();
  Observe(observations);
  return Ok();
}

}  // namespace tw::space
