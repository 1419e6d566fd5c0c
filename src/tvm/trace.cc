#include <algorithm>
#include <unordered_map>

#include "base/hash.h"
#include "tvm/reflect.h"
#include "tvm/schedule.h"

namespace tw::tvm_api {
namespace {

using List = ffi::Array<Any>;

constexpr const char* kParallel = "meta_schedule.parallel";
constexpr const char* kVectorize = "meta_schedule.vectorize";

List Instructions(const Any& trace) {
  static const Field kInsts("s_tir.Trace", "insts");
  return kInsts(trace).cast<List>();
}

ffi::Map<Any, Any> Decisions(const Any& trace) {
  static const Field kDecisions("s_tir.Trace", "decisions");
  return kDecisions(trace).cast<ffi::Map<Any, Any>>();
}

Any Kind(const Any& instruction) {
  static const Field kKind("s_tir.Instruction", "kind");
  return kKind(instruction);
}

std::string KindName(const Any& instruction) {
  static const Field kName("s_tir.InstructionKind", "name");
  return kName(Kind(instruction)).cast<ffi::String>();
}

List Inputs(const Any& instruction) {
  static const Field kInputs("s_tir.Instruction", "inputs");
  return kInputs(instruction).cast<List>();
}

List Attributes(const Any& instruction) {
  static const Field kAttrs("s_tir.Instruction", "attrs");
  return kAttrs(instruction).cast<List>();
}

List Outputs(const Any& instruction) {
  static const Field kOutputs("s_tir.Instruction", "outputs");
  return kOutputs(instruction).cast<List>();
}

const void* Identity(const Any& object) { return object.cast<ffi::ObjectRef>().get(); }

std::optional<Sampling::Kind> SamplingKind(const std::string& name) {
  if (name == "SamplePerfectTile") return Sampling::Kind::kPerfectTile;
  if (name == "SampleCategorical") return Sampling::Kind::kCategorical;
  if (name == "SampleComputeLocation") return Sampling::Kind::kComputeLocation;
  return std::nullopt;
}

// The key of an Annotate instruction, or "".
std::string AnnotationKey(const Any& instruction) {
  if (KindName(instruction) != "Annotate") return "";
  return Attributes(instruction)[0].cast<ffi::String>();
}

bool IsNumberKey(const std::string& key) { return key == kParallel || key == kVectorize; }

bool IsObject(const Any& value) { return value.as<ffi::ObjectRef>().has_value(); }

Any ToAny(Sampling::Kind kind, const std::vector<int64_t>& decision) {
  if (kind != Sampling::Kind::kPerfectTile) return decision.at(0);
  return ffi::Array<int64_t>(decision.begin(), decision.end());
}

Trace Make(const List& instructions, const ffi::Map<Any, Any>& decisions) {
  return Wrap<Trace>(Call("s_tir.schedule.Trace", instructions, decisions));
}

}  // namespace

std::vector<Sampling> Trace::Samplings() const {
  std::vector<Sampling> result;
  const List instructions = Instructions(Get(*this));
  const ffi::Map<Any, Any> decisions = Decisions(Get(*this));
  std::unordered_map<const void*, std::size_t>
      drawn;  // output of a categorical -> index in `result`
  for (std::size_t i = 0; i < instructions.size(); ++i) {
    const Any instruction = instructions[i];
    const std::string name = KindName(instruction);
    if (name == "EnterPostproc") break;
    if (name == "Annotate") {
      const List inputs = Inputs(instruction);
      if (!IsObject(inputs[1])) continue;
      if (auto it = drawn.find(Identity(inputs[1])); it != drawn.end()) {
        result[it->second].annotates = Attributes(instruction)[0].cast<ffi::String>();
      }
      continue;
    }
    const auto kind = SamplingKind(name);
    if (!kind) continue;
    Sampling sampling;
    sampling.kind = *kind;
    sampling.instruction = static_cast<int>(i);
    if (auto it = decisions.find(instruction); it != decisions.end()) {
      const Any decision = (*it).second;
      if (*kind == Sampling::Kind::kPerfectTile) {
        sampling.decision = IntegersOf(decision);
      } else {
        sampling.decision = {IntegerOf(decision)};
      }
    }
    if (*kind == Sampling::Kind::kPerfectTile) {
      const List attributes = Attributes(instruction);
      sampling.parts = static_cast<int>(IntegerOf(attributes[0]));
      sampling.max_innermost = IntegerOf(attributes[1]);
    } else if (*kind == Sampling::Kind::kCategorical) {
      sampling.candidates = IntegersOf(Attributes(instruction)[0]);
      drawn[Identity(Outputs(instruction)[0])] = result.size();
    }
    result.push_back(std::move(sampling));
  }
  return result;
}

std::vector<Annotation> Trace::Annotations() const {
  std::vector<Annotation> result;
  const List instructions = Instructions(Get(*this));
  for (std::size_t i = 0; i < instructions.size(); ++i) {
    const std::string key = AnnotationKey(instructions[i]);
    if (!IsNumberKey(key)) continue;
    result.push_back({static_cast<int>(i), key, IntegerOf(Inputs(instructions[i])[1])});
  }
  return result;
}

Trace Trace::WithDecision(int instruction, const std::vector<int64_t>& decision) const {
  const List instructions = Instructions(Get(*this));
  const Any at = instructions[instruction];
  ffi::Map<Any, Any> decisions = Decisions(Get(*this));
  decisions.Set(at, ToAny(*SamplingKind(KindName(at)), decision));
  return Make(instructions, decisions);
}

Trace Trace::With(std::span<const Decision> decisions,
                  std::span<const std::pair<int, int64_t>> annotations) const {
  List instructions = Instructions(Get(*this));
  ffi::Map<Any, Any> taken;
  for (const auto& [index, decision] : decisions) {
    const Any at = instructions[index];
    taken.Set(at, ToAny(*SamplingKind(KindName(at)), decision));
  }
  for (const auto& [index, value] : annotations) {
    const Any at = instructions[index];
    const List inputs = Inputs(at);
    if (IntegerOf(inputs[1]) == value) continue;
    instructions.Set(index, Call("s_tir.schedule.Instruction", Kind(at), List{inputs[0], value},
                                 Attributes(at), Outputs(at)));
  }
  return Make(instructions, taken);
}

Trace Trace::WithoutDecisions() const { return Make(Instructions(Get(*this)), {}); }

Trace Trace::WithoutPostproc() const {
  const List instructions = Instructions(Get(*this));
  List kept;
  for (const Any& instruction : instructions) {
    if (KindName(instruction) == "EnterPostproc") break;
    kept.push_back(instruction);
  }
  return Make(kept, Decisions(Get(*this)));
}

std::vector<std::string> Trace::AsPython() const {
  std::vector<std::string> lines;
  for (const ffi::String& line :
       Call("s_tir.schedule.TraceAsPython", Get(*this), false).cast<ffi::Array<ffi::String>>()) {
    lines.emplace_back(line);
  }
  return lines;
}

std::string Trace::ToJson() const {
  return JsonOf(Call("s_tir.schedule.TraceAsJSON", Get(*this), false)).dump();
}

uint64_t Trace::Structure() const {
  nlohmann::ordered_json instructions =
      JsonOf(Call("s_tir.schedule.TraceAsJSON", Get(*this), true))[0];
  for (auto& instruction : instructions) {
    if (instruction[0] == "Annotate" && IsNumberKey(instruction[2][0].get<std::string>())) {
      instruction[1][1] = nullptr;
    }
  }
  return Hash64(instructions.dump());
}

}  // namespace tw::tvm_api
