#include "kube/codec/yaml.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "kube/value/list.h"
#include "kube/value/raw.h"

namespace kube {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// The one document of the text as JSON, or what is wrong with it.
std::string Read(std::string_view text) {
  Result<std::vector<Value>> docs = ParseYaml(text);
  if (!docs) return "error: " + docs.error().ToString();
  if (docs->size() != 1) return std::to_string(docs->size()) + " documents";
  return ToJson((*docs)[0]);
}

// What a plain scalar becomes.
std::string Scalar(std::string_view text) { return Read("- " + std::string(text)); }

TEST(YamlTest, ReadsBlockAndFlowCollections) {
  EXPECT_EQ(Read("a: 1\nb:\n- x\n- k: z\nc:\n  d: {e: [1, 2], f: }\n"), R"({"a":1,"b":["x",{"k":"z"}],"c":{"d":{"e":[1,2],"f":null}}})");
  EXPECT_EQ(Read("[]"), "[]");
  EXPECT_EQ(Read("{}"), "{}");
  EXPECT_EQ(Read("? a\n: b\n"), R"({"a":"b"})");
}

TEST(YamlTest, ReadsMultiLineStrings) {
  EXPECT_EQ(Read("a: |\n  x\n   y\n\nb: |-\n  x\nc: |+\n  x\n\nd: >\n  x\n  y\n\n  z\n"),
            R"({"a":"x\n y\n","b":"x","c":"x\n\n","d":"x y\nz\n"})");
  EXPECT_EQ(Read("a: x\n  y # comment\n"), R"({"a":"x y"})");
  EXPECT_EQ(Read("a: 'it''s'\nb: \"\\u00e9\\x41\\n\"\n"),
            "{\"a\":\"it's\",\"b\":\"\xC3\xA9"
            "A\\n\"}");
}

TEST(YamlTest, TypesBooleansAsYaml11) {
  for (const char* text : {"y", "Y", "yes", "Yes", "YES", "on", "On", "ON", "true", "True", "TRUE"})
    EXPECT_EQ(Scalar(text), "[true]") << text;
  for (const char* text : {"n", "N", "no", "No", "NO", "off", "Off", "OFF", "false", "False", "FALSE"})
    EXPECT_EQ(Scalar(text), "[false]") << text;
  for (const char* text : {"yEs", "tRUE", "oN", "yess", "nope"}) EXPECT_EQ(Scalar(text), "[\"" + std::string(text) + "\"]");
}

TEST(YamlTest, TypesNulls) {
  for (const char* text : {"", "~", "null", "Null", "NULL"}) EXPECT_EQ(Scalar(text), "[null]") << text;
  EXPECT_EQ(Scalar("nUll"), R"(["nUll"])");
}

TEST(YamlTest, TypesIntegers) {
  EXPECT_EQ(Read("[0, -0, +12, 0777, 0o17, 0O17, 0x1F, 0X1f, -0x10, 0b101, -0b11, 1_000, 0b-1]"),
            "[0,0,12,511,15,15,31,31,-16,5,-3,1000,-1]");
  EXPECT_EQ(Read("[9223372036854775807, -9223372036854775808]"), "[9223372036854775807,-9223372036854775808]");
  Result<std::vector<Value>> large = ParseYaml("18446744073709551615");
  ASSERT_TRUE(large);
  EXPECT_TRUE((*large)[0].is_double());
  EXPECT_EQ((*large)[0].double_value(), 18446744073709551615.0);
  EXPECT_EQ(Read("['0x', 0x, 0b2, 0o8, 1_2_a, '12']"), R"(["0x","0x","0b2","0o8","1_2_a","12"])");
}

TEST(YamlTest, TypesFloatsAndKeepsWholeOnesAsIntegers) {
  EXPECT_EQ(Read("[1.5, .5, -.5, +.5, 1e-2, 1_0.5, .1_0]"), "[1.5,0.5,-0.5,0.5,0.01,10.5,0.1]");
  EXPECT_EQ(Read("[1.0, 1e3, 08, 1., -0.0, 1e-400]"), "[1,1000,8,1,0,0]");
  EXPECT_EQ(Read("[1e400, -1e400, 1.2.3, 1e, ., ._1, +]"), R"(["1e400","-1e400","1.2.3","1e",".","._1","+"])");
}

TEST(YamlTest, RefusesNumbersThatJsonDoesNotHave) {
  for (const char* text : {".nan", ".NaN", ".inf", "-.Inf", "+.INF"})
    EXPECT_THAT(Scalar(text), HasSubstr("line 1, column 3: JSON has no number")) << text;
  EXPECT_EQ(Scalar(".Nan"), R"([".Nan"])");
}

TEST(YamlTest, KeepsDatesAndBase60AsStrings) {
  EXPECT_EQ(Read("[2024-01-02, 2024-01-02T03:04:05Z, 12:30:45]"), R"(["2024-01-02","2024-01-02T03:04:05Z","12:30:45"])");
}

TEST(YamlTest, QuotedScalarsAreStrings) { EXPECT_EQ(Read("['1', \"true\", '~', \"\"]"), R"(["1","true","~",""])"); }

TEST(YamlTest, FollowsTags) {
  EXPECT_EQ(Read("[!!str 1, !!str true, !!str , !!int '3', !!float 2, !!float 2.5, !!bool 'yes', !!null '']"),
            R"(["1","true","",3,2,2.5,true,null])");
  EXPECT_EQ(Read("!!binary aGVsbG8="), R"("hello")");
  EXPECT_EQ(Read("[!custom 5, !!timestamp 2024-01-02]"), R"(["5","2024-01-02"])");
  EXPECT_THAT(Read("a: !!int x"), HasSubstr("line 1, column 4: cannot read \"x\" as !!int"));
  EXPECT_THAT(Read("!!binary '*'"), HasSubstr("not base64"));
  EXPECT_THAT(Read("!!binary //8="), HasSubstr("not text"));
}

TEST(YamlTest, TurnsMemberNamesIntoStrings) {
  EXPECT_EQ(Read("1: a\n0x10: b\ntrue: c\noff: d\n2.5: e\n1000000.0: f\n.inf: g\n"),
            R"({".inf":"g","1":"a","16":"b","1e+06":"f","2.5":"e","false":"d","true":"c"})");
  EXPECT_THAT(Read("~: a"), HasSubstr("line 1, column 1: a member name must be a string, not null"));
  EXPECT_THAT(Read("? [a]\n: b"), HasSubstr("a member name must be a string, not list"));
  EXPECT_THAT(Read("18446744073709551615: a"), HasSubstr("must be quoted"));
}

TEST(YamlTest, LastDuplicateWinsUnlessStrict) {
  constexpr const char* kText = "metadata:\n  labels:\n    app: a\n    app: b\nspec:\n- x: 1\n  x: 2\n  x: 3\n";
  EXPECT_EQ(Read(kText), R"({"metadata":{"labels":{"app":"b"}},"spec":[{"x":3}]})");
  Result<std::vector<Value>> strict = ParseYaml(kText, {.strict = true});
  ASSERT_FALSE(strict);
  EXPECT_EQ(strict.error().message(),
            "strict decoding error: duplicate field \"metadata.labels.app\" (line 4, column 5), duplicate field \"spec[0].x\" (line 7, "
            "column 3), "
            "duplicate field \"spec[0].x\" (line 8, column 3)");
  EXPECT_TRUE(ParseYaml("a: 1\nb: 1\n", {.strict = true}));
}

TEST(YamlTest, SplitsDocuments) {
  Result<std::vector<YamlDocument>> docs = ReadYaml("# nothing\n---\na: 1\n---\n---\n# only a comment\n---\nb: 2\n...\n---\nc: 3\n---\n");
  ASSERT_TRUE(docs) << docs.error().ToString();
  ASSERT_THAT(*docs, SizeIs(3));
  EXPECT_EQ((*docs)[0].line, 2);
  EXPECT_EQ((*docs)[1].line, 7);
  EXPECT_EQ(ToJson((*docs)[2].value), R"({"c":3})");
}

TEST(YamlTest, ExplicitNullIsADocument) {
  EXPECT_EQ(Read("null"), "null");
  EXPECT_EQ(Read("--- ~\n"), "null");
  EXPECT_THAT(*ParseYaml(""), IsEmpty());
  EXPECT_THAT(*ParseYaml("\n\n# x\n"), IsEmpty());
}

TEST(YamlTest, ReadsByteOrderMarkAndWindowsLines) {
  EXPECT_EQ(Read("\xEF\xBB\xBF"
                 "a: 1\r\nb: |\r\n  x\r\n  y\r\n"),
            R"({"a":1,"b":"x\ny\n"})");
  EXPECT_EQ(Read("a: 1\r\n---\r\nb: 2\r\n"), "2 documents");
}

TEST(YamlTest, ReadsJsonAsJson) {
  EXPECT_EQ(Read("{\n\t\"a\": \"\\ud83d\\ude00\\/\"\n}"), "{\"a\":\"\xF0\x9F\x98\x80/\"}");
  EXPECT_EQ(Read("{\"" + std::string(2000, 'k') + "\": 1}"), "{\"" + std::string(2000, 'k') + "\":1}");
  EXPECT_EQ(Read("{a: b}"), R"({"a":"b"})");
  EXPECT_THAT(ReadYaml("{\"a\":1,\"a\":2}")->at(0).duplicates, SizeIs(1));
}

TEST(YamlTest, ResolvesAliasesAndSharesThem) {
  EXPECT_EQ(Read("a: &x {k: [1]}\nb: *x\nc: [*x, &y z, *y]\n*y : w\n"), R"({"a":{"k":[1]},"b":{"k":[1]},"c":[{"k":[1]},"z","z"],"z":"w"})");
  Result<std::vector<Value>> docs = ParseYaml("a: &x [1]\nb: *x\n");
  EXPECT_TRUE((*docs)[0]["a"].list().SharesWith((*docs)[0]["b"].list()));
  EXPECT_EQ(Read("[&a 1, *a, &a 2, *a]"), "[1,1,2,2]");
  EXPECT_THAT(Read("a: *x"), HasSubstr("line 1, column 4: unknown anchor \"x\""));
  EXPECT_THAT(Read("a: &x 1\n---\nb: *x"), HasSubstr("unknown anchor"));
}

TEST(YamlTest, MergesInTheOrderOfTheText) {
  EXPECT_EQ(Read("base: &b {x: 1, z: 2}\nc:\n  <<: *b\n  z: 3\n"), R"({"base":{"x":1,"z":2},"c":{"x":1,"z":3}})");
  EXPECT_EQ(Read("- &a {x: 1}\n- &b {x: 2, z: 2}\n- <<: [*a, *b]\n"), R"([{"x":1},{"x":2,"z":2},{"x":1,"z":2}])");
  EXPECT_EQ(Read("'<<': 1"), R"({"<<":1})");
  EXPECT_EQ(Read("<<: {a: 1}\n"), R"({"a":1})");
  EXPECT_THAT(Read("<<: 1"), HasSubstr("<< needs an object"));
  EXPECT_THAT(Read("<<: [1]"), HasSubstr("<< needs an object"));
  EXPECT_THAT(Read("a: &l [{x: 1}]\nb: {<<: *l}"), HasSubstr("<< needs an object"));
}

TEST(YamlTest, RefusesAliasesThatContainThemselves) {
  EXPECT_THAT(Read("&a [*a]"), HasSubstr("line 1, column 5: the value of anchor \"a\" contains itself"));
  EXPECT_THAT(Read("a: &x\n  b: {c: *x}\n"), HasSubstr("contains itself"));
  EXPECT_THAT(Read("&a {<<: *a}"), HasSubstr("contains itself"));
}

TEST(YamlTest, RefusesBillionLaughs) {
  std::string text = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 12; ++i) {
    std::string before = "*a" + std::to_string(i - 1);
    text += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + before;
    for (int n = 0; n < 8; ++n) text += ", " + before;
    text += "]\n";
  }
  EXPECT_THAT(Read(text), HasSubstr("expand to too much data"));
  // Few aliases of much text are the same thing.
  std::string long_text = "- &a " + std::string(1 << 20, 'x') + "\n";
  for (int i = 0; i < 20; ++i) long_text += "- *a\n";
  EXPECT_THAT(Read(long_text), HasSubstr("expand to too much data"));
  // Merging is an alias, too.
  std::string merges = "a: &a {";
  for (int i = 0; i < 1000; ++i) merges += "k" + std::to_string(i) + ": v, ";
  merges += "}\nb:\n";
  for (int i = 0; i < 1000; ++i) merges += "- {<<: [*a, *a]}\n";
  EXPECT_THAT(Read(merges), HasSubstr("expand to too much data"));
}

