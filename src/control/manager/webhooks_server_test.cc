// Managers with webhooks on servers: certificates, injection and installation. Rotation under load: tests/webhook/rotation_test.cc.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "client/server_test_util.h"
#include "codec/base64.h"
#include "control/certificates/ca_state.h"
#include "control/manager/manager_test_util.h"
#include "control/manager/tcp_proxy_test_util.h"
#include "kube/api/admissionregistration/v1.h"
#include "kube/api/core/v1.h"
#include "kube/client/subresources.h"
#include "kube/control/crds.h"
#include "kube/control/manager.h"
#include "kube/testing/webhooks.h"
#include "kube/transport/transport.h"
#include "kube/webhook/configurations.h"
#include "kube/webhook/webhook.h"
#include "webhook/conversion_test_types.h"

namespace kube::internal {
namespace {

using admissionregistration::v1::MutatingWebhookConfiguration;
using admissionregistration::v1::ValidatingWebhookConfiguration;
using core::v1::ConfigMap;
using core::v1::Namespace;
using core::v1::Secret;
using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class WebhooksServerTest : public ServerTest {
 protected:
  void SetUp() override {
    ServerTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    static int count = 0;
    ns_ = "hooks-" + std::string(GetParam()) + "-" + std::to_string(++count);
    admin_ = std::make_unique<Client>(NewClient());
    Namespace ns;
    ns.metadata.name = ns_;
    ns.metadata.labels["hooks"] = ns_;
    ASSERT_TRUE(admin_->Create(Patience(), ns));
  }
  void TearDown() override {
    if (!admin_) return;
    (void)admin_->Delete<ValidatingWebhookConfiguration>(Patience(), {"", String(ns_)});
    (void)admin_->Delete<MutatingWebhookConfiguration>(Patience(), {"", String(ns_)});
  }
  bool embedded() const { return std::string(GetParam()) == "embedded"; }

  // A ConfigMap of the test's namespace must not have the key `denied`, and gets `defaulted`.
  WebhookSpec Maps() const {
    return WebhookFor<ConfigMap>("maps." + ns_ + ".example.com")
        .Default([](ConfigMap& map) { map.data["defaulted"] = "yes"; })
        .Validate([](const ConfigMap*, const ConfigMap* map) {
          return map != nullptr && map->data.Find("denied") != nullptr ? Admission::Deny("it is denied") : Admission::Allow();
        })
        .NamespaceSelector({.match_labels = {{"hooks", String(ns_)}}})
        .ExcludeOwnNamespace(false)
        .FailurePolicy(WebhookFailurePolicy::kFail)
        .Build();
  }
  ManagerOptions Options() const {
    return {.preflight = Preflight::kSkip,
            .webhooks = {.name = ns_,
                         .ns = ns_,
                         .url = proxy_.url(),
                         .bind_address = "127.0.0.1",
                         .port = 0,
                         .shutdown_delay = seconds(0),
                         .install = true,
                         .times = {.ready_wait = milliseconds(100), .repair_delay = milliseconds(100)}}};
  }

  // A manager with the webhook, which runs.
  struct Replica {
    Replica(const Client& client, const ManagerOptions& options, const WebhookSpec& spec) : manager(client, options) {
      EXPECT_TRUE(manager.Add(spec));
      running.emplace(manager);
    }
    bool Ready() const {
      const Value report = Report();
      return manager.webhook_port() != 0 && report["ready"].bool_value();
    }
    Value Report() const {
      const Value all = ParseJson(manager.DebugJson()).value();
      return all["webhooks"];
    }

    Manager manager;
    std::optional<RunningManager> running;
  };
  std::unique_ptr<Replica> Start(const ManagerOptions& options) const { return std::make_unique<Replica>(NewClient(), options, Maps()); }

  Result<ConfigMap> CreateMap(const std::string& name, const std::string& key = "a", bool dry_run = true) const {
    ConfigMap map;
    map.metadata.name = name;
    map.metadata.namespace_ = ns_;
    map.data[key] = "b";
    return admin_->Create(Patience(), map, {.dry_run = dry_run});
  }
  Result<Secret> CaSecret() const { return admin_->Get<Secret>(Patience(), {String(ns_), String(ns_ + "-webhook-ca")}); }
  Result<CaState> Ca() const {
    const Result<Secret> secret = CaSecret();
    if (!secret) return secret.error();
    const auto* const json = secret->data.Find("ca.json");
    return CaState::Parse(json == nullptr ? "" : json->view());
  }
  ValidatingWebhookConfiguration Validating() const {
    return admin_->Get<ValidatingWebhookConfiguration>(Patience(), {"", String(ns_)}).value();
  }
  std::string Bundle() const {
    const ValidatingWebhookConfiguration now = Validating();
    return now.webhooks.empty() ? "" : std::string(now.webhooks[0].client_config.ca_bundle.view());
  }

  std::string ns_;
  std::unique_ptr<Client> admin_;
  TcpProxy proxy_;
};

// A connection to the port as API servers open them: by the name, and by the CA of the bundle.
std::string Handshake(std::uint16_t port, const std::string& bundle, const std::string& server_name) {
  ClientConfig config;
  config.host = "https://127.0.0.1:" + std::to_string(port);
  config.tls.ca_data = bundle;
  config.tls.server_name = server_name;
  const Client client = Client::FromConfig(config, {.max_retries = 0}).value();
  HttpRequest request;
  request.target = "/";
  const Result<HttpResponse> answer = client.Raw(Patience(), std::move(request));
  return answer ? "ok" : answer.error().ToString();
}

TEST_P(WebhooksServerTest, ThreeReplicasThatStartAtOnceShareACaAndServe) {
  std::vector<std::unique_ptr<Replica>> replicas;
  for (int i = 0; i < 3; ++i) replicas.push_back(Start(Options()));
  std::vector<std::uint16_t> ports;
  for (const auto& replica : replicas) {
    ASSERT_TRUE(Eventually([&] { return replica->Ready(); })) << ToJson(replica->Report());
    ports.push_back(replica->manager.webhook_port());
  }
  proxy_.SetBackends(ports);
  EXPECT_EQ(Ca().value().revision, 1);
  EXPECT_EQ(Ca().value().Bundle(), Bundle());
  for (const std::uint16_t port : ports) {
    EXPECT_EQ(Handshake(port, Bundle(), ns_ + "-webhook." + ns_ + ".svc"), Handshake(port, Bundle(), "127.0.0.1"));
    EXPECT_THAT(Handshake(port, Bundle(), ns_ + "-webhook." + ns_ + ".svc"), Not(HasSubstr("certificate")));
    EXPECT_THAT(Handshake(port, Bundle(), "other.svc"), HasSubstr("certificate"));
  }
  // No key leaves the Secret.
  for (const auto& replica : replicas) EXPECT_THAT(replica->manager.DebugJson(), Not(HasSubstr("PRIVATE")));
  EXPECT_EQ(CreateMap("a").value().data["defaulted"], "yes");
  const Result<ConfigMap> denied = CreateMap("a", "denied");
  ASSERT_FALSE(denied);
  EXPECT_THAT(denied.error().ToString(), HasSubstr("it is denied"));
}

TEST_P(WebhooksServerTest, InstallsTheConversionOfAKindAndServesIt) {
  DynamicObject crd = FromJson<DynamicObject>(R"({"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition",
      "metadata":{"name":"networks.nets.example.com"},"spec":{"group":"nets.example.com","scope":"Namespaced",
      "names":{"kind":"Network","listKind":"NetworkList","plural":"networks","singular":"network"}}})")
                          .value();
  for (const char* version : {"v1", "v2"}) {
    crd["spec"]["versions"].MutableList().push_back(
        ParseJson(R"({"name":")" + std::string(version) + R"(","served":true,"storage":)" +
                  (std::string_view(version) == "v2" ? "true" : "false") +
                  R"(,"schema":{"openAPIV3Schema":{"type":"object","properties":{"spec":{"type":"object",
                      "x-kubernetes-preserve-unknown-fields":true}}}}})")
            .value());
  }
  ASSERT_TRUE(InstallCrds(Patience(), *admin_, {{.crd = crd}}));
  Manager manager(NewClient(), Options());
  ASSERT_TRUE(manager.Add(nets::NetworkConversion()));
  EXPECT_THAT(manager.Add(nets::NetworkConversion()).error().ToString(), HasSubstr("Network.nets.example.com"));
  RunningManager running(manager);
  ASSERT_TRUE(Eventually([&] {
    const Value report = ParseJson(manager.DebugJson()).value();
    return report["webhooks"]["ready"].bool_value();
  })) << manager.DebugJson();
  proxy_.SetBackends({manager.webhook_port()});

  nets::v1::Network old;
  old.metadata = {.name = "office", .namespace_ = String(ns_)};
  old.spec.cidr = "10.0.0.0/8";
  old.spec.mode = "slow";
  // The server notices the conversion a moment after it was written, and a proxy's backends are new.
  const auto converted = [&] {
    const auto made = admin_->Create(Patience(), old);
    if (!made && !IsAlreadyExists(made.error())) return false;
    const auto found = admin_->Get<nets::v2::Network>(Patience(), {String(ns_), "office"});
    if (found && found->spec.cidrs.size() == 1 && found->spec.cidrs[0] == "10.0.0.0/8") return true;
    (void)admin_->Delete<nets::v2::Network>(Patience(), {String(ns_), "office"});
    return false;
  };
  EXPECT_TRUE(Eventually(converted));
  const Result<nets::v1::Network> back = admin_->Get<nets::v1::Network>(Patience(), {String(ns_), "office"});
  ASSERT_TRUE(back) << back.error().ToString();
  EXPECT_EQ(back->spec.cidr, "10.0.0.0/8");
  EXPECT_EQ(back->spec.mode, "slow");
  (void)admin_->Delete<nets::v2::Network>(Patience(), {String(ns_), "office"});
  ASSERT_TRUE(admin_->Resource(Gvr{"apiextensions.k8s.io", "v1", "customresourcedefinitions"})
                  .Delete(Patience(), {"", "networks.nets.example.com"}));
  EXPECT_TRUE(running.Stop());
}

