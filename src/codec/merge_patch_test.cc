// JSON Merge Patch. The table of the RFC's appendix is here with our own data.
#include <random>
#include <string>

#include <gtest/gtest.h>

#include "codec/patch_test_types.h"
#include "kube/codec/patch.h"

namespace kube {
namespace {

Value Parse(std::string_view text) {
  Result<Value> v = ParseJson(text);
  EXPECT_TRUE(v.ok()) << text << ": " << v.error().ToString();
  return v.value_or(Value());
}

std::string Apply(std::string_view document, std::string_view patch) { return ToJson(ApplyMergePatch(Parse(document), Parse(patch))); }

TEST(MergePatchTest, SetsAddsAndRemovesMembers) {
  EXPECT_EQ(Apply(R"({"a":"b"})", R"({"a":"c"})"), R"({"a":"c"})");
  EXPECT_EQ(Apply(R"({"a":"b"})", R"({"b":"c"})"), R"({"a":"b","b":"c"})");
  EXPECT_EQ(Apply(R"({"a":"b"})", R"({"a":null})"), R"({})");
  EXPECT_EQ(Apply(R"({"a":"b","b":"c"})", R"({"a":null,"z":null})"), R"({"b":"c"})");
}

TEST(MergePatchTest, ReplacesLists) {
  EXPECT_EQ(Apply(R"({"a":["b"]})", R"({"a":"c"})"), R"({"a":"c"})");
  EXPECT_EQ(Apply(R"({"a":"c"})", R"({"a":["b"]})"), R"({"a":["b"]})");
  EXPECT_EQ(Apply(R"({"a":[{"b":"c"}]})", R"({"a":[1]})"), R"({"a":[1]})");
  EXPECT_EQ(Apply(R"(["a","b"])", R"(["c","d"])"), R"(["c","d"])");
  // Nulls inside lists are data.
  EXPECT_EQ(Apply(R"({"a":[1]})", R"({"a":[null,{"b":null}]})"), R"({"a":[null,{"b":null}]})");
}

TEST(MergePatchTest, MergesNestedObjects) {
  EXPECT_EQ(Apply(R"({"a":{"b":"c"}})", R"({"a":{"b":"d","c":null}})"), R"({"a":{"b":"d"}})");
  EXPECT_EQ(Apply(R"({})", R"({"a":{"bb":{"ccc":null}}})"), R"({"a":{"bb":{}}})");
}

TEST(MergePatchTest, ReplacesWhatIsNoObject) {
  EXPECT_EQ(Apply(R"({"a":"b"})", R"(["c"])"), R"(["c"])");
  EXPECT_EQ(Apply(R"({"a":"foo"})", R"(null)"), R"(null)");
  EXPECT_EQ(Apply(R"({"a":"foo"})", R"("bar")"), R"("bar")");
  EXPECT_EQ(Apply(R"([1,2])", R"({"a":"b","c":null})"), R"({"a":"b"})");
}

TEST(MergePatchTest, KeepsNullsThatAreThere) { EXPECT_EQ(Apply(R"({"e":null})", R"({"a":1})"), R"({"a":1,"e":null})"); }

TEST(MergePatchTest, LeavesTheInputAlone) {
  Value document = Parse(R"({"a":{"b":1}})");
  ApplyMergePatch(document, Parse(R"({"a":{"b":null}})"));
  EXPECT_EQ(ToJson(document), R"({"a":{"b":1}})");
}

TEST(MergePatchTest, IsQuickWithManyMembers) {
  // Member by member this would move a hundred million entries.
  Value document = Value::Object();
  Value patch = Value::Object();
  for (int i = 100'000; i < 120'000; ++i) document["k" + std::to_string(i)] = i;
  for (int i = 100'000; i < 120'000; ++i) patch["k" + std::to_string(i) + "x"] = i;
  EXPECT_EQ(ApplyMergePatch(document, patch).object().size(), 40'000U);
}

std::string Create(std::string_view from, std::string_view to) {
  Result<Value> patch = CreateMergePatch(Parse(from), Parse(to));
  if (!patch) return "ERROR " + patch.error().ToString();
  EXPECT_EQ(ToJson(ApplyMergePatch(Parse(from), *patch)), ToJson(Parse(to)));
  return ToJson(*patch);
}

TEST(MergePatchCreateTest, NamesWhatDiffers) {
  EXPECT_EQ(Create(R"({"a":1,"b":{"c":2,"d":[1]},"e":5})", R"({"a":1,"b":{"c":3,"d":[1,2]},"f":{"g":1}})"),
            R"({"b":{"c":3,"d":[1,2]},"e":null,"f":{"g":1}})");
  EXPECT_EQ(Create(R"({"a":{"b":1}})", R"({"a":{}})"), R"({"a":{"b":null}})");
  EXPECT_EQ(Create(R"({"a":{"b":1}})", R"({"a":{"b":1}})"), R"({})");
  EXPECT_EQ(Create(R"({"a":1})", R"({"a":{}})"), R"({"a":{}})");
}

TEST(MergePatchCreateTest, ReplacesWhatIsNoObject) {
  EXPECT_EQ(Create(R"({"a":1})", R"([1])"), R"([1])");
  EXPECT_EQ(Create(R"([1])", R"({"a":{"b":1}})"), R"({"a":{"b":1}})");
  EXPECT_EQ(Create(R"(5)", R"(null)"), R"(null)");
}

TEST(MergePatchCreateTest, RefusesNullsThatItCannotExpress) {
  EXPECT_EQ(Create(R"({})", R"({"a":{"b":null}})"), "ERROR a.b: becomes null, which a merge patch cannot express (null removes)");
  EXPECT_EQ(Create(R"({"a":{"b":1}})", R"({"a":{"b":null}})").substr(0, 10), "ERROR a.b:");
  EXPECT_EQ(Create(R"([])", R"({"a":null})").substr(0, 8), "ERROR a:");
}

TEST(MergePatchCreateTest, AcceptsNullsThatStayAndNullsInLists) {
  EXPECT_EQ(Create(R"({"a":null,"b":1})", R"({"a":null,"b":2})"), R"({"b":2})");
  EXPECT_EQ(Create(R"({"a":null,"b":1})", R"({"b":1})"), R"({"a":null})");
  EXPECT_EQ(Create(R"({})", R"({"l":[null,{"a":null}]})"), R"({"l":[null,{"a":null}]})");
}

TEST(MergePatchTest, PatchesTypedObjects) {
  patch_test::Thing thing;
  thing.spec.replicas = 1;
  thing.spec.paused = true;
  Result<patch_test::Thing> out = ApplyMergePatch(thing, R"({"spec":{"replicas":null,"weight":0.5}})");
  ASSERT_TRUE(out.ok()) << out.error().ToString();
  EXPECT_FALSE(out->spec.replicas.has_value());
  EXPECT_EQ(out->spec.weight, 0.5);
  EXPECT_TRUE(out->spec.paused);
  Result<Value> patch = CreateMergePatch(thing, *out);
  ASSERT_TRUE(patch.ok());
  EXPECT_EQ(ToJson(*patch), R"({"spec":{"replicas":null,"weight":0.5}})");
}

TEST(MergePatchTest, KeepsUnknownFieldsOfTypedObjects) {
  Result<patch_test::Thing> thing = FromJson<patch_test::Thing>(R"({"spec":{"later":{"a":1,"b":2},"paused":true}})");
  ASSERT_TRUE(thing.ok());
  Result<patch_test::Thing> out = ApplyMergePatch(*thing, R"({"spec":{"later":{"a":null}}})");
  ASSERT_TRUE(out.ok());
  EXPECT_EQ(ToJson(*ToValue(*out)), R"({"apiVersion":"test.example.com/v1","kind":"Thing","spec":{"later":{"b":2},"paused":true}})");
}

}  // namespace
}  // namespace kube
