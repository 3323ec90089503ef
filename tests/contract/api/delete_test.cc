// Deleting: answers, preconditions, finalizers, grace, collections, and what happens to dependents.
#include "contract.h"
#include "texts.h"

namespace kube::contract {
namespace {

CONTRACT_SUITE(DeleteContract);

const std::string kA = std::string(kConfigMaps) + "/a";

// A config map that is owned by another one.
std::string Owned(const std::string& name, const Answer& owner, bool block = false) {
  return R"({"metadata":{"name":")" + name + R"(","ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":")" +
         owner.body["metadata"]["name"].string_value().str() + R"(","uid":")" + owner.uid() + R"(")" +
         (block ? R"(,"blockOwnerDeletion":true)" : "") + "}]}}";
}

TEST_P(DeleteContract, AnswersAStatus) {
  EXPECT_CODE(Post(kConfigMaps, kConfigMapA), 201);
  EXPECT_BODY(Delete(kA), 200, R"(
apiVersion: v1
details:
  kind: configmaps
  name: a
  uid: UID
kind: Status
metadata: {}
status: Success
)");
  EXPECT_CODE(Get(kA), 404);
}

TEST_P(DeleteContract, MissingObjectIsNotFound) {
  EXPECT_STATUS(Delete(std::string(kConfigMaps) + "/nope"), R"(
code: 404
details:
  kind: configmaps
  name: nope
message: configmaps "nope" not found
reason: NotFound
)");
}

TEST_P(DeleteContract, UidPreconditionHolds) {
  Answer made = Post(kConfigMaps, kConfigMapA);
  EXPECT_STATUS(Delete(kA, R"({"preconditions":{"uid":"11111111-2222-3333-4444-555555555555"}})"), R"(
code: 409
details:
  kind: ConfigMap
  name: a
message: 'Operation cannot be fulfilled on ConfigMap "a": the UID in the precondition (UID) does not match the UID in record (UID). The object might have been deleted and then recreated'
reason: Conflict
)");
  EXPECT_CODE(Delete(kA, R"({"preconditions":{"uid":")" + made.uid() + R"("}})"), 200);
}

TEST_P(DeleteContract, VersionPreconditionHolds) {
  Answer made = Post(kConfigMaps, kConfigMapA);
  EXPECT_STATUS(Delete(kA, R"({"preconditions":{"resourceVersion":"1"}})"), R"(
code: 409
details:
  kind: ConfigMap
  name: a
message: 'Operation cannot be fulfilled on ConfigMap "a": the ResourceVersion in the precondition (1) does not match the ResourceVersion in record (RV). The object might have been modified'
reason: Conflict
)");
  EXPECT_CODE(Delete(kA, R"({"preconditions":{"resourceVersion":")" + made.rv() + R"("}})"), 200);
}

TEST_P(DeleteContract, OptionsMayComeByTheQuery) {
  EXPECT_CODE(Post(kConfigMaps, kConfigMapA), 201);
  EXPECT_CODE(Delete(kA + "?propagationPolicy=Orphan&gracePeriodSeconds=0"), 200);
}

