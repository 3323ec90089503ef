#include "kube/value/quantity.h"

#include <xxhash.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <utility>

#include "value/big_natural.h"
#include "value/quote.h"

namespace kube {
namespace {

using internal::BigNatural;
using internal::Uint128;
using Format = Quantity::Format;

constexpr std::uint64_t kGiga = 1'000'000'000;
constexpr std::uint64_t kMaxInt64 = std::numeric_limits<std::int64_t>::max();
constexpr int kNanoDigits = 9;                               // amounts are counted in units of 10^-9
constexpr int kSmallDigits = 38;                             // 10^38 < 2^127
constexpr int kBinaryDigits = 19;                            // 2^60 < 10^19
constexpr std::string_view kDecimalSuffixes = "num kMGTPE";  // 10^-9, 10^-6, ...; the blank stands for none
constexpr std::string_view kBinaryPrefixes = "KMGTPE";       // 2^10, 2^20, ...; an `i` follows

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// Requires: 0 <= exponent <= kSmallDigits.
Uint128 Pow10(int exponent) {
  static constexpr auto kPowers = [] {
    std::array<std::uint64_t, 20> powers{1};
    for (std::size_t i = 1; i < powers.size(); ++i) powers[i] = powers[i - 1] * 10;
    return powers;
  }();
  auto i = static_cast<std::size_t>(exponent);
  return i < 20 ? Uint128{kPowers[i]} : Uint128{kPowers[19]} * kPowers[i - 19];
}

// Most amounts fit 64 bits, where division is several times faster.
bool FitsUint64(Uint128 n) { return n >> 64 == 0; }

// n / kGiga where that leaves nothing over; else n stays as it is.
bool DivideByGiga(Uint128& n) {
  if (FitsUint64(n)) {
    auto low = static_cast<std::uint64_t>(n);
    if (low % kGiga != 0) return false;
    n = low / kGiga;
    return true;
  }
  Uint128 quotient = n / kGiga;
  if (quotient * kGiga != n) return false;
  n = quotient;
  return true;
}

// The size of an amount in units of 1n. Numbers below 10^38 live in `small`, larger ones in `large`; which of the two holds a number
// at the border is left open.
struct Magnitude {
  Uint128 small = 0;
  BigNatural large;  // zero unless `small` does not suffice

  static Magnitude FromLarge(BigNatural n) {
    Magnitude m;
    if (n.DigitCount() <= static_cast<std::size_t>(kSmallDigits)) {
      m.small = n.ToUint128();
    } else {
      m.large = std::move(n);
    }
    return m;
  }
  bool is_large() const { return !large.IsZero(); }
  bool IsZero() const { return small == 0 && !is_large(); }
  BigNatural AsLarge() const { return is_large() ? large : BigNatural(small); }

