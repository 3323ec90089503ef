#include "generate/pattern_example.h"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace kube::generate {
namespace {

constexpr int kMostDepth = 100;
constexpr std::size_t kUnbounded = static_cast<std::size_t>(-1);
// Printable ASCII, what people like to read first.
constexpr std::string_view kPrintable = "abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ-._/:@+=,;!#$%&'()*<>?[\\]^`{|}~\" ";

// A set of ASCII characters.
class CharSet {
 public:
  void Add(char c) { Add(c, c); }
  void Add(char low, char high) {
    for (int c = static_cast<unsigned char>(low); c <= static_cast<unsigned char>(high); ++c) has_[static_cast<std::size_t>(c)] = true;
  }
  void Add(const CharSet& other) {
    for (std::size_t c = 0; c < 256; ++c) has_[c] = has_[c] || other.has_[c];
  }
  void Invert() {
    for (bool& has : has_) has = !has;
  }
  // In the order of kPrintable.
  std::string ToString() const {
    std::string out;
    std::copy_if(kPrintable.begin(), kPrintable.end(), std::back_inserter(out), [this](char c) { return Has(c); });
    if (out.empty() && Has('\t')) out = "\t";
    if (out.empty() && Has('\n')) out = "\n";
    return out;
  }

 private:
  bool Has(char c) const { return has_[static_cast<unsigned char>(c)]; }

  bool has_[256] = {};
};

// \d, \w, \s and their opposites; null for other letters.
std::optional<CharSet> PerlClass(char letter) {
  CharSet out;
  switch (letter) {
    case 'd':
    case 'D':
      out.Add('0', '9');
      break;
    case 'w':
    case 'W':
      out.Add('0', '9');
      out.Add('a', 'z');
      out.Add('A', 'Z');
      out.Add('_');
      break;
    case 's':
    case 'S':
      for (char c : {' ', '\t', '\n', '\f', '\r'}) out.Add(c);
      break;
    default:
      return {};
  }
  if (letter < 'a') out.Invert();
  return out;
}

std::optional<CharSet> PosixClass(std::string_view name) {
  CharSet out;
  const bool alnum = name == "alnum", word = name == "word";
  if (name == "alpha" || alnum || word || name == "lower") out.Add('a', 'z');
  if (name == "alpha" || alnum || word || name == "upper") out.Add('A', 'Z');
  if (name == "digit" || alnum || word || name == "xdigit") out.Add('0', '9');
  if (word) out.Add('_');
  if (name == "space" || name == "blank") out.Add(' ');
  if (name == "xdigit") {
    out.Add('a', 'f');
    out.Add('A', 'F');
  }
  if (name == "punct" || name == "print" || name == "graph") out.Add('!', '~');
  return out.ToString().empty() ? std::nullopt : std::optional(out);
}

struct Node {
  enum class Kind : std::uint8_t { kText, kSet, kSequence, kChoice, kRepeat };
  Kind kind = Kind::kText;
  std::string text;  // kText; kSet: the characters
  std::vector<Node> parts;
  std::size_t least = 0, most = 0;
};

class PatternParser {
 public:
  explicit PatternParser(std::string_view text) : text_(text) {}

  std::optional<Node> Run() {
    Node out = Choice(0);
    if (failed_ || at_ != text_.size()) return {};
    return out;
  }

 private:
  bool AtEnd() const { return failed_ || at_ >= text_.size(); }
  char Peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  bool Skip(std::string_view symbol) {
    if (text_.substr(at_, symbol.size()) != symbol) return false;
    at_ += symbol.size();
    return true;
  }
  Node Fail() {
    failed_ = true;
    return {};
  }

  Node Choice(int depth) {
    if (depth > kMostDepth) return Fail();
    Node out{.kind = Node::Kind::kChoice};
    do {
      Node sequence{.kind = Node::Kind::kSequence};
      while (!AtEnd() && Peek() != '|' && Peek() != ')') sequence.parts.push_back(Repeated(depth));
      out.parts.push_back(std::move(sequence));
    } while (!failed_ && Skip("|"));
    return out;
  }

  std::optional<std::size_t> Number() {
    std::size_t out = 0, digits = 0;
    while (Peek() >= '0' && Peek() <= '9' && digits < 5) {
      out = out * 10 + static_cast<std::size_t>(text_[at_++] - '0');
      ++digits;
    }
    return digits == 0 ? std::nullopt : std::optional(out);
  }

  // {n}, {n,} or {n,m}; otherwise the brace is a character.
  bool Counts(Node& node) {
    const std::size_t start = at_;
    if (!Skip("{")) return false;
    const std::optional<std::size_t> least = Number();
    if (least) {
      node.least = node.most = *least;
      if (Skip(",")) node.most = Number().value_or(kUnbounded);
      if (Skip("}")) return true;
    }
    at_ = start;
    return false;
  }

  Node Repeated(int depth) {
    Node inner = Atom(depth);
    while (!AtEnd()) {
      Node out{.kind = Node::Kind::kRepeat};
      if (Skip("*")) {
        out.most = kUnbounded;
      } else if (Skip("+")) {
        out.least = 1;
        out.most = kUnbounded;
      } else if (Skip("?")) {
        out.most = 1;
      } else if (!Counts(out)) {
        break;
      }
      Skip("?");  // which match is preferred does not matter here
      if (++depth > kMostDepth) return Fail();
      out.parts.push_back(std::move(inner));
      inner = std::move(out);
    }
    return inner;
  }

