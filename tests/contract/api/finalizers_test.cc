// Which kinds need a "/" in the names of finalizers: those whose validation is the core group's. Others take any qualified name.
#include "contract.h"
#include "texts.h"

namespace kube::contract {
namespace {

CONTRACT_SUITE(FinalizersContract);

TEST_P(FinalizersContract, CustomResourcesTakeAnyNameAndWarn) {
  if (server().oldest()) GTEST_SKIP() << "1.26 does not warn";
  Answer made = Post(kWidgets, R"({"apiVersion":"{w}.example.com/v1","kind":"Widget",
      "metadata":{"name":"a","finalizers":["plain","with.dots","example.com/full","orphan"]},"spec":{"size":"small"}})");
  EXPECT_CODE(made, 201);
  EXPECT_EQ(made.Warnings(), (std::vector<std::string>{
                                 "metadata.finalizers: \"plain\": prefer a domain-qualified finalizer name to avoid accidental conflicts "
                                 "with other finalizer writers",
                                 "metadata.finalizers: \"with.dots\": prefer a domain-qualified finalizer name including a path (/) to "
                                 "avoid accidental conflicts with other finalizer writers"}));
  // An update warns of what it adds.
  Answer added = Patch(std::string(kWidgets) + "/a", "json", R"([{"op":"add","path":"/metadata/finalizers/-","value":"another"}])");
  EXPECT_CODE(added, 200);
  EXPECT_EQ(added.Warnings(),
            (std::vector<std::string>{"metadata.finalizers: \"another\": prefer a domain-qualified finalizer name to avoid "
                                      "accidental conflicts with other finalizer writers"}));
  Answer removed = Patch(std::string(kWidgets) + "/a", "merge", R"({"metadata":{"finalizers":null}})");
  EXPECT_CODE(removed, 200);
  EXPECT_TRUE(removed.Warnings().empty());
}

TEST_P(FinalizersContract, CustomResourcesNeedAQualifiedName) {
  EXPECT_STATUS(Post(kWidgets, R"({"apiVersion":"{w}.example.com/v1","kind":"Widget",
      "metadata":{"name":"a","finalizers":["a b"]},"spec":{"size":"small"}})"),
                R"(
code: 422
details:
  causes:
  - field: metadata.finalizers
    message: 'Invalid value: "a b": <not a qualified name>'
    reason: FieldValueInvalid
  group: '{w}.example.com'
  kind: Widget
  name: a
message: <of the causes>
reason: Invalid
)");
}

TEST_P(FinalizersContract, KindsWithGeneralValidationTakeAnyName) {
  auto make = [&](const std::string& collection, const std::string& body) {
    Answer made = Post(collection, body);
    EXPECT_CODE(made, 201);
    EXPECT_TRUE(made.Warnings().empty());
    const std::string path = collection + "/" + made.body["metadata"]["name"].string_value().str();
    EXPECT_CODE(Patch(path, "merge", R"({"metadata":{"finalizers":null}})"), 200);
    EXPECT_CODE(Delete(path), 200);
  };
  make("/apis/coordination.k8s.io/v1/namespaces/{ns}/leases", R"({"metadata":{"name":"a","finalizers":["plain"]}})");
  make("/apis/node.k8s.io/v1/runtimeclasses", R"({"metadata":{"name":"{id}","finalizers":["plain"]},"handler":"x"})");
  make("/apis/policy/v1/namespaces/{ns}/poddisruptionbudgets",
       R"({"metadata":{"name":"a","finalizers":["plain"]},"spec":{"maxUnavailable":1}})");
  make("/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations", R"({"metadata":{"name":"{id}","finalizers":["plain"]}})");
  make("/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations", R"({"metadata":{"name":"{id}","finalizers":["plain"]}})");
  make("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", R"(
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.{id}.example.com, finalizers: [plain]}
spec:
  group: {id}.example.com
  scope: Namespaced
  names: {plural: widgets, kind: Widget}
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]
)");
}

TEST_P(FinalizersContract, UpdatesFollowTheSameRule) {
  EXPECT_CODE(Post("/apis/policy/v1/namespaces/{ns}/poddisruptionbudgets", R"({"metadata":{"name":"a"},"spec":{"maxUnavailable":1}})"),
              201);
  EXPECT_CODE(Patch("/apis/policy/v1/namespaces/{ns}/poddisruptionbudgets/a", "merge", R"({"metadata":{"finalizers":["plain"]}})"), 200);
  EXPECT_CODE(Patch("/apis/policy/v1/namespaces/{ns}/poddisruptionbudgets/a", "merge", R"({"metadata":{"finalizers":null}})"), 200);
  EXPECT_CODE(Post("/apis/coordination.k8s.io/v1/namespaces/{ns}/leases", R"({"metadata":{"name":"a"}})"), 201);
  EXPECT_CODE(Patch("/apis/coordination.k8s.io/v1/namespaces/{ns}/leases/a", "merge", R"({"metadata":{"finalizers":["plain"]}})"), 200);
  EXPECT_CODE(Patch("/apis/coordination.k8s.io/v1/namespaces/{ns}/leases/a", "merge", R"({"metadata":{"finalizers":null}})"), 200);
  EXPECT_STATUS(
      Post("/api/v1/namespaces/{ns}/services", R"({"metadata":{"name":"a","finalizers":["plain"]},"spec":{"ports":[{"port":80}]}})"), R"(
code: 422
details:
  causes:
  - field: metadata.finalizers[0]
    message: 'Invalid value: "plain": name is neither a standard finalizer name nor is it fully qualified'
    reason: FieldValueInvalid
  kind: Service
  name: a
message: <of the causes>
reason: Invalid
)");
}

}  // namespace
}  // namespace kube::contract
