#include "leir/affine.h"

#include <algorithm>

#include "leir/printer.h"

namespace tw::leir {
namespace {

constexpr int64_t kInfinite = Interval::kInfinite;

int64_t Clamp(__int128 value) {
  if (value > kInfinite) return kInfinite;
  if (value < -kInfinite) return -kInfinite;
  return static_cast<int64_t>(value);
}

int64_t FloorDiv(int64_t a, int64_t b) {
  const int64_t quotient = a / b;
  return quotient - ((a % b != 0 && (a < 0) != (b < 0)) ? 1 : 0);
}

int64_t CeilDiv(int64_t a, int64_t b) { return -FloorDiv(-a, b); }

Interval Scale(Interval range, int64_t factor) {
  const int64_t a = Clamp(static_cast<__int128>(range.lo) * factor);
  const int64_t b = Clamp(static_cast<__int128>(range.hi) * factor);
  return {std::min(a, b), std::max(a, b)};
}

Interval Product(Interval a, Interval b) {
  const Interval low = Scale(a, b.lo), high = Scale(a, b.hi);
  return {std::min(low.lo, high.lo), std::max(low.hi, high.hi)};
}

// The factor f with f * a's terms == b's terms, or 0.
int64_t Proportion(const Affine& a, const Affine& b) {
  if (a.terms.empty() || a.terms.size() != b.terms.size()) return 0;
  int64_t factor = 0;
  for (auto x = a.terms.begin(), y = b.terms.begin(); x != a.terms.end(); ++x, ++y) {
    if (x->first != y->first || y->second % x->second != 0) return 0;
    const int64_t here = y->second / x->second;
    if (factor != 0 && here != factor) return 0;
    factor = here;
  }
  return factor;
}

}  // namespace

bool IsIndexExpr(const Expr& expr) {
  switch (expr.op) {
    case Op::kNumber:
      return expr.is_integer;
    case Op::kIndex:
      return true;
    case Op::kAdd:
    case Op::kSub:
    case Op::kMul:
    case Op::kFloorDiv:
    case Op::kMod:
    case Op::kNegate:
      return std::all_of(expr.operands.begin(), expr.operands.end(),
                         [](const ExprPtr& operand) { return IsIndexExpr(*operand); });
    default:
      return false;
  }
}

bool AddScaled(Affine* a, const Affine& b, int64_t scale) {
  int64_t product = 0;
  if (__builtin_mul_overflow(b.constant, scale, &product) ||
      __builtin_add_overflow(a->constant, product, &a->constant)) {
    return false;
  }
  for (const auto& [atom, coefficient] : b.terms) {
    int64_t& sum = a->terms[atom];
    if (__builtin_mul_overflow(coefficient, scale, &product) ||
        __builtin_add_overflow(sum, product, &sum)) {
      return false;
    }
    if (sum == 0) a->terms.erase(atom);
  }
  return true;
}

void AffineScope::AddLoop(const std::string& index, int64_t extent) {
  atoms_[index] = Atom{Atom::Kind::kLoop, {0, extent - 1}, {}, 1};
}

Affine AffineScope::MakeAtom(const Expr& expr, Atom atom) {
  std::string key = PrintExpr(expr);
  Affine form;
  form.terms[key] = 1;
  atoms_[std::move(key)] = std::move(atom);
  return form;
}

Affine AffineScope::Linearize(const Expr& expr) {
  const Interval unknown{-kInfinite, kInfinite};
  Affine form;
  switch (expr.op) {
    case Op::kNumber:
      form.constant = expr.integer;
      return form;
    case Op::kIndex:
      if (!atoms_.contains(expr.name)) break;
      form.terms[expr.name] = 1;
      return form;
    case Op::kNegate:
      if (AddScaled(&form, Linearize(*expr.operands[0]), -1)) return form;
      break;
    case Op::kAdd:
    case Op::kSub:
      form = Linearize(*expr.operands[0]);
      if (AddScaled(&form, Linearize(*expr.operands[1]), expr.op == Op::kAdd ? 1 : -1)) return form;
      break;
    case Op::kMul: {
      Affine a = Linearize(*expr.operands[0]);
      Affine b = Linearize(*expr.operands[1]);
      if (!b.terms.empty()) std::swap(a, b);
      if (!b.terms.empty()) {
        return MakeAtom(expr, {Atom::Kind::kOther, Product(Bound(a), Bound(b)), {}, 1});
      }
      if (b.constant == 0) return form;
      if (AddScaled(&form, a, b.constant)) return form;
      break;
    }
    case Op::kFloorDiv:
    case Op::kMod:
      return Divide(expr);
    default:
      break;
  }
  return MakeAtom(expr, {Atom::Kind::kOther, unknown, {}, 1});
}

Affine AffineScope::Divide(const Expr& expr) {
  const Affine inner = Linearize(*expr.operands[0]);
  const Affine by = Linearize(*expr.operands[1]);
  const bool quotient = expr.op == Op::kFloorDiv;
  if (!by.terms.empty() || by.constant <= 0) {
    Interval range{-kInfinite, kInfinite};
    const Interval divisor = Bound(by), divided = Bound(inner);
    if (divisor.lo > 0 && divided.lo >= 0) {
      range = {0, quotient ? divided.hi : std::min(divided.hi, divisor.hi - 1)};
    }
    return MakeAtom(expr, {Atom::Kind::kOther, range, {}, 1});
  }
  const int64_t k = by.constant;
  Affine multiple, rest;  // inner == k * multiple + rest
  multiple.constant = FloorDiv(inner.constant, k);
  rest.constant = inner.constant - multiple.constant * k;
  for (const auto& [atom, coefficient] : inner.terms) {
    if (coefficient % k == 0) {
      multiple.terms[atom] = coefficient / k;
    } else {
      rest.terms[atom] = coefficient;
    }
  }
  const Interval remainder = Bound(rest);
  if (remainder.lo >= 0 && remainder.hi < k) return quotient ? multiple : rest;
  const Interval range = Bound(inner);
  if (!range.finite()) {
    return MakeAtom(expr, {Atom::Kind::kOther, {-kInfinite, kInfinite}, {}, 1});
  }
  if (quotient) {
    return MakeAtom(
        expr, {Atom::Kind::kFloorDiv, {FloorDiv(range.lo, k), FloorDiv(range.hi, k)}, inner, k});
  }
  return MakeAtom(expr, {Atom::Kind::kMod, {0, k - 1}, inner, k});
}

Interval AffineScope::Range(const std::string& name) const {
  Interval range = atoms_.at(name).range;
  for (const Affine& fact : facts_) {
    if (fact.terms.size() != 1 || fact.terms.begin()->first != name) continue;
    const int64_t coefficient = fact.terms.begin()->second;
    if (coefficient > 0) {
      range.lo = std::max(range.lo, CeilDiv(-fact.constant, coefficient));
    } else {
      range.hi = std::min(range.hi, FloorDiv(fact.constant, -coefficient));
    }
  }
  return range;
}

Interval AffineScope::Bound(const Affine& form) const {
  __int128 lo = form.constant, hi = form.constant;
  for (const auto& [atom, coefficient] : form.terms) {
    const Interval term = Scale(Range(atom), coefficient);
    lo += term.lo;
    hi += term.hi;
  }
  Interval bound{Clamp(lo), Clamp(hi)};
  for (const Affine& fact : facts_) {
    const int64_t factor = Proportion(fact, form);
    if (factor == 0) continue;
    // form == factor * fact + shift and fact >= 0.
    const int64_t shift = Clamp(form.constant - static_cast<__int128>(factor) * fact.constant);
    if (factor > 0) {
      bound.lo = std::max(bound.lo, shift);
    } else {
      bound.hi = std::min(bound.hi, shift);
    }
  }
  return bound;
}

void AffineScope::AssumeNotNegative(const Expr& larger, const Expr& smaller, int64_t gap) {
  Affine fact = Linearize(larger);
  if (!AddScaled(&fact, Linearize(smaller), -1)) return;
  if (__builtin_sub_overflow(fact.constant, gap, &fact.constant)) return;
  if (!fact.terms.empty()) facts_.push_back(std::move(fact));
}

void AffineScope::Assume(const Expr& condition, bool holds) {
  if (condition.op == (holds ? Op::kAnd : Op::kOr)) {
    Assume(*condition.operands[0], holds);
    Assume(*condition.operands[1], holds);
    return;
  }
  if (condition.operands.size() != 2 || !IsIndexExpr(*condition.operands[0]) ||
      !IsIndexExpr(*condition.operands[1])) {
    return;
  }
  const Expr& a = *condition.operands[0];
  const Expr& b = *condition.operands[1];
  switch (condition.op) {
    case Op::kLess:
      return holds ? AssumeNotNegative(b, a, 1) : AssumeNotNegative(a, b, 0);
    case Op::kLessEqual:
      return holds ? AssumeNotNegative(b, a, 0) : AssumeNotNegative(a, b, 1);
    case Op::kGreater:
      return holds ? AssumeNotNegative(a, b, 1) : AssumeNotNegative(b, a, 0);
    case Op::kGreaterEqual:
      return holds ? AssumeNotNegative(a, b, 0) : AssumeNotNegative(b, a, 1);
    case Op::kEqual:
    case Op::kNotEqual:
      if ((condition.op == Op::kEqual) != holds) return;
      AssumeNotNegative(a, b, 0);
      AssumeNotNegative(b, a, 0);
      return;
    default:
      return;
  }
}

}  // namespace tw::leir
