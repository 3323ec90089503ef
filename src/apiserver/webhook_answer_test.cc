#include "apiserver/webhook_answer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "apiserver/json_patch_words.h"
#include "apiserver/webhook_caller.h"
#include "kube/codec/json.h"

namespace kube::apiserver {
namespace {

using ::testing::ElementsAre;

std::string Review(const std::string& response) {
  return R"({"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":)" + response + "}";
}
std::string ProblemOf(const std::string& body, bool mutating = true, std::string_view version = "v1") {
  Result<AdmissionAnswer> answer = ReadAdmissionAnswer(body, version, "u", mutating);
  return answer ? "" : answer.error().message();
}
Value Parsed(std::string_view json) { return ParseJson(json).value(); }

TEST(WebhookAnswerTest, ReadsAllMembers) {
  Result<AdmissionAnswer> answer = ReadAdmissionAnswer(
      Review(R"({"uid":"u","allowed":true,"patch":"W10=","patchType":"JSONPatch","warnings":["a","b"],"auditAnnotations":{"k":"v"},)"
             R"("status":{"code":403,"message":"m"}})"),
      "v1", "u", true);
  ASSERT_TRUE(answer.ok()) << answer.error().ToString();
  EXPECT_TRUE(answer->allowed);
  EXPECT_EQ(answer->patch, "[]");
  EXPECT_EQ(answer->patch_type, "JSONPatch");
  EXPECT_THAT(answer->warnings, ElementsAre("a", "b"));
  EXPECT_EQ(std::as_const(answer->status)["code"], Value(403));
}

TEST(WebhookAnswerTest, AbsentMembersMeanNo) {
  Result<AdmissionAnswer> answer = ReadAdmissionAnswer(Review(R"({"uid":"u"})"), "v1", "u", false);
  ASSERT_TRUE(answer.ok());
  EXPECT_FALSE(answer->allowed);
  EXPECT_TRUE(answer->status.is_null());
}

TEST(WebhookAnswerTest, MembersOfOtherTypesAreNamed) {
  EXPECT_EQ(ProblemOf(Review(R"({"uid":"u","allowed":"yes"})")),
            "json: cannot unmarshal string into Go struct field AdmissionResponse.response.allowed of type bool");
  EXPECT_EQ(ProblemOf(Review(R"({"uid":7})")),
            "json: cannot unmarshal number into Go struct field AdmissionResponse.response.uid of type types.UID");
  EXPECT_EQ(ProblemOf(Review(R"({"uid":"u","warnings":[1]})")),
            "json: cannot unmarshal number into Go struct field AdmissionResponse.response.warnings of type string");
  EXPECT_EQ(ProblemOf(Review(R"({"uid":"u","auditAnnotations":{"a":[]}})")),
            "json: cannot unmarshal array into Go struct field AdmissionResponse.response.auditAnnotations of type string");
  EXPECT_NE(ProblemOf(Review(R"({"uid":"u","status":{"code":"x"}})")), "");
  EXPECT_NE(ProblemOf(Review("[]")), "");
}

TEST(WebhookAnswerTest, OldReviewsAreBelievedMore) {
  const std::string old =
      R"({"apiVersion":"admission.k8s.io/v1beta1","kind":"AdmissionReview","response":{"allowed":true,"patch":"W10="}})";
  EXPECT_EQ(ProblemOf(old, true, "v1beta1"), "");
  EXPECT_EQ(ReadAdmissionAnswer(old, "v1beta1", "u", true)->patch_type, "JSONPatch");
  EXPECT_EQ(ReadAdmissionAnswer(old, "v1beta1", "u", false)->patch, "");
  EXPECT_EQ(ProblemOf(old), "converting (v1beta1.AdmissionReview) to (v1.AdmissionReview): unknown conversion");
}

TEST(WebhookAnswerTest, ReviewsSayWhatTheyAre) {
  EXPECT_EQ(ProblemOf(R"({"apiVersion":"admission.k8s.io/v1","response":{"uid":"u"}})"),
            "expected webhook response of admission.k8s.io/v1, Kind=AdmissionReview, got admission.k8s.io/v1, Kind=");
  EXPECT_EQ(ProblemOf(R"({"kind":"AdmissionReview","response":{"uid":"u"}})"),
            "expected webhook response of admission.k8s.io/v1, Kind=AdmissionReview, got /, Kind=AdmissionReview");
  EXPECT_EQ(ProblemOf(R"({"apiVersion":"a","kind":"B"})"), "no kind \"B\" is registered for version \"a\" in scheme \"kubexx\"");
  EXPECT_EQ(ProblemOf(R"({"apiVersion":"a"})"), "no kind \"\" is registered for version \"a\" in scheme \"kubexx\"");
}

TEST(WebhookAnswerTest, FirstKnownReviewVersionCounts) {
  EXPECT_EQ(ReviewVersion({"v9", "v1beta1", "v1"}), "v1beta1");
  EXPECT_EQ(ReviewVersion({"v1"}), "v1");
  EXPECT_EQ(ReviewVersion({"v2"}), "");
}

TEST(WebhookAnswerTest, DenialHasACodeOfAnError) {
  for (const char* code : {"0", "200", "399", "600", "-1", "99999999999"}) {
    EXPECT_EQ(DenialOf("w", Parsed(std::string(R"({"code":)") + code + "}")).http_code(), 400) << code;
  }
  EXPECT_EQ(DenialOf("w", Parsed(R"({"code":503})")).http_code(), 503);
  EXPECT_EQ(DenialOf("w", Value()).message(), "admission webhook \"w\" denied the request without explanation");
}

TEST(WebhookAnswerTest, ConversionKeepsMetadata) {
  const Value original = Parsed(
      R"({"apiVersion":"g/v1","kind":"K","metadata":{"name":"a","uid":"u","generation":3,"labels":{"a":"b"},"annotations":{"x":"y"}}})");
  Result<Value> accepted = AcceptConverted(
      original, Parsed(R"({"apiVersion":"g/v2","kind":"K","metadata":{"name":"a","uid":"u","generation":9,"labels":{"c":"d"}},"spec":1})"),
      "g/v2");
  ASSERT_TRUE(accepted.ok()) << accepted.error().ToString();
  EXPECT_EQ(*accepted,
            Parsed(R"({"apiVersion":"g/v2","kind":"K","metadata":{"name":"a","uid":"u","generation":3,"labels":{"c":"d"}},"spec":1})"));
  for (const char* broken : {"[]", "{}", "7", R"({"apiVersion":"g/v2","kind":"K","metadata":[]})",
                             R"({"apiVersion":"g/v2","kind":"K","metadata":{"name":"a","uid":"u","labels":[]}})",
                             R"({"apiVersion":"g/v2","kind":"K","metadata":{"name":"a","uid":"u","annotations":{"a":{}}}})"}) {
    EXPECT_FALSE(AcceptConverted(original, Parsed(broken), "g/v2").ok()) << broken;
  }
}

TEST(WebhookAnswerTest, PatchFailuresAreWordedAsTheRealServerDoes) {
  const Value document = Parsed(R"({"a":{"b":1},"l":[1]})");
  const auto words = [&](std::string_view patch) {
    Result<Value> patched = ApplyServerPatch(document, Parsed(patch));
    return patched ? "fine" : patched.error().message();
  };
  EXPECT_EQ(words(R"([{"op":"remove","path":"/a/b"},{"op":"remove","path":"/a/b"}])"),
            "error in remove for path: '/a/b': Unable to remove nonexistent key: b: missing value");
  EXPECT_EQ(words(R"([{"op":"remove","path":"/x/b"}])"), "remove operation does not apply: doc is missing path: \"/x/b\": missing value");
  EXPECT_EQ(words(R"([{"op":"replace","path":"/x/y","value":1}])"),
            "replace operation does not apply: doc is missing path: /x/y: missing value");
  EXPECT_EQ(words(R"([{"op":"add","path":"/x/y","value":1}])"),
            "add operation does not apply: doc is missing path: \"/x/y\": missing value");
  EXPECT_EQ(words(R"([{"op":"test","path":"/a/b","value":2}])"), "testing value /a/b failed: test failed");
  EXPECT_EQ(words(R"([{"op":"copy","from":"/x","path":"/y"}])"), "path does not exist");
  EXPECT_EQ(words(R"([{"op":"replace","path":"/l/7","value":1}])"), "index 7 is beyond the end of the list");
  EXPECT_EQ(words(R"([{"path":"/y"}])"), "Unexpected kind: ");
}

TEST(WebhookAnswerTest, ReplaceAddsMembers) {
  const Value document = Parsed(R"({"a":{"b":1}})");
  EXPECT_EQ(ApplyServerPatch(document, Parsed(R"([{"op":"replace","path":"/a/c~1d","value":2},{"op":"remove","path":"/a/b"},)"
                                              R"({"op":"replace","path":"/e","value":{"f":3}},{"op":"replace","path":"/e/f","value":4}])"))
                .value(),
            Parsed(R"({"a":{"c/d":2},"e":{"f":4}})"));
}

TEST(WebhookAnswerTest, PatchesThatGrowAreStopped) {
  // A megabyte, copied a thousand times.
  const Value document = Value::Object({{"a", std::string(1 << 20, 'x')}});
  Value patch = Value::Array();
  for (int i = 0; i < 1000; ++i)
    patch.MutableList().push_back(Value::Object({{"op", "copy"}, {"from", "/a"}, {"path", "/b" + std::to_string(i)}}));
  EXPECT_FALSE(ApplyServerPatch(document, patch).ok());
}

TEST(WebhookCallerTest, FailuresAreWordedByCode) {
  EXPECT_EQ(DescribeHttpFailure(500, "text/plain", "oh\n"), "an error on the server (\"oh\") has prevented the request from succeeding");
  EXPECT_EQ(DescribeHttpFailure(302, "", ""), "the server responded with the status code 302 but did not return more information");
  EXPECT_EQ(DescribeHttpFailure(500, "application/json", R"({"kind":"Status","status":"Failure","message":"inner"})"), "inner");
}

}  // namespace
}  // namespace kube::apiserver
