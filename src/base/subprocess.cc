#include "base/subprocess.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "base/files.h"

extern char** environ;

namespace tw {
namespace {

ExitStatus Decode(int status) {
  if (WIFSIGNALED(status)) return {0, WTERMSIG(status)};
  return {WEXITSTATUS(status), 0};
}

struct Pipe {
  int read_end = -1, write_end = -1;
  bool Open() {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return false;
    read_end = ends[0];
    write_end = ends[1];
    return true;
  }
  void Close() {
    if (read_end >= 0) close(read_end);
    if (write_end >= 0) close(write_end);
    read_end = write_end = -1;
  }
};

// This process's environment with `added` in place of what has the same name.
std::vector<std::string> Environment(
    const std::vector<std::pair<std::string, std::string>>& added) {
  std::vector<std::string> all;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    bool replaced = false;
    for (const auto& [name, value] : added) {
      replaced |= text.size() > name.size() && text.substr(0, name.size()) == name &&
                  text[name.size()] == '=';
    }
    if (!replaced) all.emplace_back(text);
  }
  for (const auto& [name, value] : added) all.push_back(name + "=" + value);
  return all;
}

std::vector<char*> Pointers(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

void SetNonBlocking(int fd) { fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK); }

}  // namespace

std::string SignalName(int signal) {
  const char* name = sigabbrev_np(signal);
  return name == nullptr ? fmt::format("signal {}", signal) : fmt::format("SIG{}", name);
}

std::string ExitStatus::ToString() const {
  return signal != 0 ? "signal " + SignalName(signal) : fmt::format("exit code {}", code);
}

Result<Subprocess> Subprocess::Spawn(const Options& options) {
  Pipe in, out, err;
  auto close_all = [&] {
    in.Close();
    out.Close();
    err.Close();
  };
  if (!in.Open() || !out.Open() || !err.Open()) {
    const int reason = errno;
    close_all();
    return Fail(Code::kEnvironment, "cannot make a pipe: {}", SystemReason(reason));
  }

  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_adddup2(&files, in.read_end, STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&files, out.write_end, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&files, err.write_end, STDERR_FILENO);

  // Its own group, so that all it starts can be killed, and ^C on the terminal reaches only the
  // tuner.
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t defaults, none;
  sigfillset(&defaults);
  sigemptyset(&none);
  posix_spawnattr_setsigdefault(&attributes, &defaults);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes,
                           POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);

  std::vector<std::string> arguments{options.program.string()};
  arguments.insert(arguments.end(), options.arguments.begin(), options.arguments.end());
  std::vector<std::string> environment = Environment(options.environment);
  Subprocess child;
  const int failed = posix_spawnp(&child.pid_, options.program.c_str(), &files, &attributes,
                                  Pointers(arguments).data(), Pointers(environment).data());
  posix_spawn_file_actions_destroy(&files);
  posix_spawnattr_destroy(&attributes);
  if (failed != 0) {
    child.pid_ = -1;
    close_all();
    return Fail(Code::kEnvironment, "cannot start {}: {}", options.program.string(),
                SystemReason(failed));
  }
  close(in.read_end);
  close(out.write_end);
  close(err.write_end);
  child.input_ = in.write_end;
  child.output_ = out.read_end;
  child.errors_ = err.read_end;
  SetNonBlocking(child.input_);
  SetNonBlocking(child.output_);
  SetNonBlocking(child.errors_);
  return child;
}

Subprocess::Subprocess(Subprocess&& other) noexcept { *this = std::move(other); }

Subprocess& Subprocess::operator=(Subprocess&& other) noexcept {
  std::swap(pid_, other.pid_);
  std::swap(input_, other.input_);
  std::swap(output_, other.output_);
  std::swap(errors_, other.errors_);
  std::swap(ended_, other.ended_);
  return *this;
}

Subprocess::~Subprocess() {
  if (pid_ > 0) {
    KillGroup();
    Wait();
  }
  Close();
}

void Subprocess::Close() {
  CloseInput();
  if (output_ >= 0) close(output_);
  if (errors_ >= 0) close(errors_);
  output_ = errors_ = -1;
}

void Subprocess::CloseInput() {
  if (input_ >= 0) close(input_);
  input_ = -1;
}

void Subprocess::KillGroup() {
  // Once the child is reaped its number, and so its group's, may belong to somebody else.
  if (!ended_ && pid_ > 0) kill(-pid_, SIGKILL);
}

std::optional<ExitStatus> Subprocess::Poll() {
  if (ended_) return ended_;
  // Looks without reaping first, so that the group can still be killed by its leader's number.
  siginfo_t info = {};
  if (waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) != 0 ||
      info.si_pid == 0) {
    return std::nullopt;
  }
  return Wait();
}

ExitStatus Subprocess::Wait() {
  if (ended_) return *ended_;
  siginfo_t info = {};
  while (waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOWAIT) != 0 && errno == EINTR) {
  }
  kill(-pid_, SIGKILL);  // whatever the child left behind
  int status = 0;
  while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  ended_ = Decode(status);
  return *ended_;
}

void DieWithParent(pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(1);  // it died before the line above
}

Result<Finished> RunProgram(const Subprocess::Options& options, std::chrono::seconds deadline) {
  TW_TRY(Subprocess child, Subprocess::Spawn(options));
  child.CloseInput();
  Finished finished;
  const auto end = std::chrono::steady_clock::now() + deadline;
  pollfd waiting[2] = {{child.output(), POLLIN, 0}, {child.errors(), POLLIN, 0}};
  while (waiting[0].fd >= 0 || waiting[1].fd >= 0) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        end - std::chrono::steady_clock::now());
    if (left.count() <= 0) {
      return Fail(Code::kEnvironment, "{}: killed after {} s", options.program.string(),
                  deadline.count());
    }
    if (poll(waiting, 2, static_cast<int>(left.count())) < 0 && errno != EINTR) break;
    for (pollfd& one : waiting) {
      if (one.fd < 0 || one.revents == 0) continue;
      char buffer[4096];
      const ssize_t got = read(one.fd, buffer, sizeof buffer);
      if (got > 0) {
        finished.output.append(buffer, static_cast<std::size_t>(got));
      } else if (got == 0 || (errno != EAGAIN && errno != EINTR)) {
        one.fd = -1;
      }
    }
  }
  finished.status = child.Wait();
  return finished;
}

}  // namespace tw
