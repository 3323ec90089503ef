#include "kube/meta/dynamic_object.h"

#include <gtest/gtest.h>

#include "meta/test_types.h"

namespace kube {
namespace {

using testing_shop::Cart;
using testing_shop::CartList;
using testing_shop::CartSpec;
using testing_shop::Region;

constexpr char kCartJson[] = R"({
  "apiVersion": "shop.example/v1", "kind": "Cart",
  "metadata": {"name": "c1", "namespace": "shop", "uid": "u1", "resourceVersion": "42", "generation": 3,
    "creationTimestamp": "2024-05-06T07:08:09Z", "deletionTimestamp": "2024-06-06T07:08:09Z", "deletionGracePeriodSeconds": 30,
    "labels": {"tier": "front"}, "annotations": {"note": "n"}, "finalizers": ["shop.example/guard"],
    "ownerReferences": [{"apiVersion": "shop.example/v1", "kind": "Cart", "name": "boss", "uid": "u0", "controller": true}],
    "managedFields": [{"manager": "kubectl", "operation": "Update"}],
    "futureField": {"x": 1}},
  "spec": {"size": "large", "replicas": 2, "ratio": 0.5, "fast": true, "tags": ["a", "b"], "mixed": ["a", 1], "limits": {"cpu": "1"}}
})";

DynamicObject ParseCart() {
  Result<DynamicObject> cart = DynamicObject::Parse(kCartJson);
  EXPECT_TRUE(cart.ok()) << cart.error().ToString();
  return cart.value_or(DynamicObject());
}

TEST(DynamicObjectTest, ReadsTypeAndMetadata) {
  const DynamicObject cart = ParseCart();
  EXPECT_EQ(cart.api_version(), "shop.example/v1");
  EXPECT_EQ(cart.kind(), "Cart");
  EXPECT_EQ(cart.gvk(), (Gvk{"shop.example", "v1", "Cart"}));
  EXPECT_EQ(cart.name(), "c1");
  EXPECT_EQ(cart.namespace_(), "shop");
  EXPECT_EQ(cart.uid(), "u1");
  EXPECT_EQ(cart.resource_version(), "42");
  EXPECT_EQ(cart.generation(), 3);
  EXPECT_EQ(cart.creation_timestamp().ToString(), "2024-05-06T07:08:09Z");
  EXPECT_EQ(cart.deletion_timestamp().ToString(), "2024-06-06T07:08:09Z");
  EXPECT_EQ(cart.deletion_grace_period_seconds(), 30);
  EXPECT_EQ(cart.labels(), (Map<String>{{"tier", "front"}}));
  EXPECT_EQ(cart.annotations(), (Map<String>{{"note", "n"}}));
  EXPECT_EQ(cart.finalizers(), (List<String>{"shop.example/guard"}));
  ASSERT_EQ(cart.owner_references().size(), 1U);
  EXPECT_EQ(cart.owner_references()[0].name, "boss");
  EXPECT_EQ(KeyOf(cart), (ObjectKey{"shop", "c1"}));
  EXPECT_EQ(GvkOf(cart), cart.gvk());
}

