#include "leir/machine.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace tw::leir {
namespace {

int64_t Negate(int64_t a) { return static_cast<int64_t>(0 - static_cast<uint64_t>(a)); }

int64_t Remainder(int64_t a, int64_t b) {
  if (b == 0 || b == -1)
    return 0;  // the checker refuses 0; -1 would overflow for the least integer
  const int64_t remainder = a % b;
  return remainder != 0 && (remainder < 0) != (b < 0) ? remainder + b : remainder;
}

int64_t Quotient(int64_t a, int64_t b) {
  if (b == 0) return 0;
  if (b == -1) return Negate(a);
  return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0);
}

double Remainder(double a, double b) {
  const double remainder = std::fmod(a, b);
  return remainder != 0 && (remainder < 0) != (b < 0) ? remainder + b : remainder;
}

int64_t Power(int64_t base, int64_t exponent) {
  uint64_t result = 1;
  for (auto factor = static_cast<uint64_t>(base); exponent > 0; exponent >>= 1, factor *= factor) {
    if ((exponent & 1) != 0) result *= factor;
  }
  return static_cast<int64_t>(result);
}

int64_t Truncate(double value) {
  if (std::isnan(value)) return 0;
  if (value >= 0x1p63) return std::numeric_limits<int64_t>::max();
  if (value < -0x1p63) return std::numeric_limits<int64_t>::min();
  return static_cast<int64_t>(value);
}

// As IEEE and NumPy do it: NaN wins.
double Max(double a, double b) { return a >= b || std::isnan(a) ? a : b; }
double Min(double a, double b) { return a <= b || std::isnan(a) ? a : b; }

int64_t Offset(const CompiledStatement& statement, const Access& access) {
  int64_t at = access.offset;
  for (const auto& [reg, stride] : access.indices) {
    at = MultiplyAdd(at, statement.registers[reg].integer, stride);
  }
  return at;
}

