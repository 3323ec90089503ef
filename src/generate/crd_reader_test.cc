// Definitions as headers: what stands in them, and that they make the same definitions again.
#include "generate/crd_reader.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "generate/generate_test_util.h"
#include "generate/openapi_reader.h"
#include "generate/types.h"
#include "kube/codec/json.h"
#include "kube/codec/yaml.h"

namespace kube::generate {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

struct Made {
  Types types;
  std::string problems;
  std::string header;  // the first one
};

Made Make(const std::vector<CrdInput>& crds, const CrdReaderOptions& options = {}) {
  Problems problems;
  Made out;
  out.types = MakeTypes(crds, options, problems);
  out.problems = problems.ToString();
  if (!out.types.files.empty()) out.header = out.types.files[0].text;
  return out;
}

Made MakeFromText(std::string_view text, const CrdReaderOptions& options = {}) {
  Problems problems;
  std::vector<CrdInput> crds;
  FindCrds(text, "x.yaml", crds, problems);
  EXPECT_EQ(problems.ToString(), "");
  return Make(crds, options);
}

// A definition of Things in example.com/v1 with these properties of spec, each as JSON.
Value ThingCrd(const std::string& properties, const std::string& required = "[]") {
  return ParseJson(
             R"({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "things.example.com"},
                      "spec": {"group": "example.com", "scope": "Namespaced", "names": {"kind": "Thing", "plural": "things"},
                               "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {
                                 "type": "object", "properties": {"spec": {"type": "object", "properties": {)" +
             properties + R"(}, "required": )" + required + "}}}}}]}}")
      .value();
}
Made MakeThing(const std::string& properties, const std::string& required = "[]") {
  return Make({{ThingCrd(properties, required), "x.yaml"}});
}
// What the struct of the spec has for one property.
std::string MemberOf(const std::string& schema, bool required = false) {
  const Made made = MakeThing("\"a\": " + schema, required ? R"(["a"])" : "[]");
  EXPECT_EQ(made.problems, "") << made.header;
  const std::size_t begin = made.header.find("struct ThingSpec {\n"), end = made.header.find("\n\n  KUBE_TABLE(ThingSpec)");
  if (begin == std::string::npos || end == std::string::npos) return made.header;
  return made.header.substr(begin + 19, end - begin - 19);
}

TEST(CrdReaderTest, WritesWhatAPersonWouldHaveWritten) {
  const Made made = MakeFromText(R"yaml(
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: networks.samplecrd.k8s.io
  annotations:
    api-approved.kubernetes.io: unapproved, example
    controller-gen.kubebuilder.io/version: v0.23.0
spec:
  group: samplecrd.k8s.io
  names: {kind: Network, listKind: NetworkList, plural: networks, singular: network, shortNames: [net]}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    additionalPrinterColumns:
    - {name: CIDR, type: string, jsonPath: .spec.cidr}
    schema:
      openAPIV3Schema:
        description: Network is a range of addresses.
        type: object
        properties:
          apiVersion: {type: string, description: what it is}
          kind: {type: string}
          metadata: {type: object}
          spec:
            type: object
            required: [cidr]
            x-kubernetes-validations:
            - {rule: "cidr(self.cidr).containsIP(self.gateway)", message: gateway must lie in cidr}
            properties:
              cidr: {type: string, maxLength: 43, description: "The range of addresses,\nsuch as 192.168.0.0/16."}
              mtu: {type: integer, format: int32, default: 1500, minimum: 576}
              peers:
                type: array
                items:
                  description: NetworkPeering is another network.
                  type: object
                  required: [name]
                  properties:
                    name: {type: string, minLength: 1}
                    mode: {type: string, enum: [Active, Passive]}
                x-kubernetes-list-type: map
                x-kubernetes-list-map-keys: [name]
              ports: {type: array, items: {type: integer, format: int32, maximum: 65535}}
              labels: {type: object, additionalProperties: {type: string}}
          status:
            type: object
            properties:
              podCIDR: {type: string, minLength: 1}
)yaml");
  EXPECT_EQ(made.problems, "");
  ASSERT_EQ(made.types.files.size(), 1U);
  EXPECT_EQ(made.types.files[0].path, "v1/network_types.h");
  EXPECT_EQ(made.header,
            "// +groupName=samplecrd.k8s.io\n"
            "// +versionName=v1\n"
            "#pragma once\n"
            "\n"
            "#include <kube/kind.h>\n"
            "\n"
            "namespace samplecrd::v1 {\n"
            "\n"
            "// +k8s:enum\n"
            "using NetworkMode = kube::String;\n"
            "inline constexpr std::string_view kNetworkModeActive = \"Active\", kNetworkModePassive = \"Passive\";\n"
            "\n"
            "// NetworkPeering is another network.\n"
            "struct NetworkPeering {\n"
            "  NetworkMode mode{};\n"
            "  // +required\n"
            "  // +kubebuilder:validation:MinLength=1\n"
            "  kube::String name{};\n"
            "\n"
            "  KUBE_TABLE(NetworkPeering);\n"
            "};\n"
            "\n"
            "// +kubebuilder:validation:XValidation:rule=\"cidr(self.cidr).containsIP(self.gateway)\",message=\"gateway must lie "
            "in cidr\"\n"
            "struct NetworkSpec {\n"
            "  // The range of addresses,\n"
            "  // such as 192.168.0.0/16.\n"
            "  // +required\n"
            "  // +kubebuilder:validation:MaxLength=43\n"
            "  kube::String cidr{};\n"
            "  kube::Map<kube::String> labels{};\n"
            "  // +kubebuilder:validation:Minimum=576\n"
            "  // +kubebuilder:default=1500\n"
            "  std::optional<std::int32_t> mtu{};\n"
            "  // +listType=map\n"
            "  // +listMapKey=name\n"
            "  kube::List<NetworkPeering> peers{};\n"
            "  // +kubebuilder:validation:items:Maximum=65535\n"
            "  kube::List<std::int32_t> ports{};\n"
            "\n"
            "  KUBE_TABLE(NetworkSpec);\n"
            "};\n"
            "\n"
            "struct NetworkStatus {\n"
            "  // +kube:json=podCIDR\n"
            "  // +kubebuilder:validation:MinLength=1\n"
            "  kube::String pod_cidr{};\n"
            "\n"
            "  KUBE_TABLE(NetworkStatus);\n"
            "};\n"
            "\n"
            "// Network is a range of addresses.\n"
            "// +kubebuilder:resource:shortName=net\n"
            "// +kubebuilder:subresource:status\n"
            "// +kubebuilder:printcolumn:name=CIDR,type=string,JSONPath=.spec.cidr\n"
            "// +kubebuilder:metadata:annotations=\"api-approved.kubernetes.io=unapproved, example\"\n"
            "struct Network {\n"
            "  kube::meta::v1::ObjectMeta metadata{};\n"
            "  NetworkSpec spec{};\n"
            "  NetworkStatus status{};\n"
            "\n"
            "  KUBE_TABLE(Network);\n"
            "};\n"
            "\n"
            "}  // namespace samplecrd::v1\n");
}

// Every schema is read unchanged: MemberOf requires that.
TEST(CrdReaderTest, SchemasHaveTheirTypes) {
  EXPECT_EQ(MemberOf(R"({"type": "string"})"), "  std::optional<kube::String> a{};");
  EXPECT_EQ(MemberOf(R"({"type": "string"})", true), "  // +required\n  kube::String a{};");
  EXPECT_EQ(MemberOf(R"({"type": "string", "pattern": "^x+$"})"), "  // +kubebuilder:validation:Pattern=\"^x+$\"\n  kube::String a{};");
  EXPECT_EQ(MemberOf(R"({"type": "string", "pattern": "^x*$"})"),
            "  // +kubebuilder:validation:Pattern=\"^x*$\"\n  std::optional<kube::String> a{};");
  EXPECT_EQ(MemberOf(R"({"type": "string", "format": "byte"})"), "  std::optional<kube::Bytes> a{};");
  EXPECT_EQ(MemberOf(R"({"type": "string", "format": "date-time"})"), "  kube::Time a{};");
  EXPECT_EQ(MemberOf(R"({"type": "string", "format": "ipv4"})"),
            "  // +kubebuilder:validation:Format=ipv4\n  std::optional<kube::String> a{};");
  EXPECT_EQ(MemberOf(R"({"type": "boolean"})"), "  std::optional<bool> a{};");
  EXPECT_EQ(MemberOf(R"({"type": "boolean"})", true), "  // +required\n  bool a{};");
  EXPECT_EQ(MemberOf(R"({"type": "integer", "format": "int64", "minimum": 1})"),
            "  // +kubebuilder:validation:Minimum=1\n  std::int64_t a{};");
  EXPECT_EQ(MemberOf(R"({"type": "integer", "format": "int32", "minimum": 1.0})"),
            "  // +kubebuilder:validation:Minimum=1\n  std::int32_t a{};");
  EXPECT_EQ(MemberOf(R"({"type": "integer"})"), "  // +kubebuilder:validation:Format=\"\"\n  std::optional<std::int64_t> a{};");
  EXPECT_EQ(MemberOf(R"({"type": "integer", "format": "uint8"})"),
            "  // +kubebuilder:validation:Format=uint8\n  std::optional<std::int64_t> a{};");
  EXPECT_EQ(MemberOf(R"({"type": "number", "multipleOf": 0.5})"),
            "  // +kubebuilder:validation:MultipleOf=0.5\n  std::optional<double> a{};");
  EXPECT_EQ(MemberOf(R"({"x-kubernetes-int-or-string": true, "anyOf": [{"type": "integer"}, {"type": "string"}]})"),
            "  std::optional<kube::IntOrString> a{};");
  EXPECT_EQ(MemberOf(R"({"x-kubernetes-int-or-string": true})"),
            "  // +kube:schema={\"anyOf\":null}\n  std::optional<kube::IntOrString> a{};");
  EXPECT_EQ(MemberOf(R"({"x-kubernetes-preserve-unknown-fields": true})"), "  kube::RawJson a{};");
  EXPECT_EQ(MemberOf(R"({"type": "object", "x-kubernetes-preserve-unknown-fields": true, "x-kubernetes-embedded-resource": true})"),
            "  // +kubebuilder:validation:Type=object\n  // +kubebuilder:validation:EmbeddedResource\n  kube::RawJson a{};");
  EXPECT_EQ(MemberOf(R"({"type": "object", "nullable": true, "properties": {"b": {"type": "string", "minLength": 1}}})"),
            "  // +nullable\n  kube::Box<ThingA> a{};");
  EXPECT_EQ(MemberOf(R"({"type": "object", "properties": {"b": {"type": "string", "minLength": 1}}})", true),
            "  // +required\n  ThingA a{};");
  EXPECT_EQ(MemberOf(R"({"type": "array", "default": ["x"], "items": {"type": "string", "maxLength": 3}})"),
            "  // +kubebuilder:default=[\"x\"]\n  // +kubebuilder:validation:items:MaxLength=3\n  "
            "kube::Box<kube::List<kube::String>> a{};");
  EXPECT_EQ(
      MemberOf(
          R"({"type": "object", "x-kubernetes-map-type": "atomic", "additionalProperties": {"type": "array", "items": {"type": "string"}}})"),
      "  // +mapType=atomic\n  kube::Map<kube::List<kube::String>> a{};");
  EXPECT_EQ(MemberOf(R"({"type": "array", "items": {"type": "array", "maxItems": 2, "items": {"type": "string"}}})"),
            "  kube::List<ThingA> a{};");
  EXPECT_EQ(MemberOf(R"({"type": "string", "enum": ["b", "a", ""], "description": "Which."})"),
            "  // Which.\n  std::optional<ThingA> a{};");
  EXPECT_EQ(MemberOf(R"({"type": "integer", "format": "int32", "enum": [301, 302]})"),
            "  // +kubebuilder:validation:Enum=301;302\n  std::int32_t a{};");
}

TEST(CrdReaderTest, DeepTypesHaveNames) {
  std::string schema = R"({"type": "string"})";
  for (int i = 0; i < 90; ++i) schema = R"({"type": "array", "items": )" + schema + "}";
  MemberOf(schema);
}

// What no marker of kubebuilder says.
TEST(CrdReaderTest, OtherKeysAreKept) {
  EXPECT_EQ(MemberOf(R"({"type": "string", "minLength": 1, "not": {"enum": ["x"]}})"),
            "  // +kubebuilder:validation:MinLength=1\n  // +kube:schema={\"not\":{\"enum\":[\"x\"]}}\n  kube::String a{};");
  EXPECT_EQ(MemberOf(R"({"type": "string", "allOf": [{"maxLength": 5}, {"maxLength": 7}]})"),
            "  // +kube:schema={\"allOf\":[{\"maxLength\":5},{\"maxLength\":7}]}\n  std::optional<kube::String> a{};");
  EXPECT_EQ(MemberOf(R"({"type": "array", "items": {"type": "string", "nullable": true}})"), "  kube::List<ThingA> a{};");
  EXPECT_EQ(MemberOf(R"({"type": "object", "additionalProperties": true})"),
            "  // +kube:schema={\"additionalProperties\":true}\n  kube::Map<kube::RawJson> a{};");
  EXPECT_EQ(MemberOf(R"({"type": "object", "x-kubernetes-preserve-unknown-fields": true, "required": ["x"]})"),
            "  // +kubebuilder:validation:Type=object\n  // +kube:schema={\"required\":[\"x\"]}\n  kube::RawJson a{};");
  EXPECT_EQ(MemberOf(R"({"type": "object", "properties": {"b": {"type": "boolean"}}, "anyOf": [{"required": ["b"]}]})"),
            "  kube::Box<ThingA> a{};");
}

TEST(CrdReaderTest, UsesStructsOfKubexx) {
  constexpr std::string_view kSelector =
      R"({"type": "object", "description": "Which.", "x-kubernetes-map-type": "atomic", "properties": {
            "matchLabels": {"type": "object", "description": "x", "additionalProperties": {"type": "string"}},
            "matchExpressions": {"type": "array", "x-kubernetes-list-type": "atomic", "items": {"type": "object", "description": "y",
              "required": ["key", "operator"], "properties": {"key": {"type": "string"}, "operator": {"type": "string"},
                "values": {"type": "array", "x-kubernetes-list-type": "atomic", "items": {"type": "string"}}}}}}})";
  const std::string properties = "\"a\": " + std::string(kSelector);
  EXPECT_THAT(MakeThing(properties).header, HasSubstr("  // Which.\n  kube::Box<kube::meta::v1::LabelSelector> a{};"));
  EXPECT_EQ(MakeThing(properties).problems, "");
  const Made own = Make({{ThingCrd(properties), "x"}}, {.name_space = {}, .builtins = BuiltinUse::kNever});
  EXPECT_THAT(own.header, HasSubstr("kube::Box<ThingA> a{};"));
  EXPECT_EQ(own.problems, "");
  // A part of the fields is enough only if asked for, and the definition has all of them then.
  const std::string part =
      R"("a": {"type": "object", "properties": {"apiVersion": {"type": "string"}, "kind": {"type": "string"}, "name": {"type": "string"}},
               "x-kubernetes-map-type": "atomic"})";
  EXPECT_THAT(MakeThing(part).header, HasSubstr("kube::Box<ThingA> a{};"));
  const Made subset = Make({{ThingCrd(part), "x"}}, {.name_space = {}, .builtins = BuiltinUse::kSubset});
  EXPECT_THAT(subset.header, HasSubstr("kube::Box<kube::core::v1::ObjectReference> a{};"));
  EXPECT_THAT(subset.header, HasSubstr("#include <kube/api/core/v1.h>\n"));
  EXPECT_THAT(subset.problems, HasSubstr("warning: things.example.com: version v1: spec.a.namespace is new"));
}