TEST(DynamicObjectTest, ReadsEmptyWhereThingsAreAbsentOrOfAnotherType) {
  const DynamicObject empty;
  EXPECT_TRUE(empty.gvk().empty());
  EXPECT_EQ(empty.name(), "");
  EXPECT_TRUE(empty.labels().empty());
  EXPECT_TRUE(empty.creation_timestamp().IsZero());
  EXPECT_EQ(empty.metadata(), meta::v1::ObjectMeta{});
  DynamicObject odd;
  odd["apiVersion"] = "a/b/c";
  odd["kind"] = "Odd";
  odd["metadata"]["name"] = 5;
  odd["metadata"]["namespace"] = "shop";
  odd["metadata"]["labels"]["x"] = 1;
  odd["metadata"]["generation"] = "three";
  odd["metadata"]["finalizers"] = "guard";
  odd["metadata"]["creationTimestamp"] = "yesterday";
  odd["metadata"]["ownerReferences"] = Value::Array({Value(1), Value::Object({{"name", "boss"}})});
  EXPECT_EQ(odd.gvk(), (Gvk{"", "", "Odd"}));
  EXPECT_EQ(odd.name(), "");
  EXPECT_TRUE(odd.labels().empty());
  EXPECT_EQ(odd.generation(), 0);
  EXPECT_TRUE(odd.finalizers().empty());
  EXPECT_TRUE(odd.creation_timestamp().IsZero());
  EXPECT_EQ(odd.owner_references().size(), 1U);
  meta::v1::ObjectMeta metadata = odd.metadata();
  EXPECT_EQ(metadata.namespace_, "shop");
  EXPECT_EQ(metadata.name, "");
  EXPECT_TRUE(DynamicObject(Value(7)).name().empty());
}

TEST(DynamicObjectTest, SetsMetadata) {
  DynamicObject cart(Gvk{"shop.example", "v1", "Cart"}, {"shop", "c1"});
  cart.set_generate_name("c-");
  cart.set_uid("u1");
  cart.set_resource_version("7");
  cart.set_generation(2);
  cart.set_creation_timestamp(Time::FromUnix(0));
  cart.set_deletion_timestamp(Time::FromUnix(60));
  cart.set_deletion_grace_period_seconds(0);
  cart.set_labels({{"a", "1"}});
  cart.set_label("b", "2");
  cart.set_annotations({{"c", "3"}});
  cart.set_annotation("d", "");
  cart.set_finalizers({"g"});
  ASSERT_TRUE(cart.SetOwnerReferences({{.name = "boss", .uid = "u0"}}).ok());
  meta::v1::ObjectMeta m = cart.metadata();
  EXPECT_EQ(m.name, "c1");
  EXPECT_EQ(m.namespace_, "shop");
  EXPECT_EQ(m.generate_name, "c-");
  EXPECT_EQ(m.uid, "u1");
  EXPECT_EQ(m.resource_version, "7");
  EXPECT_EQ(m.generation, 2);
  EXPECT_EQ(m.creation_timestamp, Time::FromUnix(0));
  EXPECT_EQ(m.deletion_timestamp, Time::FromUnix(60));
  EXPECT_EQ(m.deletion_grace_period_seconds, 0);
  EXPECT_EQ(m.labels, (Map<String>{{"a", "1"}, {"b", "2"}}));
  EXPECT_EQ(m.annotations, (Map<String>{{"c", "3"}, {"d", ""}}));
  EXPECT_EQ(m.finalizers, (List<String>{"g"}));
  EXPECT_EQ(m.owner_references, (List<meta::v1::OwnerReference>{{.name = "boss", .uid = "u0"}}));
  EXPECT_EQ(cart.api_version(), "shop.example/v1");
}

TEST(DynamicObjectTest, RemovesWhatIsSetToEmpty) {
  DynamicObject cart = ParseCart();
  cart.set_name("");
  cart.set_namespace("");
  cart.set_generate_name("");
  cart.set_uid("");
  cart.set_resource_version("");
  cart.set_generation(0);
  cart.set_creation_timestamp({});
  cart.set_deletion_timestamp({});
  cart.set_deletion_grace_period_seconds(std::nullopt);
  cart.set_labels({});
  cart.set_annotations({});
  cart.set_finalizers({});
  ASSERT_TRUE(cart.SetOwnerReferences({}).ok());
  EXPECT_TRUE(cart.RemoveManagedFields());
  EXPECT_EQ(cart["metadata"], Value::Object({{"futureField", Value::Object({{"x", 1}})}}));
  // Removing what is not there makes nothing.
  DynamicObject bare;
  bare.set_name("");
  EXPECT_EQ(bare.value(), Value::Object());
}

