// The programs that a searcher without a tree of its own knows: which were handed out, and what is
// to be stored.
#pragma once

#include <deque>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "search/searcher.h"

namespace tw::search {

class NodeBook {
 public:
  explicit NodeBook(Space& space, std::string source);

  // Adds a program as one that is handed out; false when it is known already.
  bool Add(const StatePtr& state, int64_t parent, std::vector<Transformation> sequence,
           std::vector<Candidate>* handed_out);
  int64_t size() const { return static_cast<int64_t>(states_.size()); }
  const StatePtr& state(int64_t node) const { return states_[static_cast<std::size_t>(node)]; }

  std::vector<NodeRecord> TakeChanges();
  // Checks the records (CheckRecords). Programs that were handed out and have no observation are
  // given again.
  Status Restore(std::span<const NodeRecord> nodes, std::span<const Observation> observations);
  void TakeUnfinished(int count, std::vector<Candidate>* handed_out);

 private:
  Space& space_;
  std::string source_;
  std::vector<StatePtr> states_;
  std::map<std::string, int64_t> by_key_;
  std::vector<NodeRecord> changes_;
  std::deque<int64_t> unfinished_;
};

}  // namespace tw::search
