#include "codec/json_tokens.h"

#include <simdjson.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "codec/utf8.h"
#include "kube/codec/options.h"

namespace kube::internal {

// simdjson's parser object, whose index array is worth keeping between documents. One waits per thread; a nested decoder gets its own.
struct JsonTokens::Stage1 {
  std::unique_ptr<simdjson::internal::dom_parser_implementation> impl;
};

namespace {

constexpr unsigned kReplacementCharacter = 0xfffd;
constexpr std::size_t kKeepBytes = 1 << 20;  // a parser for larger documents is not kept
thread_local std::unique_ptr<simdjson::internal::dom_parser_implementation> spare_parser;

// What a token that starts with this character does to the depth.
constexpr std::array<std::int8_t, 256> kStep = [] {
  std::array<std::int8_t, 256> step{};
  step['{'] = step['['] = 1;
  step['}'] = step[']'] = -1;
  return step;
}();

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// The four hex digits at p, or -1.
int Hex4(const char* p, const char* end) {
  if (end - p < 4) return -1;
  int value = 0;
  for (int i = 0; i < 4; ++i) {
    int digit = HexDigit(p[i]);
    if (digit < 0) return -1;
    value = value * 16 + digit;
  }
  return value;
}

void AppendUtf8(std::string& out, unsigned c) {
  auto byte = [&](unsigned b) { out += static_cast<char>(b); };
  if (c < 0x80) {
    byte(c);
  } else if (c < 0x800) {
    byte(0xc0 | (c >> 6));
    byte(0x80 | (c & 0x3f));
  } else if (c < 0x10000) {
    byte(0xe0 | (c >> 12));
    byte(0x80 | ((c >> 6) & 0x3f));
    byte(0x80 | (c & 0x3f));
  } else {
    byte(0xf0 | (c >> 18));
    byte(0x80 | ((c >> 12) & 0x3f));
    byte(0x80 | ((c >> 6) & 0x3f));
    byte(0x80 | (c & 0x3f));
  }
}

// Only checks what Unescape would refuse.
bool ValidEscapes(std::string_view body) {
  std::string scratch;
  return Unescape(body, scratch);
}

}  // namespace

JsonTokens::JsonTokens() : stage1_(std::make_unique<Stage1>()) { stage1_->impl = std::move(spare_parser); }

JsonTokens::~JsonTokens() {
  if (stage1_->impl != nullptr && stage1_->impl->capacity() <= kKeepBytes) spare_parser = std::move(stage1_->impl);
}

Result<void> JsonTokens::LoadBadUtf8(std::string_view text, BadBytes bad_bytes) {
  if (text.data() == mended_.data()) return Error::Decode("JSON text is not valid UTF-8");
  if (bad_bytes == BadBytes::kReplace) {
    mended_ = MendUtf8(text);
    return Load(mended_);
  }
  // A letter stands for each bad byte while tokens are looked for. They start where they did, so the text itself can be read.
  mended_ = MaskUtf8(text, 'x');
  if (Result<void> loaded = Load(mended_); !loaded) return loaded;
  text_ = text.data();
  return {};
}

Result<void> JsonTokens::Load(std::string_view text, BadBytes bad_bytes) {
  auto& impl = stage1_->impl;
  if (text.size() >= 0xffffffff) return Error::Decode("JSON text of 4 GiB or more");
  simdjson::error_code code = simdjson::SUCCESS;
  if (impl == nullptr) {
    code = simdjson::get_active_implementation()->create_dom_parser_implementation(std::max<std::size_t>(text.size(), 4096), 1, impl);
  } else if (impl->capacity() < text.size()) {
    code = impl->set_capacity(text.size());
  }
  if (code == simdjson::SUCCESS) {
    code = impl->stage1(reinterpret_cast<const std::uint8_t*>(text.data()), text.size(), simdjson::stage1_mode::regular);
  }
  switch (code) {
    case simdjson::SUCCESS:
      break;
    case simdjson::EMPTY:
      return Error::Decode("JSON text is empty");
    case simdjson::UTF8_ERROR:
      return LoadBadUtf8(text, bad_bytes);
    case simdjson::UNCLOSED_STRING:
      return Error::Decode("JSON text ends within a string");
    case simdjson::UNESCAPED_CHARS:
      return Error::Decode("JSON string with a control character that is not escaped");
    case simdjson::MEMALLOC:
      return Error::Decode("not enough memory for the JSON text");
    default:
      return Error::Decode(std::string("malformed JSON: ") + simdjson::error_message(code));
  }
  text_ = text.data();
  size_ = text.size();
  starts_ = impl->structural_indexes.get();
  count_ = impl->n_structural_indexes;
  pos = 0;
  return {};
}

std::uint32_t JsonTokens::Skip(std::uint32_t i) const {
  std::int64_t depth = 0;
  for (; i < count_; ++i) {
    depth += kStep[static_cast<unsigned char>(text_[starts_[i]])];
    if (depth <= 0) return i + 1;
  }
  return count_ + 1;
}

std::uint32_t JsonTokens::Skip(std::uint32_t i, std::int64_t& height) const {
  std::int64_t depth = 0;
  height = 0;
  for (; i < count_; ++i) {
    depth += kStep[static_cast<unsigned char>(text_[starts_[i]])];
    height = std::max(height, depth);
    if (depth <= 0) return i + 1;
  }
  return count_ + 1;
}

bool JsonTokens::ReadRaw(int depth, std::string& scratch, std::string_view& compact, std::string_view& problem) {
  std::uint32_t first = pos;
  std::size_t bytes = 0;
  if (!Check(depth, bytes, problem)) return false;
  std::string_view whole = Span(first, pos - 1);
  if (whole.size() == bytes) {
    compact = whole;
    return true;
  }
  scratch.clear();
  for (std::uint32_t i = first; i < pos; ++i) scratch += Token(i);
  compact = scratch;
  return true;
}

// Adds up the bytes of the tokens, so that the caller knows whether there was space between them.
bool JsonTokens::Check(int depth, std::size_t& bytes, std::string_view& problem) {
  auto fail = [&](std::string_view what) {
    problem = what;
    return false;
  };
  if (AtEnd()) return fail("the text ends too early");
  if (depth >= kMaxDecodeDepth) return fail("nested too deep");
  char open = Peek();
  if (open != '{' && open != '[') {
    std::string_view token = Token(pos);
    bytes += token.size();
    bool integer = false;
    if (open == '"') {
      std::string_view body = token.substr(1, token.size() - 2);
      if (HasEscape(body) && !ValidEscapes(body)) return fail("bad escape in a string");
    } else if (token != "true" && token != "false" && token != "null" && !IsJsonNumber(token, integer)) {
      return fail("not a JSON value");
    }
    ++pos;
    return true;
  }
  char close = open == '{' ? '}' : ']';
  ++pos;
  bytes += 2;
  if (Peek() == close) {
    ++pos;
    return true;
  }
  for (;;) {
    if (open == '{') {
      if (Peek() != '"') return fail("expected a member name");
      if (!Check(depth + 1, bytes, problem)) return false;
      if (Peek() != ':') return fail("expected ':'");
      ++pos;
      ++bytes;
    }
    if (!Check(depth + 1, bytes, problem)) return false;
    char next = Peek();
    if (next != ',' && next != close) return fail("expected ',' or a closing bracket");
    ++pos;
    if (next == close) return true;
    ++bytes;
  }
}

bool IsJsonNumber(std::string_view text, bool& integer) {
  const char* p = text.data();
  const char* end = p + text.size();
  if (p != end && *p == '-') ++p;
  if (p == end || !IsDigit(*p)) return false;
  if (*p == '0') {
    ++p;
  } else {
    while (p != end && IsDigit(*p)) ++p;
  }
  integer = p == end;
  if (p != end && *p == '.') {
    ++p;
    if (p == end || !IsDigit(*p)) return false;
    while (p != end && IsDigit(*p)) ++p;
  }
  if (p != end && (*p == 'e' || *p == 'E')) {
    ++p;
    if (p != end && (*p == '+' || *p == '-')) ++p;
    if (p == end || !IsDigit(*p)) return false;
    while (p != end && IsDigit(*p)) ++p;
  }
  return p == end;
}

bool ParseJsonInteger(std::string_view text, std::int64_t& out) {
  auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), out);
  return code == std::errc() && end == text.data() + text.size();
}

