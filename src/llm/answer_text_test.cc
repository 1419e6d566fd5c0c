#include "llm/answer_text.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "base/random.h"

namespace tw::llm {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

struct JsonCase {
  const char* name;
  std::string text;
  std::vector<std::string> want;
};

TEST(JsonCandidates, FindsWhatIsThere) {
  const std::vector<JsonCase> cases = {
      {"alone", R"({"a":1})", {R"({"a":1})"}},
      {"blanks around", "\r\n {\"a\":1}\r\n", {R"({"a":1})"}},
      {"prose around", R"(Sure! {"a":1} Hope it helps.)", {R"({"a":1})"}},
      {"labelled fence", "x\n```json\n{\"a\":1}\n```\ny", {R"({"a":1})"}},
      {"fence with CRLF", "x\r\n```json\r\n{\"a\":1}\r\n```\r\n", {R"({"a":1})"}},
      {"tildes", "~~~\n[1,2]\n~~~", {"[1,2]"}},
      {"unclosed fence", "```json\n{\"a\":1}\n", {R"({"a":1})"}},
      {"copy of the input first",
       "```json\n{\"in\":1}\n```\nthen\n```json\n{\"out\":2}\n```",
       {R"({"out":2})", R"({"in":1})"}},
      {"labelled before later unlabelled",
       "```json\n{\"a\":1}\n```\n```\n{\"b\":2}\n```",
       {R"({"a":1})", R"({"b":2})"}},
      {"prose inside a fence", "```\nHere: {\"a\":1}\n```", {R"({"a":1})"}},
      {"fence on one line", "```{\"a\":1}```", {R"({"a":1})"}},
      {"two in prose", R"(from {"a":1} to {"a":2})", {R"({"a":2})", R"({"a":1})"}},
      {"outermost only", R"(x [{"a":[1]}] y)", {R"([{"a":[1]}])"}},
      {"brackets in strings", R"(x {"a":"}]{\"["} y)", {R"({"a":"}]{\"["})"}},
      {"not JSON before JSON", R"(L^{m}_{i=0} [ C ]; {"a":1})", {R"({"a":1})"}},
      {"quote in prose", "the 5\" one: {\"a\":1}", {R"({"a":1})"}},
      {"typographic quotes", "{\u201ca\u201d: \u201eb\u201d}", {R"({"a": "b"})"}},
      {"typographic quotes in a string stay",
       "{\"a\":\"\u201cb\u201d\"}",
       {"{\"a\":\"\u201cb\u201d\"}"}},
      {"trailing commas", "{\"a\":[1,2,],\n}", {"{\"a\":[1,2]\n}"}},
      {"comma in a string stays", R"({"a":",]",})", {R"({"a":",]"})"}},
      {"special tokens around", "<|im_start|>{\"a\":1}<|im_end|></s>", {R"({"a":1})"}},
      {"tool call", "<tool_call>\n{\"name\":\"f\"}\n</tool_call>", {R"({"name":"f"})"}},
      {"cut off", R"({"a":[1,2)", {}},
      {"first three characters lost", R"(":[1,"b"]})", {R"([1,"b"])"}},
      {"numbers and strings are no answer", "\"text\" 17 true", {}},
      {"prose only", "I cannot do that.", {}},
      {"nothing", "", {}},
  };
  for (const JsonCase& test : cases) {
    SCOPED_TRACE(test.name);
    EXPECT_EQ(JsonCandidates(test.text), test.want);
  }
}

