// Conversion webhooks: a custom resource whose versions look different, and what comes of a webhook that fails.
#include "hook_server.h"
#include "kube/codec/json.h"
#include "texts.h"

namespace kube::contract {
namespace {

constexpr const char* kHostCrd = R"(
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: 'hosts.{id}.example.com'}
spec:
  group: '{id}.example.com'
  scope: Namespaced
  names: {plural: hosts, singular: host, kind: Host, listKind: HostList}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec: {type: object, properties: {hostPort: {type: string}}}
          status: {type: object, properties: {ready: {type: boolean}}}
  - name: v2
    served: true
    storage: false
    subresources: {status: {}}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec: {type: object, properties: {host: {type: string}, port: {type: string}}}
          status: {type: object, properties: {ready: {type: boolean}}}
  conversion: {strategy: Webhook, webhook: {conversionReviewVersions: [v1], clientConfig: {url: URL, caBundle: CA}}}
)";

// v1 has spec.hostPort, v2 spec.host and spec.port.
Value Converted(Value object, std::string_view version) {
  const bool to_v2 = version.ends_with("/v2");
  object["apiVersion"] = version;
  if (std::as_const(object).Find("spec") == nullptr) return object;
  Value& spec = object["spec"];
  if (to_v2 && std::as_const(spec).Find("hostPort") != nullptr) {
    const std::string text = std::as_const(spec)["hostPort"].string_value().str();
    spec["host"] = text.substr(0, text.find(':'));
    spec["port"] = text.substr(text.find(':') + 1);
    spec.MutableObject().Erase("hostPort");
  } else if (!to_v2 && std::as_const(spec).Find("host") != nullptr) {
    spec["hostPort"] = std::as_const(spec)["host"].string_value().str() + ":" + std::as_const(spec)["port"].string_value().str();
    spec.MutableObject().Erase("host");
    spec.MutableObject().Erase("port");
  }
  return object;
}

HookAnswer Answered(const Value& review, Value objects) {
  Value response = Value::Object({{"uid", review["request"]["uid"]}, {"result", Value::Object({{"status", "Success"}})}});
  response["convertedObjects"] = std::move(objects);
  return Json(Value::Object({{"apiVersion", "apiextensions.k8s.io/v1"}, {"kind", "ConversionReview"}, {"response", std::move(response)}}));
}

// All objects of a review, each changed a little.
HookAnswer ConvertWith(const Value& review, const std::function<void(Value&)>& change) {
  Value objects = Value::Array();
  for (const Value& object : review["request"]["objects"].list()) {
    Value out = Converted(object, review["request"]["desiredAPIVersion"].string_value());
    change(out);
    objects.MutableList().push_back(std::move(out));
  }
  return Answered(review, std::move(objects));
}

HookAnswer ConvertAll(const Value& review) {
  return ConvertWith(review, [](Value&) {});
}

class ConversionWebhookContract : public HookTest {
 protected:
  static constexpr const char* kV1 = "/apis/{id}.example.com/v1/namespaces/{ns}/hosts";
  static constexpr const char* kV2 = "/apis/{id}.example.com/v2/namespaces/{ns}/hosts";

  // A namespace controller may need the webhook after the case.
  void TearDown() override {
    On("/convert", ConvertAll);
    HookTest::TearDown();
  }

