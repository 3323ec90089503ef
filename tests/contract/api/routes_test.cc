// Paths beside the resources of the catalogue: wrong scopes, unknown subresources, health, metrics, what every cluster has.
#include "contract.h"
#include "texts.h"

namespace kube::contract {
namespace {

CONTRACT_SUITE(RoutesContract);

TEST_P(RoutesContract, StrategicPatchOfACustomScaleIsRefused) {
  EXPECT_CODE(Post(kWidgets, kWidgetA), 201);
  EXPECT_STATUS(Patch(std::string(kWidgets) + "/a/scale", "strategic", R"({"spec":{"replicas":2}})"), R"(
code: 415
message: 'the body of the request was in an unknown format - accepted media types include: application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml'
reason: UnsupportedMediaType
)");
  EXPECT_STATUS(Patch(std::string(kWidgets) + "/a", "strategic", R"({"spec":{"replicas":2}})"), R"(
code: 415
message: 'the body of the request was in an unknown format - accepted media types include: application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml'
reason: UnsupportedMediaType
)");
}

TEST_P(RoutesContract, PatchOfACustomScaleIsManaged) {
  EXPECT_CODE(Post(std::string(kWidgets) + "?fieldManager=maker", kWidgetA), 201);
  EXPECT_CODE(Patch(std::string(kWidgets) + "/a/scale?fieldManager=scaler", "merge", R"({"spec":{"replicas":2}})"), 200);
  EXPECT_MANAGED_FIELDS(Get(std::string(kWidgets) + "/a"), R"(
- apiVersion: '{w}.example.com/v1'
  fieldsType: FieldsV1
  fieldsV1:
    f:spec:
      .: {}
      f:nested:
        .: {}
        f:mode: {}
      f:size: {}
  manager: maker
  operation: Update
  time: TIME
- apiVersion: '{w}.example.com/v1'
  fieldsType: FieldsV1
  fieldsV1:
    f:spec:
      f:replicas: {}
  manager: scaler
  operation: Update
  subresource: scale
)");
}

TEST_P(RoutesContract, WrongScopeOfACustomResourceIsNotFound) {
  const std::string all = "/apis/{w}.example.com/v1/widgets";
  Post(kWidgets, kWidgetA);
  auto text = [](const Answer& a) { return std::to_string(a.code) + " " + a.raw.body; };
  EXPECT_EQ(text(Post(all, kWidgetA)), "404 404 page not found\n");
  EXPECT_EQ(text(Delete(all)), "404 404 page not found\n");
  EXPECT_EQ(text(Get(all + "/a")), "404 404 page not found\n");
  EXPECT_EQ(text(Put(all + "/a", kWidgetA)), "404 404 page not found\n");
  EXPECT_CODE(Get(all), 200);
}

TEST_P(RoutesContract, WrongVerbOfACustomResourceIsNotAllowed) {
  // The name in the path of a create is not looked at.
  EXPECT_CODE(Post(std::string(kWidgets) + "/other", kWidgetA), 201);
  EXPECT_STATUS(Put(kWidgets, kWidgetA), R"(
code: 400
message: name must be provided
reason: BadRequest
)");
  EXPECT_STATUS(Delete(std::string(kWidgets) + "/a/status"), R"(
code: 405
details:
  group: '{w}.example.com'
  kind: widgets
message: delete is not supported on resources of kind "widgets.{w}.example.com"
reason: MethodNotAllowed
)");
  EXPECT_STATUS(Post(std::string(kWidgets) + "/a/scale", "{}"), R"(
code: 405
details:
  group: '{w}.example.com'
  kind: widgets
message: create is not supported on resources of kind "widgets.{w}.example.com"
reason: MethodNotAllowed
)");
}

TEST_P(RoutesContract, UnknownSubresourceOfACustomResourceIsNotFound) {
  EXPECT_CODE(Post(kWidgets, kWidgetA), 201);
  EXPECT_STATUS(Get(std::string(kWidgets) + "/a/nothing"), R"(
code: 404
details:
  group: '{w}.example.com'
  kind: widgets
  name: a
message: widgets.{w}.example.com "a" not found
reason: NotFound
)");
  EXPECT_STATUS(Put(std::string(kWidgets) + "/a/nothing", kWidgetA), R"(
code: 404
details:
  group: '{w}.example.com'
  kind: widgets
  name: a
message: widgets.{w}.example.com "a" not found
reason: NotFound
)");
}

TEST_P(RoutesContract, DeprecatedKindsWarn) {
  if (server().oldest()) GTEST_SKIP() << "1.26 warns of other kinds";
  auto warnings = [&](const std::string& path) { return Get(path).Warnings(); };
  EXPECT_EQ(warnings("/api/v1/namespaces/{ns}/endpoints"),
            std::vector<std::string>{"v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice"});
  EXPECT_EQ(warnings("/api/v1/componentstatuses"), std::vector<std::string>{"v1 ComponentStatus is deprecated in v1.19+"});
  EXPECT_EQ(Post("/api/v1/namespaces/{ns}/endpoints", R"({"metadata":{"name":"a"}})").Warnings(),
            std::vector<std::string>{"v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice"});
}

TEST_P(RoutesContract, DeprecatedVersionNamesTheNewestOne) {
  CreateCrd(R"(
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.{id}.example.com}
spec:
  group: {id}.example.com
  scope: Namespaced
  names: {plural: widgets, kind: Widget}
  versions:
  - {name: v1alpha1, served: true, storage: false, deprecated: true, schema: {openAPIV3Schema: {type: object}}}
  - {name: v1beta1, served: true, storage: false, schema: {openAPIV3Schema: {type: object}}}
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}
  - {name: v2, served: true, storage: false, deprecated: true, schema: {openAPIV3Schema: {type: object}}}
)");
  auto warnings = [&](const std::string& version) {
    std::vector<std::string> out;
    for (const std::string& w : Get("/apis/{id}.example.com/" + version + "/namespaces/{ns}/widgets").Warnings()) {
      out.push_back(w.substr(w.find('/') + 1));
    }
    return out;
  };
  EXPECT_EQ(warnings("v1alpha1"), std::vector<std::string>{"v1alpha1 Widget is deprecated; use " + Expand("{id}.example.com/v1 Widget")});
  EXPECT_EQ(warnings("v2"), std::vector<std::string>{"v2 Widget is deprecated"});
  EXPECT_TRUE(warnings("v1").empty());
}

