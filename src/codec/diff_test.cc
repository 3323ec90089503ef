#include "kube/codec/diff.h"

#include <string>

#include <gtest/gtest.h>

#include "codec/patch_test_types.h"
#include "kube/codec/json.h"

namespace kube {
namespace {

using patch_test::Secret;
using patch_test::SecretList;
using patch_test::Spec;
using patch_test::Thing;

Value Parse(std::string_view text) {
  Result<Value> v = ParseJson(text);
  EXPECT_TRUE(v.ok()) << text << ": " << v.error().ToString();
  return v.value_or(Value());
}

std::string DiffValues(std::string_view before, std::string_view after) { return ToString(Diff(Parse(before), Parse(after))); }

template <typename T>
std::string DiffTyped(std::string_view before, std::string_view after) {
  Result<T> a = FromJson<T>(before);
  Result<T> b = FromJson<T>(after);
  EXPECT_TRUE(a.ok()) << a.error().ToString();
  EXPECT_TRUE(b.ok()) << b.error().ToString();
  return ToString(Diff(*a, *b));
}

TEST(DiffTest, EmptyForEqualObjects) {
  EXPECT_EQ(DiffTyped<Spec>(R"({"replicas":1})", R"({"replicas":1})"), "");
  EXPECT_EQ(DiffValues(R"({"a":[1]})", R"({"a":[1.0]})"), "");
}

TEST(DiffTest, ShowsChangedAddedAndRemoved) {
  EXPECT_EQ(DiffTyped<Thing>(R"({"spec":{"replicas":1,"weight":1.5}})", R"({"spec":{"replicas":3,"paused":true}})"),
            "+ spec.paused: true\n~ spec.replicas: 1 -> 3\n- spec.weight: 1.5\n");
}

TEST(DiffTest, HasFields) {
  std::vector<Difference> all = Diff(Parse(R"({"a":1,"c":3})"), Parse(R"({"b":2,"c":4})"));
  ASSERT_EQ(all.size(), 3U);
  EXPECT_EQ(all[0].kind, Difference::Kind::kRemoved);
  EXPECT_EQ(all[0].path, "a");
  EXPECT_EQ(all[0].before, "1");
  EXPECT_EQ(all[0].after, "");
  EXPECT_EQ(all[1].kind, Difference::Kind::kAdded);
  EXPECT_EQ(all[1].path, "b");
  EXPECT_EQ(all[1].after, "2");
  EXPECT_EQ(all[2].kind, Difference::Kind::kChanged);
}

TEST(DiffTest, ComparesListsByKey) {
  EXPECT_EQ(DiffTyped<Spec>(R"({"containers":[{"name":"web","image":"web:1"},{"name":"old"}]})",
                            R"({"containers":[{"name":"new"},{"name":"web","image":"web:2"}]})"),
            "~ containers[name=web].image: \"web:1\" -> \"web:2\"\n"
            "- containers[name=old]: {\"name\":\"old\"}\n"
            "+ containers[name=new]: {\"name\":\"new\"}\n");
}

TEST(DiffTest, UsesAllKeysOfAList) {
  EXPECT_EQ(
      DiffTyped<Spec>(R"({"containers":[{"name":"d","ports":[{"port":53,"protocol":"TCP"},{"port":53,"protocol":"UDP","name":"a"}]}]})",
                      R"({"containers":[{"name":"d","ports":[{"port":53,"protocol":"TCP"},{"port":53,"protocol":"UDP","name":"b"}]}]})"),
      "~ containers[name=d].ports[port=53,protocol=UDP].name: \"a\" -> \"b\"\n");
}

TEST(DiffTest, ShowsAnotherOrder) {
  EXPECT_EQ(DiffTyped<Spec>(R"({"containers":[{"name":"a"},{"name":"b"}]})", R"({"containers":[{"name":"b"},{"name":"a"}]})"),
            "~ containers (order): \"name=a, name=b\" -> \"name=b, name=a\"\n");
}

TEST(DiffTest, FallsBackToPlacesWhereKeysAreNotUnique) {
  EXPECT_EQ(DiffTyped<Spec>(R"({"containers":[{"name":"a","image":"1"},{"name":"a","image":"2"}]})",
                            R"({"containers":[{"name":"a","image":"1"},{"name":"a","image":"3"}]})"),
            "~ containers[1].image: \"2\" -> \"3\"\n");
}

TEST(DiffTest, ComparesSets) {
  EXPECT_EQ(DiffTyped<Thing>(R"({"metadata":{"finalizers":["a","b"]}})", R"({"metadata":{"finalizers":["b","c"]}})"),
            "- metadata.finalizers[=a]: \"a\"\n+ metadata.finalizers[=c]: \"c\"\n");
}

TEST(DiffTest, FindsElementsInTheMiddle) {
  EXPECT_EQ(DiffValues(R"({"l":[1,2,3]})", R"({"l":[1,9,2,3]})"), "+ l[1]: 9\n");
  EXPECT_EQ(DiffValues(R"([1,2,3])", R"([1,3])"), "- [1]: 2\n");
  EXPECT_EQ(DiffValues(R"([1,{"a":1},3])", R"([1,{"a":2},3])"), "~ [1].a: 1 -> 2\n");
}

TEST(DiffTest, ComparesQuantitiesByAmount) {
  EXPECT_EQ(DiffTyped<Spec>(R"({"amount":"1Gi","paused":true})", R"({"amount":"1073741824"})"), "- paused: true\n");
  EXPECT_EQ(DiffTyped<Spec>(R"({"amount":"1"})", R"({"amount":"1100m"})"), "~ amount: \"1\" -> \"1100m\"\n");
}

TEST(DiffTest, ShowsMapKeys) {
  EXPECT_EQ(DiffTyped<Thing>(R"({"metadata":{"labels":{"app.kubernetes.io/name":"a"}}})",
                             R"({"metadata":{"labels":{"app.kubernetes.io/name":"b","x":""}}})"),
            "~ metadata.labels[app.kubernetes.io/name]: \"a\" -> \"b\"\n+ metadata.labels[x]: \"\"\n");
  EXPECT_EQ(DiffValues(R"({"a.b":1,"c":{"":1}})", R"({"a.b":2,"c":{}})"), "~ [a.b]: 1 -> 2\n- c[]: 1\n");
}

TEST(DiffTest, ShowsUnknownFields) {
  EXPECT_EQ(DiffTyped<Spec>(R"({"later":{"x":1}})", R"({"later":{"x":2}})"), "~ later.x: 1 -> 2\n");
  Spec a;
  Spec b;
  b.unknown_fields.set_protobuf("\x0a\x01x");
  EXPECT_EQ(ToString(Diff(a, b)), "~ (unknown protobuf fields): (bytes) -> (other bytes)\n");
}

TEST(DiffTest, AbsentIsNotTheSameAsEmpty) {
  Spec a;
  Spec b;
  b.strategy.Mutable();
  EXPECT_EQ(ToString(Diff(a, b)), "+ strategy: {}\n");
}

TEST(DiffTest, CutsLongValues) {
  Value a = Value::Object({{"s", std::string(1000, 'x')}});
  std::vector<Difference> all = Diff(a, Value::Object());
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].before, "\"" + std::string(255, 'x') + "... (1002 bytes)");
  // Not within a character.
  all = Diff(Value("\xc3\xa9\xc3\xa9"), Value(1), {.max_value_bytes = 4});
  EXPECT_EQ(all[0].before, "\"\xc3\xa9... (6 bytes)");
}

