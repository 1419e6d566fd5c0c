// Programs to text. Both forms read back to an equal program.
#pragma once

#include <string>

#include "leir/ast.h"

namespace tw::leir {

// A .leir file: every tensor declared, one nest a line block, references without superscripts.
std::string PrintFile(const Program& program);

// The published form: one line without blanks, dtype and scope on every reference, no declarations.
std::string PrintPublished(const Program& program);

// One expression, with the fewest parentheses that read back to the same tree; no superscripts.
std::string PrintExpr(const Expr& expr);

// target_{indices} = value, as PrintFile writes it.
std::string PrintStatement(const Statement& statement);

// Same tensors, loops, statements and expression trees; locations and the source name do not count.
bool Equal(const Program& a, const Program& b);
bool Equal(const Expr& a, const Expr& b);

std::string_view RoleName(Role role);  // "input"
char ScopeLetter(Scope scope);         // 'g'
char KindLetter(LoopKind kind);        // 'L'

}  // namespace tw::leir
