#include "llm/chat.h"

#include <array>
#include <utility>

namespace tw::llm {
namespace {

constexpr std::array<std::pair<FailureKind, std::string_view>, 15> kNames = {{
    {FailureKind::kNetwork, "network"},
    {FailureKind::kTimeout, "timeout"},
    {FailureKind::kRateLimited, "rate_limited"},
    {FailureKind::kQuota, "quota"},
    {FailureKind::kServer, "server"},
    {FailureKind::kBadRequest, "bad_request"},
    {FailureKind::kAuth, "auth"},
    {FailureKind::kContextOverflow, "context_overflow"},
    {FailureKind::kNotJson, "not_json"},
    {FailureKind::kEmpty, "empty"},
    {FailureKind::kTruncated, "truncated"},
    {FailureKind::kRefused, "refused"},
    {FailureKind::kBudget, "budget"},
    {FailureKind::kReplayMiss, "replay_miss"},
    {FailureKind::kStopped, "stopped"},
}};

}  // namespace

std::string_view Name(FailureKind kind) {
  for (const auto& [value, name] : kNames) {
    if (value == kind) return name;
  }
  return "unknown";
}

std::optional<FailureKind> ParseFailureKind(std::string_view name) {
  for (const auto& [value, known] : kNames) {
    if (known == name) return value;
  }
  return std::nullopt;
}

}  // namespace tw::llm
