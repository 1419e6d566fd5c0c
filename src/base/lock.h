// An exclusive lock file. The kernel frees it when the process ends, however it ends.
#pragma once

#include <filesystem>

#include "base/result.h"

namespace tw {

class FileLock {
 public:
  // Errors are kRunDirectory; when another process holds it: "... in use by process PID".
  static Result<FileLock> Acquire(const std::filesystem::path& path);
  FileLock(FileLock&& other) noexcept : fd_(other.fd_) { other.fd_ = -1; }
  FileLock& operator=(FileLock&& other) noexcept;
  ~FileLock();

 private:
  explicit FileLock(int fd) : fd_(fd) {}
  int fd_;
};

}  // namespace tw
