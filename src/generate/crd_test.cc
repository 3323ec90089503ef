// CRDs: what headers become, and what is refused.
#include "generate/crd.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "generate/crd_checks.h"
#include "generate/generate_test_util.h"
#include "kube/codec/json.h"
#include "kube/codec/yaml.h"

namespace kube::generate {
namespace {

using testing::HasSubstr;

constexpr const char* kNetwork = R"x(// +groupName=samplecrd.k8s.io
// +versionName=v1
#pragma once
#include "kind.h"

namespace samplecrd::v1 {

// +kubebuilder:validation:XValidation:rule="cidr(self.cidr).containsIP(self.gateway)",message="gateway must lie in cidr"
struct NetworkSpec {
  // The range of addresses, such as 192.168.0.0/16.
  // +required
  // +kubebuilder:validation:MaxLength=43
  kube::String cidr{};
  // +required
  // +kubebuilder:validation:MaxLength=39
  kube::String gateway{};
  // +kubebuilder:default=1500
  // +kubebuilder:validation:Minimum=576
  std::optional<std::int32_t> mtu{};

  KUBE_TABLE(NetworkSpec);
};

struct NetworkStatus {
  kube::List<kube::String> seen{};

  KUBE_TABLE(NetworkStatus);
};

// +kubebuilder:resource:shortName=net
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name=CIDR,type=string,JSONPath=.spec.cidr
// +kubebuilder:metadata:annotations="api-approved.kubernetes.io=unapproved, example"
struct Network {
  kube::meta::v1::ObjectMeta metadata{};
  NetworkSpec spec{};
  NetworkStatus status{};

