#include "control/helpers/child_compare.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "kube/api/apps/v1.h"
#include "kube/api/core/v1.h"
#include "kube/codec/yaml.h"
#include "kube/meta/dynamic_object.h"
#include "kube/value/table.h"

namespace kube::internal {

struct Gateway {
  meta::v1::ObjectMeta metadata{};
  Map<Map<Quantity>> limits{};
  Map<List<String>> routes{};
  Box<List<String>> servers{};
  KUBE_TABLE(Gateway);
};
KUBE_DEFINE_KIND(Gateway, (.group = "test.example", .version = "v1", .kind = "Gateway", .resource = "gateways", .namespaced = true),
                 KUBE_FIELD(Gateway, metadata), KUBE_FIELD(Gateway, limits), KUBE_FIELD(Gateway, routes), KUBE_FIELD(Gateway, servers));

namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Value Yaml(const std::string& text) { return DynamicObject::FromYaml(text).value().value(); }

const Value& Wanted() {
  static const Value& value = *new Value(Yaml(R"(
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: default, labels: {app: web}}
spec:
  replicas: 3
  template:
    spec:
      containers:
      - {name: web, image: "web:1", args: [a, b], resources: {limits: {cpu: 1000m}}, ports: [{containerPort: 80}]}
)"));
  return value;
}
const Value& Live() {
  static const Value& value = *new Value(Yaml(R"(
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: default, uid: u1, labels: {app: web, theirs: x}}
spec:
  replicas: 3
  paused: true
  template:
    spec:
      dnsPolicy: ClusterFirst
      containers:
      - {name: sidecar, image: "proxy:1"}
      - {name: web, image: "web:1", args: [a, b], resources: {limits: {cpu: "1"}}, ports: [{containerPort: 80, protocol: TCP}],
         imagePullPolicy: Always}
)"));
  return value;
}
Drift Typed(const Value& wanted, const Value& live) { return FindDrift(&apps::v1::Deployment::kType, wanted, live, "me"); }

TEST(FindDriftTest, AdditionsOfTheServerAndOfOthersAreNone) { EXPECT_THAT(Typed(Wanted(), Live()).reasons, IsEmpty()); }

TEST(FindDriftTest, NamesTheFieldAndBothValues) {
  Value live = Live();
  live["spec"]["replicas"] = 5;
  live["metadata"]["labels"]["app"] = "other";
  EXPECT_THAT(Typed(Wanted(), live).reasons,
              ElementsAre("metadata.labels[app]: \"other\" instead of \"web\"", "spec.replicas: 5 instead of 3"));
}

TEST(FindDriftTest, ElementsAreFoundByTheirKeys) {
  Value live = Live();
  live["spec"]["template"]["spec"]["containers"].MutableList()[1]["image"] = "web:2";
  EXPECT_THAT(Typed(Wanted(), live).reasons, ElementsAre("spec.template.spec.containers[name=web].image: \"web:2\" instead of \"web:1\""));
  live["spec"]["template"]["spec"]["containers"].MutableList().erase(1);
  EXPECT_THAT(Typed(Wanted(), live).reasons, ElementsAre("spec.template.spec.containers[name=web]: missing"));
}

TEST(FindDriftTest, AtomicListsMustBeEqual) {
  Value live = Live();
  live["spec"]["template"]["spec"]["containers"].MutableList()[1]["args"].MutableList().push_back("c");
  EXPECT_THAT(Typed(Wanted(), live).reasons, ElementsAre("spec.template.spec.containers[name=web].args: 3 elements instead of 2"));
}

TEST(FindDriftTest, QuantitiesCompareByAmount) {
  Value live = Live();
  live["spec"]["template"]["spec"]["containers"].MutableList()[1]["resources"]["limits"]["cpu"] = "2";
  EXPECT_THAT(Typed(Wanted(), live).reasons, ElementsAre(HasSubstr("limits[cpu]: \"2\" instead of \"1000m\"")));
  live["spec"]["template"]["spec"]["containers"].MutableList()[1]["resources"]["limits"]["cpu"] = 1;
  EXPECT_THAT(Typed(Wanted(), live).reasons, IsEmpty());
}

TEST(FindDriftTest, ListsAndMapsInsideOfEachOtherCompareByTheirElements) {
  const Value wanted = Yaml(R"(
apiVersion: test.example/v1
kind: Gateway
metadata: {name: a}
limits: {in: {rate: 500m, burst: "1"}}
routes: {north: [a, b], south: []}
servers: []
)");
  Value live = Yaml(R"(
apiVersion: test.example/v1
kind: Gateway
metadata: {name: a}
limits: {in: {rate: "0.5", burst: "2"}}
routes: {north: [a, c]}
)");
  EXPECT_THAT(FindDrift(&Gateway::kType, wanted, live, "me").reasons,
              ElementsAre("limits[in][burst]: \"2\" instead of \"1\"", "routes[north][1]: \"c\" instead of \"b\"",
                          "routes[south]: missing, wanted []", "servers: missing, wanted []"));
  EXPECT_THAT(FindDrift(&Gateway::kType, wanted, wanted, "me").reasons, IsEmpty());
}

TEST(FindDriftTest, AMissingStructIsOneReason) {
  Value live = Live();
  live.MutableObject().Erase("spec");
  EXPECT_EQ(Typed(Wanted(), live).reasons.size(), 1U);
}

TEST(FindDriftTest, WhatSaysNothingMayBeAbsent) {
  const Value wanted = Yaml(R"(
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: {}}
spec: {paused: false, minReadySeconds: 0, strategy: {}, template: {spec: {volumes: [], hostNetwork: false, nodeName: ""}}}
)");
  const Value live = Yaml("{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {template: {spec: {}}}}");
  EXPECT_THAT(Typed(wanted, live).reasons, IsEmpty());
}

