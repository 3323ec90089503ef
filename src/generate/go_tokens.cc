#include "generate/go_tokens.h"

#include <algorithm>
#include <array>
#include <utility>

namespace kube::generate {
namespace {

bool IsLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || static_cast<unsigned char>(c) >= 0x80; }
bool IsDigit(char c) { return c >= '0' && c <= '9'; }

class Lexer {
 public:
  Lexer(std::string path, std::string_view text, Problems& problems) : text_(text), problems_(problems) {
    out_.file = std::make_shared<const std::string>(std::move(path));
    if (text_.starts_with("\xEF\xBB\xBF")) at_ = line_start_ = 3;
  }

  GoTokens Run() {
    while (true) {
      const char c = Peek();
      if (at_ >= text_.size()) break;
      if (c == '\n') {
        EndLine();
        Newline();
      } else if (c == ' ' || c == '\t' || c == '\r') {
        ++at_;
      } else if (c == '/' && (Peek(1) == '/' || Peek(1) == '*')) {
        AddComment();
      } else {
        AddToken();
      }
    }
    EndLine();
    Add(GoTokenKind::kEnd, text_.size(), 0, line_, Column(text_.size()));
    return std::move(out_);
  }

 private:
  char Peek(std::size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }
  int Column(std::size_t at) const { return static_cast<int>(at - line_start_) + 1; }
  void Newline() {
    ++line_;
    line_start_ = ++at_;
  }
  // A line end behind a name, a literal or a closing bracket is a semicolon.
  void EndLine() {
    if (std::exchange(ends_statement_, false)) {
      // Before the comments of this line: they stay with the token in front of them.
      out_.tokens.push_back({.kind = GoTokenKind::kSemicolon, .text = "\n", .line = line_, .column = Column(at_)});
    }
  }

  void AddComment() {
    const std::size_t begin = at_;
    const int line = line_, column = Column(at_);
    bool lines = false;
    if (Peek(1) == '/') {
      at_ = std::min(text_.find('\n', at_), text_.size());
    } else {
      std::size_t end = text_.find("*/", at_ + 2);
      if (end == std::string_view::npos) {
        problems_.Error({out_.file, line, column}, "comment without an end; write */ behind it");
        end = text_.size();
      } else {
        end += 2;
      }
      while (at_ < end) {
        if (text_[at_] != '\n') {
          ++at_;
          continue;
        }
        lines = true;
        Newline();
      }
    }
    std::string_view text = text_.substr(begin, at_ - begin);
    if (text.ends_with('\r')) text.remove_suffix(1);
    pending_.push_back({.text = text, .line = line, .column = column, .last_line = line_});
    if (lines) EndLine();
  }

  // The comments since the last token as groups: those behind it on its line, and those without an empty line between them.
  void CloseGroups(GoToken& next) {
    std::size_t i = 0;
    const auto group = [&](int gap) {
      GoCommentGroup made;
      int last = pending_[i].line;
      while (i < pending_.size() && pending_[i].line <= last + gap) {
        last = pending_[i].last_line;
        made.comments.push_back(pending_[i++]);
      }
      out_.groups.push_back(std::move(made));
      return last;
    };
    if (i < pending_.size() && last_real_ != kNone && pending_[i].line == last_line_) {
      const int last = group(0);
      if (last != next.line || next.kind == GoTokenKind::kEnd) out_.tokens[last_real_].trailing = static_cast<int>(out_.groups.size()) - 1;
    }
    int last = -1;
    while (i < pending_.size()) last = group(1);
    if (last + 1 == next.line && last != -1) next.doc = static_cast<int>(out_.groups.size()) - 1;
    next.groups = out_.groups.size();
    pending_.clear();
  }

  void Add(GoTokenKind kind, std::size_t begin, std::size_t size, int line, int column) {
    GoToken token{.kind = kind, .text = text_.substr(begin, size), .line = line, .column = column};
    CloseGroups(token);
    last_real_ = out_.tokens.size();
    last_line_ = line_;
    out_.tokens.push_back(token);
  }

  void AddToken() {
    const std::size_t begin = at_;
    const int line = line_, column = Column(at_);
    GoTokenKind kind = GoTokenKind::kSymbol;
    const char c = Peek();
    if (IsLetter(c)) {
      kind = GoTokenKind::kName;
      while (IsLetter(Peek()) || IsDigit(Peek())) ++at_;
    } else if (IsDigit(c) || (c == '.' && IsDigit(Peek(1)))) {
      kind = GoTokenKind::kNumber;
      Number();
    } else if (c == '"' || c == '\'') {
      kind = c == '"' ? GoTokenKind::kString : GoTokenKind::kRune;
      Quoted(c, line, column);
    } else if (c == '`') {
      kind = GoTokenKind::kString;
      RawString(line, column);
    } else if (c == ';') {
      kind = GoTokenKind::kSemicolon;
      ++at_;
    } else {
      const std::string_view rest = text_.substr(at_);
      at_ += rest.starts_with("...") ? 3 : rest.starts_with("++") || rest.starts_with("--") ? 2 : 1;
    }
    Add(kind, begin, at_ - begin, line, column);
    ends_statement_ = EndsStatement(out_.tokens.back());
  }

