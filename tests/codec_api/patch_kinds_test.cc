// Patches, diff and hash on built-in kinds: that the generated tables say what the engines need.
#include <string>

#include <gtest/gtest.h>

#include "kube/api/apps/v1.h"
#include "kube/api/core/v1.h"
#include "kube/codec/diff.h"
#include "kube/codec/hash.h"
#include "kube/codec/patch.h"

namespace kube {
namespace {

using apps::v1::Deployment;
using core::v1::Pod;
using core::v1::Secret;
using core::v1::Service;

template <typename T>
T Parse(std::string_view text) {
  Result<T> object = FromJson<T>(text);
  EXPECT_TRUE(object.ok()) << object.error().ToString();
  return object.value_or(T{});
}

Deployment WebDeployment() {
  return Parse<Deployment>(R"({"metadata":{"name":"web","finalizers":["a","b"]},"spec":{"replicas":1,
      "strategy":{"type":"RollingUpdate","rollingUpdate":{"maxSurge":"25%"}},
      "template":{"spec":{
        "containers":[{"name":"web","image":"web:1","env":[{"name":"A","value":"1"}]},{"name":"log","image":"log:1"}],
        "volumes":[{"name":"data","hostPath":{"path":"/data"}},{"name":"tmp","emptyDir":{}}],
        "tolerations":[{"key":"a"}]}}}})");
}

TEST(PatchKindsTest, MergesContainersByName) {
  Deployment before = WebDeployment();
  Result<Deployment> after = ApplyStrategicMergePatch(
      before,
      R"({"spec":{"template":{"spec":{"containers":[{"name":"log","$patch":"delete"},{"name":"web","env":[{"name":"B","value":"2"}]}]}}}})");
  ASSERT_TRUE(after.ok()) << after.error().ToString();
  EXPECT_EQ(ToString(Diff(before, *after)),
            "+ spec.template.spec.containers[name=web].env[name=B]: {\"name\":\"B\",\"value\":\"2\"}\n"
            "- spec.template.spec.containers[name=log]: {\"image\":\"log:1\",\"name\":\"log\"}\n");
}

TEST(PatchKindsTest, RetainsKeysOfUnions) {
  Deployment before = WebDeployment();
  Deployment after = before;
  after.spec.strategy = {};
  after.spec.strategy.type = "Recreate";
  after.spec.template_.spec.volumes[0] = {};
  after.spec.template_.spec.volumes[0].name = "data";
  after.spec.template_.spec.volumes[0].empty_dir.Mutable();
  Result<Value> patch = CreateTwoWayMergePatch(before, after);
  ASSERT_TRUE(patch.ok()) << patch.error().ToString();
  EXPECT_EQ(ToJson(*patch), R"({"spec":{"strategy":{"$retainKeys":["type"],"rollingUpdate":null,"type":"Recreate"},)"
                            R"("template":{"spec":{"$setElementOrder/volumes":[{"name":"data"},{"name":"tmp"}],)"
                            R"("volumes":[{"$retainKeys":["emptyDir","name"],"emptyDir":{},"hostPath":null,"name":"data"}]}}}})");
  Result<Deployment> back = ApplyStrategicMergePatch(before, ToJson(*patch));
  ASSERT_TRUE(back.ok()) << back.error().ToString();
  EXPECT_TRUE(*back == after);
}

TEST(PatchKindsTest, TreatsFinalizersAsASet) {
  Deployment before = WebDeployment();
  Deployment after = before;
  after.metadata.finalizers = {"b", "c"};
  Result<Value> patch = CreateTwoWayMergePatch(before, after);
  ASSERT_TRUE(patch.ok());
  EXPECT_EQ(ToJson(*patch),
            R"({"metadata":{"$deleteFromPrimitiveList/finalizers":["a"],"$setElementOrder/finalizers":["b","c"],"finalizers":["c"]}})");
}

TEST(PatchKindsTest, ReplacesAtomicLists) {
  Result<Deployment> after = ApplyStrategicMergePatch(WebDeployment(), R"({"spec":{"template":{"spec":{"tolerations":[{"key":"b"}]}}}})");
  ASSERT_TRUE(after.ok());
  ASSERT_EQ(after->spec.template_.spec.tolerations.size(), 1U);
  EXPECT_EQ(after->spec.template_.spec.tolerations[0].key, "b");
}

TEST(PatchKindsTest, KeepsPortsOfTwoProtocolsApart) {
  Service before =
      Parse<Service>(R"({"spec":{"ports":[{"name":"t","port":53,"protocol":"TCP"},{"name":"u","port":53,"protocol":"UDP"}]}})");
  Service after = before;
  after.spec.ports[1].node_port = 30053;
  EXPECT_EQ(ToString(Diff(before, after)), "+ spec.ports[port=53,protocol=UDP].nodePort: 30053\n");
  Result<Value> patch = CreateTwoWayMergePatch(before, after);
  ASSERT_TRUE(patch.ok());
  Result<Service> back = ApplyStrategicMergePatch(before, ToJson(*patch));
  ASSERT_TRUE(back.ok());
  EXPECT_TRUE(*back == after);
}

TEST(PatchKindsTest, ErrorsNameThePath) {
  Result<Deployment> after = ApplyStrategicMergePatch(WebDeployment(), R"({"spec":{"template":{"spec":{"containers":[{"image":"x"}]}}}})");
  ASSERT_FALSE(after.ok());
  EXPECT_EQ(after.error().ToString(), "spec.template.spec.containers[0]: the element has no `name`, the merge key of this list");
}

TEST(DiffKindsTest, NeverShowsSecrets) {
  Secret before = Parse<Secret>(R"({"metadata":{"name":"s"},"data":{"password":"aHVudGVyMg=="}})");
  Secret after = before;
  after.data["password"] = "swordfish";
  after.string_data["token"] = "abc";
  EXPECT_EQ(ToString(Diff(before, after)),
            "~ data[password]: (redacted, 7 bytes) -> (redacted, 9 bytes)\n"
            "+ stringData: {\"token\":\"(redacted, 3 bytes)\"}\n");
}

TEST(HashKindsTest, QuantitiesCountByAmount) {
  Pod a = Parse<Pod>(R"({"spec":{"containers":[{"name":"a","resources":{"limits":{"cpu":"1","memory":"1Gi"}}}]}})");
  Pod b = Parse<Pod>(R"({"spec":{"containers":[{"name":"a","resources":{"limits":{"cpu":"1000m","memory":"1073741824"}}}]}})");
  EXPECT_TRUE(a == b);
  EXPECT_EQ(HashObject(a), HashObject(b));
  b.spec.containers[0].image = "x";
  EXPECT_NE(HashObject(a), HashObject(b));
}

}  // namespace
}  // namespace kube
