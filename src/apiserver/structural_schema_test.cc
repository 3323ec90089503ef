#include "apiserver/structural_schema.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kube/codec/json.h"

// Expectations are those of a real server (1.36).

namespace kube::apiserver {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

Value Json(std::string_view text) {
  Result<Value> v = ParseJson(text);
  EXPECT_TRUE(v.ok()) << text;
  return v ? *v : Value();
}

std::shared_ptr<const StructuralSchema> Make(std::string_view spec) {
  return StructuralSchema::Make(Json(R"({"type":"object","properties":{"spec":)" + std::string(spec) + "}}"));
}

Value Widget(std::string_view spec) {
  return Json(R"({"apiVersion":"g.example.com/v1","kind":"Widget","metadata":{"name":"x"},"spec":)" + std::string(spec) + "}");
}

std::vector<std::string> Texts(const std::vector<FieldError>& errors) {
  std::vector<std::string> out;
  for (const FieldError& e : errors) out.push_back(e.ToString());
  return out;
}

// The errors of spec.v, which is of the given schema.
std::vector<std::string> Check(std::string_view schema, std::string_view value) {
  auto s = Make(R"({"type":"object","properties":{"v":)" + std::string(schema) + "}}");
  return Texts(s->Validate(Widget(R"({"v":)" + std::string(value) + "}"), nullptr));
}

TEST(PruneTest, DropsUnknownFieldsAndNamesThem) {
  auto schema = Make(R"({"type":"object","properties":{"a":{"type":"object","properties":{"b":{"type":"string"}}},
    "list":{"type":"array","items":{"type":"object","properties":{"x":{"type":"integer"}}}},
    "map":{"type":"object","additionalProperties":{"type":"object","properties":{"y":{"type":"string"}}}},
    "any":{"x-kubernetes-preserve-unknown-fields":true,"type":"object","properties":{"strict":{"type":"object","properties":{}}}}}})");
  Value v = Widget(
      R"({"a":{"b":"1","c":2},"list":[{"x":1},{"z":[]}],"map":{"k":{"y":"1","n":1}},"any":{"free":{"f":1},"strict":{"s":1}},"top":1})");
  v["other"] = 1;
  EXPECT_THAT(schema->Prune(v), ElementsAre("other", "spec.a.c", "spec.any.strict.s", "spec.list[1].z", "spec.map.k.n", "spec.top"));
  EXPECT_EQ(ToJson(v["spec"]), R"({"a":{"b":"1"},"any":{"free":{"f":1},"strict":{}},"list":[{"x":1},{}],"map":{"k":{"y":"1"}}})");
  EXPECT_EQ(ToJson(v["metadata"]), R"({"name":"x"})");
}

TEST(PruneTest, EmbeddedObjectsKeepTheirMetadata) {
  auto schema = Make(R"({"type":"object","x-kubernetes-embedded-resource":true,"properties":{"spec":{"type":"object"}}})");
  Value v = Widget(R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","nope":1},"status":{}})");
  Result<std::vector<std::string>> dropped = schema->Normalize(v);
  ASSERT_TRUE(dropped.ok());
  EXPECT_THAT(*dropped, ElementsAre("spec.status", "spec.metadata.nope"));
  EXPECT_EQ(ToJson(v["spec"]), R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"}})");
}

TEST(PruneTest, WithoutSchemaOnlyMetadataStays) {
  Value v = Widget("{}");
  EXPECT_THAT(StructuralSchema::Make(Value())->Prune(v), ElementsAre("spec"));
  v = Widget("{}");
  EXPECT_THAT(StructuralSchema::Make(Value(), true)->Prune(v), IsEmpty());
}

