#include "kube/transport/write_permit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kube/transport/decorators.h"
#include "transport/transport_test_util.h"

namespace kube {
namespace {

using internal::ScriptedTransport;
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

}  // namespace
}  // namespace kube
