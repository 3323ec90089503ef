#include "generate/marker_values.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

#include "codec/utf8.h"
#include "kube/codec/json.h"

namespace kube::generate {
namespace {

constexpr int kMostDepth = 32;
constexpr std::size_t kEnd = std::string_view::npos;

bool IsSpace(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }
bool IsWord(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_'; }
bool IsDigit(char c) { return c >= '0' && c <= '9'; }

std::size_t SkipSpaces(std::string_view text, std::size_t at) {
  while (at < text.size() && IsSpace(text[at])) ++at;
  return at;
}

// Behind the number that begins at `at`; `at` itself if none does. Go's decimal notation.
std::size_t NumberEnd(std::string_view text, std::size_t at) {
  std::size_t end = at;
  if (end < text.size() && text[end] == '-') ++end;
  const std::size_t digits = end;
  while (end < text.size() && IsDigit(text[end])) ++end;
  std::size_t seen = end - digits;
  if (end < text.size() && text[end] == '.') {
    const std::size_t fraction = ++end;
    while (end < text.size() && IsDigit(text[end])) ++end;
    seen += end - fraction;
  }
  if (seen == 0) return at;
  if (end < text.size() && (text[end] == 'e' || text[end] == 'E')) {
    std::size_t exponent = end + 1;
    if (exponent < text.size() && (text[exponent] == '-' || text[exponent] == '+')) ++exponent;
    if (exponent < text.size() && IsDigit(text[exponent])) {
      end = exponent;
      while (end < text.size() && IsDigit(text[end])) ++end;
    }
  }
  return end;
}

void AppendUtf8(std::uint32_t code, std::string& out) {
  if (code < 0x80) {
    out += static_cast<char>(code);
  } else if (code < 0x800) {
    out += static_cast<char>(0xc0 | (code >> 6));
    out += static_cast<char>(0x80 | (code & 0x3f));
  } else {
    out += static_cast<char>(0xe0 | (code >> 12));
    out += static_cast<char>(0x80 | ((code >> 6) & 0x3f));
    out += static_cast<char>(0x80 | (code & 0x3f));
  }
}

// A quoted string of Go. False for an escape that Go does not know.
bool Unquote(std::string_view quoted, std::string& out) {
  out.clear();
  const std::string_view body = quoted.substr(1, quoted.size() - 2);
  if (quoted.front() == '`') {
    out = body;
    return true;
  }
  for (std::size_t i = 0; i < body.size(); ++i) {
    if (body[i] != '\\') {
      out += body[i];
      continue;
    }
    if (++i == body.size()) return false;
    switch (body[i]) {
      case 'n':
        out += '\n';
        break;
      case 't':
        out += '\t';
        break;
      case 'r':
        out += '\r';
        break;
      case 'a':
        out += '\a';
        break;
      case 'b':
        out += '\b';
        break;
      case 'f':
        out += '\f';
        break;
      case 'v':
        out += '\v';
        break;
      case '\\':
      case '"':
        out += body[i];
        break;
      case 'x':
      case 'u': {
        const std::size_t digits = body[i] == 'x' ? 2 : 4;
        if (i + digits >= body.size()) return false;
        std::uint32_t code = 0;
        const char* begin = body.data() + i + 1;
        auto [end, failed] = std::from_chars(begin, begin + digits, code, 16);
        if (failed != std::errc() || end != begin + digits) return false;
        if (digits == 2) {
          out += static_cast<char>(code);
        } else {
          AppendUtf8(code, out);
        }
        i += digits;
        break;
      }
      default:
        return false;
    }
  }
  return internal::ValidUtf8(out);  // \xe9 alone, and halves of surrogates, are none
}

}  // namespace

char MarkerScanner::Peek() {
  at_ = SkipSpaces(text_, at_);
  return at_ < text_.size() ? text_[at_] : '\0';
}

Value MarkerScanner::Fail(std::string why) {
  if (error_.empty()) error_ = std::move(why);
  at_ = text_.size();
  return {};
}

bool MarkerScanner::AtEnd() { return Peek() == '\0' && at_ >= text_.size(); }

bool MarkerScanner::Skip(char symbol) {
  if (Peek() != symbol || at_ >= text_.size()) return false;
  ++at_;
  return true;
}

std::string_view MarkerScanner::ReadName() {
  Peek();
  std::size_t end = at_;
  while (end < text_.size() && IsWord(text_[end])) ++end;
  const std::string_view name = text_.substr(at_, end - at_);
  at_ = end;
  if (name.empty() || !Skip('=')) {
    Fail("expected NAME=VALUE");
    return "";
  }
  return name;
}

std::size_t MarkerScanner::TokenEnd(std::size_t at) const {
  const char c = text_[at];
  if (c == '"') {
    for (std::size_t i = at + 1; i < text_.size(); ++i) {
      if (text_[i] == '\\') {
        ++i;
      } else if (text_[i] == '"') {
        return i + 1;
      }
    }
    return kEnd;
  }
  if (c == '`') {
    const std::size_t end = text_.find('`', at + 1);
    return end == kEnd ? kEnd : end + 1;
  }
  if (!IsWord(c)) return at + 1;
  std::size_t end = at;
  while (end < text_.size() && IsWord(text_[end])) ++end;
  return end;
}

Value MarkerScanner::Read(ArgumentType type) {
  if (!error_.empty()) return {};
  switch (type) {
    case ArgumentType::kNone:
      return {};
    case ArgumentType::kString:
      return ReadString(false);
    case ArgumentType::kInt:
      return ReadNumber(true);
    case ArgumentType::kNumber:
      return ReadNumber(false);
    case ArgumentType::kBool:
      return ReadBool();
    case ArgumentType::kStrings:
      return ReadList(ArgumentType::kString);
    case ArgumentType::kAnyList:
      return ReadList(ArgumentType::kAny);
    case ArgumentType::kJson: {
      Result<Value> json = ParseJson(rest());
      if (!json) return Fail("expected JSON, such as 5, true or \"text\"");
      at_ = text_.size();
      return *json;
    }
    case ArgumentType::kAny: {
      const char c = Peek();
      if (c == '[' || c == '{') {
        if (Result<Value> json = ParseJson(rest()); json) {
          at_ = text_.size();
          return *json;
        }
      }
      return ReadAny(false);
    }
  }
  return {};
}

Value MarkerScanner::ReadString(bool in_map) {
  const char first = Peek();
  if (at_ >= text_.size()) return Fail("expected a string");
  if (first == '"' || first == '`') {
    const std::size_t end = TokenEnd(at_);
    if (end == kEnd) return Fail("string without a closing " + std::string(1, first) + " on the line of the marker");
    std::string out;
    if (!Unquote(text_.substr(at_, end - at_), out))
      return Fail("string with an escape that Go does not know, or that makes no character; write it between backquotes");
    at_ = end;
    return Value(out);
  }
  // Bare words, up to what separates values.
  const std::size_t begin = at_;
  std::size_t end = at_;
  while (Peek() != '\0' || at_ < text_.size()) {
    const char c = text_[at_];
    if (c == ',' || c == ';' || c == '}' || (in_map && c == ':')) break;
    const std::size_t next = TokenEnd(at_);
    if (next == kEnd) return Fail("string without a closing " + std::string(1, c) + " on the line of the marker");
    at_ = end = next;
  }
  if (end == begin) return Fail("expected a string; an empty one is \"\"");
  return Value(text_.substr(begin, end - begin));
}

Value MarkerScanner::ReadNumber(bool integer) {
  Peek();
  const std::size_t end = NumberEnd(text_, at_);
  const std::string_view digits = text_.substr(at_, end - at_);
  std::int64_t whole = 0;
  auto [stop, failed] = std::from_chars(digits.data(), digits.data() + digits.size(), whole);
  if (!digits.empty() && failed == std::errc() && stop == digits.data() + digits.size()) {
    at_ = end;
    return Value(whole);
  }
  if (integer) return Fail("expected an integer");
  double number = 0;
  auto [last, wrong] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (digits.empty() || wrong != std::errc() || last != digits.data() + digits.size()) return Fail("expected a number");
  at_ = end;
  if (number == std::trunc(number) && std::abs(number) < 9e15) return Value(static_cast<std::int64_t>(number));
  return Value(number);
}

Value MarkerScanner::ReadBool() {
  Peek();
  const std::size_t end = at_ < text_.size() ? TokenEnd(at_) : at_;
  const std::string_view word = end == kEnd ? "" : text_.substr(at_, end - at_);
  if (word != "true" && word != "false") return Fail("expected true or false");
  at_ = end;
  return Value(word == "true");
}

Value MarkerScanner::ReadList(ArgumentType item, bool alike) {
  if (++depth_ > kMostDepth) return Fail("lists nested too deeply");
  Value out = Value::Array();
  std::optional<Guess> first;
  auto read = [&] {
    if (item != ArgumentType::kAny) return Read(item);
    if (!alike) return ReadAny(true);
    if (!first) first = GuessHere();
    return ReadGuessed(*first);
  };
  if (Skip('{')) {
    while (error_.empty() && Peek() != '}') {
      out.MutableList().push_back(read());
      if (Peek() == '}') break;
      if (error_.empty() && !Skip(',')) return Fail("expected , or } in a list");
    }
    if (error_.empty() && !Skip('}')) return Fail("list without }");
  } else {
    do {
      out.MutableList().push_back(read());
    } while (error_.empty() && Skip(';'));
  }
  --depth_;
  return out;
}

Value MarkerScanner::ReadMap() {
  if (++depth_ > kMostDepth) return Fail("objects nested too deeply");
  Value out = Value::Object();
  if (!Skip('{')) return Fail("expected {");
  while (error_.empty() && Peek() != '}') {
    const Value key = ReadString(true);
    if (error_.empty() && !Skip(':')) return Fail("expected : behind a name of an object");
    Value value = ReadAny(false);
    if (!error_.empty()) return {};
    out[key.string_value()] = std::move(value);
    if (Peek() == '}') break;
    if (!Skip(',')) return Fail("expected , or } in an object");
  }
  if (error_.empty() && !Skip('}')) return Fail("object without }");
  --depth_;
  return out;
}

// Whether a semicolon comes before a comma.
bool MarkerScanner::IsLegacyList() const {
  for (std::size_t at = SkipSpaces(text_, at_); at < text_.size(); at = SkipSpaces(text_, at)) {
    if (text_[at] == ',') return false;
    if (text_[at] == ';') return true;
    at = TokenEnd(at);
    if (at == kEnd) return false;
  }
  return false;
}

MarkerScanner::Guess MarkerScanner::GuessHere() const {
  const std::size_t at = SkipSpaces(text_, at_);
  if (at >= text_.size()) return Guess::kString;
  const char c = text_[at];
  if (c == '"' || c == '`') return Guess::kString;
  if (c == '{') {
    const std::size_t inner = SkipSpaces(text_, at + 1);
    if (inner >= text_.size() || text_[inner] == '}') return Guess::kMap;
    if (text_[inner] == '{') return Guess::kList;
    // A name with a colon behind it makes it an object.
    std::size_t next = inner;
    bool first = true;
    while (next < text_.size()) {
      const char n = text_[next];
      if (n == ':') return Guess::kMap;
      if (n == ',' || n == ';' || n == '}') return Guess::kList;
      if ((n == '"' || n == '`') && first) {
        next = TokenEnd(next);
        if (next == kEnd) return Guess::kList;
        next = SkipSpaces(text_, next);
        return next < text_.size() && text_[next] == ':' ? Guess::kMap : Guess::kList;
      }
      next = TokenEnd(next);
      if (next == kEnd) return Guess::kList;
      next = SkipSpaces(text_, next);
      first = false;
    }
    return Guess::kList;
  }
  if (IsWord(c)) {
    const std::string_view word = text_.substr(at, TokenEnd(at) - at);
    if (word == "true" || word == "false") return Guess::kBool;
  }
  // Numbers end where the value does: 100Mi and 2024-01-15 are strings. So is 087, which Go takes for a wrong octal number; 077 is 77.
  const std::size_t end = NumberEnd(text_, at);
  if (end != at) {
    const std::string_view number = text_.substr(at, end - at);
    const std::string_view digits = number.starts_with('-') ? number.substr(1) : number;
    const bool octal = digits.size() > 1 && digits[0] == '0' && std::all_of(digits.begin(), digits.end(), &IsDigit) &&
                       digits.find_first_of("89") != std::string_view::npos;
    const std::size_t next = SkipSpaces(text_, end);
    const bool ends = next >= text_.size() || text_[next] == ',' || text_[next] == ';' || text_[next] == '}';
    if (ends && !octal) return Guess::kNumber;
  }
  return Guess::kString;
}

Value MarkerScanner::ReadGuessed(Guess guess) {
  switch (guess) {
    case Guess::kString:
      return ReadString(false);
    case Guess::kNumber:
      return ReadNumber(false);
    case Guess::kBool:
      return ReadBool();
    case Guess::kList:
      return ReadList(ArgumentType::kAny, true);
    case Guess::kMap:
      return ReadMap();
  }
  return {};
}

Value MarkerScanner::ReadAny(bool in_list) {
  if (!error_.empty()) return {};
  if (!in_list && depth_ == 0 && IsLegacyList()) return ReadList(ArgumentType::kAny, true);
  return ReadGuessed(GuessHere());
}

}  // namespace kube::generate
