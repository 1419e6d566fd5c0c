#include "llm/record.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "base/files.h"
#include "base/log.h"
#include "llm/chat_json.h"

namespace tw::llm {
namespace {

// Where the file's last whole line ends; a last line without newline is whole when it can be read.
struct Tail {
  std::size_t end = 0;
  bool needs_newline = false;
};

Tail FindTail(const std::string& text) {
  const std::size_t newline = text.rfind('\n');
  const std::size_t begin = newline == std::string::npos ? 0 : newline + 1;
  if (begin == text.size()) return {begin, false};
  if (ParseRecordingLine(text.substr(begin)).ok()) return {text.size(), true};
  return {begin, false};
}

int WriteAll(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno != EINTR) return errno;
    if (written > 0) bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}

}  // namespace

Result<std::unique_ptr<RecordingEndpoint>> RecordingEndpoint::Open(
    const std::filesystem::path& path, ChatEndpoint& inner,
    const std::vector<std::string>& secrets) {
  const auto failed = [&](int error_number) {
    return Fail(Code::kUsage, "{}: cannot record answers here: {}", path.string(),
                SystemReason(error_number));
  };
  // Prompts and answers may be confidential: for the user alone.
  const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (fd < 0) return failed(errno);
  struct stat status = {};
  if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) {
    close(fd);
    return Fail(Code::kUsage, "{}: cannot record answers here: not a regular file", path.string());
  }
  std::unique_ptr<RecordingEndpoint> endpoint(
      new RecordingEndpoint(path, fd, inner, Redactor(secrets)));
  TW_TRY(const std::string text, ReadFile(path, Code::kUsage));
  const std::size_t first_end = text.find('\n');
  if (first_end != std::string::npos) {
    if (const auto first = ParseRecordingLine(text.substr(0, first_end)); !first.ok()) {
      return Fail(Code::kUsage, "{}:1: {}; choose another file", path.string(),
                  first.error().message);
    }
  }
  const Tail tail = FindTail(text);
  if (tail.end < text.size() && first_end == std::string::npos && text[0] != '{') {
    return Fail(Code::kUsage, "{}: is there and holds no recording; choose another file",
                path.string());
  }
  if (tail.end < text.size() && ftruncate(fd, static_cast<off_t>(tail.end)) != 0) {
    return failed(errno);
  }
  if (tail.needs_newline) {
    if (const int error_number = WriteAll(fd, "\n")) return failed(error_number);
  }
  return endpoint;
}

RecordingEndpoint::~RecordingEndpoint() { close(fd_); }

ChatResult RecordingEndpoint::Complete(const ChatRequest& request) {
  ChatResult result = inner_.Complete(request);
  if (result.failure && result.failure->kind == FailureKind::kStopped) return result;
  const std::string line = redact_(RecordingLine(request, result)) + "\n";
  const std::lock_guard lock(mutex_);
  if (!status_.ok()) return result;  // a gap would be replayed as another answer
  int error_number = WriteAll(fd_, line);
  if (error_number == 0 && fsync(fd_) != 0 && errno != EINVAL) error_number = errno;
  if (error_number != 0) {
    status_ = Fail(Code::kUsage, "{}: cannot record an answer: {}; later ones are not recorded",
                   path_.string(), SystemReason(error_number));
    spdlog::error("{}", status_.error().message);
  }
  return result;
}

Status RecordingEndpoint::status() const {
  const std::lock_guard lock(mutex_);
  return status_;
}

}  // namespace tw::llm
