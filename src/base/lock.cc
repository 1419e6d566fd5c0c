#include "base/lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "base/files.h"

namespace tw {

Result<FileLock> FileLock::Acquire(const std::filesystem::path& path) {
  const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (fd < 0) {
    return Fail(Code::kRunDirectory, "{}: cannot open the lock file: {}", path.string(),
                SystemReason(errno));
  }
  FileLock lock(fd);
  if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
    const int reason = errno;
    char owner[32] = {};
    const ssize_t size = pread(fd, owner, sizeof owner - 1, 0);
    if (reason != EWOULDBLOCK) {
      return Fail(Code::kRunDirectory, "{}: cannot lock: {}", path.string(), SystemReason(reason));
    }
    return Fail(Code::kRunDirectory,
                "{}: in use by process {}; wait for it to end, or choose another --run-dir",
                path.parent_path().string(), size > 0 ? owner : "(unknown)");
  }
  const std::string pid = std::to_string(getpid());
  if (ftruncate(fd, 0) != 0 || pwrite(fd, pid.data(), pid.size(), 0) < 0) {
    return Fail(Code::kRunDirectory, "{}: cannot write: {}", path.string(), SystemReason(errno));
  }
  return lock;
}

FileLock& FileLock::operator=(FileLock&& other) noexcept {
  std::swap(fd_, other.fd_);
  return *this;
}

FileLock::~FileLock() {
  if (fd_ >= 0) close(fd_);
}

}  // namespace tw
