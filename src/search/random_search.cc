#include "search/random_search.h"

#include "search/records.h"
#include "search/saved_state.h"

namespace tw::search {
namespace {

// The chance to miss a program of a space of n programs in this many draws is below 1e-4 for n up
// to 20.
constexpr int kFruitlessDraws = 200;

}  // namespace

int64_t DrawPrograms(Space& space, int count, Random& random, NodeBook& book,
                     std::vector<Candidate>* handed_out) {
  int64_t draws = 0;
  int fruitless = 0;
  while (static_cast<int>(handed_out->size()) < count && fruitless < kFruitlessDraws) {
    ++draws;
    Result<StatePtr> state = space.RandomState(random);
    const bool is_new = state.ok() && book.Add(*state, 0, {}, handed_out);
    fruitless = is_new ? 0 : fruitless + 1;
  }
  return draws;
}

std::vector<Candidate> RandomSearch::Propose(int count) {
  std::vector<Candidate> candidates;
  book_.TakeUnfinished(count, &candidates);
  if (!candidates.empty()) return candidates;
  scored_ += DrawPrograms(space_, count, random_, book_, &candidates);
  return candidates;
}

Status RandomSearch::Restore(std::span<const NodeRecord> nodes,
                             std::span<const Observation> observations) {
  // Without its state, the draws of the earlier session must at least not come again.
  if (!loaded_) random_ = Random(random_.state() ^ (0x9e3779b97f4a7c15 * nodes.size()));
  return book_.Restore(nodes, observations);
}

std::string RandomSearch::SaveState() const {
  return StateWriter().Put(random_.state()).Put(scored_).Take();
}

Status RandomSearch::LoadState(const std::string& state) {
  StateReader reader(state);
  random_ = Random(reader.Unsigned());
  scored_ = reader.Integer();
  loaded_ = true;
  if (reader.AtEnd()) return Ok();
  return DamagedState(Name());
}

}  // namespace tw::search
