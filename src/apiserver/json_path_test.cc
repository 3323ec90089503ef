#include "apiserver/json_path.h"

#include <limits>
#include <string>
#include <utility>

#include "apiserver/builtin/tables.h"
#include "gtest/gtest.h"
#include "kube/codec/json.h"

namespace kube::apiserver {
namespace {

Value Sample() {
  return *ParseJson(R"({
    "metadata": {"name": "one", "annotations": {"a.b/c": "dotted", "plain": "p"}},
    "spec": {"replicas": 3, "float": 1.5, "bool": true, "null": null, "text": "ab",
             "images": ["x", "y", "z z"], "obj": {"k": "v", "a": "b<c"},
             "items": [{"n": "a", "v": 1}, {"n": "b", "v": 2}, {"n": "c", "v": 2.5, "extra": true}]},
    "status": {"conditions": [{"type": "Ready", "status": "True"}, {"type": "Live", "status": "False"}]}
  })");
}

// What a path finds, as JSON: "[...]", or "error: ...".
std::string Find(std::string_view path) {
  Result<JsonPath> parsed = JsonPath::Parse(path);
  if (!parsed) return "bad: " + parsed.error().message();
  Result<std::vector<Value>> found = parsed->Find(Sample());
  if (!found) return "error: " + found.error().message();
  return ToJson(Value(List<Value>(found->begin(), found->end())));
}

TEST(JsonPathTest, FindsFieldsByDotsAndQuotes) {
  EXPECT_EQ(Find(".spec.replicas"), "[3]");
  EXPECT_EQ(Find(".spec['replicas']"), "[3]");
  EXPECT_EQ(Find("$.spec.replicas"), "[3]");
  EXPECT_EQ(Find("@.spec.replicas"), "[3]");
  EXPECT_EQ(Find(".spec.null"), "[null]");
  EXPECT_EQ(Find(".spec.obj"), R"([{"a":"b<c","k":"v"}])");
}

TEST(JsonPathTest, MissingFieldsLeadToNothing) {
  EXPECT_EQ(Find(".spec.nothing"), "[]");
  EXPECT_EQ(Find(".spec.nothing.at.all[0]"), "[]");
  EXPECT_EQ(Find(".spec.replicas.x"), "[]");
  EXPECT_EQ(Find(".spec.null.x"), "[]");
  EXPECT_EQ(Find("."), "[]");
}

TEST(JsonPathTest, ADotInAKeyNeedsABackslash) {
  EXPECT_EQ(Find(".metadata.annotations['a.b/c']"), "[]");
  EXPECT_EQ(Find(".metadata.annotations['a\\.b/c']"), R"(["dotted"])");
  EXPECT_EQ(Find(".metadata.annotations.a\\.b/c"), R"(["dotted"])");
}

TEST(JsonPathTest, TakesElementsAndRanges) {
  EXPECT_EQ(Find(".spec.images[0]"), R"(["x"])");
  EXPECT_EQ(Find(".spec.images[-1]"), R"(["z z"])");
  EXPECT_EQ(Find(".spec.images[-1:]"), R"(["z z"])");
  EXPECT_EQ(Find(".spec.images[1:]"), R"(["y","z z"])");
  EXPECT_EQ(Find(".spec.images[:2]"), R"(["x","y"])");
  EXPECT_EQ(Find(".spec.images[::2]"), R"(["x","z z"])");
  EXPECT_EQ(Find(".spec.images[*]"), R"(["x","y","z z"])");
  EXPECT_EQ(Find(".spec.images[0,2]"), R"(["x","z z"])");
  EXPECT_EQ(Find(".spec.images[1:1]"), "[]");
  EXPECT_EQ(Find(".spec.images[]"), R"(["x"])");
  EXPECT_EQ(Find(".spec.images[::9223372036854775807]"), R"(["x"])");
}

TEST(JsonPathTest, RefusesWhatDoesNotFitTheObject) {
  EXPECT_EQ(Find(".spec.images[3]"), "error: array index out of bounds: index 3, length 3");
  EXPECT_EQ(Find(".spec.images[-4]"), "error: array index out of bounds: index -1, length 3");
  EXPECT_EQ(Find(".spec.images[2:1]"), "error: starting index 2 is greater than ending index 1");
  EXPECT_EQ(Find(".spec.images[::0]"), "error: step must be > 0");
  EXPECT_EQ(Find(".spec[0]"), "error: object is not array or slice");
  EXPECT_EQ(Find(".spec[?(@.a==1)]"), "error: object is not array or slice and cannot be filtered");
  EXPECT_EQ(Find(".spec.images foo"), "error: unrecognized identifier foo");
}

TEST(JsonPathTest, Wildcards) {
  EXPECT_EQ(Find(".spec.obj.*"), R"(["b<c","v"])");
  EXPECT_EQ(Find(".spec.items[*].n"), R"(["a","b","c"])");
  EXPECT_EQ(Find(".spec.text.*"), "[97,98]");
  EXPECT_EQ(Find("..status"), R"([{"conditions":[{"status":"True","type":"Ready"},{"status":"False","type":"Live"}]},"True","False"])");
}

TEST(JsonPathTest, Filters) {
  EXPECT_EQ(Find(".status.conditions[?(@.type==\"Ready\")].status"), R"(["True"])");
  EXPECT_EQ(Find(".status.conditions[?(@.type=='Live')].status"), R"(["False"])");
  EXPECT_EQ(Find(".status.conditions[?(@.type!=\"Ready\")].type"), R"(["Live"])");
  EXPECT_EQ(Find(".spec.items[?(@.extra)].n"), R"(["c"])");
  EXPECT_EQ(Find(".spec.items[?(@.extra==true)].n"), R"(["c"])");
  EXPECT_EQ(Find(".status.conditions[?(@.missing==\"x\")].type"), "[]");
  EXPECT_EQ(Find(".status.conditions[?(@.type>=\"M\")].type"), R"(["Ready"])");
  // A filter that asks for existence takes a failing step for an answer.
  EXPECT_EQ(Find(".spec.items[?(@.n[0])].n"), R"(["a","b","c"])");
}

TEST(JsonPathTest, OnlyLikeComparesWithLike) {
  EXPECT_EQ(Find(".spec.items[?(@.n==1)].n"), "error: incompatible types for comparison");
  EXPECT_EQ(Find(".spec.items[?(@.v==2)].n"), "error: incompatible types for comparison");  // one of them is 2.5
  EXPECT_EQ(Find(".spec.items[?(@.extra>true)].n"), "error: invalid type for comparison");
  EXPECT_EQ(Find(".spec.items[?(@.n=1)].n"), "error: unrecognized filter operator =");
}

TEST(JsonPathTest, RefusesBadSyntax) {
  EXPECT_EQ(Find(".spec[\"a\"]"), "bad: invalid array index \"a\"");
  EXPECT_EQ(Find(".spec[0"), "bad: unterminated array");
  EXPECT_EQ(Find(".a[?(@.x=="), "bad: unterminated filter");
  EXPECT_EQ(Find(".a[?(@.x)"), "bad: unclosed array expect ]");
  EXPECT_EQ(Find(".a[-]"), "bad: array index - is not a number");
  EXPECT_EQ(Find(".a[99999999999999999999]"), "bad: array index 99999999999999999999 is not a number");
  EXPECT_EQ(Find(".a....b"), "bad: invalid multiple recursive descent");
  EXPECT_EQ(Find("\"abc"), "bad: unterminated quoted string");
  EXPECT_EQ(Find(" 1.2.3"), "bad: cannot parse number 1.2.3");
  EXPECT_EQ(Find("\n"), "bad: unclosed action");
  EXPECT_EQ(Find("#"), "bad: unrecognized character in action: '#'");
}

TEST(JsonPathTest, UnionsOfUnionsEndInAnErrorNotInAFullMemory) {
  Value nested = 1;
  std::string path = ".a";
  for (int i = 0; i < 60; ++i) {
    nested = Value::Array({nested});
    path += "[*,*]";
  }
  Result<std::vector<Value>> found = JsonPath::Parse(path)->Find(Value::Object({{"a", nested}}));
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().message(), "too many results");
}

