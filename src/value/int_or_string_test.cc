#include "kube/value/int_or_string.h"

#include <gtest/gtest.h>

#include <cstring>
#include <limits>

#include "value/test_types.h"

namespace kube {
namespace {

using testing::kLongText;

static_assert(sizeof(IntOrString) == 24);

TEST(IntOrStringTest, IsIntegerZeroByDefaultAndAllZeroBytes) {
  IntOrString v;
  unsigned char zero[sizeof v] = {};
  EXPECT_EQ(std::memcmp(static_cast<const void*>(&v), zero, sizeof v), 0);
  EXPECT_FALSE(v.is_string());
  EXPECT_EQ(v.int_value(), 0);
  EXPECT_EQ(v.ToString(), "0");
  EXPECT_EQ(v, IntOrString(0));
}

TEST(IntOrStringTest, HoldsAnIntegerOrAText) {
  IntOrString port = 8080;
  EXPECT_FALSE(port.is_string());
  EXPECT_EQ(port.int_value(), 8080);
  EXPECT_EQ(port.string_value(), "");
  EXPECT_EQ(port.ToString(), "8080");
  IntOrString name = kLongText;
  EXPECT_TRUE(name.is_string());
  EXPECT_EQ(name.string_value(), kLongText);
  EXPECT_EQ(name.int_value(), 0);
  EXPECT_EQ(name.ToString(), kLongText);
  name = -5;
  EXPECT_FALSE(name.is_string());
  EXPECT_EQ(name.ToString(), "-5");
  name = "http";
  EXPECT_EQ(name.string_value(), "http");
}

TEST(IntOrStringTest, TextAndIntegerDiffer) {
  EXPECT_NE(IntOrString("80"), IntOrString(80));
  EXPECT_NE(IntOrString(""), IntOrString(0));
  EXPECT_EQ(IntOrString("80"), IntOrString(std::string("80")));
  EXPECT_NE(IntOrString("a"), IntOrString("b"));
  EXPECT_NE(IntOrString(1), IntOrString(2));
}

TEST(IntOrStringTest, ParsesIntegersOf32Bits) {
  EXPECT_EQ(IntOrString::Parse("80"), IntOrString(80));
  EXPECT_EQ(IntOrString::Parse("-1"), IntOrString(-1));
  EXPECT_EQ(IntOrString::Parse("+7"), IntOrString(7));
  EXPECT_EQ(IntOrString::Parse("2147483647"), IntOrString(2147483647));
  EXPECT_EQ(IntOrString::Parse("-2147483648"), IntOrString(std::numeric_limits<std::int32_t>::min()));
  for (const char* text : {"2147483648", "", "http", "80%", "8 0", "+-1", "0x10", "1.0", "+"}) {
    EXPECT_EQ(IntOrString::Parse(text), IntOrString(text)) << text;
  }
}

TEST(IntOrStringTest, ScalesPercentages) {
  struct Case {
    IntOrString value;
    std::int64_t total;
    bool round_up;
    std::int64_t want;
  };
  for (const Case& c : {
           Case{3, 10, true, 3},
           Case{-3, 10, false, -3},
           Case{"25%", 10, true, 3},
           Case{"25%", 10, false, 2},
           Case{"90%", 500, true, 450},
           Case{"95%", 500, true, 475},
           Case{"0%", 7, true, 0},
           Case{"100%", 7, false, 7},
           Case{"1%", 1, true, 1},
           Case{"1%", 1, false, 0},
           Case{"200%", 5, true, 10},
           Case{"-10%", 5, true, 0},
           Case{"-10%", 5, false, -1},
           Case{"+50%", 3, true, 2},
           Case{"33%", 1'000'000'007, true, 330'000'003},
       }) {
    Result<std::int64_t> got = c.value.ScaledValue(c.total, c.round_up);
    ASSERT_TRUE(got.ok()) << c.value;
    EXPECT_EQ(*got, c.want) << c.value << " of " << c.total;
  }
}

TEST(IntOrStringTest, RefusesTextThatIsNoPercentage) {
  for (const char* text : {"10", "", "%", "a%", "1.5%", "10%%", " 10%", "99999999999999999999%"}) {
    Result<std::int64_t> got = IntOrString(text).ScaledValue(100, true);
    ASSERT_FALSE(got.ok()) << text;
    EXPECT_EQ(got.error().kind(), ErrorKind::kInvalid);
  }
  EXPECT_FALSE(IntOrString("9223372036854775807%").ScaledValue(std::numeric_limits<std::int64_t>::max(), true).ok());
}

TEST(IntOrStringTest, CopiesAreIndependent) {
  IntOrString a = kLongText;
  IntOrString b = a;
  EXPECT_TRUE(a.string_value().SharesTextWith(b.string_value()));
  b = 5;
  EXPECT_EQ(a.string_value(), kLongText);
  const IntOrString& alias = a;
  a = alias;
  EXPECT_EQ(a.string_value(), kLongText);
}

}  // namespace
}  // namespace kube
