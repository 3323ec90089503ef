// Detects text that could corrupt a line or a terminal.
#pragma once

#include <cstddef>
#include <string_view>

namespace kube::internal {

// Reads one character of UTF-8. Returns its length, or 0 if the bytes are not UTF-8 (overlong forms and surrogates are not).
inline std::size_t DecodeUtf8(std::string_view text, char32_t& out) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) {
    out = first;
    return 1;
  }
  std::size_t length = 0;
  char32_t lowest = 0;
  if ((first & 0xe0) == 0xc0) {
    length = 2, lowest = 0x80, out = first & 0x1f;
  } else if ((first & 0xf0) == 0xe0) {
    length = 3, lowest = 0x800, out = first & 0x0f;
  } else if ((first & 0xf8) == 0xf0) {
    length = 4, lowest = 0x10000, out = first & 0x07;
  } else {
    return 0;
  }
  if (text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
    out = (out << 6) | (byte(i) & 0x3f);
  }
  const bool valid = out >= lowest && out <= 0x10ffff && !(out >= 0xd800 && out <= 0xdfff);
  return valid ? length : 0;
}

// Characters that move the cursor, end a line or change the direction of text.
inline bool IsUnsafe(char32_t c) {
  return c < 0x20 || (c >= 0x7f && c <= 0x9f) || c == 0x061c || c == 0x200e || c == 0x200f || (c >= 0x2028 && c <= 0x202e) ||
         (c >= 0x2066 && c <= 0x206f) || c == 0xfeff;
}

}  // namespace kube::internal
