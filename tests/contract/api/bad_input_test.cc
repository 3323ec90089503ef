// What a server must survive, and how it answers.
#include "contract.h"
#include "texts.h"

namespace kube::contract {
namespace {

CONTRACT_SUITE(BadInputContract);

const std::string kMaps = kConfigMaps;
const HttpFields kJson = {{"Content-Type", "application/json"}};

class RawAnswer {
 public:
  explicit RawAnswer(std::string text) : text_(std::move(text)) {}
  // "HTTP/1.1 400"
  std::string StatusLine() const { return text_.substr(0, 12); }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

RawAnswer Raw(const ContractServer& server, const std::string& bytes, std::chrono::milliseconds timeout = std::chrono::seconds(10)) {
  testing::internal::HttpCaller caller(server.admin);
  Result<std::string> answer = caller.Raw({.url = server.url, .timeout = timeout}, bytes);
  EXPECT_TRUE(answer) << answer.error().ToString();
  return RawAnswer(answer.value_or(""));
}

TEST_P(BadInputContract, BrokenJson) {
  EXPECT_STATUS(Post(kMaps, R"({"metadata":)", kJson), R"(
code: 400
message: 'the object provided is unrecognized (must be of type ConfigMap): couldn''t get version/kind; json parse error: unexpected end of JSON input ({"metadata":)'
reason: BadRequest
)");
  EXPECT_STATUS(Post(kMaps, R"({"metadata":{"name":"a"}} trailing)", kJson), R"(
code: 400
message: 'the object provided is unrecognized (must be of type ConfigMap): couldn''t get version/kind; json parse error: invalid character ''t'' after top-level value ({"metadata":{"name":"a"}} trai ...)'
reason: BadRequest
)");
  EXPECT_STATUS(Post(kMaps, R"({'metadata':{}})", kJson), R"(
code: 400
message: 'the object provided is unrecognized (must be of type ConfigMap): couldn''t get version/kind; json parse error: invalid character ''\'''' looking for beginning of object key string ({''metadata'':{}})'
reason: BadRequest
)");
}

TEST_P(BadInputContract, EmptyBody) {
  EXPECT_STATUS(Call({.method = "POST", .url = kMaps, .headers = kJson}), R"(
code: 400
message: 'the object provided is unrecognized (must be of type ConfigMap): couldn''t get version/kind; json parse error: unexpected end of JSON input (<empty>)'
reason: BadRequest
)");
  EXPECT_CODE(Post(kMaps, kConfigMapA), 201);
  EXPECT_STATUS(Call({.method = "PUT", .url = kMaps + "/a", .headers = kJson}), R"(
code: 400
message: 'the object provided is unrecognized (must be of type ConfigMap): couldn''t get version/kind; json parse error: unexpected end of JSON input (<empty>)'
reason: BadRequest
)");
}

TEST_P(BadInputContract, JsonThatIsNoObject) {
  EXPECT_STATUS(Call({.method = "POST", .url = kMaps, .headers = kJson, .body = "[1,2]"}), R"(
code: 400
message: 'the object provided is unrecognized (must be of type ConfigMap): couldn''t get version/kind; json parse error: json: cannot unmarshal array into Go value of type struct { APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" } (5b312c325d)'
reason: BadRequest
)");
  EXPECT_STATUS(Call({.method = "POST", .url = kMaps, .headers = kJson, .body = "\"text\""}), R"(
code: 400
message: 'the object provided is unrecognized (must be of type ConfigMap): couldn''t get version/kind; json parse error: json: cannot unmarshal string into Go value of type struct { APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" } (227465787422)'
reason: BadRequest
)");
  EXPECT_STATUS(Call({.method = "POST", .url = kMaps, .headers = kJson, .body = "null"}), R"(
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
  EXPECT_STATUS(Call({.method = "POST", .url = kMaps, .headers = kJson, .body = "17"}), R"(
code: 400
message: 'the object provided is unrecognized (must be of type ConfigMap): couldn''t get version/kind; json parse error: json: cannot unmarshal number into Go value of type struct { APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" } (3137)'
reason: BadRequest
)");
}

TEST_P(BadInputContract, WrongTypes) {
  EXPECT_STATUS(Post(kMaps, R"({"metadata":"text"})"), R"(
code: 400
message: 'ConfigMap in version "v1" cannot be handled as a ConfigMap: json: cannot unmarshal string into Go struct field ConfigMap.metadata of type v1.ObjectMeta'
reason: BadRequest
)");
  EXPECT_STATUS(Post(kMaps, R"({"metadata":{"name":5}})"), R"(
code: 400
message: 'ConfigMap in version "v1" cannot be handled as a ConfigMap: json: cannot unmarshal number into Go struct field ObjectMeta.metadata.name of type string'
reason: BadRequest
)");
  EXPECT_STATUS(Post(kMaps, R"({"metadata":{"name":"a"},"data":{"k":1}})"), R"(
code: 400
message: 'ConfigMap in version "v1" cannot be handled as a ConfigMap: json: cannot unmarshal number into Go struct field ConfigMap.data of type string'
reason: BadRequest
)");
  EXPECT_STATUS(Post(kDeployments, R"({"metadata":{"name":"a"},"spec":{"replicas":"2"}})"), R"(
code: 400
message: 'Deployment in version "v1" cannot be handled as a Deployment: json: cannot unmarshal string into Go struct field DeploymentSpec.spec.replicas of type int32'
reason: BadRequest
)");
  EXPECT_STATUS(Post(kDeployments, R"({"metadata":{"name":"a"},"spec":{"replicas":2.5}})"), R"(
code: 400
message: 'Deployment in version "v1" cannot be handled as a Deployment: json: cannot unmarshal number 2.5 into Go struct field DeploymentSpec.spec.replicas of type int32'
reason: BadRequest
)");
  EXPECT_STATUS(Post(kDeployments, R"({"metadata":{"name":"a"},"spec":{"replicas":99999999999}})"), R"(
code: 400
message: 'Deployment in version "v1" cannot be handled as a Deployment: json: cannot unmarshal number 99999999999 into Go struct field DeploymentSpec.spec.replicas of type int32'
reason: BadRequest
)");
  EXPECT_STATUS(Post(kPods, R"({"metadata":{"name":"a"},"spec":{"containers":{"name":"a"}}})"), R"(
code: 400
message: 'Pod in version "v1" cannot be handled as a Pod: json: cannot unmarshal object into Go struct field PodSpec.spec.containers of type []v1.Container'
reason: BadRequest
)");
}

TEST_P(BadInputContract, BadValues) {
  EXPECT_STATUS(Post(kMaps, R"({"metadata":{"name":"a","creationTimestamp":"yesterday"}})"), R"(
code: 400
message: 'ConfigMap in version "v1" cannot be handled as a ConfigMap: parsing time "yesterday" as "2006-01-02T15:04:05Z07:00": cannot parse "yesterday" as "2006"'
reason: BadRequest
)");
  EXPECT_STATUS(Post("/api/v1/namespaces/{ns}/secrets", R"({"metadata":{"name":"a"},"data":{"k":"not base64!"}})"), R"(
code: 400
message: 'Secret in version "v1" cannot be handled as a Secret: illegal base64 data at input byte 3'
reason: BadRequest
)");
  EXPECT_STATUS(
      Post(kPods, R"({"metadata":{"name":"a"},"spec":{"containers":[{"name":"a","image":"i","resources":{"limits":{"cpu":"much"}}}]}})"),
      R"(
code: 400
message: 'Pod in version "v1" cannot be handled as a Pod: quantities must match the regular expression ''^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'''
reason: BadRequest
)");
}

TEST_P(BadInputContract, DeepNestingIsNoCrash) {
  std::string deep = R"({"apiVersion":"{w}.example.com/v1","kind":"Widget","metadata":{"name":"a"},"spec":{"size":"small","free":)";
  for (int i = 0; i < 20'000; ++i) deep += R"({"a":)";
  deep += "1";
  for (int i = 0; i < 20'000; ++i) deep += "}";
  deep += "}}";
  Answer refused = Post(kWidgets, deep);
  EXPECT_EQ(refused.code, 400);
  EXPECT_EQ(refused.body["reason"], Value("BadRequest"));
  EXPECT_CODE(Get(kMaps), 200);
}

TEST_P(BadInputContract, BodyBeyondThreeMebibytes) {
  const std::string large(3 * 1024 * 1024 + 1, ' ');
  Answer refused = Call({.method = "POST", .url = kMaps, .headers = kJson, .body = large});
  EXPECT_STATUS(refused, R"(
code: 413
message: 'Request entity too large: limit is 3145728'
reason: RequestEntityTooLarge
)");
  Answer patch =
      Call({.method = "PATCH", .url = kMaps + "/a", .headers = {{"Content-Type", "application/merge-patch+json"}}, .body = large});
  EXPECT_STATUS(patch, R"(
code: 413
message: 'Request entity too large: limit is 3145728'
reason: RequestEntityTooLarge
)");
}

TEST_P(BadInputContract, ObjectThatIsTooLarge) {
  Answer refused = Post(kMaps, R"({"metadata":{"name":"a"},"data":{"k":")" + std::string(1024 * 1024 + 1, 'x') + R"("}})");
  EXPECT_STATUS(refused, R"(
code: 422
details:
  causes:
  - field: '[]'
    message: 'Too long: may not be more than 1048576 bytes'
    reason: FieldValueTooLong
  kind: ConfigMap
  name: a
message: <of the causes>
reason: Invalid
)");
}

TEST_P(BadInputContract, PathTraversalLeadsNowhere) {
  EXPECT_CODE(Post("/api/v1/namespaces/{ns}/secrets", R"({"metadata":{"name":"a"}})"), 201);
  for (const char* path :
       {"/api/v1/namespaces/{ns}/../../../etc/passwd", "/api/v1/namespaces/{ns}/configmaps/../secrets", "/api/v1/./namespaces",
        "/api//v1/namespaces", "/api/v1/namespaces/{ns}/configmaps/..%2fsecrets%2fa", "/api/v1/namespaces/{ns}/configmaps/../secrets/a"}) {
    Answer got = Call({.url = path});
    EXPECT_EQ(got.code, 404) << path << " " << got.raw.body;
    EXPECT_EQ(got.body["reason"], Value("NotFound")) << path << " " << got.raw.body;
  }
  Answer outside = Call({.url = "/../../etc/passwd"});
  EXPECT_EQ(outside.code, 404);
  EXPECT_EQ(outside.raw.body, "404 page not found\n");
}

TEST_P(BadInputContract, NamesThatAreNoPathSegments) {
  EXPECT_STATUS(Post(kMaps, ConfigMapJson("a%2fb")), R"(
code: 422
details:
  causes:
  - field: metadata.name
    message: 'Invalid value: "a%2fb": <not a subdomain>'
    reason: FieldValueInvalid
  kind: ConfigMap
  name: a%2fb
message: <of the causes>
reason: Invalid
)");
  EXPECT_STATUS(Post(kMaps, ConfigMapJson("..")), R"(
code: 422
details:
  causes:
  - field: metadata.name
    message: 'Invalid value: "..": <not a subdomain>'
    reason: FieldValueInvalid
  kind: ConfigMap
  name: ..
message: <of the causes>
reason: Invalid
)");
  EXPECT_STATUS(Post(kMaps, ConfigMapJson("a/b")), R"(
code: 422
details:
  causes:
  - field: metadata.name
    message: 'Invalid value: "a/b": <not a subdomain>'
    reason: FieldValueInvalid
  kind: ConfigMap
  name: a/b
message: <of the causes>
reason: Invalid
)");
  EXPECT_STATUS(Put(kMaps + "/a%20b", ConfigMapJson("a b")), R"(
code: 404
details:
  kind: configmaps
  name: a b
message: configmaps "a b" not found
reason: NotFound
)");
}

TEST_P(BadInputContract, BrokenPercentEncoding) {
  EXPECT_EQ(Raw(server(), "GET /api/v1/%zz HTTP/1.1\r\nHost: x\r\n\r\n").StatusLine(), "HTTP/1.1 400");
}

TEST_P(BadInputContract, BytesThatAreNoHttp) {
  EXPECT_EQ(Raw(server(), "nonsense\r\n\r\n").StatusLine(), "HTTP/1.1 400");
  EXPECT_EQ(Raw(server(), "GET / HTTP/9.9\r\n\r\n").StatusLine(), "HTTP/1.1 505");
  EXPECT_EQ(Raw(server(), "GET / HTTP/1.1\r\n\r\n").StatusLine(), "HTTP/1.1 400");  // no Host
  EXPECT_EQ(Raw(server(), "GET / HTTP/1.1\r\nHost: x\r\nbroken header\r\n\r\n").StatusLine(), "HTTP/1.1 400");
  EXPECT_EQ(Raw(server(), "POST /api HTTP/1.1\r\nHost: x\r\nContent-Length: x\r\n\r\n").StatusLine(), "HTTP/1.1 400");
}

TEST_P(BadInputContract, HeadersBeyondOneMebibyte) {
  const RawAnswer answer = Raw(server(), "GET / HTTP/1.1\r\nHost: x\r\nX-Long: " + std::string(1100 * 1024, 'x') + "\r\n\r\n");
  EXPECT_EQ(answer.StatusLine(), "HTTP/1.1 431");
}

TEST_P(BadInputContract, UnknownMethods) {
  EXPECT_STATUS(Call({.method = "BREW", .url = kMaps}), R"(
code: 405
details: {}
message: the server does not allow this method on the requested resource
reason: MethodNotAllowed
)");
  EXPECT_STATUS(Call({.method = "OPTIONS", .url = kMaps}), R"(
code: 405
details: {}
message: the server does not allow this method on the requested resource
reason: MethodNotAllowed
)");
  EXPECT_STATUS(Call({.method = "PATCH", .url = kMaps, .headers = {{"Content-Type", "application/merge-patch+json"}}, .body = "{}"}), R"(
code: 405
details: {}
message: the server does not allow this method on the requested resource
reason: MethodNotAllowed
)");
}

TEST_P(BadInputContract, BadFieldManager) {
  EXPECT_STATUS(Post(kMaps + "?fieldManager=a%07b", ConfigMapJson("a")), R"(
code: 422
details:
  causes:
  - field: fieldManager
    message: 'Invalid value: "a\ab": invalid character U+0007 (at position 1)'
    reason: FieldValueInvalid
  group: meta.k8s.io
  kind: CreateOptions
message: <of the causes>
reason: Invalid
)");
}

TEST_P(BadInputContract, BooleansOfTheQueryAreTrueUnlessTheySayNo) {
  ns();
  for (const char* value : {"0", "false", "False"}) {
    EXPECT_EQ(Get(kMaps + "?watch=" + value).body["kind"], Value("ConfigMapList")) << value;
  }
  for (const char* value : {"", "1", "true", "maybe"}) {
    auto watch = Watch(kMaps + "?timeoutSeconds=1&watch=" + value);
    EXPECT_TRUE(watch->Ends()) << value;
  }
}

TEST_P(BadInputContract, ServerLivesOnAfterAnAbortedRequest) {
  for (int i = 0; i < 5; ++i) {
    Raw(server(),
        Expand("POST " + kMaps + " HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{\"half\":"),
        std::chrono::milliseconds(50));
  }
  EXPECT_CODE(Get(kMaps), 200);
}

TEST_P(BadInputContract, SlowClientIsCutOff) {
  const char* slow = getenv("KUBEXX_CONTRACT_SLOW");
  if (slow == nullptr || *slow == '\0') GTEST_SKIP() << "takes half a minute: make test-slow";
  // Headers that never end: the server hangs up by itself.
  const auto begin = std::chrono::steady_clock::now();
  Raw(server(), "GET /api HTTP/1.1\r\nHost: x\r\n", std::chrono::seconds(240));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(200));
}

// Alpha fields of 1.36 that its successor has under other names: known, and dropped while their feature is off.
TEST_P(BadInputContract, FieldsOfThisReleaseAloneAreKnown) {
  if (server().oldest()) GTEST_SKIP() << "fields of 1.36";
  EXPECT_CODE(Post(kPods, kPodA), 201);
  Answer pod = Patch(
      std::string(kPods) + "/a/status?fieldValidation=Strict", "merge",
      R"({"status":{"nodeAllocatableResourceClaimStatuses":[{"resourceClaimName":"c","containers":["web"],"resources":{"cpu":"1"}}]}})");
  EXPECT_CODE(pod, 200);
  EXPECT_TRUE(pod.body["status"]["nodeAllocatableResourceClaimStatuses"].is_null()) << pod.raw.body;
  const std::string slices = "/apis/resource.k8s.io/v1/resourceslices";
  Answer slice = Post(slices + "?fieldValidation=Strict", R"({"metadata":{"name":"{id}"},"spec":{"driver":"example.com","nodeName":"n",
      "pool":{"name":"p","generation":1,"resourceSliceCount":1},
      "devices":[{"name":"d","nodeAllocatableResourceMappings":{"cpu":{"allocationMultiplier":"2"}}}]}})");
  Cleanup(slices + "/{id}");
  EXPECT_CODE(slice, 201);
  EXPECT_VALUE(slice.body["spec"]["devices"], R"(
- name: d
)");
  // The strict decoder still knows what is no field at all.
  EXPECT_STATUS(Patch(std::string(kPods) + "/a/status?fieldValidation=Strict", "merge",
                      R"({"status":{"nodeAllocatableResourceClaimStatuses":[{"resourceClaimName":"c","nonsense":1}]}})"),
                R"(
code: 422
details:
  causes:
  - field: patch
    message: 'Invalid value: "<what the patch gives>": strict decoding error: unknown field "status.nodeAllocatableResourceClaimStatuses[0].nonsense"'
    reason: FieldValueInvalid
message: <of the causes>
reason: Invalid
)");
}

}  // namespace
}  // namespace kube::contract