  void Define() {
    On("/convert", ConvertAll);
    std::string crd = kHostCrd;
    crd.replace(crd.find("URL"), 3, "'" + UrlOf("/convert") + "'");
    crd.replace(crd.find("caBundle: CA") + 10, 2, hooks().CaBundle());
    CreateCrd(crd);
  }
  std::string HostV1(const std::string& name, const std::string& host_port) {
    return R"({"apiVersion":"{id}.example.com/v1","kind":"Host","metadata":{"name":")" + name + R"("},"spec":{"hostPort":")" + host_port +
           R"("}})";
  }
  std::string HostV2(const std::string& name, const std::string& host, const std::string& port) {
    return R"({"apiVersion":"{id}.example.com/v2","kind":"Host","metadata":{"name":")" + name + R"("},"spec":{"host":")" + host +
           R"(","port":")" + port + R"("}})";
  }
  // Stores v2 from now on, which a real server does a moment later.
  void StoreV2() {
    EXPECT_CODE(Patch("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/hosts.{id}.example.com", "json",
                      R"([{"op":"replace","path":"/spec/versions/0/storage","value":false},)"
                      R"({"op":"replace","path":"/spec/versions/1/storage","value":true}])"),
                200);
    const Context ctx = Context::Background().WithTimeout(std::chrono::seconds(30));
    // What is stored in the version that it is sent in is not converted.
    for (int i = 0;; ++i) {
      const std::string name = "probe" + std::to_string(i);
      auto converted = std::make_shared<std::atomic<bool>>(false);
      On("/convert", [name, converted](const Value& review) {
        for (const Value& object : review["request"]["objects"].list()) {
          if (object["metadata"]["name"].string_value() == name && object["apiVersion"].string_value().view().ends_with("/v2"))
            *converted = true;
        }
        return ConvertAll(review);
      });
      EXPECT_CODE(Post(std::string(kV2) + "?dryRun=All", HostV2(name, "h", "1")), 201);
      On("/convert", ConvertAll);
      if (!*converted) return;
      ASSERT_TRUE(ctx.SleepFor(std::chrono::milliseconds(20)).ok()) << "the server still stores v1";
    }
  }
};
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(ConversionWebhookContract);
INSTANTIATE_TEST_SUITE_P(Servers, ConversionWebhookContract, ::testing::ValuesIn(ServersToTest()), TestParamName);

TEST_P(ConversionWebhookContract, WritesAndReadsInEachVersion) {
  Define();
  EXPECT_BODY(Post(kV1, HostV1("a", "h:1")), 201, R"(
apiVersion: '{id}.example.com/v1'
kind: Host
metadata:
  creationTimestamp: TIME
  generation: 1
  name: a
  namespace: '{ns}'
  resourceVersion: RV
  uid: UID
spec:
  hostPort: h:1
)");
  EXPECT_BODY(Post(kV2, HostV2("b", "g", "2")), 201, R"(
apiVersion: '{id}.example.com/v2'
kind: Host
metadata:
  creationTimestamp: TIME
  generation: 1
  name: b
  namespace: '{ns}'
  resourceVersion: RV
  uid: UID
spec:
  host: g
  port: "2"
)");
  EXPECT_BODY(Get(std::string(kV2) + "/a"), 200, R"(
apiVersion: '{id}.example.com/v2'
kind: Host
metadata:
  creationTimestamp: TIME
  generation: 1
  name: a
  namespace: '{ns}'
  resourceVersion: RV
  uid: UID
spec:
  host: h
  port: "1"
)");
  EXPECT_BODY(Get(std::string(kV1) + "/b"), 200, R"(
apiVersion: '{id}.example.com/v1'
kind: Host
metadata:
  creationTimestamp: TIME
  generation: 1
  name: b
  namespace: '{ns}'
  resourceVersion: RV
  uid: UID
spec:
  hostPort: g:2
)");
}

TEST_P(ConversionWebhookContract, ReviewOfAConversion) {
  Define();
  EXPECT_CODE(Post(kV1, HostV1("a", "h:1")), 201);
  EXPECT_CODE(Get(std::string(kV2) + "/a"), 200);
  const std::vector<Value> reviews = ReviewsOf("/convert");
  ASSERT_GE(reviews.size(), 1u);
  Value review = reviews.back();
  review["request"].MutableObject().Erase("uid");
  EXPECT_VALUE(review, R"(
apiVersion: apiextensions.k8s.io/v1
kind: ConversionReview
request:
  desiredAPIVersion: '{id}.example.com/v2'
  objects:
  - apiVersion: '{id}.example.com/v1'
    kind: Host
    metadata:
      creationTimestamp: TIME
      generation: 1
      name: a
      namespace: '{ns}'
      uid: UID
    spec:
      hostPort: h:1
response:
  convertedObjects: null
  result:
    metadata: {}
  uid: ""
)");
}

