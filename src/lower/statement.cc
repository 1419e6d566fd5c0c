#include "lower/statement.h"

#include <algorithm>
#include <set>

#include "leir/printer.h"
#include "lower/expression.h"

namespace tw::lower {
namespace {

using leir::Expr;
using leir::Op;
using leir::Update;

bool Uses(const Expr& expr, const std::string& index) {
  bool uses = false;
  leir::ForEachExpr(expr, [&](const Expr& e) { uses |= e.op == Op::kIndex && e.name == index; });
  return uses;
}

bool SameIndices(const Expr& load, const leir::Statement& statement) {
  if (load.operands.size() != statement.indices.size()) return false;
  for (std::size_t i = 0; i < load.operands.size(); ++i) {
    if (!leir::Equal(*load.operands[i], *statement.indices[i])) return false;
  }
  return true;
}

// Loops along which the statement reads other elements of its own target.
std::set<std::string> PrefixLoops(const leir::Statement& statement, const leir::Loops& loops) {
  std::set<std::string> found;
  leir::ForEachExpr(*statement.value, [&](const Expr& e) {
    if (e.op != Op::kLoad || e.name != statement.target) return;
    for (std::size_t d = 0; d < e.operands.size(); ++d) {
      if (leir::Equal(*e.operands[d], *statement.indices[d])) continue;
      for (const leir::Loop* loop : loops) {
        if (Uses(*e.operands[d], loop->index) || Uses(*statement.indices[d], loop->index)) {
          found.insert(loop->index);
        }
      }
    }
  });
  return found;
}

// X + rest for rest + X: reduction patterns of TVM have the old value first.
leir::ExprPtr OldValueFirst(const leir::Statement& statement, Update update) {
  const Expr& value = *statement.value;
  const bool commutes = (update == Update::kSum && value.op == Op::kAdd) ||
                        (update == Update::kProduct && value.op == Op::kMul) ||
                        (update == Update::kMax && value.op == Op::kMax) ||
                        (update == Update::kMin && value.op == Op::kMin);
  if (!commutes || value.operands.size() != 2) return statement.value;
  auto is_old = [&](const Expr& e) { return e.op == Op::kLoad && e.name == statement.target; };
  if (is_old(*value.operands[0]) || !is_old(*value.operands[1])) return statement.value;
  Expr swapped = value;
  std::swap(swapped.operands[0], swapped.operands[1]);
  return std::make_shared<const Expr>(std::move(swapped));
}

// The regions a statement reads: a point for each load; all of a dimension that another tensor
// indexes.
List ReadRegions(const leir::Statement& statement, bool with_target, const Environment& env,
                 const ProgramContext& context) {
  List regions;
  std::set<std::string> seen;
  auto add = [&](const Expr& load) {
    if (load.op != Op::kLoad || (load.name == statement.target && !with_target)) return;
    if (!seen.insert(leir::PrintExpr(load)).second) return;
    const leir::Tensor* tensor = context.program->Find(load.name);
    List ranges;
    for (std::size_t d = 0; d < load.operands.size(); ++d) {
      bool gathered = false;
      leir::ForEachExpr(*load.operands[d], [&](const Expr& e) { gathered |= e.op == Op::kLoad; });
      ranges.push_back(gathered ? WholeRange(tensor->shape[d], context.index)
                                : PointRange(IndexOf(*load.operands[d], env), context.index));
    }
    regions.push_back(Region(context.buffers.at(load.name), ranges));
  };
  leir::ForEachExpr(*statement.value, add);
  for (const leir::ExprPtr& index : statement.indices) leir::ForEachExpr(*index, add);
  return regions;
}

Any InitialValue(double value, DType type) {
  Expr number;
  const bool infinite = value > 1e300 || value < -1e300;
  if (infinite) {
    number.op = Op::kInfinity;
  } else {
    number.op = Op::kNumber;
    number.number = value;
  }
  Environment none;
  none.target = none.real = type;
  if (!infinite || value > 0) return ValueOf(number, type, none);
  Expr negative;
  negative.op = Op::kNegate;
  negative.operands = {std::make_shared<const Expr>(number)};
  return ValueOf(negative, type, none);
}

}  // namespace

StatementBlock MakeBlock(const leir::Statement& statement, const leir::StatementInfo& info,
                         const leir::Loops& loops, const std::string& name,
                         const ProgramContext& context) {
  const DType type = context.program->Find(statement.target)->dtype;
  const std::set<std::string> reduction(info.reduction.begin(), info.reduction.end());
  std::set<std::string> ordered = PrefixLoops(statement, loops);
  if (info.update == Update::kOrdered || info.update == Update::kPrefix) {
    ordered.insert(reduction.begin(), reduction.end());
  }

  Environment env;
  env.index = context.index;
  SetTypes(statement, *context.program, &env);
  env.buffers = &context.buffers;
  env.program = context.program;
  StatementBlock result;
  List axes;
  bool reduces = false;
  for (const leir::Loop* loop : loops) {
    const bool is_reduction = reduction.contains(loop->index);
    if (is_reduction && info.update == Update::kNone) {
      // Every iteration assigns the same value; the first one stands for all.
      env.variables[loop->index] = Integer(context.index, 0);
      continue;
    }
    const Any variable = Variable("v_" + loop->index, context.index);
    const Axis kind = !ordered.empty() ? Axis::kOrdered
                      : is_reduction   ? Axis::kReduction
                                       : Axis::kSpatial;
    reduces |= kind == Axis::kReduction;
    env.variables[loop->index] = variable;
    axes.push_back(BlockAxis(variable, loop->extent, kind, context.index));
    result.loops.push_back(loop);
  }

  // The initial value: an init of the block when it reduces, else in place of the old value itself.
  const bool starts = info.first_write && info.initial.has_value();
  const bool as_init = starts && reduces && ordered.empty();
  if (starts && !as_init) {
    const Any initial = InitialValue(*info.initial, type);
    env.replace_load = [&, initial](const Expr& load, const Any& usual) -> Any {
      if (load.name != statement.target) return usual;
      if (!info.prefix_loop.empty()) {
        return IfThenElse(Binary("prim._OpGE", env.variables.at(info.prefix_loop),
                                 Integer(context.index, info.prefix_shift)),
                          usual, initial);
      }
      // First iteration of all reduction axes; with none the old value is never there.
      Any later = Integer(DType::kBool, 0);
      for (const std::string& axis : info.reduction) {
        later = Binary("prim._OpOr", later,
                       Binary("prim._OpGT", env.variables.at(axis), Integer(context.index, 0)));
      }
      return info.reduction.empty() && SameIndices(load, statement)
                 ? initial
                 : IfThenElse(later, usual, initial);
    };
  }

  List indices, ranges;
  for (const leir::ExprPtr& index : statement.indices) indices.push_back(IndexOf(*index, env));
  for (const Any& index : indices) ranges.push_back(PointRange(index, context.index));
  const Any buffer = context.buffers.at(statement.target);
  const Any value = ValueOf(*OldValueFirst(statement, info.update), type, env);
  // A reduction with an init does not list its own target among its reads; TVM's blocks are the
  // same.
  const List reads = ReadRegions(statement, /*with_target=*/!as_init, env, context);
  result.block =
      Block(name, axes, reads, List{Region(buffer, ranges)}, Store(buffer, value, indices),
            as_init ? Store(buffer, InitialValue(*info.initial, type), indices) : Any(), List());
  return result;
}

}  // namespace tw::lower
