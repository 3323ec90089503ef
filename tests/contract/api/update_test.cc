// Replacing objects: optimistic locking, what may change, generation.
#include "contract.h"
#include "kube/codec/json.h"
#include "texts.h"

namespace kube::contract {
namespace {

class UpdateContract : public ContractTest {
 protected:
  // The object with one thing changed, as a request.
  static std::string With(const Answer& from, const std::function<void(Value&)>& change) {
    Value changed = from.body;
    change(changed);
    return ToJson(changed);
  }
};
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(UpdateContract);
INSTANTIATE_TEST_SUITE_P(Servers, UpdateContract, ::testing::ValuesIn(ServersToTest()), TestParamName);

TEST_P(UpdateContract, ReplacesTheObject) {
  Answer made = Post(kConfigMaps, kConfigMapA);
  Answer put = Put(std::string(kConfigMaps) + "/a", R"({"metadata":{"name":"a","labels":{"x":"y"}},"data":{"only":"this"}})");
  EXPECT_BODY(put, 200, R"(
apiVersion: v1
data:
  only: this
kind: ConfigMap
metadata:
  creationTimestamp: TIME
  labels:
    x: "y"
  name: a
  namespace: '{ns}'
  resourceVersion: RV
  uid: UID
)");
  EXPECT_EQ(put.uid(), made.uid());
  EXPECT_GT(std::stoll(put.rv()), std::stoll(made.rv()));
}

TEST_P(UpdateContract, SameContentKeepsTheVersion) {
  Answer made = Post(kConfigMaps, kConfigMapA);
  Answer put = Put(std::string(kConfigMaps) + "/a", made.raw.body);
  EXPECT_CODE(put, 200);
  EXPECT_EQ(put.body, made.body);
}

TEST_P(UpdateContract, StaleVersionIsAConflict) {
  Answer made = Post(kConfigMaps, kConfigMapA);
  EXPECT_CODE(Put(std::string(kConfigMaps) + "/a", With(made, [](Value& v) { v["data"]["color"] = "blue"; })), 200);
  EXPECT_STATUS(Put(std::string(kConfigMaps) + "/a", With(made, [](Value& v) { v["data"]["color"] = "green"; })), R"(
code: 409
details:
  kind: configmaps
  name: a
message: 'Operation cannot be fulfilled on configmaps "a": the object has been modified; please apply your changes to the latest version and try again'
reason: Conflict
)");
  EXPECT_STATUS(Put(std::string(kDeployments) + "/a",
                    With(Post(kDeployments, kDeploymentA), [](Value& v) { v["metadata"]["resourceVersion"] = "1"; })),
                R"(
code: 409
details:
  group: apps
  kind: deployments
  name: a
message: 'Operation cannot be fulfilled on deployments.apps "a": the object has been modified; please apply your changes to the latest version and try again'
reason: Conflict
)");
}

TEST_P(UpdateContract, MissingObjectIsNotFound) {
  EXPECT_STATUS(Put(std::string(kConfigMaps) + "/nope", R"({"metadata":{"name":"nope"}})"), R"(
code: 404
details:
  kind: configmaps
  name: nope
message: configmaps "nope" not found
reason: NotFound
)");
  EXPECT_STATUS(Put(std::string(kConfigMaps) + "/nope", R"({"metadata":{"name":"nope","resourceVersion":"5"}})"), R"(
code: 404
details:
  kind: configmaps
  name: nope
message: configmaps "nope" not found
reason: NotFound
)");
}

TEST_P(UpdateContract, LeasesAreCreatedByPut) {
  Answer put = Put("/apis/coordination.k8s.io/v1/namespaces/{ns}/leases/a",
                   R"({"apiVersion":"coordination.k8s.io/v1","kind":"Lease","metadata":{"name":"a"},"spec":{"holderIdentity":"me"}})");
  EXPECT_BODY(put, 201, R"(
apiVersion: coordination.k8s.io/v1
kind: Lease
metadata:
  creationTimestamp: TIME
  name: a
  namespace: '{ns}'
  resourceVersion: RV
  uid: UID
spec:
  holderIdentity: me
)");
}

TEST_P(UpdateContract, NameOfBodyAndPathMustBeTheSame) {
  EXPECT_CODE(Post(kConfigMaps, kConfigMapA), 201);
  EXPECT_STATUS(Put(std::string(kConfigMaps) + "/a", R"({"metadata":{"name":"b"}})"), R"(
code: 400
message: the name of the object (b) does not match the name on the URL (a)
reason: BadRequest
)");
  EXPECT_STATUS(Put(std::string(kConfigMaps) + "/a", R"({"metadata":{}})"), R"(
code: 400
message: 'the name of the object (a based on URL) was undeterminable: name must be provided'
reason: BadRequest
)");
}

TEST_P(UpdateContract, NamespaceOfBodyAndPathMustBeTheSame) {
  EXPECT_CODE(Post(kConfigMaps, kConfigMapA), 201);
  EXPECT_STATUS(Put(std::string(kConfigMaps) + "/a", R"({"metadata":{"name":"a","namespace":"other"}})"), R"(
code: 400
message: the namespace of the provided object does not match the namespace sent on the request
reason: BadRequest
)");
}

TEST_P(UpdateContract, UidMustBeTheObjects) {
  EXPECT_CODE(Post(kConfigMaps, kConfigMapA), 201);
  EXPECT_STATUS(Put(std::string(kConfigMaps) + "/a", R"({"metadata":{"name":"a","uid":"11111111-2222-3333-4444-555555555555"}})"), R"(
code: 409
details:
  kind: configmaps
  name: a
message: 'Operation cannot be fulfilled on configmaps "a": StorageError: invalid object, Code: 4, Key: /registry/configmaps/{ns}/a, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in precondition: UID, UID in object meta: UID'
reason: Conflict
)");
}

TEST_P(UpdateContract, GenerationCountsChangesOfTheSpec) {
  Answer made = Post(kDeployments, kDeploymentA);
  EXPECT_EQ(made.body["metadata"]["generation"], Value(1));
  Answer labelled = Put(std::string(kDeployments) + "/a", With(made, [](Value& v) { v["metadata"]["labels"]["x"] = "y"; }));
  EXPECT_EQ(labelled.body["metadata"]["generation"], Value(1));
  Answer scaled = Put(std::string(kDeployments) + "/a", With(labelled, [](Value& v) { v["spec"]["replicas"] = 5; }));
  EXPECT_EQ(scaled.body["metadata"]["generation"], Value(2));
}

TEST_P(UpdateContract, StatusIsNotTakenFromTheObject) {
  Answer made = Post(kDeployments, kDeploymentA);
  Answer put = Put(std::string(kDeployments) + "/a", With(made, [](Value& v) { v["status"]["replicas"] = 5; }));
  EXPECT_CODE(put, 200);
  EXPECT_EQ(put.body["status"], Value::Object());
  EXPECT_EQ(put.rv(), made.rv());
}

TEST_P(UpdateContract, ImmutableConfigMapStaysAsItIs) {
  Answer made = Post(kConfigMaps, R"({"metadata":{"name":"a"},"data":{"k":"v"},"immutable":true})");
  EXPECT_STATUS(Put(std::string(kConfigMaps) + "/a", With(made, [](Value& v) { v["data"]["k"] = "w"; })), R"(
code: 422
details:
  causes:
  - field: data
    message: 'Forbidden: field is immutable when `immutable` is set'
    reason: FieldValueForbidden
  kind: ConfigMap
  name: a
message: <of the causes>
reason: Invalid
)");
  EXPECT_STATUS(Put(std::string(kConfigMaps) + "/a", With(made, [](Value& v) { v["immutable"] = false; })), R"(
code: 422
details:
  causes:
  - field: immutable
    message: 'Forbidden: field is immutable when `immutable` is set'
    reason: FieldValueForbidden
  kind: ConfigMap
  name: a
message: <of the causes>
reason: Invalid
)");
  EXPECT_CODE(Put(std::string(kConfigMaps) + "/a", With(made, [](Value& v) { v["metadata"]["labels"]["x"] = "y"; })), 200);
}

TEST_P(UpdateContract, SelectorOfADeploymentIsImmutable) {
  Answer made = Post(kDeployments, kDeploymentA);
  Answer put = Put(std::string(kDeployments) + "/a", With(made, [](Value& v) {
                     v["spec"]["selector"]["matchLabels"]["app"] = "other";
                     v["spec"]["template"]["metadata"]["labels"]["app"] = "other";
                   }));
  EXPECT_STATUS(put, R"(
code: 422
details:
  causes:
  - field: spec.selector
    message: 'Invalid value: {"matchLabels":{"app":"other"}}: field is immutable'
    reason: FieldValueInvalid
  group: apps
  kind: Deployment
  name: a
message: <of the causes>
reason: Invalid
)");
}

TEST_P(UpdateContract, PodsMayChangeLittle) {
  Answer made = Post(kPods, kPodA);
  Answer image =
      Put(std::string(kPods) + "/a", With(made, [](Value& v) { v["spec"]["containers"].MutableList()[0]["image"] = "example.com/web:2"; }));
  EXPECT_CODE(image, 200);
  Answer refused = Put(std::string(kPods) + "/a", With(image, [](Value& v) { v["spec"]["restartPolicy"] = "Never"; }));
  EXPECT_CODE(refused, 422);
  EXPECT_EQ(refused.body["reason"], Value("Invalid"));
  ASSERT_EQ(refused.body["details"]["causes"].list().size(), 1U) << refused.raw.body;
  const Value& cause = refused.body["details"]["causes"].list()[0];
  EXPECT_EQ(cause["reason"], Value("FieldValueForbidden"));
  EXPECT_EQ(cause["field"], Value("spec"));
  EXPECT_EQ(cause["message"].string_value().view().substr(0, 55), "Forbidden: pod updates may not change fields other than");
}

TEST_P(UpdateContract, DeletionTimestampIsNotForClients) {
  Answer made = Post(kConfigMaps, kConfigMapA);
  EXPECT_STATUS(
      Put(std::string(kConfigMaps) + "/a", With(made, [](Value& v) { v["metadata"]["deletionTimestamp"] = "2001-01-01T00:00:00Z"; })), R"(
code: 422
details:
  causes:
  - field: metadata.deletionTimestamp
    message: 'Invalid value: "2001-01-01T00:00:00Z": field is immutable'
    reason: FieldValueInvalid
  - field: metadata.deletionTimestamp
    message: 'Invalid value: "2001-01-01T00:00:00Z": field is immutable'
    reason: FieldValueInvalid
  kind: ConfigMap
  name: a
message: <of the causes>
reason: Invalid
)");
}

TEST_P(UpdateContract, CreationTimestampStays) {
  Answer made = Post(kConfigMaps, kConfigMapA);
  Answer put =
      Put(std::string(kConfigMaps) + "/a", With(made, [](Value& v) { v["metadata"]["creationTimestamp"] = "2001-01-01T00:00:00Z"; }));
  EXPECT_CODE(put, 200);
  EXPECT_EQ(put.body["metadata"]["creationTimestamp"], made.body["metadata"]["creationTimestamp"]);
}

TEST_P(UpdateContract, EachManagerOwnsWhatItChanged) {
  Answer made = Post(std::string(kConfigMaps) + "?fieldManager=first", kConfigMapA);
  Answer put = Put(std::string(kConfigMaps) + "/a?fieldManager=second", With(made, [](Value& v) {
                     v["data"]["color"] = "blue";
                     v["data"]["new"] = "1";
                     v["metadata"]["labels"].MutableObject().Erase("tier");
                   }));
  EXPECT_MANAGED_FIELDS(put, R"(
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
  manager: first
  operation: Update
  time: TIME
- apiVersion: v1
  fieldsType: FieldsV1
  fieldsV1:
    f:data:
      f:color: {}
      f:new: {}
  manager: second
  operation: Update
  time: TIME
)");
}

TEST_P(UpdateContract, StatusIsWrittenByItsSubresource) {
  Answer made = Post(kDeployments, kDeploymentA);
  Answer put = Put(std::string(kDeployments) + "/a/status?fieldManager=controller", With(made, [](Value& v) {
                     v["status"]["replicas"] = 2;
                     v["status"]["observedGeneration"] = 1;
                     v["spec"]["replicas"] = 7;
                     v["metadata"]["labels"]["not"] = "taken";
                   }));
  EXPECT_CODE(put, 200);
  EXPECT_VALUE(put.body["status"], R"(
observedGeneration: 1
replicas: 2
)");
  EXPECT_EQ(put.body["spec"]["replicas"], Value(2));
  EXPECT_EQ(put.body["metadata"]["generation"], Value(1));
  EXPECT_EQ(put.body["metadata"]["labels"], Value());
  EXPECT_VALUE(Get(std::string(kDeployments) + "/a/status").body["status"], R"(
observedGeneration: 1
replicas: 2
)");
  Value fields;
  for (const Value& entry : put.body["metadata"]["managedFields"].list()) {
    if (entry["subresource"].string_value() == "status") fields = entry;
  }
  ExpectValue(fields, R"(
apiVersion: apps/v1
fieldsType: FieldsV1
fieldsV1:
  f:status:
    f:observedGeneration: {}
    f:replicas: {}
manager: controller
operation: Update
subresource: status
time: TIME
)",
              __FILE__, __LINE__, true);
}

TEST_P(UpdateContract, BadStatusIsRefused) {
  Answer made = Post(kDeployments, kDeploymentA);
  EXPECT_STATUS(Put(std::string(kDeployments) + "/a/status", With(made, [](Value& v) { v["status"]["replicas"] = -1; })), R"(
code: 422
details:
  causes:
  - field: status.replicas
    message: 'Invalid value: -1: must be greater than or equal to 0'
    reason: FieldValueInvalid
  - field: status.updatedReplicas
    message: 'Invalid value: 0: cannot be greater than status.replicas'
    reason: FieldValueInvalid
  - field: status.readyReplicas
    message: 'Invalid value: 0: cannot be greater than status.replicas'
    reason: FieldValueInvalid
  - field: status.availableReplicas
    message: 'Invalid value: 0: cannot be greater than status.replicas'
    reason: FieldValueInvalid
  group: apps
  kind: Deployment
  name: a
message: <of the causes>
reason: Invalid
)");
}

TEST_P(UpdateContract, CollectionsCannotBePut) {
  EXPECT_STATUS(Put(kConfigMaps, kConfigMapA), R"(
code: 405
details: {}
message: the server does not allow this method on the requested resource
reason: MethodNotAllowed
)");
}

}  // namespace
}  // namespace kube::contract
