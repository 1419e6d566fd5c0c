#include "measure/worker_process.h"

#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <vector>

#include "measure/timing.h"

namespace tw::measure {
namespace {

constexpr std::size_t kTailBytes = 2000;
constexpr double kDyingSeconds = 2;

// Reads until the pipe is empty. Returns whether it is still open.
bool Drain(int fd, std::string& into) {
  char buffer[1 << 16];
  while (true) {
    const ssize_t got = read(fd, buffer, sizeof buffer);
    if (got > 0) {
      into.append(buffer, static_cast<std::size_t>(got));
    } else if (got == 0) {
      return false;
    } else if (errno != EINTR) {
      return errno == EAGAIN || errno == EWOULDBLOCK;
    }
  }
}

// How often the kernel has killed a process for want of memory since it was started; 0 when it does
// not say.
int64_t OomKills() {
  std::ifstream file("/proc/vmstat");
  std::string name;
  int64_t count = 0;
  while (file >> name >> count) {
    if (name == "oom_kill") return count;
  }
  return 0;
}

}  // namespace

Result<std::unique_ptr<WorkerProcess>> WorkerProcess::Spawn(const Subprocess::Options& options) {
  signal(SIGPIPE, SIG_IGN);  // a dead worker is noticed by its exit, not by dying of it
  TW_TRY(Subprocess process, Subprocess::Spawn(options));
  return std::unique_ptr<WorkerProcess>(new WorkerProcess(std::move(process)));
}

WorkerProcess::WorkerProcess(Subprocess process)
    : process_(std::move(process)), oom_kills_(OomKills()) {}

void WorkerProcess::Send(const Json& message) {
  outgoing_ += EncodeFrame(message);
  Write();
}

void WorkerProcess::Write() {
  std::string_view left = outgoing_;
  while (!left.empty()) {
    const ssize_t written = write(process_.input(), left.data(), left.size());
    if (written >= 0) {
      left.remove_prefix(static_cast<std::size_t>(written));
    } else if (errno == EPIPE) {
      left = {};  // the worker is gone; Failed finds out how it went
    } else if (errno != EINTR) {
      break;
    }
  }
  outgoing_.erase(0, outgoing_.size() - left.size());
}

void WorkerProcess::WaitForAny(std::span<WorkerProcess* const> workers, int milliseconds) {
  std::vector<pollfd> fds;
  for (const WorkerProcess* w : workers) {
    if (w->output_open_) fds.push_back({w->process_.output(), POLLIN, 0});
    if (w->errors_open_) fds.push_back({w->process_.errors(), POLLIN, 0});
    if (!w->outgoing_.empty()) fds.push_back({w->process_.input(), POLLOUT, 0});
  }
  poll(fds.data(), fds.size(), milliseconds);
}

void WorkerProcess::Pump() {
  Write();
  std::string bytes;
  if (output_open_) output_open_ = Drain(process_.output(), bytes);
  reader_.Append(bytes);
  if (errors_open_) errors_open_ = Drain(process_.errors(), stderr_tail_);
  if (stderr_tail_.size() > kTailBytes) stderr_tail_.erase(0, stderr_tail_.size() - kTailBytes);
}

std::optional<Json> WorkerProcess::Receive() {
  if (garbage_) return std::nullopt;
  Result<std::optional<Json>> next = reader_.Next();
  if (!next.ok()) {
    garbage_ = next.error().message;
    return std::nullopt;
  }
  return std::move(next).value();
}

std::optional<Fault> WorkerProcess::Failed() {
  if (garbage_) return Fault{FailureKind::kGarbage, "the worker sent " + *garbage_};
  const std::optional<ExitStatus> ended = process_.Poll();
  if (!ended) {
    if (output_open_) return std::nullopt;
    // A dying process closes its files a moment before it is dead; one that lives on cannot answer
    // any more.
    if (!closed_at_) closed_at_ = MonotonicSeconds();
    if (MonotonicSeconds() - *closed_at_ < kDyingSeconds) return std::nullopt;
    Kill();
    return Fault{FailureKind::kGarbage, "the worker closed its output" + LastWords()};
  }
  if (ended->signal == SIGKILL && OomKills() > oom_kills_) {
    return Fault{FailureKind::kOutOfMemory,
                 "the kernel killed the worker because the machine ran out of memory"};
  }
  if (ended->signal != 0) {
    return Fault{FailureKind::kCrash,
                 "the worker died of " + SignalName(ended->signal) + LastWords()};
  }
  return Fault{FailureKind::kGarbage, "the worker left with " + ended->ToString() + LastWords()};
}

std::string WorkerProcess::LastWords() const {
  std::string text = stderr_tail_;
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  if (text.empty()) return "";
  std::replace(text.begin(), text.end(), '\n', ' ');
  return "; it said: " + text.substr(text.size() > 400 ? text.size() - 400 : 0);
}

int64_t WorkerProcess::ResidentBytes() const {
  std::ifstream file("/proc/" + std::to_string(process_.pid()) + "/statm");
  int64_t total = 0, resident = 0;
  if (!(file >> total >> resident)) return 0;
  return resident * sysconf(_SC_PAGESIZE);
}

}  // namespace tw::measure
