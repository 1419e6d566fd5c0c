// Which iterations write a given element.
#pragma once

#include <functional>
#include <vector>

#include "leir/bytecode.h"

namespace tw::leir {

// The target indices of a statement, solved for its loops. Affine indices are solved directly, loop
// by loop from the largest coefficient; others by trying the values of their loops.
class Inverse {
 public:
  explicit Inverse(const CompiledStatement& statement);

  // Calls `visit` with the loop values (by slot; loops that the target does not use are 0) of every
  // iteration that writes `element` (flat). Stops early when `visit` returns false.
  void ForEach(int64_t element, const std::function<bool(const std::vector<int64_t>&)>& visit);

  const std::vector<bool>& used() const { return used_; }  // loops in the target, by slot

 private:
  struct Dimension {
    const Expr* index = nullptr;
    bool affine = false;
    int64_t constant = 0;
    std::vector<int64_t> coefficients;  // by slot
    std::vector<int64_t> low, high;     // of the loops at steps >= i, summed
  };
  bool Step(std::size_t step, const std::function<bool(const std::vector<int64_t>&)>& visit);

  const CompiledStatement& statement_;
  std::vector<Dimension> dimensions_;
  std::vector<bool> used_;
  std::vector<int> order_;       // used slots, largest coefficient first
  std::vector<int64_t> rest_;    // per dimension: what the loops not yet chosen must sum to
  std::vector<int64_t> wanted_;  // per dimension
  std::vector<int64_t> loops_;
};

// The value of an index or integer expression at loop values by slot; nullopt where it depends on a
// computed tensor, on an element outside an input, or on anything but integers.
std::optional<int64_t> EvaluateInteger(const Expr& expr, const Loops& loops,
                                       const std::vector<int64_t>& values,
                                       const Storages& storages);

}  // namespace tw::leir
