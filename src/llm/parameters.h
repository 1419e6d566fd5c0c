// The request body, and which of its parameters a server turned out not to take.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "base/result.h"
#include "llm/chat.h"

namespace tw::llm {

class Parameters {
 public:
  // JSON of the request without what was refused. Fails when the schema is not JSON.
  Result<std::string> Body(const ChatRequest& request) const;

  // Reads the body of an error. When it refuses a parameter that `request` carries, later bodies
  // go without it (max_tokens is first renamed to max_completion_tokens) and what was changed is
  // returned, as a sentence.
  std::optional<std::string> Learn(const ChatRequest& request, std::string_view error_body);

  // Goes without the grammar, else without the schema, because the server does not survive it.
  std::optional<std::string> DropConstraint(const ChatRequest& request);

 private:
  bool Carries(const ChatRequest& request, std::string_view name) const;
  std::string Refuse(const std::string& name);

  std::set<std::string, std::less<>> refused_;
  bool renamed_max_tokens_ = false;
};

}  // namespace tw::llm
