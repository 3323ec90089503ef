// Values to YAML text, in the style that kubectl prints.
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>

#include "codec/yaml_scalar.h"
#include "kube/codec/yaml.h"

namespace kube {
namespace internal {
namespace {

// Readers look for the colon of a key only so far; longer keys are marked with `?`.
constexpr std::size_t kMostKeyBytes = 1000;

// The next character of UTF-8 text; moves `i` behind it. Bytes that are no UTF-8 read as the replacement character.
char32_t NextCharacter(std::string_view text, std::size_t& i) {
  constexpr char32_t kReplacement = 0xFFFD;
  auto byte = [&](std::size_t at) { return static_cast<unsigned char>(text[at]); };
  unsigned char first = byte(i++);
  if (first < 0x80) return first;
  int more = first >= 0xF0 && first < 0xF8 ? 3 : first >= 0xE0 && first < 0xF0 ? 2 : first >= 0xC2 && first < 0xE0 ? 1 : 0;
  if (more == 0) return kReplacement;
  char32_t c = first & (0x3FU >> more);
  std::size_t at = i;
  for (int n = 0; n < more; ++n, ++at) {
    if (at >= text.size() || (byte(at) & 0xC0U) != 0x80U) return kReplacement;
    c = (c << 6U) | (byte(at) & 0x3FU);
  }
  constexpr std::array<char32_t, 4> kLeast = {0, 0x80, 0x800, 0x10000};
  if (c < kLeast[static_cast<std::size_t>(more)] || (c >= 0xD800 && c <= 0xDFFF) || c > 0x10FFFF) return kReplacement;
  i = at;
  return c;
}

// Characters that may stand in a YAML text as they are, within one line.
bool IsPrintable(char32_t c) {
  if (c < 0x80) return c >= 0x20 && c != 0x7F;
  return c >= 0xA0 && c != 0x2028 && c != 0x2029 && c != 0xFEFF && c != 0xFFFE && c != 0xFFFF;
}

// What a string allows.
struct Shape {
  bool plain = true;  // without quotes
  bool single_line = true;
  bool needs_escape = false;  // has characters that only double quotes can spell
  bool literal = true;        // as a literal block, if it has several lines
};

Shape Analyze(std::string_view text) {
  Shape shape;
  constexpr std::string_view kIndicators = "#,[]{}&*!|>'\"%@`";
  char first = text[0];
  char second = text.size() > 1 ? text[1] : ' ';
  if (kIndicators.find(first) != std::string_view::npos) shape.plain = false;
  if ((first == '-' || first == '?' || first == ':') && second == ' ') shape.plain = false;
  if (text.substr(0, 3) == "---" || text.substr(0, 3) == "...") shape.plain = false;
  if (first == ' ' || text.back() == ' ' || text.back() == ':') shape.plain = false;
  bool valid = true;
  bool only_breaks = true;
  for (std::size_t i = 0; i < text.size();) {
    std::size_t start = i;
    char32_t c = NextCharacter(text, i);
    if (c == 0xFFFD && i - start == 1) valid = false;
    char next = i < text.size() ? text[i] : '\0';
    if (c == '\n') {
      shape.plain = shape.single_line = false;
      continue;
    }
    only_breaks = false;
    if (c == '\t') {
      shape.plain = false;
      if (next == '\n' || next == '\0') shape.literal = false;
    } else if (!IsPrintable(c)) {
      shape.needs_escape = true;
    } else if (c == ' ' && (next == '\n' || next == '\0')) {
      shape.literal = false;  // editors strip such spaces; in quotes they can be seen
    }
    if ((c == ':' && next == ' ') || (c == ' ' && next == '#')) shape.plain = false;
  }
  if (!valid) shape.needs_escape = true;
  if (shape.needs_escape) shape.plain = false;
  if (shape.needs_escape || only_breaks || shape.single_line) shape.literal = false;
  return shape;
}

void AppendHex(char32_t c, int digits, std::string& out) {
  constexpr char kHex[] = "0123456789ABCDEF";
  for (int shift = (digits - 1) * 4; shift >= 0; shift -= 4) out += kHex[(c >> static_cast<unsigned>(shift)) & 15U];
}

void DoubleQuoted(std::string_view text, std::string& out) {
  out += '"';
  for (std::size_t i = 0; i < text.size();) {
    std::size_t start = i;
    char32_t c = NextCharacter(text, i);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += static_cast<char>(c);
    } else if (c == 0xFFFD && i - start == 1) {
      out += "\xEF\xBF\xBD";
    } else if (IsPrintable(c)) {
      out += text.substr(start, i - start);
    } else {
      constexpr std::string_view kFrom("\0\a\b\t\n\v\f\r\x1b", 9);
      constexpr std::string_view kTo = "0abtnvfre";
      std::size_t short_form = c < 0x80 ? kFrom.find(static_cast<char>(c)) : std::string_view::npos;
      out += '\\';
      if (short_form != std::string_view::npos) {
        out += kTo[short_form];
      } else if (c < 0x100) {
        out += 'x';
        AppendHex(c, 2, out);
      } else {
        out += 'u';  // all above U+FFFF is printable
        AppendHex(c, 4, out);
      }
    }
  }
  out += '"';
}

void SingleQuoted(std::string_view text, std::string& out) {
  out += '\'';
  for (char c : text) {
    if (c == '\'') out += '\'';
    out += c;
  }
  out += '\'';
}

class YamlWriter {
 public:
  explicit YamlWriter(std::string& out) : out_(out) {}

