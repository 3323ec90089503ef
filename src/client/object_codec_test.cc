#include "client/object_codec.h"

#include <gtest/gtest.h>

#include <string>

#include "kube/api/core/v1.h"
#include "kube/codec/field_selection.h"
#include "kube/codec/interner.h"
#include "kube/codec/json.h"
#include "kube/codec/protobuf.h"

namespace kube::internal {
namespace {

using core::v1::Pod;
using core::v1::PodList;
using meta::v1::PartialObjectMetadata;

PodList TwoPods() {
  PodList list;
  list.metadata.resource_version = "77";
  for (const char* name : {"a", "b"}) {
    Pod pod;
    pod.metadata.name = name;
    pod.metadata.annotations = {{"note", "something"}};
    pod.metadata.managed_fields = {meta::v1::ManagedFieldsEntry{.manager = "kubectl"}};
    pod.spec.node_name = "node";
    pod.spec.containers = {core::v1::Container{.name = "main", .image = "image"}};
    pod.status.phase = "Running";
    list.items.push_back(pod);
  }
  return list;
}

void ExpectSelected(const ObjectList<Pod>& list) {
  EXPECT_EQ(list.metadata.resource_version, "77");
  ASSERT_EQ(list.items.size(), 2U);
  for (const Pod& pod : list.items) {
    EXPECT_FALSE(pod.metadata.name.empty());
    EXPECT_TRUE(pod.metadata.managed_fields.empty());
    EXPECT_TRUE(pod.status.phase.empty());
    EXPECT_TRUE(pod.spec.node_name.empty());
    EXPECT_EQ(std::as_const(pod).spec.containers[0].image, "image");
    EXPECT_TRUE(std::as_const(pod).spec.containers[0].name.empty());
    EXPECT_TRUE(pod.unknown_fields.empty());
  }
}

FieldSelection SomeFields() { return FieldSelection::Only({"spec.containers.image"}).value().And(FieldSelection::WithoutManagedFields()); }

TEST(ObjectCodecTest, ASelectionOfFieldsIsAboutTheItemsOfATypedList) {
  const FieldSelection fields = SomeFields();
  for (const bool intern : {false, true}) {
    Interner interner;
    const DecodeOptions options{.interner = intern ? &interner : nullptr, .fields = &fields};
    for (int i = 0; i < 3; ++i) {
      ObjectList<Pod> from_json;
      ASSERT_TRUE(DecodeObjectList(&Pod::kType, false, kJsonType, ToJson(TwoPods()).value(), options, &from_json));
      ExpectSelected(from_json);
      ObjectList<Pod> from_protobuf;
      ASSERT_TRUE(DecodeObjectList(&Pod::kType, false, kProtobufType, ToProtobuf(TwoPods()).value(), options, &from_protobuf));
      ExpectSelected(from_protobuf);
    }
  }
}

TEST(ObjectCodecTest, ASelectionOfFieldsIsAboutTheItemsOfADynamicList) {
  const FieldSelection fields = SomeFields();
  ObjectList<DynamicObject> list;
  ASSERT_TRUE(DecodeObjectList(nullptr, false, kJsonType, ToJson(TwoPods()).value(), {.fields = &fields}, &list));
  EXPECT_EQ(list.metadata.resource_version, "77");
  ASSERT_EQ(list.items.size(), 2U);
  EXPECT_EQ(ToJson(list.items[0].value()), R"({"apiVersion":"v1","kind":"Pod","metadata":{"annotations":{"note":"something"},"name":"a"},)"
                                           R"("spec":{"containers":[{"image":"image"}]}})");
}

TEST(ObjectCodecTest, MetadataOfWholeObjectsIsSelectedToo) {
  // A server that does not know how to leave the rest out.
  const FieldSelection fields = FieldSelection::Without({"metadata.managedFields", "metadata.annotations"}).value();
  ObjectList<PartialObjectMetadata> list;
  ASSERT_TRUE(DecodeObjectList(&PartialObjectMetadata::kType, true, kJsonType, ToJson(TwoPods()).value(), {.fields = &fields}, &list));
  EXPECT_EQ(list.metadata.resource_version, "77");
  ASSERT_EQ(list.items.size(), 2U);
  EXPECT_EQ(list.items[1].metadata.name, "b");
  EXPECT_TRUE(list.items[1].metadata.managed_fields.empty());
  EXPECT_TRUE(list.items[1].metadata.annotations.empty());
  PartialObjectMetadata one;
  ASSERT_TRUE(DecodeObject(&PartialObjectMetadata::kType, true, kJsonType, ToJson(TwoPods().items[0]).value(), {.fields = &fields}, &one));
  EXPECT_EQ(one.metadata.name, "a");
  EXPECT_TRUE(one.metadata.managed_fields.empty());
}

TEST(ObjectCodecTest, AFailureIsFoundWhateverIsSelected) {
  const FieldSelection fields = FieldSelection::Without({"status", "message", "code"}).value();
  constexpr std::string_view kStatus =
      R"({"kind":"Status","apiVersion":"v1","status":"Failure","message":"no such pod","reason":"NotFound","code":404})";
  Pod pod;
  ObjectList<Pod> list;
  DynamicObject dynamic;
  ObjectList<DynamicObject> dynamics;
  for (const Result<void>& read : {DecodeObject(&Pod::kType, false, kJsonType, kStatus, {.fields = &fields}, &pod),
                                   DecodeObjectList(&Pod::kType, false, kJsonType, kStatus, {.fields = &fields}, &list),
                                   DecodeObject(nullptr, false, kJsonType, kStatus, {.fields = &fields}, &dynamic),
                                   DecodeObjectList(nullptr, false, kJsonType, kStatus, {.fields = &fields}, &dynamics)}) {
    ASSERT_FALSE(read);
    EXPECT_TRUE(IsNotFound(read.error())) << read.error().ToString();
  }
}

}  // namespace
}  // namespace kube::internal
