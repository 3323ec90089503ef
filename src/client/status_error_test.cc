#include "kube/client/status_error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "kube/codec/json.h"
#include "kube/codec/protobuf.h"
#include "kube/transport/http.h"

namespace kube {
namespace {

using meta::v1::Status;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr char kPod[] = "/api/v1/namespaces/default/pods/web";

HttpResponse Answer(int code, std::string body = "", std::string type = "", HttpHeaders headers = {}) {
  HttpResponse response;
  response.code = code;
  response.body = std::move(body);
  response.headers = std::move(headers);
  if (!type.empty()) response.headers.Add("Content-Type", std::move(type));
  return response;
}

Error From(const HttpResponse& response, std::string method = "GET", std::string target = kPod) {
  return ErrorFromResponse(response, {.method = std::move(method), .target = std::move(target)});
}

TEST(Contract9Errors, AStatusInTheBodyIsTheError) {
  const Error e =
      From(Answer(404, R"({"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"pods \"web\" not found",
    "reason":"NotFound","details":{"name":"web","group":"","kind":"pods","causes":[{"reason":"R","message":"M","field":"f"}],
    "retryAfterSeconds":7},"code":404})",
                  "application/json"));
  EXPECT_EQ(e.kind(), ErrorKind::kApi);
  EXPECT_TRUE(IsNotFound(e));
  EXPECT_EQ(e.http_code(), 404);
  EXPECT_EQ(e.message(), "pods \"web\" not found");
  EXPECT_EQ(e.payload().name, "web");
  EXPECT_EQ(e.payload().resource_kind, "pods");
  EXPECT_EQ(e.retry_after_seconds(), 7);
  ASSERT_THAT(e.causes(), SizeIs(1));
  EXPECT_EQ(e.causes()[0].reason, "R");
  EXPECT_EQ(e.causes()[0].message, "M");
  EXPECT_EQ(e.causes()[0].field, "f");
}

TEST(Contract9Errors, AStatusInProtobufIsTheError) {
  Status status;
  status.status = "Failure";
  status.reason = "Forbidden";
  status.message = "no";
  status.code = 403;
  const Error e = From(Answer(403, ToProtobuf(status).value(), "application/vnd.kubernetes.protobuf"));
  EXPECT_TRUE(IsForbidden(e));
  EXPECT_EQ(e.message(), "no");
  EXPECT_THAT(e.causes(), IsEmpty());
}

// TestTransformUnstructuredError: what of the body counts
TEST(Contract9Errors, OnlyAStatusOfFailureReplacesTheCode) {
  struct Row {
    std::string body;
    int code;
  };
  const std::vector<Row> rows = {
      {R"({"kind":"Status","apiVersion":"v1","status":"Failure","code":404})", 404},
      {R"({"kind":"Status","status":"Failure","code":404})", 404},
      {R"(  {"kind":"Status","apiVersion":"meta.k8s.io/v1","status":"Failure","code":404})", 404},
      {R"({"kind":"Status","apiVersion":"v1","status":"Success","code":404})", 400},
      {R"({"status":"Failure","code":404})", 400},
      {R"({"kind":"Pod","apiVersion":"v1","status":{}})", 400},
      {R"({})", 400},
      {R"({"kind":"Status","apiVersion":"v1","status":"Failure","code":)", 400},
      {"", 400},
      {"k8s", 400},
      {std::string("k8s\0\xff\xff", 6), 400},
  };
  for (const Row& row : rows) {
    for (const char* type : {"application/json", ""}) {
      const Error e = From(Answer(400, row.body, type));
      EXPECT_EQ(e.http_code(), row.code) << row.body;
      EXPECT_EQ(IsBadRequest(e), row.code == 400) << row.body;
    }
  }
}

TEST(Contract9Errors, AStatusWithoutACodeHasThatOfTheAnswer) {
  const Error e = From(Answer(404, R"({"kind":"Status","status":"Failure"})"));
  EXPECT_EQ(e.http_code(), 404);
  EXPECT_TRUE(IsNotFound(e));
}

