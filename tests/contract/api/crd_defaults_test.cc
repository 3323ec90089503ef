// Custom resources as the store has them and as they are read: defaults, pruning, nulls.
#include "contract.h"
#include "texts.h"

namespace kube::contract {
namespace {

CONTRACT_SUITE(CrdDefaultsContract);

const std::string kCrd = std::string(kCrds) + "/widgets.{id}.example.com";
constexpr const char* kV1 = "/apis/{id}.example.com/v1/namespaces/{ns}/widgets";
constexpr const char* kV2 = "/apis/{id}.example.com/v2/namespaces/{ns}/widgets";

// Two versions with these schemas of `spec`; v1 is stored.
std::string TwoVersions(const std::string& v1, const std::string& v2) {
  return R"(
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.{id}.example.com}
spec:
  group: {id}.example.com
  scope: Namespaced
  names: {plural: widgets, kind: Widget}
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {spec: )" +
         v1 + R"(}}}}
  - {name: v2, served: true, storage: false, schema: {openAPIV3Schema: {type: object, properties: {spec: )" +
         v2 + "}}}}\n";
}

TEST_P(CrdDefaultsContract, NewDefaultsShowInOldObjects) {
  CreateCrd(
      TwoVersions("{type: object, properties: {a: {type: string}, b: {type: string}}}", "{type: object, properties: {a: {type: string}}}"));
  EXPECT_CODE(Post(kV1, R"({"apiVersion":"{id}.example.com/v1","kind":"Widget","metadata":{"name":"a"},"spec":{"b":"x"}})"), 201);
  EXPECT_CODE(Patch(kCrd, "json", R"([
      {"op":"replace","path":"/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties",
       "value":{"a":{"type":"string","default":"one"},"c":{"type":"integer","default":3}}}])"),
              200);
  const std::string path = std::string(kV1) + "/a";
  Answer got = GetUntil(path, [](const Answer& a) { return !a.body["spec"]["a"].is_null(); });
  EXPECT_VALUE(got.body["spec"], R"(
a: one
c: 3
)");
  EXPECT_VALUE(Get(kV1).body["items"].list()[0]["spec"], R"(
a: one
c: 3
)");
  EXPECT_VALUE(Get(std::string(kV2) + "/a").body["spec"], R"(
a: one
)");
  Value event = Watch(std::string(kV1) + "?watch=1")->Next();
  EXPECT_VALUE(event["object"]["spec"], R"(
a: one
c: 3
)");
  // Reading writes nothing: the version is the old one, and so is the generation.
  EXPECT_EQ(got.body["metadata"]["generation"], Value(1));
  // A change of something else writes what was read.
  Answer patched = Patch(path, "merge", R"({"metadata":{"labels":{"x":"y"}}})");
  EXPECT_CODE(patched, 200);
  EXPECT_VALUE(patched.body["spec"], R"(
a: one
c: 3
)");
  EXPECT_EQ(patched.body["metadata"]["generation"], Value(1));
}

TEST_P(CrdDefaultsContract, DefaultsOfTheStoredVersionAreSetByWritesOfAnother) {
  CreateCrd(TwoVersions("{type: object, properties: {a: {type: string, default: one}, b: {type: string, default: two}}}",
                        "{type: object, properties: {b: {type: string}, a: {type: string}, c: {type: string, default: three}}}"));
  Answer made = Post(kV2, R"({"apiVersion":"{id}.example.com/v2","kind":"Widget","metadata":{"name":"a"},"spec":{}})");
  EXPECT_CODE(made, 201);
  EXPECT_VALUE(made.body["spec"], R"(
a: one
b: two
)");
  EXPECT_VALUE(Get(std::string(kV1) + "/a").body["spec"], R"(
a: one
b: two
)");
  // The other version's defaults are for requests in it only.
  EXPECT_VALUE(Get(std::string(kV2) + "/a").body["spec"], R"(
a: one
b: two
)");
  EXPECT_CODE(Post(kV1, R"({"apiVersion":"{id}.example.com/v1","kind":"Widget","metadata":{"name":"b"},"spec":{}})"), 201);
  EXPECT_VALUE(Get(std::string(kV2) + "/b").body["spec"], R"(
a: one
b: two
)");
}

TEST_P(CrdDefaultsContract, AppliedNullIsRefusedWhereItMustNotBe) {
  CreateCrd(
      TwoVersions("{type: object, properties: {box: {type: object, properties: {a: {type: string}}}, full: {type: object, default: {a: x}, "
                  "properties: {a: {type: "
                  "string}}}, text: {type: string}, maybe: {type: object, nullable: true, properties: {a: {type: string}}}}}",
                  "{type: object}"));
  auto apply = [&](const std::string& spec) {
    return Apply(std::string(kV1) + "/a", "m", "apiVersion: {id}.example.com/v1\nkind: Widget\nmetadata: {name: a}\nspec: " + spec);
  };
  EXPECT_STATUS(apply("{box: null}"), R"(
code: 422
details:
  causes:
  - field: spec.box
    message: 'Invalid value: "null": spec.box in body must be of type object: "null"'
    reason: FieldValueTypeInvalid
  group: '{id}.example.com'
  kind: Widget
  name: a
message: <of the causes>
reason: Invalid
)");
  EXPECT_STATUS(apply("{text: null}"), R"(
code: 422
details:
  causes:
  - field: spec.text
    message: 'Invalid value: "null": spec.text in body must be of type string: "null"'
    reason: FieldValueTypeInvalid
  group: '{id}.example.com'
  kind: Widget
  name: a
message: <of the causes>
reason: Invalid
)");
  EXPECT_VALUE(apply("{full: null}").body["spec"], R"(
full:
  a: x
)");
  EXPECT_VALUE(apply("{maybe: null, text: x}").body["spec"], R"(
full:
  a: x
maybe: null
text: x
)");
  // The same in a body that is no apply is dropped.
  EXPECT_VALUE(
      Post(kV1, R"({"apiVersion":"{id}.example.com/v1","kind":"Widget","metadata":{"name":"b"},"spec":{"box":null}})").body["spec"], R"(
full:
  a: x
)");
}

}  // namespace
}  // namespace kube::contract
