#include "generate/tokens.h"

#include <utility>

#include "codec/utf8.h"

namespace kube::generate {
namespace {

bool IsNameStart(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (static_cast<unsigned char>(c) & 0x80) != 0;
}
bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsNamePart(char c) { return IsNameStart(c) || IsDigit(c); }
bool IsSpace(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == '\f' || c == '\v'; }

class Tokenizer {
 public:
  Tokenizer(std::string path, std::string_view text, Problems& problems) : text_(text), problems_(problems) {
    out_.file = std::make_shared<const std::string>(std::move(path));
  }

  TokenStream Run() {
    while (at_ < text_.size()) Next();
    Add(TokenKind::kEnd, at_, at_);
    return std::move(out_);
  }

 private:
  char Peek(std::size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }

  void Next() {
    const char c = Peek();
    if (c == '\n') {
      ++at_;
      ++line_;
      line_start_ = at_;
      token_on_line_ = false;
    } else if (IsSpace(c) || (c == '\\' && (Peek(1) == '\n' || (Peek(1) == '\r' && Peek(2) == '\n')))) {
      ++at_;
    } else if (c == '/' && Peek(1) == '/') {
      LineComment();
    } else if (c == '/' && Peek(1) == '*') {
      BlockComment();
    } else if (c == '#' && !token_on_line_) {
      Directive();
    } else if (IsNameStart(c)) {
      NameOrPrefixedString();
    } else if (IsDigit(c) || (c == '.' && IsDigit(Peek(1)))) {
      Number();
    } else if (c == '"') {
      Quoted(at_, '"', TokenKind::kString);
    } else if (c == '\'') {
      Quoted(at_, '\'', TokenKind::kCharacter);
    } else if (c == ':' && Peek(1) == ':') {
      AddUpTo(TokenKind::kSymbol, at_ + 2);
    } else {
      AddUpTo(TokenKind::kSymbol, at_ + 1);
    }
  }

  void Add(TokenKind kind, std::size_t begin, std::size_t end) {
    out_.tokens.push_back({kind, text_.substr(begin, end - begin), line_, Column(begin), out_.comments.size()});
    token_on_line_ = true;
  }
  void AddUpTo(TokenKind kind, std::size_t end) {
    Add(kind, at_, end);
    at_ = end;
  }
  int Column(std::size_t at) const { return static_cast<int>(at - line_start_) + 1; }

  void LineComment() {
    std::size_t end = text_.find('\n', at_);
    if (end == std::string_view::npos) end = text_.size();
    std::string_view text = text_.substr(at_, end - at_);
    if (!text.empty() && text.back() == '\r') text.remove_suffix(1);
    if (text.ends_with('\\') && end < text_.size()) {
      problems_.Error({out_.file, line_, Column(at_ + text.size() - 1)},
                      "backslash that makes the next line a part of this comment; write something behind it, or leave it out");
    }
    out_.comments.push_back({text, line_, Column(at_), line_, token_on_line_});
    at_ = end;
  }

  void BlockComment() {
    const std::size_t begin = at_;
    const int line = line_, column = Column(at_);
    const bool trailing = token_on_line_;
    std::size_t end = text_.find("*/", at_ + 2);
    if (end == std::string_view::npos) {
      problems_.Error({out_.file, line, column}, "comment without an end; write */ behind it");
      end = text_.size();
    } else {
      end += 2;
    }
    CountLines(begin, end);
    out_.comments.push_back({text_.substr(begin, end - begin), line, column, line_, trailing});
    at_ = end;
  }

  void CountLines(std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      if (text_[i] != '\n') continue;
      ++line_;
      line_start_ = i + 1;
    }
  }

  // A comment behind a directive on its line is left out of it.
  void Directive() {
    const std::size_t begin = at_;
    std::size_t end = begin;
    while (end < text_.size() && text_[end] != '\n') {
      if (text_[end] == '\\' && end + 1 < text_.size() && (text_[end + 1] == '\n' || text_.substr(end + 1, 2) == "\r\n")) {
        end = text_.find('\n', end) + 1;
        continue;
      }
      if (text_[end] == '/' && end + 1 < text_.size() && (text_[end + 1] == '/' || text_[end + 1] == '*')) break;
      ++end;
    }
    std::size_t last = end;
    while (last > begin && IsSpace(text_[last - 1])) --last;
    Add(TokenKind::kDirective, begin, last);
    CountLines(begin, end);
    at_ = end;
  }

  void NameOrPrefixedString() {
    std::size_t end = at_;
    while (end < text_.size() && IsNamePart(text_[end])) ++end;
    const std::string_view name = text_.substr(at_, end - at_);
    if (end < text_.size() && text_[end] == '"' && (name == "R" || name == "u8R")) return RawString(end);
    if (end < text_.size() && text_[end] == '"' && name == "u8") return Quoted(at_, '"', TokenKind::kString, end);
    AddUpTo(TokenKind::kName, end);
  }

