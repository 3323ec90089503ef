#include "apiserver/typed_value.h"

#include <gtest/gtest.h>

#include "apiserver/structural_schema.h"
#include "kube/api/apiextensions/v1.h"
#include "kube/api/apps/v1.h"
#include "kube/api/core/v1.h"
#include "kube/codec/json.h"
#include "kube/value/table.h"

namespace kube::apiserver {
namespace {

Value Json(std::string_view text) {
  Result<Value> v = ParseJson(text);
  EXPECT_TRUE(v.ok()) << text;
  return v ? *v : Value();
}

// A schema for everything below `spec`.
SchemaRef Make(std::string_view spec) {
  return StructuralSchema::Make(Json(R"({"type":"object","properties":{"spec":)" + std::string(spec) + "}}"))->ToApplySchema();
}

Value Spec(std::string_view text) { return Value::Object({{"spec", Json(text)}}); }

constexpr std::string_view kLists = R"({"type":"object","properties":{
  "set":{"type":"array","x-kubernetes-list-type":"set","items":{"type":"string"}},
  "map":{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["name","port"],"items":{"type":"object","properties":{
    "name":{"type":"string"},"port":{"type":"integer","default":80},"v":{"type":"string"}}}},
  "atomic":{"type":"array","items":{"type":"object","properties":{"a":{"type":"string"}}}},
  "whole":{"type":"object","x-kubernetes-map-type":"atomic","properties":{"a":{"type":"string"}}},
  "labels":{"type":"object","additionalProperties":{"type":"string"}},
  "any":{"x-kubernetes-preserve-unknown-fields":true}}})";

TEST(SchemaOfTest, MapsInsideOfListsAreMaps) {
  static constexpr FieldInfo kField{
      .json_name = "flags", .type = &internal::ContainerTable<Map<String>>::kType, .kind = FieldKind::kMessage, .shape = FieldShape::kList};
  static constexpr TypeInfo kFlags{.name = "test.Flags", .fields = &kField, .field_count = 1, .size = sizeof(void*)};
  const SchemaRef schema = SchemaOf(kFlags);
  ASSERT_TRUE(schema->map.has_value());
  const Schema& list = *schema->map->fields.at(0).type;
  ASSERT_TRUE(list.list.has_value());
  EXPECT_TRUE(list.list->element->map.has_value());
  EXPECT_FALSE(list.list->element->list.has_value());
}

TEST(SchemaOfTest, KnowsListTypesAndKeyDefaults) {
  SchemaRef pod = SchemaOf(core::v1::Pod::kType);
  const Schema& spec = *pod->map->Find("spec")->type;
  const Schema& containers = *spec.map->Find("containers")->type;
  ASSERT_TRUE(containers.list && containers.list->associative);
  EXPECT_EQ(containers.list->keys, std::vector<std::string>{"name"});
  const Schema& ports = *containers.list->element->map->Find("ports")->type;
  EXPECT_EQ(ports.list->keys, (std::vector<std::string>{"containerPort", "protocol"}));
  EXPECT_EQ(ports.list->element->map->Find("protocol")->default_value, Value("TCP"));
  EXPECT_FALSE(containers.list->element->map->Find("command")->type->list->associative);
  EXPECT_TRUE(spec.map->Find("nodeSelector")->type->map->atomic);
  const Schema& meta = *pod->map->Find("metadata")->type;
  EXPECT_TRUE(meta.map->Find("finalizers")->type->list->associative);
  EXPECT_EQ(meta.map->Find("ownerReferences")->type->list->keys, std::vector<std::string>{"uid"});
  EXPECT_EQ(SchemaOf(core::v1::Pod::kType), pod) << "built once";
}

TEST(SchemaOfTest, RecursiveTypesHaveFiniteSchemas) {
  SchemaRef crd = SchemaOf(apiextensions::v1::CustomResourceDefinition::kType);
  Value deep = Value::Object({{"type", "string"}});
  for (int i = 0; i < 300; ++i) deep = Value::Object({{"properties", Value::Object({{"p", deep}})}});
  Value object = Value::Object();
  object["spec"]["versions"] = Value::Array({Value::Object({{"name", "v1"}, {"schema", Value::Object({{"openAPIV3Schema", deep}})}})});
  EXPECT_TRUE(ValidateTyped(*crd, object, false).ok());
  EXPECT_FALSE(ToFieldSet(*crd, object).Empty());
}

