// A manager's webhooks against the embedded server: what it prints, serves and refuses. On real servers: webhooks_server_test.cc.
#include "control/manager/manager_webhooks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "control/manager/manager_test_util.h"
#include "kube/api/admissionregistration/v1.h"
#include "kube/api/coordination/v1.h"
#include "kube/api/core/v1.h"
#include "kube/base/fake_clock.h"
#include "kube/codec/yaml.h"
#include "kube/control/manager_flags.h"
#include "kube/serve/certificate.h"
#include "kube/webhook/configurations.h"
#include "kube/webhook/webhook.h"
#include "testing/temporary_directory.h"
#include "webhook/conversion_test_types.h"

namespace kube::internal {
namespace {

using admissionregistration::v1::ValidatingWebhookConfiguration;
using core::v1::ConfigMap;
using core::v1::Secret;
using core::v1::Service;
using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

WebhookSpec Maps(const std::string& name = "maps.example.com") {
  return WebhookFor<ConfigMap>(name).Default([](ConfigMap& map) { map.data["a"] = "b"; }).Validate([](const ConfigMap*, const ConfigMap*) {
  });
}

class ManagerWebhooksTest : public ManagerServerTest {
 protected:
  static ManagerOptions Options() {
    return {.webhooks = {.name = "hooks",
                         .bind_address = "127.0.0.1",
                         .port = 0,
                         .shutdown_delay = seconds(0),
                         .times = {.ready_wait = milliseconds(1)}}};
  }
  static DynamicObject Networks() {
    return FromJson<DynamicObject>(R"({"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition",
        "metadata":{"name":"networks.nets.example.com"},"spec":{"group":"nets.example.com","scope":"Namespaced",
        "names":{"kind":"Network","plural":"networks"},"conversion":{"strategy":"None"},
        "versions":[{"name":"v2","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object"}}}]}})")
        .value();
  }
  static Value Report(const Manager& manager) {
    const Value all = ParseJson(manager.DebugJson()).value();
    return all["webhooks"];
  }
  static bool Ready(const Manager& manager) {
    const Value report = Report(manager);
    return report["ready"].bool_value();
  }
  static std::string Until(const Manager& manager) {
    const Value report = Report(manager);
    return report["certificate"]["notAfter"].string_value().str();
  }
  // "ok" if the port's certificate is one for `host` that `ca_pem` trusts.
  static std::string Shake(const Manager& manager, const std::string& ca_pem, const std::string& host) {
    ClientConfig config;
    config.host = "https://127.0.0.1:" + std::to_string(manager.webhook_port());
    config.tls.ca_data = ca_pem;
    config.tls.server_name = host;
    HttpRequest request;
    request.target = "/nowhere";
    const Result<HttpResponse> answer = Client::FromConfig(config, {.max_retries = 0}).value().Raw(Patience(), std::move(request));
    // The server has no such path, which it says after the handshake.
    return answer || answer.error().http_code() == 404 ? "ok" : answer.error().ToString();
  }
};

TEST_F(ManagerWebhooksTest, PrintsConfigurationsServiceAndRoles) {
  Manager manager(*client_, Options());
  ASSERT_TRUE(manager.Add(Maps()));
  const std::string yaml =
      manager.ManifestsYaml({.name = "hooks", .service_account = "hooks", .service_account_namespace = "hooks-system"});
  EXPECT_THAT(yaml, AllOf(HasSubstr("kind: MutatingWebhookConfiguration"), HasSubstr("kind: ValidatingWebhookConfiguration"),
                          HasSubstr("kind: Service\n"), HasSubstr("name: hooks-webhook\n"), HasSubstr("namespace: hooks-system")));
  EXPECT_THAT(yaml, Not(HasSubstr("caBundle")));
  EXPECT_THAT(manager.ManifestsYaml(), HasSubstr("namespace: system")) << "kustomize's placeholder";
  // Rules by name only, except what RBAC cannot limit.
  const std::string roles = manager.RbacYaml();
  EXPECT_THAT(roles, AllOf(HasSubstr("- hooks-webhook-ca\n"), HasSubstr("mutatingwebhookconfigurations"), HasSubstr("  - hooks\n")));
  EXPECT_THAT(roles, Not(HasSubstr("customresourcedefinitions")));
  const auto creates_configurations = [](const std::vector<AccessNeed>& needs) {
    return std::any_of(needs.begin(), needs.end(), [](const AccessNeed& need) {
      return need.group == "admissionregistration.k8s.io" && std::find(need.verbs.begin(), need.verbs.end(), "create") != need.verbs.end();
    });
  };
  EXPECT_FALSE(creates_configurations(manager.needs()));
  ManagerOptions installs = Options();
  installs.webhooks.install = true;
  Manager installer(*client_, installs);
  ASSERT_TRUE(installer.Add(Maps()));
  EXPECT_TRUE(creates_configurations(installer.needs()));
}

