#include "transport/text.h"

#include <cstddef>

namespace kube::internal {
namespace {

// The length of the UTF-8 sequence at the start of `text`, and its code point; 0 if there is none.
std::size_t DecodeOne(std::string_view text, std::uint32_t& code) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) {
    code = first;
    return 1;
  }
  const std::size_t size = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() < size) return 0;
  code = first & (0x7FU >> size);
  for (std::size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
    code = (code << 6) | (byte(i) & 0x3FU);
  }
  constexpr std::uint32_t kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};
  if (code < kSmallest[size] || code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF)) return 0;
  return size;
}

}  // namespace

bool IsCleanText(std::string_view text, std::string_view allowed) {
  while (!text.empty()) {
    std::uint32_t code = 0;
    const std::size_t size = DecodeOne(text, code);
    if (size == 0) return false;
    const bool control = code < 0x20 || (code >= 0x7F && code < 0xA0);
    if (control && (size > 1 || allowed.find(text[0]) == std::string_view::npos)) return false;
    text.remove_prefix(size);
  }
  return true;
}

}  // namespace kube::internal
