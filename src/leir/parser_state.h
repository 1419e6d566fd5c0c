// Inside the parser: the token cursor and the expression grammar.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "leir/location.h"
#include "leir/scanner.h"

namespace tw::leir {

// An expression and how deep its tree is; the depth is limited so that no later walk exhausts the
// stack.
struct Parsed {
  ExprPtr expr;
  int depth = 1;
};

class ParserState {
 public:
  ParserState(std::vector<Token> tokens, std::string source, bool published)
      : tokens_(std::move(tokens)), published_(published) {
    program_.source = std::move(source);
  }

 protected:
  static constexpr int kMaxNesting = 256;  // parentheses, calls, nests
  static constexpr int kMaxDepth = 1024;   // of an expression tree, e.g. terms of one sum

  const Token& Peek(int ahead = 0) const {
    const std::size_t i = at_ + ahead;
    return i < tokens_.size() ? tokens_[i] : tokens_.back();
  }
  bool At(std::string_view symbol, int ahead = 0) const {
    return Peek(ahead).kind == TokenKind::kSymbol && Peek(ahead).text == symbol;
  }
  bool AtWord(std::string_view word) const {
    return Peek().kind == TokenKind::kIdentifier && Peek().text == word;
  }
  bool Accept(std::string_view symbol);
  Status Expect(std::string_view symbol, std::string_view where);
  Token Take() { return tokens_[at_ + 1 < tokens_.size() ? at_++ : at_]; }

  template <typename... Args>
  Error ErrorHere(fmt::format_string<Args...> format, Args&&... args) const {
    return ErrorAt(program_.source, Peek().location, format, std::forward<Args>(args)...);
  }

  // expr, with the comparisons and & | of conditions; callers refuse those where a number is
  // wanted.
  Result<Parsed> ParseCondition();
  Result<Parsed> ParseValue(std::string_view where);     // a number, not a condition
  Result<Parsed> ParseIndex();                           // integer expression of loops
  Result<int64_t> ParseConstant(std::string_view what);  // integer expression of dims, evaluated
  // tensor-ref. `depth` becomes the depth of its tree.
  Status ParseReference(std::string* name, std::vector<ExprPtr>* indices, int* depth);

  std::vector<Token> tokens_;
  std::size_t at_ = 0;
  bool published_;
  Program program_;
  std::map<std::string, int64_t> dims_;
  std::vector<std::string> loops_;      // in scope, outermost first
  std::map<std::string, int> mention_;  // order of first mention of each tensor
  std::set<std::string> declared_;      // tensors with a stated shape
  std::set<std::string> scope_known_;   // tensors whose scope the text has stated

 private:
  Result<Parsed> ParseConjunction();
  Result<Parsed> ParseRelation();
  Result<Parsed> ParseSum();
  Result<Parsed> ParseTerm();
  Result<Parsed> ParseUnary();
  Result<Parsed> ParsePower();
  Result<Parsed> ParseAtom();
  Result<Parsed> ParseWord();
  Result<Parsed> ParseCall(Op op, int least, int most);
  Status ParseSuperscript(const Token& name);
  Result<Parsed> Binary(Op op, const Token& at, Parsed left, Parsed right, bool of_conditions);

  int nesting_ = 0;
};

inline bool IsCondition(Op op) { return op >= Op::kLess && op <= Op::kOr; }
// Function names and `inf`, `e`: not for loops and dims.
bool IsReserved(std::string_view word);

}  // namespace tw::leir