  static bool EndsStatement(const GoToken& token) {
    static constexpr std::array<std::string_view, 21> kOpen = {"case",    "chan",  "const",  "default", "defer",  "else",      "for",
                                                               "func",    "go",    "goto",   "if",      "import", "interface", "map",
                                                               "package", "range", "select", "struct",  "switch", "type",      "var"};
    switch (token.kind) {
      case GoTokenKind::kName:
        for (std::string_view word : kOpen) {
          if (token.text == word) return false;
        }
        return true;
      case GoTokenKind::kNumber:
      case GoTokenKind::kString:
      case GoTokenKind::kRune:
        return true;
      case GoTokenKind::kSymbol:
        return token.text == ")" || token.text == "]" || token.text == "}" || token.text == "++" || token.text == "--";
      case GoTokenKind::kSemicolon:
      case GoTokenKind::kEnd:
        return false;
    }
    return false;
  }

  void Number() {
    while (true) {
      const char c = Peek();
      const bool exponent = (c == 'e' || c == 'E' || c == 'p' || c == 'P') && (Peek(1) == '+' || Peek(1) == '-');
      if (exponent && !text_.substr(at_).starts_with("e++") && !text_.substr(at_).starts_with("e--")) {
        at_ += 2;
      } else if (IsDigit(c) || IsLetter(c) || c == '.') {
        ++at_;
      } else {
        break;
      }
    }
  }

  void Quoted(char quote, int line, int column) {
    ++at_;
    while (at_ < text_.size() && text_[at_] != quote && text_[at_] != '\n') at_ += text_[at_] == '\\' && Peek(1) != '\n' ? 2 : 1;
    if (at_ >= text_.size() || text_[at_] != quote) {
      at_ = std::min(at_, text_.size());
      problems_.Error({out_.file, line, column}, quote == '"' ? "string without an end; write \" behind it" : "rune without an end");
    } else {
      ++at_;
    }
  }

  void RawString(int line, int column) {
    ++at_;
    while (at_ < text_.size() && text_[at_] != '`') {
      if (text_[at_] == '\n') {
        Newline();
      } else {
        ++at_;
      }
    }
    if (at_ >= text_.size()) {
      problems_.Error({out_.file, line, column}, "raw string without an end; write ` behind it");
    } else {
      ++at_;
    }
  }

  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);

  std::string_view text_;
  Problems& problems_;
  GoTokens out_;
  std::size_t at_ = 0, line_start_ = 0;
  int line_ = 1;
  bool ends_statement_ = false;
  std::size_t last_real_ = kNone;  // the last token that is no line end
  int last_line_ = 0;              // where it ends
  std::vector<Comment> pending_;
};

void AddUtf8(std::uint32_t code, std::string& out) {
  if (code < 0x80) {
    out += static_cast<char>(code);
  } else if (code < 0x800) {
    out += static_cast<char>(0xC0 | (code >> 6));
    out += static_cast<char>(0x80 | (code & 0x3F));
  } else if (code < 0x10000) {
    out += static_cast<char>(0xE0 | (code >> 12));
    out += static_cast<char>(0x80 | ((code >> 6) & 0x3F));
    out += static_cast<char>(0x80 | (code & 0x3F));
  } else {
    out += static_cast<char>(0xF0 | (code >> 18));
    out += static_cast<char>(0x80 | ((code >> 12) & 0x3F));
    out += static_cast<char>(0x80 | ((code >> 6) & 0x3F));
    out += static_cast<char>(0x80 | (code & 0x3F));
  }
}

// `digits` of the base; false if there are fewer.
bool ReadCode(std::string_view& text, std::size_t digits, std::uint32_t base, std::uint32_t& code) {
  if (text.size() < digits) return false;
  code = 0;
  for (char c : text.substr(0, digits)) {
    const int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : 99;
    if (digit >= static_cast<int>(base)) return false;
    code = code * base + static_cast<std::uint32_t>(digit);
  }
  text.remove_prefix(digits);
  return true;
}

}  // namespace

GoTokens TokenizeGo(std::string path, std::string_view text, Problems& problems) { return Lexer(std::move(path), text, problems).Run(); }

bool GoStringValue(std::string_view literal, std::string& out) {
  out.clear();
  if (literal.size() < 2 || literal.back() != literal.front()) return false;
  const bool raw = literal.front() == '`';
  literal = literal.substr(1, literal.size() - 2);
  if (raw) {
    for (char c : literal) {
      if (c != '\r') out += c;
    }
    return true;
  }
  constexpr std::string_view kEscapes = "abfnrtv\\\"'", kValues = "\a\b\f\n\r\t\v\\\"'";
  while (!literal.empty()) {
    const char c = literal.front();
    literal.remove_prefix(1);
    if (c != '\\') {
      out += c;
      continue;
    }
    if (literal.empty()) return false;
    const char escape = literal.front();
    std::uint32_t code = 0;
    if (const std::size_t known = kEscapes.find(escape); known != std::string_view::npos) {
      out += kValues[known];
      literal.remove_prefix(1);
    } else if (escape >= '0' && escape <= '7') {
      if (!ReadCode(literal, 3, 8, code) || code > 255) return false;
      out += static_cast<char>(code);
    } else if (escape == 'x') {
      literal.remove_prefix(1);
      if (!ReadCode(literal, 2, 16, code)) return false;
      out += static_cast<char>(code);
    } else if (escape == 'u' || escape == 'U') {
      literal.remove_prefix(1);
      if (!ReadCode(literal, escape == 'u' ? 4 : 8, 16, code) || code > 0x10FFFF || (code >= 0xD800 && code < 0xE000)) return false;
      AddUtf8(code, out);
    } else {
      return false;
    }
  }
  return true;
}

}  // namespace kube::generate
