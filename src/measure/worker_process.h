// One worker, seen from the tuner: its process, the bytes in flight, its memory, its last words.
#pragma once

#include <memory>
#include <optional>
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

  Status Send(const Json& message);
  // Reads what has arrived; call when `output` or `errors` is readable or hung up.
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
  explicit WorkerProcess(Subprocess process) : process_(std::move(process)) {}
  std::string LastWords() const;

  Subprocess process_;
  FrameReader reader_;
  std::string stderr_tail_;
  std::optional<std::string> garbage_;
  bool output_open_ = true;
};

}  // namespace tw::measure
