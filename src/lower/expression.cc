#include "lower/expression.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <limits>
#include <optional>

#include "leir/walk.h"

namespace tw::lower {
namespace {

using leir::Expr;
using leir::Op;

// A TIR expression with its type, or a number that takes the type of what it meets.
struct Typed {
  Any expr;
  DType type = DType::kI32;
  std::optional<double> literal;
  bool integral = false;  // of a literal
  bool loaded = false;    // an integer that comes from a tensor, not from indices

  bool IsReal() const { return literal ? !integral : IsFloat(type); }
};

Typed Literal(double value, bool integral) { return {Any(), DType::kI32, value, integral}; }

class Emitter {
 public:
  explicit Emitter(const Environment& environment) : env_(environment) {}

  Typed Emit(const Expr& e) const {
    switch (e.op) {
      case Op::kNumber:
        return Literal(e.is_integer ? static_cast<double>(e.integer) : e.number, e.is_integer);
      case Op::kInfinity:
        return Literal(std::numeric_limits<double>::infinity(), false);
      case Op::kIndex:
        return {env_.variables.at(e.name), env_.index, std::nullopt, false};
      case Op::kLoad:
        return EmitLoad(e);
      case Op::kNegate:
        return EmitNegate(Emit(*e.operands[0]));
      case Op::kExp:
        return EmitCall("tirx.exp", e, [](double x) { return std::exp(x); });
      case Op::kLog:
        return EmitCall("tirx.log", e, [](double x) { return std::log(x); });
      case Op::kSqrt:
        return EmitCall("tirx.sqrt", e, [](double x) { return std::sqrt(x); });
      case Op::kErf:
        return EmitCall("tirx.erf", e, [](double x) { return std::erf(x); });
      case Op::kAbs:
        return EmitAbs(Emit(*e.operands[0]));
      case Op::kPower:
        return EmitPower(Emit(*e.operands[0]), Emit(*e.operands[1]));
      case Op::kSelect: {
        const Any condition = Materialize(Emit(*e.operands[0]), DType::kBool);
        const Typed then = Emit(*e.operands[1]), otherwise = Emit(*e.operands[2]);
        const DType type = Common(then, otherwise);
        return {IfThenElse(condition, Materialize(then, type), Materialize(otherwise, type)), type,
                std::nullopt, false, then.loaded || otherwise.loaded};
      }
      default:
        return EmitBinary(e.op, Emit(*e.operands[0]), Emit(*e.operands[1]));
    }
  }

  Any Materialize(const Typed& value, DType type) const {
    if (value.literal) {
      if (IsFloat(type)) return Real(type, *value.literal);
      if (type == DType::kBool) return Integer(type, *value.literal != 0);
      return Integer(type, Saturate(type, *value.literal));
    }
    if (value.type == type) return value.expr;
    if (type == DType::kBool) {
      return Binary("prim._OpNE", value.expr,
                    IsFloat(value.type) ? Real(value.type, 0) : Integer(value.type, 0));
    }
    return Cast(type, value.expr);
  }

 private:
  // Infinity is the largest number of an integer type.
  static int64_t Saturate(DType type, double value) {
    if (std::isfinite(value)) return static_cast<int64_t>(value);
    const bool is_unsigned = ShortName(type)[0] == 'u';
    const int bits = static_cast<int>(SizeOf(type)) * 8 - (is_unsigned ? 0 : 1);
    const int64_t largest =
        bits >= 63 ? std::numeric_limits<int64_t>::max() : (int64_t{1} << bits) - 1;
    if (value > 0) return largest;
    return is_unsigned ? 0 : -largest - 1;
  }

  Typed EmitLoad(const Expr& e) const {
    List indices;
    for (const leir::ExprPtr& i : e.operands) indices.push_back(Materialize(Emit(*i), env_.index));
    Any load = Load(env_.buffers->at(e.name), indices);
    if (env_.replace_load) load = env_.replace_load(e, load);
    return {load, env_.program->Find(e.name)->dtype, std::nullopt, false, true};
  }

  static DType Wider(DType a, DType b) {
    // Neither 16-bit float holds the other.
    if (SizeOf(a) == SizeOf(b)) return a == b ? a : DType::kF32;
    return SizeOf(a) > SizeOf(b) ? a : b;
  }

