// The searcher `random`: programs drawn independently.
#pragma once

#include "search/node_book.h"
#include "search/searcher.h"

namespace tw::search {

class RandomSearch : public Searcher {
 public:
  RandomSearch(Space& space, uint64_t seed)
      : space_(space), book_(space, "random"), random_(seed) {}

  std::string Name() const override { return "random"; }
  std::vector<Candidate> Propose(int count) override;
  void Observe(std::span<const Observation>) override {}
  std::vector<NodeRecord> TakeChanges() override { return book_.TakeChanges(); }
  Status Restore(std::span<const NodeRecord> nodes,
                 std::span<const Observation> observations) override;
  std::string SaveState() const override;
  Status LoadState(const std::string& state) override;
  int64_t Scored() const override { return scored_; }

 private:
  Space& space_;
  NodeBook book_;
  Random random_;
  int64_t scored_ = 0;
  bool loaded_ = false;
};

// Draws whole programs until `count` are handed out or too many draws in a row gave nothing new,
// which on a small space means that there is nothing more. Returns the number of draws.
int64_t DrawPrograms(Space& space, int count, Random& random, NodeBook& book,
                     std::vector<Candidate>* handed_out);

}  // namespace tw::search
