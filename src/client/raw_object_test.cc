#include "client/raw_object.h"

#include <gtest/gtest.h>

#include "client/object_codec.h"
#include "kube/api/core/v1.h"
#include "kube/codec/json.h"
#include "kube/codec/protobuf.h"

namespace kube::internal {
namespace {

const Error kWhy = Error::Decode("spec.x: expected an integer");

TEST(RawObjectTest, SplitsJsonLists) {
  RawList list;
  ASSERT_TRUE(
      SplitJsonList(" { \"kind\" : \"PodList\" , \"items\" : [ {\"a\":\"]}\\\"\"} , 5,null,\"x,y\" ,[[{}]]],\"metadata\":{}} ", list));
  EXPECT_EQ(list.items, (std::vector<std::string_view>{"{\"a\":\"]}\\\"\"}", "5", "null", "\"x,y\"", "[[{}]]"}));
  EXPECT_EQ(list.head, " { \"kind\" : \"PodList\" , \"items\" : [],\"metadata\":{}} ");
  RawList empty;
  ASSERT_TRUE(SplitJsonList(R"({"items":[]})", empty));
  EXPECT_TRUE(empty.items.empty());
}

TEST(RawObjectTest, WhatIsNoListIsNotSplit) {
  for (const char* text : {"", "{", "[]", "{}", "{\"items\":null}", "{\"items\":{}}", "{\"items\":[}", "{\"items\":[{]}",
                           "{\"items\":[1,]}", "{\"items\":[\"a]}", "{\"items\":[]}x", "{\"items\":[],\"items\":[]}", "{\"items\"",
                           "{\"items\":", "{,}", "{\"items\":[1 2]}", "{\"items\":[]", "{\"items\":[\"\\"}) {
    RawList list;
    EXPECT_FALSE(SplitJsonList(text, list)) << text;
  }
}

TEST(RawObjectTest, DeepTextNeedsNoStack) {
  const std::string deep = std::string(1'000'000, '[') + std::string(1'000'000, ']');
  RawList list;
  ASSERT_TRUE(SplitJsonList("{\"items\":[" + deep + ",1]}", list));
  EXPECT_EQ(list.items.size(), 2U);
  EXPECT_EQ(IdentifyJson("{\"spec\":" + deep + ",\"metadata\":{\"name\":\"a\"}}", kWhy).key, (ObjectKey{"", "a"}));
}

TEST(RawObjectTest, IdentifiesJson) {
  const UndecodableObject found = IdentifyJson(
      R"({"spec":{"metadata":{"name":"other"}},"metadata":{"name":"w\u0065b","labels":{"name":"x"},"namespace":"default","uid":"u-1","resourceVersion":"42"},"status":)",
      kWhy);
  EXPECT_EQ(found.key, (ObjectKey{"default", "web"}));
  EXPECT_EQ(found.uid, "u-1");
  EXPECT_EQ(found.resource_version, "42");
  EXPECT_EQ(found.error, "spec.x: expected an integer");
  EXPECT_TRUE(IsUndecodable(UndecodableError(found)));
  EXPECT_FALSE(IsNotFound(UndecodableError(found)));
  EXPECT_EQ(UndecodableError(found).ToString(), "default/web cannot be decoded: spec.x: expected an integer");
}

TEST(RawObjectTest, WhatCannotBeANameIsNone) {
  for (const char* text : {"", "5", "null", "[]", "{}", R"({"metadata":5})", R"({"metadata":{"name":5}})", R"({"metadata":{"name":"a/b"}})",
                           R"({"metadata":{"name":"a\n"}})", R"({"metadata":{"namespace":"a"}})", R"({"metadata":[{"name":"a"}]})"}) {
    EXPECT_FALSE(IdentifyJson(text, kWhy).named()) << text;
  }
  EXPECT_FALSE(IdentifyJson("{\"metadata\":{\"name\":\"" + std::string(600, 'a') + "\"}}", kWhy).named());
}

TEST(RawObjectTest, HalfAKeyIsNone) {
  const std::string long_text = '"' + std::string(4096, 'a') + '"';
  for (const std::string& value : {std::string("5"), std::string("{}"), std::string("[]"), std::string("true"), std::string(R"("a/b")"),
                                   std::string(R"("\q")"), long_text}) {
    const UndecodableObject found = IdentifyJson(R"({"metadata":{"name":"d0","uid":"u","namespace":)" + value + "}}", kWhy);
    EXPECT_EQ(found.key, ObjectKey()) << value;
  }
  for (const char* metadata : {R"({"name":"d0","namespace":"a",})", R"({"name":"d0" "namespace":"a"})", R"({"name":"d0","namespace"})",
                               R"({"name":"d0","n\u0061mespace":"a"})"}) {
    EXPECT_EQ(IdentifyJson(R"({"metadata":)" + std::string(metadata) + "}", kWhy).key, ObjectKey()) << metadata;
  }
  EXPECT_EQ(IdentifyJson(R"({"metadata":{"name":"d0","namespace":null}})", kWhy).key, (ObjectKey{"", "d0"}));
  EXPECT_EQ(IdentifyJson(R"({"metadata":{"name":5,"namespace":"a"}})", kWhy).key, (ObjectKey{"a", ""})) << "where it is says a lot";

  const std::string good(
      "\x0a\x02"
      "d0"
      "\x1a\x01"
      "a",
      7);
  const auto object = [](const std::string& metadata) { return '\x0a' + std::string(1, static_cast<char>(metadata.size())) + metadata; };
  EXPECT_EQ(IdentifyProtobuf(object(good), kWhy).key, (ObjectKey{"a", "d0"}));
  for (const std::string& metadata : {std::string("\x0a\x02"
                                                  "d0"
                                                  "\x12\x7f\x1a\x01"
                                                  "a"),  // generateName longer than all
                                      std::string("\x0a\x02"
                                                  "d0"
                                                  "\x18\x05"),  // a number as the namespace
                                      good + "\x08\x05",        // a number as the name
                                      std::string("\x0a\x02"
                                                  "d0"
                                                  "\x1a\x01\xff")}) {
    EXPECT_EQ(IdentifyProtobuf(object(metadata), kWhy).key, ObjectKey());
  }
  EXPECT_EQ(IdentifyProtobuf(object(good) + "\x0a\x7f", kWhy).key, ObjectKey()) << "more metadata that end early";
}

TEST(RawObjectTest, IdentifiesProtobuf) {
  core::v1::Pod pod;
  pod.metadata.name = "web";
  pod.metadata.namespace_ = "default";
  pod.metadata.uid = "u-1";
  pod.metadata.resource_version = "42";
  pod.spec.node_name = "n";
  for (const bool envelope : {false, true}) {
    const std::string bytes = ToProtobuf(pod, {.envelope = envelope}).value();
    const UndecodableObject found = IdentifyProtobuf(bytes, kWhy);
    EXPECT_EQ(found.key, (ObjectKey{"default", "web"}));
    EXPECT_EQ(found.uid, "u-1");
    EXPECT_EQ(found.resource_version, "42");
  }
  const std::string bytes = ToProtobuf(pod, {.envelope = false}).value();
  EXPECT_EQ(IdentifyProtobuf(bytes + "\xff\xff", kWhy).key.name, "web");
  EXPECT_FALSE(IdentifyProtobuf("\xff" + bytes, kWhy).named());
  for (std::size_t n = 0; n < bytes.size(); ++n) (void)IdentifyProtobuf(std::string_view(bytes).substr(0, n), kWhy);
}

class UndecodableListTest : public ::testing::Test {
 protected:
  static Result<void> Read(const TypeInfo* type, bool metadata_only, std::string_view content_type, std::string_view body, void* list) {
    return DecodeObjectList(type, metadata_only, content_type, body, {}, list, nullptr);
  }
  template <typename T>
  Result<ObjectList<T>> Tolerant(std::string_view content_type, std::string_view body, bool metadata_only = false) {
    ObjectList<T> list;
    const TypeInfo* type = nullptr;
    if constexpr (!std::same_as<T, DynamicObject>) type = &T::kType;
    skipped_.clear();
    if (Result<void> r = DecodeObjectList(type, metadata_only, content_type, body, {}, &list, &skipped_); !r) return r.error();
    return list;
  }
  std::vector<UndecodableObject> skipped_;
};

constexpr const char* kBadPod = R"({"metadata":{"name":"bad","namespace":"ns","uid":"u","resourceVersion":"7"},"spec":{"containers":5}})";

TEST_F(UndecodableListTest, TypedJson) {
  const std::string body =
      std::string(R"({"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"9"},"items":[{"metadata":{"name":"a"}},)") +
      kBadPod + R"(,{"metadata":{"name":"b"}}]})";
  Result<ObjectList<core::v1::Pod>> list = Tolerant<core::v1::Pod>("application/json", body);
  ASSERT_TRUE(list) << list.error().ToString();
  EXPECT_EQ(list->metadata.resource_version, "9");
  ASSERT_EQ(list->items.size(), 2U);
  EXPECT_EQ(list->items[1].metadata.name, "b");
  ASSERT_EQ(skipped_.size(), 1U);
  EXPECT_EQ(skipped_[0].key, (ObjectKey{"ns", "bad"}));
  EXPECT_EQ(skipped_[0].error, "spec.containers: expected a list, got a number");
  ObjectList<core::v1::Pod> strict;
  EXPECT_FALSE(Read(&core::v1::Pod::kType, false, "application/json", body, &strict));
}

TEST_F(UndecodableListTest, Protobuf) {
  const auto field = [](char tag, const std::string& bytes) { return std::string{tag, static_cast<char>(bytes.size())} + bytes; };
  std::string body = field('\x0a', field('\x12', "9"));
  for (const char* name : {"a", "bad", "b"}) {
    core::v1::Pod pod;
    pod.metadata.name = name;
    std::string item = ToProtobuf(pod, {.envelope = false}).value();
    if (pod.metadata.name == "bad") item += "\x10\x05";  // a number as its spec
    body += field('\x12', item);
  }
  Result<ObjectList<core::v1::Pod>> list = Tolerant<core::v1::Pod>("application/vnd.kubernetes.protobuf", body);
  ASSERT_TRUE(list) << list.error().ToString();
  EXPECT_EQ(list->metadata.resource_version, "9");
  ASSERT_EQ(list->items.size(), 2U);
  EXPECT_EQ(list->items[0].metadata.name, "a");
  EXPECT_EQ(list->items[1].metadata.name, "b");
  ASSERT_EQ(skipped_.size(), 1U);
  EXPECT_EQ(skipped_[0].key.name, "bad");
}

TEST_F(UndecodableListTest, DynamicJson) {
  const std::string deep = std::string(2 * kMaxDecodeDepth, '[') + std::string(2 * kMaxDecodeDepth, ']');
  const std::string body =
      R"({"kind":"CartList","apiVersion":"shop/v1","metadata":{"resourceVersion":"9"},"items":[{"metadata":{"name":"a"}},)"
      R"({"metadata":{"name":"deep"},"spec":)" +
      deep + R"(},{"metadata":{"name":"b"}},5]})";
  Result<ObjectList<DynamicObject>> list = Tolerant<DynamicObject>("application/json", body);
  ASSERT_TRUE(list) << list.error().ToString();
  EXPECT_EQ(list->metadata.resource_version, "9");
  ASSERT_EQ(list->items.size(), 2U);
  EXPECT_EQ(list->items[1].name(), "b");
  EXPECT_EQ(list->items[1].kind(), "Cart");
  EXPECT_EQ(list->items[1].api_version(), "shop/v1");
  ASSERT_EQ(skipped_.size(), 2U);
  EXPECT_EQ(skipped_[0].key.name, "deep");
  EXPECT_FALSE(skipped_[1].named());
}

TEST_F(UndecodableListTest, MetadataOfAServerThatSendsWholeObjects) {
  const std::string body =
      R"({"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"9"},"items":[{"metadata":{"name":"a"},"spec":{}},)"
      R"({"metadata":{"name":"bad","labels":5}},{"metadata":{"name":"b"}}]})";
  Result<ObjectList<meta::v1::PartialObjectMetadata>> list = Tolerant<meta::v1::PartialObjectMetadata>("application/json", body, true);
  ASSERT_TRUE(list) << list.error().ToString();
  EXPECT_EQ(list->metadata.resource_version, "9");
  EXPECT_EQ(list->items.size(), 2U);
  ASSERT_EQ(skipped_.size(), 1U);
  EXPECT_EQ(skipped_[0].key.name, "bad");
}

TEST_F(UndecodableListTest, WhatConcernsTheListStillFailsIt) {
  for (const char* body : {R"({"kind":"ServiceList","apiVersion":"v1","items":[{"metadata":{"name":"a"}}]})",
                           R"({"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":5},"items":[]})", R"({"kind":"PodList")",
                           R"({"kind":"PodList","items":[{"metadata":{"name":"a})", R"({"kind":"PodList","items":5})"}) {
    EXPECT_FALSE(Tolerant<core::v1::Pod>("application/json", body)) << body;
  }
  const std::string status = R"({"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403})";
  Result<ObjectList<core::v1::Pod>> refused = Tolerant<core::v1::Pod>("application/json", status);
  ASSERT_FALSE(refused);
  EXPECT_TRUE(IsForbidden(refused.error()));
}

TEST(OneLineTest, CutsBetweenCharacters) {
  for (std::size_t before = 0; before < 4; ++before) {
    std::string text(before, 'x');
    for (int i = 0; i < 300; ++i) text += "\xe2\x82\xac";  // three bytes each
    const std::string line = OneLine(Error::Decode(text));
    ASSERT_TRUE(line.ends_with("...")) << line;
    EXPECT_EQ((line.size() - 3 - before) % 3, 0U) << before;
  }
}

}  // namespace
}  // namespace kube::internal