  // The floating type of an operation on these operands.
  DType RealOf(std::initializer_list<const Typed*> operands) const {
    std::optional<DType> widest;
    for (const Typed* operand : operands) {
      if (operand->literal || !IsFloat(operand->type)) continue;
      widest = widest ? Wider(*widest, operand->type) : operand->type;
    }
    if (!widest) return env_.real;
    return IsFloat(env_.target) ? Wider(*widest, env_.target) : *widest;
  }

  DType IntegerOf(const Typed& value) const {
    if (!value.loaded) return env_.index;
    return SizeOf(env_.index) > SizeOf(env_.integer) ? env_.index : env_.integer;
  }

  // The type in which two operands meet.
  DType Common(const Typed& a, const Typed& b) const {
    if (a.IsReal() || b.IsReal()) return RealOf({&a, &b});
    if (!a.literal && !b.literal && a.type == DType::kBool && b.type == DType::kBool) {
      return DType::kBool;
    }
    return IntegerOf(a.loaded ? a : b);
  }

  Typed EmitNegate(const Typed& value) const {
    if (value.literal) return Literal(-*value.literal, value.integral);
    // -x rather than 0-x, so that the sign of zero is right.
    if (IsFloat(value.type)) {
      return {Binary("prim._OpMul", value.expr, Real(value.type, -1)), value.type, std::nullopt,
              false};
    }
    const DType type = IntegerOf(value);
    return {Binary("prim._OpSub", Integer(type, 0), Materialize(value, type)), type, std::nullopt,
            false, value.loaded};
  }

  template <typename Fold>
  Typed EmitCall(const char* op, const Expr& e, Fold fold) const {
    const Typed value = Emit(*e.operands[0]);
    if (value.literal) return Literal(fold(*value.literal), false);
    const DType type = RealOf({&value});
    return {Intrinsic(op, type, Materialize(value, type)), type, std::nullopt, false};
  }

  Typed EmitAbs(const Typed& value) const {
    if (value.literal) return Literal(std::fabs(*value.literal), value.integral);
    if (IsFloat(value.type)) {
      return {Intrinsic("tirx.fabs", value.type, value.expr), value.type, std::nullopt, false};
    }
    const DType type = IntegerOf(value);
    return {Binary("prim._OpMax", Materialize(value, type), EmitNegate(value).expr), type,
            std::nullopt, false, value.loaded};
  }

  Typed EmitPower(const Typed& base, const Typed& exponent) const {
    if (base.literal && exponent.literal) {
      return Literal(std::pow(*base.literal, *exponent.literal),
                     base.integral && exponent.integral && *exponent.literal >= 0);
    }
    if (!base.literal && exponent.literal) {
      // Small whole exponents as products: exact for integers, and right for negative numbers.
      for (int n = 2; n <= kLargestProduct; ++n) {
        if (*exponent.literal == n) return Product(base, n);
      }
    }
    const DType type = RealOf({&base, &exponent});
    return {Binary("tirx._OpPow", Materialize(base, type), Materialize(exponent, type)), type,
            std::nullopt, false};
  }

  static constexpr int kLargestProduct = 8;

  Typed Product(const Typed& base, int n) const {
    if (n == 1) return base;
    const Typed half = Product(base, n / 2);
    const Typed square = EmitBinary(Op::kMul, half, half);
    return n % 2 == 0 ? square : EmitBinary(Op::kMul, square, base);
  }

