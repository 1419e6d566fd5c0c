// The configuration file: TOML, one table per subcommand, keys named as the flags without dashes.
#pragma once

#include <CLI/CLI.hpp>

#include <string>

#include "base/result.h"

namespace tw::cli {

// Gives every option of `command` that neither a flag nor the environment has set its value from
// `path`. Errors are kUsage with file:line:column: not TOML, a key that is no flag, a value that
// the flag refuses.
Status ApplyConfig(CLI::App& command, const std::string& path);

}  // namespace tw::cli
