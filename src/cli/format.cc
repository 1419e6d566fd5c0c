#include "cli/format.h"

#include <charconv>

namespace tw::cli {

std::string Milliseconds(double seconds) {
  if (seconds < 1e-6) return fmt::format("{:.3g} ns", seconds * 1e9);
  if (seconds < 1e-3) return fmt::format("{:.3g} us", seconds * 1e6);
  if (seconds < 1) return fmt::format("{:.3g} ms", seconds * 1e3);
  return fmt::format("{:.3g} s", seconds);
}

std::string Shape(const std::vector<int64_t>& shape) {
  if (shape.empty()) return "scalar";
  std::string text;
  for (int64_t extent : shape) text += fmt::format("{}{}", text.empty() ? "" : "x", extent);
  return text;
}

std::string Counts(const std::map<std::string, int64_t>& counts) {
  std::string text;
  for (const auto& [name, count] : counts) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, name);
  }
  return text.empty() ? "none" : text;
}

Result<std::map<std::string, int64_t>> ParseDims(const std::string& text) {
  std::map<std::string, int64_t> dims;
  std::size_t start = 0;
  while (start < text.size()) {
    std::size_t end = std::min(text.find(',', start), text.size());
    std::string part = text.substr(start, end - start);
    start = end + 1;
    std::size_t equals = part.find('=');
    int64_t value = 0;
    const char* first = part.data() + (equals == std::string::npos ? 0 : equals + 1);
    const char* last = part.data() + part.size();
    auto [stop, error] = std::from_chars(first, last, value);
    if (equals == std::string::npos || equals == 0 || error != std::errc() || stop != last) {
      return Fail(Code::kUsage, "--shape: '{}' is not NAME=NUMBER; write e.g. --shape m=512,n=512",
                  part);
    }
    if (value < 1) {
      return Fail(Code::kUsage, "--shape: {} must be at least 1, got {}", part.substr(0, equals),
                  value);
    }
    dims[part.substr(0, equals)] = value;
  }
  return dims;
}

}  // namespace tw::cli
