// Answers from a file that RecordingEndpoint wrote.
#pragma once

#include <deque>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "base/result.h"
#include "llm/chat.h"

namespace tw::llm {

// Equal requests get their recorded answers in the order of the file, failures included. A request
// that was not recorded, or more often than it was, is a kReplayMiss that tells what differs from
// the next unused recording.
class ReplayEndpoint : public ChatEndpoint {
 public:
  // A half-written last line is left out. Errors are kUsage with file:line.
  static Result<std::unique_ptr<ReplayEndpoint>> Load(const std::filesystem::path& path);

  ChatResult Complete(const ChatRequest& request) override;

  std::size_t left() const;  // recordings not yet used

 private:
  struct Recording {
    std::size_t line = 0;
    ChatRequest request;
    ChatResult result;
  };
  explicit ReplayEndpoint(std::filesystem::path path) : path_(std::move(path)) {}
  std::string Explain(const ChatRequest& request) const;

  const std::filesystem::path path_;
  mutable std::mutex mutex_;
  std::map<std::string, std::deque<Recording>> recordings_;  // by the request's canonical JSON
  std::size_t total_ = 0;
};

}  // namespace tw::llm