TEST_F(ManagerWebhooksTest, PrintsTheConversionsOfDefinitions) {
  const RbacOptions names{.name = "hooks", .service_account = "hooks", .service_account_namespace = "hooks-system"};
  const auto printed = [&](const std::optional<ManagedCrds>& managed) {
    Manager manager(*client_, Options());
    EXPECT_TRUE(manager.Add(nets::NetworkConversion()));
    EXPECT_TRUE(!managed || manager.Add(*managed));
    const std::vector<Value> documents = ParseYaml(manager.ManifestsYaml(names)).value();
    for (const Value& document : documents) {
      if (document["kind"].string_value() == "CustomResourceDefinition") return document;
    }
    return Value();
  };
  const Value alone = printed(std::nullopt);
  EXPECT_EQ(alone["metadata"]["name"].string_value(), "networks.nets.example.com");
  EXPECT_EQ(alone["spec"].object().size(), 1U) << "the program does not have the definition";
  EXPECT_EQ(ToJson(alone["spec"]["conversion"]["webhook"]["clientConfig"]),
            R"({"service":{"name":"hooks-webhook","namespace":"hooks-system","path":"/convert","port":443}})");
  const DynamicObject crd = Networks();
  const Value whole = printed(ManagedCrds{.crds = {{.crd = crd}}});
  EXPECT_EQ(whole["spec"]["conversion"], alone["spec"]["conversion"]);
  EXPECT_EQ(whole["spec"]["versions"], crd["spec"]["versions"]);
}

TEST_F(ManagerWebhooksTest, WithoutWebhooksThereIsNothing) {
  Manager manager(*client_, Options());
  EXPECT_EQ(manager.ManifestsYaml(), "");
  RunningManager running(manager);
  EXPECT_EQ(manager.webhook_port(), 0);
  EXPECT_TRUE(Report(manager).is_null());
  EXPECT_TRUE(running.Stop());
}

TEST_F(ManagerWebhooksTest, RefusesWhatIsTakenAndWhatComesTooLate) {
  Manager manager(*client_, Options());
  ASSERT_TRUE(manager.Add(Maps()));
  EXPECT_THAT(manager.Add(Maps("other.maps.example.com")).error().ToString(), HasSubstr("the path /mutate--v1-configmap already"));
  WebhookSpec same = RawWebhook({.name = "maps.example.com", .rules = {{.groups = {""}, .versions = {"v1"}, .resources = {"pods"}}}},
                                [](const Context&, const AdmissionRequest&) { return Admission::Allow(); });
  EXPECT_THAT(manager.Add(same).error().ToString(), HasSubstr("maps.example.com"));
  RunningManager running(manager);
  ASSERT_TRUE(Eventually([&] { return Ready(manager); }));
  EXPECT_THAT(manager.Add(RawWebhook({.name = "late.example.com"}, {})).error().ToString(), HasSubstr("late"));
}

TEST_F(ManagerWebhooksTest, RefusesTimesThatCannotWork) {
  ManagerOptions options = Options();
  options.webhooks.times.ca_lifetime = minutes(10);
  options.webhooks.times.leaf_lifetime = minutes(5);
  Manager manager(*client_, options);
  ASSERT_TRUE(manager.Add(Maps()));
  EXPECT_THAT(manager.Run(Patience()).error().ToString(), HasSubstr("injection_wait is 5m0s"));
}

TEST_F(ManagerWebhooksTest, RefusesAUrlThatCannotWorkAndInstallationWithoutInjection) {
  const auto why = [&](const WebhookOptions& webhooks) {
    ManagerOptions options = Options();
    options.webhooks = webhooks;
    Manager manager(*client_, options);
    EXPECT_TRUE(manager.Add(Maps()));
    const Result<void> ran = manager.Run(Patience());
    return ran ? "ok" : ran.error().ToString();
  };
  WebhookOptions options = Options().webhooks;
  for (const char* url : {"10.0.0.1:9443", "http://10.0.0.1:9443", "https://10.0.0.1:9443/"}) {
    options.url = url;
    EXPECT_THAT(why(options), HasSubstr("expected one that begins with https:// and does not end with /"));
  }
  // What API servers refuse.
  for (const char* url : {"https://10.0.0.1:9443?a=b", "https://10.0.0.1:9443#a"}) {
    options.url = url;
    EXPECT_THAT(why(options), HasSubstr("without a user, a query and a fragment"));
  }
  options.url = "https://me:secret@10.0.0.1:9443";
  EXPECT_THAT(why(options), AllOf(HasSubstr("without a user"), Not(HasSubstr("secret"))));
  for (const char* url : {"https://:9443", "https://[::1", "https://fd00::1:9443", "https://a b", "https://10.0.0.1:http"}) {
    options.url = url;
    EXPECT_THAT(why(options), HasSubstr("webhooks: url is \"" + options.url + "\": "));
  }
  options.url.clear();
  options.install = true;
  options.inject = false;
  EXPECT_THAT(why(options), HasSubstr("install needs inject"));
}

