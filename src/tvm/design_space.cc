#include "tvm/design_space_impl.h"
#include "tvm/reflect.h"
#include "tvm/schedule_rules.h"

namespace tw::tvm_api {
namespace {

using List = ffi::Array<Any>;

struct Defaults {
  List rules;
  List postprocs;
  Any mutators;
};

// For llvm the plain CPU rules. TVM's own choice for CPUs with AVX-512 or dot products adds rules
// that need tensor intrinsics, which only TVM's Python registers.
Defaults DefaultsFor(const Target& target, const Module& module) {
  if (target.Kind() == "llvm") {
    return {Call("s_tir.meta_schedule.ScheduleRuleDefaultLLVM").cast<List>(),
            Call("s_tir.meta_schedule.PostprocDefaultLLVM").cast<List>(),
            Call("s_tir.meta_schedule.MutatorDefaultLLVM")};
  }
  const Any generator =
      Call("s_tir.meta_schedule.SpaceGeneratorPostOrderApply", nullptr, nullptr, nullptr, nullptr);
  const Any context = Call("s_tir.meta_schedule.TuneContext", Get(module), Get(target), generator,
                           nullptr, ffi::String("main"), int64_t{1}, int64_t{1}, SilentLogger());
  Call("s_tir.meta_schedule.TuneContextInitialize", context);
  static const Field kRules("s_tir.meta_schedule.SpaceGenerator", "sch_rules");
  static const Field kPostprocs("s_tir.meta_schedule.SpaceGenerator", "postprocs");
  static const Field kMutators("s_tir.meta_schedule.SpaceGenerator", "mutator_probs");
  return {kRules(generator).cast<List>(), kPostprocs(generator).cast<List>(), kMutators(generator)};
}

// target.llvm_get_vector_width says 512 for every x86, so the CPU's features decide.
int VectorBitsOf(const Target& target) {
  if (target.Kind() != "llvm") return 128;
  const auto has = [&](const char* feature) {
    return Call("target.target_has_feature", ffi::String(feature), Get(target)).cast<bool>();
  };
  return has("avx512f") ? 512 : has("avx") ? 256 : 128;
}

Result<Any> Postprocessed(const DesignSpace::Impl& impl, const Any& schedule) {
  Call("s_tir.schedule.ScheduleEnterPostproc", schedule);
  for (std::size_t i = 0; i < impl.postprocs.size(); ++i) {
    bool accepted = false;
    try {
      accepted =
          Call("s_tir.meta_schedule.PostprocApply", impl.postprocs[i], schedule).cast<bool>();
    } catch (const ffi::Error& e) {
      const std::string reason = e.message();
      return Fail(Code::kUsage, "refused by {}: {}", impl.postproc_names[i],
                  reason.substr(0, reason.find('\n')));
    }
    if (!accepted) return Fail(Code::kUsage, "refused by {}", impl.postproc_names[i]);
  }
  return schedule;
}

}  // namespace

ffi::Function SilentLogger() {
  return ffi::Function::FromTyped(
      [](int /*level*/, const ffi::String& /*file*/, int /*line*/, const ffi::String& /*text*/) {});
}

Result<DesignSpace> DesignSpace::Generate(const Module& module, const Target& target) {
  return Catch(Code::kUsage, "sketch generation", [&]() -> Result<DesignSpace> {
    const Defaults defaults = DefaultsFor(target, module);
    auto notes = std::make_shared<RuleNotes>();
    auto impl = std::make_shared<Impl>();
    impl->module = module;
    impl->target = target;
    impl->generator =
        Call("s_tir.meta_schedule.SpaceGeneratorPostOrderApply", nullptr,
             GuardRules(defaults.rules, notes), defaults.postprocs, defaults.mutators);
    constexpr int64_t kSeed = 1;  // of the sketches' first decisions, which nobody keeps
    impl->context =
        Call("s_tir.meta_schedule.TuneContext", Get(module), Get(target), impl->generator, nullptr,
             ffi::String("main"), int64_t{1}, kSeed, SilentLogger());
    Call("s_tir.meta_schedule.TuneContextInitialize", impl->context);
    for (const Any& schedule :
         Call("s_tir.meta_schedule.SpaceGeneratorGenerateDesignSpace", impl->generator, Get(module))
             .cast<List>()) {
      impl->schedules.push_back(schedule);
      const Any trace = Call("s_tir.schedule.ScheduleGetTrace", schedule);
      impl->sketches.push_back(
          Wrap<Trace>(Call("s_tir.schedule.TraceSimplified", trace, /*remove_postproc=*/true)));
    }
    for (const Any& postproc : defaults.postprocs) {
      impl->postprocs.push_back(postproc);
      const std::string key = postproc.GetTypeKey();
      impl->postproc_names.push_back(key.substr(key.rfind('.') + 1));
    }
    impl->notes = notes->Take();
    impl->vector_bits = VectorBitsOf(target);
    return DesignSpace(std::move(impl));
  });
}

const Module& DesignSpace::GetModule() const { return impl_->module; }

const Target& DesignSpace::GetTarget() const { return impl_->target; }

int DesignSpace::VectorBits() const { return impl_->vector_bits; }

const std::vector<Trace>& DesignSpace::Sketches() const { return impl_->sketches; }

const std::vector<std::string>& DesignSpace::Notes() const { return impl_->notes; }

Result<Schedule> DesignSpace::Postprocess(const Schedule& schedule) const {
  return Catch(Code::kUsage, "post-processing", [&]() -> Result<Schedule> {
    TW_TRY(const Any done,
           Postprocessed(*impl_, Call("s_tir.schedule.ScheduleCopy", Get(schedule))));
    return Wrap<Schedule>(done);
  });
}

Result<Schedule> DesignSpace::Apply(const Trace& trace, int64_t seed) const {
  TW_TRY(const Schedule schedule, Schedule::Replay(impl_->module, trace, seed));
  return Catch(Code::kUsage, "post-processing", [&]() -> Result<Schedule> {
    TW_TRY(const Any done, Postprocessed(*impl_, Get(schedule)));
    return Wrap<Schedule>(done);
  });
}

}  // namespace tw::tvm_api
