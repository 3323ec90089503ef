#include "src/pod_webhook.h"

#include <gtest/gtest.h>
#include <kube/api/core/v1.h>
#include <kube/codec/json.h>
#include <kube/testing/webhooks.h>
#include <kube/webhook/configurations.h>
#include <kube/webhook/try_webhook.h>

#include "tests/cluster.h"

using kube::core::v1::Pod;

namespace {

constexpr const char* kTeam = "my.domain/team";

Pod Web() {
  Pod pod{.metadata = {.name = "web", .namespace_ = "kube-public"}};
  pod.spec.containers.push_back({.name = "web", .image = "example.com/web:1.0.0"});
  return pod;
}

TEST(PodWebhookTest, APodWithoutATeamIsUnassigned) {
  const auto tried = kube::TryCreate(PodWebhook(), Web()).value();
  EXPECT_EQ(tried.object.metadata.labels.Get(kTeam), "unassigned");
  EXPECT_EQ(kube::ToJson(tried.patch), R"([{"op":"add","path":"/metadata/labels","value":{"my.domain/team":"unassigned"}}])");
}

TEST(PodWebhookTest, APodKeepsItsTeam) {
  Pod pod = Web();
  pod.metadata.labels[kTeam] = "web";
  pod.metadata.labels["app"] = "web";
  const auto tried = kube::TryCreate(PodWebhook(), pod).value();
  EXPECT_EQ(tried.object.metadata.labels, pod.metadata.labels);
}

// So that the program can start while none of its replicas answers.
TEST(PodWebhookTest, PodsOfTheProgramAreExcluded) {
  const auto made = kube::MakeWebhookConfigurations({PodWebhook()}, {.name = "pod-labeler", .ns = "pod-labeler-system"}).value();
  ASSERT_TRUE(made.mutating);
  EXPECT_FALSE(made.validating);
  const auto& webhook = made.mutating->webhooks[0];
  const auto& excluded = webhook.namespace_selector->match_expressions[0];
  EXPECT_EQ(excluded.key, "kubernetes.io/metadata.name");
  EXPECT_EQ(excluded.operator_, "NotIn");
  EXPECT_EQ(excluded.values, kube::List<kube::String>{"pod-labeler-system"});
  EXPECT_EQ(webhook.failure_policy, "Ignore");
}

class PodWebhookServerTest : public ClusterTest {};

// The API server calls the webhook, in this process.
TEST_F(PodWebhookServerTest, PodsAreLabelled) {
  const auto webhooks = kube::testing::InstallWebhooks(ctx(), client(), {PodWebhook()}).value();
  Pod pod = client().Create(ctx(), Web()).value();
  EXPECT_EQ(pod.metadata.labels.Get(kTeam), "unassigned");

  pod.metadata.labels[kTeam] = "web";
  pod = client().Update(ctx(), pod).value();
  EXPECT_EQ(pod.metadata.labels.Get(kTeam), "web");
  pod.metadata.labels = {};
  EXPECT_EQ(client().Update(ctx(), pod).value().metadata.labels.Get(kTeam), "unassigned");
}

}  // namespace
