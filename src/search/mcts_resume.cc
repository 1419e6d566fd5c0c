// How a tree goes to the store and comes back.
#include <utility>

#include "search/mcts.h"
#include "search/records.h"
#include "search/saved_state.h"

namespace tw::search {

std::vector<NodeRecord> Mcts::TakeChanges() {
  std::vector<NodeRecord> records;
  for (int64_t id : changed_) {
    const Node& node = at(id);
    records.push_back({id, node.parent, node.encoded, node.key, node.sequence, node.rationale,
                       node.source, node.predicted, node.visits, node.value, node.own_reward,
                       node.proposed});
  }
  changed_.clear();
  return records;
}

Status Mcts::Restore(std::span<const NodeRecord> nodes, std::span<const Observation> observations) {
  TW_CHECK(CheckRecords(space_, nodes, observations));
  if (nodes.empty()) return Ok();
  nodes_.clear();
  by_key_.clear();
  for (const NodeRecord& record : nodes) {
    const auto id = static_cast<int64_t>(nodes_.size());
    TW_TRY(StatePtr state, space_.Decode(record.state));
    AddNode(record.parent, state, record.key, record.sequence, record.rationale, record.source,
            record.predicted);
    Node& node = at(id);
    node.proposed = record.proposed;
    node.value = record.value;
    node.visits = record.visits;
    node.own_visits = id > 0 ? 1 : 0;
    node.own_reward = record.reward;
    if (record.parent >= 0 && record.source != "rollout") ++at(record.parent).grown;
  }
  changed_.clear();
  if (saved_.empty()) {
    random_ = Random(random_.state() ^ (0x9e3779b97f4a7c15 * nodes_.size()));
  } else {
    StateReader saved(saved_);
    TW_CHECK(RestoreSaved(saved));
    saved_.clear();
  }
  FindUnfinished(observations);
  Observe(observations);
  return Ok();
}

// In the order in which they were handed out, as far as that was saved.
void Mcts::FindUnfinished(std::span<const Observation> observations) {
  std::set<int64_t> left;
  for (std::size_t id = 0; id < nodes_.size(); ++id) {
    if (nodes_[id].proposed) left.insert(static_cast<int64_t>(id));
  }
  for (const Observation& o : observations) left.erase(o.node);
  for (int64_t id : std::exchange(in_flight_, {})) {
    if (left.erase(id) > 0) unfinished_.push_back(id);
  }
  unfinished_.insert(unfinished_.end(), left.begin(), left.end());
}

std::string Mcts::SaveState() const {
  StateWriter writer;
  writer.Put(random_.state()).Put(proposer_.SaveState()).Put(scored_);
  writer.Put(counts_.expansions).Put(counts_.fallbacks).Put(counts_.duplicates);
  writer.Put(counts_.rollouts).Put(static_cast<uint64_t>(counts_.invalid.size()));
  for (const auto& [reason, count] : counts_.invalid) writer.Put(reason).Put(count);
  std::vector<std::pair<int64_t, int>> failed;
  for (std::size_t id = 0; id < nodes_.size(); ++id) {
    if (nodes_[id].failed > 0) failed.emplace_back(static_cast<int64_t>(id), nodes_[id].failed);
  }
  writer.Put(static_cast<uint64_t>(failed.size()));
  for (const auto& [id, times] : failed) writer.Put(id).Put(times);
  writer.Put(static_cast<uint64_t>(in_flight_.size() + unfinished_.size()));
  for (int64_t id : in_flight_) writer.Put(id);
  for (int64_t id : unfinished_) writer.Put(id);
  // The end of a rollout is kept as the way to it, which is short and gives the same program again.
  writer.Put(static_cast<uint64_t>(terminals_.size()));
  for (const Terminal& t : terminals_) {
    writer.Put(t.from).Put(t.predicted).Put(static_cast<uint64_t>(t.sequence.size()));
    for (const Transformation& step : t.sequence) writer.Put(ToString(step));
  }
  return writer.Take();
}

Status Mcts::LoadState(const std::string& state) {
  saved_ = state;
  return Ok();
}

Status Mcts::RestoreSaved(StateReader& saved) {
  const auto known = [&](int64_t id) {
    return id >= 0 && id < static_cast<int64_t>(nodes_.size());
  };
  random_ = Random(saved.Unsigned());
  const std::string proposer = saved.Text();
  scored_ = saved.Integer();
  counts_.expansions = saved.Integer();
  counts_.fallbacks = saved.Integer();
  counts_.duplicates = saved.Integer();
  counts_.rollouts = saved.Integer();
  for (int64_t left = saved.Count(); left > 0; --left) {
    const std::string reason = saved.Text();
    counts_.invalid[reason] = saved.Integer();
  }
  for (int64_t left = saved.Count(); left > 0; --left) {
    const int64_t id = saved.Integer();
    if (!known(id)) return DamagedState(Name());
    at(id).failed = static_cast<int>(saved.Integer());
  }
  for (int64_t left = saved.Count(); left > 0; --left) in_flight_.push_back(saved.Integer());
  std::vector<Terminal> terminals(static_cast<std::size_t>(saved.Count()));
  std::vector<Step> steps;
  for (Terminal& t : terminals) {
    t.from = saved.Integer();
    if (!known(t.from)) return DamagedState(Name());
    t.predicted = saved.Real();
    for (int64_t left = saved.Count(); left > 0; --left) {
      auto step = ParseTransformation(saved.Text());
      if (!step.ok()) return DamagedState(Name());
      t.sequence.push_back(std::move(*step));
    }
    steps.push_back({at(t.from).state, t.sequence});
  }
  if (!saved.AtEnd()) return DamagedState(Name());
  TW_CHECK(proposer_.LoadState(proposer));
  std::vector<Result<StatePtr>> states = space_.ApplyAll(steps);
  for (std::size_t i = 0; i < terminals.size(); ++i) {
    if (!states[i].ok()) return DamagedState(Name());
    terminals[i].state = *states[i];
    terminals[i].key = space_.Key(*terminals[i].state);
    terminal_keys_.insert(terminals[i].key);
  }
  terminals_ = std::move(terminals);
  return Ok();
}

}  // namespace tw::search
