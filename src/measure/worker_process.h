// One worker, seen from the tuner: its process, the bytes in flight, its memory, its last words.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>

#include "base/subprocess.h"
#include "measure/protocol.h"
#include "measure/types.h"

namespace tw::measure {

// Why a worker did not answer.
struct Fault {
  FailureKind kind = FailureKind::kNone;
  std::string message;
};

class WorkerProcess {
 public:
  static Result<std::unique_ptr<WorkerProcess>> Spawn(const Subprocess::Options& options);

  // Puts `message` in line; Pump sends it. A worker that does not read never blocks the tuner.
  void Send(const Json& message);
  // Waits until one of `workers` has something to read or room to write, at most `milliseconds`.
  static void WaitForAny(std::span<WorkerProcess* const> workers, int milliseconds);
  // Writes what the pipe takes and reads what has arrived.
  void Pump();
  // The next message that has arrived.
  std::optional<Json> Receive();
  // Why no further message will come: garbage on the wire, or the process is gone.
  std::optional<Fault> Failed();
  // Kills it and everything it started.
  void Kill() { process_.KillGroup(); }

  int64_t ResidentBytes() const;  // 0 when it cannot be read
  const Subprocess& process() const { return process_; }

 private:
  explicit WorkerProcess(Subprocess process);
  void Write();
  std::string LastWords() const;

  Subprocess process_;
  FrameReader reader_{kMaxAnswerBytes};
  std::string outgoing_;
  std::string stderr_tail_;
  std::optional<std::string> garbage_;
  bool output_open_ = true;
  std::optional<double> closed_at_;  // when its output was found closed, MonotonicSeconds
  bool errors_open_ = true;
  int64_t oom_kills_;  // on this machine, when the worker was started
};

}  // namespace tw::measure
