// Monte Carlo tree search over program transformations.
//
// The method is that of Reasoning Compiler, section 3.2: UCT selection, expansion by a proposer (a
// random legal transformation when its proposal does not apply), a random rollout to a horizon that
// a cost model scores, back-propagation of that score as a reward, no program twice in the tree.
// MctsOptions::Paper() is that and no more. MctsOptions::Default() also lets measured latencies
// into the tree, measures the end of a rollout when it looks better than any node, and expands
// several leaves at a time.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "search/evaluator.h"
#include "search/proposer.h"
#include "search/searcher.h"

namespace tw::search {

class StateReader;

struct MctsOptions {
  double exploration = 1.4142135623730951;  // c of UCT, for rewards of about 0 to 1
  int branching = 2;                        // B: children that expansion gives a node
  int root_branching = 2;      // the same for the root, whose only moves choose a sketch
  int horizon = 4;             // transformations of a rollout
  int width = 1;               // leaves expanded at a time; more lets the space use its threads
  int growth = 8;              // new nodes for each program that is asked for
  double random_share = 0.05;  // of the programs handed out, drawn instead of ranked
  int explore_first = 0;       // while fewer valid measurements than this, half are drawn
  bool measure_rollouts = false;
  bool use_measured = false;  // a measured latency is one more reward: best / latency
  int patience = 4;           // failed expansions after which a node is left alone

  static MctsOptions Paper();
  static MctsOptions Default();
};

struct MctsCounts {
  int64_t expansions = 0;
  int64_t fallbacks = 0;   // expansions by a random transformation because no proposal applied
  int64_t duplicates = 0;  // programs that were in the tree already
  int64_t rollouts = 0;
  std::map<std::string, int64_t> invalid;  // proposals that did not apply, by reason
};

class Mcts : public Searcher {
 public:
  // All must outlive the searcher.
  Mcts(Space& space, Proposer& proposer, CostModel& model, uint64_t seed, MctsOptions options);

  std::string Name() const override { return "mcts"; }
  std::vector<Candidate> Propose(int count) override;
  void Observe(std::span<const Observation> observations) override;
  std::vector<NodeRecord> TakeChanges() override;
  Status Restore(std::span<const NodeRecord> nodes,
                 std::span<const Observation> observations) override;
  std::string SaveState() const override;
  Status LoadState(const std::string& state) override;
  int64_t Scored() const override { return scored_; }

  const MctsCounts& counts() const { return counts_; }
  // Grows the tree by one round of `width` expansions. Returns the number of new nodes. For tests
  // and benchmarks; Propose calls it as often as it needs.
  int Grow();

  // UCT of a child: value / visits + c sqrt(ln(parent visits) / visits); infinite when it was never
  // visited.
  static double Uct(double value, double visits, double parent_visits, double exploration);

 private:
  struct Node {
    int64_t parent = -1;
    std::vector<int64_t> children;
    int grown = 0;  // children that expansion made; the others came from rollouts
    StatePtr state;
    std::string key;
    std::string encoded;
    std::vector<Transformation> sequence;
    std::string rationale;
    std::string source;
    double predicted = 0;
    double own_reward = 0;  // of its own rollout
    int64_t own_visits = 0;
    double value = 0;  // sums over the subtree
    int64_t visits = 0;
    int pending = 0;    // virtual visits: leaves at or below it that are being expanded
    int expanding = 0;  // how often it is such a leaf itself
    int failed = 0;     // expansions that gave nothing
    bool proposed = false;
    std::optional<double> latency_s;  // measured and valid
    bool rejected = false;            // measured and not valid
  };
  // The end of a rollout, which may be worth measuring.
  struct Terminal {
    int64_t from = 0;
    StatePtr state;
    std::string key;
    std::vector<Transformation> sequence;
    double predicted = 0;
  };
  struct Expansion {
    int64_t leaf = 0;
    Proposal proposal;
    StatePtr state;
    int64_t node = -1;
    bool fell_back = false;
  };

  Node& at(int64_t id) { return nodes_[static_cast<std::size_t>(id)]; }
  int Limit(int64_t id) const { return id == 0 ? options_.root_branching : options_.branching; }
  bool Expandable(int64_t id);
  std::optional<int64_t> Select();
  Context ContextOf(int64_t id);
  void Expand(std::vector<Expansion>& expansions);
  void AddNodes(std::vector<Expansion>& expansions);
  void Rollouts(const std::vector<Expansion>& expansions);
  void Backpropagate(int64_t id, double reward);
  void MarkExpanding(int64_t leaf, int amount);
  int64_t AddNode(int64_t parent, const StatePtr& state, const std::string& key,
                  std::vector<Transformation> sequence, const std::string& rationale,
                  const std::string& source, double predicted);
  std::vector<double> Score(std::span<const StatePtr> states);
  void Keep(Terminal terminal);
  Status RestoreSaved(StateReader& saved);
  void FindUnfinished(std::span<const Observation> observations);
  void Repredict();
  void Recount();
  Candidate HandOut(int64_t id);
  void Touch(int64_t id) { changed_.insert(id); }

  Space& space_;
  Proposer& proposer_;
  CostModel& model_;
  Random random_;
  MctsOptions options_;
  std::vector<Node> nodes_;
  std::map<std::string, int64_t> by_key_;
  std::vector<Terminal> terminals_;
  std::set<std::string> terminal_keys_;
  std::set<int64_t> changed_;
  std::vector<int64_t> in_flight_;  // handed out and not observed, in order
  std::deque<int64_t> unfinished_;  // the same of an earlier process, to be handed out again
  std::optional<double> best_s_;
  int64_t valid_ = 0;
  bool model_changed_ = false;
  std::string saved_;  // what LoadState was given, until Restore
  int64_t scored_ = 0;
  MctsCounts counts_;
};

}  // namespace tw::search
