// Shapes of the temporaries, which LEIR texts do not state.
#pragma once

#include <set>
#include <string>

#include "base/result.h"
#include "leir/ast.h"

namespace tw::leir {

// Largest number of elements of one tensor; keeps every size and offset far inside 64 bits.
inline constexpr int64_t kMaxElements = int64_t{1} << 40;

// Gives every temporary not named in `declared` the shape that its writes span: per dimension, the
// largest index written plus one. Errors are kUsage: a temporary that nothing writes, writes of
// different ranks, an index that cannot be bounded, more than kMaxElements.
Status InferShapes(Program* program, const std::set<std::string>& declared = {});

}  // namespace tw::leir
