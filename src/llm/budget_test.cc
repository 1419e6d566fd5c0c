#include "llm/budget.h"

#include <gmock/gmock.h>

#include <thread>
#include <vector>

namespace tw::llm {
namespace {

using ::testing::HasSubstr;

constexpr const char* kPrices = R"(
currency = "EUR"
[models."gpt-4o*"]
input = 2.5
output = 10
[models."gpt-4o-mini*"]
input = 0.15
output = 0.60
[models."gpt-4o-mini-special"]
input = 0
output = 0
)";

PriceList Prices() { return PriceList::Parse(kPrices, "prices.toml").value(); }

ChatRequest Request(const std::string& model = "gpt-4o-mini") {
  ChatRequest request;
  request.model = model;
  request.messages = {{"user", "hi"}};
  request.max_tokens = 100;
  return request;
}

ChatResult Answer(int64_t prompt, int64_t completion, double seconds = 0) {
  ChatResult result;
  result.answer.prompt_tokens = prompt;
  result.answer.completion_tokens = completion;
  result.answer.seconds = seconds;
  result.requests = 1;
  return result;
}

TEST(Prices, LongestMatchWins) {
  EXPECT_EQ(Prices().Find("gpt-4o")->input, 2.5);
  EXPECT_EQ(Prices().Find("gpt-4o-mini-2024-07-18")->output, 0.6);
  EXPECT_EQ(Prices().Find("gpt-4o-mini-special")->input, 0);
  EXPECT_FALSE(Prices().Find("gpt-4").has_value());
  EXPECT_EQ(Prices().currency(), "EUR");
}

TEST(Prices, MistakesAreNamedWithTheirPlace) {
  const std::vector<std::pair<const char*, const char*>> cases = {
      {"[models.x]\ninput = 1\n", "p.toml:1:"},
      {"[models.x]\ninput = -1\noutput = 1", "p.toml:2:"},
      {"[models.x]\ninput = nan\noutput = 1", "must be a number from 0"},
      {"[models.x]\ninput = \"1\"\noutput = 1", "must be a number from 0"},
      {"[models.x]\ninput = 1\noutput = 1\ncached = 1", "unknown key \"cached\""},
      {"models = 3", "unknown key \"models\""},
      {"price = 3", "unknown key \"price\""},
      {"[models]\nx = 1", "must be a table"},
      {"[models.x\n", "p.toml:1:"},
  };
  for (const auto& [text, want] : cases) {
    const auto list = PriceList::Parse(text, "p.toml");
    ASSERT_FALSE(list.ok()) << text;
    EXPECT_EQ(list.error().code, Code::kUsage);
    EXPECT_THAT(list.error().message, HasSubstr(want));
  }
  EXPECT_FALSE(PriceList::Load("/nonexistent/prices.toml").ok());
}

TEST(Budget, NoLimitsNoRefusals) {
  Budget budget({});
  for (int i = 0; i < 100; ++i) {
    ASSERT_FALSE(budget.Reserve(Request("any")));
    budget.Settle(Request("any"), Answer(1'000'000, 1'000'000, 100));
  }
  EXPECT_EQ(budget.usage().calls, 100);
  EXPECT_EQ(budget.usage().prompt_tokens, 100'000'000);
  EXPECT_EQ(budget.usage().money, 0);
}

TEST(Budget, MoneyNeedsAPrice) {
  const BudgetLimits limits = {.calls = {}, .tokens = {}, .seconds = {}, .money = 1.0};
  Budget budget(limits, Prices());
  EXPECT_TRUE(budget.CheckModel("gpt-4o").ok());
  const Status unknown = budget.CheckModel("llama");
  ASSERT_FALSE(unknown.ok());
  EXPECT_EQ(unknown.error().code, Code::kUsage);
  EXPECT_THAT(unknown.error().message, HasSubstr("[models.\"llama\"]"));
  const auto refused = budget.Reserve(Request("llama"));
  ASSERT_TRUE(refused.has_value());
  EXPECT_EQ(refused->kind, FailureKind::kBudget);
  EXPECT_TRUE(Budget({}, Prices()).CheckModel("llama").ok()) << "no limit, no price needed";
}

TEST(Budget, MoneyStopsAtTheLimit) {
  // 1000 + 1000 tokens of gpt-4o cost 0.0025 + 0.01.
  Budget budget({.calls = {}, .tokens = {}, .seconds = {}, .money = 0.03}, Prices());
  int answers = 0;
  for (; !budget.Reserve(Request("gpt-4o")); ++answers) {
    budget.Settle(Request("gpt-4o"), Answer(1000, 1000));
  }
  EXPECT_EQ(answers, 3);
  EXPECT_NEAR(budget.usage().money, 0.0375, 1e-12);
  EXPECT_THAT(budget.Reserve(Request("gpt-4o"))->message, HasSubstr("0.0375 of 0.03 EUR"));
}

TEST(Budget, SecondsIncludeWaits) {
  Budget budget({.calls = {}, .tokens = {}, .seconds = 10.0, .money = {}});
  ASSERT_FALSE(budget.Reserve(Request()));
  budget.Settle(Request(), Answer(1, 1, 4));
  ASSERT_FALSE(budget.Reserve(Request()));
  budget.Settle(Request(), Answer(1, 1, 4));
  budget.AddSeconds(2);
  EXPECT_THAT(budget.Reserve(Request())->message, HasSubstr("10.0 of 10 s"));
}

TEST(Budget, GoesOnFromWhatWasUsed) {
  Usage before;
  before.calls = 4;
  Budget budget({.calls = 5, .tokens = {}, .seconds = {}, .money = {}}, {}, before);
  EXPECT_FALSE(budget.Reserve(Request()));
  EXPECT_TRUE(budget.Reserve(Request())) << "the one in flight counts";
  Budget none({.calls = 0, .tokens = {}, .seconds = {}, .money = {}});
  EXPECT_TRUE(none.Reserve(Request()));
}

TEST(Budget, EstimatesAreToldApart) {
  Budget budget({});
  ChatResult result = Answer(10, 5);
  result.answer.usage_estimated = true;
  ASSERT_FALSE(budget.Reserve(Request()));
  budget.Settle(Request(), result);
  EXPECT_EQ(budget.usage().estimated_tokens, 15);
}

TEST(Budget, RequestsInFlightTogetherPassItByOneAnswer) {
  // Each may use 100 + a few tokens of 300: the fourth would pass the limit by a whole answer.
  Budget budget({.calls = {}, .tokens = 300, .seconds = {}, .money = {}});
  int in_flight = 0;
  while (!budget.Reserve(Request())) ++in_flight;
  EXPECT_EQ(in_flight, 3);
  for (int i = 0; i < in_flight; ++i) budget.Settle(Request(), Answer(10, 20));
  EXPECT_FALSE(budget.Reserve(Request())) << "90 of 300 were used in the end";
}

TEST(Budget, CallsHoldWithManyThreads) {
  Budget budget({.calls = 50, .tokens = {}, .seconds = {}, .money = {}});
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      while (!budget.Reserve(Request())) budget.Settle(Request(), Answer(1, 1));
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(budget.usage().calls, 50);
  EXPECT_EQ(budget.usage().prompt_tokens, 50);
}

}  // namespace
}  // namespace tw::llm
