// The proposer `random`: single transformations drawn from what the space allows.
#pragma once

#include <optional>

#include "search/proposer.h"

namespace tw::search {

// One transformation, its domain drawn by weight, its parameters uniformly; nothing when none is legal.
std::optional<Transformation> DrawTransformation(Space& space, const State& state, Random& random);

class RandomProposer : public Proposer {
 public:
  RandomProposer(Space& space, uint64_t seed) : space_(space), random_(seed) {}

  std::string Name() const override { return "random"; }
  std::vector<Proposal> Propose(const Context& context, int count) override;

 private:
  Space& space_;
  Random random_;
};

}  // namespace tw::search
