#include "llm/server_error.h"

#include <algorithm>
#include <cctype>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <string_view>

namespace tw::llm {
namespace {

using nlohmann::json;

std::string Lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

bool HasAny(const std::string& text, std::initializer_list<std::string_view> words) {
  return std::any_of(words.begin(), words.end(),
                     [&](std::string_view word) { return text.find(word) != std::string::npos; });
}

void AddTag(const json& object, const char* name, ServerError& error) {
  const auto value = object.find(name);
  if (value == object.end()) return;
  if (value->is_string()) {
    error.tags += Lower(value->get<std::string>()) + " ";
  } else if (value->is_number_integer()) {
    const auto number = value->get<int64_t>();
    if (number >= 300 && number < 600) error.status = static_cast<long>(number);
  }
}

// FastAPI's list of {"loc": ["body", "seed"], "msg": "extra fields not permitted"}.
std::string DetailText(const json& detail) {
  if (detail.is_string()) return detail.get<std::string>();
  std::string text;
  if (!detail.is_array()) return text;
  for (const json& item : detail) {
    if (!item.is_object()) continue;
    if (const auto where = item.find("loc"); where != item.end() && where->is_array()) {
      for (const json& part : *where) {
        if (part.is_string()) text += part.get<std::string>() + " ";
      }
    }
    if (const auto what = item.find("msg"); what != item.end() && what->is_string()) {
      text += what->get<std::string>() + "; ";
    }
  }
  return text;
}

void ReadObject(const json& object, ServerError& error) {
  if (const auto text = object.find("message"); text != object.end() && text->is_string()) {
    error.message = text->get<std::string>();
  }
  for (const char* name : {"type", "code", "param", "status"}) AddTag(object, name, error);
}

}  // namespace

std::optional<ServerError> FindServerError(const json& body) {
  if (body.is_array() && !body.empty()) {
    return body.front().is_object() ? FindServerError(body.front()) : std::nullopt;
  }
  if (!body.is_object()) return std::nullopt;
  ServerError error;
  if (const auto value = body.find("error"); value != body.end() && !value->empty()) {
    if (value->is_object()) {
      ReadObject(*value, error);
    } else if (value->is_string()) {
      error.message = value->get<std::string>();
      ServerError outer;
      ReadObject(body, outer);
      error.tags = outer.tags;
      error.status = outer.status;
      if (!outer.message.empty()) error.message += ": " + outer.message;
    } else {
      return std::nullopt;
    }
    return error;
  }
  if (body.contains("choices")) return std::nullopt;
  if (const auto detail = body.find("detail"); detail != body.end()) {
    error.message = DetailText(*detail);
  } else if (body.contains("message")) {
    ReadObject(body, error);
  }
  if (error.message.empty()) return std::nullopt;
  return error;
}

ErrorKind Classify(long status, const ServerError& error, bool asks_to_wait) {
  const std::string text = error.tags + Lower(error.message);
  if (status == 402 ||
      HasAny(text, {"insufficient_quota", "exceeded your current quota", "credit balance",
                    "insufficient balance", "insufficient credit", "more credits",
                    "billing_hard_limit", "billing_not_active"})) {
    if (status == 429 && (asks_to_wait || HasAny(text, {"retry in", "retrydelay"}))) {
      return {FailureKind::kRateLimited, true};
    }
    return {FailureKind::kQuota, false};
  }
  if (status == 401 || status == 403 ||
      HasAny(text,
             {"invalid_api_key", "incorrect api key", "invalid api key", "authentication_error"})) {
    return {FailureKind::kAuth, false};
  }
  if (status == 429 || HasAny(text, {"rate_limit", "rate limit", "too many requests"})) {
    return {FailureKind::kRateLimited, true};
  }
  if (status == 413 ||
      HasAny(text,
             {"context_length_exceeded", "exceed_context_size", "maximum context length",
              "context size", "context window", "context limit", "context length",
              "prompt is too long", "input is too long", "maximum prompt length", "too many tokens",
              "too large for model", "maximum number of tokens allowed", "reduce the length of the",
              "larger than the max", "max_new_tokens` must be <=", "trying to keep the first"})) {
    return {FailureKind::kContextOverflow, false};
  }
  if (HasAny(text, {"content_filter", "content_policy", "content policy"})) {
    return {FailureKind::kRefused, false};
  }
  if (status == 408 || status == 504) return {FailureKind::kTimeout, true};
  if (status == 409 || status == 425 || status >= 500) {
    return {FailureKind::kServer, status != 501 && status != 505};
  }
  if (status >= 300) return {FailureKind::kBadRequest, false};
  // An error under HTTP 200 that says no status.
  if (HasAny(text, {"invalid_request", "invalid request", "not_found", "unsupported"})) {
    return {FailureKind::kBadRequest, false};
  }
  return {FailureKind::kServer, true};
}

int64_t StatedContextTokens(const std::string& message) {
  const std::string text = Lower(message);
  // The first number after the words; several vendors put the prompt's own size before them.
  for (const std::string_view words :
       {"maximum context length", "context size", "maximum prompt length", "tokens >",
        "must be <=", "number of tokens allowed", "context length of", "context window of"}) {
    const std::size_t at = text.find(words);
    if (at == std::string::npos) continue;
    const std::size_t digit = text.find_first_of("0123456789", at + words.size());
    if (digit == std::string::npos || digit > at + words.size() + 20) continue;
    int64_t tokens = 0;
    for (std::size_t i = digit; i < text.size() && tokens < 1'000'000'000; ++i) {
      const auto c = static_cast<unsigned char>(text[i]);
      if (c == ',' && i + 1 < text.size() &&
          std::isdigit(static_cast<unsigned char>(text[i + 1]))) {
        continue;
      }
      if (!std::isdigit(c)) break;
      tokens = tokens * 10 + (c - '0');
    }
    return tokens;
  }
  return 0;
}

}  // namespace tw::llm
