// What a worker does with one message. The loop around it and the process are in main.cc.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "measure/protocol.h"
#include "measure/timing.h"
#include "tvm/build.h"
#include "tvm/module.h"
#include "tvm/target.h"
#include "verify/buffers.h"
#include "verify/reference.h"
#include "worker/faults.h"

namespace tw::worker {

using measure::Json;

class Worker {
 public:
  // Frames (phases of a long step) go to `frames_fd`.
  explicit Worker(int frames_fd) : frames_fd_(frames_fd), faults_(FaultsFromEnvironment()) {}

  // Answers `load`, `build` (which also checks), `time` and `save`. An answer has "failure" (a
  // FailureKind's name) and "message" when something failed.
  Json Handle(const Json& message);

 private:
  Json Load(const Json& message);
  Json BuildAndCheck(const Json& message);
  Json Time(const Json& message);
  Json Save(const Json& message);

  Result<tvm_api::Module> ModuleOf(const Json& message, measure::FailureKind* kind) const;
  // Compares the outputs with every reference; "" when they are right.
  std::string Check(const tvm_api::Executable& program, double* worst) const;
  // For the program as given, when it is the oracle itself: outputs that still hold the sentinel,
  // or what was computed from it, would make every candidate right, since NaN equals NaN.
  std::string CheckWritten(const tvm_api::Executable& program) const;
  void Phase(const char* name);

  int frames_fd_;
  std::optional<FaultPlan> faults_;
  std::optional<tvm_api::Module> workload_;
  std::optional<tvm_api::Target> target_;
  std::vector<verify::Reference> references_;
  std::optional<verify::Buffers> buffers_;
  std::map<int64_t, tvm_api::Executable> built_;  // by the job's id, until it has been timed
};

}  // namespace tw::worker
