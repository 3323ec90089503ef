#include "codec/json_writer.h"

#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "codec/utf8.h"

namespace kube::internal {
namespace {

bool NeedsEscape(char c) { return static_cast<unsigned char>(c) < 0x20 || c == '"' || c == '\\'; }

// Returns the end of the run of bytes from `p` that need no escape, and sets the high bit of `bits` if one of them is not ASCII. Reads
// eight bytes at a time: a string of an object is seldom escaped, and writing strings is a tenth of what DesiredState costs.
const char* SkipPlain(const char* p, const char* end, unsigned& bits) {
  constexpr std::uint64_t kOnes = 0x0101010101010101;
  constexpr std::uint64_t kHigh = 0x80 * kOnes;
  std::uint64_t seen = 0;
  for (; end - p >= 8; p += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, p, 8);
    // The high bit of the lowest byte with the property is exact; those above it may be wrong, which does not matter here.
    const auto is_zero = [](std::uint64_t bytes) { return (bytes - kOnes) & ~bytes; };
    const std::uint64_t control = (word - 0x20 * kOnes) & ~word;
    if (((control | is_zero(word ^ '"' * kOnes) | is_zero(word ^ '\\' * kOnes)) & kHigh) != 0) break;
    seen |= word;
  }
  if ((seen & kHigh) != 0) bits |= 0x80;
  for (; p != end && !NeedsEscape(*p); ++p) bits |= static_cast<unsigned char>(*p);
  return p;
}

}  // namespace

void JsonWriter::String(std::string_view text) {
  const std::size_t before = out_.size();
  out_ += '"';
  const char* p = text.data();
  const char* end = p + text.size();
  unsigned bits = 0;
  while (p != end) {
    const char* run = p;
    p = SkipPlain(p, end, bits);
    out_.append(run, p);
    if (p == end) break;
    char c = *p++;
    switch (c) {
      case '"':
        out_ += "\\\"";
        break;
      case '\\':
        out_ += "\\\\";
        break;
      case '\n':
        out_ += "\\n";
        break;
      case '\r':
        out_ += "\\r";
        break;
      case '\t':
        out_ += "\\t";
        break;
      case '\b':
        out_ += "\\b";
        break;
      case '\f':
        out_ += "\\f";
        break;
      default: {
        constexpr char kHex[] = "0123456789abcdef";
        const char escape[] = {'\\', 'u', '0', '0', kHex[(c >> 4) & 1], kHex[c & 15]};
        out_.append(escape, sizeof escape);
      }
    }
  }
  out_ += '"';
  if ((bits & 0x80) == 0 || keeps_bytes_ || ValidUtf8(text)) return;
  out_.resize(before);
  String(MendUtf8(text));
}

void JsonWriter::Int(std::int64_t n) {
  char buffer[24];
  out_.append(buffer, std::to_chars(buffer, buffer + sizeof buffer, n).ptr);
}

void JsonWriter::Double(double d) {
  if (!std::isfinite(d)) return Null();  // JSON has no such numbers
  char buffer[40];
  char* end = std::to_chars(buffer, buffer + sizeof buffer, d).ptr;
  out_.append(buffer, end);
  // Stays a double when read again.
  if (std::string_view(buffer, static_cast<std::size_t>(end - buffer)).find_first_of(".eE") == std::string_view::npos) out_ += ".0";
}

void JsonWriter::RawMembers(std::string_view members) {
  std::string mended;
  if (!keeps_bytes_ && !ValidUtf8(members)) members = mended = MendUtf8(members);
  Separate();
  if (indent_ == 0) {
    out_ += members;
  } else {
    Pretty(members);
  }
}

void JsonWriter::Raw(std::string_view value) {
  if (indent_ == 0) {
    out_ += value;
  } else {
    Pretty(value);
  }
}

// The text is valid and compact, so a look at each character outside strings is enough.
void JsonWriter::Pretty(std::string_view compact) {
  int base = depth_;
  bool in_string = false;
  for (std::size_t i = 0; i < compact.size(); ++i) {
    char c = compact[i];
    if (in_string) {
      out_ += c;
      if (c == '\\') {
        out_ += compact[++i];
      } else if (c == '"') {
        in_string = false;
      }
      continue;
    }
    switch (c) {
      case '"':
        in_string = true;
        out_ += c;
        break;
      case '{':
      case '[':
        out_ += c;
        if (compact[i + 1] == '}' || compact[i + 1] == ']') {
          out_ += compact[++i];
        } else {
          ++depth_;
          NewLine();
        }
        break;
      case '}':
      case ']':
        --depth_;
        NewLine();
        out_ += c;
        break;
      case ',':
        out_ += c;
        NewLine();
        break;
      case ':':
        out_ += ": ";
        break;
      default:
        out_ += c;
    }
  }
  depth_ = base;
}

}  // namespace kube::internal