TEST(ToFieldSetTest, LeavesItemsAndWholes) {
  SchemaRef schema = Make(kLists);
  Value v = Spec(R"({"set":["b","a"],"map":[{"name":"x","v":"1"}],"atomic":[{"a":"1"}],"whole":{"a":"1"},"labels":{"k":"v"},
                     "any":{"deep":{"x":[1]},"list":[{"a":1}]}})");
  EXPECT_EQ(
      ToFieldSet(*schema, v).ToFieldsV1Text(),
      R"({"f:spec":{"f:any":{"f:deep":{".":{},"f:x":{}},"f:list":{}},"f:atomic":{},"f:labels":{"f:k":{}},)"
      R"("f:map":{"k:{\"name\":\"x\",\"port\":80}":{".":{},"f:name":{},"f:v":{}}},"f:set":{"v:\"a\"":{},"v:\"b\"":{}},"f:whole":{}}})");
}

TEST(ToFieldSetTest, EmptyAndNullCountAsLeaves) {
  SchemaRef schema = Make(kLists);
  EXPECT_EQ(ToFieldSet(*schema, Spec(R"({"labels":{},"map":null,"set":[]})")).ToFieldsV1Text(), R"({"f:spec":{"f:labels":{},"f:map":{}}})");
}

TEST(CompareTypedTest, FindsAddedModifiedRemoved) {
  SchemaRef schema = Make(kLists);
  Comparison c =
      CompareTyped(*schema, Spec(R"({"set":["a","b"],"map":[{"name":"x","v":"1"}],"atomic":[{"a":"1"}],"labels":{"k":"v"}})"),
                   Spec(R"({"set":["b","c"],"map":[{"name":"x","port":80,"v":"2"},{"name":"x","port":81}],"atomic":[{"a":"2"}]})"));
  EXPECT_EQ(c.added.ToFieldsV1Text(), R"({"f:spec":{"f:map":{"k:{\"name\":\"x\",\"port\":80}":{"f:port":{}},)"
                                      R"("k:{\"name\":\"x\",\"port\":81}":{".":{},"f:name":{},"f:port":{}}},)"
                                      R"("f:set":{"v:\"c\"":{}}}})");
  EXPECT_EQ(c.modified.ToFieldsV1Text(), R"({"f:spec":{"f:atomic":{},"f:map":{"k:{\"name\":\"x\",\"port\":80}":{"f:v":{}}}}})");
  EXPECT_EQ(c.removed.ToFieldsV1Text(), R"({"f:spec":{"f:labels":{".":{},"f:k":{}},"f:set":{"v:\"a\"":{}}}})");
}

TEST(CompareTypedTest, OrderOfItemsIsNoChange) {
  SchemaRef schema = Make(kLists);
  EXPECT_TRUE(CompareTyped(*schema, Spec(R"({"set":["a","b"]})"), Spec(R"({"set":["b","a"]})")).IsSame());
  EXPECT_FALSE(CompareTyped(*schema, Spec(R"({"atomic":[{"a":"1"},{}]})"), Spec(R"({"atomic":[{},{"a":"1"}]})")).IsSame());
}

TEST(MergeTypedTest, KeepsOrderOfLiveAndOfConfig) {
  SchemaRef schema = Make(kLists);
  auto merge = [&](std::string_view live, std::string_view config) {
    Result<Value> out = MergeTyped(*schema, Spec(live), Spec(config));
    return out ? ToJson((*out)["spec"]) : out.error().message();
  };
  EXPECT_EQ(merge(R"({"set":["a","b","c"]})", R"({"set":["d"]})"), R"({"set":["a","b","c","d"]})");
  EXPECT_EQ(merge(R"({"set":["a","b","c"]})", R"({"set":["c","a"]})"), R"({"set":["b","c","a"]})");
  EXPECT_EQ(merge(R"({"map":[{"name":"x","v":"1"}]})", R"({"map":[{"name":"x","port":80,"v":"2"},{"name":"y"}]})"),
            R"({"map":[{"name":"x","port":80,"v":"2"},{"name":"y"}]})");
  EXPECT_EQ(merge(R"({"atomic":[{"a":"1"}],"whole":{"a":"1"}})", R"({"atomic":[{}],"whole":{}})"), R"({"atomic":[{}],"whole":{}})");
  EXPECT_EQ(merge(R"({"any":{"a":1}})", R"({"any":{"b":{"c":2}}})"), R"({"any":{"a":1,"b":{"c":2}}})");
}

