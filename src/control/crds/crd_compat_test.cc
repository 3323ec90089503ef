#include "kube/control/crd_compat.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace kube {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// A definition with these versions; `more` goes below its spec, `status` is the whole status.
DynamicObject Crd(const std::string& versions, const std::string& more = "", const std::string& status = "") {
  return *DynamicObject::FromYaml(R"(
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: widgets, kind: Widget, shortNames: [w, wi]}
  versions: )" + versions + "\n" + (more.empty() ? "" : "  " + more + "\n") +
                                  (status.empty() ? "" : "status: " + status + "\n"));
}
std::string Version(const std::string& name, bool served, bool storage, const std::string& schema = "{type: object}",
                    const std::string& more = "") {
  return std::string("{name: ") + name + ", served: " + (served ? "true" : "false") + ", storage: " + (storage ? "true" : "false") +
         ", schema: {openAPIV3Schema: " + schema + "}" + (more.empty() ? "" : ", " + more) + "}";
}
// Objects with one field, which has this schema.
DynamicObject WithField(const std::string& schema, const std::string& required = "") {
  return Crd("[" +
             Version("v1", true, true,
                     "{type: object, properties: {spec: {type: object" + (required.empty() ? "" : ", required: " + required) +
                         ", properties: {a: " + schema + "}}}}") +
             "]");
}
std::vector<std::string> Texts(const std::vector<CrdFinding>& findings) {
  std::vector<std::string> out;
  for (const CrdFinding& finding : findings) out.push_back(finding.ToString());
  return out;
}

struct FieldCase {
  const char* old;
  const char* next;
  const char* expected;  // one finding; "": none
};
// The name of the test, which must be the same in each run.
void PrintTo(const FieldCase& c, std::ostream* out) { *out << c.old << " " << c.next; }
class CrdCompatFieldTest : public ::testing::TestWithParam<FieldCase> {};

TEST_P(CrdCompatFieldTest, SaysWhatTheChangeBreaks) {
  const std::vector<std::string> found = Texts(CompareCrds(WithField(GetParam().old), WithField(GetParam().next)));
  if (std::string(GetParam().expected).empty()) {
    EXPECT_THAT(found, IsEmpty());
  } else {
    EXPECT_THAT(found, ElementsAre(GetParam().expected));
  }
}

