#include "llm/redact.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace tw::llm {
namespace {

constexpr std::size_t kShortestSecret = 8;
constexpr std::string_view kReplacement = "[redacted]";

std::string ReplaceAll(std::string_view text, std::string_view from, std::string_view to) {
  std::string out;
  std::size_t at = 0;
  for (std::size_t hit; (hit = text.find(from, at)) != std::string_view::npos;
       at = hit + from.size()) {
    out.append(text.substr(at, hit - at)).append(to);
  }
  return out.append(text.substr(at));
}

}  // namespace

Redactor::Redactor(const std::vector<std::string>& secrets) {
  for (const std::string& secret : secrets) {
    if (secret.size() < kShortestSecret) continue;
    secrets_.push_back(secret);
    std::string quoted =
        nlohmann::json(secret).dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
    secrets_.push_back(quoted.substr(1, quoted.size() - 2));
    secrets_.push_back(ReplaceAll(secrets_.back(), "/", "\\/"));
  }
  std::sort(secrets_.begin(), secrets_.end(), [](const std::string& a, const std::string& b) {
    return a.size() != b.size() ? a.size() > b.size() : a < b;
  });
  secrets_.erase(std::unique(secrets_.begin(), secrets_.end()), secrets_.end());
}

std::string Redactor::operator()(std::string_view text) const {
  std::string out(text);
  for (const std::string& secret : secrets_) {
    if (out.find(secret) != std::string::npos) out = ReplaceAll(out, secret, kReplacement);
  }
  return out;
}

}  // namespace tw::llm