TEST(FindDriftTest, AnOptionalZeroAndAnEmptyChoiceSaySomething) {
  const Value wanted = Yaml(R"(
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec: {replicas: 0, template: {spec: {volumes: [{name: v, emptyDir: {}}]}}}
)");
  const Value live = Yaml(R"({apiVersion: apps/v1, kind: Deployment, metadata: {name: web},
    spec: {template: {spec: {volumes: [{name: v, hostPath: {path: /etc}}]}}}})");
  EXPECT_THAT(Typed(wanted, live).reasons, ElementsAre("spec.replicas: missing, wanted 0", HasSubstr("volumes[name=v].emptyDir: missing")));
}

TEST(FindDriftTest, AtomicMapsMustBeEqual) {
  const Value wanted = Yaml("{apiVersion: v1, kind: Service, metadata: {name: web}, spec: {selector: {app: web}}}");
  const Value live = Yaml("{apiVersion: v1, kind: Service, metadata: {name: web}, spec: {selector: {app: web, evil: x}}}");
  EXPECT_THAT(FindDrift(&core::v1::Service::kType, wanted, live, "me").reasons,
              ElementsAre("spec.selector[evil]: added by another client"));
}

TEST(FindDriftTest, SecretsAreNotShown) {
  const Value wanted = Yaml("{apiVersion: v1, kind: Secret, metadata: {name: s}, data: {password: aHVudGVyMg==}}");
  const Value live = Yaml("{apiVersion: v1, kind: Secret, metadata: {name: s}, data: {password: b3RoZXI=}}");
  const Drift drift = FindDrift(&core::v1::Secret::kType, wanted, live, "me");
  ASSERT_EQ(drift.reasons.size(), 1U);
  EXPECT_THAT(drift.reasons[0], AllOf(HasSubstr("data[password]"), HasSubstr("bytes")));
  EXPECT_EQ(drift.reasons[0].find("b3RoZXI"), std::string::npos);
  EXPECT_EQ(drift.reasons[0].find("aHVudGVyMg"), std::string::npos);
}

