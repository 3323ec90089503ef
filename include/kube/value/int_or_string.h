// IntOrString: a port number or port name; a count or a percentage.
//
//   service_port.target_port = 8080;  // or "http"
//   Result<std::int64_t> surge = strategy.max_surge->ScaledValue(replicas, /*round_up=*/true);   // 3, or "25%" of replicas
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "kube/base/result.h"
#include "kube/value/string.h"

namespace kube {

// An integer or a text. 24 bytes; all-zero bytes are the integer 0. The text "80" and the integer 80 are different values.
//
// Thread safety: as String.
class KUBE_EXPORT IntOrString {
 public:
  static constexpr bool kMovesByBytes = true;
  IntOrString() noexcept = default;
  IntOrString(std::int32_t value) noexcept : int_(value) {}                     // NOLINT(google-explicit-constructor)
  IntOrString(String text) noexcept : text_(std::move(text)), is_string_(1) {}  // NOLINT(google-explicit-constructor)
  IntOrString(std::string_view text) : IntOrString(String(text)) {}             // NOLINT(google-explicit-constructor)
  IntOrString(const char* text) : IntOrString(String(text)) {}                  // NOLINT(google-explicit-constructor)
  IntOrString(const std::string& text) : IntOrString(String(text)) {}           // NOLINT(google-explicit-constructor)
  // Returns an integer if the text is a decimal int32, else the text. For command lines.
  static IntOrString Parse(std::string_view text);

  bool is_string() const { return is_string_ != 0; }
  // The integer; 0 if this is a text.
  std::int32_t int_value() const { return int_; }
  // The text; empty if this is an integer.
  const String& string_value() const { return text_; }
  // The text, or the integer in decimal.
  std::string ToString() const;

  // An integer unchanged, or a percentage ("25%") of `total`, rounded up or down. Errors: kInvalid if the text is not a percentage or the
  // result does not fit.
  Result<std::int64_t> ScaledValue(std::int64_t total, bool round_up) const;

  friend bool operator==(const IntOrString& a, const IntOrString& b) {
    return a.is_string_ == b.is_string_ && a.int_ == b.int_ && a.text_ == b.text_;
  }

  // For streams and googletest. It is a template, so that this header needs no stream header.
  template <typename Stream>
  requires requires(Stream& s) { s.setstate(s.badbit); }
  friend Stream& operator<<(Stream& stream, const IntOrString& v) {
    stream << v.ToString();
    return stream;
  }

 private:
  String text_;           // empty unless is_string_
  std::int32_t int_ = 0;  // 0 if is_string_
  std::uint32_t is_string_ = 0;
};

static_assert(sizeof(IntOrString) == 24);

}  // namespace kube
