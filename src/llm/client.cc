#include "llm/client.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "base/log.h"
#include "llm/reply.h"
#include "llm/tokens.h"

namespace tw::llm {
namespace {

constexpr std::string_view kPath = "/chat/completions";
constexpr std::size_t kIdleConnections = 8;

std::string Environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

std::string Trimmed(std::string_view text) {
  while (!text.empty() && static_cast<unsigned char>(text.front()) <= ' ') text.remove_prefix(1);
  while (!text.empty() && static_cast<unsigned char>(text.back()) <= ' ') text.remove_suffix(1);
  return std::string(text);
}

bool Printable(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return static_cast<unsigned char>(c) >= ' ' && c != '\x7f'; });
}

bool NamesASecret(std::string name) {
  for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  for (const char* word : {"key", "auth", "token", "secret", "cookie", "password"}) {
    if (name.find(word) != std::string::npos) return true;
  }
  return false;
}

std::vector<std::string> Secrets(const HttpOptions& options) {
  std::vector<std::string> secrets = {options.key};
  for (const auto& [name, value] : options.headers) {
    if (NamesASecret(name)) secrets.push_back(value);
  }
  return secrets;
}

// Where the server told no usage, what it may have charged for at most.
void EstimateUsage(const ChatRequest& request, const HttpReply& reply, ChatAnswer& answer) {
  if (answer.prompt_tokens > 0 || answer.completion_tokens > 0) return;
  const bool answered = reply.end == HttpReply::End::kComplete;
  if (reply.end == HttpReply::End::kNotConnected || (answered && reply.status >= 300)) return;
  answer.usage_estimated = true;
  answer.prompt_tokens = EstimateTokens(request.messages);
  answer.completion_tokens = answered
                                 ? EstimateTokens(answer.content) + EstimateTokens(answer.reasoning)
                                 : std::max(0, request.max_tokens.value_or(0));
}

ChatFailure Stop() { return {FailureKind::kStopped, "stopped before an answer came"}; }

}  // namespace

Result<std::string> ChatUrl(const std::string& base) {
  const std::string text = Trimmed(base);
  const auto bad = [](std::string_view why) {
    // The text itself is not repeated: it may hold a password.
    return Fail(Code::kUsage,
                "the language model's address {}; give one like http://localhost:8080/v1", why);
  };
  const std::size_t scheme = text.find("://");
  const std::string protocol = text.substr(0, std::min(scheme, text.size()));
  if (protocol != "http" && protocol != "https") return bad("does not begin with http(s)://");
  if (!Printable(text) || text.find(' ') != std::string::npos) return bad("has blanks in it");
  const std::size_t query_begin = std::min(text.find_first_of("?#"), text.size());
  std::string query = text.substr(query_begin);
  if (query.find('#') != std::string::npos) return bad("has a # in it");
  std::string address = text.substr(0, query_begin);
  const std::size_t host_begin = scheme + 3;
  const std::size_t host_end = std::min(address.find('/', host_begin), address.size());
  const std::string host = address.substr(host_begin, host_end - host_begin);
  if (host.empty()) return bad("names no host");
  if (host.find('@') != std::string::npos) {
    return bad("holds a user or password; set OPENAI_API_KEY and leave it out");
  }
  while (address.back() == '/' && address.size() > host_end) address.pop_back();
  if (address.ends_with(kPath)) address.resize(address.size() - kPath.size());
  while (address.back() == '/' && address.size() > host_end) address.pop_back();
  if (address.size() == host_end) address += "/v1";
  return address + std::string(kPath) + query;
}

HttpOptions OptionsFromEnvironment(const std::string& base_url) {
  HttpOptions options;
  options.key = Environment("OPENAI_API_KEY");
  if (const std::string url = Environment("OPENAI_BASE_URL"); !url.empty()) options.base_url = url;
  if (!base_url.empty()) options.base_url = base_url;
  if (const std::string id = Environment("OPENAI_ORG_ID"); !id.empty()) {
    options.headers.emplace_back("OpenAI-Organization", id);
  }
  if (const std::string id = Environment("OPENAI_PROJECT_ID"); !id.empty()) {
    options.headers.emplace_back("OpenAI-Project", id);
  }
  return options;
}

// One HTTP request and what came of it.
struct HttpEndpoint::Attempt {
  Verdict verdict;
  HttpReply::End end = HttpReply::End::kComplete;
  long status = 0;
  std::string body;
};

Result<std::unique_ptr<HttpEndpoint>> HttpEndpoint::Create(const HttpOptions& given) {
  TW_TRY(std::string url, ChatUrl(given.base_url));
  HttpOptions options = given;
  options.key = Trimmed(options.key);
  if (!Printable(options.key)) {
    return Fail(Code::kUsage, "OPENAI_API_KEY holds control characters; set it to the key alone");
  }
  for (const auto& [name, value] : options.headers) {
    if (name.empty() || !Printable(name) || !Printable(value)) {
      return Fail(Code::kUsage, "HTTP header \"{}\" holds control characters or has no name",
                  Excerpt(name));
    }
  }
  return std::unique_ptr<HttpEndpoint>(new HttpEndpoint(options, std::move(url)));
}

HttpEndpoint::HttpEndpoint(const HttpOptions& options, std::string url)
    : options_(options),
      url_(std::move(url)),
      where_(url_.substr(0, url_.find('?'))),
      headers_(options.headers),
      redact_(Secrets(options)),
      random_(options.seed) {
  headers_.emplace_back("Content-Type", "application/json");
  headers_.emplace_back("Accept", "application/json");
  if (!options_.key.empty()) headers_.emplace_back("Authorization", "Bearer " + options_.key);
}