  Typed EmitBinary(Op op, const Typed& a, const Typed& b) const {
    if (a.literal && b.literal) {
      if (const auto folded = Fold(op, a, b)) return *folded;
    }
    if (op == Op::kAnd || op == Op::kOr) {
      return {Binary(op == Op::kAnd ? "prim._OpAnd" : "prim._OpOr", Materialize(a, DType::kBool),
                     Materialize(b, DType::kBool)),
              DType::kBool, std::nullopt, false};
    }
    // What only compares needs no room for a result.
    const bool compares = op != Op::kAdd && op != Op::kSub && op != Op::kMul && op != Op::kDiv &&
                          op != Op::kFloorDiv && op != Op::kMod;
    const bool alike = !a.literal && !b.literal && a.type == b.type && a.type != DType::kBool;
    DType type = compares && alike ? a.type : Common(a, b);
    if (op == Op::kDiv && !IsFloat(type)) type = env_.real;
    const bool loaded = a.loaded || b.loaded;
    const Any x = Materialize(a, type), y = Materialize(b, type);
    auto arithmetic = [&](const char* name) {
      return Typed{Binary(name, x, y), type, std::nullopt, false, loaded};
    };
    auto relation = [&](const char* name) {
      return Typed{Binary(name, x, y), DType::kBool, std::nullopt, false};
    };
    switch (op) {
      case Op::kAdd:
        return arithmetic("prim._OpAdd");
      case Op::kSub:
        return arithmetic("prim._OpSub");
      case Op::kMul:
        return arithmetic("prim._OpMul");
      case Op::kDiv:
        return arithmetic("prim._OpDiv");
      case Op::kMax:
        return arithmetic("prim._OpMax");
      case Op::kMin:
        return arithmetic("prim._OpMin");
      case Op::kFloorDiv:
      case Op::kMod:
        if (IsFloat(type)) return EmitRealQuotient(op, x, y, type);
        return arithmetic(op == Op::kMod ? "prim._OpFloorMod" : "prim._OpFloorDiv");
      case Op::kLess:
        return relation("prim._OpLT");
      case Op::kLessEqual:
        return relation("prim._OpLE");
      case Op::kGreater:
        return relation("prim._OpGT");
      case Op::kGreaterEqual:
        return relation("prim._OpGE");
      case Op::kEqual:
        return relation("prim._OpEQ");
      default:
        return relation("prim._OpNE");
    }
  }

  Typed EmitRealQuotient(Op op, const Any& x, const Any& y, DType type) const {
    const Any quotient = Intrinsic("tirx.floor", type, Binary("prim._OpDiv", x, y));
    if (op == Op::kFloorDiv) return {quotient, type, std::nullopt, false};
    return {Binary("prim._OpSub", x, Binary("prim._OpMul", quotient, y)), type, std::nullopt,
            false};
  }

  // Numbers meet numbers in double precision, as in the interpreter.
  static std::optional<Typed> Fold(Op op, const Typed& a, const Typed& b) {
    const double x = *a.literal, y = *b.literal;
    const bool integral = a.integral && b.integral;
    switch (op) {
      case Op::kAdd:
        return Literal(x + y, integral);
      case Op::kSub:
        return Literal(x - y, integral);
      case Op::kMul:
        return Literal(x * y, integral);
      case Op::kDiv:
        return Literal(x / y, false);
      case Op::kMax:
        return Literal(std::max(x, y), integral);
      case Op::kMin:
        return Literal(std::min(x, y), integral);
      case Op::kFloorDiv:
        return Literal(std::floor(x / y), integral);
      case Op::kMod:
        return Literal(x - std::floor(x / y) * y, integral);
      default:
        return std::nullopt;
    }
  }

  const Environment& env_;
};

}  // namespace

Any ValueOf(const Expr& expr, DType type, const Environment& environment) {
  const Emitter emitter(environment);
  return emitter.Materialize(emitter.Emit(expr), type);
}

Any IndexOf(const Expr& expr, const Environment& environment) {
  return ValueOf(expr, environment.index, environment);
}

void SetTypes(const leir::Statement& statement, const leir::Program& program,
              Environment* environment) {
  environment->target = program.Find(statement.target)->dtype;
  std::optional<DType> real;
  std::size_t bytes = 0;  // of the widest integer
  bool is_signed = false;
  auto meet = [&](DType type) {
    if (IsFloat(type) && (!real || SizeOf(type) > SizeOf(*real))) real = type;
    if (!IsInteger(type)) return;
    bytes = std::max(bytes, SizeOf(type));
    is_signed |= ShortName(type)[0] == 'i';
  };
  meet(environment->target);
  leir::ForEachExpr(*statement.value, [&](const Expr& e) {
    if (e.op == Op::kLoad) meet(program.Find(e.name)->dtype);
  });
  environment->real = real.value_or(DType::kF64);
  const bool wide = IsInteger(environment->target) ? bytes > 4 : bytes > 2;
  if (is_signed || bytes < 4) {
    environment->integer = wide ? DType::kI64 : DType::kI32;
  } else {
    environment->integer = wide ? DType::kU64 : DType::kU32;
  }
}

}  // namespace tw::lower
