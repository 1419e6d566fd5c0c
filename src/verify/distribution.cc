// Which inputs suit a program, by the signs of its values.
#include <algorithm>
#include <map>
#include <string>

#include "leir/printer.h"
#include "leir/walk.h"
#include "verify/reference.h"

namespace tw::verify {
namespace {

using leir::Expr;
using leir::Op;

// What is known of a value for inputs of any sign. Larger is more.
enum class Sign { kAny, kNotNegative, kPositive };

class Signs {
 public:
  // The distribution's question: may some operation of the program be undefined or huge?
  bool IsRisky(const leir::Program& program) {
    leir::ForEachStatement(program, [&](const leir::Statement& s, const leir::Loops&, int) {
      target_ = &s.target;
      const Sign sign = Of(*s.value);
      // A later write of another sign leaves what both have in common.
      const auto [known, first] = tensors_.emplace(s.target, sign);
      if (!first) known->second = std::min(known->second, sign);
    });
    return risky_;
  }

 private:
  Sign Of(const Expr& e) {
    std::vector<Sign> of;
    for (const leir::ExprPtr& operand : e.operands) of.push_back(Of(*operand));
    switch (e.op) {
      case Op::kNumber:
        return e.number > 0 || e.integer > 0 ? Sign::kPositive : Sign::kNotNegative;
      case Op::kInfinity:
        return Sign::kPositive;
      case Op::kIndex:
        return Sign::kNotNegative;
      case Op::kLoad:
        return OfLoad(e);
      case Op::kExp:
        return Sign::kPositive;
      case Op::kAbs:
        return of[0] == Sign::kPositive ? of[0] : Sign::kNotNegative;
      case Op::kLog:
        risky_ |= of[0] != Sign::kPositive;
        return Sign::kAny;
      case Op::kSqrt:
        risky_ |= of[0] == Sign::kAny;
        return of[0];
      case Op::kErf:
        return of[0];
      case Op::kAdd:
        // Positive if one is and the other does not take away.
        return std::min(of[0], of[1]) == Sign::kAny ? Sign::kAny : std::max(of[0], of[1]);
      case Op::kMul:
        if (leir::Equal(*e.operands[0], *e.operands[1])) return std::max(of[0], Sign::kNotNegative);
        return std::min(of[0], of[1]);
      case Op::kDiv:
      case Op::kFloorDiv:
      case Op::kMod:
        risky_ |= of[1] != Sign::kPositive;
        return e.op == Op::kDiv ? std::min(of[0], of[1])
                                : std::min({of[0], of[1], Sign::kNotNegative});
      case Op::kPower:
        return OfPower(e, of[0]);
      case Op::kMax:
      case Op::kMin:
        // The first value of a maximum or minimum is no value at all.
        if (IsFirstValue(*e.operands[0])) return of[1];
        if (IsFirstValue(*e.operands[1])) return of[0];
        return e.op == Op::kMax ? std::max(of[0], of[1]) : std::min(of[0], of[1]);
      case Op::kSelect:
        return std::min(of[1], of[2]);
      case Op::kNegate:
      case Op::kSub:
        return Sign::kAny;
      default:  // comparisons
        return Sign::kNotNegative;
    }
  }

  // An input has any sign, so it may be no index. An update keeps the sign of what it adds, since a
  // sum starts from 0 and a product from 1.
  Sign OfLoad(const Expr& e) {
    for (const leir::ExprPtr& index : e.operands) {
      leir::ForEachExpr(*index, [&](const Expr& i) { risky_ |= i.op == Op::kLoad; });
    }
    const auto known = tensors_.find(e.name);
    if (known != tensors_.end()) return known->second;
    return IsFirstValue(e) ? Sign::kNotNegative : Sign::kAny;
  }

  bool IsFirstValue(const Expr& e) const {
    return e.op == Op::kLoad && e.name == *target_ && !tensors_.contains(e.name);
  }

  Sign OfPower(const Expr& e, Sign base) {
    const Expr& exponent = *e.operands[1];
    const bool natural = exponent.op == Op::kNumber && exponent.is_integer;
    if (natural && exponent.integer % 2 == 0) return std::max(base, Sign::kNotNegative);
    if (!natural) risky_ |= base != Sign::kPositive;
    return base;
  }

  std::map<std::string, Sign> tensors_;
  const std::string* target_ = nullptr;
  bool risky_ = false;
};

}  // namespace

Distribution DefaultDistribution(const leir::Program& program) {
  return Signs().IsRisky(program) ? Distribution::kPositive : Distribution::kUniform;
}

}  // namespace tw::verify
