// How a server is reached: NewClient.
#include <gtest/gtest.h>

#include <memory>

#include "kube/api/core/v1.h"
#include "kube/apiserver/api_server.h"
#include "kube/client/client.h"

namespace kube::apiserver {
namespace {

using core::v1::Namespace;

Context Soon() { return Context::Background().WithTimeout(std::chrono::seconds(60)); }

TEST(ApiServerClientTest, NewClientIsTheAdministratorsAndHasNoRateLimit) {
  for (const bool http : {false, true}) {
    const std::unique_ptr<ApiServer> server = ApiServer::Start({.http = http}).value();
    const Result<Client> client = server->NewClient();
    ASSERT_TRUE(client) << client.error().ToString();
    EXPECT_TRUE(client->Get<Namespace>(Soon(), {"", "default"}));
    EXPECT_LT(client->config().qps, 0);
    int requests = 0;
    const Result<Client> wrapped = server->NewClient({.wrap_transport = [&](std::shared_ptr<Transport> next) {
      ++requests;
      return next;
    }});
    ASSERT_TRUE(wrapped);
    EXPECT_EQ(requests, 1);
  }
}

}  // namespace
}  // namespace kube::apiserver
