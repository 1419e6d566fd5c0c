// Files: whole reads, and writes that are there whole or not at all.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "base/result.h"

namespace tw {

// Errors of these functions have the code given and say path, what was tried and the system's
// reason.
Result<std::string> ReadFile(const std::filesystem::path& path, Code code);
// Writes a temporary file beside `path`, syncs it and renames it over `path`.
Status WriteFileAtomic(const std::filesystem::path& path, std::string_view bytes, Code code);
// With parents; fine when it is there already.
Status CreateDirectories(const std::filesystem::path& path, Code code);
// "No space left on device (make room, then repeat the command)" and the like, for an errno.
std::string SystemReason(int error_number);

}  // namespace tw
