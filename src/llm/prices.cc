#include "llm/prices.h"

#include <toml++/toml.h>

#include <cmath>

#include "base/files.h"

namespace tw::llm {
namespace {

std::string Place(std::string_view name, const toml::source_region& source) {
  return fmt::format("{}:{}:{}", name, source.begin.line, source.begin.column);
}

Result<double> ReadNumber(const toml::table& table, std::string_view model, std::string_view key,
                          std::string_view name) {
  const toml::node* node = table.get(key);
  if (!node) {
    return Fail(Code::kUsage, "{}: model \"{}\" has no {} (the price of a million tokens)",
                Place(name, table.source()), model, key);
  }
  const auto number = node->value<double>();
  if (!number || !std::isfinite(*number) || *number < 0) {
    return Fail(Code::kUsage, "{}: {} must be a number from 0", Place(name, node->source()), key);
  }
  return *number;
}

Result<Price> ReadPrice(const toml::table& table, std::string_view model, std::string_view name) {
  for (const auto& [key, value] : table) {
    if (key.str() != "input" && key.str() != "output") {
      return Fail(Code::kUsage, "{}: unknown key \"{}\"; a model has input and output",
                  Place(name, value.source()), key.str());
    }
  }
  TW_TRY(const double input, ReadNumber(table, model, "input", name));
  TW_TRY(const double output, ReadNumber(table, model, "output", name));
  return Price{input, output};
}

}  // namespace

Result<PriceList> PriceList::Load(const std::filesystem::path& path) {
  TW_TRY(const std::string text, ReadFile(path, Code::kUsage));
  return Parse(text, path.string());
}

Result<PriceList> PriceList::Parse(std::string_view text, std::string_view name) {
  toml::table table;
  try {
    table = toml::parse(text);
  } catch (const toml::parse_error& error) {
    return Fail(Code::kUsage, "{}: {}", Place(name, error.source()), error.description());
  }
  PriceList list;
  for (const auto& [key, value] : table) {
    if (key.str() == "currency" && value.is_string()) {
      list.currency_ = **value.as_string();
    } else if (key.str() == "models" && value.is_table()) {
      for (const auto& [model, entry] : *value.as_table()) {
        if (!entry.is_table()) {
          return Fail(Code::kUsage, "{}: model \"{}\" must be a table with input and output",
                      Place(name, entry.source()), model.str());
        }
        TW_TRY(const Price price, ReadPrice(*entry.as_table(), model.str(), name));
        list.Set(std::string(model.str()), price);
      }
    } else {
      return Fail(Code::kUsage,
                  "{}: unknown key \"{}\"; a price list has currency = \"USD\" and tables "
                  "[models.\"NAME\"]",
                  Place(name, value.source()), key.str());
    }
  }
  return list;
}

std::optional<Price> PriceList::Find(std::string_view model) const {
  if (const auto exact = prices_.find(model); exact != prices_.end()) return exact->second;
  std::optional<Price> best;
  std::size_t longest = 0;
  for (const auto& [pattern, price] : prices_) {
    if (pattern.empty() || pattern.back() != '*') continue;
    const std::string_view prefix = std::string_view(pattern).substr(0, pattern.size() - 1);
    if (model.substr(0, prefix.size()) != prefix || (best && prefix.size() < longest)) continue;
    best = price;
    longest = prefix.size();
  }
  return best;
}

}  // namespace tw::llm
