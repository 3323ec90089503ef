// Text that is not UTF-8 in objects of real kinds: protobuf keeps it byte for byte, JSON shows U+FFFD, and nothing else is harmed.
#include <gtest/gtest.h>

#include "kube/api/apps/v1.h"
#include "kube/codec/diff.h"
#include "kube/codec/hash.h"
#include "kube/codec/interner.h"
#include "kube/codec/json.h"
#include "kube/codec/patch.h"
#include "kube/codec/protobuf.h"
#include "kube/codec/yaml.h"
#include "kube/meta/dynamic_object.h"
#include "kube/meta/v1.h"

namespace kube::contract {
namespace {

using apps::v1::Deployment;
using apps::v1::DeploymentList;

const std::string kBad = "\xef\xbf\xbd";

Deployment Example(std::string_view text) {
  Deployment d;
  d.metadata.name = "web";
  d.metadata.annotations = {{"note", String(text)}, {String("key-" + std::string(text)), "v"}};
  core::v1::Container c;
  c.name = String(text);
  c.image = String("a name that is too long to be held inline " + std::string(text));
  c.ports = {core::v1::ContainerPort{.name = String(text), .container_port = 80}};
  d.spec.template_.spec.containers = {c};
  d.spec.strategy.rolling_update.Mutable().max_surge = IntOrString(String(text));
  return d;
}

TEST(BadTextTest, ProtobufKeepsEveryByte) {
  for (const std::string text : {"\xff", "a\xc0\x80z", "\xed\xa0\x80", "\xe2\x82"}) {
    const Deployment d = Example(text);
    const std::string bytes = ToProtobuf(d).value();
    Interner interner;
    for (int i = 0; i < 3; ++i) {
      Result<Deployment> read = FromProtobuf<Deployment>(bytes, {.interner = &interner});
      ASSERT_TRUE(read) << read.error().ToString();
      EXPECT_TRUE(*read == d);
      EXPECT_EQ(ToProtobuf(*read).value(), bytes);
    }
    Result<Deployment> plain = FromProtobuf<Deployment>(bytes);
    ASSERT_TRUE(plain) << plain.error().ToString();
    EXPECT_EQ(ToProtobuf(*plain).value(), bytes);
    EXPECT_EQ(HashObject(*plain), HashObject(d));
    EXPECT_TRUE(Diff(*plain, d).empty());
    EXPECT_FALSE(Diff(*plain, Example("\xfe")).empty());
  }
}

TEST(BadTextTest, OneSuchItemDoesNotFailAList) {
  DeploymentList list;
  list.items = {Example("good"), Example("\xff"), Example("also good")};
  Result<DeploymentList> read = FromProtobuf<DeploymentList>(ToProtobuf(list).value());
  ASSERT_TRUE(read) << read.error().ToString();
  EXPECT_TRUE(*read == list);

  std::string json = ToJson(list).value();
  const std::string mended = json;
  json.replace(json.find(kBad), kBad.size(), "\xfe");  // as a server with raw JSON of its own may write it
  for (const std::string& text : {mended, json}) {
    Result<DeploymentList> typed = FromJson<DeploymentList>(text);
    ASSERT_TRUE(typed) << typed.error().ToString();
    ASSERT_EQ(typed->items.size(), 3U);
    EXPECT_EQ(typed->items[1].metadata.annotations["note"], kBad);
    EXPECT_TRUE(typed->items[0] == list.items[0]);
    EXPECT_EQ((*ParseJson(text))["items"].list()[1]["metadata"]["annotations"]["note"], Value(kBad));
  }
}

TEST(BadTextTest, JsonAndYamlShowReplacementCharacters) {
  const Deployment d = Example("a\xff\xfe");
  Result<Deployment> from_json = FromJson<Deployment>(ToJson(d).value());
  ASSERT_TRUE(from_json) << from_json.error().ToString();
  EXPECT_TRUE(*from_json == Example("a" + kBad + kBad));
  Result<Deployment> from_yaml = FromYaml<Deployment>(ToYaml(d).value());
  ASSERT_TRUE(from_yaml) << from_yaml.error().ToString();
  EXPECT_TRUE(*from_yaml == Example("a" + kBad + kBad));
}

TEST(BadTextTest, BetweenTypedAndDynamicBytesAreKept) {
  const Deployment d = Example("a\xff");
  Result<DynamicObject> dynamic = ToDynamic(d);
  ASSERT_TRUE(dynamic) << dynamic.error().ToString();
  EXPECT_EQ((*dynamic)["metadata"]["annotations"]["note"], Value("a\xff"));
  Result<Deployment> back = FromValue<Deployment>(dynamic->value());
  ASSERT_TRUE(back) << back.error().ToString();
  EXPECT_TRUE(*back == d);
}

TEST(BadTextTest, UnknownFieldsAndRawJsonAreMended) {
  Result<Deployment> read = FromJson<Deployment>(
      "{\"metadata\":{\"name\":\"a\",\"managedFields\":[{\"fieldsV1\":{\"f:\xff\":{}}}]},\"spec\":{\"new\xff\":\"\xfe\"}}");
  ASSERT_TRUE(read) << read.error().ToString();
  EXPECT_EQ(read->spec.unknown_fields.json(), "\"new" + kBad + "\":\"" + kBad + "\"");
  EXPECT_TRUE(FromJson<Deployment>(ToJson(*read).value()));

  // By protobuf raw JSON comes with any bytes. What is no JSON at all is refused when it is written, and named.
  Deployment raw;
  raw.metadata.managed_fields = {meta::v1::ManagedFieldsEntry{}};
  raw.metadata.managed_fields[0].fields_v1 = RawJson(String("{\"f:\xff\":{}}"));
  Result<Deployment> kept = FromProtobuf<Deployment>(ToProtobuf(raw).value());
  ASSERT_TRUE(kept) << kept.error().ToString();
  EXPECT_TRUE(*kept == raw);
  Result<std::string> json = ToJson(*kept);
  ASSERT_TRUE(json) << json.error().ToString();
  EXPECT_NE(json->find("\"f:" + kBad + "\""), std::string::npos);
}

TEST(BadTextTest, PatchesOfSuchObjects) {
  const Deployment before = Example("a\xff");
  Deployment after = before;
  after.spec.replicas = 3;
  for (const Result<Value>& patch : {CreateMergePatch(before, after), CreateTwoWayMergePatch(before, after)}) {
    ASSERT_TRUE(patch) << patch.error().ToString();
    EXPECT_EQ(ToJson(*patch), R"({"spec":{"replicas":3}})");
  }
  for (const Result<Deployment>& patched :
       {ApplyMergePatch(before, R"({"spec":{"replicas":3}})"), ApplyStrategicMergePatch(before, R"({"spec":{"replicas":3}})")}) {
    ASSERT_TRUE(patched) << patched.error().ToString();
    EXPECT_TRUE(*patched == after);
  }
  Result<Value> json = CreateJsonPatch(before, after);
  ASSERT_TRUE(json) << json.error().ToString();
  EXPECT_EQ(ToJson(*json), R"([{"op":"add","path":"/spec/replicas","value":3}])");
}

TEST(BadTextTest, MetadataAlone) {
  Result<meta::v1::PartialObjectMetadata> read = FromJson<meta::v1::PartialObjectMetadata>(
      "{\"kind\":\"PartialObjectMetadata\",\"apiVersion\":\"meta.k8s.io/"
      "v1\",\"metadata\":{\"name\":\"a\",\"annotations\":{\"note\":\"\xff\"}}}");
  ASSERT_TRUE(read) << read.error().ToString();
  EXPECT_EQ(read->metadata.annotations["note"], kBad);
}

}  // namespace
}  // namespace kube::contract