TEST(DynamicObjectTest, RemovesManagedFields) {
  DynamicObject cart = ParseCart();
  const DynamicObject copy = cart;
  EXPECT_TRUE(cart.RemoveManagedFields());
  EXPECT_FALSE(cart.RemoveManagedFields());
  EXPECT_TRUE(cart.metadata().managed_fields.empty());
  EXPECT_EQ(copy.metadata().managed_fields.size(), 1U);
}

TEST(DynamicObjectTest, MetadataRoundTripsWithUnknownFields) {
  DynamicObject cart = ParseCart();
  meta::v1::ObjectMeta m = cart.metadata();
  m.labels["tier"] = "back";
  ASSERT_TRUE(cart.SetMetadata(m).ok());
  EXPECT_EQ(cart.labels()["tier"], "back");
  EXPECT_EQ(cart.value()["metadata"]["futureField"]["x"].int_value(), 1);
  EXPECT_EQ(cart.value()["spec"]["size"].string_value(), "large");
}

TEST(DynamicObjectTest, ReadsNestedMembers) {
  const DynamicObject cart = ParseCart();
  EXPECT_EQ(cart.NestedString({"spec", "size"}), String("large"));
  EXPECT_EQ(cart.NestedInt({"spec", "replicas"}), 2);
  EXPECT_EQ(cart.NestedDouble({"spec", "ratio"}), 0.5);
  EXPECT_EQ(cart.NestedDouble({"spec", "replicas"}), 2.0);
  EXPECT_EQ(cart.NestedBool({"spec", "fast"}), true);
  EXPECT_EQ(cart.NestedStringList({"spec", "tags"}), (List<String>{"a", "b"}));
  EXPECT_EQ(cart.NestedStringMap({"spec", "limits"}), (Map<String>{{"cpu", "1"}}));
  EXPECT_EQ(cart.NestedString({"spec", "replicas"}), std::nullopt);
  EXPECT_EQ(cart.NestedInt({"spec", "ratio"}), std::nullopt);
  EXPECT_EQ(cart.NestedBool({"spec", "size", "deeper"}), std::nullopt);
  EXPECT_EQ(cart.NestedStringList({"spec", "mixed"}), std::nullopt);
  EXPECT_EQ(cart.NestedStringMap({"spec"}), std::nullopt);
  EXPECT_EQ(cart.FindNested({}), &cart.value());
  EXPECT_EQ(cart.FindNested({"status"}), nullptr);
  const std::vector<std::string_view> path = {"spec", "size"};
  EXPECT_EQ(cart.NestedString(std::span<const std::string_view>(path)), String("large"));
}

TEST(DynamicObjectTest, WritesNestedMembers) {
  DynamicObject cart = ParseCart();
  const DynamicObject copy = cart;
  ASSERT_TRUE(cart.SetNested({"status", "stock", "count"}, 5).ok());
  EXPECT_EQ(cart.NestedInt({"status", "stock", "count"}), 5);
  EXPECT_EQ(copy.FindNested({"status"}), nullptr);
  Result<void> r = cart.SetNested({"spec", "size", "x"}, 1);
  ASSERT_FALSE(r.ok());
  EXPECT_EQ(r.error().message(), "cannot set spec.size.x: spec.size is a string, not an object");
  EXPECT_EQ(cart.NestedString({"spec", "size"}), String("large"));
  EXPECT_FALSE(cart.SetNested({}, 1).ok());
  EXPECT_TRUE(cart.RemoveNested({"status", "stock"}));
  EXPECT_FALSE(cart.RemoveNested({"status", "stock"}));
  EXPECT_FALSE(cart.RemoveNested({"spec", "size", "x"}));
  EXPECT_FALSE(cart.RemoveNested({}));
}

