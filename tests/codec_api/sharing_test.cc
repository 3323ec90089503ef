// What the engines make shares everything with its copies: no block of it has given out a reference (kube/value/shared.h).
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>

#include "kube/api/core/v1.h"
#include "kube/codec/json.h"
#include "kube/codec/patch.h"
#include "kube/codec/protobuf.h"
#include "kube/codec/yaml.h"
#include "kube/meta/dynamic_object.h"

namespace kube {
namespace {

using core::v1::Pod;

constexpr std::string_view kPod =
    R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"web","labels":{"app":"web"},"annotations":{"note":"a text that is shared"},
"ownerReferences":[{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"web","uid":"1"}]},
"spec":{"affinity":{"podAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[{"topologyKey":"zone","labelSelector":{"matchLabels":{"a":"b"}}}]}},
"containers":[{"name":"web","image":"nginx","env":[{"name":"A","value":"b"}],"resources":{"limits":{"cpu":"1"}},"ports":[{"containerPort":80}]}],"nodeSelector":{"a":"b"}},
"future":{"field":[1,2]}})";

template <typename T>
void ExpectShared(const T& made, std::string_view how) {
  EXPECT_FALSE(internal::HoldsLent(made)) << how;
}

TEST(SharingTest, WhatDecodersMake) {
  const Pod pod = FromJson<Pod>(kPod).value();
  ExpectShared(pod, "JSON");
  Pod known = pod;
  known.unknown_fields.clear();  // protobuf has no room for what came in by JSON
  ExpectShared(FromYaml<Pod>(ToYaml(pod).value()).value(), "YAML");
  ExpectShared(FromProtobuf<Pod>(ToProtobuf(known).value()).value(), "protobuf");
  ExpectShared(ParseJson(kPod).value(), "JSON as a Value");
  ExpectShared(ParseYaml(ToYaml(pod).value()).value(), "YAML as a Value");
  EXPECT_TRUE(Pod(pod).spec.containers.SharesWith(pod.spec.containers));
}

TEST(SharingTest, WhatConversionsMake) {
  const Pod pod = FromJson<Pod>(kPod).value();
  const DynamicObject dynamic = ToDynamic(pod).value();
  ExpectShared(dynamic, "ToDynamic");
  ExpectShared(FromDynamic<Pod>(dynamic).value(), "FromDynamic");
  ExpectShared(DynamicObject::Parse(kPod).value(), "Parse");
  ExpectShared(dynamic.metadata(), "metadata()");
}

TEST(SharingTest, WhatPatchesMake) {
  const Value value = ParseJson(kPod).value();
  const Value patch = ParseJson(R"({"metadata":{"labels":{"b":"c"}},"spec":{"containers":[{"name":"web","image":"nginx:2"}]}})").value();
  ExpectShared(ApplyMergePatch(value, patch), "merge patch");
  ExpectShared(ApplyStrategicMergePatch(Pod::kType, value, patch).value(), "strategic merge patch");
  ExpectShared(
      ApplyJsonPatch(
          value,
          ParseJson(
              R"([{"op":"add","path":"/metadata/labels/b","value":"c"},{"op":"replace","path":"/spec/containers/0/image","value":"x"}])")
              .value())
          .value(),
      "JSON patch");
}

TEST(SharingTest, DecodingIntoAnObjectKeepsItsReferencesApart) {
  Pod pod = FromJson<Pod>(kPod).value();
  pod.unknown_fields.clear();
  const std::string more = ToProtobuf(pod).value();
  core::v1::EnvVar& variable = pod.spec.containers[0].env[0];
  ASSERT_TRUE(DecodeProtobuf(Pod::kType, &pod, more).ok());  // protobuf merges: the list of containers grows
  ASSERT_EQ(std::as_const(pod).spec.containers.size(), 2U);
  const Pod copy = pod;
  variable.value = "changed";
  EXPECT_EQ(copy.spec.containers[0].env[0].value, "b");
}

TEST(SharingTest, SettersOfDynamicObjects) {
  DynamicObject object({.group = "shop.example", .version = "v1", .kind = "Cart"}, {"default", "first"});
  object.set_label("app", "web");
  object.set_annotation("note", "text");
  object.set_finalizers({"example.com/a"});
  ASSERT_TRUE(object.SetNested({"spec", "size"}, Value(3)).ok());
  EXPECT_TRUE(object.RemoveNested({"spec", "size"}));
  ExpectShared(object, "setters");
  Value& size = object["spec"]["size"];
  object.set_label("app", "api");
  const DynamicObject before = object;
  size = 5;
  EXPECT_TRUE(before["spec"]["size"].is_null());
}

}  // namespace
}  // namespace kube
