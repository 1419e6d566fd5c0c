#include "lower/split.h"

#include <algorithm>

#include "leir/printer.h"

namespace tw::lower {
namespace {

using leir::Statement;

bool Reads(const Statement& s, const std::string& tensor) {
  bool reads = false;
  auto look = [&](const leir::Expr& e) { reads |= e.op == leir::Op::kLoad && e.name == tensor; };
  leir::ForEachExpr(*s.value, look);
  return reads;
}

// True when every load of first's target in `second` has the indices that `first` writes.
bool ReadsOnlyWhatWasJustWritten(const Statement& second, const Statement& first) {
  bool same = true;
  leir::ForEachExpr(*second.value, [&](const leir::Expr& e) {
    if (e.op != leir::Op::kLoad || e.name != first.target) return;
    for (std::size_t d = 0; d < e.operands.size(); ++d) {
      same &= leir::Equal(*e.operands[d], *first.indices[d]);
    }
  });
  return same;
}

// An update is final for its reader when all its reduction loops have ended by then: each loop that
// the two share is an index of its own in the target, so that no other turn of it touches the
// element.
bool IsFinal(const NestStatement& first, const NestStatement& second) {
  if (first.info->update == leir::Update::kNone) return true;
  if (first.info->update == leir::Update::kPrefix) return false;
  return std::all_of(first.loops.begin(), first.loops.end(), [&](const leir::Loop* loop) {
    const auto& shared = second.loops;
    if (std::find(shared.begin(), shared.end(), loop) == shared.end()) return true;
    const auto& indices = first.statement->indices;
    return std::any_of(indices.begin(), indices.end(), [&](const leir::ExprPtr& index) {
      return index->op == leir::Op::kIndex && index->name == loop->index;
    });
  });
}

}  // namespace

bool CanSplit(const std::vector<NestStatement>& statements) {
  for (std::size_t i = 0; i < statements.size(); ++i) {
    for (std::size_t j = i + 1; j < statements.size(); ++j) {
      const Statement& first = *statements[i].statement;
      const Statement& second = *statements[j].statement;
      if (first.target == second.target || Reads(first, second.target)) return false;
      if (!Reads(second, first.target)) continue;
      if (!IsFinal(statements[i], statements[j])) return false;
      if (!ReadsOnlyWhatWasJustWritten(second, first)) return false;
    }
  }
  return true;
}

}  // namespace tw::lower
