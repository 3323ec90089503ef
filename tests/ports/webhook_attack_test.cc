// Attacks on the port that API servers call webhooks at: HTTPS with the limits of HttpLimits::ForWebhooks(). While they go on, calls are
// answered over a connection that was there before and over new ones, and the server's gauges stay within their bounds.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <memory>
#include <string>
#include <vector>

#include "control/manager/manager_test_util.h"
#include "kube/api/admission/v1.h"
#include "kube/webhook/webhook.h"
#include "ports_test_util.h"

namespace kube::internal {
namespace {

using core::v1::ConfigMap;
using ::testing::StartsWith;

struct Case {
  std::string mode;
  std::string from = "127.0.0.2";  // 127.0.0.1: the address of the API server, too
  int peers = 1;                   // addresses of the attackers
  bool tls = true;
  std::string closes{};  // the reason that connections of the attack have to be closed for
};

class WebhookAttackTest : public ManagerServerTest, public ::testing::WithParamInterface<Case> {
 protected:
  static ManagerOptions Options() {
    return {
        .webhooks = {.name = "hooks", .bind_address = "127.0.0.1", .port = 0, .shutdown_delay = std::chrono::seconds(0), .inject = false}};
  }
  static std::shared_ptr<Transport> ApiServerTo(const Manager& manager) {
    ClientConfig config;
    config.host = "https://127.0.0.1:" + std::to_string(manager.webhook_port());
    config.tls.insecure = true;
    return Client::FromConfig(config, {.max_retries = 3}).value().transport();
  }
  // "200 PATCH" for a review that was answered as it has to be, else what came instead.
  static std::string CallWebhook(const std::shared_ptr<Transport>& transport) {
    static int count = 0;
    const std::string uid = "review-" + std::to_string(++count);
    HttpRequest request;
    request.method = "POST";
    request.target = "/mutate--v1-configmap?timeout=30s";
    request.headers.Add("Content-Type", "application/json");
    request.body = R"({"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":")" + uid +
                   R"(","operation":"CREATE","object":{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"k":"v"}}}})";
    const Result<HttpResponse> answer = transport->RoundTrip(Patience(), std::move(request));
    if (!answer) return answer.error().ToString();
    if (answer->code != 200) return std::to_string(answer->code) + " " + answer->body;
    const Result<admission::v1::AdmissionReview> review = FromJson<admission::v1::AdmissionReview>(answer->body);
    if (!review || !review->response || review->response->uid != uid || !review->response->allowed) return "not as asked: " + answer->body;
    return "200 " + std::string(review->response->patch.view());
  }
  static double Gauge(const Manager& manager, const std::string& name) {
    return ValueOf(manager.metrics()->Render(), name + "{server=\"webhook\"}");
  }
};

