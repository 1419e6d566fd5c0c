#include "lower/lower.h"

#include <algorithm>
#include <limits>
#include <map>

#include "leir/checker.h"
#include "leir/printer.h"
#include "leir/walk.h"
#include "lower/nodes.h"
#include "lower/statement.h"

namespace tw::lower {
namespace {

using leir::Item;
using leir::Nest;
using leir::Statement;

// What a statement of one nest reads and writes, for the question whether the nest can be taken
// apart.
struct Access {
  const Statement* statement;
  const leir::StatementInfo* info;
};

bool Reads(const Statement& s, const std::string& tensor) {
  bool reads = false;
  auto look = [&](const leir::Expr& e) { reads |= e.op == leir::Op::kLoad && e.name == tensor; };
  leir::ForEachExpr(*s.value, look);
  for (const leir::ExprPtr& i : s.indices) leir::ForEachExpr(*i, look);
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

// A nest of several statements may become one nest per statement when no value flows backwards in
// the text and what flows forwards is final when it is read.
bool CanSplit(const std::vector<Access>& accesses) {
  for (std::size_t i = 0; i < accesses.size(); ++i) {
    for (std::size_t j = i + 1; j < accesses.size(); ++j) {
      const Statement& first = *accesses[i].statement;
      const Statement& second = *accesses[j].statement;
      if (first.target == second.target || Reads(first, second.target)) return false;
      if (!Reads(second, first.target)) continue;
      if (accesses[i].info->update != leir::Update::kNone) return false;
      if (!ReadsOnlyWhatWasJustWritten(second, first)) return false;
    }
  }
  return true;
}

class Lowerer {
 public:
  Lowerer(const leir::CheckedProgram& checked, Mode mode) : checked_(checked), mode_(mode) {
    context_.program = &checked.program;
    context_.index = IndexType();
  }

  tvm_api::Module Run() {
    List parameters, temporaries;
    for (const leir::Tensor& t : checked_.program.tensors) {
      const Any buffer = Buffer(t.name, t.dtype, t.shape, context_.index);
      context_.buffers[t.name] = buffer;
      (t.role == leir::Role::kTemporary ? temporaries : parameters).push_back(buffer);
    }
    List body;
    for (const Nest& nest : checked_.program.nests) {
      for (const Any& statement : LowerTop(nest)) body.push_back(statement);
    }
    const Any root = Block("root", List(), List(), List(), Sequence(body), Any(), temporaries);
    return tvm_api::Wrap<tvm_api::Module>(MainModule(parameters, Realize(List(), root)));
  }

 private:
  // 32-bit indices vectorise better; 64 bits only where something is larger.
  DType IndexType() const {
    for (const leir::Tensor& t : checked_.program.tensors) {
      double elements = 1;
      for (int64_t extent : t.shape) elements *= static_cast<double>(extent);
      if (elements > std::numeric_limits<int32_t>::max()) return DType::kI64;
    }
    return DType::kI32;
  }

  std::string UniqueName(const std::string& target) {
    const int used = names_[target]++;
    return used == 0 ? target : fmt::format("{}_{}", target, used);
  }

  List LowerTop(const Nest& nest) {
    std::vector<Access> accesses;
    int ordinal = next_;
    leir::Program alone;
    alone.nests = {nest};
    leir::ForEachStatement(alone, [&](const Statement& s, const leir::Loops&, int) {
      accesses.push_back({&s, &checked_.statements[static_cast<std::size_t>(ordinal++)]});
    });
    if (mode_ == Mode::kForScheduling && CanSplit(accesses)) {
      List statements;
      leir::ForEachStatement(alone, [&](const Statement& s, const leir::Loops& loops, int) {
        const StatementBlock made = Make(s, loops);
        std::map<std::string, Any> variables;
        List values;
        for (const leir::Loop* loop : made.loops) {
          variables[loop->index] = Variable(loop->index, context_.index);
          values.push_back(variables[loop->index]);
        }
        Any body = Realize(values, made.block);
        for (std::size_t i = made.loops.size(); i-- > 0;) {
          const leir::Loop& loop = *made.loops[i];
          body = Loop(variables[loop.index], loop.extent, ForKind::kSerial, context_.index, body);
        }
        statements.push_back(body);
      });
      return statements;
    }
    leir::Loops loops;
    std::map<std::string, Any> variables;
    return List{LowerTogether(nest, &loops, variables, /*in_parallel=*/false)};
  }

  StatementBlock Make(const Statement& s, const leir::Loops& loops) {
    return MakeBlock(s, checked_.statements[static_cast<std::size_t>(next_++)], loops,
                     UniqueName(s.target), context_);
  }

  // Statements of a nest stay under its loops, as written.
  Any LowerTogether(const Nest& nest, leir::Loops* loops, std::map<std::string, Any> variables,
                    bool in_parallel) {
    std::vector<ForKind> kinds;
    for (const leir::Loop& loop : nest.loops) {
      kinds.push_back(KindOf(loop, in_parallel));
      in_parallel |= kinds.back() == ForKind::kParallel;
      loops->push_back(&loop);
      variables[loop.index] = Variable(loop.index, context_.index);
    }
    List body;
    for (const Item& item : nest.body) {
      if (const auto* statement = std::get_if<Statement>(&item)) {
        const StatementBlock made = Make(*statement, *loops);
        List values;
        for (const leir::Loop* loop : made.loops) values.push_back(variables.at(loop->index));
        body.push_back(Realize(values, made.block));
      } else {
        body.push_back(LowerTogether(*std::get<std::shared_ptr<const Nest>>(item), loops, variables,
                                     in_parallel));
      }
    }
    Any result = Sequence(body);
    for (std::size_t i = nest.loops.size(); i-- > 0;) {
      result = Loop(variables.at(nest.loops[i].index), nest.loops[i].extent, kinds[i],
                    context_.index, result);
    }
    loops->resize(loops->size() - nest.loops.size());
    return result;
  }

  // On a CPU a block axis (b..) is a parallel loop and a thread axis (t..) a serial one. TVM's
  // thread pool does not nest, so only the outermost parallel loop is one.
  ForKind KindOf(const leir::Loop& loop, bool in_parallel) const {
    if (mode_ == Mode::kForScheduling) return ForKind::kSerial;
    switch (loop.kind) {
      case leir::LoopKind::kParallel:
        return in_parallel ? ForKind::kSerial : ForKind::kParallel;
      case leir::LoopKind::kVectorized:
        return ForKind::kVectorized;
      case leir::LoopKind::kUnrolled:
        return ForKind::kUnrolled;
      case leir::LoopKind::kBound:
        return loop.index[0] == 'b' && !in_parallel && IsSpatial(loop) ? ForKind::kParallel
                                                                       : ForKind::kSerial;
      case leir::LoopKind::kSerial:
        return ForKind::kSerial;
    }
    return ForKind::kSerial;
  }

  // No statement anywhere in the loop's nest reduces or orders along it.
  bool IsSpatial(const leir::Loop& loop) const {
    bool spatial = true;
    leir::ForEachStatement(
        checked_.program, [&](const Statement&, const leir::Loops& loops, int i) {
          if (std::find(loops.begin(), loops.end(), &loop) == loops.end()) return;
          const leir::StatementInfo& info = checked_.statements[static_cast<std::size_t>(i)];
          for (const std::string& axis : info.reduction) spatial &= axis != loop.index;
          spatial &= info.update != leir::Update::kPrefix;
        });
    return spatial;
  }

  const leir::CheckedProgram& checked_;
  Mode mode_;
  ProgramContext context_;
  std::map<std::string, int> names_;
  int next_ = 0;  // statement, in program order
};

}  // namespace

Result<tvm_api::Module> Lower(const leir::Program& program, Mode mode) {
  TW_TRY(const leir::CheckedProgram checked, leir::Check(program));
  return tvm_api::Catch(Code::kUsage, "cannot lower the program to TIR",
                        [&] { return Lowerer(checked, mode).Run(); });
}

}  // namespace tw::lower
