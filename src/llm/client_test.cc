#include "llm/client.h"

#include <gmock/gmock.h>

#include <cstdlib>
#include <thread>

#include "llm/testing/client_fixture.h"

namespace tw::llm {
namespace {

using testing::ClientTest;
using testing::Completion;
using testing::Endpoint;
using testing::ErrorBody;
using testing::FakeClock;
using ::testing::HasSubstr;
using testing::kKey;
using ::testing::Not;
using testing::Request;
using testing::Scripted;
using testing::ScriptedServer;
using Manner = Scripted::Manner;
using Kind = FailureKind;

TEST_F(ClientTest, SendsWhatIsAsked) {
  ScriptedServer server({{200, Completion("hi")}});
  FakeClock clock;
  auto endpoint = Endpoint(server, clock);
  ChatRequest request = Request();
  request.schema = R"({"type":"object","properties":{"why":{},"action":{}}})";
  request.grammar = "root ::= \"x\"";
  request.stop = {"END"};
  request.messages[1].content = "bytes \xff and \u00fc";
  const ChatResult result = endpoint->Complete(request);
  ASSERT_TRUE(result.ok()) << result.failure->message;
  EXPECT_EQ(result.answer.model, "served-model");
  EXPECT_EQ(result.answer.finish_reason, "stop");
  EXPECT_EQ(result.answer.prompt_tokens, 11);
  EXPECT_EQ(result.answer.completion_tokens, 7);
  EXPECT_FALSE(result.answer.usage_estimated);
  const auto received = server.received();
  ASSERT_EQ(received.size(), 1u);
  EXPECT_EQ(received[0].path, "/v1/chat/completions");
  EXPECT_EQ(received[0].headers.find("Authorization")->second, std::string("Bearer ") + kKey);
  const nlohmann::json body = received[0].json();
  EXPECT_EQ(body["model"], "asked-model");
  EXPECT_EQ(body["messages"][0]["role"], "system");
  EXPECT_EQ(body["messages"][1]["content"], "bytes \ufffd and \u00fc");
  EXPECT_EQ(body["temperature"], 0.2);
  EXPECT_EQ(body["max_tokens"], 100);
  EXPECT_EQ(body["seed"], 7);
  EXPECT_EQ(body["stop"][0], "END");
  EXPECT_EQ(body["grammar"], request.grammar);
  EXPECT_EQ(body["response_format"]["json_schema"]["schema"],
            nlohmann::json::parse(request.schema));
  // In its own order.
  EXPECT_LT(received[0].body.find("why"), received[0].body.find("action"));
}

TEST_F(ClientTest, NobodyListens) {
  std::string url;
  {
    const ScriptedServer server;
    url = server.url();
  }
  FakeClock clock;
  HttpOptions options;
  options.base_url = url;
  options.key = kKey;
  options.retries = 2;
  options.clock = &clock;
  const auto endpoint = HttpEndpoint::Create(options);
  const ChatResult result = (*endpoint)->Complete(Request());
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.failure->kind, Kind::kNetwork);
  EXPECT_THAT(result.failure->message, HasSubstr("is the server running"));
  EXPECT_THAT(result.failure->message, HasSubstr("3 requests"));
  EXPECT_EQ(result.answer.prompt_tokens, 0);
}

TEST_F(ClientTest, SchemaThatIsNotJsonIsNotSent) {
  ScriptedServer server;
  FakeClock clock;
  ChatRequest request = Request();
  request.schema = "{";
  const ChatResult result = Endpoint(server, clock)->Complete(request);
  EXPECT_EQ(result.failure->kind, Kind::kBadRequest);
  EXPECT_TRUE(server.received().empty());
}

// A server that repeats the key wherever it can.
TEST_F(ClientTest, KeyStaysInItsHeader) {
  const std::string key = kKey;
  std::string escaped;
  for (const char c : key) {
    escaped += fmt::format("\\u{:04x}", static_cast<unsigned>(static_cast<unsigned char>(c)));
  }
  const std::vector<Scripted> echoes = {
      {401, ErrorBody("Incorrect API key provided: " + key)},
      {403, "<html>" + key + "</html>"},
      {302, "", {{"Location", "http://127.0.0.1/?key=" + key}}},
      {200, Completion("your key is " + key)},
      {200, Completion("<think>" + key + "</think>x", {}, {{"model", key}})},
      {200, R"({"model":"m","choices":[{"message":{"content":")" + escaped + R"("}}]})"},
      {200, R"({"error":{"message":")" + escaped + R"("}})"},
      {200, "{\"choices\": \"" + key},
  };
  for (const Scripted& echo : echoes) {
    SCOPED_TRACE(echo.body);
    ScriptedServer server({echo});
    FakeClock clock;
    const ChatResult result = Endpoint(server, clock)->Complete(Request());
    const ChatAnswer& answer = result.answer;
    const std::string all = answer.content + "|" + answer.reasoning + "|" + answer.model + "|" +
                            answer.raw + "|" + (result.failure ? result.failure->message : "");
    EXPECT_THAT(all, Not(HasSubstr(key)));
    EXPECT_THAT(all, Not(HasSubstr(key.substr(3, 12))));
    if (result.ok()) {
      EXPECT_THAT(all, Not(HasSubstr(escaped)));
    }
  }
}

TEST_F(ClientTest, StopEndsATransfer) {
  ScriptedServer server({{200, "", {}, Manner::kSilent}});
  std::atomic<bool> stop = false;
  HttpOptions options;
  options.base_url = server.url();
  options.stop = &stop;
  const auto endpoint = HttpEndpoint::Create(options);
  std::thread stopper([&] {
    server.WaitForRequest();
    stop = true;
  });
  // The limit of 600 s does not run out: this returns because of the flag or hangs.
  const ChatResult result = (*endpoint)->Complete(Request());
  stopper.join();
  EXPECT_EQ(result.failure->kind, Kind::kStopped);
  EXPECT_EQ((*endpoint)->Complete(Request()).requests, 0) << "nothing is sent once stopped";
}

TEST_F(ClientTest, AnswersSeveralThreads) {
  ScriptedServer server(std::vector<Scripted>(32, {200, Completion("hi"), {}, Manner::kWhole}));
  FakeClock clock;
  const auto endpoint = Endpoint(server, clock);
  std::atomic<int> good = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int j = 0; j < 8; ++j) good += endpoint->Complete(Request()).ok();
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(good, 32);
}

