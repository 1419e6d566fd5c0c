// Reads an HTTP reply as a chat completion or as one of the failures. No network here.
#pragma once

#include <ctime>
#include <optional>
#include <string>
#include <string_view>

#include "llm/chat.h"
#include "llm/transfer.h"

namespace tw::llm {

struct Verdict {
  ChatResult result;
  bool retry = false;                   // the same request may succeed later
  std::optional<double> retry_after_s;  // as the server asks, from `now`; not negative
};

// `where` names the server in messages; `now` is the time that dates in headers are relative to.
Verdict ReadReply(const HttpReply& reply, std::string_view where, std::time_t now);

// At most `limit` bytes of `text` on one line, without control characters.
std::string Excerpt(std::string_view text, std::size_t limit = 300);

}  // namespace tw::llm
