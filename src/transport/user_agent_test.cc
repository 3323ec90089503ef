#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kube/transport/decorators.h"
#include "transport/transport_test_util.h"

namespace kube {
namespace {

using internal::ScriptedTransport;
using ::testing::ElementsAre;

TEST(Contract12UserAgent, IsSetWhereTheRequestHasNone) {
  const auto server = ScriptedTransport::Always(200);
  const auto transport = WithUserAgent(server, "demo/1.0");
  ASSERT_TRUE(transport->RoundTrip(Context::Background(), {}));
  EXPECT_THAT(server->sent().headers.All("User-Agent"), ElementsAre("demo/1.0"));
}

TEST(Contract12UserAgent, IsNeverOverwritten) {
  const auto server = ScriptedTransport::Always(200);
  const auto transport = WithUserAgent(server, "demo/1.0");
  ASSERT_TRUE(transport->RoundTrip(Context::Background(), {.headers = {{"user-agent", "mine"}}}));
  EXPECT_THAT(server->sent().headers.All("User-Agent"), ElementsAre("mine"));
}

TEST(Contract12UserAgent, AnEmptyOneCountsAsNone) {
  const auto server = ScriptedTransport::Always(200);
  const auto transport = WithUserAgent(server, "demo/1.0");
  ASSERT_TRUE(transport->RoundTrip(Context::Background(), {.headers = {{"User-Agent", ""}}}));
  EXPECT_THAT(server->sent().headers.All("User-Agent"), ElementsAre("demo/1.0"));
}

TEST(Contract12UserAgent, UpgradesHaveItToo) {
  const auto server = ScriptedTransport::Always(200);
  ASSERT_TRUE(WithUserAgent(server, "demo/1.0")->Upgrade(Context::Background(), {}));
  EXPECT_EQ(server->sent().headers.Get("User-Agent"), "demo/1.0");
}

TEST(UserAgentTransportTest, WithoutAnAgentNothingIsWrapped) {
  const auto server = ScriptedTransport::Always(200);
  EXPECT_EQ(WithUserAgent(server, ""), server);
}

}  // namespace
}  // namespace kube
