#include <vector>

#include "base/log.h"
#include "cli/command.h"
#include "cli/config.h"

namespace tw::cli {
namespace {

int Report(const Error& error) {
  fmt::print(stderr, "tensorwright: {}\n", error.message);
  return static_cast<int>(error.code);
}

// CLI11 says only that a subcommand is required when it meets a word it does not know.
std::string Explain(const CLI::App& app, const CLI::ParseError& error, int argc, char** argv) {
  if (!app.get_subcommands().empty()) return error.what();
  for (int i = 1; i < argc; ++i) {
    const std::string word(argv[i]);
    if (word == "--config") ++i;
    if (word.starts_with("-")) continue;
    std::string names;
    for (const CLI::App* sub : app.get_subcommands(nullptr)) {
      names += (names.empty() ? "" : ", ") + sub->get_name();
    }
    return fmt::format("no such subcommand: {} (there are {})", word, names);
  }
  return error.what();
}

int Main(int argc, char** argv) {
  CLI::App app{
      "Tensorwright makes tensor programs fast with few measurements, and writes down why."};
  app.name("tensorwright");
  app.require_subcommand(1);
  app.set_version_flag("--version", "tensorwright " TW_VERSION);
  Global global;
  app.add_flag("-v,--verbose", global.verbose, "Say more on stderr; twice for debugging");
  app.add_flag("-q,--quiet", global.quiet, "Only errors on stderr");
  app.add_option("--config", global.config,
                 "TOML file with a table per subcommand; flags and environment go first")
      ->envname("TENSORWRIGHT_CONFIG");
  app.fallthrough();

  std::vector<Command> commands{AddTune(app, global), AddBest(app),   AddExport(app),
                                AddWorkloads(app),    AddVerify(app), AddDoctor(app)};
  for (Command& command : AddLeir(app)) commands.push_back(std::move(command));

  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp& e) {
    return app.exit(e);
  } catch (const CLI::CallForVersion& e) {
    return app.exit(e);
  } catch (const CLI::ParseError& e) {
    std::string name = "tensorwright";
    for (const CLI::App* sub : app.get_subcommands()) name += " " + sub->get_name();
    return Report(Fail(Code::kUsage, "{}\nRun `{} --help` for the flags.",
                       Explain(app, e, argc, argv), name));
  }
  SetLogLevel(global.quiet, global.verbose);
  for (const Command& command : commands) {
    if (!command.app->parsed()) continue;
    if (!global.config.empty()) {
      if (Status status = ApplyConfig(*command.app, global.config); !status.ok()) {
        return Report(status.error());
      }
    }
    Result<int> code = command.run();
    return code.ok() ? *code : Report(code.error());
  }
  return Report(Fail(Code::kUsage, "no subcommand given"));
}

}  // namespace
}  // namespace tw::cli

int main(int argc, char** argv) { return tw::cli::Main(argc, argv); }