  int Compare(const Magnitude& other) const {
    if (is_large() || other.is_large()) return AsLarge().Compare(other.AsLarge());
    return small == other.small ? 0 : small < other.small ? -1 : 1;
  }
  // * 10^exponent; below 10^0 with what is left over rounded up.
  void ScaleRoundUp(int exponent, int digits_of_small) {
    if (is_large() || digits_of_small + exponent > kSmallDigits) {
      BigNatural n = AsLarge();
      if (exponent >= 0) {
        n.MulPow10(static_cast<std::size_t>(exponent));
      } else {
        n.DivPow10RoundUp(static_cast<std::size_t>(-exponent));
      }
      *this = FromLarge(std::move(n));
    } else if (exponent >= 0) {
      small *= Pow10(exponent);
    } else if (small != 0) {
      if (-exponent >= kSmallDigits || small < Pow10(-exponent)) {
        small = 1;
      } else if (FitsUint64(small)) {
        auto low = static_cast<std::uint64_t>(small), divisor = static_cast<std::uint64_t>(Pow10(-exponent));
        small = low / divisor + (low % divisor != 0 ? 1 : 0);
      } else {
        Uint128 divisor = Pow10(-exponent), quotient = small / divisor;
        small = quotient + (quotient * divisor != small ? 1 : 0);
      }
    }
  }
};

struct Amount {
  bool negative = false;
  Magnitude nanos;
};

// The parts of a quantity's text.
struct Parts {
  bool negative = false;
  std::string_view integer, fraction;  // digits; `integer` without leading zeros
  int exponent = 0;                    // power of ten of the suffix
  int shift = 0;                       // power of two of the suffix
  Format format = Format::kDecimalSI;
};

enum class Problem { kNone, kSyntax, kSuffix, kTooLarge };

Problem ReadSuffix(std::string_view suffix, Parts& parts) {
  if (suffix.empty()) return Problem::kNone;
  if (suffix.size() == 1) {
    std::size_t prefix = kDecimalSuffixes.find(suffix[0]);
    if (prefix == std::string_view::npos || suffix[0] == ' ') return Problem::kSuffix;
    parts.exponent = 3 * static_cast<int>(prefix) - kNanoDigits;
    return Problem::kNone;
  }
  if (suffix.size() == 2 && suffix[1] == 'i') {
    std::size_t prefix = kBinaryPrefixes.find(suffix[0]);
    if (prefix == std::string_view::npos) return Problem::kSuffix;
    parts.shift = 10 * (static_cast<int>(prefix) + 1);
    parts.format = Format::kBinarySI;
    return Problem::kNone;
  }
  if (suffix[0] != 'e' && suffix[0] != 'E') return Problem::kSuffix;
  parts.format = Format::kDecimalExponent;
  suffix.remove_prefix(1);
  if (suffix[0] == '+') {
    suffix.remove_prefix(1);
    if (suffix.empty() || !IsDigit(suffix[0])) return Problem::kSuffix;
  }
  std::int64_t exponent = 0;
  auto [end, error] = std::from_chars(suffix.data(), suffix.data() + suffix.size(), exponent);
  if (error != std::errc() || end != suffix.data() + suffix.size()) return Problem::kSuffix;
  // Far below 1n all amounts are rounded to 1n; how far does not matter.
  parts.exponent = static_cast<int>(std::clamp<std::int64_t>(exponent, -10'000, 1'000'000'000));
  return Problem::kNone;
}

Problem ReadParts(std::string_view text, Parts& parts) {
  std::size_t at = 0;
  if (at < text.size() && (text[at] == '-' || text[at] == '+')) parts.negative = text[at++] == '-';
  std::size_t start = at;
  while (at < text.size() && text[at] == '0') ++at;
  std::size_t significant = at;
  while (at < text.size() && IsDigit(text[at])) ++at;
  bool any_digit = at != start;
  parts.integer = text.substr(significant, at - significant);
  if (at < text.size() && text[at] == '.') {
    start = ++at;
    while (at < text.size() && IsDigit(text[at])) ++at;
    any_digit = any_digit || at != start;
    parts.fraction = text.substr(start, at - start);
  }
  return any_digit ? ReadSuffix(text.substr(at), parts) : Problem::kSyntax;
}

bool HasOnlyZeros(std::string_view digits) { return digits.find_first_not_of('0') == std::string_view::npos; }

// Reads digits that are known to fit.
Uint128 ReadSmall(std::string_view a, std::string_view b) {
  Uint128 value = 0;
  std::uint64_t chunk = 0, scale = 1;
  for (std::string_view digits : {a, b}) {
    for (char c : digits) {
      chunk = chunk * 10 + static_cast<std::uint64_t>(c - '0');
      scale *= 10;
      if (scale == kGiga * kGiga) {
        value = value * scale + chunk;
        chunk = 0;
        scale = 1;
      }
    }
  }
  return value * scale + chunk;
}

// In units of 1n, rounded up.
Magnitude ToNanos(const Parts& parts) {
  Magnitude m;
  int digits = static_cast<int>(parts.integer.size() + parts.fraction.size());
  int digits_after_shift = digits + (parts.shift != 0 ? kBinaryDigits : 0);
  int exponent = parts.exponent - static_cast<int>(parts.fraction.size()) + kNanoDigits;
  if (digits_after_shift <= kSmallDigits) {
    m.small = ReadSmall(parts.integer, parts.fraction) << parts.shift;
  } else {
    BigNatural n = BigNatural::FromDigits(std::string(parts.integer).append(parts.fraction));
    for (int i = 0; i < parts.shift; i += 10) n.MulSmall(1024);
    m = Magnitude::FromLarge(std::move(n));
    digits_after_shift = kSmallDigits;
  }
  m.ScaleRoundUp(exponent, digits_after_shift);
  return m;
}

Magnitude Nanos(std::uint64_t units) {
  Magnitude m;
  m.small = Uint128{units} * kGiga;
  return m;
}

void AppendDecimal(std::string& out, Uint128 value) {
  char buffer[40];
  char* at = buffer + sizeof buffer;
  while (value > std::numeric_limits<std::uint64_t>::max()) {
    auto low = static_cast<std::uint64_t>(value % (kGiga * kGiga));
    value /= kGiga * kGiga;
    for (int i = 0; i < 18; ++i, low /= 10) *--at = static_cast<char>('0' + low % 10);
  }
  auto high = static_cast<std::uint64_t>(value);
  for (; high != 0; high /= 10) *--at = static_cast<char>('0' + high % 10);
  out.append(at, static_cast<std::size_t>(buffer + sizeof buffer - at));
}

// Digits and suffix of 10^-9 * nanos. Requires: not zero.
void AppendDecimalForm(std::string& out, const Magnitude& nanos, Format format) {
  int limit = format == Format::kDecimalSI ? 9 : std::numeric_limits<int>::max();
  int steps = 0;  // of 10^3 above 10^-9
  if (nanos.is_large()) {
    BigNatural n = nanos.large;
    for (; steps < limit && n.Mod1000() == 0; ++steps) n.DivSmall(1000);
    out += n.ToString();
  } else {
    Uint128 n = nanos.small;
    if (DivideByGiga(n)) steps = 3;
    while (!FitsUint64(n) && steps < limit && n % 1000 == 0) {
      n /= 1000;
      ++steps;
    }
    if (FitsUint64(n)) {
      auto low = static_cast<std::uint64_t>(n);
      for (; steps < limit && low % 1000 == 0; ++steps) low /= 1000;
      n = low;
    }
    AppendDecimal(out, n);
  }
  if (format == Format::kDecimalSI) {
    if (steps != 3) out += kDecimalSuffixes[static_cast<std::size_t>(steps)];
  } else if (steps != 3) {
    out += 'e';
    out += std::to_string(3 * steps - kNanoDigits);
  }
}

Format FormatOfText(std::string_view text) {
  if (text.ends_with('i')) return Format::kBinarySI;
  return text.find('e') != std::string_view::npos ? Format::kDecimalExponent : Format::kDecimalSI;
}

Error TooLarge(std::string_view text) {
  return Error::Decode(internal::Quote(text) + " is no quantity: more than " + std::to_string(Quantity::kMaxTextSize) + " digits");
}

char FormatMark(Format format) { return static_cast<char>(1 + static_cast<int>(format)); }

}  // namespace

struct Quantity::Codec {
  // Requires: canonical text, as every Quantity has.
  static Amount Read(const Quantity& q) {
    Amount amount;
    if (q.IsZero()) return amount;
    Parts parts;
    ReadParts(q.text(), parts);
    amount.negative = parts.negative;
    amount.nanos = ToNanos(parts);
    return amount;
  }

