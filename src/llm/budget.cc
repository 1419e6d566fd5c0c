#include "llm/budget.h"

#include <algorithm>
#include <utility>

#include "llm/tokens.h"

namespace tw::llm {

Budget::Budget(const BudgetLimits& limits, PriceList prices, const Usage& so_far)
    : limits_(limits), prices_(std::move(prices)), used_(so_far) {}

Status Budget::CheckModel(const std::string& model) const {
  if (!limits_.money || prices_.Find(model)) return Ok();
  return Fail(Code::kUsage,
              "money for the language model is limited to {} {}, but the price of model \"{}\" is "
              "not known; add [models.\"{}\"] with input and output to the price list, or limit "
              "tokens instead",
              *limits_.money, prices_.currency(), model, model);
}

double Budget::Cost(const std::string& model, int64_t prompt_tokens,
                    int64_t completion_tokens) const {
  const Price price = prices_.Find(model).value_or(Price());
  return (static_cast<double>(prompt_tokens) * price.input +
          static_cast<double>(completion_tokens) * price.output) /
         1e6;
}

Budget::InFlight Budget::WorstCase(const ChatRequest& request) const {
  const int64_t prompt = EstimateTokens(request.messages);
  const int64_t completion = std::max(0, request.max_tokens.value_or(0));
  return {1, prompt + completion, Cost(request.model, prompt, completion)};
}

std::optional<ChatFailure> Budget::Reserve(const ChatRequest& request) {
  if (const Status known = CheckModel(request.model); !known.ok()) {
    return ChatFailure{FailureKind::kBudget, known.error().message};
  }
  const InFlight worst = WorstCase(request);
  const std::lock_guard lock(mutex_);
  const auto refuse = [](std::string what) {
    return ChatFailure{FailureKind::kBudget,
                       "the budget for the language model is used up: " + std::move(what) +
                           "; raise the limit to ask for more"};
  };
  if (limits_.calls && used_.calls + in_flight_.requests >= *limits_.calls) {
    return refuse(fmt::format("{} of {} calls", used_.calls + in_flight_.requests, *limits_.calls));
  }
  const int64_t tokens = used_.prompt_tokens + used_.completion_tokens + in_flight_.tokens;
  if (limits_.tokens && tokens >= *limits_.tokens) {
    return refuse(fmt::format("{} of {} tokens", tokens, *limits_.tokens));
  }
  if (limits_.seconds && used_.seconds >= *limits_.seconds) {
    return refuse(fmt::format("{:.1f} of {} s", used_.seconds, *limits_.seconds));
  }
  if (limits_.money && used_.money + in_flight_.money >= *limits_.money) {
    return refuse(fmt::format("{:.4f} of {} {}", used_.money + in_flight_.money, *limits_.money,
                              prices_.currency()));
  }
  in_flight_.requests += worst.requests;
  in_flight_.tokens += worst.tokens;
  in_flight_.money += worst.money;
  return std::nullopt;
}

void Budget::Settle(const ChatRequest& request, const ChatResult& result) {
  const InFlight worst = WorstCase(request);
  const ChatAnswer& answer = result.answer;
  const std::lock_guard lock(mutex_);
  in_flight_.requests -= worst.requests;
  in_flight_.tokens -= worst.tokens;
  // Nothing in flight is exactly nothing, whatever rounding left.
  in_flight_.money = in_flight_.requests == 0 ? 0 : in_flight_.money - worst.money;
  used_.calls += 1;
  used_.prompt_tokens += answer.prompt_tokens;
  used_.completion_tokens += answer.completion_tokens;
  if (answer.usage_estimated) {
    used_.estimated_tokens += answer.prompt_tokens + answer.completion_tokens;
  }
  used_.seconds += answer.seconds;
  used_.money += Cost(request.model, answer.prompt_tokens, answer.completion_tokens);
}

void Budget::AddSeconds(double seconds) {
  const std::lock_guard lock(mutex_);
  used_.seconds += seconds;
}

Usage Budget::usage() const {
  const std::lock_guard lock(mutex_);
  return used_;
}

}  // namespace tw::llm
