// Hard limits on what a run may ask of a chat model.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>

#include "base/result.h"
#include "llm/chat.h"
#include "llm/prices.h"

namespace tw::llm {

struct BudgetLimits {
  std::optional<int64_t> calls;   // HTTP requests, those repeated after a failure included
  std::optional<int64_t> tokens;  // of prompts and answers
  std::optional<double> seconds;  // waiting for answers and between attempts
  std::optional<double> money;    // in the currency of the price list
};

// What was used; the caller keeps it across runs.
struct Usage {
  int64_t calls = 0;
  int64_t prompt_tokens = 0;
  int64_t completion_tokens = 0;
  int64_t estimated_tokens = 0;  // part of the two above that no server confirmed
  double seconds = 0;
  double money = 0;
};

// Each request is reserved before it is sent and settled after. A request is refused once a limit
// is reached by what was used plus what those in flight may use at most (their prompt by
// EstimateTokens, and max_tokens). So a limit is passed by no more than the last answer; with a
// request that sets no max_tokens, by no more than the answers in flight at once. The limit on
// calls is never passed. Safe to use from several threads.
class Budget {
 public:
  explicit Budget(const BudgetLimits& limits, PriceList prices = {}, const Usage& so_far = {});

  // kUsage when money is limited and the price of `model` is not known. To call at the start.
  Status CheckModel(const std::string& model) const;

  // A kBudget failure, or nullopt and the request counts as in flight.
  std::optional<ChatFailure> Reserve(const ChatRequest& request);
  // `result` is of one HTTP request that was reserved.
  void Settle(const ChatRequest& request, const ChatResult& result);
  void AddSeconds(double seconds);  // of waiting between attempts

  Usage usage() const;

 private:
  struct InFlight {
    int64_t requests = 0;
    int64_t tokens = 0;
    double money = 0;
  };
  InFlight WorstCase(const ChatRequest& request) const;
  double Cost(const std::string& model, int64_t prompt_tokens, int64_t completion_tokens) const;

  const BudgetLimits limits_;
  const PriceList prices_;
  mutable std::mutex mutex_;
  Usage used_;
  InFlight in_flight_;
};

}  // namespace tw::llm
