// Definitions that the server refuses, and conditions that say what is wrong with the ones it takes.
#include "contract.h"
#include "texts.h"

namespace kube::contract {
namespace {

CONTRACT_SUITE(CrdValidationContract);

const std::string kCrd = std::string(kCrds) + "/widgets.{id}.example.com";

// A definition with these versions, and `more` below its spec.
std::string WithVersions(const std::string& versions, const std::string& more = "") {
  return R"(
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.{id}.example.com}
spec:
  group: {id}.example.com
  scope: Namespaced
  names: {plural: widgets, kind: Widget}
  versions: )" +
         versions + "\n" + more;
}

std::string Version(const std::string& name, const std::string& more, const std::string& schema = "{type: object}") {
  return "{name: " + name + ", served: true, storage: " + (name == "v1" ? "true" : "false") + ", schema: {openAPIV3Schema: " + schema +
         "}" + (more.empty() ? "" : ", " + more) + "}";
}

const Value& ConditionOf(const Answer& crd, std::string_view type) {
  for (const Value& condition : crd.body["status"]["conditions"].list()) {
    if (condition["type"].string_value() == type) return condition;
  }
  return crd.body["nothing"];
}

TEST_P(CrdValidationContract, PathsOfScaleAreChecked) {
  EXPECT_STATUS(Post(kCrds, WithVersions("[" +
                                         Version("v1",
                                                 "subresources: {scale: {specReplicasPath: replicas, statusReplicasPath: .spec.replicas, "
                                                 "labelSelectorPath: .metadata.x}}") +
                                         "]")),
                R"(
code: 422
details:
  causes:
  - field: spec.subresources.scale.specReplicasPath
    message: 'Invalid value: "replicas": must be a simple json path starting with .'
    reason: FieldValueInvalid
  - field: spec.subresources.scale.statusReplicasPath
    message: 'Invalid value: ".spec.replicas": should be a json path under .status'
    reason: FieldValueInvalid
  - field: spec.subresources.scale.labelSelectorPath
    message: 'Invalid value: ".metadata.x": should be a json path under either .spec or .status'
    reason: FieldValueInvalid
  group: apiextensions.k8s.io
  kind: CustomResourceDefinition
  name: widgets.{id}.example.com
message: <of the causes>
reason: Invalid
)");
  EXPECT_STATUS(Post(kCrds, WithVersions("[" +
                                         Version("v1",
                                                 "subresources: {scale: {specReplicasPath: .status.replicas, statusReplicasPath: replicas, "
                                                 "labelSelectorPath: x}}") +
                                         ", " + Version("v2", "") + "]")),
                R"(
code: 422
details:
  causes:
  - field: spec.versions[0].subresources.scale.specReplicasPath
    message: 'Invalid value: ".status.replicas": should be a json path under .spec'
    reason: FieldValueInvalid
  - field: spec.versions[0].subresources.scale.statusReplicasPath
    message: 'Invalid value: "replicas": must be a simple json path starting with .'
    reason: FieldValueInvalid
  - field: spec.versions[0].subresources.scale.labelSelectorPath
    message: 'Invalid value: "x": must be a simple json path starting with .'
    reason: FieldValueInvalid
  group: apiextensions.k8s.io
  kind: CustomResourceDefinition
  name: widgets.{id}.example.com
message: <of the causes>
reason: Invalid
)");
  EXPECT_STATUS(
      Post(kCrds, WithVersions("[" + Version("v1", "subresources: {scale: {specReplicasPath: '', statusReplicasPath: ''}}") + "]")), R"(
code: 422
details:
  causes:
  - field: spec.subresources.scale.specReplicasPath
    message: Required value
    reason: FieldValueRequired
  - field: spec.subresources.scale.statusReplicasPath
    message: Required value
    reason: FieldValueRequired
  group: apiextensions.k8s.io
  kind: CustomResourceDefinition
  name: widgets.{id}.example.com
message: <of the causes>
reason: Invalid
)");
  Answer good = Post(kCrds, WithVersions("[" +
                                         Version("v1",
                                                 "subresources: {scale: {specReplicasPath: .spec.a.b, statusReplicasPath: .status.c, "
                                                 "labelSelectorPath: .spec.d}}") +
                                         "]"));
  Cleanup(kCrd);
  EXPECT_CODE(good, 201);
}