std::unique_ptr<Transfer> HttpEndpoint::TakeTransfer() {
  const std::lock_guard lock(mutex_);
  if (idle_.empty()) return std::make_unique<Transfer>();
  std::unique_ptr<Transfer> transfer = std::move(idle_.back());
  idle_.pop_back();
  return transfer;
}

void HttpEndpoint::GiveBack(std::unique_ptr<Transfer> transfer, HttpReply::End end) {
  const std::lock_guard lock(mutex_);
  // A server that died refuses connections until it is up again: that is no reply.
  if (end == HttpReply::End::kLost) ++lost_in_a_row_;
  if (end == HttpReply::End::kComplete) lost_in_a_row_ = 0;
  if (idle_.size() < kIdleConnections) idle_.push_back(std::move(transfer));
}

Result<std::string> HttpEndpoint::Body(const ChatRequest& request) {
  const std::lock_guard lock(mutex_);
  return parameters_.Body(request);
}

HttpEndpoint::Attempt HttpEndpoint::Send(const ChatRequest& request) {
  Attempt attempt;
  ChatResult& result = attempt.verdict.result;
  const Result<std::string> body = Body(request);
  if (!body.ok()) {
    result.failure = ChatFailure{FailureKind::kBadRequest, body.error().message};
    return attempt;
  }
  if (options_.budget) {
    if (auto refused = options_.budget->Reserve(request)) {
      result.failure = std::move(refused);
      return attempt;
    }
  }
  std::unique_ptr<Transfer> transfer = TakeTransfer();
  HttpReply reply = transfer->Post(url_, headers_, *body, options_.limits, options_.stop);
  GiveBack(std::move(transfer), reply.end);
  // Before anything reads it, and after: escapes in JSON could hide a key from the first pass.
  reply.body = redact_(reply.body);
  reply.reason = redact_(reply.reason);
  for (auto& [name, value] : reply.headers) value = redact_(value);
  attempt.verdict = ReadReply(reply, where_, options_.clock->WallSeconds());
  ChatAnswer& answer = result.answer;
  for (std::string* text :
       {&answer.content, &answer.reasoning, &answer.model, &answer.finish_reason}) {
    std::string clean = redact_(*text);
    if (clean == *text) continue;
    *text = std::move(clean);
    answer.raw.clear();
  }
  if (result.failure) result.failure->message = redact_(result.failure->message);
  EstimateUsage(request, reply, answer);
  result.requests = 1;
  if (options_.budget) options_.budget->Settle(request, result);
  attempt.end = reply.end;
  attempt.status = reply.status;
  attempt.body = std::move(reply.body);
  return attempt;
}

bool HttpEndpoint::Adapt(const ChatRequest& request, const Attempt& attempt) {
  const FailureKind kind = attempt.verdict.result.failure->kind;
  const std::lock_guard lock(mutex_);
  std::optional<std::string> change;
  if (kind == FailureKind::kBadRequest || (kind == FailureKind::kServer && attempt.status <= 501)) {
    change = parameters_.Learn(request, attempt.body);
  } else if (attempt.end == HttpReply::End::kLost && lost_in_a_row_ >= 2) {
    // A grammar can kill a llama.cpp server. It was given one chance to be a coincidence.
    change = parameters_.DropConstraint(request);
    lost_in_a_row_ = 0;
  }
  if (change) spdlog::warn("{}: {}", where_, *change);
  return change.has_value();
}

double HttpEndpoint::WaitSeconds(int attempt, double at_least) {
  const std::lock_guard lock(mutex_);
  const double most = std::min(options_.max_wait_s, std::ldexp(options_.backoff_s, attempt));
  return at_least + random_.Unit() * most;
}

ChatResult HttpEndpoint::Complete(const ChatRequest& request) {
  const double start = options_.clock->Seconds();
  int requests = 0, retries = 0;
  const auto finish = [&](ChatResult result, std::string_view remark = "") {
    result.requests = requests;
    result.answer.seconds = options_.clock->Seconds() - start;
    if (result.failure) {
      result.failure->message += remark;
      if (requests > 1) {
        result.failure->message +=
            fmt::format(" ({} requests in {:.1f} s)", requests, result.answer.seconds);
      }
    }
    return result;
  };
  while (true) {
    if (Stopped()) return finish({.answer = {}, .failure = Stop()});
    Attempt attempt = Send(request);
    ChatResult& result = attempt.verdict.result;
    requests += result.requests;
    if (result.ok() || result.requests == 0) return finish(std::move(result));
    const bool adapted = Adapt(request, attempt);
    const bool refused_at_once = adapted && attempt.end == HttpReply::End::kComplete;
    if (refused_at_once) continue;  // at most once a parameter, so this ends
    // Each timeout may have taken minutes.
    const bool slow = result.failure->kind == FailureKind::kTimeout;
    const int allowed = slow ? std::min(1, options_.retries) : options_.retries;
    if (!attempt.verdict.retry || retries >= allowed) return finish(std::move(result));
    const double asked = attempt.verdict.retry_after_s.value_or(0);
    if (asked > options_.max_wait_s) {
      return finish(std::move(result),
                    fmt::format(" (it asks to wait {:.0f} s, more than the {:.0f} s allowed)",
                                asked, options_.max_wait_s));
    }
    const double wait = WaitSeconds(retries++, asked);
    const double before = options_.clock->Seconds();
    const bool waited = options_.clock->Sleep(wait, options_.stop);
    if (options_.budget) options_.budget->AddSeconds(options_.clock->Seconds() - before);
    if (!waited) return finish({.answer = {}, .failure = Stop()});
  }
}

}  // namespace tw::llm