  void RawString(std::size_t quote) {
    const std::size_t begin = at_;
    const std::size_t open = text_.find('(', quote);
    std::size_t end = std::string_view::npos;
    if (open != std::string_view::npos && open - quote <= 17) {
      const std::string closing = ')' + std::string(text_.substr(quote + 1, open - quote - 1)) + '"';
      end = text_.find(closing, open);
      if (end != std::string_view::npos) end += closing.size();
    }
    if (end == std::string_view::npos) {
      problems_.Error({out_.file, line_, Column(begin)}, "raw string without an end");
      end = text_.size();
    }
    Add(TokenKind::kString, begin, end);
    CountLines(begin, end);
    at_ = end;
  }

  void Number() {
    std::size_t end = at_ + 1;
    while (end < text_.size()) {
      const char c = text_[end], before = text_[end - 1];
      const bool sign = (c == '+' || c == '-') && (before == 'e' || before == 'E' || before == 'p' || before == 'P');
      const bool separator = c == '\'' && end + 1 < text_.size() && IsNamePart(text_[end + 1]);
      if (!IsNamePart(c) && c != '.' && !sign && !separator) break;
      ++end;
    }
    AddUpTo(TokenKind::kNumber, end);
  }

  void Quoted(std::size_t begin, char quote, TokenKind kind, std::size_t open = std::string_view::npos) {
    std::size_t end = (open == std::string_view::npos ? begin : open) + 1;
    while (end < text_.size() && text_[end] != quote && text_[end] != '\n') end += text_[end] == '\\' && end + 1 < text_.size() ? 2U : 1U;
    if (end >= text_.size() || text_[end] != quote) {
      problems_.Error({out_.file, line_, Column(begin)}, "literal without a closing quote on its line");
      if (end > text_.size()) end = text_.size();
    } else {
      ++end;
    }
    Add(kind, begin, end);
    CountLines(begin, end);  // an escaped line feed
    at_ = end;
  }

  std::string_view text_;
  Problems& problems_;
  TokenStream out_;
  std::size_t at_ = 0, line_start_ = 0;
  int line_ = 1;
  bool token_on_line_ = false;
};

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

TokenStream Tokenize(std::string path, std::string_view text, Problems& problems) {
  if (text.size() > kMostHeaderBytes) {
    Tokenizer empty(std::move(path), "", problems);
    TokenStream out = empty.Run();
    problems.Error({out.file, 1, 1}, "header of more than 4 MiB; split it");
    return out;
  }
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  return Tokenizer(std::move(path), text, problems).Run();
}

std::size_t FindNoText(std::string_view text) {
  const std::size_t zero = text.find('\0');
  return internal::ValidUtf8(text) ? zero : internal::MaskUtf8(text, '\0').find('\0');
}

std::optional<std::string_view> IncludedName(std::string_view directive) {
  const auto skip_blanks = [&] {
    while (!directive.empty() && (directive.front() == ' ' || directive.front() == '\t')) directive.remove_prefix(1);
  };
  directive.remove_prefix(directive.starts_with('#') ? 1 : 0);
  skip_blanks();
  if (!directive.starts_with("include")) return std::nullopt;
  directive.remove_prefix(std::string_view("include").size());
  skip_blanks();
  if (!directive.starts_with('<') && !directive.starts_with('"')) return std::nullopt;
  const std::size_t end = directive.find(directive.front() == '<' ? '>' : '"', 1);
  if (end == std::string_view::npos) return std::nullopt;
  return directive.substr(1, end - 1);
}

bool StringLiteralValue(std::string_view literal, std::string& out) {
  out.clear();
  if (literal.starts_with("u8")) literal.remove_prefix(2);
  if (literal.starts_with("R\"")) {
    const std::size_t open = literal.find('(');
    const std::size_t delimiter = open == std::string_view::npos ? 0 : open - 2;
    if (open == std::string_view::npos || literal.size() < open + 3 + delimiter) return false;
    out = literal.substr(open + 1, literal.size() - open - 3 - delimiter);
    return true;
  }
  if (literal.size() < 2 || literal.front() != '"' || literal.back() != '"') return false;
  literal = literal.substr(1, literal.size() - 2);
  for (std::size_t i = 0; i < literal.size(); ++i) {
    if (literal[i] != '\\') {
      out += literal[i];
      continue;
    }
    if (++i == literal.size()) return false;
    switch (literal[i]) {
      case 'n':
        out += '\n';
        break;
      case 't':
        out += '\t';
        break;
      case 'r':
        out += '\r';
        break;
      case '0':
        out += '\0';
        break;
      case '\\':
      case '"':
      case '\'':
        out += literal[i];
        break;
      case 'x': {
        if (i + 2 >= literal.size() || HexDigit(literal[i + 1]) < 0 || HexDigit(literal[i + 2]) < 0) return false;
        out += static_cast<char>(HexDigit(literal[i + 1]) * 16 + HexDigit(literal[i + 2]));
        i += 2;
        break;
      }
      default:
        return false;
    }
  }
  return true;
}

}  // namespace kube::generate