  KUBE_TABLE(Network);
};
}  // namespace samplecrd::v1
)x";

TEST(CrdTest, OfTheNetworkExample) {
  const TestRun run = RunHeader(kNetwork);
  ASSERT_EQ(run.text(), "");
  ASSERT_EQ(run.crds.size(), 1U);
  EXPECT_EQ(run.crds[0].file_name, "samplecrd.k8s.io_networks.yaml");
  EXPECT_EQ(run.crds[0].ToYaml(), R"(---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  annotations:
    api-approved.kubernetes.io: unapproved, example
  name: networks.samplecrd.k8s.io
spec:
  group: samplecrd.k8s.io
  names:
    kind: Network
    listKind: NetworkList
    plural: networks
    shortNames:
    - net
    singular: network
  scope: Namespaced
  versions:
  - additionalPrinterColumns:
    - jsonPath: .spec.cidr
      name: CIDR
      type: string
    name: v1
    schema:
      openAPIV3Schema:
        properties:
          apiVersion:
            type: string
          kind:
            type: string
          metadata:
            type: object
          spec:
            properties:
              cidr:
                description: The range of addresses, such as 192.168.0.0/16.
                maxLength: 43
                type: string
              gateway:
                maxLength: 39
                type: string
              mtu:
                default: 1500
                format: int32
                minimum: 576
                type: integer
            required:
            - cidr
            - gateway
            type: object
            x-kubernetes-validations:
            - message: gateway must lie in cidr
              rule: cidr(self.cidr).containsIP(self.gateway)
          status:
            properties:
              seen:
                items:
                  type: string
                type: array
            type: object
        type: object
    served: true
    storage: true
    subresources:
      status: {}
)");
}

TEST(CrdTest, OfTheAtExample) {
  const TestRun run = RunHeader(R"(// +groupName=cnat.example.com
#pragma once
namespace cnat::v1alpha1 {
// How far a command is.
// +k8s:enum
using AtPhase = kube::String;  // constants named k<Alias>... are its values; unknown ones survive
inline constexpr std::string_view kAtPhasePending = "PENDING", kAtPhaseRunning = "RUNNING", kAtPhaseDone = "DONE";

struct AtSpec {
  kube::String schedule{};
  kube::String command{};
  KUBE_TABLE(AtSpec);
};
struct AtStatus {
  AtPhase phase{};
  KUBE_TABLE(AtStatus);
};
struct At {
  kube::meta::v1::ObjectMeta metadata{};
  AtSpec spec{};
  AtStatus status{};
  KUBE_TABLE(At);
};
}
)");
  ASSERT_EQ(run.text(), "");
  const Value& version = run.crds.at(0).object["spec"]["versions"].list()[0];
  EXPECT_EQ(version["name"], Value("v1alpha1"));
  EXPECT_EQ(ToJson(version["schema"]["openAPIV3Schema"]["properties"]["status"]["properties"]["phase"]),
            R"({"description":"How far a command is.","enum":["DONE","PENDING","RUNNING"],"type":"string"})");
}

TEST(CrdTest, ValuesOfEnumsAreInTheOrderOfTheirJson) {
  const TestRun run = RunHeader(ThingHeader("  Size size{};\n", "",
                                            "// +k8s:enum\nusing Size = kube::String;\ninline constexpr std::string_view kSizeS = \"a\", "
                                            "kSizeM = \"a b\", kSizeL = \"<\", kSizeXL = \"Z\", kSizeAgain = \"a\";\n\n"));
  ASSERT_EQ(run.text(), "");
  const Value& spec = run.crds.at(0).object["spec"]["versions"].list()[0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"];
  EXPECT_EQ(ToJson(spec["size"]["enum"]), R"(["Z","<","a b","a"])");  // Go writes < as \u003c
}

TEST(CrdTest, AnAliasMayBeOneOfAnAlias) {
  const TestRun run =
      RunHeader(ThingHeader("  // +kubebuilder:validation:MaxLength=9\n  Top a{};\n  // +kubebuilder:validation:Maximum=3\n"
                            "  std::optional<Count> b{};\n",
                            "",
                            "// +kubebuilder:validation:MinLength=1\nusing Base = kube::String;\n"
                            "// +kubebuilder:validation:Pattern=`^x`\nusing Middle = Base;\nusing Top = Middle;\n"
                            "using Number = std::int32_t;\nusing Count = Number;\n\n"));
  ASSERT_EQ(run.text(), "");
  const Value& spec = run.crds.at(0).object["spec"]["versions"].list()[0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"];
  EXPECT_EQ(ToJson(spec["a"]), R"({"maxLength":9,"minLength":1,"pattern":"^x","type":"string"})");
  EXPECT_EQ(ToJson(spec["b"]), R"({"format":"int32","maximum":3,"type":"integer"})");
}

TEST(CrdTest, WarnsOfEnumsThatNothingFits) {
  const TestRun run =
      RunHeader(ThingHeader("  // +kubebuilder:validation:Enum=1;2\n  kube::String a{};\n"
                            "  // +kubebuilder:validation:Enum=a;b\n  kube::List<kube::String> b{};\n"
                            "  // +nullable\n  // +kubebuilder:validation:Enum={a,\"b\"}\n  kube::String c{};\n"
                            "  // +kubebuilder:validation:items:Enum=1\n  kube::List<std::int32_t> d{};\n  Half e{};\n",
                            "", "// +kubebuilder:validation:Enum=0.5\nusing Half = std::int32_t;\n\n"));
  EXPECT_EQ(run.crds.size(), 1U);
  std::vector<std::string> texts;
  for (const Problem& problem : run.problems.Sorted()) {
    EXPECT_TRUE(problem.warning);
    texts.push_back(problem.text);
  }
  EXPECT_THAT(texts, testing::ElementsAre(
                         "marker +kubebuilder:validation:Enum: 0.5 is a number, which alias Half of type std::int32_t never holds; "
                         "write \"0.5\" if it is a text",
                         "marker +kubebuilder:validation:Enum: 1 is an integer, which field a of type kube::String never holds; "
                         "write \"1\" if it is a text",
                         "marker +kubebuilder:validation:Enum: \"a\" is a string, which field b of type kube::List<kube::String> "
                         "never holds; write +kubebuilder:validation:items:Enum for its items"));
}

TEST(CrdTest, KindsHaveNoMembersForTheirType) {
  std::string header = ThingHeader("  kube::String a{};\n");
  header.insert(header.find("  ThingSpec spec{};\n"),
                "  kube::String kind{};\n  // +kube:inline\n  kube::core::v1::TypedLocalObjectReference r{};\n");
  const TestRun run = RunHeader(header);
  const std::vector<Problem> problems = run.problems.Sorted();
  ASSERT_EQ(problems.size(), 2U) << run.text();
  EXPECT_EQ(problems[0].text, "field kind of TypedLocalObjectReference, which every kind has without a member; leave it out");
  EXPECT_EQ(problems[1].text, "field kind of Thing, which every kind has without a member; leave it out");
}

TEST(CrdTest, EmbedsBuiltInStructs) {
  const TestRun run =
      RunHeader(ThingHeader("  kube::core::v1::PodTemplateSpec pod{};\n  kube::List<kube::meta::v1::Condition> conditions{};\n"));
  ASSERT_EQ(run.text(), "");
  const Value& spec = run.crds.at(0).object["spec"]["versions"].list()[0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"];
  EXPECT_EQ(ToJson(spec["pod"]["properties"]["metadata"]), R"({"type":"object"})");
  const Value& containers = spec["pod"]["properties"]["spec"]["properties"]["containers"];
  EXPECT_EQ(ToJson(containers["x-kubernetes-list-map-keys"]), R"(["name"])");
  EXPECT_EQ(ToJson(containers["items"]["required"]), R"(["name"])");
  EXPECT_EQ(ToJson(spec["conditions"]["items"]["required"]), R"(["lastTransitionTime","message","reason","status","type"])");
  EXPECT_EQ(ToJson(spec["conditions"]["items"]["properties"]["status"]), R"({"enum":["True","False","Unknown"],"type":"string"})");
}

TEST(CrdTest, ATemplateWithObjectMetaIsNoKind) {
  const TestRun run = RunHeader(
      ThingHeader("  Template part{};\n", "",
                  "struct Template {\n  kube::meta::v1::ObjectMeta metadata{};\n  kube::String x{};\n  KUBE_TABLE(Template);\n};\n\n"));
  ASSERT_EQ(run.text(), "");
  EXPECT_EQ(run.crds.size(), 1U);
}

TEST(CrdTest, OptionsOfDescriptionsAndMetadata) {
  CrdOptions options;
  options.schema.max_description = 12;
  options.schema.embedded_object_meta = true;
  const std::string header = ThingHeader("  // One thing. And another.\n  kube::String a{};\n  kube::meta::v1::ObjectMeta m{};\n");
  const TestRun run = RunHeader(header, options);
  const Value& spec = run.crds.at(0).object["spec"]["versions"].list()[0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"];
  EXPECT_EQ(spec["a"]["description"], Value("One thing."));
  EXPECT_EQ(spec["m"]["properties"].object().size(), 5U);
}

TEST(CrdTest, DescriptionsAreCutBetweenCharacters) {
  const auto cut = [](int bytes) {
    CrdOptions options;
    options.schema.max_description = bytes;
    const TestRun run = RunHeader(ThingHeader("  // \u7f51\u7edc\u3002\u5730\u5740\n  kube::String a{};\n"), options);  // 3 bytes each
    const Value& version = run.crds.at(0).object["spec"]["versions"].list()[0];
    return version["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]["a"]["description"].string_value().str();
  };
  EXPECT_EQ(cut(15), "\u7f51\u7edc\u3002\u5730\u5740");
  EXPECT_EQ(cut(14), "\u7f51\u7edc\u3002");
  EXPECT_EQ(cut(9), "\u7f51\u7edc\u3002");
  EXPECT_EQ(cut(8), "\u7f51\u7edc...");
  EXPECT_EQ(cut(4), "\u7f51...");
  EXPECT_EQ(cut(2), "...");
}

struct Wrong {
  std::vector<std::pair<std::string, std::string>> headers;
  std::string error;
};

std::string Versioned(std::string_view version, std::string_view above) {
  return "// +groupName=example.com\nnamespace example::" + std::string(version) + " {\n" + std::string(above) +
         "struct Thing {\n  kube::meta::v1::ObjectMeta metadata{};\n  KUBE_TABLE(Thing);\n};\n}\n";
}

TEST(CrdTest, RefusesWhatDoesNotFitTogether) {
  const std::string meta = "  kube::meta::v1::ObjectMeta metadata{};\n";
  const Wrong cases[] = {
      {{{"a.h", Versioned("v1", "")}, {"b.h", Versioned("v2", "")}},
       "a.h:3:8: kind Thing has 2 versions and none is the stored one; write `// +kubebuilder:storageversion` above one of them\n"},
      {{{"a.h", Versioned("v1", "// +kubebuilder:storageversion\n")}, {"b.h", Versioned("v2", "// +kubebuilder:storageversion\n")}},
       "b.h:4:8: kind Thing has two storage versions, v1 and v2; write +kubebuilder:storageversion in one of them\n"},
      {{{"a.h", Versioned("v1", "// +kubebuilder:storageversion\n")}, {"b.h", Versioned("v2", "// +kubebuilder:resource:scope=Cluster\n")}},
       "b.h:4:8: kind Thing has other names or another scope in v2 than in v1; write the same +kubebuilder:resource in both\n"},
      {{{"a.h", "// +groupName=example.com\n// +versionName=v1\nnamespace a {\nstruct Thing {\n" + meta + "  KUBE_TABLE(Thing);\n};\n}\n"},
        {"b.h", "// +groupName=example.com\n// +versionName=v1\nnamespace b {\nstruct Thing {\n" + meta + "  KUBE_TABLE(Thing);\n};\n}\n"}},
       "b.h:4:8: kind Thing is declared twice in example.com/v1; the first one is at a.h:4:8\n"},
      {{{"a.h", "namespace a::v1 {\nstruct Thing {\n" + meta + "  KUBE_TABLE(Thing);\n};\n}\n"}},
       "a.h:2:8: kind Thing without a group; write `// +groupName=example.com` at the top of the file\n"},
      {{{"a.h", "// +groupName=example.com\nnamespace a {\nstruct Thing {\n" + meta + "  KUBE_TABLE(Thing);\n};\n}\n"}},
       "a.h:3:8: kind Thing without a version; write `// +versionName=v1` at the top of the file\n"},
      {{{"a.h", ThingHeader("  // +kubebuilder:default=5\n  std::int32_t a{};")}},
       "a.h:9:6: marker +kubebuilder:default: a plain std::int32_t that is 0 is not written, so the server would set 5; write "
       "std::optional<std::int32_t> a{};\n"},
      {{{"a.h", ThingHeader("  // +kubebuilder:default=true\n  bool a{};")}},
       "a.h:9:6: marker +kubebuilder:default: a plain bool that is false is not written, so the server would set true; write "
       "std::optional<bool> a{};\n"},
      {{{"a.h", ThingHeader("  // +kubebuilder:default={\"b\": 5}\n  kube::Map<kube::String> a{};")}},
       "a.h:9:6: marker +kubebuilder:default: {\"b\":5} is an object, which field a of type kube::Map<kube::String> cannot hold; see .b\n"},
      {{{"a.h", ThingHeader("  // +kubebuilder:default=abcd\n  // +kubebuilder:validation:MaxLength=3\n  kube::String a{};")}},
       "a.h:9:6: field a of ThingSpec: marker +kubebuilder:default: a server would refuse the CRD: "
       "spec.validation.openAPIV3Schema.properties[spec].properties[a].default: Too long: may not be more than 3 bytes; change this "
       "marker, "
       "or leave it out\n"},
      {{{"a.h", ThingHeader("  // +kubebuilder:validation:Pattern=`(`\n  kube::String a{};")}}, "must be a valid regular expression"},
      {{{"a.h", ThingHeader("  kube::List<ThingSpec> a{};")}},
       "a.h:9:25: ThingSpec contains itself, which the schema of a CRD cannot say; write kube::RawJson, or `// "
       "+kubebuilder:validation:Schemaless` with `// "
       "+kubebuilder:pruning:PreserveUnknownFields` above the field\n"},
      {{{"a.h", ThingHeader("  double a{};")}},
       "a.h:9:3: double; languages read floating point numbers differently: write kube::Quantity or kube::String, or pass "
       "--allow-dangerous-types\n"},
      {{{"a.h", ThingHeader("  kube::String a{};", "// +kubebuilder:printcolumn:name=A,type=string,JSONPath=.metadata.nam\n")}},
       "a.h:13:4: marker +kubebuilder:printcolumn: JSONPath=.metadata.nam: metadata has no field nam\n"},
      {{{"a.h", ThingHeader("  kube::String a{};", "// +kubebuilder:printcolumn:name=A,type=string,JSONPath=.spec.a[0]\n")}},
       "a.h:13:4: marker +kubebuilder:printcolumn: JSONPath=.spec.a[0]: .spec.a is no list\n"},
      {{{"a.h", "// +groupName=example.k8s.io\nnamespace a::v1 {\nstruct Thing {\n" + meta + "  KUBE_TABLE(Thing);\n};\n}\n"}},
       "protected"},
  };
  for (const Wrong& wrong : cases) {
    const std::string text = RunHeaders(wrong.headers).text();
    if (wrong.error.ends_with('\n')) {
      EXPECT_EQ(text, wrong.error);
    } else {
      EXPECT_THAT(text, HasSubstr(wrong.error));
    }
  }
}

TEST(CrdTest, TwoKindsOfOneResource) {
  const std::string text =
      RunHeader(
          "// +groupName=example.com\nnamespace a::v1 {\nstruct A {\n  kube::meta::v1::ObjectMeta metadata{};\n  KUBE_TABLE(A);\n};\n"
          "// +kubebuilder:resource:path=as\nstruct B {\n  kube::meta::v1::ObjectMeta metadata{};\n  KUBE_TABLE(B);\n};\n}\n")
          .text();
  EXPECT_THAT(text,
              HasSubstr("kinds A and B have the same resource as; give one of them another with `// +kubebuilder:resource:path=...`"));
}

TEST(CrdTest, RefusesWhatAnOldReleaseLacks) {
  CrdOptions options;
  options.min_kubernetes = 26;
  EXPECT_EQ(RunHeader(kNetwork, options).text(),
            "x.h:8:4: kind Network: cidr(...) in a CEL rule needs Kubernetes 1.31, but --min-kubernetes is 1.26; leave it out, or raise "
            "the version\n");
  options.min_kubernetes = 31;
  EXPECT_EQ(RunHeader(kNetwork, options).text(), "");
  options.min_kubernetes = 26;
  const std::string text = RunHeader(ThingHeader("  // +kubebuilder:validation:XValidation:rule=\"self == "
                                                 "oldSelf\",messageExpression=\"'x'\",optionalOldSelf=true\n  kube::String a{};",
                                                 "// +kubebuilder:selectablefield:JSONPath=.spec.a\n"),
                                     options)
                               .text();
  EXPECT_THAT(text, HasSubstr("x.h:14:4: kind Thing: +kubebuilder:selectablefield needs Kubernetes 1.31"));
  EXPECT_THAT(text, HasSubstr("messageExpression of a CEL rule needs Kubernetes 1.27"));
  EXPECT_THAT(text, HasSubstr("optionalOldSelf of a CEL rule needs Kubernetes 1.30"));
}

TEST(CrdTest, NamesTheMarkersOfRulesThatAnOldReleaseLacks) {
  CrdOptions options;
  options.min_kubernetes = 29;
  const auto lines = [&](const std::string& header) {
    const std::string text = RunHeader(header, options).text();
    std::string out;
    for (std::size_t at = 0; at < text.size(); at = text.find('\n', at) + 1) out += text.substr(at, text.find(" needs", at) - at) + '\n';
    return out;
  };
  const std::string rule = "// +kubebuilder:validation:XValidation:rule=\"sets.contains(self, ['ip(']) \",message=\"m\"\n";
  // Above a field, an alias and a struct; the struct is used twice.
  const std::string types = rule + "using Tags = kube::List<kube::String>;\n" +
                            "// +kubebuilder:validation:XValidation:rule=\"self.x == ''\",messageExpression=\"cidr(self.x).string()\"\n"
                            "struct Part {\n  kube::String x{};\n  KUBE_TABLE(Part);\n};\n";
  EXPECT_EQ(lines(ThingHeader("  Tags tags{};\n  Part a{};\n  Part b{};\n  // +kubebuilder:validation:XValidation:rule=\"isIP(self)\"\n"
                              "  // +kubebuilder:validation:XValidation:rule=\"self != 'x'\"\n  kube::String ip{};\n",
                              "", types)),
            "x.h:8:4: kind Thing: sets.contains(...) in a CEL rule\nx.h:10:4: kind Thing: cidr(...) in a CEL rule\n"
            "x.h:19:6: kind Thing: isIP(...) in a CEL rule\n");
}

TEST(CrdTest, WarnsOfLargeOnes) {
  std::string members;
  for (int i = 0; i < 40; ++i) members += "  kube::core::v1::PodTemplateSpec p" + std::to_string(i) + "{};\n";
  const TestRun run = RunHeader(ThingHeader(members));
  EXPECT_FALSE(run.problems.has_errors());
  EXPECT_THAT(run.text(), HasSubstr("warning: kind Thing: the CRD has "));
}

// Each struct holds the one before it in `count` members.
std::string Levels(int levels, int count, const std::string& comment = "") {
  std::string out = "// +groupName=example.com\nnamespace a::v1 {\nstruct S0 {\n  kube::String a{};\n  KUBE_TABLE(S0);\n};\n";
  for (int i = 1; i < levels; ++i) {
    const std::string name = "S" + std::to_string(i);
    out += "struct " + name + " {\n";
    for (int m = 0; m < count; ++m) out += comment + "  S" + std::to_string(i - 1) + " m" + std::to_string(m) + "{};\n";
    out += "  KUBE_TABLE(" + name + ");\n};\n";
  }
  return out + "struct K {\n  kube::meta::v1::ObjectMeta metadata{};\n  S" + std::to_string(levels - 1) +
         " spec{};\n  KUBE_TABLE(K);\n};\n}\n";
}

TEST(CrdTest, RefusesSchemasThatGrowWithoutBounds) {
  EXPECT_THAT(RunHeader(Levels(40, 2)).text(), HasSubstr("schema with more than 100000 fields"));
  EXPECT_THAT(RunHeader(Levels(40, 2, "  // +kube:inline\n")).text(), HasSubstr("schema with more than 100000 fields"));
  EXPECT_THAT(RunHeader(Levels(5000, 1)).text(), HasSubstr("structs nested more than 100 levels deep"));
  EXPECT_EQ(RunHeader(Levels(40, 1)).text(), "");
}

TEST(CrdTest, IsTheSameInAnyOrderOfHeaders) {
  const std::pair<std::string, std::string> a{"a.h", Versioned("v1", "// +kubebuilder:storageversion\n")}, b{"b.h", Versioned("v2", "")};
  EXPECT_EQ(RunHeaders({a, b}).crds.at(0).ToYaml(), RunHeaders({b, a}).crds.at(0).ToYaml());
}

TEST(PathProblemTest, FollowsSchemas) {
  const Value schema =
      ParseJson(
          R"({"properties":{"metadata":{"type":"object"},"spec":{"properties":{"list":{"type":"array","items":{"properties":{"x":{"type":"string"}}}},
      "map":{"type":"object","additionalProperties":{"type":"string"}},"any":{"x-kubernetes-preserve-unknown-fields":true}}}}})")
          .value();
  for (const char* good : {".spec.list[0].x", ".spec.list[?(@.x==\"a\")].x", ".spec.list[*].x", ".spec['list']", ".spec.map.anything",
                           ".spec.any.a.b", ".metadata.name", "{.spec.list}", ".metadata.labels.app", ".spec..x"}) {
    EXPECT_EQ(PathProblem(good, schema), "") << good;
  }
  EXPECT_EQ(PathProblem(".spec.list[0].y", schema), ".spec.list[0] has no field y");
  EXPECT_EQ(PathProblem(".spex", schema), "there is no field spex");
}

// controller-gen compares pointers: limits that come from one type are one limit, equal ones of two fields are not.
TEST(CrdTest, FieldsOfOneTypeInInlinedStructsAreJoined) {
  const TestRun run = RunHeader(ThingHeader(R"(  kube::Box<Key> key{};
  // +kubebuilder:validation:MaxLength=5
  kube::String name{};
  // +kube:inline
  Common common{};
)",
                                            "", R"(struct Key {
  // +kubebuilder:default=""
  // +kubebuilder:validation:MaxLength=5
  kube::String id{};

  KUBE_TABLE(Key);
};

struct Common {
  kube::Box<Key> key{};
  // +kubebuilder:validation:MaxLength=5
  kube::String name{};

  KUBE_TABLE(Common);
};

)"));
  EXPECT_EQ(run.text(), "");
  ASSERT_EQ(run.crds.size(), 1U);
  const Value& spec = run.crds[0].object["spec"]["versions"].list()[0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"];
  EXPECT_EQ(ToJson(spec["key"]["properties"]["id"]), R"({"default":"","maxLength":5,"type":"string"})");
  EXPECT_EQ(ToJson(spec["name"]), R"({"allOf":[{"maxLength":5},{"maxLength":5}],"type":"string"})");
}

}  // namespace
}  // namespace kube::generate
