#include "tune/artifacts.h"

#include <toml++/toml.h>

#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "base/files.h"
#include "tvm/build.h"
#include "tvm/database.h"
#include "tvm/runtime.h"

namespace tw::tune {
namespace {

constexpr Code kCode = Code::kRunDirectory;

}  // namespace

Status WriteRunToml(const RunDirectory& run, const Options& options, const std::string& target) {
  toml::table dims;
  for (const auto& [name, size] : options.dims) dims.insert(name, size);
  toml::array pin;
  for (int cpu : options.pin) pin.push_back(static_cast<int64_t>(cpu));
  toml::table tune{{"workload", options.workload},
                   {"trials", options.trials},
                   {"search", options.search},
                   {"preset", options.preset},
                   {"proposer", options.proposer},
                   {"cost-model", options.cost_model},
                   {"seed", static_cast<int64_t>(options.seed)},
                   {"target", target},
                   {"cores", options.cores},
                   {"builders", options.builders},
                   {"batch", options.batch},
                   {"timeout", options.timeout_s},
                   {"memory-limit", options.memory_limit_mib},
                   {"pin", pin}};
  std::ostringstream text;
  text
      << "# What this run was asked to do. `tensorwright tune` reads the same keys with --config.\n"
      << toml::table{{"tune", tune}} << "\n\n";
  if (!dims.empty()) text << toml::table{{"shape", dims}} << "\n";
  return WriteFileAtomic(run.path() / "run.toml", text.str(), kCode);
}

Status WriteTuningDatabase(RunDirectory& run, const tvm_api::Module& workload,
                           const tvm_api::Target& target) {
  TW_TRY(std::vector<store::Measurement> all, run.store().Measurements());
  std::vector<tvm_api::NewRecord> records;
  for (const store::Measurement& m : all) {
    if (m.trial > 0 && m.failure.empty()) records.push_back({m.trace_json, m.seconds});
  }
  return tvm_api::WriteDatabase(run.path(), workload, target, records);
}

Status WriteFailures(RunDirectory& run, const tvm_api::Module& workload,
                     const tvm_api::Target& target) {
  TW_TRY(std::vector<store::Measurement> all, run.store().Measurements());
  std::set<std::string> seen;
  for (const store::Measurement& m : all) {
    if (m.failure.empty() || m.trace_json.empty() || !seen.insert(m.failure).second) continue;
    const std::filesystem::path folder = run.path() / "failures" / m.failure;
    if (std::filesystem::exists(folder / "error.txt")) continue;
    TW_CHECK(CreateDirectories(folder, kCode));
    TW_CHECK(tvm_api::WriteDatabase(folder, workload, target, {{m.trace_json, {}}}));
    TW_CHECK(WriteFileAtomic(folder / "error.txt",
                             fmt::format("trial {}: {}\nagain: tensorwright verify --database {}\n",
                                         m.trial, m.message, folder.string()),
                             kCode));
  }
  return Ok();
}

Status WriteBest(RunDirectory& run, const std::string& leir_text) {
  TW_TRY(BestProgram best, ReadBest(run));
  const store::Measurement& m = best.measurement;
  nlohmann::ordered_json json{
      {"workload", best.workload},
      {"target", nlohmann::ordered_json::parse(best.target.ToJson())},
      {"trial", m.trial},
      {"latency_s", m.median_s},
      {"spread_s", m.spread_s},
      {"baseline_s", nullptr},
      {"worst_error_over_tolerance", m.max_error},
      {"verdict", best.facts["final_check"]},
      {"trace", nlohmann::ordered_json::parse(best.schedule.GetTrace().ToJson())}};
  if (best.baseline_s) json["baseline_s"] = *best.baseline_s;
  TW_CHECK(WriteFileAtomic(run.path() / "best.json", json.dump(2) + "\n", kCode));
  TW_CHECK(
      WriteFileAtomic(run.path() / "best.py", best.schedule.GetModule().Script() + "\n", kCode));
  if (!leir_text.empty()) {
    TW_CHECK(WriteFileAtomic(run.path() / "best.leir", leir_text, kCode));
  }
  return tvm_api::ExportLibrary(best.schedule.GetModule(), best.target,
                                best.unscheduled.FunctionName(), run.path() / "best.so");
}

}  // namespace tw::tune
