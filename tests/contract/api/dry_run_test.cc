// dryRun and fieldValidation: what a request would do, and its unknown fields.
#include "contract.h"
#include "texts.h"

namespace kube::contract {
namespace {

CONTRACT_SUITE(DryRunContract);

const std::string kMaps = kConfigMaps;

TEST_P(DryRunContract, CreateStoresNothing) {
  Answer tried = Post(kMaps + "?dryRun=All", kConfigMapA);
  EXPECT_CODE(tried, 201);
  EXPECT_EQ(tried.body["data"]["color"], Value("red"));
  EXPECT_FALSE(tried.uid().empty());
  EXPECT_EQ(tried.rv(), "");
  EXPECT_CODE(Get(kMaps + "/a"), 404);
}

TEST_P(DryRunContract, CreateIsCheckedLikeAnyOther) {
  EXPECT_CODE(Post(kMaps, kConfigMapA), 201);
  EXPECT_STATUS(Post(kMaps + "?dryRun=All", kConfigMapA), R"(
code: 409
details:
  kind: configmaps
  name: a
message: configmaps "a" already exists
reason: AlreadyExists
)");
  EXPECT_CODE(Post(kMaps + "?dryRun=All", ConfigMapJson("Bad_Name")), 422);
}

TEST_P(DryRunContract, UpdateAndPatchStoreNothing) {
  Answer made = Post(kMaps, kConfigMapA);
  Answer put = Put(kMaps + "/a?dryRun=All", R"({"metadata":{"name":"a"},"data":{"other":"1"}})");
  EXPECT_CODE(put, 200);
  EXPECT_EQ(put.body["data"]["other"], Value("1"));
  Answer patched = Patch(kMaps + "/a?dryRun=All", "merge", R"({"data":{"color":"blue"}})");
  EXPECT_EQ(patched.body["data"]["color"], Value("blue"));
  EXPECT_EQ(Get(kMaps + "/a").body, made.body);
}

TEST_P(DryRunContract, CollectionIsNotDeleted) {
  EXPECT_CODE(Post(kMaps, kConfigMapA), 201);
  EXPECT_CODE(Delete(kMaps + "?dryRun=All"), 200);
  EXPECT_CODE(Get(kMaps + "/a"), 200);
}

TEST_P(DryRunContract, OnlyAllIsKnown) {
  EXPECT_STATUS(Post(kMaps + "?dryRun=Some", kConfigMapA), R"(
code: 422
details:
  causes:
  - field: dryRun
    message: 'Unsupported value: ["Some"]: supported values: "All"'
    reason: FieldValueNotSupported
  group: meta.k8s.io
  kind: CreateOptions
message: <of the causes>
reason: Invalid
)");
  EXPECT_STATUS(Put(kMaps + "/a?dryRun=", R"({"metadata":{"name":"a"}})"), R"(
code: 422
details:
  causes:
  - field: dryRun
    message: 'Unsupported value: [""]: supported values: "All"'
    reason: FieldValueNotSupported
  group: meta.k8s.io
  kind: UpdateOptions
message: <of the causes>
reason: Invalid
)");
}

CONTRACT_SUITE(FieldValidationContract);

constexpr const char* kTypos =
    R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","lables":{}},"dta":{"k":"v"},"data":{"k":"1","k":"2"}})";

TEST_P(FieldValidationContract, WarnsByDefault) {
  Answer made = Post(kMaps, kTypos);
  EXPECT_CODE(made, 201);
  EXPECT_EQ(made.Warnings(),
            (std::vector<std::string>{"unknown field \"metadata.lables\"", "unknown field \"dta\"", "duplicate field \"data.k\""}));
  EXPECT_VALUE(made.body["data"], R"(
k: "2"
)");
}

TEST_P(FieldValidationContract, StrictRefuses) {
  EXPECT_STATUS(Post(kMaps + "?fieldValidation=Strict", kTypos), R"(
code: 400
message: 'ConfigMap in version "v1" cannot be handled as a ConfigMap: strict decoding error: unknown field "metadata.lables", unknown field "dta", duplicate field "data.k"'
reason: BadRequest
)");
}

TEST_P(FieldValidationContract, IgnoreSaysNothing) {
  Answer made = Post(kMaps + "?fieldValidation=Ignore", kTypos);
  EXPECT_CODE(made, 201);
  EXPECT_TRUE(made.Warnings().empty());
}

TEST_P(FieldValidationContract, OtherLevelsAreRefused) {
  EXPECT_STATUS(Post(kMaps + "?fieldValidation=Harsh", kConfigMapA), R"(
code: 422
details:
  causes:
  - field: fieldValidation
    message: 'Unsupported value: "Harsh": supported values: "", "Ignore", "Strict", "Warn"'
    reason: FieldValueNotSupported
  group: meta.k8s.io
  kind: CreateOptions
message: <of the causes>
reason: Invalid
)");
}

TEST_P(FieldValidationContract, AppliesToPutAndPatch) {
  EXPECT_CODE(Post(kMaps, kConfigMapA), 201);
  EXPECT_STATUS(Put(kMaps + "/a?fieldValidation=Strict", R"({"metadata":{"name":"a"},"dta":{}})"), R"(
code: 400
message: 'ConfigMap in version "v1" cannot be handled as a ConfigMap: strict decoding error: unknown field "dta"'
reason: BadRequest
)");
  EXPECT_STATUS(Patch(kMaps + "/a?fieldValidation=Strict", "merge", R"({"dta":{"k":"v"}})"), R"(
code: 422
details:
  causes:
  - field: patch
    message: 'Invalid value: "<what the patch gives>": strict decoding error: unknown field "dta"'
    reason: FieldValueInvalid
message: <of the causes>
reason: Invalid
)");
  EXPECT_STATUS(Patch(kMaps + "/a?fieldValidation=Strict", "strategic", R"({"dta":{"k":"v"}})"), R"(
code: 422
details:
  causes:
  - field: patch
    message: 'Invalid value: "map[dta:map[k:v]]": strict decoding error: unknown field "dta"'
    reason: FieldValueInvalid
message: <of the causes>
reason: Invalid
)");
  EXPECT_STATUS(Patch(kMaps + "/a?fieldValidation=Strict", "json", R"([{"op":"add","path":"/dta","value":{}}])"), R"(
code: 422
details:
  causes:
  - field: patch
    message: 'Invalid value: "<what the patch gives>": strict decoding error: unknown field "dta"'
    reason: FieldValueInvalid
message: <of the causes>
reason: Invalid
)");
  Answer warned = Patch(kMaps + "/a", "merge", R"({"dta":{"k":"v"}})");
  EXPECT_CODE(warned, 200);
  EXPECT_EQ(warned.Warnings(), (std::vector<std::string>{"unknown field \"dta\""}));
}

TEST_P(FieldValidationContract, NamesNestedFields) {
  EXPECT_STATUS(Post(std::string(kDeployments) + "?fieldValidation=Strict", R"(
apiVersion: apps/v1
kind: Deployment
metadata: {name: a}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - {name: a, image: i, imagePullPolice: Never}
      - {name: b, image: i, ports: [{containerPort: 1, hostport: 2}]}
)"),
                R"(
code: 400
message: 'Deployment in version "v1" cannot be handled as a Deployment: strict decoding error: unknown field "spec.template.spec.containers[0].imagePullPolice", unknown field "spec.template.spec.containers[1].ports[0].hostport"'
reason: BadRequest
)");
}

TEST_P(FieldValidationContract, AppliesToYaml) {
  const HttpFields yaml = {{"Content-Type", "application/yaml"}};
  EXPECT_STATUS(Post(kMaps + "?fieldValidation=Strict", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndta: {}\n", yaml), R"(
code: 400
message: 'ConfigMap in version "v1" cannot be handled as a ConfigMap: strict decoding error: unknown field "dta"'
reason: BadRequest
)");
}

TEST_P(FieldValidationContract, CustomResourcesWarnAndPrune) {
  const char* body = R"(
apiVersion: {w}.example.com/v1
kind: Widget
metadata: {name: a}
spec: {size: small, unknown: 1, nested: {more: 2}}
)";
  EXPECT_STATUS(Post(std::string(kWidgets) + "?fieldValidation=Strict", body), R"(
code: 400
message: 'Widget in version "v1" cannot be handled as a Widget: strict decoding error: unknown field "spec.nested.more", unknown field "spec.unknown"'
reason: BadRequest
)");
  Answer made = Post(kWidgets, body);
  EXPECT_CODE(made, 201);
  EXPECT_EQ(made.Warnings(), (std::vector<std::string>{"unknown field \"spec.nested.more\"", "unknown field \"spec.unknown\""}));
  EXPECT_VALUE(made.body["spec"], R"(
nested:
  mode: auto
replicas: 1
size: small
)");
}

}  // namespace
}  // namespace kube::contract
