// LEIR texts to programs. Grammar: docs/leir.md.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "leir/ast.h"

namespace tw::leir {

struct ParseOptions {
  std::map<std::string, int64_t> dims;  // values for `dim` lines, in place of their defaults
  // Also reads what one published strategy writes, `L..[s;]L..[t;];` for `L..[s;L..[t;];];`.
  bool lenient = false;
};

// A .leir file. All tensors of the result have shapes. Errors are kUsage and begin with
// "FILE:LINE:COLUMN: ".
Result<Program> ParseFile(std::string_view text, const std::string& filename,
                          const ParseOptions& options = {});

// What the published form leaves out: the arguments, in order, with name, dtype, shape and role.
// Their scopes are read from the text.
struct SideInformation {
  std::vector<Tensor> arguments;
};

// The published form. Same errors; `name` stands for the file name.
Result<Program> ParsePublished(std::string_view text, const SideInformation& side,
                               const std::string& name = "text", bool lenient = false);

}  // namespace tw::leir