TEST_P(WebhooksServerTest, PutsBackASecretThatIsDeletedOrDamaged) {
  const auto replica = Start(Options()), other = Start(Options());
  ASSERT_TRUE(Eventually([&] { return replica->Ready() && other->Ready(); })) << ToJson(replica->Report());
  const std::string bundle = Ca().value().Bundle();
  const ObjectKey key{String(ns_), String(ns_ + "-webhook-ca")};

  ASSERT_TRUE(admin_->Delete<Secret>(Patience(), key));
  EXPECT_TRUE(Eventually([&] { return Ca().ok(); }));
  EXPECT_EQ(Ca().value().Bundle(), bundle);

  // A truncated Secret, as a failed edit leaves it.
  const std::string half = Ca().value().ToJson().substr(0, 300);
  std::string encoded;
  AppendBase64(half, encoded);
  for (const std::string& patch : {"{\"data\": {\"ca.json\": \"" + encoded + "\"}}", std::string("{\"data\": null}")}) {
    ASSERT_TRUE(admin_->Patch<Secret>(Patience(), key, Patch::Merge(patch)));
    EXPECT_TRUE(Eventually([&] { return Ca().ok(); })) << patch;
    EXPECT_EQ(Ca().value().Bundle(), bundle);
  }
  EXPECT_EQ(Bundle(), bundle);
  EXPECT_TRUE(replica->Ready()) << ToJson(replica->Report());
}

