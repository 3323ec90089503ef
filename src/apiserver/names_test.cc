#include "apiserver/names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace kube::apiserver {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(NamesTest, DnsLabels) {
  for (const char* good : {"a", "0", "a-b", "1a"}) EXPECT_THAT(DnsLabelProblems(good), IsEmpty()) << good;
  for (const char* bad : {"", "-a", "a-", "A", "a_b", "a/b", "a b", "."}) EXPECT_EQ(DnsLabelProblems(bad).size(), 1U) << bad;
  EXPECT_THAT(DnsLabelProblems("a.b"), ElementsAre("must not contain dots"));
  EXPECT_THAT(DnsLabelProblems(std::string(63, 'a')), IsEmpty());
  EXPECT_THAT(DnsLabelProblems(std::string(64, 'a')), ElementsAre("must be no more than 63 characters"));
  EXPECT_EQ(DnsLabelProblems(std::string(64, 'A')).size(), 2U);
}

TEST(NamesTest, LabelsOfServicesStartWithALetter) {
  EXPECT_THAT(Dns1035LabelProblems("a-1"), IsEmpty());
  EXPECT_THAT(Dns1035LabelProblems("1-a"), ElementsAre(HasSubstr("a DNS-1035 label must consist of")));
  EXPECT_THAT(Dns1035LabelProblems(""), ElementsAre(HasSubstr("a DNS-1035 label must consist of")));
}

TEST(NamesTest, Subdomains) {
  for (const char* good : {"a", "a.b", "a-b.c-d.0"}) EXPECT_THAT(DnsSubdomainProblems(good), IsEmpty()) << good;
  for (const char* bad : {"", ".", "a.", ".a", "a..b", "A.b", "a.-b"}) EXPECT_EQ(DnsSubdomainProblems(bad).size(), 1U) << bad;
  EXPECT_THAT(DnsSubdomainProblems(std::string(253, 'a')), IsEmpty());
  EXPECT_THAT(DnsSubdomainProblems(std::string(254, 'a')), ElementsAre("must be no more than 253 characters"));
}

TEST(NamesTest, PathSegments) {
  EXPECT_THAT(PathSegmentProblems("system:node:A b"), IsEmpty());
  EXPECT_THAT(PathSegmentProblems("."), ElementsAre("may not be '.'"));
  EXPECT_THAT(PathSegmentProblems(".."), ElementsAre("may not be '..'"));
  EXPECT_THAT(PathSegmentProblems("a/b%"), ElementsAre("may not contain '/'", "may not contain '%'"));
}

TEST(NamesTest, QualifiedNames) {
  for (const char* good : {"a", "A.b_c-9", "example.com/A"}) EXPECT_THAT(QualifiedNameProblems(good), IsEmpty()) << good;
  EXPECT_THAT(QualifiedNameProblems("/a"), ElementsAre("prefix part must be non-empty"));
  EXPECT_THAT(QualifiedNameProblems("x/"), ElementsAre("name part must be non-empty", HasSubstr("name part must consist of")));
  EXPECT_THAT(QualifiedNameProblems("a/b/c"), ElementsAre(HasSubstr("with an optional DNS subdomain prefix")));
  EXPECT_THAT(QualifiedNameProblems("X/a"), ElementsAre(HasSubstr("prefix part a lowercase RFC 1123 subdomain")));
  EXPECT_THAT(QualifiedNameProblems(std::string(64, 'a')), ElementsAre("name part must be no more than 63 bytes"));
}

TEST(NamesTest, LabelValues) {
  for (const char* good : {"", "a", "A.b_c-9"}) EXPECT_THAT(LabelValueProblems(good), IsEmpty()) << good;
  for (const char* bad : {"-a", "a-", "a b", "a/b"}) EXPECT_EQ(LabelValueProblems(bad).size(), 1U) << bad;
  EXPECT_THAT(LabelValueProblems(std::string(64, 'a')), ElementsAre("must be no more than 63 bytes"));
}

}  // namespace
}  // namespace kube::apiserver
