#include "tune/verify_database.h"

#include <unistd.h>

#include "measure/fingerprint.h"
#include "measure/worker_pool.h"
#include "tune/references.h"
#include "tvm/database.h"
#include "tvm/runtime.h"
#include "tvm/target.h"

namespace tw::tune {
namespace {

// A folder for reference files that goes away with it.
class Scratch {
 public:
  static Result<Scratch> Make() {
    std::string pattern = (std::filesystem::temp_directory_path() / "tensorwright-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) {
      return Fail(Code::kEnvironment, "cannot make a temporary folder in {}",
                  std::filesystem::temp_directory_path().string());
    }
    return Scratch(pattern);
  }
  Scratch(Scratch&& other) noexcept : path_(std::move(other.path_)) { other.path_.clear(); }
  ~Scratch() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  const std::filesystem::path& path() const { return path_; }

 private:
  explicit Scratch(std::filesystem::path path) : path_(std::move(path)) {}
  std::filesystem::path path_;
};

// Loads one workload of the database with its reference into the pool.
Status LoadWorkloadOf(const tvm_api::Module& module, const std::string& target_json,
                      const VerifyOptions& options, const std::filesystem::path& folder,
                      measure::WorkerPool& pool, const std::atomic<bool>& stop) {
  Workload workload;
  workload.module = module;
  TW_TRY(verify::Reference inputs, MakeReference(workload, kTuningSeed, std::nullopt));
  const std::string inputs_path = (folder / "inputs.bin").string();
  const std::string full_path = (folder / "full.bin").string();
  TW_CHECK(inputs.Save(inputs_path));
  TW_CHECK(pool.Load({module.ToJson(), target_json, {inputs_path}}));
  TW_TRY(measure::Outcome baseline,
         pool.MeasureOne({}, BaselineTimeout(options.timeout_s), full_path, stop));
  if (baseline.failure != measure::FailureKind::kNone) {
    return Fail(Code::kVerification, "the workload without schedule cannot be run: {}",
                baseline.message);
  }
  return pool.Load({module.ToJson(), target_json, {full_path}});
}

}  // namespace

Status VerifyDatabase(const VerifyOptions& options,
                      const std::function<void(const RecordVerdict&)>& on_verdict,
                      const std::atomic<bool>& stop) {
  TW_TRY(tvm_api::Versions versions, tvm_api::Load());
  TW_TRY(tvm_api::Database database, tvm_api::ReadDatabase(options.database));
  TW_TRY(Scratch scratch, Scratch::Make());
  measure::PoolOptions pool_options;
  TW_TRY(pool_options.program, WorkerProgram());
  pool_options.threads = options.cores > 0 ? options.cores : measure::ThisMachine().cores;
  pool_options.timeout_s = options.timeout_s;
  pool_options.memory_limit_bytes = options.memory_limit_mib << 20;
  // Numbers are the question here, not latencies.
  pool_options.timing.min_repeats = 1;
  pool_options.timing.max_repeats = 1;
  pool_options.timing.max_s = 0;
  measure::WorkerPool pool(pool_options);

  // Compiled for this machine, whatever the record was measured on: its schedule is what is asked
  // about.
  TW_TRY(tvm_api::Target target, tvm_api::Target::Parse("llvm", pool_options.threads));
  int loaded = -1;
  Status usable = Ok();
  for (const tvm_api::Record& record : database.records) {
    if (stop) return Ok();
    if (!record.error.empty()) {
      on_verdict({record.line, "failed", record.error});
      continue;
    }
    if (record.workload != loaded) {
      loaded = record.workload;
      usable = LoadWorkloadOf(database.workloads.at(static_cast<std::size_t>(loaded)),
                              target.ToJson(), options, scratch.path(), pool, stop);
    }
    if (!usable.ok()) {
      on_verdict({record.line, "failed", usable.error().message});
      continue;
    }
    TW_TRY(measure::Outcome outcome,
           pool.MeasureOne({record.line, record.trace_json, ""}, options.timeout_s, "", stop));
    if (stop) return Ok();
    if (outcome.failure == measure::FailureKind::kNone) {
      on_verdict({record.line, "right",
                  fmt::format("largest error {:.2g} of its tolerance", outcome.max_error)});
    } else if (outcome.failure == measure::FailureKind::kWrongNumbers) {
      on_verdict({record.line, "wrong", outcome.message});
    } else {
      on_verdict(
          {record.line, "failed", fmt::format("{}: {}", Name(outcome.failure), outcome.message)});
    }
  }
  return Ok();
}

}  // namespace tw::tune
