// Encodings: JSON, YAML, protobuf, tables, metadata alone, gzip.
#include "contract.h"
#include "kube/api/apps/v1.h"
#include "kube/api/core/v1.h"
#include "kube/codec/json.h"
#include "kube/codec/protobuf.h"
#include "kube/codec/yaml.h"
#include "kube/meta/v1.h"
#include "texts.h"

namespace kube::contract {
namespace {

CONTRACT_SUITE(NegotiationContract);

const std::string kMaps = kConfigMaps;
constexpr const char* kProtobuf = "application/vnd.kubernetes.protobuf";

TEST_P(NegotiationContract, JsonIsTheDefault) {
  EXPECT_CODE(Post(kMaps, kConfigMapA), 201);
  for (const char* accept : {"*/*", "application/json;charset=utf-8", "application/json; q=0.5, */*;q=0.1"}) {
    Answer got = Get(kMaps + "/a", {{"Accept", accept}});
    EXPECT_EQ(got.code, 200) << accept;
    EXPECT_EQ(got.Header("content-type"), "application/json") << accept;
  }
}

TEST_P(NegotiationContract, UnknownFormsAreNotAcceptable) {
  EXPECT_CODE(Post(kMaps, kConfigMapA), 201);
  EXPECT_STATUS(Get(kMaps + "/a", {{"Accept", "text/html"}}), R"(
code: 406
details: {}
message: |-
  406: Not Acceptable

  Available representations: application/json, application/yaml, application/vnd.kubernetes.protobuf
reason: NotAcceptable
)");
  EXPECT_CODE(Get(kMaps + "/a", {{"Accept", "application/*"}}), 406);
  EXPECT_STATUS(Get(kMaps + "/a", {{"Accept", "application/json;as=Nonsense;v=v1;g=meta.k8s.io"}}), R"(
code: 406
message: 'only the following media types are accepted: application/json, application/yaml, application/vnd.kubernetes.protobuf'
reason: NotAcceptable
)");
}

TEST_P(NegotiationContract, FirstFormThatIsKnownIsTaken) {
  EXPECT_CODE(Post(kMaps, kConfigMapA), 201);
  Answer got = Get(kMaps + "/a", {{"Accept", "text/html, application/yaml, application/json"}});
  EXPECT_EQ(got.Header("content-type"), "application/yaml");
}

TEST_P(NegotiationContract, AnswersYaml) {
  Answer made = Post(kMaps, kConfigMapA);
  Answer got = Get(kMaps + "/a", {{"Accept", "application/yaml"}});
  EXPECT_CODE(got, 200);
  EXPECT_EQ(got.Header("content-type"), "application/yaml");
  Result<std::vector<Value>> read = ParseYaml(got.raw.body);
  ASSERT_TRUE(read) << read.error().ToString();
  EXPECT_EQ(read->front(), made.body);
}

TEST_P(NegotiationContract, ReadsYaml) {
  Answer made =
      Post(kMaps, "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n  k: \"1\"\n", {{"Content-Type", "application/yaml"}});
  EXPECT_CODE(made, 201);
  EXPECT_VALUE(made.body["data"], R"(
k: "1"
)");
}

TEST_P(NegotiationContract, BrokenYamlIsRefused) {
  Answer refused = Call({.method = "POST", .url = kMaps, .headers = {{"Content-Type", "application/yaml"}}, .body = "a: [b"});
  EXPECT_STATUS(refused, R"(
code: 400
message: 'the object provided is unrecognized (must be of type ConfigMap): yaml: line 1: did not find expected '','' or '']'' (613a205b62)'
reason: BadRequest
)");
}

TEST_P(NegotiationContract, AnswersProtobuf) {
  Answer made = Post(kMaps, kConfigMapA);
  Answer got = Get(kMaps + "/a", {{"Accept", kProtobuf}});
  EXPECT_CODE(got, 200);
  EXPECT_EQ(got.Header("content-type"), kProtobuf);
  Result<core::v1::ConfigMap> map = FromProtobuf<core::v1::ConfigMap>(got.raw.body);
  ASSERT_TRUE(map) << map.error().ToString();
  Result<std::string> json = ToJson(*map);
  ASSERT_TRUE(json);
  EXPECT_EQ(*ParseJson(*json), made.body);
}

TEST_P(NegotiationContract, AnswersListsInProtobuf) {
  EXPECT_CODE(Post(kMaps, kConfigMapA), 201);
  Answer got = Get(kMaps, {{"Accept", std::string(kProtobuf) + ",application/json"}});
  Result<core::v1::ConfigMapList> list = FromProtobuf<core::v1::ConfigMapList>(got.raw.body);
  ASSERT_TRUE(list) << list.error().ToString();
  ASSERT_EQ(list->items.size(), 1U);
  EXPECT_EQ(list->items[0].data["color"], "red");
  EXPECT_FALSE(list->metadata.resource_version.empty());
}

TEST_P(NegotiationContract, ReadsProtobuf) {
  core::v1::ConfigMap map;
  map.metadata.name = "a";
  map.data["k"] = "v";
  Result<std::string> bytes = ToProtobuf(map);
  ASSERT_TRUE(bytes);
  Answer made = Call({.method = "POST", .url = kMaps, .headers = {{"Content-Type", kProtobuf}}, .body = *bytes});
  EXPECT_CODE(made, 201);
  EXPECT_VALUE(made.body["data"], R"(
k: v
)");
}

// Protobuf carries any bytes as text, and servers do not check them.
TEST_P(NegotiationContract, TextThatIsNotUtf8IsKeptInProtobufAndReplacedInJson) {
  const std::string deployments = "/apis/apps/v1/namespaces/{ns}/deployments";
  apps::v1::Deployment made;
  made.metadata.name = "bad-text";
  made.metadata.annotations["note"] = "a\xff\xc3z";
  made.spec.selector.Mutable().match_labels["app"] = "a";
  made.spec.template_.metadata.labels["app"] = "a";
  made.spec.template_.spec.containers = {core::v1::Container{.name = "a", .image = "a"}};
  Result<std::string> bytes = ToProtobuf(made);
  ASSERT_TRUE(bytes);
  Answer posted = Call({.method = "POST", .url = deployments, .headers = {{"Content-Type", kProtobuf}}, .body = *bytes});
  EXPECT_CODE(posted, 201);
  const Value replaced("a\xef\xbf\xbd\xef\xbf\xbdz");
  const auto note = [](const Value& object) { return object["metadata"]["annotations"]["note"]; };
  EXPECT_EQ(note(posted.body), replaced);
  EXPECT_EQ(note(Get(deployments + "/bad-text").body), replaced);
  EXPECT_EQ(note(Get(deployments).body["items"].list()[0]), replaced);
  EXPECT_EQ(note(Watch(deployments + "?watch=true")->NextOf("ADDED")["object"]), replaced);

  const auto note_in_protobuf = [&] {
    Answer got = Get(deployments + "/bad-text", {{"Accept", kProtobuf}});
    Result<apps::v1::Deployment> read = FromProtobuf<apps::v1::Deployment>(got.raw.body);
    EXPECT_TRUE(read) << read.error().ToString();
    return read ? read->metadata.annotations["note"].str() : std::string();
  };
  EXPECT_EQ(note_in_protobuf(), "a\xff\xc3z");
  Answer listed = Get(deployments, {{"Accept", kProtobuf}});
  Result<apps::v1::DeploymentList> list = FromProtobuf<apps::v1::DeploymentList>(listed.raw.body);
  ASSERT_TRUE(list) << list.error().ToString();
  ASSERT_EQ(list->items.size(), 1U);
  EXPECT_EQ(list->items[0].metadata.annotations["note"], "a\xff\xc3z");

  // A strategic merge patch works on the object, the others on its JSON.
  EXPECT_CODE(Patch(deployments + "/bad-text", "strategic", R"({"spec":{"replicas":2}})"), 200);
  EXPECT_EQ(note_in_protobuf(), "a\xff\xc3z");
  EXPECT_CODE(Patch(deployments + "/bad-text", "merge", R"({"spec":{"replicas":3}})"), 200);
  EXPECT_EQ(note_in_protobuf(), replaced.string_value());
}

TEST_P(NegotiationContract, BrokenProtobufIsRefused) {
  Answer refused = Call({.method = "POST", .url = kMaps, .headers = {{"Content-Type", kProtobuf}}, .body = "nonsense"});
  EXPECT_STATUS(refused, R"(
code: 400
message: 'the object provided is unrecognized (must be of type ConfigMap): provided data does not appear to be a protobuf message, expected prefix [107 56 115 0] (6e6f6e73656e7365)'
reason: BadRequest
)");
}

TEST_P(NegotiationContract, ErrorsComeInTheFormThatWasAskedFor) {
  Answer yaml = Get(kMaps + "/nope", {{"Accept", "application/yaml"}});
  EXPECT_EQ(yaml.code, 404);
  EXPECT_EQ(yaml.Header("content-type"), "application/yaml");
  Answer protobuf = Get(kMaps + "/nope", {{"Accept", kProtobuf}});
  EXPECT_EQ(protobuf.code, 404);
  Result<meta::v1::Status> status = FromProtobuf<meta::v1::Status>(protobuf.raw.body);
  ASSERT_TRUE(status) << status.error().ToString();
  EXPECT_EQ(status->reason, "NotFound");
  EXPECT_EQ(status->code, 404);
}

TEST_P(NegotiationContract, CustomResourcesHaveNoProtobuf) {
  EXPECT_CODE(Post(kWidgets, kWidgetA), 201);
  Answer either = Get(std::string(kWidgets) + "/a", {{"Accept", std::string(kProtobuf) + ",application/json"}});
  EXPECT_CODE(either, 200);
  EXPECT_EQ(either.Header("content-type"), "application/json");
  Answer only = Get(std::string(kWidgets) + "/a", {{"Accept", kProtobuf}});
  EXPECT_EQ(only.code, 406);
}

TEST_P(NegotiationContract, UnknownContentTypeIsRefused) {
  Answer refused = Call({.method = "POST", .url = kMaps, .headers = {{"Content-Type", "text/plain"}}, .body = "{}"});
  EXPECT_STATUS(refused, R"(
code: 415
message: 'the body of the request was in an unknown format - accepted media types include: application/json, application/yaml, application/vnd.kubernetes.protobuf'
reason: UnsupportedMediaType
)");
}

TEST_P(NegotiationContract, WithoutAContentTypeItIsJson) {
  Answer made = Call({.method = "POST", .url = kMaps, .body = ConfigMapJson("a")});
  EXPECT_CODE(made, 201);
}

TEST_P(NegotiationContract, TableHasColumnsAndRows) {
  EXPECT_CODE(Post(kMaps, kConfigMapA), 201);
  Answer table = Get(kMaps, {{"Accept", "application/json;as=Table;v=v1;g=meta.k8s.io"}});
  EXPECT_CODE(table, 200);
  Value shown = table.body;
  for (Value& row : shown["rows"].MutableList()) row["cells"].MutableList()[2] = "AGE";
  EXPECT_VALUE(shown, R"(
apiVersion: meta.k8s.io/v1
columnDefinitions:
- format: name
  name: Name
  priority: 0
  type: string
- format: ""
  name: Data
  priority: 0
  type: string
- format: ""
  name: Age
  priority: 0
  type: string
kind: Table
metadata:
  resourceVersion: RV
rows:
- cells:
  - a
  - 2
  - AGE
  object:
    apiVersion: meta.k8s.io/v1
    kind: PartialObjectMetadata
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
}

TEST_P(NegotiationContract, TableOfOneObject) {
  EXPECT_CODE(Post(kMaps, kConfigMapA), 201);
  Answer table = Get(kMaps + "/a", {{"Accept", "application/json;as=Table;v=v1;g=meta.k8s.io"}});
  EXPECT_EQ(table.body["kind"], Value("Table"));
  EXPECT_EQ(table.body["rows"].list().size(), 1U);
}

TEST_P(NegotiationContract, TableShowsAsMuchOfTheObjectAsAsked) {
  EXPECT_CODE(Post(kMaps, kConfigMapA), 201);
  const HttpFields accept = {{"Accept", "application/json;as=Table;v=v1;g=meta.k8s.io"}};
  EXPECT_VALUE(Get(kMaps + "?includeObject=None", accept).body["rows"].list()[0]["object"], R"()");
  EXPECT_VALUE(Get(kMaps + "?includeObject=Object", accept).body["rows"].list()[0]["object"]["data"], R"(
color: red
size: "3"
)");
  EXPECT_STATUS(Get(kMaps + "?includeObject=Some", accept), R"(
code: 400
message: 'Unable to convert to Table as requested: includeObject: Invalid value: "Some": must be ''Metadata'', ''Object'', ''None'', or empty'
reason: BadRequest
)");
}

TEST_P(NegotiationContract, TablesOfWorkloads) {
  EXPECT_CODE(Post(kPods, kPodA), 201);
  EXPECT_CODE(Post(kDeployments, kDeploymentA), 201);
  const HttpFields accept = {{"Accept", "application/json;as=Table;v=v1;g=meta.k8s.io"}};
  for (const char* path : {kPods, kDeployments}) {
    Answer table = Get(path, accept);
    std::string columns;
    for (const Value& column : table.body["columnDefinitions"].list()) columns += column["name"].string_value().str() + "|";
    EXPECT_EQ(columns, path == kPods ? "Name|Ready|Status|Restarts|Age|IP|Node|Nominated Node|Readiness Gates|"
                                     : "Name|Ready|Up-to-date|Available|Age|Containers|Images|Selector|");
    Value cells = table.body["rows"].list()[0]["cells"];
    cells.MutableList()[4] = "AGE";
    if (path == kPods) {
      EXPECT_VALUE(cells, R"(
- a
- 0/1
- Pending
- "0"
- AGE
- <none>
- <none>
- <none>
- <none>
)");
    } else {
      EXPECT_VALUE(cells, R"(
- a
- 0/2
- 0
- 0
- AGE
- web
- example.com/web:1
- app=web
)");
    }
  }
}

TEST_P(NegotiationContract, MetadataAlone) {
  EXPECT_CODE(Post(kMaps, kConfigMapA), 201);
  EXPECT_BODY(Get(kMaps + "/a", {{"Accept", "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"}}), 200, R"(
apiVersion: meta.k8s.io/v1
kind: PartialObjectMetadata
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
  EXPECT_BODY(Get(kMaps, {{"Accept", "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"}}), 200, R"(
apiVersion: meta.k8s.io/v1
items:
- apiVersion: meta.k8s.io/v1
  kind: PartialObjectMetadata
  metadata:
    creationTimestamp: TIME
    labels:
      app: web
      tier: front
    name: a
    namespace: '{ns}'
    resourceVersion: RV
    uid: UID
kind: PartialObjectMetadataList
metadata:
  resourceVersion: RV
)");
}

TEST_P(NegotiationContract, LargeAnswersAreCompressed) {
  EXPECT_CODE(Post(kMaps, R"({"metadata":{"name":"a"},"data":{"k":")" + std::string(200'000, 'x') + R"("}})"), 201);
  Answer compressed = Get(kMaps + "/a", {{"Accept-Encoding", "gzip"}});
  EXPECT_EQ(compressed.Header("content-encoding"), "gzip");
  EXPECT_LT(compressed.raw.body.size(), 20'000U);
  EXPECT_EQ(compressed.raw.body.substr(0, 2), "\x1f\x8b");
  Answer small = Get("/api/v1/namespaces/{ns}", {{"Accept-Encoding", "gzip"}});
  EXPECT_EQ(small.Header("content-encoding"), "");
  Answer plain = Get(kMaps + "/a");
  EXPECT_EQ(plain.Header("content-encoding"), "");
  EXPECT_EQ(plain.body["data"]["k"].string_value().size(), 200'000U);
}

TEST_P(NegotiationContract, PrettyIsForPeople) {
  EXPECT_CODE(Post(kMaps, kConfigMapA), 201);
  Answer pretty = Get(kMaps + "/a?pretty=true");
  EXPECT_EQ(pretty.raw.body.substr(0, 26), "{\n  \"kind\": \"ConfigMap\",\n ");
  Answer plain = Get(kMaps + "/a?pretty=false");
  EXPECT_EQ(plain.raw.body.substr(0, 20), "{\"kind\":\"ConfigMap\",");
}

TEST_P(NegotiationContract, ProtobufWatchHasFrames) {
  const std::string rv = Get(kMaps).rv();
  HttpStream stream(server().admin, {.url = server().url + Expand(kMaps + "?watch=1&resourceVersion=" + rv),
                                     .headers = {{"Accept", std::string(kProtobuf) + ";stream=watch"}}});
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  Result<HttpAnswer> head = stream.Head(until);
  ASSERT_TRUE(head) << head.error().ToString();
  EXPECT_EQ(head->Header("content-type"), std::string(kProtobuf) + ";stream=watch");
  EXPECT_CODE(Post(kMaps, kConfigMapA), 201);
  Result<std::optional<std::string>> length = stream.NextBytes(4, until);
  ASSERT_TRUE(length && length->has_value());
  std::size_t size = 0;
  for (char c : **length) size = size << 8 | static_cast<unsigned char>(c);
  Result<std::optional<std::string>> frame = stream.NextBytes(size, until);
  ASSERT_TRUE(frame && frame->has_value());
  // The event is bare, the object inside has its envelope.
  EXPECT_FALSE(HasProtobufEnvelope(**frame));
  EXPECT_NE((*frame)->find("ADDED"), std::string::npos);
  const std::size_t at = (*frame)->find(std::string("k8s\0", 4));
  ASSERT_NE(at, std::string::npos);
  Result<core::v1::ConfigMap> map = FromProtobuf<core::v1::ConfigMap>(std::string_view(**frame).substr(at));
  ASSERT_TRUE(map) << map.error().ToString();
  EXPECT_EQ(map->metadata.name, "a");
}

TEST_P(NegotiationContract, SpeaksBothVersionsOfHttp) {
  ns();
  EXPECT_EQ(Call({.url = kMaps, .http2 = true}).raw.http_major, 2);
  EXPECT_EQ(CallAs(server().admin, {.url = kMaps, .http2 = false}).raw.http_major, 1);
}

}  // namespace
}  // namespace kube::contract
