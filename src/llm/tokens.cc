#include "llm/tokens.h"

namespace tw::llm {
namespace {

constexpr int64_t kTemplateTokens = 8;

enum class Kind { kLetter, kDigit, kBlank, kMark, kOther };

Kind KindOf(char c) {
  const auto byte = static_cast<unsigned char>(c);
  if (byte >= 0x80) return Kind::kOther;
  if ((byte | 0x20) >= 'a' && (byte | 0x20) <= 'z') return Kind::kLetter;
  if (byte >= '0' && byte <= '9') return Kind::kDigit;
  if (byte <= ' ') return Kind::kBlank;
  return Kind::kMark;
}

int64_t PerRun(std::size_t length, std::size_t per_token) {
  return static_cast<int64_t>((length + per_token - 1) / per_token);
}

}  // namespace

int64_t EstimateTokens(std::string_view text) {
  int64_t tokens = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    const Kind kind = KindOf(text[begin]);
    // A run of marks is of one mark; runs of the other kinds mix.
    std::size_t end = begin + 1;
    while (end < text.size() &&
           (kind == Kind::kMark ? text[end] == text[begin] : KindOf(text[end]) == kind)) {
      ++end;
    }
    const std::size_t length = end - begin;
    switch (kind) {
      case Kind::kLetter: {
        const bool beside_digit = (begin > 0 && KindOf(text[begin - 1]) == Kind::kDigit) ||
                                  (end < text.size() && KindOf(text[end]) == Kind::kDigit);
        tokens += PerRun(length, beside_digit ? 2 : 3);
        break;
      }
      case Kind::kMark:
        tokens += PerRun(length, 4);
        break;
      case Kind::kDigit:
      case Kind::kOther:
        tokens += static_cast<int64_t>(length);
        break;
      case Kind::kBlank: {
        const bool before_word = length == 1 && text[begin] == ' ' && end < text.size();
        tokens += before_word ? 0 : PerRun(length, 16);
        break;
      }
    }
    begin = end;
  }
  return tokens;
}

int64_t EstimateTokens(const std::vector<Message>& messages) {
  int64_t tokens = kTemplateTokens;
  for (const Message& message : messages) {
    tokens += kTemplateTokens + EstimateTokens(message.role) + EstimateTokens(message.content);
  }
  return tokens;
}

}  // namespace tw::llm
