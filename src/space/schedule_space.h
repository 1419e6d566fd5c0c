// The schedules of one program for one target: MetaSchedule's sketches with their decisions.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/random.h"
#include "base/result.h"
#include "search/space.h"
#include "space/schedule_state.h"
#include "space/sketch.h"
#include "tvm/features.h"
#include "tvm/module.h"
#include "tvm/schedule.h"
#include "tvm/target.h"

namespace tw::space {

struct ScheduleSpaceOptions {
  int threads = 2;       // of ApplyAll
  bool features = true;  // extract the cost model's features of every state when it is made
};

// The root is the program as given; from there only Sketch applies. Every other state is a sketch
// with a decision for each of its choices, replayed and post-processed by TVM and checked by
// FindRepeatedReduction. Two states with one structural hash are the same program. Thread-safe.
class ScheduleSpace : public search::Space {
 public:
  using Options = ScheduleSpaceOptions;
  // Draws of Sketch(index, sample): samples are 1..kSamples.
  static constexpr int64_t kSamples = 256;

  static Result<std::unique_ptr<ScheduleSpace>> Make(const tvm_api::Module& module,
                                                     const tvm_api::Target& target,
                                                     const Options& options = {});

  search::StatePtr Root() override { return root_; }
  std::vector<search::Domain> Domains(const search::State& state) override;
  Result<search::StatePtr> Apply(const search::StatePtr& state,
                                 const search::Transformation& transformation) override;
  // Only the last state of a sequence is made; a sequence may pass through programs that are not
  // legal.
  std::vector<Result<search::StatePtr>> ApplyAll(std::span<const search::Step> steps) override;
  std::string Key(const search::State& state) override;
  Result<search::StatePtr> RandomState(Random& random) override;
  std::vector<search::Transformation> Neighbours(const search::State& state) override;
  std::string Encode(const search::State& state) override;
  Result<search::StatePtr> Decode(const std::string& text) override;

  // For measuring and for databases; each replays the state's trace (a few milliseconds).
  Result<tvm_api::Module> ModuleOf(const search::State& state) const;
  Result<tvm_api::Trace> TraceOf(const search::State& state) const;  // post-processing included
  // TVM's JSON of the trace, post-processing included; an empty trace for the root.
  Result<std::string> TraceJson(const search::State& state) const;

  // The state of a schedule that TVM's own search made from our sketches; an error when its trace
  // is not one of theirs, or FindRepeatedReduction refuses it.
  Result<search::StatePtr> Adopt(const tvm_api::Schedule& schedule);

  const tvm_api::DesignSpace& design_space() const { return design_; }
  // Schedules that were refused so far, by kind: "repeated reduction", the name of a postproc,
  // "replay".
  std::map<std::string, int64_t> Refusals() const;

 private:
  ScheduleSpace(tvm_api::DesignSpace design, tvm_api::FeatureExtractor extractor, Options options);

  Result<const Sketch*> SketchAt(int index);
  Result<search::StatePtr> Finish(const Sketch& sketch, const Choices& asked,
                                  const tvm_api::Schedule& schedule);
  // Replays and checks. `pinned` are the slots whose compute location must be the one asked for.
  Result<search::StatePtr> Materialise(const Choices& choices, int64_t seed,
                                       const std::vector<int>& pinned);
  // What a transformation makes of choices, without making the program.
  struct Draft;
  Status Edit(Draft& draft, const search::Transformation& transformation);
  Status EditSketch(Draft& draft, const search::Transformation& transformation);
  Status EditTile(Draft& draft, const search::Transformation& transformation);
  Status EditUnroll(Draft& draft, const search::Transformation& transformation);
  Status EditAnnotation(Draft& draft, const search::Transformation& transformation);
  Status EditLocation(Draft& draft, const search::Transformation& transformation);
  Result<search::StatePtr> Run(const search::Step& step);
  Result<tvm_api::Schedule> Replayed(const ScheduleState& state) const;
  const std::vector<tvm_api::Site>& SitesOf(const ScheduleState& state);
  // The values that an annotation may have here.
  std::vector<int64_t> AnnotationValues(std::string_view transformation) const;
  void CountRefusal(const std::string& kind);

  tvm_api::DesignSpace design_;
  tvm_api::FeatureExtractor extractor_;
  Options options_;
  search::StatePtr root_;
  std::vector<int64_t> vector_extents_;
  std::vector<int64_t> job_counts_;
  std::map<uint64_t, int> by_structure_;
  std::mutex sketches_mutex_;
  std::vector<std::unique_ptr<Result<Sketch>>> sketches_;  // made when first used
  mutable std::mutex refusals_mutex_;
  std::map<std::string, int64_t> refusals_;
};

}  // namespace tw::space
