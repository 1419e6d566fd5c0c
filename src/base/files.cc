#include "base/files.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace tw {
namespace {

// A file descriptor that is closed when it goes out of scope.
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }

 private:
  int fd_;
};

Error Failed(const std::filesystem::path& path, const char* what, Code code, int error_number) {
  return Fail(code, "{}: cannot {}: {}", path.string(), what, SystemReason(error_number));
}

int WriteAll(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = write(fd, bytes.data(), bytes.size());
    if (written < 0) {
      if (errno == EINTR) continue;
      return errno;
    }
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}

}  // namespace

std::string SystemReason(int error_number) {
  std::string reason = std::generic_category().message(error_number);
  switch (error_number) {
    case ENOSPC:
    case EDQUOT:
      return reason + " (make room, then repeat the command)";
    case EACCES:
    case EPERM:
    case EROFS:
      return reason + " (choose a place that you may write to)";
    default:
      return reason;
  }
}

Result<std::string> ReadFile(const std::filesystem::path& path, Code code) {
  Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0) return Failed(path, "read", code, errno);
  std::string bytes;
  char buffer[1 << 16];
  while (true) {
    const ssize_t got = read(file.get(), buffer, sizeof buffer);
    if (got < 0) {
      if (errno == EINTR) continue;
      return Failed(path, "read", code, errno);
    }
    if (got == 0) return bytes;
    bytes.append(buffer, static_cast<std::size_t>(got));
  }
}

Status WriteFileAtomic(const std::filesystem::path& path, std::string_view bytes, Code code) {
  const std::filesystem::path temporary = path.string() + ".tmp" + std::to_string(getpid());
  auto give_up = [&](int error_number) {
    unlink(temporary.c_str());
    return Failed(path, "write", code, error_number);
  };
  {
    Descriptor file(open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
    if (file.get() < 0) return give_up(errno);
    if (const int error = WriteAll(file.get(), bytes); error != 0) return give_up(error);
    if (fsync(file.get()) != 0) return give_up(errno);
  }
  if (rename(temporary.c_str(), path.c_str()) != 0) return give_up(errno);
  // The rename itself is durable once the folder is synced; a folder that cannot be opened is no
  // reason to fail.
  const std::filesystem::path folder = path.has_parent_path() ? path.parent_path() : ".";
  Descriptor parent(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (parent.get() >= 0) fsync(parent.get());
  return Ok();
}

Status CreateDirectories(const std::filesystem::path& path, Code code) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error) return Failed(path, "create the directory", code, error.value());
  return Ok();
}

}  // namespace tw
