// pool-owner WORKER MODE LOG: a tuner for the tests to kill. It prints the process ids of two
// workers, then gives each a job that ends in MODE (hang, stop, stubborn).
#include <cstdio>
#include <string>

#include "measure/worker_pool.h"

namespace tw::measure {
namespace {

int Main(int argc, char** argv) {
  if (argc != 4) return 2;
  PoolOptions options;
  options.program = argv[1];
  options.workers = 2;
  options.timeout_s = 1000;
  WorkerPool pool(options);
  if (!pool.Load({.module_json = argv[3], .target_json = "", .references = {}}).ok()) return 3;
  const std::atomic<bool> never{false};
  auto measure = [&](const std::string& trace) {
    const Job jobs[] = {{1, trace, ""}, {2, trace, ""}};
    const Status status = pool.Measure(
        jobs, 0,
        [](const Outcome& outcome) {
          std::printf("%d\n", outcome.worker_pid);
          return Ok();
        },
        never);
    std::fflush(stdout);
    return status.ok();
  };
  return measure("ok") && measure(std::string(argv[2]) + "@build") ? 0 : 4;
}

}  // namespace
}  // namespace tw::measure

int main(int argc, char** argv) { return tw::measure::Main(argc, argv); }
