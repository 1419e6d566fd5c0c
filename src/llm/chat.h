// What is asked of a chat model and what comes back. Everything that can go wrong has a kind.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tw::llm {

struct Message {
  std::string role;  // "system", "user" or "assistant"
  std::string content;
};

struct ChatRequest {
  std::string model;
  std::vector<Message> messages;
  std::optional<double> temperature;
  std::optional<int> max_tokens;  // of the answer, its reasoning included
  std::optional<int64_t> seed;
  std::string schema;   // JSON schema the answer must satisfy; empty for none
  std::string grammar;  // GBNF, for llama.cpp servers; empty for none
  std::vector<std::string> stop;
};

struct ChatAnswer {
  std::string content;    // without the model's reasoning
  std::string reasoning;  // the fields reasoning_content or reasoning, or <think> blocks
  std::string finish_reason;
  int64_t prompt_tokens = 0;
  int64_t completion_tokens = 0;
  bool usage_estimated = false;  // the server told no usage: an upper estimate (tokens.h)
  double seconds = 0;            // of all requests for this answer, waits included
  std::string model;             // as the server names it
  std::string raw;               // the body of the last reply
};

enum class FailureKind {
  kNetwork,          // no connection, or it was lost
  kTimeout,          // no complete answer in time
  kRateLimited,      // too many requests
  kQuota,            // no credit left; waiting does not help
  kServer,           // 5xx, or an error of the server's own under another status
  kBadRequest,       // the server refuses the request or its address
  kAuth,             // no key, a wrong one, or one without the right
  kContextOverflow,  // the prompt is too long: shrink it, sending it again does not help
  kNotJson,          // not the JSON of a chat completion: HTML, cut off, without choices, too large
  kEmpty,            // a completion without text, or with reasoning only
  kTruncated,        // finish_reason "length": the partial text is in the answer
  kRefused,          // the model or a filter refused
  kBudget,           // a budget of ours is used up; nothing was sent
  kReplayMiss,       // a replay has no recording of this request
  kStopped,          // the user stopped the run
};
std::string_view Name(FailureKind kind);  // "network", "context_overflow"
std::optional<FailureKind> ParseFailureKind(std::string_view name);

struct ChatFailure {
  FailureKind kind = FailureKind::kServer;
  std::string message;         // what, where, and what to do; never holds a key
  int64_t context_tokens = 0;  // kContextOverflow: the limit, where the server tells it
};

struct ChatResult {
  ChatAnswer answer;  // after a failure: what came with it (usage, seconds, partial text)
  std::optional<ChatFailure> failure;
  int requests = 0;  // HTTP requests this took

  bool ok() const { return !failure.has_value(); }
};

class ChatEndpoint {
 public:
  virtual ~ChatEndpoint() = default;
  // Blocks until there is an answer or a failure. May be called from several threads.
  virtual ChatResult Complete(const ChatRequest& request) = 0;
};

}  // namespace tw::llm
