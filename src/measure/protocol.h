// Frames between the tuner and a worker: "TWF1", length (u32), checksum of the payload (u64), JSON
// payload. All numbers little-endian. A worker's real stdout carries frames; what kernels print
// goes to stderr.
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace tw::measure {

using Json = nlohmann::json;

inline constexpr std::size_t kHeaderBytes = 16;
inline constexpr std::size_t kMaxFrameBytes = std::size_t{1} << 30;
// Of what a worker may send: its answers are short, and the tuner's memory is not the worker's to
// fill.
inline constexpr std::size_t kMaxAnswerBytes = std::size_t{1} << 24;

std::string EncodeFrame(const Json& message);

// Collects bytes and gives back whole frames.
class FrameReader {
 public:
  // A frame with a larger payload is an error.
  explicit FrameReader(std::size_t max_bytes) : max_bytes_(max_bytes) {}
  void Append(std::string_view bytes) { buffer_.append(bytes); }
  // The next frame, nullopt when more bytes are needed. An error says what is wrong with the bytes;
  // the stream cannot be used after that.
  Result<std::optional<Json>> Next();

 private:
  std::size_t max_bytes_;
  std::string buffer_;
};

// Writes all of `bytes` to a blocking file descriptor, or says why not. SIGPIPE must be ignored.
Status WriteBytes(int fd, std::string_view bytes);

}  // namespace tw::measure
