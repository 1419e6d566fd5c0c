#include "tvm/evolutionary.h"

#include <algorithm>
#include <exception>

#include "tvm/design_space_impl.h"
#include "tvm/reflect.h"

namespace tw::tvm_api {
namespace {

using List = ffi::Array<Any>;

Schedule ScheduleOf(const Any& candidate) {
  static const Field kSchedule("s_tir.meta_schedule.MeasureCandidate", "sch");
  return Wrap<Schedule>(kSchedule(candidate));
}

// A CostModel for TVM that asks `predict`. It is neither trained nor saved through TVM.
Any CostModelOf(const Predictor& predict) {
  const auto unused_path = [](const ffi::String&) {};
  const auto unused_update = [](const Any&, const Any&, const Any&) {};
  const auto score = [predict](const Any&, const List& candidates, void* out) {
    std::vector<Schedule> schedules;
    for (const Any& candidate : candidates) schedules.push_back(ScheduleOf(candidate));
    const std::vector<double> scores = predict(schedules);
    std::copy_n(scores.begin(), std::min<std::size_t>(scores.size(), candidates.size()),
                static_cast<double*>(out));
  };
  return Call("s_tir.meta_schedule.CostModelPyCostModel", ffi::Function::FromTyped(unused_path),
              ffi::Function::FromTyped(unused_path), ffi::Function::FromTyped(unused_update),
              ffi::Function::FromTyped(score));
}

}  // namespace

struct Evolution::Impl {
  std::vector<Any> design_spaces;
  Module module;
  Target target;
  Any context;
  Any strategy;
  Any database;
  Any workload;
  Any cost_model;
  int round_size = 0;  // 0: no tuning has begun

  void Begin(int count) {
    constexpr int64_t kNoLimit = int64_t{1} << 30;
    if (round_size != 0) Call("s_tir.meta_schedule.SearchStrategyPostTuning", strategy);
    Call("s_tir.meta_schedule.SearchStrategyPreTuning", strategy, kNoLimit, int64_t{count},
         List(design_spaces.begin(), design_spaces.end()), database, cost_model);
    round_size = count;
  }
};

Result<Evolution> Evolution::Make(const DesignSpace& space, const EvolutionOptions& options,
                                  Predictor predict) {
  return Catch(Code::kUsage, "evolutionary search", [&]() -> Result<Evolution> {
    const DesignSpace::Impl& design = space.impl();
    auto impl = std::make_shared<Impl>();
    impl->design_spaces = design.schedules;
    impl->module = design.module;
    impl->target = design.target;
    impl->strategy = Call(
        "s_tir.meta_schedule.SearchStrategyEvolutionarySearch", int64_t{options.population},
        options.measured_share, int64_t{std::min(options.min_unmeasured, options.population)},
        int64_t{options.max_failed_rounds}, int64_t{options.generations},
        options.mutate_probability, int64_t{options.max_failed_mutations}, options.random_share);
    // A clone of the generator, since initialising ties rules and mutators to one context.
    const Any generator = Call("s_tir.meta_schedule.SpaceGeneratorClone", design.generator);
    const auto seed = static_cast<int64_t>(1 + options.seed % 2147483645);
    impl->context = Call("s_tir.meta_schedule.TuneContext", Get(impl->module), Get(impl->target),
                         generator, impl->strategy, ffi::String("main"),
                         int64_t{std::max(options.threads, 1)}, seed, SilentLogger());
    Call("s_tir.meta_schedule.TuneContextInitialize", impl->context);
    impl->database = Call("s_tir.meta_schedule.DatabaseMemoryDatabase", ffi::String("structural"));
    impl->workload =
        Call("s_tir.meta_schedule.DatabaseCommitWorkload", impl->database, Get(impl->module));
    impl->cost_model = CostModelOf(std::move(predict));
    return Evolution(std::move(impl));
  });
}

Result<std::vector<Schedule>> Evolution::Propose(int count) {
  return Catch(Code::kInternal, "evolutionary search", [&] {
    if (impl_->round_size != count) impl_->Begin(count);
    std::vector<Schedule> schedules;
    const Any candidates =
        Call("s_tir.meta_schedule.SearchStrategyGenerateMeasureCandidates", impl_->strategy);
    if (candidates == nullptr) return schedules;
    for (const Any& candidate : candidates.cast<List>()) {
      schedules.push_back(ScheduleOf(candidate));
    }
    return schedules;
  });
}

Status Evolution::Commit(const Trace& trace, double seconds) {
  return Catch(Code::kInternal, "evolutionary search", [&]() -> Status {
    const Any run = Call("ir.FloatImm", DLDataType{kDLFloat, 64, 1}, seconds, nullptr);
    Call("s_tir.meta_schedule.DatabaseCommitTuningRecord", impl_->database,
         Call("s_tir.meta_schedule.TuningRecord", Get(trace), impl_->workload, List{run},
              Get(impl_->target), nullptr));
    return Ok();
  });
}

Status Evolution::Finish(int count) {
  return Catch(Code::kInternal, "evolutionary search", [&]() -> Status {
    if (impl_->round_size == 0) return Ok();
    // TVM's strategy only counts the results.
    List results;
    for (int i = 0; i < count; ++i) {
      results.push_back(
          Call("s_tir.meta_schedule.RunnerResult", nullptr, ffi::String("measured elsewhere")));
    }
    Call("s_tir.meta_schedule.SearchStrategyNotifyRunnerResults", impl_->strategy, List(), results);
    return Ok();
  });
}

}  // namespace tw::tvm_api
