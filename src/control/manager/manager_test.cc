// Managers on the embedded server: order, readiness, leadership, shutdown.
#include "kube/control/manager.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>

#include "base/wait_test_util.h"
#include "control/observability/health.h"
#include "kube/api/core/v1.h"
#include "kube/base/thread.h"
#include "kube/codec/json.h"
#include "kube/config/kubeconfig.h"
#include "kube/config/load.h"
#include "kube/testing/api_server.h"
#include "kube/transport/http_transport.h"

namespace kube {
namespace {

using core::v1::ConfigMap;
using internal::Eventually;
using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::HasSubstr;

Context Patient() { return Context::Background().WithTimeout(seconds(120)); }

class ManagerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    server_ = testing::ApiServer::Start({.http = true}).value();
    client_ = std::make_unique<Client>(NewClient());
  }
  Client NewClient() const {
    ClientConfig config = ToClientConfig(Kubeconfig::Parse(server_->Kubeconfig()).value()).value();
    config.qps = -1;
    return Client::FromConfig(config).value();
  }
  void Create(const std::string& name) {
    ConfigMap map;
    map.metadata.namespace_ = "default";
    map.metadata.name = name;
    ASSERT_TRUE(client_->Create(Patient(), map));
  }
  // "200 body"
  static std::string Get(std::uint16_t port, const std::string& target) {
    const auto transport = MakeHttpTransport({.base_url = "http://127.0.0.1:" + std::to_string(port)}).value();
    HttpRequest request;
    request.method = "GET";
    request.target = target;
    const Result<HttpResponse> answer = transport->RoundTrip(Patient(), std::move(request));
    return answer ? std::to_string(answer->code) + " " + answer->body : answer.error().ToString();
  }
  // Long terms: a machine that is busy for seconds does not lose the lease. Replicas release it on shutdown, so no test waits for its end.
  static LeaderElectionOptions Quick(const std::string& identity) {
    return {.name = "manager",
            .ns = "default",
            .identity = identity,
            .lease_duration = seconds(60),
            .renew_deadline = seconds(40),
            .retry_period = milliseconds(50)};
  }

  std::unique_ptr<testing::ApiServer> server_;
  std::unique_ptr<Client> client_;
};

TEST_F(ManagerTest, RunsControllersUntilItsContextStops) {
  Create("a");
  std::atomic<int> runs = 0;
  Manager manager(*client_);
  ASSERT_TRUE(manager.Add(ControllerFor<ConfigMap>("maps").Reconcile([&](const Context&, const Request& request) -> Result<Action> {
    if (request.key.ns == "default") ++runs;
    return Action::Done();
  })));
  auto [ctx, cancel] = Context::Background().WithCancel();
  Thread runner("runner", [&, ctx = ctx] { EXPECT_TRUE(manager.Run(ctx)); });
  EXPECT_TRUE(Eventually([&] { return runs == 1; }));
  EXPECT_TRUE(manager.is_leader());
  Create("b");
  EXPECT_TRUE(Eventually([&] { return runs == 2; }));
  cancel.Cancel();
  runner.Join();
  EXPECT_FALSE(manager.is_leader());
  EXPECT_THAT(manager.Run(Patient()).error().ToString(), HasSubstr("run only once"));
}

TEST_F(ManagerTest, NamesAreUniqueAndWhatComesTooLateIsRefused) {
  Manager manager(*client_);
  const auto nothing = [](const Context&, const Request&) -> Result<Action> { return Action::Done(); };
  ASSERT_TRUE(manager.Add(ControllerFor<ConfigMap>("maps").Reconcile(nothing)));
  EXPECT_THAT(manager.Add(ControllerFor<ConfigMap>("maps").Reconcile(nothing)).error().ToString(),
              HasSubstr("controller maps exists already"));
  EXPECT_THAT(manager.Add(Runnable{.name = "r"}).error().ToString(), HasSubstr("has no function"));
  EXPECT_NE(manager.controller("maps"), nullptr);
  EXPECT_EQ(manager.controller("other"), nullptr);
  auto [ctx, cancel] = Context::Background().WithCancel();
  cancel.Cancel();
  EXPECT_TRUE(manager.Run(ctx));
  EXPECT_THAT(manager.Add(ControllerFor<ConfigMap>("late").Reconcile(nothing)).error().ToString(), HasSubstr("too late"));
}