TEST_P(ConversionWebhookContract, UpdatesInEachVersion) {
  Define();
  EXPECT_CODE(Post(kV1, HostV1("a", "h:1")), 201);
  Answer patched = Patch(std::string(kV2) + "/a", "merge", R"({"spec":{"port":"9"}})");
  EXPECT_BODY(patched, 200, R"(
apiVersion: '{id}.example.com/v2'
kind: Host
metadata:
  creationTimestamp: TIME
  generation: 2
  name: a
  namespace: '{ns}'
  resourceVersion: RV
  uid: UID
spec:
  host: h
  port: "9"
)");
  Answer read = Get(std::string(kV2) + "/a");
  read.body["spec"]["port"] = "10";
  EXPECT_CODE(Put(std::string(kV2) + "/a", ToJson(read.body)), 200);
  EXPECT_EQ(Get(std::string(kV1) + "/a").body["spec"]["hostPort"], Value("h:10"));
  EXPECT_CODE(
      Apply(std::string(kV2) + "/a", "me", R"({"apiVersion":"{id}.example.com/v2","kind":"Host","spec":{"port":"11"}})", "&force=true"),
      200);
  EXPECT_EQ(Get(std::string(kV1) + "/a").body["spec"]["hostPort"], Value("h:11"));
  EXPECT_EQ(Patch(std::string(kV2) + "/a/status", "merge", R"({"status":{"ready":true}})").body["status"]["ready"], Value(true));
  EXPECT_EQ(Get(std::string(kV1) + "/a").body["status"]["ready"], Value(true));
}

TEST_P(ConversionWebhookContract, AppliesInTwoVersionsShareTheFields) {
  Define();
  EXPECT_CODE(Apply(std::string(kV1) + "/a", "one", HostV1("a", "h:1")), 201);
  EXPECT_STATUS(Apply(std::string(kV1) + "/a", "two", HostV1("a", "h:2")), R"(
code: 409
details:
  causes:
  - field: .spec.hostPort
    message: conflict with "one"
    reason: FieldManagerConflict
message: 'Apply failed with 1 conflict: conflict with "one": .spec.hostPort'
reason: Conflict
)");
  Answer applied = Apply(std::string(kV2) + "/a", "one", HostV2("a", "h", "3"));
  EXPECT_CODE(applied, 200);
  EXPECT_EQ(Get(std::string(kV1) + "/a").body["spec"]["hostPort"], Value("h:3"));
}

TEST_P(ConversionWebhookContract, ListsOfMixedStoredVersions) {
  Define();
  EXPECT_CODE(Post(kV1, HostV1("a", "h:1")), 201);
  EXPECT_CODE(Post(kV2, HostV2("b", "g", "2")), 201);
  StoreV2();
  EXPECT_CODE(Post(kV1, HostV1("c", "f:3")), 201);
  EXPECT_BODY(Get(kV1), 200, R"(
apiVersion: '{id}.example.com/v1'
items:
- apiVersion: '{id}.example.com/v1'
  kind: Host
  metadata:
    creationTimestamp: TIME
    generation: 1
    name: a
    namespace: '{ns}'
    resourceVersion: RV
    uid: UID
  spec:
    hostPort: h:1
- apiVersion: '{id}.example.com/v1'
  kind: Host
  metadata:
    creationTimestamp: TIME
    generation: 1
    name: b
    namespace: '{ns}'
    resourceVersion: RV
    uid: UID
  spec:
    hostPort: g:2
- apiVersion: '{id}.example.com/v1'
  kind: Host
  metadata:
    creationTimestamp: TIME
    generation: 1
    name: c
    namespace: '{ns}'
    resourceVersion: RV
    uid: UID
  spec:
    hostPort: f:3
kind: HostList
metadata:
  continue: ""
  resourceVersion: RV
)");
  EXPECT_BODY(Get(kV2), 200, R"(
apiVersion: '{id}.example.com/v2'
items:
- apiVersion: '{id}.example.com/v2'
  kind: Host
  metadata:
    creationTimestamp: TIME
    generation: 1
    name: a
    namespace: '{ns}'
    resourceVersion: RV
    uid: UID
  spec:
    host: h
    port: "1"
- apiVersion: '{id}.example.com/v2'
  kind: Host
  metadata:
    creationTimestamp: TIME
    generation: 1
    name: b
    namespace: '{ns}'
    resourceVersion: RV
    uid: UID
  spec:
    host: g
    port: "2"
- apiVersion: '{id}.example.com/v2'
  kind: Host
  metadata:
    creationTimestamp: TIME
    generation: 1
    name: c
    namespace: '{ns}'
    resourceVersion: RV
    uid: UID
  spec:
    host: f
    port: "3"
kind: HostList
metadata:
  continue: ""
  resourceVersion: RV
)");
  EXPECT_EQ(Get(std::string(kV2) + "?limit=2").body["items"].list().size(), 2u);
}