TEST(DynamicObjectTest, RefusesWhatIsNoObjectOfAKind) {
  for (const char* text :
       {"[]", "5", "\"x\"", "null", "{}", R"({"apiVersion":"v1"})", R"({"kind":""})", R"({"kind":7})", R"({"apiVersion":1,"kind":"X"})",
        R"({"apiVersion":"a/b/c","kind":"X"})", R"({"kind":"X","metadata":[]})", R"({"kind":"X","metadata":{"labels":{"a":1}}})"}) {
    Result<DynamicObject> object = FromJson<DynamicObject>(text);
    ASSERT_FALSE(object.ok()) << text;
    EXPECT_EQ(object.error().kind(), ErrorKind::kDecode) << text;
  }
  EXPECT_NE(FromJson<DynamicObject>(R"({"kind":"X","metadata":{"labels":{"a":1}}})").error().ToString().find("labels"), std::string::npos);
  EXPECT_TRUE(FromJson<DynamicObject>(R"({"kind":"X"})").ok());
  EXPECT_TRUE(FromJson<DynamicObject>(R"({"kind":"X","metadata":null})").ok());
}

TEST(DynamicObjectTest, WritesWhatItReads) {
  const DynamicObject cart = ParseCart();
  Result<std::string> json = ToJson(cart);
  ASSERT_TRUE(json.ok());
  EXPECT_EQ(*FromJson<DynamicObject>(*json), cart);
  Result<std::string> yaml = ToYaml(cart);
  ASSERT_TRUE(yaml.ok());
  EXPECT_EQ(*FromYaml<DynamicObject>(*yaml), cart);
  EXPECT_EQ(*DynamicObject::Parse(*yaml), cart);
}

TEST(DynamicObjectTest, ParsesYamlDocuments) {
  Result<std::vector<DynamicObject>> all = DynamicObject::ParseAll("kind: A\n---\n---\nkind: B\nmetadata: {name: b}\n");
  ASSERT_TRUE(all.ok()) << all.error().ToString();
  ASSERT_EQ(all->size(), 2U);
  EXPECT_EQ((*all)[1].name(), "b");
  EXPECT_EQ(DynamicObject::ParseAll(kCartJson)->size(), 1U);
  Result<std::vector<DynamicObject>> bad = DynamicObject::ParseAll("kind: A\n---\nname: b\n");
  ASSERT_FALSE(bad.ok());
  EXPECT_EQ(bad.error().ToString(), "document 2: kind: missing");
  EXPECT_FALSE(DynamicObject::Parse("kind: A\n---\nkind: B\n").ok());
  EXPECT_FALSE(DynamicObject::Parse("").ok());
}

TEST(DynamicObjectTest, GivesItemsOfAListTheirKind) {
  Result<DynamicObject> list = DynamicObject::Parse(
      R"({"apiVersion":"shop.example/v1","kind":"CartList","metadata":{"resourceVersion":"5","continue":"x"},
          "items":[{"metadata":{"name":"a"}},{"kind":"Other"}]})");
  ASSERT_TRUE(list.ok()) << list.error().ToString();
  EXPECT_TRUE(list->is_list());
  EXPECT_EQ(list->resource_version(), "5");
  std::vector<DynamicObject> items = list->Items();
  ASSERT_EQ(items.size(), 2U);
  EXPECT_EQ(items[0].gvk(), (Gvk{"shop.example", "v1", "Cart"}));
  EXPECT_EQ(items[0].name(), "a");
  EXPECT_EQ(items[1].gvk(), (Gvk{"", "", "Other"}));
  EXPECT_FALSE(ParseCart().is_list());
  EXPECT_TRUE(ParseCart().Items().empty());
  Result<DynamicObject> plain = DynamicObject::Parse(R"({"apiVersion":"v1","kind":"List","items":[{"metadata":{"name":"a"}}]})");
  EXPECT_EQ(plain->Items()[0].kind(), "");
}