TEST_P(RoutesContract, DiscoverySpeaksYaml) {
  auto type = [&](const std::string& path) { return Get(path, {{"Accept", "application/yaml"}}).Header("content-type"); };
  for (const char* path :
       {"/api", "/apis", "/apis/apps", "/api/v1", "/apis/apps/v1", "/apis/{w}.example.com", "/apis/{w}.example.com/v1"}) {
    EXPECT_EQ(type(path), "application/yaml") << path;
  }
  EXPECT_EQ(Get("/apis/apps", {{"Accept", "application/yaml"}}).raw.body, R"(apiVersion: v1
kind: APIGroup
name: apps
preferredVersion:
  groupVersion: apps/v1
  version: v1
versions:
- groupVersion: apps/v1
  version: v1
)");
  EXPECT_STATUS(Get("/apis/apps", {{"Accept", "text/html"}}), R"(
code: 406
message: 'only the following media types are accepted: application/json, application/yaml, application/vnd.kubernetes.protobuf'
reason: NotAcceptable
)");
}

TEST_P(RoutesContract, HealthIsToldInDetail) {
  for (const std::string path : {"/readyz", "/livez", "/healthz"}) {
    Answer got = Get(path + "?verbose");
    EXPECT_CODE(got, 200);
    EXPECT_TRUE(got.raw.body.starts_with("[+]ping ok\n")) << got.raw.body;
    EXPECT_TRUE(got.raw.body.ends_with("\n" + path.substr(1) + " check passed\n")) << got.raw.body;
    EXPECT_EQ(Get(path + "/ping").raw.body, "ok");
    EXPECT_CODE(Get(path + "/nothing"), 404);
    EXPECT_EQ(Get(path).raw.body, "ok");
    EXPECT_TRUE(Get(path + "?verbose&exclude=ping").raw.body.find("[+]ping excluded: ok\n") != std::string::npos);
  }
}

TEST_P(RoutesContract, MetricsAreServed) {
  EXPECT_CODE(Get(kNamespaces), 200);
  Answer got = Get("/metrics");
  EXPECT_CODE(got, 200);
  EXPECT_TRUE(got.Header("content-type").starts_with("text/plain; version=0.0.4")) << got.Header("content-type");
  EXPECT_NE(got.raw.body.find("# TYPE apiserver_request_total counter\n"), std::string::npos);
}

TEST_P(RoutesContract, IssuerOfTokensIsDescribed) {
  Answer got = Get("/.well-known/openid-configuration");
  EXPECT_CODE(got, 200);
  EXPECT_EQ(got.Header("content-type"), "application/json");
  EXPECT_VALUE(got.body["issuer"], R"(
https://kubernetes.default.svc.cluster.local
)");
  EXPECT_VALUE(got.body["response_types_supported"], R"(
- id_token
)");
  EXPECT_VALUE(got.body["subject_types_supported"], R"(
- public
)");
  EXPECT_TRUE(got.body["jwks_uri"].string_value().view().ends_with("/openid/v1/jwks"));
  Answer keys = Get("/openid/v1/jwks", {{"Accept", "application/jwk-set+json"}});
  EXPECT_CODE(keys, 200);
  EXPECT_EQ(keys.Header("content-type"), "application/jwk-set+json");
  EXPECT_TRUE(keys.body["keys"].is_list());
}

