#include "kube/apiserver/crd_validator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "apiserver/crd_validator_cases.h"
#include "kube/codec/yaml.h"

namespace kube::apiserver {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Value Yaml(const std::string& text) { return ParseYaml(text)->at(0); }
Value Crd() { return Yaml(Replaced(kCasesCrd, "a.com")); }
Value Gadget(const std::string& spec) { return Yaml("{apiVersion: a.com/v1, kind: Gadget, metadata: {name: g}, spec: " + spec + "}"); }

TEST(CrdValidatorTest, SetsDefaultsAndDropsUnknownFields) {
  const CrdValidator validator = CrdValidator::Make(Crd()).value();
  EXPECT_EQ(validator.group(), "a.com");
  EXPECT_EQ(validator.kind(), "Gadget");
  const CrdVerdict verdict = validator.Check(Gadget("{name: abc, x: 1}"));
  ASSERT_FALSE(verdict.error) << verdict.error->ToString();
  EXPECT_THAT(verdict.warnings, ElementsAre("unknown field \"spec.x\""));
  EXPECT_EQ(verdict.object["spec"], Yaml("{name: abc, color: red}"));
  EXPECT_EQ(verdict.object["metadata"]["namespace"].string_value(), "default");
  EXPECT_EQ(verdict.unevaluated_rules, 1u);
}

// As kube-apiserver 1.36 answers. (YAML reads the name `on` of a property as `true`.)
TEST(CrdValidatorTest, ChecksSelectableFields) {
  auto refused = [](std::initializer_list<const char*> paths) {
    Value crd = Crd();
    Value& version = crd["spec"]["versions"].MutableList()[0];
    for (const char* path : paths) version["selectableFields"].MutableList().push_back(Value::Object({{"jsonPath", path}}));
    const Result<CrdValidator> made = CrdValidator::Make(crd);
    std::string out;
    if (made) return out;
    for (const ErrorCause& cause : made.error().causes()) out += cause.field + ": " + cause.message + "\n";
    return out;
  };
  EXPECT_EQ(refused({".spec.name", ".spec.size", ".spec.true", ".spec.labels.x", ".status.replicas"}), "");
  const std::string at = "spec.selectableFields[0].jsonPath: ";
  for (const char* path : {".spec", ".spec.ratio", ".spec.tags", ".spec.labels", ".spec.port"}) {
    EXPECT_EQ(refused({path}),
              at + "Invalid value: \"" + path +
                  "\": must point to a field of type string, boolean or integer. Enum string fields and strings with formats are "
                  "allowed.\n");
  }
  for (const char* path : {".spec.more", ".spec.free.x", ".metadata.name", ".spec.tags.x", ".spec..name"}) {
    EXPECT_EQ(refused({path}), at + "Invalid value: \"" + path + "\": is an invalid path: does not refer to a valid field\n");
  }
  EXPECT_EQ(refused({".spec.tags[0]"}), at + "Invalid value: \".spec.tags[0]\": is an invalid path: array notation is not allowed\n");
  EXPECT_EQ(refused({"{.spec.name}"}), at + "Invalid value: \"{.spec.name}\": is an invalid path: expected [ or . but got: {\n");
  EXPECT_EQ(refused({".spec."}), at + "Invalid value: \".spec.\": is an invalid path: unexpected end of JSON path\n");
  EXPECT_EQ(refused({""}), at + "Required value\n");
  EXPECT_EQ(refused({".spec.name", ".spec.name"}), "spec.selectableFields[1].jsonPath: Duplicate value: \".spec.name\"\n");
}

TEST(CrdValidatorTest, RefusesADefinitionThatTheServerRefuses) {
  Value crd = Crd();
  crd["spec"]["versions"].MutableList()[0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]["bad"] = Value::Object();
  const Result<CrdValidator> made = CrdValidator::Make(crd);
  ASSERT_FALSE(made);
  EXPECT_THAT(made.error().message(), HasSubstr("properties[bad].type: Required value"));
  EXPECT_FALSE(CrdValidator::Make(Value("text")));
  EXPECT_FALSE(CrdValidator::Make(Yaml("{kind: ConfigMap, apiVersion: v1}")));
}

TEST(CrdValidatorTest, TakesADefinitionAsAClusterHasIt) {
  Value crd = Crd();
  crd["metadata"]["resourceVersion"] = "5";
  crd["metadata"]["uid"] = "u";
  crd["status"] = Yaml("{conditions: [], acceptedNames: {plural: '', kind: ''}, storedVersions: [v1]}");
  const CrdValidator validator = CrdValidator::Make(crd).value();
  EXPECT_FALSE(validator.Check(Gadget("{name: abc}")).error);
}

TEST(CrdValidatorTest, NamesTheVersionsThatThereAre) {
  const CrdValidator validator = CrdValidator::Make(Crd()).value();
  Value other = Gadget("{name: abc}");
  other["apiVersion"] = "a.com/v2";
  EXPECT_EQ(validator.Check(other).error->message(), "apiVersion \"a.com/v2\" is not served by gadgets.a.com (group a.com, versions v1)");
  EXPECT_TRUE(validator.Check(Value(1)).error);
  EXPECT_TRUE(validator.Check(Yaml("{apiVersion: a.com/v1, kind: Other}")).error);
}

TEST(CrdValidatorTest, ChecksAnUpdateAgainstTheStoredObject) {
  const CrdValidator validator = CrdValidator::Make(Crd()).value();
  const Value invalid = Gadget("{name: abc, size: 11}");
  EXPECT_TRUE(validator.Check(invalid).error);
  // What was wrong already and did not change is let through.
  EXPECT_FALSE(validator.Check(Gadget("{name: abd, size: 11}"), &invalid).error);
  EXPECT_TRUE(validator.Check(Gadget("{name: abc, size: 12}"), &invalid).error);
}

}  // namespace
}  // namespace kube::apiserver