TEST(CrdReaderTest, EqualSchemasAreOneStruct) {
  const std::string part = R"({"type": "object", "properties": {"x": {"type": "string"}}})",
                    other = R"({"type": "object", "properties": {"y": {"type": "string"}}})";
  const Made made =
      MakeThing(R"("a": {"type": "object", "properties": {"part": )" + part + R"(}}, "b": {"type": "object", "properties": {"part": )" +
                other + R"(, "parts": {"type": "array", "items": )" + part + "}}}");
  EXPECT_EQ(made.problems, "");
  EXPECT_THAT(made.header, HasSubstr("kube::List<ThingPart> parts{};"));
  EXPECT_THAT(made.header, HasSubstr("kube::Box<ThingPart> part{};"));
  EXPECT_THAT(made.header, HasSubstr("kube::Box<ThingBPart> part{};"));
}

TEST(CrdReaderTest, KindsShareWhatIsCommon) {
  Value one = ThingCrd(R"("a": {"type": "object", "properties": {"x": {"type": "boolean"}}}, "b": {"type": "boolean"})"), two = one;
  two["metadata"]["name"] = "bolts.example.com";
  two["spec"]["names"] = Value::Object({{"kind", "Bolt"}, {"plural", "bolts"}});
  two["spec"]["versions"].MutableList()[0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]["b"]["type"] = "string";
  const Made made = Make({{one, "x"}, {two, "x"}});
  EXPECT_EQ(made.problems, "");
  std::vector<std::string> paths;
  for (const OutputFile& file : made.types.files) paths.push_back(file.path);
  EXPECT_THAT(paths, ElementsAre("v1/thing_types.h", "v1/bolt_types.h", "v1/common_types.h"));
  EXPECT_THAT(made.types.files[0].text, HasSubstr("#include \"common_types.h\"\n"));
  EXPECT_THAT(made.types.files[2].text, HasSubstr("struct A {\n"));
}

