#include "leir/printer.h"

#include <fmt/format.h>

#include <algorithm>

namespace tw::leir {
namespace {

// How tightly an expression holds together; an operand printed where more is needed gets
// parentheses.
enum Level { kOrLevel, kAndLevel, kRelation, kSum, kTerm, kUnary, kPowerLevel, kAtom };

struct Infix {
  const char* symbol;
  Level level;
  Level left;
  Level right;
};

const Infix* FindInfix(Op op) {
  static constexpr Infix kAdd{"+", kSum, kSum, kTerm}, kSub{"-", kSum, kSum, kTerm};
  static constexpr Infix kMul{"*", kTerm, kTerm, kUnary}, kDiv{"/", kTerm, kTerm, kUnary};
  static constexpr Infix kFloorDiv{"//", kTerm, kTerm, kUnary}, kMod{"%", kTerm, kTerm, kUnary};
  static constexpr Infix kPower{"**", kPowerLevel, kAtom, kUnary};
  static constexpr Infix kLess{"<", kRelation, kSum, kSum}, kLessEqual{"<=", kRelation, kSum, kSum};
  static constexpr Infix kGreater{">", kRelation, kSum, kSum};
  static constexpr Infix kGreaterEqual{">=", kRelation, kSum, kSum};
  static constexpr Infix kEqual{"==", kRelation, kSum, kSum};
  static constexpr Infix kNotEqual{"!=", kRelation, kSum, kSum};
  static constexpr Infix kAnd{"&", kAndLevel, kAndLevel, kRelation};
  static constexpr Infix kOr{"|", kOrLevel, kOrLevel, kAndLevel};
  switch (op) {
    case Op::kAdd:
      return &kAdd;
    case Op::kSub:
      return &kSub;
    case Op::kMul:
      return &kMul;
    case Op::kDiv:
      return &kDiv;
    case Op::kFloorDiv:
      return &kFloorDiv;
    case Op::kMod:
      return &kMod;
    case Op::kPower:
      return &kPower;
    case Op::kLess:
      return &kLess;
    case Op::kLessEqual:
      return &kLessEqual;
    case Op::kGreater:
      return &kGreater;
    case Op::kGreaterEqual:
      return &kGreaterEqual;
    case Op::kEqual:
      return &kEqual;
    case Op::kNotEqual:
      return &kNotEqual;
    case Op::kAnd:
      return &kAnd;
    case Op::kOr:
      return &kOr;
    default:
      return nullptr;
  }
}

const char* FunctionName(Op op) {
  switch (op) {
    case Op::kExp:
      return "exp";
    case Op::kLog:
      return "log";
    case Op::kSqrt:
      return "sqrt";
    case Op::kAbs:
      return "abs";
    case Op::kErf:
      return "erf";
    case Op::kMax:
      return "max";
    case Op::kMin:
      return "min";
    default:
      return "if_then_else";
  }
}

bool IsRelation(const Expr& expr) { return expr.op >= Op::kLess && expr.op <= Op::kNotEqual; }

// `a<b & b<c`, which is written (and read) as a<b<c.
bool IsChain(const Expr& expr) {
  if (expr.op != Op::kAnd || !IsRelation(*expr.operands[1])) return false;
  const Expr& left = *expr.operands[0];
  if (!IsRelation(left) && !IsChain(left)) return false;
  const Expr& last = IsRelation(left) ? left : *left.operands[1];
  return Equal(*last.operands[1], *expr.operands[1]->operands[0]);
}

Level LevelOf(const Expr& expr) {
  if (IsChain(expr)) return kRelation;
  if (const Infix* infix = FindInfix(expr.op)) return infix->level;
  return expr.op == Op::kNegate ? kUnary : kAtom;
}

// `published` is the program whose dtypes and scopes go on references; null in files.
class Printer {
 public:
  explicit Printer(const Program* published) : published_(published) {}

  void Reference(const std::string& name, const std::vector<ExprPtr>& indices) {
    text += name;
    if (published_ != nullptr) {
      if (const Tensor* tensor = published_->Find(name)) {
        text += fmt::format("^{{{},{}}}", ShortName(tensor->dtype), ScopeLetter(tensor->scope));
      }
    }
    if (indices.empty()) return;
    text += "_{";
    ++index_depth_;
    Operands(indices, ",");
    --index_depth_;
    text += "}";
  }

  void Expression(const Expr& expr, Level needed) {
    const bool parentheses = LevelOf(expr) < needed;
    if (parentheses) text += "(";
    Bare(expr);
    if (parentheses) text += ")";
  }

  void Assignment(const Statement& statement) {
    Reference(statement.target, statement.indices);
    text += published_ != nullptr ? "=" : " = ";
    Expression(*statement.value, kOrLevel);
    text += ";";
  }

  void NestText(const Nest& nest, int indent) {
    const bool compact = published_ != nullptr;
    const std::string margin(indent, ' ');
    for (std::size_t i = 0; i < nest.loops.size(); ++i) {
      const Loop& loop = nest.loops[i];
      if (!compact) text += i == 0 ? margin : " ";
      text += fmt::format("{}^{{{}}}_{{{}=0}}", KindLetter(loop.kind), loop.extent, loop.index);
    }
    text += compact ? "[" : " [\n";
    for (const Item& item : nest.body) {
      if (const auto* statement = std::get_if<Statement>(&item)) {
        if (!compact) text += margin + "  ";
        Assignment(*statement);
        if (!compact) text += "\n";
      } else {
        NestText(*std::get<std::shared_ptr<const Nest>>(item), indent + 2);
      }
    }
    text += compact ? "];" : margin + "];\n";
  }

  std::string text;

