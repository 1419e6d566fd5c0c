#include "leir/bytecode.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>

#include "leir/affine.h"
#include "leir/printer.h"

namespace tw::leir {
namespace {

enum class Class { kLiteral, kInteger, kReal };

double FromHalf(uint16_t bits) {
  const int exponent = (bits >> 10) & 31;
  const int fraction = bits & 1023;
  double value = 0;
  if (exponent == 31) {
    value = fraction != 0 ? std::numeric_limits<double>::quiet_NaN()
                          : std::numeric_limits<double>::infinity();
  } else if (exponent == 0) {
    value = std::ldexp(fraction, -24);
  } else {
    value = std::ldexp(1024 + fraction, exponent - 25);
  }
  return (bits & 0x8000) != 0 ? -value : value;
}

double FromBFloat(uint16_t bits) {
  const uint32_t wide = static_cast<uint32_t>(bits) << 16;
  float value = 0;
  std::memcpy(&value, &wide, sizeof value);
  return value;
}

template <typename T>
T At(const char* data, int64_t index) {
  T value;
  std::memcpy(&value, data + index * static_cast<int64_t>(sizeof(T)), sizeof(T));
  return value;
}

class Compiler {
 public:
  Compiler(CompiledStatement* out, Storages* storages) : out_(*out), storages_(*storages) {
    for (std::size_t i = 0; i < out_.loops.size(); ++i) {
      slots_[out_.loops[i]->index] = static_cast<int>(i);
      scope_.AddLoop(out_.loops[i]->index, out_.loops[i]->extent);
    }
    out_.registers.resize(out_.loops.size());
  }

  void Run() {
    out_.target = &storages_.at(out_.statement->target);
    out_.accesses.push_back(MakeAccess(out_.target, out_.statement->indices));
    out_.stores_real = out_.target->is_real;
    out_.target_code = out_.code.size();
    out_.result = Emit(*out_.statement->value, out_.stores_real ? Class::kReal : Class::kInteger);
  }

 private:
  int NewRegister() {
    out_.registers.push_back(Cell{.integer = 0});
    return static_cast<int>(out_.registers.size()) - 1;
  }
  int Constant(double value) {
    const int reg = NewRegister();
    out_.registers[reg].real = value;
    return reg;
  }
  int Constant(int64_t value) {
    const int reg = NewRegister();
    out_.registers[reg].integer = value;
    return reg;
  }
  int Put(Opcode op, int a, int b = 0) {
    const int dst = NewRegister();
    out_.code.push_back({op, dst, a, b});
    return dst;
  }

  static Class Wider(Class a, Class b) { return std::max(a, b); }

  Class ClassOf(const Expr& expr) const {
    const auto operand = [&](int i) { return ClassOf(*expr.operands[i]); };
    switch (expr.op) {
      case Op::kNumber:
        return expr.is_integer ? Class::kLiteral : Class::kReal;
      case Op::kInfinity:
        return Class::kLiteral;
      case Op::kIndex:
        return Class::kInteger;
      case Op::kLoad:
        return storages_.at(expr.name).is_real ? Class::kReal : Class::kInteger;
      case Op::kNegate:
      case Op::kAbs:
        return operand(0);
      case Op::kExp:
      case Op::kLog:
      case Op::kSqrt:
      case Op::kErf:
      case Op::kDiv:
        return Class::kReal;
      case Op::kPower: {
        const Expr& exponent = *expr.operands[1];
        const bool whole = exponent.op == Op::kNumber && exponent.is_integer;
        return whole ? operand(0) : Class::kReal;
      }
      case Op::kSelect:
        return Wider(operand(1), operand(2));
      case Op::kAdd:
      case Op::kSub:
      case Op::kMul:
      case Op::kFloorDiv:
      case Op::kMod:
      case Op::kMax:
      case Op::kMin:
        return Wider(operand(0), operand(1));
      default:
        return Class::kInteger;  // comparisons
    }
  }

