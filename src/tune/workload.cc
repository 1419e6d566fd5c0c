#include "tune/workload.h"

#include <algorithm>
#include <filesystem>

#include "base/files.h"
#include "leir/checker.h"
#include "leir/parser.h"
#include "lower/lower.h"

namespace tw::tune {
namespace {

Error Unknown(const std::string& source) {
  std::string names;
  for (const BuiltIn& w : BuiltIns())
    names += fmt::format("{}{}", names.empty() ? "" : ", ", w.name);
  return Fail(Code::kUsage, "{}: no such file, nor a built-in workload. Built-in: {}", source,
              names);
}

}  // namespace

Result<leir::Program> LoadProgram(const std::string& source,
                                  const std::map<std::string, int64_t>& dims) {
  leir::ParseOptions options;
  options.dims = dims;
  const auto& built_ins = BuiltIns();
  const auto found = std::find_if(built_ins.begin(), built_ins.end(),
                                  [&](const BuiltIn& w) { return w.name == source; });
  std::string text;
  std::string name = source;
  if (found != built_ins.end()) {
    text = found->text;
    name += ".leir";
  } else {
    if (!std::filesystem::is_regular_file(source)) return Unknown(source);
    TW_TRY(text, ReadFile(source, Code::kUsage));
  }
  TW_TRY(leir::Program program, leir::ParseFile(text, name, options));
  TW_TRY(leir::CheckedProgram checked, leir::Check(std::move(program)));
  return std::move(checked.program);
}

Result<Workload> LoadWorkload(const std::string& source,
                              const std::map<std::string, int64_t>& dims) {
  Workload workload;
  workload.name = std::filesystem::path(source).stem().string();
  if (std::filesystem::path(source).extension() == ".json") {
    if (!dims.empty()) {
      return Fail(Code::kUsage, "--shape: {} is a TVM module, whose shapes are fixed", source);
    }
    TW_TRY(std::string json, ReadFile(source, Code::kUsage));
    Result<tvm_api::Module> module = tvm_api::Module::FromJson(json);
    if (!module.ok()) return Fail(Code::kUsage, "{}: {}", source, module.error().message);
    workload.module = *module;
    return workload;
  }
  TW_TRY(workload.program, LoadProgram(source, dims));
  TW_TRY(workload.module, lower::Lower(*workload.program, lower::Mode::kForScheduling));
  return workload;
}

}  // namespace tw::tune
