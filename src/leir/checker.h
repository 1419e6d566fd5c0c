// What a program must satisfy beyond its grammar, and what its statements mean.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "leir/ast.h"

namespace tw::leir {

// How a statement uses the old value of its target.
enum class Update {
  kNone,     // does not read it
  kSum,      // X + ..., X - ..., ... + X
  kProduct,  // X * ..., X / ..., ... * X
  kMax,      // max(X, ...)
  kMin,      // min(X, ...)
  kOrdered,  // reads the same element in another way (a select, a quotient): the order of
             // iterations counts
  kPrefix,   // reads other elements of its target: the loops must run in order
};

struct StatementInfo {
  Update update = Update::kNone;
  // No earlier statement writes the target and it is not an input (by name, in program order). An
  // update then starts from `initial`.
  bool first_write = false;
  std::optional<double>
      initial;  // set when first_write and not kNone, unless every old value read is guarded
  // Loops around the statement whose index the target does not use, outermost first. For an update,
  // its reduction axes; for kNone, loops that only repeat the same assignment.
  std::vector<std::string> reduction;
  // kPrefix without a guard, X_{a} = X_{a-k} + ...: old values are `initial` where `prefix_loop` <
  // k.
  std::string prefix_loop;
  int64_t prefix_shift = 0;
};

// A program that passed; statements[i] belongs to the i-th statement of ForEachStatement (walk.h).
struct CheckedProgram {
  Program program;
  std::vector<StatementInfo> statements;
};

// Checks, in this order, statement by statement:
// - every tensor is known, with as many indices as dimensions; inputs are not written;
// - every index is inside its tensor for all iterations, given the conditions of the enclosing
//   if_then_else (a gathered index is checked when it runs);
// - no arithmetic on bool (mask * number is allowed), no integer // or % whose divisor may be 0;
// - an update has a first value; no tensor is read before something writes it;
// - two iterations that write the same element write the same value or are an update of it;
// - P and V loops are not reduction or prefix axes; B loops name an axis;
// and then that every tensor is written, outputs wholly. Errors are kUsage with file, line and
// column.
Result<CheckedProgram> Check(Program program);

std::string_view UpdateName(Update update);  // "sum"

}  // namespace tw::leir