  // Code for `expr` in its own class, then converted to `wanted` (kInteger or kReal).
  int Emit(const Expr& expr, Class wanted) {
    Class own = ClassOf(expr);
    if (own == Class::kLiteral) own = wanted;
    const int reg = own == Class::kReal ? EmitReal(expr) : EmitInteger(expr);
    if (own == wanted) return reg;
    return Put(own == Class::kReal ? Opcode::kToInteger : Opcode::kToReal, reg);
  }

  int EmitBinary(Opcode op, const Expr& expr, Class operands) {
    const int a = Emit(*expr.operands[0], operands);
    const int b = Emit(*expr.operands[1], operands);
    return Put(op, a, b);
  }

  int EmitReal(const Expr& expr) {
    const auto unary = [&](Opcode op) { return Put(op, Emit(*expr.operands[0], Class::kReal)); };
    const auto binary = [&](Opcode op) { return EmitBinary(op, expr, Class::kReal); };
    switch (expr.op) {
      case Op::kNumber:
        return Constant(expr.number);
      case Op::kInfinity:
        return Constant(std::numeric_limits<double>::infinity());
      case Op::kLoad:
        return EmitLoad(expr);
      case Op::kSelect:
        return EmitSelect(expr, Class::kReal);
      case Op::kNegate:
        return unary(Opcode::kNegate);
      case Op::kAbs:
        return unary(Opcode::kAbs);
      case Op::kExp:
        return unary(Opcode::kExp);
      case Op::kLog:
        return unary(Opcode::kLog);
      case Op::kSqrt:
        return unary(Opcode::kSqrt);
      case Op::kErf:
        return unary(Opcode::kErf);
      case Op::kAdd:
        return binary(Opcode::kAdd);
      case Op::kSub:
        return binary(Opcode::kSub);
      case Op::kMul:
        return binary(Opcode::kMul);
      case Op::kDiv:
        return binary(Opcode::kDiv);
      case Op::kFloorDiv:
        return binary(Opcode::kFloorDiv);
      case Op::kMod:
        return binary(Opcode::kMod);
      case Op::kPower:
        return binary(Opcode::kPower);
      case Op::kMax:
        return binary(Opcode::kMax);
      default:
        return binary(Opcode::kMin);
    }
  }

  int EmitInteger(const Expr& expr) {
    const auto unary = [&](Opcode op) { return Put(op, Emit(*expr.operands[0], Class::kInteger)); };
    const auto binary = [&](Opcode op) { return EmitBinary(op, expr, Class::kInteger); };
    switch (expr.op) {
      case Op::kNumber:
        return Constant(expr.integer);
      case Op::kInfinity:
        return Constant(std::numeric_limits<int64_t>::max());
      case Op::kIndex:
        return slots_.at(expr.name);
      case Op::kLoad:
        return EmitLoad(expr);
      case Op::kSelect:
        return EmitSelect(expr, Class::kInteger);
      case Op::kNegate:
        return unary(Opcode::kNegateI);
      case Op::kAbs:
        return unary(Opcode::kAbsI);
      case Op::kAdd:
        return binary(Opcode::kAddI);
      case Op::kSub:
        return binary(Opcode::kSubI);
      case Op::kMul:
        return binary(Opcode::kMulI);
      case Op::kFloorDiv:
        return binary(Opcode::kFloorDivI);
      case Op::kMod:
        return binary(Opcode::kModI);
      case Op::kPower:
        return binary(Opcode::kPowerI);
      case Op::kMax:
        return binary(Opcode::kMaxI);
      case Op::kMin:
        return binary(Opcode::kMinI);
      case Op::kAnd:
      case Op::kOr: {
        const int a = EmitCondition(*expr.operands[0]);
        const int b = EmitCondition(*expr.operands[1]);
        return Put(expr.op == Op::kAnd ? Opcode::kAndI : Opcode::kOrI, a, b);
      }
      default:
        return EmitRelation(expr);
    }
  }

