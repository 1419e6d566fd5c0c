// Worker processes that build, check and time candidates. Builds run in parallel; one candidate is
// timed at a time, alone. The parent owns every deadline, since a stopped worker cannot keep one.
#pragma once

#include <atomic>
#include <deque>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "measure/timing.h"
#include "measure/types.h"
#include "measure/worker_process.h"

namespace tw::measure {

struct PoolOptions {
  std::filesystem::path program;  // tensorwright-worker
  int workers = 1;
  int threads = 1;               // of the compiled program (TVM_NUM_THREADS)
  std::vector<int> pin;          // CPUs the workers may run on; empty: any
  double start_timeout_s = 120;  // to load TVM and the workload
  double timeout_s = 20;         // for each of building, checking and timing one candidate
  int64_t memory_limit_bytes = int64_t{8} << 30;  // resident, of one worker
  int recycle_after = 256;                        // candidates a worker sees before it is replaced
  TimingOptions timing;
};

// What every candidate is a version of. All workers load it once.
struct WorkerWorkload {
  std::string module_json;
  std::string target_json;
  std::vector<std::string> references;  // files of verify::Reference; the first defines the inputs
};

class WorkerPool {
 public:
  explicit WorkerPool(PoolOptions options);
  ~WorkerPool();

  // Starts the workers, or gives running ones another workload. Errors are kEnvironment: the
  // program is missing, or it could not load TVM or the workload.
  Status Load(const WorkerWorkload& workload);

  // Called as soon as a candidate is through; an error ends Measure.
  using OnOutcome = std::function<Status(const Outcome&)>;
  // Measures `jobs`. Candidates much slower than `best_s` (0: none yet) are timed by one call. When
  // `stop` becomes true, returns at once; what was in flight has no outcome. Errors are those of
  // `on_outcome`, and kEnvironment when workers cannot be started any more.
  Status Measure(std::span<const Job> jobs, double best_s, const OnOutcome& on_outcome,
                 const std::atomic<bool>& stop);

  // Builds, checks and times one job with a deadline of its own, then writes all its outputs to
  // `path` as a reference ("": does not).
  Result<Outcome> MeasureOne(const Job& job, double timeout_s, const std::string& path,
                             const std::atomic<bool>& stop);

  // Only builds and checks `job`, in one worker, as a version of `workload`, which is the one of
  // the pool from then on.
  Result<Outcome> CheckOne(const WorkerWorkload& workload, const Job& job,
                           const std::atomic<bool>& stop);

 private:
  struct Slot;
  struct Attempt;

  void SetWorkload(const WorkerWorkload& workload);
  Status Start(Slot& slot);
  // A new worker with the workload loaded; tries again a few times. Without one when `stop` became
  // true.
  Status Restart(Slot& slot, const std::atomic<bool>& stop);
  // A living worker that has loaded the workload. Without one when `stop` became true.
  Status MakeReady(Slot& slot, const std::atomic<bool>& stop);
  Status LoadInto(std::span<Slot* const> slots, const std::atomic<bool>& stop);

  // A message on its way; then the wait until a slot (or each) has an answer or a fault. On `stop`
  // the workers that were waited for end.
  void Send(Slot& slot, const Json& message, double timeout_s);
  void WaitForOne(std::span<Slot* const> slots, const std::atomic<bool>& stop);
  void WaitForAll(std::span<Slot* const> slots, const std::atomic<bool>& stop);
  void Watch(Slot& slot);
  // Takes what the slot answered, or its fault, into the outcome.
  static void Settle(Attempt& attempt);

  // Builds and checks jobs from the first on, as many as the workers can hold: each takes the next
  // as soon as it is free, so that one slow compilation holds up nothing else.
  Status BuildWave(std::span<const Job> jobs, std::deque<Attempt>& wave,
                   const std::atomic<bool>& stop);
  void SendBuild(Attempt& attempt);
  Status TimeOne(Attempt& attempt, double best_s, const std::atomic<bool>& stop);
  Json TimeMessage(int64_t id, double best_s) const;

  PoolOptions options_;
  WorkerWorkload workload_;
  int version_ = 0;  // of workload_
  std::vector<std::unique_ptr<Slot>> slots_;
};

}  // namespace tw::measure
