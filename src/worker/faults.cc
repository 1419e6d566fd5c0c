#include "worker/faults.h"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#include "measure/protocol.h"

namespace tw::worker {

std::optional<FaultPlan> FaultsFromEnvironment() {
  const char* text = std::getenv("TENSORWRIGHT_INJECT");
  if (text == nullptr) return std::nullopt;
  const std::string plan(text);
  const std::size_t at = plan.find('@'), colon = plan.find(':');
  if (at == std::string::npos || colon == std::string::npos || colon < at) {
    fmt::print(stderr, "TENSORWRIGHT_INJECT={}: not FAULT@STAGE:N, so nothing is injected\n", plan);
    return std::nullopt;
  }
  const std::string every = plan.substr(colon + 1);
  FaultPlan parsed{plan.substr(0, at), plan.substr(at + 1, colon - at - 1), 1};
  if (every != "all") parsed.every = std::max<int64_t>(std::atoll(every.c_str()), 1);
  return parsed;
}

bool Due(const std::optional<FaultPlan>& plan, const char* fault, const char* stage, int64_t id) {
  return plan && id > 0 && id % plan->every == 0 && plan->fault == fault && plan->stage == stage;
}

void Inject(const std::optional<FaultPlan>& plan, const char* stage, int64_t id, int frames_fd) {
  if (Due(plan, "segv", stage, id)) raise(SIGSEGV);
  if (Due(plan, "stop", stage, id)) raise(SIGSTOP);
  if (Due(plan, "exit", stage, id)) _exit(3);
  if (Due(plan, "garbage", stage, id)) {
    (void)measure::WriteBytes(frames_fd, "this is no frame").ok();
  }
  if (Due(plan, "hang", stage, id)) {
    while (true) std::this_thread::sleep_for(std::chrono::hours(1));
  }
  if (Due(plan, "oom", stage, id)) {
    std::vector<std::vector<char>> hoard;
    while (true) hoard.emplace_back(std::size_t{64} << 20, 'x');
  }
}

}  // namespace tw::worker