TEST_F(ManagerWebhooksTest, RefusesNamesThatObjectsCannotHave) {
  const auto why = [&](const std::string& name, const std::string& service = {}, const std::string& url = {}) {
    ManagerOptions options = Options();
    options.webhooks.name = name;
    options.webhooks.service = service;
    options.webhooks.url = url;
    Manager manager(*client_, options);
    EXPECT_TRUE(manager.Add(Maps()));
    const auto [ctx, cancel] = Context::Background().WithCancel();
    cancel.Cancel();
    const Result<void> ran = manager.Run(ctx);
    return ran ? "ok" : ran.error().ToString();
  };
  EXPECT_THAT(why("My_Guard"), HasSubstr("webhooks: name is \"My_Guard\""));
  EXPECT_THAT(why("guard", "a/b"), HasSubstr("the Service would be \"a/b\""));
  EXPECT_THAT(why("guard.team"), HasSubstr("the Service would be \"guard.team-webhook\""));
  EXPECT_EQ(why("guard.team", "guard"), "ok");
  EXPECT_EQ(why("guard.team", "", "https://10.0.0.1:9443"), "ok") << "there is no Service";
}

TEST_F(ManagerWebhooksTest, IssuesForTheServiceAndKeepsTheKeyToItself) {
  Manager manager(*client_, Options());
  ASSERT_TRUE(manager.Add(Maps()));
  RunningManager running(manager);
  ASSERT_TRUE(Eventually([&] { return Ready(manager); })) << ToJson(Report(manager));
  const Secret secret = client_->Get<Secret>(Patience(), {"default", "hooks-webhook-ca"}).value();
  const CaState ca = CaState::Parse(secret.data.Find("ca.json")->view()).value();
  EXPECT_EQ(Shake(manager, ca.Bundle(), "hooks-webhook.default.svc"), "ok");
  EXPECT_EQ(Shake(manager, ca.Bundle(), "hooks-webhook.default.svc.cluster.local"), "ok");
  EXPECT_NE(Shake(manager, ca.Bundle(), "hooks-webhook.other.svc"), "ok");
  EXPECT_NE(Shake(manager, CaState::Create("x", {}, Clock::Real()->WallNow()).value().Bundle(), "hooks-webhook.default.svc"), "ok");
  EXPECT_THAT(manager.DebugJson(), AllOf(HasSubstr("hooks-webhook.default.svc"), Not(HasSubstr("PRIVATE KEY"))));
  EXPECT_THAT(manager.metrics()->Render(), HasSubstr("kubexx_webhook_certificate_expiry_seconds{certificate=\"serving\"} 60"));
  EXPECT_THAT(manager.metrics()->Render(), HasSubstr("kubexx_http_server_connections{server=\"webhook\"}"));
}

TEST_F(ManagerWebhooksTest, ServesWithoutLeadingAndBeforeCachesAreComplete) {
  coordination::v1::Lease lease;
  lease.metadata.namespace_ = "default";
  lease.metadata.name = "held";
  lease.spec.holder_identity = String("somebody");
  lease.spec.lease_duration_seconds = 3600;
  lease.spec.renew_time = MicroTime::Now();
  ASSERT_TRUE(client_->Create(Patience(), lease));
  server_->AddFault({.resource = "nodes", .times = -1});
  ManagerOptions options = Options();
  options.leader_election = LeaderElectionOptions{.name = "held", .ns = "default"};
  Manager manager(*client_, options);
  ASSERT_TRUE(manager.Add(Maps()));
  ASSERT_TRUE(manager.Add(
      ControllerFor<core::v1::Node>("nodes").Reconcile([](const Context&, const Request&) -> Result<Action> { return Action::Done(); })));
  RunningManager running(manager);
  EXPECT_TRUE(Eventually([&] { return Ready(manager); })) << ToJson(Report(manager));
  EXPECT_FALSE(manager.is_leader());
}

// Every bound of the port is an option.
TEST_F(ManagerWebhooksTest, KeepsTheLimitsOfItsOptions) {
  const auto code = [&](const serve::HttpLimits& limits) {
    ManagerOptions options = Options();
    options.webhooks.limits = limits;
    Manager manager(*client_, options);
    EXPECT_TRUE(manager.Add(Maps()));
    const RunningManager running(manager);
    EXPECT_TRUE(Eventually([&] { return manager.webhook_port() != 0; }));
    ClientConfig config;
    config.host = "https://127.0.0.1:" + std::to_string(manager.webhook_port());
    config.tls.insecure = true;
    HttpRequest request;
    request.target = "/nowhere";
    request.headers.Add("X-Long", std::string(2000, 'x'));
    const Result<HttpResponse> answer = Client::FromConfig(config, {.max_retries = 0}).value().Raw(Patience(), std::move(request));
    return answer ? answer->code : answer.error().http_code();
  };
  serve::HttpLimits limits = serve::HttpLimits::ForWebhooks();
  EXPECT_EQ(code(limits), 404);
  limits.max_header_bytes = 1024;
  EXPECT_EQ(code(limits), 431);
}