TEST_P(WebhooksServerTest, ASecretThatSomethingElseMadeKeepsItsData) {
  Secret theirs;
  theirs.metadata.namespace_ = ns_;
  theirs.metadata.name = ns_ + "-webhook-ca";
  theirs.metadata.labels["app"] = "theirs";
  theirs.data["password"] = "kept";
  ASSERT_TRUE(admin_->Create(Patience(), theirs));
  const auto replica = Start(Options());
  ASSERT_TRUE(Eventually([&] { return replica->Ready(); })) << ToJson(replica->Report());
  EXPECT_EQ(Ca().value().Bundle(), Bundle());
  // Its part is replaced in a rotation or a repair, and nothing else.
  ASSERT_TRUE(admin_->Patch<Secret>(Patience(), {String(ns_), theirs.metadata.name},
                                    Patch::Merge(R"({"data":{"ca.json":"AAAA","more":"AAAA"},"metadata":{"annotations":{"a":"b"}}})")));
  EXPECT_TRUE(Eventually([&] { return Ca().ok(); }));
  const Secret now = CaSecret().value();
  EXPECT_EQ(now.data.Get("password"), theirs.data.Get("password"));
  EXPECT_EQ(now.data.size(), 3U);
  EXPECT_EQ(now.metadata.labels, theirs.metadata.labels);
  EXPECT_EQ(now.metadata.annotations.Get("a"), "b");
}

