// Namespaces: what they are born with, and how they end.
#include "contract.h"
#include "texts.h"

namespace kube::contract {
namespace {

CONTRACT_SUITE(NamespaceContract);

TEST_P(NamespaceContract, IsBornActive) {
  Answer made = Post(kNamespaces, R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":"own-{id}","labels":{"x":"y"}}})");
  Cleanup("/api/v1/namespaces/own-{id}");
  EXPECT_BODY(made, 201, R"(
apiVersion: v1
kind: Namespace
metadata:
  creationTimestamp: TIME
  labels:
    kubernetes.io/metadata.name: own-{id}
    x: "y"
  name: own-{id}
  resourceVersion: RV
  uid: UID
spec:
  finalizers:
  - kubernetes
status:
  phase: Active
)");
}

TEST_P(NamespaceContract, DefaultNamespacesAreThere) {
  for (const char* name : {"default", "kube-system", "kube-public", "kube-node-lease"}) {
    GetUntil(std::string(kNamespaces) + "/" + name, [](const Answer& a) { return a.code == 200; });
  }
}

TEST_P(NamespaceContract, EndsWithEverythingInIt) {
  SKIP_WITHOUT_LIFECYCLE();
  EXPECT_CODE(Post(kConfigMaps, kConfigMapA), 201);
  EXPECT_CODE(Post(kDeployments, kDeploymentA), 201);
  Answer deleted = Delete("/api/v1/namespaces/{ns}");
  EXPECT_CODE(deleted, 200);
  EXPECT_EQ(deleted.body["status"]["phase"], Value("Terminating"));
  GetUntilGone("/api/v1/namespaces/{ns}");
  EXPECT_CODE(Get(std::string(kConfigMaps) + "/a"), 404);
}

TEST_P(NamespaceContract, WaitsForFinalizersOfWhatIsInIt) {
  SKIP_WITHOUT_LIFECYCLE();
  EXPECT_CODE(Post(kConfigMaps, R"({"metadata":{"name":"a","finalizers":["example.com/hold"]}})"), 201);
  EXPECT_CODE(Delete("/api/v1/namespaces/{ns}"), 200);
  GetUntil(std::string(kConfigMaps) + "/a", [](const Answer& a) { return !a.body["metadata"]["deletionTimestamp"].is_null(); });
  Answer going = Get("/api/v1/namespaces/{ns}");
  EXPECT_CODE(going, 200);
  EXPECT_VALUE(going.body["spec"], R"(
finalizers:
- kubernetes
)");
  EXPECT_EQ(going.body["status"]["phase"], Value("Terminating"));
  EXPECT_CODE(Patch(std::string(kConfigMaps) + "/a", "merge", R"({"metadata":{"finalizers":null}})"), 200);
  GetUntilGone("/api/v1/namespaces/{ns}");
}

TEST_P(NamespaceContract, TakesNothingNewWhileItEnds) {
  EXPECT_CODE(Post(kConfigMaps, R"({"metadata":{"name":"a","finalizers":["example.com/hold"]}})"), 201);
  EXPECT_CODE(Delete("/api/v1/namespaces/{ns}"), 200);
  EXPECT_STATUS(Post(kConfigMaps, ConfigMapJson("b")), R"(
code: 403
details:
  causes:
  - field: metadata.namespace
    message: namespace {ns} is being terminated
    reason: NamespaceTerminating
  kind: configmaps
  name: b
message: 'configmaps "b" is forbidden: unable to create new content in namespace {ns} because it is being terminated'
reason: Forbidden
)");
  EXPECT_CODE(Patch(std::string(kConfigMaps) + "/a", "merge", R"({"data":{"still":"possible"}})"), 200);
  EXPECT_CODE(Patch(std::string(kConfigMaps) + "/a", "merge", R"({"metadata":{"finalizers":null}})"), 200);
}

TEST_P(NamespaceContract, FinalizersAreChangedByTheirSubresource) {
  Answer made = Post(kNamespaces, R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":"own-{id}"}})");
  Cleanup("/api/v1/namespaces/own-{id}");
  Answer put = Put(
      "/api/v1/namespaces/own-{id}/finalize",
      R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":"own-{id}"},"spec":{"finalizers":["kubernetes","example.com/hold"]}})");
  EXPECT_CODE(put, 200);
  EXPECT_VALUE(put.body["spec"], R"(
finalizers:
- kubernetes
- example.com/hold
)");
  EXPECT_CODE(Put("/api/v1/namespaces/own-{id}/finalize",
                  R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":"own-{id}"},"spec":{"finalizers":["kubernetes"]}})"),
              200);
}

TEST_P(NamespaceContract, DefaultCannotBeDeleted) {
  EXPECT_STATUS(Delete("/api/v1/namespaces/default"), R"(
code: 403
details:
  kind: namespaces
  name: default
message: 'namespaces "default" is forbidden: this namespace may not be deleted'
reason: Forbidden
)");
}

TEST_P(NamespaceContract, NameLabelIsTheServers) {
  ns();
  Answer patched = Patch("/api/v1/namespaces/{ns}", "merge", R"({"metadata":{"labels":{"kubernetes.io/metadata.name":null,"mine":"1"}}})");
  EXPECT_CODE(patched, 200);
  EXPECT_VALUE(patched.body["metadata"]["labels"], R"(
kubernetes.io/metadata.name: '{ns}'
mine: "1"
)");
}

}  // namespace
}  // namespace kube::contract