TEST_F(ManagerWebhooksTest, RenewsItsCertificateWhileTheServerIsAway) {
  const auto clock = std::make_shared<FakeClock>(Clock::Real()->WallNow());
  ManagerOptions options = Options();
  options.clock = clock;
  Manager manager(NewClient({.clock = clock}), options);
  ASSERT_TRUE(manager.Add(Maps()));
  RunningManager running(manager, Context::Background(clock));
  ASSERT_TRUE(Eventually([&] {
    clock->Advance(milliseconds(1));
    return Ready(manager);
  })) << ToJson(Report(manager));
  const std::string first = Until(manager);
  server_->Refuse();
  server_->CloseConnections();
  int days = 0;
  for (; Until(manager) == first && days < 7; ++days) {
    clock->Advance(hours(24));
    EXPECT_TRUE(Eventually([&] {
      clock->Advance(seconds(1));
      return Until(manager) != first || days < 5;
    }));
  }
  EXPECT_GE(days, 5) << "renewed when a third is left, which is after 4.7 days";
  EXPECT_NE(Until(manager), first);
  EXPECT_TRUE(Ready(manager)) << ToJson(Report(manager));
  EXPECT_TRUE(server_->Accept());
}

// From the first request to the port, the Secret and all configurations no timer has to expire.
TEST_F(ManagerWebhooksTest, StaysReadyWhenTheClockIsSetBack) {
  const auto clock = std::make_shared<FakeClock>(Clock::Real()->WallNow());
  ManagerOptions options = Options();
  options.clock = clock;
  Manager manager(NewClient({.clock = clock}), options);
  ASSERT_TRUE(manager.Add(Maps()));
  RunningManager running(manager, Context::Background(clock));
  ASSERT_TRUE(Eventually([&] {
    clock->Advance(milliseconds(1));
    return Ready(manager);
  })) << ToJson(Report(manager));
  clock->SetWallNow(clock->WallNow() - minutes(30));
  for (int i = 0; i < 10 && !Ready(manager); ++i) clock->Advance(milliseconds(1));
  EXPECT_TRUE(Ready(manager)) << ToJson(Report(manager));
}

TEST_F(ManagerWebhooksTest, AFirstStartWaitsForNothingButReadyWait) {
  const auto clock = std::make_shared<FakeClock>(Clock::Real()->WallNow());
  ManagerOptions options = Options();
  options.clock = clock;
  options.webhooks.install = true;
  options.webhooks.times.ready_wait = milliseconds(500);
  Manager manager(NewClient({.clock = clock}), options);
  ASSERT_TRUE(manager.Add(Maps()));
  RunningManager running(manager, Context::Background(clock));
  const auto why = [&] { return Report(manager)["notReady"].string_value().str(); };
  EXPECT_TRUE(Eventually([&] { return why().find("its CA has just been written into the configurations") != std::string::npos; })) << why();
  EXPECT_NE(manager.webhook_port(), 0);
  clock->Advance(milliseconds(499));
  EXPECT_FALSE(Ready(manager));
  clock->Advance(milliseconds(1));
  EXPECT_TRUE(Ready(manager)) << why();
}

TEST_F(ManagerWebhooksTest, RecoversFromACaThatExpiredWhileTheServerWasAway) {
  const auto clock = std::make_shared<FakeClock>(Clock::Real()->WallNow());
  ManagerOptions options = Options();
  options.clock = clock;
  options.webhooks.install = true;
  Manager manager(NewClient({.clock = clock}), options);
  ASSERT_TRUE(manager.Add(Maps()));
  RunningManager running(manager, Context::Background(clock));
  // In small steps: requests have deadlines of this clock, too.
  const auto eventually = [&](const auto& condition) {
    return Eventually([&] {
      clock->Advance(milliseconds(20));
      return condition();
    });
  };
  ASSERT_TRUE(eventually([&] { return Ready(manager); })) << ToJson(Report(manager));
  server_->Refuse();
  server_->CloseConnections();
  clock->Advance(hours(24 * 400));
  EXPECT_TRUE(eventually([&] {
    const Value report = Report(manager);
    return report["notReady"].string_value().str().find("the certificate is not valid at this time (") != std::string::npos;
  })) << ToJson(Report(manager))
      << " also says why";
  ASSERT_TRUE(server_->Accept());
  EXPECT_TRUE(eventually([&] { return Ready(manager); })) << ToJson(Report(manager));
  const Secret secret = client_->Get<Secret>(Patience(), {"default", "hooks-webhook-ca"}).value();
  EXPECT_EQ(CaState::Parse(secret.data.Find("ca.json")->view()).value().revision, 3) << "the next CA was added, and promoted at once";
}

