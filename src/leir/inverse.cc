#include "leir/inverse.h"

#include <algorithm>
#include <optional>

#include "leir/affine.h"

namespace tw::leir {
namespace {

int64_t FloorDiv(int64_t a, int64_t b) {
  return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0);
}

}  // namespace

Inverse::Inverse(const CompiledStatement& statement)
    : statement_(statement),
      used_(statement.loops.size(), false),
      loops_(statement.loops.size(), 0) {
  AffineScope scope;
  std::map<std::string, int> slots;
  for (std::size_t i = 0; i < statement.loops.size(); ++i) {
    scope.AddLoop(statement.loops[i]->index, statement.loops[i]->extent);
    slots[statement.loops[i]->index] = static_cast<int>(i);
  }
  std::vector<int64_t> largest(statement.loops.size(), 0);
  for (const ExprPtr& index : statement.statement->indices) {
    Dimension d;
    d.index = index.get();
    d.coefficients.assign(statement.loops.size(), 0);
    const Affine form = scope.Linearize(*index);
    d.constant = form.constant;
    d.affine = scope.Bound(form).finite();
    for (const auto& [name, coefficient] : form.terms) {
      const auto slot = slots.find(name);
      if (slot == slots.end()) {
        d.affine = false;
        break;
      }
      d.coefficients[slot->second] = coefficient;
      largest[slot->second] = std::max(largest[slot->second], std::abs(coefficient));
    }
    ForEachExpr(*index, [&](const Expr& e) {
      if (e.op == Op::kIndex) used_[slots.at(e.name)] = true;
    });
    dimensions_.push_back(std::move(d));
  }
  for (std::size_t i = 0; i < used_.size(); ++i) {
    if (used_[i]) order_.push_back(static_cast<int>(i));
  }
  std::stable_sort(order_.begin(), order_.end(),
                   [&](int a, int b) { return largest[a] > largest[b]; });
  for (Dimension& d : dimensions_) {
    d.low.assign(order_.size() + 1, 0);
    d.high.assign(order_.size() + 1, 0);
    if (!d.affine) continue;
    for (std::size_t i = order_.size(); i-- > 0;) {
      const int64_t end = d.coefficients[order_[i]] * (statement.loops[order_[i]]->extent - 1);
      d.low[i] = d.low[i + 1] + std::min<int64_t>(end, 0);
      d.high[i] = d.high[i + 1] + std::max<int64_t>(end, 0);
    }
  }
  rest_.resize(dimensions_.size());
  wanted_.resize(dimensions_.size());
}

void Inverse::ForEach(int64_t element,
                      const std::function<bool(const std::vector<int64_t>&)>& visit) {
  const Storage& storage = *statement_.target;
  for (std::size_t i = 0; i < dimensions_.size(); ++i) {
    wanted_[i] = element / storage.strides[i];
    element %= storage.strides[i];
    rest_[i] = wanted_[i] - dimensions_[i].constant;
  }
  Step(0, visit);
}

bool Inverse::Step(std::size_t step,
                   const std::function<bool(const std::vector<int64_t>&)>& visit) {
  if (step == order_.size()) {
    for (std::size_t i = 0; i < dimensions_.size(); ++i) {
      if (dimensions_[i].affine) {
        if (rest_[i] != 0) return true;
      } else if (EvaluateInteger(*dimensions_[i].index, statement_.loops, loops_, {}) !=
                 wanted_[i]) {
        return true;
      }
    }
    return visit(loops_);
  }
  const int slot = order_[step];
  int64_t first = 0, last = statement_.loops[slot]->extent - 1;
  for (std::size_t i = 0; i < dimensions_.size(); ++i) {
    const Dimension& d = dimensions_[i];
    const int64_t c = d.coefficients[slot];
    if (!d.affine || c == 0) continue;
    // low <= rest - c*v <= high, for the loops chosen later.
    const int64_t least = rest_[i] - d.high[step + 1], most = rest_[i] - d.low[step + 1];
    const int64_t from = c > 0 ? -FloorDiv(-least, c) : -FloorDiv(most, -c);
    const int64_t to = c > 0 ? FloorDiv(most, c) : FloorDiv(-least, -c);
    first = std::max(first, from);
    last = std::min(last, to);
  }
  for (int64_t v = first; v <= last; ++v) {
    loops_[slot] = v;
    for (std::size_t i = 0; i < dimensions_.size(); ++i) {
      if (dimensions_[i].affine) rest_[i] -= dimensions_[i].coefficients[slot] * v;
    }
    const bool more = Step(step + 1, visit);
    for (std::size_t i = 0; i < dimensions_.size(); ++i) {
      if (dimensions_[i].affine) rest_[i] += dimensions_[i].coefficients[slot] * v;
    }
    if (!more) return false;
  }
  loops_[slot] = 0;
  return true;
}

std::optional<int64_t> EvaluateInteger(const Expr& expr, const Loops& loops,
                                       const std::vector<int64_t>& values,
                                       const Storages& storages) {
  if (expr.op == Op::kNumber) return expr.is_integer ? std::optional(expr.integer) : std::nullopt;
  if (expr.op == Op::kIndex) {
    for (std::size_t i = 0; i < loops.size(); ++i) {
      if (loops[i]->index == expr.name) return values[i];
    }
    return std::nullopt;
  }
  std::vector<int64_t> operands;
  for (const ExprPtr& operand : expr.operands) {
    const auto value = EvaluateInteger(*operand, loops, values, storages);
    if (!value) return std::nullopt;
    operands.push_back(*value);
  }
  if (expr.op == Op::kLoad) {
    const Storage& storage = storages.at(expr.name);
    if (storage.computed || storage.is_real) return std::nullopt;
    int64_t flat = 0;
    for (std::size_t i = 0; i < operands.size(); ++i) {
      if (operands[i] < 0 || operands[i] >= storage.tensor->shape[i]) return std::nullopt;
      flat += operands[i] * storage.strides[i];
    }
    return ReadInteger(storage.input, flat, storage.tensor->dtype);
  }
  switch (expr.op) {
    case Op::kNegate:
      return MultiplyAdd(0, operands[0], -1);
    case Op::kAdd:
      return MultiplyAdd(operands[0], operands[1], 1);
    case Op::kSub:
      return MultiplyAdd(operands[0], operands[1], -1);
    case Op::kMul:
      return MultiplyAdd(0, operands[0], operands[1]);
    case Op::kFloorDiv:
    case Op::kMod: {
      if (operands[1] <= 0) return std::nullopt;
      const int64_t quotient = FloorDiv(operands[0], operands[1]);
      return expr.op == Op::kFloorDiv ? quotient : operands[0] - quotient * operands[1];
    }
    case Op::kLess:
      return operands[0] < operands[1];
    case Op::kLessEqual:
      return operands[0] <= operands[1];
    case Op::kGreater:
      return operands[0] > operands[1];
    case Op::kGreaterEqual:
      return operands[0] >= operands[1];
    case Op::kEqual:
      return operands[0] == operands[1];
    case Op::kNotEqual:
      return operands[0] != operands[1];
    case Op::kAnd:
      return operands[0] != 0 && operands[1] != 0;
    case Op::kOr:
      return operands[0] != 0 || operands[1] != 0;
    default:
      return std::nullopt;
  }
}

}  // namespace tw::leir
