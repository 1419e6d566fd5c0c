#include "lower/lower.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "leir/checker.h"
#include "leir/location.h"
#include "leir/walk.h"
#include "lower/nodes.h"
#include "lower/split.h"
#include "lower/statement.h"

namespace tw::lower {
namespace {

using leir::Item;
using leir::Nest;
using leir::Statement;

// The largest value, in size, that an integer part of the expression can take; loads count as
// nothing, since they have a type of their own.
double Magnitude(const leir::Expr& e, const leir::Loops& loops) {
  std::vector<double> of;
  for (const leir::ExprPtr& operand : e.operands) of.push_back(Magnitude(*operand, loops));
  const double largest = of.empty() ? 0 : *std::max_element(of.begin(), of.end());
  switch (e.op) {
    case leir::Op::kNumber:
      return e.is_integer ? static_cast<double>(e.integer) : 0;
    case leir::Op::kIndex:
      for (const leir::Loop* loop : loops) {
        if (loop->index == e.name) return static_cast<double>(loop->extent);
      }
      return 0;
    case leir::Op::kAdd:
    case leir::Op::kSub:
      return std::max(largest, of[0] + of[1]);
    case leir::Op::kMul:
      return std::max(largest, of[0] * of[1]);
    case leir::Op::kPower:
      return std::max(largest, std::pow(of[0], of[1]));
    default:
      return largest;
  }
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

  // The statement that was lowered last.
  leir::Location at() const { return at_; }

 private:
  // 32-bit indices vectorise better; 64 bits only where a tensor, a loop or what is calculated with
  // indices and integers is larger.
  DType IndexType() const {
    double largest = 0;
    for (const leir::Tensor& t : checked_.program.tensors) {
      double elements = 1;
      for (int64_t extent : t.shape) elements *= static_cast<double>(extent);
      largest = std::max(largest, elements);
    }
    leir::ForEachStatement(checked_.program,
                           [&](const Statement& s, const leir::Loops& loops, int) {
                             for (const leir::Loop* loop : loops) {
                               largest = std::max(largest, static_cast<double>(loop->extent));
                             }
                             largest = std::max(largest, Magnitude(*s.value, loops));
                             for (const leir::ExprPtr& index : s.indices) {
                               largest = std::max(largest, Magnitude(*index, loops));
                             }
                           });
    return largest > std::numeric_limits<int32_t>::max() ? DType::kI64 : DType::kI32;
  }

  std::string UniqueName(const std::string& target) {
    const int used = names_[target]++;
    return used == 0 ? target : fmt::format("{}_{}", target, used);
  }

  List LowerTop(const Nest& nest) {
    std::vector<NestStatement> parts;
    int ordinal = next_;
    leir::Program alone;
    alone.nests = {nest};
    leir::ForEachStatement(alone, [&](const Statement& s, const leir::Loops& loops, int) {
      parts.push_back({&s, &checked_.statements[static_cast<std::size_t>(ordinal++)], loops});
    });
    if (mode_ == Mode::kForScheduling && CanSplit(parts)) {
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
    at_ = s.location;
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
  leir::Location at_;
};

}  // namespace

Result<tvm_api::Module> Lower(const leir::Program& program, Mode mode) {
  TW_TRY(const leir::CheckedProgram checked, leir::Check(program));
  Lowerer lowerer(checked, mode);
  auto module = tvm_api::Catch(Code::kUsage, "TVM refuses this", [&] { return lowerer.Run(); });
  if (module.ok()) return module;
  return leir::ErrorAt(program.source, lowerer.at(), "{}", module.error().message);
}

}  // namespace tw::lower
