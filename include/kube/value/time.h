// Time, MicroTime, Duration: times and durations in API objects.
//
//   Time        whole seconds, UTC: `2006-01-02T15:04:05Z` (creationTimestamp and most others)
//   MicroTime   microseconds, UTC: `2006-01-02T15:04:05.000000Z` (leases, events)
//   Duration    nanoseconds, in Go's syntax: `1h30m0s`
//
//   pod.metadata.creation_timestamp = Time::Now();
//   if (Time::Now() - lease_start > Duration(std::chrono::minutes(5))) ...
//
// They convert from std::chrono types; kube/value/chrono.h converts back. All-zero bytes are the default: the unset time
// (0001-01-01T00:00:00Z, Go's zero time) and a duration of 0. These types are data; for clocks and timers use kube/base/clock.h.
// Thread safety: as int.
#pragma once

#include <compare>
#include <cstdint>
#include <limits>
#include <ratio>
#include <string>
#include <string_view>
#include <type_traits>

#include "kube/base/result.h"

namespace kube {

class Time;
class MicroTime;
class Duration;

namespace internal {
inline constexpr std::int64_t kYearOneToUnixSeconds = 62135596800;  // 0001-01-01 to 1970-01-01

constexpr std::int64_t AddSaturated(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  if (!__builtin_add_overflow(a, b, &sum)) return sum;
  return a < 0 ? std::numeric_limits<std::int64_t>::min() : std::numeric_limits<std::int64_t>::max();
}
constexpr std::int64_t SubSaturated(std::int64_t a, std::int64_t b) {
  std::int64_t difference = 0;
  if (!__builtin_sub_overflow(a, b, &difference)) return difference;
  return a < 0 ? std::numeric_limits<std::int64_t>::min() : std::numeric_limits<std::int64_t>::max();
}
constexpr std::int64_t MulSaturated(std::int64_t a, std::int64_t b) {
  std::int64_t product = 0;
  if (!__builtin_mul_overflow(a, b, &product)) return product;
  return (a < 0) != (b < 0) ? std::numeric_limits<std::int64_t>::min() : std::numeric_limits<std::int64_t>::max();
}
constexpr std::int64_t FloorDiv(std::int64_t a, std::int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }
constexpr std::int64_t FloorMod(std::int64_t a, std::int64_t b) { return a % b + (a % b < 0 ? b : 0); }
}  // namespace internal

// A std::chrono::duration with a whole number of nanoseconds, and a time point of std::chrono::system_clock. Expressed as concepts, so that
// <chrono> is compiled only in programs that use it.
template <typename D>
concept ChronoDuration = std::is_integral_v<typename D::rep> && std::nano::den % D::period::den == 0 && requires(const D& d) {
  d.count();
};
template <typename P, typename Period>
concept SystemTimePoint = std::is_same_v<typename P::period, Period> && requires(const P& p) {
  p.time_since_epoch().count();
  P::clock::to_time_t(p);
};

template <typename T>
concept TimeOrDuration = std::is_same_v<T, Time> || std::is_same_v<T, MicroTime> || std::is_same_v<T, Duration>;

// A duration of at most about 292 years. Values beyond that saturate and never wrap.
class KUBE_EXPORT Duration {
 public:
  // Maximum size of the text.
  static constexpr std::size_t kMaxTextSize = 32;
  // Zero by default, or from a chrono duration, which saturates at what int64 nanoseconds can hold. FromNanoseconds takes a count.
  constexpr Duration() noexcept = default;
  template <ChronoDuration D>
  constexpr Duration(D span) noexcept  // NOLINT(google-explicit-constructor)
      : nanoseconds_(internal::MulSaturated(static_cast<std::int64_t>(span.count()), D::period::num * (std::nano::den / D::period::den))) {}
  static constexpr Duration FromNanoseconds(std::int64_t n) {
    Duration d;
    d.nanoseconds_ = n;
    return d;
  }

  // Parses what Go's time.ParseDuration accepts: "1h30m", "-1.5s", "2us". Errors: kDecode, naming the text.
  static Result<Duration> Parse(std::string_view text);

  // The whole duration in this unit.
  constexpr std::int64_t nanoseconds() const { return nanoseconds_; }
  constexpr double seconds() const { return static_cast<double>(nanoseconds_) / 1e9; }
  constexpr bool IsZero() const { return nanoseconds_ == 0; }

  // Go's format: "1h30m0s", "1.5s", "0s"; microseconds with the micro sign. At most kMaxTextSize bytes.
  std::string ToString() const;
  // Writes the text to `buffer`, which has kMaxTextSize bytes. Returns its size.
  std::size_t Format(char* buffer) const;

  friend constexpr bool operator==(Duration, Duration) = default;
  friend constexpr auto operator<=>(Duration, Duration) = default;
  friend constexpr Duration operator+(Duration a, Duration b) {
    return FromNanoseconds(internal::AddSaturated(a.nanoseconds_, b.nanoseconds_));
  }
  friend constexpr Duration operator-(Duration a, Duration b) {
    return FromNanoseconds(internal::SubSaturated(a.nanoseconds_, b.nanoseconds_));
  }

 private:
  std::int64_t nanoseconds_ = 0;
};

// A time with a resolution of one second, always UTC.
class KUBE_EXPORT Time {
 public:
  // Maximum size of the text.
  static constexpr std::size_t kMaxTextSize = 40;