  Node Atom(int depth) {
    const char c = text_[at_++];
    if (c == '(') {
      if (Skip("?")) {
        if (Skip("P<") || Skip("<")) {
          at_ = std::min(text_.find('>', at_), text_.size());
          Skip(">");
        } else {
          while (!AtEnd() && Peek() != ':' && Peek() != ')') ++at_;  // flags
          if (Skip(")")) return {};
          Skip(":");
        }
      }
      Node out = Choice(depth + 1);
      return Skip(")") ? out : Fail();
    }
    if (c == '[') return Class();
    if (c == '.') return Set(kPrintable);
    if (c == '^' || c == '$') return {};
    if (c == '\\') return Escape();
    return {.text = std::string(1, c)};
  }

  static Node Set(std::string_view chars) { return {.kind = Node::Kind::kSet, .text = std::string(chars)}; }

  // The character behind a backslash; nothing if it is no single character.
  std::optional<char> Escaped(char c) {
    switch (c) {
      case 't':
        return '\t';
      case 'n':
        return '\n';
      case 'r':
        return '\r';
      case 'f':
        return '\f';
      case 'v':
        return '\v';
      default:
        break;
    }
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'), digit = c >= '0' && c <= '9';
    return letter || digit ? std::nullopt : std::optional(c);
  }

  Node Escape() {
    if (AtEnd()) return Fail();
    const char c = text_[at_++];
    if (c == 'A' || c == 'z' || c == 'b' || c == 'B') return {};
    if (std::optional<CharSet> set = PerlClass(c)) return Set(set->ToString());
    const std::optional<char> plain = Escaped(c);
    return plain ? Node{.text = std::string(1, *plain)} : Fail();
  }

  Node Class() {
    CharSet out;
    const bool inverted = Skip("^");
    for (bool first = true; !AtEnd() && (first || Peek() != ']'); first = false) {
      if (Skip("[:")) {
        const std::size_t end = text_.find(":]", at_);
        const std::optional<CharSet> named = end == std::string_view::npos ? std::nullopt : PosixClass(text_.substr(at_, end - at_));
        if (!named) return Fail();
        out.Add(*named);
        at_ = end + 2;
        continue;
      }
      const bool escaped = Skip("\\");
      if (AtEnd()) return Fail();
      if (escaped) {
        if (std::optional<CharSet> perl = PerlClass(Peek())) {
          out.Add(*perl);
          ++at_;
          continue;
        }
      }
      const std::optional<char> low = escaped ? Escaped(text_[at_++]) : std::optional(text_[at_++]);
      if (!low || static_cast<unsigned char>(*low) >= 0x80) return Fail();
      char high = *low;
      if (Peek() == '-' && at_ + 1 < text_.size() && text_[at_ + 1] != ']') {
        ++at_;
        const bool escaped_high = Skip("\\");
        if (AtEnd()) return Fail();
        const std::optional<char> last = escaped_high ? Escaped(text_[at_++]) : std::optional(text_[at_++]);
        if (!last || static_cast<unsigned char>(*last) >= 0x80) return Fail();
        high = *last;
      }
      if (high < *low) return Fail();
      out.Add(*low, high);
    }
    if (!Skip("]")) return Fail();
    if (inverted) out.Invert();
    const std::string chars = out.ToString();
    return chars.empty() ? Fail() : Set(chars);
  }

  std::string_view text_;
  std::size_t at_ = 0;
  bool failed_ = false;
};

// False if the text becomes too long.
bool Write(const Node& node, const PatternChoices& choices, std::string& out) {
  auto pick = [&](std::size_t count) { return choices.pick == nullptr || count < 2 ? 0 : choices.pick(count) % count; };
  if (out.size() > kMostPatternBytes) return false;
  switch (node.kind) {
    case Node::Kind::kText:
      out += node.text;
      return true;
    case Node::Kind::kSet:
      out += node.text[pick(node.text.size())];
      return true;
    case Node::Kind::kSequence:
      return std::all_of(node.parts.begin(), node.parts.end(), [&](const Node& part) { return Write(part, choices, out); });
    case Node::Kind::kChoice:
      return Write(node.parts[pick(node.parts.size())], choices, out);
    case Node::Kind::kRepeat: {
      const std::size_t room = node.most > node.least ? node.most - node.least : 0;
      const std::size_t times = node.least + std::min(choices.repeat, room);
      for (std::size_t i = 0; i < times; ++i) {
        const std::size_t before = out.size();
        if (!Write(node.parts[0], choices, out)) return false;
        if (out.size() == before) break;  // more of nothing is nothing
      }
      return true;
    }
  }
  return false;
}

}  // namespace

std::optional<std::string> PatternExample(std::string_view pattern, const PatternChoices& choices) {
  const std::optional<Node> parsed = PatternParser(pattern).Run();
  std::string out;
  if (!parsed || !Write(*parsed, choices, out)) return {};
  return out;
}

}  // namespace kube::generate
