#include "leir/shapes.h"

#include <algorithm>
#include <optional>

#include "leir/affine.h"
#include "leir/location.h"
#include "leir/printer.h"
#include "leir/walk.h"

namespace tw::leir {
namespace {

Status Widen(const std::string& source, const Statement& statement, const Loops& loops, bool first,
             std::vector<int64_t>* shape) {
  if (!first && shape->size() != statement.indices.size()) {
    return ErrorAt(
        source, statement.location,
        "{} is written with {} indices here and {} before; use the same number everywhere",
        statement.target, statement.indices.size(), shape->size());
  }
  shape->resize(statement.indices.size(), 0);
  AffineScope scope;
  for (const Loop* loop : loops) scope.AddLoop(loop->index, loop->extent);
  for (std::size_t i = 0; i < shape->size(); ++i) {
    const Interval bound = scope.Bound(scope.Linearize(*statement.indices[i]));
    if (!bound.finite() || bound.hi >= kMaxElements) {
      return ErrorAt(source, statement.indices[i]->location,
                     "the index `{}` of the target {} cannot be bounded, so its shape is unknown; "
                     "declare {} in a `temp` line or write a simpler index",
                     PrintExpr(*statement.indices[i]), statement.target, statement.target);
    }
    (*shape)[i] = std::max((*shape)[i], bound.hi + 1);
  }
  return Ok();
}

}  // namespace

Status InferShapes(Program* program, const std::set<std::string>& declared) {
  for (Tensor& tensor : program->tensors) {
    if (tensor.role != Role::kTemporary || declared.contains(tensor.name)) continue;
    bool written = false;
    std::optional<Error> error;
    tensor.shape.clear();
    ForEachStatement(*program, [&](const Statement& statement, const Loops& loops, int) {
      if (statement.target != tensor.name || error) return;
      Status status = Widen(program->source, statement, loops, !written, &tensor.shape);
      if (!status.ok()) error = status.error();
      written = true;
    });
    if (error) return *error;
    if (!written) {
      return ErrorAt(program->source, tensor.location,
                     "{} is read but nothing writes it and it is not an input; write it first or "
                     "declare it as an input",
                     tensor.name);
    }
    int64_t elements = 1;
    for (int64_t extent : tensor.shape) {
      if (__builtin_mul_overflow(elements, extent, &elements) || elements > kMaxElements) {
        return ErrorAt(program->source, tensor.location, "{} would have more than 2^40 elements",
                       tensor.name);
      }
    }
  }
  return Ok();
}

}  // namespace tw::leir
