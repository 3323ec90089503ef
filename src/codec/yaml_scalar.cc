#include "codec/yaml_scalar.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>

namespace kube::internal {
namespace {

using Type = YamlScalar::Type;

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
char Lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

// The spellings that exist as a word: `yes`, `Yes`, `YES`, never `yEs`.
bool IsWord(std::string_view text, std::string_view lower) {
  if (text.size() != lower.size()) return false;
  if (text == lower) return true;
  bool rest_lower = text.substr(1) == lower.substr(1);
  bool rest_upper = std::equal(text.begin() + 1, text.end(), lower.begin() + 1,
                               [](char t, char l) { return Lower(t) == l && t != (l >= 'a' && l <= 'z' ? l : '\0'); });
  return Lower(text[0]) == lower[0] && text[0] != lower[0] && (rest_lower || rest_upper);
}

std::optional<YamlScalar> ResolveWord(std::string_view text) {
  if (text.empty() || text == "~" || IsWord(text, "null")) return YamlScalar{.type = Type::kNull};
  for (std::string_view word : {"y", "yes", "true", "on"}) {
    if (IsWord(text, word)) return YamlScalar{.type = Type::kBool, .boolean = true};
  }
  for (std::string_view word : {"n", "no", "false", "off"}) {
    if (IsWord(text, word)) return YamlScalar{.type = Type::kBool, .boolean = false};
  }
  if (text == ".nan" || text == ".NaN" || text == ".NAN") {
    return YamlScalar{.type = Type::kFloat, .number = std::numeric_limits<double>::quiet_NaN()};
  }
  bool negative = text[0] == '-';
  std::string_view bare = text.substr(negative || text[0] == '+' ? 1 : 0);
  if (bare == ".inf" || bare == ".Inf" || bare == ".INF") {
    return YamlScalar{.type = Type::kFloat, .number = negative ? -HUGE_VAL : HUGE_VAL};
  }
  return std::nullopt;
}

// Digits of any base without a sign; false on overflow and on anything else.
bool ParseDigits(std::string_view digits, int base, std::uint64_t& out) {
  if (digits.empty()) return false;
  auto [end, ec] = std::from_chars(digits.data(), digits.data() + digits.size(), out, base);
  return ec == std::errc() && end == digits.data() + digits.size();
}

// A number with a prefix for its base: 0x, 0o, 0b, or 0 for octal.
bool ParseNatural(std::string_view text, std::uint64_t& out) {
  if (text.empty() || text[0] != '0') return ParseDigits(text, 10, out);
  if (text.size() >= 3) {
    switch (Lower(text[1])) {
      case 'x':
        return ParseDigits(text.substr(2), 16, out);
      case 'o':
        return ParseDigits(text.substr(2), 8, out);
      case 'b':
        return ParseDigits(text.substr(2), 2, out);
      default:
        break;
    }
  }
  out = 0;
  return text.size() == 1 || ParseDigits(text.substr(1), 8, out);
}

bool ToSigned(bool negative, std::uint64_t magnitude, std::int64_t& out) {
  constexpr std::uint64_t kMost = std::numeric_limits<std::int64_t>::max();
  if (magnitude > kMost + (negative ? 1 : 0)) return false;
  out = static_cast<std::int64_t>(negative ? 0 - magnitude : magnitude);
  return true;
}

// `text` without underscores.
std::optional<YamlScalar> ResolveInteger(std::string_view text) {
  bool has_sign = text[0] == '-' || text[0] == '+';
  bool negative = text[0] == '-';
  YamlScalar out{.type = Type::kInt};
  std::uint64_t magnitude = 0;
  if (ParseNatural(text.substr(has_sign ? 1 : 0), magnitude)) {
    if (ToSigned(negative, magnitude, out.integer)) return out;
    if (!has_sign) return YamlScalar{.type = Type::kUnsigned, .natural = magnitude};
    return std::nullopt;
  }
  // Go reads 0b once more, with a sign behind the prefix.
  if (text.substr(0, 2) != "0b" || text.size() < 4 || (text[2] != '-' && text[2] != '+')) return std::nullopt;
  if (ParseDigits(text.substr(3), 2, magnitude) && ToSigned(text[2] == '-', magnitude, out.integer)) return out;
  return std::nullopt;
}

// Requires: a sequence of digits with at most one point, perhaps an exponent. True if its amount is at least 1.
bool IsLarge(std::string_view text) {
  std::size_t e = text.find_first_of("eE");
  std::int64_t exponent = 0;
  if (e != std::string_view::npos) {
    std::string_view digits = text.substr(e + 1);
    bool negative = digits[0] == '-';
    if (negative || digits[0] == '+') digits.remove_prefix(1);
    auto [end, ec] = std::from_chars(digits.data(), digits.data() + digits.size(), exponent);
    if (ec != std::errc() || exponent > 1'000'000'000'000) return !negative;
    if (negative) exponent = -exponent;
    text = text.substr(0, e);
  }
  std::size_t point = std::min(text.find('.'), text.size());
  std::size_t first = text.find_first_of("123456789");
  if (first == std::string_view::npos) return false;
  auto places = static_cast<std::int64_t>(point) - static_cast<std::int64_t>(first);
  return places + exponent > 0;
}

// -?(.digits | digits[.digits])[e[+-]digits]; too large is no number, too small is zero.
std::optional<YamlScalar> ResolveFloat(std::string_view text) {
  bool negative = text[0] == '-';
  if (negative || text[0] == '+') text.remove_prefix(1);
  std::size_t i = 0;
  auto digits = [&] {
    std::size_t start = i;
    while (i < text.size() && IsDigit(text[i])) ++i;
    return i - start;
  };
  bool whole = digits() != 0;
  if (i < text.size() && text[i] == '.') {
    ++i;
    if (digits() == 0 && !whole) return std::nullopt;
  } else if (!whole) {
    return std::nullopt;
  }
  if (i < text.size() && Lower(text[i]) == 'e') {
    ++i;
    if (i < text.size() && (text[i] == '-' || text[i] == '+')) ++i;
    if (digits() == 0) return std::nullopt;
  }
  if (i != text.size()) return std::nullopt;
  YamlScalar out{.type = Type::kFloat};
  auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), out.number);
  if (ec == std::errc::result_out_of_range) {
    if (IsLarge(text)) return std::nullopt;
    out.number = 0;
  } else if (ec != std::errc() || end != text.data() + text.size()) {
    return std::nullopt;
  }
  if (negative) out.number = -out.number;
  return out;
}

