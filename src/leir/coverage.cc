#include "leir/coverage.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "leir/location.h"

namespace tw::leir {
namespace {

constexpr int64_t kMaxEnumerated = int64_t{1} << 22;

using Values = std::map<std::string, int64_t>;
using Intervals = std::vector<Interval>;  // sorted, disjoint, not touching

// Sums and products wrap: a bounded index has the right value even where a part of it overflows.
int64_t EvaluateIndex(const Expr& expr, const Values& loops) {
  const auto operand = [&](int i) { return EvaluateIndex(*expr.operands[i], loops); };
  switch (expr.op) {
    case Op::kNumber:
      return expr.integer;
    case Op::kIndex:
      return loops.at(expr.name);
    case Op::kAdd:
      return static_cast<int64_t>(static_cast<uint64_t>(operand(0)) + operand(1));
    case Op::kSub:
      return static_cast<int64_t>(static_cast<uint64_t>(operand(0)) - operand(1));
    case Op::kMul:
      return static_cast<int64_t>(static_cast<uint64_t>(operand(0)) * operand(1));
    default: {
      const int64_t a = operand(0), b = operand(1);
      const int64_t remainder = ((a % b) + b) % b;
      return expr.op == Op::kMod ? remainder : (a - remainder) / b;
    }
  }
}

std::set<std::string> LoopsOf(const Expr& expr) {
  std::set<std::string> names;
  ForEachExpr(expr, [&](const Expr& e) {
    if (e.op == Op::kIndex) names.insert(e.name);
  });
  return names;
}

// The interval a single index runs over without gaps, if it does.
std::optional<Interval> Contiguous(const Expr& index, const Loops& loops) {
  AffineScope scope;
  for (const Loop* loop : loops) scope.AddLoop(loop->index, loop->extent);
  const Affine form = scope.Linearize(index);
  std::vector<std::pair<int64_t, int64_t>> terms;  // |coefficient|, largest value of the loop
  for (const auto& [atom, coefficient] : form.terms) {
    const Atom& a = scope.atoms().at(atom);
    if (a.kind != Atom::Kind::kLoop) return std::nullopt;
    if (a.range.hi > 0) terms.emplace_back(std::abs(coefficient), a.range.hi);
  }
  std::sort(terms.begin(), terms.end());
  int64_t reach = 0;
  for (const auto& [coefficient, largest] : terms) {
    if (coefficient > reach + 1) return std::nullopt;
    reach += coefficient * largest;
  }
  return scope.Bound(form);
}

// Dimensions whose indices share loops in some write, joined; each dimension maps to a group's
// number.
std::vector<int> Group(std::size_t rank, const std::vector<Write>& writes) {
  std::vector<int> group(rank);
  std::iota(group.begin(), group.end(), 0);
  for (const Write& write : writes) {
    std::map<std::string, std::size_t> seen;
    for (std::size_t d = 0; d < rank; ++d) {
      for (const std::string& loop : LoopsOf(*write.statement->indices[d])) {
        const auto [other, fresh] = seen.emplace(loop, d);
        if (fresh) continue;
        const int from = group[d], to = group[other->second];
        for (int& g : group) g = g == from ? to : g;
      }
    }
  }
  return group;
}

class Projection {
 public:
  Projection(const std::vector<int64_t>& shape, std::vector<std::size_t> dimensions)
      : dimensions_(std::move(dimensions)) {
    for (std::size_t d : dimensions_) extents_.push_back(shape[d]);
  }

  // What one write covers of these dimensions, as flat positions.
  Result<Intervals> Covered(const Write& write, const std::string& source) const {
    const auto& indices = write.statement->indices;
    if (dimensions_.size() == 1) {
      if (const auto range = Contiguous(*indices[dimensions_[0]], write.loops)) {
        return Intervals{*range};
      }
    }
    std::set<std::string> used;
    for (std::size_t d : dimensions_) used.merge(LoopsOf(*indices[d]));
    std::vector<const Loop*> loops;
    int64_t iterations = 1;
    for (const Loop* loop : write.loops) {
      if (!used.contains(loop->index)) continue;
      loops.push_back(loop);
      if (__builtin_mul_overflow(iterations, loop->extent, &iterations) ||
          iterations > kMaxEnumerated) {
        return ErrorAt(source, write.statement->location,
                       "it cannot be shown which elements of {} this writes: the indices are not "
                       "affine and have more than 2^22 values; write simpler indices",
                       write.statement->target);
      }
    }
    std::vector<int64_t> positions;
    positions.reserve(iterations);
    Values values;
    for (int64_t i = 0; i < iterations; ++i) {
      int64_t rest = i;
      for (const Loop* loop : loops) {
        values[loop->index] = rest % loop->extent;
        rest /= loop->extent;
      }
      int64_t flat = 0;
      for (std::size_t k = 0; k < dimensions_.size(); ++k) {
        flat = flat * extents_[k] + EvaluateIndex(*indices[dimensions_[k]], values);
      }
      positions.push_back(flat);
    }
    std::sort(positions.begin(), positions.end());
    Intervals covered;
    for (int64_t position : positions) {
      if (!covered.empty() && position <= covered.back().hi + 1) {
        covered.back().hi = position;
      } else {
        covered.push_back({position, position});
      }
    }
    return covered;
  }

