#include "kube/client/scale.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "client/discovery_test_util.h"
#include "kube/codec/json.h"

namespace kube {
namespace {

using autoscaling::v1::Scale;
using internal::ClientOf;
using internal::FakeApi;
using internal::ServeAggregated;
using internal::StatusBody;
using ::testing::HasSubstr;

constexpr char kScale[] =
    R"({"kind":"Scale","apiVersion":"autoscaling/v1","metadata":{"name":"web","namespace":"default","resourceVersion":"7"},)"
    R"("spec":{"replicas":3},"status":{"replicas":2,"selector":"app=web"}})";
constexpr char kOldScale[] =
    R"({"kind":"Scale","apiVersion":"extensions/v1beta1","metadata":{"name":"web","namespace":"default","resourceVersion":"7"},)"
    R"("spec":{"replicas":3},"status":{"replicas":2,"selector":{"app":"web","tier":"front"},"targetSelector":"app=web,tier=front"}})";

std::string Sub(const std::string& group, const std::string& version) {
  return R"(,"subresources":[{"subresource":"scale","responseKind":{"group":")" + group + R"(","version":")" + version +
         R"(","kind":"Scale"},"verbs":["get","patch","update"]}])";
}

class Contract14Scale : public ::testing::Test {
 protected:
  Contract14Scale() {
    ServeAggregated(*api_, {{"", {{"v1", {{"pods", "Pod", true, "pod"}}}}},
                            {"apps",
                             {{"v1", {{"deployments", "Deployment", true, "deployment", {}, {}, {"get"}, Sub("autoscaling", "v1")}}},
                              {"v1beta1", {{"deployments", "Deployment"}}}}},
                            {"old", {{"v1", {{"sets", "Set", true, "set", {}, {}, {"get"}, Sub("extensions", "v1beta1")}}}}},
                            {"wide", {{"v1", {{"farms", "Farm", false, "farm", {}, {}, {"get"}, Sub("autoscaling", "v1")}}}}}});
    api_->Set(kPath, 200, kScale);
  }
  static constexpr char kPath[] = "/apis/apps/v1/namespaces/default/deployments/web/scale";

  const Context ctx_ = Context::Background();
  const std::shared_ptr<FakeApi> api_ = std::make_shared<FakeApi>();
  const Client client_ = ClientOf(api_);
  const RestMapper mapper_ = RestMapper(client_);
};

TEST_F(Contract14Scale, GetUsesThePreferredVersion) {
  const Scale scale = GetScale(ctx_, mapper_, {"apps", "deployments"}, {"default", "web"}).value();
  EXPECT_EQ(api_->last().target, kPath);
  EXPECT_EQ(api_->last().method, "GET");
  EXPECT_EQ(scale.spec.replicas, 3);
  EXPECT_EQ(scale.status.replicas, 2);
  EXPECT_EQ(scale.status.selector, "app=web");
  EXPECT_EQ(scale.metadata.resource_version, "7");
}

TEST_F(Contract14Scale, GetPassesTheResourceVersion) {
  ASSERT_TRUE(GetScale(ctx_, client_, Gvr{"apps", "v1", "deployments"}, {"default", "web"}, {.resource_version = "0"}));
  EXPECT_EQ(api_->last().target, std::string(kPath) + "?resourceVersion=0");
}

TEST_F(Contract14Scale, UpdateSendsTheWholeScale) {
  Scale scale = GetScale(ctx_, mapper_, {"apps", "deployments"}, {"default", "web"}).value();
  scale.spec.replicas = 5;
  ASSERT_TRUE(UpdateScale(ctx_, mapper_, {"apps", "deployments"}, scale, {.dry_run = true, .field_manager = "me"}));
  const HttpRequest sent = api_->last();
  EXPECT_EQ(sent.method, "PUT");
  EXPECT_EQ(sent.target, std::string(kPath) + "?dryRun=All&fieldManager=me");
  EXPECT_EQ(sent.headers.Get("Content-Type"), "application/json");
  const Value body = ParseJson(sent.body).value();
  EXPECT_EQ(body["apiVersion"].string_value(), "autoscaling/v1");
  EXPECT_EQ(body["kind"].string_value(), "Scale");
  EXPECT_EQ(body["spec"]["replicas"].int_value(), 5);
  EXPECT_EQ(body["metadata"]["resourceVersion"].string_value(), "7");
}

TEST_F(Contract14Scale, PatchTakesAnExactResource) {
  const Scale scale =
      PatchScale(ctx_, client_, {"apps", "v1", "deployments"}, {"default", "web"}, Patch::Merge(R"({"spec":{"replicas":9}})")).value();
  EXPECT_EQ(scale.spec.replicas, 3);
  EXPECT_EQ(api_->total(), 1u);  // no discovery
  EXPECT_EQ(api_->last().method, "PATCH");
  EXPECT_EQ(api_->last().headers.Get("Content-Type"), "application/merge-patch+json");
  EXPECT_EQ(api_->last().body, R"({"spec":{"replicas":9}})");
}

