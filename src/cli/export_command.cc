#include "cli/command.h"
#include "tune/export.h"
#include "tvm/runtime.h"

namespace tw::cli {

Command AddExport(CLI::App& root) {
  CLI::App* app = root.add_subcommand(
      "export", "Write a run's fastest program as a shared library with a header and examples");
  struct Flags {
    std::string run_dir;
    std::string output;
    std::string name;
  };
  auto flags = std::make_shared<Flags>();
  app->add_option("run-dir", flags->run_dir, "Run directory")->required();
  app->add_option("-o,--output", flags->output, "Folder to write to (default: RUN-DIR/export)");
  app->add_option("--name", flags->name, "Name of the function (default: the workload's)");
  return {app, [flags]() -> Result<int> {
            TW_TRY(tvm_api::Versions versions, tvm_api::Load());
            TW_TRY(tune::Exported exported,
                   tune::ExportBest(flags->run_dir, flags->output, flags->name));
            for (const auto& file : exported.files) fmt::print("{}\n", file.string());
            fmt::print(stderr, "\nC++:    {}\nPython: {}\n", exported.cpp_command,
                       exported.python_command);
            return 0;
          }};
}

}  // namespace tw::cli