  constexpr Time() noexcept = default;
  template <SystemTimePoint<std::ratio<1>> P>
  Time(P t) noexcept : Time(FromUnix(t.time_since_epoch().count())) {}  // NOLINT(google-explicit-constructor)
  // Seconds since 1970.
  static constexpr Time FromUnix(std::int64_t seconds) {
    Time t;
    t.seconds_ = internal::AddSaturated(seconds, internal::kYearOneToUnixSeconds);
    return t;
  }
  // The current time of the system. Testable code uses a kube::Clock instead.
  static Time Now();

  // Parses what Go's time.Parse(time.RFC3339) accepts and drops fractions of a second. Errors: kDecode, naming the text.
  static Result<Time> Parse(std::string_view text);

  // Whether the time is unset.
  constexpr bool IsZero() const { return seconds_ == 0; }
  constexpr std::int64_t unix_seconds() const { return internal::SubSaturated(seconds_, internal::kYearOneToUnixSeconds); }

  // "2006-01-02T15:04:05Z". Years beyond 9999 have more digits, years before 0 a sign. At most kMaxTextSize bytes.
  std::string ToString() const;
  // Writes the text to `buffer`, which has kMaxTextSize bytes. Returns its size.
  std::size_t Format(char* buffer) const;

  friend constexpr bool operator==(Time, Time) = default;
  friend constexpr auto operator<=>(Time, Time) = default;
  friend constexpr Duration operator-(Time a, Time b) {
    return Duration::FromNanoseconds(internal::MulSaturated(internal::SubSaturated(a.seconds_, b.seconds_), 1'000'000'000));
  }
  // Adds whole seconds; a fraction of the Duration is rounded down.
  friend constexpr Time operator+(Time t, Duration d) {
    t.seconds_ = internal::AddSaturated(t.seconds_, internal::FloorDiv(d.nanoseconds(), 1'000'000'000));
    return t;
  }

 private:
  std::int64_t seconds_ = 0;  // since 0001-01-01T00:00:00Z
};

// A time with a resolution of one microsecond, always UTC; within 292,000 years of year 1.
class KUBE_EXPORT MicroTime {
 public:
  // Maximum size of the text.
  static constexpr std::size_t kMaxTextSize = 40;

  constexpr MicroTime() noexcept = default;
  template <SystemTimePoint<std::micro> P>
  MicroTime(P t) noexcept  // NOLINT(google-explicit-constructor)
      : MicroTime(FromUnixMicros(t.time_since_epoch().count())) {}
  explicit constexpr MicroTime(Time t) noexcept : MicroTime(FromUnix(t.unix_seconds(), 0)) {}
  // Seconds and nanoseconds since 1970, rounded down to microseconds.
  static constexpr MicroTime FromUnix(std::int64_t seconds, std::int32_t nanoseconds) {
    std::int64_t since_year_one = internal::AddSaturated(seconds, internal::kYearOneToUnixSeconds);
    MicroTime t;
    t.microseconds_ = internal::AddSaturated(internal::MulSaturated(since_year_one, 1'000'000), internal::FloorDiv(nanoseconds, 1000));
    return t;
  }
  // Microseconds since 1970.
  static constexpr MicroTime FromUnixMicros(std::int64_t microseconds) {
    MicroTime t;
    t.microseconds_ = internal::AddSaturated(microseconds, internal::kYearOneToUnixSeconds * 1'000'000);
    return t;
  }
  // The current time of the system.
  static MicroTime Now();

  // Parses RFC 3339 with exactly six fractional digits, as Go does. Errors: kDecode, naming the text.
  static Result<MicroTime> Parse(std::string_view text);

  // Whether the time is unset.
  constexpr bool IsZero() const { return microseconds_ == 0; }
  constexpr std::int64_t unix_micros() const { return internal::SubSaturated(microseconds_, internal::kYearOneToUnixSeconds * 1'000'000); }
  // Whole seconds since 1970 (rounded down), and the remaining nanoseconds.
  constexpr std::int64_t unix_seconds() const { return internal::FloorDiv(microseconds_, 1'000'000) - internal::kYearOneToUnixSeconds; }
  constexpr std::int32_t nanoseconds() const { return static_cast<std::int32_t>(internal::FloorMod(microseconds_, 1'000'000)) * 1000; }

  // "2006-01-02T15:04:05.000000Z". At most kMaxTextSize bytes.
  std::string ToString() const;
  // Writes the text to `buffer`, which has kMaxTextSize bytes. Returns its size.
  std::size_t Format(char* buffer) const;

  friend constexpr bool operator==(MicroTime, MicroTime) = default;
  friend constexpr auto operator<=>(MicroTime, MicroTime) = default;
  friend constexpr Duration operator-(MicroTime a, MicroTime b) {
    return Duration::FromNanoseconds(internal::MulSaturated(internal::SubSaturated(a.microseconds_, b.microseconds_), 1000));
  }
  friend constexpr MicroTime operator+(MicroTime t, Duration d) {
    t.microseconds_ = internal::AddSaturated(t.microseconds_, internal::FloorDiv(d.nanoseconds(), 1000));
    return t;
  }

 private:
  std::int64_t microseconds_ = 0;  // since 0001-01-01T00:00:00Z
};

static_assert(sizeof(Duration) == 8 && sizeof(Time) == 8 && sizeof(MicroTime) == 8);

// For streams and googletest. It is a template, so that this header needs no stream header.
template <typename Stream, TimeOrDuration T>
requires requires(Stream& s) { s.setstate(s.badbit); }
Stream& operator<<(Stream& stream, const T& t) {
  stream << t.ToString();
  return stream;
}

}  // namespace kube
