#include "llm/record.h"

#include <gmock/gmock.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <deque>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "llm/chat_json.h"
#include "llm/replay.h"

namespace tw::llm {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class ListEndpoint : public ChatEndpoint {
 public:
  ChatResult Complete(const ChatRequest&) override {
    ChatResult result = std::move(results.front());
    results.pop_front();
    return result;
  }
  std::deque<ChatResult> results;
};

ChatRequest Ask(const std::string& text) {
  ChatRequest request;
  request.model = "m";
  request.messages = {{"system", "s"}, {"user", text}};
  request.temperature = 0.1;
  request.seed = 3;
  request.stop = {"\n\n"};
  return request;
}

ChatResult Say(const std::string& text) {
  ChatResult result;
  result.answer.content = text;
  result.answer.reasoning = "because \xc3\xa9";
  result.answer.finish_reason = "stop";
  result.answer.prompt_tokens = 5;
  result.answer.completion_tokens = 2;
  result.answer.seconds = 0.125;
  result.answer.model = "served";
  result.answer.raw = "never recorded";
  result.requests = 1;
  return result;
}

ChatResult Break(FailureKind kind) {
  ChatResult result;
  result.failure = ChatFailure{kind, "broken", 4096};
  result.requests = 2;
  return result;
}

class RecordTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() / fmt::format("tw_record_{}", getpid());
    std::filesystem::create_directories(folder_);
    path_ = folder_ / "calls.jsonl";
    std::filesystem::remove(path_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  void Record(const std::vector<std::pair<ChatRequest, ChatResult>>& calls,
              const std::vector<std::string>& secrets = {}) {
    auto recorder = RecordingEndpoint::Open(path_, inner_, secrets);
    ASSERT_TRUE(recorder.ok()) << recorder.error().message;
    for (const auto& [request, result] : calls) {
      inner_.results.push_back(result);
      const ChatResult passed = (*recorder)->Complete(request);
      EXPECT_EQ(passed.answer.raw, result.answer.raw) << "passed on unchanged";
    }
    EXPECT_TRUE((*recorder)->status().ok());
  }
  std::unique_ptr<ReplayEndpoint> Replay() {
    auto replay = ReplayEndpoint::Load(path_);
    EXPECT_TRUE(replay.ok()) << replay.error().message;
    return std::move(replay).value();
  }
  std::string Text() { return ReadFile(path_, Code::kUsage).value(); }
  void Write(const std::string& text) {
    ASSERT_TRUE(WriteFileAtomic(path_, text, Code::kUsage).ok());
  }

  std::filesystem::path folder_, path_;
  ListEndpoint inner_;
};

TEST_F(RecordTest, ReplaysWhatWasRecordedInOrder) {
  Record({{Ask("a"), Say("1")},
          {Ask("b"), Break(FailureKind::kContextOverflow)},
          {Ask("a"), Say("2")},
          {Ask("bytes \xff"), Say("3")}});
  const auto replay = Replay();
  EXPECT_EQ(replay->left(), 4u);
  const ChatResult overflow = replay->Complete(Ask("b"));
  ASSERT_FALSE(overflow.ok());
  EXPECT_EQ(overflow.failure->kind, FailureKind::kContextOverflow);
  EXPECT_EQ(overflow.failure->message, "broken");
  EXPECT_EQ(overflow.failure->context_tokens, 4096);
  EXPECT_EQ(overflow.requests, 2);
  const ChatAnswer first = replay->Complete(Ask("a")).answer;
  EXPECT_EQ(first.content, "1");
  EXPECT_EQ(first.reasoning, "because \xc3\xa9");
  EXPECT_EQ(first.finish_reason, "stop");
  EXPECT_EQ(first.prompt_tokens, 5);
  EXPECT_EQ(first.completion_tokens, 2);
  EXPECT_EQ(first.seconds, 0.125);
  EXPECT_EQ(first.model, "served");
  EXPECT_EQ(first.raw, "");
  EXPECT_EQ(replay->Complete(Ask("a")).answer.content, "2");
  EXPECT_EQ(replay->Complete(Ask("bytes \xff")).answer.content, "3");
  EXPECT_EQ(replay->left(), 0u);
}

TEST_F(RecordTest, MissSaysWhatDiffers) {
  Record({{Ask("tile by 16 here"), Say("1")}});
  const auto replay = Replay();
  const auto miss = [&](const ChatRequest& request) {
    const ChatResult result = replay->Complete(request);
    EXPECT_EQ(result.failure->kind, FailureKind::kReplayMiss);
    return result.failure->message;
  };
  EXPECT_THAT(miss(Ask("tile by 32 here")), HasSubstr("line 1, differs in message 2 at byte 8"));
  ChatRequest other = Ask("tile by 16 here");
  other.model = "n";
  EXPECT_THAT(miss(other), HasSubstr("recorded \"m\", asked \"n\""));
  other = Ask("tile by 16 here");
  other.temperature.reset();
  EXPECT_THAT(miss(other), HasSubstr("the temperature"));
  other = Ask("tile by 16 here");
  other.messages.pop_back();
  EXPECT_THAT(miss(other), HasSubstr("recorded 2, asked 1"));
  EXPECT_TRUE(replay->Complete(Ask("tile by 16 here")).ok());
  EXPECT_THAT(miss(Ask("tile by 16 here")), HasSubstr("used up"));
  EXPECT_THAT(miss(Ask("x")), HasSubstr("all 1 recordings are used"));
}

TEST_F(RecordTest, StoppedCallsAreNotRecorded) {
  Record({{Ask("a"), Break(FailureKind::kStopped)}, {Ask("a"), Say("1")}});
  EXPECT_EQ(Replay()->Complete(Ask("a")).answer.content, "1");
}

TEST_F(RecordTest, TornLastLine) {
  Record({{Ask("a"), Say("1")}, {Ask("b"), Say("2")}});
  const std::string whole = Text();
  const std::size_t second = whole.find('\n') + 1;
  for (std::size_t cut = second; cut + 1 < whole.size(); cut += 7) {
    Write(whole.substr(0, cut));
    const auto replay = Replay();
    EXPECT_EQ(replay->left(), 1u);
    EXPECT_EQ(replay->Complete(Ask("a")).answer.content, "1");
    // Recording goes on after the last whole line.
    Record({{Ask("b"), Say("again")}});
    EXPECT_EQ(Replay()->Complete(Ask("b")).answer.content, "again") << cut;
  }
  Write(whole.substr(0, whole.size() - 1));  // only the newline is missing
  Record({{Ask("c"), Say("3")}});
  EXPECT_EQ(Replay()->left(), 3u);
}

TEST_F(RecordTest, DamagedFilesAreNamed) {
  Record({{Ask("a"), Say("1")}});
  const std::string line = Text();
  const auto error = [&](const std::string& text) {
    Write(text);
    const auto replay = ReplayEndpoint::Load(path_);
    EXPECT_FALSE(replay.ok());
    return replay.ok() ? "" : replay.error().message;
  };
  EXPECT_THAT(error(line + "garbage\n" + line), HasSubstr("calls.jsonl:2: "));
  EXPECT_THAT(error("{\"version\":99}\n"), HasSubstr("another version"));
  EXPECT_THAT(error(line.substr(0, 40)), HasSubstr(":1: "));
  EXPECT_THAT(error(R"({"version":1,"request":{"model":1,"messages":[]}})"
                    "\n"),
              HasSubstr(":1:"));
  EXPECT_FALSE(ReplayEndpoint::Load(folder_ / "missing").ok());
  // A file of someone else's is not appended to.
  for (const char* text : {"# notes\nmore\n", "notes"}) {
    Write(text);
    EXPECT_FALSE(RecordingEndpoint::Open(path_, inner_).ok());
    EXPECT_EQ(Text(), text);
  }
  EXPECT_FALSE(RecordingEndpoint::Open(folder_ / "no" / "folder", inner_).ok());
}

TEST_F(RecordTest, HoldsNoSecret) {
  const std::string key = "sk-canary-\"0123456789/abc";
  ChatResult result = Say("the key is " + key);
  result.failure = ChatFailure{FailureKind::kAuth, "wrong: " + key};
  Record({{Ask("I am " + key), result}}, {key});
  EXPECT_THAT(Text(), Not(HasSubstr("0123456789")));
  EXPECT_THAT(Text(), HasSubstr("[redacted]"));
  EXPECT_THAT(Text(), Not(HasSubstr("never recorded")));
  const auto mode = std::filesystem::status(path_).permissions();
  EXPECT_EQ(mode & std::filesystem::perms::others_all, std::filesystem::perms::none);
}

TEST_F(RecordTest, FullDiskLosesNoAnswer) {
  auto recorder = RecordingEndpoint::Open(path_, inner_);
  ASSERT_TRUE(recorder.ok());
  inner_.results = {Say("1"), Say("2"), Say("3")};
  ASSERT_TRUE((*recorder)->Complete(Ask("a")).ok());
  // Files may not grow any more, which is what a full disk looks like.
  rlimit before;
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  rlimit full = before;
  full.rlim_cur = std::filesystem::file_size(path_) + 10;
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &full), 0);
  const std::string second = (*recorder)->Complete(Ask("a")).answer.content;
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, handler);
  EXPECT_EQ(second, "2");
  ASSERT_FALSE((*recorder)->status().ok());
  EXPECT_THAT((*recorder)->status().error().message, HasSubstr("cannot record an answer"));
  EXPECT_EQ((*recorder)->Complete(Ask("a")).answer.content, "3");
  EXPECT_EQ(Replay()->left(), 1u) << "what was written before stays readable";
}

TEST_F(RecordTest, RecordsIntoFilesOnly) {
  const auto recorder = RecordingEndpoint::Open("/dev/zero", inner_);
  ASSERT_FALSE(recorder.ok());
  EXPECT_THAT(recorder.error().message, HasSubstr("not a regular file"));
}

TEST(RequestHash, IsOfEverything) {
  const ChatRequest base = Ask("a");
  ChatRequest other = base;
  EXPECT_EQ(RequestHash(base), RequestHash(other));
  other.grammar = "root ::= \"a\"";
  EXPECT_NE(RequestHash(base), RequestHash(other));
  other = base;
  other.max_tokens = 5;
  EXPECT_NE(RequestHash(base), RequestHash(other));
}

TEST(FailureNames, GoBothWays) {
  for (int i = 0; i <= static_cast<int>(FailureKind::kStopped); ++i) {
    const auto kind = static_cast<FailureKind>(i);
    EXPECT_NE(Name(kind), "unknown");
    EXPECT_EQ(ParseFailureKind(Name(kind)), kind);
  }
  EXPECT_EQ(ParseFailureKind("nonsense"), std::nullopt);
}

}  // namespace
}  // namespace tw::llm
