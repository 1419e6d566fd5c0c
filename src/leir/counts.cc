#include "leir/counts.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <string>

#include "leir/update.h"
#include "leir/walk.h"

namespace tw::leir {
namespace {

constexpr int64_t kLargest = std::numeric_limits<int64_t>::max();

int64_t Multiply(int64_t a, int64_t b) {
  int64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? kLargest : product;
}

int64_t Add(int64_t a, int64_t b) {
  int64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? kLargest : sum;
}

}  // namespace

int64_t CountStatements(const Program& program) {
  int64_t count = 0;
  ForEachStatement(program, [&](const Statement&, const Loops& loops, int) {
    int64_t iterations = 1;
    for (const Loop* loop : loops) iterations = Multiply(iterations, loop->extent);
    count = Add(count, iterations);
  });
  return count;
}

int64_t ReductionLength(const Program& program) {
  std::map<std::string, int64_t> length;  // of each tensor written so far
  ForEachStatement(program, [&](const Statement& statement, const Loops& loops, int) {
    const Update update = Classify(statement).update;
    std::set<std::string> kept;  // loops that tell apart independent results
    for (const ExprPtr& index : statement.indices) {
      ForEachExpr(*index, [&](const Expr& e) {
        if (e.op == Op::kIndex && update != Update::kPrefix) kept.insert(e.name);
      });
    }
    const bool rounds = update != Update::kNone && update != Update::kMax && update != Update::kMin;
    int64_t own = rounds ? 1 : 0;
    for (const Loop* loop : loops) {
      if (rounds && !kept.contains(loop->index)) own = Multiply(own, loop->extent);
    }
    int64_t before = 0;
    ForEachExpr(*statement.value, [&](const Expr& e) {
      if (e.op == Op::kLoad && length.contains(e.name)) before = std::max(before, length[e.name]);
    });
    length[statement.target] = std::max(length[statement.target], Add(own, before));
  });
  int64_t longest = 1;
  for (const Tensor& tensor : program.tensors) {
    if (tensor.role == Role::kOutput) longest = std::max(longest, length[tensor.name]);
  }
  return longest;
}

}  // namespace tw::leir
