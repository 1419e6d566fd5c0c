// A chat endpoint behind HTTP: any server that speaks the OpenAI API.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/random.h"
#include "base/result.h"
#include "llm/budget.h"
#include "llm/chat.h"
#include "llm/clock.h"
#include "llm/parameters.h"
#include "llm/redact.h"
#include "llm/transfer.h"

namespace tw::llm {

// The address that completions are asked from. `base` is a URL as OPENAI_BASE_URL holds it:
// without a path "/v1" is added, any other path is taken as it is; "/chat/completions" and
// slashes at the end may be there or not; a query is kept. Errors are kUsage: no http(s) URL, or
// one that holds a password.
Result<std::string> ChatUrl(const std::string& base);

struct HttpOptions {
  std::string base_url = "https://api.openai.com/v1";
  std::string key;      // sent as "Authorization: Bearer" and written nowhere; empty for none
  HttpHeaders headers;  // more headers; values of those named like a secret are kept secret too
  TransferLimits limits;
  int retries = 4;         // after the first attempt; of timeouts at most one
  double backoff_s = 1;    // attempt n waits a random part of backoff_s * 2^n
  double max_wait_s = 60;  // longest wait; a server that asks for more is given up
  uint64_t seed = 0;       // of the random waits
  Budget* budget = nullptr;
  const std::atomic<bool>* stop = nullptr;  // ends waits and transfers when true
  Clock* clock = &SystemClock();
};
// Key, address, organisation and project from OPENAI_API_KEY, OPENAI_BASE_URL, OPENAI_ORG_ID and
// OPENAI_PROJECT_ID, as the OpenAI clients read them. A `base_url` that is not empty wins.
HttpOptions OptionsFromEnvironment(const std::string& base_url = "");

// Retries what may pass (lost connections, timeouts, 408, 409, 429, 5xx, cut-off replies) with
// exponential back-off and full jitter (M. Brooker, "Exponential Backoff And Jitter", AWS
// Architecture Blog, 2015), not before the time that Retry-After names. Goes on without a
// parameter that the server refuses, and remembers that. Every request counts in the budget.
class HttpEndpoint : public ChatEndpoint {
 public:
  // Errors are kUsage: a bad address, or a key or header with control characters.
  static Result<std::unique_ptr<HttpEndpoint>> Create(const HttpOptions& options);

  ChatResult Complete(const ChatRequest& request) override;

 private:
  HttpEndpoint(const HttpOptions& options, std::string url);
  struct Attempt;
  Attempt Send(const ChatRequest& request);
  bool Adapt(const ChatRequest& request, const Attempt& attempt);
  double WaitSeconds(int attempt, double at_least);
  std::unique_ptr<Transfer> TakeTransfer();
  void GiveBack(std::unique_ptr<Transfer> transfer, HttpReply::End end);
  Result<std::string> Body(const ChatRequest& request);
  bool Stopped() const { return options_.stop && options_.stop->load(); }

  const HttpOptions options_;
  const std::string url_;
  const std::string where_;  // the address without its query, for messages
  HttpHeaders headers_;
  Redactor redact_;
  std::mutex mutex_;  // guards what follows
  Random random_;
  Parameters parameters_;
  int lost_in_a_row_ = 0;  // requests whose connection broke, since the last reply
  std::vector<std::unique_ptr<Transfer>> idle_;
};

}  // namespace tw::llm
