#include "kube/base/printable.h"

#include <fmt/format.h>

#include <cstddef>
#include <iterator>

#include "base/unsafe_text.h"

namespace kube {
namespace {

std::string Escaped(std::string_view text, bool keep_lines) {
  std::string out;
  const auto escape = [&out](char kind, int digits, unsigned value) {
    fmt::format_to(std::back_inserter(out), "\\{}{:0{}x}", kind, value, digits);
  };
  while (!text.empty()) {
    char32_t c = 0;
    const std::size_t length = internal::DecodeUtf8(text, c);
    if (length == 0) {
      escape('x', 2, static_cast<unsigned char>(text[0]));
    } else if (c == '\n') {
      out += keep_lines ? "\n" : "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (c == '\r') {
      out += "\\r";
    } else if (!internal::IsUnsafe(c)) {
      out.append(text.substr(0, length));
    } else if (c < 0x80) {
      escape('x', 2, c);
    } else {
      escape('u', 4, c);
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return out;
}

}  // namespace

std::string Printable(std::string_view text) { return Escaped(text, false); }
std::string PrintableLines(std::string_view text) { return Escaped(text, true); }

}  // namespace kube
