#include "kube/value/time.h"

#include <chrono>
#include <cstring>
#include <optional>

#include "value/quote.h"

namespace kube {
namespace {

using internal::FloorDiv;
using internal::FloorMod;

constexpr std::int64_t kSecondsPerDay = 86400;
constexpr std::int64_t kDaysPer400Years = 146097;
constexpr std::int64_t kMarchYearZeroToYearOne = 306;  // days from 0000-03-01 to 0001-01-01

// Calendar arithmetic counts years from March, so that the leap day is the last day of a year.
std::int64_t DaysSinceYearOne(int year, int month, int day) {
  std::int64_t march_year = month <= 2 ? year - 1 : year;
  std::int64_t era = FloorDiv(march_year, 400);
  std::int64_t year_of_era = march_year - era * 400;
  std::int64_t month_from_march = (month + 9) % 12;
  std::int64_t day_of_year = (153 * month_from_march + 2) / 5 + day - 1;
  return era * kDaysPer400Years + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - kMarchYearZeroToYearOne;
}

struct Date {
  std::int64_t year;
  int month, day;
};

Date DateOf(std::int64_t days_since_year_one) {
  std::int64_t days = days_since_year_one + kMarchYearZeroToYearOne;
  std::int64_t era = FloorDiv(days, kDaysPer400Years);
  std::int64_t day_of_era = days - era * kDaysPer400Years;
  std::int64_t year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
  std::int64_t day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
  std::int64_t month_from_march = (5 * day_of_year + 2) / 153;
  int month = static_cast<int>(month_from_march < 10 ? month_from_march + 3 : month_from_march - 9);
  return {era * 400 + year_of_era + (month <= 2 ? 1 : 0), month, static_cast<int>(day_of_year - (153 * month_from_march + 2) / 5 + 1)};
}

int DaysIn(int year, int month) {
  if (month == 2) return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28;
  return month == 4 || month == 6 || month == 9 || month == 11 ? 30 : 31;
}

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// Takes tokens off the front of a text; after the first failure everything fails.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  bool ok() const { return ok_; }
  bool done() const { return text_.empty(); }
  char peek() const { return text_.empty() ? '\0' : text_[0]; }
  char peek_second() const { return text_.size() < 2 ? '\0' : text_[1]; }

  void Expect(char c) {
    if (peek() == c) {
      text_.remove_prefix(1);
    } else {
      ok_ = false;
    }
  }
  // Exactly `count` digits, up to `max`.
  int Number(std::size_t count, int max) {
    int value = 0;
    for (std::size_t i = 0; i < count; ++i) value = value * 10 + Digit();
    if (value > max) ok_ = false;
    return value;
  }
  int Digit() {
    if (!IsDigit(peek())) {
      ok_ = false;
      return 0;
    }
    int digit = text_[0] - '0';
    text_.remove_prefix(1);
    return digit;
  }
  void Skip() { text_.remove_prefix(1); }