// Core events with an eventTime need less than those of events.k8s.io: no type, and any counts and sources.
TEST_P(RoutesContract, CoreEventsAreCheckedLoosely) {
  const std::string events = "/api/v1/namespaces/{ns}/events";
  const std::string about = R"("involvedObject":{"kind":"Pod","name":"a","namespace":"{ns}"})";
  const std::string time = R"("eventTime":"2024-01-01T00:00:00.000000Z")";
  const std::string filled = R"("reportingComponent":"example.com/x","reportingInstance":"i","action":"a","reason":"r")";
  EXPECT_STATUS(Post(events, R"({"metadata":{"name":"a"},)" + about + "," + time + "}"), R"(
code: 422
details:
  causes:
  - field: reportingComponent
    message: Required value
    reason: FieldValueRequired
  - field: reportingComponent
    message: 'Invalid value: "": name part must be non-empty'
    reason: FieldValueInvalid
  - field: reportingComponent
    message: 'Invalid value: "": <not a qualified name>'
    reason: FieldValueInvalid
  - field: reportingInstance
    message: Required value
    reason: FieldValueRequired
  - field: action
    message: Required value
    reason: FieldValueRequired
  - field: reason
    message: Required value
    reason: FieldValueRequired
  kind: Event
  name: a
message: <of the causes>
reason: Invalid
)");
  EXPECT_CODE(Post(events, R"({"metadata":{"name":"b"},)" + about + "," + time + "," + filled + "}"), 201);
  EXPECT_CODE(Post(events, R"({"metadata":{"name":"c"},)" + about + "," + time + "," + filled + R"(,"message":")" + std::string(1025, 'x') +
                               R"("})"),
              422);
  EXPECT_CODE(Post(events, R"({"metadata":{"name":"d"},)" + about + "," + time + "," + filled + R"(,"type":"Odd","count":3,
      "firstTimestamp":"2024-01-01T00:00:00Z","lastTimestamp":"2024-01-01T00:00:00Z","source":{"component":"x"}})"),
              201);
  EXPECT_STATUS(Post("/apis/events.k8s.io/v1/namespaces/{ns}/events", R"({"metadata":{"name":"e"},)" + time + "}"), R"(
code: 422
details:
  causes:
  - field: involvedObject.namespace
    message: 'Invalid value: "": does not match event.namespace'
    reason: FieldValueInvalid
  - field: reportingController
    message: Required value
    reason: FieldValueRequired
  - field: reportingController
    message: 'Invalid value: "": name part must be non-empty'
    reason: FieldValueInvalid
  - field: reportingController
    message: 'Invalid value: "": <not a qualified name>'
    reason: FieldValueInvalid
  - field: reportingInstance
    message: Required value
    reason: FieldValueRequired
  - field: action
    message: Required value
    reason: FieldValueRequired
  - field: reason
    message: Required value
    reason: FieldValueRequired
  - field: type
    message: 'Invalid value: "": has invalid value: '
    reason: FieldValueInvalid
  kind: Event
  name: e
message: <of the causes>
reason: Invalid
)");
  EXPECT_STATUS(Post(events, R"({"metadata":{"name":"f"},"involvedObject":{"kind":"Pod","name":"a","namespace":"other"}})"), R"(
code: 422
details:
  causes:
  - field: involvedObject.namespace
    message: 'Invalid value: "other": does not match event.namespace'
    reason: FieldValueInvalid
  kind: Event
  name: f
message: <of the causes>
reason: Invalid
)");
  EXPECT_CODE(Post(events, R"({"metadata":{"name":"g"}})"), 422);
  // One with a time may be about an object of another namespace.
  EXPECT_CODE(Post(events, R"({"metadata":{"name":"h"},"involvedObject":{"kind":"Pod","name":"a","namespace":"other"},)" + time + "," +
                               filled + "}"),
              201);
}

TEST_P(RoutesContract, PodWithoutANodeRunsNothing) {
  EXPECT_CODE(Post(kPods, kPodA), 201);
  const std::string pod = std::string(kPods) + "/a";
  EXPECT_STATUS(Post(pod + "/exec?command=ls&stdout=1", ""), R"(
code: 400
message: pod a does not have a host assigned
reason: BadRequest
)");
  EXPECT_STATUS(Post(pod + "/attach?stdout=1", ""), R"(
code: 400
message: pod a does not have a host assigned
reason: BadRequest
)");
  EXPECT_STATUS(Post(pod + "/portforward?ports=80", ""), R"(
code: 400
message: pod a does not have a host assigned
reason: BadRequest
)");
  EXPECT_STATUS(Post(pod + "/exec?command=ls&stdout=1&container=other", ""), R"(
code: 400
message: container other is not valid for pod a
reason: BadRequest
)");
  EXPECT_STATUS(Get(pod + "/log?container=other"), R"(
code: 400
message: container other is not valid for pod a
reason: BadRequest
)");
}

TEST_P(RoutesContract, ServiceOfTheServerIsRecreated) {
  const std::string service = "/api/v1/namespaces/default/services/kubernetes";
  Answer before = Get(service);
  EXPECT_CODE(before, 200);
  EXPECT_CODE(Delete(service), 200);
  Answer after = GetUntil(service, [&](const Answer& a) { return a.code == 200 && a.uid() != before.uid(); });
  EXPECT_EQ(after.body["spec"]["clusterIP"], before.body["spec"]["clusterIP"]);
  EXPECT_EQ(after.body["spec"]["ports"], before.body["spec"]["ports"]);
  EXPECT_EQ(after.body["metadata"]["labels"], before.body["metadata"]["labels"]);
}

}  // namespace
}  // namespace kube::contract
