// Requests and results as JSON, for recordings.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "base/result.h"
#include "llm/chat.h"

namespace tw::llm {

// The same text for equal requests; also what their hash is of.
std::string CanonicalRequest(const ChatRequest& request);
std::string RequestHash(const ChatRequest& request);  // 16 hexadecimal digits

// One line of a recording, without its newline; the raw reply is left out.
std::string RecordingLine(const ChatRequest& request, const ChatResult& result);

struct RecordedCall {
  ChatRequest request;
  ChatResult result;
};
// Errors are kUsage and say what is wrong with the line.
Result<RecordedCall> ParseRecordingLine(const std::string& line);

}  // namespace tw::llm
