// What tests of managers share.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <utility>

#include "base/wait_test_util.h"
#include "kube/api/core/v1.h"
#include "kube/base/fake_clock.h"
#include "kube/base/thread.h"
#include "kube/client/client.h"
#include "kube/control/manager.h"
#include "kube/testing/api_server.h"
#include "kube/transport/http_transport.h"

namespace kube::internal {

// "200 body", or the error.
inline std::string AskServer(const std::shared_ptr<Transport>& transport, const std::string& method, const std::string& target,
                             const std::string& token = "", const std::string& body = "") {
  HttpRequest request;
  request.method = method;
  request.target = target;
  request.body = body;
  if (!token.empty()) request.headers.Add("Authorization", "Bearer " + token);
  const Result<HttpResponse> answer = transport->RoundTrip(Patience(), std::move(request));
  return answer ? std::to_string(answer->code) + " " + answer->body : answer.error().ToString();
}
inline std::shared_ptr<Transport> PlainTo(std::uint16_t port) {
  return MakeHttpTransport({.base_url = "http://127.0.0.1:" + std::to_string(port)}).value();
}

// An embedded server and a client of it.
class ManagerServerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    server_ = testing::ApiServer::Start({.http = true}).value();
    client_ = std::make_unique<Client>(NewClient());
  }
  Client NewClient(ClientOptions options = {}) const { return server_->NewClient(std::move(options)).value(); }
  void Create(const std::string& name) const {
    core::v1::ConfigMap map;
    map.metadata.namespace_ = "default";
    map.metadata.name = name;
    ASSERT_TRUE(client_->Create(Patience(), map));
  }

  std::unique_ptr<testing::ApiServer> server_;
  std::unique_ptr<Client> client_;
};

// Runs a manager on a thread until the end of its scope, or Stop. A FakeClock moves at the pace of real time while the manager ends: its
// last requests may have to wait for the client's rate limit.
class RunningManager {
 public:
  explicit RunningManager(Manager& manager, const Context& ctx = Context::Background())
      : stop_(ctx.WithCancel()), clock_(std::dynamic_pointer_cast<FakeClock>(ctx.clock())), thread_("runner", [this, &manager] {
          result_ = manager.Run(stop_.first);
          over_ = true;
        }) {}
  ~RunningManager() { (void)Stop(); }
  Result<void> Stop() {
    stop_.second.Cancel();
    const Context patience = Patience();
    while (clock_ != nullptr && !over_ && patience.SleepFor(std::chrono::milliseconds(1))) clock_->Advance(std::chrono::milliseconds(1));
    return Wait();
  }
  Result<void> Wait() {
    thread_.Join();
    return result_;
  }

 private:
  std::pair<Context, CancelSource> stop_;
  const std::shared_ptr<FakeClock> clock_;  // null unless the manager's clock is one
  Result<void> result_;
  std::atomic<bool> over_ = false;
  Thread thread_;
};

}  // namespace kube::internal
