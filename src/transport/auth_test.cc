#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kube/transport/decorators.h"
#include "transport/transport_test_util.h"

namespace kube {
namespace {

using internal::ScriptedTransport;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class FakeCredentials : public CredentialSource {
 public:
  Result<Authorization> Get(const Context&) override {
    ++gets;
    if (error) return *error;
    return Authorization{SecretString(header), {}};
  }
  void Rejected(const Authorization& used) override { rejected.push_back(used.header.reveal()); }
  std::shared_ptr<const ClientCertificate> Certificate() const override { return nullptr; }

  std::string header = "Bearer one";
  std::optional<Error> error;
  int gets = 0;
  std::vector<std::string> rejected;
};

struct Rig {
  explicit Rig(int code = 200) : server(ScriptedTransport::Always(code)), transport(WithAuth(server, credentials)) {}
  std::shared_ptr<FakeCredentials> credentials = std::make_shared<FakeCredentials>();
  std::shared_ptr<ScriptedTransport> server;
  std::shared_ptr<Transport> transport;
  Context ctx = Context::Background();
};

TEST(Contract12Auth, PutsTheCredentialOnTheRequest) {
  Rig s;
  ASSERT_TRUE(s.transport->RoundTrip(s.ctx, {.target = "/api"}));
  EXPECT_THAT(s.server->sent().headers.All("authorization"), ElementsAre("Bearer one"));
  EXPECT_THAT(s.credentials->rejected, IsEmpty());
}

TEST(Contract12Auth, AsksForEachRequestAnew) {
  Rig s;
  ASSERT_TRUE(s.transport->RoundTrip(s.ctx, {}));
  s.credentials->header = "Bearer two";
  ASSERT_TRUE(s.transport->RoundTrip(s.ctx, {}));
  EXPECT_EQ(s.server->sent(1).headers.Get("Authorization"), "Bearer two");
}

TEST(Contract12Auth, AnAuthorizationOfTheCallerIsLeftAloneAndRunsNoPlugin) {
  Rig s(401);
  ASSERT_TRUE(s.transport->RoundTrip(s.ctx, {.headers = {{"authorization", "Basic xyz"}}}));
  EXPECT_THAT(s.server->sent().headers.All("Authorization"), ElementsAre("Basic xyz"));
  EXPECT_EQ(s.credentials->gets, 0);
  EXPECT_THAT(s.credentials->rejected, IsEmpty());
}

TEST(Contract12Auth, A401IsGivenBackAndTheCredentialIsTold) {
  Rig s(401);
  const Result<HttpResponse> response = s.transport->RoundTrip(s.ctx, {});
  ASSERT_TRUE(response);
  EXPECT_EQ(response->code, 401);
  EXPECT_EQ(s.server->count(), 1U);
  EXPECT_THAT(s.credentials->rejected, ElementsAre("Bearer one"));
}

TEST(Contract12Auth, OtherRefusalsDoNotConcernTheCredential) {
  Rig s(403);
  ASSERT_TRUE(s.transport->RoundTrip(s.ctx, {}));
  EXPECT_THAT(s.credentials->rejected, IsEmpty());
}

TEST(Contract12Auth, AnErrorOfTheCredentialsEndsTheRequestUnsent) {
  Rig s;
  s.credentials->error = Error(ErrorKind::kAuth, "the plugin failed");
  const Result<HttpResponse> response = s.transport->RoundTrip(s.ctx, {});
  ASSERT_FALSE(response);
  EXPECT_EQ(response.error().kind(), ErrorKind::kAuth);
  EXPECT_EQ(response.error().message(), "the plugin failed");
  EXPECT_EQ(s.server->count(), 0U);
}

TEST(Contract12Auth, NoCredentialNoHeaderButA401IsTold) {
  Rig s(401);
  s.credentials->header = "";
  ASSERT_TRUE(s.transport->RoundTrip(s.ctx, {}));
  EXPECT_FALSE(s.server->sent().headers.Has("Authorization"));
  EXPECT_THAT(s.credentials->rejected, ElementsAre(""));
}

TEST(Contract12Auth, UpgradesCarryItToo) {
  Rig s(401);
  const Result<UpgradeResponse> response = s.transport->Upgrade(s.ctx, {});
  ASSERT_TRUE(response);
  EXPECT_EQ(s.server->sent().headers.Get("Authorization"), "Bearer one");
  EXPECT_THAT(s.credentials->rejected, ElementsAre("Bearer one"));
}

TEST(AuthTransportTest, WithoutASourceNothingIsWrapped) {
  const auto server = ScriptedTransport::Always(200);
  EXPECT_EQ(WithAuth(server, nullptr), server);
}

}  // namespace
}  // namespace kube
