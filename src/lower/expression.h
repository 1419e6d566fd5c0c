// LEIR expressions to TIR, typed as docs/leir.md says: integer operations on integers, everything
// else in the widest floating type of the statement.
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
  DType real = DType::kF32;              // widest floating type of the statement
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

// The widest floating type among the target and the loads; f64 when there is none (true division
// then happens in double precision, as in the interpreter).
DType RealType(const leir::Statement& statement, const leir::Program& program);

}  // namespace tw::lower
