// Taking a nest of several statements apart.
#pragma once

#include <vector>

#include "leir/checker.h"
#include "leir/walk.h"

namespace tw::lower {

// A statement of a nest with all loops around it.
struct NestStatement {
  const leir::Statement* statement = nullptr;
  const leir::StatementInfo* info = nullptr;
  leir::Loops loops;
};

// True when every statement of the nest may have its own nest, in the same order: no value flows
// backwards in the text, no two write one tensor, and what flows forwards is final when it is read.
// Conservative: false says nothing.
bool CanSplit(const std::vector<NestStatement>& statements);

}  // namespace tw::lower
