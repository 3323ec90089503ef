#include "client/request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kube::internal {
namespace {

const Gvr kPods{"", "v1", "pods"};
const Gvr kDeployments{"apps", "v1", "deployments"};

std::string TargetOf(const ResourcePath& path) {
  const Result<std::string> target = path.ToTarget();
  return target ? *target : "error: " + target.error().ToString();
}

TEST(Contract09Paths, CoreKindsAreBelowApiAndOthersBelowApis) {
  EXPECT_EQ(TargetOf({.gvr = &kPods}), "/api/v1/pods");
  EXPECT_EQ(TargetOf({.gvr = &kPods, .ns = "default", .name = "web"}), "/api/v1/namespaces/default/pods/web");
  EXPECT_EQ(TargetOf({.gvr = &kDeployments, .ns = "default", .name = "web", .subresource = "status"}),
            "/apis/apps/v1/namespaces/default/deployments/web/status");
}

TEST(Contract09Paths, TheResourceIsInLowerCase) {
  const Gvr odd{"", "v1", "Pods"};
  EXPECT_EQ(TargetOf({.gvr = &odd}), "/api/v1/pods");
}

TEST(Contract09Paths, ASubresourceMayHaveSeveralSegments) {
  EXPECT_EQ(TargetOf({.gvr = &kPods, .ns = "a", .name = "b", .subresource = "proxy/metrics"}), "/api/v1/namespaces/a/pods/b/proxy/metrics");
}

TEST(Contract09Paths, SegmentsThatLeaveTheirPlaceAreRefused) {
  EXPECT_EQ(TargetOf({.gvr = &kPods, .ns = "a", .name = ".."}), "error: invalid resource name \"..\": it may not be '..'");
  EXPECT_EQ(TargetOf({.gvr = &kPods, .ns = ".", .name = "b"}), "error: invalid namespace \".\": it may not be '.'");
  EXPECT_EQ(TargetOf({.gvr = &kPods, .ns = "a", .name = "b/c"}), "error: invalid resource name \"b/c\": it may not contain '/'");
  EXPECT_EQ(TargetOf({.gvr = &kPods, .ns = "a%2f", .name = "b"}), "error: invalid namespace \"a%2f\": it may not contain '%'");
  EXPECT_EQ(TargetOf({.gvr = &kPods, .ns = "a", .name = "b", .subresource = "../x"}),
            "error: invalid subresource \"..\": it may not be '..'");
  const Gvr none{"", "", "pods"};
  EXPECT_THAT(TargetOf({.gvr = &none}), ::testing::StartsWith("error: a resource needs a version"));
}

TEST(Contract09Paths, OtherBytesAreEscaped) {
  EXPECT_EQ(TargetOf({.gvr = &kPods, .ns = "a", .name = "b c?#\xc3\xa4"}), "/api/v1/namespaces/a/pods/b%20c%3F%23%C3%A4");
  EXPECT_EQ(TargetOf({.gvr = &kPods, .ns = "a", .name = "system:node"}), "/api/v1/namespaces/a/pods/system:node");
}

TEST(Contract09Paths, TheTemplateForMetricsHasNoNames) {
  EXPECT_EQ((ResourcePath{.gvr = &kDeployments, .ns = "secret-project", .name = "web", .subresource = "scale"}.ToTemplate()),
            "/apis/apps/v1/namespaces/{namespace}/deployments/{name}/scale");
}

TEST(RequestTest, DescriptionsAreForPeople) {
  EXPECT_EQ((ResourcePath{.gvr = &kDeployments, .ns = "default", .name = "web"}.Describe()), "deployments.apps default/web");
  EXPECT_EQ((ResourcePath{.gvr = &kPods, .ns = "default"}.Describe()), "pods in namespace default");
  EXPECT_EQ((ResourcePath{.gvr = &kPods, .name = "x", .subresource = "log"}.Describe()), "pods/log x");
}

TEST(Contract09Queries, ParametersAreSortedAndEscapedAsGoDoes) {
  EXPECT_EQ(EncodeQuery(ToQuery(ListOptions{.label_selector = "app in (a,b), !c",
                                            .field_selector = "spec.nodeName=n",
                                            .resource_version = "0",
                                            .resource_version_match = "NotOlderThan",
                                            .limit = 500,
                                            .continue_token = "a+b/c=",
                                            .timeout_seconds = 7})),
            "continue=a%2Bb%2Fc%3D&fieldSelector=spec.nodeName%3Dn&labelSelector=app+in+%28a%2Cb%29%2C+%21c&limit=500&resourceVersion=0&"
            "resourceVersionMatch=NotOlderThan&timeoutSeconds=7");
  EXPECT_EQ(EncodeQuery(ToQuery(ListOptions{})), "");
}

TEST(Contract09Queries, AWatchSaysSo) {
  EXPECT_EQ(EncodeQuery(ToQuery(WatchOptions{.resource_version = "5"})), "allowWatchBookmarks=true&resourceVersion=5&watch=true");
  EXPECT_EQ(EncodeQuery(ToQuery(WatchOptions{
                .resource_version_match = "NotOlderThan", .bookmarks = true, .send_initial_events = true, .timeout_seconds = 300})),
            "allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan&sendInitialEvents=true&timeoutSeconds=300&watch=true");
  EXPECT_EQ(EncodeQuery(ToQuery(WatchOptions{.bookmarks = false})), "watch=true");
}

TEST(Contract15Query, ForceIsAlwaysSent) {
  EXPECT_EQ(EncodeQuery(ToQuery(ApplyOptions{.field_manager = "me"})), "fieldManager=me&force=false");
  EXPECT_EQ(EncodeQuery(ToQuery(ApplyOptions{.field_manager = "me", .force = true, .dry_run = true, .field_validation = "Strict"})),
            "dryRun=All&fieldManager=me&fieldValidation=Strict&force=true");
}

TEST(RequestTest, DeleteOptionsAreABody) {
  EXPECT_EQ(ToBody(DeleteOptions{}), "");
  EXPECT_EQ(
      ToBody(DeleteOptions{.grace_period_seconds = 0, .propagation = "Foreground", .uid = "u", .resource_version = "5", .dry_run = true}),
      R"({"apiVersion":"v1","dryRun":["All"],"gracePeriodSeconds":0,"kind":"DeleteOptions",)"
      R"("preconditions":{"resourceVersion":"5","uid":"u"},"propagationPolicy":"Foreground"})");
}

}  // namespace
}  // namespace kube::internal
