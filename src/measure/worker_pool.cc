#include "measure/worker_pool.h"

#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

namespace tw::measure {
namespace {

constexpr int kPollMs = 50;         // how often memory and deadlines are looked at
constexpr double kCutoffRatio = 4;  // a first call this much slower than the best is not repeated
constexpr int kMaxStarts = 3;       // in a row, before the environment is held to be broken
constexpr int kMostHeld = 8;        // programs that a worker has built and not yet timed

// Takes what a worker answered into `outcome`. False when a field has the wrong type: then it is
// garbage.
bool Merge(const Json& answer, Outcome& outcome) {
  try {
    const auto kind = ParseFailureKind(answer.value("failure", "none"));
    if (!kind) return false;
    outcome.failure = *kind;
    outcome.message = answer.value("message", "");
    if (*kind == FailureKind::kNone && answer.contains("seconds")) {
      outcome.timing.seconds = answer.at("seconds").get<std::vector<double>>();
      outcome.timing.median_s = answer.at("median_s").get<double>();
      outcome.timing.spread_s = answer.at("spread_s").get<double>();
      outcome.timing.calls = answer.at("calls").get<int>();
    }
    outcome.max_error = std::max(outcome.max_error, answer.value("max_error", 0.0));
    outcome.module_hash = answer.value("module_hash", outcome.module_hash);
    outcome.build_s = answer.value("build_s", outcome.build_s);
    outcome.check_s = answer.value("check_s", outcome.check_s);
    outcome.time_s = answer.value("time_s", outcome.time_s);
    return true;
  } catch (const Json::exception&) {
    return false;
  }
}

// What a worker's answer says went wrong; nullopt when nothing did.
std::optional<std::string> Refusal(const Json& answer) {
  Outcome outcome;
  if (!Merge(answer, outcome)) return "its answer makes no sense";
  if (outcome.failure == FailureKind::kNone) return std::nullopt;
  return outcome.message;
}

// Run time 0 or less, or none, is no measurement, whoever says so.
bool HasLatency(const Outcome& outcome) {
  return std::isfinite(outcome.timing.median_s) && outcome.timing.median_s > 0 &&
         !outcome.timing.seconds.empty();
}

}  // namespace

// A place for a worker: workers die and are replaced, the place stays.
struct WorkerPool::Slot {
  std::unique_ptr<WorkerProcess> worker;
  int started = 0;       // workers that this place has had
  int served = 0;        // candidates since this one was started
  int workload = 0;      // the version that it has loaded
  bool waiting = false;  // for an answer
  double deadline = 0;   // of the phase it is in
  double timeout_s = 0;
  std::string phase;
  std::optional<Json> answer;
  std::optional<Fault> fault;
};

// One job on its way through a worker.
struct WorkerPool::Attempt {
  const Job* job = nullptr;
  Slot* slot = nullptr;
  int started = 0;  // of the slot, when it built this: a later worker does not have it
  Outcome outcome;

