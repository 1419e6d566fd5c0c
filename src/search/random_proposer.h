// The proposer `random`: single transformations drawn from what the space allows.
#pragma once

#include <optional>
#include <span>

#include "search/proposer.h"

namespace tw::search {

// One transformation, its domain drawn by weight, its parameters uniformly; nothing when there are
// no domains.
std::optional<Transformation> DrawTransformation(std::span<const Domain> domains, Random& random);

class RandomProposer : public Proposer {
 public:
  RandomProposer(Space& space, uint64_t seed) : space_(space), random_(seed) {}

  std::string Name() const override { return "random"; }
  std::vector<Proposal> Propose(const Context& context, int count) override;
  std::string SaveState() const override;
  Status LoadState(const std::string& state) override;

 private:
  Space& space_;
  Random random_;
};

}  // namespace tw::search
