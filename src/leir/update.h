// Classification of updates: which operator accumulates, from which first value.
#pragma once

#include "leir/checker.h"

namespace tw::leir {

// update, initial, prefix_loop and prefix_shift of a statement; `initial` as if it were a first
// write.
StatementInfo Classify(const Statement& statement);

}  // namespace tw::leir
