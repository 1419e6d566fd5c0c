// Statements compiled for the interpreter: flat register code and addresses with strides.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "leir/checker.h"
#include "leir/interpreter.h"
#include "leir/walk.h"

namespace tw::leir {

union Cell {
  double real;
  int64_t integer;
};

// a + b * c modulo 2^64: offsets of reads that a guard keeps from happening may leave 64 bits.
inline int64_t MultiplyAdd(int64_t a, int64_t b, int64_t c) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) +
                              static_cast<uint64_t>(b) * static_cast<uint64_t>(c));
}

// Where the elements of a tensor are. Computed tensors are doubles or int64s in pages that the
// system commits when they are first written.
struct Storage {
  const Tensor* tensor = nullptr;
  bool computed = false;
  bool is_real = true;
  int64_t elements = 1;
  std::vector<int64_t> strides;
  const char* input = nullptr;                                         // !computed
  std::unique_ptr<Cell[], void (*)(void*)> cells{nullptr, std::free};  // computed
};

enum class Opcode : uint8_t {
  kLoadCell,
  kLoadF32,
  kLoadF64,
  kLoadReal,
  kLoadInteger,  // dst = access a
  kCheckIndex,   // stop unless 0 <= a < b (immediate)
  kToReal,
  kToInteger,
  kTruth,  // conversions; kTruth: real a != 0
  kAdd,
  kSub,
  kMul,
  kDiv,
  kFloorDiv,
  kMod,
  kPower,
  kMax,
  kMin,
  kNegate,
  kAbs,
  kExp,
  kLog,
  kSqrt,
  kErf,
  kLess,
  kLessEqual,
  kEqual,
  kNotEqual,  // on reals, to integer 0 or 1
  kAddI,
  kSubI,
  kMulI,
  kFloorDivI,
  kModI,
  kPowerI,
  kMaxI,
  kMinI,
  kNegateI,
  kAbsI,
  kLessI,
  kLessEqualI,
  kEqualI,
  kNotEqualI,
  kTruthI,
  kAndI,
  kOrI,
  kJump,
  kJumpIfZero,  // to instruction dst
  kMove,
};

struct Instruction {
  Opcode op;
  int32_t dst = 0;
  int32_t a = 0;
  int32_t b = 0;
};

// offset = constant + sum of strides * loop registers + sum of stride * index registers.
struct Access {
  Storage* storage = nullptr;
  int64_t constant = 0;
  std::vector<std::pair<int, int64_t>> loops;    // loop slot, stride
  std::vector<std::pair<int, int64_t>> indices;  // register computed by the code, stride
  int64_t offset = 0;                            // of the current iteration, without `indices`
};

struct CompiledStatement {
  const Statement* statement = nullptr;
  Loops loops;
  StatementInfo info;
  Storage* target = nullptr;
  std::vector<Instruction> code;
  std::size_t target_code = 0;   // instructions that compute the target's indices, at the start
  std::vector<Access> accesses;  // [0] is the target
  std::vector<Cell> registers;   // loop slots first, then constants and temporaries
  int result = 0;                // register
  bool stores_real = true;
};

using Storages = std::map<std::string, Storage>;

// Loop slots are the places of loops in `loops`, outermost first. The statement must have passed
// Check.
CompiledStatement Compile(const Statement& statement, const Loops& loops, const StatementInfo& info,
                          Storages* storages);

// The value an update of `tensor` starts from, saturated to its type.
Cell InitialCell(double initial, const Storage& storage);
// `value` wrapped to the declared type of an integer or bool tensor; infinities saturate.
int64_t StoreInteger(int64_t value, DType dtype);
double ReadReal(const char* data, int64_t index, DType dtype);
int64_t ReadInteger(const char* data, int64_t index, DType dtype);

}  // namespace tw::leir
