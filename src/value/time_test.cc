#include "kube/value/time.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <limits>
#include <random>
#include <string>

#include "kube/value/chrono.h"

namespace kube {
namespace {

using std::chrono::hours;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::nanoseconds;
using std::chrono::seconds;

constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();

static_assert(sizeof(Time) == 8 && sizeof(MicroTime) == 8 && sizeof(Duration) == 8);
static_assert(std::is_trivially_copyable_v<Time> && std::is_trivially_copyable_v<MicroTime> && std::is_trivially_copyable_v<Duration>);

template <typename T>
bool IsAllZero(const T& value) {
  unsigned char zero[sizeof value] = {};
  return std::memcmp(&value, zero, sizeof value) == 0;
}

// ---- Time ----

TEST(TimeTest, IsUnsetByDefaultAndAllZeroBytes) {
  Time t;
  EXPECT_TRUE(IsAllZero(t));
  EXPECT_TRUE(t.IsZero());
  EXPECT_EQ(t.ToString(), "0001-01-01T00:00:00Z");
  EXPECT_EQ(t.unix_seconds(), -62135596800);
  EXPECT_TRUE(Time::Parse("0001-01-01T00:00:00Z")->IsZero());
  EXPECT_FALSE(Time::FromUnix(0).IsZero());
}

TEST(TimeTest, ConvertsToAndFromUnixSecondsAndChrono) {
  EXPECT_EQ(Time::FromUnix(0).ToString(), "1970-01-01T00:00:00Z");
  EXPECT_EQ(Time::FromUnix(1'700'000'000).ToString(), "2023-11-14T22:13:20Z");
  EXPECT_EQ(Time::FromUnix(-1).ToString(), "1969-12-31T23:59:59Z");
  EXPECT_EQ(Time::FromUnix(253402300799).ToString(), "9999-12-31T23:59:59Z");
  std::chrono::sys_seconds chrono(seconds(1'700'000'000));
  EXPECT_EQ(ToChrono(Time(chrono)), chrono);
  EXPECT_GT(Time::Now(), Time::FromUnix(1'700'000'000));
}

// What Go's time.Parse(time.RFC3339) makes of these texts.
TEST(TimeTest, ReadsRfc3339) {
  struct Case {
    const char* text;
    const char* utc;
  };
  for (const Case& c : {
           Case{"2006-01-02T15:04:05Z", "2006-01-02T15:04:05Z"},
           Case{"2006-01-02T15:04:05+07:00", "2006-01-02T08:04:05Z"},
           Case{"2006-01-02T15:04:05-07:30", "2006-01-02T22:34:05Z"},
           Case{"2006-01-02T15:04:05-00:00", "2006-01-02T15:04:05Z"},
           Case{"2006-01-02T15:04:05.999999999Z", "2006-01-02T15:04:05Z"},
           Case{"2006-01-02T15:04:05.1+01:00", "2006-01-02T14:04:05Z"},
           Case{"2006-01-02T15:04:05,5Z", "2006-01-02T15:04:05Z"},
           Case{"2006-01-02T15:04:05.123456789012345Z", "2006-01-02T15:04:05Z"},
           Case{"2006-01-02T5:04:05Z", "2006-01-02T05:04:05Z"},
           Case{"2024-02-29T00:00:00Z", "2024-02-29T00:00:00Z"},
           Case{"2000-02-29T23:59:59Z", "2000-02-29T23:59:59Z"},
           Case{"2024-12-31T23:59:59-01:00", "2025-01-01T00:59:59Z"},
           Case{"2006-01-02T15:04:05+24:60", "2006-01-01T14:04:05Z"},
           Case{"0000-01-01T00:00:00Z", "0000-01-01T00:00:00Z"},
           Case{"9999-12-31T23:59:59Z", "9999-12-31T23:59:59Z"},
           Case{"9999-12-31T23:59:59-01:00", "10000-01-01T00:59:59Z"},
           Case{"0000-01-01T00:00:00+01:00", "-0001-12-31T23:00:00Z"},
       }) {
    Result<Time> t = Time::Parse(c.text);
    ASSERT_TRUE(t.ok()) << c.text;
    EXPECT_EQ(t->ToString(), c.utc) << c.text;
  }
}

TEST(TimeTest, RefusesWhatIsNoRfc3339) {
  for (std::string_view text : {"",
                                "2006",
                                "2006-01-02",
                                "2006-01-02T15:04:05",
                                "2006-01-02 15:04:05Z",
                                "2006-01-02t15:04:05Z",
                                "2006-01-02T15:04:05z",
                                "2006-13-02T15:04:05Z",
                                "2006-00-02T15:04:05Z",
                                "2006-01-32T15:04:05Z",
                                "2006-01-00T15:04:05Z",
                                "2006-02-29T15:04:05Z",
                                "1900-02-29T15:04:05Z",
                                "2006-04-31T15:04:05Z",
                                "2006-01-02T24:00:00Z",
                                "2006-01-02T15:60:00Z",
                                "2006-01-02T23:59:60Z",
                                "2006-01-02T15:04:05.Z",
                                "2006-01-02T15:04:05.",
                                "2006-01-02T15:04:05+0700",
                                "2006-01-02T15:04:05+07",
                                "2006-01-02T15:04:05+25:00",
                                "2006-01-02T15:04:05+07:61",
                                "2006-01-02T15:04:05Zx",
                                "2006-01-02T15:04:05ZZ",
                                " 2006-01-02T15:04:05Z",
                                "206-01-02T15:04:05Z",
                                "12006-01-02T15:04:05Z",
                                "-006-01-02T15:04:05Z",
                                "2006-1-02T15:04:05Z",
                                "2006-01-2T15:04:05Z",
                                "2006-01-02T15:4:05Z",
                                "2006-01-02T15:04:5Z",
                                "2006-01-02T15:04Z",
                                "2006-01-02T:04:05Z",
                                "null",
                                "2006-01-02T15:04:05 Z",
                                "2006/01/02T15:04:05Z",
                                "2006-01-02T15:04:05+07:0",
                                "2006-01-02T15:04:05*07:00"}) {
    Result<Time> t = Time::Parse(text);
    ASSERT_FALSE(t.ok()) << text << " gave " << *t;
    EXPECT_EQ(t.error().kind(), ErrorKind::kDecode);
  }
  EXPECT_NE(Time::Parse("yesterday").error().message().find("\"yesterday\""), std::string::npos);
}

TEST(TimeTest, RoundTripsEveryDayOfFourCenturies) {
  Time t = *Time::Parse("1800-01-01T12:34:56Z");
  std::string before;
  for (int day = 0; day < 146097; ++day) {
    char buffer[Time::kMaxTextSize];
    std::string text(buffer, t.Format(buffer));
    ASSERT_EQ(text.size(), 20u);
    ASSERT_LT(before, text);
    Result<Time> again = Time::Parse(text);
    ASSERT_TRUE(again.ok()) << text;
    ASSERT_EQ(*again, t) << text;
    before = text;
    t = t + Duration(hours(24));
  }
  EXPECT_EQ(t.ToString(), "2200-01-01T12:34:56Z");
}

TEST(TimeTest, ExtremesAreBoundedAndPrintable) {
  for (std::int64_t s : {kMin, kMin + 1, kMax - 1, kMax}) {
    Time t = Time::FromUnix(s);
    EXPECT_LE(t.ToString().size(), Time::kMaxTextSize);
    EXPECT_EQ(t.ToString().back(), 'Z');
  }
  EXPECT_EQ(Time::FromUnix(kMax), Time::FromUnix(kMax - 1));
  EXPECT_EQ(Time::FromUnix(kMax) + Duration(seconds(1)), Time::FromUnix(kMax));
  EXPECT_EQ((Time::FromUnix(kMax) - Time::FromUnix(kMin)).nanoseconds(), kMax);
}

TEST(TimeTest, ComparesAndSubtracts) {
  Time a = Time::FromUnix(100), b = Time::FromUnix(160);
  EXPECT_LT(a, b);
  EXPECT_EQ(b - a, Duration(minutes(1)));
  EXPECT_EQ(a - b, Duration(minutes(-1)));
  EXPECT_EQ(a + Duration(minutes(1)), b);
  EXPECT_EQ(a + Duration(milliseconds(1999)), Time::FromUnix(101));
  EXPECT_EQ(a + Duration(milliseconds(-1)), Time::FromUnix(99));
  EXPECT_LT(Time(), a);
}

// ---- MicroTime ----

TEST(MicroTimeTest, IsUnsetByDefaultAndAllZeroBytes) {
  MicroTime t;
  EXPECT_TRUE(IsAllZero(t));
  EXPECT_TRUE(t.IsZero());
  EXPECT_EQ(t.ToString(), "0001-01-01T00:00:00.000000Z");
  EXPECT_EQ(MicroTime(Time()), MicroTime());
}

TEST(MicroTimeTest, ReadsExactlySixDigitsOfAFraction) {
  EXPECT_EQ(MicroTime::Parse("2006-01-02T15:04:05.000001Z")->ToString(), "2006-01-02T15:04:05.000001Z");
  EXPECT_EQ(MicroTime::Parse("2006-01-02T15:04:05.123456+07:00")->ToString(), "2006-01-02T08:04:05.123456Z");
  EXPECT_EQ(MicroTime::Parse("2006-01-02T15:04:05,999999Z")->ToString(), "2006-01-02T15:04:05.999999Z");
  EXPECT_EQ(MicroTime::Parse("0000-01-01T00:00:00.000001Z")->ToString(), "0000-01-01T00:00:00.000001Z");
  for (const char* text : {"2006-01-02T15:04:05Z", "2006-01-02T15:04:05.Z", "2006-01-02T15:04:05.12345Z", "2006-01-02T15:04:05.1234567Z",
                           "2006-01-02T15:04:05.+12345Z", "2006-01-02T15:04:05.123456", "2006-01-02T15:04:05.12345"}) {
    EXPECT_FALSE(MicroTime::Parse(text).ok()) << text;
  }
}

TEST(MicroTimeTest, ConvertsToAndFromUnix) {
  MicroTime t = MicroTime::FromUnix(1'700'000'000, 123'456'789);
  EXPECT_EQ(t.ToString(), "2023-11-14T22:13:20.123456Z");
  EXPECT_EQ(t.unix_micros(), 1'700'000'000'123'456);
  EXPECT_EQ(t.unix_seconds(), 1'700'000'000);
  EXPECT_EQ(t.nanoseconds(), 123'456'000);
  EXPECT_EQ(MicroTime::FromUnixMicros(t.unix_micros()), t);
  EXPECT_EQ(MicroTime(ToChrono(t)), t);
  MicroTime before = MicroTime::FromUnixMicros(-1);
  EXPECT_EQ(before.ToString(), "1969-12-31T23:59:59.999999Z");
  EXPECT_EQ(before.unix_seconds(), -1);
  EXPECT_EQ(before.nanoseconds(), 999'999'000);
  EXPECT_EQ(MicroTime::FromUnix(0, -1), before);
  EXPECT_EQ(MicroTime::FromUnix(-62135596801, 999'999'000).nanoseconds(), 999'999'000);
  EXPECT_GT(MicroTime::Now(), t);
}

TEST(MicroTimeTest, ExtremesAreBoundedAndPrintable) {
  for (std::int64_t s : {kMin, kMax}) {
    for (std::int32_t n : {std::numeric_limits<std::int32_t>::min(), 0, std::numeric_limits<std::int32_t>::max()}) {
      EXPECT_LE(MicroTime::FromUnix(s, n).ToString().size(), MicroTime::kMaxTextSize);
    }
    EXPECT_LE(MicroTime::FromUnixMicros(s).ToString().size(), MicroTime::kMaxTextSize);
  }
  EXPECT_GE(MicroTime::FromUnix(kMin, 0).nanoseconds(), 0);
}

TEST(MicroTimeTest, ComparesAndSubtracts) {
  MicroTime a = MicroTime::FromUnixMicros(5), b = MicroTime::FromUnixMicros(7);
  EXPECT_LT(a, b);
  EXPECT_EQ(b - a, Duration(microseconds(2)));
  EXPECT_EQ(a + Duration(nanoseconds(2999)), b);
}

// ---- Duration ----

TEST(DurationTest, IsZeroByDefaultAndAllZeroBytes) {
  Duration d;
  EXPECT_TRUE(IsAllZero(d));
  EXPECT_TRUE(d.IsZero());
  EXPECT_EQ(d.ToString(), "0s");
}

TEST(DurationTest, ConvertsFromAndToChrono) {
  static_assert(Duration(hours(1)).nanoseconds() == 3'600'000'000'000);
  static_assert(Duration(minutes(1)) == Duration(seconds(60)));
  EXPECT_EQ(ToChrono(Duration(milliseconds(1500))), nanoseconds(1'500'000'000));
  EXPECT_EQ(Duration(milliseconds(1500)).seconds(), 1.5);
  EXPECT_EQ(Duration(hours(kMax)).nanoseconds(), kMax);
  EXPECT_EQ(Duration(hours(kMin)).nanoseconds(), kMin);
  EXPECT_EQ(Duration(seconds(1)) + Duration(milliseconds(1)), Duration(milliseconds(1001)));
  EXPECT_EQ(Duration::FromNanoseconds(kMax) + Duration(seconds(1)), Duration::FromNanoseconds(kMax));
  EXPECT_EQ(Duration::FromNanoseconds(kMin) - Duration(seconds(1)), Duration::FromNanoseconds(kMin));
  EXPECT_LT(Duration(seconds(-1)), Duration());
}

// What Go's time.Duration prints.
TEST(DurationTest, PrintsAsGoDoes) {
  struct Case {
    std::int64_t nanoseconds;
    const char* text;
  };
  for (const Case& c : {
           Case{1, "1ns"},
           Case{-1, "-1ns"},
           Case{1100, "1.1\xc2\xb5s"},
           Case{2'000'000, "2ms"},
           Case{2'200'000, "2.2ms"},
           Case{999'999'999, "999.999999ms"},
           Case{1'000'000'000, "1s"},
           Case{1'500'000'000, "1.5s"},
           Case{60'000'000'000, "1m0s"},
           Case{5'400'000'000'000, "1h30m0s"},
           Case{3'600'000'000'001, "1h0m0.000000001s"},
           Case{-90'000'000'000, "-1m30s"},
           Case{360'000'000'000'000, "100h0m0s"},
           Case{kMax, "2562047h47m16.854775807s"},
           Case{kMin, "-2562047h47m16.854775808s"},
       }) {
    Duration d = Duration::FromNanoseconds(c.nanoseconds);
    char buffer[Duration::kMaxTextSize];
    EXPECT_EQ(std::string_view(buffer, d.Format(buffer)), c.text);
    EXPECT_EQ(d.ToString(), c.text);
    Result<Duration> again = Duration::Parse(c.text);
    ASSERT_TRUE(again.ok()) << c.text;
    EXPECT_EQ(*again, d) << c.text;
  }
}

// What Go's time.ParseDuration makes of these texts.
TEST(DurationTest, ReadsGoSyntax) {
  struct Case {
    const char* text;
    std::int64_t nanoseconds;
  };
  for (const Case& c : {
           Case{"0", 0},
           Case{"-0", 0},
           Case{"+0", 0},
           Case{"5s", 5'000'000'000},
           Case{"+5s", 5'000'000'000},
           Case{"-5s", -5'000'000'000},
           Case{"5.s", 5'000'000'000},
           Case{".5s", 500'000'000},
           Case{"1.004s", 1'004'000'000},
           Case{"100.00100s", 100'001'000'000},
           Case{"10ns", 10},
           Case{"11us", 11'000},
           Case{"12\xc2\xb5s", 12'000},
           Case{"12\xce\xbcs", 12'000},
           Case{"13ms", 13'000'000},
           Case{"1.5h", 5'400'000'000'000},
           Case{"1h30m", 5'400'000'000'000},
           Case{"3h2m1s4ms5us6ns", 10'921'004'005'006},
           Case{"1m1h1m", 3'720'000'000'000},
           Case{"-1.5h30m", -7'200'000'000'000},
           Case{"0.3333333333333333333h", 1'200'000'000'000},
           Case{"0.100000000000000000000h", 360'000'000'000},
           Case{"9007199254740993ns", 9'007'199'254'740'993},
           Case{"9223372036854775807ns", kMax},
           Case{"-9223372036854775808ns", kMin},
           Case{"-2562047h47m16.854775808s", kMin},
           Case{"0.9ns", 0},
       }) {
    Result<Duration> d = Duration::Parse(c.text);
    ASSERT_TRUE(d.ok()) << c.text;
    EXPECT_EQ(d->nanoseconds(), c.nanoseconds) << c.text;
  }
}

TEST(DurationTest, RefusesWhatIsNoDuration) {
  for (const char* text : {"",
                           "-",
                           "+",
                           "3",
                           "s",
                           ".",
                           "-.",
                           ".s",
                           "+.s",
                           "1d",
                           "5x",
                           "1h2",
                           "1 h",
                           " 1h",
                           "1h ",
                           "1H",
                           "--1s",
                           "1s-2s",
                           "1e3s",
                           "9223372036854775808ns",
                           "9223372036854775.808us",
                           "3000000h",
                           "2562047h47m16.854775808s",
                           "-9223372036854775809ns",
                           "99999999999999999999s",
                           "9223372036854775808ns9223372036854775808ns",
                           "1\xc2s",
                           "00:30",
                           "\xff\xff"}) {
    Result<Duration> d = Duration::Parse(text);
    ASSERT_FALSE(d.ok()) << text << " gave " << *d;
    EXPECT_EQ(d.error().kind(), ErrorKind::kDecode);
  }
}

TEST(DurationTest, RoundTripsRandomDurations) {
  std::mt19937_64 random(3);
  for (int i = 0; i < 20000; ++i) {
    auto n = static_cast<std::int64_t>(random()) >> (random() % 64);
    Result<Duration> d = Duration::Parse(Duration::FromNanoseconds(n).ToString());
    ASSERT_TRUE(d.ok());
    ASSERT_EQ(d->nanoseconds(), n);
  }
}

}  // namespace
}  // namespace kube
