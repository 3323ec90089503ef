// Creating objects: names, defaults, what the server fills in and what it refuses.
#include <gmock/gmock.h>

#include "contract.h"
#include "texts.h"

namespace kube::contract {
namespace {

using ::testing::MatchesRegex;

CONTRACT_SUITE(CreateContract);

TEST_P(CreateContract, AnswersTheObjectAsItIsStored) {
  Answer made = Post(kConfigMaps, kConfigMapA);
  EXPECT_BODY(made, 201, R"(
apiVersion: v1
data:
  color: red
  size: "3"
kind: ConfigMap
metadata:
  creationTimestamp: TIME
  labels:
    app: web
    tier: front
  name: a
  namespace: '{ns}'
  resourceVersion: RV
  uid: UID
)");
  EXPECT_EQ(made.Header("content-type"), "application/json");
  EXPECT_EQ(Get(std::string(kConfigMaps) + "/a").body, made.body);
}

TEST_P(CreateContract, SecondOfTheSameNameIsRefused) {
  EXPECT_CODE(Post(kConfigMaps, kConfigMapA), 201);
  EXPECT_STATUS(Post(kConfigMaps, kConfigMapA), R"(
code: 409
details:
  kind: configmaps
  name: a
message: configmaps "a" already exists
reason: AlreadyExists
)");
  EXPECT_CODE(Post(kDeployments, kDeploymentA), 201);
  EXPECT_STATUS(Post(kDeployments, kDeploymentA), R"(
code: 409
details:
  group: apps
  kind: deployments
  name: a
message: deployments.apps "a" already exists
reason: AlreadyExists
)");
}

TEST_P(CreateContract, GenerateNameAddsFiveCharacters) {
  Answer made = Post(kConfigMaps, "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"generateName\":\"web-\"}}");
  EXPECT_CODE(made, 201);
  EXPECT_THAT(made.body["metadata"]["name"].string_value().str(), MatchesRegex("web-[bcdfghjklmnpqrstvwxz2456789]{5}"));
  EXPECT_EQ(made.body["metadata"]["generateName"], Value("web-"));
}

TEST_P(CreateContract, GenerateNameIsCutSoThatTheNameFits) {
  const std::string prefix(70, 'p');
  Answer made = Post(kConfigMaps, "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"generateName\":\"" + prefix + "\"}}");
  EXPECT_CODE(made, 201);
  EXPECT_EQ(made.body["metadata"]["name"].string_value().size(), 63U);
}

TEST_P(CreateContract, NameWinsOverGenerateName) {
  Answer made =
      Post(kConfigMaps, "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"generateName\":\"web-\",\"name\":\"own\"}}");
  EXPECT_CODE(made, 201);
  EXPECT_EQ(made.body["metadata"]["name"], Value("own"));
}

TEST_P(CreateContract, NameIsRequired) {
  EXPECT_STATUS(Post(kConfigMaps, R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{}})"), R"(
code: 422
details:
  causes:
  - field: metadata.name
    message: 'Required value: name or generateName is required'
    reason: FieldValueRequired
  kind: ConfigMap
message: <of the causes>
reason: Invalid
)");
}

TEST_P(CreateContract, BadNameIsRefused) {
  EXPECT_STATUS(Post(kConfigMaps, ConfigMapJson("Bad_Name")), R"(
code: 422
details:
  causes:
  - field: metadata.name
    message: 'Invalid value: "Bad_Name": <not a subdomain>'
    reason: FieldValueInvalid
  kind: ConfigMap
  name: Bad_Name
message: <of the causes>
reason: Invalid
)");
  EXPECT_STATUS(Post(kServices, R"({"apiVersion":"v1","kind":"Service","metadata":{"name":"1.x"},"spec":{"ports":[{"port":80}]}})"), R"(
code: 422
details:
  causes:
  - field: metadata.name
    message: 'Invalid value: "1.x": must not contain dots'
    reason: FieldValueInvalid
  kind: Service
  name: 1.x
message: <of the causes>
reason: Invalid
)");
  EXPECT_STATUS(Post(kNamespaces, R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":"a.b"}})"), R"(
code: 422
details:
  causes:
  - field: metadata.name
    message: 'Invalid value: "a.b": must not contain dots'
    reason: FieldValueInvalid
  kind: Namespace
  name: a.b
message: <of the causes>
reason: Invalid
)");
}

TEST_P(CreateContract, NameTooLongIsRefused) {
  EXPECT_STATUS(Post(kConfigMaps, ConfigMapJson(std::string(254, 'n'))), R"(
code: 422
details:
  causes:
  - field: metadata.name
    message: 'Invalid value: "nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn": must be no more than 253 characters'
    reason: FieldValueInvalid
  kind: ConfigMap
  name: nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn
message: <of the causes>
reason: Invalid
)");
}

TEST_P(CreateContract, GenerateNameMustBeTheStartOfAName) {
  Answer refused = Post(kConfigMaps, R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"generateName":"Web_"}})");
  EXPECT_CODE(refused, 422);
  ASSERT_EQ(refused.body["details"]["causes"].list().size(), 2U);
  EXPECT_VALUE(refused.body["details"]["causes"].list()[0], R"(
field: metadata.generateName
message: 'Invalid value: "Web_": <not a subdomain>'
reason: FieldValueInvalid
)");
  EXPECT_EQ(refused.body["details"]["causes"].list()[1]["field"], Value("metadata.name"));
}

