// Servers for client_server_test: the embedded one, and the real ones of `make control-plane`, each started once for all cases.
#pragma once

#include <gtest/gtest.h>
#include <stdio.h>
#include <sys/wait.h>

#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "kube/apiserver/api_server.h"
#include "kube/client/client.h"
#include "kube/config/kubeconfig.h"
#include "kube/config/load.h"
#include "kube/testing/control_plane.h"
#include "testing/temporary_directory.h"

namespace kube::internal {

// The server of a test case.
struct TestServer {
  std::string kubeconfig;  // text
  std::string version;     // "v1.36.3"
  std::string kubectl;     // of the same release; empty if not available
};

// "embedded", "newest" or "oldest". Errors: kConfig if the programs are not installed; the test is then skipped.
class TestServers : public ::testing::Environment {
 public:
  Result<TestServer> Get(const std::string& name) {
    const Result<std::string> assets = testing::FindControlPlaneAssets({.version = name == "embedded" ? "newest" : name});
    const std::string kubectl = assets && std::ifstream(*assets + "/kubectl").good() ? *assets + "/kubectl" : "";
    if (name == "embedded") {
      if (embedded_ == nullptr) {
        Result<std::unique_ptr<apiserver::ApiServer>> started = apiserver::ApiServer::Start();
        if (!started) return started.error();
        embedded_ = *std::move(started);
      }
      return TestServer{embedded_->Kubeconfig(), "", kubectl};
    }
    if (!assets) return assets.error();
    std::unique_ptr<testing::ControlPlane>& plane = planes_[name];
    if (plane == nullptr) {
      Result<std::unique_ptr<testing::ControlPlane>> started = testing::ControlPlane::Start(Context::Background(), {.version = name});
      if (!started) return started.error();
      plane = *std::move(started);
    }
    return TestServer{plane->AdminKubeconfig(), plane->version(), kubectl};
  }
  void TearDown() override {
    embedded_.reset();
    planes_.clear();
  }

 private:
  std::unique_ptr<apiserver::ApiServer> embedded_;
  std::map<std::string, std::unique_ptr<testing::ControlPlane>> planes_;
};
inline TestServers& test_servers = *static_cast<TestServers*>(::testing::AddGlobalTestEnvironment(new TestServers));

// Runs each case against the three servers: TEST_P(MyServerTest, ...) with INSTANTIATE_SERVERS(MyServerTest).
class ServerTest : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    Result<TestServer> server = test_servers.Get(GetParam());
    if (!server && server.error().kind() == ErrorKind::kConfig) GTEST_SKIP() << server.error().ToString();
    ASSERT_TRUE(server) << server.error().ToString();
    server_ = *std::move(server);
    Result<std::unique_ptr<testing::internal::TemporaryDirectory>> dir = testing::internal::TemporaryDirectory::Create("kubexx-client");
    ASSERT_TRUE(dir) << dir.error().ToString();
    dir_ = *std::move(dir);
    std::ofstream(dir_->path() + "/kubeconfig") << server_.kubeconfig;
  }
  std::string dir() const { return dir_->path(); }

  ClientConfig Config() const {
    ClientConfig config = ToClientConfig(Kubeconfig::Parse(server_.kubeconfig).value()).value();
    config.qps = -1;
    return config;
  }
  Client NewClient(ClientOptions options = {}) const { return Client::FromConfig(Config(), std::move(options)).value(); }

  // Returns the standard output of kubectl and writes its errors to `errors` in dir(). Needs server_.kubectl.
  std::string Kubectl(const std::string& arguments) const {
    const std::string command = "HOME='" + dir() + "' '" + server_.kubectl + "' --kubeconfig '" + dir() + "/kubeconfig' " + arguments +
                                " 2>'" + dir() + "/errors' </dev/null";
    FILE* pipe = ::popen(command.c_str(), "r");
    EXPECT_NE(pipe, nullptr);
    std::string out;
    char buffer[4096];
    for (std::size_t n = 0; (n = ::fread(buffer, 1, sizeof buffer, pipe)) > 0;) out.append(buffer, n);
    const int status = ::pclose(pipe);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << command << "\n" << ReadErrors();
    return out;
  }
  std::string ReadErrors() const {
    std::ifstream in(dir() + "/errors");
    return {std::istreambuf_iterator<char>(in), {}};
  }
  static Context Patient() { return Context::Background().WithTimeout(std::chrono::minutes(2)); }

  TestServer server_;

 private:
  std::unique_ptr<testing::internal::TemporaryDirectory> dir_;
};

#define INSTANTIATE_SERVERS(suite)                                                           \
  INSTANTIATE_TEST_SUITE_P(Server, suite, ::testing::Values("embedded", "newest", "oldest"), \
                           [](const ::testing::TestParamInfo<const char*>& server) { return std::string(server.param); })

}  // namespace kube::internal
