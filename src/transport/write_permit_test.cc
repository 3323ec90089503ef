#include "kube/transport/write_permit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kube/transport/decorators.h"
#include "transport/pipe_test_util.h"
#include "transport/transport_test_util.h"

namespace kube {
namespace {

using internal::ScriptedTransport;
using internal::UpgradeTransport;
using ::testing::HasSubstr;

class Switch : public WritePermit {
 public:
  Result<void> Check() override {
    ++asked;
    return allowed ? Result<void>() : Error::Timeout("not any more");
  }
  bool allowed = true;
  int asked = 0;
};

class WritePermitTest : public ::testing::Test {
 protected:
  Result<HttpResponse> Send(const std::string& method) const {
    return transport_->RoundTrip(Context::Background().WithValue(std::shared_ptr<WritePermit>(permit_)), {.method = method});
  }
  std::shared_ptr<Switch> permit_ = std::make_shared<Switch>();
  std::shared_ptr<ScriptedTransport> server_ = ScriptedTransport::Always(200);
  std::shared_ptr<Transport> transport_ = WithWritePermits(server_);
};

TEST_F(WritePermitTest, WithoutAPermitEverythingIsSent) {
  EXPECT_TRUE(transport_->RoundTrip(Context::Background(), {.method = "POST"}));
  EXPECT_EQ(server_->sent().method, "POST");
}

TEST_F(WritePermitTest, WritesAreSentWhileThePermitAllowsThem) {
  for (const char* method : {"POST", "PUT", "PATCH", "DELETE"}) {
    permit_->allowed = true;
    EXPECT_TRUE(Send(method)) << method;
    EXPECT_EQ(server_->sent(server_->count() - 1).method, method);
    permit_->allowed = false;
    const Result<HttpResponse> refused = Send(method);
    ASSERT_FALSE(refused) << method;
    EXPECT_THAT(refused.error().ToString(), HasSubstr("not any more"));
  }
  EXPECT_EQ(server_->count(), 4U);
}

TEST_F(WritePermitTest, ReadsNeedNone) {
  permit_->allowed = false;
  EXPECT_TRUE(Send("GET"));
  EXPECT_TRUE(Send("HEAD"));
  EXPECT_EQ(permit_->asked, 0);
}

TEST_F(WritePermitTest, ContextsThatAreMadeFromItHaveItToo) {
  permit_->allowed = false;
  const Context child = Context::Background().WithValue(std::shared_ptr<WritePermit>(permit_)).WithTimeout(std::chrono::seconds(60));
  EXPECT_FALSE(transport_->RoundTrip(child, {.method = "POST"}));
}

// exec, attach and port-forward are GETs that can change anything.
TEST_F(WritePermitTest, UpgradesAreWrites) {
  auto server = std::make_shared<UpgradeTransport>();
  const std::shared_ptr<Transport> transport = WithWritePermits(server);
  const Context ctx = AddWritePermit(Context::Background(), permit_);
  permit_->allowed = false;
  const Result<UpgradeResponse> refused = transport->Upgrade(ctx, {.method = "GET"});
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().ToString(), HasSubstr("not any more"));
  EXPECT_TRUE(transport->Upgrade(Context::Background(), {.method = "GET"}));
  permit_->allowed = true;
  EXPECT_TRUE(transport->Upgrade(ctx, {.method = "GET"}));
}

TEST_F(WritePermitTest, AnUpgradedConnectionSendsNothingOnceThePermitRefuses) {
  auto server = std::make_shared<UpgradeTransport>();
  const Result<UpgradeResponse> open = WithWritePermits(server)->Upgrade(AddWritePermit(Context::Background(), permit_), {.method = "GET"});
  ASSERT_TRUE(open);
  const std::unique_ptr<UpgradedConnection> peer = server->Accept();
  ASSERT_NE(peer, nullptr);
  const Context patient = Context::Background().WithTimeout(internal::kPipePatience);
  ASSERT_TRUE(open->connection->Write(patient, "rm a"));
  permit_->allowed = false;
  const Result<void> refused = open->connection->Write(patient, "rm b");
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().ToString(), HasSubstr("not any more"));
  ASSERT_TRUE(peer->Write(patient, "out"));
  char buffer[16];
  EXPECT_EQ(open->connection->Read(patient, buffer, sizeof buffer).value(), 3U);  // reading continues
  EXPECT_EQ(peer->Read(patient, buffer, sizeof buffer).value(), 4U);
  open->connection->Close();
  EXPECT_EQ(peer->Read(patient, buffer, sizeof buffer).value(), 0U);  // nothing of the second write
}

TEST_F(WritePermitTest, AnAddedPermitDoesNotReplaceTheOneThatIsThere) {
  auto inner = std::make_shared<Switch>();
  const Context ctx = AddWritePermit(AddWritePermit(Context::Background(), permit_), inner);
  const auto send = [&] { return transport_->RoundTrip(ctx, {.method = "POST"}).ok(); };
  EXPECT_TRUE(send());
  permit_->allowed = false;
  EXPECT_FALSE(send());
  permit_->allowed = true;
  inner->allowed = false;
  EXPECT_FALSE(send());
  EXPECT_EQ(server_->count(), 1U);
  EXPECT_EQ(AddWritePermit(Context::Background(), nullptr).Value<WritePermit>(), nullptr);
}

}  // namespace
}  // namespace kube
