#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/format.h"
#include "tune/run_directory.h"
#include "tvm/runtime.h"

namespace tw::cli {
namespace {

struct Flags {
  std::string run_dir;
  bool json = false;
};

Result<int> Run(const Flags& flags) {
  TW_TRY(tvm_api::Versions versions, tvm_api::Load());
  TW_TRY(tune::RunDirectory run, tune::RunDirectory::OpenReadOnly(flags.run_dir));
  TW_TRY(tune::BestProgram best, tune::ReadBest(run));
  const store::Measurement& m = best.measurement;
  const std::vector<std::string> trace = best.schedule.GetTrace().AsPython();
  const std::string script = best.schedule.GetModule().Script();
  if (flags.json) {
    nlohmann::ordered_json chain = nlohmann::ordered_json::array();
    for (const store::Node& node : best.chain) {
      chain.push_back({{"transformations", node.sequence},
                       {"source", node.source},
                       {"rationale", node.rationale},
                       {"predicted", node.predicted}});
    }
    nlohmann::ordered_json json{
        {"workload", best.workload},
        {"target", nlohmann::ordered_json::parse(best.target.ToJson())},
        {"trial", m.trial},
        {"latency_s", m.median_s},
        {"spread_s", m.spread_s},
        {"baseline_s", nullptr},
        {"worst_error_over_tolerance", m.max_error},
        {"transformations", chain},
        {"trace", nlohmann::ordered_json::parse(best.schedule.GetTrace().ToJson())},
        {"trace_python", trace},
        {"tvmscript", script},
        {"tvm", versions.tvm}};
    if (best.baseline_s) json["baseline_s"] = *best.baseline_s;
    fmt::print("{}\n", json.dump(2));
    return 0;
  }
  fmt::print("workload  {}\nlatency   {} +- {} (trial {})\n", best.workload,
             Milliseconds(m.median_s), Milliseconds(m.spread_s), m.trial);
  if (best.baseline_s) {
    fmt::print("baseline  {} ({:.1f}x)\n", Milliseconds(*best.baseline_s),
               *best.baseline_s / m.median_s);
  }
  fmt::print("error     {:.2g} of its tolerance\n\ntransformations\n", m.max_error);
  for (const store::Node& node : best.chain) {
    std::string_view lines = node.sequence;
    while (!lines.empty()) {
      const std::size_t end = std::min(lines.find('\n'), lines.size());
      fmt::print("  {}\n", lines.substr(0, end));
      lines.remove_prefix(std::min(end + 1, lines.size()));
    }
    if (!node.rationale.empty()) fmt::print("    because {}\n", node.rationale);
  }
  fmt::print("\ntrace\n");
  for (const std::string& line : trace) fmt::print("  {}\n", line);
  fmt::print("\n{}\n", script);
  return 0;
}

}  // namespace

Command AddBest(CLI::App& root) {
  CLI::App* app =
      root.add_subcommand("best", "Show a run's fastest program, its trace and TVMScript");
  auto flags = std::make_shared<Flags>();
  app->add_option("run-dir", flags->run_dir, "Run directory")->required();
  app->add_flag("--json", flags->json, "Machine-readable output");
  return {app, [flags] { return Run(*flags); }};
}

}  // namespace tw::cli