 private:
  std::string_view text_;
  bool ok_ = true;
};

enum class Fraction { kAnyOrNone, kSixDigits };

struct Instant {
  std::int64_t seconds = 0;  // since year 1
  int microseconds = 0;
};

// RFC 3339 as Go's time.Parse takes it: `T` and `Z` in upper case, an hour may have one digit, a comma may stand for the point of a
// fraction, an offset may go up to 24:60.
std::optional<Instant> ParseInstant(std::string_view text, Fraction fraction) {
  Scanner in(text);
  int year = in.Number(4, 9999);
  in.Expect('-');
  int month = in.Number(2, 12);
  in.Expect('-');
  int day = in.Number(2, 31);
  in.Expect('T');
  int hour = in.Number(IsDigit(in.peek_second()) ? 2 : 1, 23);
  in.Expect(':');
  int minute = in.Number(2, 59);
  in.Expect(':');
  int second = in.Number(2, 59);
  if (!in.ok() || month < 1 || day < 1 || day > DaysIn(year, month)) return std::nullopt;

  Instant instant;
  if (fraction == Fraction::kSixDigits) {
    if (in.peek() != '.' && in.peek() != ',') return std::nullopt;
    in.Skip();
    instant.microseconds = in.Number(6, 999'999);
  } else if ((in.peek() == '.' || in.peek() == ',') && IsDigit(in.peek_second())) {
    in.Skip();
    while (IsDigit(in.peek())) in.Skip();
  }

  int offset = 0;
  if (in.peek() == 'Z') {
    in.Skip();
  } else {
    bool west = in.peek() == '-';
    in.Expect(west ? '-' : '+');
    offset = in.Number(2, 24) * 3600;
    in.Expect(':');
    offset += in.Number(2, 60) * 60;
    if (west) offset = -offset;
  }
  if (!in.ok() || !in.done()) return std::nullopt;
  instant.seconds = DaysSinceYearOne(year, month, day) * kSecondsPerDay + hour * 3600 + minute * 60 + second - offset;
  return instant;
}

Error NoTime(std::string_view text, std::string_view example) {
  return Error::Decode(internal::Quote(text) + " is no time: expected RFC 3339 such as " + std::string(example));
}

char* PutTwo(char* out, int value) {
  *out++ = static_cast<char>('0' + value / 10);
  *out++ = static_cast<char>('0' + value % 10);
  return out;
}

char* PutYear(char* out, std::int64_t year) {
  auto rest = static_cast<std::uint64_t>(year);
  if (year < 0) {
    *out++ = '-';
    rest = ~rest + 1;
  }
  char digits[20];
  int count = 0;
  for (; rest != 0 || count < 4; rest /= 10) digits[count++] = static_cast<char>('0' + rest % 10);
  while (count > 0) *out++ = digits[--count];
  return out;
}

// "2006-01-02T15:04:05", without the zone.
char* PutInstant(char* out, std::int64_t seconds_since_year_one) {
  std::int64_t days = FloorDiv(seconds_since_year_one, kSecondsPerDay);
  int second_of_day = static_cast<int>(FloorMod(seconds_since_year_one, kSecondsPerDay));
  Date date = DateOf(days);
  out = PutYear(out, date.year);
  *out++ = '-';
  out = PutTwo(out, date.month);
  *out++ = '-';
  out = PutTwo(out, date.day);
  *out++ = 'T';
  out = PutTwo(out, second_of_day / 3600);
  *out++ = ':';
  out = PutTwo(out, second_of_day / 60 % 60);
  *out++ = ':';
  return PutTwo(out, second_of_day % 60);
}

std::uint64_t UnitNanoseconds(std::string_view unit) {
  if (unit == "ns") return 1;
  if (unit == "us" || unit == "\xc2\xb5s" || unit == "\xce\xbcs") return 1'000;  // micro sign, Greek mu
  if (unit == "ms") return 1'000'000;
  if (unit == "s") return 1'000'000'000;
  if (unit == "m") return 60'000'000'000;
  if (unit == "h") return 3'600'000'000'000;
  return 0;
}

Error NoDuration(std::string_view text, std::string_view why) {
  return Error::Decode(internal::Quote(text) + " is no duration: " + std::string(why));
}

// Writes to the left of `end`; returns the new start.
char* PutIntegerBefore(char* end, std::uint64_t value) {
  do *--end = static_cast<char>('0' + value % 10);
  while ((value /= 10) != 0);
  return end;
}

// Writes the lowest `digits` digits as a fraction without trailing zeros, and takes them off `value`.
char* PutFractionBefore(char* end, std::uint64_t& value, int digits) {
  bool significant = false;
  for (int i = 0; i < digits; ++i, value /= 10) {
    significant = significant || value % 10 != 0;
    if (significant) *--end = static_cast<char>('0' + value % 10);
  }
  if (significant) *--end = '.';
  return end;
}

}  // namespace

// ---- Time ----

Time Time::Now() { return Time(std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now())); }

Result<Time> Time::Parse(std::string_view text) {
  std::optional<Instant> instant = ParseInstant(text, Fraction::kAnyOrNone);
  if (!instant) return NoTime(text, "2006-01-02T15:04:05Z");
  Time t;
  t.seconds_ = instant->seconds;
  return t;
}

std::size_t Time::Format(char* buffer) const {
  char* end = PutInstant(buffer, seconds_);
  *end++ = 'Z';
  return static_cast<std::size_t>(end - buffer);
}

std::string Time::ToString() const {
  char buffer[kMaxTextSize];
  return std::string(buffer, Format(buffer));
}

// ---- MicroTime ----

MicroTime MicroTime::Now() { return MicroTime(std::chrono::floor<std::chrono::microseconds>(std::chrono::system_clock::now())); }

Result<MicroTime> MicroTime::Parse(std::string_view text) {
  std::optional<Instant> instant = ParseInstant(text, Fraction::kSixDigits);
  if (!instant) return NoTime(text, "2006-01-02T15:04:05.000000Z");
  MicroTime t;
  t.microseconds_ = instant->seconds * 1'000'000 + instant->microseconds;
  return t;
}

