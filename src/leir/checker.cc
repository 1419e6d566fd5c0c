#include "leir/checker.h"

#include <algorithm>
#include <set>

#include "leir/affine.h"
#include "leir/coverage.h"
#include "leir/location.h"
#include "leir/printer.h"
#include "leir/update.h"
#include "leir/walk.h"

namespace tw::leir {
namespace {

// What an expression is, for the rules on arithmetic.
enum class Type { kBool, kInteger, kFloat, kLiteral };

bool IsGathered(const Expr& index) {
  bool gathered = false;
  ForEachExpr(index, [&](const Expr& e) { gathered = gathered || e.op == Op::kLoad; });
  return gathered;
}

class StatementChecker {
 public:
  StatementChecker(const Program& program, const Statement& statement, const Loops& loops,
                   const std::set<std::string>& written, const StatementInfo& info)
      : program_(program), statement_(statement), written_(written), info_(info) {
    for (const Loop* loop : loops) scope_.AddLoop(loop->index, loop->extent);
  }

  Status Run() {
    TW_CHECK(Target());
    TW_TRY(const Type type, Value(*statement_.value));
    (void)type;
    return Ok();
  }

 private:
  template <typename... Args>
  Error Wrong(const Expr& at, fmt::format_string<Args...> format, Args&&... args) const {
    return ErrorAt(program_.source, at.location, format, std::forward<Args>(args)...);
  }

  Status Target() {
    const Tensor* tensor = program_.Find(statement_.target);
    if (tensor == nullptr) {
      return ErrorAt(program_.source, statement_.location, "the tensor {} is not declared",
                     statement_.target);
    }
    if (tensor->role != Role::kOutput && tensor->role != Role::kTemporary) {
      return ErrorAt(program_.source, statement_.location,
                     "the {1} {0} cannot be written; write a temporary or an output", tensor->name,
                     RoleName(tensor->role));
    }
    for (const ExprPtr& index : statement_.indices) {
      if (IsGathered(*index)) {
        return Wrong(*index, "the target {} is indexed by a tensor; only reads can be",
                     statement_.target);
      }
    }
    return Indices(*tensor, statement_.indices, statement_.location, "written");
  }

  Status Indices(const Tensor& tensor, const std::vector<ExprPtr>& indices, Location location,
                 std::string_view verb) {
    if (indices.size() != tensor.shape.size()) {
      return ErrorAt(program_.source, location, "{} has {} dimension{} but {} ind{} here",
                     tensor.name, tensor.shape.size(), tensor.shape.size() == 1 ? "" : "s",
                     indices.size(), indices.size() == 1 ? "ex" : "ices");
    }
    for (std::size_t i = 0; i < indices.size(); ++i) {
      TW_CHECK(Divisions(*indices[i]));
      if (IsGathered(*indices[i])) {
        TW_CHECK(Gathered(*indices[i]));
        continue;
      }
      const Interval bound = scope_.Bound(scope_.Linearize(*indices[i]));
      if (bound.lo > bound.hi) continue;  // the conditions around it never hold
      if (bound.lo < 0 || bound.hi >= tensor.shape[i]) {
        const std::string text = PrintExpr(*indices[i]);
        const std::string reach =
            bound.finite() ? fmt::format("from {} to {}", bound.lo, bound.hi) : "without a bound";
        return Wrong(*indices[i], "{} is {} at index {} `{}`, which goes {}, outside 0 to {}{}",
                     tensor.name, verb, i + 1, text, reach, tensor.shape[i] - 1,
                     verb == "read" ? fmt::format("; guard it: if_then_else(0 <= {} < {}, ..., 0)",
                                                  text, tensor.shape[i])
                                    : "; enlarge the shape or shorten the loop");
      }
    }
    return Ok();
  }

  // Tensors used as an index: integers, themselves indexed inside their bounds.
  Status Gathered(const Expr& index) {
    if (index.op == Op::kLoad) {
      TW_TRY(const Type type, Load(index));
      if (type == Type::kInteger) return Ok();
      return Wrong(index, "{} is used as an index but is not of an integer type", index.name);
    }
    for (const ExprPtr& operand : index.operands) TW_CHECK(Gathered(*operand));
    return Ok();
  }

