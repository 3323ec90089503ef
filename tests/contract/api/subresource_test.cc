// Subresources and reviews: scale, eviction, binding, tokens, access.
#include "contract.h"
#include "texts.h"

namespace kube::contract {
namespace {

CONTRACT_SUITE(SubresourceContract);

const std::string kDeployment = std::string(kDeployments) + "/a";
const std::string kPod = std::string(kPods) + "/a";

TEST_P(SubresourceContract, ScaleShowsReplicas) {
  EXPECT_CODE(Post(kDeployments, kDeploymentA), 201);
  EXPECT_BODY(Get(kDeployment + "/scale"), 200, R"(
apiVersion: autoscaling/v1
kind: Scale
metadata:
  creationTimestamp: TIME
  name: a
  namespace: '{ns}'
  resourceVersion: RV
  uid: UID
spec:
  replicas: 2
status:
  replicas: 0
  selector: app=web
)");
}

TEST_P(SubresourceContract, ScaleChangesReplicas) {
  EXPECT_CODE(Post(kDeployments, kDeploymentA), 201);
  Answer put = Put(kDeployment + "/scale",
                   R"({"apiVersion":"autoscaling/v1","kind":"Scale","metadata":{"name":"a","namespace":"{ns}"},"spec":{"replicas":7}})");
  EXPECT_CODE(put, 200);
  EXPECT_VALUE(put.body["spec"], R"(
replicas: 7
)");
  EXPECT_EQ(Get(kDeployment).body["spec"]["replicas"], Value(7));
  EXPECT_EQ(Get(kDeployment).body["metadata"]["generation"], Value(2));
  Answer patched = Patch(kDeployment + "/scale", "merge", R"({"spec":{"replicas":1}})");
  EXPECT_VALUE(patched.body["spec"], R"(
replicas: 1
)");
}

TEST_P(SubresourceContract, ScaleIsChecked) {
  Answer made = Post(kDeployments, kDeploymentA);
  EXPECT_STATUS(Patch(kDeployment + "/scale", "merge", R"({"spec":{"replicas":-1}})"), R"(
code: 422
details:
  causes:
  - field: spec.replicas
    message: 'Invalid value: -1: must be greater than or equal to 0'
    reason: FieldValueInvalid
  group: autoscaling
  kind: Scale
  name: a
message: <of the causes>
reason: Invalid
)");
  EXPECT_STATUS(Patch(kDeployment + "/scale", "merge", R"({"metadata":{"resourceVersion":"1"},"spec":{"replicas":3}})"), R"(
code: 409
details:
  group: apps
  kind: deployments
  name: a
message: 'Operation cannot be fulfilled on deployments.apps "a": the object has been modified; please apply your changes to the latest version and try again'
reason: Conflict
)");
  EXPECT_STATUS(Get(std::string(kDeployments) + "/nope/scale"), R"(
code: 404
details:
  group: apps
  kind: deployments
  name: nope
message: deployments.apps "nope" not found
reason: NotFound
)");
}

TEST_P(SubresourceContract, EvictionDeletesThePod) {
  EXPECT_CODE(Post(kPods, kPodA), 201);
  Answer evicted = Post(kPod + "/eviction", R"({"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":"a"}})");
  EXPECT_BODY(evicted, 201, R"(
apiVersion: v1
code: 201
kind: Status
metadata: {}
status: Success
)");
  EXPECT_CODE(Get(kPod), 404);
}

TEST_P(SubresourceContract, EvictionOfNobodyIsNotFound) {
  EXPECT_STATUS(Post(std::string(kPods) + "/nope/eviction", R"({"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":"nope"}})"),
                R"(
code: 404
details:
  kind: pods
  name: nope
message: pods "nope" not found
reason: NotFound
)");
  EXPECT_CODE(Post(kPods, kPodA), 201);
  EXPECT_STATUS(Post(kPod + "/eviction", R"({"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":"b"}})"), R"(
code: 400
message: name in URL does not match name in Eviction object
reason: BadRequest
)");
}

TEST_P(SubresourceContract, DisruptionBudgetStopsEviction) {
  EXPECT_CODE(Post(kPods, kPodA), 201);
  EXPECT_CODE(Patch(kPod + "/status", "strategic", R"({"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"}]}})"),
              200);
  EXPECT_CODE(
      Post(
          "/apis/policy/v1/namespaces/{ns}/poddisruptionbudgets",
          R"({"apiVersion":"policy/v1","kind":"PodDisruptionBudget","metadata":{"name":"b"},"spec":{"minAvailable":1,"selector":{"matchLabels":{"app":"web"}}}})"),
      201);
  EXPECT_CODE(Patch("/apis/policy/v1/namespaces/{ns}/poddisruptionbudgets/b/status", "merge",
                    R"({"status":{"observedGeneration":1,"disruptionsAllowed":0,"currentHealthy":1,"desiredHealthy":1,"expectedPods":1}})"),
              200);
  Answer refused = Post(kPod + "/eviction", R"({"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":"a"}})");
  EXPECT_STATUS(refused, R"(
code: 429
details:
  causes:
  - message: The disruption budget b needs 1 healthy pods and has 1 currently
    reason: DisruptionBudget
message: Cannot evict pod as it would violate the pod's disruption budget.
reason: TooManyRequests
)");
  EXPECT_CODE(Get(kPod), 200);
}

TEST_P(SubresourceContract, BindingGivesThePodItsNode) {
  EXPECT_CODE(Post(kPods, kPodA), 201);
  Answer bound =
      Post(kPod + "/binding",
           R"({"apiVersion":"v1","kind":"Binding","metadata":{"name":"a"},"target":{"apiVersion":"v1","kind":"Node","name":"n1"}})");
  EXPECT_BODY(bound, 201, R"(
apiVersion: v1
code: 201
kind: Status
metadata: {}
status: Success
)");
  Answer pod = Get(kPod);
  EXPECT_EQ(pod.body["spec"]["nodeName"], Value("n1"));
  EXPECT_EQ(pod.body["status"]["conditions"].list().size(), 1U);
  EXPECT_STATUS(Post(kPod + "/binding", R"({"metadata":{"name":"a"},"target":{"kind":"Node","name":"n2"}})"), R"(
code: 409
details:
  kind: pods/binding
  name: a
message: 'Operation cannot be fulfilled on pods/binding "a": pod a is already assigned to node "n1"'
reason: Conflict
)");
  EXPECT_CODE(Delete(kPod, R"({"gracePeriodSeconds":0})"), 200);
}

TEST_P(SubresourceContract, TokenIsRequestedAndReviewed) {
  EXPECT_CODE(Post("/api/v1/namespaces/{ns}/serviceaccounts", R"({"apiVersion":"v1","kind":"ServiceAccount","metadata":{"name":"robot"}})"),
              201);
  Answer requested = Post("/api/v1/namespaces/{ns}/serviceaccounts/robot/token",
                          R"({"apiVersion":"authentication.k8s.io/v1","kind":"TokenRequest","spec":{"expirationSeconds":3600}})");
  EXPECT_CODE(requested, 201);
  EXPECT_EQ(requested.body["spec"]["expirationSeconds"], Value(3600));
  EXPECT_FALSE(requested.body["status"]["expirationTimestamp"].string_value().empty());
  const std::string token = requested.body["status"]["token"].string_value().str();
  ASSERT_FALSE(token.empty());
  Answer review = Post("/apis/authentication.k8s.io/v1/tokenreviews",
                       R"({"apiVersion":"authentication.k8s.io/v1","kind":"TokenReview","spec":{"token":")" + token + R"("}})");
  EXPECT_CODE(review, 201);
  EXPECT_EQ(review.body["status"]["authenticated"], Value(true));
  EXPECT_VALUE(review.body["status"]["user"]["username"], R"(
system:serviceaccount:{ns}:robot
)");
  EXPECT_VALUE(review.body["status"]["user"]["groups"], R"(
- system:serviceaccounts
- system:serviceaccounts:{ns}
- system:authenticated
)");
}

TEST_P(SubresourceContract, TokenRequestIsChecked) {
  EXPECT_CODE(Post("/api/v1/namespaces/{ns}/serviceaccounts", R"({"metadata":{"name":"robot"}})"), 201);
  EXPECT_STATUS(Post("/api/v1/namespaces/{ns}/serviceaccounts/robot/token", R"({"spec":{"expirationSeconds":10}})"), R"(
code: 422
details:
  causes:
  - field: spec.expirationSeconds
    message: 'Invalid value: 10: may not specify a duration less than 10 minutes'
    reason: FieldValueInvalid
  group: authentication.k8s.io
  kind: TokenRequest
message: <of the causes>
reason: Invalid
)");
  EXPECT_STATUS(Post("/api/v1/namespaces/{ns}/serviceaccounts/nobody/token", R"({"spec":{}})"), R"(
code: 404
details:
  kind: serviceaccounts
  name: nobody
message: serviceaccounts "nobody" not found
reason: NotFound
)");
}

TEST_P(SubresourceContract, ReviewOfABadTokenSaysNo) {
  Answer review = Post("/apis/authentication.k8s.io/v1/tokenreviews",
                       R"({"apiVersion":"authentication.k8s.io/v1","kind":"TokenReview","spec":{"token":"nonsense"}})");
  EXPECT_CODE(review, 201);
  EXPECT_EQ(review.body["status"]["authenticated"], Value());
  EXPECT_STATUS(Post("/apis/authentication.k8s.io/v1/tokenreviews", R"({"spec":{}})"), R"(
code: 400
message: token is required for TokenReview in authentication
reason: BadRequest
)");
}

TEST_P(SubresourceContract, AccessOfAnAdministratorIsAllowed) {
  Answer review = Post("/apis/authorization.k8s.io/v1/subjectaccessreviews", R"(
apiVersion: authorization.k8s.io/v1
kind: SubjectAccessReview
spec: {user: somebody, groups: ["system:masters"], resourceAttributes: {verb: delete, resource: nodes}}
)");
  EXPECT_CODE(review, 201);
  EXPECT_EQ(review.body["status"]["allowed"], Value(true));
  Answer self = Post("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", R"(
apiVersion: authorization.k8s.io/v1
kind: SelfSubjectAccessReview
spec: {resourceAttributes: {verb: create, resource: pods, namespace: default}}
)");
  EXPECT_CODE(self, 201);
  EXPECT_EQ(self.body["status"]["allowed"], Value(true));
}

TEST_P(SubresourceContract, AccessReviewIsChecked) {
  EXPECT_STATUS(Post("/apis/authorization.k8s.io/v1/subjectaccessreviews", R"({"spec":{}})"), R"(
code: 422
details:
  causes:
  - field: spec.resourceAttributes
    message: 'Invalid value: null: exactly one of nonResourceAttributes or resourceAttributes must be specified'
    reason: FieldValueInvalid
  - field: spec.user
    message: 'Invalid value: "": at least one of user or group must be specified'
    reason: FieldValueInvalid
  group: authorization.k8s.io
message: <of the causes>
reason: Invalid
)");
}

TEST_P(SubresourceContract, ReviewsAreNotKept) {
  EXPECT_STATUS(Get("/apis/authorization.k8s.io/v1/subjectaccessreviews"), R"(
code: 405
details: {}
message: the server does not allow this method on the requested resource
reason: MethodNotAllowed
)");
}

}  // namespace
}  // namespace kube::contract
