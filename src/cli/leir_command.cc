#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/format.h"
#include "leir/counts.h"
#include "leir/interpreter.h"
#include "leir/printer.h"
#include "lower/lower.h"
#include "tune/workload.h"
#include "tvm/runtime.h"
#include "verify/reference.h"

namespace tw::cli {
namespace {

struct Flags {
  std::string file;
  std::string shape;
  bool json = false;
  bool published = false;
  bool as_written = false;
  uint64_t seed = 1;
};

Result<leir::Program> Read(const Flags& flags) {
  TW_TRY(auto dims, ParseDims(flags.shape));
  return tune::LoadProgram(flags.file, dims);
}

Result<int> Check(const Flags& flags) {
  TW_TRY(leir::Program program, Read(flags));
  nlohmann::ordered_json json{{"statements", leir::CountStatements(program)},
                              {"reduction_length", leir::ReductionLength(program)},
                              {"tensors", nlohmann::ordered_json::array()}};
  for (const leir::Tensor& t : program.tensors) {
    json["tensors"].push_back({{"name", t.name},
                               {"role", leir::RoleName(t.role)},
                               {"dtype", ShortName(t.dtype)},
                               {"shape", t.shape}});
  }
  if (flags.json) {
    fmt::print("{}\n", json.dump(2));
    return 0;
  }
  fmt::print("{}: right; {} nests, {} statement executions\n", flags.file, program.nests.size(),
             leir::CountStatements(program));
  for (const leir::Tensor& t : program.tensors) {
    fmt::print("  {:<10} {:<8} {}[{}]\n", leir::RoleName(t.role), t.name, ShortName(t.dtype),
               Shape(t.shape));
  }
  return 0;
}

Result<int> Print(const Flags& flags) {
  TW_TRY(leir::Program program, Read(flags));
  const std::string text =
      flags.published ? leir::PrintPublished(program) + "\n" : leir::PrintFile(program);
  if (flags.json) {
    fmt::print("{}\n", nlohmann::json{{"leir", text}}.dump());
  } else {
    fmt::print("{}", text);
  }
  return 0;
}

Result<int> Lower(const Flags& flags) {
  TW_TRY(leir::Program program, Read(flags));
  TW_TRY(tvm_api::Versions versions, tvm_api::Load());
  TW_TRY(tvm_api::Module module,
         lower::Lower(program,
                      flags.as_written ? lower::Mode::kAsWritten : lower::Mode::kForScheduling));
  fmt::print("{}\n", flags.json ? module.ToJson() : module.Script());
  return 0;
}

// Runs the interpreter on the inputs that verification draws for a seed.
Result<int> RunProgram(const Flags& flags) {
  TW_TRY(leir::Program program, Read(flags));
  std::vector<std::vector<char>> memory;
  leir::Inputs inputs;
  const std::vector<tvm_api::Argument> arguments = verify::ArgumentsOf(program);
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const tvm_api::Argument& a = arguments[i];
    if (a.is_output) continue;
    int64_t count = 1;
    for (int64_t extent : a.shape) count *= extent;
    memory.emplace_back(static_cast<std::size_t>(count) * SizeOf(a.dtype));
    verify::FillInput(verify::DefaultDistribution(program), flags.seed, static_cast<int>(i),
                      a.dtype, count, memory.back().data());
    inputs[a.name] = {a.dtype, a.shape, memory.back().data()};
  }
  TW_TRY(auto outputs, leir::Evaluate(program, inputs));
  nlohmann::ordered_json json;
  for (const auto& [name, values] : outputs) {
    const std::size_t count = std::max(values.real.size(), values.integer.size());
    if (flags.json) {
      json[name]["shape"] = values.shape;
      json[name]["values"] =
          values.real.empty() ? nlohmann::json(values.integer) : nlohmann::json(values.real);
      continue;
    }
    fmt::print("{} [{}]\n ", name, Shape(values.shape));
    for (std::size_t i = 0; i < std::min<std::size_t>(count, 8); ++i) {
      fmt::print(" {:.9g}", values.At(i));
    }
    fmt::print("{}\n", count > 8 ? fmt::format(" ... ({} values)", count) : "");
  }
  if (flags.json) fmt::print("{}\n", json.dump());
  return 0;
}

}  // namespace

std::vector<Command> AddLeir(CLI::App& root) {
  CLI::App* leir = root.add_subcommand("leir", "Check, print, lower or run a LEIR program");
  leir->require_subcommand(1);
  std::vector<Command> commands;
  auto add = [&](const char* name, const char* help, Result<int> (*run)(const Flags&)) {
    CLI::App* app = leir->add_subcommand(name, help);
    auto flags = std::make_shared<Flags>();
    app->add_option("file", flags->file, "A .leir file, or a built-in workload")->required();
    app->add_option("--shape", flags->shape, "Sizes of its dimensions, e.g. m=512,n=64");
    app->add_flag("--json", flags->json, "Machine-readable output");
    commands.push_back({app, [flags, run] { return run(*flags); }});
    return std::pair(app, flags);
  };
  add("check", "Check a program and list its tensors", Check);
  auto [print, print_flags] = add("print", "Print a program in canonical form", Print);
  print->add_flag("--published", print_flags->published, "In the published one-line form");
  auto [lower, lower_flags] = add("lower", "Lower a program to TIR and print TVMScript", Lower);
  lower->add_flag("--as-written", lower_flags->as_written, "Keep loop kinds and bindings");
  auto [run, run_flags] =
      add("run", "Run a program in the interpreter on seeded inputs", RunProgram);
  run->add_option("--seed", run_flags->seed, "Seed of the inputs")->capture_default_str();
  return commands;
}

}  // namespace tw::cli