TEST(DiffTest, BoundsTheNumberOfDifferences) {
  Value a = Value::Object();
  for (int i = 0; i < 10; ++i) a["k" + std::to_string(i)] = i;
  std::vector<Difference> all = Diff(a, Value::Object(), {.max_differences = 2});
  EXPECT_EQ(ToString(all), "- k0: 0\n- k1: 1\n... and 8 more\n");
  EXPECT_EQ(all.back().kind, Difference::Kind::kOmitted);
}

TEST(DiffTest, ShowsOtherTypes) {
  EXPECT_EQ(DiffValues(R"({"a":1})", R"({"a":"1"})"), "~ a: 1 -> \"1\"\n");
  EXPECT_EQ(DiffValues(R"(1)", R"([])"), "~ (all): 1 -> []\n");
}

TEST(DiffTest, HidesSecretsOfTypedObjects) {
  // base64 of "hunter2" and "swordfish"
  std::string text =
      DiffTyped<Secret>(R"({"data":{"password":"aHVudGVyMg==","same":"YQ=="},"type":"a"})",
                        R"({"data":{"password":"c3dvcmRmaXNo","same":"YQ=="},"stringData":{"token":"t0ps3cret"},"type":"b"})");
  EXPECT_EQ(text,
            "~ data[password]: (redacted, 7 bytes) -> (redacted, 9 bytes)\n"
            "+ stringData: {\"token\":\"(redacted, 9 bytes)\"}\n"
            "~ type: \"a\" -> \"b\"\n");
}

