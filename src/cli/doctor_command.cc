#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/format.h"
#include "measure/fingerprint.h"
#include "tune/references.h"
#include "tvm/runtime.h"

namespace tw::cli {
namespace {

Result<int> Run(bool as_json) {
  const measure::Machine machine = measure::ThisMachine();
  nlohmann::ordered_json json{{"cpu", machine.cpu},
                              {"vector_extensions", machine.isa},
                              {"cores", machine.cores},
                              {"caches", nlohmann::ordered_json::array()},
                              {"memory_mib", machine.memory_bytes >> 20},
                              {"page_bytes", machine.page_bytes},
                              {"kernel", machine.kernel},
                              {"governor", machine.governor},
                              {"problems", nlohmann::ordered_json::array()}};
  std::string caches;
  for (const measure::Cache& c : machine.caches) {
    json["caches"].push_back({{"level", c.level}, {"bytes", c.bytes}, {"line", c.line}});
    caches += fmt::format("{}L{} {} KiB", caches.empty() ? "" : ", ", c.level, c.bytes >> 10);
  }
  std::vector<Error> problems;
  const Result<tvm_api::Versions> versions = tvm_api::Load();
  if (versions.ok()) {
    json["tvm"] = versions->tvm;
    json["tvm_ffi"] = versions->tvm_ffi;
    json["tvm_cpu"] = tvm_api::SystemCpu();
  } else {
    problems.push_back(versions.error());
  }
  if (auto worker = tune::WorkerProgram(); !worker.ok()) problems.push_back(worker.error());
  for (const Error& problem : problems) json["problems"].push_back(problem.message);

  if (as_json) {
    fmt::print("{}\n", json.dump(2));
  } else {
    fmt::print("cpu       {} ({})\ncores     {}\ncaches    {}\nmemory    {} MiB, pages of {} KiB\n",
               machine.cpu, machine.isa, machine.cores, caches, machine.memory_bytes >> 20,
               machine.page_bytes >> 10);
    fmt::print("kernel    {}{}\n", machine.kernel,
               machine.governor.empty() ? "" : ", governor " + machine.governor);
    if (versions.ok()) {
      fmt::print("tvm       {} (tvm-ffi {}), compiles for {}\n", versions->tvm, versions->tvm_ffi,
                 tvm_api::SystemCpu());
    }
    for (const Error& problem : problems) fmt::print("problem   {}\n", problem.message);
    if (problems.empty()) fmt::print("ready to tune\n");
  }
  return problems.empty() ? 0 : static_cast<int>(Code::kEnvironment);
}

}  // namespace

Command AddDoctor(CLI::App& root) {
  CLI::App* app =
      root.add_subcommand("doctor", "Show the machine and what is missing to tune on it");
  auto json = std::make_shared<bool>(false);
  app->add_flag("--json", *json, "Machine-readable output");
  return {app, [json] { return Run(*json); }};
}

}  // namespace tw::cli