TEST(DefaultsTest, AreSetWhereNothingOrNullIs) {
  auto schema =
      Make(R"({"type":"object","default":{},"properties":{"n":{"type":"integer","default":1},"o":{"type":"object","default":{"a":1},
    "properties":{"a":{"type":"integer"},"b":{"type":"string","default":"x"}}},"nullable":{"type":"string","nullable":true,"default":"d"},
    "list":{"type":"array","items":{"type":"object","properties":{"p":{"type":"string","default":"TCP"}}}},"none":{"type":"string"}}})");
  Value v = Json(R"({"apiVersion":"g.example.com/v1","kind":"Widget"})");
  ASSERT_TRUE(schema->Normalize(v).ok());
  EXPECT_EQ(ToJson(v["spec"]), R"({"n":1,"nullable":"d","o":{"a":1,"b":"x"}})");
  v = Widget(R"({"n":null,"nullable":null,"none":null,"list":[{},{"p":"UDP"}]})");
  ASSERT_TRUE(schema->Normalize(v).ok());
  EXPECT_EQ(ToJson(v["spec"]), R"({"list":[{"p":"TCP"},{"p":"UDP"}],"n":1,"nullable":null,"o":{"a":1,"b":"x"}})")
      << "null without a default goes";
}

TEST(NormalizeTest, BringsMetadataIntoForm) {
  auto schema = Make(R"({"type":"object"})");
  Value v = Json(R"({"apiVersion":"g.example.com/v1","kind":"Widget","metadata":{"name":"x","foo":1,"labels":{},"creationTimestamp":null,
    "ownerReferences":[{"apiVersion":"v1","kind":"A","name":"a","uid":"u","bar":1}]},"zz":1,"aa":1})");
  Result<std::vector<std::string>> dropped = schema->Normalize(v);
  ASSERT_TRUE(dropped.ok());
  EXPECT_THAT(*dropped, ElementsAre("metadata.foo", "metadata.ownerReferences[0].bar", "aa", "zz"));
  EXPECT_EQ(ToJson(v["metadata"]), R"({"name":"x","ownerReferences":[{"apiVersion":"v1","kind":"A","name":"a","uid":"u"}]})");
  v = Json(R"({"metadata":{"labels":{"a":5}}})");
  EXPECT_EQ(schema->Normalize(v).error().message(), "json: cannot unmarshal number into Go struct field ObjectMeta.labels of type string");
  v = Json(R"({"metadata":"x"})");
  EXPECT_EQ(schema->Normalize(v).error().message(), "json: cannot unmarshal string into Go value of type v1.ObjectMeta");
}

TEST(ValidateTest, TypesAndRanges) {
  EXPECT_THAT(Check(R"({"type":"integer"})", R"("3")"),
              ElementsAre(R"(spec.v: Invalid value: "string": spec.v in body must be of type integer: "string")"));
  EXPECT_THAT(Check(R"({"type":"integer"})", "3.0"), IsEmpty());
  EXPECT_THAT(Check(R"({"type":"string"})", "null"),
              ElementsAre(R"(spec.v: Invalid value: "null": spec.v in body must be of type string: "null")"));
  EXPECT_THAT(Check(R"({"type":"string","nullable":true})", "null"), IsEmpty());
  EXPECT_THAT(Check(R"({"x-kubernetes-int-or-string":true})", "true"),
              ElementsAre(R"(spec.v: Invalid value: "boolean": spec.v in body must be of type integer,string: "boolean")"));
  EXPECT_THAT(Check(R"({"type":"integer","minimum":2})", "1"),
              ElementsAre("spec.v: Invalid value: 1: spec.v in body should be greater than or equal to 2"));
  EXPECT_THAT(Check(R"({"type":"number","maximum":2.5,"exclusiveMaximum":true})", "2.5"),
              ElementsAre("spec.v: Invalid value: 2.5: spec.v in body should be less than 2.5"));
  EXPECT_THAT(Check(R"({"type":"integer","multipleOf":3})", "4"),
              ElementsAre("spec.v: Invalid value: 4: spec.v in body should be a multiple of 3"));
  EXPECT_THAT(Check(R"({"type":"integer","format":"int32"})", "3000000000"),
              ElementsAre(R"(<nil>: Invalid value: "": Checked value must be of type integer with format int32 in spec.v)"));
}

