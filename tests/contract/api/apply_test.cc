// Server-side apply: ownership of fields, conflicts, force, and how ownership moves.
#include "contract.h"
#include "texts.h"

namespace kube::contract {
namespace {

CONTRACT_SUITE(ApplyContract);

const std::string kA = std::string(kConfigMaps) + "/a";
const std::string kDeployment = std::string(kDeployments) + "/a";

TEST_P(ApplyContract, CreatesWhatIsMissing) {
  Answer applied = Apply(kA, "one", "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {k: v}}");
  EXPECT_BODY(applied, 201, R"(
apiVersion: v1
data:
  k: v
kind: ConfigMap
metadata:
  creationTimestamp: TIME
  name: a
  namespace: '{ns}'
  resourceVersion: RV
  uid: UID
)");
  EXPECT_MANAGED_FIELDS(applied, R"(
- apiVersion: v1
  fieldsType: FieldsV1
  fieldsV1:
    f:data:
      f:k: {}
  manager: one
  operation: Apply
  time: TIME
)");
}

TEST_P(ApplyContract, SameAgainKeepsTheVersion) {
  const char* text = "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {k: v}}";
  Answer first = Apply(kA, "one", text);
  Answer again = Apply(kA, "one", text);
  EXPECT_CODE(again, 200);
  EXPECT_EQ(again.body, first.body);
}

TEST_P(ApplyContract, NeedsAManager) {
  EXPECT_STATUS(Patch(kA, "apply", "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}"), R"(
code: 422
details:
  causes:
  - field: fieldManager
    message: 'Required value: is required for apply patch'
    reason: FieldValueRequired
  group: meta.k8s.io
  kind: PatchOptions
message: <of the causes>
reason: Invalid
)");
}

TEST_P(ApplyContract, NeedsKindAndVersion) {
  EXPECT_STATUS(Apply(kA, "one", "{metadata: {name: a}, data: {k: v}}"), R"(
code: 400
message: 'invalid object type: /, Kind='
reason: BadRequest
)");
  EXPECT_STATUS(Apply(kA, "one", "{apiVersion: v1, metadata: {name: a}}"), R"(
code: 400
message: 'invalid object type: /v1, Kind='
reason: BadRequest
)");
  if (server().oldest()) return;  // answers addresses of its memory
  EXPECT_STATUS(Apply(kA, "one", "{apiVersion: v1, kind: Secret, metadata: {name: a}}"), R"(
code: 400
message: 'invalid object type: /v1, Kind=Secret'
reason: BadRequest
)");
}

TEST_P(ApplyContract, ManagedFieldsMustBeAbsent) {
  EXPECT_STATUS(Apply(kA, "one", "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, managedFields: [{manager: x, operation: Apply}]}}"),
                R"(
code: 400
message: metadata.managedFields must be nil
reason: BadRequest
)");
}

TEST_P(ApplyContract, NameMustBeThePaths) {
  EXPECT_STATUS(Apply(kA, "one", "{apiVersion: v1, kind: ConfigMap, metadata: {name: b}}"), R"(
code: 400
message: the name of the object (b) does not match the name on the URL (a)
reason: BadRequest
)");
}

TEST_P(ApplyContract, BrokenYamlIsRefused) {
  EXPECT_STATUS(Apply(kA, "one", "a: [b"), R"(
code: 400
message: 'error decoding YAML: error converting YAML to JSON: yaml: line 1: did not find expected '','' or '']'''
reason: BadRequest
)");
}

TEST_P(ApplyContract, UnknownFieldsAreRefused) {
  EXPECT_STATUS(Apply(kA, "one", "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, dta: {k: v}}"), R"(
code: 500
message: 'failed to create typed patch object (/a; /v1, Kind=ConfigMap): .dta: field not declared in schema'
)");
  EXPECT_STATUS(Apply(kDeployment, "one", "{apiVersion: apps/v1, kind: Deployment, metadata: {name: a}, spec: {replicas: 1, replica: 2}}"),
                R"(
code: 500
message: 'failed to create typed patch object (/a; apps/v1, Kind=Deployment): .spec.replica: field not declared in schema'
)");
}

TEST_P(ApplyContract, WrongTypesAreRefused) {
  EXPECT_STATUS(Apply(kDeployment, "one", "{apiVersion: apps/v1, kind: Deployment, metadata: {name: a}, spec: {replicas: many}}"), R"(
code: 500
message: 'failed to create typed patch object (/a; apps/v1, Kind=Deployment): .spec.replicas: expected numeric (int or float), got string'
)");
  EXPECT_STATUS(Apply(kA, "one", "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: [x]}"), R"(
code: 500
message: 'failed to create typed patch object (/a; /v1, Kind=ConfigMap): .data: expected map, got &{[x]}'
)");
}

TEST_P(ApplyContract, ThreeManagersShareAnObject) {
  EXPECT_CODE(Apply(kA, "one", "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, labels: {app: web}}, data: {a: '1', b: '1'}}"), 201);
  EXPECT_CODE(Apply(kA, "two", "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {b: '1', c: '2'}}"), 200);
  EXPECT_CODE(Patch(kA + "?fieldManager=three", "merge", R"({"data":{"d":"3"},"metadata":{"annotations":{"x":"y"}}})"), 200);
  Answer last = Apply(kA, "one", "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, labels: {app: web}}, data: {a: '9'}}");
  // The first manager released b, which the second one also owns: it stays.
  EXPECT_BODY(last, 200, R"(
apiVersion: v1
data:
  a: "9"
  b: "1"
  c: "2"
  d: "3"
kind: ConfigMap
metadata:
  annotations:
    x: "y"
  creationTimestamp: TIME
  labels:
    app: web
  name: a
  namespace: '{ns}'
  resourceVersion: RV
  uid: UID
)");
  EXPECT_MANAGED_FIELDS(last, R"(
- apiVersion: v1
  fieldsType: FieldsV1
  fieldsV1:
    f:data:
      f:a: {}
    f:metadata:
      f:labels:
        f:app: {}
  manager: one
  operation: Apply
  time: TIME
- apiVersion: v1
  fieldsType: FieldsV1
  fieldsV1:
    f:data:
      f:b: {}
      f:c: {}
  manager: two
  operation: Apply
  time: TIME
- apiVersion: v1
  fieldsType: FieldsV1
  fieldsV1:
    f:data:
      f:d: {}
    f:metadata:
      f:annotations:
        .: {}
        f:x: {}
  manager: three
  operation: Update
  time: TIME
)");
}

TEST_P(ApplyContract, WhatNobodyOwnsAnyMoreIsRemoved) {
  EXPECT_CODE(Apply(kA, "one", "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {a: '1', b: '1'}}"), 201);
  Answer less = Apply(kA, "one", "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {a: '1'}}");
  EXPECT_VALUE(less.body["data"], R"(
a: "1"
)");
  Answer none = Apply(kA, "one", "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}");
  EXPECT_EQ(none.body["data"], Value());
}

TEST_P(ApplyContract, AnotherOwnersFieldIsAConflict) {
  EXPECT_CODE(Apply(kA, "one", "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {a: '1', b: '1'}}"), 201);
  EXPECT_STATUS(Apply(kA, "two", "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {a: '2'}}"), R"(
code: 409
details:
  causes:
  - field: .data.a
    message: conflict with "one"
    reason: FieldManagerConflict
message: 'Apply failed with 1 conflict: conflict with "one": .data.a'
reason: Conflict
)");
  EXPECT_STATUS(Apply(kA, "two", "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {a: '2', b: '2'}}"), R"(
code: 409
details:
  causes:
  - field: .data.a
    message: conflict with "one"
    reason: FieldManagerConflict
  - field: .data.b
    message: conflict with "one"
    reason: FieldManagerConflict
message: |-
  Apply failed with 2 conflicts: conflicts with "one":
  - .data.a
  - .data.b
reason: Conflict
)");
}

TEST_P(ApplyContract, ConflictsWithUpdatesNameTheirVersion) {
  EXPECT_CODE(Post(std::string(kConfigMaps) + "?fieldManager=updater", kConfigMapA), 201);
  EXPECT_STATUS(Apply(kA, "two", "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {color: blue}}"), R"(
code: 409
details:
  causes:
  - field: .data.color
    message: conflict with "updater" using v1
    reason: FieldManagerConflict
message: 'Apply failed with 1 conflict: conflict with "updater" using v1: .data.color'
reason: Conflict
)");
}

TEST_P(ApplyContract, ConflictsWithSeveralManagersAreListed) {
  EXPECT_CODE(Apply(kA, "one", "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {a: '1'}}"), 201);
  EXPECT_CODE(Apply(kA, "two", "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {b: '1'}}"), 200);
  EXPECT_STATUS_ANY_ORDER(Apply(kA, "three", "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {a: '3', b: '3'}}"), R"(
code: 409
details:
  causes:
  - field: .data.a
    message: conflict with "one"
    reason: FieldManagerConflict
  - field: .data.b
    message: conflict with "two"
    reason: FieldManagerConflict
message: |-
  Apply failed with 2 conflicts: conflicts with "one":
  - .data.a
  conflicts with "two":
  - .data.b
reason: Conflict
)");
}

TEST_P(ApplyContract, ManagedFieldsAreSortedByOperationTimeAndManager) {
  EXPECT_CODE(Post(std::string(kConfigMaps) + "?fieldManager=b-update", kConfigMapA), 201);
  EXPECT_CODE(Patch(kA + "?fieldManager=a-update", "merge", R"({"data":{"n":"1"}})"), 200);
  EXPECT_CODE(Apply(kA, "d-apply", "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {d: '1'}}"), 200);
  Answer last = Apply(kA, "c-apply", "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {c: '1'}}");
  std::string before;
  for (const Value& entry : last.body["metadata"]["managedFields"].list()) {
    const std::string now =
        entry["operation"].string_value().str() + " " + entry["time"].string_value().str() + " " + entry["manager"].string_value().str();
    EXPECT_LT(before, now);
    before = now;
  }
}

TEST_P(ApplyContract, SameValueIsSharedWithoutConflict) {
  EXPECT_CODE(Apply(kA, "one", "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {a: '1'}}"), 201);
  Answer shared = Apply(kA, "two", "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {a: '1'}}");
  EXPECT_CODE(shared, 200);
  EXPECT_MANAGED_FIELDS(shared, R"(
- apiVersion: v1
  fieldsType: FieldsV1
  fieldsV1:
    f:data:
      f:a: {}
  manager: one
  operation: Apply
  time: TIME
- apiVersion: v1
  fieldsType: FieldsV1
  fieldsV1:
    f:data:
      f:a: {}
  manager: two
  operation: Apply
)");
}

TEST_P(ApplyContract, ForceTakesOwnership) {
  EXPECT_CODE(Apply(kA, "one", "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {a: '1', b: '1'}}"), 201);
  Answer forced = Apply(kA, "two", "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {a: '2'}}", "&force=true");
  EXPECT_CODE(forced, 200);
  EXPECT_VALUE(forced.body["data"], R"(
a: "2"
b: "1"
)");
  EXPECT_MANAGED_FIELDS(forced, R"(
- apiVersion: v1
  fieldsType: FieldsV1
  fieldsV1:
    f:data:
      f:b: {}
  manager: one
  operation: Apply
  time: TIME
- apiVersion: v1
  fieldsType: FieldsV1
  fieldsV1:
    f:data:
      f:a: {}
  manager: two
  operation: Apply
  time: TIME
)");
}

TEST_P(ApplyContract, UpdateTakesOwnershipOfWhatItChanges) {
  EXPECT_CODE(Apply(kA, "one", "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {a: '1', b: '1'}}"), 201);
  Answer updated = Patch(kA + "?fieldManager=two", "merge", R"({"data":{"a":"2"}})");
  EXPECT_MANAGED_FIELDS(updated, R"(
- apiVersion: v1
  fieldsType: FieldsV1
  fieldsV1:
    f:data:
      f:b: {}
  manager: one
  operation: Apply
  time: TIME
- apiVersion: v1
  fieldsType: FieldsV1
  fieldsV1:
    f:data:
      f:a: {}
  manager: two
  operation: Update
  time: TIME
)");
}

TEST_P(ApplyContract, ListsOfObjectsAreOwnedByKey) {
  EXPECT_CODE(Apply(kDeployment, "one", R"(
apiVersion: apps/v1
kind: Deployment
metadata: {name: a}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - {name: web, image: "web:1", ports: [{containerPort: 80}]}
)"),
              201);
  Answer applied = Apply(kDeployment, "two", R"(
apiVersion: apps/v1
kind: Deployment
metadata: {name: a}
spec:
  replicas: 3
  template:
    spec:
      containers:
      - {name: web, env: [{name: A, value: x}]}
      - {name: sidecar, image: "proxy:1"}
)");
  EXPECT_CODE(applied, 200);
  EXPECT_MANAGED_FIELDS(applied, R"(
- apiVersion: apps/v1
  fieldsType: FieldsV1
  fieldsV1:
    f:spec:
      f:selector: {}
      f:template:
        f:metadata:
          f:labels:
            f:app: {}
        f:spec:
          f:containers:
            k:{"name":"web"}:
              .: {}
              f:image: {}
              f:name: {}
              f:ports:
                k:{"containerPort":80,"protocol":"TCP"}:
                  .: {}
                  f:containerPort: {}
  manager: one
  operation: Apply
  time: TIME
- apiVersion: apps/v1
  fieldsType: FieldsV1
  fieldsV1:
    f:spec:
      f:replicas: {}
      f:template:
        f:spec:
          f:containers:
            k:{"name":"sidecar"}:
              .: {}
              f:image: {}
              f:name: {}
            k:{"name":"web"}:
              .: {}
              f:env:
                k:{"name":"A"}:
                  .: {}
                  f:name: {}
                  f:value: {}
              f:name: {}
  manager: two
  operation: Apply
  time: TIME
)");
  Answer without = Apply(kDeployment, "two", "{apiVersion: apps/v1, kind: Deployment, metadata: {name: a}}");
  EXPECT_EQ(without.body["spec"]["template"]["spec"]["containers"].list().size(), 1U);
  EXPECT_EQ(without.body["spec"]["replicas"], Value(1));
}

TEST_P(ApplyContract, AppliesToTheStatusSubresource) {
  EXPECT_CODE(Post(kDeployments, kDeploymentA), 201);
  Answer applied = Apply(kDeployment + "/status", "controller",
                         "{apiVersion: apps/v1, kind: Deployment, metadata: {name: a}, status: {replicas: 2, readyReplicas: 1}}");
  EXPECT_CODE(applied, 200);
  EXPECT_VALUE(applied.body["status"], R"(
readyReplicas: 1
replicas: 2
)");
}

TEST_P(ApplyContract, CustomResourcesAreAppliedBySchema) {
  const std::string widget = std::string(kWidgets) + "/a";
  Answer one = Apply(widget, "one", R"(
apiVersion: {w}.example.com/v1
kind: Widget
metadata: {name: a}
spec: {size: small, tags: [red, blue], ports: [{name: http, port: 80}]}
)");
  EXPECT_CODE(one, 201);
  Answer two = Apply(widget, "two", R"(
apiVersion: {w}.example.com/v1
kind: Widget
metadata: {name: a}
spec: {tags: [green], ports: [{name: https, port: 443}], labels: {k: v}}
)");
  EXPECT_CODE(two, 200);
  EXPECT_VALUE(two.body["spec"], R"(
labels:
  k: v
nested:
  mode: auto
ports:
- name: http
  port: 80
  protocol: TCP
- name: https
  port: 443
  protocol: TCP
replicas: 1
size: small
tags:
- red
- blue
- green
)");
  EXPECT_MANAGED_FIELDS(two, R"(
- apiVersion: '{w}.example.com/v1'
  fieldsType: FieldsV1
  fieldsV1:
    f:spec:
      f:ports:
        k:{"name":"http"}:
          .: {}
          f:name: {}
          f:port: {}
      f:size: {}
      f:tags:
        v:"blue": {}
        v:"red": {}
  manager: one
  operation: Apply
  time: TIME
- apiVersion: '{w}.example.com/v1'
  fieldsType: FieldsV1
  fieldsV1:
    f:spec:
      f:labels:
        f:k: {}
      f:ports:
        k:{"name":"https"}:
          .: {}
          f:name: {}
          f:port: {}
      f:tags:
        v:"green": {}
  manager: two
  operation: Apply
  time: TIME
)");
}

TEST_P(ApplyContract, DuplicateKeysInAListAreRefused) {
  EXPECT_STATUS(Apply(std::string(kWidgets) + "/a", "one", R"(
apiVersion: {w}.example.com/v1
kind: Widget
metadata: {name: a}
spec: {size: small, ports: [{name: http, port: 80}, {name: http, port: 81}]}
)"),
                R"(
code: 500
message: 'failed to create typed patch object (/a; {w}.example.com/v1, Kind=Widget): .spec.ports: duplicate entries for key [name="http"]'
)");
}

TEST_P(ApplyContract, DryRunChangesNothing) {
  Answer tried = Apply(kA, "one", "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {k: v}}", "&dryRun=All");
  EXPECT_CODE(tried, 201);
  EXPECT_CODE(Get(kA), 404);
}

TEST_P(ApplyContract, StaleVersionInTheBodyIsAConflict) {
  Answer first = Apply(kA, "one", "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {k: v}}");
  EXPECT_CODE(Patch(kA + "?fieldManager=x", "merge", R"({"data":{"other":"1"}})"), 200);
  EXPECT_STATUS(
      Apply(kA, "one", "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, resourceVersion: '" + first.rv() + "'}, data: {k: w}}"), R"(
code: 409
details:
  kind: configmaps
  name: a
message: 'Operation cannot be fulfilled on configmaps "a": the object has been modified; please apply your changes to the latest version and try again'
reason: Conflict
)");
}

}  // namespace
}  // namespace kube::contract
