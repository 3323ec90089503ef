#include "client/discovery_parse.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "client/discovery_test_util.h"

namespace kube::internal {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

DiscoveryRoot Parse(const std::string& body) { return ParseDiscoveryRoot(DiscoveryForm::kV2, false, body).value(); }

std::vector<std::string> NamesOf(const ApiResourceList& list) {
  std::vector<std::string> names;
  for (const ApiResource& r : list.resources) names.push_back(r.name.str());
  return names;
}

TEST(Contract13Accept, AsksForTheAggregatedFormFirst) {
  EXPECT_EQ(DiscoveryAccept(false, false),
            "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,"
            "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json");
}

TEST(Contract13Accept, NoPeerComesBeforeAllOthers) {
  EXPECT_TRUE(DiscoveryAccept(false, true)
                  .starts_with("application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList;profile=nopeer,"
                               "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,"));
}

TEST(Contract13Accept, LegacyIsPlainJson) { EXPECT_EQ(DiscoveryAccept(true, true), "application/json"); }

TEST(Contract13ContentType, OrderAndOtherParametersDoNotCount) {
  EXPECT_EQ(DiscoveryFormOf(kV2Type), DiscoveryForm::kV2);
  EXPECT_EQ(DiscoveryFormOf(kV2Beta1Type), DiscoveryForm::kV2Beta1);
  EXPECT_EQ(DiscoveryFormOf("application/json; as=APIGroupDiscoveryList;v=v2;g=apidiscovery.k8s.io"), DiscoveryForm::kV2);
  EXPECT_EQ(DiscoveryFormOf("application/json;g=apidiscovery.k8s.io; charset=utf-8;v=v2beta1;as=\"APIGroupDiscoveryList\""),
            DiscoveryForm::kV2Beta1);
  EXPECT_EQ(DiscoveryFormOf("Application/JSON;G=apidiscovery.k8s.io;V=v2;As=APIGroupDiscoveryList;profile=nopeer"), DiscoveryForm::kV2);
}

TEST(Contract13ContentType, AnythingElseIsLegacy) {
  for (const char* type :
       {"application/json", "application/json; charset=UTF-8", "", ";", ";;;", "=", "malformed content type string",
        "application/json;g=apidiscovery.k8s.io;v=v1;as=APIGroupDiscoveryList",
        "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupList", "application/json;g=other;v=v2;as=APIGroupDiscoveryList",
        "text/html;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList", "application/json;v=v2;as=APIGroupDiscoveryList"}) {
    EXPECT_EQ(DiscoveryFormOf(type), DiscoveryForm::kLegacy) << type;
  }
}

TEST(Contract13Split, GroupsVersionsAndResources) {
  const DiscoveryRoot root = Parse(Aggregated(
      {{"apps",
        {{"v1", {{"deployments", "Deployment", true, "deployment", {"deploy"}, {"all"}}}}, {"v1beta1", {{"deployments", "Deployment"}}}}},
       {"rbac", {{"v1", {{"clusterroles", "ClusterRole", false}}}}}}));
  EXPECT_TRUE(root.aggregated);
  ASSERT_EQ(root.groups.size(), 2u);
  EXPECT_EQ(root.groups[0].name, "apps");
  EXPECT_THAT(root.groups[0].versions, ElementsAre("v1", "v1beta1"));
  EXPECT_EQ(root.groups[0].preferred_version, "v1");
  ASSERT_EQ(root.lists.size(), 3u);
  const ApiResource& r = root.lists[0].resources.at(0);
  EXPECT_EQ(r.gvr(), (Gvr{"apps", "v1", "deployments"}));
  EXPECT_EQ(r.gvk, (Gvk{"apps", "v1", "Deployment"}));
  EXPECT_EQ(r.singular_name, "deployment");
  EXPECT_TRUE(r.namespaced);
  EXPECT_THAT(r.short_names, ElementsAre("deploy"));
  EXPECT_THAT(r.categories, ElementsAre("all"));
  EXPECT_TRUE(r.Supports("list"));
  EXPECT_FALSE(r.Supports("watch"));
  EXPECT_FALSE(root.lists[2].resources.at(0).namespaced);
  EXPECT_THAT(root.failures, IsEmpty());
}

TEST(Contract13Split, SubresourcesFollowTheirParentWithKindsOfTheirOwn) {
  const DiscoveryRoot root = Parse(Aggregated(
      {{"apps",
        {{"v1",
          {{"deployments",
            "Deployment",
            true,
            "deployment",
            {},
            {},
            {"get"},
            R"(,"subresources":[{"subresource":"scale","responseKind":{"group":"autoscaling","version":"v1","kind":"Scale"},)"
            R"("verbs":["get","update"]})"
            R"(,{"subresource":"status","responseKind":{"group":"apps","version":"v1","kind":"Deployment"},"verbs":["get"]}])"}}}}}}));
  EXPECT_THAT(NamesOf(root.lists.at(0)), ElementsAre("deployments", "deployments/scale", "deployments/status"));
  const ApiResource& scale = *root.lists[0].Find("deployments/scale");
  EXPECT_TRUE(scale.is_subresource());
  EXPECT_EQ(scale.gvk, (Gvk{"autoscaling", "v1", "Scale"}));
  EXPECT_EQ(scale.group_version, (GroupVersion{"apps", "v1"}));
  EXPECT_TRUE(scale.namespaced);
  EXPECT_EQ(scale.singular_name, "deployment");
  EXPECT_THAT(scale.verbs, ElementsAre("get", "update"));
}

// What a server sends for a resource whose parent cannot be read itself, as of aggregated APIs.
std::string ParentWith(const std::string& parent_kind, const std::string& child_kind) {
  return R"({"kind":"APIGroupDiscoveryList","apiVersion":"apidiscovery.k8s.io/v2","items":[{"metadata":{"name":"g"},)"
         R"("versions":[{"version":"v1",)"
         R"("resources":[{"resource":"parents",)" +
         parent_kind + R"("scope":"Namespaced","singularResource":"","verbs":[],"subresources":[{"subresource":"child",)" + child_kind +
         R"("verbs":["get"]}]}],"freshness":"Current"}]}]})";
}
constexpr char kSomeKind[] = R"("responseKind":{"group":"g","version":"v1","kind":"Some"},)";

TEST(Contract13Split, AParentWithoutKindIsDroppedButItsSubresourcesKept) {
  EXPECT_THAT(NamesOf(Parse(ParentWith("", kSomeKind)).lists.at(0)), ElementsAre("parents/child"));
}
TEST(Contract13Split, AParentWithAnEmptyKindIsDroppedButItsSubresourcesKept) {
  EXPECT_THAT(NamesOf(Parse(ParentWith(R"("responseKind":{"group":"","version":"","kind":""},)", kSomeKind)).lists.at(0)),
              ElementsAre("parents/child"));
  EXPECT_THAT(NamesOf(Parse(ParentWith(R"("responseKind":null,)", kSomeKind)).lists.at(0)), ElementsAre("parents/child"));
}
TEST(Contract13Split, ASubresourceWithoutKindIsDropped) {
  EXPECT_THAT(NamesOf(Parse(ParentWith(kSomeKind, "")).lists.at(0)), ElementsAre("parents"));
  EXPECT_THAT(NamesOf(Parse(ParentWith("", "")).lists.at(0)), IsEmpty());
}

TEST(Contract13Split, AStaleVersionIsAFailureAndNeverPreferred) {
  const DiscoveryRoot root = Parse(Aggregated({{"metrics", {{"v2", {{"pods", "PodMetrics"}}, true}, {"v1", {{"pods", "PodMetrics"}}}}}}));
  ASSERT_EQ(root.groups.size(), 1u);
  EXPECT_EQ(root.groups[0].preferred_version, "v1");
  EXPECT_THAT(root.groups[0].versions, ElementsAre("v1"));
  ASSERT_EQ(root.failures.size(), 1u);
  EXPECT_EQ(root.failures[0].group_version, (GroupVersion{"metrics", "v2"}));
  EXPECT_THAT(root.failures[0].error.message(), HasSubstr("stale GroupVersion discovery: metrics/v2"));
  ASSERT_EQ(root.lists.size(), 1u);
  EXPECT_EQ(root.lists[0].group_version.version, "v1");
}

TEST(Contract13Split, AGroupWithNothingButStaleVersionsStaysWithoutVersions) {
  const DiscoveryRoot root = Parse(Aggregated({{"metrics", {{"v1", {}, true}}}, {"apps", {{"v1"}}}}));
  ASSERT_EQ(root.groups.size(), 2u);
  EXPECT_THAT(root.groups[0].versions, IsEmpty());
  EXPECT_TRUE(root.groups[0].preferred_version.empty());
  EXPECT_EQ(root.failures.size(), 1u);
}

TEST(Contract13Split, AVersionWithoutANameIsLeftOut) {
  EXPECT_THAT(Parse(Aggregated({{"apps", {{"", {{"deployments", "Deployment"}}}, {"v1"}}}})).groups.at(0).versions, ElementsAre("v1"));
  EXPECT_THAT(ParseDiscoveryRoot(DiscoveryForm::kLegacy, true, R"({"versions":["","v1"]})")->groups.at(0).versions, ElementsAre("v1"));
  const auto legacy = ParseDiscoveryRoot(DiscoveryForm::kLegacy, false, R"({"groups":[{"name":"x","versions":[{"version":""}]}]})");
  EXPECT_THAT(legacy->groups.at(0).versions, IsEmpty());
}

TEST(Contract13Split, TheOlderAggregatedFormReadsAlike) {
  const std::vector<TestGroup> groups = {{"apps", {{"v1", {{"deployments", "Deployment", true, "deployment", {"deploy"}}}}}}};
  const DiscoveryRoot old = ParseDiscoveryRoot(DiscoveryForm::kV2Beta1, false, Aggregated(groups, "v2beta1")).value();
  const DiscoveryRoot current = Parse(Aggregated(groups));
  EXPECT_EQ(old.groups, current.groups);
  EXPECT_EQ(old.lists, current.lists);
}

TEST(Contract13Split, LegacyGroups) {
  const DiscoveryRoot core = ParseDiscoveryRoot(DiscoveryForm::kLegacy, true, R"({"kind":"APIVersions","versions":["v1"]})").value();
  EXPECT_FALSE(core.aggregated);
  ASSERT_EQ(core.groups.size(), 1u);
  EXPECT_EQ(core.groups[0].name, "");
  EXPECT_EQ(core.groups[0].preferred_version, "v1");
  EXPECT_THAT(ParseDiscoveryRoot(DiscoveryForm::kLegacy, true, R"({"versions":[]})")->groups, IsEmpty());
}

TEST(Contract13Split, BadDocumentsAreDecodeErrors) {
  for (const char* body : {"", "<html></html>", "[]", R"({"items":3})", R"({"items":[{"metadata":{"name":7}}]})"}) {
    const Result<DiscoveryRoot> root = ParseDiscoveryRoot(DiscoveryForm::kV2, false, body);
    ASSERT_FALSE(root) << body;
    EXPECT_EQ(root.error().kind(), ErrorKind::kDecode) << body;
  }
  EXPECT_FALSE(ParseDiscoveryRoot(DiscoveryForm::kLegacy, true, R"({"versions":"v1"})"));
  EXPECT_FALSE(ParseDiscoveryRoot(DiscoveryForm::kLegacy, false, "no"));
  EXPECT_FALSE(ParseApiResourceList({"", "v1"}, "{"));
}

TEST(DiscoveryParseTest, FilesKeepEverything) {
  DiscoveryRoot root = Parse(
      Aggregated({{"apps",
                   {{"v1",
                     {{"deployments",
                       "Deployment",
                       true,
                       "deployment",
                       {"deploy"},
                       {"all"},
                       {"get", "list"},
                       R"(,"subresources":[{"subresource":"scale","responseKind":{"group":"autoscaling","version":"v1","kind":"Scale"},)"
                       R"("verbs":["get"]}])"}}},
                    {"v1beta1", {}}}}}));
  EXPECT_EQ(ReadApiGroups(WriteApiGroups(root.groups)).value(), root.groups);
  for (const ApiResourceList& list : root.lists) {
    EXPECT_EQ(ParseApiResourceList(list.group_version, WriteApiResourceList(list)).value(), list);
  }
}

}  // namespace
}  // namespace kube::internal