  int64_t size() const {
    return std::accumulate(extents_.begin(), extents_.end(), int64_t{1}, std::multiplies<>());
  }
  void Unflatten(int64_t position, std::vector<int64_t>* index) const {
    for (std::size_t k = dimensions_.size(); k-- > 0;) {
      (*index)[dimensions_[k]] = position % extents_[k];
      position /= extents_[k];
    }
  }

 private:
  std::vector<std::size_t> dimensions_;
  std::vector<int64_t> extents_;
};

// Positions of one projection that the same writes cover, by one example.
using Cells = std::map<std::vector<bool>, int64_t>;

Cells MakeCells(int64_t size, const std::vector<Intervals>& covered) {
  std::map<int64_t, std::vector<std::size_t>>
      toggles;  // position -> writes that begin or end there
  toggles[0];
  for (std::size_t w = 0; w < covered.size(); ++w) {
    for (const Interval& interval : covered[w]) {
      toggles[interval.lo].push_back(w);
      toggles[interval.hi + 1].push_back(w);
    }
  }
  Cells cells;
  std::vector<bool> inside(covered.size(), false);
  for (const auto& [position, writes] : toggles) {
    if (position >= size) break;
    for (std::size_t w : writes) inside[w] = !inside[w];
    cells.emplace(inside, position);
  }
  return cells;
}

// Searches the product of cells for a combination that no write covers in every projection.
bool FindHole(const std::vector<Cells>& cells, std::size_t at, const std::vector<bool>& alive,
              std::vector<int64_t>* example) {
  if (std::find(alive.begin(), alive.end(), true) == alive.end()) {
    for (std::size_t i = at; i < cells.size(); ++i) (*example)[i] = cells[i].begin()->second;
    return true;
  }
  if (at == cells.size()) return false;
  for (const auto& [inside, position] : cells[at]) {
    std::vector<bool> still = alive;
    for (std::size_t w = 0; w < still.size(); ++w) still[w] = still[w] && inside[w];
    (*example)[at] = position;
    if (FindHole(cells, at + 1, still, example)) return true;
  }
  return false;
}

}  // namespace

Result<std::optional<std::vector<int64_t>>> FindUnwritten(const std::vector<int64_t>& shape,
                                                          const std::vector<Write>& writes,
                                                          const std::string& source) {
  std::vector<int64_t> index(shape.size(), 0);
  if (writes.empty()) return std::optional(index);
  const std::vector<int> group = Group(shape.size(), writes);
  std::vector<Projection> projections;
  std::vector<Cells> cells;
  for (std::size_t first = 0; first < shape.size(); ++first) {
    if (std::find(group.begin(), group.begin() + first, group[first]) != group.begin() + first) {
      continue;
    }
    std::vector<std::size_t> dimensions;
    for (std::size_t d = first; d < shape.size(); ++d) {
      if (group[d] == group[first]) dimensions.push_back(d);
    }
    Projection projection(shape, std::move(dimensions));
    std::vector<Intervals> covered;
    for (const Write& write : writes) {
      TW_TRY(Intervals one, projection.Covered(write, source));
      covered.push_back(std::move(one));
    }
    cells.push_back(MakeCells(projection.size(), covered));
    projections.push_back(std::move(projection));
  }
  std::vector<int64_t> example(cells.size(), 0);
  if (!FindHole(cells, 0, std::vector<bool>(writes.size(), true), &example)) {
    return std::optional<std::vector<int64_t>>();
  }
  for (std::size_t i = 0; i < projections.size(); ++i) projections[i].Unflatten(example[i], &index);
  return std::optional(index);
}

}  // namespace tw::leir
