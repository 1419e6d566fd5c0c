// What is tuned: a built-in operator, a .leir file, or a TVM module in JSON.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "leir/ast.h"
#include "tvm/module.h"

namespace tw::tune {

struct Workload {
  std::string name;
  std::optional<leir::Program> program;  // absent when it came as TIR
  tvm_api::Module module;                // unscheduled
};

// One file of workloads/, compiled into the program.
struct BuiltIn {
  std::string_view name;
  std::string_view text;
};
const std::vector<BuiltIn>& BuiltIns();
// The first comment of a built-in: one line on what it is.
std::string Describe(const BuiltIn& workload);

// Reads `source`: the name of a built-in, else a path (*.json: TVM module, anything else: LEIR).
// `dims` overrides the file's `dim` lines. Errors are kUsage; for an unknown name they list the
// built-ins.
Result<Workload> LoadWorkload(const std::string& source,
                              const std::map<std::string, int64_t>& dims);

// Reads the LEIR text of a built-in or a file, without TVM.
Result<leir::Program> LoadProgram(const std::string& source,
                                  const std::map<std::string, int64_t>& dims);

}  // namespace tw::tune