TEST(FindDriftTest, FingerprintsTellDriftsApart) {
  Value a = Live(), b = Live(), c = Live();
  a["spec"]["replicas"] = 5;
  b["spec"]["replicas"] = 6;
  c["spec"]["replicas"] = 5;
  EXPECT_NE(Typed(Wanted(), a).fingerprint, Typed(Wanted(), b).fingerprint);
  EXPECT_EQ(Typed(Wanted(), a).fingerprint, Typed(Wanted(), c).fingerprint);
}

// ---- With managedFields ----

Value Managed(Value live, const std::string& manager, const std::string& fields_json) {
  Value entry = Value::Object({{"manager", Value(manager)}, {"operation", Value("Apply")}, {"fieldsV1", ParseJson(fields_json).value()}});
  live["metadata"]["managedFields"] = Value::Array({entry});
  return live;
}
const Value& Cart() {
  static const Value& value = *new Value(Yaml(R"(
apiVersion: shop.example.com/v1
kind: Cart
metadata: {name: c, labels: {a: b}}
spec:
  size: 3
  items: [{sku: x, count: 1}, {sku: w, count: 2}]
  tags: [red]
  plain: [{n: 1}]
)"));
  return value;
}
constexpr char kAllOfIt[] = R"({"f:metadata":{"f:labels":{"f:a":{}}},"f:spec":{"f:size":{},
  "f:items":{"k:{\"sku\":\"x\"}":{".":{},"f:sku":{},"f:count":{}},"k:{\"sku\":\"w\"}":{".":{},"f:sku":{},"f:count":{}}},
  "f:tags":{"v:\"red\"":{}},"f:plain":{}}})";

TEST(FindDriftTest, ManagedFieldsSayHowListsOfUnknownKindsAreMerged) {
  Value live = Managed(Cart(), "me", kAllOfIt);
  // Another order, and additions of others to lists that are merged.
  live["spec"]["items"] = Yaml("{kind: x, items: [{sku: z}, {sku: w, count: 2, note: n}, {sku: x, count: 1}]}")["items"];
  live["spec"]["tags"].MutableList().push_back("blue");
  EXPECT_THAT(FindDrift(nullptr, Cart(), live, "me").reasons, IsEmpty());
  live["spec"]["plain"].MutableList().push_back("more");
  EXPECT_THAT(FindDrift(nullptr, Cart(), live, "me").reasons, ElementsAre("spec.plain: 2 elements instead of 1"));
}

TEST(FindDriftTest, WithoutManagedFieldsListsOfUnknownKindsMustBeEqual) {
  EXPECT_THAT(FindDrift(nullptr, Cart(), Cart(), "me").reasons, IsEmpty());
  Value live = Cart();
  live["spec"]["tags"].MutableList().push_back("blue");
  EXPECT_EQ(FindDrift(nullptr, Cart(), live, "me").reasons.size(), 1U);
}

TEST(FindDriftTest, AFieldThatSomebodyTookOverIsDriftWhateverItsValue) {
  const Value live = Managed(Cart(), "me", R"({"f:metadata":{"f:labels":{"f:a":{}}},"f:spec":{"f:size":{},
    "f:items":{"k:{\"sku\":\"x\"}":{".":{},"f:sku":{},"f:count":{}}},"f:tags":{"v:\"blue\"":{}}}})");
  EXPECT_THAT(FindDrift(nullptr, Cart(), live, "me").reasons,
              ElementsAre(HasSubstr("spec.items[sku=w]: not applied by us"), HasSubstr("spec.plain: not applied by us"),
                          HasSubstr("spec.tags[\"red\"]: not applied by us")));
}

TEST(FindDriftTest, NothingThatWasAppliedByUsIsDrift) {
  const Value live = Managed(Cart(), "somebody", kAllOfIt);
  EXPECT_THAT(FindDrift(nullptr, Cart(), live, "me").reasons, ElementsAre("metadata.managedFields: nothing was applied by \"me\""));
}

TEST(HashTextTest, IsStableAndTellsPartsApart) {
  EXPECT_EQ(HashText("web"), HashText("web"));
  EXPECT_NE(HashText("bc", HashText("a")), HashText("c", HashText("ab")));
}

}  // namespace
}  // namespace kube::internal
