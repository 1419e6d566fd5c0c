// Visitors over programs and expressions.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "leir/ast.h"

namespace tw::leir {

// Calls `visit` for `expr` and every expression below it, parents first.
template <typename Visit>
void ForEachExpr(const Expr& expr, Visit&& visit) {
  visit(expr);
  for (const ExprPtr& operand : expr.operands) ForEachExpr(*operand, visit);
}

// The loops around a statement, outermost first.
using Loops = std::vector<const Loop*>;

namespace internal {
template <typename Visit>
void VisitNest(const Nest& nest, Loops* loops, int* ordinal, Visit& visit) {
  for (const Loop& loop : nest.loops) loops->push_back(&loop);
  for (const Item& item : nest.body) {
    if (const auto* statement = std::get_if<Statement>(&item)) {
      visit(*statement, static_cast<const Loops&>(*loops), (*ordinal)++);
    } else {
      VisitNest(*std::get<std::shared_ptr<const Nest>>(item), loops, ordinal, visit);
    }
  }
  loops->resize(loops->size() - nest.loops.size());
}
}  // namespace internal

// Calls `visit(statement, loops, ordinal)` in program order; the ordinal counts statements of the
// whole program from 0 and is the statement's place in CheckedProgram::statements.
template <typename Visit>
void ForEachStatement(const Program& program, Visit&& visit) {
  Loops loops;
  int ordinal = 0;
  for (const Nest& nest : program.nests) internal::VisitNest(nest, &loops, &ordinal, visit);
}

}  // namespace tw::leir