TEST(ChatUrl, FollowsItsRule) {
  const std::vector<std::pair<const char*, const char*>> cases = {
      {"https://api.openai.com/v1", "https://api.openai.com/v1/chat/completions"},
      {"https://api.openai.com/v1/", "https://api.openai.com/v1/chat/completions"},
      {"http://localhost:8080", "http://localhost:8080/v1/chat/completions"},
      {" http://localhost:8080// ", "http://localhost:8080/v1/chat/completions"},
      {"http://[::1]:1/v1/chat/completions/", "http://[::1]:1/v1/chat/completions"},
      {"https://h/openai/v2beta", "https://h/openai/v2beta/chat/completions"},
      {"https://h/d?api-version=1", "https://h/d/chat/completions?api-version=1"},
  };
  for (const auto& [base, want] : cases) {
    const auto url = ChatUrl(base);
    ASSERT_TRUE(url.ok()) << url.error().message;
    EXPECT_EQ(*url, want);
  }
  for (const char* bad :
       {"", "localhost:8080", "ftp://h/v1", "http://", "https:///v1", "http://user:hunter2@h/v1",
        "http://h/a b", "http://h/#x", "http://h\n/"}) {
    const auto url = ChatUrl(bad);
    ASSERT_FALSE(url.ok()) << bad;
    EXPECT_EQ(url.error().code, Code::kUsage);
    EXPECT_THAT(url.error().message, Not(HasSubstr("hunter2")));
  }
}

TEST(HttpOptions, ComeFromTheEnvironment) {
  setenv("OPENAI_API_KEY", "  sk-from-environment\n", 1);
  setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1", 1);
  EXPECT_EQ(OptionsFromEnvironment().base_url, "http://127.0.0.1:9/v1");
  EXPECT_EQ(OptionsFromEnvironment("http://other").base_url, "http://other");
  EXPECT_TRUE(HttpEndpoint::Create(OptionsFromEnvironment()).ok());
  setenv("OPENAI_API_KEY", "sk-two\r\nlines: x", 1);
  const auto endpoint = HttpEndpoint::Create(OptionsFromEnvironment());
  ASSERT_FALSE(endpoint.ok());
  EXPECT_THAT(endpoint.error().message, Not(HasSubstr("sk-two")));
  unsetenv("OPENAI_API_KEY");
  unsetenv("OPENAI_BASE_URL");
  EXPECT_EQ(OptionsFromEnvironment().base_url, "https://api.openai.com/v1");
}

}  // namespace
}  // namespace tw::llm
