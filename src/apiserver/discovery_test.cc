#include "apiserver/discovery.h"

#include <string>
#include <utility>

#include "apiserver/crd.h"
#include "gtest/gtest.h"
#include "kube/codec/json.h"

namespace kube::apiserver {
namespace {

Value Crd(std::string_view group, std::string_view plural, std::string_view kind, std::string_view versions) {
  std::string text = R"({"metadata":{"name":"PLURAL.GROUP"},"spec":{"group":"GROUP","scope":"Namespaced",
    "names":{"plural":"PLURAL","singular":"SINGULAR","kind":"KIND","listKind":"KINDList","shortNames":["ct"],"categories":["all"]},
    "versions":VERSIONS}})";
  auto replace = [&](std::string_view from, std::string_view to) {
    for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) text.replace(at, from.size(), to);
  };
  replace("VERSIONS", versions);
  replace("PLURAL", plural);
  replace("SINGULAR", plural.substr(0, plural.size() - 1));
  replace("GROUP", group);
  replace("KIND", kind);
  return *ParseJson(text);
}

std::shared_ptr<const Resources> WithCrds() {
  std::shared_ptr<const Resources> r = Resources::Builtin(false);
  for (const Value& crd : {
           Crd("zz.example.com", "aaas", "Aaa", R"([{"name":"v1alpha1","served":true,"storage":true}])"),
           Crd("stable.example.com", "crontabs", "CronTab",
               R"([{"name":"v1beta1","served":true,"storage":false},
                   {"name":"v1","served":true,"storage":true,"subresources":{"status":{},
                    "scale":{"specReplicasPath":".spec.replicas","statusReplicasPath":".status.replicas"}}}])"),
           Crd("stable.example.com", "zooms", "Zoom", R"([{"name":"v2","served":true,"storage":true}])"),
           Crd("example.com", "gizmos", "Gizmo", R"([{"name":"v1","served":true,"storage":true}])"),
       }) {
    r = r->WithCrd(crd["metadata"]["name"].string_value(), ResourcesOf(crd));
  }
  return r;
}

const Value& Find(const Value& list, std::string_view member, std::string_view name) {
  static const Value* none = new Value();
  for (const Value& item : list.list()) {
    if (item[member].string_value() == name) return item;
  }
  return *none;
}

TEST(DiscoveryTest, GroupsAreInTheOrderOfTheirPriorityAndThoseOfCrdsByName) {
  std::shared_ptr<const Resources> r = WithCrds();
  const Value list = ApiGroupList(*r);
  std::vector<std::string> names;
  for (const Value& group : list["groups"].list()) names.push_back(group["name"].string_value().str());
  ASSERT_GE(names.size(), 5u);
  EXPECT_EQ(names.front(), "apiregistration.k8s.io");
  EXPECT_EQ(names[1], "apps");
  EXPECT_EQ((std::vector<std::string>(names.end() - 3, names.end())),
            (std::vector<std::string>{"example.com", "stable.example.com", "zz.example.com"}));
  EXPECT_EQ(list["kind"].string_value(), "APIGroupList");
}

TEST(DiscoveryTest, AGroupNamesItsVersionsThePreferredOneFirst) {
  std::shared_ptr<const Resources> r = WithCrds();
  EXPECT_EQ(ToJson(ApiGroup(*r->FindGroup("stable.example.com"))),
            R"({"apiVersion":"v1","kind":"APIGroup","name":"stable.example.com",)"
            R"("preferredVersion":{"groupVersion":"stable.example.com/v2","version":"v2"},)"
            R"("versions":[{"groupVersion":"stable.example.com/v2","version":"v2"},)"
            R"({"groupVersion":"stable.example.com/v1","version":"v1"},)"
            R"({"groupVersion":"stable.example.com/v1beta1","version":"v1beta1"}]})");
  const Value scaling = ApiGroup(*r->FindGroup("autoscaling"));
  EXPECT_EQ(scaling["preferredVersion"]["version"].string_value(), "v2");
}

// The answers of a real server, without spaces.
TEST(DiscoveryTest, ResourcesOfACrd) {
  std::shared_ptr<const Resources> r = WithCrds();
  const ServedGroup* group = r->FindGroup("stable.example.com");
  EXPECT_EQ(ToJson(ApiResourceList(*r, *group, *group->Find("v1"))),
            R"({"apiVersion":"v1","groupVersion":"stable.example.com/v1","kind":"APIResourceList","resources":[)"
            R"({"categories":["all"],"kind":"CronTab","name":"crontabs","namespaced":true,"shortNames":["ct"],"singularName":"crontab",)"
            R"("storageVersionHash":"EdX2FP+L0js=","verbs":["delete","deletecollection","get","list","patch","create","update","watch"]},)"
            R"({"kind":"CronTab","name":"crontabs/status","namespaced":true,"singularName":"","verbs":["get","patch","update"]},)"
            R"({"group":"autoscaling","kind":"Scale","name":"crontabs/scale","namespaced":true,"singularName":"",)"
            R"("verbs":["get","patch","update"],"version":"v1"}]})");
}

