// Authentication: tokens, client certificates, anonymous requests.
#include "contract.h"
#include "kube/base/context.h"
#include "texts.h"

namespace kube::contract {
namespace {

CONTRACT_SUITE(AuthContract);

constexpr const char* kSelfReview = R"({"apiVersion":"authentication.k8s.io/v1","kind":"SelfSubjectReview"})";
constexpr const char* kSelfReviews = "/apis/authentication.k8s.io/v1/selfsubjectreviews";

HttpCall SelfReview() {
  return {.method = "POST", .url = kSelfReviews, .headers = {{"Content-Type", "application/json"}}, .body = kSelfReview};
}

TEST_P(AuthContract, BadTokenIsUnauthorized) {
  EXPECT_STATUS(CallAs({.ca_pem = server().admin.ca_pem, .token = "nonsense"}, {.url = kConfigMaps}), R"(
code: 401
message: Unauthorized
reason: Unauthorized
)");
}

TEST_P(AuthContract, TokenWithoutATypeIsNobodys) {
  Answer got = CallAs({.ca_pem = server().admin.ca_pem}, {.url = "/api/v1/namespaces/default", .headers = {{"Authorization", "nonsense"}}});
  EXPECT_TRUE(got.code == 401 || got.code == 403) << got.raw.body;
}

TEST_P(AuthContract, NobodyMaySeeTheVersionAndLittleElse) {
  const HttpIdentity nobody{.ca_pem = server().admin.ca_pem};
  EXPECT_CODE(CallAs(nobody, {.url = "/version"}), 200);
  EXPECT_CODE(CallAs(nobody, {.url = "/readyz"}), 200);
  Answer got = CallAs(nobody, {.url = "/api/v1/namespaces/default/pods"});
  EXPECT_STATUS(got, R"(
code: 403
details:
  kind: pods
message: 'pods is forbidden: User "system:anonymous" cannot list resource "pods" in API group "" in the namespace "default"'
reason: Forbidden
)");
}

TEST_P(AuthContract, CertificateNamesUserAndGroups) {
  if (server().oldest()) GTEST_SKIP() << "1.26 has no SelfSubjectReview";
  Result<HttpIdentity> jane = server().user("jane", {"team-a", "system:masters"});
  ASSERT_TRUE(jane) << jane.error().ToString();
  Answer review = CallAs(*jane, SelfReview());
  EXPECT_CODE(review, 201);
  EXPECT_EQ(review.body["status"]["userInfo"]["username"], Value("jane"));
  EXPECT_VALUE(review.body["status"]["userInfo"]["groups"], R"(
- team-a
- system:masters
- system:authenticated
)");
}

TEST_P(AuthContract, ServiceAccountTokenIsAUser) {
  if (server().oldest()) GTEST_SKIP() << "1.26 has no SelfSubjectReview";
  EXPECT_CODE(Post("/api/v1/namespaces/{ns}/serviceaccounts", R"({"metadata":{"name":"robot"}})"), 201);
  Answer requested = Post("/api/v1/namespaces/{ns}/serviceaccounts/robot/token", R"({"spec":{}})");
  const std::string token = requested.body["status"]["token"].string_value().str();
  Answer review = CallAs({.ca_pem = server().admin.ca_pem, .token = token}, SelfReview());
  EXPECT_CODE(review, 201);
  EXPECT_VALUE(review.body["status"]["userInfo"]["username"], R"(
system:serviceaccount:{ns}:robot
)");
  EXPECT_VALUE(review.body["status"]["userInfo"]["groups"], R"(
- system:serviceaccounts
- system:serviceaccounts:{ns}
- system:authenticated
)");
}

TEST_P(AuthContract, TokenOfADeletedAccountIsNoGood) {
  EXPECT_CODE(Post("/api/v1/namespaces/{ns}/serviceaccounts", R"({"metadata":{"name":"robot"}})"), 201);
  Answer requested = Post("/api/v1/namespaces/{ns}/serviceaccounts/robot/token", R"({"spec":{}})");
  const HttpIdentity robot{.ca_pem = server().admin.ca_pem, .token = requested.body["status"]["token"].string_value().str()};
  EXPECT_NE(CallAs(robot, {.url = "/api"}).code, 401);
  EXPECT_CODE(Delete("/api/v1/namespaces/{ns}/serviceaccounts/robot"), 200);
  // A real server believes a token for some seconds after it saw it.
  const Context ctx = Context::Background().WithTimeout(std::chrono::seconds(30));
  while (CallAs(robot, {.url = "/api"}).code != 401) ASSERT_TRUE(ctx.SleepFor(std::chrono::milliseconds(200)));
}

TEST_P(AuthContract, StrangersAreForbidden) {
  if (server().embedded()) GTEST_SKIP() << "RBAC is not evaluated by the embedded server yet";
  Result<HttpIdentity> stranger = server().user("stranger", {});
  ASSERT_TRUE(stranger) << stranger.error().ToString();
  EXPECT_STATUS(CallAs(*stranger, {.url = kConfigMaps}), R"(
code: 403
details:
  kind: configmaps
message: 'configmaps is forbidden: User "stranger" cannot list resource "configmaps" in API group "" in the namespace "{ns}"'
reason: Forbidden
)");
  EXPECT_STATUS(CallAs(*stranger, {.method = "DELETE", .url = "/api/v1/nodes/n"}), R"(
code: 403
details:
  kind: nodes
  name: "n"
message: 'nodes "n" is forbidden: User "stranger" cannot delete resource "nodes" in API group "" at the cluster scope'
reason: Forbidden
)");
  EXPECT_STATUS(CallAs(*stranger, {.url = "/apis/apps/v1/namespaces/{ns}/deployments/a/scale"}), R"(
code: 403
details:
  group: apps
  kind: deployments
  name: a
message: 'deployments.apps "a" is forbidden: User "stranger" cannot get resource "deployments/scale" in API group "apps" in the namespace "{ns}"'
reason: Forbidden
)");
  EXPECT_STATUS(CallAs(*stranger, {.url = "/metrics"}), R"(
code: 403
details: {}
message: 'forbidden: User "stranger" cannot get path "/metrics"'
reason: Forbidden
)");
}

TEST_P(AuthContract, RolesAllow) {
  if (server().embedded()) GTEST_SKIP() << "RBAC is not evaluated by the embedded server yet";
  EXPECT_CODE(Post("/apis/rbac.authorization.k8s.io/v1/namespaces/{ns}/roles",
                   R"({"metadata":{"name":"reader"},"rules":[{"apiGroups":[""],"resources":["configmaps"],"verbs":["get","list"]}]})"),
              201);
  EXPECT_CODE(Post("/apis/rbac.authorization.k8s.io/v1/namespaces/{ns}/rolebindings",
                   R"({"metadata":{"name":"readers"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"Role","name":"reader"},
                       "subjects":[{"kind":"Group","apiGroup":"rbac.authorization.k8s.io","name":"team-{id}"}]})"),
              201);
  Result<HttpIdentity> member = server().user("member", {"team-" + id()});
  ASSERT_TRUE(member);
  const Context ctx = Context::Background().WithTimeout(std::chrono::seconds(30));
  while (CallAs(*member, {.url = kConfigMaps}).code != 200) ASSERT_TRUE(ctx.SleepFor(std::chrono::milliseconds(50)));
  EXPECT_CODE(CallAs(*member, {.method = "DELETE", .url = std::string(kConfigMaps) + "/a"}), 403);
}

TEST_P(AuthContract, AdministratorsMayBeSomebodyElse) {
  if (server().oldest()) GTEST_SKIP() << "1.26 has no SelfSubjectReview";
  HttpCall call = SelfReview();
  call.headers.emplace_back("Impersonate-User", "somebody");
  call.headers.emplace_back("Impersonate-Group", "some-group");
  Answer review = Call(call);
  EXPECT_CODE(review, 201);
  EXPECT_EQ(review.body["status"]["userInfo"]["username"], Value("somebody"));
  EXPECT_VALUE(review.body["status"]["userInfo"]["groups"], R"(
- some-group
- system:authenticated
)");
}

}  // namespace
}  // namespace kube::contract
