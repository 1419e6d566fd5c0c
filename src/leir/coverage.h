// Which elements of a tensor the statements of a program write.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "leir/affine.h"
#include "leir/ast.h"
#include "leir/walk.h"

namespace tw::leir {

// One statement that writes the tensor.
struct Write {
  const Statement* statement = nullptr;
  Loops loops;
};

// An element of a tensor of `shape` that none of `writes` writes, or nullopt when all are written.
// Exact. Indices must be inside the shape. Errors are kUsage: indices so irregular that more than
// 2^22 iterations would have to be enumerated.
Result<std::optional<std::vector<int64_t>>> FindUnwritten(const std::vector<int64_t>& shape,
                                                          const std::vector<Write>& writes,
                                                          const std::string& source);

// Why iterations of `write` can give one element different values, or nullopt. `update`: the
// statement updates its target, so only the loops that its indices use must be told apart by the
// element.
std::optional<std::string> FindConflict(const Write& write, bool update);

}  // namespace tw::leir