  // The value of the document.
  void Root(const Value& v) {
    if (IsBlock(v)) {
      Block(v, 0);
    } else {
      Scalar(v, 0);
      out_ += '\n';
    }
  }

 private:
  std::string& out_;

  static bool IsBlock(const Value& v) { return (v.is_list() && !v.list().empty()) || (v.is_object() && !v.object().empty()); }

  void Indent(std::size_t column) { out_.append(column, ' '); }

  // A list or an object with something in it. The cursor is at `column`; ends behind a line feed.
  void Block(const Value& v, std::size_t column) {
    bool first = true;
    auto start_line = [&] {
      if (!first) Indent(column);
      first = false;
    };
    if (v.is_list()) {
      for (const Value& item : v.list()) {
        start_line();
        out_ += '-';
        Element(item, column);
      }
      return;
    }
    for (const auto& [key, value] : v.object()) {
      start_line();
      std::size_t start = out_.size();
      SingleLine(key.view());
      if (out_.size() - start > kMostKeyBytes) {
        out_.insert(start, "? ");
        out_ += '\n';
        Indent(column);
      }
      out_ += ':';
      Member(value, column);
    }
  }

  // Behind a dash at `column`: nested blocks start on the same line.
  void Element(const Value& v, std::size_t column) {
    out_ += ' ';
    if (IsBlock(v)) {
      Block(v, column + 2);
    } else {
      Scalar(v, column);
      out_ += '\n';
    }
  }

  // Behind the colon of a key at `column`. Lists stand right under their key.
  void Member(const Value& v, std::size_t column) {
    if (!IsBlock(v)) {
      out_ += ' ';
      Scalar(v, column);
      out_ += '\n';
      return;
    }
    out_ += '\n';
    std::size_t inner = v.is_list() ? column : column + 2;
    Indent(inner);
    Block(v, inner);
  }

  // Without the line feed at the end. `column`: of the key or dash that it belongs to.
  void Scalar(const Value& v, std::size_t column) {
    switch (v.kind()) {
      case Value::Kind::kNull:
        out_ += "null";
        return;
      case Value::Kind::kBool:
        out_ += v.bool_value() ? "true" : "false";
        return;
      case Value::Kind::kInt:
        out_ += std::to_string(v.int_value());
        return;
      case Value::Kind::kDouble:
        Double(v.double_value());
        return;
      case Value::Kind::kString:
        Text(v.string_value().view(), column);
        return;
      case Value::Kind::kList:
        out_ += "[]";
        return;
      case Value::Kind::kObject:
        out_ += "{}";
        return;
    }
  }

  void Double(double d) {
    if (!std::isfinite(d)) {
      out_ += "null";
      return;
    }
    std::array<char, 40> buffer{};
    out_.append(buffer.data(), std::to_chars(buffer.data(), buffer.data() + buffer.size(), d).ptr);
  }

  void Text(std::string_view text, std::size_t column) {
    if (!text.empty() && Analyze(text).literal) {
      Literal(text, column + 2);
    } else {
      SingleLine(text);
    }
  }

  void SingleLine(std::string_view text) {
    if (text.empty() || IsAmbiguousYamlString(text)) return DoubleQuoted(text, out_);
    Shape shape = Analyze(text);
    if (shape.plain) {
      out_ += text;
    } else if (shape.single_line && !shape.needs_escape) {
      SingleQuoted(text, out_);
    } else {
      DoubleQuoted(text, out_);
    }
  }

  void Literal(std::string_view text, std::size_t column) {
    out_ += '|';
    // If the first line cannot show how far the block is indented, an indicator does.
    if (text[0] == ' ' || text[0] == '\t' || text[0] == '\n') out_ += '2';
    bool ends = text.back() == '\n';
    if (!ends) out_ += '-';
    if (ends) {
      text.remove_suffix(1);
      if (text.back() == '\n') out_ += '+';
    }
    for (std::size_t i = 0; i <= text.size();) {
      std::size_t end = std::min(text.find('\n', i), text.size());
      out_ += '\n';
      if (end != i) {
        Indent(column);
        out_ += text.substr(i, end - i);
      }
      i = end + 1;
    }
  }
};

}  // namespace
}  // namespace internal

std::string ToYaml(const Value& value) {
  std::string out;
  internal::YamlWriter(out).Root(value);
  return out;
}

Result<void> EncodeYaml(const TypeInfo& type, const void* object, std::string& out) {
  Result<Value> value = ToValue(type, object);
  if (!value) return value.error();
  internal::YamlWriter(out).Root(*value);
  return {};
}

}  // namespace kube
