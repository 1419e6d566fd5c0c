// Runs compiled statements over loops.
#pragma once

#include <memory>
#include <optional>
#include <variant>
#include <vector>

#include "leir/bytecode.h"

namespace tw::leir {

// The values that a loop takes: all of 0..extent-1, or those listed.
struct LoopRange {
  const Loop* loop = nullptr;
  int64_t extent = 1;
  std::optional<std::vector<int64_t>> values;
  int64_t size() const { return values ? static_cast<int64_t>(values->size()) : extent; }
  int64_t at(int64_t i) const { return values ? (*values)[i] : i; }
};

// A statement, and which elements of its target to compute: those with marks >= generation; no
// marks: all.
struct PlannedStatement {
  CompiledStatement* compiled = nullptr;
  const int32_t* marks = nullptr;
  int32_t generation = 0;
};

// A nest ready to run. Ranges belong to the nest's own loops, the first of which has slot
// `first_slot`.
struct PlannedNest {
  int first_slot = 0;
  std::vector<LoopRange> ranges;
  std::vector<std::variant<PlannedStatement, std::unique_ptr<PlannedNest>>> items;
};

class Machine {
 public:
  // Runs the nest. False when a gathered index was outside its tensor.
  bool Run(PlannedNest* nest);

  // A run of iterations of one statement: the loops whose slots are in `free` go over all their
  // values, outermost first; the loop `slot` goes over `count` values from start[slot], innermost,
  // so that memory is read along it; the others stand at `start`.
  struct Stretch {
    std::vector<int64_t> start;  // by slot
    int slot = 0;
    int64_t count = 1;
  };
  bool RunStatement(CompiledStatement* statement, const Stretch& stretch,
                    const std::vector<int>& free);

 private:
  bool RunLoop(PlannedNest* nest, std::size_t depth);
  bool RunBody(PlannedNest* nest);
  bool RunFree(CompiledStatement* statement, const Stretch& stretch, const std::vector<int>& free,
               std::size_t depth);
  // `count` values of the loop `slot` from `first` on; the other loops stand.
  bool RunInner(CompiledStatement* statement, int slot, int64_t first, int64_t count);
  bool RunOnce(const PlannedStatement& statement);

  std::vector<int64_t> loops_;  // current values by slot
};

}  // namespace tw::leir
