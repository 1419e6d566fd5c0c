// What tokens cost, from a TOML file.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace tw::llm {

struct Price {
  double input = 0;   // per million prompt tokens
  double output = 0;  // per million completion tokens
};

class PriceList {
 public:
  // currency = "USD"
  // [models."gpt-4o-mini*"]     # a * at the end stands for any rest
  // input = 0.15
  // output = 0.60
  // Errors are kUsage with file:line:column.
  static Result<PriceList> Load(const std::filesystem::path& path);
  static Result<PriceList> Parse(std::string_view toml, std::string_view name);

  void Set(const std::string& model, Price price) { prices_[model] = price; }
  // The entry of that name, else the longest one with * that fits.
  std::optional<Price> Find(std::string_view model) const;
  const std::string& currency() const { return currency_; }

 private:
  std::map<std::string, Price, std::less<>> prices_;
  std::string currency_ = "USD";
};

}  // namespace tw::llm