  // Divisors in an index are positive for all iterations.
  Status Divisions(const Expr& index) {
    std::optional<Error> error;
    ForEachExpr(index, [&](const Expr& e) {
      if (e.op != Op::kFloorDiv && e.op != Op::kMod) return;
      const Expr& divisor = *e.operands[1];
      if (!error && (IsGathered(divisor) || scope_.Bound(scope_.Linearize(divisor)).lo <= 0)) {
        error = Wrong(divisor,
                      "the divisor `{}` in an index may be 0 or negative; divide by a "
                      "positive number",
                      PrintExpr(divisor));
      }
    });
    if (error) return *error;
    return Ok();
  }

  Result<Type> Load(const Expr& load) {
    const Tensor* tensor = program_.Find(load.name);
    if (tensor == nullptr) return Wrong(load, "the tensor {} is not declared", load.name);
    const bool own = load.name == statement_.target;
    const bool computed = tensor->role == Role::kOutput || tensor->role == Role::kTemporary;
    if (computed && !own && !written_.contains(load.name)) {
      return Wrong(load, "{} is read before any statement writes it; move its nest up", load.name);
    }
    const bool starts_outside = own && info_.first_write && info_.prefix_shift > 0;
    if (starts_outside) {
      const std::size_t mark = scope_.Mark();
      AssumePrefixStarted();
      const Status status = Indices(*tensor, load.operands, load.location, "read");
      scope_.Restore(mark);
      if (!status.ok()) return status.error();
    } else {
      TW_CHECK(Indices(*tensor, load.operands, load.location, "read"));
    }
    if (tensor->dtype == DType::kBool) return Type::kBool;
    return IsFloat(tensor->dtype) ? Type::kFloat : Type::kInteger;
  }

  // The first `prefix_shift` positions do not read.
  void AssumePrefixStarted() {
    auto index = std::make_shared<Expr>();
    index->op = Op::kIndex;
    index->name = info_.prefix_loop;
    auto shift = std::make_shared<Expr>();
    shift->is_integer = true;
    shift->integer = info_.prefix_shift;
    Expr started;
    started.op = Op::kGreaterEqual;
    started.operands = {index, shift};
    scope_.Assume(started, true);
  }

  Result<Type> Select(const Expr& expr) {
    TW_TRY(const Type condition, Value(*expr.operands[0]));
    (void)condition;
    const std::size_t mark = scope_.Mark();
    scope_.Assume(*expr.operands[0], true);
    auto then = Value(*expr.operands[1]);
    scope_.Restore(mark);
    if (!then.ok()) return then;
    scope_.Assume(*expr.operands[0], false);
    auto otherwise = Value(*expr.operands[2]);
    scope_.Restore(mark);
    if (!otherwise.ok()) return otherwise;
    return Wider(*then, *otherwise);
  }

  static Type Wider(Type a, Type b) {
    if (a == Type::kLiteral) return b;
    if (b == Type::kLiteral) return a;
    return std::max(a, b);
  }

  Result<Type> Value(const Expr& expr) {
    switch (expr.op) {
      case Op::kNumber:
        return expr.is_integer ? Type::kLiteral : Type::kFloat;
      case Op::kInfinity:
        return Type::kLiteral;
      case Op::kIndex:
        return Type::kInteger;
      case Op::kLoad:
        return Load(expr);
      case Op::kSelect:
        return Select(expr);
      default:
        break;
    }
    std::vector<Type> types;
    for (const ExprPtr& operand : expr.operands) {
      TW_TRY(const Type type, Value(*operand));
      types.push_back(type);
    }
    if (expr.op >= Op::kLess && expr.op <= Op::kOr) return Type::kBool;
    const auto bools = std::count(types.begin(), types.end(), Type::kBool);
    const bool mask = expr.op == Op::kMul && bools == 1;
    if (bools > 0 && !mask) {
      return Wrong(expr,
                   "`{}` calculates with bool values; write if_then_else(mask, a, b), or "
                   "mask * number to keep or clear a number",
                   PrintExpr(expr));
    }
    switch (expr.op) {
      case Op::kFloorDiv:
      case Op::kMod:
        if (types[0] != Type::kFloat && types[1] != Type::kFloat) TW_CHECK(NotZero(expr));
        return Wider(types[0], types[1]);
      case Op::kNegate:
      case Op::kAbs:
        return types[0];
      case Op::kExp:
      case Op::kLog:
      case Op::kSqrt:
      case Op::kErf:
      case Op::kDiv:
        return Type::kFloat;
      default:
        return Wider(types[0], types[1]);
    }
  }