TEST_F(ManagerTest, WrongAddressesAreSaid) {
  for (const char* address : {"8080", "host:port", ":99999", "nowhere.example:80"}) {
    Manager manager(*client_, {.metrics_bind_address = address});
    EXPECT_FALSE(manager.Run(Patient())) << address;
  }
  for (const char* address : {"", "0"}) {
    Manager manager(*client_, {.metrics_bind_address = address, .health_probe_bind_address = address});
    auto [ctx, cancel] = Context::Background().WithCancel();
    cancel.Cancel();
    EXPECT_TRUE(manager.Run(ctx));
    EXPECT_EQ(manager.metrics_port(), 0);
  }
}

TEST_F(ManagerTest, ARunnableThatFailsEndsEverything) {
  Manager manager(*client_);
  std::atomic<bool> other_ended = false;
  ASSERT_TRUE(manager.Add(Runnable{.name = "good",
                                   .run = [&](const Context& ctx) -> Result<void> {
                                     ctx.WaitUntilStopped();
                                     other_ended = true;
                                     return {};
                                   },
                                   .needs_leader = false}));
  ASSERT_TRUE(manager.Add(Runnable{.name = "bad", .run = [](const Context&) -> Result<void> { return Error::Internal("no disk"); }}));
  const Result<void> ran = manager.Run(Patient());
  ASSERT_FALSE(ran);
  EXPECT_EQ(ran.error().ToString(), "bad: no disk");
  EXPECT_TRUE(other_ended);
}

