// The winner as something to ship: a shared library, a C header, and an example in C++ and Python.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"

namespace tw::tune {

struct Exported {
  std::vector<std::filesystem::path> files;
  std::string cpp_command;     // compiles and runs the C++ example
  std::string python_command;  // runs the Python example
};

// Writes NAME.so, NAME.h, example.cc and example.py into `output` (empty: RUN-DIR/export). `name`
// (empty: the workload's) becomes the function's name; what C does not allow in it becomes '_'.
// Errors: kRunDirectory, kNoCandidate, kEnvironment (no C compiler to link with).
Result<Exported> ExportBest(const std::filesystem::path& run_dir,
                            const std::filesystem::path& output, const std::string& name);

}  // namespace tw::tune