TEST_P(ConversionWebhookContract, ObjectsAreStoredAnewWhenTheyAreWritten) {
  Define();
  Answer made = Post(kV1, HostV1("a", "h:1"));
  StoreV2();
  // Nothing changes but the version that is stored.
  Answer written = Patch(std::string(kV2) + "/a", "merge", "{}");
  EXPECT_CODE(written, 200);
  EXPECT_NE(written.rv(), made.rv());
  On("/convert", [](const Value&) { return HookAnswer{.status = 500, .content_type = "text/plain", .body = "down"}; });
  EXPECT_CODE(Get(std::string(kV2) + "/a"), 200);
  EXPECT_CODE(Get(std::string(kV1) + "/a"), 500);
}

TEST_P(ConversionWebhookContract, DryRun) {
  Define();
  EXPECT_BODY(Post(std::string(kV2) + "?dryRun=All", HostV2("a", "h", "1")), 201, R"(
apiVersion: '{id}.example.com/v2'
kind: Host
metadata:
  creationTimestamp: TIME
  generation: 1
  name: a
  namespace: '{ns}'
  uid: UID
spec:
  host: h
  port: "1"
)");
  EXPECT_CODE(Get(std::string(kV1) + "/a"), 404);
}

TEST_P(ConversionWebhookContract, WatchesInEachVersion) {
  Define();
  EXPECT_CODE(Post(kV1, HostV1("a", "h:1")), 201);
  auto first = Watch(std::string(kV1) + "?watch=true"), second = Watch(std::string(kV2) + "?watch=true");
  EXPECT_EQ(first->Next()["object"]["spec"]["hostPort"], Value("h:1"));
  EXPECT_VALUE(second->Next(), R"(
object:
  apiVersion: '{id}.example.com/v2'
  kind: Host
  metadata:
    creationTimestamp: TIME
    generation: 1
    name: a
    namespace: '{ns}'
    resourceVersion: RV
    uid: UID
  spec:
    host: h
    port: "1"
type: ADDED
)");
  EXPECT_CODE(Post(kV2, HostV2("b", "g", "2")), 201);
  EXPECT_CODE(Patch(std::string(kV1) + "/b", "merge", R"({"spec":{"hostPort":"g:3"}})"), 200);
  EXPECT_CODE(Delete(std::string(kV1) + "/b"), 200);
  for (const char* type : {"ADDED", "MODIFIED", "DELETED"}) {
    const std::string port = std::string(type) == "ADDED" ? "2" : "3";
    Value one = first->Next(), two = second->Next();
    EXPECT_EQ(one["type"], Value(type));
    EXPECT_EQ(two["type"], Value(type));
    EXPECT_EQ(one["object"]["spec"]["hostPort"], Value("g:" + port));
    EXPECT_EQ(two["object"]["spec"]["port"], Value(port));
    EXPECT_EQ(one["object"]["metadata"]["resourceVersion"], two["object"]["metadata"]["resourceVersion"]);
  }
}

TEST_P(ConversionWebhookContract, WatchWaitsForTheWebhook) {
  Define();
  EXPECT_CODE(Post(kV1, HostV1("a", "h:1")), 201);
  auto watch = Watch(std::string(kV2) + "?watch=true&timeoutSeconds=3");
  EXPECT_EQ(watch->Next()["object"]["spec"]["port"], Value("1"));
  On("/convert", [](const Value&) { return HookAnswer{.status = 500, .content_type = "text/plain", .body = "down"}; });
  EXPECT_CODE(Post(kV1, HostV1("b", "h:2")), 201);
  // It neither fails nor ends before its time.
  EXPECT_TRUE(watch->Next().is_null());
}

