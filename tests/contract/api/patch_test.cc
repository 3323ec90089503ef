// JSON patch, merge patch and strategic merge patch.
#include "contract.h"
#include "texts.h"

namespace kube::contract {
namespace {

CONTRACT_SUITE(PatchContract);

const std::string kA = std::string(kConfigMaps) + "/a";
const std::string kDeployment = std::string(kDeployments) + "/a";

TEST_P(PatchContract, JsonPatchAppliesItsOperationsInOrder) {
  EXPECT_CODE(Post(kConfigMaps, kConfigMapA), 201);
  Answer patched = Patch(kA, "json", R"([
    {"op": "test", "path": "/data/color", "value": "red"},
    {"op": "replace", "path": "/data/color", "value": "blue"},
    {"op": "add", "path": "/data/new", "value": "1"},
    {"op": "copy", "from": "/data/new", "path": "/data/copy"},
    {"op": "move", "from": "/data/size", "path": "/data/moved"},
    {"op": "remove", "path": "/metadata/labels/tier"},
    {"op": "add", "path": "/metadata/annotations", "value": {"example.com/x": "1"}},
    {"op": "replace", "path": "/metadata/annotations/example.com~1x", "value": "~0"}
  ])");
  EXPECT_BODY(patched, 200, R"(
apiVersion: v1
data:
  color: blue
  copy: "1"
  moved: "3"
  new: "1"
kind: ConfigMap
metadata:
  annotations:
    example.com/x: ~0
  creationTimestamp: TIME
  labels:
    app: web
  name: a
  namespace: '{ns}'
  resourceVersion: RV
  uid: UID
)");
}

TEST_P(PatchContract, JsonPatchWhoseTestFailsIsRefused) {
  EXPECT_CODE(Post(kConfigMaps, kConfigMapA), 201);
  EXPECT_STATUS(Patch(kA, "json", R"([{"op": "test", "path": "/data/color", "value": "green"}])"), R"(
code: 422
details: {}
message: the server rejected our request due to an error in our request
reason: Invalid
)");
}

TEST_P(PatchContract, JsonPatchOfAMissingPlaceIsRefused) {
  EXPECT_CODE(Post(kConfigMaps, kConfigMapA), 201);
  EXPECT_STATUS(Patch(kA, "json", R"([{"op": "remove", "path": "/data/none"}])"), R"(
code: 422
details: {}
message: the server rejected our request due to an error in our request
reason: Invalid
)");
  EXPECT_STATUS(Patch(kA, "json", R"([{"op": "replace", "path": "/spec/none", "value": 1}])"), R"(
code: 422
details: {}
message: the server rejected our request due to an error in our request
reason: Invalid
)");
  EXPECT_STATUS(Patch(kA, "json", R"([{"op": "add", "path": "/spec/deep/none", "value": 1}])"), R"(
code: 422
details: {}
message: the server rejected our request due to an error in our request
reason: Invalid
)");
}

TEST_P(PatchContract, BrokenJsonPatchIsRefused) {
  EXPECT_CODE(Post(kConfigMaps, kConfigMapA), 201);
  EXPECT_STATUS(Patch(kA, "json", R"({"op": "remove"})"), R"(
code: 400
message: 'error decoding patch: json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp'
reason: BadRequest
)");
  EXPECT_STATUS(Patch(kA, "json", R"([{"op": "invent", "path": "/data"}])"), R"(
code: 422
details: {}
message: the server rejected our request due to an error in our request
reason: Invalid
)");
  EXPECT_STATUS(Patch(kA, "json", R"([{"op": )"), R"(
code: 400
message: 'error decoding patch: unexpected end of JSON input'
reason: BadRequest
)");
}

TEST_P(PatchContract, MergePatchReplacesAndRemoves) {
  EXPECT_CODE(Post(kConfigMaps, kConfigMapA), 201);
  Answer patched = Patch(kA, "merge", R"({"data":{"color":"blue","size":null,"new":"1"},"metadata":{"labels":{"tier":null}}})");
  EXPECT_BODY(patched, 200, R"(
apiVersion: v1
data:
  color: blue
  new: "1"
kind: ConfigMap
metadata:
  creationTimestamp: TIME
  labels:
    app: web
  name: a
  namespace: '{ns}'
  resourceVersion: RV
  uid: UID
)");
}

TEST_P(PatchContract, MergePatchReplacesListsWhole) {
  EXPECT_CODE(Post(kDeployments, kDeploymentA), 201);
  Answer patched = Patch(kDeployment, "merge", R"({"spec":{"template":{"spec":{"containers":[{"name":"other","image":"i"}]}}}})");
  EXPECT_CODE(patched, 200);
  EXPECT_VALUE(patched.body["spec"]["template"]["spec"]["containers"], R"(
- image: i
  imagePullPolicy: Always
  name: other
  resources: {}
  terminationMessagePath: /dev/termination-log
  terminationMessagePolicy: File
)");
}

TEST_P(PatchContract, BrokenMergePatchIsRefused) {
  EXPECT_CODE(Post(kConfigMaps, kConfigMapA), 201);
  EXPECT_STATUS(Patch(kA, "merge", R"(["no object"])"), R"(
code: 400
message: 'error decoding patch: json: cannot unmarshal array into Go value of type map[string]interface {}'
reason: BadRequest
)");
  EXPECT_STATUS(Patch(kA, "merge", R"({"data": )"), R"(
code: 400
message: 'error decoding patch: unexpected end of JSON input'
reason: BadRequest
)");
  EXPECT_STATUS(Patch(kA, "merge", R"({"data": "no map"})"), R"(
code: 422
details:
  causes:
  - field: patch
    message: 'Invalid value: "<what the patch gives>": json: cannot unmarshal string into Go struct field ConfigMap.data of type map[string]string'
    reason: FieldValueInvalid
message: <of the causes>
reason: Invalid
)");
}

TEST_P(PatchContract, EmptyPatchKeepsTheVersion) {
  Answer made = Post(kConfigMaps, kConfigMapA);
  EXPECT_EQ(Patch(kA, "merge", "{}").rv(), made.rv());
  EXPECT_EQ(Patch(kA, "strategic", "{}").rv(), made.rv());
  EXPECT_EQ(Patch(kA, "json", "[]").rv(), made.rv());
  EXPECT_EQ(Patch(kA, "merge", R"({"data":{"color":"red"}})").rv(), made.rv());
}

TEST_P(PatchContract, VersionInThePatchIsAPrecondition) {
  Answer made = Post(kConfigMaps, kConfigMapA);
  EXPECT_CODE(Patch(kA, "merge", R"({"metadata":{"resourceVersion":")" + made.rv() + R"("},"data":{"color":"blue"}})"), 200);
  EXPECT_STATUS(Patch(kA, "merge", R"({"metadata":{"resourceVersion":")" + made.rv() + R"("},"data":{"color":"green"}})"), R"(
code: 409
details:
  kind: configmaps
  name: a
message: 'Operation cannot be fulfilled on configmaps "a": the object has been modified; please apply your changes to the latest version and try again'
reason: Conflict
)");
}

TEST_P(PatchContract, UidInThePatchIsAPrecondition) {
  EXPECT_CODE(Post(kConfigMaps, kConfigMapA), 201);
  EXPECT_STATUS(Patch(kA, "merge", R"({"metadata":{"uid":"11111111-2222-3333-4444-555555555555"}})"), R"(
code: 422
details:
  causes:
  - field: metadata.uid
    message: 'Invalid value: "UID": field is immutable'
    reason: FieldValueInvalid
  - field: metadata.uid
    message: 'Invalid value: "UID": field is immutable'
    reason: FieldValueInvalid
  kind: ConfigMap
  name: a
message: <of the causes>
reason: Invalid
)");
}

TEST_P(PatchContract, NameCannotBePatched) {
  EXPECT_CODE(Post(kConfigMaps, kConfigMapA), 201);
  EXPECT_STATUS(Patch(kA, "merge", R"({"metadata":{"name":"b"}})"), R"(
code: 400
message: the name of the object (b) does not match the name on the URL (a)
reason: BadRequest
)");
}

TEST_P(PatchContract, KindCannotBePatched) {
  EXPECT_CODE(Post(kConfigMaps, kConfigMapA), 201);
  EXPECT_STATUS(Patch(kA, "merge", R"({"kind":"Secret"})"), R"(
code: 422
details:
  causes:
  - field: patch
    message: 'Invalid value: "<what the patch gives>": illegal base64 data at input byte 0'
    reason: FieldValueInvalid
message: <of the causes>
reason: Invalid
)");
}

TEST_P(PatchContract, MissingObjectIsNotFound) {
  EXPECT_STATUS(Patch(std::string(kConfigMaps) + "/nope", "merge", R"({"data":{"k":"v"}})"), R"(
code: 404
details:
  kind: configmaps
  name: nope
message: configmaps "nope" not found
reason: NotFound
)");
}

TEST_P(PatchContract, ResultIsValidated) {
  EXPECT_CODE(Post(kDeployments, kDeploymentA), 201);
  EXPECT_STATUS(Patch(kDeployment, "merge", R"({"spec":{"replicas":-3}})"), R"(
code: 422
details:
  causes:
  - field: spec.replicas
    message: 'Invalid value: -3: must be greater than or equal to 0'
    reason: FieldValueInvalid
  group: apps
  kind: Deployment
  name: a
message: <of the causes>
reason: Invalid
)");
  EXPECT_STATUS(Patch(kDeployment, "merge", R"({"spec":{"replicas":"three"}})"), R"(
code: 422
details:
  causes:
  - field: patch
    message: 'Invalid value: "<what the patch gives>": json: cannot unmarshal string into Go struct field DeploymentSpec.spec.replicas of type int32'
    reason: FieldValueInvalid
message: <of the causes>
reason: Invalid
)");
}

TEST_P(PatchContract, StrategicPatchMergesListsByKey) {
  EXPECT_CODE(Post(kDeployments, kDeploymentA), 201);
  Answer patched = Patch(kDeployment, "strategic", R"(
spec:
  template:
    spec:
      containers:
      - name: web
        image: example.com/web:2
        ports: [{containerPort: 9090, name: more}]
        env: [{name: A, value: "1"}]
      - name: sidecar
        image: example.com/proxy:1
)");
  EXPECT_CODE(patched, 200);
  EXPECT_VALUE(patched.body["spec"]["template"]["spec"]["containers"], R"(
- env:
  - name: A
    value: "1"
  image: example.com/web:2
  imagePullPolicy: IfNotPresent
  name: web
  ports:
  - containerPort: 9090
    name: more
    protocol: TCP
  - containerPort: 8080
    protocol: TCP
  resources: {}
  terminationMessagePath: /dev/termination-log
  terminationMessagePolicy: File
- image: example.com/proxy:1
  imagePullPolicy: IfNotPresent
  name: sidecar
  resources: {}
  terminationMessagePath: /dev/termination-log
  terminationMessagePolicy: File
)");
}

TEST_P(PatchContract, StrategicPatchHasDirectives) {
  EXPECT_CODE(Post(kDeployments, kDeploymentA), 201);
  EXPECT_CODE(Patch(kDeployment, "strategic",
                    R"({"spec":{"template":{"spec":{"containers":[{"name":"b","image":"i"},{"name":"c","image":"i"}]}}}})"),
              200);
  Answer deleted = Patch(kDeployment, "strategic", R"({"spec":{"template":{"spec":{"containers":[{"name":"web","$patch":"delete"}]}}}})");
  EXPECT_EQ(deleted.body["spec"]["template"]["spec"]["containers"].list().size(), 2U);
  Answer ordered = Patch(
      kDeployment, "strategic",
      R"({"spec":{"template":{"spec":{"$setElementOrder/containers":[{"name":"c"},{"name":"b"}],"containers":[{"name":"c","image":"j"}]}}}})");
  EXPECT_EQ(ordered.body["spec"]["template"]["spec"]["containers"].list()[0]["name"], Value("c"));
  Answer replaced = Patch(kDeployment, "strategic", R"({"spec":{"strategy":{"$patch":"replace","type":"Recreate"}}})");
  EXPECT_VALUE(replaced.body["spec"]["strategy"], R"(
type: Recreate
)");
  Answer whole = Patch(kDeployment, "strategic",
                       R"({"spec":{"template":{"spec":{"containers":[{"$patch":"replace"},{"name":"only","image":"i"}]}}}})");
  EXPECT_EQ(whole.body["spec"]["template"]["spec"]["containers"].list().size(), 1U);
}

TEST_P(PatchContract, StrategicPatchOfPrimitiveLists) {
  EXPECT_CODE(Post(kConfigMaps, R"({"metadata":{"name":"a","finalizers":["example.com/a","example.com/b"]}})"), 201);
  Answer added = Patch(kA, "strategic", R"({"metadata":{"finalizers":["example.com/c"]}})");
  EXPECT_VALUE(added.body["metadata"]["finalizers"], R"(
- example.com/c
- example.com/a
- example.com/b
)");
  Answer removed = Patch(kA, "strategic", R"({"metadata":{"$deleteFromPrimitiveList/finalizers":["example.com/a"]}})");
  EXPECT_VALUE(removed.body["metadata"]["finalizers"], R"(
- example.com/c
- example.com/b
)");
  EXPECT_CODE(Patch(kA, "merge", R"({"metadata":{"finalizers":null}})"), 200);
}

TEST_P(PatchContract, StrategicPatchWithoutAKeyIsRefused) {
  EXPECT_CODE(Post(kDeployments, kDeploymentA), 201);
  EXPECT_STATUS(Patch(kDeployment, "strategic", R"({"spec":{"template":{"spec":{"containers":[{"image":"i"}]}}}})"), R"(
code: 500
message: 'map: map[image:i] does not contain declared merge key: name'
)");
  EXPECT_STATUS(Patch(kDeployment, "strategic", R"({"spec":{"template":{"spec":{"containers":[{"name":"web","$patch":"invent"}]}}}})"), R"(
code: 500
message: 'unknown patch type: invent in map: map[$patch:invent name:web]'
)");
}

TEST_P(PatchContract, CustomResourcesTakeNoStrategicPatch) {
  EXPECT_CODE(Post(kWidgets, kWidgetA), 201);
  EXPECT_STATUS(Patch(std::string(kWidgets) + "/a", "strategic", R"({"spec":{"size":"large"}})"), R"(
code: 415
message: 'the body of the request was in an unknown format - accepted media types include: application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml'
reason: UnsupportedMediaType
)");
  Answer merged = Patch(std::string(kWidgets) + "/a", "merge", R"({"spec":{"size":"large"}})");
  EXPECT_CODE(merged, 200);
  EXPECT_EQ(merged.body["metadata"]["generation"], Value(2));
}

TEST_P(PatchContract, UnknownPatchTypeIsRefused) {
  EXPECT_CODE(Post(kConfigMaps, kConfigMapA), 201);
  EXPECT_STATUS(Call({.method = "PATCH", .url = kA, .headers = {{"Content-Type", "application/json"}}, .body = "{}"}), R"(
code: 415
details: {}
message: '415: Unsupported Media Type'
reason: UnsupportedMediaType
)");
  EXPECT_STATUS(Call({.method = "PATCH", .url = kA, .headers = {{"Content-Type", "text/nonsense"}}, .body = "{}"}), R"(
code: 415
details: {}
message: '415: Unsupported Media Type'
reason: UnsupportedMediaType
)");
}

TEST_P(PatchContract, FieldManagerIsRecorded) {
  EXPECT_CODE(Post(std::string(kConfigMaps) + "?fieldManager=first", kConfigMapA), 201);
  Answer patched = Patch(kA + "?fieldManager=second", "merge", R"({"data":{"color":"blue"}})");
  EXPECT_MANAGED_FIELDS(patched, R"(
- apiVersion: v1
  fieldsType: FieldsV1
  fieldsV1:
    f:data:
      .: {}
      f:size: {}
    f:metadata:
      f:labels:
        .: {}
        f:app: {}
        f:tier: {}
  manager: first
  operation: Update
  time: TIME
- apiVersion: v1
  fieldsType: FieldsV1
  fieldsV1:
    f:data:
      f:color: {}
  manager: second
  operation: Update
  time: TIME
)");
}

TEST_P(PatchContract, ForceIsForApplyOnly) {
  EXPECT_CODE(Post(kConfigMaps, kConfigMapA), 201);
  EXPECT_STATUS(Patch(kA + "?force=true", "merge", "{}"), R"(
code: 422
details:
  causes:
  - field: force
    message: 'Forbidden: may not be specified for non-apply patch'
    reason: FieldValueForbidden
  group: meta.k8s.io
  kind: PatchOptions
message: <of the causes>
reason: Invalid
)");
}

TEST_P(PatchContract, StatusIsPatchedByItsSubresource) {
  EXPECT_CODE(Post(kPods, kPodA), 201);
  Answer patched =
      Patch(std::string(kPods) + "/a/status", "strategic",
            R"({"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"}]},"metadata":{"labels":{"x":"y"}}})");
  EXPECT_CODE(patched, 200);
  EXPECT_VALUE(patched.body["status"], R"(
conditions:
- lastProbeTime: null
  lastTransitionTime: null
  status: "True"
  type: Ready
phase: Running
qosClass: BestEffort
)");
  EXPECT_VALUE(patched.body["metadata"]["labels"], R"(
app: web
x: "y"
)");
}

}  // namespace
}  // namespace kube::contract