TEST_P(CreateContract, NamespaceOfBodyAndPathMustBeTheSame) {
  EXPECT_STATUS(Post(kConfigMaps, R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","namespace":"other"}})"), R"(
code: 400
message: the namespace of the provided object does not match the namespace sent on the request
reason: BadRequest
)");
}

TEST_P(CreateContract, NamespaceMustExist) {
  EXPECT_STATUS(Post("/api/v1/namespaces/no-{id}/configmaps", ConfigMapJson("a")), R"(
code: 404
details:
  kind: namespaces
  name: no-{id}
message: namespaces "no-{id}" not found
reason: NotFound
)");
}

TEST_P(CreateContract, KindOfTheBodyMustBeTheResources) {
  EXPECT_STATUS(Post(kConfigMaps, R"({"apiVersion":"v1","kind":"Secret","metadata":{"name":"a"}})"), R"(
code: 400
message: 'Secret in version "v1" cannot be handled as a ConfigMap: converting (v1.Secret) to (core.ConfigMap): unknown conversion'
reason: BadRequest
)");
  EXPECT_STATUS(Post(kConfigMaps, R"({"apiVersion":"v1","kind":"Nonsense","metadata":{"name":"a"}})"), R"(
code: 400
message: 'Nonsense in version "v1" cannot be handled as a ConfigMap: no kind "Nonsense" is registered for version "v1" in scheme SCHEME'
reason: BadRequest
)");
}

TEST_P(CreateContract, VersionOfTheBodyMustBeTheResources) {
  EXPECT_STATUS(Post(kConfigMaps, R"({"apiVersion":"apps/v1","kind":"ConfigMap","metadata":{"name":"a"}})"), R"(
code: 400
message: 'ConfigMap in version "v1" cannot be handled as a ConfigMap: no kind "ConfigMap" is registered for version "apps/v1" in scheme SCHEME'
reason: BadRequest
)");
  EXPECT_STATUS(Post(kDeployments, R"({"apiVersion":"v1","kind":"Deployment","metadata":{"name":"a"}})"), R"(
code: 400
message: 'Deployment in version "v1" cannot be handled as a Deployment: no kind "Deployment" is registered for version "v1" in scheme SCHEME'
reason: BadRequest
)");
}

TEST_P(CreateContract, KindAndVersionMayBeLeftOut) {
  Answer made = Post(kConfigMaps, R"({"metadata":{"name":"a"},"data":{"k":"v"}})");
  EXPECT_BODY(made, 201, R"(
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
}

TEST_P(CreateContract, ResourceVersionMustNotBeSet) {
  EXPECT_STATUS(Post(kConfigMaps, R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","resourceVersion":"1"}})"), R"(
code: 500
message: resourceVersion should not be set on objects to be created
)");
}

// The store refuses the version, after all else is checked; a dry run writes nothing and does not ask it.
TEST_P(CreateContract, ResourceVersionIsCheckedLast) {
  auto body = [](const std::string& name, const std::string& version) {
    return R"({"metadata":{"name":")" + name + R"(","resourceVersion":")" + version + R"("}})";
  };
  EXPECT_STATUS(Post(kConfigMaps, body("A_B", "12")), R"(
code: 422
details:
  causes:
  - field: metadata.name
    message: 'Invalid value: "A_B": <not a subdomain>'
    reason: FieldValueInvalid
  kind: ConfigMap
  name: A_B
message: <of the causes>
reason: Invalid
)");
  EXPECT_BODY(Post(std::string(kConfigMaps) + "?dryRun=All", body("a", "12")), 201, R"(
apiVersion: v1
kind: ConfigMap
metadata:
  creationTimestamp: TIME
  name: a
  namespace: '{ns}'
  resourceVersion: RV
  uid: UID
)");
  EXPECT_CODE(Post(kConfigMaps, body("zero", "0")), 201);
  EXPECT_CODE(Post(kConfigMaps, body("text", "text")), 201);
  EXPECT_CODE(Post(kConfigMaps, body("text", "12")), 500);
  EXPECT_CODE(
      Post(kWidgets, R"({"apiVersion":"{w}.example.com/v1","kind":"Widget","metadata":{"name":"a","resourceVersion":"1"},"spec":{}})"),
      422);
  EXPECT_CODE(Apply(std::string(kConfigMaps) + "/applied", "m",
                    R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"applied","resourceVersion":"12"}})"),
              201);
}

