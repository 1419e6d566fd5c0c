#include "search/random_proposer.h"

namespace tw::search {

std::optional<Transformation> DrawTransformation(Space& space, const State& state, Random& random) {
  const std::vector<Domain> domains = space.Domains(state);
  if (domains.empty()) return std::nullopt;
  std::vector<double> weights;
  for (const Domain& domain : domains) weights.push_back(domain.weight);
  return SampleFrom(domains[random.Weighted(weights)], random);
}

std::vector<Proposal> RandomProposer::Propose(const Context& context, int count) {
  std::vector<Proposal> proposals;
  for (int i = 0; i < count; ++i) {
    auto drawn = DrawTransformation(space_, *context.path.back().state, random_);
    if (!drawn) break;
    proposals.push_back({{std::move(*drawn)}, "", Name()});
  }
  return proposals;
}

}  // namespace tw::search