TEST_P(CrdValidationContract, SchemaThatAllVersionsShareIsReportedOnce) {
  const std::string bad = "{type: object, properties: {spec: {type: object, properties: {a: {}}}}}";
  EXPECT_STATUS(Post(kCrds, WithVersions("[" + Version("v1", "", bad) + ", " + Version("v2", "", bad) + "]")), R"(
code: 422
details:
  causes:
  - field: spec.validation.openAPIV3Schema.properties[spec].properties[a].type
    message: 'Required value: must not be empty for specified object fields'
    reason: FieldValueRequired
  group: apiextensions.k8s.io
  kind: CustomResourceDefinition
  name: widgets.{id}.example.com
message: <of the causes>
reason: Invalid
)");
  EXPECT_STATUS(Post(kCrds, WithVersions("[" + Version("v1", "") + ", " + Version("v2", "", bad) + "]")), R"(
code: 422
details:
  causes:
  - field: spec.versions[1].schema.openAPIV3Schema.properties[spec].properties[a].type
    message: 'Required value: must not be empty for specified object fields'
    reason: FieldValueRequired
  group: apiextensions.k8s.io
  kind: CustomResourceDefinition
  name: widgets.{id}.example.com
message: <of the causes>
reason: Invalid
)");
}

TEST_P(CrdValidationContract, BrokenBundleOfAConversionIsNotEstablished) {
  if (server().oldest()) GTEST_SKIP() << "1.26 does not read the bundle";
  const std::string conversion = R"(
  conversion:
    strategy: Webhook
    webhook:
      conversionReviewVersions: [v1]
      clientConfig: {caBundle: bm90IGEgYnVuZGxl, url: "https://127.0.0.1:1/convert"}
)";
  EXPECT_CODE(Post(kCrds, WithVersions("[" + Version("v1", "") + "]", conversion)), 201);
  Cleanup(kCrd);
  Answer got = GetUntil(kCrd, [](const Answer& a) { return ConditionOf(a, "Established")["reason"] == Value("InvalidCABundle"); });
  EXPECT_VALUE(got.body["status"]["conditions"], R"(
- lastTransitionTime: TIME
  message: no conflicts found
  reason: NoConflicts
  status: "True"
  type: NamesAccepted
- lastTransitionTime: TIME
  message: The conversion webhook CABundle is invalid
  reason: InvalidCABundle
  status: "False"
  type: Established
)");
  // Without it, the definition is established after all.
  EXPECT_CODE(Patch(kCrd, "merge", R"({"spec":{"conversion":{"strategy":"None","webhook":null}}})"), 200);
  GetUntil(kCrd, [](const Answer& a) { return ConditionOf(a, "Established")["status"] == Value("True"); });
  EXPECT_STATUS(Patch(kCrd, "merge", R"({"spec":{"conversion":{"strategy":"Webhook","webhook":{"conversionReviewVersions":["v1"],
      "clientConfig":{"caBundle":"bm90IGEgYnVuZGxl","url":"https://127.0.0.1:1/convert"}}}}})"),
                R"(
code: 422
details:
  causes:
  - field: spec.conversion.webhookClientConfig.caBundle
    message: 'Invalid value: "bm90IGEgYnVuZGxl": unable to load root certificates: unable to parse bytes as PEM block'
    reason: FieldValueInvalid
  group: apiextensions.k8s.io
  kind: CustomResourceDefinition
  name: widgets.{id}.example.com
message: <of the causes>
reason: Invalid
)");
}

TEST_P(CrdValidationContract, ConversionIsChecked) {
  auto post = [&](const std::string& conversion) {
    return Post(kCrds, WithVersions("[" + Version("v1", "") + "]", "  conversion: " + conversion + "\n"));
  };
  EXPECT_STATUS(post("{strategy: Webhook}"), R"(
code: 422
details:
  causes:
  - field: spec.conversion.webhookClientConfig
    message: 'Required value: required when strategy is set to Webhook'
    reason: FieldValueRequired
  - field: spec.conversion.conversionReviewVersions
    message: Required value
    reason: FieldValueRequired
  group: apiextensions.k8s.io
  kind: CustomResourceDefinition
  name: widgets.{id}.example.com
message: <of the causes>
reason: Invalid
)");
  EXPECT_STATUS(post("{strategy: Webhook, webhook: {conversionReviewVersions: [v3, v3, X], clientConfig: {url: 'http://a/b?c#d'}}}"), R"(
code: 422
details:
  causes:
  - field: spec.conversion.webhookClientConfig.url
    message: 'Invalid value: "http": ''https'' is the only allowed URL scheme; desired format: https://host[/path]'
    reason: FieldValueInvalid
  - field: spec.conversion.webhookClientConfig.url
    message: 'Invalid value: "d": fragments are not permitted in the URL'
    reason: FieldValueInvalid
  - field: spec.conversion.webhookClientConfig.url
    message: 'Invalid value: "c": query parameters are not permitted in the URL'
    reason: FieldValueInvalid
  - field: spec.conversion.conversionReviewVersions[1]
    message: 'Invalid value: "v3": duplicate version'
    reason: FieldValueInvalid
  - field: spec.conversion.conversionReviewVersions[2]
    message: 'Invalid value: "X": a DNS-1035 label must consist of lower case alphanumeric characters or ''-'', start with an alphabetic character, and end with an alphanumeric character (e.g. ''my-name'',  or ''abc-123'', regex used for validation is ''[a-z]([-a-z0-9]*[a-z0-9])?'')'
    reason: FieldValueInvalid
  - field: spec.conversion.conversionReviewVersions
    message: 'Invalid value: ["v3","v3","X"]: must include at least one of v1, v1beta1'
    reason: FieldValueInvalid
  group: apiextensions.k8s.io
  kind: CustomResourceDefinition
  name: widgets.{id}.example.com
message: <of the causes>
reason: Invalid
)");
  EXPECT_STATUS(post("{strategy: None, webhook: {conversionReviewVersions: [v1]}}"), R"(
code: 422
details:
  causes:
  - field: spec.conversion.conversionReviewVersions
    message: 'Forbidden: should not be set when strategy is not set to Webhook'
    reason: FieldValueForbidden
  group: apiextensions.k8s.io
  kind: CustomResourceDefinition
  name: widgets.{id}.example.com
message: <of the causes>
reason: Invalid
)");
}