TEST_P(CreateContract, WhatIsTheServersIsNotTakenFromTheClient) {
  Answer made = Post(kDeployments, R"(
apiVersion: apps/v1
kind: Deployment
metadata:
  name: a
  uid: 11111111-2222-3333-4444-555555555555
  creationTimestamp: "2001-01-01T00:00:00Z"
  deletionTimestamp: "2001-01-01T00:00:00Z"
  deletionGracePeriodSeconds: 7
  generation: 12
  selfLink: /somewhere
spec:
  selector: {matchLabels: {app: web}}
  template: {metadata: {labels: {app: web}}, spec: {containers: [{name: web, image: i}]}}
status: {replicas: 3, observedGeneration: 9}
)");
  EXPECT_CODE(made, 201);
  EXPECT_VALUE(made.body["metadata"], R"(
creationTimestamp: TIME
generation: 1
name: a
namespace: '{ns}'
resourceVersion: RV
uid: UID
)");
  EXPECT_VALUE(made.body["status"], R"(
{}
)");
  EXPECT_NE(made.uid(), "11111111-2222-3333-4444-555555555555");
  EXPECT_NE(made.body["metadata"]["creationTimestamp"], Value("2001-01-01T00:00:00Z"));
}

TEST_P(CreateContract, DeploymentIsDefaulted) {
  EXPECT_BODY(Post(kDeployments, kDeploymentA), 201, R"(
apiVersion: apps/v1
kind: Deployment
metadata:
  creationTimestamp: TIME
  generation: 1
  name: a
  namespace: '{ns}'
  resourceVersion: RV
  uid: UID
spec:
  progressDeadlineSeconds: 600
  replicas: 2
  revisionHistoryLimit: 10
  selector:
    matchLabels:
      app: web
  strategy:
    rollingUpdate:
      maxSurge: 25%
      maxUnavailable: 25%
    type: RollingUpdate
  template:
    metadata:
      labels:
        app: web
    spec:
      containers:
      - image: example.com/web:1
        imagePullPolicy: IfNotPresent
        name: web
        ports:
        - containerPort: 8080
          protocol: TCP
        resources: {}
        terminationMessagePath: /dev/termination-log
        terminationMessagePolicy: File
      dnsPolicy: ClusterFirst
      restartPolicy: Always
      schedulerName: default-scheduler
      securityContext: {}
      terminationGracePeriodSeconds: 30
status: {}
)");
}

TEST_P(CreateContract, PodIsDefaulted) {
  Answer made = Post(kPods, kPodA);
  EXPECT_CODE(made, 201);
  EXPECT_VALUE(made.body["spec"], R"(
automountServiceAccountToken: false
containers:
- image: example.com/web:1
  imagePullPolicy: IfNotPresent
  name: web
  ports:
  - containerPort: 8080
    protocol: TCP
  resources: {}
  terminationMessagePath: /dev/termination-log
  terminationMessagePolicy: File
dnsPolicy: ClusterFirst
enableServiceLinks: true
preemptionPolicy: PreemptLowerPriority
priority: 0
restartPolicy: Always
schedulerName: default-scheduler
securityContext: {}
terminationGracePeriodSeconds: 30
tolerations:
- effect: NoExecute
  key: node.kubernetes.io/not-ready
  operator: Exists
  tolerationSeconds: 300
- effect: NoExecute
  key: node.kubernetes.io/unreachable
  operator: Exists
  tolerationSeconds: 300
)");
  EXPECT_VALUE(made.body["status"], R"(
phase: Pending
qosClass: BestEffort
)");
}

