// Text to tokens, for files and for the published one-line form alike.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "leir/ast.h"

namespace tw::leir {

enum class TokenKind {
  kNumber,      // 16, 0.5, 1e-05
  kIdentifier,  // small letters (then digits): index, dim, dtype, function, keyword; if_then_else
  kName,        // capital, then small letters: tensor or loop kind
  kSymbol,
  kEnd,
};

struct Token {
  TokenKind kind = TokenKind::kEnd;
  std::string text;
  double number = 0;    // kNumber
  int64_t integer = 0;  // kNumber when is_integer
  bool is_integer = false;
  Location location;
};

// The tokens of `text`, the last being kEnd. Blanks, newlines and comments (# to end of line)
// separate. Errors are kUsage: a character that is not part of the language, an integer beyond 64
// bits.
Result<std::vector<Token>> Scan(std::string_view text, const std::string& source);

// The token as a message shows it: "`+`", "the end of the text".
std::string Quote(const Token& token);

}  // namespace tw::leir