TEST_F(ManagerTest, ReadinessTellsTheTruth) {
  Create("a");
  std::atomic<int> runs = 0;
  Manager manager(*client_, {.metrics_bind_address = "127.0.0.1:0", .health_probe_bind_address = "127.0.0.1:0"});
  ASSERT_TRUE(manager.Add(ControllerFor<ConfigMap>("maps")
                              .Watches(Gvr{"example.com", "v1", "things"}, [](const DynamicObject&) { return std::vector<ObjectKey>(); })
                              .Reconcile([&](const Context&, const Request&) -> Result<Action> {
                                ++runs;
                                return Action::Done();
                              })));
  std::atomic<bool> healthy = true;
  manager.AddHealthCheck("disk", [&]() -> Result<void> {
    if (!healthy) return Error::Internal("full");
    return {};
  });
  auto [ctx, cancel] = Context::Background().WithCancel();
  Thread runner("runner", [&, ctx = ctx] { EXPECT_TRUE(manager.Run(ctx)); });
  ASSERT_TRUE(Eventually([&] { return manager.health_port() != 0 && manager.metrics_port() != 0; }));
  EXPECT_EQ(Get(manager.health_port(), "/healthz"), "200 ok");
  // The kind is not there: said by name, with the reason.
  EXPECT_TRUE(Eventually([&] {
    return Get(manager.health_port(), "/readyz/maps").find("things.example.com: the server could not find the requested resource") !=
           std::string::npos;
  }));
  EXPECT_THAT(Get(manager.health_port(), "/readyz"), HasSubstr("500 [-]maps failed: caches are not complete"));
  EXPECT_EQ(Get(manager.health_port(), "/readyz?exclude=maps"), "200 ok");
  EXPECT_THAT(Get(manager.health_port(), "/readyz/none"), HasSubstr("404 there is no check"));
  EXPECT_EQ(runs, 0);

  ASSERT_TRUE(server_->Load(
      R"({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "things.example.com"},
    "spec": {"group": "example.com", "scope": "Namespaced", "names": {"plural": "things", "singular": "thing", "kind": "Thing"},
    "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}]}})"));
  EXPECT_TRUE(Eventually([&] { return Get(manager.health_port(), "/readyz") == "200 ok"; }));
  EXPECT_THAT(Get(manager.health_port(), "/readyz?verbose"), HasSubstr("[+]maps ok\nreadyz check passed"));
  healthy = false;
  EXPECT_EQ(Get(manager.health_port(), "/healthz/disk"), "500 full\n");
  EXPECT_THAT(Get(manager.health_port(), "/healthz"), HasSubstr("[-]disk failed: full"));
  EXPECT_THAT(Get(manager.health_port(), "/other"), HasSubstr("404"));

  EXPECT_TRUE(Eventually([&] { return runs > 0; }));
  const std::string metrics = Get(manager.metrics_port(), "/metrics");
  EXPECT_THAT(metrics, HasSubstr("controller_runtime_reconcile_total{controller=\"maps\",result=\"success\"}"));
  EXPECT_THAT(metrics, HasSubstr("kubexx_cache_objects{"));
  const std::string debug = Get(manager.metrics_port(), "/debug/controllers");
  const Result<Value> report = ParseJson(std::string_view(debug).substr(4));
  ASSERT_TRUE(report) << debug;
  EXPECT_EQ((*report)["controllers"].list()[0]["name"].string_value(), "maps");
  EXPECT_GE((*report)["caches"].list().size(), 2U);
  cancel.Cancel();
  runner.Join();
}

TEST_F(ManagerTest, OneOfTwoReplicasWorksAndTheOtherHasItsCaches) {
  std::atomic<int> by_a = 0, by_b = 0;
  const auto make = [&](const std::string& identity, std::atomic<int>& runs) {
    auto manager = std::make_unique<Manager>(
        NewClient(), ManagerOptions{.leader_election = Quick(identity), .health_probe_bind_address = "127.0.0.1:0"});
    EXPECT_TRUE(manager->Add(ControllerFor<ConfigMap>("maps").Reconcile([&runs](const Context&, const Request& request) -> Result<Action> {
      if (request.key.ns == "default") ++runs;
      return Action::Done();
    })));
    return manager;
  };
  const auto a = make("a", by_a), b = make("b", by_b);
  auto [ctx_a, cancel_a] = Context::Background().WithCancel();
  auto [ctx_b, cancel_b] = Context::Background().WithCancel();
  Thread run_a("a", [&, ctx = ctx_a] { EXPECT_TRUE(a->Run(ctx)); });
  ASSERT_TRUE(Eventually([&] { return a->is_leader(); }));
  Thread run_b("b", [&, ctx = ctx_b] { EXPECT_TRUE(b->Run(ctx)); });
  Create("first");
  EXPECT_TRUE(Eventually([&] { return by_a == 1; }));
  EXPECT_TRUE(Eventually([&] { return b->health_port() != 0 && Get(b->health_port(), "/readyz") == "200 ok"; }));
  EXPECT_FALSE(b->is_leader());
  EXPECT_EQ(by_b, 0);
  // The lease is released, so the other replica need not wait for it to expire; it reconciles everything once.
  cancel_a.Cancel();
  run_a.Join();
  EXPECT_TRUE(Eventually([&] { return b->is_leader() && by_b == 1; }));
  Create("second");
  EXPECT_TRUE(Eventually([&] { return by_b == 2; }));
  EXPECT_EQ(by_a, 1);
  cancel_b.Cancel();
  run_b.Join();
}

TEST(HealthChecksTest, AnswersAsTheGoServersDo) {
  internal::HealthChecks checks("/healthz");
  EXPECT_EQ(checks.Answer("/healthz", "").body, "ok");
  checks.Add("b", []() -> Result<void> { throw std::runtime_error("oops"); });
  checks.Add("a", [] { return Result<void>(); });
  EXPECT_EQ(checks.Answer("/healthz", "").status, 500);
  EXPECT_EQ(checks.Answer("/healthz", "").body, "[+]a ok\n[-]b failed: the check threw an exception: oops\nhealthz check failed\n");
  EXPECT_EQ(checks.Answer("/healthz", "exclude=b").body, "ok");
  EXPECT_EQ(checks.Answer("/healthz", "verbose&exclude=b&exclude=c").body,
            "[+]a ok\n[+]b excluded: ok\nwarn: there is no check \"c\" to exclude\nhealthz check passed\n");
  EXPECT_EQ(checks.Answer("/healthz/a", "").body, "ok");
}

TEST(HealthChecksTest, NotesChangeNothingAboutACheck) {
  internal::HealthChecks checks("/readyz");
  checks.Add(
      "maps", [] { return Result<void>(); }, [] { return std::string("configmaps: 1 object cannot be decoded: default/a (why)"); });
  EXPECT_EQ(checks.Answer("/readyz", "").body, "ok");
  EXPECT_EQ(checks.Answer("/readyz", "verbose").body,
            "[+]maps ok: configmaps: 1 object cannot be decoded: default/a (why)\nreadyz check passed\n");
}

}  // namespace
}  // namespace kube