TEST_F(ManagerWebhooksTest, EndsIfItMayNotInstallTheConversion) {
  const DynamicObject crd = Networks();
  ASSERT_TRUE(InstallCrds(Patience(), *client_, {{.crd = crd}}));
  server_->AddFault({.verb = "patch", .resource = "customresourcedefinitions", .status = 403, .reason = "Forbidden", .times = -1});
  Manager manager(*client_, Options());
  ASSERT_TRUE(manager.Add(nets::NetworkConversion()));
  ASSERT_TRUE(manager.Add(ManagedCrds{.crds = {{.crd = crd}}}));
  const Result<void> ran = manager.Run(Patience());
  ASSERT_FALSE(ran);
  EXPECT_THAT(ran.error().ToString(),
              AllOf(HasSubstr("the conversion of networks.nets.example.com"), HasSubstr("this program may not install them")));
}

// ---- The Service ----

class ManagerWebhookServiceTest : public ManagerWebhooksTest {
 protected:
  static ManagerOptions Installs() {
    ManagerOptions options = Options();
    options.webhooks.install = true;
    return options;
  }
  Result<Service> Read() const { return client_->Get<Service>(Patience(), {"default", "hooks-webhook"}); }
};

TEST_F(ManagerWebhookServiceTest, IsInstalledAndRepaired) {
  ManagerOptions options = Installs();
  options.webhooks.selector = {{"app", "hooks"}};
  Manager manager(*client_, options);
  ASSERT_TRUE(manager.Add(Maps()));
  EXPECT_THAT(manager.RbacYaml(), AllOf(HasSubstr("- services\n"), HasSubstr("- hooks-webhook\n")));
  RunningManager running(manager);
  ASSERT_TRUE(Eventually([&] { return Ready(manager); })) << ToJson(Report(manager));
  const Service made = Read().value();
  EXPECT_EQ(made.spec.selector.size(), 1U);
  EXPECT_EQ(made.spec.selector.Get("app"), "hooks");
  EXPECT_EQ(made.spec.ports[0].port, 443);
  EXPECT_EQ(made.metadata.labels.Get("app.kubernetes.io/managed-by"), "hooks");
  const auto whole = [&] {
    const Result<Service> now = Read();
    return now && now->spec.selector == made.spec.selector && now->spec.ports.size() == 1 && now->spec.ports[0].port == 443 &&
           now->spec.ports[0].target_port == made.spec.ports[0].target_port;
  };
  for (const char* edit : {R"({"spec":{"selector":{"app":"other"}}})", R"({"spec":{"selector":{"more":"labels"}}})",
                           R"({"spec":{"ports":[{"name":"webhook","port":443,"targetPort":1}]}})",
                           R"({"spec":{"ports":[{"name":"x","port":444,"targetPort":9443}]}})"}) {
    ASSERT_TRUE(client_->Patch<Service>(Patience(), {"default", "hooks-webhook"}, Patch::Merge(edit)));
    EXPECT_TRUE(Eventually(whole)) << edit << ToJson(Read().value()).value();
  }
  // What it says nothing about stays.
  ASSERT_TRUE(client_->Patch<Service>(Patience(), {"default", "hooks-webhook"},
                                      Patch::Merge(R"({"metadata":{"labels":{"a":"b"}},"spec":{"selector":{"x":"y"}}})")));
  EXPECT_TRUE(Eventually(whole));
  EXPECT_EQ(Read().value().metadata.labels.Get("a"), "b");
  EXPECT_EQ(Read().value().spec.cluster_ip, made.spec.cluster_ip);
  ASSERT_TRUE(client_->Delete<Service>(Patience(), {"default", "hooks-webhook"}));
  EXPECT_TRUE(Eventually(whole));
  EXPECT_TRUE(running.Stop());
}

TEST_F(ManagerWebhookServiceTest, OfOthersIsLeftAlone) {
  Service other;
  other.metadata.namespace_ = "default";
  other.metadata.name = "hooks-webhook";
  other.spec.selector["their"] = "label";
  other.spec.ports.push_back({.port = 443});
  const Service before = client_->Create(Patience(), other).value();
  Manager manager(*client_, Installs());
  ASSERT_TRUE(manager.Add(Maps()));
  RunningManager running(manager);
  ASSERT_TRUE(Eventually([&] { return Ready(manager); })) << ToJson(Report(manager));
  // It is read and written before the configurations, which are complete now.
  EXPECT_THAT(ToJson(Report(manager)), HasSubstr("is not this program's"));
  EXPECT_EQ(Read().value(), before);
  EXPECT_TRUE(running.Stop());
  EXPECT_EQ(Read().value(), before);
}

