#include "llm/transfer.h"

#include <curl/curl.h>
#include <fmt/format.h>

#include <cctype>
#include <chrono>
#include <cstdlib>
#include <mutex>
#include <string_view>

namespace tw::llm {
namespace {

using SteadyClock = std::chrono::steady_clock;

double SecondsSince(SteadyClock::time_point start) {
  return std::chrono::duration<double>(SteadyClock::now() - start).count();
}

struct Receiver {
  HttpReply reply;
  std::size_t limit = 0;
  bool too_large = false;
  SteadyClock::time_point last_byte;
};

std::size_t OnBody(char* data, std::size_t size, std::size_t count, void* context) {
  auto& receiver = *static_cast<Receiver*>(context);
  const std::size_t bytes = size * count;
  receiver.last_byte = SteadyClock::now();
  if (receiver.reply.body.size() + bytes > receiver.limit) {
    receiver.too_large = true;
    return 0;  // libcurl ends the transfer
  }
  receiver.reply.body.append(data, bytes);
  return bytes;
}

std::size_t OnHeader(char* data, std::size_t size, std::size_t count, void* context) {
  auto& receiver = *static_cast<Receiver*>(context);
  std::string_view line(data, size * count);
  receiver.last_byte = SteadyClock::now();
  if (line.substr(0, 5) == "HTTP/") receiver.reply.headers.clear();  // after 100 Continue
  const std::size_t colon = line.find(':');
  if (colon != std::string_view::npos) {
    std::string name(line.substr(0, colon));
    for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    std::string_view value = line.substr(colon + 1);
    while (!value.empty() && (value.front() == ' ' || value.front() == '\t')) {
      value.remove_prefix(1);
    }
    while (!value.empty() && static_cast<unsigned char>(value.back()) <= ' ') {
      value.remove_suffix(1);
    }
    receiver.reply.headers[name] = std::string(value);
  }
  return size * count;
}

long Milliseconds(double seconds) { return static_cast<long>(seconds * 1000) + 1; }

bool BeforeSending(CURLcode code) {
  switch (code) {
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_RESOLVE_PROXY:
    case CURLE_COULDNT_CONNECT:
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_PROXY:
    case CURLE_URL_MALFORMAT:
    case CURLE_UNSUPPORTED_PROTOCOL:
      return true;
    default:
      return false;
  }
}

}  // namespace

struct Transfer::Handles {
  CURL* easy = curl_easy_init();
  CURLM* multi = curl_multi_init();
  ~Handles() {
    curl_multi_cleanup(multi);
    curl_easy_cleanup(easy);
  }
};

Transfer::Transfer() {
  static std::once_flag once;
  std::call_once(once, [] { curl_global_init(CURL_GLOBAL_DEFAULT); });
  handles_ = std::make_unique<Handles>();
}

Transfer::~Transfer() = default;

HttpReply Transfer::Post(const std::string& url, const HttpHeaders& headers,
                         const std::string& body, const TransferLimits& limits,
                         const std::atomic<bool>* stop) {
  const auto start = SteadyClock::now();
  Receiver receiver;
  receiver.limit = limits.body_bytes;
  CURL* easy = handles_->easy;
  CURLM* multi = handles_->multi;
  if (!easy || !multi) {
    receiver.reply.end = HttpReply::End::kNotConnected;
    receiver.reply.reason = "libcurl cannot start (out of memory)";
    return receiver.reply;
  }
  char reason[CURL_ERROR_SIZE] = "";
  curl_slist* lines = nullptr;
  for (const auto& [name, value] : headers) {
    lines = curl_slist_append(lines, fmt::format("{}: {}", name, value).c_str());
  }
  // Without this libcurl waits for "100 Continue", which many servers never send.
  lines = curl_slist_append(lines, "Expect:");

  curl_easy_reset(easy);
  curl_easy_setopt(easy, CURLOPT_URL, url.c_str());
  curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(easy, CURLOPT_HTTPHEADER, lines);
  // A key is for the server: a proxy gets no header of ours.
  curl_easy_setopt(easy, CURLOPT_HEADEROPT, static_cast<long>(CURLHEADER_SEPARATE));
  curl_easy_setopt(easy, CURLOPT_POST, 1L);
  curl_easy_setopt(easy, CURLOPT_POSTFIELDS, body.data());
  curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(body.size()));
  curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
  curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, 1L);
  curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, 2L);
  if (const char* bundle = std::getenv("SSL_CERT_FILE"); bundle && *bundle) {
    curl_easy_setopt(easy, CURLOPT_CAINFO, bundle);
  }
  curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(easy, CURLOPT_USERAGENT, "tensorwright");
  curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, Milliseconds(limits.connect_s));
  curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, Milliseconds(limits.total_s));
  curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, OnBody);
  curl_easy_setopt(easy, CURLOPT_WRITEDATA, &receiver);
  curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, OnHeader);
  curl_easy_setopt(easy, CURLOPT_HEADERDATA, &receiver);
  curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, reason);

  HttpReply& reply = receiver.reply;
  CURLcode code = CURLE_OK;
  bool stalled = false, stopped = false;
  CURLMcode multi_code = curl_multi_add_handle(multi, easy);
  // A loop of our own: curl_easy_perform looks at a stop flag once a second only.
  for (int running = 1; running > 0 && multi_code == CURLM_OK && !stalled && !stopped;) {
    multi_code = curl_multi_perform(multi, &running);
    if (multi_code == CURLM_OK && running > 0) {
      multi_code = curl_multi_poll(multi, nullptr, 0, 50, nullptr);
      stopped = stop && stop->load();
      stalled = receiver.last_byte != SteadyClock::time_point() &&
                SecondsSince(receiver.last_byte) > limits.stall_s;
    }
  }
  for (int left = 0; const CURLMsg* message = curl_multi_info_read(multi, &left);) {
    if (message->msg == CURLMSG_DONE) code = message->data.result;
  }
  curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &reply.status);
  curl_off_t connected_us = 0;
  curl_easy_getinfo(easy, CURLINFO_PRETRANSFER_TIME_T, &connected_us);
  curl_multi_remove_handle(multi, easy);
  curl_slist_free_all(lines);

  reply.seconds = SecondsSince(start);
  reply.reason = reason[0] ? reason : curl_easy_strerror(code);
  if (stopped) {
    reply.end = HttpReply::End::kStopped;
  } else if (stalled) {
    reply.end = HttpReply::End::kTimeout;
    reply.reason = fmt::format("no byte for {} s", limits.stall_s);
  } else if (receiver.too_large) {
    reply.end = HttpReply::End::kTooLarge;
  } else if (multi_code != CURLM_OK) {
    reply.end = HttpReply::End::kLost;
    reply.reason = curl_multi_strerror(multi_code);
  } else if (code == CURLE_OPERATION_TIMEDOUT) {
    reply.end = connected_us > 0 ? HttpReply::End::kTimeout : HttpReply::End::kNotConnected;
  } else if (BeforeSending(code)) {
    reply.end = HttpReply::End::kNotConnected;
  } else if (code != CURLE_OK) {
    reply.end = HttpReply::End::kLost;
  }
  return std::move(receiver.reply);
}

}  // namespace tw::llm