TEST(DynamicObjectTest, ConvertsToTypedObjectsAndBack) {
  const DynamicObject dynamic = ParseCart();
  Result<Cart> cart = FromDynamic<Cart>(dynamic);
  ASSERT_TRUE(cart.ok()) << cart.error().ToString();
  EXPECT_EQ(cart->metadata.name, "c1");
  EXPECT_EQ(cart->spec.size, "large");
  EXPECT_EQ(cart->spec.replicas, 2);
  Result<DynamicObject> back = ToDynamic(*cart);
  ASSERT_TRUE(back.ok()) << back.error().ToString();
  EXPECT_EQ(*back, dynamic);  // unknown fields included
}

TEST(DynamicObjectTest, RefusesToBecomeAnotherKind) {
  EXPECT_FALSE(FromDynamic<Region>(ParseCart()).ok());
  DynamicObject bad = ParseCart();
  bad["spec"]["replicas"] = "two";
  Result<Cart> cart = FromDynamic<Cart>(bad);
  ASSERT_FALSE(cart.ok());
  EXPECT_NE(cart.error().ToString().find("spec.replicas"), std::string::npos) << cart.error().ToString();
}

TEST(DynamicObjectTest, ConvertsErasedObjects) {
  Result<AnyObject> any = FromDynamic(Cart::kType, ParseCart());
  ASSERT_TRUE(any.ok());
  ASSERT_NE(any->As<Cart>(), nullptr);
  EXPECT_EQ(any->As<Cart>()->spec.size, "large");
  EXPECT_EQ(*ToDynamic(*any), ParseCart());
  EXPECT_FALSE(FromDynamic(Region::kType, ParseCart()).ok());
}

TEST(DynamicObjectTest, HasPartialObjectMetadata) { EXPECT_EQ(AsPartialObjectMetadata(ParseCart()).metadata, ParseCart().metadata()); }

TEST(DynamicObjectTest, CopiesAreIndependent) {
  DynamicObject a = ParseCart();
  DynamicObject b = a;
  b.set_name("other");
  b["spec"]["size"] = "small";
  EXPECT_EQ(a.name(), "c1");
  EXPECT_EQ(a.NestedString({"spec", "size"}), String("large"));
}

TEST(DynamicObjectTest, MetadataIsCheckedAsDecodingItWouldCheckIt) {
  const char* all[] = {
      R"({})",
      R"(null)",
      R"([])",
      R"("text")",
      R"({"name":"a","namespace":null,"unknown":[1,{"x":2}],"generation":7,"deletionGracePeriodSeconds":30})",
      R"({"name":7})",
      R"({"generation":1.5})",
      R"({"generation":"1"})",
      R"({"creationTimestamp":"2024-01-02T03:04:05Z","deletionTimestamp":null})",
      R"({"creationTimestamp":"yesterday"})",
      R"({"creationTimestamp":1})",
      R"({"labels":{"a":"b"},"annotations":{}})",
      R"({"labels":{"a":1}})",
      R"({"labels":["a"]})",
      R"({"finalizers":["a","b"]})",
      R"({"finalizers":[1]})",
      R"({"finalizers":{}})",
      R"({"ownerReferences":[{"apiVersion":"v1","kind":"K","name":"n","uid":"u","controller":true,"blockOwnerDeletion":false}]})",
      R"({"ownerReferences":[{"controller":"yes"}]})",
      R"({"ownerReferences":["x"]})",
      R"({"ownerReferences":[null]})",
      R"({"managedFields":[{"manager":"m","time":"2024-01-02T03:04:05Z","fieldsV1":{"f:a":{}}}]})",
      R"({"managedFields":[{"time":"noon"}]})",
      R"({"managedFields":[{"manager":{}}]})",
  };
  for (const char* metadata : all) {
    const std::string text = R"({"apiVersion":"v1","kind":"Thing","metadata":)" + std::string(metadata) + "}";
    const bool fits = std::string_view(metadata) == "null" || FromJson<meta::v1::ObjectMeta>(metadata).ok();
    EXPECT_EQ(FromJson<DynamicObject>(text).ok(), fits) << metadata;
  }
}

}  // namespace
}  // namespace kube
