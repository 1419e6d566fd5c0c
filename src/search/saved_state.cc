#include "search/saved_state.h"

#include <fmt/format.h>

#include <charconv>

namespace tw::search {

StateWriter& StateWriter::Put(int64_t value) {
  text_ += fmt::format("{} ", value);
  return *this;
}
StateWriter& StateWriter::Put(uint64_t value) {
  text_ += fmt::format("{} ", value);
  return *this;
}
StateWriter& StateWriter::Put(double value) {
  text_ += fmt::format("{} ", value);
  return *this;
}
StateWriter& StateWriter::Put(std::string_view text) {
  text_ += fmt::format("{} {} ", text.size(), text);
  return *this;
}

std::string_view StateReader::Word() {
  const std::size_t end = text_.find(' ');
  if (!ok_ || end == std::string_view::npos) {
    ok_ = false;
    return {};
  }
  const std::string_view word = text_.substr(0, end);
  text_.remove_prefix(end + 1);
  return word;
}

template <typename T>
T StateReader::Number() {
  const std::string_view word = Word();
  T value{};
  const auto [last, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (ok_ && error == std::errc() && last == word.data() + word.size()) return value;
  ok_ = false;
  return T{};
}

int64_t StateReader::Integer() { return Number<int64_t>(); }
uint64_t StateReader::Unsigned() { return Number<uint64_t>(); }
double StateReader::Real() { return Number<double>(); }

std::string StateReader::Text() {
  const uint64_t size = Unsigned();
  if (!ok_ || size >= text_.size() || text_[size] != ' ') {
    ok_ = false;
    return {};
  }
  std::string text(text_.substr(0, size));
  text_.remove_prefix(size + 1);
  return text;
}

int64_t StateReader::Count() {
  const int64_t count = Integer();
  ok_ = ok_ && count >= 0 && count <= static_cast<int64_t>(text_.size());
  return ok_ ? count : 0;
}

}  // namespace tw::search