TEST_P(CreateContract, ServiceIsDefaulted) {
  Answer made = Post(kServices, R"(
apiVersion: v1
kind: Service
metadata: {name: a}
spec: {clusterIP: None, selector: {app: web}, ports: [{port: 80}]}
)");
  EXPECT_CODE(made, 201);
  EXPECT_VALUE(made.body["spec"], R"(
clusterIP: None
clusterIPs:
- None
internalTrafficPolicy: Cluster
ipFamilies:
- IPv4
ipFamilyPolicy: SingleStack
ports:
- port: 80
  protocol: TCP
  targetPort: 80
selector:
  app: web
sessionAffinity: None
type: ClusterIP
)");
}

TEST_P(CreateContract, SecretTakesStringData) {
  Answer made = Post("/api/v1/namespaces/{ns}/secrets", R"(
apiVersion: v1
kind: Secret
metadata: {name: a}
data: {k1: eA==, k2: eQ==}
stringData: {k2: why, k3: zed}
)");
  EXPECT_BODY(made, 201, R"(
apiVersion: v1
data:
  k1: eA==
  k2: d2h5
  k3: emVk
kind: Secret
metadata:
  creationTimestamp: TIME
  name: a
  namespace: '{ns}'
  resourceVersion: RV
  uid: UID
type: Opaque
)");
}

TEST_P(CreateContract, BadLabelsAndAnnotationsAreRefused) {
  EXPECT_STATUS_ANY_ORDER(Post(kConfigMaps, ConfigMapJson("a", R"({"-bad":"v","good":"not good"})")), R"(
code: 422
details:
  causes:
  - field: metadata.labels
    message: 'Invalid value: "-bad": <not a qualified name>'
    reason: FieldValueInvalid
  - field: metadata.labels
    message: 'Invalid value: "not good": <not a label value>'
    reason: FieldValueInvalid
  kind: ConfigMap
  name: a
message: <of the causes>
reason: Invalid
)");
  EXPECT_STATUS_ANY_ORDER(Post(kConfigMaps, R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","annotations":{"a b":"v"}}})"),
                          R"(
code: 422
details:
  causes:
  - field: metadata.annotations
    message: 'Invalid value: "a b": <not a qualified name>'
    reason: FieldValueInvalid
  kind: ConfigMap
  name: a
message: <of the causes>
reason: Invalid
)");
}

TEST_P(CreateContract, OwnerReferencesAreChecked) {
  EXPECT_STATUS(Post(kConfigMaps, R"({"metadata":{"name":"a","ownerReferences":[{"apiVersion":"","kind":"","name":"","uid":""}]}})"), R"(
code: 422
details:
  causes:
  - field: metadata.ownerReferences.apiVersion
    message: 'Invalid value: "": version must not be empty'
    reason: FieldValueInvalid
  - field: metadata.ownerReferences.kind
    message: 'Invalid value: "": must not be empty'
    reason: FieldValueInvalid
  - field: metadata.ownerReferences.name
    message: 'Invalid value: "": must not be empty'
    reason: FieldValueInvalid
  - field: metadata.ownerReferences.uid
    message: 'Invalid value: "": must not be empty'
    reason: FieldValueInvalid
  kind: ConfigMap
  name: a
message: <of the causes>
reason: Invalid
)");
}

TEST_P(CreateContract, FinalizersAreChecked) {
  EXPECT_STATUS(Post(kConfigMaps, R"({"metadata":{"name":"a","finalizers":["no slash","example.com/ok"]}})"), R"(
code: 422
details:
  causes:
  - field: metadata.finalizers
    message: 'Invalid value: "no slash": <not a qualified name>'
    reason: FieldValueInvalid
  - field: metadata.finalizers[0]
    message: 'Invalid value: "no slash": name is neither a standard finalizer name nor is it fully qualified'
    reason: FieldValueInvalid
  kind: ConfigMap
  name: a
message: <of the causes>
reason: Invalid
)");
}

