// For files under src/tvm only: TVM's schedule rules, made safe against programs they throw on.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "tvm/ffi.h"

namespace tw::tvm_api {

// What the guarded rules had to do, in words; filled while a design space is generated.
class RuleNotes {
 public:
  void Add(const std::string& note);  // once per text
  std::vector<std::string> Take() const;

 private:
  mutable std::mutex mutex_;
  std::vector<std::string> notes_;
};

// `rules` (an Array of ScheduleRule), each wrapped in a PyScheduleRule that applies it to a copy of
// the schedule. When the rule throws on a block, MultiLevelTiling is tried again without the write
// cache (it throws on a consumer with several tiled producers, as in a gated MLP); every other
// rule, and this one if it throws again, leaves the block as it is. ApplyCustomRule is not wrapped,
// since TVM tells it by its type.
ffi::Array<Any> GuardRules(const ffi::Array<Any>& rules, const std::shared_ptr<RuleNotes>& notes);

}  // namespace tw::tvm_api
