// Tokens of a Go file, with the semicolons that line ends stand for, and its comments in groups as go/parser forms them.
//
//   GoTokens tokens = TokenizeGo("api/v1/types.go", text, problems);
//
// Never fails: an unterminated comment or string ends with the text and is reported. Linear time; the tokens refer to `text`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "generate/problems.h"
#include "generate/tokens.h"

namespace kube::generate {

// Larger files are not read. Generated Go files have up to a few megabytes.
inline constexpr std::size_t kMostGoBytes = std::size_t{16} << 20;

enum class GoTokenKind : std::uint8_t {
  kName,       // identifiers and keywords
  kNumber,     // 12, 0x1f, 1.5e3
  kString,     // "..." and `...`, with their quotes
  kRune,       // 'x'
  kSymbol,     // one character, or "...", "++", "--"
  kSemicolon,  // ";", or "\n" for one that a line end stands for
  kEnd,
};

struct GoToken {
  GoTokenKind kind = GoTokenKind::kEnd;
  std::string_view text;
  int line = 0;
  int column = 0;
  std::size_t groups = 0;  // comment groups that begin before it; index into GoTokens::groups
  int doc = -1;            // the group that ends on the line above it
  int trailing = -1;       // the group behind it on its line

  bool Is(std::string_view symbol_or_name) const {
    return (kind == GoTokenKind::kName || kind == GoTokenKind::kSymbol) && text == symbol_or_name;
  }
};

// Comments without a token or an empty line between them.
struct GoCommentGroup {
  std::vector<Comment> comments;
};

struct GoTokens {
  std::shared_ptr<const std::string> file;
  std::vector<GoToken> tokens;  // the last one is kEnd
  std::vector<GoCommentGroup> groups;

  Position At(const GoToken& token) const { return {file, token.line, token.column}; }
  Position At(const Comment& comment) const { return {file, comment.line, comment.column}; }
};

GoTokens TokenizeGo(std::string path, std::string_view text, Problems& problems);

// The value of a string literal. False if it has an escape that is not understood.
bool GoStringValue(std::string_view literal, std::string& out);

}  // namespace kube::generate
