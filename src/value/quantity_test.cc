#include "kube/value/quantity.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <unordered_set>

namespace kube {
namespace {

using Format = Quantity::Format;

constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();

static_assert(sizeof(Quantity) == 16);

Quantity Q(std::string_view text) {
  Result<Quantity> q = Quantity::Parse(text);
  EXPECT_TRUE(q.ok()) << text;
  return q.ok() ? *q : Quantity();
}

TEST(QuantityTest, IsZeroByDefaultAndAllZeroBytes) {
  unsigned char zero[sizeof(Quantity)] = {};
  for (const Quantity& q :
       {Quantity(), Q("0"), Q("0Gi"), Q("-0.000"), Q("0e99999"), Quantity::FromInt64(0, Format::kBinarySI), Q("1") - Q("1000m")}) {
    EXPECT_EQ(std::memcmp(static_cast<const void*>(&q), zero, sizeof q), 0);
    EXPECT_EQ(q.text(), "0");
    EXPECT_TRUE(q.IsZero());
    EXPECT_EQ(q.Sign(), 0);
    EXPECT_EQ(q.Value(), 0);
    EXPECT_EQ(q.AsInt64(), 0);
    EXPECT_EQ(q.AsApproximateDouble(), 0.0);
    EXPECT_EQ(q, Quantity());
    EXPECT_EQ(-q, Quantity());
  }
}

// What Go's resource.Quantity makes of these texts.
TEST(QuantityTest, BringsTextIntoCanonicalForm) {
  struct Case {
    const char* text;
    const char* canonical;
    Format format;
  };
  static constexpr Case kCases[] = {
      {"1", "1", Format::kDecimalSI},
      {"100", "100", Format::kDecimalSI},
      {"1000", "1k", Format::kDecimalSI},
      {"1500", "1500", Format::kDecimalSI},
      {"1000000", "1M", Format::kDecimalSI},
      {"1001", "1001", Format::kDecimalSI},
      {"-1000", "-1k", Format::kDecimalSI},
      {"+5", "5", Format::kDecimalSI},
      {"0001", "1", Format::kDecimalSI},
      {"1.5", "1500m", Format::kDecimalSI},
      {"0.5", "500m", Format::kDecimalSI},
      {".5", "500m", Format::kDecimalSI},
      {"5.", "5", Format::kDecimalSI},
      {"1.", "1", Format::kDecimalSI},
      {"0.001", "1m", Format::kDecimalSI},
      {"1.0001", "1000100u", Format::kDecimalSI},
      {"0.000000001", "1n", Format::kDecimalSI},
      {"0.0000000001", "1n", Format::kDecimalSI},
      {"-0.0000000001", "-1n", Format::kDecimalSI},
      {"1000m", "1", Format::kDecimalSI},
      {"1500m", "1500m", Format::kDecimalSI},
      {"1001m", "1001m", Format::kDecimalSI},
      {"-1500m", "-1500m", Format::kDecimalSI},
      {"100000m", "100", Format::kDecimalSI},
      {"1n", "1n", Format::kDecimalSI},
      {"1000n", "1u", Format::kDecimalSI},
      {"1u", "1u", Format::kDecimalSI},
      {"1000u", "1m", Format::kDecimalSI},
      {"1500u", "1500u", Format::kDecimalSI},
      {"0.5n", "1n", Format::kDecimalSI},
      {"0.1m", "100u", Format::kDecimalSI},
      {"0.0001m", "100n", Format::kDecimalSI},
      {"12k", "12k", Format::kDecimalSI},
      {"1.5k", "1500", Format::kDecimalSI},
      {"1500k", "1500k", Format::kDecimalSI},
      {"1M", "1M", Format::kDecimalSI},
      {"1G", "1G", Format::kDecimalSI},
      {"1T", "1T", Format::kDecimalSI},
      {"1P", "1P", Format::kDecimalSI},
      {"1E", "1E", Format::kDecimalSI},
      {"1.5E", "1500P", Format::kDecimalSI},
      {"9E", "9E", Format::kDecimalSI},
      {"9.223372036854775807E", "9223372036854775807", Format::kDecimalSI},
      {"9223372036854775807", "9223372036854775807", Format::kDecimalSI},
      {"9223372036854775808", "9223372036854775808", Format::kDecimalSI},
      {"-9223372036854775808", "-9223372036854775808", Format::kDecimalSI},
      {"100000000000000000000", "100E", Format::kDecimalSI},
      {"1Ki", "1Ki", Format::kBinarySI},
      {"1024Ki", "1Mi", Format::kBinarySI},
      {"1000Ki", "1000Ki", Format::kBinarySI},
      {"1Mi", "1Mi", Format::kBinarySI},
      {"1Gi", "1Gi", Format::kBinarySI},
      {"1.5Gi", "1536Mi", Format::kBinarySI},
      {"0.5Gi", "512Mi", Format::kBinarySI},
      {"0.5Ki", "512", Format::kBinarySI},
      {"0.9Ki", "921600m", Format::kBinarySI},
      {"0.9765625Ki", "1k", Format::kBinarySI},
      {"1.1Mi", "1153433600m", Format::kBinarySI},
      {"1.953125Ki", "2000", Format::kBinarySI},
      {"0.0000001Ki", "102400n", Format::kDecimalSI},
      {"0.0009765625Ki", "1", Format::kBinarySI},
      {"7Ei", "7Ei", Format::kBinarySI},
      {"8Ei", "9223372036854775807", Format::kBinarySI},
      {"-8Ei", "-9223372036854775807", Format::kBinarySI},
      {"9Ei", "9223372036854775807", Format::kBinarySI},
      {"1000000000000Ti", "9223372036854775807", Format::kBinarySI},
      {"0.001Ei", "1152921504606846976m", Format::kBinarySI},
      {"1024Mi", "1Gi", Format::kBinarySI},
      {"2048Pi", "2Ei", Format::kBinarySI},
      {"-1.5Gi", "-1536Mi", Format::kBinarySI},
      {"1e3", "1e3", Format::kDecimalExponent},
      {"1E3", "1e3", Format::kDecimalExponent},
      {"1e0", "1", Format::kDecimalExponent},
      {"1e+3", "1e3", Format::kDecimalExponent},
      {"1e-3", "1e-3", Format::kDecimalExponent},
      {"12e6", "12e6", Format::kDecimalExponent},
      {"1.5e1", "15", Format::kDecimalExponent},
      {"1500e0", "1500", Format::kDecimalExponent},
      {"100e-2", "1", Format::kDecimalExponent},
      {"1e-10", "1e-9", Format::kDecimalExponent},
      {"1e1", "10", Format::kDecimalExponent},
      {"1e2", "100", Format::kDecimalExponent},
      {"1e4", "10e3", Format::kDecimalExponent},
      {"10e2", "1e3", Format::kDecimalExponent},
      {"123456e-4", "12345600e-6", Format::kDecimalExponent},
      {"1e100", "10e99", Format::kDecimalExponent},
      {"-2.5e3", "-2500", Format::kDecimalExponent},
      {"1e-300", "1e-9", Format::kDecimalExponent},
      {"0", "0", Format::kDecimalSI},
      {"-0", "0", Format::kDecimalSI},
      {"0.0", "0", Format::kDecimalSI},
      {"000", "0", Format::kDecimalSI},
      {"0m", "0", Format::kDecimalSI},
      {"0Gi", "0", Format::kDecimalSI},
      {"0e5", "0", Format::kDecimalSI},
      {"3.001Mi", "3146776576m", Format::kBinarySI},
      {"3.1Ti", "3408486046105600m", Format::kBinarySI},
      {"1152921504606846976", "1152921504606846976", Format::kDecimalSI},
      {"1048576", "1048576", Format::kDecimalSI},
      {"1099511627776k", "1099511627776k", Format::kDecimalSI},
      {"4095Ki", "4095Ki", Format::kBinarySI},
      {"4097Ki", "4097Ki", Format::kBinarySI},
      {"0.25Mi", "256Ki", Format::kBinarySI},
  };
  for (const Case& c : kCases) {
    Quantity q = Q(c.text);
    EXPECT_EQ(q.text(), c.canonical) << c.text;
    EXPECT_EQ(q.ToString(), c.canonical) << c.text;
    EXPECT_EQ(q.format(), c.format) << c.text;
    EXPECT_EQ(Q(q.text()), q) << c.text;
    // Quantities of equal amount are one and the same, whatever they were read from.
    EXPECT_EQ(Q(q.text()).HashValue(), q.HashValue()) << c.text;
  }
}

TEST(QuantityTest, RefusesWhatIsNoQuantity) {
  for (std::string_view text : {std::string_view(""),        std::string_view("1.1.M"), std::string_view("1+1.0M"),
                                std::string_view("0.1mi"),   std::string_view("0.1am"), std::string_view("aoeu"),
                                std::string_view(".5i"),     std::string_view("1i"),    std::string_view("-3.01i"),
                                std::string_view("-3.01e-"), std::string_view(" 1"),    std::string_view("1 "),
                                std::string_view("1e"),      std::string_view("1E+"),   std::string_view("1K"),
                                std::string_view("1ki"),     std::string_view("1Kib"),  std::string_view("1mm"),
                                std::string_view("--1"),     std::string_view("1e1.5"), std::string_view("1e9223372036854775808"),
                                std::string_view("0x10"),    std::string_view("1,5"),   std::string_view("1_000"),
                                std::string_view("NaN"),     std::string_view("inf"),   std::string_view("1e 3"),
                                std::string_view("+-1"),     std::string_view("1e+-3"), std::string_view("1\0", 2),
                                std::string_view("1\x02"),   std::string_view("-"),     std::string_view("."),
                                std::string_view("m"),       std::string_view("Ki"),    std::string_view("e3"),
                                std::string_view("\xff")}) {
    Result<Quantity> q = Quantity::Parse(text);
    ASSERT_FALSE(q.ok()) << text << " gave " << *q;
    EXPECT_EQ(q.error().kind(), ErrorKind::kDecode);
    EXPECT_FALSE(Quantity::IsCanonicalText(text)) << text;
  }
}

TEST(QuantityTest, ErrorsQuoteTheTextAndStayShort) {
  EXPECT_NE(Quantity::Parse("1.5Kx").error().message().find("\"1.5Kx\""), std::string::npos);
  EXPECT_NE(Quantity::Parse("a\"\n\xff").error().message().find(R"("a\"\x0a\xff")"), std::string::npos);
  std::string huge(1'000'000, '9');
  EXPECT_LT(Quantity::Parse(huge).error().message().size(), 300u);
}

TEST(QuantityTest, BoundsTextAndExponent) {
  EXPECT_TRUE(Quantity::Parse(std::string(Quantity::kMaxTextSize, '7')).ok());
  EXPECT_FALSE(Quantity::Parse(std::string(Quantity::kMaxTextSize + 1, '7')).ok());
  EXPECT_EQ(Q("1e510").text(), "1e510");
  EXPECT_EQ(Q("1e511").text(), "10e510");
  EXPECT_FALSE(Quantity::Parse("1e512").ok());
  EXPECT_FALSE(Quantity::Parse("1000e510").ok());
  EXPECT_EQ(Q(".001e512").text(), "100e507");
  EXPECT_FALSE(Quantity::Parse(std::string(509, '7') + ".7M").ok());  // one character more in canonical form
  EXPECT_FALSE(Quantity::Parse("1e4294967296").ok());
  EXPECT_EQ(Q("1e-4294967296").text(), "1e-9");
  EXPECT_EQ(Q("-1e-9223372036854775808").text(), "-1e-9");
  EXPECT_EQ(Q(std::string(500, '0') + "7m").text(), "7m");
  EXPECT_EQ(Q("1." + std::string(400, '0') + "1").text(), "1000000001n");
}

TEST(QuantityTest, RecognisesCanonicalText) {
  for (const char* text : {"1", "10", "100", "1001", "-5", "500m", "1500m", "7n", "7u", "12k", "1E", "1000E", "1Gi", "1536Mi", "1023Ki",
                           "1000Ki", "7Ei", "-1Mi", "999999999999999999"}) {
    EXPECT_TRUE(Quantity::IsCanonicalText(text)) << text;
    EXPECT_EQ(Q(text).text(), text);
  }
  for (const char* text : {"0", "1000", "+1", "01", "1.5", "1000m", "2000k", "1024Ki", "2048Pi", "8Ei", "9007199254740992Ki", "1000000",
                           "-0", "1.", "1k ", "1e3", "-", "i", "Ki"}) {
    EXPECT_FALSE(Quantity::IsCanonicalText(text)) << text;
  }
}

TEST(QuantityTest, KeepsLargeDecimalAmountsExactly) {
  // Go drops the suffix of these.
  EXPECT_EQ(Q("1000E").text(), "1000E");
  EXPECT_EQ(Q("100000000000000000000E").text(), "100000000000000000000E");
  EXPECT_EQ(Q("123456789012345678901234567890123456789012345678901").text(), "123456789012345678901234567890123456789012345678901");
  EXPECT_EQ(Q("123456789012345678901234567890.123456789").text(), "123456789012345678901234567890123456789n");
  EXPECT_EQ(Q("1000E") + Q("1n"), Q("1000000000000000000000.000000001"));
}

TEST(QuantityTest, IsMadeFromIntegers) {
  EXPECT_EQ(Quantity::FromInt64(1000).text(), "1k");
  EXPECT_EQ(Quantity::FromInt64(1000, Format::kBinarySI).text(), "1k");  // below 1Ki binary amounts look decimal
  EXPECT_EQ(Quantity::FromInt64(2000, Format::kBinarySI).text(), "2000");
  EXPECT_EQ(Quantity::FromInt64(2048, Format::kBinarySI).text(), "2Ki");
  EXPECT_EQ(Quantity::FromInt64(-2048, Format::kBinarySI).text(), "-2Ki");
  EXPECT_EQ(Quantity::FromInt64(1000, Format::kDecimalExponent).text(), "1e3");
  EXPECT_EQ(Quantity::FromInt64(5, Format::kDecimalExponent).text(), "5");
  EXPECT_EQ(Quantity::FromInt64(kMax).text(), "9223372036854775807");
  EXPECT_EQ(Quantity::FromInt64(kMin).text(), "-9223372036854775808");
  EXPECT_EQ(Quantity::FromInt64(kMin).AsInt64(), kMin);
  EXPECT_EQ(Quantity::FromMilli(1500).text(), "1500m");
  EXPECT_EQ(Quantity::FromMilli(2000).text(), "2");
  EXPECT_EQ(Quantity::FromMilli(1500, Format::kBinarySI).text(), "1500m");
  EXPECT_EQ(Quantity::FromScaled(5, 6).text(), "5M");
  EXPECT_EQ(Quantity::FromScaled(5, -9).text(), "5n");
  EXPECT_EQ(Quantity::FromScaled(5, -10).text(), "1n");
  EXPECT_EQ(Quantity::FromScaled(-5, -2'000'000'000).text(), "-1n");
  EXPECT_EQ(Quantity::FromScaled(kMax, 400, Format::kDecimalExponent).text(), "92233720368547758070e399");
}

TEST(QuantityTest, RemembersAFormatThatItsTextDoesNotShow) {
  Quantity small = Quantity::FromInt64(512, Format::kBinarySI);
  EXPECT_EQ(small.text(), "512");
  EXPECT_EQ(small.format(), Format::kBinarySI);
  EXPECT_EQ((small + Q("1536")).text(), "2Ki");
  EXPECT_EQ((Q("512") + Q("1536")).text(), "2048");
  EXPECT_EQ(small, Q("512"));
  EXPECT_EQ(small.HashValue(), Q("512").HashValue());
  EXPECT_EQ((Q("1e0") + Q("999")).text(), "1e3");
  EXPECT_EQ((-small).text(), "-512");
  EXPECT_EQ((-small).format(), Format::kBinarySI);
}

TEST(QuantityTest, AddsAndSubtractsExactly) {
  struct Case {
    const char *a, *b, *sum, *difference;
  };
  for (const Case& c : {
           Case{"1", "500m", "1500m", "500m"},
           Case{"100m", "0", "100m", "100m"},
           Case{"0", "1Gi", "1Gi", "-1Gi"},
           Case{"0", "100m", "100m", "-100m"},
           Case{"1Gi", "1Gi", "2Gi", "0"},
           Case{"1Gi", "1G", "2073741824", "73741824"},
           Case{"1G", "1Gi", "2073741824", "-73741824"},
           Case{"1Gi", "1Mi", "1025Mi", "1023Mi"},
           Case{"1Gi", "100m", "1073741824100m", "1073741823900m"},
           Case{"1e3", "1", "1001", "999"},
           Case{"-1", "2", "1", "-3"},
           Case{"2", "-1", "1", "3"},
           Case{"-1", "-1n", "-1000000001n", "-999999999n"},
           Case{"9223372036854775807", "1", "9223372036854775808", "9223372036854775806"},
           Case{"999999999999999999", "1n", "999999999999999999000000001n", "999999999999999998999999999n"},
           Case{"1e400", "1e400", "20e399", "0"},
       }) {
    EXPECT_EQ((Q(c.a) + Q(c.b)).text(), c.sum) << c.a << " + " << c.b;
    EXPECT_EQ((Q(c.a) - Q(c.b)).text(), c.difference) << c.a << " - " << c.b;
    EXPECT_EQ(Q(c.a) + Q(c.b), Q(c.b) + Q(c.a));
    EXPECT_EQ(Q(c.a) - Q(c.b), -(Q(c.b) - Q(c.a)));
  }
}

TEST(QuantityTest, ArithmeticGoesBeyond64And128Bits) {
  Quantity q = Q("7Ei");
  q += Q("7Ei");
  EXPECT_EQ(q.text(), "16140901064495857664");  // a binary suffix would be capped by the next reader
  EXPECT_EQ(q.format(), Format::kBinarySI);
  EXPECT_EQ((q - Q("7Ei")).text(), "7Ei");
  Quantity doubled = Q("1n");
  for (int i = 0; i < 300; ++i) doubled += doubled;
  Quantity power = Q("1n");
  for (int i = 0; i < 30; ++i) power.Mul(1024);
  EXPECT_EQ(power, doubled);
  EXPECT_EQ(power - doubled, Quantity());
}

TEST(QuantityTest, MultipliesExactly) {
  EXPECT_EQ(Q("500m").Mul(3).text(), "1500m");
  EXPECT_EQ(Q("1Gi").Mul(-2).text(), "-2Gi");
  EXPECT_EQ(Q("-1").Mul(-1).text(), "1");
  EXPECT_EQ(Q("1").Mul(0).text(), "0");
  EXPECT_EQ(Q("9223372036854775807").Mul(kMax).text(), "85070591730234615847396907784232501249");
  EXPECT_EQ(Q("1").Mul(kMin).text(), "-9223372036854775808");
}

TEST(QuantityTest, AddsToItself) {
  Quantity q = Q("1500m");
  const Quantity& same = q;
  q += same;
  EXPECT_EQ(q.text(), "3");
  q -= same;
  EXPECT_TRUE(q.IsZero());
}

TEST(QuantityTest, AgreesWithIntegerArithmetic) {
  std::mt19937_64 random(11);
  for (int i = 0; i < 5000; ++i) {
    auto a = static_cast<std::int64_t>(random() % 2'000'000'000'000) - 1'000'000'000'000;
    auto b = static_cast<std::int64_t>(random() % (i % 2 == 0 ? 1000 : 2'000'000'000'000)) - 500;
    Format format = static_cast<Format>(random() % 3);
    Quantity x = Quantity::FromMilli(a, format), y = Quantity::FromMilli(b);
    ASSERT_EQ((x + y).MilliValue(), a + b);
    ASSERT_EQ((x - y).MilliValue(), a - b);
    ASSERT_EQ((x + y - y), x);
    ASSERT_EQ(x < y, a < b);
    ASSERT_EQ(x == y, a == b);
    ASSERT_EQ(x.Sign(), a < 0 ? -1 : a > 0 ? 1 : 0);
    ASSERT_EQ(Q(x.text()), x);
  }
}

TEST(QuantityTest, ComparesByAmount) {
  EXPECT_EQ(Q("1Gi"), Q("1073741824"));
  EXPECT_EQ(Q("1"), Q("1000m"));
  EXPECT_EQ(Q("1e3"), Q("1k"));
  EXPECT_NE(Q("1G"), Q("1Gi"));
  EXPECT_LT(Q("1G"), Q("1Gi"));
  EXPECT_LT(Q("-1"), Q("0"));
  EXPECT_LT(Q("-2"), Q("-1"));
  EXPECT_GT(Q("1n"), Q("0"));
  EXPECT_LT(Q("999999999n"), Q("1"));
  EXPECT_LT(Q("7Ei"), Q("1e19"));
  EXPECT_LT(Q("1e300"), Q("1e301"));
  EXPECT_LT(Q("-1e301"), Q("-1e300"));
  EXPECT_EQ(Q("1Gi").Cmp(Q("1Mi")), 1);
  EXPECT_EQ(Q("1Mi").Cmp(Q("1Gi")), -1);
  EXPECT_EQ(Q("1Ki").Cmp(Q("1024")), 0);
}

TEST(QuantityTest, HashFollowsEquality) {
  for (auto [a, b] : {std::pair{"1Gi", "1073741824"},
                      {"1", "1000m"},
                      {"1e3", "1k"},
                      {"-1Ki", "-1024"},
                      {"100E", "1e20"},
                      {"1e40", "10000000000000000000000E"}}) {
    ASSERT_EQ(Q(a), Q(b));
    EXPECT_EQ(Q(a).HashValue(), Q(b).HashValue()) << a;
  }
  EXPECT_NE(Q("1").HashValue(), Q("-1").HashValue());
  EXPECT_NE(Q("1").HashValue(), Q("1k").HashValue());
  std::unordered_set<Quantity> set{Q("1Gi"), Q("1000m")};
  EXPECT_TRUE(set.contains(Q("1")));
  EXPECT_FALSE(set.contains(Q("2")));
}

TEST(QuantityTest, ValuesAreRoundedAwayFromZeroAndBounded) {
  EXPECT_EQ(Q("1500m").Value(), 2);
  EXPECT_EQ(Q("-1500m").Value(), -2);
  EXPECT_EQ(Q("1n").Value(), 1);
  EXPECT_EQ(Q("1n").MilliValue(), 1);
  EXPECT_EQ(Q("1500m").MilliValue(), 1500);
  EXPECT_EQ(Q("1Ki").MilliValue(), 1'024'000);
  EXPECT_EQ(Q("1").ScaledValue(-9), 1'000'000'000);
  EXPECT_EQ(Q("1").ScaledValue(-18), 1'000'000'000'000'000'000);
  EXPECT_EQ(Q("1").ScaledValue(-19), kMax);
  EXPECT_EQ(Q("1001").ScaledValue(3), 2);
  EXPECT_EQ(Q("1001").ScaledValue(50), 1);
  EXPECT_EQ(Q("-1001").ScaledValue(std::numeric_limits<int>::max()), -1);
  EXPECT_EQ(Q("-1").ScaledValue(std::numeric_limits<int>::min()), kMin);
  EXPECT_EQ(Q("1E").MilliValue(), kMax);
  EXPECT_EQ(Q("-1E").MilliValue(), kMin);
  EXPECT_EQ(Q("1e300").Value(), kMax);
  EXPECT_EQ(Q("1e300").ScaledValue(299), 10);
  EXPECT_EQ(Q("-9223372036854775808").Value(), kMin);
}

TEST(QuantityTest, AsInt64IsExactOrNothing) {
  EXPECT_EQ(Q("1Gi").AsInt64(), std::int64_t{1} << 30);
  EXPECT_EQ(Q("1000m").AsInt64(), 1);
  EXPECT_EQ(Q("9223372036854775807").AsInt64(), kMax);
  EXPECT_EQ(Q("-9223372036854775808").AsInt64(), kMin);
  EXPECT_EQ(Q("9223372036854775808").AsInt64(), std::nullopt);
  EXPECT_EQ(Q("-9223372036854775809").AsInt64(), std::nullopt);
  EXPECT_EQ(Q("1m").AsInt64(), std::nullopt);
  EXPECT_EQ(Q("1e300").AsInt64(), std::nullopt);
}

TEST(QuantityTest, ApproximatesByTheNearestDouble) {
  EXPECT_EQ(Q("1500m").AsApproximateDouble(), 1.5);
  EXPECT_EQ(Q("100m").AsApproximateDouble(), 0.1);
  EXPECT_EQ(Q("-3Ki").AsApproximateDouble(), -3072.0);
  EXPECT_EQ(Q("1n").AsApproximateDouble(), 1e-9);
  EXPECT_EQ(Q("1e300").AsApproximateDouble(), 1e300);
  EXPECT_EQ(Q("9007199254740993").AsApproximateDouble(), 9007199254740992.0);
  EXPECT_TRUE(std::isinf(Q("1e400").AsApproximateDouble()));
  EXPECT_LT(Q("-1e400").AsApproximateDouble(), 0);
}

TEST(QuantityTest, ChangesFormat) {
  EXPECT_EQ(Q("1Gi").WithFormat(Format::kDecimalSI).text(), "1073741824");
  EXPECT_EQ(Q("1073741824").WithFormat(Format::kBinarySI).text(), "1Gi");
  EXPECT_EQ(Q("12M").WithFormat(Format::kDecimalExponent).text(), "12e6");
  EXPECT_EQ(Q("12e6").WithFormat(Format::kDecimalSI).text(), "12M");
  EXPECT_EQ(Q("1e21").WithFormat(Format::kDecimalSI).text(), "1000E");
}

TEST(QuantityTest, PrintsItsText) { EXPECT_EQ(::testing::PrintToString(Q("1.5Gi")), "1536Mi"); }

}  // namespace
}  // namespace kube