TEST(CrdReaderTest, VersionsAreHeaders) {
  Value crd = ThingCrd(R"("a": {"type": "boolean"})");
  Value old = std::as_const(crd)["spec"]["versions"].list()[0];
  old["name"] = "v1alpha1";
  old["storage"] = false;
  old["served"] = false;
  old["deprecated"] = true;
  old["deprecationWarning"] = "use \"v1\"";
  crd["spec"]["versions"].MutableList().push_back(old);
  crd["spec"]["scope"] = "Cluster";
  const Made made = Make({{crd, "x"}});
  EXPECT_EQ(made.problems, "");
  ASSERT_EQ(made.types.files.size(), 2U);
  EXPECT_THAT(made.types.files[0].text, HasSubstr("// +kubebuilder:resource:scope=Cluster\n// +kubebuilder:storageversion\nstruct Thing"));
  EXPECT_THAT(made.types.files[1].text,
              HasSubstr("// +kubebuilder:unservedversion\n// +kubebuilder:deprecatedversion:warning=`use \"v1\"`\nstruct Thing"));
}

// ---- Hostile input ----

TEST(CrdReaderTest, NamesAreFitForCpp) {
  const Made made = MakeThing(
      R"("fooBar": {"type": "boolean"}, "foo_bar": {"type": "boolean"}, "foo-bar": {"type": "boolean"}, "foo_bar_2": {"type": "boolean"},
         "class": {"type": "boolean"}, "default": {"type": "boolean"}, "unknown_fields": {"type": "boolean"}, "kType": {"type": "boolean"},
         "*/ int x; /*": {"type": "boolean"}, "\n#error\n": {"type": "boolean"}, "\u00e4": {"type": "boolean"}, "\u00f6": {"type": "boolean"},
         "??/": {"type": "boolean"}, "\\": {"type": "boolean"}, "3scale": {"type": "boolean"}, "a": {"type": "string", "enum":
         ["*/", "??/", "\\", "\n", "\u202e", "a", "A", "-a"]}, "b": {"type": "object", "properties": {"*": {"type": "object", "properties": {"c":
         {"type": "boolean"}}}}}, "d": {"type": "string", "pattern": "a\nb`\u2028\"", "description": "*/ \\\n+kubebuilder:x\n??/"})");
  EXPECT_EQ(made.problems, "warning: things.example.com: version v1: spec.d: description differs\n");
  for (const char* member :
       {" foo_bar{};", " foo_bar_3{};", " class_{};", " unknown_fields_{};", " k_type{};", " _3scale{};", " int_x{};", " error{};"})
    EXPECT_THAT(made.header, HasSubstr(member));
  EXPECT_THAT(made.header, Not(HasSubstr("\n#error")));
  EXPECT_TRUE(std::none_of(made.header.begin(), made.header.end(), [](char c) { return (c > 0 && c < ' ' && c != '\n') || c == 0x7f; }));
}

