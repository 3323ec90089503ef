// How a server is reached: NewClient, and what ApiServerOptions::data_dir keeps.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <memory>
#include <string>

#include "kube/api/core/v1.h"
#include "kube/apiserver/api_server.h"
#include "kube/client/client.h"
#include "kube/config/client_config.h"
#include "testing/temporary_directory.h"

namespace kube::apiserver {
namespace {

using core::v1::Namespace;
using ::testing::HasSubstr;

Context Soon() { return Context::Background().WithTimeout(std::chrono::seconds(60)); }

class ApiServerIdentityTest : public ::testing::Test {
 protected:
  std::unique_ptr<ApiServer> Start(ApiServerOptions options = {}) const {
    options.data_dir = data();
    Result<std::unique_ptr<ApiServer>> server = ApiServer::Start(std::move(options));
    EXPECT_TRUE(server) << server.error().ToString();
    return server ? *std::move(server) : nullptr;
  }
  std::string data() const { return dir_->path() + "/data"; }
  std::string file() const { return data() + "/apiserver.json"; }

  const std::unique_ptr<testing::internal::TemporaryDirectory> dir_ =
      testing::internal::TemporaryDirectory::Create("kubexx-identity").value();
};

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

TEST_F(ApiServerIdentityTest, TheKubeconfigStaysTheSame) {
  std::unique_ptr<ApiServer> server = Start();
  const std::string kubeconfig = server->Kubeconfig();
  const Client client = server->NewClient().value();
  ASSERT_TRUE(client.Get<Namespace>(Soon(), {"", "default"}));
  struct stat info {};
  ASSERT_EQ(::stat(file().c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777U, 0600U);
  ASSERT_EQ(::stat(data().c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777U, 0700U);

  server.reset();
  server = Start();
  EXPECT_EQ(server->Kubeconfig(), kubeconfig);
  const Result<Namespace> again = client.Get<Namespace>(Soon(), {"", "default"});
  EXPECT_TRUE(again) << again.error().ToString();
}

TEST_F(ApiServerIdentityTest, PlainHttpKeepsThePortAndLaterTheCertificates) {
  std::unique_ptr<ApiServer> server = Start({.http = true});
  const std::uint16_t port = server->port();
  const std::string token = server->admin_token();
  server.reset();
  server = Start();
  const std::string ca = server->ca_pem();
  EXPECT_EQ(server->port(), port);
  EXPECT_EQ(server->admin_token(), token);
  server.reset();
  server = Start({.http = true});
  server.reset();
  server = Start({.admin_token = "chosen"});
  EXPECT_EQ(server->ca_pem(), ca);
  EXPECT_EQ(server->admin_token(), "chosen");
}

TEST_F(ApiServerIdentityTest, WhatCannotBeUsedIsNamed) {
  const std::unique_ptr<ApiServer> server = Start();
  Result<std::unique_ptr<ApiServer>> second = ApiServer::Start({.data_dir = data()});
  ASSERT_FALSE(second);
  EXPECT_THAT(second.error().ToString(), HasSubstr("the port that " + data() + " keeps: "));
  ASSERT_EQ(::chmod(file().c_str(), 0644), 0);
  second = ApiServer::Start({.data_dir = data()});
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().kind(), ErrorKind::kConfig);
  EXPECT_THAT(second.error().ToString(), HasSubstr(file() + ": holds keys"));
  ASSERT_EQ(::chmod(file().c_str(), 0600), 0);
  for (const std::string text : {"{", "{}", R"({"port":70000,"adminToken":"a"})", R"({"port":1})"}) {
    std::ofstream(file()) << text;
    second = ApiServer::Start({.data_dir = data()});
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().kind(), ErrorKind::kConfig);
    EXPECT_THAT(second.error().ToString(), HasSubstr(file()));
  }
  second = ApiServer::Start({.data_dir = data() + "/missing/folder"});
  ASSERT_FALSE(second);
  EXPECT_THAT(second.error().ToString(), HasSubstr("No such file or directory"));
}

}  // namespace
}  // namespace kube::apiserver
