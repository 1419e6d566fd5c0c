#include "tvm/schedule.h"

#include <algorithm>
#include <unordered_map>

#include "tvm/reflect.h"

namespace tw::tvm_api {
namespace {

using List = ffi::Array<Any>;

// Of a ScheduleError: TVM's own sentence, without the program it quotes.
constexpr int64_t kFastErrors = 1;

Any NewSchedule(const Module& module, int64_t seed) {
  return Call("s_tir.schedule.TracedSchedule", Get(module), seed, /*debug_mask=*/int64_t{0},
              kFastErrors, /*enable_check=*/true);
}

Any SiteObject(const Any& schedule, const Any& variable) {
  return Call("s_tir.schedule.ScheduleGet", schedule, variable);
}

std::string LoopName(const Any& schedule, const Any& loop) {
  static const Field kVar("tirx.For", "loop_var");
  static const Field kName("ir.Var", "name");
  return kName(kVar(SiteObject(schedule, loop))).cast<ffi::String>();
}

int64_t LoopExtent(const Any& schedule, const Any& loop) {
  static const Field kExtent("tirx.For", "extent");
  const Any extent = kExtent(SiteObject(schedule, loop));
  return extent.GetTypeKey() == "ir.IntImm" ? IntegerOf(extent) : 0;
}

std::string BlockName(const Any& schedule, const Any& block) {
  static const Field kName("s_tir.SBlock", "name_hint");
  return kName(SiteObject(schedule, block)).cast<ffi::String>();
}

// Asks TVM for the compute locations of `block` from the innermost outwards: given a decision that
// is not possible, SampleComputeLocation takes the next possible one outside it, and records which
// that was.
std::vector<Site::Location> Locations(const Any& schedule, const Any& block) {
  constexpr int64_t kRoot = -1, kInline = -2;
  static const Field kInsts("s_tir.Trace", "insts");
  const auto take = [&](int64_t wanted) {
    const Any loop = Call("s_tir.schedule.ScheduleSampleComputeLocation", schedule, block, wanted);
    const Any trace = Call("s_tir.schedule.ScheduleGetTrace", schedule);
    const Any last = kInsts(trace).cast<List>().back();
    return std::pair(IntegerOf(Call("s_tir.schedule.TraceGetDecision", trace, last)), loop);
  };
  std::vector<Site::Location> locations;
  for (int64_t wanted = INT32_MAX;;) {
    const auto [index, loop] = take(wanted);
    if (index <= kRoot) break;
    locations.push_back({index, LoopName(schedule, loop)});
    wanted = index - 1;
  }
  locations.push_back({kRoot, "root"});
  if (take(kInline).first == kInline) locations.push_back({kInline, "inline"});
  std::reverse(locations.begin(), locations.end());
  return locations;
}

}  // namespace

Result<Schedule> Schedule::Replay(const Module& module, const Trace& trace, int64_t seed) {
  return Catch(Code::kUsage, "replay", [&] {
    const Any schedule = NewSchedule(module, seed);
    Call("s_tir.schedule.TraceApplyToSchedule", Get(trace), schedule, /*remove_postproc=*/true,
         nullptr);
    return Wrap<Schedule>(schedule);
  });
}

Result<Schedule> Schedule::ReplayJson(const Module& module, const std::string& json) {
  return Catch(Code::kUsage, "replay", [&] {
    const Any schedule = NewSchedule(module, 1);
    Call("s_tir.schedule.TraceApplyJSONToSchedule", Call("ffi.json.Parse", ffi::String(json)),
         schedule);
    return Wrap<Schedule>(schedule);
  });
}

Module Schedule::GetModule() const {
  return Wrap<Module>(Call("s_tir.schedule.ScheduleGetMod", Get(*this)));
}

Trace Schedule::GetTrace() const {
  return Wrap<Trace>(Call("s_tir.schedule.ScheduleGetTrace", Get(*this)));
}

Result<std::vector<Site>> FindSites(const Module& module, const Trace& trace) {
  return Catch(Code::kUsage, "replay", [&] {
    static const Field kKind("s_tir.Instruction", "kind");
    static const Field kName("s_tir.InstructionKind", "name");
    static const Field kInsts("s_tir.Trace", "insts");
    static const Field kOutputs("s_tir.Instruction", "outputs");
    static const Field kInputs("s_tir.Instruction", "inputs");

    // The block that a loop variable of the trace was taken from, through fusions and splits.
    std::unordered_map<const void*, Any> owner;
    const auto identity = [](const Any& object) { return object.cast<ffi::ObjectRef>().get(); };
    const List instructions = kInsts(Get(trace)).cast<List>();
    std::unordered_map<const void*, int> position;
    for (std::size_t i = 0; i < instructions.size(); ++i) {
      const Any instruction = instructions[i];
      position[identity(instruction)] = static_cast<int>(i);
      const List inputs = kInputs(instruction).cast<List>();
      if (inputs.empty() || !inputs[0].as<ffi::ObjectRef>()) continue;
      const bool from_block = inputs[0].GetTypeKey() == "s_tir.SBlockRV";
      auto inherited = owner.find(identity(inputs[0]));
      for (const Any& output : kOutputs(instruction).cast<List>()) {
        if (output.GetTypeKey() != "s_tir.LoopRV") continue;
        if (from_block) {
          owner[identity(output)] = inputs[0];
        } else if (inherited != owner.end()) {
          owner[identity(output)] = Any(inherited->second);
        }
      }
    }

    std::vector<Site> sites;
    std::unordered_map<const void*, std::string> names;  // block variable of the trace -> name
    const Any schedule = NewSchedule(module, 1);
    const auto visit = [&](const Any& instruction, const List& inputs, const List&,
                           const Any& decision) -> Any {
      const std::string name = kName(kKind(instruction)).cast<ffi::String>();
      const List original = kInputs(instruction).cast<List>();
      if (name == "GetLoops") {
        names[identity(original[0])] = BlockName(schedule, inputs[0]);
      } else if (name == "SamplePerfectTile") {
        Site site;
        site.instruction = position.at(identity(instruction));
        if (auto it = owner.find(identity(original[0])); it != owner.end()) {
          site.block = names[identity(it->second)];
        }
        site.loop = LoopName(schedule, inputs[0]);
        site.extent = LoopExtent(schedule, inputs[0]);
        sites.push_back(std::move(site));
      } else if (name == "SampleComputeLocation") {
        Site site;
        site.instruction = position.at(identity(instruction));
        site.block = BlockName(schedule, inputs[0]);
        site.locations = Locations(schedule, inputs[0]);
        sites.push_back(std::move(site));
      }
      return decision;
    };
    Call("s_tir.schedule.TraceApplyToSchedule", Get(trace), schedule, /*remove_postproc=*/true,
         ffi::Function::FromTyped(visit));
    return sites;
  });
}

}  // namespace tw::tvm_api
