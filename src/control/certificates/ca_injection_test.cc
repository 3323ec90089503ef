#include "control/certificates/ca_injection.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "codec/base64.h"
#include "kube/codec/json.h"
#include "kube/codec/patch.h"
#include "kube/serve/certificate.h"

namespace kube::internal {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

Value Json(const std::string& text) { return ParseJson(text).value(); }
std::string Encoded(const std::string& text) {
  std::string out;
  AppendBase64(text, out);
  return out;
}
const std::string& CaPem() {
  static const std::string pem = serve::CertificateAuthority::Create("test").value().certificate_pem();
  return pem;
}

InjectionTarget Ours() {
  return WebhookTarget(Json(R"({"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
      "metadata": {"name": "hooks"}, "webhooks": [
        {"name": "a.example.com", "clientConfig": {"service": {"name": "s", "namespace": "n", "path": "/a", "port": 443}},
         "rules": [{"operations": ["CREATE"]}], "timeoutSeconds": 10, "sideEffects": "None"}]})"));
}
DynamicObject Stored(const std::string& webhooks, const std::string& annotations = "{}") {
  return DynamicObject(Json(R"({"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
      "metadata": {"name": "hooks", "resourceVersion": "7", "annotations": )" +
                            annotations + R"(}, "webhooks": )" + webhooks + "}"));
}
const char* const kStored = R"([{"name": "foreign.example.com", "clientConfig": {"url": "https://x"}},
  {"name": "a.example.com", "clientConfig": {"service": {"name": "s", "namespace": "n", "path": "/a", "port": 443}},
   "rules": [{"operations": ["CREATE"], "scope": "*"}], "timeoutSeconds": 10, "sideEffects": "None", "matchPolicy": "Equivalent"}])";

// What the object is after the patch.
Value After(const DynamicObject& object, const InjectionPlan& plan) { return ApplyJsonPatch(object.value(), plan.patch).value(); }

TEST(CaInjectionTest, WritesTheCaIntoItsOwnWebhooksOnly) {
  const DynamicObject stored = Stored(kStored);
  const InjectionPlan plan = PlanInjection(Ours(), stored, CaPem(), false);
  ASSERT_TRUE(plan.changes());
  const Value after = After(stored, plan);
  EXPECT_EQ(after["webhooks"].list()[1]["clientConfig"]["caBundle"].string_value(), Encoded(CaPem()));
  EXPECT_EQ(after["webhooks"].list()[0], stored["webhooks"].list()[0]);
  EXPECT_EQ(after["metadata"]["resourceVersion"].string_value(), "7") << "another version is a conflict";
  EXPECT_THAT(plan.trusted, ElementsAre(IsEmpty()));

  const InjectionPlan again = PlanInjection(Ours(), DynamicObject(after), CaPem(), true);
  EXPECT_FALSE(again.changes()) << "defaults of the server are no deviation: " << ToJson(again.patch);
  EXPECT_THAT(again.trusted, ElementsAre(ElementsAre(CaPem())));
}

TEST(CaInjectionTest, KnowsNothingToInjectWithoutABundle) { EXPECT_FALSE(PlanInjection(Ours(), Stored(kStored), "", true).changes()); }

TEST(CaInjectionTest, NeverWritesWhatIsCertManagers) {
  for (const char* const annotation :
       {"cert-manager.io/inject-ca-from", "cert-manager.io/inject-ca-from-secret", "cert-manager.io/inject-apiserver-ca"}) {
    const InjectionPlan plan = PlanInjection(Ours(), Stored(kStored, "{\"" + std::string(annotation) + "\": \"a/b\"}"), CaPem(), true);
    EXPECT_TRUE(plan.foreign);
    EXPECT_FALSE(plan.changes());
  }
}