bool Unescape(std::string_view body, std::string& out) {
  const char* p = body.data();
  const char* end = p + body.size();
  while (p != end) {
    const char* run = p;
    while (p != end && *p != '\\') ++p;
    out.append(run, p);
    if (p == end) return true;
    if (++p == end) return false;
    char c = *p++;
    switch (c) {
      case '"':
      case '\\':
      case '/':
        out += c;
        break;
      case 'b':
        out += '\b';
        break;
      case 'f':
        out += '\f';
        break;
      case 'n':
        out += '\n';
        break;
      case 'r':
        out += '\r';
        break;
      case 't':
        out += '\t';
        break;
      case 'u': {
        int code = Hex4(p, end);
        if (code < 0) return false;
        p += 4;
        auto point = static_cast<unsigned>(code);
        if (point >= 0xd800 && point < 0xe000) {
          const int low = point < 0xdc00 && end - p >= 6 && p[0] == '\\' && p[1] == 'u' ? Hex4(p + 2, end) : -1;
          if (low >= 0xdc00 && low <= 0xdfff) {
            p += 6;
            point = 0x10000 + ((point - 0xd800) << 10) + (static_cast<unsigned>(low) - 0xdc00);
          } else {
            point = kReplacementCharacter;
          }
        }
        AppendUtf8(out, point);
        break;
      }
      default:
        return false;
    }
  }
  return true;
}

std::string_view DescribeToken(char first) {
  switch (first) {
    case '{':
      return "an object";
    case '[':
      return "a list";
    case '"':
      return "a string";
    case 't':
    case 'f':
      return "a boolean";
    case 'n':
      return "null";
    case '\0':
      return "the end of the text";
    default:
      return IsDigit(first) || first == '-' ? "a number" : "something that is not JSON";
  }
}

}  // namespace kube::internal
