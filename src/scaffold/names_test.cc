#include "scaffold/names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kube::scaffold {
namespace {

using ::testing::HasSubstr;

std::string MessageOf(const Result<void>& result) { return result ? "" : result.error().message(); }

TEST(NamesTest, ChecksDomains) {
  for (const char* good : {"my.domain", "k8s.io", "local", "a-b.c1"}) EXPECT_TRUE(CheckDomain(good)) << good;
  for (const char* bad : {"", "My.domain", "my domain", ".io", "a..b", "-a.b", "a/b"}) EXPECT_FALSE(CheckDomain(bad)) << bad;
}

TEST(NamesTest, ChecksGroups) {
  for (const char* good : {"webapp", "foo.policy", "", "a1"}) EXPECT_TRUE(CheckGroup(good, "my.domain")) << good;
  for (const char* bad : {"Webapp", "web_app", "a b", ".", "x/y"}) EXPECT_FALSE(CheckGroup(bad, "my.domain")) << bad;
  EXPECT_THAT(MessageOf(CheckGroup("webapp.my.domain", "my.domain")), HasSubstr("use webapp"));
  EXPECT_THAT(MessageOf(CheckGroup("my.domain", "my.domain")), HasSubstr("--group \"\""));
  EXPECT_THAT(MessageOf(CheckGroup("", "local")), HasSubstr("needs a dot"));
  EXPECT_TRUE(CheckGroup("webapp", "local"));
  EXPECT_THAT(MessageOf(CheckGroup(std::string(250, 'a'), "my.domain")), HasSubstr("too long"));
}

TEST(NamesTest, ChecksVersions) {
  for (const char* good : {"v1", "v2", "v10", "v1alpha1", "v1beta2", "v2beta10"}) EXPECT_TRUE(CheckVersion(good)) << good;
  for (const char* bad : {"", "1", "v", "v0", "v01", "V1", "v1a", "v1alpha", "v1beta0", "v1gamma1", "v1.2", "v1beta1x"})
    EXPECT_FALSE(CheckVersion(bad)) << bad;
}

TEST(NamesTest, ChecksKinds) {
  for (const char* good : {"Guestbook", "A", "HTTPRoute", "List", "V2Thing"}) EXPECT_TRUE(CheckKind(good)) << good;
  for (const char* bad : {"", "guestbook", "Guest_book", "Guest Book", "1Book", "Guest-Book"}) EXPECT_FALSE(CheckKind(bad)) << bad;
  EXPECT_FALSE(CheckKind(std::string(64, 'A')));
  for (const char* taken : {"Test", "Reconcile", "Validate", "FILE"})
    EXPECT_THAT(MessageOf(CheckKind(taken)), HasSubstr("own code needs")) << taken;
  EXPECT_THAT(MessageOf(CheckKind("GuestbookList")), HasSubstr("the list of Guestbook"));
}

TEST(NamesTest, ChecksProjectNames) {
  for (const char* good : {"guestbook", "a", "my-books", "books2"}) EXPECT_TRUE(CheckProjectName(good)) << good;
  for (const char* bad : {"", "Guestbook", "my_books", "2books", "-a", "a-", "a.b"}) EXPECT_FALSE(CheckProjectName(bad)) << bad;
  EXPECT_THAT(MessageOf(CheckProjectName("kube")), HasSubstr("kube-system"));
  EXPECT_TRUE(CheckProjectName(std::string(52, 'a')));
  EXPECT_THAT(MessageOf(CheckProjectName(std::string(53, 'a'))), HasSubstr("52"));
}

TEST(NamesTest, MakesNamesOfFolders) {
  EXPECT_EQ(ProjectNameOf("guestbook"), "guestbook");
  EXPECT_EQ(ProjectNameOf("My  Books_2 "), "my-books-2");
  EXPECT_EQ(ProjectNameOf("2024 books"), "books");
  EXPECT_EQ(ProjectNameOf("..."), "");
}

TEST(NamesTest, MakesGroupsAndNamespaces) {
  EXPECT_EQ(FullGroup("webapp", "my.domain"), "webapp.my.domain");
  EXPECT_EQ(FullGroup("", "my.domain"), "my.domain");
  EXPECT_EQ(GroupName("webapp", "my.domain"), "webapp");
  EXPECT_EQ(GroupName("foo.policy", "my.domain"), "foo_policy");
  EXPECT_EQ(GroupName("sea-creatures", "my.domain"), "sea_creatures");
  EXPECT_EQ(GroupName("", "my.domain"), "my");
  for (const char* taken : {"kube", "std", "default", "class", "time", "system", "floor", "environ"})
    EXPECT_EQ(GroupName(taken, "my.domain"), std::string(taken) + "_api") << "a keyword, or a name of the C library";
}

}  // namespace
}  // namespace kube::scaffold
