// Takes secrets out of text before it can reach a log, a store or a report.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tw::llm {

class Redactor {
 public:
  // Secrets shorter than 8 bytes are ignored: local servers are given "x" or "none", and taking
  // those out would garble every answer.
  explicit Redactor(const std::vector<std::string>& secrets = {});

  // Replaces every secret, also as JSON escapes it, by "[redacted]".
  std::string operator()(std::string_view text) const;

 private:
  std::vector<std::string> secrets_;  // longest first
};

}  // namespace tw::llm
