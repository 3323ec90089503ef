// Admission webhooks that fail, warn, or are asked about a dry run.
#include "hook_server.h"
#include "texts.h"

namespace kube::contract {
namespace {

class WebhookFailuresContract : public HookTest {
 protected:
  static Value Labels(const std::string& key, const std::string& value) {
    return Value::Object({{"matchLabels", Value::Object({{key, value}})}});
  }
};
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(WebhookFailuresContract);
INSTANTIATE_TEST_SUITE_P(Servers, WebhookFailuresContract, ::testing::ValuesIn(ServersToTest()), TestParamName);

const std::string kMaps = kConfigMaps;

// ---- Failures ----

TEST_P(WebhookFailuresContract, FailsClosedOrOpenWhereNothingListens) {
  Value closed = Entry("closed", "/x"), open = Entry("open", "/x");
  closed["clientConfig"]["url"] = open["clientConfig"]["url"] = "https://127.0.0.1:1/x";
  closed["objectSelector"] = Labels("policy", "Fail");
  open["objectSelector"] = Labels("policy", "Ignore");
  open["failurePolicy"] = "Ignore";
  InstallValidating({closed, open});
  InstallMutating({closed, open});
  EXPECT_STATUS(Post(kMaps, ConfigMapJson("a", R"({"policy":"Fail"})")), R"(
code: 500
details:
  causes:
  - message: 'failed calling webhook "closed.{id}.example.com": failed to call webhook: Post "https://127.0.0.1:1/x?timeout=10s": dial tcp 127.0.0.1:1: connect: connection refused'
message: 'Internal error occurred: failed calling webhook "closed.{id}.example.com": failed to call webhook: Post "https://127.0.0.1:1/x?timeout=10s": dial tcp 127.0.0.1:1: connect: connection refused'
reason: InternalError
)");
  EXPECT_CODE(Post(kMaps, ConfigMapJson("a", R"({"policy":"Ignore"})")), 201);
}

TEST_P(WebhookFailuresContract, TimesOut) {
  On("/hangs", [](const Value&) { return HookAnswer{.body = "", .hangs = true}; });
  Value closed = Entry("closed", "/hangs"), open = Entry("open", "/hangs");
  closed["timeoutSeconds"] = open["timeoutSeconds"] = 1;
  closed["objectSelector"] = Labels("policy", "Fail");
  open["objectSelector"] = Labels("policy", "Ignore");
  open["failurePolicy"] = "Ignore";
  InstallValidating({closed, open});
  EXPECT_STATUS(Plain(Post(kMaps, ConfigMapJson("a", R"({"policy":"Fail"})"))), R"(
code: 500
details:
  causes:
  - message: 'failed calling webhook "closed.{id}.example.com": failed to call webhook: Post "https://HOOKS/{id}/hangs?timeout=1s": context deadline exceeded'
message: 'Internal error occurred: failed calling webhook "closed.{id}.example.com": failed to call webhook: Post "https://HOOKS/{id}/hangs?timeout=1s": context deadline exceeded'
reason: InternalError
)");
  EXPECT_CODE(Post(kMaps, ConfigMapJson("a", R"({"policy":"Ignore"})")), 201);
}

TEST_P(WebhookFailuresContract, ChecksTheCertificate) {
  On("/v", Allow);
  Value other = Entry("other", "/v"), none = Entry("none", "/v"), broken = Entry("broken", "/v");
  other["clientConfig"]["caBundle"] = hooks().OtherCaBundle();
  none["clientConfig"].MutableObject().Erase("caBundle");
  broken["clientConfig"]["caBundle"] = "eA==";
  other["objectSelector"] = Labels("ca", "other");
  none["objectSelector"] = Labels("ca", "none");
  broken["objectSelector"] = Labels("ca", "broken");
  InstallValidating({other, none, broken});
  EXPECT_STATUS(Plain(Post(kMaps, ConfigMapJson("a", R"({"ca":"other"})"))), R"(
code: 500
details:
  causes:
  - message: 'failed calling webhook "other.{id}.example.com": failed to call webhook: Post "https://HOOKS/{id}/v?timeout=10s": tls: failed to verify certificate: x509: certificate signed by unknown authority'
message: 'Internal error occurred: failed calling webhook "other.{id}.example.com": failed to call webhook: Post "https://HOOKS/{id}/v?timeout=10s": tls: failed to verify certificate: x509: certificate signed by unknown authority'
reason: InternalError
)");
  EXPECT_STATUS(Plain(Post(kMaps, ConfigMapJson("a", R"({"ca":"none"})"))), R"(
code: 500
details:
  causes:
  - message: 'failed calling webhook "none.{id}.example.com": failed to call webhook: Post "https://HOOKS/{id}/v?timeout=10s": tls: failed to verify certificate: x509: certificate signed by unknown authority'
message: 'Internal error occurred: failed calling webhook "none.{id}.example.com": failed to call webhook: Post "https://HOOKS/{id}/v?timeout=10s": tls: failed to verify certificate: x509: certificate signed by unknown authority'
reason: InternalError
)");
  EXPECT_STATUS(Plain(Post(kMaps, ConfigMapJson("a", R"({"ca":"broken"})"))), R"(
code: 500
details:
  causes:
  - message: 'failed calling webhook "broken.{id}.example.com": could not get REST client: unable to load root certificates: unable to parse bytes as PEM block'
message: 'Internal error occurred: failed calling webhook "broken.{id}.example.com": could not get REST client: unable to load root certificates: unable to parse bytes as PEM block'
reason: InternalError
)");
  EXPECT_EQ(ReviewsOf("/v").size(), 0u);
}

TEST_P(WebhookFailuresContract, ServiceThatIsNotThere) {
  Value entry = Entry("service", "/v");
  entry["clientConfig"].MutableObject().Erase("url");
  entry["clientConfig"]["service"] = Value::Object({{"name", "nothing"}, {"namespace", ns()}, {"path", "/check"}, {"port", 8443}});
  InstallMutating({entry});
  EXPECT_STATUS(Post(kMaps, kConfigMapA), R"(
code: 500
details:
  causes:
  - message: 'failed calling webhook "service.{id}.example.com": failed to call webhook: Post "https://nothing.{ns}.svc:8443/check?timeout=10s": service "nothing" not found'
message: 'Internal error occurred: failed calling webhook "service.{id}.example.com": failed to call webhook: Post "https://nothing.{ns}.svc:8443/check?timeout=10s": service "nothing" not found'
reason: InternalError
)");
}

TEST_P(WebhookFailuresContract, AnswersThatAreNone) {
  const std::map<std::string, HookServer::Script> answers = {
      {"uid",
       [](const Value&) {
         return HookAnswer{
             .body = R"({"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":{"uid":"other","allowed":true}})"};
       }},
      {"absent", [](const Value&) { return HookAnswer{.body = R"({"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview"})"}; }},
      {"no-kind",
       [](const Value& r) {
         return HookAnswer{.body = R"({"response":{"allowed":true,"uid":")" + r["request"]["uid"].string_value().str() + "\"}}"};
       }},
      {"old",
       [](const Value&) {
         return HookAnswer{.body = R"({"apiVersion":"admission.k8s.io/v1beta1","kind":"AdmissionReview","response":{"allowed":true}})"};
       }},
      {"other-kind", [](const Value&) { return HookAnswer{.body = R"({"apiVersion":"admission.k8s.io/v1","kind":"Other"})"}; }},
      {"status",
       [](const Value&) { return HookAnswer{.body = R"({"apiVersion":"v1","kind":"Status","status":"Failure","message":"inner"})"}; }},
      {"garbage", [](const Value&) { return HookAnswer{.body = "garbage"}; }},
      {"list", [](const Value&) { return HookAnswer{.body = "[]"}; }},
      {"nothing", [](const Value&) { return HookAnswer{.body = ""}; }},
      {"text", [](const Value& r) { return Respond(r, "{allowed: 'yes'}"); }}};
  std::vector<Value> entries;
  for (const auto& [what, script] : answers) {
    On("/" + what, script);
    Value entry = Entry(what, "/" + what);
    entry["objectSelector"] = Labels("answer", what);
    entries.push_back(std::move(entry));
  }
  InstallValidating(entries);
  EXPECT_STATUS(Post(kMaps, ConfigMapJson("a", R"({"answer":"uid"})")), R"(
code: 500
details:
  causes:
  - message: 'failed calling webhook "uid.{id}.example.com": received invalid webhook response: expected response.uid="UID", got "other"'
message: 'Internal error occurred: failed calling webhook "uid.{id}.example.com": received invalid webhook response: expected response.uid="UID", got "other"'
reason: InternalError
)");
  EXPECT_STATUS(Post(kMaps, ConfigMapJson("a", R"({"answer":"absent"})")), R"(
code: 500
details:
  causes:
  - message: 'failed calling webhook "absent.{id}.example.com": received invalid webhook response: webhook response was absent'
message: 'Internal error occurred: failed calling webhook "absent.{id}.example.com": received invalid webhook response: webhook response was absent'
reason: InternalError
)");
  EXPECT_STATUS(Post(kMaps, ConfigMapJson("a", R"({"answer":"no-kind"})")), R"(
code: 500
details:
  causes:
  - message: 'failed calling webhook "no-kind.{id}.example.com": received invalid webhook response: expected webhook response of admission.k8s.io/v1, Kind=AdmissionReview, got /, Kind='
message: 'Internal error occurred: failed calling webhook "no-kind.{id}.example.com": received invalid webhook response: expected webhook response of admission.k8s.io/v1, Kind=AdmissionReview, got /, Kind='
reason: InternalError
)");
  EXPECT_STATUS(Post(kMaps, ConfigMapJson("a", R"({"answer":"old"})")), R"(
code: 500
details:
  causes:
  - message: 'failed calling webhook "old.{id}.example.com": failed to call webhook: converting (v1beta1.AdmissionReview) to (v1.AdmissionReview): unknown conversion'
message: 'Internal error occurred: failed calling webhook "old.{id}.example.com": failed to call webhook: converting (v1beta1.AdmissionReview) to (v1.AdmissionReview): unknown conversion'
reason: InternalError
)");
  EXPECT_STATUS(Post(kMaps, ConfigMapJson("a", R"({"answer":"other-kind"})")), R"(
code: 500
details:
  causes:
  - message: 'failed calling webhook "other-kind.{id}.example.com": failed to call webhook: no kind "Other" is registered for version "admission.k8s.io/v1" in scheme SCHEME'
message: 'Internal error occurred: failed calling webhook "other-kind.{id}.example.com": failed to call webhook: no kind "Other" is registered for version "admission.k8s.io/v1" in scheme SCHEME'
reason: InternalError
)");
  EXPECT_STATUS(Post(kMaps, ConfigMapJson("a", R"({"answer":"status"})")), R"(
code: 500
details:
  causes:
  - message: 'failed calling webhook "status.{id}.example.com": failed to call webhook: converting (v1.Status) to (v1.AdmissionReview): unknown conversion'
message: 'Internal error occurred: failed calling webhook "status.{id}.example.com": failed to call webhook: converting (v1.Status) to (v1.AdmissionReview): unknown conversion'
reason: InternalError
)");
  EXPECT_STATUS(Post(kMaps, ConfigMapJson("a", R"({"answer":"garbage"})")), R"(
code: 500
details:
  causes:
  - message: 'failed calling webhook "garbage.{id}.example.com": failed to call webhook: couldn''t get version/kind; json parse error: json: cannot unmarshal string into Go value of type struct { APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" }'
message: 'Internal error occurred: failed calling webhook "garbage.{id}.example.com": failed to call webhook: couldn''t get version/kind; json parse error: json: cannot unmarshal string into Go value of type struct { APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" }'
reason: InternalError
)");
  EXPECT_STATUS(Post(kMaps, ConfigMapJson("a", R"({"answer":"list"})")), R"(
code: 500
details:
  causes:
  - message: 'failed calling webhook "list.{id}.example.com": failed to call webhook: couldn''t get version/kind; json parse error: json: cannot unmarshal array into Go value of type struct { APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" }'
message: 'Internal error occurred: failed calling webhook "list.{id}.example.com": failed to call webhook: couldn''t get version/kind; json parse error: json: cannot unmarshal array into Go value of type struct { APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" }'
reason: InternalError
)");
  EXPECT_STATUS(Post(kMaps, ConfigMapJson("a", R"({"answer":"nothing"})")), R"(
code: 500
details:
  causes:
  - message: 'failed calling webhook "nothing.{id}.example.com": failed to call webhook: 0-length response with status code: 200 and content type: application/json'
message: 'Internal error occurred: failed calling webhook "nothing.{id}.example.com": failed to call webhook: 0-length response with status code: 200 and content type: application/json'
reason: InternalError
)");
  EXPECT_STATUS(Post(kMaps, ConfigMapJson("a", R"({"answer":"text"})")), R"(
code: 500
details:
  causes:
  - message: 'failed calling webhook "text.{id}.example.com": failed to call webhook: json: cannot unmarshal string into Go struct field AdmissionResponse.response.allowed of type bool'
message: 'Internal error occurred: failed calling webhook "text.{id}.example.com": failed to call webhook: json: cannot unmarshal string into Go struct field AdmissionResponse.response.allowed of type bool'
reason: InternalError
)");
}

TEST_P(WebhookFailuresContract, AnswersWithOtherCodes) {
  const std::map<std::string, HookAnswer> answers = {
      {"500", {.status = 500, .content_type = "text/plain", .body = "oh no\n"}},
      {"503", {.status = 503, .content_type = "text/plain", .body = ""}},
      {"400", {.status = 400, .content_type = "text/plain", .body = "bad"}},
      {"403", {.status = 403, .content_type = "text/plain", .body = "not you"}},
      {"429", {.status = 429, .content_type = "text/plain", .body = ""}},
      {"json",
       {.status = 500,
        .body = R"({"apiVersion":"v1","kind":"Status","status":"Failure","message":"inner","code":418,"reason":"Teapot"})"}}};
  std::vector<Value> entries;
  for (const auto& [what, answer] : answers) {
    On("/" + what, [answer = answer](const Value&) { return answer; });
    Value entry = Entry("x" + what, "/" + what);
    entry["objectSelector"] = Labels("answer", "x" + what);
    entries.push_back(std::move(entry));
  }
  Value nowhere = Entry("nowhere", "/nowhere");
  nowhere["objectSelector"] = Labels("answer", "nowhere");
  entries.push_back(nowhere);
  InstallValidating(entries);
  EXPECT_STATUS(Post(kMaps, ConfigMapJson("a", R"({"answer":"x500"})")), R"(
code: 500
details:
  causes:
  - message: 'failed calling webhook "x500.{id}.example.com": failed to call webhook: an error on the server ("oh no") has prevented the request from succeeding'
message: 'Internal error occurred: failed calling webhook "x500.{id}.example.com": failed to call webhook: an error on the server ("oh no") has prevented the request from succeeding'
reason: InternalError
)");
  EXPECT_STATUS(Post(kMaps, ConfigMapJson("a", R"({"answer":"x503"})")), R"(
code: 500
details:
  causes:
  - message: 'failed calling webhook "x503.{id}.example.com": failed to call webhook: the server is currently unable to handle the request'
message: 'Internal error occurred: failed calling webhook "x503.{id}.example.com": failed to call webhook: the server is currently unable to handle the request'
reason: InternalError
)");
  EXPECT_STATUS(Post(kMaps, ConfigMapJson("a", R"({"answer":"x400"})")), R"(
code: 500
details:
  causes:
  - message: 'failed calling webhook "x400.{id}.example.com": failed to call webhook: the server rejected our request for an unknown reason'
message: 'Internal error occurred: failed calling webhook "x400.{id}.example.com": failed to call webhook: the server rejected our request for an unknown reason'
reason: InternalError
)");
  EXPECT_STATUS(Post(kMaps, ConfigMapJson("a", R"({"answer":"x403"})")), R"(
code: 500
details:
  causes:
  - message: 'failed calling webhook "x403.{id}.example.com": failed to call webhook: not you'
message: 'Internal error occurred: failed calling webhook "x403.{id}.example.com": failed to call webhook: not you'
reason: InternalError
)");
  EXPECT_STATUS(Post(kMaps, ConfigMapJson("a", R"({"answer":"x429"})")), R"(
code: 500
details:
  causes:
  - message: 'failed calling webhook "x429.{id}.example.com": failed to call webhook: the server has received too many requests and has asked us to try again later'
message: 'Internal error occurred: failed calling webhook "x429.{id}.example.com": failed to call webhook: the server has received too many requests and has asked us to try again later'
reason: InternalError
)");
  EXPECT_STATUS(Post(kMaps, ConfigMapJson("a", R"({"answer":"xjson"})")), R"(
code: 500
details:
  causes:
  - message: 'failed calling webhook "xjson.{id}.example.com": failed to call webhook: inner'
message: 'Internal error occurred: failed calling webhook "xjson.{id}.example.com": failed to call webhook: inner'
reason: InternalError
)");
  EXPECT_STATUS(Post(kMaps, ConfigMapJson("a", R"({"answer":"nowhere"})")), R"(
code: 500
details:
  causes:
  - message: 'failed calling webhook "nowhere.{id}.example.com": failed to call webhook: the server could not find the requested resource'
message: 'Internal error occurred: failed calling webhook "nowhere.{id}.example.com": failed to call webhook: the server could not find the requested resource'
reason: InternalError
)");
}

TEST_P(WebhookFailuresContract, AnotherContentTypeIsFine) {
  On("/v", [](const Value& r) {
    HookAnswer answer = Respond(r, "{allowed: true, auditAnnotations: {key: value}}");
    answer.content_type = "text/plain";
    answer.status = 201;
    return answer;
  });
  InstallValidating({Entry("v", "/v")});
  EXPECT_CODE(Post(kMaps, kConfigMapA), 201);
}

// ---- Warnings and dry run ----

TEST_P(WebhookFailuresContract, WarningsReachTheClient) {
  On("/m", [](const Value& r) { return Respond(r, R"({allowed: true, warnings: [one, two, one, "with\nline", ""]})"); });
  On("/v", [](const Value& r) { return Respond(r, "{allowed: true, warnings: [two, three]}"); });
  InstallMutating({Entry("m", "/m")});
  InstallValidating({Entry("v", "/v")});
  EXPECT_EQ(Post(kMaps, kConfigMapA).Warnings(), (std::vector<std::string>{"one", "two", "three"}));
}

TEST_P(WebhookFailuresContract, WarningsGoWithADenial) {
  On("/v", [](const Value& r) { return Respond(r, "{allowed: false, warnings: [beware]}"); });
  InstallValidating({Entry("v", "/v")});
  Answer denied = Post(kMaps, kConfigMapA);
  EXPECT_CODE(denied, 400);
  EXPECT_EQ(denied.Warnings(), (std::vector<std::string>{"beware"}));
}

TEST_P(WebhookFailuresContract, LongWarningsAreCut) {
  const std::string one(300, 'a'), two(4000, 'b');
  On("/v", [&](const Value& r) { return Respond(r, "{allowed: true, warnings: [" + one + ", " + two + ", short]}"); });
  InstallValidating({Entry("v", "/v")});
  EXPECT_EQ(Post(kMaps, kConfigMapA).Warnings(), (std::vector<std::string>{one.substr(0, 256), two.substr(0, 256), "short"}));
}

TEST_P(WebhookFailuresContract, DryRunIsAskedAsSuch) {
  On("/m", [](const Value& r) { return PatchWith(r, "[{op: add, path: /data/added, value: x}]"); });
  Value m = Entry("m", "/m");
  m["sideEffects"] = "NoneOnDryRun";
  InstallMutating({m});
  EXPECT_EQ(Post(kMaps + "?dryRun=All", kConfigMapA).body["data"]["added"], Value("x"));
  ASSERT_EQ(ReviewsOf("/m").size(), 1u);
  EXPECT_EQ(ReviewsOf("/m")[0]["request"]["dryRun"], Value(true));
  EXPECT_CODE(Get(kMaps + "/a"), 404);
}

}  // namespace
}  // namespace kube::contract
