// JSON Patch. The cases of the RFC's appendix are here in our own words and data.
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

std::string Apply(std::string_view document, std::string_view patch) {
  Result<Value> out = ApplyJsonPatch(Parse(document), Parse(patch));
  return out ? ToJson(*out) : "ERROR " + out.error().ToString();
}

// ---- apply ----

TEST(JsonPatchTest, AddsMember) { EXPECT_EQ(Apply(R"({"a":1})", R"([{"op":"add","path":"/b","value":2}])"), R"({"a":1,"b":2})"); }

TEST(JsonPatchTest, AddOverwritesMember) {
  EXPECT_EQ(Apply(R"({"a":1})", R"([{"op":"add","path":"/a","value":{"x":null}}])"), R"({"a":{"x":null}})");
}

TEST(JsonPatchTest, AddsElements) {
  EXPECT_EQ(Apply(R"({"l":[1,3]})", R"([{"op":"add","path":"/l/1","value":2}])"), R"({"l":[1,2,3]})");
  EXPECT_EQ(Apply(R"({"l":[1,3]})", R"([{"op":"add","path":"/l/2","value":4}])"), R"({"l":[1,3,4]})");
  EXPECT_EQ(Apply(R"({"l":[1]})", R"([{"op":"add","path":"/l/-","value":[2,3]}])"), R"({"l":[1,[2,3]]})");
  EXPECT_EQ(Apply(R"([])", R"([{"op":"add","path":"/0","value":1}])"), R"([1])");
}

TEST(JsonPatchTest, RemovesMemberAndElement) {
  EXPECT_EQ(Apply(R"({"a":1,"b":2})", R"([{"op":"remove","path":"/b"}])"), R"({"a":1})");
  EXPECT_EQ(Apply(R"({"l":[1,2,3]})", R"([{"op":"remove","path":"/l/1"}])"), R"({"l":[1,3]})");
}

TEST(JsonPatchTest, Replaces) {
  EXPECT_EQ(Apply(R"({"a":1,"b":2})", R"([{"op":"replace","path":"/a","value":null}])"), R"({"a":null,"b":2})");
  EXPECT_EQ(Apply(R"([1,2])", R"([{"op":"replace","path":"/1","value":"x"}])"), R"([1,"x"])");
  EXPECT_EQ(Apply(R"({"a":1})", R"([{"op":"replace","path":"","value":[true]}])"), R"([true])");
}

TEST(JsonPatchTest, Moves) {
  EXPECT_EQ(Apply(R"({"a":{"x":1,"y":2},"b":{}})", R"([{"op":"move","from":"/a/x","path":"/b/z"}])"), R"({"a":{"y":2},"b":{"z":1}})");
  EXPECT_EQ(Apply(R"({"l":["all","grass","cows","eat"]})", R"([{"op":"move","from":"/l/1","path":"/l/3"}])"),
            R"({"l":["all","cows","eat","grass"]})");
  EXPECT_EQ(Apply(R"({"a":1})", R"([{"op":"move","from":"/a","path":"/a"}])"), R"({"a":1})");
}

TEST(JsonPatchTest, Copies) {
  EXPECT_EQ(Apply(R"({"a":{"x":[1]}})", R"([{"op":"copy","from":"/a","path":"/b"},{"op":"add","path":"/b/x/-","value":2}])"),
            R"({"a":{"x":[1]},"b":{"x":[1,2]}})");
  EXPECT_EQ(Apply(R"({"a":1})", R"([{"op":"copy","from":"","path":"/self"}])"), R"({"a":1,"self":{"a":1}})");
}

TEST(JsonPatchTest, TestsValues) {
  EXPECT_EQ(Apply(R"({"s":"x","l":["a",2,"c"]})", R"([{"op":"test","path":"/s","value":"x"},{"op":"test","path":"/l/1","value":2.0}])"),
            R"({"l":["a",2,"c"],"s":"x"})");
  EXPECT_EQ(Apply(R"({"o":{"a":1,"b":2}})", R"([{"op":"test","path":"/o","value":{"b":2,"a":1}}])"), R"({"o":{"a":1,"b":2}})");
  EXPECT_EQ(Apply(R"({"s":"x"})", R"([{"op":"test","path":"/s","value":"y"}])"),
            "ERROR operation 0 (test \"/s\"): test failed: the value is another one");
  EXPECT_EQ(Apply(R"({"s":"10"})", R"([{"op":"test","path":"/s","value":10}])"),
            "ERROR operation 0 (test \"/s\"): test failed: the value is another one");
  EXPECT_EQ(Apply(R"({})", R"([{"op":"test","path":"/s","value":null}])"), "ERROR operation 0 (test \"/s\"): path does not exist");
}

