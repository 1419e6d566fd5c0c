#include "leir/slice.h"

#include <algorithm>

#include "leir/printer.h"

namespace tw::leir {
namespace {

bool ReadsOwnElement(const Expr& load, const Statement& statement) {
  if (load.name != statement.target || load.operands.size() != statement.indices.size())
    return false;
  return std::equal(load.operands.begin(), load.operands.end(), statement.indices.begin(),
                    [](const ExprPtr& a, const ExprPtr& b) { return Equal(*a, *b); });
}

void CollectLoops(const ReadNode& node, std::set<std::string>* names) {
  const auto collect = [&](const Expr& expr) {
    ForEachExpr(expr, [&](const Expr& e) {
      if (e.op == Op::kIndex) names->insert(e.name);
    });
  };
  if (node.expr != nullptr && node.expr->op == Op::kLoad) collect(*node.expr);
  if (node.expr != nullptr && node.expr->op == Op::kSelect) collect(*node.expr->operands[0]);
  for (const ReadNode& child : node.children) CollectLoops(child, names);
}

// Takes the iteration `next` into the stretch when it is one further along one loop.
bool Extend(const std::vector<int64_t>& next, Machine::Stretch* stretch) {
  if (stretch->start.size() != next.size()) return false;
  int moved = -1;
  for (std::size_t slot = 0; slot < next.size(); ++slot) {
    if (next[slot] == stretch->start[slot]) continue;
    if (moved >= 0 || next[slot] != stretch->start[slot] + stretch->count) return false;
    moved = static_cast<int>(slot);
  }
  if (moved < 0 || (stretch->count > 1 && moved != stretch->slot)) return false;
  stretch->slot = moved;
  ++stretch->count;
  return true;
}

}  // namespace

Slice::Slice(std::vector<CompiledStatement>* statements, std::vector<int> nest_of, int nests,
             Storages* storages)
    : storages_(*storages), nests_(nests), generation_(nests) {
  for (std::size_t i = 0; i < statements->size(); ++i) {
    CompiledStatement& statement = (*statements)[i];
    Path path{&statement,
              nest_of[i],
              Inverse(statement),
              FindReads(*statement.statement->value, statement),
              {},
              {},
              0};
    std::set<std::string> names;
    CollectLoops(path.reads, &names);
    for (std::size_t slot = 0; slot < statement.loops.size(); ++slot) {
      if (path.inverse.used()[slot]) continue;
      path.free_loops.push_back(static_cast<int>(slot));
      if (names.contains(statement.loops[slot]->index)) {
        path.read_loops.push_back(static_cast<int>(slot));
      }
    }
    paths_.push_back(std::move(path));
  }
}

bool Slice::Allocate() {
  for (const auto& [name, storage] : storages_) {
    if (!storage.computed) continue;
    Marks& marks = marks_[&storage];
    marks.generation.reset(static_cast<int32_t*>(
        std::calloc(static_cast<std::size_t>(storage.elements), sizeof(int32_t))));
    if (marks.generation == nullptr) return false;
  }
  return true;
}

void Slice::Request(const Storage& storage, int64_t element) {
  generation_ = nests_;
  Mark(storage, element);
}

void Slice::Mark(const Storage& storage, int64_t element) {
  Marks& marks = marks_.at(&storage);
  if (marks.generation[element] != 0) return;
  marks.generation[element] = generation_;
  marks.elements.push_back(element);
}

ReadNode Slice::FindReads(const Expr& expr, const CompiledStatement& statement) const {
  ReadNode node;
  const bool select = expr.op == Op::kSelect;
  bool found = false;
  for (const ExprPtr& operand : expr.operands) {
    ReadNode child = FindReads(*operand, statement);
    const bool reads = child.expr != nullptr || !child.children.empty();
    found = found || reads;
    if (select || reads) node.children.push_back(std::move(child));
  }
  const bool computed = expr.op == Op::kLoad && storages_.at(expr.name).computed &&
                        !ReadsOwnElement(expr, *statement.statement);
  if (computed || (select && found)) node.expr = &expr;
  if (!found) node.children.clear();
  return node;
}

void Slice::MarkLoad(const Expr& load, const Path& path, const std::vector<int64_t>& loops) {
  const Storage& storage = storages_.at(load.name);
  // Flat positions so far; an index that is not known yet, since it is gathered, takes all values.
  std::vector<int64_t> positions{0};
  for (std::size_t i = 0; i < load.operands.size(); ++i) {
    const int64_t extent = storage.tensor->shape[i];
    const auto value = EvaluateInteger(*load.operands[i], path.statement->loops, loops, storages_);
    if (value && (*value < 0 || *value >= extent)) return;
    if (value) {
      for (int64_t& position : positions) position += *value * storage.strides[i];
      continue;
    }
    std::vector<int64_t> all;
    for (int64_t position : positions) {
      for (int64_t v = 0; v < extent; ++v) all.push_back(position + v * storage.strides[i]);
    }
    positions = std::move(all);
  }
  for (int64_t position : positions) Mark(storage, position);
}

void Slice::MarkReads(const ReadNode& node, const Path& path, const std::vector<int64_t>& loops) {
  if (node.expr != nullptr && node.expr->op == Op::kSelect) {
    const auto condition =
        EvaluateInteger(*node.expr->operands[0], path.statement->loops, loops, storages_);
    MarkReads(node.children[0], path, loops);
    if (!condition || *condition != 0) MarkReads(node.children[1], path, loops);
    if (!condition || *condition == 0) MarkReads(node.children[2], path, loops);
    return;
  }
  if (node.expr != nullptr) MarkLoad(*node.expr, path, loops);
  for (const ReadNode& child : node.children) MarkReads(child, path, loops);
}

void Slice::TraceElement(Path* path, int64_t element, bool record_loops) {
  const bool reads = path->reads.expr != nullptr || !path->reads.children.empty();
  if (!reads && !record_loops) return;
  const Loops& around = path->statement->loops;
  path->inverse.ForEach(element, [&](const std::vector<int64_t>& solution) {
    if (record_loops) {
      for (std::size_t slot = 0; slot < around.size(); ++slot) {
        std::vector<bool>& values = loop_values_[around[slot]];
        values.resize(around[slot]->extent, false);
        if (path->inverse.used()[slot]) {
          values[solution[slot]] = true;
        } else {
          values.assign(values.size(), true);
        }
      }
    }
    if (!reads) return true;
    std::vector<int64_t> loops = solution;
    while (true) {
      MarkReads(path->reads, *path, loops);
      std::size_t i = 0;
      for (; i < path->read_loops.size(); ++i) {
        const int slot = path->read_loops[i];
        if (++loops[slot] < around[slot]->extent) break;
        loops[slot] = 0;
      }
      if (i == path->read_loops.size()) return true;
    }
  });
}

bool Slice::IsSimple(int nest) const {
  int count = 0;
  bool simple = true;
  for (const Path& path : paths_) {
    if (path.nest != nest) continue;
    ++count;
    simple = simple && path.statement->info.update != Update::kPrefix;
  }
  return simple && count == 1;
}

void Slice::Trace(int nest) {
  generation_ = nest + 1;
  const bool simple = IsSimple(nest);
  for (bool changed = true; changed;) {
    changed = false;
    for (Path& path : paths_) {
      if (path.nest != nest) continue;
      const Marks& marks = marks_.at(path.statement->target);
      while (path.cursor < marks.elements.size()) {
        TraceElement(&path, marks.elements[path.cursor++], !simple);
        changed = true;
      }
    }
  }
}

bool Slice::RunSimple(Path* path, Machine* machine) {
  const Marks& marks = marks_.at(path->statement->target);
  // A plain assignment gives the same value for every value of its free loops, so 0 will do.
  const bool update = path->statement->info.update != Update::kNone;
  const std::vector<int> none;
  const std::vector<int>& free = update ? path->free_loops : none;
  std::vector<int64_t> elements(marks.elements.begin(), marks.elements.begin() + path->cursor);
  std::sort(elements.begin(), elements.end());
  Machine::Stretch stretch;
  bool ok = true;
  for (int64_t element : elements) {
    path->inverse.ForEach(element, [&](const std::vector<int64_t>& solution) {
      if (Extend(solution, &stretch)) return false;
      if (!stretch.start.empty()) ok = ok && machine->RunStatement(path->statement, stretch, free);
      stretch = {solution, 0, 1};
      return false;
    });
  }
  if (!stretch.start.empty()) ok = ok && machine->RunStatement(path->statement, stretch, free);
  return ok;
}

void Slice::Restrict(PlannedNest* plan, int nest) {
  for (auto& item : plan->items) {
    if (auto* inner = std::get_if<std::unique_ptr<PlannedNest>>(&item)) {
      Restrict(inner->get(), nest);
      continue;
    }
    auto& planned = std::get<PlannedStatement>(item);
    planned.marks = marks_.at(planned.compiled->target).generation.get();
    planned.generation = nest + 1;
  }
  for (LoopRange& range : plan->ranges) {
    std::vector<int64_t> values;
    const std::vector<bool>& needed = loop_values_[range.loop];
    for (std::size_t v = 0; v < needed.size(); ++v) {
      if (needed[v]) values.push_back(static_cast<int64_t>(v));
    }
    range.values = std::move(values);
  }
}

bool Slice::Run(int nest, PlannedNest* plan) {
  Machine machine;
  for (Path& path : paths_) {
    const StatementInfo& info = path.statement->info;
    if (path.nest != nest || !info.initial || info.prefix_shift > 0) continue;
    const Cell first = InitialCell(*info.initial, *path.statement->target);
    const Marks& marks = marks_.at(path.statement->target);
    for (std::size_t i = 0; i < path.cursor; ++i) {
      path.statement->target->cells[marks.elements[i]] = first;
    }
  }
  if (IsSimple(nest)) {
    for (Path& path : paths_) {
      if (path.nest == nest) return RunSimple(&path, &machine);
    }
  }
  Restrict(plan, nest);
  return machine.Run(plan);
}

}  // namespace tw::leir