// TestTransformUnstructuredError: code x verb
TEST(Contract9Errors, WithoutAStatusTheCodeAndTheVerbDecide) {
  struct Row {
    int code;
    std::string method;
    std::function<bool(const Error&)> is;
    std::string message;
  };
  const std::vector<Row> rows = {
      {400, "GET", IsBadRequest, "the server rejected our request for an unknown reason (get pods web)"},
      {401, "GET", IsUnauthorized, "the server has asked for the client to provide credentials (get pods web)"},
      {403, "GET", IsForbidden, "text (get pods web)"},
      {404, "GET", IsNotFound, "the server could not find the requested resource (get pods web)"},
      {404, "DELETE", IsNotFound, "the server could not find the requested resource (delete pods web)"},
      {405, "PATCH", IsMethodNotSupported, "the server does not allow this method on the requested resource (patch pods web)"},
      {406, "GET", IsNotAcceptable, "text (get pods web)"},
      {409, "POST", IsAlreadyExists, "the server reported a conflict (post pods web)"},
      {409, "PUT", IsConflict, "the server reported a conflict (put pods web)"},
      {409, "DELETE", IsConflict, "the server reported a conflict (delete pods web)"},
      {410, "GET", IsGone, "the server responded with the status code 410 but did not return more information (get pods web)"},
      {413, "POST", IsRequestEntityTooLarge,
       "the server responded with the status code 413 but did not return more information (post pods web)"},
      {415, "POST", IsUnsupportedMediaType, "text (post pods web)"},
      {422, "POST", IsInvalid, "the server rejected our request due to an error in our request (post pods web)"},
      {429, "GET", IsTooManyRequests, "the server has received too many requests and has asked us to try again later (get pods web)"},
      {500, "GET", IsInternalError, "an error on the server (\"text\") has prevented the request from succeeding (get pods web)"},
      {502, "GET", IsInternalError, "an error on the server (\"text\") has prevented the request from succeeding (get pods web)"},
      {503, "GET", IsServiceUnavailable, "the server is currently unable to handle the request (get pods web)"},
      {504, "GET", IsTimeout,
       "the server was unable to return a response in the time allotted, but may still be processing the request (get pods web)"},
  };
  for (const Row& row : rows) {
    const Error e = From(Answer(row.code, " text\n", "text/plain; charset=utf-8"), row.method);
    EXPECT_EQ(e.kind(), ErrorKind::kApi);
    EXPECT_EQ(e.http_code(), row.code);
    EXPECT_TRUE(row.is(e)) << row.code << " " << row.method << " " << e.reason();
    EXPECT_EQ(e.message(), row.message) << row.code;
    ASSERT_THAT(e.causes(), SizeIs(1));
    EXPECT_EQ(e.causes()[0].reason, "UnexpectedServerResponse");
    EXPECT_EQ(e.causes()[0].message, "text");
    EXPECT_EQ(e.payload().resource_kind, "pods");
    EXPECT_EQ(e.payload().name, "web");
  }
}

TEST(Contract9Errors, PathsSayWhatTheErrorIsAbout) {
  struct Row {
    std::string target, what;
  };
  const std::vector<Row> rows = {
      {"/api/v1/namespaces/default/pods/web/status?x=y", " (get pods web)"},
      {"/api/v1/namespaces/default/pods?limit=1", " (get pods)"},
      {"/api/v1/nodes/one", " (get nodes one)"},
      {"/api/v1/namespaces", " (get namespaces)"},
      {"/api/v1/namespaces/default", " (get namespaces default)"},
      {"/api/v1/namespaces/default/finalize", " (get namespaces default)"},
      {"/apis/apps/v1/namespaces/default/deployments/web", " (get deployments.apps web)"},
      {"/apis/rbac.authorization.k8s.io/v1/clusterroles/system%3Anode", " (get clusterroles.rbac.authorization.k8s.io system:node)"},
      {"/apis/apps/v1", ""},
      {"/api", ""},
      {"/healthz", ""},
      {"/", ""},
      {"", ""},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(From(Answer(404), "GET", row.target).message(), "the server could not find the requested resource" + row.what) << row.target;
  }
}

