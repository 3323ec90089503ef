#include "testing/temporary_directory.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "base/helper_test_util.h"

namespace kube::testing::internal {
namespace {

namespace fs = std::filesystem;

// Own to this process: other runs of the test may be at work.
std::string Prefix() { return "kubexx-directory-test-" + std::to_string(getpid()); }

bool WaitUntilGone(const std::string& path) {
  for (int i = 0; i < 2000; ++i) {
    if (!fs::exists(path)) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

TEST(TemporaryDirectoryTest, IsRemovedWithItsContents) {
  std::string path;
  {
    auto made = TemporaryDirectory::Create(Prefix());
    ASSERT_TRUE(made) << made.error().ToString();
    path = (*made)->path();
    struct stat info {};
    ASSERT_EQ(stat(path.c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777, 0700U);
    fs::create_directories(path + "/deep/er");
    std::ofstream(path + "/deep/er/file") << "x";
  }
  EXPECT_FALSE(fs::exists(path));
}

TEST(TemporaryDirectoryTest, IsRemovedWhenItsProcessIsKilled) {
  const kube::internal::Helper other = kube::internal::StartHelper({"testing_test_helper", "directory", Prefix()});
  ASSERT_NE(other.process, nullptr);
  const std::string path = other.line.substr(0, other.line.find('\n'));
  ASSERT_TRUE(fs::exists(path + "/file")) << path;
  kill(other.process->pid(), SIGKILL);
  EXPECT_TRUE(WaitUntilGone(path));
}

TEST(TemporaryDirectoryTest, NextOneRemovesWhatWasLeftBehind) {
  const std::string prefix = Prefix() + "-stale";
  const std::string stale = TemporaryRoot() + "/" + prefix + "-gone";
  const std::string young = TemporaryRoot() + "/" + prefix + "-young";
  fs::create_directories(stale + "/etcd");
  std::ofstream(stale + "/lock") << "";
  fs::create_directories(young);
  const timeval old[2] = {{1000, 0}, {1000, 0}};
  ASSERT_EQ(utimes(stale.c_str(), old), 0);
  auto made = TemporaryDirectory::Create(prefix);
  ASSERT_TRUE(made);
  ASSERT_EQ(utimes((*made)->path().c_str(), old), 0);
  auto second = TemporaryDirectory::Create(prefix);
  ASSERT_TRUE(second);
  EXPECT_FALSE(fs::exists(stale));
  EXPECT_TRUE(fs::exists(young));            // its owner may be about to lock it
  EXPECT_TRUE(fs::exists((*made)->path()));  // is held
  fs::remove_all(young);
}

}  // namespace
}  // namespace kube::testing::internal
