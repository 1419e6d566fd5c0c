// Retries, waits, refused parameters and budgets against a scripted server.
#include <gmock/gmock.h>

#include <cstdlib>

#include "llm/client.h"
#include "llm/testing/scripted_server.h"

namespace tw::llm {
namespace {

using testing::Completion;
using ::testing::ElementsAre;
using testing::ErrorBody;
using testing::FakeClock;
using ::testing::HasSubstr;
using testing::Scripted;
using testing::ScriptedServer;
using Kind = FailureKind;
using Manner = Scripted::Manner;

ChatRequest Request() {
  ChatRequest request;
  request.model = "m";
  request.messages = {{"user", "Propose."}};
  request.temperature = 0.2;
  request.max_tokens = 1000;
  request.seed = 7;
  request.schema = R"({"type":"object"})";
  return request;
}

class RetryTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { setenv("no_proxy", "127.0.0.1", 1); }

  std::unique_ptr<HttpEndpoint> Endpoint(Budget* budget = nullptr) {
    HttpOptions options;
    options.base_url = server_.url();
    options.clock = &clock_;
    options.budget = budget;
    options.stop = &stop_;
    auto endpoint = HttpEndpoint::Create(options);
    EXPECT_TRUE(endpoint.ok());
    return std::move(endpoint).value();
  }
  ChatResult Ask(std::vector<Scripted> script) {
    for (Scripted& reply : script) server_.Add(std::move(reply));
    return Endpoint()->Complete(Request());
  }

  ScriptedServer server_;
  FakeClock clock_;
  std::atomic<bool> stop_ = false;
};

TEST_F(RetryTest, HonoursRetryAfter) {
  // The fake clock begins at 2001-09-09 01:46:40 UTC.
  const ChatResult result = Ask({{429, ErrorBody("slow down"), {{"Retry-After", "2"}}},
                                 {429, "", {{"Retry-After", "Sun, 09 Sep 2001 01:47:10 GMT"}}},
                                 {503, "busy"},
                                 {200, Completion("hi")}});
  ASSERT_TRUE(result.ok()) << result.failure->message;
  EXPECT_EQ(result.requests, 4);
  ASSERT_EQ(clock_.waits.size(), 3u);
  EXPECT_GE(clock_.waits[0], 2);
  EXPECT_LT(clock_.waits[0], 3);
  EXPECT_GE(clock_.waits[0] + clock_.waits[1], 29.9) << "until the date";
  EXPECT_LT(clock_.waits[2], 4) << "back-off of the third attempt";
  EXPECT_DOUBLE_EQ(result.answer.seconds, clock_.Seconds());
}

TEST_F(RetryTest, OddRetryAfter) {
  const ChatResult result = Ask({{429, "", {{"Retry-After", "soon"}}},
                                 {429, "", {{"Retry-After", "-5"}}},
                                 {503, "", {{"Retry-After", "Thu, 01 Jan 1970 00:00:00 GMT"}}},
                                 {429, "", {{"retry-after-ms", "1500"}, {"Retry-After", "50"}}},
                                 {200, Completion("hi")}});
  ASSERT_TRUE(result.ok()) << result.failure->message;
  EXPECT_LT(clock_.waits[0], 1);
  EXPECT_LT(clock_.waits[1], 2);
  EXPECT_LT(clock_.waits[2], 4);
  EXPECT_GE(clock_.waits[3], 1.5);
  EXPECT_LT(clock_.waits[3], 9.5);
}

TEST_F(RetryTest, DoesNotWaitForHours) {
  const ChatResult result = Ask({{429, "", {{"Retry-After", "7200"}}}});
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.failure->kind, Kind::kRateLimited);
  EXPECT_THAT(result.failure->message, HasSubstr("asks to wait 7200 s"));
  EXPECT_TRUE(clock_.waits.empty());
}

