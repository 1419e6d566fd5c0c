#include "measure/protocol.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/files.h"
#include "base/hash.h"

namespace tw::measure {
namespace {

constexpr std::string_view kMagic = "TWF1";

template <typename T>
void PutLittleEndian(std::string& bytes, T value) {
  for (std::size_t i = 0; i < sizeof(T); ++i) bytes += static_cast<char>(value >> (8 * i));
}

template <typename T>
T GetLittleEndian(std::string_view bytes) {
  T value = 0;
  for (std::size_t i = 0; i < sizeof(T); ++i) {
    value |= static_cast<T>(static_cast<unsigned char>(bytes[i])) << (8 * i);
  }
  return value;
}

}  // namespace

std::string EncodeFrame(const Json& message) {
  // Bytes that are no UTF-8 (from a crash message, say) are replaced, never a reason to fail.
  const std::string payload = message.dump(-1, ' ', false, Json::error_handler_t::replace);
  std::string frame(kMagic);
  PutLittleEndian(frame, static_cast<uint32_t>(payload.size()));
  PutLittleEndian(frame, Hash64(payload));
  return frame + payload;
}

Result<std::optional<Json>> FrameReader::Next() {
  const std::string_view bytes = buffer_;
  const std::size_t known = std::min(bytes.size(), kMagic.size());
  if (bytes.substr(0, known) != kMagic.substr(0, known)) {
    return Fail(Code::kInternal, "bytes that are not a frame");
  }
  if (bytes.size() < kHeaderBytes) return std::optional<Json>();
  const std::size_t length = GetLittleEndian<uint32_t>(bytes.substr(4));
  if (length > max_bytes_) return Fail(Code::kInternal, "a frame of {} bytes", length);
  if (bytes.size() < kHeaderBytes + length) return std::optional<Json>();
  const std::string_view payload = bytes.substr(kHeaderBytes, length);
  if (GetLittleEndian<uint64_t>(bytes.substr(8)) != Hash64(payload)) {
    return Fail(Code::kInternal, "a frame whose checksum does not fit");
  }
  Json message = Json::parse(payload, nullptr, false);
  if (!message.is_object()) return Fail(Code::kInternal, "a frame that is not a JSON object");
  buffer_.erase(0, kHeaderBytes + length);
  return std::optional<Json>(std::move(message));
}

Status WriteBytes(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = write(fd, bytes.data(), bytes.size());
    if (written >= 0) {
      bytes.remove_prefix(static_cast<std::size_t>(written));
    } else if (errno != EINTR) {
      return Fail(Code::kInternal, "cannot write to the pipe: {}", SystemReason(errno));
    }
  }
  return Ok();
}

}  // namespace tw::measure
