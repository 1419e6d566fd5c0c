// A Proposer suggests what to do next to a program, given where it came from and what happened so
// far.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "search/space.h"

namespace tw::search {

// A program on the way from the root to the current one.
struct Ancestor {
  StatePtr state;
  std::vector<Transformation> sequence;  // that led here from its parent
  double predicted = 0;                  // cost-model score, higher is faster
  std::optional<double> latency_s;       // measured, if it was
};

struct Context {
  std::vector<Ancestor> path;  // root first, the current program last; never empty
  std::optional<double> best_latency_s;
};

struct Proposal {
  std::vector<Transformation> sequence;
  std::string rationale;  // why, in words; may be empty for `random`
  std::string source;     // name of the proposer
};

class Proposer {
 public:
  virtual ~Proposer() = default;
  virtual std::string Name() const = 0;
  // Up to `count` proposals for the last program of context.path. None when it has nothing to say.
  virtual std::vector<Proposal> Propose(const Context& context, int count) = 0;
  // What a proposer needs to go on as if its process had not ended (see Searcher).
  virtual std::string SaveState() const { return {}; }
  virtual Status LoadState(const std::string& /*state*/) { return Ok(); }
};

}  // namespace tw::search