TEST(RemoveItemsTest, TakesOutFieldsAndItems) {
  SchemaRef schema = Make(kLists);
  FieldSet items = *FieldSet::FromFieldsV1(
      Json(R"({"f:spec":{"f:set":{"v:\"a\"":{}},"f:labels":{"f:k":{}},"f:map":{"k:{\"name\":\"x\",\"port\":80}":{"f:v":{}}}}})"));
  EXPECT_EQ(ToJson(RemoveItems(*schema, Spec(R"({"set":["a","b"],"labels":{"k":"v"},"map":[{"name":"x","v":"1"}]})"), items)),
            R"({"spec":{"labels":null,"map":[{"name":"x"}],"set":["b"]}})");
}

TEST(ReconcileFieldSetTest, PartsOfWhatIsAtomicNowBecomeTheWhole) {
  FieldSet set = *FieldSet::FromFieldsV1(Json(R"({"f:spec":{"f:whole":{"f:a":{}},"f:atomic":{"i:0":{}},"f:labels":{"f:k":{}}}})"));
  std::optional<FieldSet> now = ReconcileFieldSet(*Make(kLists), set);
  ASSERT_TRUE(now.has_value());
  EXPECT_EQ(now->ToFieldsV1Text(), R"({"f:spec":{"f:atomic":{},"f:labels":{"f:k":{}},"f:whole":{}}})");
  EXPECT_FALSE(ReconcileFieldSet(*Make(kLists), *now).has_value());
}

TEST(ValidateTypedTest, SaysWhatDoesNotFit) {
  SchemaRef schema = Make(kLists);
  auto why = [&](std::string_view spec, bool duplicates = false) {
    Result<void> r = ValidateTyped(*schema, Spec(spec), duplicates);
    return r ? "" : r.error().message();
  };
  EXPECT_EQ(why(R"({"nope":1})"), ".spec.nope: field not declared in schema");
  EXPECT_EQ(why(R"({"set":["a","a"]})"), R"(.spec.set: duplicate entries for key [="a"])");
  EXPECT_EQ(why(R"({"set":["a","a"]})", true), "");
  EXPECT_EQ(why(R"({"map":[{"v":"1"}]})"), "") << "the port's default is a key";
  EXPECT_EQ(why(R"({"map":[1]})"), ".spec.map: element 0: associative list with keys may not have non-map elements");
  EXPECT_EQ(why(R"({"set":"a"})"), ".spec.set: expected list, got &{a}");
  EXPECT_EQ(why(R"({"map":[{"name":1}]})"), ".spec.map[name=1,port=80].name: expected string, got &value.valueUnstructured{Value:1}");
  EXPECT_EQ(why(R"({"any":[1,{"a":null}]})"), "");
}

TEST(CompleteTest, AddsWhatGoStructsAlwaysHave) {
  SchemaRef deployment = SchemaOf(apps::v1::Deployment::kType);
  Value empty = Complete(*deployment, Value::Object());
  EXPECT_EQ(ToJson(empty["spec"]), R"({"selector":null,"strategy":{},"template":{"metadata":{},"spec":{"containers":null}}})");
  EXPECT_EQ(Compact(*deployment, empty), Value::Object());
  Value condition = Complete(*SchemaOf(core::v1::Pod::kType), Json(R"({"status":{"conditions":[{"type":"Ready","status":"True"}]}})"));
  EXPECT_EQ(ToJson(condition["status"]["conditions"].list()[0]),
            R"({"lastProbeTime":null,"lastTransitionTime":null,"status":"True","type":"Ready"})");
  SchemaRef custom = Make(kLists);
  EXPECT_EQ(Complete(*custom, Value::Object()), Value::Object());
}

}  // namespace
}  // namespace kube::apiserver
