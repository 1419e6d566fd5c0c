// How much a program computes, from its loops alone.
#pragma once

#include <cstdint>

#include "leir/ast.h"

namespace tw::leir {

// Statement executions of one run of the whole program; stops at the largest int64.
int64_t CountStatements(const Program& program);

// The longest chain of accumulations behind an output element, for error bounds that grow with it:
// over the statements that a value depends on, one after the other, the extents of the axes that a
// sum, product or other order-dependent update runs over are multiplied within a statement and
// added along the chain. Maxima and minima round nothing and count nothing. At least 1.
int64_t ReductionLength(const Program& program);

}  // namespace tw::leir
