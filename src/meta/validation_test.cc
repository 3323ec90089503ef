#include "kube/meta/validation.h"

#include <gtest/gtest.h>

#include <string>

namespace kube {
namespace {

std::string Repeat(std::size_t n) { return std::string(n, 'q'); }

TEST(ValidationTest, AcceptsLabelKeys) {
  for (const std::string& key : {std::string("app"), std::string("App_1.x-Y"), std::string("7"), std::string("shop.example/tier"),
                                 std::string("0-1.x/Tier_2"), Repeat(63), Repeat(253) + "/" + Repeat(63)}) {
    EXPECT_TRUE(ValidateLabelKey(key).ok()) << key;
  }
}

TEST(ValidationTest, RefusesLabelKeys) {
  for (const std::string& key :
       {std::string(""), std::string("-app"), std::string("app."), std::string("a b"), std::string("a/b/c"), std::string("/tier"),
        std::string("shop/"), std::string("Shop/tier"), std::string("sh_op/tier"), std::string("a..b/tier"), std::string("a.-b/tier"),
        std::string("caf\xc3\xa9"), Repeat(64), Repeat(254) + "/x", std::string("a\0b", 3)}) {
    auto r = ValidateLabelKey(key);
    ASSERT_FALSE(r.ok()) << key;
    EXPECT_EQ(r.error().kind(), ErrorKind::kInvalid);
    EXPECT_NE(r.error().ToString().find("label key"), std::string::npos) << r.error().ToString();
  }
}

TEST(ValidationTest, SaysWhichPartOfAKeyIsWrong) {
  EXPECT_NE(ValidateLabelKey("A_b/x").error().ToString().find("prefix: DNS subdomain \"A_b\""), std::string::npos);
  EXPECT_NE(ValidateLabelKey("a/" + Repeat(64)).error().ToString().find("longer than 63"), std::string::npos);
  EXPECT_NE(ValidateLabelKey("a/b/c").error().ToString().find("more than one '/'"), std::string::npos);
}

TEST(ValidationTest, ChecksLabelValues) {
  for (const std::string& value : {std::string(), std::string("x"), std::string("V_1.2-3"), Repeat(63)}) {
    EXPECT_TRUE(ValidateLabelValue(value).ok()) << value;
  }
  for (const std::string& value : {std::string("_x"), std::string("x-"), std::string("a/b"), std::string("a b"), Repeat(64)}) {
    EXPECT_FALSE(ValidateLabelValue(value).ok()) << value;
  }
}

TEST(ValidationTest, ChecksDnsLabels) {
  EXPECT_TRUE(ValidateDnsLabel("web-1").ok());
  EXPECT_TRUE(ValidateDnsLabel(Repeat(63)).ok());
  for (const std::string& bad : {std::string(), std::string("Web"), std::string("-web"), std::string("a.b"), Repeat(64)}) {
    EXPECT_FALSE(ValidateDnsLabel(bad).ok()) << bad;
  }
}

TEST(ValidationTest, ChecksDnsSubdomains) {
  EXPECT_TRUE(ValidateDnsSubdomain("a.b-c.9").ok());
  EXPECT_TRUE(ValidateDnsSubdomain(Repeat(253)).ok());
  for (const std::string& bad : {std::string(), std::string("."), std::string("a."), std::string(".a"), std::string("a..b"),
                                 std::string("a.-b"), std::string("A"), Repeat(254)}) {
    EXPECT_FALSE(ValidateDnsSubdomain(bad).ok()) << bad;
  }
}

}  // namespace
}  // namespace kube
