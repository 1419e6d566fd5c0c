// One HTTP request by libcurl. Knows nothing of chat models.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace tw::llm {

struct TransferLimits {
  double connect_s = 10;
  double total_s = 600;  // connecting included
  double stall_s = 60;   // without a byte, once the reply has begun
  std::size_t body_bytes = 8 << 20;
};

struct HttpReply {
  enum class End {
    kComplete,
    kNotConnected,  // nothing was sent: no such host, refused, TLS or proxy failure
    kLost,          // the connection broke after the request was sent
    kTimeout,
    kTooLarge,
    kStopped,
  };
  End end = End::kComplete;
  std::string reason;                          // of libcurl, when not complete
  long status = 0;                             // 0 before a status line came
  std::map<std::string, std::string> headers;  // names in small letters
  std::string body;                            // what came of it
  double seconds = 0;
};

using HttpHeaders = std::vector<std::pair<std::string, std::string>>;

// A connection that is kept open between requests. Verifies TLS certificates (against SSL_CERT_FILE
// when that is set), takes proxies from the environment as curl does, follows no redirects: they
// could carry a key to another host.
class Transfer {
 public:
  Transfer();
  ~Transfer();
  Transfer(const Transfer&) = delete;
  Transfer& operator=(const Transfer&) = delete;

  // Ends within 0.1 s when *stop becomes true; stop may be null.
  HttpReply Post(const std::string& url, const HttpHeaders& headers, const std::string& body,
                 const TransferLimits& limits, const std::atomic<bool>* stop);

 private:
  struct Handles;
  std::unique_ptr<Handles> handles_;
};

}  // namespace tw::llm