  static Quantity Write(const Amount& amount, Format format) {
    const Magnitude& nanos = amount.nanos;
    if (nanos.IsZero()) return {};
    std::string out;
    if (amount.negative) out += '-';
    // Binary suffixes are for integers from 1Ki on, and up to what Parse lets them have.
    Uint128 whole = nanos.small;
    if (format == Format::kBinarySI && !nanos.is_large() && DivideByGiga(whole) && whole >= 1024 && whole <= kMaxInt64) {
      auto units = static_cast<std::uint64_t>(whole);
      std::size_t steps = 0;
      for (; steps < kBinaryPrefixes.size() && units % 1024 == 0; ++steps) units /= 1024;
      AppendDecimal(out, units);
      if (steps != 0) {
        out += kBinaryPrefixes[steps - 1];
        out += 'i';
      }
    } else {
      AppendDecimalForm(out, nanos, format == Format::kDecimalExponent ? format : Format::kDecimalSI);
    }
    if (FormatOfText(out) != format) out += FormatMark(format);
    return Quantity(String(out));
  }

  static void AddTo(Quantity& q, const Quantity& other, bool subtract) {
    if (other.IsZero()) return;
    if (q.IsZero()) {
      q = other;
      if (subtract) q.Neg();
      return;
    }
    Amount a = Read(q), b = Read(other);
    if (subtract) b.negative = !b.negative;
    Amount sum;
    if (a.negative == b.negative) {
      sum.negative = a.negative;
      if (a.nanos.is_large() || b.nanos.is_large()) {
        BigNatural n = a.nanos.AsLarge();
        n.Add(b.nanos.AsLarge());
        sum.nanos = Magnitude::FromLarge(std::move(n));
      } else {
        sum.nanos.small = a.nanos.small + b.nanos.small;  // 2 * 10^38 < 2^128
      }
    } else {
      if (a.nanos.Compare(b.nanos) < 0) std::swap(a, b);
      sum.negative = a.negative;
      if (a.nanos.is_large() || b.nanos.is_large()) {
        BigNatural n = a.nanos.AsLarge();
        n.Sub(b.nanos.AsLarge());
        sum.nanos = Magnitude::FromLarge(std::move(n));
      } else {
        sum.nanos.small = a.nanos.small - b.nanos.small;
      }
    }
    q = Write(sum, q.format());
  }
};

bool Quantity::IsCanonicalText(std::string_view text) {
  if (text.starts_with('-')) text.remove_prefix(1);
  std::size_t digits = 0;
  std::uint64_t value = 0;
  for (; digits < text.size() && IsDigit(text[digits]); ++digits) {
    if (digits == 18) return false;
    value = value * 10 + static_cast<std::uint64_t>(text[digits] - '0');
  }
  if (digits == 0 || text[0] == '0') return false;
  text.remove_prefix(digits);
  if (text.empty()) return value % 1000 != 0;
  if (text.size() == 1)
    return text[0] == 'E' || (value % 1000 != 0 && std::string_view("numkMGTP").find(text[0]) != std::string_view::npos);
  if (text.size() != 2 || text[1] != 'i') return false;
  std::size_t prefix = kBinaryPrefixes.find(text[0]);
  if (prefix == std::string_view::npos) return false;
  return value <= kMaxInt64 >> (10 * (prefix + 1)) && (value % 1024 != 0 || text[0] == 'E');
}

Result<Quantity> Quantity::Parse(std::string_view text) {
  if (IsCanonicalText(text)) return Quantity(String(text));
  Parts parts;
  Problem problem = text.size() > kMaxTextSize ? Problem::kTooLarge : ReadParts(text, parts);
  if (problem == Problem::kNone) {
    if (HasOnlyZeros(parts.integer) && HasOnlyZeros(parts.fraction)) return Quantity();
    if (parts.exponent > 0 && parts.integer.size() + static_cast<std::size_t>(parts.exponent) > kMaxTextSize) problem = Problem::kTooLarge;
  }
  switch (problem) {
    case Problem::kNone:
      break;
    case Problem::kTooLarge:
      return TooLarge(text);
    case Problem::kSyntax:
      return Error::Decode(internal::Quote(text) + " is no quantity: it has to start with a decimal number");
    case Problem::kSuffix:
      return Error::Decode(internal::Quote(text) +
                           " is no quantity: its suffix is none of n u m k M G T P E, Ki Mi Gi Ti Pi Ei, or e and an integer");
  }
  Amount amount{parts.negative, ToNanos(parts)};
  if (parts.format == Format::kBinarySI) {
    const Magnitude max = Nanos(kMaxInt64);
    if (amount.nanos.Compare(max) > 0) amount.nanos = max;
    if (amount.nanos.Compare(Nanos(1)) < 0) parts.format = Format::kDecimalSI;
  }
  Quantity q = Codec::Write(amount, parts.format);
  // Writing out a suffix can add a digit or two; what is held has to be readable again.
  if (q.text().size() > kMaxTextSize) return TooLarge(text);
  return q;
}

Quantity Quantity::FromScaled(std::int64_t value, int scale, Format format) {
  Amount amount;
  amount.negative = value < 0;
  amount.nanos.small = value < 0 ? ~static_cast<std::uint64_t>(value) + 1 : static_cast<std::uint64_t>(value);
  amount.nanos.ScaleRoundUp(std::clamp(scale, -1000, 400) + kNanoDigits, 19);
  return Codec::Write(amount, format);
}

Quantity::Format Quantity::format() const {
  if (text_.empty()) return Format::kDecimalSI;
  auto last = static_cast<unsigned char>(text_[text_.size() - 1]);
  return last < ' ' ? static_cast<Format>(last - 1) : FormatOfText(text_.view());
}

std::int64_t Quantity::ScaledValue(int scale) const {
  Amount amount = Codec::Read(*this);
  if (amount.nanos.IsZero()) return 0;
  // Below 10^-40 every amount is beyond int64, and above 10^(digits) every amount is 1.
  int exponent = -(std::clamp(scale, -40, 1'000'000'000) + kNanoDigits);
  amount.nanos.ScaleRoundUp(exponent, kSmallDigits);
  std::uint64_t limit = amount.negative ? kMaxInt64 + 1 : kMaxInt64;
  std::uint64_t value = amount.nanos.is_large() || amount.nanos.small > limit ? limit : static_cast<std::uint64_t>(amount.nanos.small);
  return static_cast<std::int64_t>(amount.negative ? ~value + 1 : value);
}

std::optional<std::int64_t> Quantity::AsInt64() const {
  Amount amount = Codec::Read(*this);
  std::uint64_t limit = amount.negative ? kMaxInt64 + 1 : kMaxInt64;
  Uint128 whole = amount.nanos.small;
  if (amount.nanos.is_large() || !DivideByGiga(whole) || whole > limit) return std::nullopt;
  auto value = static_cast<std::uint64_t>(whole);
  return static_cast<std::int64_t>(amount.negative ? ~value + 1 : value);
}

double Quantity::AsApproximateDouble() const {
  Amount amount = Codec::Read(*this);
  std::string digits;
  if (amount.nanos.is_large()) {
    digits = amount.nanos.large.ToString();
  } else {
    AppendDecimal(digits, amount.nanos.small);
  }
  if (digits.empty()) return 0;
  digits += "e-9";
  double value = 0;
  if (std::from_chars(digits.data(), digits.data() + digits.size(), value).ec != std::errc())
    value = std::numeric_limits<double>::infinity();
  return amount.negative ? -value : value;
}

Quantity& Quantity::Add(const Quantity& other) {
  Codec::AddTo(*this, other, false);
  return *this;
}

Quantity& Quantity::Sub(const Quantity& other) {
  Codec::AddTo(*this, other, true);
  return *this;
}

Quantity& Quantity::Mul(std::int64_t factor) {
  Amount amount = Codec::Read(*this);
  BigNatural n = amount.nanos.AsLarge();
  n.Mul(BigNatural(factor < 0 ? ~static_cast<std::uint64_t>(factor) + 1 : static_cast<std::uint64_t>(factor)));
  amount.nanos = Magnitude::FromLarge(std::move(n));
  amount.negative = amount.negative != (factor < 0);
  *this = Codec::Write(amount, format());
  return *this;
}

Quantity& Quantity::Neg() {
  if (!text_.empty()) text_ = text_[0] == '-' ? String(text_.view().substr(1)) : String("-" + text_.str());
  return *this;
}

Quantity Quantity::WithFormat(Format format) const { return Codec::Write(Codec::Read(*this), format); }

int Quantity::CompareAmounts(const Quantity& other) const {
  int sign = Sign();
  if (sign != other.Sign()) return sign < other.Sign() ? -1 : 1;
  int magnitude = Codec::Read(*this).nanos.Compare(Codec::Read(other).nanos);
  return sign < 0 ? -magnitude : magnitude;
}

std::uint64_t Quantity::HashValue() const {
  if (IsZero()) return 0;
  Amount amount = Codec::Read(*this);
  const BigNatural n = amount.nanos.AsLarge();
  return XXH3_64bits_withSeed(n.limbs().data(), n.limbs().size() * sizeof n.limbs()[0], amount.negative ? 1 : 0);
}

}  // namespace kube
