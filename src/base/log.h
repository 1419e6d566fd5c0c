// Diagnostics on stderr, by spdlog. Results never go through here.
#pragma once

#include <spdlog/spdlog.h>

namespace tw {

// quiet: errors only; verbose 0: warnings, 1: information, 2 and more: debugging. Colours obey
// NO_COLOR.
void SetLogLevel(bool quiet, int verbose);

}  // namespace tw