std::size_t MicroTime::Format(char* buffer) const {
  std::int64_t seconds = FloorDiv(microseconds_, 1'000'000);
  int rest = static_cast<int>(FloorMod(microseconds_, 1'000'000));
  char* end = PutInstant(buffer, seconds);
  *end++ = '.';
  end = PutTwo(end, rest / 10'000);
  end = PutTwo(end, rest / 100 % 100);
  end = PutTwo(end, rest % 100);
  *end++ = 'Z';
  return static_cast<std::size_t>(end - buffer);
}

std::string MicroTime::ToString() const {
  char buffer[kMaxTextSize];
  return std::string(buffer, Format(buffer));
}

// ---- Duration ----

Result<Duration> Duration::Parse(std::string_view text) {
  constexpr std::uint64_t kLimit = std::uint64_t{1} << 63;  // the size of the smallest int64
  constexpr std::string_view kTooLong = "it does not fit 292 years";
  std::string_view rest = text;
  bool negative = false;
  if (rest.starts_with('-') || rest.starts_with('+')) {
    negative = rest[0] == '-';
    rest.remove_prefix(1);
  }
  if (rest == "0") return Duration();
  if (rest.empty()) return NoDuration(text, "it is empty");

  std::uint64_t total = 0;
  while (!rest.empty()) {
    std::uint64_t integer = 0;
    bool any_digit = false;
    for (; !rest.empty() && IsDigit(rest[0]); rest.remove_prefix(1)) {
      any_digit = true;
      if (integer > kLimit / 10) return NoDuration(text, kTooLong);
      integer = integer * 10 + static_cast<std::uint64_t>(rest[0] - '0');
      if (integer > kLimit) return NoDuration(text, kTooLong);
    }
    // Digits of the fraction beyond what 63 bits hold make no difference.
    std::uint64_t fraction = 0;
    double fraction_scale = 1;
    if (rest.starts_with('.')) {
      bool full = false;
      for (rest.remove_prefix(1); !rest.empty() && IsDigit(rest[0]); rest.remove_prefix(1)) {
        any_digit = true;
        full = full || fraction > (kLimit - 1) / 10;
        if (full) continue;
        std::uint64_t next = fraction * 10 + static_cast<std::uint64_t>(rest[0] - '0');
        full = next > kLimit;
        if (full) continue;
        fraction = next;
        fraction_scale *= 10;
      }
    }
    if (!any_digit) return NoDuration(text, "expected a number");

    std::size_t unit_size = 0;
    while (unit_size < rest.size() && rest[unit_size] != '.' && !IsDigit(rest[unit_size])) ++unit_size;
    if (unit_size == 0) return NoDuration(text, "a number lacks its unit (ns us ms s m h)");
    std::uint64_t unit = UnitNanoseconds(rest.substr(0, unit_size));
    if (unit == 0) return NoDuration(text, "a unit is none of ns us ms s m h");
    rest.remove_prefix(unit_size);

    if (integer > kLimit / unit) return NoDuration(text, kTooLong);
    std::uint64_t nanoseconds = integer * unit;
    // In floating point, so that "0.3h" gives the same nanosecond as in Go.
    if (fraction != 0)
      nanoseconds += static_cast<std::uint64_t>(static_cast<double>(fraction) * (static_cast<double>(unit) / fraction_scale));
    if (nanoseconds > kLimit || nanoseconds > kLimit - total) return NoDuration(text, kTooLong);
    total += nanoseconds;
  }
  if (negative) return FromNanoseconds(static_cast<std::int64_t>(~total + 1));
  if (total == kLimit) return NoDuration(text, kTooLong);
  return FromNanoseconds(static_cast<std::int64_t>(total));
}

std::size_t Duration::Format(char* buffer) const {
  char scratch[kMaxTextSize];
  char* const end = scratch + sizeof scratch;
  char* at = end;
  auto rest = static_cast<std::uint64_t>(nanoseconds_);
  if (nanoseconds_ < 0) rest = ~rest + 1;
  *--at = 's';
  if (rest == 0) {
    *--at = '0';
  } else if (rest < 1'000'000'000) {
    int digits = 0;
    if (rest < 1'000) {
      *--at = 'n';
    } else if (rest < 1'000'000) {
      *--at = '\xb5';
      *--at = '\xc2';
      digits = 3;
    } else {
      *--at = 'm';
      digits = 6;
    }
    at = PutFractionBefore(at, rest, digits);
    at = PutIntegerBefore(at, rest);
  } else {
    at = PutFractionBefore(at, rest, 9);
    at = PutIntegerBefore(at, rest % 60);
    rest /= 60;
    if (rest != 0) {
      *--at = 'm';
      at = PutIntegerBefore(at, rest % 60);
      rest /= 60;
    }
    if (rest != 0) {
      *--at = 'h';
      at = PutIntegerBefore(at, rest);
    }
  }
  if (nanoseconds_ < 0) *--at = '-';
  auto size = static_cast<std::size_t>(end - at);
  std::memcpy(buffer, at, size);
  return size;
}

std::string Duration::ToString() const {
  char buffer[kMaxTextSize];
  return std::string(buffer, Format(buffer));
}

}  // namespace kube