TEST(JsonPatchTest, UnescapesPointers) {
  EXPECT_EQ(Apply(R"({"/":9,"~1":10})", R"([{"op":"test","path":"/~01","value":10},{"op":"remove","path":"/~1"}])"), R"({"~1":10})");
  EXPECT_EQ(Apply(R"({"":{"":1}})", R"([{"op":"replace","path":"//","value":2}])"), R"({"":{"":2}})");
}

TEST(JsonPatchTest, IgnoresMembersItDoesNotKnow) {
  EXPECT_EQ(Apply(R"({"a":1})", R"([{"op":"add","path":"/b","value":2,"xyz":123,"from":"!"}])"), R"({"a":1,"b":2})");
}

TEST(JsonPatchTest, OperationsSeeEarlierOnes) {
  EXPECT_EQ(Apply(R"({})",
                  R"([{"op":"add","path":"/a","value":{}},{"op":"add","path":"/a/b","value":[]},{"op":"add","path":"/a/b/-","value":1}])"),
            R"({"a":{"b":[1]}})");
}

TEST(JsonPatchTest, LeavesTheInputAloneAndIsAllOrNothing) {
  Value document = Parse(R"({"a":{"b":[1,2]}})");
  Value patch = Parse(R"([{"op":"remove","path":"/a/b/0"},{"op":"remove","path":"/nope"}])");
  EXPECT_FALSE(ApplyJsonPatch(document, patch).ok());
  EXPECT_EQ(ToJson(document), R"({"a":{"b":[1,2]}})");
}

TEST(JsonPatchTest, ErrorsNameTheOperation) {
  EXPECT_EQ(Apply(R"({"spec":{}})",
                  R"([{"op":"add","path":"/x","value":1},{"op":"test","path":"/x","value":1},{"op":"remove","path":"/spec/x"}])"),
            "ERROR operation 2 (remove \"/spec/x\"): path does not exist");
  EXPECT_EQ(Apply(R"({})", R"([{"op":"add","path":"/a/b","value":1}])"),
            "ERROR operation 0 (add \"/a/b\"): parent of the path: path does not exist");
  EXPECT_EQ(Apply(R"({"a":1})", R"([{"op":"add","path":"/a/b","value":1}])"),
            "ERROR operation 0 (add \"/a/b\"): parent of the path is neither object nor list");
  EXPECT_EQ(Apply(R"({"l":[1]})", R"([{"op":"add","path":"/l/2","value":1}])"),
            "ERROR operation 0 (add \"/l/2\"): index 2 is beyond the end of the list");
  EXPECT_EQ(Apply(R"({"l":[1]})", R"([{"op":"replace","path":"/l/1","value":1}])"),
            "ERROR operation 0 (replace \"/l/1\"): index 1 is beyond the end of the list");
  EXPECT_EQ(Apply(R"({"l":[1]})", R"([{"op":"move","from":"/x","path":"/y"}])"),
            "ERROR operation 0 (move \"/y\"): from: path does not exist");
  EXPECT_EQ(Apply(R"({"a":{"b":1}})", R"([{"op":"move","from":"/a","path":"/a/b/c"}])"),
            "ERROR operation 0 (move \"/a/b/c\"): a value cannot be moved into itself");
  EXPECT_EQ(Apply(R"({})", R"([{"op":"remove","path":""}])"), "ERROR operation 0 (remove \"\"): the whole document cannot be removed");
}

TEST(JsonPatchTest, RefusesIndicesThatAreNone) {
  for (const char* index : {"-1", "01", "1e0", "+1", "", " 1", "x", "99999999999999999999999"}) {
    std::string patch = std::string(R"([{"op":"replace","path":"/l/)") + index + R"(","value":0}])";
    EXPECT_EQ(Apply(R"({"l":[1,2]})", patch).substr(0, 5), "ERROR") << index;
  }
  // `-` is the place behind the last: nothing is there to remove.
  EXPECT_EQ(Apply(R"({"l":[1]})", R"([{"op":"remove","path":"/l/-"}])").substr(0, 5), "ERROR");
}

TEST(JsonPatchTest, RefusesMalformedOperations) {
  EXPECT_EQ(Apply("{}", R"({"op":"add"})"), "ERROR a JSON patch is a list of operations, not object");
  EXPECT_EQ(Apply("{}", R"([1])"), "ERROR operation 0: expected an object, got integer");
  EXPECT_EQ(Apply("{}", R"([{"path":"/a"}])"), "ERROR operation 0: `op` is missing");
  EXPECT_EQ(Apply("{}", R"([{"op":"spam","path":"/a"}])"), "ERROR operation 0 (\"spam\" \"/a\"): unknown operation");
  EXPECT_EQ(Apply("{}", R"([{"op":"add","value":1}])"), "ERROR operation 0 (add): `path` is missing or no string");
  EXPECT_EQ(Apply("{}", R"([{"op":"add","path":"/a"}])"), "ERROR operation 0 (add \"/a\"): `value` is missing");
  EXPECT_EQ(Apply("{}", R"([{"op":"copy","path":"/a"}])"), "ERROR operation 0 (copy \"/a\"): `from` is missing or no string");
  EXPECT_EQ(Apply("{}", R"([{"op":"add","path":"a","value":1}])"),
            "ERROR operation 0 (add \"a\"): a JSON pointer starts with '/' or is empty, not \"a\"");
  EXPECT_EQ(Apply("{}", R"([{"op":"add","path":"/a~2","value":1}])"),
            "ERROR operation 0 (add \"/a~2\"): '~' in a JSON pointer is followed by 0 or 1: \"/a~2\"");
  EXPECT_EQ(Apply("{}", R"([{"op":"add","path":"/a~","value":1}])").substr(0, 5), "ERROR");
}

TEST(JsonPatchTest, ErrorsAreInvalid) {
  Result<Value> out = ApplyJsonPatch(Value::Object(), Parse(R"([{"op":"remove","path":"/a"}])"));
  ASSERT_FALSE(out.ok());
  EXPECT_EQ(out.error().kind(), ErrorKind::kInvalid);
}

TEST(JsonPatchTest, BoundsTheNumberOfOperations) {
  List<Value> operations;
  for (int i = 0; i <= 10'000; ++i) operations.push_back(Value::Object({{"op", "test"}, {"path", ""}, {"value", Value::Object()}}));
  Result<Value> out = ApplyJsonPatch(Value::Object(), Value(operations));
  ASSERT_FALSE(out.ok());
  EXPECT_EQ(out.error().message(), "the patch has 10001 operations; at most 10000 are allowed");
  operations.erase(0);
  EXPECT_TRUE(ApplyJsonPatch(Value::Object(), Value(operations)).ok());
}

TEST(JsonPatchTest, BoundsWhatIsCopied) {
  // Each operation doubles the list.
  List<Value> operations;
  for (int i = 0; i < 60; ++i) operations.push_back(Value::Object({{"op", "copy"}, {"from", "/a"}, {"path", "/a/-"}}));
  Result<Value> out = ApplyJsonPatch(Parse(R"({"a":["0123456789"]})"), Value(operations));
  ASSERT_FALSE(out.ok());
  EXPECT_NE(out.error().ToString().find("copy operations copy more than 3145728 bytes in all"), std::string::npos)
      << out.error().ToString();
  EXPECT_FALSE(
      ApplyJsonPatch(Parse(R"({"a":"0123456789"})"), Parse(R"([{"op":"copy","from":"/a","path":"/b"}])"), {.max_copied_bytes = 5}).ok());
}

TEST(JsonPatchTest, BoundsTheDepth) {
  // Each operation puts the document into itself.
  List<Value> operations;
  for (int i = 0; i < 2000; ++i) operations.push_back(Value::Object({{"op", "copy"}, {"from", "/a"}, {"path", "/a/a"}}));
  Result<Value> out = ApplyJsonPatch(Parse(R"({"a":{}})"), Value(operations), {.max_copied_bytes = std::size_t{1} << 40});
  ASSERT_FALSE(out.ok());
  EXPECT_NE(out.error().ToString().find("nested too deeply"), std::string::npos) << out.error().ToString();

  // The same by moving: {"a":{...},"b":{...}} each below the other.
  operations.clear();
  std::string path = "/x";
  for (int i = 0; i < 1200; ++i) {
    operations.push_back(Value::Object({{"op", "add"}, {"path", "/y"}, {"value", Value::Object()}}));
    operations.push_back(Value::Object({{"op", "move"}, {"from", "/x"}, {"path", "/y/x"}}));
    operations.push_back(Value::Object({{"op", "move"}, {"from", "/y"}, {"path", "/x"}}));
  }
  out = ApplyJsonPatch(Parse(R"({"x":{}})"), Value(operations));
  ASSERT_FALSE(out.ok());
  EXPECT_NE(out.error().ToString().find("nested too deeply"), std::string::npos) << out.error().ToString();
  EXPECT_FALSE(ApplyJsonPatch(Value::Object(), Value::Array({Value::Object({{"op", "remove"}, {"path", std::string(5000, '/')}})})).ok());
}

// ---- create ----

std::string Create(std::string_view from, std::string_view to) {
  Value patch = CreateJsonPatch(Parse(from), Parse(to));
  Result<Value> back = ApplyJsonPatch(Parse(from), patch);
  EXPECT_TRUE(back.ok()) << back.error().ToString();
  if (back) {
    EXPECT_EQ(ToJson(*back), ToJson(Parse(to)));
  }
  return ToJson(patch);
}

TEST(JsonPatchCreateTest, SaysNothingAboutEqualDocuments) {
  EXPECT_EQ(Create(R"({"a":[1,{"b":null}]})", R"({"a":[1,{"b":null}]})"), "[]");
  EXPECT_EQ(CreateJsonPatch(Parse("1"), Parse("1.0")).list().size(), 0U);
}

TEST(JsonPatchCreateTest, NamesMembers) {
  EXPECT_EQ(Create(R"({"a":1,"b":{"c":2,"d":3}})", R"({"b":{"c":2,"d":4},"e":null})"),
            R"([{"op":"remove","path":"/a"},{"op":"replace","path":"/b/d","value":4},{"op":"add","path":"/e","value":null}])");
}

TEST(JsonPatchCreateTest, EscapesPointers) {
  EXPECT_EQ(Create(R"({"a/b":1})", R"({"a/b":2,"c~d":3})"),
            R"([{"op":"replace","path":"/a~1b","value":2},{"op":"add","path":"/c~0d","value":3}])");
}

TEST(JsonPatchCreateTest, ReplacesTheRoot) {
  EXPECT_EQ(Create("1", R"("x")"), R"([{"op":"replace","path":"","value":"x"}])");
  EXPECT_EQ(Create("[]", "{}"), R"([{"op":"replace","path":"","value":{}}])");
}

TEST(JsonPatchCreateTest, FindsInsertedAndRemovedElements) {
  EXPECT_EQ(Create("[1,2,3]", "[0,1,2,3]"), R"([{"op":"add","path":"/0","value":0}])");
  EXPECT_EQ(Create("[1,2,3,4]", "[1,4]"), R"([{"op":"remove","path":"/2"},{"op":"remove","path":"/1"}])");
  EXPECT_EQ(Create("[1,2,3]", "[1,9,3]"), R"([{"op":"replace","path":"/1","value":9}])");
  EXPECT_EQ(Create("[]", "[1,2]"), R"([{"op":"add","path":"/0","value":1},{"op":"add","path":"/1","value":2}])");
  EXPECT_EQ(Create("[1,2,3,4,5,6]", "[2,3,7,5,6,8]"),
            R"([{"op":"remove","path":"/0"},{"op":"replace","path":"/2","value":7},{"op":"add","path":"/5","value":8}])");
}

TEST(JsonPatchCreateTest, GoesIntoElementsThatAreAlike) {
  EXPECT_EQ(Create(R"({"c":[{"name":"a","image":"x"},{"name":"b","image":"y"}]})",
                   R"({"c":[{"name":"a","image":"x"},{"name":"b","image":"z"}]})"),
            R"([{"op":"replace","path":"/c/1/image","value":"z"}])");
  EXPECT_EQ(Create(R"([{"a":1}])", R"([{"b":2}])"), R"([{"op":"replace","path":"/0","value":{"b":2}}])");
}

TEST(JsonPatchCreateTest, ReplacesTheDocumentWhereThereAreTooManyOperations) {
  Value from = Value::Object();
  Value to = Value::Object();
  for (int i = 0; i < 10'001; ++i) to["k" + std::to_string(i)] = i;
  Value patch = CreateJsonPatch(from, to);
  ASSERT_EQ(patch.list().size(), 1U);
  EXPECT_EQ(*ApplyJsonPatch(from, patch), to);
}

TEST(JsonPatchCreateTest, TellsLargeIntegersApart) {
  // Both integers equal the double, but not each other.
  Value from = Value::Array({Value(9007199254740992.0), Value(std::int64_t{9007199254740993}), 1, 2});
  Value to = Value::Array({3, Value(std::int64_t{9007199254740992}), 1, 4});
  Result<Value> back = ApplyJsonPatch(from, CreateJsonPatch(from, to));
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(*back, to);
}

TEST(JsonPatchCreateTest, IsQuickWithLargeElements) {
  // Each with each, these would be a hundred thousand comparisons of 20 KB.
  List<Value> from;
  List<Value> to;
  for (int i = 0; i < 300; ++i) {
    from.push_back(Value::Object({{"a", std::string(20'000, 'x')}, {"b", i}}));
    to.push_back(Value::Object({{"a", std::string(20'000, 'x')}, {"b", 600 - i}}));
  }
  Value patch = CreateJsonPatch(Value(from), Value(to));
  EXPECT_EQ(*ApplyJsonPatch(Value(from), patch), Value(to));
}

TEST(JsonPatchCreateTest, CopesWithListsTooLargeForASubsequence) {
  List<Value> from;
  List<Value> to;
  for (int i = 0; i < 3000; ++i) {
    from.push_back(i);
    to.push_back(i % 7 == 0 ? -i : i);
  }
  Value patch = CreateJsonPatch(Value(from), Value(to));
  EXPECT_EQ(*ApplyJsonPatch(Value(from), patch), Value(to));
}

Value RandomValue(std::mt19937& random, int depth) {
  switch (random() % (depth > 0 ? 8 : 5)) {
    case 0:
      return Value();
    case 1:
      return Value(random() % 2 == 0);
    case 2:
      return Value(static_cast<std::int64_t>(random() % 4));
    case 3:
      return Value(static_cast<double>(random() % 4) / 2);
    case 4:
      return Value(std::string(random() % 3, 's'));
    case 5: {
      List<Value> list;
      for (std::size_t i = random() % 6; i > 0; --i) list.push_back(RandomValue(random, depth - 1));
      return list;
    }
    default: {
      Value object = Value::Object();
      for (std::size_t i = random() % 5; i > 0; --i) {
        object[std::string_view(&"ab/~-0"[random() % 6], 1)] = RandomValue(random, depth - 1);
      }
      return object;
    }
  }
}

TEST(JsonPatchCreateTest, RoundTripsRandomDocuments) {
  std::mt19937 random(1);
  for (int i = 0; i < 5000; ++i) {
    Value from = RandomValue(random, 4);
    Value to = RandomValue(random, 4);
    Result<Value> back = ApplyJsonPatch(from, CreateJsonPatch(from, to));
    ASSERT_TRUE(back.ok()) << ToJson(from) << " " << ToJson(to) << ": " << back.error().ToString();
    ASSERT_EQ(*back, to) << ToJson(from) << " " << ToJson(to);
  }
}

// ---- typed ----

TEST(JsonPatchTest, PatchesTypedObjects) {
  patch_test::Thing thing;
  thing.metadata.name = "x";
  thing.spec.replicas = 1;
  Result<patch_test::Thing> out = ApplyJsonPatch(thing, R"([{"op":"replace","path":"/spec/replicas","value":3}])");
  ASSERT_TRUE(out.ok()) << out.error().ToString();
  EXPECT_EQ(out->spec.replicas, 3);
  EXPECT_EQ(out->metadata.name, "x");
  EXPECT_EQ(thing.spec.replicas, 1);

  Result<Value> patch = CreateJsonPatch(thing, *out);
  ASSERT_TRUE(patch.ok());
  EXPECT_EQ(ToJson(*patch), R"([{"op":"replace","path":"/spec/replicas","value":3}])");
}

TEST(JsonPatchTest, TypedObjectsKeepTheirTypes) {
  patch_test::Thing thing;
  Result<patch_test::Thing> out = ApplyJsonPatch(thing, R"([{"op":"add","path":"/spec","value":{"replicas":"many"}}])");
  ASSERT_FALSE(out.ok());
  EXPECT_NE(out.error().ToString().find("spec.replicas"), std::string::npos) << out.error().ToString();
  EXPECT_EQ(ApplyJsonPatch(thing, "[").error().kind(), ErrorKind::kDecode);
}

}  // namespace
}  // namespace kube
