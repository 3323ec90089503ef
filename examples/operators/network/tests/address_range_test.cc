#include "src/address_range.h"

#include <gtest/gtest.h>

namespace {

AddressRange Range(std::string_view text) {
  return AddressRange::Parse(text).value();
}

TEST(AddressRangeTest, ContainsItsAddresses) {
  EXPECT_TRUE(Range("192.168.0.0/16").Contains("192.168.0.1"));
  EXPECT_TRUE(Range("192.168.1.0/16").Contains("192.168.255.255"));  // host bits do not count
  EXPECT_FALSE(Range("192.168.0.0/16").Contains("192.169.0.0"));
  EXPECT_TRUE(Range("192.168.0.0/23").Contains("192.168.1.255"));
  EXPECT_FALSE(Range("192.168.0.0/23").Contains("192.168.2.0"));
  EXPECT_TRUE(Range("0.0.0.0/0").Contains("203.0.113.9"));
  EXPECT_TRUE(Range("10.0.0.1/32").Contains("10.0.0.1"));
  EXPECT_FALSE(Range("10.0.0.1/32").Contains("10.0.0.0"));
  EXPECT_TRUE(Range("2001:db8::/33").Contains("2001:db8:7fff::1"));
  EXPECT_FALSE(Range("2001:db8::/33").Contains("2001:db8:8000::1"));
}

TEST(AddressRangeTest, ContainsNothingElse) {
  for (const std::string_view address : {"", "gateway", "192.168.0", "192.168.0.1/16", " 192.168.0.1", "::1"}) {
    EXPECT_FALSE(Range("0.0.0.0/0").Contains(address)) << address;
  }
}

TEST(AddressRangeTest, RefusesOtherTexts) {
  for (const std::string_view text : {"", "/", "10.0.0.0", "10.0.0.0/", "10.0.0.0/33", "10.0.0.0/-1", "10.0.0.0/8x", "10.0.0.0/+8",
                                      "10.0.0/8", "ten/8", "::/129", "10.0.0.0/8/8"}) {
    const auto range = AddressRange::Parse(text);
    ASSERT_FALSE(range) << text;
    EXPECT_EQ(range.error().message(), "expected a range such as 192.168.0.0/16, got \"" + std::string(text) + "\"");
  }
}

TEST(AddressRangeTest, OverlapsRangesThatShareAddresses) {
  EXPECT_TRUE(Range("10.0.0.0/8").Overlaps(Range("10.1.2.0/24")));
  EXPECT_TRUE(Range("10.1.2.0/24").Overlaps(Range("10.0.0.0/8")));
  EXPECT_FALSE(Range("10.1.2.0/24").Overlaps(Range("10.1.3.0/24")));
  EXPECT_FALSE(Range("0.0.0.0/0").Overlaps(Range("::/0")));
}

TEST(FreePrefixTest, IsTheFirstThatIsFree) {
  EXPECT_EQ(FreePrefix({}), "10.0.0");
  EXPECT_EQ(FreePrefix({Range("192.168.0.0/16")}), "10.0.0");
  EXPECT_EQ(FreePrefix({Range("10.0.1.0/24"), Range("10.0.0.7/32")}), "10.0.2");
  EXPECT_EQ(FreePrefix({Range("10.0.0.0/15")}), "10.2.0");
  EXPECT_EQ(FreePrefix({Range("0.0.0.0/0")}), "");
}

}  // namespace
