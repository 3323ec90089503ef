// Reviews: the server fills in their status, whatever the client sent as one.
#include "contract.h"
#include "texts.h"

namespace kube::contract {
namespace {

CONTRACT_SUITE(ReviewContract);

constexpr const char* kTokenReviews = "/apis/authentication.k8s.io/v1/tokenreviews";

TEST_P(ReviewContract, StatusOfATokenReviewIsTheServers) {
  EXPECT_BODY(Post(kTokenReviews, R"({"metadata":{"name":"mine","labels":{"a":"b"}},"spec":{"token":"nonsense"},
      "status":{"authenticated":true,"user":{"username":"root","groups":["system:masters"]},"audiences":["x"],"error":"none"}})"),
              201, R"(
apiVersion: authentication.k8s.io/v1
kind: TokenReview
metadata:
  labels:
    a: b
  name: mine
spec:
  token: nonsense
status:
  audiences:
  - x
  error: invalid bearer token
  user:
    groups:
    - system:masters
    username: root
)");
}

TEST_P(ReviewContract, StatusOfASelfReviewIsTheServers) {
  if (server().oldest()) GTEST_SKIP() << "1.26 has no SelfSubjectReview";
  Result<HttpIdentity> jane = server().user("jane", {"system:masters"});
  ASSERT_TRUE(jane) << jane.error().ToString();
  Answer review = CallAs(*jane, {.method = "POST",
                                 .url = "/apis/authentication.k8s.io/v1/selfsubjectreviews",
                                 .headers = {{"Content-Type", "application/json"}},
                                 .body = R"({"metadata":{"name":"mine","labels":{"a":"b"}},
                                     "status":{"userInfo":{"username":"root","uid":"0","groups":["wheel"],"extra":{"a":["b"]}}}})"});
  EXPECT_CODE(review, 201);
  EXPECT_VALUE(review.body["metadata"], R"(
creationTimestamp: TIME
)");
  EXPECT_EQ(review.body["status"]["userInfo"]["username"], Value("jane"));
  EXPECT_VALUE(review.body["status"]["userInfo"]["groups"], R"(
- system:masters
- system:authenticated
)");
  EXPECT_TRUE(review.body["status"]["userInfo"]["uid"].is_null());
  EXPECT_TRUE(review.body["status"]["userInfo"]["extra"]["a"].is_null());
}

TEST_P(ReviewContract, StatusOfARulesReviewIsTheServers) {
  Answer review = Post("/apis/authorization.k8s.io/v1/selfsubjectrulesreviews",
                       R"({"metadata":{"name":"mine"},"spec":{"namespace":"default"},"status":{"incomplete":true,"evaluationError":"bad",
                           "resourceRules":[{"verbs":["sing"]}],"nonResourceRules":[{"verbs":["dance"]}]}})");
  EXPECT_CODE(review, 201);
  EXPECT_VALUE(review.body["metadata"], R"(
{}
)");
  EXPECT_VALUE(review.body["spec"], R"(
{}
)");
  EXPECT_EQ(review.raw.body.find("sing"), std::string::npos) << review.raw.body;
  EXPECT_EQ(review.raw.body.find("dance"), std::string::npos) << review.raw.body;
  EXPECT_EQ(review.raw.body.find("bad"), std::string::npos) << review.raw.body;
  EXPECT_EQ(review.body["status"]["incomplete"], Value(false));
  EXPECT_STATUS(Post("/apis/authorization.k8s.io/v1/selfsubjectrulesreviews", R"({"spec":{}})"), R"(
code: 400
message: no namespace on request
reason: BadRequest
)");
}

TEST_P(ReviewContract, StatusOfAnAccessReviewIsTheServers) {
  Answer review = Post("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
                       R"({"spec":{"resourceAttributes":{"verb":"get","resource":"pods"}},"status":{"allowed":false,"denied":true,
                           "evaluationError":"bad","reason":"mine"}})");
  EXPECT_CODE(review, 201);
  EXPECT_EQ(review.body["status"]["allowed"], Value(true));
  EXPECT_TRUE(review.body["status"]["denied"].is_null());
  EXPECT_TRUE(review.body["status"]["evaluationError"].is_null());
  EXPECT_NE(review.body["status"]["reason"], Value("mine"));
}

TEST_P(ReviewContract, TokenIsGoodForItsAudiencesOnly) {
  const std::string accounts = "/api/v1/namespaces/{ns}/serviceaccounts";
  EXPECT_CODE(Post(accounts, R"({"metadata":{"name":"robot"}})"), 201);
  auto token = [&](const std::string& audiences) {
    Answer made = Post(accounts + "/robot/token", R"({"spec":{"audiences":)" + audiences + "}}");
    EXPECT_CODE(made, 201);
    return made.body["status"]["token"].string_value().str();
  };
  auto review = [&](const std::string& of, const std::string& audiences) {
    return Post(kTokenReviews, R"({"spec":{"token":")" + of + R"(","audiences":)" + audiences + "}}").body["status"];
  };
  const std::string vault = token(R"(["vault","bank"])");
  // Not good for the server itself.
  EXPECT_CODE(CallAs({.ca_pem = server().admin.ca_pem, .token = vault}, {.url = "/api"}), 401);
  EXPECT_EQ(review(vault, "[]")["authenticated"], Value());
  EXPECT_TRUE(review(vault, R"(["garage"])")["user"].object().empty());
  Value good = review(vault, R"(["garage","bank"])");
  EXPECT_EQ(good["authenticated"], Value(true));
  EXPECT_VALUE(good["audiences"], R"(
- bank
)");
  EXPECT_VALUE(good["user"]["username"], R"(
system:serviceaccount:{ns}:robot
)");
  EXPECT_VALUE(review(vault, R"(["bank","vault"])")["audiences"], R"(
- bank
- vault
)");
  // One without an audience is for the server.
  const std::string own = token("[]");
  Value for_server = review(own, "[]");
  EXPECT_EQ(for_server["authenticated"], Value(true));
  EXPECT_VALUE(for_server["audiences"], R"(
- https://kubernetes.default.svc.cluster.local
)");
  EXPECT_EQ(review(own, R"(["bank"])")["authenticated"], Value());
}

}  // namespace
}  // namespace kube::contract