TEST(JsonPathTest, PlainFieldPathsReadAndWrite) {
  Value v = Sample();
  ASSERT_NE(FindField(v, ".spec.replicas"), nullptr);
  EXPECT_EQ(FindField(v, "spec.replicas")->int_value(), 3);
  EXPECT_EQ(FindField(v, ".spec.nothing.here"), nullptr);
  EXPECT_TRUE(SetField(v, ".status.replicas", 7));
  EXPECT_TRUE(SetField(v, ".fresh.and.new", "x"));
  EXPECT_FALSE(SetField(v, ".spec.replicas.deep", 1));
  EXPECT_EQ(std::as_const(v)["status"]["replicas"].int_value(), 7);
  EXPECT_EQ(std::as_const(v)["fresh"]["and"]["new"].string_value(), "x");
  EXPECT_EQ(std::as_const(v)["spec"]["replicas"].int_value(), 3);
}

// Cells as a real server printed them.
TEST(JsonPathTest, CellsFollowTheTypeOfTheColumn) {
  Time now = *Time::Parse("2026-11-15T11:35:00Z");
  EXPECT_EQ(CellOf("string", 3, now), Value("3"));
  EXPECT_EQ(CellOf("string", 1.5, now), Value("1.5"));
  EXPECT_EQ(CellOf("string", true, now), Value("true"));
  EXPECT_EQ(CellOf("string", 123456789.5, now), Value("1.234567895e+08"));
  EXPECT_EQ(CellOf("string", 1e-05, now), Value("1e-05"));
  EXPECT_EQ(CellOf("string", 1e24, now), Value("1e+24"));
  EXPECT_EQ(CellOf("string", 0.0001, now), Value("0.0001"));
  EXPECT_EQ(CellOf("string", 123456.5, now), Value("123456.5"));
  EXPECT_EQ(CellOf("string", Value(), now), Value("<no value>"));
  EXPECT_EQ(CellOf("string", Value::Array({"x", "y"}), now), Value(R"(["x","y"])"));
  EXPECT_EQ(CellOf("string", Value::Object({{"a", "b<c>&"}}), now), Value(R"({"a":"b\u003cc\u003e\u0026"})"));
  EXPECT_EQ(CellOf("integer", 1.9, now), Value(1));
  EXPECT_EQ(CellOf("integer", 1e24, now), Value(std::numeric_limits<std::int64_t>::min()));
  EXPECT_EQ(CellOf("integer", "3", now), Value());
  EXPECT_EQ(CellOf("number", 1.5, now), Value(1.5));
  EXPECT_EQ(CellOf("boolean", "true", now), Value());
  EXPECT_EQ(CellOf("date", "2020-01-01T00:00:00Z", now), Value("6y320d"));
  EXPECT_EQ(CellOf("date", "2026-11-10T00:00:00.5+02:00", now), Value("5d13h"));
  EXPECT_EQ(CellOf("date", "2030-01-01T00:00:00Z", now), Value("<invalid>"));
  EXPECT_EQ(CellOf("date", "a * *", now), Value("<invalid>"));
  EXPECT_EQ(CellOf("date", "", now), Value("<unknown>"));
  EXPECT_EQ(CellOf("date", 5, now), Value());
  EXPECT_EQ(CellOf("other", 5, now), Value());
}