TEST_P(WebhooksServerTest, AnImmutableSecretIsReportedUntilItIsDeleted) {
  Secret theirs;
  theirs.metadata.namespace_ = ns_;
  theirs.metadata.name = ns_ + "-webhook-ca";
  theirs.immutable = true;
  theirs.data["password"] = "kept";
  ASSERT_TRUE(admin_->Create(Patience(), theirs));
  const auto replica = Start(Options());
  const auto report = [&] { return std::string(ToJson(replica->Report())); };
  EXPECT_TRUE(Eventually([&] { return report().find("write the Secret: ") != std::string::npos; })) << report();
  EXPECT_THAT(report(), HasSubstr("immutable"));
  EXPECT_FALSE(replica->Ready());
  EXPECT_EQ(CaSecret().value().data.size(), 1U);
  ASSERT_TRUE(admin_->Delete<Secret>(Patience(), {String(ns_), theirs.metadata.name}));
  EXPECT_TRUE(Eventually([&] { return replica->Ready(); })) << report();
}

TEST_P(WebhooksServerTest, RepairsItsOwnWebhooksAndNoOthers) {
  const auto replica = Start(Options());
  ASSERT_TRUE(Eventually([&] { return replica->Ready(); })) << ToJson(replica->Report());
  const std::string bundle = Bundle();
  ValidatingWebhookConfiguration edited = Validating();
  ASSERT_EQ(edited.webhooks.size(), 1U);
  auto foreign = edited.webhooks[0];
  foreign.name = "other.example.com";
  foreign.failure_policy = String("Ignore");
  foreign.client_config.ca_bundle = {};
  edited.webhooks = {foreign, edited.webhooks[0]};
  edited.webhooks[1].client_config.ca_bundle = {};
  edited.webhooks[1].timeout_seconds = 3;
  edited.webhooks[1].rules = {};
  ASSERT_TRUE(admin_->Update(Patience(), edited));
  EXPECT_TRUE(Eventually([&] {
    const ValidatingWebhookConfiguration now = Validating();
    return now.webhooks.size() == 2 && now.webhooks[1].client_config.ca_bundle.view() == bundle && now.webhooks[1].timeout_seconds == 10 &&
           now.webhooks[1].rules.size() == 1;
  })) << ToJson(Validating()).value();
  EXPECT_TRUE(Validating().webhooks[0].client_config.ca_bundle.empty()) << "another program's webhook";
  ASSERT_TRUE(admin_->Delete<ValidatingWebhookConfiguration>(Patience(), {"", String(ns_)}));
  EXPECT_TRUE(Eventually([&] {
    return admin_->Get<ValidatingWebhookConfiguration>(Patience(), {"", String(ns_)}).ok() && Bundle() == bundle;
  }));
}

