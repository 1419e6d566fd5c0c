#include "measure/worker_pool.h"

#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace tw::measure {
namespace {

constexpr int kPollMs = 50;         // how often memory and deadlines are looked at
constexpr double kCutoffRatio = 4;  // a first call this much slower than the best is not repeated
constexpr int kMaxStarts = 3;       // in a row, before the environment is held to be broken

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
  int served = 0;        // candidates since it was started
  bool waiting = false;  // for an answer
  double deadline = 0;   // of the phase it is in
  double timeout_s = 0;
  std::string phase;
  std::optional<Json> answer;
  std::optional<Fault> fault;
  const Job* job = nullptr;
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
  TW_TRY(slot.worker, WorkerProcess::Spawn(spawn));
  slot.served = 0;
  return Ok();
}

Status WorkerPool::Load(const WorkerWorkload& workload) {
  workload_ = workload;
  std::vector<Slot*> all;
  for (auto& slot : slots_) {
    if (!slot->worker) TW_CHECK(Start(*slot));
    slot->outcome = {};
    all.push_back(slot.get());
  }
  static const std::atomic<bool> never{false};
  return LoadInto(all, never);
}

Status WorkerPool::LoadInto(std::span<Slot*> slots, const std::atomic<bool>& stop) {
  const Json message{{"op", "load"},
                     {"module", workload_.module_json},
                     {"target", workload_.target_json},
                     {"references", workload_.references}};
  Ask(slots, [&](const Slot&) { return message; }, options_.start_timeout_s, stop);
  for (Slot* slot : slots) {
    if (slot->fault) {
      return Fail(Code::kEnvironment, "the worker {} could not start: {}",
                  options_.program.string(), slot->fault->message);
    }
    if (const auto refusal = Refusal(*slot->answer)) {
      return Fail(Code::kEnvironment, "the worker could not load the workload: {}", *refusal);
    }
  }
  return Ok();
}

Status WorkerPool::Restart(Slot& slot, const std::atomic<bool>& stop) {
  Status last = Ok();
  for (int attempt = 0; attempt < kMaxStarts && !stop; ++attempt) {
    slot.worker.reset();
    last = Start(slot);
    if (!last.ok()) continue;
    slot.outcome = {};
    Slot* one[] = {&slot};
    last = LoadInto(one, stop);
    if (last.ok()) return Ok();
  }
  if (stop) return Ok();
  return Fail(Code::kEnvironment, "a worker cannot be started again: {}", last.error().message);
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

void WorkerPool::Ask(std::span<Slot*> slots, const std::function<Json(const Slot&)>& message,
                     double timeout_s, const std::atomic<bool>& stop) {
  std::vector<Slot*> waiting;
  for (Slot* slot : slots) {
    slot->answer.reset();
    slot->fault.reset();
    if (!slot->Healthy()) continue;
    slot->phase = "starting";
    slot->timeout_s = timeout_s;
    slot->deadline = MonotonicSeconds() + timeout_s;
    slot->waiting = true;
    slot->worker->Send(message(*slot));
    waiting.push_back(slot);
  }
  while (!waiting.empty() && !stop) {
    std::vector<WorkerProcess*> workers;
    for (const Slot* slot : waiting) workers.push_back(slot->worker.get());
    WorkerProcess::WaitForAny(workers, kPollMs);
    for (Slot* slot : waiting) Watch(*slot);
    std::erase_if(waiting, [](const Slot* slot) { return !slot->waiting; });
  }
  // On a stop the answers of the others would come at the wrong time, so their workers end here.
  for (Slot* slot : waiting) {
    slot->worker.reset();
    slot->waiting = false;
    slot->fault = Fault{FailureKind::kGarbage, "stopped"};
  }
}

Json WorkerPool::TimeMessage(double best_s) const {
  const TimingOptions& t = options_.timing;
  return {{"op", "time"},
          {"min_repeat_s", t.min_repeat_s},
          {"min_repeats", t.min_repeats},
          {"max_repeats", t.max_repeats},
          {"max_s", t.max_s},
          {"uncertainty", t.uncertainty},
          {"patience_s", t.patience_s},
          {"cutoff_s", best_s * kCutoffRatio}};
}

Status WorkerPool::Measure(std::span<const Job> jobs, double best_s, const OnOutcome& on_outcome,
                           const std::atomic<bool>& stop) {
  for (std::size_t first = 0; first < jobs.size() && !stop; first += slots_.size()) {
    std::vector<Slot*> wave;
    for (std::size_t i = first; i < std::min(first + slots_.size(), jobs.size()); ++i) {
      Slot& slot = *slots_[i - first];
      // One that died after its last answer says nothing about this candidate.
      if (!slot.worker || slot.served >= options_.recycle_after || slot.worker->Failed()) {
        TW_CHECK(Restart(slot, stop));
        if (stop) return Ok();
      }
      slot.job = &jobs[i];
      slot.outcome = {};
      slot.outcome.id = slot.job->id;
      slot.outcome.worker_pid = slot.worker->process().pid();
      ++slot.served;
      wave.push_back(&slot);
    }
    auto settle = [&](Slot& slot) {
      if (!slot.Healthy()) return;
      if (slot.fault) {
        slot.outcome.failure = slot.fault->kind;
        slot.outcome.message = slot.fault->message;
      } else if (slot.answer && !Merge(*slot.answer, slot.outcome)) {
        slot.worker.reset();
        slot.outcome.failure = FailureKind::kGarbage;
        slot.outcome.message = "the worker's answer makes no sense";
      }
    };
    Ask(
        wave,
        [](const Slot& slot) {
          return Json{{"op", "build"},
                      {"id", slot.job->id},
                      {"trace", slot.job->trace_json},
                      {"module", slot.job->module_json}};
        },
        options_.timeout_s, stop);
    if (stop) return Ok();
    for (Slot* slot : wave) settle(*slot);
    for (Slot* slot : wave) {
      if (slot->Healthy()) {
        Slot* one[] = {slot};
        Ask(one, [&](const Slot&) { return TimeMessage(best_s); }, options_.timeout_s, stop);
        if (stop) return Ok();
        settle(*slot);
        if (slot->Healthy() && !HasLatency(slot->outcome)) {
          slot->outcome.failure = FailureKind::kGarbage;
          slot->outcome.message = "the worker reported a latency of zero or less, or none";
        }
      }
      if (!slot->Healthy()) slot->outcome.timing = {};
      if (slot->Healthy() && (best_s <= 0 || slot->outcome.timing.median_s < best_s)) {
        best_s = slot->outcome.timing.median_s;
      }
      TW_CHECK(on_outcome(slot->outcome));
    }
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
  TW_CHECK(status);
  if (path.empty() || outcome.failure != FailureKind::kNone || stop) return outcome;
  Slot* one[] = {slots_.front().get()};
  Ask(
      one, [&](const Slot&) { return Json{{"op", "save"}, {"path", path}}; },
      options_.start_timeout_s, stop);
  if (stop) return outcome;
  const Slot& slot = *one[0];
  if (slot.fault) return Fail(Code::kEnvironment, "{}", slot.fault->message);
  if (const auto refusal = Refusal(*slot.answer)) return Fail(Code::kRunDirectory, "{}", *refusal);
  return outcome;
}

}  // namespace tw::measure
