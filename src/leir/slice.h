// The backward slice: which elements of which tensors a few results depend on.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "leir/bytecode.h"
#include "leir/inverse.h"
#include "leir/machine.h"

namespace tw::leir {

// The needed elements of one computed tensor.
struct Marks {
  // Per element: 0, or one more than the number of the nest whose statements need it (the number of
  // nests for a requested element). Nest q computes those with a mark > q.
  std::unique_ptr<int32_t[], void (*)(void*)> generation{nullptr, std::free};
  std::vector<int64_t> elements;  // in the order they were marked, so marks never grow along it
};

// Reads of computed tensors in a value, with the selects that decide whether they happen.
struct ReadNode {
  const Expr* expr = nullptr;      // a load, or a select; else only a group
  std::vector<ReadNode> children;  // of a select: condition, then, otherwise
};

class Slice {
 public:
  // `statements` of all nests in program order; `nest_of[i]` is the top-level nest of statement i.
  Slice(std::vector<CompiledStatement>* statements, std::vector<int> nest_of, int nests,
        Storages* storages);

  // False when there is no memory for the marks.
  bool Allocate();
  void Request(const Storage& storage, int64_t element);
  // Marks what nest `nest` needs; call for the last nest first.
  void Trace(int nest);
  // Computes the marked elements of nest `nest` (`plan` is the whole nest); call for the first nest
  // first. False when a gathered index was outside its tensor.
  bool Run(int nest, PlannedNest* plan);

 private:
  // One statement's way back from its target to its reads.
  struct Path {
    CompiledStatement* statement;
    int nest;
    Inverse inverse;
    ReadNode reads;
    std::vector<int> read_loops;  // slots that the reads use and the target does not
    std::vector<int> free_loops;  // slots that the target does not use
    std::size_t cursor = 0;       // into the marks of its target
  };

  bool IsSimple(int nest) const;  // one statement whose elements do not depend on each other
  ReadNode FindReads(const Expr& expr, const CompiledStatement& statement) const;
  void TraceElement(Path* path, int64_t element, bool record_loops);
  void MarkReads(const ReadNode& node, const Path& path, const std::vector<int64_t>& loops);
  void MarkLoad(const Expr& load, const Path& path, const std::vector<int64_t>& loops);
  void Mark(const Storage& storage, int64_t element);
  bool RunSimple(Path* path, Machine* machine);
  void Restrict(PlannedNest* plan, int nest);

  std::vector<Path> paths_;
  Storages& storages_;
  std::map<const Storage*, Marks> marks_;
  std::map<const Loop*, std::vector<bool>> loop_values_;  // of nests that are not simple
  int nests_;
  int generation_ = 0;
};

}  // namespace tw::leir