TEST(DiscoveryTest, ResourcesOfBuiltInGroups) {
  std::shared_ptr<const Resources> r = Resources::Builtin(false);
  const ServedGroup* core = r->FindGroup("");
  const Value list = ApiResourceList(*r, *core, *core->Find("v1"));
  EXPECT_EQ(list["groupVersion"].string_value(), "v1");
  EXPECT_EQ(list.Find("apiVersion"), nullptr);
  EXPECT_EQ(
      ToJson(Find(list["resources"], "name", "pods/eviction")),
      R"({"group":"policy","kind":"Eviction","name":"pods/eviction","namespaced":true,"singularName":"","verbs":["create"],"version":"v1"})");
  EXPECT_EQ(ToJson(Find(list["resources"], "name", "componentstatuses")),
            R"({"kind":"ComponentStatus","name":"componentstatuses","namespaced":false,"shortNames":["cs"],)"
            R"("singularName":"componentstatus","verbs":["get","list"]})");
  const ServedGroup* scaling = r->FindGroup("autoscaling");
  const Value hpas = ApiResourceList(*r, *scaling, *scaling->Find("v1"));
  EXPECT_EQ(hpas["apiVersion"].string_value(), "v1");
  EXPECT_EQ(Find(hpas["resources"], "name", "horizontalpodautoscalers")["storageVersionHash"].string_value(), "qwQve8ut294=");
}

TEST(DiscoveryTest, AggregatedDiscoveryNamesKindsScopesAndSubresources) {
  std::shared_ptr<const Resources> r = WithCrds();
  const Value apis = GroupDiscoveryList(*r, false);
  EXPECT_EQ(apis["apiVersion"].string_value(), "apidiscovery.k8s.io/v2");
  const Value* group = nullptr;
  for (const Value& item : apis["items"].list()) {
    if (item["metadata"]["name"].string_value() == "stable.example.com") group = &item;
  }
  ASSERT_NE(group, nullptr);
  const Value& v1 = Find((*group)["versions"], "version", "v1");
  EXPECT_EQ(
      ToJson(v1),
      R"({"freshness":"Current","resources":[{"categories":["all"],"resource":"crontabs",)"
      R"("responseKind":{"group":"stable.example.com","kind":"CronTab","version":"v1"},"scope":"Namespaced","shortNames":["ct"],)"
      R"("singularResource":"crontab","subresources":[)"
      R"({"responseKind":{"group":"stable.example.com","kind":"CronTab","version":"v1"},"subresource":"status","verbs":["get","patch","update"]},)"
      R"({"responseKind":{"group":"autoscaling","kind":"Scale","version":"v1"},"subresource":"scale","verbs":["get","patch","update"]}],)"
      R"("verbs":["delete","deletecollection","get","list","patch","create","update","watch"]}],"version":"v1"})");

  const Value api = GroupDiscoveryList(*r, true, "v2beta1");
  EXPECT_EQ(api["apiVersion"].string_value(), "apidiscovery.k8s.io/v2beta1");
  ASSERT_EQ(api["items"].list().size(), 1u);
  EXPECT_EQ(api["items"].list()[0]["metadata"], Value::Object());
  const Value& nodes = Find(api["items"].list()[0]["versions"].list()[0]["resources"], "resource", "nodes");
  EXPECT_EQ(nodes["scope"].string_value(), "Cluster");
  EXPECT_EQ(ToJson(nodes["responseKind"]), R"({"group":"","kind":"Node","version":""})");
}

TEST(DiscoveryTest, VersionAndAddress) {
  const Value version = VersionInfo();
  EXPECT_EQ(version["major"].string_value(), "1");
  EXPECT_EQ(version["minor"].string_value(), "36");
  EXPECT_EQ(version["gitVersion"].string_value().view().substr(0, 15), "v1.36.3+kubexx.");
  EXPECT_EQ(
      ToJson(ApiVersions("127.0.0.1:6443")),
      R"({"kind":"APIVersions","serverAddressByClientCIDRs":[{"clientCIDR":"0.0.0.0/0","serverAddress":"127.0.0.1:6443"}],"versions":["v1"]})");
}

TEST(DiscoveryTest, AnETagChangesWithTheAnswer) {
  EXPECT_EQ(ETagOf("a"), ETagOf("a"));
  EXPECT_NE(ETagOf("a"), ETagOf("b"));
  EXPECT_EQ(ETagOf("a").size(), 130u);
}

}  // namespace
}  // namespace kube::apiserver