INSTANTIATE_TEST_SUITE_P(
    Field, CrdCompatFieldTest,
    ::testing::Values(
        FieldCase{"{type: string}", "{type: string, description: x, title: t}", ""},
        // Types.
        FieldCase{"{type: string}", "{type: integer}", "v1 .spec.a: type changed from string to integer [breaks stored objects]"},
        FieldCase{"{type: integer}", "{type: number}", "v1 .spec.a: type changed from integer to number [harmless]"},
        FieldCase{"{type: number}", "{type: integer}", "v1 .spec.a: type changed from number to integer [breaks stored objects]"},
        FieldCase{"{type: integer}", "{x-kubernetes-int-or-string: true}",
                  "v1 .spec.a: type changed from integer to integer or string: clients that expect the old type cannot read other values "
                  "[breaks clients]"},
        FieldCase{"{x-kubernetes-int-or-string: true}", "{type: string}",
                  "v1 .spec.a: type changed from integer or string to string [breaks stored objects]"},
        FieldCase{
            "{type: object}", "{x-kubernetes-preserve-unknown-fields: true}",
            "v1 .spec.a: type changed from object to any: clients that expect the old type cannot read other values [breaks clients]"},
        // Numbers.
        FieldCase{"{type: integer, maximum: 10}", "{type: integer, maximum: 5}",
                  "v1 .spec.a: maximum lowered from 10 to 5 [breaks stored objects]"},
        FieldCase{"{type: integer, maximum: 5}", "{type: integer, maximum: 10}", "v1 .spec.a: maximum raised from 5 to 10 [harmless]"},
        FieldCase{"{type: integer}", "{type: integer, maximum: 5}", "v1 .spec.a: maximum of 5 added [breaks stored objects]"},
        FieldCase{"{type: integer, maximum: 5}", "{type: integer}", "v1 .spec.a: maximum of 5 removed [harmless]"},
        FieldCase{"{type: integer, minimum: 1}", "{type: integer, minimum: 2}",
                  "v1 .spec.a: minimum raised from 1 to 2 [breaks stored objects]"},
        FieldCase{"{type: integer, minimum: 2}", "{type: integer, minimum: 1}", "v1 .spec.a: minimum lowered from 2 to 1 [harmless]"},
        FieldCase{"{type: integer}", "{type: integer, minimum: 0}", "v1 .spec.a: minimum of 0 added [breaks stored objects]"},
        FieldCase{"{type: integer, maximum: 5}", "{type: integer, maximum: 5, exclusiveMaximum: true}",
                  "v1 .spec.a: exclusiveMaximum added [breaks stored objects]"},
        FieldCase{"{type: integer, minimum: 5, exclusiveMinimum: true}", "{type: integer, minimum: 5}",
                  "v1 .spec.a: exclusiveMinimum removed [harmless]"},
        FieldCase{"{type: integer}", "{type: integer, multipleOf: 4}", "v1 .spec.a: multipleOf 4 added [breaks stored objects]"},
        FieldCase{"{type: integer, multipleOf: 4}", "{type: integer, multipleOf: 2}",
                  "v1 .spec.a: multipleOf changed from 4 to 2 [harmless]"},
        FieldCase{"{type: integer, multipleOf: 4}", "{type: integer, multipleOf: 3}",
                  "v1 .spec.a: multipleOf changed from 4 to 3 [breaks stored objects]"},
        FieldCase{"{type: integer, multipleOf: 4}", "{type: integer}", "v1 .spec.a: multipleOf 4 removed [harmless]"},
        FieldCase{"{type: integer, format: int64}", "{type: integer, format: int32}",
                  "v1 .spec.a: format changed from \"int64\" to \"int32\" [breaks stored objects]"},
        FieldCase{"{type: integer, format: int32}", "{type: integer, format: int64}",
                  "v1 .spec.a: format changed from \"int32\" to \"int64\" [harmless]"},
        // Strings.
        FieldCase{"{type: string, maxLength: 9}", "{type: string, maxLength: 8}",
                  "v1 .spec.a: maxLength lowered from 9 to 8 [breaks stored objects]"},
        FieldCase{"{type: string}", "{type: string, minLength: 0}", "v1 .spec.a: minLength of 0 added [harmless]"},
        FieldCase{"{type: string}", "{type: string, minLength: 1}", "v1 .spec.a: minLength of 1 added [breaks stored objects]"},
        FieldCase{"{type: string}", "{type: string, pattern: '^a$'}", "v1 .spec.a: pattern \"^a$\" added [breaks stored objects]"},
        FieldCase{"{type: string, pattern: '^a$'}", "{type: string, pattern: '^ab$'}",
                  "v1 .spec.a: pattern changed from \"^a$\" to \"^ab$\" [breaks stored objects]"},
        FieldCase{"{type: string, pattern: '^a$'}", "{type: string}", "v1 .spec.a: pattern \"^a$\" removed [harmless]"},
        FieldCase{"{type: string}", "{type: string, format: date}", "v1 .spec.a: format \"date\" added [breaks stored objects]"},
        FieldCase{"{type: string, enum: [x, z]}", "{type: string, enum: [x]}",
                  "v1 .spec.a: enum value \"z\" removed [breaks stored objects]"},
        FieldCase{"{type: string, enum: [x]}", "{type: string, enum: [x, z]}", "v1 .spec.a: enum value \"z\" added [harmless]"},
        FieldCase{"{type: string}", "{type: string, enum: [x]}", "v1 .spec.a: enum [\"x\"] added [breaks stored objects]"},
        FieldCase{"{type: string, enum: [x]}", "{type: string}", "v1 .spec.a: enum removed [harmless]"},
        // Lists and maps.
        FieldCase{"{type: array, items: {type: string}, maxItems: 3}", "{type: array, items: {type: string}, maxItems: 2}",
                  "v1 .spec.a: maxItems lowered from 3 to 2 [breaks stored objects]"},
        FieldCase{"{type: array, items: {type: string}}", "{type: array, items: {type: string, maxLength: 2}}",
                  "v1 .spec.a[*]: maxLength of 2 added [breaks stored objects]"},
        FieldCase{"{type: array, items: {type: string}}", "{type: array, items: {type: string}, x-kubernetes-list-type: set}",
                  "v1 .spec.a: list type changed from atomic to set: lists with duplicates are refused [breaks stored objects]"},
        FieldCase{"{type: array, items: {type: string}, x-kubernetes-list-type: set}", "{type: array, items: {type: string}}",
                  "v1 .spec.a: list type changed from set to atomic: server-side apply replaces the whole list [breaks clients]"},
        FieldCase{"{type: array, items: {type: string}}", "{type: array, items: {type: string}, x-kubernetes-list-type: atomic}", ""},
        FieldCase{"{type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [k], items: {type: object}}",
                  "{type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [k, l], items: {type: object}}",
                  "v1 .spec.a: list map keys changed from [\"k\"] to [\"k\",\"l\"] [breaks stored objects]"},
        FieldCase{"{type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [k, l], items: {type: object}}",
                  "{type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [l, k], items: {type: object}}", ""},
        FieldCase{"{type: object}", "{type: object, x-kubernetes-map-type: atomic}",
                  "v1 .spec.a: map type changed from granular to atomic: server-side apply assigns ownership otherwise [breaks clients]"},
        FieldCase{"{type: object, additionalProperties: {type: string}}",
                  "{type: object, additionalProperties: {type: string, maxLength: 2}}",
                  "v1 .spec.a[*]: maxLength of 2 added [breaks stored objects]"},
        FieldCase{"{type: object, additionalProperties: {type: string}}", "{type: object, additionalProperties: {type: integer}}",
                  "v1 .spec.a[*]: type changed from string to integer [breaks stored objects]"},
        FieldCase{"{type: object, additionalProperties: {type: string}}", "{type: object}",
                  "v1 .spec.a: additionalProperties removed: members that the schema does not name are pruned [breaks stored objects]"},
        // Objects.
        FieldCase{"{type: object, properties: {b: {type: string}}}", "{type: object}",
                  "v1 .spec.a.b: removed: its values are pruned [breaks stored objects]"},
        FieldCase{"{type: object}", "{type: object, properties: {b: {type: string}}}", "v1 .spec.a.b: added [harmless]"},
        FieldCase{"{type: object, properties: {b: {type: string}}}", "{type: object, additionalProperties: {type: string}}", ""},
        FieldCase{"{type: object, properties: {b: {type: string}}, required: [b]}", "{type: object, properties: {b: {type: string}}}",
                  "v1 .spec.a.b: no longer required [harmless]"},
        FieldCase{"{type: object, properties: {b: {type: string}}}", "{type: object, properties: {b: {type: string}}, required: [b]}",
                  "v1 .spec.a.b: required from now on, and has no default [breaks stored objects]"},
        FieldCase{"{type: object, properties: {b: {type: string, default: x}}}",
                  "{type: object, properties: {b: {type: string, default: x}}, required: [b]}",
                  "v1 .spec.a.b: required from now on, and has a default [harmless]"},
        FieldCase{"{type: object, x-kubernetes-preserve-unknown-fields: true}", "{type: object}",
                  "v1 .spec.a: no longer keeps unknown fields: fields that the schema does not have are pruned [breaks stored objects]"},
        FieldCase{"{type: object}", "{type: object, x-kubernetes-preserve-unknown-fields: true}",
                  "v1 .spec.a: keeps unknown fields from now on [harmless]"},
        FieldCase{"{type: object, x-kubernetes-preserve-unknown-fields: true, properties: {b: {type: string}}}",
                  "{type: object, x-kubernetes-preserve-unknown-fields: true}",
                  "v1 .spec.a.b: removed from the schema; values are kept unchecked [harmless]"},
        FieldCase{"{type: object, x-kubernetes-preserve-unknown-fields: true}",
                  "{type: object, x-kubernetes-preserve-unknown-fields: true, properties: {b: {type: string}}}",
                  "v1 .spec.a.b: has a schema from now on: values that were kept unchecked may not fit [breaks stored objects]"},
        FieldCase{"{type: object, minProperties: 1}", "{type: object, minProperties: 2}",
                  "v1 .spec.a: minProperties raised from 1 to 2 [breaks stored objects]"},
        FieldCase{"{type: object, x-kubernetes-preserve-unknown-fields: true}",
                  "{type: object, x-kubernetes-preserve-unknown-fields: true, x-kubernetes-embedded-resource: true}",
                  "v1 .spec.a: is an embedded resource from now on: values need an apiVersion and a kind [breaks stored objects]"},
        // Null, defaults, rules.
        FieldCase{"{type: string, nullable: true}", "{type: string}", "v1 .spec.a: may no longer be null [breaks stored objects]"},
        FieldCase{"{type: string}", "{type: string, nullable: true}", "v1 .spec.a: may be null from now on [harmless]"},
        FieldCase{"{type: string, default: x}", "{type: string, default: z}",
                  "v1 .spec.a: default changed from \"x\" to \"z\" [breaks clients]"},
        FieldCase{"{type: string, default: x}", "{type: string}", "v1 .spec.a: default \"x\" removed [breaks clients]"},
        FieldCase{"{type: string}", "{type: string, default: x}", "v1 .spec.a: default \"x\" added [harmless]"},
        FieldCase{
            "{type: string}", "{type: string, x-kubernetes-validations: [{rule: 'self != \"\"'}]}",
            "v1 .spec.a: rule added: self != \"\": servers before 1.30 refuse updates of objects that break it, newer ones let unchanged "
            "values stay [breaks stored objects]"},
        FieldCase{"{type: string}", "{type: string, x-kubernetes-validations: [{rule: 'self == oldSelf'}]}",
                  "v1 .spec.a: rule added: self == oldSelf: it limits updates [breaks clients]"},
        FieldCase{"{type: string, x-kubernetes-validations: [{rule: 'self != \"\"'}]}", "{type: string}",
                  "v1 .spec.a: rule removed: self != \"\" [harmless]"},
        FieldCase{"{type: string, x-kubernetes-validations: [{rule: 'true', message: m}]}",
                  "{type: string, x-kubernetes-validations: [{rule: 'true', message: n}]}", ""},
        FieldCase{"{type: string}", "{type: string, anyOf: [{minLength: 1}, {maxLength: 0}]}",
                  "v1 .spec.a: anyOf added [breaks stored objects]"},
        FieldCase{"{type: string, not: {enum: [x]}}", "{type: string}", "v1 .spec.a: not removed [harmless]"}));