TEST_F(RetryTest, JitterIsFullAndGrows) {
  const ChatResult result = Ask(std::vector<Scripted>(5, Scripted{500, "oops"}));
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.failure->kind, Kind::kServer);
  EXPECT_EQ(result.requests, 5);
  EXPECT_THAT(result.failure->message, HasSubstr("5 requests in"));
  ASSERT_EQ(clock_.waits.size(), 4u);
  for (int i = 0; i < 4; ++i) {
    EXPECT_GE(clock_.waits[i], 0);
    EXPECT_LT(clock_.waits[i], 1 << i);
  }
}

TEST_F(RetryTest, WhatPassesIsTriedAgain) {
  for (const Scripted& first : std::vector<Scripted>{
           {200, Completion("hi"), {}, Manner::kCloseMidBody},
           {200, ""},
           {200, Completion("hi").substr(0, 50)},
           {200, ErrorBody("overloaded")},
           {408, "slow"},
           {504, "<html>gateway</html>"},
       }) {
    SCOPED_TRACE(first.body);
    const ChatResult result = Ask({first, {200, Completion("hi")}});
    EXPECT_TRUE(result.ok());
    EXPECT_EQ(result.requests, 2);
  }
}

TEST_F(RetryTest, TimeoutsAreRepeatedOnce) {
  const ChatResult result = Ask({{504, ""}, {504, ""}, {200, Completion("hi")}});
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.failure->kind, Kind::kTimeout);
  EXPECT_EQ(result.requests, 2);
}

TEST_F(RetryTest, WhatDoesNotPassIsNot) {
  for (const Scripted& only : std::vector<Scripted>{
           {429, ErrorBody("no credit", {{"code", "insufficient_quota"}})},
           {400, ErrorBody("no")},
           {401, ""},
           {404, ""},
           {501, ""},
           {200, "<html></html>"},
           {200, Completion("")},
           {200, Completion("x", {{"finish_reason", "length"}})},
       }) {
    SCOPED_TRACE(only.body);
    const ChatResult result = Ask({only});
    EXPECT_FALSE(result.ok());
    EXPECT_EQ(result.requests, 1);
  }
  EXPECT_TRUE(clock_.waits.empty());
}

TEST_F(RetryTest, StopEndsAWait) {
  clock_.on_sleep = [this] { stop_ = true; };
  const ChatResult result = Ask({{500, "oops"}});
  EXPECT_EQ(result.failure->kind, Kind::kStopped);
  EXPECT_EQ(result.requests, 1);
}

TEST_F(RetryTest, RefusedParametersAreLeftOutAndRemembered) {
  struct Case {
    const char* name;
    Scripted refusal;
  };
  const std::vector<Case> cases = {
      {"seed", {400, ErrorBody("Unsupported parameter: 'seed'", {{"param", "seed"}})}},
      {"seed",
       {422, R"({"detail":[{"loc":["body","seed"],"msg":"Extra inputs are not permitted"}]})"}},
      {"temperature",
       {400, ErrorBody("Unsupported value: 'temperature' does not support 0.2 with this model.",
                       {{"param", "temperature"}, {"code", "unsupported_value"}})}},
      {"response_format",
       {400,
        ErrorBody("Invalid parameter: 'response_format' of type 'json_schema' is not supported",
                  {{"param", "response_format"}})}},
      {"response_format", {400, ErrorBody("failed to parse grammar")}},
      {"response_format", {500, R"({"error":"json_schema is not supported by this backend"})"}},
      {"grammar", {400, ErrorBody("Unrecognized request argument supplied: grammar")}},
      {"grammar", {500, ErrorBody("Failed to parse grammar")}},
  };
  for (const Case& test : cases) {
    SCOPED_TRACE(test.refusal.body);
    ScriptedServer server({test.refusal, {200, Completion("hi")}, {200, Completion("hi")}});
    HttpOptions options;
    options.base_url = server.url();
    options.clock = &clock_;
    const auto endpoint = HttpEndpoint::Create(options);
    ChatRequest request = Request();
    if (std::string(test.name) == "grammar") request.grammar = "root ::= \"x\"";
    EXPECT_EQ((*endpoint)->Complete(request).requests, 2);
    EXPECT_EQ((*endpoint)->Complete(request).requests, 1);
    const auto received = server.received();
    ASSERT_EQ(received.size(), 3u);
    EXPECT_TRUE(received[0].json().contains(test.name));
    EXPECT_FALSE(received[1].json().contains(test.name));
    EXPECT_FALSE(received[2].json().contains(test.name));
    EXPECT_TRUE(received[2].json().contains("max_tokens")) << "the others stay";
  }
  EXPECT_TRUE(clock_.waits.empty());
}

