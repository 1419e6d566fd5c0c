#include "leir/update.h"

#include <limits>

#include "leir/affine.h"
#include "leir/printer.h"
#include "leir/walk.h"

namespace tw::leir {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

bool Reads(const Expr& expr, const std::string& tensor) {
  return expr.op == Op::kLoad && expr.name == tensor;
}

// The operator of the chain that the one read of `tensor` hangs on, as the published lowering
// recognises them, plus the mirrored forms of + and *.
void MatchChain(const Expr& value, const std::string& tensor, StatementInfo* info) {
  const auto set = [&](Update update, double initial) {
    info->update = update;
    info->initial = initial;
  };
  if (value.op == Op::kMax || value.op == Op::kMin) {
    for (const Expr* at = &value; at->op == value.op; at = at->operands[0].get()) {
      if (Reads(*at->operands[0], tensor) || Reads(*at->operands[1], tensor)) {
        return value.op == Op::kMax ? set(Update::kMax, -kInfinity) : set(Update::kMin, kInfinity);
      }
    }
    return;
  }
  const bool sum = value.op == Op::kAdd || value.op == Op::kSub;
  const Op forward = sum ? Op::kAdd : Op::kMul;
  const Op backward = sum ? Op::kSub : Op::kDiv;
  for (const Expr* at = &value; at->op == forward || at->op == backward;
       at = at->operands[0].get()) {
    if (Reads(*at->operands[0], tensor) || (at->op == forward && Reads(*at->operands[1], tensor))) {
      return sum ? set(Update::kSum, 0) : set(Update::kProduct, 1);
    }
  }
  if ((value.op == Op::kDiv || value.op == Op::kFloorDiv || value.op == Op::kMod) &&
      Reads(*value.operands[1], tensor)) {
    set(Update::kOrdered, 1);
  }
}

bool SameIndices(const std::vector<ExprPtr>& a, const std::vector<ExprPtr>& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (!Equal(*a[i], *b[i])) return false;
  }
  return true;
}

// Finds the loop l and k > 0 with read == target shifted by -k in the one dimension that l alone
// indexes.
void MatchShift(const Statement& statement, const Expr& read, StatementInfo* info) {
  if (read.operands.size() != statement.indices.size()) return;
  for (std::size_t i = 0; i < read.operands.size(); ++i) {
    if (Equal(*read.operands[i], *statement.indices[i])) continue;
    AffineScope scope;
    const auto add_loops = [&](const Expr& e) {
      if (e.op == Op::kIndex) scope.AddLoop(e.name, 1 << 20);
    };
    ForEachExpr(*statement.indices[i], add_loops);
    ForEachExpr(*read.operands[i], add_loops);
    Affine difference = scope.Linearize(*statement.indices[i]);
    const auto terms = difference.terms;
    if (!AddScaled(&difference, scope.Linearize(*read.operands[i]), -1)) return;
    const bool shift = difference.terms.empty() && difference.constant > 0;
    if (!shift || terms.size() != 1 || terms.begin()->second != 1 || info->prefix_shift != 0) {
      info->prefix_loop.clear();
      info->prefix_shift = 0;
      return;
    }
    info->prefix_loop = terms.begin()->first;
    info->prefix_shift = difference.constant;
  }
}

}  // namespace

StatementInfo Classify(const Statement& statement) {
  StatementInfo info;
  std::vector<const Expr*> reads;
  ForEachExpr(*statement.value, [&](const Expr& expr) {
    if (Reads(expr, statement.target)) reads.push_back(&expr);
  });
  if (reads.empty()) return info;
  info.update = Update::kOrdered;
  if (reads.size() == 1) MatchChain(*statement.value, statement.target, &info);
  for (const Expr* read : reads) {
    if (SameIndices(read->operands, statement.indices)) continue;
    if (info.initial && reads.size() == 1) MatchShift(statement, *read, &info);
    if (info.prefix_shift == 0) info.initial.reset();
    info.update = Update::kPrefix;
  }
  return info;
}

}  // namespace tw::leir
