#include "space/schedule_space.h"

#include <algorithm>

#include "space/schedule_draft.h"
#include "space/transformations.h"
#include "space/workers.h"
#include "tvm/reduction_check.h"

namespace tw::space {

using search::StatePtr;
using search::Transformation;
using tvm_api::Schedule;

namespace {

const ScheduleState& AsState(const search::State& state) {
  return static_cast<const ScheduleState&>(state);
}

// "refused by RewriteReductionBlock: ..." -> "RewriteReductionBlock"; else "replay".
std::string RefusalKind(const std::string& message) {
  constexpr std::string_view kPrefix = "refused by ";
  if (message.find(kPrefix) != 0) return "replay";
  const auto end = message.find(':');
  return message.substr(kPrefix.size(), end == std::string::npos ? end : end - kPrefix.size());
}

}  // namespace

Result<std::unique_ptr<ScheduleSpace>> ScheduleSpace::Make(const tvm_api::Module& module,
                                                           const tvm_api::Target& target,
                                                           const Options& options) {
  TW_TRY(auto design, tvm_api::DesignSpace::Generate(module, target));
  TW_TRY(auto extractor, tvm_api::FeatureExtractor::Make(module, target));
  std::unique_ptr<ScheduleSpace> space(
      new ScheduleSpace(std::move(design), std::move(extractor), options));
  std::optional<tvm_api::Features> features;
  if (options.features) {
    TW_TRY(const Schedule plain, Schedule::ReplayJson(module, "[[],[]]"));
    if (auto extracted = space->extractor_.Extract(plain); extracted.ok()) {
      features = std::move(extracted).value();
    }
  }
  space->root_ =
      std::make_shared<ScheduleState>(Choices{}, module.StructuralHash(), std::move(features));
  return space;
}

ScheduleSpace::ScheduleSpace(tvm_api::DesignSpace design, tvm_api::FeatureExtractor extractor,
                             Options options)
    : design_(std::move(design)), extractor_(std::move(extractor)), options_(options) {
  sketches_.resize(design_.Sketches().size());
  for (std::size_t i = 0; i < sketches_.size(); ++i) {
    by_structure_.emplace(design_.Sketches()[i].Structure(), static_cast<int>(i));
  }
  // Vectors of one to eight registers of 32-bit lanes, and none; more than 64 lanes TVM never
  // makes.
  constexpr int kLaneBits = 32, kMostLanes = 64;
  vector_extents_ = {1};
  for (int lanes = std::max(2, design_.VectorBits() / kLaneBits); lanes <= kMostLanes; lanes *= 2) {
    vector_extents_.push_back(lanes);
  }
  // As MutateParallel: up to sixteen jobs a core.
  job_counts_ = {1};
  const int cores = std::max(1, design_.GetTarget().Cores());
  for (int jobs = 1; jobs <= 16; jobs *= 2) {
    if (jobs * cores > 1) job_counts_.push_back(int64_t{jobs} * cores);
  }
}

Result<const Sketch*> ScheduleSpace::SketchAt(int index) {
  if (index < 0 || index >= static_cast<int>(sketches_.size())) {
    return Fail(Code::kUsage, "there is no sketch {}: they are 0 to {}", index,
                static_cast<int>(sketches_.size()) - 1);
  }
  std::lock_guard lock(sketches_mutex_);
  auto& sketch = sketches_[index];
  if (!sketch) {
    sketch = std::make_unique<Result<Sketch>>(
        Sketch::Make(design_.GetModule(), design_.Sketches()[index]));
  }
  if (!sketch->ok()) return sketch->error();
  return &sketch->value();
}

Result<StatePtr> ScheduleSpace::Finish(const Sketch& sketch, const Choices& asked,
                                       const Schedule& schedule) {
  const tvm_api::Module module = schedule.GetModule();
  if (auto wrong = tvm_api::FindRepeatedReduction(module)) {
    CountRefusal("repeated reduction");
    return Error{Code::kUsage, *wrong};
  }
  Choices taken = sketch.Taken(asked.sketch, asked, schedule.GetTrace());
  std::optional<tvm_api::Features> features;
  if (options_.features) {
    if (auto extracted = extractor_.Extract(schedule); extracted.ok()) {
      features = std::move(extracted).value();
    }
  }
  return StatePtr(std::make_shared<ScheduleState>(std::move(taken), module.StructuralHash(),
                                                  std::move(features)));
}

Result<StatePtr> ScheduleSpace::Materialise(const Choices& choices, int64_t seed,
                                            const std::vector<int>& pinned) {
  TW_TRY(const Sketch* sketch, SketchAt(choices.sketch));
  auto schedule = design_.Apply(sketch->TraceOf(choices), seed);
  if (!schedule.ok()) {
    CountRefusal(RefusalKind(schedule.error().message));
    return schedule.error();
  }
  TW_TRY(StatePtr state, Finish(*sketch, choices, *schedule));
  for (int slot : pinned) {
    if (AsState(*state).choices().decisions[slot] != choices.decisions[slot]) {
      return Fail(Code::kUsage, "block {} cannot be computed there", sketch->slots()[slot].block);
    }
  }
  return state;
}

Result<StatePtr> ScheduleSpace::Run(const search::Step& step) {
  const ScheduleState& from = AsState(*step.from);
  Draft draft{from.choices(), 1, {}, &from};
  for (std::size_t i = 0; i < step.sequence.size(); ++i) {
    TW_CHECK(Edit(draft, step.sequence[i]));
    draft.exact = nullptr;
    // Later steps see the decisions that Sketch draws, as if they were applied one by one.
    if (step.sequence[i].name != kSketch || i + 1 == step.sequence.size()) continue;
    TW_TRY(const Sketch* sketch, SketchAt(draft.choices.sketch));
    TW_TRY(const Schedule drawn,
           Schedule::Replay(design_.GetModule(), sketch->TraceOf(draft.choices), draft.seed));
    draft.choices = sketch->Taken(draft.choices.sketch, draft.choices, drawn.GetTrace());
  }
  if (draft.exact != nullptr) return step.from;
  return Materialise(draft.choices, draft.seed, draft.pinned);
}

Result<StatePtr> ScheduleSpace::Apply(const StatePtr& state, const Transformation& transformation) {
  return Run(search::Step{state, {transformation}});
}

std::vector<Result<StatePtr>> ScheduleSpace::ApplyAll(std::span<const search::Step> steps) {
  std::vector<Result<StatePtr>> results(steps.size(), Error{});
  ForEach(steps.size(), options_.threads, [&](std::size_t i) { results[i] = Run(steps[i]); });
  return results;
}

std::string ScheduleSpace::Key(const search::State& state) {
  return fmt::format("{:016x}", AsState(state).hash());
}

Result<StatePtr> ScheduleSpace::RandomState(Random& random) {
  constexpr int kAttempts = 64;
  if (sketches_.empty()) return Fail(Code::kUsage, "the program has no sketches");
  std::string reason;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    const int index = static_cast<int>(random.Below(sketches_.size()));
    const int64_t seed = SeedOf(random.Next());
    TW_TRY(const Sketch* sketch, SketchAt(index));
    auto state = Materialise(sketch->Open(index), seed, {});
    if (state.ok()) return state;
    reason = state.error().message;
  }
  return Fail(Code::kUsage, "{} random schedules were all refused, the last one because: {}",
              kAttempts, reason);
}

