// Quote: makes external text safe for an error message.
#pragma once

#include <string>
#include <string_view>

namespace kube::internal {

// In double quotes, cut after 64 bytes; bytes outside printable ASCII become \xHH.
inline std::string Quote(std::string_view text) {
  constexpr std::size_t kLimit = 64;
  constexpr char kHex[] = "0123456789abcdef";
  std::string out = "\"";
  for (char c : text.substr(0, kLimit)) {
    auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (byte >= 0x20 && byte < 0x7f) {
      out += c;
    } else {
      out += "\\x";
      out += kHex[byte >> 4];
      out += kHex[byte & 15];
    }
  }
  out += text.size() > kLimit ? "...\"" : "\"";
  return out;
}

}  // namespace kube::internal
