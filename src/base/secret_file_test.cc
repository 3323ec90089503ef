#include "base/secret_file.h"
#include "base/folder_test_util.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace kube::internal {
namespace {

using ::testing::HasSubstr;

constexpr uid_t kSomebody = 12345;

class SecretFileTest : public ::testing::Test {
 protected:
  std::string At(const std::string& name) const { return folder_.At(name); }
  std::string Put(const std::string& name, const std::string& text) const {
    std::ofstream(At(name)) << text;
    return At(name);
  }
  std::string Read(const std::string& name) const { return folder_.Read(name); }
  mode_t Mode(const std::string& name) const {
    struct stat found {};
    EXPECT_EQ(lstat(At(name).c_str(), &found), 0);
    return found.st_mode & 07777;
  }
  std::size_t Entries() const {
    return static_cast<std::size_t>(
        std::distance(std::filesystem::directory_iterator(folder_.path()), std::filesystem::directory_iterator()));
  }
  static std::string ErrorOf(const Result<void>& result) { return result ? "" : result.error().ToString(); }

  const TestFolder folder_;
};

TEST_F(SecretFileTest, ANewFileIsPrivate) {
  const mode_t before = umask(0);
  ASSERT_TRUE(WriteSecretFile(At("a"), "secret"));
  umask(before);
  EXPECT_EQ(Read("a"), "secret");
  EXPECT_EQ(Mode("a"), 0600U);
  EXPECT_EQ(Entries(), 1U);
}

TEST_F(SecretFileTest, AnOldFileIsReplacedAndBecomesPrivate) {
  chmod(Put("a", "a longer text than the new one").c_str(), 0644);
  std::ifstream reader(At("a"));  // a reader that has it open sees nothing of the new text
  std::filesystem::create_hard_link(At("a"), At("b"));
  ASSERT_TRUE(WriteSecretFile(At("a"), "secret"));
  EXPECT_EQ(Read("a"), "secret");
  EXPECT_EQ(Mode("a"), 0600U);
  EXPECT_EQ(Read("b"), "a longer text than the new one");
  std::string seen;
  std::getline(reader, seen);
  EXPECT_EQ(seen, "a longer text than the new one");
  EXPECT_EQ(Entries(), 2U);
}

TEST_F(SecretFileTest, ALinkIsNotFollowed) {
  Put("victim", "untouched");
  for (const char* target : {"victim", "missing"}) {
    std::filesystem::remove(At("link"));
    std::filesystem::create_symlink(target, At("link"));
    const std::string problem = ErrorOf(WriteSecretFile(At("link"), "secret"));
    EXPECT_THAT(problem, HasSubstr(At("link")));
    EXPECT_THAT(problem, HasSubstr("is a symbolic link"));
  }
  EXPECT_EQ(Read("victim"), "untouched");
  EXPECT_FALSE(std::filesystem::exists(At("missing")));
  EXPECT_EQ(Entries(), 2U);
}

TEST_F(SecretFileTest, OnlyRegularFilesAreWritten) {
  ASSERT_EQ(mkfifo(At("pipe").c_str(), 0600), 0);
  EXPECT_THAT(ErrorOf(WriteSecretFile(At("pipe"), "secret")), HasSubstr("no regular file"));
  EXPECT_THAT(ErrorOf(WriteSecretFile(folder_.path(), "secret")), HasSubstr("no regular file"));
  EXPECT_THAT(ErrorOf(WriteSecretFile(At("no/such/folder"), "secret")), HasSubstr("No such file"));
  EXPECT_FALSE(WriteSecretFile("", "secret"));
}

TEST_F(SecretFileTest, AFileOfAnotherUserIsLeftAlone) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can make such a file";
  chmod(Put("a", "theirs").c_str(), 0666);
  ASSERT_EQ(chown(At("a").c_str(), kSomebody, kSomebody), 0);
  EXPECT_THAT(ErrorOf(WriteSecretFile(At("a"), "secret")), HasSubstr("belongs to another user (uid 12345)"));
  EXPECT_EQ(Read("a"), "theirs");
}

// As a mounted file is: it can be written, but nothing can take its place.
TEST_F(SecretFileTest, AFileInAFolderThatTakesNoOtherIsOverwritten) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can become another user";
  ASSERT_EQ(chmod(folder_.path().c_str(), 0755), 0);
  chmod(Put("a", "a longer text than the new one").c_str(), 0644);
  ASSERT_EQ(chown(At("a").c_str(), kSomebody, kSomebody), 0);
  const auto write_as_somebody = [&] {
    const pid_t child = fork();
    if (child == 0) _exit(setuid(kSomebody) == 0 && WriteSecretFile(At("a"), "secret") ? 0 : 1);
    int status = -1;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
  };
  EXPECT_TRUE(write_as_somebody());
  EXPECT_EQ(Read("a"), "secret");
  EXPECT_EQ(Mode("a"), 0600U);
  // Another program may read the file under its other name.
  std::filesystem::create_hard_link(At("a"), At("b"));
  EXPECT_FALSE(write_as_somebody());
}

TEST_F(SecretFileTest, LinksAreFollowedOnlyIfTheyAreOurs) {
  Put("real", "x");
  std::filesystem::create_symlink("real", At("two"));
  std::filesystem::create_symlink(At("two"), At("one"));
  EXPECT_EQ(FollowOwnLinks(At("one")).value(), At("real"));
  EXPECT_EQ(FollowOwnLinks(At("real")).value(), At("real"));
  EXPECT_EQ(FollowOwnLinks(At("missing")).value(), At("missing"));
  std::filesystem::create_symlink("loop", At("loop"));
  EXPECT_THAT(FollowOwnLinks(At("loop")).error().ToString(), HasSubstr("too many symbolic links"));
  if (geteuid() != 0) GTEST_SKIP() << "only root can make a link of another user";
  ASSERT_EQ(lchown(At("two").c_str(), kSomebody, kSomebody), 0);
  EXPECT_THAT(FollowOwnLinks(At("one")).error().ToString(), HasSubstr("symbolic link belongs to another user (uid 12345)"));
}

}  // namespace
}  // namespace kube::internal
