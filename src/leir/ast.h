// LEIR abstract syntax: a flat sequence of loop nests over declared tensors.
// A Program is a value; expressions are immutable trees that copies share.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "base/dtype.h"

namespace tw::leir {

// Where a construct stands in the text it was read from; line 0 means "made by a program".
struct Location {
  int line = 0;
  int column = 0;
};

enum class Role { kInput, kConstant, kParameter, kOutput, kTemporary };
enum class Scope { kGlobal, kShared, kLocal };                               // g s l
enum class LoopKind { kSerial, kParallel, kVectorized, kUnrolled, kBound };  // L P V U B

// A tensor. Arguments are declared in a file (or side information); temporaries are inferred from
// writes.
struct Tensor {
  std::string name;
  DType dtype = DType::kF32;
  Scope scope = Scope::kGlobal;
  Role role = Role::kTemporary;
  std::vector<int64_t> shape;
  Location location;
};

struct Expr;
using ExprPtr = std::shared_ptr<const Expr>;

enum class Op {
  // leaves
  kNumber,  // `number` >= 0; also `integer` when `is_integer`
  kInfinity,
  kIndex,  // loop index `name` used as a value or in an index
  kLoad,   // tensor `name` at `operands` (indices)
  // unary
  kNegate,
  kExp,
  kLog,
  kSqrt,
  kAbs,
  kErf,
  // binary
  kAdd,
  kSub,
  kMul,
  kDiv,
  kFloorDiv,
  kMod,
  kPower,
  kMax,
  kMin,
  kLess,
  kLessEqual,
  kGreater,
  kGreaterEqual,
  kEqual,
  kNotEqual,
  kAnd,
  kOr,
  // ternary: condition, then, otherwise; the branch that is not taken is not evaluated
  kSelect,
};

struct Expr {
  Op op = Op::kNumber;
  double number = 0;        // kNumber
  int64_t integer = 0;      // kNumber when is_integer
  bool is_integer = false;  // written without '.' and exponent
  std::string name;         // kIndex: index name; kLoad: tensor name
  std::vector<ExprPtr> operands;
  Location location;
};

// tensor[indices] = value. When `value` reads the target it is an update (see checker.h for its
// kind).
struct Statement {
  std::string target;
  std::vector<ExprPtr> indices;
  ExprPtr value;
  Location location;
};

struct Loop {
  LoopKind kind = LoopKind::kSerial;
  int64_t extent = 1;
  std::string index;
  Location location;
};

struct Nest;
using Item = std::variant<Statement, std::shared_ptr<const Nest>>;

// loops, outermost first, around a body of statements and inner nests.
struct Nest {
  std::vector<Loop> loops;
  std::vector<Item> body;
  Location location;
};

struct Program {
  std::vector<Tensor> tensors;  // arguments in declaration order, then temporaries by first mention
  std::vector<Nest> nests;
  std::string source;  // file name for messages; not part of equality

  const Tensor* Find(const std::string& name) const {
    for (const Tensor& t : tensors) {
      if (t.name == name) return &t;
    }
    return nullptr;
  }
};

}  // namespace tw::leir
