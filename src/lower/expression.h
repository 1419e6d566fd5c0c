// LEIR expressions to TIR. An operation on integers, indices and integer numbers is one on integers
// unless it is `/`; else it is done in the widest floating type of its operands and the statement's
// target. A target in f32 thus sums products of f16 in f32, and an i32 one products of i8 in i32.
// Numbers take the type of what they meet.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "leir/ast.h"
#include "lower/nodes.h"

namespace tw::lower {

// What the expressions of one statement refer to.
struct Environment {
  DType index = DType::kI32;             // type of loop variables
  DType target = DType::kF32;            // of the statement
  DType real = DType::kF32;              // where a float is wanted and no operand is one
  DType integer = DType::kI32;           // of operations on integers that were loaded
  std::map<std::string, Any> variables;  // loop index -> block variable
  const std::map<std::string, Any>* buffers = nullptr;
  const leir::Program* program = nullptr;
  // Replaces loads where it returns something that is defined (initial values of prefix forms).
  std::function<Any(const leir::Expr& load, const Any& usual)> replace_load;
};

// The expression as a value of type `type`.
Any ValueOf(const leir::Expr& expr, DType type, const Environment& environment);
// The expression as an index.
Any IndexOf(const leir::Expr& expr, const Environment& environment);

// Fills the types of an environment for a statement. `real` is the widest floating type among the
// target and the loads, f64 when there is none (true division then happens in double precision, as
// in the interpreter). `integer` has at least 32 bits and those of a target that is an integer; for
// other targets 64 bits where a load has more than 16. The interpreter calculates in 64 bits
// throughout: they agree while no part of a value leaves `integer`, and for sums and products that
// a narrower target wraps anyway.
void SetTypes(const leir::Statement& statement, const leir::Program& program,
              Environment* environment);

}  // namespace tw::lower