TEST(CrdCompatTest, NamesAndScope) {
  DynamicObject old = Crd("[" + Version("v1", true, true) + "]"), next = old;
  EXPECT_THAT(CompareCrds(old, next), IsEmpty());
  Value& spec = next.mutable_value()["spec"];
  spec["group"] = "other.com";
  spec["scope"] = "Cluster";
  spec["names"] = Value::Object({{"plural", "gadgets"}, {"kind", "Gadget"}, {"shortNames", Value::Array({Value("w")})}});
  const std::string text = ": that is another resource, and existing objects do not belong to it [breaks stored objects]";
  EXPECT_THAT(
      Texts(CompareCrds(old, next)),
      ElementsAre("spec.group: changed from example.com to other.com" + text, "spec.scope: changed from Namespaced to Cluster" + text,
                  "spec.names.plural: changed from widgets to gadgets" + text, "spec.names.kind: changed from Widget to Gadget" + text,
                  "spec.names.shortNames: wi removed [breaks clients]"));
}

TEST(CrdCompatTest, VersionsThatGo) {
  const DynamicObject old =
      Crd("[" + Version("v1", true, false) + ", " + Version("v2", true, true) + ", " + Version("v0", false, false) + "]", "",
          "{storedVersions: [v1, v2]}");
  EXPECT_THAT(
      Texts(CompareCrds(old, Crd("[" + Version("v2", true, true) + "]"))),
      ElementsAre("spec.versions: version v1 removed, but status.storedVersions has it: objects may be stored in it; migrate the storage "
                  "first [breaks stored objects]",
                  "spec.versions: version v0 removed, which was not served [harmless]"));
  DynamicObject migrated = old;
  migrated.mutable_value()["status"]["storedVersions"] = Value::Array({Value("v2")});
  EXPECT_THAT(Texts(CompareCrds(migrated, Crd("[" + Version("v2", true, true) + ", " + Version("v0", false, false) + "]"))),
              ElementsAre("spec.versions: served version v1 removed [breaks clients]"));
  EXPECT_THAT(Texts(CompareCrds(migrated, Crd("[" + Version("v2", true, true) + ", " + Version("v1", false, false) + ", " +
                                              Version("v0", false, false) + ", " + Version("v3", true, false) + "]"))),
              ElementsAre("v1: no longer served [breaks clients]", "spec.versions: version v3 added [harmless]"));
  // Without a status the storage version is what objects are stored in.
  EXPECT_THAT(Texts(CompareCrds(Crd("[" + Version("v1", true, true) + "]"), Crd("[" + Version("v2", true, true) + "]")))[0],
              HasSubstr("version v1 removed, but status.storedVersions has it"));
}

