#include "kube/value/int_or_string.h"

#include <charconv>
#include <limits>

#include "value/quote.h"

namespace kube {
namespace {

__extension__ typedef __int128 Int128;

// A decimal integer with an optional sign, as Go's strconv reads it.
template <typename Int>
bool ParseInteger(std::string_view text, Int& out) {
  if (text.starts_with('+')) {
    text.remove_prefix(1);
    if (text.starts_with('-')) return false;
  }
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc() && end == text.data() + text.size();
}

}  // namespace

IntOrString IntOrString::Parse(std::string_view text) {
  std::int32_t value = 0;
  return ParseInteger(text, value) ? IntOrString(value) : IntOrString(text);
}

std::string IntOrString::ToString() const { return is_string() ? text_.str() : std::to_string(int_); }

Result<std::int64_t> IntOrString::ScaledValue(std::int64_t total, bool round_up) const {
  if (!is_string()) return std::int64_t{int_};
  std::string_view number = text_;
  std::int64_t percent = 0;
  if (!number.ends_with('%')) return Error::Invalid(internal::Quote(text_) + " is neither an integer nor a percentage");
  number.remove_suffix(1);
  if (!ParseInteger(number, percent)) return Error::Invalid(internal::Quote(text_) + " is no percentage");
  Int128 product = Int128{percent} * total;
  Int128 quotient = product / 100;
  bool inexact = product % 100 != 0;
  if (inexact && round_up && product > 0) ++quotient;
  if (inexact && !round_up && product < 0) --quotient;
  if (quotient > std::numeric_limits<std::int64_t>::max() || quotient < std::numeric_limits<std::int64_t>::min()) {
    return Error::Invalid(internal::Quote(text_) + " of " + std::to_string(total) + " does not fit 64 bits");
  }
  return static_cast<std::int64_t>(quotient);
}

}  // namespace kube