Result<Schedule> ScheduleSpace::Replayed(const ScheduleState& state) const {
  if (state.is_root()) return Schedule::ReplayJson(design_.GetModule(), "[[],[]]");
  // The sketch was made when the state was.
  const Sketch& sketch = sketches_[state.choices().sketch]->value();
  return design_.Apply(sketch.TraceOf(state.choices()), 1);
}

Result<tvm_api::Module> ScheduleSpace::ModuleOf(const search::State& state) const {
  if (AsState(state).is_root()) return design_.GetModule();
  TW_TRY(const Schedule schedule, Replayed(AsState(state)));
  return schedule.GetModule();
}

Result<tvm_api::Trace> ScheduleSpace::TraceOf(const search::State& state) const {
  TW_TRY(const Schedule schedule, Replayed(AsState(state)));
  return schedule.GetTrace();
}

Result<std::string> ScheduleSpace::TraceJson(const search::State& state) const {
  TW_TRY(const tvm_api::Trace trace, TraceOf(state));
  return trace.ToJson();
}

std::map<std::string, int64_t> ScheduleSpace::Refusals() const {
  std::lock_guard lock(refusals_mutex_);
  return refusals_;
}

void ScheduleSpace::CountRefusal(const std::string& kind) {
  std::lock_guard lock(refusals_mutex_);
  ++refusals_[kind];
}

}  // namespace tw::space
