#include "tune/session.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <ctime>
#include <memory>

#include "base/files.h"
#include "leir/printer.h"
#include "measure/fingerprint.h"
#include "measure/statistics.h"
#include "measure/worker_pool.h"
#include "report/run_report.h"
#include "space/cost_model.h"
#include "space/schedule_space.h"
#include "tune/artifacts.h"
#include "tune/references.h"
#include "tune/run_directory.h"
#include "tune/searchers.h"
#include "tune/workload.h"
#include "tvm/runtime.h"
#include "verify/reference.h"

namespace tw::tune {
namespace {

using Clock = std::chrono::steady_clock;

// Candidates that are measured once more at the end, so that luck does not choose the winner.
constexpr int kConfirmed = 3;
// The blob that holds what Searcher::SaveState said when the last candidates were handed out.
constexpr const char* kSearchState = "search_state";

double Seconds(Clock::time_point since) {
  return std::chrono::duration<double>(Clock::now() - since).count();
}

std::string UtcNow() {
  char text[32];
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

store::Node ToRow(const search::NodeRecord& n) {
  std::string sequence;
  for (const search::Transformation& t : n.sequence) {
    sequence += (sequence.empty() ? "" : "\n") + search::ToString(t);
  }
  return {n.id,     n.parent,    n.state,  n.key,   sequence, n.rationale,
          n.source, n.predicted, n.visits, n.value, n.reward, n.proposed};
}

Result<search::NodeRecord> FromRow(const store::Node& n) {
  search::NodeRecord record{n.id,     n.parent,    n.state,  n.key,   {},       n.rationale,
                            n.source, n.predicted, n.visits, n.value, n.reward, n.proposed};
  std::size_t start = 0;
  while (start < n.sequence.size()) {
    const std::size_t end = std::min(n.sequence.find('\n', start), n.sequence.size());
    TW_TRY(search::Transformation t,
           search::ParseTransformation(std::string_view(n.sequence).substr(start, end - start)));
    record.sequence.push_back(std::move(t));
    start = end + 1;
  }
  return record;
}

store::Measurement ToRow(int64_t trial, int64_t node, const std::string& key,
                         const std::string& trace, const measure::Outcome& o) {
  store::Measurement m;
  m.trial = trial;
  m.node = node;
  m.key = key;
  m.failure = o.failure == measure::FailureKind::kNone ? "" : std::string(Name(o.failure));
  m.message = o.message;
  m.trace_json = trace;
  m.seconds = o.timing.seconds;
  m.median_s = o.timing.median_s;
  m.spread_s = o.timing.spread_s;
  m.max_error = o.max_error;
  m.build_s = o.build_s;
  m.check_s = o.check_s;
  m.time_s = o.time_s;
  m.finished_at = UtcNow();
  return m;
}

class Session {
 public:
  Session(const Options& options, Listener& listener, const std::atomic<bool>& stop)
      : options_(options), listener_(listener), stop_(stop) {}

  Result<Summary> Run() {
    TW_CHECK(Timed("prepare", [&] { return Prepare(); }));
    TW_CHECK(Timed("baseline", [&] { return MeasureBaseline(); }));
    if (!stop_) TW_CHECK(Timed("restore", [&] { return Restore(); }));
    if (!stop_) TW_CHECK(Search());
    if (!stop_) TW_CHECK(Finish());
    return Summarize();
  }

 private:
  Status Prepare();
  Status OpenRun();
  Status MeasureBaseline();
  Status LoadPool();
  Status Restore();
  Status Search();
  Status Propose(std::vector<search::Candidate>& candidates);
  Status MeasureBatch(const std::vector<search::Candidate>& candidates);
  Status Commit(const search::Candidate& candidate, const std::string& trace,
                const measure::Outcome& outcome);
  Status Learn(const std::vector<search::Candidate>& candidates);
  Status Finish();
  Status ConfirmFastest();
  Status CheckAfresh();
  Result<measure::Outcome> CheckOn(const FreshInputs& inputs, const store::Measurement& candidate);
  Result<Summary> Summarize();

  // Adds the time that `step` takes to the summary's account.
  template <typename Step>
  Status Timed(const char* name, Step&& step) {
    const Clock::time_point begin = Clock::now();
    const Status status = step();
    spent_s_[name] += Seconds(begin);
    return status;
  }

  int Batch() const;
  int64_t Done() const { return static_cast<int64_t>(measured_.size()); }
  const store::Measurement* Best() const;
  void ShowProgress();

  Options options_;
  Listener& listener_;
  const std::atomic<bool>& stop_;
  Clock::time_point start_ = Clock::now();

  Workload workload_;
  tvm_api::Target target_;
  std::string leir_text_;
  std::string module_json_;
  std::optional<RunDirectory> run_;
  std::unique_ptr<space::ScheduleSpace> space_;
  std::unique_ptr<space::TrainableCostModel> model_;
  SearchParts parts_;
  std::vector<std::string> references_;  // files
  std::unique_ptr<measure::WorkerPool> pool_;

  std::optional<store::Measurement> baseline_;
  std::vector<store::Measurement> measured_;    // by trial, from 1
  std::map<int64_t, search::StatePtr> states_;  // by node, of what was measured
  int64_t done_before_ = 0;                     // trials of earlier sessions
  bool exhausted_ = false;
  std::string verdict_;
  std::map<std::string, double> spent_s_;
};

Status Session::Prepare() {
  TW_TRY(tvm_api::Versions versions, tvm_api::Load());
  const measure::Machine machine = measure::ThisMachine();
  if (options_.cores == 0) options_.cores = machine.cores;
  if (options_.builders == 0) options_.builders = machine.cores;
  TW_TRY(target_, tvm_api::Target::Parse(options_.target, options_.cores));
  if (target_.Kind() != "llvm") {
    return Fail(Code::kEnvironment,
                "target {}: programs for it cannot be run here; measuring needs an llvm target",
                target_.Kind());
  }
  TW_TRY(workload_, LoadWorkload(options_.workload, options_.dims));
  if (workload_.program) leir_text_ = leir::PrintFile(*workload_.program);
  module_json_ = workload_.module.ToJson();
  TW_CHECK(OpenRun());

  space::ScheduleSpaceOptions space_options;
  space_options.threads = machine.cores;
  TW_TRY(space_, space::ScheduleSpace::Make(workload_.module, target_, space_options));
  for (const std::string& note : space_->design_space().Notes()) listener_.OnNote("note: " + note);
  TW_TRY(model_, MakeCostModel(options_));
  TW_TRY(parts_, MakeSearcher(options_, *space_, *model_, machine.cores));

  measure::PoolOptions pool;
  TW_TRY(pool.program, WorkerProgram());
  pool.workers = options_.builders;
  pool.threads = target_.Cores();
  pool.pin = options_.pin;
  pool.timeout_s = options_.timeout_s;
  pool.memory_limit_bytes = options_.memory_limit_mib << 20;
  pool_ = std::make_unique<measure::WorkerPool>(pool);
  return Ok();
}

Status Session::OpenRun() {
  const RunDirectory::Identity identity{
      {"workload", workload_.name},
      {"module", fmt::format("{:016x}", workload_.module.StructuralHash())},
      {"target", target_.ToJson()},
      {"machine", measure::Identity(measure::ThisMachine())},
      {"search", options_.search},
      {"preset", options_.preset},
      {"proposer", options_.proposer},
      {"cost model", options_.cost_model},
      {"seed", std::to_string(options_.seed)}};
  TW_TRY(run_, RunDirectory::Open(options_.run_dir, identity));
  TW_CHECK(run_->store().SetBlob("module", module_json_));
  TW_CHECK(run_->store().SetFact("versions",
                                 fmt::format("tensorwright {}, tvm {}, tvm-ffi {}", TW_VERSION,
                                             tvm_api::kTvmVersion, tvm_api::kTvmFfiVersion)));
  TW_CHECK(WriteRunToml(*run_, options_, target_.ToJson()));
  TW_TRY(std::vector<store::Measurement> all, run_->store().Measurements());
  for (store::Measurement& m : all) {
    if (m.trial == 0) {
      baseline_ = std::move(m);
    } else {
      measured_.push_back(std::move(m));
    }
  }
  done_before_ = Done();
  listener_.OnNote(fmt::format("{} in {}, {} {}", run_->resumed() ? "going on with the run" : "run",
                               run_->path().string(), workload_.name, target_.ToJson()));
  return Ok();
}

// The unscheduled program: what speedups are relative to, and, once the oracle has found it right,
// what every element of every candidate's outputs is compared with.
Status Session::MeasureBaseline() {
  const std::filesystem::path oracle = run_->path() / "reference.bin";
  const std::filesystem::path full = run_->path() / "reference-full.bin";
  references_ = {oracle.string()};
  if (!std::filesystem::exists(oracle)) {
    listener_.OnNote("computing expected values");
    TW_TRY(verify::Reference reference, MakeReference(workload_, kTuningSeed, std::nullopt));
    TW_CHECK(reference.Save(oracle));
  }
  const bool again = baseline_ && (std::filesystem::exists(full) || !baseline_->failure.empty());
  if (!again) {
    listener_.OnNote("measuring the program as given");
    TW_CHECK(LoadPool());
    TW_TRY(measure::Outcome outcome,
           pool_->MeasureOne({}, BaselineTimeout(options_.timeout_s), full.string(), stop_));
    if (stop_) return Ok();
    if (outcome.failure == measure::FailureKind::kWrongNumbers) {
      return Fail(
          Code::kVerification,
          "the program as given, compiled without any schedule, computes the wrong numbers: {}",
          outcome.message);
    }
    if (!baseline_) {
      baseline_ = ToRow(0, -1, "baseline", "", outcome);
      TW_CHECK(run_->store().Commit({}, {*baseline_}));
    }
  }
  if (baseline_->failure.empty()) {
    listener_.OnNote(fmt::format("as given: {:.4g} ms", baseline_->median_s * 1e3));
    references_.push_back(full.string());
  } else {
    listener_.OnNote("the program as given could not be measured: " + baseline_->message);
  }
  return LoadPool();
}

Status Session::LoadPool() { return pool_->Load({module_json_, target_.ToJson(), references_}); }

Status Session::Restore() {
  TW_TRY(std::vector<store::Node> rows, run_->store().Nodes());
  if (rows.empty()) return Ok();
  std::vector<search::NodeRecord> records;
  for (const store::Node& row : rows) {
    TW_TRY(search::NodeRecord record, FromRow(row));
    records.push_back(std::move(record));
  }
  std::vector<search::Observation> observations;
  std::vector<search::StatePtr> states;
  std::vector<std::optional<double>> latencies;
  for (const store::Measurement& m : measured_) {
    if (m.node < 0 || m.node >= static_cast<int64_t>(records.size())) {
      return Fail(Code::kRunDirectory, "{}: trial {} is of node {}, which is not in it",
                  (run_->path() / "run.db").string(), m.trial, m.node);
    }
    observations.push_back({m.node, m.failure.empty(), m.median_s});
    TW_TRY(search::StatePtr state, space_->Decode(records[static_cast<std::size_t>(m.node)].state));
    states_[m.node] = state;
    states.push_back(state);
    latencies.push_back(m.failure.empty() ? std::optional(m.median_s) : std::nullopt);
  }
  TW_CHECK(model_->Update(states, latencies));
  TW_TRY(const std::optional<std::string> saved, run_->store().Blob(kSearchState));
  if (saved) TW_CHECK(parts_.searcher->LoadState(*saved));
  return parts_.searcher->Restore(records, observations);
}

int Session::Batch() const {
  if (options_.batch > 0) return options_.batch;
  // Few candidates a round let the cost model learn often; as many as builders keep these busy.
  return static_cast<int>(std::clamp<int64_t>(options_.trials / 8, options_.builders, 16));
}

Status Session::Search() {
  while (!stop_ && Done() < options_.trials) {
    std::vector<search::Candidate> candidates;
    TW_CHECK(Timed("propose", [&] { return Propose(candidates); }));
    if (candidates.empty()) {
      exhausted_ = true;
      break;
    }
    TW_CHECK(Timed("measure", [&] { return MeasureBatch(candidates); }));
    TW_CHECK(Timed("learn", [&] { return Learn(candidates); }));
  }
  return Ok();
}

Status Session::Propose(std::vector<search::Candidate>& candidates) {
  const auto wanted = std::min<int64_t>(Batch(), options_.trials - Done());
  candidates = parts_.searcher->Propose(static_cast<int>(wanted));
  // Nodes first: a measurement never stands without its program.
  std::vector<store::Node> rows;
  for (const search::NodeRecord& n : parts_.searcher->TakeChanges()) rows.push_back(ToRow(n));
  return run_->store().Commit(rows, {}, {{kSearchState, parts_.searcher->SaveState()}});
}

Status Session::MeasureBatch(const std::vector<search::Candidate>& candidates) {
  std::vector<measure::Job> jobs;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    TW_TRY(std::string trace, space_->TraceJson(*candidates[i].state));
    jobs.push_back({Done() + static_cast<int64_t>(i) + 1, std::move(trace), ""});
  }
  const int64_t first = Done() + 1;
  const store::Measurement* best = Best();
  return pool_->Measure(
      jobs, best != nullptr ? best->median_s : 0,
      [&](const measure::Outcome& outcome) {
        const auto at = static_cast<std::size_t>(outcome.id - first);
        return Commit(candidates[at], jobs[at].trace_json, outcome);
      },
      stop_);
}

Status Session::Commit(const search::Candidate& candidate, const std::string& trace,
                       const measure::Outcome& measured) {
  measure::Outcome outcome = measured;
  // The worker replayed the trace from its text: a trace that does not survive that is no result.
  const std::string key = space_->Key(*candidate.state);
  const auto* state = static_cast<const space::ScheduleState*>(candidate.state.get());
  if (outcome.failure == measure::FailureKind::kNone && outcome.module_hash != state->hash()) {
    outcome.failure = measure::FailureKind::kScheduleError;
    outcome.message = "the stored trace makes another program than the one that was proposed";
  }
  store::Measurement row = ToRow(Done() + 1, candidate.node, key, trace, outcome);
  TW_CHECK(run_->store().Commit({}, {row}));
  measured_.push_back(std::move(row));
  states_[candidate.node] = candidate.state;
  ShowProgress();
  return Ok();
}

Status Session::Learn(const std::vector<search::Candidate>& candidates) {
  std::vector<search::Observation> observations;
  std::vector<search::StatePtr> states;
  std::vector<std::optional<double>> latencies;
  for (const store::Measurement& m : measured_) {
    const bool now = std::any_of(candidates.begin(), candidates.end(),
                                 [&](const search::Candidate& c) { return c.node == m.node; });
    if (!now) continue;
    observations.push_back({m.node, m.failure.empty(), m.median_s});
    states.push_back(states_.at(m.node));
    latencies.push_back(m.failure.empty() ? std::optional(m.median_s) : std::nullopt);
  }
  TW_CHECK(model_->Update(states, latencies));
  parts_.searcher->Observe(observations);
  return Ok();
}

const store::Measurement* Session::Best() const {
  const store::Measurement* best = nullptr;
  for (const store::Measurement& m : measured_) {
    if (m.failure.empty() && (best == nullptr || m.median_s < best->median_s)) best = &m;
  }
  return best;
}

void Session::ShowProgress() {
  Progress progress;
  progress.done = Done();
  progress.trials = options_.trials;
  if (baseline_ && baseline_->failure.empty()) progress.baseline_s = baseline_->median_s;
  if (const store::Measurement* best = Best()) progress.best_s = best->median_s;
  for (const store::Measurement& m : measured_) {
    if (!m.failure.empty()) ++progress.failures[m.failure];
  }
  progress.scored = parts_.searcher->Scored();
  progress.elapsed_s = Seconds(start_);
  const int64_t here = Done() - done_before_;
  if (here > 0) {
    progress.left_s = progress.elapsed_s / static_cast<double>(here) *
                      static_cast<double>(options_.trials - Done());
  }
  listener_.OnProgress(progress);
}

Status Session::Finish() {
  if (Best() != nullptr) {
    TW_TRY(std::optional<std::string> finished, run_->store().Fact("final_check_of"));
    // A finished run that is asked for again has nothing left to confirm.
    const std::string now = fmt::format("{} trials", Done());
    if (finished == now) {
      TW_TRY(std::optional<std::string> verdict, run_->store().Fact("final_check"));
      verdict_ = verdict.value_or("");
    } else {
      TW_CHECK(Timed("confirm", [&] { return ConfirmFastest(); }));
      TW_CHECK(Timed("check afresh", [&] { return CheckAfresh(); }));
      if (stop_) return Ok();
      TW_CHECK(run_->store().SetFact("final_check", verdict_));
      TW_CHECK(run_->store().SetFact("final_check_of", now));
    }
  }
  TW_TRY(std::string model, model_->Save());
  TW_CHECK(run_->store().SetBlob("cost_model", model));
  TW_CHECK(WriteTuningDatabase(*run_, workload_.module, target_));
  TW_CHECK(WriteFailures(*run_, workload_.module, target_));
  if (Best() != nullptr) TW_CHECK(WriteBest(*run_, leir_text_));
  TW_TRY(std::string html, report::RunReport(run_->store()));
  return WriteFileAtomic(run_->path() / "report.html", html, Code::kRunDirectory);
}

// The fastest few are timed once more, together, and their repeats pooled: a lucky sample loses
// here.
Status Session::ConfirmFastest() {
  std::vector<store::Measurement*> fastest;
  for (store::Measurement& m : measured_) {
    if (m.failure.empty()) fastest.push_back(&m);
  }
  std::stable_sort(fastest.begin(), fastest.end(),
                   [](const auto* a, const auto* b) { return a->median_s < b->median_s; });
  if (fastest.size() > kConfirmed) fastest.resize(kConfirmed);
  std::vector<measure::Job> jobs;
  for (const store::Measurement* m : fastest) jobs.push_back({m->trial, m->trace_json, ""});
  return pool_->Measure(
      jobs, 0,
      [&](const measure::Outcome& outcome) -> Status {
        store::Measurement& m = measured_.at(static_cast<std::size_t>(outcome.id - 1));
        // A failure at the second try is the worker's day, unless the numbers are wrong.
        if (outcome.failure == measure::FailureKind::kWrongNumbers) {
          m.failure = Name(outcome.failure);
          m.message = "when measured again: " + outcome.message;
        } else if (outcome.failure == measure::FailureKind::kNone) {
          m.seconds.insert(m.seconds.end(), outcome.timing.seconds.begin(),
                           outcome.timing.seconds.end());
          m.median_s = measure::Median(m.seconds);
          m.spread_s = measure::Spread(m.seconds);
          m.max_error = std::max(m.max_error, outcome.max_error);
          m.time_s += outcome.time_s;
        }
        return run_->store().Amend(m);
      },
      stop_);
}

// The best meets inputs that no candidate has seen, of each distribution. One that fails is no
// result, and the next best is looked at.
Status Session::CheckAfresh() {
  while (const store::Measurement* best = Best()) {
    std::optional<measure::Outcome> failed;
    std::vector<std::string> done;
    for (const FreshInputs& inputs : FinalInputs(workload_, options_.seed)) {
      if (stop_) return Ok();
      TW_TRY(const measure::Outcome outcome, CheckOn(inputs, *best));
      if (stop_) return Ok();
      if (outcome.failure == measure::FailureKind::kNone) {
        done.push_back(inputs.name);
        continue;
      }
      failed = outcome;
      break;
    }
    if (!failed) {
      verdict_ = fmt::format("right: every element on the tuning inputs, then on fresh {} inputs",
                             fmt::join(done, ", "));
      break;
    }
    store::Measurement& m = measured_.at(static_cast<std::size_t>(best->trial - 1));
    m.failure = Name(failed->failure);
    m.message = "on fresh inputs: " + failed->message;
    TW_CHECK(run_->store().Amend(m));
  }
  return Ok();
}

Result<measure::Outcome> Session::CheckOn(const FreshInputs& inputs,
                                          const store::Measurement& candidate) {
  const std::filesystem::path path = run_->path() / "reference-final.bin";
  const measure::WorkerWorkload workload{module_json_, target_.ToJson(), {path.string()}};
  TW_TRY(verify::Reference reference, MakeReference(workload_, inputs.seed, inputs.distribution));
  TW_CHECK(reference.Save(path));
  if (!workload_.program) {
    // Without an interpreter the unscheduled program says what is right.
    TW_CHECK(pool_->Load(workload));
    TW_TRY(measure::Outcome outcome,
           pool_->MeasureOne({}, BaselineTimeout(options_.timeout_s), path.string(), stop_));
    if (outcome.failure != measure::FailureKind::kNone) {
      return Fail(Code::kVerification, "the program as given fails on fresh {} inputs: {}",
                  inputs.name, outcome.message);
    }
  }
  Result<measure::Outcome> outcome =
      pool_->CheckOne(workload, {candidate.trial, candidate.trace_json, ""}, stop_);
  std::error_code ignored;
  std::filesystem::remove(path, ignored);
  return outcome;
}

Result<Summary> Session::Summarize() {
  Summary summary;
  summary.run_dir = run_->path();
  summary.workload = workload_.name;
  summary.target = target_.ToJson();
  summary.trials = Done();
  if (baseline_ && baseline_->failure.empty()) summary.baseline_s = baseline_->median_s;
  if (const store::Measurement* best = Best()) {
    summary.best_s = best->median_s;
    summary.best_trial = best->trial;
  }
  for (const store::Measurement& m : measured_) {
    if (m.failure.empty()) continue;
    ++summary.failures[m.failure];
    summary.examples.try_emplace(m.failure, m.message);
  }
  summary.refused = space_->Refusals();
  summary.verdict = verdict_;
  summary.exhausted = exhausted_;
  summary.stopped = stop_;
  summary.elapsed_s = Seconds(start_);
  summary.spent_s = spent_s_;
  return summary;
}

}  // namespace

Result<Summary> Tune(const Options& options, Listener& listener, const std::atomic<bool>& stop) {
  return Session(options, listener, stop).Run();
}

}  // namespace tw::tune
