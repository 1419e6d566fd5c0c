// Finds, loads and probes TVM. Call Load once before anything else of this folder.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace tw::tvm_api {

struct Versions {
  std::string tvm;            // "0.27.0.post1"
  std::string tvm_ffi;        // "0.1.14.post1"
  std::string site_packages;  // the folder of both wheels
  std::string library_dir;    // in it, of TVM's libraries
};

// The versions this build is made for, exact: others crash or lack functions (docs/tvm.md).
inline constexpr const char* kTvmVersion = "0.27.0.post1";
inline constexpr const char* kTvmFfiVersion = "0.1.14.post1";

// Loads libtvm_runtime, libtvm_runtime_extra and libtvm_compiler from $TENSORWRIGHT_TVM_HOME (a
// site-packages folder) or from the environment of the build; checks the wheel versions, then that
// every global function of `RequiredFunctions` is there. Errors are kEnvironment and say what to
// install; one error lists every missing function. Safe to call again. About 60 ms.
Result<Versions> Load();

// Every TVM global function the product calls, in one place.
const std::vector<std::string>& RequiredFunctions();

// LLVM's name of this machine's CPU, e.g. "znver3".
std::string SystemCpu();

}  // namespace tw::tvm_api