TEST(CrdReaderTest, RefusesWhatHasNoHeader) {
  const auto refused = [](Value crd) {
    const Made made = Make({{std::move(crd), "x.yaml"}});
    EXPECT_TRUE(made.types.files.empty());
    return made.problems;
  };
  Value crd = ThingCrd(R"("a": {"$ref": "#/x"}, "": {"type": "string"}, "b": {"type": "array", "items": {"$ref": "#/y"}}, "c": true)");
  EXPECT_EQ(refused(crd),
            "x.yaml: things.example.com: version v1: spec.: a property without a name, which no field can have\n"
            "x.yaml: things.example.com: version v1: spec.a: $ref is not allowed in the schema of a CRD; for an OpenAPI document "
            "pass --from-openapi\n"
            "x.yaml: things.example.com: version v1: spec.b[*]: $ref is not allowed in the schema of a CRD; for an OpenAPI "
            "document pass "
            "--from-openapi\n"
            "x.yaml: things.example.com: version v1: spec.c: expected a schema, which is an object\n");
  crd = ThingCrd("");
  crd["spec"]["names"]["kind"] = "int";
  EXPECT_EQ(refused(crd), "x.yaml: things.example.com: spec.names.kind: \"int\" is no name that a struct can have\n");
  crd["apiVersion"] = "apiextensions.k8s.io/v1beta1";
  EXPECT_EQ(refused(crd),
            "x.yaml: things.example.com: apiVersion: expected apiextensions.k8s.io/v1, got \"apiextensions.k8s.io/v1beta1\"; "
            "convert the definition "
            "first\n");
  crd = ThingCrd("");
  crd["spec"]["versions"].MutableList()[0].MutableObject().Erase("schema");
  EXPECT_EQ(refused(crd), "x.yaml: things.example.com: version v1: schema.openAPIV3Schema is missing\n");
  crd = ThingCrd("");
  EXPECT_THAT(Make({{crd, "x"}, {crd, "y"}}).problems, HasSubstr("y: things.example.com: kind Thing of example.com/v1 is defined twice"));
}

TEST(CrdReaderTest, LargeSchemasTakeLinearTime) {
  // 10,000 fields in structs of ten, all of them different: a megabyte of JSON.
  std::string properties;
  for (int i = 0; i < 1000; ++i) {
    properties += fmt::format(R"({}"s{}": {{"type": "object", "properties": {{)", i == 0 ? "" : ",", i);
    for (int k = 0; k < 10; ++k)
      properties += fmt::format(R"({}"f{}x{}": {{"type": "string", "maxLength": {}}})", k == 0 ? "" : ",", i, k, i);
    properties += "}}";
  }
  Problems problems;
  Model model;
  ReadCrds({{ThingCrd(properties), "x"}}, {}, BuiltinTypes::Get(), model, problems);
  EXPECT_EQ(problems.ToString(), "");
  EXPECT_EQ(model.structs.size(), 1002U);
}

// Required fields that structs do not have, and restrictions of the name.
TEST(CrdReaderTest, HeadersOfKindsComeBack) {
  Value crd = ThingCrd(R"("a": {"type": "boolean"})");
  Value& schema = crd["spec"]["versions"].MutableList()[0]["schema"]["openAPIV3Schema"];
  schema["required"] = Value::Array({"spec", "kind", "metadata", "apiVersion"});
  schema["properties"]["metadata"] =
      ParseJson(R"({"type": "object", "properties": {"name": {"type": "string", "maxLength": 20}}})").value();
  schema["x-kubernetes-validations"] = Value::Array({Value::Object({{"rule", "self.spec.a"}})});
  const Made made = Make({{crd, "x"}});
  EXPECT_EQ(made.problems, "");
  EXPECT_THAT(made.header, HasSubstr("  // +kube:schema={\"properties\":{\"name\":{\"maxLength\":20,\"type\":\"string\"}}}\n"
                                     "  kube::meta::v1::ObjectMeta metadata{};\n"));
}

TEST(CrdReaderTest, OfTheBlanksAroundADescriptionAnEmptyLastLineCounts) {
  EXPECT_EQ(MemberOf(R"({"type": "boolean", "description": "\n\n Which. \n\n  One "})"),
            "  //  Which.\n  //\n  //   One\n  std::optional<bool> a{};");
  EXPECT_EQ(MemberOf(R"({"type": "boolean", "description": "Which.\n"})"), "  // Which.\n  //\n  // ---\n  std::optional<bool> a{};");
}

TEST(CrdReaderTest, SaysWhereTheDefinitionIsAnotherOne) {
  Value crd = ThingCrd(R"("a": {"type": "string", "description": "x\n---\ny"})");
  crd["spec"]["versions"].MutableList()[0]["additionalPrinterColumns"] =
      Value::Array({Value::Object({{"name", "B"}, {"type", "string"}, {"jsonPath", ".spec.a"}})});
  EXPECT_EQ(Make({{crd, "x"}}).problems, "warning: things.example.com: version v1: spec.a: description differs\n");
  crd["spec"]["versions"].MutableList()[0]["additionalPrinterColumns"].MutableList()[0]["jsonPath"] = ".spec.b";
  EXPECT_EQ(Make({{crd, "x"}}).problems,
            "warning: kubexx generate will refuse v1/thing_types.h:18:4: marker +kubebuilder:printcolumn: JSONPath=.spec.b: "
            ".spec has no field b\n");
}

// ---- OpenAPI ----

Made MakeFromOpenApi(const std::string& json, const std::vector<std::string>& kinds) {
  Problems problems;
  std::vector<CrdInput> crds;
  ReadOpenApi({{ParseJson(json).value(), "api.json"}}, kinds, BuiltinTypes::Get(), crds, problems);
  Made out;
  if (!problems.has_errors()) out = Make(crds);
  out.problems = problems.ToString() + out.problems;
  return out;
}

constexpr const char* kOpenApi = R"({"openapi": "3.0.0", "paths": {
  "/apis/example.com/v1/nets": {"get": {"x-kubernetes-group-version-kind": {"group": "example.com", "version": "v1", "kind": "Net"}}},
  "/apis/example.com/v1/nets/{name}/status": {"get": {"x-kubernetes-group-version-kind": {"group": "example.com", "version": "v1", "kind": "Net"}}}},
  "components": {"schemas": {
    "com.example.v1.Net": {"type": "object", "x-kubernetes-group-version-kind": [{"group": "example.com", "version": "v1", "kind": "Net"}],
      "properties": {"apiVersion": {"type": "string"}, "kind": {"type": "string"},
        "metadata": {"$ref": "#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"},
        "spec": {"allOf": [{"$ref": "#/components/schemas/com.example.v1.NetSpec"}], "default": {}}}},
    "com.example.v1.NetSpec": {"type": "object", "required": ["peers"], "properties": {
        "peers": {"type": "array", "items": {"$ref": "#/components/schemas/com.example.v1.Peer"}},
        "selector": {"$ref": "#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.LabelSelector", "description": "Which."},
        "port": {"$ref": "#/components/schemas/io.k8s.apimachinery.pkg.util.intstr.IntOrString"},
        "size": {"$ref": "#/components/schemas/io.k8s.apimachinery.pkg.api.resource.Quantity"},
        "mixed": {"oneOf": [{"type": "object"}, {"type": "string"}]}}},
    "com.example.v1.Peer": {"type": "object", "description": "A peer.", "properties": {
        "name": {"type": ["string", "null"], "minLength": 1}, "next": {"$ref": "#/components/schemas/com.example.v1.Peer"}}}}}})";

