#include <algorithm>
#include <array>

#include "leir/parser_state.h"
#include "leir/printer.h"
#include "leir/shapes.h"

namespace tw::leir {
namespace {

struct Function {
  std::string_view name;
  Op op;
  int least;
  int most;
};

constexpr std::array<Function, 8> kFunctions{{
    {"exp", Op::kExp, 1, 1},
    {"log", Op::kLog, 1, 1},
    {"sqrt", Op::kSqrt, 1, 1},
    {"abs", Op::kAbs, 1, 1},
    {"erf", Op::kErf, 1, 1},
    {"max", Op::kMax, 2, 64},
    {"min", Op::kMin, 2, 64},
    {"if_then_else", Op::kSelect, 3, 3},
}};

constexpr std::string_view kFunctionList = "exp, log, sqrt, abs, erf, max, min, if_then_else";

Result<int64_t> Evaluate(const Expr& expr, const std::string& source) {
  if (expr.op == Op::kNumber && expr.is_integer) return expr.integer;
  if (expr.op == Op::kNegate) {
    TW_TRY(const int64_t value, Evaluate(*expr.operands[0], source));
    return -value;  // literals are not negative, and sums are checked below
  }
  if (expr.operands.size() != 2) {
    return ErrorAt(source, expr.location,
                   "`{}` is not an integer expression of dims; use integers, dims and + - * // %",
                   PrintExpr(expr));
  }
  TW_TRY(const int64_t a, Evaluate(*expr.operands[0], source));
  TW_TRY(const int64_t b, Evaluate(*expr.operands[1], source));
  int64_t value = 0;
  bool overflow = false;
  switch (expr.op) {
    case Op::kAdd:
      overflow = __builtin_add_overflow(a, b, &value);
      break;
    case Op::kSub:
      overflow = __builtin_sub_overflow(a, b, &value);
      break;
    case Op::kMul:
      overflow = __builtin_mul_overflow(a, b, &value);
      break;
    case Op::kFloorDiv:
    case Op::kMod: {
      if (b <= 0)
        return ErrorAt(source, expr.location, "division by {}; divide by a positive number", b);
      const int64_t remainder = ((a % b) + b) % b;
      value = expr.op == Op::kMod ? remainder : (a - remainder) / b;
      break;
    }
    default:
      return ErrorAt(source, expr.location,
                     "`{}` is not an integer expression of dims; use integers, dims and + - * // %",
                     PrintExpr(expr));
  }
  if (overflow || value > kMaxElements || value < -kMaxElements) {
    return ErrorAt(source, expr.location, "`{}` is beyond 2^40; use smaller numbers",
                   PrintExpr(expr));
  }
  return value;
}

ExprPtr Make(Op op, Location location, std::vector<ExprPtr> operands) {
  auto expr = std::make_shared<Expr>();
  expr->op = op;
  expr->location = location;
  expr->operands = std::move(operands);
  return expr;
}

}  // namespace

bool IsReserved(std::string_view word) {
  if (word == "inf" || word == "e") return true;
  return std::any_of(kFunctions.begin(), kFunctions.end(),
                     [&](const Function& f) { return f.name == word; });
}

bool ParserState::Accept(std::string_view symbol) {
  if (!At(symbol)) return false;
  ++at_;
  return true;
}

Status ParserState::Expect(std::string_view symbol, std::string_view where) {
  if (Accept(symbol)) return Ok();
  return ErrorHere("expected `{}` {} but found {}", symbol, where, Quote(Peek()));
}

Result<Parsed> ParserState::Binary(Op op, const Token& at, Parsed left, Parsed right,
                                   bool of_conditions) {
  for (const Parsed* side : {&left, &right}) {
    if (!of_conditions && IsCondition(side->expr->op)) {
      return ErrorAt(program_.source, side->expr->location,
                     "the comparison `{}` is used as a number; write if_then_else({}, 1, 0)",
                     PrintExpr(*side->expr), PrintExpr(*side->expr));
    }
  }
  const int depth = 1 + std::max(left.depth, right.depth);
  if (depth > kMaxDepth) {
    return ErrorAt(program_.source, at.location,
                   "the expression is more than {} operators deep; split it with a temporary",
                   kMaxDepth);
  }
  return Parsed{Make(op, at.location, {std::move(left.expr), std::move(right.expr)}), depth};
}

Result<Parsed> ParserState::ParseCondition() {
  if (++nesting_ > kMaxNesting) {
    return ErrorHere(
        "more than {} parentheses or calls inside each other; split the expression "
        "with a temporary",
        kMaxNesting);
  }
  TW_TRY(Parsed left, ParseConjunction());
  while (At("|")) {
    const Token at = Take();
    TW_TRY(Parsed right, ParseConjunction());
    TW_TRY(left, Binary(Op::kOr, at, std::move(left), std::move(right), true));
  }
  --nesting_;
  return left;
}

Result<Parsed> ParserState::ParseConjunction() {
  TW_TRY(Parsed left, ParseRelation());
  while (At("&")) {
    const Token at = Take();
    TW_TRY(Parsed right, ParseRelation());
    TW_TRY(left, Binary(Op::kAnd, at, std::move(left), std::move(right), true));
  }
  return left;
}

// A chain a<=b<c means a<=b & b<c.
Result<Parsed> ParserState::ParseRelation() {
  static constexpr std::pair<std::string_view, Op> kRelations[] = {
      {"<", Op::kLess},          {"<=", Op::kLessEqual}, {">", Op::kGreater},
      {">=", Op::kGreaterEqual}, {"==", Op::kEqual},     {"!=", Op::kNotEqual}};
  TW_TRY(Parsed left, ParseSum());
  std::optional<Parsed> chain;
  while (true) {
    const auto* relation = std::find_if(std::begin(kRelations), std::end(kRelations),
                                        [&](const auto& r) { return At(r.first); });
    if (relation == std::end(kRelations)) return chain ? *chain : left;
    const Token at = Take();
    TW_TRY(Parsed right, ParseSum());
    TW_TRY(Parsed link, Binary(relation->second, at, left, right, false));
    if (chain) {
      TW_TRY(chain, Binary(Op::kAnd, at, *chain, link, true));
    } else {
      chain = std::move(link);
    }
    left = std::move(right);
  }
}

Result<Parsed> ParserState::ParseSum() {
  TW_TRY(Parsed left, ParseTerm());
  while (At("+") || At("-")) {
    const Token at = Take();
    TW_TRY(Parsed right, ParseTerm());
    TW_TRY(left, Binary(at.text == "+" ? Op::kAdd : Op::kSub, at, std::move(left), std::move(right),
                        false));
  }
  return left;
}

Result<Parsed> ParserState::ParseTerm() {
  TW_TRY(Parsed left, ParseUnary());
  while (At("*") || At("/") || At("//") || At("%")) {
    const Token at = Take();
    TW_TRY(Parsed right, ParseUnary());
    const Op op = at.text == "*"    ? Op::kMul
                  : at.text == "/"  ? Op::kDiv
                  : at.text == "//" ? Op::kFloorDiv
                                    : Op::kMod;
    TW_TRY(left, Binary(op, at, std::move(left), std::move(right), false));
  }
  return left;
}

Result<Parsed> ParserState::ParseUnary() {
  if (!At("-")) return ParsePower();
  if (++nesting_ > kMaxNesting) {
    return ErrorHere("more than {} signs or parentheses inside each other", kMaxNesting);
  }
  const Token at = Take();
  TW_TRY(Parsed operand, ParseUnary());
  --nesting_;
  if (IsCondition(operand.expr->op)) {
    return ErrorAt(program_.source, at.location,
                   "`-` needs a number, not a comparison; use if_then_else(condition, a, b)");
  }
  return Parsed{Make(Op::kNegate, at.location, {std::move(operand.expr)}), operand.depth + 1};
}

Result<Parsed> ParserState::ParsePower() {
  TW_TRY(Parsed base, ParseAtom());
  if (!At("**")) return base;
  if (++nesting_ > kMaxNesting) {
    return ErrorHere("more than {} powers or parentheses inside each other", kMaxNesting);
  }
  const Token at = Take();
  TW_TRY(Parsed exponent, ParseUnary());
  --nesting_;
  return Binary(Op::kPower, at, std::move(base), std::move(exponent), false);
}

Result<Parsed> ParserState::ParseAtom() {
  const Token& token = Peek();
  if (token.kind == TokenKind::kNumber) {
    auto number = std::make_shared<Expr>();
    number->number = token.number;
    number->integer = token.integer;
    number->is_integer = token.is_integer;
    number->location = token.location;
    Take();
    return Parsed{std::move(number), 1};
  }
  if (token.kind == TokenKind::kIdentifier) return ParseWord();
  if (token.kind == TokenKind::kName) {
    auto load = std::make_shared<Expr>();
    load->op = Op::kLoad;
    load->location = token.location;
    int depth = 1;
    TW_CHECK(ParseReference(&load->name, &load->operands, &depth));
    return Parsed{std::move(load), depth};
  }
  if (Accept("(")) {
    TW_TRY(Parsed inner, ParseCondition());
    TW_CHECK(Expect(")", "to close the parenthesis"));
    return inner;
  }
  return ErrorHere("expected a number, an index, a tensor, a function or `(` but found {}",
                   Quote(token));
}

Result<Parsed> ParserState::ParseWord() {
  const Token word = Peek();
  const auto* function = std::find_if(kFunctions.begin(), kFunctions.end(),
                                      [&](const Function& f) { return f.name == word.text; });
  if (function != kFunctions.end()) return ParseCall(function->op, function->least, function->most);
  if (At("(", 1)) {
    return ErrorHere("`{}` is not a function; the functions are {}", word.text, kFunctionList);
  }
  if (word.text == "inf") {
    Take();
    return Parsed{Make(Op::kInfinity, word.location, {}), 1};
  }
  if (const auto dim = dims_.find(word.text); dim != dims_.end()) {
    Take();
    auto number = std::make_shared<Expr>();
    number->integer = dim->second;
    number->number = static_cast<double>(dim->second);
    number->is_integer = true;
    number->location = word.location;
    return Parsed{std::move(number), 1};
  }
  if (std::find(loops_.begin(), loops_.end(), word.text) == loops_.end()) {
    return ErrorHere("`{}` is not an index of a loop around this place{}", word.text,
                     published_ ? "" : " and not a dim");
  }
  Take();
  auto index = std::make_shared<Expr>();
  index->op = Op::kIndex;
  index->name = word.text;
  index->location = word.location;
  return Parsed{std::move(index), 1};
}

Result<Parsed> ParserState::ParseCall(Op op, int least, int most) {
  const Token name = Take();
  TW_CHECK(Expect("(", fmt::format("after {}", name.text)));
  std::vector<Parsed> arguments;
  do {
    TW_TRY(Parsed argument, ParseCondition());
    const bool condition_place = op == Op::kSelect && arguments.empty();
    if (IsCondition(argument.expr->op) && !condition_place) {
      return ErrorAt(program_.source, argument.expr->location,
                     "{} needs a number here, not the comparison `{}`", name.text,
                     PrintExpr(*argument.expr));
    }
    arguments.push_back(std::move(argument));
  } while (Accept(","));
  const int count = static_cast<int>(arguments.size());
  if (count < least || count > most) {
    return ErrorAt(program_.source, name.location, "{} takes {} argument{} but has {}", name.text,
                   op == Op::kMax || op == Op::kMin ? "2 or more" : fmt::format("{}", least),
                   most == 1 ? "" : "s", count);
  }
  TW_CHECK(Expect(")", fmt::format("after the arguments of {}", name.text)));
  if (op == Op::kMax || op == Op::kMin) {
    Parsed result = std::move(arguments[0]);
    for (int i = 1; i < count; ++i) {
      TW_TRY(result, Binary(op, name, std::move(result), std::move(arguments[i]), false));
    }
    return result;
  }
  int depth = 1;
  std::vector<ExprPtr> operands;
  for (Parsed& argument : arguments) {
    depth = std::max(depth, 1 + argument.depth);
    operands.push_back(std::move(argument.expr));
  }
  return Parsed{Make(op, name.location, std::move(operands)), depth};
}

Result<Parsed> ParserState::ParseValue(std::string_view where) {
  TW_TRY(Parsed parsed, ParseCondition());
  if (!IsCondition(parsed.expr->op)) return parsed;
  return ErrorAt(program_.source, parsed.expr->location,
                 "{} is a number, not the comparison `{}`; write if_then_else({}, 1, 0)", where,
                 PrintExpr(*parsed.expr), PrintExpr(*parsed.expr));
}

Result<Parsed> ParserState::ParseIndex() {
  TW_TRY(Parsed parsed, ParseValue("an index"));
  std::optional<Error> error;
  // Inside a gathered index (a tensor as index) its own indices were checked when it was read.
  const auto check = [&](const auto& self, const Expr& expr) -> void {
    switch (expr.op) {
      case Op::kIndex:
      case Op::kLoad:
        return;
      case Op::kNumber:
        if (expr.is_integer) return;
        break;
      case Op::kAdd:
      case Op::kSub:
      case Op::kMul:
      case Op::kFloorDiv:
      case Op::kMod:
        for (const ExprPtr& operand : expr.operands) self(self, *operand);
        return;
      default:
        break;
    }
    if (!error) {
      error = ErrorAt(program_.source, expr.location,
                      "`{}` cannot be in an index: only indices, integers, integer tensors and "
                      "+ - * // % can",
                      PrintExpr(expr));
    }
  };
  check(check, *parsed.expr);
  if (error) return *error;
  return parsed;
}

Result<int64_t> ParserState::ParseConstant(std::string_view what) {
  TW_TRY(Parsed parsed, ParseValue(what));
  return Evaluate(*parsed.expr, program_.source);
}

Status ParserState::ParseSuperscript(const Token& name) {
  TW_CHECK(Expect("{", "after `^`"));
  const Token type = Take();
  const std::optional<DType> dtype =
      type.kind == TokenKind::kIdentifier ? ParseDType(type.text) : std::nullopt;
  if (!dtype || ShortName(*dtype) != type.text) {
    return ErrorAt(
        program_.source, type.location,
        "expected the type of {} but found {}; types are f16 bf16 f32 f64 i8 i16 i32 i64 "
        "u8 u16 u32 u64 bool",
        name.text, Quote(type));
  }
  TW_CHECK(Expect(",", "between type and scope"));
  const Token letter = Take();
  if (letter.kind != TokenKind::kIdentifier || letter.text.size() != 1 ||
      std::string_view("gsl").find(letter.text[0]) == std::string_view::npos) {
    return ErrorAt(program_.source, letter.location,
                   "expected the scope of {}, g (global), s (shared) or l (local), but found {}",
                   name.text, Quote(letter));
  }
  TW_CHECK(Expect("}", "after the scope"));
  const auto scope = static_cast<Scope>(std::string_view("gsl").find(letter.text[0]));
  const auto known = std::find_if(program_.tensors.begin(), program_.tensors.end(),
                                  [&](const Tensor& t) { return t.name == name.text; });
  if (known == program_.tensors.end()) {
    Tensor tensor;
    tensor.name = name.text;
    tensor.dtype = *dtype;
    tensor.scope = scope;
    tensor.location = name.location;
    program_.tensors.push_back(std::move(tensor));
    scope_known_.insert(name.text);
    return Ok();
  }
  if (scope_known_.insert(name.text).second) known->scope = scope;
  if (known->dtype != *dtype || known->scope != scope) {
    return ErrorAt(program_.source, name.location,
                   "{} is {},{} here but {},{} before; use the same type and scope everywhere",
                   name.text, type.text, letter.text, ShortName(known->dtype),
                   ScopeLetter(known->scope));
  }
  return Ok();
}

Status ParserState::ParseReference(std::string* name, std::vector<ExprPtr>* indices, int* depth) {
  const Token token = Take();
  *name = token.text;
  mention_.emplace(token.text, static_cast<int>(mention_.size()));
  if (Accept("^")) {
    TW_CHECK(ParseSuperscript(token));
  } else if (published_) {
    return ErrorHere("expected `^{{type,scope}}` after {} but found {}", token.text, Quote(Peek()));
  } else if (program_.Find(token.text) == nullptr) {
    const bool call = At("(");
    return ErrorAt(program_.source, token.location,
                   "the tensor {} is not declared; add e.g. `temp {}: f32[...]` above{}",
                   token.text, token.text, call ? " (functions are written in small letters)" : "");
  }
  if (!Accept("_")) return Ok();
  TW_CHECK(Expect("{", "after `_`"));
  if (++nesting_ > kMaxNesting) {
    return ErrorHere("more than {} indices inside each other", kMaxNesting);
  }
  do {
    TW_TRY(Parsed index, ParseIndex());
    *depth = std::max(*depth, 1 + index.depth);
    indices->push_back(std::move(index.expr));
  } while (Accept(","));
  --nesting_;
  TW_CHECK(Expect("}", "after the indices"));
  if (At("^")) {
    return ErrorHere("the superscript of {} comes before its indices: {}^{{f32,g}}_{{...}}",
                     token.text, token.text);
  }
  return Ok();
}

}  // namespace tw::leir