TEST(ValidateTest, StringsListsAndObjects) {
  EXPECT_THAT(Check(R"({"type":"string","maxLength":2})", R"("abc")"), ElementsAre("spec.v: Too long: may not be more than 2 bytes"));
  EXPECT_THAT(Check(R"({"type":"string","minLength":2})", R"("a")"),
              ElementsAre(R"(spec.v: Invalid value: "a": spec.v in body should be at least 2 chars long)"));
  EXPECT_THAT(Check(R"({"type":"string","pattern":"^a+$"})", R"("b")"),
              ElementsAre(R"(spec.v: Invalid value: "b": spec.v in body should match '^a+$')"));
  EXPECT_THAT(Check(R"({"type":"string","enum":["a","b"]})", R"("c")"),
              ElementsAre(R"(spec.v: Unsupported value: "c": supported values: "a", "b")"));
  EXPECT_THAT(Check(R"({"type":"array","items":{"type":"string"},"maxItems":1})", R"(["a",1])"),
              ElementsAre(R"(spec.v[1]: Invalid value: "integer": spec.v[1] in body must be of type string: "integer")",
                          "spec.v: Too many: 2: must have at most 1 item"));
  EXPECT_THAT(Check(R"({"type":"array","items":{"type":"string"},"minItems":1})", "[]"),
              ElementsAre("spec.v: Invalid value: 0: spec.v in body should have at least 1 items"));
  EXPECT_THAT(Check(R"({"type":"object","required":["a"],"properties":{"a":{"type":"string"}}})", "{}"),
              ElementsAre("spec.v.a: Required value"));
  EXPECT_THAT(Check(R"({"type":"object","additionalProperties":{"type":"integer"}})", R"({"k":"x"})"),
              ElementsAre(R"(spec.v.k: Invalid value: "string": spec.v.k in body must be of type integer: "string")"));
}

TEST(ValidateTest, Branches) {
  EXPECT_THAT(Check(R"({"type":"string","anyOf":[{"maxLength":1},{"pattern":"^x"}]})", R"("abc")"),
              ElementsAre(R"(<nil>: Invalid value: "": "spec.v" must validate at least one schema (anyOf))",
                          "spec.v: Too long: may not be more than 1 byte"));
  EXPECT_THAT(
      Check(R"({"type":"string","oneOf":[{"maxLength":5},{"minLength":1}]})", R"("abc")"),
      ElementsAre(R"(<nil>: Invalid value: "": "spec.v" must validate one and only one schema (oneOf). Found 2 valid alternatives)"));
  EXPECT_THAT(Check(R"({"type":"string","not":{"maxLength":5}})", R"("abc")"),
              ElementsAre(R"(<nil>: Invalid value: "": "spec.v" must not validate the schema (not))"));
  EXPECT_THAT(Check(R"({"type":"string","allOf":[{"maxLength":5},{"minLength":5}]})", R"("abc")"),
              ElementsAre(R"(spec.v: Invalid value: "abc": spec.v in body should be at least 5 chars long)",
                          R"(<nil>: Invalid value: "": "spec.v" must validate all the schemas (allOf))"));
}

TEST(ValidateTest, SetsAndMapsHaveUniqueItems) {
  EXPECT_THAT(Check(R"({"type":"array","x-kubernetes-list-type":"set","items":{"type":"string"}})", R"(["a","b","a","a"])"),
              ElementsAre(R"(spec.v[2]: Duplicate value: "a")"));
  EXPECT_THAT(
      Check(R"({"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["name"],"items":{"type":"object","properties":
                      {"name":{"type":"string"}}}})",
            R"([{"name":"a"},{"name":"b"},{"name":"a"}])"),
      ElementsAre(R"(spec.v[2]: Duplicate value: {"name":"a"})"));
}

