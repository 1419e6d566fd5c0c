#include "llm/parameters.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <nlohmann/json.hpp>

#include "llm/server_error.h"

namespace tw::llm {
namespace {

// The schema before the grammar: a server that takes one of them at a time names both, and the
// grammar says more.
constexpr std::array<std::string_view, 6> kOptional = {"response_format", "grammar",    "seed",
                                                       "temperature",     "max_tokens", "stop"};
constexpr std::array<std::string_view, 22> kRefusals = {
    "unsupported",   "not support", "unknown",       "unrecognized", "unexpected",
    "not permitted", "not allowed", "invalid",       "extra",        "failed",
    "cannot",        "can't",       "must be",       "not both",     "too large",
    "forbidden",     "at most",     "not available", "less than",    "does not accept",
    "error parsing", "incompatible"};

// Whether `name` stands in `text` as a whole identifier.
bool Names(std::string_view text, std::string_view name) {
  const auto part = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; };
  for (std::size_t at = 0; (at = text.find(name, at)) != std::string_view::npos; ++at) {
    const std::size_t end = at + name.size();
    if ((at == 0 || !part(text[at - 1])) && (end == text.size() || !part(text[end]))) return true;
  }
  return false;
}

}  // namespace

bool Parameters::Carries(const ChatRequest& request, std::string_view name) const {
  if (refused_.contains(name)) return false;
  if (name == "response_format") return !request.schema.empty();
  if (name == "grammar") return !request.grammar.empty();
  if (name == "seed") return request.seed.has_value();
  if (name == "temperature") return request.temperature.has_value();
  if (name == "max_tokens") return request.max_tokens.has_value();
  return !request.stop.empty();
}

Result<std::string> Parameters::Body(const ChatRequest& request) const {
  using nlohmann::ordered_json;
  ordered_json body = {{"model", request.model}, {"messages", ordered_json::array()}};
  for (const Message& message : request.messages) {
    body["messages"].push_back({{"role", message.role}, {"content", message.content}});
  }
  if (Carries(request, "temperature")) body["temperature"] = *request.temperature;
  if (Carries(request, "max_tokens")) {
    body[renamed_max_tokens_ ? "max_completion_tokens" : "max_tokens"] = *request.max_tokens;
  }
  if (Carries(request, "seed")) body["seed"] = *request.seed;
  if (Carries(request, "stop")) body["stop"] = request.stop;
  if (Carries(request, "grammar")) body["grammar"] = request.grammar;
  if (Carries(request, "response_format")) {
    // Ordered: models answer in the order of the schema, and reasons belong before decisions.
    ordered_json schema = ordered_json::parse(request.schema, nullptr, false);
    if (!schema.is_object()) {
      return Fail(Code::kInternal, "the JSON schema for the answer is not a JSON object");
    }
    body["response_format"] = {
        {"type", "json_schema"},
        {"json_schema", {{"name", "answer"}, {"strict", true}, {"schema", std::move(schema)}}}};
  }
  return body.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

std::optional<std::string> Parameters::Learn(const ChatRequest& request,
                                             std::string_view error_body) {
  const auto json = nlohmann::json::parse(error_body, nullptr, false);
  const auto error = json.is_discarded() ? std::nullopt : FindServerError(json);
  std::string text = error ? error->tags + error->message : std::string(error_body);
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  const bool refusal = std::any_of(kRefusals.begin(), kRefusals.end(), [&](std::string_view word) {
    return text.find(word) != std::string::npos;
  });
  if (!refusal) return std::nullopt;
  for (const std::string_view name : kOptional) {
    if (!Carries(request, name)) continue;
    bool named = Names(text, name);
    if (name == "response_format") {
      // llama.cpp makes a grammar of the schema and speaks of that.
      named = named || Names(text, "json_schema") || Names(text, "schema") ||
              (Names(text, "grammar") && !Carries(request, "grammar"));
    } else if (name == "max_tokens") {
      named = named || Names(text, "max_completion_tokens");
    }
    if (named) return Refuse(std::string(name));
  }
  return std::nullopt;
}

std::optional<std::string> Parameters::DropConstraint(const ChatRequest& request) {
  for (const char* name : {"grammar", "response_format"}) {
    if (Carries(request, name)) return Refuse(name);
  }
  return std::nullopt;
}

std::string Parameters::Refuse(const std::string& name) {
  if (name == "max_tokens" && !renamed_max_tokens_) {
    renamed_max_tokens_ = true;
    return "the server refuses max_tokens; going on with max_completion_tokens";
  }
  refused_.insert(name);
  return fmt::format("the server refuses {0}; going on without {0}", name);
}

}  // namespace tw::llm