TEST_P(DeleteContract, BadOptionsAreRefused) {
  EXPECT_CODE(Post(kConfigMaps, kConfigMapA), 201);
  EXPECT_STATUS(Delete(kA, R"({"propagationPolicy":"Sometimes"})"), R"(
code: 422
details:
  causes:
  - field: propagationPolicy
    message: 'Unsupported value: "Sometimes": supported values: "Foreground", "Background", "Orphan", "nil"'
    reason: FieldValueNotSupported
  group: meta.k8s.io
  kind: DeleteOptions
message: <of the causes>
reason: Invalid
)");
  EXPECT_STATUS(Delete(kA, R"({"orphanDependents":true,"propagationPolicy":"Background"})"), R"(
code: 422
details:
  causes:
  - field: propagationPolicy
    message: 'Invalid value: "Background": orphanDependents and deletionPropagation cannot be both set'
    reason: FieldValueInvalid
  group: meta.k8s.io
  kind: DeleteOptions
message: <of the causes>
reason: Invalid
)");
  EXPECT_STATUS(Delete(kA, R"({"gracePeriodSeconds":"soon"})"), R"(
code: 400
message: 'json: cannot unmarshal string into Go struct field DeleteOptions.gracePeriodSeconds of type int64'
reason: BadRequest
)");
  EXPECT_STATUS(Delete(kA, R"({"apiVersion":"v1","kind":"ConfigMap"})"), R"(
code: 400
message: no kind "ConfigMap" is registered for version "v1" in scheme SCHEME
reason: BadRequest
)");
  EXPECT_STATUS(Delete(kA, R"({"dryRun":["Some"]})"), R"(
code: 422
details:
  causes:
  - field: dryRun
    message: 'Unsupported value: ["Some"]: supported values: "All"'
    reason: FieldValueNotSupported
  group: meta.k8s.io
  kind: DeleteOptions
message: <of the causes>
reason: Invalid
)");
}

TEST_P(DeleteContract, FinalizersHoldTheObject) {
  EXPECT_CODE(Post(kConfigMaps, R"({"metadata":{"name":"a","finalizers":["example.com/hold"]}})"), 201);
  EXPECT_BODY(Delete(kA), 200, R"(
apiVersion: v1
kind: ConfigMap
metadata:
  creationTimestamp: TIME
  deletionGracePeriodSeconds: 0
  deletionTimestamp: TIME
  finalizers:
  - example.com/hold
  name: a
  namespace: '{ns}'
  resourceVersion: RV
  uid: UID
)");
  Answer again = Delete(kA);
  EXPECT_CODE(again, 200);
  EXPECT_BODY(Get(kA), 200, R"(
apiVersion: v1
kind: ConfigMap
metadata:
  creationTimestamp: TIME
  deletionGracePeriodSeconds: 0
  deletionTimestamp: TIME
  finalizers:
  - example.com/hold
  name: a
  namespace: '{ns}'
  resourceVersion: RV
  uid: UID
)");
  Answer last = Patch(kA, "merge", R"({"metadata":{"finalizers":null}})");
  EXPECT_CODE(last, 200);
  EXPECT_CODE(Get(kA), 404);
}

TEST_P(DeleteContract, NoNewFinalizersOnceItIsGoing) {
  EXPECT_CODE(Post(kConfigMaps, R"({"metadata":{"name":"a","finalizers":["example.com/hold"]}})"), 201);
  EXPECT_CODE(Delete(kA), 200);
  EXPECT_STATUS(Patch(kA, "merge", R"({"metadata":{"finalizers":["example.com/hold","example.com/more"]}})"), R"(
code: 422
details:
  causes:
  - field: metadata.finalizers
    message: 'Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers []string{"example.com/more"}'
    reason: FieldValueForbidden
  - field: metadata.finalizers
    message: 'Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers []string{"example.com/more"}'
    reason: FieldValueForbidden
  kind: ConfigMap
  name: a
message: <of the causes>
reason: Invalid
)");
  EXPECT_CODE(Patch(kA, "merge", R"({"metadata":{"finalizers":null}})"), 200);
}

TEST_P(DeleteContract, ObjectThatIsGoingCannotBeMadeAnew) {
  EXPECT_CODE(Post(kConfigMaps, R"({"metadata":{"name":"a","finalizers":["example.com/hold"]}})"), 201);
  EXPECT_CODE(Delete(kA), 200);
  EXPECT_STATUS(Post(kConfigMaps, R"({"metadata":{"name":"a"}})"), R"(
code: 409
details:
  kind: configmaps
  name: a
message: 'object is being deleted: configmaps "a" already exists'
reason: AlreadyExists
)");
  EXPECT_CODE(Patch(kA, "merge", R"({"metadata":{"finalizers":null}})"), 200);
}

TEST_P(DeleteContract, PodsWithoutANodeGoAtOnce) {
  EXPECT_CODE(Post(kPods, kPodA), 201);
  Answer deleted = Delete(std::string(kPods) + "/a");
  EXPECT_CODE(deleted, 200);
  EXPECT_CODE(Get(std::string(kPods) + "/a"), 404);
}