TEST(Contract9Errors, TextBodiesAreCutAt2048Bytes) {
  const Error e = From(Answer(403, std::string(5000, 'x'), "text/plain"), "GET", "/healthz");
  EXPECT_EQ(e.message(), std::string(2048, 'x'));
  EXPECT_EQ(e.causes()[0].message.size(), 2048U);
}

TEST(Contract9Errors, NoCharacterIsCutInTwo) {
  const Error e = From(Answer(403, std::string(2047, 'x') + "\xE2\x82\xAC", "text/plain"), "GET", "/healthz");
  EXPECT_EQ(e.message(), std::string(2047, 'x'));
}

TEST(Contract9Errors, ABodyThatIsNoTextIsNotShown) {
  for (const char* type : {"application/json", "application/octet-stream", "image/png"}) {
    const Error e = From(Answer(500, "sesame", type), "GET", "/healthz");
    EXPECT_EQ(e.message(), "an error on the server (\"unknown\") has prevented the request from succeeding");
    EXPECT_EQ(e.causes()[0].message, "unknown");
  }
  EXPECT_EQ(From(Answer(406, "", "application/json"), "GET", "/healthz").message(),
            "the server was unable to respond with a content type that the client supports");
}

TEST(Contract9Errors, AnHtmlPageIsQuoted) {
  const Error e = From(Answer(502, "<html>\n<h1>\"Bad\" gateway</h1>\n</html>", "Text/HTML; charset=utf-8"), "GET", "/healthz");
  EXPECT_TRUE(IsInternalError(e));
  EXPECT_EQ(e.message(),
            R"(an error on the server ("<html>\n<h1>\"Bad\" gateway</h1>\n</html>") has prevented the request from succeeding)");
}

TEST(Contract9Errors, RetryAfterComesFromTheHeader) {
  EXPECT_EQ(From(Answer(429, "", "", {{"Retry-After", "12"}})).retry_after_seconds(), 12);
  EXPECT_EQ(SuggestsClientDelay(From(Answer(503, "", "", {{"retry-after", "3"}}))), 3);
  EXPECT_FALSE(From(Answer(429, "", "", {{"Retry-After", "Wed, 21 Oct 2015 07:28:00 GMT"}})).retry_after_seconds());
  EXPECT_FALSE(From(Answer(429)).retry_after_seconds());
}

TEST(Contract9Errors, AStatusesOwnDelayWinsOverTheHeader) {
  const std::string body = R"({"kind":"Status","status":"Failure","code":429,"details":{"retryAfterSeconds":5}})";
  EXPECT_EQ(From(Answer(429, body, "", {{"Retry-After", "12"}})).retry_after_seconds(), 5);
}

TEST(StatusErrorTest, AStatusSurvivesTheWayThereAndBack) {
  const Status status =
      FromJson<Status>(R"({"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"m","reason":"Invalid",
      "details":{"name":"web","group":"apps","kind":"Deployment","causes":[{"reason":"R","message":"M","field":"f"},{"message":"N"}],
      "retryAfterSeconds":1},"code":422})")
          .value();
  EXPECT_EQ(ErrorToStatus(StatusToError(status)), status);
  const Status small = FromJson<Status>(R"({"status":"Failure","code":500})").value();
  EXPECT_EQ(ErrorToStatus(StatusToError(small)), small);
}

TEST(StatusErrorTest, OtherErrorsBecomeInternalErrors) {
  const Status status = ErrorToStatus(Error(ErrorKind::kTransport, "reset").WithContext("get pods"));
  EXPECT_EQ(status.code, 500);
  EXPECT_EQ(status.reason, "InternalError");
  EXPECT_EQ(status.status, "Failure");
  EXPECT_THAT(status.message.str(), HasSubstr("get pods: reset"));
}

}  // namespace
}  // namespace kube