  bool Healthy() const { return outcome.failure == FailureKind::kNone; }
};

WorkerPool::WorkerPool(PoolOptions options) : options_(std::move(options)) {
  for (int i = 0; i < std::max(options_.workers, 1); ++i)
    slots_.push_back(std::make_unique<Slot>());
}

WorkerPool::~WorkerPool() = default;

Status WorkerPool::Start(Slot& slot) {
  Subprocess::Options spawn;
  spawn.program = options_.program;
  spawn.arguments = {std::to_string(getpid()), fmt::format("{}", fmt::join(options_.pin, ","))};
  spawn.environment = {{"TVM_NUM_THREADS", std::to_string(options_.threads)}};
  // TVM's thread pool would bind its threads to the first CPUs, whatever the worker was pinned to.
  if (!options_.pin.empty()) spawn.environment.emplace_back("TVM_BIND_THREADS", "0");
  slot.worker.reset();
  TW_TRY(slot.worker, WorkerProcess::Spawn(spawn));
  ++slot.started;
  slot.served = 0;
  slot.workload = 0;
  return Ok();
}

Status WorkerPool::Load(const WorkerWorkload& workload) {
  SetWorkload(workload);
  std::vector<Slot*> all;
  for (auto& slot : slots_) {
    if (!slot->worker) TW_CHECK(Start(*slot));
    all.push_back(slot.get());
  }
  static const std::atomic<bool> never{false};
  return LoadInto(all, never);
}

void WorkerPool::SetWorkload(const WorkerWorkload& workload) {
  workload_ = workload;
  ++version_;
}

Status WorkerPool::LoadInto(std::span<Slot* const> slots, const std::atomic<bool>& stop) {
  const Json message{{"op", "load"},
                     {"module", workload_.module_json},
                     {"target", workload_.target_json},
                     {"references", workload_.references}};
  for (Slot* slot : slots) Send(*slot, message, options_.start_timeout_s);
  WaitForAll(slots, stop);
  for (Slot* slot : slots) {
    if (slot->fault) {
      return Fail(Code::kEnvironment, "the worker {} could not start: {}",
                  options_.program.string(), slot->fault->message);
    }
    if (const auto refusal = Refusal(*slot->answer)) {
      return Fail(Code::kEnvironment, "the worker could not load the workload: {}", *refusal);
    }
    slot->workload = version_;
  }
  return Ok();
}

Status WorkerPool::Restart(Slot& slot, const std::atomic<bool>& stop) {
  Status last = Ok();
  for (int attempt = 0; attempt < kMaxStarts && !stop; ++attempt) {
    last = Start(slot);
    if (!last.ok()) continue;
    Slot* one[] = {&slot};
    last = LoadInto(one, stop);
    if (last.ok()) return Ok();
  }
  if (stop) return Ok();
  return Fail(Code::kEnvironment, "a worker cannot be started again: {}", last.error().message);
}

Status WorkerPool::MakeReady(Slot& slot, const std::atomic<bool>& stop) {
  // One that died after its last answer says nothing about the next candidate.
  if (!slot.worker || slot.worker->Failed()) return Restart(slot, stop);
  if (slot.workload == version_) return Ok();
  Slot* one[] = {&slot};
  return LoadInto(one, stop);
}

// Looks after one waiting slot: takes its answer, notices its death, keeps its deadline and memory
// limit.
void WorkerPool::Watch(Slot& slot) {
  slot.worker->Pump();
  while (std::optional<Json> message = slot.worker->Receive()) {
    if (message->contains("phase") && (*message)["phase"].is_string()) {
      slot.phase = (*message)["phase"];
      slot.deadline = MonotonicSeconds() + slot.timeout_s;
      continue;
    }
    slot.answer = std::move(message);
    slot.waiting = false;
    return;
  }
  slot.fault = slot.worker->Failed();
  if (!slot.fault && slot.worker->ResidentBytes() > options_.memory_limit_bytes) {
    slot.fault = Fault{FailureKind::kOutOfMemory,
                       fmt::format("killed while {}: over the memory limit of {} MiB", slot.phase,
                                   options_.memory_limit_bytes >> 20)};
  }
  if (!slot.fault && MonotonicSeconds() > slot.deadline) {
    slot.fault =
        Fault{FailureKind::kTimeout,
              fmt::format("killed while {}: over the limit of {:g} s", slot.phase, slot.timeout_s)};
  }
  if (slot.fault) {
    slot.worker.reset();
    slot.waiting = false;
  }
}

void WorkerPool::Send(Slot& slot, const Json& message, double timeout_s) {
  slot.answer.reset();
  slot.fault.reset();
  slot.phase = "starting";
  slot.timeout_s = timeout_s;
  slot.deadline = MonotonicSeconds() + timeout_s;
  slot.waiting = true;
  slot.worker->Send(message);
}

void WorkerPool::WaitForOne(std::span<Slot* const> slots, const std::atomic<bool>& stop) {
  const auto some_answered = [&] {
    return std::any_of(slots.begin(), slots.end(), [](const Slot* s) { return !s->waiting; });
  };
  std::vector<WorkerProcess*> workers;
  for (const Slot* slot : slots) workers.push_back(slot->worker.get());
  while (!stop && !some_answered()) {
    WorkerProcess::WaitForAny(workers, kPollMs);
    for (Slot* slot : slots) Watch(*slot);
  }
  if (!stop) return;
  // The others' answers would come at the wrong time, so their workers end here.
  for (Slot* slot : slots) {
    if (!slot->waiting) continue;
    slot->worker.reset();
    slot->waiting = false;
    slot->fault = Fault{FailureKind::kGarbage, "stopped"};
  }
}

void WorkerPool::WaitForAll(std::span<Slot* const> slots, const std::atomic<bool>& stop) {
  std::vector<Slot*> waiting(slots.begin(), slots.end());
  while (!waiting.empty()) {
    WaitForOne(waiting, stop);
    std::erase_if(waiting, [](const Slot* slot) { return !slot->waiting; });
  }
}

void WorkerPool::Settle(Attempt& attempt) {
  Slot& slot = *attempt.slot;
  if (slot.fault) {
    attempt.outcome.failure = slot.fault->kind;
    attempt.outcome.message = slot.fault->message;
  } else if (!Merge(*slot.answer, attempt.outcome)) {
    slot.worker.reset();
    attempt.outcome.failure = FailureKind::kGarbage;
    attempt.outcome.message = "the worker's answer makes no sense";
  }
}

void WorkerPool::SendBuild(Attempt& attempt) {
  Slot& slot = *attempt.slot;
  attempt.started = slot.started;
  attempt.outcome = {};
  attempt.outcome.id = attempt.job->id;
  attempt.outcome.worker_pid = slot.worker->process().pid();
  ++slot.served;
  const Json message{{"op", "build"},
                     {"id", attempt.job->id},
                     {"trace", attempt.job->trace_json},
                     {"module", attempt.job->module_json}};
  Send(slot, message, options_.timeout_s);
}

Json WorkerPool::TimeMessage(int64_t id, double best_s) const {
  const TimingOptions& t = options_.timing;
  return {{"op", "time"},
          {"id", id},
          {"min_repeat_s", t.min_repeat_s},
          {"min_repeats", t.min_repeats},
          {"max_repeats", t.max_repeats},
          {"max_s", t.max_s},
          {"uncertainty", t.uncertainty},
          {"patience_s", t.patience_s},
          {"cutoff_s", best_s * kCutoffRatio}};
}

Status WorkerPool::BuildWave(std::span<const Job> jobs, std::deque<Attempt>& wave,
                             const std::atomic<bool>& stop) {
  std::vector<Attempt*> building;
  std::map<const Slot*, int> held;
  while (!stop) {
    for (auto& slot : slots_) {
      if (wave.size() == jobs.size() || slot->waiting || held[slot.get()] == kMostHeld) continue;
      // A worker that is due for replacement is replaced while it holds nothing.
      if (slot->served >= options_.recycle_after) {
        if (held[slot.get()] > 0) continue;
        slot->worker.reset();
      }
      TW_CHECK(MakeReady(*slot, stop));
      if (stop) return Ok();
      wave.push_back({&jobs[wave.size()], slot.get(), 0, {}});
      ++held[slot.get()];
      SendBuild(wave.back());
      building.push_back(&wave.back());
    }
    if (building.empty()) break;
    std::vector<Slot*> slots;
    for (const Attempt* attempt : building) slots.push_back(attempt->slot);
    WaitForOne(slots, stop);
    std::erase_if(building, [&](Attempt* attempt) {
      if (attempt->slot->waiting) return false;
      Settle(*attempt);
      return true;
    });
  }
  return Ok();
}

Status WorkerPool::TimeOne(Attempt& attempt, double best_s, const std::atomic<bool>& stop) {
  Slot* one[] = {attempt.slot};
  if (!attempt.slot->worker || attempt.slot->started != attempt.started) {
    // Another candidate has killed the worker that held this one.
    TW_CHECK(MakeReady(*attempt.slot, stop));
    if (stop) return Ok();
    SendBuild(attempt);
    WaitForAll(one, stop);
    if (stop) return Ok();
    Settle(attempt);
    if (!attempt.Healthy()) return Ok();
  }
  Send(*attempt.slot, TimeMessage(attempt.job->id, best_s), options_.timeout_s);
  WaitForAll(one, stop);
  if (stop) return Ok();
  Settle(attempt);
  if (attempt.Healthy() && !HasLatency(attempt.outcome)) {
    attempt.outcome.failure = FailureKind::kGarbage;
    attempt.outcome.message = "the worker reported a latency of zero or less, or none";
  }
  return Ok();
}

Status WorkerPool::Measure(std::span<const Job> jobs, double best_s, const OnOutcome& on_outcome,
                           const std::atomic<bool>& stop) {
  while (!jobs.empty() && !stop) {
    std::deque<Attempt> wave;
    TW_CHECK(BuildWave(jobs, wave, stop));
    for (Attempt& attempt : wave) {
      if (!stop && attempt.Healthy()) TW_CHECK(TimeOne(attempt, best_s, stop));
      if (stop) return Ok();
      Outcome& outcome = attempt.outcome;
      if (!attempt.Healthy()) {
        outcome.timing = {};
      } else if (best_s <= 0 || outcome.timing.median_s < best_s) {
        best_s = outcome.timing.median_s;
      }
      TW_CHECK(on_outcome(outcome));
    }
    jobs = jobs.subspan(wave.size());
  }
  return Ok();
}

Result<Outcome> WorkerPool::MeasureOne(const Job& job, double timeout_s, const std::string& path,
                                       const std::atomic<bool>& stop) {
  const double usual = std::exchange(options_.timeout_s, timeout_s);
  Outcome outcome;
  const Job jobs[] = {job};
  const Status status = Measure(
      jobs, 0,
      [&](const Outcome& o) {
        outcome = o;
        return Ok();
      },
      stop);
  options_.timeout_s = usual;
  if (!status.ok()) return status.error();
  if (path.empty() || outcome.failure != FailureKind::kNone || stop) return outcome;
  // The outputs of the last call are still in the worker's buffers.
  Slot* one[] = {slots_.front().get()};
  Send(*one[0], Json{{"op", "save"}, {"path", path}}, options_.start_timeout_s);
  WaitForAll(one, stop);
  if (stop) return outcome;
  const Slot& slot = *one[0];
  if (slot.fault) return Fail(Code::kEnvironment, "{}", slot.fault->message);
  if (const auto refusal = Refusal(*slot.answer)) return Fail(Code::kRunDirectory, "{}", *refusal);
  return outcome;
}

Result<Outcome> WorkerPool::CheckOne(const WorkerWorkload& workload, const Job& job,
                                     const std::atomic<bool>& stop) {
  SetWorkload(workload);
  Attempt attempt{&job, slots_.front().get(), 0, {}};
  TW_CHECK(MakeReady(*attempt.slot, stop));
  if (stop) return attempt.outcome;
  SendBuild(attempt);
  Slot* one[] = {attempt.slot};
  WaitForAll(one, stop);
  if (!stop) Settle(attempt);
  return attempt.outcome;
}

}  // namespace tw::measure
