// An endpoint that speaks to a scripted server.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <utility>

#include "llm/client.h"
#include "llm/testing/scripted_server.h"

namespace tw::llm::testing {

inline constexpr const char* kKey = "sk-canary-0123456789/abc+def";

inline ChatRequest Request() {
  ChatRequest request;
  request.model = "asked-model";
  request.messages = {{"system", "You tune."}, {"user", "Propose."}};
  request.temperature = 0.2;
  request.max_tokens = 100;
  request.seed = 7;
  return request;
}

// Time runs out only at a server that is told to fall silent.
inline std::unique_ptr<HttpEndpoint> Endpoint(const ScriptedServer& server, FakeClock& clock,
                                              Scripted::Manner manner = Scripted::Manner::kWhole,
                                              int retries = 0) {
  HttpOptions options;
  options.base_url = server.url();
  options.key = kKey;
  options.retries = retries;
  options.clock = &clock;
  if (manner == Scripted::Manner::kSilent) options.limits.total_s = 0.2;
  if (manner == Scripted::Manner::kStallMidBody) options.limits.stall_s = 0.2;
  options.limits.body_bytes = 4096;
  auto endpoint = HttpEndpoint::Create(options);
  EXPECT_TRUE(endpoint.ok()) << endpoint.error().message;
  return std::move(endpoint).value();
}

class ClientTest : public ::testing::Test {
 protected:
  // Tests speak to this machine only, whatever proxy the environment names.
  static void SetUpTestSuite() { setenv("no_proxy", "127.0.0.1", 1); }
};

}  // namespace tw::llm::testing