TEST(ValidateTest, OldErrorsInUnchangedPartsPass) {
  auto schema = Make(R"({"type":"object","properties":{"a":{"type":"string","maxLength":1},"b":{"type":"string"},
    "l":{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["k"],"items":{"type":"object","properties":{
      "k":{"type":"string"},"v":{"type":"string","maxLength":1}}}}}})");
  Value old = Widget(R"({"a":"long","b":"x","l":[{"k":"1","v":"long"}]})");
  EXPECT_EQ(schema->Validate(old, nullptr).size(), 2U);
  EXPECT_THAT(schema->Validate(Widget(R"({"a":"long","b":"y","l":[{"k":"0"},{"k":"1","v":"long"}]})"), &old), IsEmpty());
  EXPECT_THAT(Texts(schema->Validate(Widget(R"({"a":"longer","b":"y"})"), &old)),
              ElementsAre("spec.a: Too long: may not be more than 1 byte"));
}

TEST(ValidateTest, StatusIsCheckedAlone) {
  auto schema =
      StructuralSchema::Make(Json(R"({"type":"object","properties":{"spec":{"type":"object","properties":{"a":{"type":"integer"}}},
    "status":{"type":"object","properties":{"b":{"type":"integer"}}}}})"));
  Value v = Json(R"({"spec":{"a":"x"},"status":{"b":"x"}})");
  EXPECT_THAT(Texts(schema->ValidateStatus(v, nullptr)),
              ElementsAre(R"(status.b: Invalid value: "string": b in body must be of type integer: "string")"));
}

TEST(ValidateTest, EmbeddedObjectsNeedTypeAndGoodNames) {
  auto schema = Make(R"({"type":"object","x-kubernetes-embedded-resource":true,"x-kubernetes-preserve-unknown-fields":true})");
  EXPECT_THAT(Texts(schema->Validate(Widget("{}"), nullptr)), ElementsAre("spec.apiVersion: Required value", "spec.kind: Required value"));
  EXPECT_EQ(schema->Validate(Widget(R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"a/b"}})"), nullptr).size(), 1U);
}

struct FormatCase {
  std::string_view format, good, bad;
};

TEST(FormatTest, KnowsTheFormatsOfTheServer) {
  const FormatCase cases[] = {
      {"date-time", "2024-02-29T00:00:00Z", "2023-02-29T00:00:00Z"},
      {"date-time", "2024-01-01t00:00:00.123+01:00", "2024-01-01T24:00:00Z"},
      {"date", "2024-02-29", "2024-2-29"},
      {"duration", "1h30m", "1x"},
      {"duration", "3 days", "days"},
      {"uuid", "F47AC10B-58cc-4372-a567-0e02b2c3d479", "f47ac10b"},
      {"uuid4", "f47ac10b-58cc-4372-a567-0e02b2c3d479", "f47ac10b-58cc-1372-a567-0e02b2c3d479"},
      {"email", "a@b.c", "a@"},
      {"email", "Jo <a@b.c>", "@b"},
      {"ipv4", "1.2.3.4", "1.2.3.256"},
      {"ipv6", "::1", "1.2.3.4"},
      {"cidr", "10.0.0.0/8", "10.0.0.0/33"},
      {"cidr", "::/0", "::/129"},
      {"mac", "00:11:22:33:44:55", "00:11:22:33:44"},
      {"uri", "http://x.y/z?q", "rel/path"},
      {"hostname", "example.com", "-bad"},
      {"byte", "aGk=", "aGk"},
      {"hexcolor", "#fff", "#ffff"},
      {"rgbcolor", "rgb(1,2,3)", "rgb(1,2,300)"},
      {"ssn", "123-45-6789", "1"},
      {"isbn", "978-0321751041", "978-0321751042"},
      {"creditcard", "4111111111111111", "4111111111111112"},
      {"bsonobjectid", "507f1f77bcf86cd799439011", "x"},
      {"k8s-short-name", "web-1", "Web"},
      {"k8s-long-name", "a.b-c", "a..b"},
  };
  for (const FormatCase& c : cases) {
    EXPECT_TRUE(IsKnownFormat(c.format)) << c.format;
    EXPECT_TRUE(MatchesFormat(c.format, c.good)) << c.format << " " << c.good;
    EXPECT_FALSE(MatchesFormat(c.format, c.bad)) << c.format << " " << c.bad;
  }
  EXPECT_TRUE(MatchesFormat("whatever", "x"));
  EXPECT_THAT(Check(R"({"type":"string","format":"date-time"})", R"("x")"),
              ElementsAre(R"(spec.v: Invalid value: "x": spec.v in body must be of type date-time: "x")"));
}