TEST(CrdCompatTest, StorageVersionWithOtherFields) {
  const std::string one = "{type: object, properties: {spec: {type: object, properties: {a: {type: string}}}}}";
  const std::string two = "{type: object, properties: {spec: {type: object, properties: {b: {type: string}}}}}";
  const DynamicObject old = Crd("[" + Version("v1", true, true, one) + "]");
  const std::string versions = "[" + Version("v1", true, false, one) + ", " + Version("v2", true, true, two) + "]";
  EXPECT_THAT(Texts(CompareCrds(old, Crd(versions))),
              ElementsAre("v2 .spec.a: objects stored in v1: removed: its values are pruned [breaks stored objects]",
                          "spec.versions: version v2 added [harmless]",
                          "spec.versions: storage version changed from v1 to v2: objects are rewritten when they are next written, or by "
                          "migrating the storage [harmless]"));
  // A webhook converts them.
  EXPECT_THAT(Texts(CompareCrds(old, Crd(versions, "conversion: {strategy: Webhook}"))),
              ElementsAre(HasSubstr("version v2 added"), HasSubstr("storage version changed"),
                          HasSubstr("strategy: changed from None to Webhook")));
}

TEST(CrdCompatTest, ConversionStrategy) {
  const std::string versions = "[" + Version("v1", true, true) + ", " + Version("v2", true, false) + "]";
  EXPECT_THAT(
      Texts(CompareCrds(Crd(versions, "conversion: {strategy: Webhook}"), Crd(versions))),
      ElementsAre("spec.conversion.strategy: changed from Webhook to None: fields that differ between the versions are pruned instead of "
                  "converted [breaks stored objects]"));
  const std::string single = "[" + Version("v1", true, true) + "]";
  EXPECT_THAT(Texts(CompareCrds(Crd(single, "conversion: {strategy: Webhook}"), Crd(single, "conversion: {strategy: None}"))),
              ElementsAre("spec.conversion.strategy: changed from Webhook to None [harmless]"));
}