  int EmitRelation(const Expr& expr) {
    const Class operands = Wider(ClassOf(*expr.operands[0]), ClassOf(*expr.operands[1]));
    const bool real = operands == Class::kReal;
    const Class side = real ? Class::kReal : Class::kInteger;
    int a = Emit(*expr.operands[0], side);
    int b = Emit(*expr.operands[1], side);
    if (expr.op == Op::kGreater || expr.op == Op::kGreaterEqual) std::swap(a, b);
    switch (expr.op) {
      case Op::kLess:
      case Op::kGreater:
        return Put(real ? Opcode::kLess : Opcode::kLessI, a, b);
      case Op::kLessEqual:
      case Op::kGreaterEqual:
        return Put(real ? Opcode::kLessEqual : Opcode::kLessEqualI, a, b);
      case Op::kEqual:
        return Put(real ? Opcode::kEqual : Opcode::kEqualI, a, b);
      default:
        return Put(real ? Opcode::kNotEqual : Opcode::kNotEqualI, a, b);
    }
  }

  int EmitCondition(const Expr& expr) {
    if (expr.op >= Op::kLess && expr.op <= Op::kOr) return EmitInteger(expr);
    const Class own = ClassOf(expr);
    if (own == Class::kReal) return Put(Opcode::kTruth, EmitReal(expr));
    return Put(Opcode::kTruthI, EmitInteger(expr));
  }

  int EmitBranches(int condition, const auto& then, const auto& otherwise) {
    const int dst = NewRegister();
    const std::size_t branch = out_.code.size();
    out_.code.push_back({Opcode::kJumpIfZero, 0, condition, 0});
    out_.code.push_back({Opcode::kMove, dst, then(), 0});
    // `then` has pushed its code before the move was built, since arguments are evaluated first.
    const std::size_t jump = out_.code.size();
    out_.code.push_back({Opcode::kJump, 0, 0, 0});
    out_.code[branch].dst = static_cast<int32_t>(out_.code.size());
    out_.code.push_back({Opcode::kMove, dst, otherwise(), 0});
    out_.code[jump].dst = static_cast<int32_t>(out_.code.size());
    return dst;
  }

  int EmitSelect(const Expr& expr, Class wanted) {
    const int condition = EmitCondition(*expr.operands[0]);
    return EmitBranches(
        condition, [&] { return Emit(*expr.operands[1], wanted); },
        [&] { return Emit(*expr.operands[2], wanted); });
  }

  int EmitLoad(const Expr& load) {
    Storage* storage = &storages_.at(load.name);
    const StatementInfo& info = out_.info;
    if (storage == out_.target && info.prefix_shift > 0 && info.first_write) {
      const int shift = Constant(info.prefix_shift);
      const int started = Put(Opcode::kLessEqualI, shift, slots_.at(info.prefix_loop));
      return EmitBranches(
          started, [&] { return EmitPlainLoad(load, storage); },
          [&] {
            const int reg = NewRegister();
            out_.registers[reg] = InitialCell(*info.initial, *storage);
            return reg;
          });
    }
    return EmitPlainLoad(load, storage);
  }

  int EmitPlainLoad(const Expr& load, Storage* storage) {
    const Access access = MakeAccess(storage, load.operands);
    out_.accesses.push_back(access);
    Opcode op = storage->is_real ? Opcode::kLoadReal : Opcode::kLoadInteger;
    if (storage->computed) {
      op = Opcode::kLoadCell;
    } else if (storage->tensor->dtype == DType::kF32) {
      op = Opcode::kLoadF32;
    } else if (storage->tensor->dtype == DType::kF64) {
      op = Opcode::kLoadF64;
    }
    return Put(op, static_cast<int>(out_.accesses.size()) - 1);
  }

