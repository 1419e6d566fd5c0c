#include "search/random_proposer.h"

#include "search/records.h"
#include "search/saved_state.h"

namespace tw::search {

std::optional<Transformation> DrawTransformation(std::span<const Domain> domains, Random& random) {
  if (domains.empty()) return std::nullopt;
  std::vector<double> weights;
  for (const Domain& domain : domains) weights.push_back(domain.weight);
  return SampleFrom(domains[random.Weighted(weights)], random);
}

std::vector<Proposal> RandomProposer::Propose(const Context& context, int count) {
  std::vector<Proposal> proposals;
  const std::vector<Domain> domains = space_.Domains(*context.path.back().state);
  for (int i = 0; i < count; ++i) {
    auto drawn = DrawTransformation(domains, random_);
    if (!drawn) break;
    proposals.push_back({{std::move(*drawn)}, "", Name()});
  }
  return proposals;
}

std::string RandomProposer::SaveState() const { return StateWriter().Put(random_.state()).Take(); }

Status RandomProposer::LoadState(const std::string& state) {
  StateReader reader(state);
  random_ = Random(reader.Unsigned());
  if (reader.AtEnd()) return Ok();
  return DamagedState(Name());
}

}  // namespace tw::search
