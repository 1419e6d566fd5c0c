// How the arguments of a program must be aligned in memory.
#pragma once

#include "base/result.h"
#include "tvm/module.h"

namespace tw::tvm_api {

// The same program for callers whose arguments are aligned to their elements only, as memory of
// numpy, torch or std::vector is. TVM takes 64 bytes for granted otherwise and its vector loads
// fault on anything less. Loads that need no alignment cost the same on aligned data.
Result<Module> WithElementAlignment(const Module& module);

}  // namespace tw::tvm_api