TEST(CrdCompatTest, SubresourcesAndSelectableFields) {
  auto crd = [](const std::string& more) { return Crd("[" + Version("v1", true, true, "{type: object}", more) + "]"); };
  EXPECT_THAT(
      Texts(CompareCrds(crd(""), crd("subresources: {status: {}}"))),
      ElementsAre("v1 .status: status subresource added: writes of the object ignore .status from now on, it has to be written by /status "
                  "[breaks clients]"));
  EXPECT_THAT(
      Texts(CompareCrds(crd("subresources: {status: {}}"), crd(""))),
      ElementsAre("v1 .status: status subresource removed: requests to /status fail, and writes of the object replace .status [breaks "
                  "clients]"));
  const std::string scale = "subresources: {scale: {specReplicasPath: .spec.a, statusReplicasPath: .status.a}}";
  EXPECT_THAT(Texts(CompareCrds(crd(scale), crd(""))),
              ElementsAre("v1 .: scale subresource removed: autoscalers and kubectl scale fail [breaks clients]"));
  EXPECT_THAT(Texts(CompareCrds(crd(""), crd(scale))), ElementsAre("v1 .: scale subresource added [harmless]"));
  EXPECT_THAT(Texts(CompareCrds(crd(scale), crd("subresources: {scale: {specReplicasPath: .spec.b, statusReplicasPath: .status.a}}"))),
              ElementsAre("v1 .: specReplicasPath of scale changed from .spec.a to .spec.b [breaks clients]"));
  EXPECT_THAT(Texts(CompareCrds(crd("selectableFields: [{jsonPath: .spec.a}]"), crd(""))),
              ElementsAre("v1 .spec.a: no longer a selectable field: field selectors on it fail [breaks clients]"));
}

TEST(CrdCompatTest, PreserveUnknownFieldsOfTheWholeDefinition) {
  const std::string versions = "[" + Version("v1", true, true) + "]";
  EXPECT_THAT(
      Texts(CompareCrds(Crd(versions, "preserveUnknownFields: true"), Crd(versions))),
      ElementsAre("spec.preserveUnknownFields: switched off: fields that the schema does not have are pruned [breaks stored objects]"));
}

TEST(CrdCompatTest, WorstFindingsComeFirst) {
  const std::vector<CrdFinding> found =
      CompareCrds(WithField("{type: object, properties: {b: {type: string, default: x}, c: {type: string}}}"),
                  WithField("{type: object, properties: {b: {type: string, default: z}, d: {type: string}}}"));
  ASSERT_EQ(found.size(), 3u);
  EXPECT_EQ(found[0].severity, CrdSeverity::kBreaksStored);
  EXPECT_EQ(found[1].severity, CrdSeverity::kBreaksClients);
  EXPECT_EQ(found[2].severity, CrdSeverity::kHarmless);
  EXPECT_FALSE(found[2].breaks());
}

// Values that no server would give must not end the process.
TEST(CrdCompatTest, TakesObjectsThatAreNoDefinitions) {
  EXPECT_THAT(CompareCrds(DynamicObject(), DynamicObject()), IsEmpty());
  EXPECT_THAT(CompareCrds(*DynamicObject::FromYaml("{kind: X, spec: {versions: [1, {name: v1, schema: []}]}}"),
                          *DynamicObject::FromYaml("{kind: X, spec: {versions: {a: b}}}")),
              testing::SizeIs(testing::Ge(1u)));
}

}  // namespace
}  // namespace kube