TEST_F(ManagerWebhookServiceTest, IsNotReadWithoutInstallationOrWithAUrl) {
  Manager without(*client_, Options());
  ASSERT_TRUE(without.Add(Maps()));
  EXPECT_THAT(without.RbacYaml(), Not(HasSubstr("- services\n")));
  ManagerOptions options = Installs();
  options.webhooks.url = "https://127.0.0.1:1";
  Manager with_url(*client_, options);
  ASSERT_TRUE(with_url.Add(Maps()));
  EXPECT_THAT(with_url.RbacYaml(), Not(HasSubstr("- services\n")));
}

// ---- Configurations that are missing ----

TEST_F(ManagerWebhooksTest, IsReadyWithoutConfigurationsAndSaysSo) {
  ManagerOptions options = Options();
  options.webhooks.times.repair_delay = milliseconds(20);
  options.health_probe_bind_address = "127.0.0.1:0";
  Manager manager(*client_, options);
  ASSERT_TRUE(manager.Add(Maps()));
  RunningManager running(manager);
  ASSERT_TRUE(Eventually([&] { return Ready(manager); })) << ToJson(Report(manager));
  const auto verbose = [&] { return AskServer(PlainTo(manager.health_port()), "GET", "/readyz?verbose"); };
  EXPECT_THAT(verbose(), AllOf(HasSubstr("200 "), HasSubstr("[+]webhooks ok: MutatingWebhookConfiguration hooks not found; "
                                                            "ValidatingWebhookConfiguration hooks not found")));
  const auto metric = [&](const std::string& value) {
    return manager.metrics()->Render().find("kubexx_webhook_object_complete{kind=\"ValidatingWebhookConfiguration\",name=\"hooks\"} " +
                                            value) != std::string::npos;
  };
  EXPECT_TRUE(metric("0")) << manager.metrics()->Render();
  const auto told = [&] {
    const auto events = client_->Resource(Gvr{"events.k8s.io", "v1", "events"}).List(Patience(), {.ns = "default"});
    return events && std::count_if(events->items.begin(), events->items.end(), [](const DynamicObject& event) {
                       return event["reason"].string_value() == "WebhookNotConfigured";
                     }) == 2;
  };
  EXPECT_TRUE(Eventually(told));

  const WebhookConfigurations made = MakeWebhookConfigurations({Maps()}, {.name = "hooks", .ns = "default"}).value();
  ASSERT_TRUE(client_->Create(Patience(), *made.mutating));
  ASSERT_TRUE(client_->Create(Patience(), *made.validating));
  EXPECT_TRUE(Eventually([&] { return metric("1"); })) << manager.metrics()->Render();
  EXPECT_TRUE(Eventually([&] { return verbose().find("[+]webhooks ok\n") != std::string::npos; })) << verbose();
  EXPECT_TRUE(running.Stop());
}

// API servers would refuse its certificate; other replicas may be trusted.
TEST_F(ManagerWebhooksTest, IsNotReadyWhileAConfigurationHasNotItsCa) {
  const WebhookConfigurations made = MakeWebhookConfigurations({Maps()}, {.name = "hooks", .ns = "default"}).value();
  ASSERT_TRUE(client_->Create(Patience(), *made.mutating));
  ASSERT_TRUE(client_->Create(Patience(), *made.validating));
  const auto fault = server_->AddFault(
      {.verb = "patch", .resource = "validatingwebhookconfigurations", .status = 403, .reason = "Forbidden", .times = -1});
  Manager manager(*client_, Options());
  ASSERT_TRUE(manager.Add(Maps()));
  RunningManager running(manager);
  const auto why = [&] { return Report(manager)["notReady"].string_value().str(); };
  EXPECT_TRUE(Eventually([&] { return why().find("write the CA into ValidatingWebhookConfiguration hooks") != std::string::npos; }))
      << why();
  EXPECT_THAT(why(), HasSubstr("ValidatingWebhookConfiguration hooks does not have the CA"));
  server_->RemoveFault(fault);
  EXPECT_TRUE(Eventually([&] { return Ready(manager); })) << why();
  EXPECT_TRUE(running.Stop());
}

// What it converts may be incomplete while it is ready, but not because of its own permissions.
TEST_F(ManagerWebhooksTest, IsNotReadyIfItMayNotReadAKindThatItConverts) {
  const DynamicObject crd = Networks();
  ASSERT_TRUE(InstallCrds(Patience(), *client_, {{.crd = crd}}));
  const auto list = server_->AddFault({.verb = "list", .resource = "networks", .status = 403, .reason = "Forbidden", .times = -1});
  const auto watch = server_->AddFault({.verb = "watch", .resource = "networks", .status = 403, .reason = "Forbidden", .times = -1});
  ManagerOptions options = Options();
  options.health_probe_bind_address = "127.0.0.1:0";
  Manager manager(*client_, options);
  ASSERT_TRUE(manager.Add(nets::NetworkConversion()));
  ASSERT_TRUE(manager.Add(ControllerFor<nets::v2::Network>("networks").Reconcile([](const Context&, const Request&) -> Result<Action> {
    return Action::Done();
  })));
  RunningManager running(manager);
  const auto verbose = [&] { return AskServer(PlainTo(manager.health_port()), "GET", "/readyz?verbose"); };
  const auto refused = [&] { return verbose().find("[-]networks failed: caches are not complete: networks.nets") != std::string::npos; };
  EXPECT_TRUE(Eventually([&] { return manager.health_port() != 0 && refused(); })) << verbose();
  server_->RemoveFault(list);
  server_->RemoveFault(watch);
  EXPECT_TRUE(Eventually([&] { return verbose().starts_with("200"); })) << verbose();
  EXPECT_TRUE(running.Stop());
}

