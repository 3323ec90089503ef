// The way back of markers.h: a marker as the line that reads as it.
//
//   WriteMarker({.name = "listType", .value = "map"})     "+listType=map"
//
// Strings stand bare if they can, else between double quotes or backquotes. The line never has control characters, nor invisible ones that
// change the direction of text, and never ends with a backslash, which would join it with the next line of the header.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "generate/model.h"

namespace kube::generate {

// Nothing if no line reads as this marker: with null in a list, for example, or without an argument that it needs.
std::optional<std::string> WriteMarker(const Marker& marker);

// As \uXXXX, for strings of Go, JSON and C++ alike: code points that editors do not show, or that reorder the text around them.
bool IsInvisible(std::uint32_t code);
// Calls `emit(code, bytes)` for each code point; for a byte that is not UTF-8 with code 0xfffd and that byte.
template <typename Emit>
void ForEachCodePoint(std::string_view text, Emit emit) {
  for (std::size_t i = 0; i < text.size();) {
    const auto first = static_cast<unsigned char>(text[i]);
    std::size_t size = first < 0x80 ? 1 : first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : first >= 0xc0 ? 2 : 0;
    std::uint32_t code = size == 1 ? first : size == 4 ? first & 7U : size == 3 ? first & 15U : first & 31U;
    bool valid = size != 0 && i + size <= text.size();
    for (std::size_t k = 1; valid && k < size; ++k) {
      const auto next = static_cast<unsigned char>(text[i + k]);
      valid = (next & 0xc0U) == 0x80;
      code = code << 6U | (next & 0x3fU);
    }
    if (!valid) {
      size = 1;
      code = 0xfffd;
    }
    emit(code, text.substr(i, size));
    i += size;
  }
}

}  // namespace kube::generate