 private:
  void Operands(const std::vector<ExprPtr>& operands, const char* separator) {
    for (std::size_t i = 0; i < operands.size(); ++i) {
      if (i > 0) text += separator;
      Expression(*operands[i], kOrLevel);
    }
  }

  void Bare(const Expr& expr) {
    if (const Infix* infix = FindInfix(expr.op)) {
      const bool spaced = published_ == nullptr && index_depth_ == 0 && infix->level <= kSum;
      if (IsChain(expr)) {
        const Infix& link = *FindInfix(expr.operands[1]->op);
        Bare(*expr.operands[0]);
        text += spaced ? fmt::format(" {} ", link.symbol) : link.symbol;
        return Expression(*expr.operands[1]->operands[1], link.right);
      }
      Expression(*expr.operands[0], infix->left);
      text += spaced ? fmt::format(" {} ", infix->symbol) : infix->symbol;
      Expression(*expr.operands[1], infix->right);
      return;
    }
    switch (expr.op) {
      case Op::kNumber:
        return Number(expr);
      case Op::kInfinity:
        text += "inf";
        return;
      case Op::kIndex:
        text += expr.name;
        return;
      case Op::kLoad:
        return Reference(expr.name, expr.operands);
      case Op::kNegate:
        text += "-";
        return Expression(*expr.operands[0], kUnary);
      default:
        text += FunctionName(expr.op);
        text += "(";
        Operands(expr.operands, published_ != nullptr ? "," : ", ");
        text += ")";
    }
  }

  // The shortest digits that read back to the same double, with a point or exponent unless an
  // integer.
  void Number(const Expr& expr) {
    if (expr.is_integer) {
      text += fmt::format("{}", expr.integer);
      return;
    }
    std::string digits = fmt::format("{}", expr.number);
    if (digits.find_first_of(".e") == std::string::npos) digits += ".0";
    text += digits;
  }

  const Program* published_;
  int index_depth_ = 0;  // index expressions are written without blanks
};

bool Equal(const std::vector<ExprPtr>& a, const std::vector<ExprPtr>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const ExprPtr& x, const ExprPtr& y) { return Equal(*x, *y); });
}

bool EqualItem(const Item& a, const Item& b);

bool EqualNest(const Nest& a, const Nest& b) {
  return std::equal(a.loops.begin(), a.loops.end(), b.loops.begin(), b.loops.end(),
                    [](const Loop& x, const Loop& y) {
                      return x.kind == y.kind && x.extent == y.extent && x.index == y.index;
                    }) &&
         std::equal(a.body.begin(), a.body.end(), b.body.begin(), b.body.end(), EqualItem);
}

bool EqualItem(const Item& a, const Item& b) {
  if (a.index() != b.index()) return false;
  if (const auto* x = std::get_if<Statement>(&a)) {
    const auto& y = std::get<Statement>(b);
    return x->target == y.target && Equal(x->indices, y.indices) && Equal(*x->value, *y.value);
  }
  return EqualNest(*std::get<1>(a), *std::get<1>(b));
}

}  // namespace

std::string_view RoleName(Role role) {
  switch (role) {
    case Role::kInput:
      return "input";
    case Role::kConstant:
      return "constant";
    case Role::kParameter:
      return "parameter";
    case Role::kOutput:
      return "output";
    case Role::kTemporary:
      return "temp";
  }
  return "temp";
}

char ScopeLetter(Scope scope) { return "gsl"[static_cast<int>(scope)]; }
char KindLetter(LoopKind kind) { return "LPVUB"[static_cast<int>(kind)]; }

std::string PrintFile(const Program& program) {
  Printer printer(nullptr);
  printer.text = "leir 1\n\n";
  for (const Tensor& tensor : program.tensors) {
    std::string scope =
        tensor.scope == Scope::kGlobal ? "" : fmt::format(",{}", ScopeLetter(tensor.scope));
    std::string shape;
    for (int64_t extent : tensor.shape) {
      if (!shape.empty()) shape += ",";
      shape += std::to_string(extent);
    }
    printer.text += fmt::format("{} {}: {}{}[{}]\n", RoleName(tensor.role), tensor.name,
                                ShortName(tensor.dtype), scope, shape);
  }
  for (const Nest& nest : program.nests) {
    printer.text += "\n";
    printer.NestText(nest, 0);
  }
  return std::move(printer.text);
}

std::string PrintPublished(const Program& program) {
  Printer printer(&program);
  for (const Nest& nest : program.nests) printer.NestText(nest, 0);
  return std::move(printer.text);
}

std::string PrintExpr(const Expr& expr) {
  Printer printer(nullptr);
  printer.Expression(expr, kOrLevel);
  return std::move(printer.text);
}

std::string PrintStatement(const Statement& statement) {
  Printer printer(nullptr);
  printer.Assignment(statement);
  printer.text.pop_back();
  return std::move(printer.text);
}

bool Equal(const Expr& a, const Expr& b) {
  if (a.op != b.op || a.name != b.name) return false;
  if (a.op == Op::kNumber) {
    if (a.is_integer != b.is_integer) return false;
    return a.is_integer ? a.integer == b.integer : a.number == b.number;
  }
  return Equal(a.operands, b.operands);
}

bool Equal(const Program& a, const Program& b) {
  const auto same_tensor = [](const Tensor& x, const Tensor& y) {
    return x.name == y.name && x.dtype == y.dtype && x.scope == y.scope && x.role == y.role &&
           x.shape == y.shape;
  };
  return std::equal(a.tensors.begin(), a.tensors.end(), b.tensors.begin(), b.tensors.end(),
                    same_tensor) &&
         std::equal(a.nests.begin(), a.nests.end(), b.nests.begin(), b.nests.end(), EqualNest);
}

}  // namespace tw::leir
