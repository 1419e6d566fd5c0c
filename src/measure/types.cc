#include "measure/types.h"

#include <array>

namespace tw::measure {
namespace {

constexpr std::array<std::string_view, 9> kNames{"none",          "schedule-error", "build-error",
                                                 "run-error",     "crash",          "timeout",
                                                 "out-of-memory", "wrong-numbers",  "garbage"};

}  // namespace

std::string_view Name(FailureKind kind) { return kNames[static_cast<std::size_t>(kind)]; }

std::optional<FailureKind> ParseFailureKind(std::string_view name) {
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    if (kNames[i] == name) return static_cast<FailureKind>(i);
  }
  return std::nullopt;
}

}  // namespace tw::measure