TEST_P(CreateContract, InvalidPodGetsOneCausePerField) {
  EXPECT_STATUS(Post(kPods, R"(
apiVersion: v1
kind: Pod
metadata: {name: a}
spec:
  restartPolicy: Sometimes
  containers:
  - {name: UPPER, image: ""}
  - {name: b, image: i, ports: [{containerPort: 70000, protocol: ICMP}]}
  - {name: b, image: i}
)"),
                R"(
code: 422
details:
  causes:
  - field: spec.containers[0].name
    message: 'Invalid value: "UPPER": <not a label>'
    reason: FieldValueInvalid
  - field: spec.containers[0].image
    message: Required value
    reason: FieldValueRequired
  - field: spec.containers[1].ports[0].containerPort
    message: 'Invalid value: 70000: must be between 1 and 65535, inclusive'
    reason: FieldValueInvalid
  - field: spec.containers[1].ports[0].protocol
    message: 'Unsupported value: "ICMP": supported values: "SCTP", "TCP", "UDP"'
    reason: FieldValueNotSupported
  - field: spec.containers[2].name
    message: 'Duplicate value: "b"'
    reason: FieldValueDuplicate
  - field: spec.restartPolicy
    message: 'Unsupported value: "Sometimes": supported values: "Always", "OnFailure", "Never"'
    reason: FieldValueNotSupported
  kind: Pod
  name: a
message: <of the causes>
reason: Invalid
)");
  EXPECT_STATUS(Post(kPods, R"({"metadata":{"name":"a"},"spec":{}})"), R"(
code: 422
details:
  causes:
  - field: spec.containers
    message: Required value
    reason: FieldValueRequired
  kind: Pod
  name: a
message: <of the causes>
reason: Invalid
)");
}

TEST_P(CreateContract, InvalidDeploymentGetsOneCausePerField) {
  EXPECT_STATUS(Post(kDeployments, R"({"metadata":{"name":"a"},"spec":{"replicas":-1}})"), R"(
code: 422
details:
  causes:
  - field: spec.replicas
    message: 'Invalid value: -1: must be greater than or equal to 0'
    reason: FieldValueInvalid
  - field: spec.selector
    message: Required value
    reason: FieldValueRequired
  - field: spec.template.metadata.labels
    message: 'Invalid value: null: `selector` does not match template `labels`'
    reason: FieldValueInvalid
  - field: spec.template.spec.containers
    message: Required value
    reason: FieldValueRequired
  group: apps
  kind: Deployment
  name: a
message: <of the causes>
reason: Invalid
)");
  EXPECT_STATUS(Post(kDeployments, R"(
metadata: {name: a}
spec:
  selector: {matchLabels: {app: web}}
  template: {metadata: {labels: {app: other}}, spec: {containers: [{name: web, image: i}]}}
)"),
                R"(
code: 422
details:
  causes:
  - field: spec.template.metadata.labels
    message: 'Invalid value: {"app":"other"}: `selector` does not match template `labels`'
    reason: FieldValueInvalid
  group: apps
  kind: Deployment
  name: a
message: <of the causes>
reason: Invalid
)");
}

TEST_P(CreateContract, InvalidServiceGetsOneCausePerField) {
  EXPECT_STATUS(Post(kServices, R"({"metadata":{"name":"a"},"spec":{"ports":[{"port":0},{"port":80}]}})"), R"(
code: 422
details:
  causes:
  - field: spec.ports[0].name
    message: Required value
    reason: FieldValueRequired
  - field: spec.ports[0].port
    message: 'Invalid value: 0: must be between 1 and 65535, inclusive'
    reason: FieldValueInvalid
  - field: spec.ports[0].targetPort
    message: 'Invalid value: 0: must be between 1 and 65535, inclusive'
    reason: FieldValueInvalid
  - field: spec.ports[1].name
    message: Required value
    reason: FieldValueRequired
  kind: Service
  name: a
message: <of the causes>
reason: Invalid
)");
}

TEST_P(CreateContract, ConfigMapKeysAreChecked) {
  EXPECT_STATUS(Post(kConfigMaps, R"({"metadata":{"name":"a"},"data":{"no/slash":"v"}})"), R"(
code: 422
details:
  causes:
  - field: data[no/slash]
    message: 'Invalid value: "no/slash": <not a key>'
    reason: FieldValueInvalid
  kind: ConfigMap
  name: a
message: <of the causes>
reason: Invalid
)");
}

TEST_P(CreateContract, ObjectIsCreatedInTheCollectionOnly) {
  EXPECT_STATUS(Post(std::string(kConfigMaps) + "/a", kConfigMapA), R"(
code: 405
details: {}
message: the server does not allow this method on the requested resource
reason: MethodNotAllowed
)");
}

TEST_P(CreateContract, NamespacedKindsAreNotCreatedForAllNamespaces) {
  EXPECT_STATUS(Post("/api/v1/configmaps", kConfigMapA), R"(
code: 405
details: {}
message: the server does not allow this method on the requested resource
reason: MethodNotAllowed
)");
}

