// Errors that begin with the place in the text: "file:line:column: ".
#pragma once

#include <string>
#include <utility>

#include "base/result.h"
#include "leir/ast.h"

namespace tw::leir {

// A kUsage error at `location` of `source`; without a line when a program was made, not read.
template <typename... Args>
Error ErrorAt(const std::string& source, Location location, fmt::format_string<Args...> format,
              Args&&... args) {
  std::string message = fmt::format(format, std::forward<Args>(args)...);
  const std::string& name = source.empty() ? "program" : source;
  if (location.line == 0) return Fail(Code::kUsage, "{}: {}", name, message);
  return Fail(Code::kUsage, "{}:{}:{}: {}", name, location.line, location.column, message);
}

}  // namespace tw::leir