TEST_P(CrdValidationContract, ProtectedGroupsShowTheirApproval) {
  auto definition = [](const std::string& annotations) {
    return R"(
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.{id}.k8s.io, annotations: )" +
           annotations + R"(}
spec:
  group: {id}.k8s.io
  scope: Namespaced
  names: {plural: widgets, kind: Widget}
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]
)";
  };
  EXPECT_STATUS(Post(kCrds, definition("{}")), R"(
code: 422
details:
  causes:
  - field: metadata.annotations[api-approved.kubernetes.io]
    message: 'Required value: protected groups must have approval annotation "api-approved.kubernetes.io", see https://github.com/kubernetes/enhancements/pull/1111'
    reason: FieldValueRequired
  group: apiextensions.k8s.io
  kind: CustomResourceDefinition
  name: widgets.{id}.k8s.io
message: <of the causes>
reason: Invalid
)");
  EXPECT_STATUS(Post(kCrds, definition("{api-approved.kubernetes.io: nonsense}")), R"(
code: 422
details:
  causes:
  - field: metadata.annotations[api-approved.kubernetes.io]
    message: 'Invalid value: "nonsense": protected groups must have approval annotation "api-approved.kubernetes.io" with either a URL or a reason starting with "unapproved", see https://github.com/kubernetes/enhancements/pull/1111'
    reason: FieldValueInvalid
  group: apiextensions.k8s.io
  kind: CustomResourceDefinition
  name: widgets.{id}.k8s.io
message: <of the causes>
reason: Invalid
)");
  const std::string path = std::string(kCrds) + "/widgets.{id}.k8s.io";
  EXPECT_CODE(Post(kCrds, definition("{api-approved.kubernetes.io: 'unapproved, for a test'}")), 201);
  Cleanup(path);
  auto condition = [](const Answer& a) -> const Value& { return ConditionOf(a, "KubernetesAPIApprovalPolicyConformant"); };
  EXPECT_VALUE(condition(GetUntil(path, [&](const Answer& a) { return !condition(a).is_null(); })), R"(
lastTransitionTime: TIME
message: 'not approved: "unapproved, for a test"'
reason: UnapprovedAnnotation
status: "False"
type: KubernetesAPIApprovalPolicyConformant
)");
  EXPECT_CODE(Patch(path, "merge", R"({"metadata":{"annotations":{"api-approved.kubernetes.io":"https://example.com/pull/1"}}})"), 200);
  EXPECT_VALUE(condition(GetUntil(path, [&](const Answer& a) { return condition(a)["status"] == Value("True"); })), R"(
lastTransitionTime: TIME
message: approved in https://example.com/pull/1
reason: ApprovedAnnotation
status: "True"
type: KubernetesAPIApprovalPolicyConformant
)");
  // An approval that stays as it is is not asked for again; one that goes is.
  EXPECT_STATUS(Patch(path, "merge", R"({"metadata":{"annotations":{"api-approved.kubernetes.io":null}}})"), R"(
code: 422
details:
  causes:
  - field: metadata.annotations[api-approved.kubernetes.io]
    message: 'Required value: protected groups must have approval annotation "api-approved.kubernetes.io", see https://github.com/kubernetes/enhancements/pull/1111'
    reason: FieldValueRequired
  group: apiextensions.k8s.io
  kind: CustomResourceDefinition
  name: widgets.{id}.k8s.io
message: <of the causes>
reason: Invalid
)");
}

}  // namespace
}  // namespace kube::contract
