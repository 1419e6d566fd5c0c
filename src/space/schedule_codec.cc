// States as text, and as what TVM's own search makes of our sketches.
#include <nlohmann/json.hpp>

#include "space/schedule_draft.h"
#include "space/schedule_space.h"

namespace tw::space {

using search::StatePtr;
using tvm_api::Sampling;

std::string ScheduleSpace::Encode(const search::State& any) {
  const Choices& choices = static_cast<const ScheduleState&>(any).choices();
  nlohmann::ordered_json json;
  if (choices.sketch < 0) {
    json["sketch"] = nullptr;
  } else {
    json["sketch"] = choices.sketch;
    json["decisions"] = choices.decisions;
    json["annotations"] = choices.annotations;
  }
  return json.dump();
}

Result<StatePtr> ScheduleSpace::Decode(const std::string& text) {
  const auto json = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object() || !json.contains("sketch")) {
    return Fail(Code::kUsage, "not a schedule state: {}", text.substr(0, 80));
  }
  if (json["sketch"].is_null()) return Root();
  Choices choices;
  try {
    choices.sketch = json.at("sketch").get<int>();
    choices.decisions = json.at("decisions").get<std::vector<std::vector<int64_t>>>();
    choices.annotations = json.at("annotations").get<std::vector<int64_t>>();
  } catch (const nlohmann::json::exception& e) {
    return Fail(Code::kUsage, "not a schedule state: {}", e.what());
  }
  TW_TRY(const Sketch* sketch, SketchAt(choices.sketch));
  const auto& slots = sketch->slots();
  if (choices.decisions.size() != slots.size() ||
      choices.annotations.size() != sketch->annotations().size()) {
    return Fail(Code::kUsage, "the state is of another program: sketch {} has {} decisions, not {}",
                choices.sketch, slots.size(), choices.decisions.size());
  }
  for (std::size_t i = 0; i < slots.size(); ++i) {
    const Sampling& sampling = slots[i].sampling;
    const auto& decision = choices.decisions[i];
    const std::size_t parts = sampling.kind == Sampling::Kind::kPerfectTile
                                  ? static_cast<std::size_t>(sampling.parts)
                                  : 1;
    bool fits = decision.size() == parts;
    if (fits && sampling.kind == Sampling::Kind::kCategorical) {
      fits = decision[0] >= 0 && decision[0] < static_cast<int64_t>(sampling.candidates.size());
    }
    if (fits && sampling.kind == Sampling::Kind::kPerfectTile) {
      for (int64_t factor : decision) fits &= factor >= 1;
    }
    if (!fits)
      return Fail(Code::kUsage, "the state is of another program: decision {} is wrong", i);
  }
  TW_TRY(StatePtr state, Materialise(choices, 1, {}));
  if (static_cast<const ScheduleState&>(*state).choices() != choices) {
    return Fail(Code::kUsage, "the state is of another program: TVM changed its decisions");
  }
  return state;
}

Result<StatePtr> ScheduleSpace::Adopt(const tvm_api::Schedule& schedule) {
  const tvm_api::Trace trace = schedule.GetTrace().WithoutPostproc();
  const auto it = by_structure_.find(trace.Structure());
  if (it == by_structure_.end()) {
    return Fail(Code::kUsage, "the schedule's trace is not one of the sketches'");
  }
  TW_TRY(const Sketch* sketch, SketchAt(it->second));
  Choices asked = sketch->Open(it->second);
  const auto annotations = trace.Annotations();
  for (std::size_t i = 0; i < annotations.size(); ++i) {
    asked.annotations[i] = annotations[i].value;
  }
  return Finish(*sketch, asked, schedule);
}

}  // namespace tw::space
