// MetaSchedule's traces and schedules: sketches, their decisions, replay and post-processing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "tvm/module.h"
#include "tvm/target.h"

namespace tw::tvm_api {

// One sampling instruction of a trace, by its position among the trace's instructions.
struct Sampling {
  enum class Kind { kPerfectTile, kCategorical, kComputeLocation };
  Kind kind = Kind::kPerfectTile;
  int instruction = 0;             // index into the trace
  std::vector<int64_t> decision;   // factors; or one index; or one loop index (-1 root, -2 inline)
  int parts = 0;                   // kPerfectTile: number of factors
  int64_t max_innermost = 0;       // kPerfectTile
  std::vector<int64_t> candidates; // kCategorical: the values to choose from
};

class Trace : public Object {
 public:
  using Object::Object;
  explicit Trace(Object o) : Object(std::move(o)) {}

  std::vector<Sampling> Samplings() const;
  // A copy with the decision of one sampling instruction replaced.
  Trace WithDecision(int instruction, const std::vector<int64_t>& decision) const;
  Trace WithoutDecisions() const;  // for a fresh sample
  Trace WithoutPostproc() const;   // up to EnterPostproc
  std::vector<std::string> AsPython() const;  // one line an instruction
  std::string ToJson() const;      // TVM's JSON of a trace (lists), not the object graph
  uint64_t Structure() const;      // hash of the instructions without decisions
};

// A schedule: a module with the trace that made it.
class Schedule : public Object {
 public:
  using Object::Object;
  explicit Schedule(Object o) : Object(std::move(o)) {}

  // Applies `trace` to `module`. Decisions in the trace are kept, missing ones are drawn with `seed`
  // (>= 1). Errors are kUsage with TVM's reason in one line.
  static Result<Schedule> Replay(const Module& module, const Trace& trace, int64_t seed);
  // The same from TVM's JSON of a trace, as a database record holds it (post-processing included).
  static Result<Schedule> ReplayJson(const Module& module, const std::string& json);

  Module GetModule() const;
  Trace GetTrace() const;  // with the decisions that were taken
};

// The sketches of a module for a target, and the post-processing that makes a sketch a complete program.
class DesignSpace : public Object {
 public:
  using Object::Object;
  explicit DesignSpace(Object o) : Object(std::move(o)) {}

  // TVM's own schedule rules for the target. A rule that throws on a block is tried in simpler forms and
  // else leaves that block alone; `Notes` says where. Never fails because of a rule.
  static Result<DesignSpace> Generate(const Module& module, const Target& target);

  const std::vector<Trace>& Sketches() const;
  const std::vector<std::string>& Notes() const;
  // Runs the postprocs on `schedule` in place of a new object; an error (kUsage) names the postproc that
  // refused. Thread-safe.
  Result<Schedule> Postprocess(const Schedule& schedule) const;
};

// The 164 features per buffer store of TVM's cost models (n x 164, row-major), for one scheduled module.
struct Features {
  std::vector<float> values;
  int rows = 0;
  int columns = 0;
};
Result<Features> ExtractFeatures(const Module& scheduled, const Target& target);

}  // namespace tw::tvm_api
