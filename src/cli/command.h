// A subcommand: parsing and printing only; the work is in src/tune and below.
#pragma once

#include <CLI/CLI.hpp>

#include <functional>
#include <string>

#include "base/result.h"

namespace tw::cli {

// Registered by AddXxx(app); `run` is called when the subcommand was given and returns the exit
// code or an error.
struct Command {
  CLI::App* app = nullptr;
  std::function<Result<int>()> run;
};

// Flags that every subcommand understands.
struct Global {
  int verbose = 0;
  bool quiet = false;
  std::string config;
};

Command AddTune(CLI::App& root, const Global& global);
Command AddBest(CLI::App& root);
Command AddExport(CLI::App& root);
Command AddWorkloads(CLI::App& root);
std::vector<Command> AddLeir(CLI::App& root);
Command AddVerify(CLI::App& root);
Command AddDoctor(CLI::App& root);

}  // namespace tw::cli
