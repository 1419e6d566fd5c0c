#include "llm/chat_json.h"

#include <nlohmann/json.hpp>

#include "base/hash.h"

namespace tw::llm {
namespace {

using nlohmann::ordered_json;

constexpr int kVersion = 1;

std::string Dump(const ordered_json& json) {
  return json.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

ordered_json ToJson(const ChatRequest& request) {
  ordered_json json = {{"model", request.model}, {"messages", ordered_json::array()}};
  for (const Message& message : request.messages) {
    json["messages"].push_back({{"role", message.role}, {"content", message.content}});
  }
  if (request.temperature) json["temperature"] = *request.temperature;
  if (request.max_tokens) json["max_tokens"] = *request.max_tokens;
  if (request.seed) json["seed"] = *request.seed;
  if (!request.schema.empty()) json["schema"] = request.schema;
  if (!request.grammar.empty()) json["grammar"] = request.grammar;
  if (!request.stop.empty()) json["stop"] = request.stop;
  return json;
}

template <typename T>
std::optional<T> Optional(const ordered_json& json, const char* name) {
  const auto found = json.find(name);
  return found == json.end() ? std::nullopt : std::optional<T>(found->get<T>());
}

ChatRequest RequestFromJson(const ordered_json& json) {
  ChatRequest request;
  request.model = json.at("model").get<std::string>();
  for (const ordered_json& message : json.at("messages")) {
    request.messages.push_back(
        {message.at("role").get<std::string>(), message.at("content").get<std::string>()});
  }
  request.temperature = Optional<double>(json, "temperature");
  request.max_tokens = Optional<int>(json, "max_tokens");
  request.seed = Optional<int64_t>(json, "seed");
  request.schema = json.value("schema", "");
  request.grammar = json.value("grammar", "");
  request.stop = json.value("stop", std::vector<std::string>());
  return request;
}

ChatAnswer AnswerFromJson(const ordered_json& json) {
  ChatAnswer answer;
  answer.content = json.at("content").get<std::string>();
  answer.reasoning = json.value("reasoning", "");
  answer.finish_reason = json.value("finish_reason", "");
  answer.prompt_tokens = json.value("prompt_tokens", int64_t{0});
  answer.completion_tokens = json.value("completion_tokens", int64_t{0});
  answer.usage_estimated = json.value("usage_estimated", false);
  answer.seconds = json.value("seconds", 0.0);
  answer.model = json.value("model", "");
  return answer;
}

RecordedCall CallFromJson(const ordered_json& json) {
  RecordedCall call;
  call.request = RequestFromJson(json.at("request"));
  call.result.answer = AnswerFromJson(json.at("answer"));
  call.result.requests = json.at("requests").get<int>();
  if (const auto failure = json.find("failure"); failure != json.end()) {
    const auto kind = ParseFailureKind(failure->at("kind").get<std::string>());
    call.result.failure =
        ChatFailure{kind.value_or(FailureKind::kServer), failure->at("message").get<std::string>(),
                    failure->value("context_tokens", int64_t{0})};
  }
  return call;
}

}  // namespace

std::string CanonicalRequest(const ChatRequest& request) { return Dump(ToJson(request)); }

std::string RequestHash(const ChatRequest& request) {
  return fmt::format("{:016x}", Hash64(CanonicalRequest(request)));
}

std::string RecordingLine(const ChatRequest& request, const ChatResult& result) {
  const ChatAnswer& answer = result.answer;
  ordered_json json = {{"version", kVersion},
                       {"hash", RequestHash(request)},
                       {"request", ToJson(request)},
                       {"answer",
                        {{"content", answer.content},
                         {"reasoning", answer.reasoning},
                         {"finish_reason", answer.finish_reason},
                         {"prompt_tokens", answer.prompt_tokens},
                         {"completion_tokens", answer.completion_tokens},
                         {"usage_estimated", answer.usage_estimated},
                         {"seconds", answer.seconds},
                         {"model", answer.model}}},
                       {"requests", result.requests}};
  if (result.failure) {
    json["failure"] = {{"kind", Name(result.failure->kind)},
                       {"message", result.failure->message},
                       {"context_tokens", result.failure->context_tokens}};
  }
  return Dump(json);
}

Result<RecordedCall> ParseRecordingLine(const std::string& line) {
  try {
    const ordered_json json = ordered_json::parse(line);
    if (json.at("version") != kVersion) {
      return Fail(Code::kUsage, "recorded by another version of Tensorwright; record it again");
    }
    return CallFromJson(json);
  } catch (const nlohmann::json::exception& error) {
    return Fail(Code::kUsage, "not a recorded call: {}", error.what());
  }
}

}  // namespace tw::llm
