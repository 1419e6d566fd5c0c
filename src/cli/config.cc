#include "cli/config.h"

#include <toml++/toml.h>

#include "base/files.h"

namespace tw::cli {
namespace {

// The value as the flag's text; arrays join with commas.
Result<std::vector<std::string>> Texts(const toml::node& node) {
  std::vector<std::string> texts;
  if (const auto* array = node.as_array()) {
    for (const toml::node& element : *array) {
      TW_TRY(std::vector<std::string> inner, Texts(element));
      texts.insert(texts.end(), inner.begin(), inner.end());
    }
    return texts;
  }
  if (auto text = node.value_exact<std::string>()) return std::vector<std::string>{*text};
  if (auto number = node.value_exact<int64_t>()) {
    return std::vector<std::string>{std::to_string(*number)};
  }
  if (auto number = node.value_exact<double>()) {
    return std::vector<std::string>{fmt::format("{}", *number)};
  }
  if (auto flag = node.value_exact<bool>()) {
    return std::vector<std::string>{*flag ? "true" : "false"};
  }
  return Fail(Code::kUsage, "expected a text, a number, true, false or a list of them");
}

}  // namespace

Status ApplyConfig(CLI::App& command, const std::string& path) {
  TW_TRY(const std::string text, ReadFile(path, Code::kUsage));
  toml::table parsed;
  // Debian's toml++ is compiled with exceptions; they end here.
  try {
    parsed = toml::parse(text, path);
  } catch (const toml::parse_error& e) {
    const toml::source_position at = e.source().begin;
    return Fail(Code::kUsage, "{}:{}:{}: {}", path, at.line, at.column,
                std::string(e.description()));
  }
  const toml::table* table = parsed[command.get_name()].as_table();
  if (table == nullptr) return Ok();
  for (const auto& [key, node] : *table) {
    const std::string name(key.str());
    auto where = [&] {
      return fmt::format("{}:{}:{}: [{}] {}", path, key.source().begin.line,
                         key.source().begin.column, command.get_name(), name);
    };
    CLI::Option* option = command.get_option_no_throw("--" + name);
    if (option == nullptr) {
      return Fail(Code::kUsage, "{}: no such setting; `tensorwright {} --help` lists them", where(),
                  command.get_name());
    }
    if (option->count() > 0) continue;  // a flag or the environment has said it
    auto texts = Texts(node);
    if (!texts.ok()) return Fail(Code::kUsage, "{}: {}", where(), texts.error().message);
    try {
      for (const std::string& text : *texts) option->add_result(text);
      option->run_callback();
    } catch (const CLI::Error& e) {
      return Fail(Code::kUsage, "{}: {}", where(), e.what());
    }
  }
  return Ok();
}

}  // namespace tw::cli
