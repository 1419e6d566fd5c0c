#include "measure/worker_process.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>

namespace tw::measure {
namespace {

constexpr std::size_t kTailBytes = 2000;

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

}  // namespace

Result<std::unique_ptr<WorkerProcess>> WorkerProcess::Spawn(const Subprocess::Options& options) {
  signal(SIGPIPE, SIG_IGN);  // a dead worker is noticed by its exit, not by dying of it
  TW_TRY(Subprocess process, Subprocess::Spawn(options));
  return std::unique_ptr<WorkerProcess>(new WorkerProcess(std::move(process)));
}

Status WorkerProcess::Send(const Json& message) {
  return WriteBytes(process_.input(), EncodeFrame(message));
}

void WorkerProcess::Pump() {
  std::string bytes;
  if (output_open_) output_open_ = Drain(process_.output(), bytes);
  reader_.Append(bytes);
  Drain(process_.errors(), stderr_tail_);
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
    // A worker that closed its stdout but lives on cannot answer any more.
    if (output_open_) return std::nullopt;
    Kill();
    return Fault{FailureKind::kGarbage, "the worker closed its output" + LastWords()};
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
