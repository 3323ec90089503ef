// What a webhook configuration may say.
#include "hook_server.h"
#include "kube/codec/json.h"

namespace kube::contract {
namespace {

class WebhookConfigurationsContract : public HookTest {};
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(WebhookConfigurationsContract);
INSTANTIATE_TEST_SUITE_P(Servers, WebhookConfigurationsContract, ::testing::ValuesIn(ServersToTest()), TestParamName);

// ---- Configurations ----

TEST_P(WebhookConfigurationsContract, BadConfigurationsAreRefused) {
  const char* const path = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";
  const auto configuration = [](std::string_view webhook) {
    return "apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingWebhookConfiguration\nmetadata: {name: '{id}-bad'}\nwebhooks:\n" +
           std::string(webhook);
  };
  EXPECT_STATUS(Post(path, configuration("- {name: two.parts, clientConfig: {}}")), R"(
code: 422
details:
  causes:
  - field: webhooks[0].name
    message: 'Invalid value: "two.parts": should be a domain with at least three segments separated by dots'
    reason: FieldValueInvalid
  - field: webhooks[0].sideEffects
    message: 'Required value: must specify one of None, NoneOnDryRun'
    reason: FieldValueRequired
  - field: webhooks[0].clientConfig
    message: 'Required value: exactly one of url or service is required'
    reason: FieldValueRequired
  - field: webhooks[0].admissionReviewVersions
    message: 'Required value: must specify one of v1, v1beta1'
    reason: FieldValueRequired
  group: admissionregistration.k8s.io
  kind: ValidatingWebhookConfiguration
  name: '{id}-bad'
message: <of the causes>
reason: Invalid
)");
  EXPECT_STATUS(Post(path, configuration(R"(
- name: a.example.com
  sideEffects: Some
  failurePolicy: Maybe
  matchPolicy: Often
  timeoutSeconds: 31
  admissionReviewVersions: [v2, v2]
  clientConfig: {url: 'http://user@h/x?a=b#c'}
  namespaceSelector: {matchLabels: {'bad key': x}}
  rules:
  - {operations: ['*', CREATE, LOOK], apiGroups: ['*', apps], apiVersions: ['*', v1, ''], resources: ['*', pods, 'pods/*', pods/x, '*/*', ''], scope: Wide}
  - {operations: [], apiGroups: [], apiVersions: [], resources: []}
)")),
                R"(
code: 422
details:
  causes:
  - field: webhooks[0].rules[0].operations
    message: 'Invalid value: ["*","CREATE","LOOK"]: if ''*'' is present, must not specify other operations'
    reason: FieldValueInvalid
  - field: webhooks[0].rules[0].operations[2]
    message: 'Unsupported value: "LOOK": supported values: "*", "CONNECT", "CREATE", "DELETE", "UPDATE"'
    reason: FieldValueNotSupported
  - field: webhooks[0].rules[0].apiGroups
    message: 'Invalid value: ["*","apps"]: if ''*'' is present, must not specify other API groups'
    reason: FieldValueInvalid
  - field: webhooks[0].rules[0].apiVersions
    message: 'Invalid value: ["*","v1",""]: if ''*'' is present, must not specify other API versions'
    reason: FieldValueInvalid
  - field: webhooks[0].rules[0].apiVersions[2]
    message: Required value
    reason: FieldValueRequired
  - field: webhooks[0].rules[0].resources[3]
    message: 'Invalid value: "pods/x": if ''pods/*'' is present, must not specify pods/x'
    reason: FieldValueInvalid
  - field: webhooks[0].rules[0].resources[5]
    message: Required value
    reason: FieldValueRequired
  - field: webhooks[0].rules[0].resources
    message: 'Invalid value: ["*","pods","pods/*","pods/x","*/*",""]: if ''*/*'' is present, must not specify other resources'
    reason: FieldValueInvalid
  - field: webhooks[0].rules[0].resources
    message: 'Invalid value: ["*","pods","pods/*","pods/x","*/*",""]: if ''*'' is present, must not specify other resources without subresources'
    reason: FieldValueInvalid
  - field: webhooks[0].rules[0].scope
    message: 'Unsupported value: "Wide": supported values: "*", "Cluster", "Namespaced"'
    reason: FieldValueNotSupported
  - field: webhooks[0].rules[1].operations
    message: Required value
    reason: FieldValueRequired
  - field: webhooks[0].rules[1].apiGroups
    message: Required value
    reason: FieldValueRequired
  - field: webhooks[0].rules[1].apiVersions
    message: Required value
    reason: FieldValueRequired
  - field: webhooks[0].rules[1].resources
    message: Required value
    reason: FieldValueRequired
  - field: webhooks[0].failurePolicy
    message: 'Unsupported value: "Maybe": supported values: "Fail", "Ignore"'
    reason: FieldValueNotSupported
  - field: webhooks[0].matchPolicy
    message: 'Unsupported value: "Often": supported values: "Equivalent", "Exact"'
    reason: FieldValueNotSupported
  - field: webhooks[0].sideEffects
    message: 'Unsupported value: "Some": supported values: "None", "NoneOnDryRun"'
    reason: FieldValueNotSupported
  - field: webhooks[0].timeoutSeconds
    message: 'Invalid value: 31: the timeout value must be between 1 and 30 seconds'
    reason: FieldValueInvalid
  - field: webhooks[0].namespaceSelector.matchLabels
    message: 'Invalid value: "bad key": <not a qualified name>'
    reason: FieldValueInvalid
  - field: webhooks[0].clientConfig.url
    message: 'Invalid value: "http": ''https'' is the only allowed URL scheme; desired format: https://host[/path]'
    reason: FieldValueInvalid
  - field: webhooks[0].clientConfig.url
    message: 'Invalid value: "user": user information is not permitted in the URL'
    reason: FieldValueInvalid
  - field: webhooks[0].clientConfig.url
    message: 'Invalid value: "c": fragments are not permitted in the URL'
    reason: FieldValueInvalid
  - field: webhooks[0].clientConfig.url
    message: 'Invalid value: "a=b": query parameters are not permitted in the URL'
    reason: FieldValueInvalid
  - field: webhooks[0].admissionReviewVersions[1]
    message: 'Invalid value: "v2": duplicate version'
    reason: FieldValueInvalid
  - field: webhooks[0].admissionReviewVersions
    message: 'Invalid value: ["v2","v2"]: must include at least one of v1, v1beta1'
    reason: FieldValueInvalid
  group: admissionregistration.k8s.io
  kind: ValidatingWebhookConfiguration
  name: '{id}-bad'
message: <of the causes>
reason: Invalid
)");
  EXPECT_STATUS(Post(path, configuration(R"(
- {name: a.example.com, sideEffects: None, admissionReviewVersions: [v1], clientConfig: {service: {name: '', namespace: '', port: 70000, path: 'x//Y'}}}
- {name: a.example.com, sideEffects: None, admissionReviewVersions: [v1], clientConfig: {service: {name: a, namespace: b}, url: 'https://h'}}
- {name: Bad_Name, sideEffects: None, admissionReviewVersions: [v1], clientConfig: {service: {name: a, namespace: b, path: '//'}}}
)")),
                R"(
code: 422
details:
  causes:
  - field: webhooks[0].clientConfig.service.name
    message: Required value
    reason: FieldValueRequired
  - field: webhooks[0].clientConfig.service.namespace
    message: Required value
    reason: FieldValueRequired
  - field: webhooks[0].clientConfig.service.port
    message: 'Invalid value: 70000: port is not valid: must be between 1 and 65535, inclusive'
    reason: FieldValueInvalid
  - field: webhooks[0].clientConfig.service.path
    message: 'Invalid value: "x//Y": must start with a ''/'''
    reason: FieldValueInvalid
  - field: webhooks[0].clientConfig.service.path
    message: 'Invalid value: "x//Y": segment[0] may not be empty'
    reason: FieldValueInvalid
  - field: webhooks[0].clientConfig.service.path
    message: 'Invalid value: "x//Y": segment[1] may not be empty'
    reason: FieldValueInvalid
  - field: webhooks[0].clientConfig.service.path
    message: 'Invalid value: "x//Y": segment[2]: <not a subdomain>'
    reason: FieldValueInvalid
  - field: webhooks[1].clientConfig
    message: 'Required value: exactly one of url or service is required'
    reason: FieldValueRequired
  - field: webhooks[1].name
    message: 'Duplicate value: "a.example.com"'
    reason: FieldValueDuplicate
  - field: webhooks[2].name
    message: 'Invalid value: "Bad_Name": <not a subdomain>'
    reason: FieldValueInvalid
  - field: webhooks[2].clientConfig.service.path
    message: 'Invalid value: "//": segment[0] may not be empty'
    reason: FieldValueInvalid
  group: admissionregistration.k8s.io
  kind: ValidatingWebhookConfiguration
  name: '{id}-bad'
message: <of the causes>
reason: Invalid
)");
  EXPECT_STATUS(Post("/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations", R"(
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingWebhookConfiguration
metadata: {name: '{id}-bad'}
webhooks:
- {name: a.example.com, sideEffects: None, admissionReviewVersions: [v1], reinvocationPolicy: Always, timeoutSeconds: 0, clientConfig: {url: 'https://h'}}
)"),
                R"(
code: 422
details:
  causes:
  - field: webhooks[0].timeoutSeconds
    message: 'Invalid value: 0: the timeout value must be between 1 and 30 seconds'
    reason: FieldValueInvalid
  - field: webhooks[0].reinvocationPolicy
    message: 'Unsupported value: "Always": supported values: "IfNeeded", "Never"'
    reason: FieldValueNotSupported
  group: admissionregistration.k8s.io
  kind: MutatingWebhookConfiguration
  name: '{id}-bad'
message: <of the causes>
reason: Invalid
)");
}

TEST_P(WebhookConfigurationsContract, DefaultsOfAConfiguration) {
  Answer made = Post("/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations?dryRun=All", R"(
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingWebhookConfiguration
metadata: {name: '{id}'}
webhooks:
- name: a.example.com
  sideEffects: None
  admissionReviewVersions: [v1]
  clientConfig: {service: {name: a, namespace: b}}
  rules: [{operations: [CREATE], apiGroups: [''], apiVersions: [v1], resources: [pods]}]
)");
  EXPECT_BODY(made, 201, R"(
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingWebhookConfiguration
metadata:
  creationTimestamp: TIME
  generation: 1
  name: '{id}'
  uid: UID
webhooks:
- admissionReviewVersions:
  - v1
  clientConfig:
    service:
      name: a
      namespace: b
      port: 443
  failurePolicy: Fail
  matchPolicy: Equivalent
  name: a.example.com
  namespaceSelector: {}
  objectSelector: {}
  reinvocationPolicy: Never
  rules:
  - apiGroups:
    - ""
    apiVersions:
    - v1
    operations:
    - CREATE
    resources:
    - pods
    scope: '*'
  sideEffects: None
  timeoutSeconds: 10
)");
}

// ---- Match conditions ----

TEST_P(WebhookConfigurationsContract, MatchConditionsNeedCel) {
  if (!server().embedded()) GTEST_SKIP() << "real servers evaluate them";
  for (const char* kind : {"validatingwebhookconfigurations", "mutatingwebhookconfigurations"}) {
    EXPECT_STATUS(Post(std::string("/apis/admissionregistration.k8s.io/v1/") + kind, R"(
metadata: {name: '{id}-cel'}
webhooks:
- name: cel.{id}.example.com
  sideEffects: None
  admissionReviewVersions: [v1]
  clientConfig: {url: 'https://127.0.0.1:1/x'}
  matchConditions: [{name: x, expression: 'true'}]
)"),
                  std::string(R"(
code: 422
details:
  causes:
  - field: webhooks[0].matchConditions
    message: 'Forbidden: match conditions are CEL expressions, which this server does not evaluate: leave them out, or test with a real API server'
    reason: FieldValueForbidden
  group: admissionregistration.k8s.io
  kind: )") + (kind[0] == 'v' ? "ValidatingWebhookConfiguration" : "MutatingWebhookConfiguration") +
                      R"(
  name: '{id}-cel'
message: <of the causes>
reason: Invalid
)");
  }
}

TEST_P(WebhookConfigurationsContract, BadMatchConditionsAreRefused) {
  if (server().embedded() || server().oldest()) GTEST_SKIP() << "no CEL";
  EXPECT_STATUS(Post("/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations", R"(
metadata: {name: '{id}-cel'}
webhooks:
- name: cel.{id}.example.com
  sideEffects: None
  admissionReviewVersions: [v1]
  clientConfig: {url: 'https://127.0.0.1:1/x'}
  matchConditions:
  - {name: twice, expression: 'true'}
  - {name: twice, expression: 'true'}
  - {name: 'bad name', expression: 'true'}
  - {name: no-bool, expression: '1 + 1'}
  - {name: no-cel, expression: 'object.'}
  - {name: no-variable, expression: 'thing.metadata.name == "a"'}
  - {name: empty, expression: ''}
)"),
                R"(
code: 422
details:
  causes:
  - field: webhooks[0].matchConditions[1].name
    message: 'Duplicate value: "twice"'
    reason: FieldValueDuplicate
  - field: webhooks[0].matchConditions[2].name
    message: 'Invalid value: "bad name": <not a qualified name>'
    reason: FieldValueInvalid
  - field: webhooks[0].matchConditions[3].expression
    message: 'Invalid value: "1 + 1": must evaluate to bool but got int'
    reason: FieldValueInvalid
  - field: webhooks[0].matchConditions[4].expression
    message: |-
      Invalid value: "object.": compilation failed: ERROR: <input>:1:8: Syntax error: no viable alternative at input '.'
       | object.
       | .......^
    reason: FieldValueInvalid
  - field: webhooks[0].matchConditions[5].expression
    message: |-
      Invalid value: "thing.metadata.name == \"a\"": compilation failed: ERROR: <input>:1:1: undeclared reference to 'thing' (in container '')
       | thing.metadata.name == "a"
       | ^
    reason: FieldValueInvalid
  - field: webhooks[0].matchConditions[6].expression
    message: Required value
    reason: FieldValueRequired
  group: admissionregistration.k8s.io
  kind: ValidatingWebhookConfiguration
  name: '{id}-cel'
message: <of the causes>
reason: Invalid
)");
}

}  // namespace
}  // namespace kube::contract
