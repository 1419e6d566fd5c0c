#include <nlohmann/json.hpp>

#include "base/signals.h"
#include "cli/command.h"
#include "cli/format.h"
#include "cli/progress.h"
#include "tune/run_directory.h"
#include "tune/session.h"

namespace tw::cli {
namespace {

struct Flags {
  tune::Options options;
  std::string run_dir;
  std::string shape;
  bool json = false;
};

nlohmann::ordered_json ToJson(const tune::Summary& s) {
  nlohmann::ordered_json json{{"run_dir", s.run_dir.string()},
                              {"workload", s.workload},
                              {"target", nlohmann::ordered_json::parse(s.target)},
                              {"trials", s.trials},
                              {"baseline_s", nullptr},
                              {"best_s", nullptr},
                              {"speedup", nullptr},
                              {"best_trial", s.best_trial},
                              {"verdict", s.verdict},
                              {"failures", s.failures},
                              {"refused", s.refused},
                              {"exhausted", s.exhausted},
                              {"stopped", s.stopped},
                              {"elapsed_s", s.elapsed_s},
                              {"spent_s", s.spent_s}};
  if (s.baseline_s) json["baseline_s"] = *s.baseline_s;
  if (s.best_s) json["best_s"] = *s.best_s;
  if (s.baseline_s && s.best_s) json["speedup"] = *s.baseline_s / *s.best_s;
  return json;
}

void PrintSummary(const tune::Summary& s) {
  fmt::print("workload      {}\n", s.workload);
  fmt::print("baseline      {}\n", s.baseline_s ? Milliseconds(*s.baseline_s) : "not measured");
  if (s.best_s) {
    fmt::print("best          {} (trial {} of {})\n", Milliseconds(*s.best_s), s.best_trial,
               s.trials);
    if (s.baseline_s) fmt::print("speedup       {:.1f}x\n", *s.baseline_s / *s.best_s);
    fmt::print("verification  {}\n", s.verdict);
  } else {
    fmt::print("best          none: no candidate was valid\n");
  }
  fmt::print("failed        {}\n", Counts(s.failures));
  for (const auto& [kind, message] : s.examples) fmt::print("  {}: {}\n", kind, message);
  if (!s.refused.empty()) fmt::print("refused       {} (before measuring)\n", Counts(s.refused));
  if (s.exhausted) {
    fmt::print("note          the space has no more programs; the run ended early\n");
  }
  fmt::print("run directory {}\n", s.run_dir.string());
}

Result<int> Run(Flags& flags, const Global& global) {
  if (!flags.shape.empty()) {
    TW_TRY(flags.options.dims, ParseDims(flags.shape));
  }
  flags.options.run_dir = flags.run_dir.empty() ? tune::DatedRunDirectory(flags.options.workload)
                                                : std::filesystem::path(flags.run_dir);
  InstallStopSignals();
  ProgressPrinter printer(global.quiet);
  TW_TRY(tune::Summary summary, tune::Tune(flags.options, printer, StopRequested()));
  if (flags.json) {
    fmt::print("{}\n", ToJson(summary).dump(2));
  } else {
    PrintSummary(summary);
  }
  if (summary.stopped) {
    fmt::print(stderr, "stopped; the same command with --run-dir {} goes on\n",
               summary.run_dir.string());
    return 128 + StopSignal();
  }
  return summary.best_s ? 0 : static_cast<int>(Code::kNoCandidate);
}

CLI::Option* Documented(CLI::Option* option, const char* environment) {
  return option->envname(environment)->capture_default_str();
}

}  // namespace

Command AddTune(CLI::App& root, const Global& global) {
  CLI::App* app = root.add_subcommand("tune", "Make a workload fast on this machine");
  auto flags = std::make_shared<Flags>();
  tune::Options& o = flags->options;
  app->add_option("workload", o.workload,
                  "Built-in name (see `workloads`), a .leir file, or a TVM module in JSON")
      ->required();
  app->add_option("--shape", flags->shape, "Sizes of the workload's dimensions, e.g. m=512,n=64");
  app->add_option("--run-dir", flags->run_dir,
                  "Directory of the run; an existing one is continued (default: runs/DATE-NAME)")
      ->envname("TENSORWRIGHT_RUN_DIR");
  Documented(app->add_option("--trials", o.trials, "Candidates to measure, failures included")
                 ->check(CLI::Range(int64_t{1}, int64_t{1'000'000})),
             "TENSORWRIGHT_TRIALS");
  Documented(app->add_option("--search", o.search, "Search algorithm")
                 ->check(CLI::IsMember(tune::SearcherNames())),
             "TENSORWRIGHT_SEARCH");
  app->add_option("--preset", o.preset, "Settings of mcts: `paper` follows the publication")
      ->check(CLI::IsMember({"default", "paper"}))
      ->capture_default_str();
  Documented(app->add_option("--proposer", o.proposer, "Who suggests transformations to mcts")
                 ->check(CLI::IsMember(tune::ProposerNames())),
             "TENSORWRIGHT_PROPOSER");
  app->add_option("--cost-model", o.cost_model, "Estimates for programs that are not measured")
      ->check(CLI::IsMember(tune::CostModelNames()))
      ->capture_default_str();
  Documented(app->add_option("--seed", o.seed, "Seed of every random choice"), "TENSORWRIGHT_SEED");
  Documented(app->add_option("--target", o.target,
                             "TVM target: a kind with attributes (llvm -mcpu=znver3) or JSON"),
             "TENSORWRIGHT_TARGET");
  Documented(app->add_option("--cores", o.cores, "Threads of the compiled program; 0: all cores")
                 ->check(CLI::Range(0, 4096)),
             "TENSORWRIGHT_CORES");
  app->add_option("--builders", o.builders, "Worker processes that build; 0: one per core")
      ->check(CLI::Range(0, 1024))
      ->capture_default_str();
  app->add_option("--pin", o.pin, "CPUs that workers are pinned to, e.g. 2,3")->delimiter(',');
  app->add_option("--batch", o.batch, "Candidates per round; 0: chosen from --trials")
      ->check(CLI::Range(0, 4096))
      ->capture_default_str();
  app->add_option("--timeout", o.timeout_s, "Seconds for building, and for running, one candidate")
      ->check(CLI::Range(0.1, 86400.0))
      ->capture_default_str();
  app->add_option("--memory-limit", o.memory_limit_mib, "MiB that one worker may use")
      ->check(CLI::Range(int64_t{512}, int64_t{1} << 30))
      ->capture_default_str();
  app->add_flag("--json", flags->json, "Print the summary as JSON");
  return {app, [flags, &global] { return Run(*flags, global); }};
}

}  // namespace tw::cli
