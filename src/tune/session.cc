#include "tune/session.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <ctime>
#include <memory>
#include <set>
#include <thread>

#include "base/files.h"
#include "base/hash.h"
#include "leir/printer.h"
#include "measure/fingerprint.h"
#include "measure/worker_pool.h"
#include "space/cost_model.h"
#include "space/schedule_space.h"
#include "tune/artifacts.h"
#include "tune/run_directory.h"
#include "tune/searchers.h"
#include "tune/workload.h"
#include "tvm/runtime.h"
#include "verify/reference.h"

namespace tw::tune {
namespace {

using Clock = std::chrono::steady_clock;

// Points of each output that the interpreter computes where the whole is too large, and how much it may
// compute in all.
constexpr int kPoints = 256;
constexpr int64_t kMaxStatements = 300'000'000;
// Candidates that are measured once more at the end, so that luck does not choose the winner.
constexpr int kConfirmed = 3;

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
  return {n.id, n.parent, n.state, n.key, sequence, n.rationale, n.source, n.predicted, n.visits,
          n.value, n.proposed};
}

Result<search::NodeRecord> FromRow(const store::Node& n) {
  search::NodeRecord record{n.id,     n.parent, n.state,     n.key,    {},     n.rationale,
                            n.source, n.predicted, n.visits, n.value, n.proposed};
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
    TW_CHECK(Prepare());
    TW_CHECK(MeasureBaseline());
    TW_CHECK(Restore());
    TW_CHECK(Search());
    if (!stop_) TW_CHECK(Finish());
    return Summarize();
  }

 private:
  Status Prepare();
  Status OpenRun();
  Status MakeReferences();
  Status StartPool();
  Status MeasureBaseline();
  Status Restore();
  Status Search();
  Status MeasureBatch(const std::vector<search::Candidate>& candidates);
  Status Learn();
  Status Finish();
  Status ConfirmFastest();
  Status CheckAfresh();
  Result<Summary> Summarize();

  int Batch() const;
  std::vector<store::Measurement*> Fastest(std::size_t count);
  void ShowProgress();

  Options options_;
  Listener& listener_;
  const std::atomic<bool>& stop_;
  Clock::time_point start_ = Clock::now();

  Workload workload_;
  tvm_api::Target target_;
  std::string leir_text_;
  std::optional<RunDirectory> run_;
  std::unique_ptr<space::ScheduleSpace> space_;
  std::unique_ptr<search::CostModel> model_;
  SearchParts parts_;
  std::vector<std::filesystem::path> references_;
  std::unique_ptr<measure::WorkerPool> pool_;

  std::vector<store::Measurement> measured_;   // by trial, the baseline not among them
  std::vector<search::StatePtr> states_;       // of measured_
  std::optional<store::Measurement> baseline_;
  int64_t done_before_ = 0;                    // trials that earlier sessions finished
  bool exhausted_ = false;
  std::string verdict_;
};
}  // namespace
}  // namespace tw::tune
