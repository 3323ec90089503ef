#include "client/discovery_files.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "base/folder_test_util.h"
#include "client/discovery_test_util.h"
#include "kube/base/fake_clock.h"
#include "kube/client/rest_mapper.h"
#include "kube/config/client_config.h"

namespace kube::internal {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
namespace fs = std::filesystem;

const std::vector<TestGroup>& Plain() {
  static const std::vector<TestGroup> groups = {{"", {{"v1", {{"pods", "Pod", true, "pod", {"po"}}}}}},
                                                {"apps", {{"v1", {{"deployments", "Deployment"}}}}}};
  return groups;
}

class Contract13DiskCache : public ::testing::Test {
 protected:
  // As another process would see it.
  Discovery New() const {
    DiscoveryOptions options;
    options.cache_dir = dir_;
    return Discovery(ClientOf(api_), options);
  }
  std::string File(const std::string& name) const { return dir_ + "/10.0.0.1_6443/" + name; }
  static std::string Read(const std::string& path) {
    std::ifstream in(path);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  static void Write(const std::string& path, const std::string& text) { std::ofstream(path) << text; }
  static unsigned ModeOf(const std::string& path) {
    struct stat info {};
    EXPECT_EQ(::stat(path.c_str(), &info), 0) << path;
    return info.st_mode & 0777U;
  }
  std::vector<std::string> AllFiles() const {
    std::vector<std::string> out;
    for (const auto& entry : fs::recursive_directory_iterator(dir_)) {
      if (entry.is_regular_file()) out.push_back(fs::relative(entry.path(), dir_).string());
    }
    std::sort(out.begin(), out.end());
    return out;
  }

  const Context ctx_ = Context::Background();
  const std::shared_ptr<FakeApi> api_ = std::make_shared<FakeApi>();
  const TestFolder folder_;
  const std::string dir_ = folder_.path();
};

TEST(DiscoveryFilesTest, FoldersAreNamedAfterTheHostAsKubectlDoes) {
  EXPECT_EQ(HostFolder("https://10.0.0.1:6443"), "10.0.0.1_6443");
  EXPECT_EQ(HostFolder("http://localhost:8080"), "localhost_8080");
  EXPECT_EQ(HostFolder("https://[::1]:6443"), "___1__6443");
  EXPECT_EQ(HostFolder("https://rancher.example.com/k8s/clusters/c-1"), "rancher.example.com/k8s/clusters/c_1");
  EXPECT_EQ(HostFolder("https://evil/../../etc"), "evil/__/__/etc");
  EXPECT_EQ(HostFolder(""), "localhost");
}

TEST_F(Contract13DiskCache, AnotherProcessNeedsNoRequest) {
  ServeAggregated(*api_, Plain());
  const auto first = New().Apis(ctx_).value();
  EXPECT_THAT(AllFiles(), ElementsAre("10.0.0.1_6443/apps/v1/serverresources.json", "10.0.0.1_6443/servergroups.json",
                                      "10.0.0.1_6443/v1/serverresources.json"));
  api_->Forget();
  const Discovery other = New();
  const auto second = other.Apis(ctx_).value();
  EXPECT_EQ(api_->total(), 0u);
  EXPECT_EQ(second->groups, first->groups);
  EXPECT_EQ(second->lists, first->lists);
}

TEST_F(Contract13DiskCache, FreshMeansAllWasFetchedByThisProcess) {
  ServeAggregated(*api_, Plain());
  const Discovery first = New();
  ASSERT_TRUE(first.Apis(ctx_));
  EXPECT_TRUE(first.fresh());
  const Discovery second = New();
  ASSERT_TRUE(second.Apis(ctx_));
  EXPECT_FALSE(second.fresh());
  second.Invalidate();
  ASSERT_TRUE(second.Apis(ctx_));
  EXPECT_TRUE(second.fresh());
}

TEST_F(Contract13DiskCache, AfterInvalidateFilesOfOthersDoNotCount) {
  ServeAggregated(*api_, Plain());
  ASSERT_TRUE(New().Apis(ctx_));
  ServeAggregated(*api_, {Plain()[0]});
  const Discovery discovery = New();
  discovery.Invalidate();
  EXPECT_EQ(discovery.Groups(ctx_)->size(), 1u);
  EXPECT_EQ(New().Groups(ctx_)->size(), 1u);  // and they were written again
}

TEST_F(Contract13DiskCache, FilesCountForTheirTtlByMtime) {
  ServeAggregated(*api_, Plain());
  ASSERT_TRUE(New().Apis(ctx_));
  const auto age = [&](std::chrono::seconds by) {
    for (const std::string& file : AllFiles()) {
      fs::last_write_time(dir_ + "/" + file, fs::file_time_type::clock::now() - by);
    }
  };
  api_->Forget();
  age(std::chrono::hours(6) - std::chrono::minutes(5));
  ASSERT_TRUE(New().Apis(ctx_));
  EXPECT_EQ(api_->total(), 0u);
  age(std::chrono::hours(6) + std::chrono::minutes(5));
  ASSERT_TRUE(New().Apis(ctx_));
  EXPECT_EQ(api_->total(), 2u);
}

TEST_F(Contract13DiskCache, TheClockOfTheContextCounts) {
  ServeAggregated(*api_, Plain());
  ASSERT_TRUE(New().Apis(ctx_));
  api_->Forget();
  auto clock = std::make_shared<FakeClock>(std::chrono::system_clock::now() + std::chrono::hours(7));
  ASSERT_TRUE(New().Apis(Context::Background(clock)));
  EXPECT_EQ(api_->total(), 2u);
}

TEST_F(Contract13DiskCache, FoldersAre0750AndFiles0660) {
  ServeAggregated(*api_, Plain());
  const mode_t old = ::umask(0027);
  const bool loaded = New().Apis(ctx_).ok();
  ::umask(old);
  ASSERT_TRUE(loaded);
  EXPECT_EQ(ModeOf(dir_ + "/10.0.0.1_6443"), 0750u);
  EXPECT_EQ(ModeOf(File("apps")), 0750u);
  EXPECT_EQ(ModeOf(File("apps/v1")), 0750u);
  EXPECT_EQ(ModeOf(File("servergroups.json")), 0660u);
  EXPECT_EQ(ModeOf(File("apps/v1/serverresources.json")), 0660u);
}

TEST_F(Contract13DiskCache, WhatIsMissingEmptyOrCorruptIsAMiss) {
  for (const char* rubbish : {"", "{", "null", "rubbish", R"({"kind":"Pod","apiVersion":"v1"})", R"({"groups":[]})"}) {
    ServeAggregated(*api_, Plain());
    ASSERT_TRUE(New().Apis(ctx_));
    Write(File("servergroups.json"), rubbish);
    api_->Forget();
    EXPECT_EQ(New().Groups(ctx_)->size(), 2u) << rubbish;
    EXPECT_EQ(api_->total(), 2u) << rubbish;
    api_->Forget();
    ASSERT_TRUE(New().Apis(ctx_));
    EXPECT_EQ(api_->total(), 0u) << rubbish << ": written anew";
  }
}

TEST_F(Contract13DiskCache, AFewListsThatAreMissingAreAskedForAlone) {
  ServeLegacy(*api_, Plain());
  ASSERT_TRUE(New().Apis(ctx_));
  Write(File("apps/v1/serverresources.json"), "{");
  api_->Forget();
  const Discovery discovery = New();
  EXPECT_NE(discovery.Resources(ctx_, {"apps", "v1"})->Find("deployments"), nullptr);
  EXPECT_EQ(api_->total(), 1u);
  EXPECT_FALSE(discovery.fresh());
}

TEST_F(Contract13DiskCache, EachHostHasAFolder) {
  ServeAggregated(*api_, Plain());
  ASSERT_TRUE(New().Apis(ctx_));
  ClientConfig config;
  config.host = "https://other:6443";
  api_->Forget();
  ASSERT_TRUE(Discovery(ClientOf(api_, config), {.cache_dir = dir_}).Apis(ctx_));
  EXPECT_EQ(api_->total(), 2u);
  EXPECT_TRUE(fs::exists(dir_ + "/other_6443/servergroups.json"));
}

TEST_F(Contract13DiskCache, AFolderThatCannotBeWrittenIsNoError) {
  ServeAggregated(*api_, Plain());
  Write(dir_ + "/file", "in the way");
  EXPECT_TRUE(Discovery(ClientOf(api_), {.cache_dir = dir_ + "/file"}).Apis(ctx_));
}

TEST_F(Contract13DiskCache, AServerDoesNotChooseWhereFilesGo) {
  ServeAggregated(*api_, {{"../../../escaped", {{"v1", {{"things", "Thing"}}}}},
                          {"ok", {{"../../v9", {{"things", "Thing"}}}, {".hidden", {{"things", "Thing"}}}}}});
  ASSERT_TRUE(New().Apis(ctx_));
  EXPECT_THAT(AllFiles(), ElementsAre("10.0.0.1_6443/servergroups.json"));
  EXPECT_FALSE(fs::exists(dir_ + "/../../escaped"));
}

TEST_F(Contract13DiskCache, NoTemporaryFilesStay) {
  ServeAggregated(*api_, Plain());
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(New().Refresh(ctx_));
  EXPECT_EQ(AllFiles().size(), 3u);
}

TEST_F(Contract13DiskCache, AMapperLooksBehindOldFiles) {
  ServeAggregated(*api_, {Plain()[0]});
  ASSERT_TRUE(New().Apis(ctx_));
  ServeAggregated(*api_, Plain());
  const RestMapper mapper(New(), {.refresh_burst = 0});  // none for misses: what is not fresh is asked for all the same
  EXPECT_TRUE(mapper.ForKind(ctx_, Gvk{"apps", "v1", "Deployment"}));
}

TEST_F(Contract13DiskCache, OpenApiDocumentsAreKeptByHash) {
  api_->Set("/openapi/v3", 200, R"({"paths":{"apis/apps/v1":{"serverRelativeURL":"/openapi/v3/apis/apps/v1?hash=B"}}})");
  api_->Set("/openapi/v3/apis/apps/v1?hash=B", 200, "{\"a\":1}\n");
  ASSERT_TRUE(New().OpenApi(ctx_, GroupVersion{"apps", "v1"}));
  EXPECT_EQ(*New().OpenApi(ctx_, GroupVersion{"apps", "v1"}).value(), "{\"a\":1}\n");
  EXPECT_EQ(api_->count("/openapi/v3/apis/apps/v1?hash=B"), 1u);
  const std::string file = File("openapi/v3/apis/apps/v1.json");
  EXPECT_EQ(ModeOf(file), 0660u);
  // One that was cut, edited or emptied is a miss.
  const std::string good = Read(file);
  std::size_t asked = 1;
  for (const std::string& bad : {good.substr(0, good.size() - 3), std::string(), good + "x", std::string("\n")}) {
    Write(file, bad);
    EXPECT_EQ(*New().OpenApi(ctx_, GroupVersion{"apps", "v1"}).value(), "{\"a\":1}\n");
    EXPECT_EQ(api_->count("/openapi/v3/apis/apps/v1?hash=B"), ++asked);
  }
  // So is one of another hash.
  api_->Set("/openapi/v3", 200, R"({"paths":{"apis/apps/v1":{"serverRelativeURL":"/openapi/v3/apis/apps/v1?hash=C"}}})");
  api_->Set("/openapi/v3/apis/apps/v1?hash=C", 200, "new");
  EXPECT_EQ(*New().OpenApi(ctx_, GroupVersion{"apps", "v1"}).value(), "new");
}

TEST(DiscoveryFilesTest, TheDefaultFolderIsKubectls) {
  const char* home = std::getenv("HOME");
  const std::string old = home != nullptr ? home : "";
  ::setenv("HOME", "/somewhere", 1);
  ::unsetenv("KUBECACHEDIR");
  EXPECT_EQ(DefaultDiscoveryCacheDir(), "/somewhere/.kube/cache/discovery");
  ::setenv("KUBECACHEDIR", "/cache", 1);
  EXPECT_EQ(DefaultDiscoveryCacheDir(), "/cache/discovery");
  ::unsetenv("KUBECACHEDIR");
  ::unsetenv("HOME");
  EXPECT_EQ(DefaultDiscoveryCacheDir(), "");
  if (home != nullptr) ::setenv("HOME", old.c_str(), 1);
}

}  // namespace
}  // namespace kube::internal