TEST_P(WebhookAttackTest, BoundsHoldAndReviewsAreAnswered) {
  const serve::HttpLimits limits = serve::HttpLimits::ForWebhooks();
  Manager manager(*client_, Options());
  ASSERT_TRUE(manager.Add(WebhookFor<ConfigMap>("maps.example.com").Default([](ConfigMap& map) { map.data["defaulted"] = "yes"; })));
  RunningManager running(manager);
  ASSERT_TRUE(Eventually([&] { return manager.webhook_port() != 0; }));
  const std::shared_ptr<Transport> before = ApiServerTo(manager);
  const std::string patch = R"(200 [{"op":"add","path":"/data/defaulted","value":"yes"}])";
  ASSERT_EQ(CallWebhook(before), patch);

  std::vector<std::string> argv = {"ports_attacker", std::to_string(manager.webhook_port()), GetParam().mode, "--from=" + GetParam().from,
                                   "--peers=" + std::to_string(GetParam().peers)};
  if (GetParam().tls) argv.emplace_back("--tls");
  const Helper attacker = StartAttacker(argv);
  ASSERT_THAT(attacker.line, StartsWith("ready: "));

  // A body that a worker still reads counts after its connection was closed.
  const std::size_t peers = static_cast<std::size_t>(GetParam().peers) + (GetParam().from == "127.0.0.1" ? 0 : 1);
  const double most_bytes = static_cast<double>(std::min(limits.max_bytes, limits.max_bytes_per_peer * peers) + limits.max_body_bytes);
  int old_answered = 0;
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(Answered([&] { return CallWebhook(ApiServerTo(manager)); }), patch) << "call " << i << " over a new connection";
    if (CallWebhook(before) == patch) ++old_answered;
    EXPECT_LE(Gauge(manager, "kubexx_http_server_bytes_held"), most_bytes);
    EXPECT_GE(Gauge(manager, "kubexx_http_server_bytes_held"), 0);
    EXPECT_LE(Gauge(manager, "kubexx_http_server_connections"), static_cast<double>(limits.max_connections));
  }
  EXPECT_GE(old_answered, 1);
  if (!GetParam().closes.empty()) {
    const std::string series = "kubexx_http_server_closed_total{reason=\"" + GetParam().closes + "\",server=\"webhook\"}";
    EXPECT_TRUE(Eventually([&] { return ValueOf(manager.metrics()->Render(), series) >= 1; })) << series << ": the limit was not reached";
  }
  attacker.process->Signal(SIGKILL);
  // All of it is released.
  EXPECT_TRUE(Eventually([&] {
    return Gauge(manager, "kubexx_http_server_connections") <= 4 && Gauge(manager, "kubexx_http_server_bytes_held") < 1 << 20;
  })) << Gauge(manager, "kubexx_http_server_connections")
      << " connections, " << Gauge(manager, "kubexx_http_server_bytes_held") << " bytes";
  EXPECT_EQ(Answered([&] { return CallWebhook(before); }), patch);
  EXPECT_TRUE(running.Stop());
}

std::string NameOf(const ::testing::TestParamInfo<Case>& info) {
  std::string name = info.param.mode + (info.param.tls ? "Tls" : "Plain") + (info.param.from == "127.0.0.1" ? "SamePeer" : "") +
                     (info.param.peers > 1 ? "ManyPeers" : "");
  std::erase(name, '-');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Attacks, WebhookAttackTest,
                         ::testing::Values(
                             // Connections that say nothing, not even a handshake; as many as one peer, and as all of them, may have.
                             Case{.mode = "idle", .tls = false, .closes = "connections"},
                             Case{.mode = "idle", .from = "127.0.0.1", .tls = false, .closes = "connections"},
                             Case{.mode = "idle", .peers = 8, .tls = false, .closes = "connections"},
                             // Handshakes that do not end; bytes that are no handshake.
                             Case{.mode = "hello", .closes = "deadline"}, Case{.mode = "slow-loris", .tls = false},
                             // Requests that do not end: in their headers, in their bodies.
                             Case{.mode = "slow-loris"}, Case{.mode = "slow-loris", .from = "127.0.0.1"}, Case{.mode = "many-headers"},
                             Case{.mode = "endless-headers"}, Case{.mode = "slow-body", .closes = "connections"},
                             Case{.mode = "slow-body", .from = "127.0.0.1", .closes = "connections"},
                             Case{.mode = "slow-body", .peers = 8, .closes = "connections"}, Case{.mode = "endless-bodies"},
                             // Large reviews, and more of them than a peer may hold.
                             Case{.mode = "large-bodies", .closes = "bytes"},
                             Case{.mode = "large-bodies", .from = "127.0.0.1", .closes = "bytes"},
                             // Calls as fast as they go, with answers that are read, and that are not.
                             Case{.mode = "calls"}, Case{.mode = "calls", .from = "127.0.0.1"}, Case{.mode = "calls-unread"},
                             Case{.mode = "calls-unread", .from = "127.0.0.1"}),
                         NameOf);

}  // namespace
}  // namespace kube::internal
