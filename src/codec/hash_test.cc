#include "kube/codec/hash.h"

#include <cstddef>
#include <iterator>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "codec/patch_test_types.h"
#include "kube/codec/json.h"

#pragma GCC diagnostic ignored "-Winvalid-offsetof"

namespace kube {
namespace {

using patch_test::Spec;
using patch_test::Thing;

template <typename T>
std::uint64_t HashJson(std::string_view text) {
  Result<T> object = FromJson<T>(text);
  EXPECT_TRUE(object.ok()) << text << ": " << object.error().ToString();
  return HashObject(*object);
}

std::uint64_t HashValue(std::string_view text) { return HashObject(*ParseJson(text)); }

TEST(HashObjectTest, EqualObjectsHaveEqualHashes) {
  const char* text = R"({"spec":{"replicas":3,"selector":{"b":"2","a":"1"},"containers":[{"name":"x","ports":[{"port":1}]}]}})";
  EXPECT_EQ(HashJson<Thing>(text), HashJson<Thing>(text));
  EXPECT_EQ(HashJson<Spec>(R"({"amount":"1Gi"})"), HashJson<Spec>(R"({"amount":"1073741824"})"));
  EXPECT_EQ(HashJson<Spec>(R"({"tags":[],"selector":{},"weight":0})"), HashJson<Spec>("{}"));
  EXPECT_EQ(HashJson<Spec>(R"({"weight":-0.0})"), HashJson<Spec>("{}"));
}

TEST(HashObjectTest, EveryFieldCounts) {
  const char* all[] = {
      R"({})",
      R"({"replicas":0})",
      R"({"replicas":1})",
      R"({"containers":[{}]})",
      R"({"containers":[{},{}]})",
      R"({"containers":[{"name":"a"}]})",
      R"({"containers":[{"image":"a"}]})",
      R"({"containers":[{"name":"a"},{"name":"b"}]})",
      R"({"containers":[{"name":"b"},{"name":"a"}]})",
      R"({"containers":[{"name":"ab"},{}]})",
      R"({"volumes":[{"name":"v","file":{}}]})",
      R"({"volumes":[{"name":"v","memory":{}}]})",
      R"({"volumes":[{"name":"v","memory":{"path":"x"}}]})",
      R"({"strategy":{}})",
      R"({"policy":{}})",
      R"({"strategy":{"surge":1}})",
      R"({"strategy":{"surge":"1"}})",
      R"({"strategy":{"surge":0}})",
      R"({"tags":["a"]})",
      R"({"tags":["a",""]})",
      R"({"tags":["","a"]})",
      R"({"numbers":[0]})",
      R"({"selector":{"a":""}})",
      R"({"selector":{"":"a"}})",
      R"({"selector":{"a":"b"}})",
      R"({"selector":{"ab":""}})",
      R"({"byName":{"a":{}}})",
      R"({"byName":{"a":{"name":"a"}}})",
      R"({"raw":{"a":1}})",
      R"({"amount":"1"})",
      R"({"amount":"-1"})",
      R"({"weight":1})",
      R"({"since":"2024-01-01T00:00:00Z"})",
      R"({"grace":"1s"})",
      R"({"paused":true})",
      R"({"later":1})",
      R"({"later":2})",
  };
  std::set<std::uint64_t> hashes;
  for (const char* text : all) hashes.insert(HashJson<Spec>(text));
  EXPECT_EQ(hashes.size(), std::size(all));
}

// These numbers must never change: they may be in labels of objects in users' clusters.
TEST(HashObjectTest, IsTheSameForever) {
  EXPECT_EQ(HashJson<Spec>("{}"), 5133589608643455977U);
  EXPECT_EQ(
      HashJson<Thing>(R"({"metadata":{"name":"x","labels":{"a":"1"}},"spec":{"replicas":3,"weight":0.5,"amount":"1500m","paused":true,)"
                      R"("since":"2024-01-01T00:00:00Z","strategy":{"surge":"25%"},"containers":[{"name":"web","args":["a","b"]}]}})"),
      16114139344413676510U);
  EXPECT_EQ(HashValue(R"({"a":[1,2.5,"x",true,null,{"b":{}}]})"), 17260458129823489433U);
}

// The same content in a struct with another layout, another order of fields, and one more field.
struct Later {
  bool fresh{};
  List<String> tags{};
  UnknownFields unknown_fields{};
  String more{};
  std::optional<std::int32_t> replicas{};
  static const TypeInfo kType;
};
constexpr FieldInfo kLaterFields[] = {
    {"fresh", nullptr, nullptr, offsetof(Later, fresh), 0, FieldKind::kBool, FieldShape::kPlain, false},
    {"tags", nullptr, nullptr, offsetof(Later, tags), 0, FieldKind::kString, FieldShape::kList, false},
    {"more", nullptr, nullptr, offsetof(Later, more), 0, FieldKind::kString, FieldShape::kPlain, true},
    {"replicas", nullptr, nullptr, offsetof(Later, replicas), 0, FieldKind::kInt32, FieldShape::kOptional, false},
};
constexpr TypeInfo Later::kType{"test.Later", kLaterFields, std::size(kLaterFields), sizeof(Later), offsetof(Later, unknown_fields)};

TEST(HashObjectTest, DependsOnNamesAndValuesOnly) {
  const char* text = R"({"replicas":2,"tags":["a","b"]})";
  EXPECT_EQ(HashJson<Spec>(text), HashJson<Later>(text));
  EXPECT_NE(HashJson<Spec>(text), HashJson<Later>(R"({"replicas":2,"tags":["a","b"],"fresh":true})"));
}

TEST(HashObjectTest, UnknownFieldsCount) {
  Spec a;
  Spec b;
  b.unknown_fields.set_protobuf("x");
  Spec c;
  c.unknown_fields.set_json("x");
  EXPECT_NE(HashObject(a), HashObject(b));
  EXPECT_NE(HashObject(b), HashObject(c));
}

TEST(HashObjectTest, HashesValues) {
  EXPECT_EQ(HashValue("1"), HashValue("1.0"));
  EXPECT_EQ(HashValue("0"), HashValue("-0.0"));
  EXPECT_EQ(HashValue("9007199254740993"), HashObject(Value(9007199254740992.0)));  // equal as numbers of a Value go
  const char* all[] = {"null",        "true",      "false",         "0",     "1",     "\"\"", "\"1\"", "[]", "[[]]", "[null]", "{}",
                       "{\"\":null}", "{\"a\":1}", "{\"a\":\"1\"}", "[1,2]", "[2,1]", "[{}]"};
  std::set<std::uint64_t> hashes;
  for (const char* text : all) hashes.insert(HashValue(text));
  EXPECT_EQ(hashes.size(), std::size(all));
}

}  // namespace
}  // namespace kube
