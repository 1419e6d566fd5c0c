// Integer index expressions as affine forms over loops, with interval bounds under guards.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "leir/ast.h"

namespace tw::leir {

// lo <= x <= hi, both included.
struct Interval {
  int64_t lo = 0;
  int64_t hi = 0;
  static constexpr int64_t kInfinite = int64_t{1} << 62;
  bool finite() const { return lo > -kInfinite && hi < kInfinite; }
};

// constant + sum of coefficient * atom. Atoms are loop indices and the sub-expressions that are not
// affine (a quotient, a remainder, a product of two indices, a gathered index), named by their
// text.
struct Affine {
  int64_t constant = 0;
  std::map<std::string, int64_t> terms;  // no zero coefficients
};

struct Atom {
  enum class Kind { kLoop, kFloorDiv, kMod, kOther };
  Kind kind = Kind::kLoop;
  Interval range;
  Affine inner;         // kFloorDiv, kMod: what is divided
  int64_t divisor = 1;  // kFloorDiv, kMod
};

// The loops in scope and what the enclosing conditions say about them.
class AffineScope {
 public:
  void AddLoop(const std::string& index, int64_t extent);

  // The affine form of an index expression. Simplifies (k*q + r)//k and %k where 0 <= r < k is
  // known. Coefficients that leave 64 bits make an atom of unlimited range.
  Affine Linearize(const Expr& expr);

  // Tight for independent loops without conditions, safe otherwise.
  Interval Bound(const Affine& form) const;

  // Records that `condition` holds (or, when `holds` is false, that it does not), as far as it is a
  // conjunction of comparisons of index expressions; the rest says nothing. Undone by Restore.
  void Assume(const Expr& condition, bool holds);
  std::size_t Mark() const { return facts_.size(); }
  void Restore(std::size_t mark) { facts_.resize(mark); }

  const std::map<std::string, Atom>& atoms() const { return atoms_; }

 private:
  Affine MakeAtom(const Expr& expr, Atom atom);
  Affine Divide(const Expr& expr);
  void AssumeNotNegative(const Expr& larger, const Expr& smaller, int64_t gap);
  Interval Range(const std::string& atom) const;

  std::map<std::string, Atom> atoms_;
  std::vector<Affine> facts_;  // each is >= 0
};

// Only loops, integers and + - * // %: can be reasoned about.
bool IsIndexExpr(const Expr& expr);
// Adds `scale` * `b` to `a`; false when a coefficient leaves 64 bits.
bool AddScaled(Affine* a, const Affine& b, int64_t scale);

}  // namespace tw::leir