  Access MakeAccess(Storage* storage, const std::vector<ExprPtr>& indices) {
    Access access;
    access.storage = storage;
    std::map<int, int64_t> loops;
    for (std::size_t i = 0; i < indices.size(); ++i) {
      const int64_t stride = storage->strides[i];
      const std::optional<Affine> form = LoopForm(*indices[i]);
      if (form) {
        access.constant = MultiplyAdd(access.constant, form->constant, stride);
        for (const auto& [name, coefficient] : form->terms) {
          int64_t& loop_stride = loops[slots_.at(name)];
          loop_stride = MultiplyAdd(loop_stride, coefficient, stride);
        }
        continue;
      }
      const int reg = Emit(*indices[i], Class::kInteger);
      bool gathered = false;
      ForEachExpr(*indices[i], [&](const Expr& e) { gathered = gathered || e.op == Op::kLoad; });
      if (gathered) {
        const int extent = Constant(storage->tensor->shape[i]);
        out_.code.push_back({Opcode::kCheckIndex, 0, reg, extent});
      }
      access.indices.emplace_back(reg, stride);
    }
    access.loops.assign(loops.begin(), loops.end());
    return access;
  }

  // The index as an affine form of loops alone.
  std::optional<Affine> LoopForm(const Expr& index) {
    if (!IsIndexExpr(index)) return std::nullopt;
    Affine form = scope_.Linearize(index);
    for (const auto& [name, coefficient] : form.terms) {
      if (!slots_.contains(name)) return std::nullopt;
    }
    return form;
  }

  CompiledStatement& out_;
  Storages& storages_;
  std::map<std::string, int> slots_;
  AffineScope scope_;
};

}  // namespace

CompiledStatement Compile(const Statement& statement, const Loops& loops, const StatementInfo& info,
                          Storages* storages) {
  CompiledStatement compiled;
  compiled.statement = &statement;
  compiled.loops = loops;
  compiled.info = info;
  Compiler(&compiled, storages).Run();
  return compiled;
}

int64_t StoreInteger(int64_t value, DType dtype) {
  constexpr int64_t kInfinite = std::numeric_limits<int64_t>::max();
  const auto wrap = [&]<typename T>(T) -> int64_t {
    if (value == kInfinite) return static_cast<int64_t>(std::numeric_limits<T>::max());
    if (value == -kInfinite) return static_cast<int64_t>(std::numeric_limits<T>::min());
    return static_cast<int64_t>(static_cast<T>(value));
  };
  switch (dtype) {
    case DType::kI8:
      return wrap(int8_t{});
    case DType::kI16:
      return wrap(int16_t{});
    case DType::kI32:
      return wrap(int32_t{});
    case DType::kU8:
      return wrap(uint8_t{});
    case DType::kU16:
      return wrap(uint16_t{});
    case DType::kU32:
      return wrap(uint32_t{});
    case DType::kBool:
      return value != 0 ? 1 : 0;
    default:
      return value;
  }
}

Cell InitialCell(double initial, const Storage& storage) {
  if (storage.is_real) return Cell{.real = initial};
  constexpr int64_t kInfinite = std::numeric_limits<int64_t>::max();
  int64_t value = 0;
  if (std::isinf(initial)) {
    value = initial > 0 ? kInfinite : -kInfinite;
  } else {
    value = static_cast<int64_t>(initial);
  }
  return Cell{.integer = StoreInteger(value, storage.tensor->dtype)};
}

double ReadReal(const char* data, int64_t index, DType dtype) {
  switch (dtype) {
    case DType::kF16:
      return FromHalf(At<uint16_t>(data, index));
    case DType::kBF16:
      return FromBFloat(At<uint16_t>(data, index));
    case DType::kF32:
      return At<float>(data, index);
    default:
      return At<double>(data, index);
  }
}

int64_t ReadInteger(const char* data, int64_t index, DType dtype) {
  switch (dtype) {
    case DType::kI8:
      return At<int8_t>(data, index);
    case DType::kI16:
      return At<int16_t>(data, index);
    case DType::kI32:
      return At<int32_t>(data, index);
    case DType::kU8:
      return At<uint8_t>(data, index);
    case DType::kU16:
      return At<uint16_t>(data, index);
    case DType::kU32:
      return At<uint32_t>(data, index);
    case DType::kBool:
      return At<uint8_t>(data, index) != 0 ? 1 : 0;
    default:
      return At<int64_t>(data, index);
  }
}

}  // namespace tw::leir