TEST(PatternTest, SpeaksOfErrorsAsGoDoes) {
  EXPECT_EQ(Pattern("(").error(), "error parsing regexp: missing closing ): `(`");
  EXPECT_EQ(Pattern("a**").error(), "error parsing regexp: invalid nested repetition operator: `**`");
  EXPECT_EQ(Pattern("(?<name>a)").error(), "");
  EXPECT_TRUE(Pattern("(?<name>a)[(?<]").Matches("xa("));
  EXPECT_FALSE(Pattern("(").Matches("("));
  // What makes backtracking matchers run for years.
  EXPECT_FALSE(Pattern("^(a+)+$").Matches(std::string(10000, 'a') + "b"));
}

TEST(CheckCrdSchemaTest, SaysWhatIsNotStructural) {
  EXPECT_THAT(
      Texts(CheckCrdSchema(Json(R"({"type":"object","properties":{"spec":{"properties":{"a":{"type":"array"}}}}})"),
                           "spec.validation.openAPIV3Schema", true)),
      ElementsAre("spec.validation.openAPIV3Schema.properties[spec].properties[a].items: Required value: must be specified",
                  "spec.validation.openAPIV3Schema.properties[spec].type: Required value: must not be empty for specified object fields"));
  EXPECT_THAT(Texts(CheckCrdSchema(Json(R"({"type":"object","properties":{"a":{"type":"string","anyOf":[{"type":"integer"}]}},
                                            "allOf":[{"properties":{"c":{"minimum":1}}}]})"),
                                   "s", false)),
              ElementsAre("s.properties[a].anyOf[0].type: Forbidden: must be empty to be structural",
                          "s.properties[c]: Required value: because it is defined in s.allOf[0].properties[c]"));
}

