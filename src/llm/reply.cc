#include "llm/reply.h"

#include <curl/curl.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

#include "llm/answer_text.h"
#include "llm/server_error.h"

namespace tw::llm {
namespace {

using nlohmann::json;

std::string_view Advice(FailureKind kind) {
  switch (kind) {
    case FailureKind::kNetwork:
      return "is the server running and the address right?";
    case FailureKind::kTimeout:
      return "allow more time, or ask for shorter answers";
    case FailureKind::kRateLimited:
      return "send fewer requests at a time, or wait";
    case FailureKind::kQuota:
      return "the account has no credit left: add some, or use another endpoint";
    case FailureKind::kServer:
      return "see the server's log, or use another endpoint";
    case FailureKind::kBadRequest:
      return "check the address and the model's name";
    case FailureKind::kAuth:
      return "check OPENAI_API_KEY, and that it may use this model";
    case FailureKind::kContextOverflow:
      return "shorten the prompt or ask for fewer tokens";
    case FailureKind::kNotJson:
      return "is this the address of an OpenAI-compatible API (.../v1)?";
    case FailureKind::kEmpty:
    case FailureKind::kTruncated:
      return "allow more tokens for an answer";
    case FailureKind::kRefused:
      return "change the prompt or use another model";
    default:
      return "";
  }
}

void SetFailure(Verdict& verdict, FailureKind kind, bool retry, std::string_view what,
                std::string_view where) {
  verdict.retry = retry;
  const std::string_view advice = Advice(kind);
  verdict.result.failure =
      ChatFailure{kind, fmt::format("{}: {}{}{}", where, what, advice.empty() ? "" : "; ", advice)};
}

// Seconds to wait, from "retry-after-ms" or "Retry-After" as seconds or as a date.
std::optional<double> RetryAfter(const HttpReply& reply, std::time_t now) {
  const auto number = [&](const char* name) -> std::optional<double> {
    const auto header = reply.headers.find(name);
    if (header == reply.headers.end()) return std::nullopt;
    double value = 0;
    const char* end = header->second.data() + header->second.size();
    const auto parsed = std::from_chars(header->second.data(), end, value);
    if (parsed.ec != std::errc() || parsed.ptr != end || !(value >= 0)) return std::nullopt;
    return value;
  };
  if (const auto milliseconds = number("retry-after-ms")) return *milliseconds / 1000;
  if (const auto seconds = number("retry-after")) return seconds;
  if (const auto header = reply.headers.find("retry-after"); header != reply.headers.end()) {
    const std::time_t date = curl_getdate(header->second.c_str(), nullptr);
    if (date != -1) return std::max(0.0, std::difftime(date, now));
  }
  return std::nullopt;
}

const json* Member(const json& object, const char* name) {
  if (!object.is_object()) return nullptr;
  const auto found = object.find(name);
  return found == object.end() || found->is_null() ? nullptr : &*found;
}

std::string Text(const json& object, const char* name) {
  const json* value = Member(object, name);
  return value && value->is_string() ? value->get<std::string>() : "";
}

int64_t Tokens(const json& usage, const char* name, const char* other_name) {
  for (const char* candidate : {name, other_name}) {
    const json* value = Member(usage, candidate);
    if (!value || !value->is_number()) continue;
    const double number = value->get<double>();
    if (number >= 0 && number < 1e12) return static_cast<int64_t>(number);
  }
  return 0;
}

// The content of a message: a string, or a list of parts of which text counts.
void ReadContent(const json& message, ChatAnswer& answer) {
  const json* content = Member(message, "content");
  std::string text;
  if (content && content->is_string()) {
    text = content->get<std::string>();
  } else if (content && content->is_array()) {
    for (const json& part : *content) {
      if (part.is_string()) text += part.get<std::string>();
      const std::string type = Text(part, "type");
      if (type == "thinking" || type == "reasoning") {
        answer.reasoning += Text(part, "thinking") + Text(part, "text");
      } else {
        text += Text(part, "text");
      }
    }
  }
  for (const char* name : {"reasoning_content", "reasoning"}) {
    if (answer.reasoning.empty()) answer.reasoning = Text(message, name);
  }
  SplitAnswer split = SplitReasoning(text);
  if (!split.reasoning.empty() && !answer.reasoning.empty()) answer.reasoning += '\n';
  answer.reasoning += split.reasoning;
  answer.content = std::move(split.content);
}

void ReadCompletion(const json& body, std::string_view where, Verdict& verdict) {
  ChatAnswer& answer = verdict.result.answer;
  answer.model = Text(body, "model");
  if (const json* usage = Member(body, "usage")) {
    answer.prompt_tokens = Tokens(*usage, "prompt_tokens", "input_tokens");
    answer.completion_tokens = Tokens(*usage, "completion_tokens", "output_tokens");
  }
  const json* choices = Member(body, "choices");
  if (!choices || !choices->is_array() || choices->empty() || !choices->front().is_object()) {
    SetFailure(verdict, FailureKind::kNotJson, false,
               fmt::format("the reply has no choices: {}", Excerpt(answer.raw)), where);
    return;
  }
  const json& choice = choices->front();
  answer.finish_reason = Text(choice, "finish_reason");
  if (const json* message = Member(choice, "message")) {
    ReadContent(*message, answer);
    const std::string refusal = Text(*message, "refusal");
    if (!refusal.empty()) {
      SetFailure(verdict, FailureKind::kRefused, false,
                 fmt::format("the model refuses: {}", Excerpt(refusal)), where);
      return;
    }
  } else if (!Text(choice, "text").empty()) {  // the older completions API
    ReadContent({{"content", Text(choice, "text")}}, answer);
  }
  if (const auto error = FindServerError(choice)) {
    const ErrorKind kind = Classify(error->status, *error, false);
    SetFailure(verdict, kind.kind, kind.retry,
               fmt::format("the answer broke off: {}", Excerpt(error->message)), where);
  } else if (answer.finish_reason == "content_filter") {
    SetFailure(verdict, FailureKind::kRefused, false, "a content filter stopped the answer", where);
  } else if (answer.finish_reason == "length") {
    SetFailure(verdict, FailureKind::kTruncated, false,
               fmt::format("the answer was cut off after {} tokens", answer.completion_tokens),
               where);
  } else if (answer.content.empty()) {
    SetFailure(verdict, FailureKind::kEmpty, false,
               answer.reasoning.empty() ? "the answer has no text"
                                        : "the answer holds reasoning only and no text",
               where);
  }
}

void ReadErrorStatus(const HttpReply& reply, const json& body, std::string_view where,
                     Verdict& verdict) {
  ServerError error;
  if (const auto found = body.is_discarded() ? std::nullopt : FindServerError(body)) {
    error = *found;
  }
  const long status = reply.status >= 300 || error.status == 0 ? reply.status : error.status;
  const ErrorKind kind = Classify(status, error, verdict.retry_after_s.has_value());
  const std::string said = Excerpt(error.message.empty() ? reply.body : error.message);
  std::string what = fmt::format("HTTP {}{}{}", reply.status, said.empty() ? "" : ": ", said);
  if (reply.status >= 300 && reply.status < 400 && reply.headers.contains("location")) {
    what += fmt::format(" (redirects to {} are not followed: use that address)",
                        Excerpt(reply.headers.at("location")));
  }
  SetFailure(verdict, kind.kind, kind.retry, what, where);
  if (kind.kind == FailureKind::kContextOverflow) {
    verdict.result.failure->context_tokens = StatedContextTokens(error.message);
    if (const json* details = Member(body, "error")) {  // llama.cpp
      const int64_t size = Tokens(*details, "n_ctx", "n_ctx");
      if (size > 0) verdict.result.failure->context_tokens = size;
    }
  }
}

// True when the transfer did not complete, which is then the verdict.
bool ReadEnd(const HttpReply& reply, std::string_view where, Verdict& verdict) {
  switch (reply.end) {
    case HttpReply::End::kComplete:
      return false;
    case HttpReply::End::kNotConnected:
      SetFailure(verdict, FailureKind::kNetwork, true,
                 fmt::format("cannot connect: {}", reply.reason), where);
      return true;
    case HttpReply::End::kLost:
      SetFailure(verdict, FailureKind::kNetwork, true,
                 fmt::format("the connection was lost after {} bytes: {}", reply.body.size(),
                             reply.reason),
                 where);
      return true;
    case HttpReply::End::kTimeout:
      SetFailure(verdict, FailureKind::kTimeout, true,
                 fmt::format("no answer after {:.1f} s ({})", reply.seconds, reply.reason), where);
      return true;
    case HttpReply::End::kTooLarge:
      SetFailure(verdict, FailureKind::kNotJson, false,
                 fmt::format("the reply is larger than allowed ({} bytes came)", reply.body.size()),
                 where);
      return true;
    case HttpReply::End::kStopped:
      SetFailure(verdict, FailureKind::kStopped, false, "stopped while waiting for the answer",
                 where);
      return true;
  }
  return false;
}

}  // namespace

std::string Excerpt(std::string_view text, std::size_t limit) {
  std::string out;
  for (const char c : text) {
    const bool blank = static_cast<unsigned char>(c) <= ' ' || c == '\x7f';
    if (blank && (out.empty() || out.back() == ' ')) continue;
    if (out.size() >= limit) {
      // Not within a UTF-8 sequence.
      while (!out.empty() && (static_cast<unsigned char>(out.back()) & 0xc0) == 0x80) {
        out.pop_back();
      }
      if (!out.empty() && (static_cast<unsigned char>(out.back()) & 0x80)) out.pop_back();
      return out + "...";
    }
    out += blank ? ' ' : c;
  }
  if (!out.empty() && out.back() == ' ') out.pop_back();
  return out;
}

Verdict ReadReply(const HttpReply& reply, std::string_view where, std::time_t now) {
  Verdict verdict;
  verdict.result.answer.raw = reply.body;
  verdict.result.answer.seconds = reply.seconds;
  verdict.retry_after_s = RetryAfter(reply, now);
  if (ReadEnd(reply, where, verdict)) return verdict;
  const json body = json::parse(reply.body, nullptr, /*allow_exceptions=*/false);
  if (reply.status < 200 || reply.status >= 300 ||
      (!body.is_discarded() && FindServerError(body))) {
    ReadErrorStatus(reply, body, where, verdict);
    return verdict;
  }
  const std::size_t first = reply.body.find_first_not_of(" \t\r\n");
  if (first == std::string::npos) {
    SetFailure(verdict, FailureKind::kEmpty, true, "the reply is empty", where);
  } else if (body.is_discarded()) {
    // What begins as JSON was cut off on the way and may be whole the next time.
    const bool cut = reply.body[first] == '{';
    SetFailure(verdict, FailureKind::kNotJson, cut,
               fmt::format("{}: {}",
                           cut ? "the reply's JSON is damaged or cut off" : "the reply is not JSON",
                           Excerpt(reply.body)),
               where);
  } else {
    ReadCompletion(body, where, verdict);
  }
  return verdict;
}

}  // namespace tw::llm
