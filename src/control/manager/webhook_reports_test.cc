// What a manager says about the certificates of its webhooks: Events at the Secret, metrics, and its part of the debug page.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "control/certificates/ca_state.h"
#include "control/manager/manager_test_util.h"
#include "kube/api/admissionregistration/v1.h"
#include "kube/api/events/v1.h"
#include "kube/webhook/webhook.h"

namespace kube::internal {
namespace {

using admissionregistration::v1::ValidatingWebhookConfiguration;
using core::v1::ConfigMap;
using core::v1::Secret;
using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class WebhookReportsTest : public ManagerServerTest {
 protected:
  void SetUp() override {
    ManagerServerTest::SetUp();
    manager_ = std::make_unique<Manager>(*client_, ManagerOptions{.metrics_bind_address = "127.0.0.1:0",
                                                                  .webhooks = {.name = "hooks",
                                                                               .bind_address = "127.0.0.1",
                                                                               .port = 0,
                                                                               .shutdown_delay = seconds(0),
                                                                               .install = true,
                                                                               .times = {.ready_wait = milliseconds(1)}}});
    ASSERT_TRUE(manager_->Add(
        WebhookFor<ConfigMap>("maps.example.com").Default([](ConfigMap&) {}).Validate([](const ConfigMap*, const ConfigMap*) {})));
  }
  void Start() {
    running_.emplace(*manager_);
    ASSERT_TRUE(Eventually([&] { return Report()["ready"] == Value(true); })) << ToJson(Report());
  }
  void TearDown() override {
    running_.reset();
    manager_.reset();
  }

  Value Report() const {
    const Value all = ParseJson(manager_->DebugJson()).value();
    return all["webhooks"];
  }
  std::string Metrics() const { return manager_->metrics()->Render(); }
  Result<Secret> CaSecret() const { return client_->Get<Secret>(Patience(), kSecret); }
  // Replaces what the Secret holds.
  void Damage(const std::string& json) const {
    Secret secret = CaSecret().value();
    secret.data["ca.json"] = json;
    ASSERT_TRUE(client_->Update(Patience(), secret));
  }
  // The first Event of this reason, once there is one.
  events::v1::Event EventOf(const std::string& reason) const {
    events::v1::Event found;
    EXPECT_TRUE(Eventually([&] {
      const auto events = client_->List<events::v1::Event>(Patience(), {.ns = "default"}).value();
      for (const events::v1::Event& event : events.items) {
        if (event.reason != reason) continue;
        found = event;
        return true;
      }
      return false;
    })) << reason;
    EXPECT_EQ(found.regarding.kind, "Secret");
    EXPECT_EQ(found.regarding.namespace_, "default");
    EXPECT_EQ(found.regarding.name, "hooks-webhook-ca");
    EXPECT_FALSE(found.regarding.uid.empty());
    EXPECT_EQ(found.reporting_controller, "hooks");
    EXPECT_THAT(ToJson(found).value(), Not(HasSubstr("PRIVATE KEY")));
    return found;
  }

  inline static const ObjectKey kSecret{"default", "hooks-webhook-ca"};
  std::unique_ptr<Manager> manager_;
  std::optional<RunningManager> running_;
};

TEST_F(WebhookReportsTest, ASecretThatIsDeletedIsPutBackWithAnEvent) {
  Start();
  EXPECT_EQ(EventOf("WebhookCaChanged").type, "Normal");
  const String uid = CaSecret().value().metadata.uid;
  ASSERT_TRUE(client_->Delete<Secret>(Patience(), kSecret));
  const events::v1::Event unusable = EventOf("WebhookCaNotUsable");
  EXPECT_EQ(unusable.type, "Warning");
  EXPECT_EQ(unusable.note, "it was deleted");
  const events::v1::Event repaired = EventOf("WebhookCaRepaired");
  EXPECT_EQ(repaired.type, "Warning");
  EXPECT_EQ(repaired.note, "restored the CA");
  EXPECT_NE(repaired.regarding.uid, uid) << "of the new Secret";
}

TEST_F(WebhookReportsTest, ASecretThatIsDamagedIsRepairedWithAnEvent) {
  Start();
  const CaState before = CaState::Parse(CaSecret().value().data.Find("ca.json")->view()).value();
  Damage("{\"revision\":");
  const events::v1::Event unusable = EventOf("WebhookCaNotUsable");
  EXPECT_EQ(unusable.type, "Warning");
  EXPECT_FALSE(unusable.note.empty());
  EXPECT_THAT(Metrics(), HasSubstr("\nkubexx_webhook_certificate_errors_total 1\n"));
  EXPECT_EQ(EventOf("WebhookCaRepaired").note, "restored the CA");
  const CaState after = CaState::Parse(CaSecret().value().data.Find("ca.json")->view()).value();
  EXPECT_EQ(after.Bundle(), before.Bundle());
}

TEST_F(WebhookReportsTest, AReplicaThatStartsWithADamagedSecretSaysSoOnce) {
  Secret secret;
  secret.metadata.namespace_ = "default";
  secret.metadata.name = "hooks-webhook-ca";
  secret.data["ca.json"] = "half of";
  ASSERT_TRUE(client_->Create(Patience(), secret));
  running_.emplace(*manager_);
  EXPECT_EQ(EventOf("WebhookCaNotUsable").type, "Warning");
  EXPECT_TRUE(Eventually([&] { return ToJson(Report()).find("\"problems\":[\"Secret: ") != std::string::npos; })) << ToJson(Report());
  EXPECT_EQ(Report()["ready"], Value(false));
  // After repair_delay, for another replica could have had the CA.
  ASSERT_TRUE(Eventually([&] { return Report()["ready"] == Value(true); })) << ToJson(Report());
  EXPECT_TRUE(Report()["problems"].is_null());
  EXPECT_EQ(EventOf("WebhookCaRepaired").type, "Warning");
  int unusable = 0;
  const auto events = client_->List<events::v1::Event>(Patience(), {.ns = "default"}).value();
  for (const events::v1::Event& event : events.items) {
    if (event.reason == "WebhookCaNotUsable") unusable += event.series ? event.series->count : 1;
  }
  EXPECT_EQ(unusable, 1);
}

TEST_F(WebhookReportsTest, CountsWritesAndInjections) {
  Start();
  EXPECT_THAT(Metrics(), AllOf(HasSubstr("\nkubexx_webhook_ca_writes_total{repair=\"false\"} 1\n"),
                               HasSubstr("\nkubexx_webhook_ca_injections_total 2\n"),
                               Not(HasSubstr("\nkubexx_webhook_ca_writes_total{repair=\"true\"}"))))
      << "one Secret, two configurations";
  ASSERT_TRUE(client_->Delete<Secret>(Patience(), kSecret));
  EXPECT_TRUE(Eventually([&] { return Metrics().find("\nkubexx_webhook_ca_writes_total{repair=\"true\"} 1\n") != std::string::npos; }));
  EXPECT_THAT(Metrics(), HasSubstr("\nkubexx_webhook_ca_injections_total 2\n")) << "the CA is the same";
  auto validating = client_->Get<ValidatingWebhookConfiguration>(Patience(), {"", "hooks"}).value();
  validating.webhooks[0].client_config.ca_bundle = {};
  ASSERT_TRUE(client_->Update(Patience(), validating));
  EXPECT_TRUE(Eventually([&] { return Metrics().find("\nkubexx_webhook_ca_injections_total 3\n") != std::string::npos; }));
  EXPECT_THAT(Metrics(), HasSubstr("\nkubexx_webhook_ca_writes_total{repair=\"false\"} 1\n"));
}

TEST_F(WebhookReportsTest, CountsErrorsAndShowsThem) {
  const int fault = server_->AddFault({.verb = "get", .resource = "secrets", .status = 403, .message = "<b>not yours</b>", .times = -1});
  running_.emplace(*manager_);
  ASSERT_TRUE(Eventually([&] { return Metrics().find("\nkubexx_webhook_certificate_errors_total 1\n") != std::string::npos; }));
  ASSERT_TRUE(Eventually([&] { return !Report()["problems"].is_null(); }));
  EXPECT_THAT(Report()["problems"].list()[0].string_value().str(), AllOf(HasSubstr("read the Secret: "), HasSubstr("<b>not yours</b>")));
  EXPECT_THAT(Report()["notReady"].string_value().str(), AllOf(HasSubstr("there is no certificate yet"), HasSubstr("read the Secret: ")));
  ASSERT_TRUE(server_->RemoveFault(fault));
  ASSERT_TRUE(Eventually([&] { return Report()["ready"] == Value(true); })) << ToJson(Report());
  EXPECT_TRUE(Report()["problems"].is_null());
  EXPECT_THAT(Metrics(), HasSubstr("\nkubexx_webhook_certificate_errors_total 1\n")) << "the same error is counted once";
}

TEST_F(WebhookReportsTest, TheDebugPageHasASectionOfWebhooks) {
  Start();
  const std::string answer = AskServer(PlainTo(manager_->metrics_port()), "GET", "/debug/controllers");
  ASSERT_THAT(answer, ::testing::StartsWith("200 "));
  EXPECT_THAT(answer, Not(HasSubstr("PRIVATE KEY")));
  const Value all = ParseJson(answer.substr(4)).value();
  const Value& webhooks = all["webhooks"];
  EXPECT_EQ(webhooks["port"], Value(static_cast<std::int64_t>(manager_->webhook_port())));
  EXPECT_EQ(webhooks["ready"], Value(true));
  EXPECT_EQ(webhooks["secret"], Value("default/hooks-webhook-ca"));
  EXPECT_EQ(webhooks["certificate"]["hosts"],
            ParseJson(R"(["hooks-webhook.default.svc","hooks-webhook.default.svc.cluster.local"])").value());
  EXPECT_EQ(webhooks["ca"]["revision"], Value(1));
  EXPECT_FALSE(webhooks["ca"]["phase"].string_value().empty());
  const CaState ca = CaState::Parse(CaSecret().value().data.Find("ca.json")->view()).value();
  EXPECT_EQ(webhooks["ca"]["fingerprint"], Value(ca.current.info.fingerprint));
  for (const char* which : {"certificate", "ca"}) {
    EXPECT_LT(webhooks[which]["notBefore"].string_value().view(), webhooks[which]["notAfter"].string_value().view()) << which;
  }
  EXPECT_EQ(webhooks["configurations"], ParseJson(R"([{"kind":"Service","name":"hooks-webhook","state":"is there"},
                                                      {"kind":"MutatingWebhookConfiguration","name":"hooks","state":"has the CA"},
                                                      {"kind":"ValidatingWebhookConfiguration","name":"hooks","state":"has the CA"}])")
                                            .value());
  EXPECT_EQ(webhooks["webhooks"],
            ParseJson(R"([{"name":"maps.example.com","paths":["/mutate--v1-configmap","/validate--v1-configmap"]}])").value());
}

}  // namespace
}  // namespace kube::internal
