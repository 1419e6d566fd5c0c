#include "tvm/schedule_rules.h"

#include <algorithm>

#include "tvm/reflect.h"

namespace tw::tvm_api {
namespace {

using List = ffi::Array<Any>;

std::string ShortKey(const Any& object) {
  const std::string key = object.GetTypeKey();
  return key.substr(key.rfind('.') + 1);
}

std::string FirstLine(const std::string& text) { return text.substr(0, text.find('\n')); }

std::string BlockName(const Any& schedule, const Any& block) {
  static const Field kName("s_tir.SBlock", "name_hint");
  return kName(Call("s_tir.schedule.ScheduleGet", schedule, block)).cast<ffi::String>();
}

// The same tiling without a write cache; none for rules of other kinds.
std::optional<Any> Simpler(const Any& rule) {
  if (rule.GetTypeKey() != "s_tir.meta_schedule.MultiLevelTiling") return std::nullopt;
  static const Field kStructure("s_tir.meta_schedule.MultiLevelTiling", "structure");
  static const Field kBinds("s_tir.meta_schedule.MultiLevelTiling", "tile_binds");
  static const Field kInnermost("s_tir.meta_schedule.MultiLevelTiling", "max_innermost_factor");
  return Call("s_tir.meta_schedule.ScheduleRuleMultiLevelTiling", kStructure(rule), kBinds(rule),
              kInnermost(rule), /*vector_load_lens=*/nullptr, /*reuse_read=*/nullptr,
              /*reuse_write=*/nullptr, /*filter_fn=*/nullptr);
}

Any Guard(const Any& rule, const std::shared_ptr<RuleNotes>& notes) {
  const std::string name = ShortKey(rule);
  const std::optional<Any> simpler = Simpler(rule);
  const auto initialize = [rule, simpler](const Any& context) {
    Call("s_tir.meta_schedule.ScheduleRuleInitializeWithTuneContext", rule, context);
    if (simpler)
      Call("s_tir.meta_schedule.ScheduleRuleInitializeWithTuneContext", *simpler, context);
  };
  const auto apply = [rule, simpler, notes, name](const Any& schedule, const Any& block) -> Any {
    // Rules change the schedule before they throw, so each attempt gets its own copy. Copies share
    // the block variables.
    const auto attempt = [&](const Any& with) {
      return Call("s_tir.meta_schedule.ScheduleRuleApply", with,
                  Call("s_tir.schedule.ScheduleCopy", schedule), block);
    };
    std::string reason;
    try {
      return attempt(rule);
    } catch (const ffi::Error& e) {
      reason = FirstLine(e.message());
    }
    const std::string where = BlockName(schedule, block);
    if (simpler) {
      try {
        Any applied = attempt(*simpler);
        notes->Add(name + " does not apply to block " + where +
                   " with a write cache, so it is tiled without: " + reason);
        return applied;
      } catch (const ffi::Error& e) {
        reason = FirstLine(e.message());
      }
    }
    notes->Add(name + " does not apply to block " + where + " and is left out there: " + reason);
    return List{schedule};
  };
  const auto clone = [rule, notes]() -> Any {
    return Guard(Call("s_tir.meta_schedule.ScheduleRuleClone", rule), notes);
  };
  return Call("s_tir.meta_schedule.ScheduleRulePyScheduleRule",
              ffi::Function::FromTyped(initialize), ffi::Function::FromTyped(apply),
              ffi::Function::FromTyped(clone));
}

}  // namespace

void RuleNotes::Add(const std::string& note) {
  std::lock_guard lock(mutex_);
  if (std::find(notes_.begin(), notes_.end(), note) == notes_.end()) notes_.push_back(note);
}

std::vector<std::string> RuleNotes::Take() const {
  std::lock_guard lock(mutex_);
  return notes_;
}

List GuardRules(const List& rules, const std::shared_ptr<RuleNotes>& notes) {
  List guarded;
  for (const Any& rule : rules) {
    const bool custom = ShortKey(rule) == "ApplyCustomRule";
    guarded.push_back(custom ? rule : Guard(rule, notes));
  }
  return guarded;
}

}  // namespace tw::tvm_api