TEST(JsonCandidates, DepthIsLimited) {
  const std::string deep = std::string(60, '[') + "1" + std::string(60, ']');
  EXPECT_THAT(JsonCandidates(deep), ElementsAre(deep));
  const std::string bottomless = std::string(100'000, '[') + "1" + std::string(100'000, ']');
  for (const std::string& value : JsonCandidates(bottomless)) EXPECT_LE(value.size(), 129u);
}

TEST(Blocks, PreferTheLabelThenTheLast) {
  const std::string text =
      "```leir\nin\n```\n```python\nprint()\n```\n```leir\nout\n```\n```\nplain\n```\n";
  EXPECT_THAT(BlockCandidates(text, "leir"), ElementsAre("out\n", "in\n", "plain\n", "print()\n"));
  EXPECT_THAT(BlockCandidates("no block", "leir"), IsEmpty());
}

TEST(Blocks, Fences) {
  const auto only = [](std::string_view text) {
    const auto blocks = FencedBlocks(text);
    EXPECT_EQ(blocks.size(), 1u) << text;
    return blocks.empty() ? Block{} : blocks[0];
  };
  EXPECT_EQ(only("~~~LEIR\r\na\r\n\r\nb\r\n~~~\r\n").text, "a\n\nb\n");
  EXPECT_EQ(only("~~~LEIR\nx").label, "leir");
  EXPECT_FALSE(only("~~~LEIR\nx").closed);
  EXPECT_EQ(only("```\n~~~\n```").text, "~~~\n");
  EXPECT_EQ(only("````md\n```leir\na\n```\n````").text, "```leir\na\n```\n");
  EXPECT_EQ(only("  ```json {.numberLines}\n1\n  ```").label, "json");
  const auto two = FencedBlocks("```a\n1\n```b\n2\n```");
  ASSERT_EQ(two.size(), 2u);
  EXPECT_EQ(two[0].text, "1\n");
  EXPECT_FALSE(two[0].closed);
  EXPECT_EQ(two[1].text, "2\n");
}

TEST(Reasoning, IsSplitOff) {
  struct Case {
    const char* text;
    const char* reasoning;
    const char* content;
  };
  const std::vector<Case> cases = {
      {"<think>why</think>\n\nanswer", "why", "answer"},
      {"why</think>answer", "why", "answer"},
      {"<think>never ends", "never ends", ""},
      {"a<think>x</think>b<think>y</think>c", "x\ny", "abc"},
      {"<thinking>x</thinking>b", "x", "b"},
      {"<think></think>b", "", "b"},
      {"plain", "", "plain"},
      {R"({"why":"a </think> b"})", "", R"({"why":"a </think> b"})"},
      {"", "", ""},
  };
  for (const Case& test : cases) {
    SCOPED_TRACE(test.text);
    const SplitAnswer split = SplitReasoning(test.text);
    EXPECT_EQ(split.reasoning, test.reasoning);
    EXPECT_EQ(split.content, test.content);
  }
}

// Any bytes: no crash, and every candidate is what it claims to be.
TEST(AnswerText, SurvivesAnything) {
  const std::vector<std::string> pieces = {"{",        "}",
                                           "[",        "]",
                                           "\"",       "\\",
                                           ",",        ":",
                                           "```",      "```json\n",
                                           "~~~",      "\n",
                                           "\r\n",     "<think>",
                                           "</think>", "1",
                                           "\"a\":1",  "{\"a\":[1]}",
                                           "\u201c",   "\xff",
                                           "\xe2\x80", std::string(1, '\0'),
                                           "```\n",    "     "};
  Random random(20261201);
  std::size_t valid = 0;
  for (int round = 0; round < 3000; ++round) {
    std::string text;
    for (uint64_t n = random.Below(40); n > 0; --n) {
      text += random.Below(8) == 0 ? std::string(1, static_cast<char>(random.Below(256)))
                                   : pieces[random.Below(pieces.size())];
    }
    for (const std::string& value : JsonCandidates(text)) {
      ASSERT_TRUE(nlohmann::json::accept(value)) << text;
      ++valid;
    }
    for (const std::string& block : BlockCandidates(text, "json")) {
      ASSERT_LE(block.size(), text.size() + 1);
    }
    const SplitAnswer split = SplitReasoning(text);
    ASSERT_LE(split.reasoning.size() + split.content.size(), text.size());
  }
  EXPECT_GT(valid, 100u);
}

}  // namespace
}  // namespace tw::llm