  Status NotZero(const Expr& expr) {
    const Expr& divisor = *expr.operands[1];
    if (IsIndexExpr(divisor)) {
      const Interval bound = scope_.Bound(scope_.Linearize(divisor));
      if (bound.lo > 0 || bound.hi < 0) return Ok();
    }
    return Wrong(divisor,
                 "the divisor `{}` of an integer {} may be 0; divide by a number or an index "
                 "that cannot be",
                 PrintExpr(divisor), expr.op == Op::kMod ? "%" : "//");
  }

  const Program& program_;
  const Statement& statement_;
  const std::set<std::string>& written_;
  const StatementInfo& info_;
  AffineScope scope_;
};

// A read of the target that no condition guards.
bool HasUnguardedRead(const Expr& expr, const std::string& tensor) {
  if (expr.op == Op::kLoad && expr.name == tensor) return true;
  if (expr.op == Op::kSelect) return HasUnguardedRead(*expr.operands[0], tensor);
  return std::any_of(expr.operands.begin(), expr.operands.end(),
                     [&](const ExprPtr& e) { return HasUnguardedRead(*e, tensor); });
}

class Checker {
 public:
  explicit Checker(Program program) { checked_.program = std::move(program); }

  Result<CheckedProgram> Run() {
    const Program& program = checked_.program;
    std::optional<Error> error;
    ForEachStatement(program, [&](const Statement& statement, const Loops& loops, int) {
      if (error) return;
      if (Status status = One(statement, loops); !status.ok()) error = status.error();
    });
    if (error) return *error;
    bool has_output = false;
    for (const Tensor& tensor : program.tensors) {
      has_output = has_output || tensor.role == Role::kOutput;
      if (tensor.role == Role::kOutput || tensor.role == Role::kTemporary)
        TW_CHECK(Written(tensor));
    }
    if (!has_output) {
      return ErrorAt(program.source, {},
                     "the program has no output; declare one: output C: f32[8]");
    }
    return std::move(checked_);
  }

 private:
  Status One(const Statement& statement, const Loops& loops) {
    const Program& program = checked_.program;
    StatementInfo info = Classify(statement);
    info.first_write = !written_.contains(statement.target);
    if (!info.first_write) info.initial.reset();
    if (!info.first_write) info.prefix_shift = 0;
    if (info.prefix_shift == 0) info.prefix_loop.clear();
    for (const Loop* loop : loops) {
      const bool used = std::any_of(
          statement.indices.begin(), statement.indices.end(), [&](const ExprPtr& index) {
            bool found = false;
            ForEachExpr(*index, [&](const Expr& e) {
              found = found || (e.op == Op::kIndex && e.name == loop->index);
            });
            return found;
          });
      if (!used) info.reduction.push_back(loop->index);
    }
    TW_CHECK(StatementChecker(program, statement, loops, written_, info).Run());
    TW_CHECK(FirstValue(statement, info));
    const Write write{&statement, loops};
    if (const auto why = FindConflict(write, info.update != Update::kNone)) {
      return ErrorAt(program.source, statement.location, "{}; use each loop in its own index of {}",
                     *why, statement.target);
    }
    TW_CHECK(LoopKinds(statement, loops, info));
    written_.insert(statement.target);
    writes_[statement.target].push_back(write);
    checked_.statements.push_back(std::move(info));
    return Ok();
  }

