#include "search/node_book.h"

#include <set>
#include <utility>

#include "search/records.h"

namespace tw::search {

NodeBook::NodeBook(Space& space, std::string source) : space_(space), source_(std::move(source)) {
  const StatePtr root = space_.Root();
  states_.push_back(root);
  by_key_[space_.Key(*root)] = 0;
  NodeRecord record;
  record.state = space_.Encode(*root);
  record.key = space_.Key(*root);
  record.source = source_;
  changes_.push_back(std::move(record));
}

bool NodeBook::Add(const StatePtr& state, int64_t parent, std::vector<Transformation> sequence,
                   std::vector<Candidate>* handed_out) {
  const std::string key = space_.Key(*state);
  if (!by_key_.emplace(key, size()).second) return false;
  NodeRecord record;
  record.id = size();
  record.parent = parent;
  record.state = space_.Encode(*state);
  record.key = key;
  record.sequence = std::move(sequence);
  record.source = source_;
  record.proposed = true;
  handed_out->push_back({record.id, state});
  states_.push_back(state);
  changes_.push_back(std::move(record));
  return true;
}

std::vector<NodeRecord> NodeBook::TakeChanges() { return std::exchange(changes_, {}); }

Status NodeBook::Restore(std::span<const NodeRecord> nodes,
                         std::span<const Observation> observations) {
  TW_CHECK(CheckRecords(space_, nodes, observations));
  if (nodes.empty()) return Ok();
  std::set<int64_t> observed;
  for (const Observation& o : observations) observed.insert(o.node);
  states_.clear();
  by_key_.clear();
  changes_.clear();
  for (const NodeRecord& node : nodes) {
    TW_TRY(StatePtr state, space_.Decode(node.state));
    if (node.proposed && !observed.contains(node.id)) unfinished_.push_back(node.id);
    by_key_[node.key] = node.id;
    states_.push_back(std::move(state));
  }
  return Ok();
}

void NodeBook::TakeUnfinished(int count, std::vector<Candidate>* handed_out) {
  while (!unfinished_.empty() && static_cast<int>(handed_out->size()) < count) {
    handed_out->push_back({unfinished_.front(), state(unfinished_.front())});
    unfinished_.pop_front();
  }
}

}  // namespace tw::search