TEST_P(DeleteContract, PodsOnANodeGetTheirGrace) {
  EXPECT_CODE(Post(kPods, kPodA), 201);
  EXPECT_CODE(Post(std::string(kPods) + "/a/binding",
                   R"({"apiVersion":"v1","kind":"Binding","metadata":{"name":"a"},"target":{"kind":"Node","name":"n"}})"),
              201);
  Answer deleted = Delete(std::string(kPods) + "/a");
  EXPECT_CODE(deleted, 200);
  EXPECT_EQ(deleted.body["metadata"]["deletionGracePeriodSeconds"], Value(30));
  Answer shorter = Delete(std::string(kPods) + "/a", R"({"gracePeriodSeconds":5})");
  EXPECT_EQ(shorter.body["metadata"]["deletionGracePeriodSeconds"], Value(5));
  // The kubelet's way to say that it is done.
  EXPECT_CODE(Delete(std::string(kPods) + "/a", R"({"gracePeriodSeconds":0})"), 200);
  EXPECT_CODE(Get(std::string(kPods) + "/a"), 404);
}

TEST_P(DeleteContract, CollectionIsDeletedBySelector) {
  EXPECT_CODE(Post(kConfigMaps, ConfigMapJson("a", R"({"app":"web"})")), 201);
  EXPECT_CODE(Post(kConfigMaps, ConfigMapJson("b", R"({"app":"web"})")), 201);
  EXPECT_CODE(Post(kConfigMaps, ConfigMapJson("c", R"({"app":"db"})")), 201);
  EXPECT_BODY(Delete(std::string(kConfigMaps) + "?labelSelector=app=web"), 200, R"(
apiVersion: v1
items:
- data:
    k: v
  metadata:
    creationTimestamp: TIME
    labels:
      app: web
    name: a
    namespace: '{ns}'
    resourceVersion: RV
    uid: UID
- data:
    k: v
  metadata:
    creationTimestamp: TIME
    labels:
      app: web
    name: b
    namespace: '{ns}'
    resourceVersion: RV
    uid: UID
kind: ConfigMapList
metadata:
  resourceVersion: RV
)");
  Answer left = Get(kConfigMaps);
  ASSERT_EQ(left.body["items"].list().size(), 1U);
  EXPECT_EQ(left.body["items"].list()[0]["metadata"]["name"], Value("c"));
}

TEST_P(DeleteContract, EmptyCollectionIsNoError) {
  EXPECT_BODY(Delete(std::string(kConfigMaps) + "?labelSelector=none"), 200, R"(
apiVersion: v1
items: []
kind: ConfigMapList
metadata:
  resourceVersion: RV
)");
}

TEST_P(DeleteContract, DryRunDeletesNothing) {
  EXPECT_CODE(Post(kConfigMaps, kConfigMapA), 201);
  EXPECT_CODE(Delete(kA + "?dryRun=All"), 200);
  EXPECT_CODE(Delete(kA, R"({"dryRun":["All"]})"), 200);
  EXPECT_CODE(Get(kA), 200);
}

TEST_P(DeleteContract, NamespacesCannotBeDeletedAsACollection) {
  EXPECT_STATUS(Delete(kNamespaces), R"(
code: 405
details: {}
message: the server does not allow this method on the requested resource
reason: MethodNotAllowed
)");
}

TEST_P(DeleteContract, BackgroundRemovesDependentsAfterwards) {
  SKIP_WITHOUT_LIFECYCLE();
  Answer owner = Post(kConfigMaps, ConfigMapJson("owner"));
  EXPECT_CODE(Post(kConfigMaps, Owned("dependent", owner)), 201);
  EXPECT_CODE(Delete(std::string(kConfigMaps) + "/owner?propagationPolicy=Background"), 200);
  EXPECT_CODE(Get(std::string(kConfigMaps) + "/owner"), 404);
  GetUntilGone(std::string(kConfigMaps) + "/dependent");
}