// Instructions [from, to) of one iteration, the loop registers and offsets being set. False: a
// gathered index is outside its tensor.
bool Interpret(CompiledStatement& statement, std::size_t from, std::size_t to) {
  Cell* r = statement.registers.data();
  const Access* accesses = statement.accesses.data();
  const auto offset = [&](const Access& access) { return Offset(statement, access); };
  const Instruction* const begin = statement.code.data();
  const Instruction* const end = begin + to;
  for (const Instruction* i = begin + from; i != end; ++i) {
    const Cell a = r[i->a];
    const Cell b = r[i->b];
    Cell& d = r[i->dst];
    switch (i->op) {
      case Opcode::kLoadCell: {
        const Access& access = accesses[i->a];
        d = access.storage->cells[offset(access)];
        break;
      }
      case Opcode::kLoadF32: {
        const Access& access = accesses[i->a];
        float value = 0;
        std::memcpy(&value, access.storage->input + offset(access) * 4, 4);
        d.real = value;
        break;
      }
      case Opcode::kLoadF64: {
        const Access& access = accesses[i->a];
        std::memcpy(&d.real, access.storage->input + offset(access) * 8, 8);
        break;
      }
      case Opcode::kLoadReal: {
        const Access& access = accesses[i->a];
        d.real = ReadReal(access.storage->input, offset(access), access.storage->tensor->dtype);
        break;
      }
      case Opcode::kLoadInteger: {
        const Access& access = accesses[i->a];
        d.integer =
            ReadInteger(access.storage->input, offset(access), access.storage->tensor->dtype);
        break;
      }
      case Opcode::kCheckIndex:
        if (a.integer < 0 || a.integer >= b.integer) return false;
        break;
      case Opcode::kToReal:
        d.real = static_cast<double>(a.integer);
        break;
      case Opcode::kToInteger:
        d.integer = Truncate(a.real);
        break;
      case Opcode::kTruth:
        d.integer = a.real != 0;
        break;
      case Opcode::kAdd:
        d.real = a.real + b.real;
        break;
      case Opcode::kSub:
        d.real = a.real - b.real;
        break;
      case Opcode::kMul:
        d.real = a.real * b.real;
        break;
      case Opcode::kDiv:
        d.real = a.real / b.real;
        break;
      case Opcode::kFloorDiv:
        d.real = std::floor(a.real / b.real);
        break;
      case Opcode::kMod:
        d.real = Remainder(a.real, b.real);
        break;
      case Opcode::kPower:
        d.real = std::pow(a.real, b.real);
        break;
      case Opcode::kMax:
        d.real = Max(a.real, b.real);
        break;
      case Opcode::kMin:
        d.real = Min(a.real, b.real);
        break;
      case Opcode::kNegate:
        d.real = -a.real;
        break;
      case Opcode::kAbs:
        d.real = std::fabs(a.real);
        break;
      case Opcode::kExp:
        d.real = std::exp(a.real);
        break;
      case Opcode::kLog:
        d.real = std::log(a.real);
        break;
      case Opcode::kSqrt:
        d.real = std::sqrt(a.real);
        break;
      case Opcode::kErf:
        d.real = std::erf(a.real);
        break;
      case Opcode::kLess:
        d.integer = a.real < b.real;
        break;
      case Opcode::kLessEqual:
        d.integer = a.real <= b.real;
        break;
      case Opcode::kEqual:
        d.integer = a.real == b.real;
        break;
      case Opcode::kNotEqual:
        d.integer = a.real != b.real;
        break;
      case Opcode::kAddI:
        d.integer = MultiplyAdd(a.integer, b.integer, 1);
        break;
      case Opcode::kSubI:
        d.integer = MultiplyAdd(a.integer, b.integer, -1);
        break;
      case Opcode::kMulI:
        d.integer = MultiplyAdd(0, a.integer, b.integer);
        break;
      case Opcode::kFloorDivI:
        d.integer = Quotient(a.integer, b.integer);
        break;
      case Opcode::kModI:
        d.integer = Remainder(a.integer, b.integer);
        break;
      case Opcode::kPowerI:
        d.integer = Power(a.integer, b.integer);
        break;
      case Opcode::kMaxI:
        d.integer = std::max(a.integer, b.integer);
        break;
      case Opcode::kMinI:
        d.integer = std::min(a.integer, b.integer);
        break;
      case Opcode::kNegateI:
        d.integer = Negate(a.integer);
        break;
      case Opcode::kAbsI:
        d.integer = a.integer < 0 ? Negate(a.integer) : a.integer;
        break;
      case Opcode::kLessI:
        d.integer = a.integer < b.integer;
        break;
      case Opcode::kLessEqualI:
        d.integer = a.integer <= b.integer;
        break;
      case Opcode::kEqualI:
        d.integer = a.integer == b.integer;
        break;
      case Opcode::kNotEqualI:
        d.integer = a.integer != b.integer;
        break;
      case Opcode::kTruthI:
        d.integer = a.integer != 0;
        break;
      case Opcode::kAndI:
        d.integer = a.integer & b.integer;
        break;
      case Opcode::kOrI:
        d.integer = a.integer | b.integer;
        break;
      case Opcode::kJump:
        i = begin + i->dst - 1;
        break;
      case Opcode::kJumpIfZero:
        if (a.integer == 0) i = begin + i->dst - 1;
        break;
      case Opcode::kMove:
        d = a;
        break;
    }
  }
  return true;
}

void Store(CompiledStatement& statement) {
  const Cell* r = statement.registers.data();
  Storage& target = *statement.target;
  Cell& cell = target.cells[Offset(statement, statement.accesses[0])];
  if (statement.stores_real) {
    cell = r[statement.result];
  } else {
    cell.integer = StoreInteger(r[statement.result].integer, target.tensor->dtype);
  }
}

bool Execute(CompiledStatement& statement) {
  if (!Interpret(statement, 0, statement.code.size())) return false;
  Store(statement);
  return true;
}

