#include "measure/protocol.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/random.h"
#include "measure/types.h"

namespace tw::measure {
namespace {

using ::testing::HasSubstr;

// All messages of `bytes`, handed over `step` bytes at a time, or the error.
Result<std::vector<Json>> ReadAll(const std::string& bytes, std::size_t step,
                                  std::size_t max_bytes = kMaxFrameBytes) {
  FrameReader reader(max_bytes);
  std::vector<Json> messages;
  for (std::size_t at = 0; at < bytes.size(); at += step) {
    reader.Append(std::string_view(bytes).substr(at, step));
    while (true) {
      TW_TRY(std::optional<Json> message, reader.Next());
      if (!message) break;
      messages.push_back(std::move(*message));
    }
  }
  return messages;
}

TEST(Frames, SurviveAnyCut) {
  const Json first{{"op", "load"}, {"text", std::string("\0\n\"", 3)}}, second{{"x", 0.1}};
  const std::string bytes = EncodeFrame(first) + EncodeFrame(second) + EncodeFrame(Json::object());
  for (std::size_t step = 1; step <= bytes.size(); ++step) {
    const auto messages = ReadAll(bytes, step);
    ASSERT_TRUE(messages.ok()) << messages.error().message;
    EXPECT_EQ(*messages, (std::vector<Json>{first, second, Json::object()})) << step;
  }
}

TEST(Frames, HeaderIsAsDocumented) {
  const std::string frame = EncodeFrame({{"a", 1}});
  EXPECT_EQ(frame.size(), kHeaderBytes + 7);
  EXPECT_EQ(frame.substr(0, 8), std::string("TWF1\7\0\0\0", 8));
  EXPECT_EQ(frame.substr(kHeaderBytes), "{\"a\":1}");
}

TEST(Frames, AnyFlippedBitIsNoticed) {
  const std::string frame = EncodeFrame({{"median_s", 0.0125}, {"calls", 7}});
  for (std::size_t bit = 0; bit < frame.size() * 8; ++bit) {
    std::string damaged = frame;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << bit % 8));
    const auto messages = ReadAll(damaged, damaged.size());
    // A larger length waits for bytes that never come; nothing may come out of it.
    EXPECT_TRUE(!messages.ok() || messages->empty()) << "bit " << bit;
  }
}

TEST(Frames, PartOfAFrameIsNoMessage) {
  const std::string frame = EncodeFrame({{"a", 1}});
  for (std::size_t size = 0; size < frame.size(); ++size) {
    const auto messages = ReadAll(frame.substr(0, size), frame.size());
    ASSERT_TRUE(messages.ok());
    EXPECT_TRUE(messages->empty());
  }
}

TEST(Frames, TooLargeIsAnErrorBeforeItHasArrived) {
  const std::string frame = EncodeFrame({{"text", std::string(100, 'x')}});
  EXPECT_TRUE(ReadAll(frame, 1, 200).ok());
  const auto messages = ReadAll(frame.substr(0, kHeaderBytes), 1, 50);
  ASSERT_FALSE(messages.ok());
  EXPECT_THAT(messages.error().message, HasSubstr("a frame of 111 bytes"));
}

TEST(Frames, OtherBytesAreRefusedAtTheFirstOne) {
  EXPECT_THAT(ReadAll("W", 1).error().message, HasSubstr("not a frame"));
  EXPECT_FALSE(ReadAll("TWF2", 4).ok());
  EXPECT_FALSE(ReadAll(EncodeFrame({{"a", 1}}) + "\n", 1000).ok());
}

TEST(Frames, OnlyObjectsAreMessages) {
  EXPECT_FALSE(ReadAll(EncodeFrame(Json::array()), 1000).ok());
  EXPECT_FALSE(ReadAll(EncodeFrame(Json(3)), 1000).ok());
}

TEST(Frames, TextThatIsNoUtf8IsSentAllTheSame) {
  const auto messages = ReadAll(EncodeFrame({{"message", "bad \xff byte"}}), 1000);
  ASSERT_TRUE(messages.ok());
  EXPECT_EQ(messages->at(0).at("message"), "bad \xEF\xBF\xBD byte");
}

TEST(Frames, RandomBytesNeverMakeAMessage) {
  Random random(1);
  for (int trial = 0; trial < 2000; ++trial) {
    std::string bytes = trial % 2 == 0 ? "TWF1" : "";
    for (int i = 0; i < 64; ++i) bytes += static_cast<char>(random.Below(256));
    const auto messages = ReadAll(bytes, bytes.size());
    EXPECT_TRUE(!messages.ok() || messages->empty());
  }
}

TEST(FailureKind, NamesAreReadBackAndDistinct) {
  for (int i = 0; i <= static_cast<int>(FailureKind::kGarbage); ++i) {
    const auto kind = static_cast<FailureKind>(i);
    EXPECT_EQ(ParseFailureKind(Name(kind)), kind) << Name(kind);
  }
  EXPECT_EQ(Name(FailureKind::kScheduleError), "schedule-error");
  EXPECT_EQ(Name(FailureKind::kOutOfMemory), "out-of-memory");
  EXPECT_EQ(Name(FailureKind::kGarbage), "garbage");
  EXPECT_EQ(ParseFailureKind("luck"), std::nullopt);
}

}  // namespace
}  // namespace tw::measure