TEST_P(ConversionWebhookContract, FailuresOfTheWebhook) {
  Define();
  EXPECT_CODE(Post(kV1, HostV1("a", "h:1")), 201);
  const std::string path = std::string(kV2) + "/a";
  const auto respond = [](std::string_view members) {
    return [members = std::string(members)](const Value& review) {
      Value response = ParseJson(members).value_or(Value());
      if (response.Find("uid") == nullptr) response["uid"] = review["request"]["uid"];
      return Json(Value::Object({{"apiVersion", "apiextensions.k8s.io/v1"}, {"kind", "ConversionReview"}, {"response", response}}));
    };
  };
  On("/convert", [](const Value&) { return HookAnswer{.status = 500, .content_type = "text/plain", .body = "boom"}; });
  EXPECT_STATUS(Get(path), R"(
code: 500
message: 'conversion webhook for {id}.example.com/v1, Kind=Host failed: an error on the server ("boom") has prevented the request from succeeding'
)");
  On("/convert", [](const Value&) { return HookAnswer{.body = "garbage"}; });
  EXPECT_STATUS(Get(path), R"(
code: 500
message: 'conversion webhook for {id}.example.com/v1, Kind=Host failed: couldn''t get version/kind; json parse error: json: cannot unmarshal string into Go value of type struct { APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" }'
)");
  On("/convert", [](const Value&) { return HookAnswer{.body = R"({"apiVersion":"apiextensions.k8s.io/v1","kind":"ConversionReview"})"}; });
  EXPECT_STATUS(Get(path), R"(
code: 500
message: 'conversion webhook for {id}.example.com/v1, Kind=Host failed: no response provided'
)");
  On("/convert", respond(R"({"result":{"status":"Failed","message":"cannot do it"}})"));
  EXPECT_STATUS(Get(path), R"(
code: 500
message: 'conversion webhook for {id}.example.com/v1, Kind=Host failed: cannot do it'
)");
  On("/convert", respond(R"({"result":{"status":"Failed"}})"));
  EXPECT_STATUS(Get(path), R"(
code: 500
message: 'conversion webhook for {id}.example.com/v1, Kind=Host failed: response.result.status was ''Failed'', not ''Success'''
)");
  On("/convert", respond(R"({"uid":"other","result":{"status":"Success"}})"));
  EXPECT_STATUS(Get(path), R"(
code: 500
message: 'conversion webhook for {id}.example.com/v1, Kind=Host failed: expected response.uid="UID", got "other"'
)");
  On("/convert", respond(R"({"result":{"status":"Success"},"convertedObjects":[]})"));
  EXPECT_STATUS(Get(path), R"(
code: 500
message: conversion webhook for {id}.example.com/v1, Kind=Host returned 0 objects, expected 1
)");
}

TEST_P(ConversionWebhookContract, ConvertedObjectsStayTheSameObjects) {
  Define();
  EXPECT_CODE(Post(kV1, HostV1("a", "h:1")), 201);
  const std::string path = std::string(kV2) + "/a";
  const auto change = [this](const std::function<void(Value&)>& f) {
    On("/convert", [f](const Value& review) { return ConvertWith(review, f); });
  };
  change([](Value& o) { o["metadata"]["name"] = "other"; });
  EXPECT_STATUS(Get(path), R"(
code: 500
message: 'conversion webhook for {id}.example.com/v1, Kind=Host returned invalid object: must have the same name: a != other'
)");
  change([](Value& o) { o["metadata"]["namespace"] = "other"; });
  EXPECT_STATUS(Get(path), R"(
code: 500
message: 'conversion webhook for {id}.example.com/v1, Kind=Host returned invalid object: must have the same namespace: {ns} != other'
)");
  change([](Value& o) { o["metadata"]["uid"] = "other"; });
  EXPECT_STATUS(Get(path), R"(
code: 500
message: 'conversion webhook for {id}.example.com/v1, Kind=Host returned invalid object: must have the same UID: UID != other'
)");
  change([](Value& o) { o["kind"] = "Other"; });
  EXPECT_STATUS(Get(path), R"(
code: 500
message: 'conversion webhook for {id}.example.com/v1, Kind=Host returned invalid object at index 0: invalid kind (expected Host, received Other)'
)");
  change([](Value& o) { o["apiVersion"] = "example.com/v9"; });
  EXPECT_STATUS(Get(path), R"(
code: 500
message: 'conversion webhook for {id}.example.com/v1, Kind=Host returned invalid object at index 0: invalid groupVersion (expected {id}.example.com/v2, received example.com/v9)'
)");
  change([](Value& o) { o.MutableObject().Erase("metadata"); });
  EXPECT_STATUS(Get(path), R"(
code: 500
message: 'conversion webhook for {id}.example.com/v1, Kind=Host returned invalid object: must have the same name: a != '
)");
  change([](Value& o) { o["metadata"]["labels"] = Value::Object({{"a", 1}}); });
  EXPECT_STATUS(Get(path), R"(
code: 500
message: 'conversion webhook for {id}.example.com/v1, Kind=Host returned invalid metadata: metadata.labels[a] must be a string, but is int64 in converted object'
)");
}

