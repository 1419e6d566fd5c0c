#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/format.h"
#include "tune/workload.h"

namespace tw::cli {
namespace {

std::string Signature(const leir::Program& program) {
  std::string text;
  for (const leir::Tensor& tensor : program.tensors) {
    if (tensor.role == leir::Role::kTemporary) continue;
    text += fmt::format("{}{}{}:{}[{}]", text.empty() ? "" : " ",
                        tensor.role == leir::Role::kOutput ? "-> " : "", tensor.name,
                        ShortName(tensor.dtype), Shape(tensor.shape));
  }
  return text;
}

Result<int> Run(bool json) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const tune::BuiltIn& workload : tune::BuiltIns()) {
    TW_TRY(leir::Program program, tune::LoadProgram(std::string(workload.name), {}));
    if (json) {
      list.push_back({{"name", workload.name},
                      {"summary", tune::Describe(workload)},
                      {"signature", Signature(program)}});
    } else {
      fmt::print("{:<22} {}\n{:<22} {}\n", workload.name, tune::Describe(workload), "",
                 Signature(program));
    }
  }
  if (json) fmt::print("{}\n", list.dump(2));
  return 0;
}

}  // namespace

Command AddWorkloads(CLI::App& root) {
  CLI::App* app = root.add_subcommand("workloads", "List the built-in workloads");
  auto json = std::make_shared<bool>(false);
  app->add_flag("--json", *json, "Machine-readable output");
  return {app, [json] { return Run(*json); }};
}

}  // namespace tw::cli
