// A chat server that answers as a test tells it, and a clock that does not wait.
#pragma once

#include <httplib.h>

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "llm/clock.h"

namespace tw::llm::testing {

struct Scripted {
  enum class Manner {
    kWhole,
    kCloseMidBody,  // half of the body, then the connection ends
    kStallMidBody,  // half of the body, then silence
    kSilent,        // nothing at all
  };
  int status = 200;
  std::string body = {};
  std::vector<std::pair<std::string, std::string>> headers = {};
  Manner manner = Manner::kWhole;
};

struct Received {
  std::string path;  // with the query
  httplib::Headers headers;
  std::string body = {};
  nlohmann::json json() const { return nlohmann::json::parse(body, nullptr, false); }
};

class ScriptedServer {
 public:
  explicit ScriptedServer(std::vector<Scripted> script = {})
      : script_(script.begin(), script.end()) {
    server_.Post(".*", [this](const httplib::Request& request, httplib::Response& response) {
      Answer(request, response);
    });
    server_.set_tcp_nodelay(true);
    port_ = server_.bind_to_any_port("127.0.0.1");
    thread_ = std::thread([this] { server_.listen_after_bind(); });
    while (!server_.is_running()) std::this_thread::yield();
  }
  ~ScriptedServer() {
    {
      const std::lock_guard lock(mutex_);
      ending_ = true;
    }
    changed_.notify_all();
    server_.stop();
    thread_.join();
  }

  void Add(Scripted reply) {
    const std::lock_guard lock(mutex_);
    script_.push_back(std::move(reply));
  }
  std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }
  std::vector<Received> received() const {
    const std::lock_guard lock(mutex_);
    return received_;
  }
  void WaitForRequest() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !received_.empty(); });
  }

 private:
  void Answer(const httplib::Request& request, httplib::Response& response) {
    Scripted reply{599, "the script is at its end", {}, Scripted::Manner::kWhole};
    {
      const std::lock_guard lock(mutex_);
      received_.push_back({request.target, request.headers, request.body});
      if (!script_.empty()) {
        reply = script_.front();
        script_.pop_front();
      }
    }
    changed_.notify_all();
    if (reply.manner == Scripted::Manner::kSilent) WaitForEnd();
    response.status = reply.status;
    for (const auto& [name, value] : reply.headers) response.set_header(name.c_str(), value);
    if (reply.manner == Scripted::Manner::kWhole || reply.manner == Scripted::Manner::kSilent) {
      response.set_content(reply.body, "application/json");
      return;
    }
    response.set_content_provider(reply.body.size(), "application/json",
                                  [this, reply](std::size_t, std::size_t, httplib::DataSink& sink) {
                                    sink.write(reply.body.data(), reply.body.size() / 2);
                                    if (reply.manner == Scripted::Manner::kStallMidBody)
                                      WaitForEnd();
                                    return false;
                                  });
  }
  void WaitForEnd() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return ending_; });
  }

  httplib::Server server_;
  int port_ = 0;
  std::thread thread_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool ending_ = false;
  std::deque<Scripted> script_;
  std::vector<Received> received_;
};

// Sleeping moves it on and takes no time.
class FakeClock : public Clock {
 public:
  double Seconds() override { return now_; }
  std::time_t WallSeconds() override { return 1'000'000'000 + static_cast<std::time_t>(now_); }
  bool Sleep(double seconds, const std::atomic<bool>* stop) override {
    waits.push_back(seconds);
    now_ += seconds;
    if (on_sleep) on_sleep();
    return !(stop && stop->load());
  }
  std::vector<double> waits;
  std::function<void()> on_sleep;

 private:
  double now_ = 0;
};

// A completion; `choice` replaces members of the choice, `top` members of the body.
inline std::string Completion(const std::string& content, nlohmann::json choice = {},
                              nlohmann::json top = {}) {
  nlohmann::json body = {
      {"id", "1"},
      {"object", "chat.completion"},
      {"model", "served-model"},
      {"choices",
       {{{"index", 0},
         {"message", {{"role", "assistant"}, {"content", content}}},
         {"finish_reason", "stop"}}}},
      {"usage", {{"prompt_tokens", 11}, {"completion_tokens", 7}, {"total_tokens", 18}}}};
  if (!choice.is_null()) body["choices"][0].update(choice);
  if (!top.is_null()) body.update(top);
  return body.dump();
}

inline std::string ErrorBody(const std::string& message, nlohmann::json more = {}) {
  nlohmann::json error = {{"message", message}};
  if (!more.is_null()) error.update(more);
  return nlohmann::json{{"error", error}}.dump();
}

}  // namespace tw::llm::testing
