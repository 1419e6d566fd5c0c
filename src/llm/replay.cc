#include "llm/replay.h"

#include <algorithm>
#include <utility>

#include "base/files.h"
#include "llm/chat_json.h"
#include "llm/reply.h"

namespace tw::llm {
namespace {

// Where two texts part, with a little of each.
std::string Parting(const std::string& recorded, const std::string& asked) {
  const auto [a, b] = std::mismatch(recorded.begin(), recorded.end(), asked.begin(), asked.end());
  const auto at = static_cast<std::size_t>(a - recorded.begin());
  const std::size_t begin = at > 20 ? at - 20 : 0;
  return fmt::format("at byte {}: recorded \"{}\", asked \"{}\"", at,
                     Excerpt(std::string_view(recorded).substr(begin), 60),
                     Excerpt(std::string_view(asked).substr(begin), 60));
}

std::string FirstDifference(const ChatRequest& recorded, const ChatRequest& asked) {
  if (recorded.model != asked.model) {
    return fmt::format("the model: recorded \"{}\", asked \"{}\"", Excerpt(recorded.model),
                       Excerpt(asked.model));
  }
  const std::size_t both = std::min(recorded.messages.size(), asked.messages.size());
  for (std::size_t i = 0; i < both; ++i) {
    if (recorded.messages[i].role != asked.messages[i].role) {
      return fmt::format("the role of message {}", i + 1);
    }
    if (recorded.messages[i].content != asked.messages[i].content) {
      return fmt::format("message {} {}", i + 1,
                         Parting(recorded.messages[i].content, asked.messages[i].content));
    }
  }
  if (recorded.messages.size() != asked.messages.size()) {
    return fmt::format("the number of messages: recorded {}, asked {}", recorded.messages.size(),
                       asked.messages.size());
  }
  if (recorded.temperature != asked.temperature) return "the temperature";
  if (recorded.max_tokens != asked.max_tokens) return "max_tokens";
  if (recorded.seed != asked.seed) return "the seed";
  if (recorded.schema != asked.schema)
    return "the schema " + Parting(recorded.schema, asked.schema);
  if (recorded.grammar != asked.grammar) {
    return "the grammar " + Parting(recorded.grammar, asked.grammar);
  }
  return "the stop texts";
}

}  // namespace

Result<std::unique_ptr<ReplayEndpoint>> ReplayEndpoint::Load(const std::filesystem::path& path) {
  TW_TRY(const std::string text, ReadFile(path, Code::kUsage));
  std::unique_ptr<ReplayEndpoint> endpoint(new ReplayEndpoint(path));
  std::size_t number = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t newline = text.find('\n', begin);
    const bool whole = newline != std::string::npos;
    const std::string line = text.substr(begin, newline - begin);
    begin = whole ? newline + 1 : text.size();
    ++number;
    Result<RecordedCall> call = ParseRecordingLine(line);
    if (!call.ok()) {
      if (!whole && endpoint->total_ > 0) break;
      return Fail(Code::kUsage, "{}:{}: {}", path.string(), number, call.error().message);
    }
    endpoint->recordings_[CanonicalRequest(call->request)].push_back(
        {number, call->request, call->result});
    ++endpoint->total_;
  }
  return endpoint;
}

ChatResult ReplayEndpoint::Complete(const ChatRequest& request) {
  const std::lock_guard lock(mutex_);
  const auto found = recordings_.find(CanonicalRequest(request));
  if (found == recordings_.end() || found->second.empty()) {
    return {.answer = {}, .failure = ChatFailure{FailureKind::kReplayMiss, Explain(request)}};
  }
  ChatResult result = std::move(found->second.front().result);
  found->second.pop_front();
  return result;
}

std::string ReplayEndpoint::Explain(const ChatRequest& request) const {
  std::string message =
      fmt::format("{}: no recorded answer for request {}", path_.string(), RequestHash(request));
  const auto same = recordings_.find(CanonicalRequest(request));
  if (same != recordings_.end()) message += " any more (its recordings are used up)";
  const Recording* next = nullptr;
  for (const auto& [key, queue] : recordings_) {
    if (!queue.empty() && (!next || queue.front().line < next->line)) next = &queue.front();
  }
  if (!next) {
    message += fmt::format("; all {} recordings are used", total_);
  } else if (same == recordings_.end()) {
    message += fmt::format("; the next unused one, line {}, differs in {}", next->line,
                           FirstDifference(next->request, request));
  }
  return message + "; replay with the same workload, options, seed and version, or record again";
}

std::size_t ReplayEndpoint::left() const {
  const std::lock_guard lock(mutex_);
  std::size_t count = 0;
  for (const auto& [key, queue] : recordings_) count += queue.size();
  return count;
}

}  // namespace tw::llm