void SetOffsets(CompiledStatement* statement, const std::vector<int64_t>& loops) {
  for (std::size_t i = 0; i < statement->loops.size(); ++i) {
    statement->registers[i].integer = loops[i];
  }
  for (Access& access : statement->accesses) {
    access.offset = access.constant;
    for (const auto& [slot, stride] : access.loops) {
      access.offset = MultiplyAdd(access.offset, loops[slot], stride);
    }
  }
}

}  // namespace

bool Machine::RunOnce(const PlannedStatement& statement) {
  CompiledStatement& compiled = *statement.compiled;
  SetOffsets(&compiled, loops_);
  if (statement.marks == nullptr) return Execute(compiled);
  if (!Interpret(compiled, 0, compiled.target_code)) return false;
  const int64_t element = Offset(compiled, compiled.accesses[0]);
  if (statement.marks[element] < statement.generation) return true;
  if (!Interpret(compiled, compiled.target_code, compiled.code.size())) return false;
  Store(compiled);
  return true;
}

bool Machine::RunInner(CompiledStatement* statement, int slot, int64_t first, int64_t count) {
  loops_[slot] = first;
  SetOffsets(statement, loops_);
  std::vector<int64_t> steps;
  for (const Access& access : statement->accesses) {
    int64_t step = 0;
    for (const auto& [loop, stride] : access.loops) step = loop == slot ? stride : step;
    steps.push_back(step);
  }
  Cell& loop = statement->registers[slot];
  for (int64_t i = 0; i < count; ++i) {
    loop.integer = first + i;
    if (!Execute(*statement)) return false;
    for (std::size_t k = 0; k < steps.size(); ++k) {
      int64_t& offset = statement->accesses[k].offset;
      offset = MultiplyAdd(offset, steps[k], 1);
    }
  }
  return true;
}

bool Machine::RunBody(PlannedNest* nest) {
  for (auto& item : nest->items) {
    if (const auto* statement = std::get_if<PlannedStatement>(&item)) {
      if (!RunOnce(*statement)) return false;
    } else if (!RunLoop(std::get<std::unique_ptr<PlannedNest>>(item).get(), 0)) {
      return false;
    }
  }
  return true;
}

bool Machine::RunLoop(PlannedNest* nest, std::size_t depth) {
  if (depth == nest->ranges.size()) return RunBody(nest);
  const LoopRange& range = nest->ranges[depth];
  const std::size_t slot = nest->first_slot + depth;
  if (loops_.size() <= slot) loops_.resize(slot + 1);
  const bool innermost = depth + 1 == nest->ranges.size() && nest->items.size() == 1;
  if (innermost && !range.values) {
    const auto* statement = std::get_if<PlannedStatement>(&nest->items[0]);
    if (statement != nullptr && statement->marks == nullptr) {
      return RunInner(statement->compiled, static_cast<int>(slot), 0, range.extent);
    }
  }
  for (int64_t i = 0; i < range.size(); ++i) {
    loops_[slot] = range.at(i);
    if (!RunLoop(nest, depth + 1)) return false;
  }
  return true;
}

bool Machine::Run(PlannedNest* nest) { return RunLoop(nest, 0); }

bool Machine::RunFree(CompiledStatement* statement, const Stretch& stretch,
                      const std::vector<int>& free, std::size_t depth) {
  if (depth == free.size()) {
    return RunInner(statement, stretch.slot, stretch.start[stretch.slot], stretch.count);
  }
  const int slot = free[depth];
  const int64_t extent = statement->loops[slot]->extent;
  if (stretch.count == 1 && depth + 1 == free.size()) return RunInner(statement, slot, 0, extent);
  for (int64_t i = 0; i < extent; ++i) {
    loops_[slot] = i;
    if (!RunFree(statement, stretch, free, depth + 1)) return false;
  }
  return true;
}

bool Machine::RunStatement(CompiledStatement* statement, const Stretch& stretch,
                           const std::vector<int>& free) {
  loops_ = stretch.start;
  return RunFree(statement, stretch, free, 0);
}

}  // namespace tw::leir
