#include "tvm/target.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <vector>

#include "tvm/ffi.h"
#include "tvm/runtime.h"

namespace tw::tvm_api {
namespace {

using Json = nlohmann::json;  // sorted keys, as TVM's JSON database writes a target

std::vector<std::string> Kinds() {
  std::vector<std::string> kinds;
  for (const ffi::String& kind : Call("target.ListTargetKinds").cast<ffi::Array<ffi::String>>()) {
    kinds.push_back(kind);
  }
  std::sort(kinds.begin(), kinds.end());
  return kinds;
}

// Option name to TVM's name of its type, e.g. "num-cores" to "int".
using Options = ffi::Map<ffi::String, ffi::String>;

Result<Options> OptionsOf(const std::string& kind) {
  const std::vector<std::string> kinds = Kinds();
  if (std::find(kinds.begin(), kinds.end(), kind) == kinds.end()) {
    return Fail(Code::kUsage, "unknown target kind \"{}\"; possible are {}", kind,
                fmt::join(kinds, ", "));
  }
  return Call("target.ListTargetKindOptionsFromName", ffi::String(kind)).cast<Options>();
}

std::string Names(const Options& options) {
  std::vector<std::string> names;
  for (const auto& [name, type] : options) names.push_back(name);
  std::sort(names.begin(), names.end());
  return fmt::format("{}", fmt::join(names, ", "));
}

// The JSON value of `text` for an option of TVM's type `type`.
Result<Json> OptionValue(const std::string& name, const std::string& type,
                         const std::string& text) {
  if (type == "int") {
    int64_t number = 0;
    const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (status != std::errc() || end != text.data() + text.size()) {
      return Fail(Code::kUsage, "target option -{} needs an integer, not \"{}\"", name, text);
    }
    return Json(number);
  }
  if (type == "bool") {
    if (text == "1" || text == "true") return Json(true);
    if (text == "0" || text == "false") return Json(false);
    return Fail(Code::kUsage, "target option -{} needs true or false, not \"{}\"", name, text);
  }
  if (type == "str") return Json(text);
  if (type == "Array<str>") {
    Json items = Json::array();
    std::stringstream parts(text);
    for (std::string part; std::getline(parts, part, ',');) items.push_back(part);
    return items;
  }
  return Fail(Code::kUsage,
              "target option -{} cannot be given in this form; give the target as JSON", name);
}

Result<Json> ParseOptions(const std::string& text) {
  std::stringstream words(text);
  std::string kind;
  if (!(words >> kind)) {
    return Fail(Code::kUsage, "the target is empty; give a kind, e.g. \"llvm -num-cores=4\"");
  }
  TW_TRY(const Options options, OptionsOf(kind));
  Json config = {{"kind", kind}};
  for (std::string word; words >> word;) {
    const std::size_t equals = word.find('=');
    const std::size_t dashes = word.find_first_not_of('-');
    if (word[0] != '-' || equals == std::string::npos || dashes >= equals ||
        equals + 1 == word.size()) {
      return Fail(Code::kUsage, "target \"{}\": \"{}\" is not of the form -OPTION=VALUE", text,
                  word);
    }
    const std::string name = word.substr(dashes, equals - dashes);
    const auto option = options.find(ffi::String(name));
    if (option == options.end() || name == "kind") {
      return Fail(Code::kUsage, "target kind {} has no option \"{}\"; possible are {}", kind, name,
                  Names(options));
    }
    if (config.contains(name)) {
      return Fail(Code::kUsage, "target \"{}\": option -{} is given twice", text, name);
    }
    TW_TRY(config[name], OptionValue(name, (*option).second, word.substr(equals + 1)));
  }
  return config;
}

Result<Json> ParseJson(const std::string& text) {
  Json config = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (config.is_discarded()) {
    return Fail(Code::kUsage, "the target is not valid JSON: {}", text);
  }
  if (!config.contains("kind") || !config["kind"].is_string()) {
    return Fail(Code::kUsage, "the target has no \"kind\" (a string); possible are {}",
                fmt::join(Kinds(), ", "));
  }
  TW_TRY(const Options options, OptionsOf(config["kind"].get<std::string>()));
  for (const auto& [name, value] : config.items()) {
    // "feature.*" are what TVM derives from the target; it prints them and takes them back.
    if (!options.count(ffi::String(name)) && !name.starts_with("feature.")) {
      return Fail(Code::kUsage, "target kind {} has no option \"{}\"; possible are {}",
                  config["kind"].get<std::string>(), name, Names(options));
    }
  }
  return config;
}

// LLVM only warns about an unknown CPU and then generates code for the oldest one.
Status CheckCpu(const Json& config) {
  if (config["kind"] != "llvm" || !config.contains("mcpu") || !config["mcpu"].is_string()) {
    return Ok();
  }
  const std::string cpu = config["mcpu"];
  const std::string triple = config.contains("mtriple") && config["mtriple"].is_string()
                                 ? config["mtriple"].get<std::string>()
                                 : Call("target.llvm_get_system_triple").cast<std::string>();
  if (!Call("target.llvm_is_valid_cpu", ffi::String(cpu), ffi::String(triple)).cast<bool>()) {
    return Fail(Code::kUsage, "LLVM knows no CPU \"{}\" for {}; `llc -mcpu=help` lists them", cpu,
                triple);
  }
  return Ok();
}

}  // namespace

Result<Target> Target::Parse(const std::string& text, int cores) {
  return Catch(Code::kUsage, fmt::format("target \"{}\"", text), [&]() -> Result<Target> {
    const std::size_t first = text.find_first_not_of(" \t\n");
    const bool is_json = first != std::string::npos && text[first] == '{';
    TW_TRY(Json config, is_json ? ParseJson(text) : ParseOptions(text));
    if (config["kind"] == "llvm") {
      // A triple names another machine's CPU family, where this machine's CPU means nothing.
      if (!config.contains("mcpu") && !config.contains("mtriple")) config["mcpu"] = SystemCpu();
      if (!config.contains("num-cores")) config["num-cores"] = cores;
      if (config["num-cores"].is_number_integer() && config["num-cores"] < 1) {
        return Fail(Code::kUsage, "target \"{}\": num-cores must be at least 1", text);
      }
    }
    TW_CHECK(CheckCpu(config));
    const Any map = Call("ffi.json.Parse", ffi::String(config.dump()));
    return Wrap<Target>(Call("target.Target", map.cast<ffi::Map<ffi::String, Any>>()));
  });
}

std::string Target::ToJson() const {
  const Any config = Call("target.TargetExport", Get(*this));
  return Json::parse(Call("ffi.json.Stringify", config, nullptr).cast<std::string>()).dump();
}

std::string Target::Kind() const {
  return GetField(GetField(Get(*this), "kind"), "name").cast<std::string>();
}

int Target::Cores() const {
  const Json config = Json::parse(ToJson());
  return config.value("num-cores", 1);
}

}  // namespace tw::tvm_api
