// The policy without a server, and called by one.
#include "deployment_policy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>

#include "kube/api/apps/v1.h"
#include "kube/client/client.h"
#include "kube/testing/api_server.h"
#include "kube/testing/webhooks.h"
#include "kube/webhook/try_webhook.h"

namespace {

using kube::Result;
using kube::apps::v1::Deployment;
using ::testing::HasSubstr;

Deployment Web(const char* image) {
  Deployment web;
  web.metadata.name = "web";
  web.metadata.namespace_ = "kube-public";
  web.spec.selector.Mutable().match_labels["app"] = "web";
  web.spec.template_.metadata.labels["app"] = "web";
  web.spec.template_.spec.containers.push_back({.name = "web", .image = image});
  return web;
}

// [try]
TEST(DeploymentPolicyTest, ImagesNeedATag) {
  const auto tried = kube::TryCreate(DeploymentPolicy(), Web("example.com:5000/web")).value();
  EXPECT_FALSE(tried.allowed());
  EXPECT_THAT(tried.ToString(), HasSubstr("spec.template.spec.containers[0].image"));
  EXPECT_TRUE(kube::TryCreate(DeploymentPolicy(), Web("example.com:5000/web:1")).value().allowed());
}
// [end]

// [server]
TEST(DeploymentPolicyTest, TheServerCallsIt) {
  const auto ctx = kube::Context::Background().WithTimeout(std::chrono::minutes(2));
  const auto server = kube::testing::ApiServer::Start().value();  // or a ControlPlane
  const kube::Client client = server->NewClient().value();
  const auto webhooks = kube::testing::InstallWebhooks(ctx, client, {DeploymentPolicy()}).value();

  const Result<Deployment> refused = client.Create(ctx, Web("web"));
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().ToString(), HasSubstr("needs a tag"));

  const Deployment created = client.Create(ctx, Web("web:1")).value();
  EXPECT_FALSE(created.metadata.annotations.Get("example.kubexx.dev/created-by").empty());
}
// [end]

TEST(DeploymentPolicyTest, TheCreatorStays) {
  kube::AdmissionRequest request;
  request.user.username = "ann";
  const auto created = kube::TryCreate(DeploymentPolicy(), Web("web:1"), request).value();
  EXPECT_EQ(created.object.metadata.annotations.Get("example.kubexx.dev/created-by"), "ann");
  Deployment edited = created.object;
  edited.metadata.annotations["example.kubexx.dev/created-by"] = "bob";
  EXPECT_THAT(kube::TryUpdate(DeploymentPolicy(), created.object, edited).value().ToString(), HasSubstr("does not change"));
  EXPECT_TRUE(kube::TryUpdate(DeploymentPolicy(), created.object, created.object).value().allowed());
}

}  // namespace
