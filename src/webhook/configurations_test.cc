#include "kube/webhook/configurations.h"

#include <gmock/gmock.h>

#include "kube/api/core/v1.h"
#include "kube/codec/yaml.h"
#include "kube/webhook/webhook.h"

namespace kube {
namespace {

using core::v1::Pod;
using ::testing::HasSubstr;

WebhookSpec PodWebhook() {
  return WebhookFor<Pod>("pods.example.com")
      .Default([](Pod&) {})
      .Validate([](const Pod*, const Pod*) {}, AdmissionOperation::kCreate | AdmissionOperation::kDelete)
      .AndSubresource("status")
      .MatchCondition("not-system", "!request.userInfo.username.startsWith('system:')")
      .ObjectSelector({.match_labels = {{"checked", "yes"}}})
      .ReinvocationPolicy(WebhookReinvocation::kIfNeeded)
      .FailurePolicy(WebhookFailurePolicy::kIgnore)
      .Timeout(std::chrono::seconds(5));
}

TEST(WebhookConfigurationsTest, SayWhatWasRegistered) {
  const Result<WebhookConfigurations> made =
      MakeWebhookConfigurations({PodWebhook()}, {.name = "checker", .ns = "checker-system", .ca_bundle = "PEM"});
  ASSERT_TRUE(made.ok()) << made.error().ToString();
  const Result<std::string> yaml = ToYaml(*made);
  ASSERT_TRUE(yaml.ok());
  EXPECT_EQ(*yaml, R"(apiVersion: admissionregistration.k8s.io/v1
kind: MutatingWebhookConfiguration
metadata:
  labels:
    app.kubernetes.io/name: checker
  name: checker
webhooks:
- admissionReviewVersions:
  - v1
  clientConfig:
    caBundle: UEVN
    service:
      name: checker-webhook
      namespace: checker-system
      path: /mutate--v1-pod
      port: 443
  failurePolicy: Ignore
  matchConditions:
  - expression: '!request.userInfo.username.startsWith(''system:'')'
    name: not-system
  matchPolicy: Equivalent
  name: pods.example.com
  namespaceSelector:
    matchExpressions:
    - key: kubernetes.io/metadata.name
      operator: NotIn
      values:
      - checker-system
  objectSelector:
    matchLabels:
      checked: "yes"
  reinvocationPolicy: IfNeeded
  rules:
  - apiGroups:
    - ""
    apiVersions:
    - v1
    operations:
    - CREATE
    - UPDATE
    resources:
    - pods
    - pods/status
    scope: '*'
  sideEffects: None
  timeoutSeconds: 5
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata:
  labels:
    app.kubernetes.io/name: checker
  name: checker
webhooks:
- admissionReviewVersions:
  - v1
  clientConfig:
    caBundle: UEVN
    service:
      name: checker-webhook
      namespace: checker-system
      path: /validate--v1-pod
      port: 443
  failurePolicy: Ignore
  matchConditions:
  - expression: '!request.userInfo.username.startsWith(''system:'')'
    name: not-system
  matchPolicy: Equivalent
  name: pods.example.com
  namespaceSelector:
    matchExpressions:
    - key: kubernetes.io/metadata.name
      operator: NotIn
      values:
      - checker-system
  objectSelector:
    matchLabels:
      checked: "yes"
  rules:
  - apiGroups:
    - ""
    apiVersions:
    - v1
    operations:
    - CREATE
    - DELETE
    resources:
    - pods
    - pods/status
    scope: '*'
  sideEffects: None
  timeoutSeconds: 5
)");
}

TEST(WebhookConfigurationsTest, HaveAUrlForProgramsOutsideOfTheCluster) {
  const Result<WebhookConfigurations> made =
      MakeWebhookConfigurations({PodWebhook()}, {.name = "checker", .url = "https://127.0.0.1:9443", .ca_bundle = "PEM"});
  ASSERT_TRUE(made.ok());
  const auto& client = made->mutating->webhooks[0].client_config;
  EXPECT_EQ(client.url, String("https://127.0.0.1:9443/mutate--v1-pod"));
  EXPECT_FALSE(client.service);
  EXPECT_FALSE(made->mutating->webhooks[0].namespace_selector);  // no namespace of its own
}

TEST(WebhookConfigurationsTest, ExcludeTheOwnNamespaceForBuiltInKindsOnlyUnlessTheyShouldNot) {
  const WebhookConfigurationOptions options{.ns = "x"};
  const auto excludes = [&](const WebhookSpec& spec) {
    return static_cast<bool>(MakeWebhookConfigurations({spec}, options)->validating->webhooks[0].namespace_selector);
  };
  const auto nothing = [](const auto*, const auto*) {};
  EXPECT_TRUE(excludes(WebhookFor<Pod>("pods.example.com").Validate(nothing)));
  EXPECT_FALSE(excludes(WebhookFor<Pod>("pods.example.com").Validate(nothing).ExcludeOwnNamespace(false)));
  const DynamicKind cart{.gvr = {"shop.example.com", "v1", "carts"}, .kind = "Cart"};
  EXPECT_FALSE(excludes(WebhookFor("carts.example.com", cart).Validate(nothing)));
  // For kinds without a type the group decides, and "*" is everything.
  const DynamicKind pod{.gvr = {"", "v1", "pods"}, .kind = "Pod"},
      ingress{.gvr = {"networking.k8s.io", "v1", "ingresses"}, .kind = "Ingress"};
  EXPECT_TRUE(excludes(WebhookFor("pods.example.com", pod).Validate(nothing)));
  EXPECT_TRUE(excludes(WebhookFor("ingresses.example.com", ingress).Validate(nothing)));
  const auto raw = [](const Context&, const AdmissionRequest&) { return Admission(); };
  EXPECT_TRUE(excludes(RawWebhook({.name = "all.example.com", .rules = {{.groups = {"*"}, .versions = {"*"}, .resources = {"*"}}}}, raw)));
}

TEST(WebhookConfigurationsTest, AreMadeOnlyWhereThereIsSomethingToSay) {
  const WebhookSpec only = WebhookFor<Pod>("pods.example.com").Validate([](const Pod*, const Pod*) {});
  const Result<WebhookConfigurations> made = MakeWebhookConfigurations({only}, {.ns = "x"});
  ASSERT_TRUE(made.ok());
  EXPECT_FALSE(made->mutating);
  EXPECT_TRUE(made->validating);
  EXPECT_TRUE(MakeWebhookConfigurations({}, {}).ok());
  EXPECT_THAT(MakeWebhookConfigurations({only, only}, {.ns = "x"}).error().ToString(), HasSubstr("two validating webhooks have the name"));
  EXPECT_THAT(MakeWebhookConfigurations({only}, {}).error().ToString(), HasSubstr("namespace"));
}

TEST(WebhookConfigurationsTest, TheServiceLeadsToThePods) {
  const core::v1::Service service = MakeWebhookService({.name = "checker", .ns = "checker-system"});
  EXPECT_EQ(service.metadata.name, "checker-webhook");
  EXPECT_EQ(service.spec.ports[0].port, 443);
  EXPECT_EQ(service.spec.ports[0].target_port, IntOrString(9443));
  EXPECT_EQ(service.spec.selector["app.kubernetes.io/name"], "checker");
}

}  // namespace
}  // namespace kube