TEST_P(CreateContract, ManagedFieldsNameTheManager) {
  Answer by_query = Post(std::string(kConfigMaps) + "?fieldManager=me", kConfigMapA);
  EXPECT_MANAGED_FIELDS(by_query, R"(
- apiVersion: v1
  fieldsType: FieldsV1
  fieldsV1:
    f:data:
      .: {}
      f:color: {}
      f:size: {}
    f:metadata:
      f:labels:
        .: {}
        f:app: {}
        f:tier: {}
  manager: me
  operation: Update
  time: TIME
)");
  Answer by_agent = Post(kConfigMaps, ConfigMapJson("b"), {{"User-Agent", "tool/v1.2 (linux) x"}});
  EXPECT_MANAGED_FIELDS(by_agent, R"(
- apiVersion: v1
  fieldsType: FieldsV1
  fieldsV1:
    f:data:
      .: {}
      f:k: {}
  manager: tool
  operation: Update
  time: TIME
)");
}

TEST_P(CreateContract, FieldManagerMayNotBeTooLong) {
  EXPECT_STATUS(Post(std::string(kConfigMaps) + "?fieldManager=" + std::string(129, 'm'), kConfigMapA), R"(
code: 422
details:
  causes:
  - field: fieldManager
    message: 'Too long: may not be more than 128 bytes'
    reason: FieldValueTooLong
  group: meta.k8s.io
  kind: CreateOptions
message: <of the causes>
reason: Invalid
)");
}

TEST_P(CreateContract, LeaseKeepsMicroseconds) {
  Answer made = Post("/apis/coordination.k8s.io/v1/namespaces/{ns}/leases", R"(
apiVersion: coordination.k8s.io/v1
kind: Lease
metadata: {name: a}
spec: {holderIdentity: me, leaseDurationSeconds: 15, acquireTime: "2024-01-02T03:04:05.678901Z", renewTime: "2024-01-02T03:04:05.000000Z"}
)");
  EXPECT_CODE(made, 201);
  EXPECT_VALUE(made.body["spec"], R"(
acquireTime: "2024-01-02T03:04:05.678901Z"
holderIdentity: me
leaseDurationSeconds: 15
renewTime: "2024-01-02T03:04:05.000000Z"
)");
  EXPECT_STATUS(Post("/apis/coordination.k8s.io/v1/namespaces/{ns}/leases",
                     R"({"metadata":{"name":"b"},"spec":{"renewTime":"2024-01-02T03:04:05Z"}})"),
                R"(
code: 400
message: 'Lease in version "v1" cannot be handled as a Lease: parsing time "2024-01-02T03:04:05Z" as "2006-01-02T15:04:05.000000Z07:00": cannot parse "Z" as ".000000"'
reason: BadRequest
)");
  EXPECT_STATUS(
      Post("/apis/coordination.k8s.io/v1/namespaces/{ns}/leases", R"({"metadata":{"name":"b"},"spec":{"leaseDurationSeconds":0}})"), R"(
code: 422
details:
  causes:
  - field: spec.leaseDurationSeconds
    message: 'Invalid value: 0: must be greater than 0'
    reason: FieldValueInvalid
  group: coordination.k8s.io
  kind: Lease
  name: b
message: <of the causes>
reason: Invalid
)");
}

TEST_P(CreateContract, EventsOfBothGroupsAreOneObject) {
  Answer made = Post("/api/v1/namespaces/{ns}/events", R"(
apiVersion: v1
kind: Event
metadata: {name: a}
involvedObject: {apiVersion: v1, kind: ConfigMap, name: x, namespace: "{ns}"}
reason: Tested
message: it works
type: Normal
count: 2
firstTimestamp: "2024-01-02T03:04:05Z"
lastTimestamp: "2024-01-02T03:04:06Z"
source: {component: suite}
)");
  EXPECT_CODE(made, 201);
  EXPECT_BODY(Get("/apis/events.k8s.io/v1/namespaces/{ns}/events/a"), 200, R"(
apiVersion: events.k8s.io/v1
deprecatedCount: 2
deprecatedFirstTimestamp: "2024-01-02T03:04:05Z"
deprecatedLastTimestamp: "2024-01-02T03:04:06Z"
deprecatedSource:
  component: suite
eventTime: null
kind: Event
metadata:
  creationTimestamp: TIME
  name: a
  namespace: '{ns}'
  resourceVersion: RV
  uid: UID
note: it works
reason: Tested
regarding:
  apiVersion: v1
  kind: ConfigMap
  name: x
  namespace: '{ns}'
type: Normal
)");
}

}  // namespace
}  // namespace kube::contract