TEST_P(ConversionWebhookContract, LabelsAndAnnotationsMayChange) {
  Define();
  EXPECT_CODE(Post(kV1, HostV1("a", "h:1")), 201);
  On("/convert", [](const Value& review) {
    return ConvertWith(review, [](Value& o) {
      o["metadata"]["labels"]["converted"] = "yes";
      o["metadata"]["annotations"]["converted"] = "yes";
      o["metadata"]["finalizers"] = Value::Array({"example.com/x"});
      o["metadata"]["generation"] = 77;
      o["spec"]["unknown"] = "dropped";
    });
  });
  EXPECT_BODY(Get(std::string(kV2) + "/a"), 200, R"(
apiVersion: '{id}.example.com/v2'
kind: Host
metadata:
  annotations:
    converted: "yes"
  creationTimestamp: TIME
  generation: 1
  labels:
    converted: "yes"
  name: a
  namespace: '{ns}'
  resourceVersion: RV
  uid: UID
spec:
  host: h
  port: "1"
)");
}

TEST_P(ConversionWebhookContract, WritesFailWithTheWebhook) {
  Define();
  EXPECT_CODE(Post(kV1, HostV1("a", "h:1")), 201);
  On("/convert", [](const Value&) { return HookAnswer{.status = 503, .content_type = "text/plain", .body = ""}; });
  EXPECT_STATUS(Post(kV2, HostV2("b", "h", "1")), R"(
code: 500
message: 'conversion webhook for {id}.example.com/v2, Kind=Host failed: the server is currently unable to handle the request'
)");
  // Which conversion fails depends on what a real server has in its cache.
  EXPECT_CODE(Patch(std::string(kV2) + "/a", "merge", R"({"spec":{"port":"2"}})"), 500);
  EXPECT_STATUS(Delete(std::string(kV2) + "/a"), R"(
code: 500
message: 'conversion webhook for {id}.example.com/v1, Kind=Host failed: the server is currently unable to handle the request'
)");
  EXPECT_CODE(Post(kV1, HostV1("c", "h:1")), 201);
  EXPECT_CODE(Delete(std::string(kV1) + "/a"), 200);
  EXPECT_CODE(Get(std::string(kV1) + "/b"), 404);
}

TEST_P(ConversionWebhookContract, AdmissionSeesTheVersionThatItAskedFor) {
  Define();
  On("/m", [](const Value& r) { return PatchWith(r, "[{op: replace, path: /spec/port, value: '7'}]"); });
  Value m = Entry("m", "/m");
  m["rules"] = Rules(Expand("{operations: [CREATE], apiGroups: ['{id}.example.com'], apiVersions: [v2], resources: [hosts]}"));
  InstallMutating({m});
  EXPECT_EQ(Post(kV1, HostV1("a", "h:1")).body["spec"]["hostPort"], Value("h:7"));
  ASSERT_EQ(ReviewsOf("/m").size(), 1u);
  EXPECT_VALUE(PlainReview(ReviewsOf("/m")[0]), R"(
apiVersion: admission.k8s.io/v1
kind: AdmissionReview
request:
  dryRun: false
  kind:
    group: '{id}.example.com'
    kind: Host
    version: v2
  name: a
  namespace: '{ns}'
  object:
    apiVersion: '{id}.example.com/v2'
    kind: Host
    metadata:
      name: a
      namespace: '{ns}'
    spec:
      host: h
      port: "1"
  oldObject: null
  operation: CREATE
  options:
    apiVersion: meta.k8s.io/v1
    kind: CreateOptions
  requestKind:
    group: '{id}.example.com'
    kind: Host
    version: v1
  requestResource:
    group: '{id}.example.com'
    resource: hosts
    version: v1
  resource:
    group: '{id}.example.com'
    resource: hosts
    version: v2
)");
}

}  // namespace
}  // namespace kube::contract
