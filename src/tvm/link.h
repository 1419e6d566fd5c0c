// Linking an object file into a shared library with the system's C compiler.
#pragma once

#include <filesystem>

#include "base/result.h"

namespace tw::tvm_api {

// Runs `cc -shared -o LIBRARY OBJECT`. kEnvironment when there is no `cc`, kInternal with the last
// lines of what it printed when it fails.
Status LinkSharedLibrary(const std::filesystem::path& object, const std::filesystem::path& library);

}  // namespace tw::tvm_api
