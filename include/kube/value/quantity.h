// Quantity: an exact amount of a resource, such as `500m` of a CPU or `1Gi` of memory.
//
//   Result<Quantity> memory = Quantity::Parse("1.5Gi");       // text() == "1536Mi"
//   Quantity cpu = Quantity::FromMilli(1500);                 // text() == "1500m"
//   if (used + request > limit) ...
//
// A number with a suffix, in one of three formats:
//   kDecimalSI         n u m (none) k M G T P E     1500m, 12M
//   kBinarySI          Ki Mi Gi Ti Pi Ei            1536Mi
//   kDecimalExponent   e or E and a power of ten    12e6
// The canonical form has no fraction, the largest suffix for which it is an integer, and no `+`. Amounts are multiples of 1n.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "kube/base/result.h"
#include "kube/value/string.h"

namespace kube {

// Stores its canonical text: 16 bytes, without heap memory for all common amounts. All-zero bytes are the amount 0.
//
// Arithmetic is exact at any size, without floating point. Comparison and equality are by amount: 1Gi == 1073741824. A result has the
// format of the left operand, or of the right one if the left one is 0 (as in Go). An amount that a binary suffix cannot express (a
// fraction, below 1Ki, above 2^63-1) is written in decimal.
//
// Cost: comparing equal texts is a byte comparison; other operations parse the text (about a tenth of a microsecond).
// Thread safety: as String.
class KUBE_EXPORT Quantity {
 public:
  static constexpr bool kMovesByBytes = true;
  // The suffixes of the canonical text; see above.
  enum class Format : std::uint8_t { kDecimalSI, kBinarySI, kDecimalExponent };

  // Parse rejects text that is longer than this, or that has more digits before the decimal point when written out. This bounds the memory
  // for any input.
  static constexpr std::size_t kMaxTextSize = 512;

  Quantity() noexcept = default;

  // Parses what Go's resource.ParseQuantity accepts, and converts it to canonical form. Amounts finer than 1n are rounded away from zero;
  // amounts with a binary suffix are capped at 2^63-1. Errors: kDecode, naming the text.
  static Result<Quantity> Parse(std::string_view text);
  // An integer.
  static Quantity FromInt64(std::int64_t value, Format format = Format::kDecimalSI) { return FromScaled(value, 0, format); }
  // value / 1000.
  static Quantity FromMilli(std::int64_t value, Format format = Format::kDecimalSI) { return FromScaled(value, -3, format); }
  // value * 10^scale, rounded away from zero to a multiple of 1n. Requires: scale <= 400; larger values count as 400.
  static Quantity FromScaled(std::int64_t value, int scale, Format format = Format::kDecimalSI);

  // A fast check: true only for text that Parse would keep unchanged. Some rare canonical texts are not recognized.
  static bool IsCanonicalText(std::string_view text);

  // The canonical text; "0" for zero. Valid until this Quantity changes.
  std::string_view text() const {
    if (text_.empty()) return "0";
    std::string_view all = text_.view();
    if (static_cast<unsigned char>(all.back()) < ' ') all.remove_suffix(1);
    return all;
  }
  std::string ToString() const { return std::string(text()); }
  // The format of the text.
  Format format() const;

  bool IsZero() const { return text_.empty(); }
  // -1, 0 or 1.
  int Sign() const { return text_.empty() ? 0 : text_[0] == '-' ? -1 : 1; }

  // Rounded away from zero to an integer; amounts beyond int64 return its maximum or minimum.
  std::int64_t Value() const { return ScaledValue(0); }
  // The amount in thousandths, rounded and bounded in the same way.
  std::int64_t MilliValue() const { return ScaledValue(-3); }
  // The amount in units of 10^scale, rounded and bounded in the same way. ScaledValue(-3) of `1` is 1000.
  std::int64_t ScaledValue(int scale) const;
  // The exact amount, if it is an integer that fits.
  std::optional<std::int64_t> AsInt64() const;
  // The nearest double.
  double AsApproximateDouble() const;

  // Add, Sub, Mul and Neg calculate in place and return *this.
  Quantity& Add(const Quantity& other);
  Quantity& Sub(const Quantity& other);
  Quantity& Mul(std::int64_t factor);
  Quantity& Neg();
  // Returns the same amount in another format.
  Quantity WithFormat(Format format) const;

  Quantity& operator+=(const Quantity& other) { return Add(other); }
  Quantity& operator-=(const Quantity& other) { return Sub(other); }
  friend Quantity operator+(Quantity a, const Quantity& b) { return std::move(a.Add(b)); }
  friend Quantity operator-(Quantity a, const Quantity& b) { return std::move(a.Sub(b)); }
  Quantity operator-() const {
    Quantity copy(*this);
    return std::move(copy.Neg());
  }

  // Returns -1, 0 or 1 if this is less than, equal to or greater than `other` by amount.
  int Cmp(const Quantity& other) const { return text_ == other.text_ ? 0 : CompareAmounts(other); }
  friend bool operator==(const Quantity& a, const Quantity& b) { return a.Cmp(b) == 0; }
  friend std::strong_ordering operator<=>(const Quantity& a, const Quantity& b) { return a.Cmp(b) <=> 0; }
  // Equal amounts have equal hashes, whatever their format. Stable across processes.
  std::uint64_t HashValue() const;

  // For streams and googletest. It is a template, so that this header needs no stream header.
  template <typename Stream>
  requires requires(Stream& s) { s.setstate(s.badbit); }
  friend Stream& operator<<(Stream& stream, const Quantity& q) {
    stream << q.text();
    return stream;
  }

 private:
  // Canonical text; empty for zero. If the text alone does not determine the format (`512` of kBinarySI), a control character follows.
  String text_;

  explicit Quantity(String text) noexcept : text_(std::move(text)) {}
  int CompareAmounts(const Quantity& other) const;
  struct Codec;  // text to amount and back
};

static_assert(sizeof(Quantity) == 16);

}  // namespace kube

template <>
struct std::hash<kube::Quantity> {
  std::size_t operator()(const kube::Quantity& q) const noexcept { return static_cast<std::size_t>(q.HashValue()); }
};
