// JSON text as a sequence of tokens, found by simdjson's first stage (SIMD: structure, quoting, UTF-8 check). The walk over them is our
// own, so that raw spans can be shared, skipped or kept, and the text need not be copied for padding.
#pragma once

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>

#include "kube/base/result.h"

namespace kube::internal {

class JsonTokens {
 public:
  JsonTokens();
  ~JsonTokens();
  JsonTokens(const JsonTokens&) = delete;
  JsonTokens& operator=(const JsonTokens&) = delete;

  // Finds the tokens of `text`, which must outlive this object. Fails on unclosed strings and on control characters in strings. Invalid
  // UTF-8 reads as U+FFFD, or unchanged with kAsTheyAre.
  enum class BadBytes : std::uint8_t { kReplace, kAsTheyAre };
  Result<void> Load(std::string_view text, BadBytes bad_bytes = BadBytes::kReplace);

  // ---- The walk. `pos` counts tokens; a token starts at a structural character, a string or a scalar. ----
  std::uint32_t pos = 0;

  std::uint32_t count() const { return count_; }
  bool AtEnd() const { return pos >= count_; }
  // First character of the current token; NUL at the end.
  char Peek() const { return pos < count_ ? text_[starts_[pos]] : '\0'; }
  // The text from the current token, for a lookahead of at most `left` bytes.
  const char* At(std::size_t& left) const {
    left = size_ - starts_[pos];
    return text_ + starts_[pos];
  }
  std::uint32_t Offset(std::uint32_t i) const { return starts_[i < count_ ? i : count_]; }
  // The text of the token without trailing white space.
  std::string_view Token(std::uint32_t i) const {
    const char* begin = text_ + starts_[i];
    const char* end = text_ + starts_[i + 1];
    while (static_cast<unsigned char>(end[-1]) <= ' ' && IsSpace(end[-1]) && end - begin > 1) --end;
    return {begin, static_cast<std::size_t>(end - begin)};
  }
  // The text from token `first` to the end of token `last`.
  std::string_view Span(std::uint32_t first, std::uint32_t last) const {
    std::string_view end = Token(last);
    return {text_ + starts_[first], static_cast<std::size_t>(end.data() + end.size() - (text_ + starts_[first]))};
  }

  // The position after the value at `i`. Counts only brackets and validates nothing else. Beyond count() if they are not closed.
  std::uint32_t Skip(std::uint32_t i) const;
  // The same, and the nesting of its brackets.
  std::uint32_t Skip(std::uint32_t i, std::int64_t& height) const;
  // Whether the text at pos starts with `text`.
  bool StartsWith(std::string_view text) const {
    return pos < count_ && size_ - starts_[pos] >= text.size() && std::memcmp(text_ + starts_[pos], text.data(), text.size()) == 0;
  }

  // Whether the body of a string contains an escape.
  bool HasEscape(std::string_view body) const {
    const char* p = body.data();
    std::size_t n = body.size();
#if defined(__SSE2__)
    const __m128i backslash = _mm_set1_epi8('\\');
    while (p + 16 <= text_ + size_) {
      auto mask = static_cast<unsigned>(_mm_movemask_epi8(_mm_cmpeq_epi8(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)), backslash)));
      if (n <= 16) return (mask & ((1U << n) - 1)) != 0;
      if (mask != 0) return true;
      p += 16;
      n -= 16;
    }
#endif
    for (std::size_t i = 0; i < n; ++i) {
      if (p[i] == '\\') return true;
    }
    return false;
  }

  // Validates the value at `pos` completely, moves past it, and returns its compact text: a view of the input if that has no white space
  // between tokens, else of `scratch`. On failure `problem` describes the error at `pos`.
  bool ReadRaw(int depth, std::string& scratch, std::string_view& compact, std::string_view& problem);

 private:
  static bool IsSpace(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; }

  const char* text_ = nullptr;
  std::size_t size_ = 0;
  const std::uint32_t* starts_ = nullptr;
  std::uint32_t count_ = 0;
  struct Stage1;
  std::unique_ptr<Stage1> stage1_;
  std::string mended_;  // the text, if it had to be changed

  Result<void> LoadBadUtf8(std::string_view text, BadBytes bad_bytes);

  bool Check(int depth, std::size_t& bytes, std::string_view& problem);
};

// Whether the text is a JSON number; `integer`: without fraction and exponent.
bool IsJsonNumber(std::string_view text, bool& integer);
// Returns false if it does not fit. Requires: IsJsonNumber with integer.
bool ParseJsonInteger(std::string_view text, std::int64_t& out);

// Appends the decoded body of a JSON string; a lone surrogate becomes U+FFFD, as in Go. Returns false for an invalid escape.
bool Unescape(std::string_view body, std::string& out);

// Describes an unexpected token for messages: "an object", "a number". Never quotes the content.
std::string_view DescribeToken(char first);

}  // namespace kube::internal
