#include "testing/assets.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <filesystem>

#include "kube/testing/control_plane.h"
#include "testing/temporary_directory.h"

namespace kube::testing::internal {
namespace {

using ::testing::HasSubstr;

// Sets an environment variable for a scope.
class WithVariable {
 public:
  WithVariable(const char* name, const std::string& value) : name_(name) {
    const char* before = getenv(name);
    had_ = before != nullptr;
    if (had_) before_ = before;
    setenv(name, value.c_str(), 1);
  }
  ~WithVariable() {
    if (had_) {
      setenv(name_, before_.c_str(), 1);
    } else {
      unsetenv(name_);
    }
  }
  WithVariable(const WithVariable&) = delete;
  WithVariable& operator=(const WithVariable&) = delete;

 private:
  const char* name_;
  bool had_ = false;
  std::string before_;
};

class AssetsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto made = TemporaryDirectory::Create("kubexx-assets-test");
    ASSERT_TRUE(made);
    directory_ = std::move(*made);
  }
  // An executable file of that name in a folder of that name.
  std::string MakeProgram(const std::string& folder, const std::string& name) {
    const std::string path = directory_->path() + "/" + folder;
    std::filesystem::create_directories(path);
    EXPECT_TRUE(WriteFile(path + "/" + name, "#!/bin/sh\n"));
    std::filesystem::permissions(path + "/" + name, std::filesystem::perms::owner_all);
    return path;
  }
  std::unique_ptr<TemporaryDirectory> directory_;
};

TEST_F(AssetsTest, PickPortFindsOneToListenOn) {
  Result<std::uint16_t> port = PickPort();
  ASSERT_TRUE(port);
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(*port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  close(fd);
}

TEST_F(AssetsTest, OptionGoesBeforeEnvironmentAndCache) {
  const std::string own = MakeProgram("own", "etcd");
  MakeProgram("own", "kube-apiserver");
  const std::string builder = MakeProgram("builder", "etcd");
  MakeProgram("builder", "kube-apiserver");
  MakeProgram("cache/control-plane/newest", "etcd");
  const std::string newest = MakeProgram("cache/control-plane/newest", "kube-apiserver");
  MakeProgram("cache/control-plane/v1.2.3", "etcd");
  const std::string old = MakeProgram("cache/control-plane/v1.2.3", "kube-apiserver");
  const WithVariable cache("KUBEXX_CACHE", directory_->path() + "/cache");
  {
    const WithVariable assets("KUBEBUILDER_ASSETS", builder);
    EXPECT_EQ(FindControlPlaneAssets({.assets = own}).value_or(""), own);
    EXPECT_EQ(FindControlPlaneAssets().value_or(""), builder);
    EXPECT_EQ(FindControlPlaneAssets({.version = "v1.2.3"}).value_or(""), old);
  }
  const WithVariable assets("KUBEBUILDER_ASSETS", "");
  EXPECT_EQ(FindControlPlaneAssets().value_or(""), newest);
}

TEST_F(AssetsTest, MissingProgramsAreNamed) {
  const WithVariable cache("KUBEXX_CACHE", directory_->path());
  const WithVariable assets("KUBEBUILDER_ASSETS", "");
  Result<std::string> none = FindControlPlaneAssets();
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().kind(), ErrorKind::kConfig);
  EXPECT_THAT(none.error().message(), HasSubstr("etcd is not in "));
  EXPECT_THAT(none.error().message(), HasSubstr("make control-plane"));
  const std::string own = MakeProgram("own", "etcd");
  MakeProgram("own", "kube-apiserver");
  EXPECT_TRUE(FindControlPlaneAssets({.assets = own}));
  Result<std::string> manager = FindControlPlaneAssets({.assets = own, .controller_manager = true});
  ASSERT_FALSE(manager);
  EXPECT_THAT(manager.error().message(), HasSubstr("kube-controller-manager is not in "));
}

TEST_F(AssetsTest, KubeconfigNamesFilesAndData) {
  ASSERT_TRUE(WriteFile(directory_->path() + "/ca.crt", "the ca"));
  const std::string text =
      "current-context: b\n"
      "contexts: [{name: a, context: {cluster: x, user: x}}, {name: b, context: {cluster: c, user: u}}]\n"
      "clusters: [{name: c, cluster: {server: 'https://host:1', certificate-authority: ca.crt}}]\n"
      "users: [{name: u, user: {token: secret, client-key-data: a2V5}}]\n";
  Result<ExistingCluster> read = ReadKubeconfig(text, directory_->path());
  ASSERT_TRUE(read) << read.error().ToString();
  EXPECT_EQ(read->url, "https://host:1");
  EXPECT_EQ(read->identity.ca_pem, "the ca");
  EXPECT_EQ(read->identity.key_pem, "key");
  EXPECT_EQ(read->identity.token, "secret");
}

TEST_F(AssetsTest, BrokenKubeconfigsAreErrors) {
  for (const char* text : {"", "a: [", "current-context: x\n",
                           "clusters: [{name: c, cluster: {server: s, certificate-authority-data: '!'}}]\n"
                           "contexts: [{name: x, context: {cluster: c}}]\ncurrent-context: x\n"}) {
    EXPECT_FALSE(ReadKubeconfig(text, "/")) << text;
  }
  const WithVariable variable("KUBECONFIG", directory_->path() + "/none");
  EXPECT_FALSE(FindExistingCluster());
}

TEST_F(AssetsTest, TailKeepsTheLastLines) {
  const std::string path = directory_->path() + "/log";
  EXPECT_EQ(TailOf(path, 3), "");
  ASSERT_TRUE(WriteFile(path, "1\n2\n3\n4\n"));
  EXPECT_EQ(TailOf(path, 2), "3\n4\n");
  EXPECT_EQ(TailOf(path, 4), "1\n2\n3\n4\n");
  EXPECT_EQ(TailOf(path, 10), "1\n2\n3\n4\n");
  ASSERT_TRUE(WriteFile(path, "1\n2\nlast"));
  EXPECT_EQ(TailOf(path, 1), "last");
}

}  // namespace
}  // namespace kube::testing::internal
