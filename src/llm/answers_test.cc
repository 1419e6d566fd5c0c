// What servers answer, and what the client makes of it.
#include <gmock/gmock.h>

#include "llm/testing/client_fixture.h"

namespace tw::llm {
namespace {

using testing::ClientTest;
using testing::Completion;
using testing::Endpoint;
using testing::ErrorBody;
using testing::FakeClock;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::Request;
using testing::Scripted;
using testing::ScriptedServer;
using Manner = Scripted::Manner;
using Kind = FailureKind;

struct Case {
  const char* name;
  Scripted reply;
  std::optional<Kind> failure;
  std::string content;
  std::string message;  // part of the failure's
  std::string reasoning = "";
};

const nlohmann::json kLength = {{"finish_reason", "length"}};

nlohmann::json Message(nlohmann::json message) { return {{"message", std::move(message)}}; }

std::vector<Case> GoodAnswers() {
  return {
      {"plain", {200, Completion("hi"), {}, Manner::kWhole}, {}, "hi", ""},
      {"think block", {200, Completion("<think>why</think>hi")}, {}, "hi", "", "why"},
      {"think block without its start", {200, Completion("why</think>\nhi")}, {}, "hi", "", "why"},
      {"reasoning_content",
       {200, Completion("", Message({{"content", "hi"}, {"reasoning_content", "why"}}))},
       {},
       "hi",
       "",
       "why"},
      {"reasoning",
       {200, Completion("", Message({{"content", "hi"}, {"reasoning", "why"}}))},
       {},
       "hi",
       "",
       "why"},
      {"list of parts",
       {200, Completion("", Message({{"content",
                                      {{{"type", "thinking"}, {"thinking", "why"}},
                                       {{"type", "text"}, {"text", "h"}},
                                       {{"type", "text"}, {"text", "i"}},
                                       {{"type", "image_url"}}}}}))},
       {},
       "hi",
       "",
       "why"},
      {"the older completions shape",
       {200, R"({"choices":[{"text":"hi","finish_reason":"stop"}]})"},
       {},
       "hi",
       ""},
      {"error null", {200, Completion("hi", {}, {{"error", nullptr}})}, {}, "hi", ""},
      {"no finish_reason", {200, Completion("hi", {{"finish_reason", nullptr}})}, {}, "hi", ""},
      {"usage of nonsense",
       {200,
        Completion("hi", {}, {{"usage", {{"prompt_tokens", -5}, {"completion_tokens", "x"}}}})},
       {},
       "hi",
       ""},
      {"byte order and blanks around", {200, "\n\n " + Completion("hi") + "\r\n"}, {}, "hi", ""},
  };
}

std::vector<Case> BadAnswers() {
  return {
      {"empty body", {200, ""}, Kind::kEmpty, "", "the reply is empty"},
      {"HTML", {200, "<html><body>Log in</body></html>"}, Kind::kNotJson, "", "not JSON"},
      {"plain text", {200, "Hello, this is nginx"}, Kind::kNotJson, "", "nginx"},
      {"cut JSON", {200, Completion("hi").substr(0, 60)}, Kind::kNotJson, "", "cut off"},
      {"invalid UTF-8", {200, "{\"choices\":\"\xff\"}"}, Kind::kNotJson, "", "damaged"},
      {"JSON of another kind", {200, "[1,2]"}, Kind::kNotJson, "", "no choices"},
      {"JSON null", {200, "null"}, Kind::kNotJson, "", "no choices"},
      {"no choices", {200, R"({"id":"1"})"}, Kind::kNotJson, "", "no choices"},
      {"empty choices", {200, R"({"choices":[]})"}, Kind::kNotJson, "", "no choices"},
      {"choices of nonsense", {200, R"({"choices":[17]})"}, Kind::kNotJson, "", "no choices"},
      {"event stream", {200, "data: {\"choices\":[]}\n\n"}, Kind::kNotJson, "", "not JSON"},
      {"too large", {200, Completion(std::string(9000, 'x'))}, Kind::kNotJson, "", "larger"},
      {"no text", {200, Completion("  \n")}, Kind::kEmpty, "", "no text"},
      {"content null",
       {200, Completion("", Message({{"content", nullptr}}))},
       Kind::kEmpty,
       "",
       "no text"},
      {"message missing",
       {200, R"({"choices":[{"finish_reason":"stop"}]})"},
       Kind::kEmpty,
       "",
       "no text"},
      {"reasoning only",
       {200, Completion("", Message({{"content", nullptr}, {"reasoning_content", "why"}}))},
       Kind::kEmpty,
       "",
       "reasoning only",
       "why"},
      {"unclosed think",
       {200, Completion("<think>why")},
       Kind::kEmpty,
       "",
       "reasoning only",
       "why"},
      {"length",
       {200, Completion("half an ans", kLength)},
       Kind::kTruncated,
       "half an ans",
       "cut off after 7 tokens"},
      {"length within the reasoning",
       {200, Completion("<think>why", kLength)},
       Kind::kTruncated,
       "",
       "cut off",
       "why"},
      {"content filter",
       {200, Completion("hm", {{"finish_reason", "content_filter"}})},
       Kind::kRefused,
       "hm",
       "filter"},
      {"refusal",
       {200, Completion("", Message({{"content", nullptr}, {"refusal", "I can't"}}))},
       Kind::kRefused,
       "",
       "I can't"},
      {"error under 200",
       {200, ErrorBody("upstream is overloaded")},
       Kind::kServer,
       "",
       "upstream is overloaded"},
      {"error text under 200",
       {200, R"({"error":"model is loading"})"},
       Kind::kServer,
       "",
       "model is loading"},
      {"429 under 200",
       {200, ErrorBody("slow down", {{"code", 429}})},
       Kind::kRateLimited,
       "",
       "slow down"},
      {"401 under 200",
       {200, ErrorBody("no", {{"code", "invalid_api_key"}})},
       Kind::kAuth,
       "",
       "OPENAI_API_KEY"},
      {"error within a choice",
       {200, Completion("part", {{"finish_reason", "error"},
                                 {"error", {{"message", "provider died"}, {"code", 502}}}})},
       Kind::kServer,
       "part",
       "provider died"},
      {"400", {400, ErrorBody("no such thing")}, Kind::kBadRequest, "", "no such thing"},
      {"404", {404, "404 page not found"}, Kind::kBadRequest, "", "check the address"},
      {"redirect",
       {301, "", {{"Location", "http://127.0.0.1:1/elsewhere"}}},
       Kind::kBadRequest,
       "",
       "redirects to http://127.0.0.1:1/elsewhere"},
      {"422 of FastAPI",
       {422, R"({"detail":[{"loc":["body","messages"],"msg":"field required"}]})"},
       Kind::kBadRequest,
       "",
       "messages field required"},
      {"401", {401, ErrorBody("Incorrect API key provided")}, Kind::kAuth, "", "OPENAI_API_KEY"},
      {"403 in HTML", {403, "<html>Forbidden</html>"}, Kind::kAuth, "", "Forbidden"},
      {"402", {402, ErrorBody("Insufficient Balance")}, Kind::kQuota, "", "no credit left"},
      {"no quota",
       {429, ErrorBody("You exceeded your current quota", {{"code", "insufficient_quota"}})},
       Kind::kQuota,
       "",
       "no credit left"},
      {"quota of a minute",
       {429, ErrorBody("You exceeded your current quota. Please retry in 9s")},
       Kind::kRateLimited,
       "",
       "retry in 9s"},
      {"500", {500, ErrorBody("oops")}, Kind::kServer, "", "oops"},
      {"502 in HTML",
       {502, "<html><h1>502 Bad\tGateway</h1>\x1b[2J</html>"},
       Kind::kServer,
       "",
       "502 Bad Gateway"},
      {"529",
       {529, ErrorBody("Overloaded", {{"type", "overloaded_error"}})},
       Kind::kServer,
       "",
       "Overloaded"},
      {"closed within the body",
       {200, Completion("hi"), {}, Manner::kCloseMidBody},
       Kind::kNetwork,
       "",
       "connection was lost"},
      {"silent", {200, "", {}, Manner::kSilent}, Kind::kTimeout, "", "no answer after"},
      {"stalls within the body",
       {200, Completion("hi"), {}, Manner::kStallMidBody},
       Kind::kTimeout,
       "",
       "no byte for 0.2 s"},
  };
}

void Check(const std::vector<Case>& cases) {
  for (const Case& test : cases) {
    SCOPED_TRACE(test.name);
    ScriptedServer server({test.reply});
    FakeClock clock;
    const ChatResult result = Endpoint(server, clock, test.reply.manner)->Complete(Request());
    EXPECT_EQ(result.failure ? std::optional(result.failure->kind) : std::nullopt, test.failure)
        << (result.failure ? result.failure->message : "no failure");
    EXPECT_EQ(result.answer.content, test.content);
    EXPECT_EQ(result.answer.reasoning, test.reasoning);
    EXPECT_EQ(result.requests, 1);
    if (result.failure) {
      EXPECT_THAT(result.failure->message, HasSubstr(test.message));
      EXPECT_THAT(result.failure->message, HasSubstr(server.url()));
      EXPECT_THAT(result.failure->message, Not(HasSubstr("\x1b")));
    }
  }
}

TEST_F(ClientTest, ReadsGoodAnswers) { Check(GoodAnswers()); }
TEST_F(ClientTest, NamesBadAnswers) { Check(BadAnswers()); }

TEST_F(ClientTest, ContextOverflowInManyWords) {
  struct Overflow {
    int status;
    std::string body;
    int64_t limit;
  };
  const std::vector<Overflow> cases = {
      {400,
       ErrorBody("This model's maximum context length is 8192 tokens. However, you requested "
                 "9000 tokens",
                 {{"code", "context_length_exceeded"}}),
       8192},
      {400,
       ErrorBody("the request exceeds the available context size, try increasing it",
                 {{"type", "exceed_context_size_error"}, {"n_ctx", 4096}}),
       4096},
      {400, ErrorBody("prompt is too long: 210000 tokens > 200000 maximum"), 200000},
      {400,
       ErrorBody("The input token count (1100000) exceeds the maximum number of tokens allowed "
                 "(1048576)."),
       1048576},
      {400,
       R"({"object":"error","message":"This model's maximum context length is 2,048 tokens."})",
       2048},
      {422, R"({"error":"`inputs` tokens + `max_new_tokens` must be <= 4096. Given: 5000"})", 4096},
      {413, "<html>Request Entity Too Large</html>", 0},
      {400, ErrorBody("Input is too long for requested model."), 0},
      {200, ErrorBody("Trying to keep the first 9000 tokens when context the overflows"), 0},
      {500, ErrorBody("input is larger than the max context size"), 0},
  };
  for (const Overflow& test : cases) {
    SCOPED_TRACE(test.body);
    ScriptedServer server({{test.status, test.body}});
    FakeClock clock;
    const ChatResult result = Endpoint(server, clock, Manner::kWhole, 4)->Complete(Request());
    ASSERT_FALSE(result.ok());
    EXPECT_EQ(result.failure->kind, Kind::kContextOverflow) << result.failure->message;
    EXPECT_EQ(result.failure->context_tokens, test.limit);
    EXPECT_EQ(result.requests, 1);
  }
}

TEST_F(ClientTest, EstimatesUsageThatIsNotTold) {
  const auto ask = [](const Scripted& reply) {
    ScriptedServer server({reply});
    FakeClock clock;
    return Endpoint(server, clock, reply.manner)->Complete(Request()).answer;
  };
  const ChatAnswer answered =
      ask({200, R"({"choices":[{"message":{"content":"one two three"}}]})"});
  EXPECT_TRUE(answered.usage_estimated);
  EXPECT_GT(answered.prompt_tokens, 20);
  EXPECT_EQ(answered.completion_tokens, 4);
  for (const Manner manner : {Manner::kSilent, Manner::kStallMidBody, Manner::kCloseMidBody}) {
    const ChatAnswer broken = ask({200, Completion("hi"), {}, manner});
    EXPECT_TRUE(broken.usage_estimated);
    EXPECT_EQ(broken.completion_tokens, 100) << "a server may charge for what did not arrive";
  }
  const ChatAnswer refused = ask({500, "oops"});
  EXPECT_EQ(refused.prompt_tokens, 0) << "errors are not charged";
  EXPECT_FALSE(refused.usage_estimated);
}

}  // namespace
}  // namespace tw::llm
