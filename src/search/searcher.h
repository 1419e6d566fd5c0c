// A Searcher decides which states to measure next. It is asked for candidates and told what
// measuring found (ask and tell), so that the measuring loop, its budget and its faults stay
// outside.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "search/space.h"

namespace tw::search {

// One program a searcher knows, as the store keeps it. Ids count from 0 (the root) in order of
// creation.
struct NodeRecord {
  int64_t id = 0;
  int64_t parent = -1;                   // -1 for the root
  std::string state;                     // Space::Encode
  std::string key;                       // Space::Key
  std::vector<Transformation> sequence;  // from the parent to here; empty where it was drawn whole
  std::string rationale;
  std::string source;    // which proposer, or the searcher's own name
  double predicted = 0;  // score when created
  int64_t visits = 0;
  double value = 0;       // sum of rewards of it and what is below it
  double reward = 0;      // of its own rollout
  bool proposed = false;  // was handed out for measuring
};

struct Candidate {
  int64_t node = 0;
  StatePtr state;
};

// What measuring said about a candidate.
struct Observation {
  int64_t node = 0;
  bool valid = false;    // built, ran and computed the right numbers
  double latency_s = 0;  // median, when valid

  // A latency that can win: of a valid program, a positive number, and not TVM's mark for a failure
  // (1e10 s).
  bool Counts() const { return valid && latency_s > 0 && latency_s < 1e9; }
};

class Searcher {
 public:
  virtual ~Searcher() = default;
  virtual std::string Name() const = 0;
  // Up to `count` programs that were not handed out before (no two with one key, over the whole
  // run). None when the space has no more to give. After Restore, first and by themselves those
  // that have no observation yet, so that the run goes on in the rounds it would have had.
  virtual std::vector<Candidate> Propose(int count) = 0;
  virtual void Observe(std::span<const Observation> observations) = 0;
  // Nodes that are new or changed since the last call, for the store. Nodes that were handed out
  // are among them before Propose returns.
  virtual std::vector<NodeRecord> TakeChanges() = 0;
  // Continues an earlier run: its nodes in order of id, then its observations in the order of
  // Observe. Called once, before Propose. Records that do not fit together are refused
  // (kRunDirectory).
  virtual Status Restore(std::span<const NodeRecord> nodes,
                         std::span<const Observation> observations) = 0;
  // What records do not tell: random streams, counters. To be stored together with what TakeChanges
  // returned after Propose, and loaded before Restore; then the run goes on as if it had not been
  // interrupted, as long as the cost model answers as it would have. A run without a saved state
  // goes on with other draws.
  virtual std::string SaveState() const { return {}; }
  virtual Status LoadState(const std::string& /*state*/) { return Ok(); }
  // States applied and scored so far (nodes and rollouts), for progress and bench-search.
  virtual int64_t Scored() const = 0;
};

}  // namespace tw::search