  Status FirstValue(const Statement& statement, const StatementInfo& info) const {
    if (!info.first_write || info.update == Update::kNone || info.initial) return Ok();
    const bool guarded =
        info.update == Update::kPrefix && !HasUnguardedRead(*statement.value, statement.target);
    if (guarded) return Ok();
    return ErrorAt(checked_.program.source, statement.location,
                   "{} has no value before this statement updates it; write a first value in an "
                   "earlier statement (X + .., X * .., max(X, ..), min(X, ..) need none)",
                   statement.target);
  }

  Status LoopKinds(const Statement& statement, const Loops& loops,
                   const StatementInfo& info) const {
    for (const Loop* loop : loops) {
      if (loop->kind == LoopKind::kBound) {
        const std::string& name = loop->index;
        if (name.size() < 2 || (name[0] != 't' && name[0] != 'b') || name[1] < 'x' ||
            name[1] > 'z') {
          return ErrorAt(checked_.program.source, loop->location,
                         "the bound loop `{}` does not name an axis: begin with t (thread) or b "
                         "(block), then x, y or z, e.g. tx",
                         name);
        }
      }
      if (loop->kind != LoopKind::kParallel && loop->kind != LoopKind::kVectorized) continue;
      if (info.update == Update::kNone || loop->extent == 1) continue;
      const bool reduction = std::find(info.reduction.begin(), info.reduction.end(), loop->index) !=
                             info.reduction.end();
      const bool prefix = info.update == Update::kPrefix && IsPrefixLoop(statement, loop->index);
      if (reduction || prefix) {
        return ErrorAt(checked_.program.source, loop->location,
                       "the loop `{}` cannot be {}: it is {} of {}; make it L", loop->index,
                       loop->kind == LoopKind::kParallel ? "parallel" : "vectorised",
                       reduction ? "a reduction axis" : "the prefix axis", statement.target);
      }
    }
    return Ok();
  }

  // The loop is in an index of the target that a read of old values writes differently.
  static bool IsPrefixLoop(const Statement& statement, const std::string& loop) {
    bool prefix = false;
    ForEachExpr(*statement.value, [&](const Expr& read) {
      if (read.op != Op::kLoad || read.name != statement.target) return;
      for (std::size_t i = 0; i < read.operands.size(); ++i) {
        if (Equal(*read.operands[i], *statement.indices[i])) continue;
        ForEachExpr(*statement.indices[i], [&](const Expr& e) {
          prefix = prefix || (e.op == Op::kIndex && e.name == loop);
        });
      }
    });
    return prefix;
  }

  // Outputs wholly; a temporary may have gaps, which its inferred shape spans.
  Status Written(const Tensor& tensor) const {
    const Program& program = checked_.program;
    const auto writes = writes_.find(tensor.name);
    if (writes == writes_.end()) {
      return ErrorAt(program.source, tensor.location, "nothing writes {}; write it or remove it",
                     tensor.name);
    }
    if (tensor.role == Role::kTemporary) return Ok();
    TW_TRY(const auto hole, FindUnwritten(tensor.shape, writes->second, program.source));
    if (!hole) return Ok();
    std::string index;
    for (int64_t i : *hole) index += fmt::format("{}{}", index.empty() ? "" : ",", i);
    return ErrorAt(
        program.source, tensor.location,
        "the element [{}] of {} is never written; make the loops that write {} cover its "
        "whole shape",
        index, tensor.name, tensor.name);
  }

  CheckedProgram checked_;
  std::set<std::string> written_;
  std::map<std::string, std::vector<Write>> writes_;
};

}  // namespace

Result<CheckedProgram> Check(Program program) { return Checker(std::move(program)).Run(); }

std::string_view UpdateName(Update update) {
  switch (update) {
    case Update::kNone:
      return "none";
    case Update::kSum:
      return "sum";
    case Update::kProduct:
      return "product";
    case Update::kMax:
      return "max";
    case Update::kMin:
      return "min";
    case Update::kOrdered:
      return "ordered";
    case Update::kPrefix:
      return "prefix";
  }
  return "none";
}

}  // namespace tw::leir