TEST(DiffTest, HidesSecretsInWholeObjects) {
  std::string text = DiffTyped<SecretList>(R"({"items":[]})", R"({"items":[{"metadata":{"name":"s"},"data":{"k":"aHVudGVyMg=="}}]})");
  EXPECT_EQ(text.find("aHVudGVyMg"), std::string::npos) << text;
  EXPECT_NE(text.find("(redacted, 7 bytes)"), std::string::npos) << text;
}

TEST(DiffTest, HidesSecretsOfValues) {
  std::string text = DiffValues(R"({"apiVersion":"v1","kind":"Secret","data":{"k":"aHVudGVyMg=="}})",
                                R"({"apiVersion":"v1","kind":"Secret","data":{"k":"eA=="}})");
  EXPECT_EQ(text, "~ data.k: (redacted, 7 bytes) -> (redacted, 1 byte)\n");
  text = DiffValues(R"({"apiVersion":"v1","kind":"SecretList","items":[{"data":{"k":"aHVudGVyMg=="}}]})",
                    R"({"apiVersion":"v1","kind":"SecretList","items":[]})");
  EXPECT_EQ(text.find("aHVudGVyMg"), std::string::npos) << text;
  // Within another object.
  text = DiffValues(R"({})", R"({"object":{"apiVersion":"v1","kind":"Secret","data":{"k":"aHVudGVyMg=="}}})");
  EXPECT_EQ(text.find("aHVudGVyMg"), std::string::npos) << text;
  // Malformed data is not shown either.
  text = DiffValues(R"({"apiVersion":"v1","kind":"Secret","data":"hunter2"})", R"({"apiVersion":"v1","kind":"Secret","data":["hunter3"]})");
  EXPECT_EQ(text.find("hunter"), std::string::npos) << text;
}

TEST(DiffTest, HidesTheAnnotationThatHoldsASecret) {
  std::string text = DiffTyped<Secret>(
      R"({"metadata":{"annotations":{"a":"1"}}})",
      R"({"metadata":{"annotations":{"a":"2","kubectl.kubernetes.io/last-applied-configuration":"{\"data\":{\"k\":\"aHVudGVyMg==\"}}"}}})");
  EXPECT_EQ(text.find("aHVudGVyMg"), std::string::npos) << text;
  EXPECT_NE(text.find("annotations[a]: \"1\" -> \"2\""), std::string::npos) << text;
}

TEST(DiffTest, ShowsTheDataOfOtherKinds) {
  EXPECT_EQ(DiffValues(R"({"apiVersion":"v1","kind":"ConfigMap","data":{"k":"a"}})",
                       R"({"apiVersion":"v1","kind":"ConfigMap","data":{"k":"b"}})"),
            "~ data.k: \"a\" -> \"b\"\n");
}

}  // namespace
}  // namespace kube
