// MetaSchedule's traces and schedules: sketches, their decisions, replay and post-processing.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "tvm/module.h"
#include "tvm/target.h"

namespace tw::tvm_api {

// One sampling instruction of a trace, by its position among the trace's instructions.
struct Sampling {
  enum class Kind { kPerfectTile, kCategorical, kComputeLocation };
  Kind kind = Kind::kPerfectTile;
  int instruction = 0;  // index into the trace
  std::vector<int64_t>
      decision;               // factors; one index; one loop index (-1 root, -2 inline); or empty
  int parts = 0;              // kPerfectTile: number of factors
  int64_t max_innermost = 0;  // kPerfectTile; -1: no limit
  std::vector<int64_t> candidates;  // kCategorical: the values to choose from
  std::string annotates;            // kCategorical: the annotation key that takes the value
};

// An instruction that annotates the root block with a number that post-processing obeys.
struct Annotation {
  int instruction = 0;
  std::string
      key;  // "meta_schedule.parallel": most jobs; "meta_schedule.vectorize": longest vector
  int64_t value = 0;
};

using Decision = std::pair<int, std::vector<int64_t>>;  // instruction, and as Sampling::decision

class Trace : public Object {
 public:
  using Object::Object;
  explicit Trace(Object o) : Object(std::move(o)) {}

  std::vector<Sampling> Samplings() const;  // before post-processing
  std::vector<Annotation> Annotations() const;
  // A copy with the decision of one sampling instruction replaced.
  Trace WithDecision(int instruction, const std::vector<int64_t>& decision) const;
  // A copy whose sampling instructions have these decisions and no other, and whose annotations
  // have these values (instruction, value) where given.
  Trace With(std::span<const Decision> decisions,
             std::span<const std::pair<int, int64_t>> annotations) const;
  Trace WithoutDecisions() const;             // for a fresh sample
  Trace WithoutPostproc() const;              // up to EnterPostproc
  std::vector<std::string> AsPython() const;  // one line an instruction
  std::string ToJson() const;                 // TVM's JSON of a trace (lists), not the object graph
  uint64_t Structure() const;  // hash of the instructions without decisions and annotation values
};

// A schedule: a module with the trace that made it.
class Schedule : public Object {
 public:
  using Object::Object;
  explicit Schedule(Object o) : Object(std::move(o)) {}

  // Applies `trace`, up to its post-processing, to `module`. Decisions in the trace are kept,
  // missing ones are drawn with `seed` (>= 1). TVM moves a decision that no longer fits (a compute
  // location that is gone) to the nearest one that does: GetTrace tells. Errors are kUsage with
  // TVM's reason in one line.
  static Result<Schedule> Replay(const Module& module, const Trace& trace, int64_t seed);
  // The same from TVM's JSON of a trace, as a database record holds it (post-processing included).
  static Result<Schedule> ReplayJson(const Module& module, const std::string& json);

  Module GetModule() const;
  Trace GetTrace() const;  // with the decisions that were taken
};

// Where a sampling instruction acts, seen by replaying the trace up to it.
struct Site {
  struct Location {
    int64_t index = 0;  // of the loop around the block's consumer; -1 root, -2 inline
    std::string name;   // "root", "inline", or the loop's variable
  };
  int instruction = 0;
  std::string block;
  std::string loop;                 // kPerfectTile: the loop's variable
  int64_t extent = 0;               // kPerfectTile
  std::vector<Location> locations;  // kComputeLocation: what is possible, by index
};

// The sites of all tile and compute-location instructions of `trace`, which must carry decisions:
// the compute locations depend on them. Errors as Schedule::Replay.
Result<std::vector<Site>> FindSites(const Module& module, const Trace& trace);

// The sketches of a module for a target, and the post-processing that makes a sketch a complete
// program.
class DesignSpace {
 public:
  struct Impl;
  explicit DesignSpace(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}

  // TVM's own schedule rules for the target. A rule that throws on a block is tried in a simpler
  // form and else leaves that block alone; `Notes` says where. Fails only when TVM knows no rules
  // for the target's kind, or cannot schedule the module at all.
  static Result<DesignSpace> Generate(const Module& module, const Target& target);

  const std::vector<Trace>& Sketches() const;  // simplified, with the decisions they were made with
  const std::vector<std::string>& Notes() const;
  // Runs the postprocs on a copy of `schedule`; an error (kUsage) names the postproc that refused.
  // Thread-safe.
  Result<Schedule> Postprocess(const Schedule& schedule) const;
  // Replay, then the postprocs on the same object: what Postprocess(Replay(...)) gives, without the
  // copy.
  Result<Schedule> Apply(const Trace& trace, int64_t seed) const;
  const Module& GetModule() const;
  const Target& GetTarget() const;
  int VectorBits() const;  // of the target's vector registers
  const Impl& impl() const { return *impl_; }

 private:
  std::shared_ptr<const Impl> impl_;
};

}  // namespace tw::tvm_api