TEST_F(Contract14Scale, OldFormsBecomeTheCurrentOne) {
  for (const char* version : {"extensions/v1beta1", "apps/v1beta1", "apps/v1beta2"}) {
    std::string body = kOldScale;
    body.replace(body.find("extensions/v1beta1"), 18, version);
    api_->Set(kPath, 200, body);
    const Scale scale = GetScale(ctx_, mapper_, {"apps", "deployments"}, {"default", "web"}).value();
    EXPECT_EQ(scale.status.selector, "app=web,tier=front") << version;
    EXPECT_EQ(scale.status.replicas, 2) << version;
    EXPECT_EQ(ParseJson(ToJson(scale).value()).value()["apiVersion"].string_value(), "autoscaling/v1") << version;
  }
}

TEST_F(Contract14Scale, AnOldFormWithNothingButLabelsHasThemAsSelector) {
  api_->Set(
      kPath, 200,
      R"({"kind":"Scale","apiVersion":"apps/v1beta1","metadata":{"name":"web"},"status":{"replicas":1,"selector":{"b":"2","a":"1"}}})");
  EXPECT_EQ(GetScale(ctx_, mapper_, {"apps", "deployments"}, {"default", "web"})->status.selector, "a=1,b=2");
}

TEST_F(Contract14Scale, UpdateSendsTheKindThatDiscoveryNames) {
  api_->Set("/apis/old/v1/namespaces/default/sets/web/scale", 200, kOldScale);
  Scale scale = GetScale(ctx_, mapper_, {"old", "sets"}, {"default", "web"}).value();
  scale.spec.replicas = 4;
  const Scale answer = UpdateScale(ctx_, mapper_, {"old", "sets"}, scale).value();
  const Value body = ParseJson(api_->last().body).value();
  EXPECT_EQ(body["apiVersion"].string_value(), "extensions/v1beta1");
  EXPECT_EQ(body["spec"]["replicas"].int_value(), 4);
  EXPECT_EQ(body["status"]["targetSelector"].string_value(), "app=web,tier=front");
  EXPECT_EQ(body["status"]["selector"]["tier"].string_value(), "front");
  EXPECT_EQ(answer.status.selector, "app=web,tier=front");
}

TEST_F(Contract14Scale, ResourcesOfTheClusterHaveNoNamespace) {
  api_->Set("/apis/wide/v1/farms/big/scale", 200,
            R"({"kind":"Scale","apiVersion":"autoscaling/v1","metadata":{"name":"big"},"spec":{"replicas":1}})");
  EXPECT_EQ(GetScale(ctx_, mapper_, {"wide", "farms"}, {"", "big"})->spec.replicas, 1);
  EXPECT_EQ(GetScale(ctx_, mapper_, {"wide", "farms"}, {"default", "big"}).error().kind(), ErrorKind::kInvalid);
  EXPECT_EQ(GetScale(ctx_, mapper_, {"apps", "deployments"}, {"", "web"}).error().kind(), ErrorKind::kInvalid);
  EXPECT_EQ(GetScale(ctx_, mapper_, {"apps", "deployments"}, {"default", ""}).error().kind(), ErrorKind::kInvalid);
}

TEST_F(Contract14Scale, ErrorsAreTheServers) {
  api_->Set(kPath, 409, StatusBody(409, "Conflict"));
  EXPECT_TRUE(
      IsConflict(UpdateScale(ctx_, mapper_, {"apps", "deployments"}, Scale{.metadata = {.name = "web", .namespace_ = "default"}}).error()));
  api_->Remove(kPath);
  EXPECT_TRUE(IsNotFound(GetScale(ctx_, mapper_, {"apps", "deployments"}, {"default", "web"}).error()));
  EXPECT_TRUE(IsNoMatch(GetScale(ctx_, mapper_, {"apps", "nothings"}, {"default", "web"}).error()));
}

TEST_F(Contract14Scale, WhatHasNoScaleCannotBeUpdated) {
  const auto answer = UpdateScale(ctx_, mapper_, {"", "pods"}, Scale{.metadata = {.name = "web", .namespace_ = "default"}});
  ASSERT_FALSE(answer);
  EXPECT_TRUE(IsNotFound(answer.error()));
  EXPECT_THAT(answer.error().message(), HasSubstr("has no scale subresource"));
}

TEST_F(Contract14Scale, AnythingElseThanAScaleIsADecodeError) {
  for (const char* body :
       {R"({"kind":"Pod","apiVersion":"v1"})", R"({"kind":"Scale","apiVersion":"example.com/v1"})", "[]", "rubbish", ""}) {
    api_->Set(kPath, 200, body);
    const auto scale = GetScale(ctx_, mapper_, {"apps", "deployments"}, {"default", "web"});
    ASSERT_FALSE(scale) << body;
    EXPECT_EQ(scale.error().kind(), ErrorKind::kDecode) << body;
  }
}

}  // namespace
}  // namespace kube
