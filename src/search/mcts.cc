#include "search/mcts.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "search/random_proposer.h"

namespace tw::search {
namespace {

constexpr int kFallbackTries = 4;  // random transformations tried for one expansion
constexpr int kFruitlessRounds =
    16;  // rounds without a new node after which the space counts as used up
constexpr std::size_t kTerminals = 256;  // rollout ends that are remembered

}  // namespace

MctsOptions MctsOptions::Paper() { return {}; }

MctsOptions MctsOptions::Default() {
  MctsOptions options;
  options.root_branching = 8;
  options.width = 8;
  options.explore_first = 8;
  options.measure_rollouts = true;
  options.use_measured = true;
  return options;
}

Mcts::Mcts(Space& space, Proposer& proposer, CostModel& model, uint64_t seed, MctsOptions options)
    : space_(space), proposer_(proposer), model_(model), random_(seed), options_(options) {
  const StatePtr root = space_.Root();
  AddNode(-1, root, space_.Key(*root), {}, "", Name(), 0);
}

double Mcts::Uct(double value, double visits, double parent_visits, double exploration) {
  if (visits <= 0) return std::numeric_limits<double>::infinity();
  return value / visits + exploration * std::sqrt(std::log(std::max(parent_visits, 1.0)) / visits);
}

int64_t Mcts::AddNode(int64_t parent, const StatePtr& state, const std::string& key,
                      std::vector<Transformation> sequence, const std::string& rationale,
                      const std::string& source, double predicted) {
  const auto id = static_cast<int64_t>(nodes_.size());
  Node node;
  node.parent = parent;
  node.state = state;
  node.key = key;
  node.encoded = space_.Encode(*state);
  node.sequence = std::move(sequence);
  node.rationale = rationale;
  node.source = source;
  node.predicted = predicted;
  nodes_.push_back(std::move(node));
  by_key_[key] = id;
  if (parent >= 0) at(parent).children.push_back(id);
  Touch(id);
  return id;
}

// A node can still give a program: itself by expansion, or one below it.
bool Mcts::Expandable(int64_t id) {
  const Node& node = at(id);
  if (node.grown + node.expanding < Limit(id) && node.failed < options_.patience) return true;
  return std::any_of(node.children.begin(), node.children.end(),
                     [&](int64_t child) { return Expandable(child); });
}

// Descends from the root by UCT to a node that expansion may still give children.
std::optional<int64_t> Mcts::Select() {
  int64_t id = 0;
  if (!Expandable(id)) return std::nullopt;
  while (true) {
    const Node& node = at(id);
    if (node.grown + node.expanding < Limit(id) && node.failed < options_.patience) return id;
    const double parent_visits = static_cast<double>(node.visits + node.pending);
    int64_t best = -1;  // there is one: the node is expandable and not a leaf
    double best_uct = 0;
    for (int64_t child : node.children) {
      if (!Expandable(child)) continue;
      const Node& c = at(child);
      const double uct = Uct(c.value, static_cast<double>(c.visits + c.pending), parent_visits,
                             options_.exploration);
      if (best < 0 || uct > best_uct) {
        best = child;
        best_uct = uct;
      }
    }
    id = best;
  }
}

void Mcts::MarkExpanding(int64_t leaf, int amount) {
  at(leaf).expanding += amount;
  for (int64_t id = leaf; id >= 0; id = at(id).parent) at(id).pending += amount;
}

Context Mcts::ContextOf(int64_t id) {
  Context context;
  context.best_latency_s = best_s_;
  for (; id >= 0; id = at(id).parent) {
    const Node& node = at(id);
    context.path.push_back({node.state, node.sequence, node.predicted, node.latency_s});
  }
  std::reverse(context.path.begin(), context.path.end());
  return context;
}

// Finds a new state for each expansion: the proposer's, or by a random transformation when that
// does not apply.
void Mcts::Expand(std::vector<Expansion>& expansions) {
  for (Expansion& e : expansions) {
    std::vector<Proposal> proposals = proposer_.Propose(ContextOf(e.leaf), 1);
    if (!proposals.empty()) e.proposal = std::move(proposals.front());
  }
  for (int attempt = 0; attempt <= kFallbackTries; ++attempt) {
    std::vector<Step> steps;
    std::vector<Expansion*> open;
    for (Expansion& e : expansions) {
      if (e.state) continue;
      if (attempt > 0 || e.proposal.sequence.empty()) {
        auto drawn = DrawTransformation(space_.Domains(*at(e.leaf).state), random_);
        if (!drawn) continue;
        if (!std::exchange(e.fell_back, true)) ++counts_.fallbacks;
        e.proposal = {{std::move(*drawn)}, "", "random"};
      }
      open.push_back(&e);
      steps.push_back({at(e.leaf).state, e.proposal.sequence});
    }
    if (open.empty()) return;
    std::vector<Result<StatePtr>> states = space_.ApplyAll(steps);
    for (std::size_t i = 0; i < open.size(); ++i) {
      if (states[i].ok()) {
        open[i]->state = *states[i];
      } else if (attempt == 0) {
        ++counts_.invalid[states[i].error().message];
      }
    }
  }
}

void Mcts::AddNodes(std::vector<Expansion>& expansions) {
  for (Expansion& e : expansions) {
    ++counts_.expansions;
    Node& leaf = at(e.leaf);
    if (!e.state) {
      ++leaf.failed;
      continue;
    }
    const std::string key = space_.Key(*e.state);
    if (by_key_.contains(key)) {
      ++counts_.duplicates;
      ++leaf.failed;
      continue;
    }
    leaf.failed = 0;
    ++leaf.grown;
    e.node = AddNode(e.leaf, e.state, key, e.proposal.sequence, e.proposal.rationale,
                     e.proposal.source, 0);
  }
}

// A score that is no number would break every comparison; it counts for nothing.
std::vector<double> Mcts::Score(std::span<const StatePtr> states) {
  std::vector<double> scores = model_.Predict(states);
  for (double& score : scores) score = std::isfinite(score) ? score : 0;
  return scores;
}

// Scores every new node and the end of a random walk from it, and sends the rewards up the tree.
void Mcts::Rollouts(const std::vector<Expansion>& expansions) {
  std::vector<const Expansion*> fresh;
  std::vector<Step> steps;
  for (const Expansion& e : expansions) {
    if (e.node < 0) continue;
    Step step{e.state, {}};
    const std::vector<Domain> domains = space_.Domains(*e.state);
    for (int i = 0; i < options_.horizon; ++i) {
      auto drawn = DrawTransformation(domains, random_);
      if (drawn) step.sequence.push_back(std::move(*drawn));
    }
    fresh.push_back(&e);
    steps.push_back(std::move(step));
  }
  if (fresh.empty()) return;
  std::vector<Result<StatePtr>> ends = space_.ApplyAll(steps);
  std::vector<StatePtr> states;
  for (const Expansion* e : fresh) states.push_back(e->state);
  for (std::size_t i = 0; i < ends.size(); ++i) {
    // A walk that leaves the legal programs ends where it began.
    states.push_back(ends[i].ok() ? *ends[i] : fresh[i]->state);
    counts_.rollouts += ends[i].ok() ? 1 : 0;
    scored_ += ends[i].ok() ? 2 : 1;
  }
  const std::vector<double> scores = Score(states);
  for (std::size_t i = 0; i < fresh.size(); ++i) {
    const double end_score = scores[fresh.size() + i];
    at(fresh[i]->node).predicted = scores[i];
    Backpropagate(fresh[i]->node, end_score);
    if (options_.measure_rollouts && ends[i].ok()) {
      Keep({fresh[i]->node, *ends[i], space_.Key(**ends[i]), steps[i].sequence, end_score});
    }
  }
}

void Mcts::Backpropagate(int64_t id, double reward) {
  at(id).own_reward += reward;
  at(id).own_visits += 1;
  for (; id >= 0; id = at(id).parent) {
    at(id).value += reward;
    at(id).visits += 1;
    Touch(id);
  }
}

void Mcts::Keep(Terminal terminal) {
  if (by_key_.contains(terminal.key) || !terminal_keys_.insert(terminal.key).second) return;
  terminals_.push_back(std::move(terminal));
  if (terminals_.size() < 2 * kTerminals) return;
  std::stable_sort(terminals_.begin(), terminals_.end(),
                   [](const Terminal& a, const Terminal& b) { return a.predicted > b.predicted; });
  for (std::size_t i = kTerminals; i < terminals_.size(); ++i)
    terminal_keys_.erase(terminals_[i].key);
  terminals_.resize(kTerminals);
}

int Mcts::Grow() {
  std::vector<Expansion> expansions;
  for (int i = 0; i < options_.width; ++i) {
    const std::optional<int64_t> leaf = Select();
    if (!leaf) break;
    MarkExpanding(*leaf, 1);
    expansions.push_back({*leaf, {}, nullptr, -1, false});
  }
  Expand(expansions);
  for (const Expansion& e : expansions) MarkExpanding(e.leaf, -1);
  AddNodes(expansions);
  Rollouts(expansions);
  return static_cast<int>(std::count_if(expansions.begin(), expansions.end(),
                                        [](const Expansion& e) { return e.node >= 0; }));
}

// What the model has learned since changes the order of programs that wait to be measured. Not to
// be stored: a run that goes on predicts them anew as well.
void Mcts::Repredict() {
  if (!model_changed_) return;
  model_changed_ = false;
  std::vector<StatePtr> states;
  std::vector<double*> scores;
  for (std::size_t id = 1; id < nodes_.size(); ++id) {
    if (nodes_[id].proposed) continue;
    states.push_back(nodes_[id].state);
    scores.push_back(&nodes_[id].predicted);
  }
  for (Terminal& t : terminals_) {
    states.push_back(t.state);
    scores.push_back(&t.predicted);
  }
  const std::vector<double> predicted = Score(states);
  for (std::size_t i = 0; i < scores.size(); ++i) *scores[i] = predicted[i];
}

Candidate Mcts::HandOut(int64_t id) {
  at(id).proposed = true;
  in_flight_.push_back(id);
  Touch(id);
  return {id, at(id).state};
}

std::vector<Candidate> Mcts::Propose(int count) {
  std::vector<Candidate> candidates;
  while (!unfinished_.empty() && static_cast<int>(candidates.size()) < count) {
    candidates.push_back(HandOut(unfinished_.front()));
    unfinished_.pop_front();
  }
  if (!candidates.empty()) return candidates;
  Repredict();
  int grown = 0, fruitless = 0;
  while (grown < options_.growth * count && fruitless < kFruitlessRounds) {
    const int fresh = Grow();
    grown += fresh;
    fruitless = fresh > 0 ? 0 : fruitless + 1;
  }

  // Programs that wait: nodes (>= 0) and rollout ends (~index), best first.
  std::vector<std::pair<double, int64_t>> waiting;
  for (std::size_t id = 1; id < nodes_.size(); ++id) {
    if (!nodes_[id].proposed) waiting.emplace_back(nodes_[id].predicted, static_cast<int64_t>(id));
  }
  for (std::size_t i = 0; i < terminals_.size(); ++i) {
    if (!by_key_.contains(terminals_[i].key)) {
      waiting.emplace_back(terminals_[i].predicted, ~static_cast<int64_t>(i));
    }
  }
  std::stable_sort(waiting.begin(), waiting.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  const double share = valid_ < options_.explore_first ? 0.5 : options_.random_share;
  std::set<std::size_t> used_terminals;
  while (!waiting.empty() && static_cast<int>(candidates.size()) < count) {
    const std::size_t pick = random_.Unit() < share ? random_.Below(waiting.size()) : 0;
    const int64_t which = waiting[pick].second;
    waiting.erase(waiting.begin() + static_cast<std::ptrdiff_t>(pick));
    if (which >= 0) {
      candidates.push_back(HandOut(which));
      continue;
    }
    const auto index = static_cast<std::size_t>(~which);
    const Terminal& t = terminals_[index];
    used_terminals.insert(index);
    const int64_t id = AddNode(t.from, t.state, t.key, t.sequence, "", "rollout", t.predicted);
    candidates.push_back(HandOut(id));
    Backpropagate(id, t.predicted);
  }
  std::size_t index = 0;
  std::erase_if(terminals_, [&](const Terminal&) { return used_terminals.contains(index++); });
  return candidates;
}

void Mcts::Observe(std::span<const Observation> observations) {
  for (const Observation& o : observations) {
    Node& node = at(o.node);
    std::erase(in_flight_, o.node);
    if (o.Counts()) {
      node.latency_s = o.latency_s;
      ++valid_;
      if (!best_s_ || o.latency_s < *best_s_) best_s_ = o.latency_s;
    } else {
      node.rejected = true;
    }
  }
  if (observations.empty()) return;
  model_changed_ = true;
  if (options_.use_measured) Recount();
}

// Sums the rewards anew: those of measured programs are relative to the best, which moves.
void Mcts::Recount() {
  std::vector<std::pair<double, int64_t>> before;
  for (Node& node : nodes_) {
    before.emplace_back(node.value, node.visits);
    node.value = node.own_reward;
    node.visits = node.own_visits;
    if (node.latency_s) node.value += *best_s_ / *node.latency_s;
    if (node.latency_s || node.rejected) node.visits += 1;
  }
  // Children have larger ids than their parents.
  for (std::size_t id = nodes_.size(); id-- > 1;) {
    Node& parent = at(nodes_[id].parent);
    parent.value += nodes_[id].value;
    parent.visits += nodes_[id].visits;
  }
  for (std::size_t id = 0; id < nodes_.size(); ++id) {
    if (before[id] != std::pair(nodes_[id].value, nodes_[id].visits))
      Touch(static_cast<int64_t>(id));
  }
}

}  // namespace tw::search
