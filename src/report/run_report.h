// The report of one run: a single HTML file made from its database.
#pragma once

#include <string>

#include "base/result.h"
#include "store/store.h"

namespace tw::report {

// Best latency against trials, failures by kind with one example each, the way from the root to the
// best program, and what the run was made with.
Result<std::string> RunReport(const store::Store& store);

}  // namespace tw::report
