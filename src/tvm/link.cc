#include "tvm/link.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <system_error>
#include <utility>

extern char** environ;

namespace tw::tvm_api {
namespace {

constexpr std::size_t kMaxOutput = 4096;  // bytes of the linker's output that an error quotes

// What comes through `fd` until its end, the last kMaxOutput bytes.
std::string ReadTail(int fd) {
  std::string text;
  char buffer[4096];
  for (;;) {
    const ssize_t count = read(fd, buffer, sizeof buffer);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return text;
    text.append(buffer, static_cast<std::size_t>(count));
    if (text.size() > kMaxOutput) text.erase(0, text.size() - kMaxOutput);
  }
}

}  // namespace

Status LinkSharedLibrary(const std::filesystem::path& object,
                         const std::filesystem::path& library) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) {
    return Fail(Code::kEnvironment, "cannot make a pipe: {}",
                std::generic_category().message(errno));
  }
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO);
  std::string words[] = {"cc", "-shared", "-o", library.string(), object.string()};
  char* arguments[std::size(words) + 1] = {};
  for (std::size_t i = 0; i < std::size(words); ++i) arguments[i] = words[i].data();
  pid_t pid = 0;
  const int failed = posix_spawnp(&pid, "cc", &actions, nullptr, arguments, environ);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  const std::string output = failed ? std::string() : ReadTail(ends[0]);
  close(ends[0]);
  if (failed) {
    return Fail(Code::kEnvironment,
                "cannot run the C compiler `cc` to link {}: {}. Install one, e.g. `apt install gcc`",
                library.string(), std::generic_category().message(failed));
  }
  int status = 0;
  while (waitpid(pid, &status, 0) < 0) {
    if (errno != EINTR) {
      return Fail(Code::kInternal, "lost the linker's process: {}",
                  std::generic_category().message(errno));
    }
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return Ok();
  return Fail(Code::kInternal, "`cc -shared` failed on {}: {}", object.string(), output);
}

}  // namespace tw::tvm_api
