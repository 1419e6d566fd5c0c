// Faults on request, for the end-to-end tests: TENSORWRIGHT_INJECT=FAULT@STAGE:N makes every N-th
// candidate (by id; `all`: every one) fail at a stage. Faults: segv, hang, stop, garbage, exit,
// oom, wrong. Stages: build, check, time. The unscheduled program (id 0) is spared.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace tw::worker {

struct FaultPlan {
  std::string fault;
  std::string stage;
  int64_t every = 1;
};

std::optional<FaultPlan> FaultsFromEnvironment();

// True when the plan's fault `fault` is due for this candidate at this stage.
bool Due(const std::optional<FaultPlan>& plan, const char* fault, const char* stage, int64_t id);

// Carries out what is due, except `wrong`, which the caller does. May not return. Garbage goes to
// `frames_fd`.
void Inject(const std::optional<FaultPlan>& plan, const char* stage, int64_t id, int frames_fd);

}  // namespace tw::worker