TEST(CheckCrdSchemaTest, SaysWhatElseIsWrong) {
  auto check = [](std::string_view property) {
    return Texts(CheckCrdSchema(Json(R"({"type":"object","properties":{"p":)" + std::string(property) + "}}"), "s", false));
  };
  EXPECT_THAT(check(R"({"type":"foo"})"), ElementsAre(R"(s.properties[p].type: Unsupported value: "foo": )"
                                                      R"(supported values: "array", "boolean", "integer", "number", "object", "string")"));
  EXPECT_THAT(check(R"({"type":"string","default":1})"),
              ElementsAre(R"(s.properties[p].default: Invalid value: "integer":  in body must be of type string: "integer")"));
  EXPECT_THAT(check(R"({"type":"object","properties":{"a":{"type":"string"}},"default":{"b":1}})"),
              ElementsAre(R"(s.properties[p].default: Invalid value: {"b":1}: must not have unknown fields)"));
  EXPECT_THAT(
      check(R"({"type":"array","items":{"type":"object","properties":{"a":{"type":"string"}}},"x-kubernetes-list-type":"map",
                        "x-kubernetes-list-map-keys":["a"]})"),
      ElementsAre("s.properties[p].items.properties[a].default: Required value: this property is in x-kubernetes-list-map-keys, so it must "
                  "have a default or be a required property"));
  EXPECT_THAT(check(R"({"$ref":"x"})"), ElementsAre("s.properties[p].$ref: Forbidden: $ref is not supported"));
  EXPECT_THAT(check(R"({"type":"string","pattern":"("})"),
              ElementsAre(R"(s.properties[p].pattern: Invalid value: "(": must be a valid regular expression, but isn't: )"
                          R"(error parsing regexp: missing closing ): `(`)"));
  EXPECT_THAT(
      check(R"({"type":"array","uniqueItems":true,"items":{"type":"string"}})"),
      ElementsAre(
          "s.properties[p].uniqueItems: Forbidden: uniqueItems cannot be set to true since the runtime complexity becomes quadratic"));
}

TEST(CheckCrdSchemaTest, SaysWhatIsWrongWithTheKeysOfRules) {
  auto check = [](std::string_view keys) {
    const std::string rules = R"("x-kubernetes-validations":[{"rule":"true",)" + std::string(keys) + "}]}";
    const std::string schema = R"({"type":"object","properties":{"a.b":{"type":"object","additionalProperties":{"type":"object",
        "properties":{"it's":{"type":"string"}}}},"list":{"type":"array","items":{"type":"object","properties":{"x":{"type":"string"}}}}},)";
    return Texts(CheckCrdSchema(Json(schema + rules), "s", false));
  };
  const std::string at = "s.x-kubernetes-validations[0].";
  for (const char* path : {".list", "['a.b']", "['a.b'].any", "['a.b']['any.key']['it\\\\'s']"}) {
    EXPECT_THAT(check(R"("fieldPath":")" + std::string(path) + '"'), IsEmpty()) << path;
  }
  for (const char* path :
       {"list", ".none", ".list.x", ".list[0]", ".a.b", "['a.b", "['a.b'", "[a]", ".", "..", "['\\\\x']", "['a.b'].any.none"}) {
    EXPECT_THAT(check(R"("fieldPath":")" + std::string(path) + '"'), ElementsAre(testing::HasSubstr("must be a valid path"))) << path;
  }
  EXPECT_THAT(check(R"("fieldPath":".none")"), ElementsAre(at + R"(fieldPath: Invalid value: ".none": must be a valid path)"));
  EXPECT_THAT(check(R"("reason":"Because")"),
              ElementsAre(at + R"(reason: Unsupported value: "Because": supported values: "FieldValueDuplicate", )"
                               R"("FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired")"));
  EXPECT_THAT(check(R"("messageExpression":" ")"),
              ElementsAre(at + "messageExpression: Required value: messageExpression must be non-empty if specified"));
}

TEST(CheckCrdSchemaTest, MetadataMayOnlyRestrictNames) {
  auto check = [](std::string_view metadata) {
    return Texts(CheckCrdSchema(Json(R"({"type":"object","properties":{"metadata":)" + std::string(metadata) + "}}"), "s", false));
  };
  EXPECT_THAT(check(R"({"type":"object"})"), IsEmpty());
  EXPECT_THAT(check(R"({"type":"object","properties":{"name":{"type":"string","pattern":"^x"}}})"), IsEmpty());
  EXPECT_THAT(check(R"({"type":"object","properties":{"labels":{"type":"object"}}})"),
              ElementsAre("s.properties[metadata]: Forbidden: must not specify anything other than name and generateName, but metadata is "
                          "implicitly specified"));
}

TEST(StructuralSchemaTest, RemembersCelRules) {
  EXPECT_FALSE(Make(R"({"type":"object"})")->has_cel_rules());
  EXPECT_TRUE(Make(R"({"type":"object","properties":{"a":{"type":"string","x-kubernetes-validations":[{"rule":"self == 'x'"}]}}})")
                  ->has_cel_rules());
}

TEST(StructuralSchemaTest, DeepSchemasAndValuesDoNotOverflow) {
  Value schema = Json(R"({"type":"string","default":"x"})");
  for (int i = 0; i < 480; ++i) schema = Value::Object({{"type", "object"}, {"properties", Value::Object({{"p", schema}})}});
  Value value = 1;
  for (int i = 0; i < 480; ++i) value = Value::Object({{"p", value}});
  EXPECT_THAT(CheckCrdSchema(schema, "s", false), IsEmpty());
  auto structural = StructuralSchema::Make(schema);
  Value copy = value;
  EXPECT_TRUE(structural->Normalize(copy).ok());
  EXPECT_EQ(structural->Validate(copy, &value).size(), 0U);
  EXPECT_EQ(structural->Validate(copy, nullptr).size(), 1U);
  // And values that are deeper than the schema.
  auto any = Make(R"({"x-kubernetes-preserve-unknown-fields":true})");
  Value deep = Value::Object({{"spec", value}});
  EXPECT_TRUE(any->Normalize(deep).ok());
}

}  // namespace
}  // namespace kube::apiserver
