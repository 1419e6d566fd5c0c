#include <nlohmann/json.hpp>

#include "base/signals.h"
#include "cli/command.h"
#include "tune/verify_database.h"

namespace tw::cli {
namespace {

struct Flags {
  std::string database;
  tune::VerifyOptions options;
  bool json = false;
};

Result<int> Run(Flags& flags) {
  flags.options.database = flags.database;
  InstallStopSignals();
  bool all_right = true;
  TW_CHECK(tune::VerifyDatabase(
      flags.options,
      [&](const tune::RecordVerdict& v) {
        all_right &= v.verdict == "right";
        if (flags.json) {
          fmt::print(
              "{}\n",
              nlohmann::ordered_json{{"line", v.line}, {"verdict", v.verdict}, {"detail", v.detail}}
                  .dump());
        } else {
          fmt::print("line {} {}: {}\n", v.line, v.verdict, v.detail);
        }
        std::fflush(stdout);
      },
      StopRequested()));
  if (StopRequested()) return 128 + StopSignal();
  return all_right ? 0 : static_cast<int>(Code::kVerification);
}

}  // namespace

Command AddVerify(CLI::App& root) {
  CLI::App* app = root.add_subcommand("verify", "Check the numbers of every record of a database");
  auto flags = std::make_shared<Flags>();
  app->add_option(
         "--database", flags->database,
         "Folder with MetaSchedule's database_workload.json and database_tuning_record.json")
      ->required();
  app->add_option("--cores", flags->options.cores, "Threads of the programs; 0: all cores")
      ->check(CLI::Range(0, 4096))
      ->capture_default_str();
  app->add_option("--timeout", flags->options.timeout_s, "Seconds for one record")
      ->check(CLI::Range(0.1, 86400.0))
      ->capture_default_str();
  app->add_option("--memory-limit", flags->options.memory_limit_mib, "MiB that one worker may use")
      ->check(CLI::Range(int64_t{512}, int64_t{1} << 30))
      ->capture_default_str();
  app->add_flag("--json", flags->json, "One JSON object a line");
  return {app, [flags] { return Run(*flags); }};
}

}  // namespace tw::cli
