#include "search/droplet.h"

#include <algorithm>

#include "search/random_search.h"
#include "search/records.h"
#include "search/saved_state.h"

namespace tw::search {

std::vector<Candidate> Droplet::Propose(int count) {
  std::vector<Candidate> candidates;
  book_.TakeUnfinished(count, &candidates);
  if (!candidates.empty()) return candidates;
  if (centre_) ProposeNeighbours(count, &candidates);
  if (!candidates.empty()) return candidates;
  // No descent, or it ended where no neighbour is better: sample for the next one.
  if (centre_ || samples_left_ < 0) {
    centre_.reset();
    sampled_.reset();
    samples_left_ = options_.samples;
  }
  if (samples_left_ == 0) samples_left_ = options_.samples;  // none of the samples was valid
  scored_ += DrawPrograms(space_, std::min(count, samples_left_), random_, book_, &candidates);
  samples_left_ -= static_cast<int>(candidates.size());
  if (candidates.empty() && sampled_) {
    // Nothing new is drawn any more; neighbours may still be new.
    centre_ = sampled_;
    next_neighbour_ = 0;
    ProposeNeighbours(count, &candidates);
  }
  return candidates;
}

void Droplet::ProposeNeighbours(int count, std::vector<Candidate>* candidates) {
  const StatePtr centre = book_.state(centre_->node);
  const std::vector<Transformation> neighbours = space_.Neighbours(*centre);
  while (next_neighbour_ < neighbours.size() && static_cast<int>(candidates->size()) < count) {
    std::vector<Step> steps;
    const std::size_t wanted = static_cast<std::size_t>(count) - candidates->size();
    const std::size_t end = std::min(next_neighbour_ + wanted, neighbours.size());
    for (std::size_t i = next_neighbour_; i < end; ++i) steps.push_back({centre, {neighbours[i]}});
    next_neighbour_ = end;
    std::vector<Result<StatePtr>> states = space_.ApplyAll(steps);
    scored_ += static_cast<int64_t>(states.size());
    for (std::size_t i = 0; i < states.size(); ++i) {
      if (states[i].ok()) book_.Add(*states[i], centre_->node, steps[i].sequence, candidates);
    }
  }
}

void Droplet::Observe(std::span<const Observation> observations) {
  observed_ += static_cast<int64_t>(observations.size());
  for (const Observation& o : observations) {
    if (!o.Counts()) continue;
    std::optional<Centre>& current = centre_ ? centre_ : sampled_;
    const double better = current ? current->latency_s * (1 - options_.significance) : 0;
    if (current && o.latency_s >= better) continue;
    current = Centre{o.node, o.latency_s};
    next_neighbour_ = 0;
  }
  if (!centre_ && samples_left_ == 0 && sampled_) {
    centre_ = sampled_;
    next_neighbour_ = 0;
  }
}

Status Droplet::Restore(std::span<const NodeRecord> nodes,
                        std::span<const Observation> observations) {
  TW_CHECK(book_.Restore(nodes, observations));
  if (loaded_) {
    const auto known = [&](const std::optional<Centre>& c) {
      return !c || (c->node >= 0 && c->node < book_.size());
    };
    if (!known(centre_) || !known(sampled_) || observed_ < 0 ||
        observed_ > static_cast<int64_t>(observations.size())) {
      return DamagedState(Name());
    }
    Observe(observations.subspan(static_cast<std::size_t>(observed_)));
    return Ok();
  }
  random_ = Random(random_.state() ^ (0x9e3779b97f4a7c15 * nodes.size()));
  // The descent goes on from the best program; neighbours that were measured are known and skipped.
  for (const Observation& o : observations) {
    if (o.Counts() && (!sampled_ || o.latency_s < sampled_->latency_s)) {
      sampled_ = Centre{o.node, o.latency_s};
    }
  }
  observed_ = static_cast<int64_t>(observations.size());
  samples_left_ = std::max<int>(options_.samples - static_cast<int>(observations.size()), 0);
  if (samples_left_ == 0) centre_ = sampled_;
  if (samples_left_ == 0 && !centre_) samples_left_ = -1;
  return Ok();
}

std::string Droplet::SaveState() const {
  StateWriter writer;
  writer.Put(random_.state()).Put(scored_).Put(observed_).Put(samples_left_);
  writer.Put(static_cast<uint64_t>(next_neighbour_));
  for (const auto& c : {centre_, sampled_}) {
    writer.Put(c ? c->node : int64_t{-1}).Put(c ? c->latency_s : 0.0);
  }
  return writer.Take();
}

Status Droplet::LoadState(const std::string& state) {
  StateReader reader(state);
  random_ = Random(reader.Unsigned());
  scored_ = reader.Integer();
  observed_ = reader.Integer();
  samples_left_ = static_cast<int>(reader.Integer());
  next_neighbour_ = reader.Unsigned();
  for (auto* c : {&centre_, &sampled_}) {
    const Centre read{reader.Integer(), reader.Real()};
    *c = read.node < 0 ? std::nullopt : std::optional(read);
  }
  loaded_ = true;
  if (reader.AtEnd()) return Ok();
  return DamagedState(Name());
}

}  // namespace tw::search
