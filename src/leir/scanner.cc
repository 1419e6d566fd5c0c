#include "leir/scanner.h"

#include <charconv>
#include <cmath>

#include "leir/location.h"

namespace tw::leir {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsLower(char c) { return c >= 'a' && c <= 'z'; }
bool IsUpper(char c) { return c >= 'A' && c <= 'Z'; }

class Scanner {
 public:
  Scanner(std::string_view text, const std::string& source) : text_(text), source_(source) {}

  Result<std::vector<Token>> Run() {
    std::vector<Token> tokens;
    while (true) {
      SkipBlanks();
      Token token;
      token.location = location_;
      if (at_ == text_.size()) {
        tokens.push_back(token);
        return tokens;
      }
      const char c = text_[at_];
      if (IsDigit(c)) {
        TW_CHECK(Number(&token));
      } else if (IsLower(c)) {
        token.kind = TokenKind::kIdentifier;
        Take(&token, IdentifierLength());
      } else if (IsUpper(c)) {
        token.kind = TokenKind::kName;
        std::size_t length = 1;
        while (IsLower(Peek(length))) ++length;
        if (IsUpper(Peek(length)) || IsDigit(Peek(length))) {
          return ErrorAt(source_, location_,
                         "the name that starts with `{}` goes on with `{}`: tensor names are one "
                         "capital and then small letters, e.g. Score",
                         text_.substr(at_, length), Peek(length));
        }
        Take(&token, length);
      } else {
        TW_CHECK(Symbol(&token));
      }
      tokens.push_back(std::move(token));
    }
  }

 private:
  char Peek(std::size_t ahead) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }

  void Advance() {
    if (text_[at_++] == '\n') {
      ++location_.line;
      location_.column = 1;
    } else {
      ++location_.column;
    }
  }

  void Take(Token* token, std::size_t length) {
    token->text = std::string(text_.substr(at_, length));
    for (std::size_t i = 0; i < length; ++i) Advance();
  }

  void SkipBlanks() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '#') {
        while (at_ < text_.size() && text_[at_] != '\n') Advance();
      } else if (c == ' ' || c == '\t' || c == '\r' || c == '\n') {
        Advance();
      } else {
        return;
      }
    }
  }

  // An underscore belongs to the identifier only before a letter: `if_then_else`, but `a_{`.
  std::size_t IdentifierLength() const {
    std::size_t length = 1;
    while (IsLower(Peek(length)) || IsDigit(Peek(length)) ||
           (Peek(length) == '_' && IsLower(Peek(length + 1)))) {
      ++length;
    }
    return length;
  }

  Status Number(Token* token) {
    token->kind = TokenKind::kNumber;
    token->is_integer = true;
    std::size_t length = 1;
    while (IsDigit(Peek(length))) ++length;
    if (Peek(length) == '.') {
      if (!IsDigit(Peek(length + 1))) {
        return ErrorAt(source_, location_, "`{}.` needs a digit after the point, e.g. {}.0",
                       text_.substr(at_, length), text_.substr(at_, length));
      }
      token->is_integer = false;
      ++length;
      while (IsDigit(Peek(length))) ++length;
    }
    if (Peek(length) == 'e') {
      const std::size_t sign = Peek(length + 1) == '-' || Peek(length + 1) == '+' ? 1 : 0;
      if (IsDigit(Peek(length + 1 + sign))) {
        token->is_integer = false;
        length += 2 + sign;
        while (IsDigit(Peek(length))) ++length;
      }
    }
    const std::string_view digits = text_.substr(at_, length);
    if (IsLower(Peek(length)) || IsUpper(Peek(length))) {
      return ErrorAt(source_, location_,
                     "`{}{}`: a number and a name need an operator between them, e.g. {}*{}",
                     digits, Peek(length), digits, Peek(length));
    }
    const char* end = digits.data() + digits.size();
    if (token->is_integer) {
      if (std::from_chars(digits.data(), end, token->integer).ec != std::errc()) {
        return ErrorAt(source_, location_,
                       "the integer {} does not fit 64 bits; write {}.0 for a "
                       "floating-point number",
                       digits, digits);
      }
    }
    if (std::from_chars(digits.data(), end, token->number).ec != std::errc() ||
        !std::isfinite(token->number)) {
      return ErrorAt(source_, location_,
                     "the number {} is outside the range of double precision; infinity is "
                     "written `inf`",
                     digits);
    }
    Take(token, length);
    return Ok();
  }

  Status Symbol(Token* token) {
    token->kind = TokenKind::kSymbol;
    static constexpr std::string_view kTwo[] = {"**", "//", "<=", ">=", "==", "!="};
    for (std::string_view two : kTwo) {
      if (text_.substr(at_, 2) == two) {
        Take(token, 2);
        return Ok();
      }
    }
    const char c = text_[at_];
    if (std::string_view("^_{}[]()=,;:+-*/%<>&|").find(c) != std::string_view::npos) {
      Take(token, 1);
      return Ok();
    }
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte >= 0x7f) {
      return ErrorAt(source_, location_,
                     "the byte 0x{:02x} is not part of LEIR, which is plain ASCII text", byte);
    }
    return ErrorAt(source_, location_, "the character `{}` is not part of LEIR", c);
  }

  std::string_view text_;
  const std::string& source_;
  std::size_t at_ = 0;
  Location location_{1, 1};
};

}  // namespace

Result<std::vector<Token>> Scan(std::string_view text, const std::string& source) {
  return Scanner(text, source).Run();
}

std::string Quote(const Token& token) {
  if (token.kind == TokenKind::kEnd) return "the end of the text";
  return fmt::format("`{}`", token.text);
}

}  // namespace tw::leir
