#include "codec/utf8.h"

#include <simdjson.h>

#include <cstring>

namespace kube::internal {
namespace {

constexpr std::string_view kReplacement = "\xef\xbf\xbd";

// The length of the character that [p, end) starts with; 0 if it does not start with one. Overlong forms and surrogates are none.
std::size_t CharacterLength(const char* p, const char* end) {
  const auto byte = [&](std::ptrdiff_t i) { return static_cast<unsigned char>(p[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return 1;
  if (first < 0xc2 || first > 0xf4) return 0;
  const std::ptrdiff_t length = first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
  if (end - p < length) return 0;
  const unsigned char least = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
  const unsigned char most = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
  if (byte(1) < least || byte(1) > most) return 0;
  for (std::ptrdiff_t i = 2; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  return static_cast<std::size_t>(length);
}

std::string Replace(std::string_view text, std::string_view replacement) {
  std::string out;
  out.reserve(text.size() + 64);
  const char* p = text.data();
  const char* const end = p + text.size();
  while (p != end) {
    const char* const run = p;
    std::size_t length = 0;
    while (p != end && (length = CharacterLength(p, end)) != 0) p += length;
    out.append(run, p);
    if (p == end) break;
    out += replacement;
    ++p;
  }
  return out;
}

}  // namespace

bool ValidUtf8(std::string_view text) {
  // Most text is short and ASCII; a call is worth it only for the rest.
  const char* p = text.data();
  std::size_t n = text.size();
  std::uint64_t high = 0;
  for (; n >= 8; p += 8, n -= 8) {
    std::uint64_t word;
    std::memcpy(&word, p, 8);
    high |= word;
  }
  for (; n > 0; ++p, --n) high |= static_cast<std::uint64_t>(static_cast<unsigned char>(*p));
  return (high & 0x8080808080808080ULL) == 0 || simdjson::validate_utf8(text);
}

std::string MendUtf8(std::string_view text) { return Replace(text, kReplacement); }
std::string MaskUtf8(std::string_view text, char placeholder) { return Replace(text, {&placeholder, 1}); }

}  // namespace kube::internal
