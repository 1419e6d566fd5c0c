#include "tune/run_directory.h"

#include <fmt/chrono.h>

#include <algorithm>
#include <cctype>
#include <ctime>

#include "base/files.h"

namespace tw::tune {
namespace {

constexpr const char* kDatabase = "run.db";
constexpr const char* kLock = "lock";

// What a person is told when a directory belongs to another run.
Error Differs(const std::filesystem::path& path, const std::string& fact, const std::string& there,
              const std::string& asked) {
  if (fact == "machine") {
    return Fail(Code::kRunDirectory,
                "{}: this run was measured on another machine ({}), here is {}; latencies do not "
                "carry over, so choose another --run-dir",
                path.string(), there, asked);
  }
  auto brief = [](const std::string& text) {
    return text.size() <= 60 ? text : text.substr(0, 57) + "...";
  };
  return Fail(Code::kRunDirectory,
              "{}: holds a run with {} '{}', but '{}' was asked for; choose another --run-dir, or "
              "repeat the command that made it",
              path.string(), fact, brief(there), brief(asked));
}

}  // namespace

Result<RunDirectory> RunDirectory::Open(const std::filesystem::path& path,
                                        const Identity& identity) {
  TW_CHECK(CreateDirectories(path, Code::kRunDirectory));
  TW_TRY(FileLock lock, FileLock::Acquire(path / kLock));
  const bool existed = std::filesystem::exists(path / kDatabase);
  TW_TRY(store::Store store, store::Store::Open(path / kDatabase));
  TW_TRY(auto facts, store.Facts());
  const bool resumed = existed && !facts.empty();
  for (const auto& [fact, asked] : identity) {
    auto there = facts.find(fact);
    if (there == facts.end()) {
      TW_CHECK(store.SetFact(fact, asked));
    } else if (there->second != asked) {
      return Differs(path, fact, there->second, asked);
    }
  }
  return RunDirectory(path, std::move(lock), std::move(store), resumed);
}

Result<RunDirectory> RunDirectory::OpenReadOnly(const std::filesystem::path& path) {
  if (!std::filesystem::exists(path / kDatabase)) {
    return Fail(Code::kRunDirectory, "{}: not a run directory (it has no {})", path.string(),
                kDatabase);
  }
  TW_TRY(store::Store store, store::Store::OpenReadOnly(path / kDatabase));
  return RunDirectory(path, std::nullopt, std::move(store), true);
}

Result<BestProgram> ReadBest(RunDirectory& run) {
  BestProgram best;
  TW_TRY(best.facts, run.store().Facts());
  TW_TRY(std::optional<store::Measurement> measurement, run.store().Best());
  if (!measurement) {
    return Fail(Code::kNoCandidate, "{}: the run has no valid candidate yet", run.path().string());
  }
  best.measurement = *measurement;
  best.workload = best.facts["workload"];
  TW_TRY(std::optional<std::string> module_json, run.store().Blob("module"));
  if (!module_json) {
    return Fail(Code::kRunDirectory, "{}: the database lacks the workload's module",
                run.path().string());
  }
  TW_TRY(best.unscheduled, tvm_api::Module::FromJson(*module_json));
  TW_TRY(best.target, tvm_api::Target::Parse(best.facts["target"], 1));
  TW_TRY(best.schedule,
         tvm_api::Schedule::ReplayJson(best.unscheduled, best.measurement.trace_json));
  TW_TRY(std::vector<store::Measurement> all, run.store().Measurements());
  if (!all.empty() && all.front().trial == 0 && all.front().failure.empty()) {
    best.baseline_s = all.front().median_s;
  }
  TW_TRY(std::vector<store::Node> nodes, run.store().Nodes());
  std::map<int64_t, const store::Node*> by_id;
  for (const store::Node& node : nodes) by_id[node.id] = &node;
  for (int64_t id = best.measurement.node; by_id.contains(id); id = by_id[id]->parent) {
    best.chain.push_back(*by_id[id]);
  }
  std::reverse(best.chain.begin(), best.chain.end());
  return best;
}

std::filesystem::path DatedRunDirectory(const std::string& workload) {
  std::string name = std::filesystem::path(workload).stem().string();
  for (char& c : name) {
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '-') c = '_';
  }
  return std::filesystem::path("runs") /
         fmt::format("{:%Y%m%d-%H%M%S}-{}", fmt::localtime(std::time(nullptr)), name);
}

}  // namespace tw::tune