// Both want the same configurations, with their own CA.
TEST_F(ManagerWebhooksTest, TwoProgramsOfOneNameDoNotFightAtFullSpeedAndSaySo) {
  const auto clock = std::make_shared<FakeClock>(Clock::Real()->WallNow());
  ManagerOptions options = Options();
  options.clock = clock;
  options.webhooks.install = true;
  options.webhooks.ns = "one";
  Manager one(NewClient({.clock = clock}), options);
  options.webhooks.ns = "two";
  Manager two(NewClient({.clock = clock}), options);
  for (Manager* manager : {&one, &two}) ASSERT_TRUE(manager->Add(Maps()));
  for (const char* name : {"one", "two"}) {
    core::v1::Namespace ns;
    ns.metadata.name = name;
    ASSERT_TRUE(client_->Create(Patience(), ns));
  }
  const auto problems = [](const Manager& manager) { return ToJson(Report(manager)["problems"]); };
  RunningManager first(one, Context::Background(clock));
  {
    RunningManager second(two, Context::Background(clock));
    EXPECT_TRUE(Eventually([&] {
      clock->Advance(milliseconds(1));
      return problems(one).find("perhaps a program of the same name") != std::string::npos;
    })) << problems(one);
  }
  EXPECT_TRUE(Eventually([&] {
    clock->Advance(milliseconds(100));
    return problems(one) == "null" && Ready(one);
  })) << problems(one);
}

TEST_F(ManagerWebhooksTest, AProgramOfTheSameNameInAnotherNamespaceKeepsItsCa) {
  ManagerOptions options = Options();
  options.webhooks.install = true;
  options.webhooks.ns = "one";
  Manager one(*client_, options);
  options.webhooks.install = false;
  options.webhooks.ns = "two";
  options.health_probe_bind_address = "127.0.0.1:0";
  Manager two(*client_, options);
  for (const char* name : {"one", "two"}) {
    core::v1::Namespace ns;
    ns.metadata.name = name;
    ASSERT_TRUE(client_->Create(Patience(), ns));
  }
  for (Manager* manager : {&one, &two}) ASSERT_TRUE(manager->Add(Maps()));
  RunningManager first(one);
  ASSERT_TRUE(Eventually([&] { return Ready(one); })) << ToJson(Report(one));
  const String version = client_->Get<ValidatingWebhookConfiguration>(Patience(), {"", "hooks"}).value().metadata.resource_version;
  RunningManager second(two);
  // From its point of view, its configurations do not exist.
  EXPECT_TRUE(Eventually([&] {
    return Ready(two) && AskServer(PlainTo(two.health_port()), "GET", "/readyz?verbose").find("hooks-webhook.one.svc") != std::string::npos;
  })) << ToJson(Report(two));
  EXPECT_EQ(client_->Get<ValidatingWebhookConfiguration>(Patience(), {"", "hooks"}).value().metadata.resource_version, version);
  EXPECT_TRUE(Ready(one)) << ToJson(Report(one));
}

TEST_F(ManagerWebhooksTest, TwoProgramsOfOneNameAndNamespaceShareCaAndConfigurations) {
  ManagerOptions options = Options();
  options.webhooks.install = true;
  Manager one(*client_, options), two(*client_, options);
  ASSERT_TRUE(one.Add(Maps("one.maps.example.com")));
  ASSERT_TRUE(two.Add(Maps("two.maps.example.com")));
  RunningManager first(one), second(two);
  const auto names = [&] {
    std::set<std::string> out;
    const auto now = client_->Get<ValidatingWebhookConfiguration>(Patience(), {"", "hooks"});
    if (!now) return out;
    for (const auto& webhook : now->webhooks) out.insert(webhook.name.str());
    return out;
  };
  const std::set<std::string> both = {"one.maps.example.com", "two.maps.example.com"};
  EXPECT_TRUE(Eventually([&] { return names() == both && Ready(one) && Ready(two); })) << ToJson(Report(one)) << ToJson(Report(two));
  EXPECT_EQ(Report(one)["ca"]["fingerprint"], Report(two)["ca"]["fingerprint"]);
  for (Manager* manager : {&one, &two}) EXPECT_TRUE(Report(*manager)["problems"].is_null()) << ToJson(Report(*manager));
}