TEST_F(RetryTest, MaxTokensIsRenamedThenDropped) {
  const std::string first = ErrorBody(
      "Unsupported parameter: 'max_tokens' is not supported with this model. Use "
      "'max_completion_tokens' instead.",
      {{"param", "max_tokens"}, {"code", "unsupported_parameter"}});
  const std::string second = ErrorBody("Unknown parameter: 'max_completion_tokens'.");
  const ChatResult result = Ask({{400, first}, {400, second}, {200, Completion("hi")}});
  ASSERT_TRUE(result.ok()) << result.failure->message;
  const auto received = server_.received();
  ASSERT_EQ(received.size(), 3u);
  EXPECT_EQ(received[1].json()["max_completion_tokens"], 1000);
  EXPECT_FALSE(received[1].json().contains("max_tokens"));
  EXPECT_FALSE(received[2].json().contains("max_completion_tokens"));
}

TEST_F(RetryTest, RefusalsEnd) {
  // A server that refuses everything it can name is given up.
  for (const char* name : {"seed", "temperature", "response_format", "max_tokens",
                           "max_completion_tokens", "messages"}) {
    server_.Add({400, ErrorBody("unsupported", {{"param", name}})});
  }
  const ChatResult result = Endpoint()->Complete(Request());
  EXPECT_EQ(result.failure->kind, Kind::kBadRequest);
  EXPECT_EQ(result.requests, 6);
}

TEST_F(RetryTest, GrammarThatKillsTheServerIsLeftOut) {
  for (int i = 0; i < 2; ++i) server_.Add({200, Completion("hi"), {}, Manner::kCloseMidBody});
  server_.Add({200, Completion("hi")});
  ChatRequest request = Request();
  request.schema.clear();
  request.grammar = "root ::= \"x\"";
  const ChatResult result = Endpoint()->Complete(request);
  ASSERT_TRUE(result.ok()) << result.failure->message;
  const auto received = server_.received();
  ASSERT_EQ(received.size(), 3u);
  EXPECT_TRUE(received[1].json().contains("grammar")) << "once may be a coincidence";
  EXPECT_FALSE(received[2].json().contains("grammar"));
}

TEST_F(RetryTest, BudgetOfTokensHolds) {
  for (int i = 0; i < 9; ++i) {
    server_.Add(
        {200,
         Completion("hi", {}, {{"usage", {{"prompt_tokens", 300}, {"completion_tokens", 700}}}})});
  }
  Budget budget({.calls = {}, .tokens = 5000, .seconds = {}, .money = {}});
  const auto endpoint = Endpoint(&budget);
  int answers = 0;
  ChatResult result;
  while ((result = endpoint->Complete(Request())).ok()) ++answers;
  EXPECT_EQ(answers, 5);
  EXPECT_EQ(result.failure->kind, Kind::kBudget);
  EXPECT_EQ(result.requests, 0);
  EXPECT_THAT(result.failure->message, HasSubstr("5000 of 5000 tokens"));
  EXPECT_EQ(server_.received().size(), 5u);
}

TEST_F(RetryTest, RepeatedRequestsCountAsCalls) {
  for (int i = 0; i < 9; ++i) server_.Add({503, "busy"});
  Budget budget({.calls = 3, .tokens = {}, .seconds = {}, .money = {}});
  const ChatResult result = Endpoint(&budget)->Complete(Request());
  EXPECT_EQ(result.failure->kind, Kind::kBudget);
  EXPECT_EQ(result.requests, 3);
  EXPECT_EQ(server_.received().size(), 3u);
  EXPECT_EQ(budget.usage().calls, 3);
  EXPECT_GE(budget.usage().seconds, clock_.Seconds()) << "waits count";
}

}  // namespace
}  // namespace tw::llm