TEST(YamlTest, LimitsNesting) {
  auto nested = [](std::size_t n) { return std::string(n, '[') + "1" + std::string(n, ']'); };
  EXPECT_EQ(Read("- " + nested(kMaxDecodeDepth - 2)), "[" + nested(kMaxDecodeDepth - 2) + "]");
  EXPECT_THAT(Read("- " + nested(kMaxDecodeDepth - 1)), HasSubstr("nested too deep"));
  EXPECT_THAT(Read(std::string(100'000, '[')), HasSubstr("nested too deep"));
  EXPECT_THAT(Read("a: " + std::string(100'000, '{')), HasSubstr("error: "));
  std::string dashes;
  for (int i = 0; i < 5000; ++i) dashes += "- ";
  EXPECT_THAT(Read(dashes), HasSubstr("nested too deep"));
  // An alias counts with the depth of what it stands for.
  EXPECT_THAT(Read("- &a " + nested(600) + "\n- " + std::string(500, '[') + "*a" + std::string(500, ']')), HasSubstr("nested too deep"));
}

TEST(YamlTest, RefusesTextThatIsNoText) {
  EXPECT_THAT(Read("a: x\nb: \xFF\n"), HasSubstr("line 2, column 4: invalid leading UTF-8 octet"));
  EXPECT_THAT(Read("a: \xC3"), HasSubstr("UTF-8"));
  EXPECT_THAT(Read("a: \xED\xA0\x80"), HasSubstr("line 1, column 4"));
  EXPECT_THAT(Read("a: \x01"), HasSubstr("control characters are not allowed"));
  EXPECT_THAT(Read(std::string_view("a: \0", 4)), HasSubstr("control characters are not allowed"));
  EXPECT_THAT(Read("a: \"\\ud800\""), HasSubstr("line 1"));
}

TEST(YamlTest, NamesLineAndColumnOfSyntaxErrors) {
  EXPECT_THAT(Read("a: 1\nb: [1, 2\nc: 3\n"),
              HasSubstr("line 3, column 2: did not find expected ',' or ']' (while parsing a flow sequence from line 2, column 4)"));
  EXPECT_THAT(Read("a: b: c"), HasSubstr("line 1, column 5: mapping values are not allowed in this context"));
  EXPECT_THAT(Read("a:\n\t- b"), HasSubstr("line 2, column 1"));
  EXPECT_THAT(Read(", a"), HasSubstr("line 1, column 1"));
  EXPECT_THAT(Read("a: 'x"), HasSubstr("line 1, column 6: found unexpected end of stream"));
}

TEST(YamlTest, RefusesHugeTexts) {
  Result<std::vector<Value>> r = ParseYaml(std::string_view("never looked at", kMaxYamlBytes + 1));
  ASSERT_FALSE(r);
  EXPECT_THAT(r.error().message(), HasSubstr("the limit is 268435456"));
}

// ---- Typed objects, by a table made by hand ----

struct Port {
  String name{};
  std::int32_t number = 0;
  UnknownFields unknown_fields{};
  static const TypeInfo kType;
};
struct Server {
  String host{};
  List<Port> ports{};
  UnknownFields unknown_fields{};
  static const TypeInfo kType;
};
constexpr FieldInfo kPortFields[] = {
    {.json_name = "name", .offset = offsetof(Port, name), .number = 1, .kind = FieldKind::kString},
    {.json_name = "number", .offset = offsetof(Port, number), .number = 2, .kind = FieldKind::kInt32},
};
const TypeInfo Port::kType = {
    .name = "test.Port", .fields = kPortFields, .field_count = 2, .size = sizeof(Port), .unknown_offset = offsetof(Port, unknown_fields)};
const FieldInfo kServerFields[] = {
    {.json_name = "host", .offset = offsetof(Server, host), .number = 1, .kind = FieldKind::kString},
    {.json_name = "ports",
     .type = &Port::kType,
     .offset = offsetof(Server, ports),
     .number = 2,
     .kind = FieldKind::kMessage,
     .shape = FieldShape::kList},
};
const TypeInfo Server::kType = {.name = "test.Server",
                                .fields = kServerFields,
                                .field_count = 2,
                                .size = sizeof(Server),
                                .unknown_offset = offsetof(Server, unknown_fields)};

TEST(YamlObjectTest, DecodesAndKeepsUnknownFields) {
  Result<Server> server = FromYaml<Server>("host: a\nports:\n- name: http\n  number: 80.0\n  extra: {x: on}\nmore: [1]\n");
  ASSERT_TRUE(server) << server.error().ToString();
  EXPECT_EQ(server->ports[0].number, 80);
  EXPECT_EQ(*ToJson(*server), R"({"host":"a","ports":[{"name":"http","number":80,"extra":{"x":true}}],"more":[1]})");
  EXPECT_EQ(*ToYaml(*server), "host: a\nmore:\n- 1\nports:\n- extra:\n    x: true\n  name: http\n  number: 80\n");
}

TEST(YamlObjectTest, NamesThePathOfAWrongType) {
  Result<Server> server = FromYaml<Server>("host: a\nports:\n- number: http\n");
  ASSERT_FALSE(server);
  EXPECT_THAT(server.error().message(), HasSubstr("ports[0].number: expected"));
  // An unquoted number in the place of a string is the mistake that YAML invites.
  Result<Server> host = FromYaml<Server>("host: 1\n");
  ASSERT_FALSE(host);
  EXPECT_THAT(host.error().message(), HasSubstr("host: expected a string"));
}

TEST(YamlObjectTest, StrictListsDuplicateAndUnknownFields) {
  Result<Server> server = FromYaml<Server>("host: a\nhost: b\nmore: 1\nports:\n- extra: 1\n", {.strict = true});
  ASSERT_FALSE(server);
  EXPECT_THAT(server.error().message(), HasSubstr("strict decoding error: duplicate field \"host\" (line 2, column 1), "));
  EXPECT_THAT(server.error().message(), HasSubstr("unknown field \"more\""));
  EXPECT_THAT(server.error().message(), HasSubstr("unknown field \"ports[0].extra\""));
}

TEST(YamlObjectTest, WantsExactlyOneDocument) {
  EXPECT_THAT(FromYaml<Server>("# none\n").error().message(), HasSubstr("no document"));
  EXPECT_THAT(FromYaml<Server>("host: a\n---\nhost: b\n").error().message(), HasSubstr("2 documents"));
  EXPECT_TRUE(FromYaml<Server>("---\nhost: a\n---\n"));
}

}  // namespace
}  // namespace kube