// ---- Files ----

class ManagerWebhookFilesTest : public ManagerWebhooksTest {
 protected:
  void SetUp() override {
    ManagerWebhooksTest::SetUp();
    dir_ = testing::internal::TemporaryDirectory::Create("kubexx-hooks").value();
  }
  void Write(const serve::KeyPair& pair) const {
    std::ofstream(dir_->path() + "/tls.crt") << pair.certificate_pem;
    std::ofstream(dir_->path() + "/tls.key") << pair.key_pem;
  }
  ManagerOptions FileOptions() const {
    ManagerOptions options = Options();
    options.webhooks.cert_path = dir_->path();
    options.webhooks.cert_poll = milliseconds(2);
    return options;
  }
  static serve::CertificateAuthority NewCa() { return serve::CertificateAuthority::Create("cert-manager").value(); }

  std::unique_ptr<testing::internal::TemporaryDirectory> dir_;
};

TEST_F(ManagerWebhookFilesTest, ServesWithTheFilesAndTakesNewOnes) {
  const serve::CertificateAuthority first = NewCa(), second = NewCa();
  Write(first.Issue({.common_name = "w", .dns_names = {"w.svc"}, .server = true}).value());
  Manager manager(*client_, FileOptions());
  ASSERT_TRUE(manager.Add(Maps()));
  EXPECT_TRUE(manager.needs().empty()) << "nothing is issued, nothing is written";
  RunningManager running(manager);
  ASSERT_TRUE(Eventually([&] { return Ready(manager); })) << ToJson(Report(manager));
  EXPECT_EQ(Shake(manager, first.certificate_pem(), "w.svc"), "ok");
  std::ofstream(dir_->path() + "/tls.crt") << "garbage";
  std::ofstream(dir_->path() + "/tls.key") << "garbage";
  ASSERT_TRUE(
      Eventually([&] { return manager.metrics()->Render().find("certwatcher_read_certificate_errors_total") != std::string::npos; }));
  EXPECT_EQ(Shake(manager, first.certificate_pem(), "w.svc"), "ok") << "the old one stays";
  Write(second.Issue({.common_name = "w", .dns_names = {"w.svc"}, .server = true}).value());
  EXPECT_TRUE(Eventually([&] { return Shake(manager, second.certificate_pem(), "w.svc") == "ok"; }));
  EXPECT_FALSE(client_->Get<Secret>(Patience(), {"default", "hooks-webhook-ca"}));
}

TEST_F(ManagerWebhookFilesTest, IsNotReadyWithAnExpiredCertificate) {
  Write(NewCa()
            .Issue({.common_name = "w",
                    .dns_names = {"w.svc"},
                    .server = true,
                    .not_before = std::chrono::system_clock::now() - hours(2),
                    .lifetime = hours(1)})
            .value());
  Manager manager(*client_, FileOptions());
  ASSERT_TRUE(manager.Add(Maps()));
  RunningManager running(manager);
  ASSERT_TRUE(Eventually([&] { return manager.webhook_port() != 0; }));
  EXPECT_THAT(ToJson(Report(manager)), HasSubstr("is not valid at this time"));
}

TEST_F(ManagerWebhookFilesTest, NamesAFileThatIsMissing) {
  Manager manager(*client_, FileOptions());
  ASSERT_TRUE(manager.Add(Maps()));
  EXPECT_THAT(manager.Run(Patience()).error().ToString(), HasSubstr(dir_->path() + "/tls.crt"));
}

TEST(ManagerWebhookFlagsTest, AreKnownToEveryProgram) {
  ManagerFlags flags("hooks");
  EXPECT_EQ(flags.options.webhooks.name, "hooks");
  ASSERT_TRUE(flags.Parse({"--webhook-port=9444", "--webhook-cert-path=/certs", "--webhook-install", "--webhook-inject=false",
                           "--webhook-bind-address=127.0.0.1", "--webhook-service=w", "--webhook-shutdown-delay=1s",
                           "--webhook-name=ops-hooks", "--webhook-url=https://10.0.0.1:9443"}));
  const WebhookOptions& options = flags.options.webhooks;
  EXPECT_EQ(options.name, "ops-hooks");
  EXPECT_EQ(options.port, 9444);
  EXPECT_EQ(options.cert_path, "/certs");
  EXPECT_TRUE(options.install);
  EXPECT_FALSE(options.inject);
  EXPECT_EQ(options.bind_address, "127.0.0.1");
  EXPECT_EQ(options.service, "w");
  EXPECT_EQ(options.url, "https://10.0.0.1:9443");
  EXPECT_EQ(options.shutdown_delay, seconds(1));
  EXPECT_FALSE(ManagerFlags("hooks").Parse({"--webhook-port=70000"}));
}

}  // namespace
}  // namespace kube::internal
