// Error bodies of OpenAI-compatible servers, in the shapes that servers and proxies use.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "llm/chat.h"

namespace tw::llm {

struct ServerError {
  std::string message;
  std::string tags;  // type, code and parameter in small letters, separated by blanks
  long status = 0;   // where the body holds one (proxies under HTTP 200), else 0
};

// Nullopt when `body` holds no error.
std::optional<ServerError> FindServerError(const nlohmann::json& body);

struct ErrorKind {
  FailureKind kind = FailureKind::kServer;
  bool retry = false;
};
// `status` is the HTTP status or the one in the body. `asks_to_wait`: the reply says when to come
// back, which tells a rate limit from an empty account where servers use one wording for both.
ErrorKind Classify(long status, const ServerError& error, bool asks_to_wait);

// The context size in tokens that an overflow message states; 0 when none is found.
int64_t StatedContextTokens(const std::string& message);

}  // namespace tw::llm