TEST_P(DeleteContract, ForegroundRemovesDependentsFirst) {
  SKIP_WITHOUT_LIFECYCLE();
  Answer owner = Post(kConfigMaps, ConfigMapJson("owner"));
  EXPECT_CODE(Post(kConfigMaps, Owned("dependent", owner, true)), 201);
  EXPECT_CODE(Patch(std::string(kConfigMaps) + "/dependent", "merge", R"({"metadata":{"finalizers":["example.com/hold"]}})"), 200);
  Answer deleted = Delete(std::string(kConfigMaps) + "/owner?propagationPolicy=Foreground");
  EXPECT_BODY(deleted, 200, R"(
apiVersion: v1
data:
  k: v
kind: ConfigMap
metadata:
  creationTimestamp: TIME
  deletionGracePeriodSeconds: 0
  deletionTimestamp: TIME
  finalizers:
  - foregroundDeletion
  name: owner
  namespace: '{ns}'
  resourceVersion: RV
  uid: UID
)");
  GetUntil(std::string(kConfigMaps) + "/dependent", [](const Answer& a) { return !a.body["metadata"]["deletionTimestamp"].is_null(); });
  EXPECT_CODE(Get(std::string(kConfigMaps) + "/owner"), 200);
  EXPECT_CODE(Patch(std::string(kConfigMaps) + "/dependent", "merge", R"({"metadata":{"finalizers":null}})"), 200);
  GetUntilGone(std::string(kConfigMaps) + "/dependent");
  GetUntilGone(std::string(kConfigMaps) + "/owner");
}

TEST_P(DeleteContract, OrphanLeavesDependentsWithoutTheirOwner) {
  SKIP_WITHOUT_LIFECYCLE();
  Answer owner = Post(kConfigMaps, ConfigMapJson("owner"));
  EXPECT_CODE(Post(kConfigMaps, Owned("dependent", owner)), 201);
  EXPECT_CODE(Delete(std::string(kConfigMaps) + "/owner?propagationPolicy=Orphan"), 200);
  GetUntilGone(std::string(kConfigMaps) + "/owner");
  Answer left =
      GetUntil(std::string(kConfigMaps) + "/dependent", [](const Answer& a) { return a.body["metadata"]["ownerReferences"].is_null(); });
  EXPECT_CODE(left, 200);
}

TEST_P(DeleteContract, DependentOfNobodyIsRemoved) {
  SKIP_WITHOUT_LIFECYCLE();
  Answer owner = Post(kConfigMaps, ConfigMapJson("owner"));
  EXPECT_CODE(Delete(std::string(kConfigMaps) + "/owner"), 200);
  EXPECT_CODE(Post(kConfigMaps, Owned("dependent", owner)), 201);
  GetUntilGone(std::string(kConfigMaps) + "/dependent");
}

TEST_P(DeleteContract, DependentOfTwoStaysWithOne) {
  SKIP_WITHOUT_LIFECYCLE();
  Answer one = Post(kConfigMaps, ConfigMapJson("one"));
  Answer two = Post(kConfigMaps, ConfigMapJson("two"));
  EXPECT_CODE(
      Post(kConfigMaps, R"({"metadata":{"name":"dependent","ownerReferences":[
    {"apiVersion":"v1","kind":"ConfigMap","name":"one","uid":")" +
                            one.uid() + R"("},{"apiVersion":"v1","kind":"ConfigMap","name":"two","uid":")" + two.uid() + R"("}]}})"),
      201);
  EXPECT_CODE(Delete(std::string(kConfigMaps) + "/one?propagationPolicy=Background"), 200);
  Answer left = GetUntil(std::string(kConfigMaps) + "/dependent",
                         [](const Answer& a) { return a.body["metadata"]["ownerReferences"].list().size() == 1; });
  EXPECT_EQ(left.body["metadata"]["ownerReferences"].list()[0]["name"], Value("two"));
}

}  // namespace
}  // namespace kube::contract
