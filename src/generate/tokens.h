// Tokens of a C++ header, as far as the declaration reader needs them: no preprocessing, no keywords, comments kept.
//
//   TokenStream tokens = Tokenize("api/net.h", text, problems);
//
// Never fails: an unterminated comment or string ends with the text and is reported. Linear time; the tokens refer to `text`.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "generate/problems.h"

namespace kube::generate {

// Headers are written by people; what is larger is not read.
inline constexpr std::size_t kMostHeaderBytes = std::size_t{4} << 20;

enum class TokenKind : std::uint8_t {
  kName,       // identifiers and keywords
  kNumber,     // 12, 0x1f, 1.5e3
  kString,     // "...", R"(...)", with their quotes
  kCharacter,  // 'x'
  kSymbol,     // one character, or "::"
  kDirective,  // a whole # line with its continuations
  kEnd,
};

struct Token {
  TokenKind kind = TokenKind::kEnd;
  std::string_view text;
  int line = 0;
  int column = 0;
  std::size_t comments = 0;  // how many comments stand before it; index into TokenStream::comments

  bool Is(std::string_view symbol_or_name) const {
    return (kind == TokenKind::kName || kind == TokenKind::kSymbol) && text == symbol_or_name;
  }
};

struct Comment {
  std::string_view text;  // with its // or /* */
  int line = 0;           // where it begins
  int column = 0;
  int last_line = 0;      // where it ends
  bool trailing = false;  // a token stands before it on its line
};

struct TokenStream {
  std::shared_ptr<const std::string> file;
  std::vector<Token> tokens;  // the last one is kEnd
  std::vector<Comment> comments;

  Position At(const Token& token) const { return {file, token.line, token.column}; }
  Position At(const Comment& comment) const { return {file, comment.line, comment.column}; }
};

TokenStream Tokenize(std::string path, std::string_view text, Problems& problems);

// Where `text` has a zero, or a byte that is not UTF-8; npos if it has none.
std::size_t FindNoText(std::string_view text);

// The name in `#include "name"` or `#include <name>`; nothing for other directives.
std::optional<std::string_view> IncludedName(std::string_view directive);

// The value of a string literal: escapes resolved, quotes and prefix gone. False if it has an escape that is not understood.
bool StringLiteralValue(std::string_view literal, std::string& out);

}  // namespace kube::generate