TEST(OpenApiReaderTest, FollowsReferences) {
  const Made made = MakeFromOpenApi(kOpenApi, {"Net"});
  EXPECT_EQ(made.problems,
            "warning: api.json: com.example.v1.Net: spec.mixed: several possible types; it becomes kube::RawJson\n"
            "warning: api.json: com.example.v1.Net: spec.peers[*].next: Peer contains itself; it becomes kube::RawJson\n");
  EXPECT_THAT(made.header, HasSubstr("// A peer.\nstruct NetPeer {\n  // +kubebuilder:validation:MinLength=1\n  // +nullable\n"));
  EXPECT_THAT(made.header, HasSubstr("  // +required\n  kube::List<NetPeer> peers{};"));
  EXPECT_THAT(made.header, HasSubstr("  // Which.\n  kube::Box<kube::meta::v1::LabelSelector> selector{};"));
  EXPECT_THAT(made.header, HasSubstr("std::optional<kube::IntOrString> port{};"));
  EXPECT_THAT(made.header, HasSubstr("std::optional<kube::Quantity> size{};"));
  EXPECT_THAT(made.header, HasSubstr("// +kubebuilder:resource:scope=Cluster\n// +kubebuilder:subresource:status\nstruct Net {"));
}

TEST(OpenApiReaderTest, SaysWhichKindsThereAre) {
  EXPECT_THAT(MakeFromOpenApi(kOpenApi, {"Nat"}).problems, HasSubstr("--kind Nat: no schema has this kind"));
  EXPECT_THAT(MakeFromOpenApi(R"({"definitions": {}})", {"Net"}).problems, HasSubstr("--kind Net: no schema"));
  EXPECT_EQ(MakeFromOpenApi(R"({"swagger": "2.0"})", {}).problems,
            "api.json: no OpenAPI document: it has neither definitions nor components.schemas\n");
  const std::string two =
      R"({"definitions": {"a": {"x-kubernetes-group-version-kind": [{"group": "a.com", "version": "v1", "kind": "Net"},
                                                                                        {"group": "b.com", "version": "v1", "kind": "Net"}]}}})";
  EXPECT_EQ(MakeFromOpenApi(two, {"Net"}).problems, "--kind Net: there is a.com/v1/Net, b.com/v1/Net; pass one of them\n");
  EXPECT_EQ(MakeFromOpenApi(two, {"b.com/v1/Net"}).problems, "");
  EXPECT_THAT(
      MakeFromOpenApi(R"({"definitions": {"Net": {"properties": {"a": {"$ref": "#/definitions/no"}}}}})", {"b.com/v1/Net"}).problems,
      HasSubstr("api.json: Net: a: there is no #/definitions/no"));
}

// Each level holds the next one twice.
TEST(OpenApiReaderTest, SchemasThatExplodeAreRefused) {
  std::string schemas = R"("Net": {"properties": {"a": {"$ref": "#/definitions/s0"}}})";
  for (int i = 0; i < 40; ++i) {
    schemas += fmt::format(
        R"(, "s{0}": {{"properties": {{"a": {{"$ref": "#/definitions/s{1}"}}, "b": {{"$ref": "#/definitions/s{1}"}}}}}})", i, i + 1);
  }
  schemas += R"(, "s40": {"type": "string"})";
  EXPECT_EQ(MakeFromOpenApi("{\"definitions\": {" + schemas + "}}", {"a.com/v1/Net"}).problems,
            "api.json: Net: a schema with more than 100000 fields, which no server takes\n");
}

}  // namespace
}  // namespace kube::generate