TEST(CaInjectionTest, InstallationAddsAndRestoresItsWebhooks) {
  for (const char* const webhooks : {"[]", R"([{"name": "foreign.example.com"}])",
                                     R"([{"name": "a.example.com", "clientConfig": {"url": "https://evil"}, "timeoutSeconds": 1}])"}) {
    const DynamicObject stored = Stored(webhooks);
    EXPECT_THAT(PlanInjection(Ours(), stored, CaPem(), false).missing, SizeIs(1));
    const InjectionPlan plan = PlanInjection(Ours(), stored, CaPem(), true);
    const Value after = After(stored, plan);
    const Value ours = after["webhooks"].list().back();
    EXPECT_EQ(ours["timeoutSeconds"].int_value(), 10);
    EXPECT_TRUE(ours["clientConfig"]["url"].is_null());
    EXPECT_EQ(ours["clientConfig"]["service"]["name"].string_value(), "s");
    EXPECT_EQ(ours["clientConfig"]["caBundle"].string_value(), Encoded(CaPem()));
    EXPECT_FALSE(PlanInjection(Ours(), DynamicObject(after), CaPem(), true).changes());
  }
  EXPECT_THAT(NewObjectOf(Ours(), CaPem())["webhooks"].list(), SizeIs(1));
}

// Two programs of one name in two namespaces: API servers would stop trusting the other one.
TEST(CaInjectionTest, WhatCallsAnotherProgramKeepsItsCa) {
  InjectionTarget ours = Ours();
  ours.hosts = {"s.n.svc", "s.n.svc.cluster.local", "hooks.example.com", "10.0.0.1"};
  const auto plan_for = [&](const std::string& client, bool install = false) {
    return PlanInjection(ours, Stored(R"([{"name": "a.example.com", "clientConfig": )" + client + "}]"), CaPem(), install);
  };
  for (const char* client : {R"({"service": {"name": "s", "namespace": "other", "path": "/a"}})", R"({"url": "https://other.com/a"})",
                             R"({"url": "https://10.0.0.1.evil.com/a"})", R"({"url": "nonsense"})", "{}"}) {
    const InjectionPlan plan = plan_for(client);
    EXPECT_FALSE(plan.changes()) << client;
    EXPECT_THAT(plan.trusted, IsEmpty()) << client;
    EXPECT_THAT(plan.missing, ElementsAre(HasSubstr("a.example.com (it calls "))) << client;
    EXPECT_TRUE(plan_for(client, true).changes()) << "to what was registered: " << client;
  }
  for (const char* client : {R"({"service": {"name": "s", "namespace": "n", "path": "/b", "port": 8443}})",
                             R"({"url": "https://Hooks.example.com:9443/a"})", R"({"url": "https://10.0.0.1:9443/a"})"}) {
    const InjectionPlan plan = plan_for(client);
    EXPECT_TRUE(plan.changes()) << client;
    EXPECT_THAT(plan.trusted, SizeIs(1)) << client;
    EXPECT_THAT(plan.missing, IsEmpty()) << client;
  }

  InjectionTarget crd =
      ConversionTarget("carts.example.com", Json(R"({"strategy": "Webhook", "webhook": {"conversionReviewVersions": ["v1"],
        "clientConfig": {"service": {"name": "s", "namespace": "n", "path": "/convert", "port": 443}}}})"),
                       [](const DynamicObject&) { return Result<void>(); });
  crd.hosts = ours.hosts;
  const DynamicObject others(Json(R"({"metadata": {"resourceVersion": "1"}, "spec": {"conversion": {"strategy": "Webhook",
      "webhook": {"clientConfig": {"service": {"name": "s", "namespace": "other", "path": "/convert"}}}}}})"));
  const InjectionPlan plan = PlanInjection(crd, others, CaPem(), false);
  EXPECT_FALSE(plan.changes());
  EXPECT_THAT(plan.trusted, IsEmpty());
  EXPECT_THAT(plan.missing, ElementsAre("spec.conversion (it calls s.other.svc)"));
  EXPECT_TRUE(PlanInjection(crd, others, CaPem(), true).changes());
}

TEST(CaInjectionTest, ACustomResourceDefinitionGetsTheCaOfItsConversion) {
  const InjectionTarget target =
      ConversionTarget("carts.example.com", Json(R"({"strategy": "Webhook", "webhook": {"conversionReviewVersions": ["v1"],
        "clientConfig": {"service": {"name": "s", "namespace": "n", "path": "/convert", "port": 443}}}})"),
                       [](const DynamicObject& crd) {
                         return crd["spec"]["versions"].list().size() < 3 ? Result<void>() : Error::Invalid("a version is unknown");
                       });
  const DynamicObject none(Json(R"({"metadata": {"resourceVersion": "1"}, "spec": {"conversion": {"strategy": "None"}}})"));
  EXPECT_FALSE(PlanInjection(target, none, CaPem(), false).changes()) << "the stanza is the installer's";
  EXPECT_THAT(PlanInjection(target, none, CaPem(), false).missing, ElementsAre("spec.conversion"));
  const Value installed = After(none, PlanInjection(target, none, CaPem(), true));
  EXPECT_EQ(installed["spec"]["conversion"]["strategy"].string_value(), "Webhook");
  Value cut = installed;
  cut["spec"]["conversion"]["webhook"]["clientConfig"]["caBundle"] = "";
  const InjectionPlan repaired = PlanInjection(target, DynamicObject(cut), CaPem(), false);
  EXPECT_EQ(After(DynamicObject(cut), repaired), installed);
  EXPECT_FALSE(PlanInjection(target, DynamicObject(installed), CaPem(), true).changes());

  // With a version that the program does not convert, the CA only.
  Value unknown = none.value();
  unknown["spec"]["versions"] = Value::Array({Value::Object(), Value::Object(), Value::Object()});
  const InjectionPlan refused = PlanInjection(target, DynamicObject(unknown), CaPem(), true);
  EXPECT_FALSE(refused.changes());
  ASSERT_TRUE(refused.problem);
  EXPECT_EQ(refused.problem->message(), "a version is unknown");
  unknown["spec"]["conversion"] = cut["spec"]["conversion"];
  EXPECT_TRUE(PlanInjection(target, DynamicObject(unknown), CaPem(), true).changes());
}

}  // namespace
}  // namespace kube::internal
