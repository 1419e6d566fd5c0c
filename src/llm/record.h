// Recording what a chat model answered, one JSON object a line, and replaying it without the model.
#pragma once

#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/result.h"
#include "llm/chat.h"
#include "llm/redact.h"

namespace tw::llm {

// Passes requests on and appends each with its answer or failure to a file, on disk before the
// answer is handed on. Calls that were stopped are not recorded: they would be asked again. A line
// holds no header and no raw reply.
class RecordingEndpoint : public ChatEndpoint {
 public:
  // Appends to `path`, or creates it; a last line that a killed process left half-written is cut
  // off. `secrets` are taken out of what is written. Errors are kUsage. `inner` must outlive this.
  static Result<std::unique_ptr<RecordingEndpoint>> Open(
      const std::filesystem::path& path, ChatEndpoint& inner,
      const std::vector<std::string>& secrets = {});
  ~RecordingEndpoint() override;

  ChatResult Complete(const ChatRequest& request) override;

  // The first failure to write, if any. Answers are handed on all the same.
  Status status() const;

 private:
  RecordingEndpoint(std::filesystem::path path, int fd, ChatEndpoint& inner, Redactor redact)
      : path_(std::move(path)), fd_(fd), inner_(inner), redact_(std::move(redact)) {}

  const std::filesystem::path path_;
  const int fd_;
  ChatEndpoint& inner_;
  const Redactor redact_;
  mutable std::mutex mutex_;
  Status status_ = Ok();
};

}  // namespace tw::llm