// An underscore must stand between two digits.
bool UnderscoresSeparateDigits(std::string_view text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '_' && (i == 0 || i + 1 == text.size() || !IsDigit(text[i - 1]) || !(IsDigit(text[i + 1])))) return false;
  }
  return true;
}

std::string WithoutUnderscores(std::string_view text) {
  std::string out(text);
  out.erase(std::remove(out.begin(), out.end(), '_'), out.end());
  return out;
}

// 2024-1-2, with or without a time behind it.
bool LooksLikeDate(std::string_view text) {
  std::size_t i = 0;
  auto digits = [&](std::size_t least, std::size_t most) {
    std::size_t start = i;
    while (i < text.size() && IsDigit(text[i])) ++i;
    return i - start >= least && i - start <= most;
  };
  auto dash = [&] { return i < text.size() && text[i++] == '-'; };
  if (!digits(4, 4) || !dash() || !digits(1, 2) || !dash() || !digits(1, 2)) return false;
  return i == text.size() || text[i] == 'T' || text[i] == 't' || text[i] == ' ';
}

// 12:30:45, 1:30.5
bool LooksLikeBase60(std::string_view text) {
  if (text.find(':') == std::string_view::npos) return false;
  std::size_t i = text[0] == '-' || text[0] == '+' ? 1 : 0;
  if (i == text.size() || !IsDigit(text[i])) return false;
  return text.find_first_not_of("0123456789_:.", i) == std::string_view::npos;
}

}  // namespace

YamlScalar ResolveYamlScalar(std::string_view text) {
  if (auto word = ResolveWord(text)) return *word;
  char first = text[0];
  if (first == '.') {
    if (!UnderscoresSeparateDigits(text)) return {};
    return ResolveFloat(WithoutUnderscores(text)).value_or(YamlScalar{});
  }
  if (!IsDigit(first) && first != '-' && first != '+') return {};
  std::string plain = WithoutUnderscores(text);
  if (auto integer = ResolveInteger(plain)) return *integer;
  return ResolveFloat(plain).value_or(YamlScalar{});
}

bool IsAmbiguousYamlString(std::string_view text) {
  return ResolveYamlScalar(text).type != Type::kString || text == "<<" || text == "=" || LooksLikeDate(text) || LooksLikeBase60(text);
}

std::string FormatYamlFloatKey(double d) {
  auto f = static_cast<float>(d);
  if (std::isnan(d)) return ".nan";
  if (std::isinf(f)) return f < 0 ? "-.inf" : ".inf";
  std::array<char, 32> buffer{};
  auto scientific = std::to_chars(buffer.data(), buffer.data() + buffer.size(), f, std::chars_format::scientific);
  std::string_view text(buffer.data(), static_cast<std::size_t>(scientific.ptr - buffer.data()));
  int exponent = 0;
  std::size_t e = text.find('e');
  std::from_chars(text.data() + e + (text[e + 1] == '+' ? 2 : 1), text.data() + text.size(), exponent);
  if (exponent < -4 || exponent >= 6) return std::string(text);
  std::array<char, 64> fixed{};
  auto end = std::to_chars(fixed.data(), fixed.data() + fixed.size(), f, std::chars_format::fixed);
  return {fixed.data(), end.ptr};
}

}  // namespace kube::internal
