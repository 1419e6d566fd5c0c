// The searcher `droplet`: coordinate descent on the decisions of the best program so far (Canesche
// et al., "The Droplet Search Algorithm for Kernel Scheduling", ACM TACO 2024; applied to the best
// sample as in Ansor).
#pragma once

#include <map>
#include <optional>

#include "search/node_book.h"
#include "search/searcher.h"

namespace tw::search {

struct DropletOptions {
  double significance = 0.01;  // relative gain below which a neighbour is not better
  int samples = 8;             // random programs before each descent
};

class Droplet : public Searcher {
 public:
  Droplet(Space& space, uint64_t seed, DropletOptions options = {})
      : space_(space), book_(space, "droplet"), random_(seed), options_(options) {}

  std::string Name() const override { return "droplet"; }
  std::vector<Candidate> Propose(int count) override;
  void Observe(std::span<const Observation> observations) override;
  std::vector<NodeRecord> TakeChanges() override { return book_.TakeChanges(); }
  Status Restore(std::span<const NodeRecord> nodes,
                 std::span<const Observation> observations) override;
  std::string SaveState() const override;
  Status LoadState(const std::string& state) override;
  int64_t Scored() const override { return scored_; }

 private:
  struct Centre {
    int64_t node = 0;
    double latency_s = 0;
  };
  void ProposeNeighbours(int count, std::vector<Candidate>* candidates);

  Space& space_;
  NodeBook book_;
  Random random_;
  DropletOptions options_;
  std::optional<Centre> centre_;   // where the descent stands; none while sampling
  std::optional<Centre> sampled_;  // best of the samples for the next descent
  int samples_left_ = -1;          // -1: not begun
  std::size_t next_neighbour_ = 0;
  int64_t observed_ = 0;
  int64_t scored_ = 0;
  bool loaded_ = false;
};

}  // namespace tw::search