TEST(JsonPathTest, SpansForPeople) {
  auto human = [](std::int64_t seconds) { return HumanDuration(Duration::FromNanoseconds(seconds * 1'000'000'000)); };
  EXPECT_EQ(human(-2), "<invalid>");
  EXPECT_EQ(human(-1), "0s");
  EXPECT_EQ(human(119), "119s");
  EXPECT_EQ(human(120), "2m");
  EXPECT_EQ(human(134), "2m14s");
  EXPECT_EQ(human(600), "10m");
  EXPECT_EQ(human(3 * 3600 - 1), "179m");
  EXPECT_EQ(human(3 * 3600), "3h");
  EXPECT_EQ(human(3 * 3600 + 60), "3h1m");
  EXPECT_EQ(human(8 * 3600 + 60), "8h");
  EXPECT_EQ(human(47 * 3600), "47h");
  EXPECT_EQ(human(48 * 3600), "2d");
  EXPECT_EQ(human(49 * 3600), "2d1h");
  EXPECT_EQ(human(8 * 86400 + 3600), "8d");
  EXPECT_EQ(human(729 * 86400), "729d");
  EXPECT_EQ(human(730 * 86400), "2y");
  EXPECT_EQ(human(731 * 86400), "2y1d");
  EXPECT_EQ(human(8LL * 365 * 86400 + 86400), "8y");
}

}  // namespace
}  // namespace kube::apiserver