TEST_P(WebhooksServerTest, LeavesWhatIsCertManagers) {
  ManagerOptions options = Options();
  options.webhooks.install = false;
  WebhookConfigurations made = MakeWebhookConfigurations({Maps()}, {.name = ns_, .ns = ns_, .url = proxy_.url()}).value();
  made.validating->metadata.annotations["cert-manager.io/inject-ca-from"] = "a/b";
  ASSERT_TRUE(admin_->Create(Patience(), *made.validating));
  ASSERT_TRUE(admin_->Create(Patience(), *made.mutating));
  const auto replica = Start(options);
  const auto mutating = [&] { return admin_->Get<MutatingWebhookConfiguration>(Patience(), {"", String(ns_)}).value(); };
  EXPECT_TRUE(Eventually([&] { return !mutating().webhooks[0].client_config.ca_bundle.empty(); }));
  EXPECT_TRUE(Eventually([&] { return ToJson(replica->Report()).find("cert-manager") != std::string_view::npos; }))
      << ToJson(replica->Report());
  EXPECT_TRUE(Validating().webhooks[0].client_config.ca_bundle.empty());
  EXPECT_FALSE(replica->Ready());
}

TEST_P(WebhooksServerTest, WithThePrintedRolesItDoesAllOfIt) {
  if (server_.kubectl.empty()) GTEST_SKIP() << "no kubectl: run make control-plane";
  core::v1::ServiceAccount account;
  account.metadata.name = "hooks";
  account.metadata.namespace_ = ns_;
  ASSERT_TRUE(admin_->Create(Patience(), account));
  ClientConfig config = Config();
  config.token = SecretString(CreateServiceAccountToken(Patience(), *admin_, {String(ns_), "hooks"}).value().status.token.str());
  config.tls.certificate_data.clear();
  config.tls.certificate_file.clear();
  config.tls.key_data = SecretString();
  config.tls.key_file.clear();
  config.ns = ns_;
  const Client client = Client::FromConfig(config).value();
  ManagerOptions options = Options();
  options.preflight = Preflight::kFail;
  {
    Manager manager(client, options);
    ASSERT_TRUE(manager.Add(Maps()));
    std::ofstream(dir() + "/roles.yaml") << manager.RbacYaml({.name = ns_, .service_account = "hooks", .service_account_namespace = ns_});
    (void)Kubectl("apply -f '" + dir() + "/roles.yaml'");
    ASSERT_TRUE(Eventually([&] {
      const Result<AccessReport> report = ReviewAccess(Patience(), client, manager.needs());
      return report && !report->unknown && report->missing.empty();
    }));
  }
  Replica replica(client, options, Maps());
  EXPECT_TRUE(Eventually([&] { return replica.Ready(); })) << ToJson(replica.Report());
  ASSERT_TRUE(admin_->Delete<Secret>(Patience(), {String(ns_), String(ns_ + "-webhook-ca")}));
  EXPECT_TRUE(Eventually([&] { return Ca().ok(); }));
}

// ---- testing::InstallWebhooks ----

TEST_P(WebhooksServerTest, ATestInstallsWebhooksWithoutAManager) {
  {
    const auto installed = testing::InstallWebhooks(Patience(), *admin_, {Maps()}, {.name = ns_});
    ASSERT_TRUE(installed) << installed.error().ToString();
    EXPECT_EQ(CreateMap("a").value().data["defaulted"], "yes") << "at once, without waiting";
    EXPECT_FALSE(CreateMap("a", "denied"));
    EXPECT_FALSE(testing::InstallWebhooks(Patience(), *admin_, {Maps()}, {.name = ns_})) << "the name is taken";
    EXPECT_EQ(Handshake((*installed)->port(), (*installed)->ca_pem(), ""),
              Handshake((*installed)->port(), (*installed)->ca_pem(), "127.0.0.1"));
  }
  EXPECT_TRUE(IsNotFound(admin_->Get<MutatingWebhookConfiguration>(Patience(), {"", String(ns_)}).error()));
  EXPECT_TRUE(Eventually([&] {
    const Result<ConfigMap> made = CreateMap("a");
    return made && made->data.Find("defaulted") == nullptr;
  }));
}

INSTANTIATE_SERVERS(WebhooksServerTest);

}  // namespace
}  // namespace kube::internal
