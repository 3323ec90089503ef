#include "apiserver/json_path.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <utility>

#include "apiserver/builtin/tables.h"
#include "kube/codec/json.h"

namespace kube::apiserver {

struct JsonPathNode {
  enum class Type {
    kList,  // an action: {...}
    kText,
    kField,
    kArray,
    kFilter,
    kNumber,
    kWildcard,
    kRecursive,
    kUnion,
    kIdentifier,
  };
  struct Bound {
    std::int64_t value = 0;
    bool known = false;
    bool derived = false;
  };

  Type type = Type::kList;
  std::string text;  // kText, kField, kIdentifier; the operator of kFilter, empty if it asks for existence
  Value number;      // kNumber; also a boolean
  std::array<Bound, 3> bounds;
  // The nodes of an action; the alternatives of a union, or both sides of a filter, as actions.
  std::vector<JsonPathNode> children;
};

namespace {

using Node = JsonPathNode;
using Type = JsonPathNode::Type;

constexpr int kMaxDepth = 32;                 // of filters in unions in filters
constexpr std::size_t kMaxResults = 100'000;  // unions of wildcards multiply

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
// Letters beyond ASCII count as letters.
bool IsAlphanumeric(char c) {
  return c == '_' || IsDigit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || static_cast<unsigned char>(c) >= 0x80;
}
bool IsTerminator(char c) { return std::strchr(" \t\r\n.,[]$@{}", c) != nullptr && c != '\0'; }

Error Bad(std::string what) { return Error(ErrorKind::kDecode, std::move(what)); }

std::optional<std::int64_t> ParseInt(std::string_view text) {
  if (!text.empty() && text[0] == '+') text.remove_prefix(1);
  std::int64_t n = 0;
  auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), n);
  if (ec != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return n;
}

std::string_view Trim(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

void AppendUtf8(std::string& out, std::uint32_t c) {
  if (c < 0x80) {
    out += static_cast<char>(c);
  } else if (c < 0x800) {
    out += static_cast<char>(0xc0 | (c >> 6));
    out += static_cast<char>(0x80 | (c & 0x3f));
  } else if (c < 0x10000) {
    out += static_cast<char>(0xe0 | (c >> 12));
    out += static_cast<char>(0x80 | ((c >> 6) & 0x3f));
    out += static_cast<char>(0x80 | (c & 0x3f));
  } else {
    out += static_cast<char>(0xf0 | (c >> 18));
    out += static_cast<char>(0x80 | ((c >> 12) & 0x3f));
    out += static_cast<char>(0x80 | ((c >> 6) & 0x3f));
    out += static_cast<char>(0x80 | (c & 0x3f));
  }
}

// The escape behind a backslash at text[i]; moves i behind it.
bool Unescape(std::string_view text, char quote, std::size_t& i, std::string& out) {
  if (i >= text.size()) return false;
  char c = text[i++];
  auto digits = [&](std::size_t count, unsigned base, std::uint32_t start) -> std::optional<std::uint32_t> {
    if (text.size() - i < count) return std::nullopt;
    std::uint32_t n = 0;
    auto [end, ec] = std::from_chars(text.data() + i, text.data() + i + count, n, static_cast<int>(base));
    if (ec != std::errc() || end != text.data() + i + count) return std::nullopt;
    i += count;
    for (std::size_t k = 0; k < count; ++k) start *= base;
    return start + n;
  };
  static constexpr std::string_view kLetters = "abfnrtv";
  static constexpr std::string_view kMeanings = "\a\b\f\n\r\t\v";
  if (std::size_t at = kLetters.find(c); at != std::string_view::npos) {
    out += kMeanings[at];
    return true;
  }
  if (c == '\\' || c == quote) {
    out += c;
    return true;
  }
  std::optional<std::uint32_t> code;
  if (c == 'x' || (c >= '0' && c <= '7')) {  // one byte
    code = c == 'x' ? digits(2, 16, 0) : digits(2, 8, static_cast<std::uint32_t>(c - '0'));
    if (!code || *code > 0xff) return false;
    out += static_cast<char>(*code);
    return true;
  }
  if (c == 'u') code = digits(4, 16, 0);
  if (c == 'U') code = digits(8, 16, 0);
  if (!code || *code > 0x10ffff || (*code >= 0xd800 && *code < 0xe000)) return false;
  AppendUtf8(out, *code);
  return true;
}

class Parser {
 public:
  Parser(std::string_view text, int depth) : text_(text), depth_(depth) {}

  // A template: actions in braces, and text between them.
  Result<std::vector<Node>> Parse() {
    if (depth_ > kMaxDepth) return Bad("nested too deep");
    std::vector<Node> nodes;
    while (pos_ < text_.size()) {
      std::size_t open = std::min(text_.find('{', pos_), text_.size());
      if (open > pos_) nodes.push_back({Type::kText, std::string(text_.substr(pos_, open - pos_)), {}, {}, {}});
      pos_ = open;
      if (open == text_.size()) break;
      ++pos_;
      Node action;
      if (auto r = ParseAction(action.children); !r) return r.error();
      nodes.push_back(std::move(action));
    }
    return nodes;
  }

  // The first action of "{<text>}", as filters and unions hold it.
  static Result<Node> Nested(const std::string& text, int depth) {
    std::string braced = "{" + text + "}";
    Result<std::vector<Node>> nodes = Parser(braced, depth + 1).Parse();
    if (!nodes) return nodes.error();
    return std::move(nodes->front());
  }

 private:
  bool StartsWith(std::string_view prefix) const { return text_.substr(pos_, prefix.size()) == prefix; }
  bool AtEnd() const { return pos_ >= text_.size(); }

  Result<void> ParseAction(std::vector<Node>& out) {
    while (true) {
      if (StartsWith("}")) {
        ++pos_;
        return {};
      }
      Result<void> r;
      if (StartsWith("[?(")) {
        r = ParseFilter(out);
      } else if (StartsWith("..")) {
        r = ParseRecursive(out);
      } else if (AtEnd() || text_[pos_] == '\r' || text_[pos_] == '\n') {
        return Bad("unclosed action");
      } else {
        char c = text_[pos_];
        if (c == ' ' || c == '@' || c == '$') {
          ++pos_;
        } else if (c == '[') {
          r = ParseArray(out);
        } else if (c == '"' || c == '\'') {
          r = ParseQuote(out, c);
        } else if (c == '.') {
          ++pos_;
          ParseField(out);
        } else if (c == '+' || c == '-' || IsDigit(c)) {
          r = ParseNumber(out);
        } else if (IsAlphanumeric(c)) {
          ParseIdentifier(out);
        } else {
          return Bad(fmt::format("unrecognized character in action: '{}'", c));
        }
      }
      if (!r) return r;
    }
  }

  void ParseIdentifier(std::vector<Node>& out) {
    std::size_t start = pos_;
    while (!AtEnd() && !IsTerminator(text_[pos_])) ++pos_;
    std::string_view name = text_.substr(start, pos_ - start);
    if (name == "true" || name == "false") {
      out.push_back({Type::kNumber, {}, name == "true", {}, {}});
    } else {
      out.push_back({Type::kIdentifier, std::string(name), {}, {}, {}});
    }
  }

  Result<void> ParseRecursive(std::vector<Node>& out) {
    if (!out.empty() && out.back().type == Type::kRecursive) return Bad("invalid multiple recursive descent");
    pos_ += 2;
    out.push_back({Type::kRecursive, {}, {}, {}, {}});
    if (!AtEnd() && IsAlphanumeric(text_[pos_])) ParseField(out);
    return {};
  }

  void ParseField(std::vector<Node>& out) {
    std::string name;
    std::size_t start = pos_;
    bool escaped = false;
    for (; !AtEnd() && (escaped || !IsTerminator(text_[pos_])); ++pos_) {
      escaped = !escaped && text_[pos_] == '\\';
      if (text_[pos_] != '\\') name += text_[pos_];
    }
    if (text_.substr(start, pos_ - start) == "*") {
      out.push_back({Type::kWildcard, {}, {}, {}, {}});
    } else {
      out.push_back({Type::kField, std::move(name), {}, {}, {}});
    }
  }

  Result<void> ParseNumber(std::vector<Node>& out) {
    std::size_t start = pos_;
    if (text_[pos_] == '+' || text_[pos_] == '-') ++pos_;
    while (!AtEnd() && (text_[pos_] == '.' || IsDigit(text_[pos_]))) ++pos_;
    std::string_view text = text_.substr(start, pos_ - start);
    if (std::optional<std::int64_t> n = ParseInt(text)) {
      out.push_back({Type::kNumber, {}, *n, {}, {}});
      return {};
    }
    std::string_view unsigned_text = text[0] == '+' ? text.substr(1) : text;
    double d = 0;
    auto [end, ec] = std::from_chars(unsigned_text.data(), unsigned_text.data() + unsigned_text.size(), d, std::chars_format::fixed);
    if (ec != std::errc() || end != unsigned_text.data() + unsigned_text.size()) return Bad(fmt::format("cannot parse number {}", text));
    out.push_back({Type::kNumber, {}, d, {}, {}});
    return {};
  }

  Result<void> ParseQuote(std::vector<Node>& out, char quote) {
    std::size_t start = ++pos_;
    while (true) {
      if (AtEnd() || text_[pos_] == '\n') return Bad("unterminated quoted string");
      if (text_[pos_] == quote && text_[pos_ - 1] != '\\') break;
      ++pos_;
    }
    std::string_view inner = text_.substr(start, pos_ - start);
    ++pos_;
    std::string value;
    for (std::size_t i = 0; i < inner.size();) {
      char c = inner[i++];
      if (c == '\\') {
        if (!Unescape(inner, quote, i, value)) return Bad(fmt::format("unquote string {} error invalid syntax", inner));
      } else {
        value += c;
      }
    }
    out.push_back({Type::kText, std::move(value), {}, {}, {}});
    return {};
  }

  Result<void> ParseArray(std::vector<Node>& out) {
    std::size_t start = ++pos_;
    while (!AtEnd() && text_[pos_] != ']' && text_[pos_] != '\n') ++pos_;
    if (AtEnd() || text_[pos_] == '\n') return Bad("unterminated array");
    std::string_view text = text_.substr(start, pos_ - start);
    ++pos_;
    if (text == "*") text = ":";
    if (text.find(',') != std::string_view::npos) {
      Node alternatives{Type::kUnion, {}, {}, {}, {}};
      for (std::size_t i = 0; i <= text.size();) {
        std::size_t comma = std::min(text.find(',', i), text.size());
        Result<Node> part = Nested(fmt::format("[{}]", Trim(text.substr(i, comma - i))), depth_);
        if (!part) return part.error();
        alternatives.children.push_back(*std::move(part));
        i = comma + 1;
      }
      out.push_back(std::move(alternatives));
      return {};
    }
    if (text.size() >= 2 && text.front() == '\'' && text.back() == '\'' && text.find('\'', 1) == text.size() - 1) {
      Result<Node> key = Nested(fmt::format(".{}", text.substr(1, text.size() - 2)), depth_);
      if (!key) return key.error();
      for (Node& node : key->children) out.push_back(std::move(node));
      return {};
    }
    return ParseBounds(text, out);
  }

  // "from:to:step"; from alone is one element.
  static Result<void> ParseBounds(std::string_view text, std::vector<Node>& out) {
    Node node{Type::kArray, {}, {}, {}, {}};
    std::size_t i = 0;
    for (std::size_t k = 0; k < 3; ++k) {
      Node::Bound& bound = node.bounds[k];
      bool there = k == 0 || (i < text.size() && text[i] == ':');
      if (k > 0 && there) ++i;
      std::size_t start = i;
      if (there && i < text.size() && text[i] == '-') ++i;
      while (there && i < text.size() && IsDigit(text[i])) ++i;
      if (i > start) {
        std::optional<std::int64_t> n = ParseInt(text.substr(start, i - start));
        if (!n) return Bad(fmt::format("array index {} is not a number", text.substr(start, i - start)));
        bound = {*n, true, false};
      } else if (k == 1 && !there) {
        std::int64_t from = node.bounds[0].value;
        bound = {from == std::numeric_limits<std::int64_t>::max() ? from : from + 1, true, true};
      }
    }
    if (i != text.size()) return Bad(fmt::format("invalid array index {}", text));
    out.push_back(std::move(node));
    return {};
  }

  Result<void> ParseFilter(std::vector<Node>& out) {
    pos_ += 3;
    std::size_t start = pos_;
    char quote = '\0';
    bool closed = true;  // at most one pair of quotes is understood
    for (;; ++pos_) {
      if (AtEnd() || text_[pos_] == '\n') return Bad("unterminated filter");
      char c = text_[pos_];
      if (c == '"' || c == '\'') {
        if (quote == '\0') {
          quote = c;
          closed = false;
        } else if (c == quote && text_[pos_ - 1] != '\\') {
          closed = true;
        }
      } else if (c == ')' && closed) {
        break;
      }
    }
    std::string_view text = text_.substr(start, pos_ - start);
    ++pos_;
    if (!StartsWith("]")) return Bad("unclosed array expect ]");
    ++pos_;

    Node filter{Type::kFilter, {}, {}, {}, {}};
    static constexpr std::string_view kOperators = "!<>=";
    std::size_t begin = text.find_first_of(kOperators);
    std::size_t end = begin == std::string_view::npos ? begin : std::min(text.find_first_not_of(kOperators, begin), text.size());
    // An operator needs something on its left; one without a right side lends its last character.
    if (begin != std::string_view::npos && end == text.size()) end = end - begin > 1 ? end - 1 : begin;
    bool compares = begin != std::string_view::npos && begin > 0 && end > begin;
    Result<Node> left = Nested(std::string(compares ? text.substr(0, begin) : text), depth_);
    if (!left) return left.error();
    filter.children.push_back(*std::move(left));
    if (compares) {
      filter.text = std::string(text.substr(begin, end - begin));
      Result<Node> right = Nested(std::string(text.substr(end)), depth_);
      if (!right) return right.error();
      filter.children.push_back(*std::move(right));
    }
    out.push_back(std::move(filter));
    return {};
  }

  std::string_view text_;
  std::size_t pos_ = 0;
  int depth_;
};

using Values = std::vector<Value>;

// Walks nodes over values. A failing step still has a result: the filter that asks for existence looks at it, as the real one does.
class Evaluator {
 public:
  bool List(const std::vector<Node>& nodes, const Values& input, Values& out) {
    out = input;
    for (const Node& node : nodes) {
      Values next;
      bool ok = Step(node, out, next);
      out = std::move(next);
      if (!ok) return false;
      if (out.size() > kMaxResults) return Fail("too many results");
    }
    return true;
  }
  const std::string& error() const { return error_; }

 private:
  bool Fail(std::string what) {
    error_ = std::move(what);
    return false;
  }

  bool Step(const Node& node, const Values& input, Values& out) {
    switch (node.type) {
      case Type::kList:
        return List(node.children, input, out);
      case Type::kText:
        out.emplace_back(node.text);
        return true;
      case Type::kNumber:
        out.assign(input.size(), node.number);
        return true;
      case Type::kField:
        for (const Value& v : input) {
          if (const Value* found = v.Find(node.text)) out.push_back(*found);
        }
        return true;
      case Type::kWildcard:
        for (const Value& v : input) Children(v, out);
        return true;
      case Type::kRecursive:
        return Recursive(input, out, 0);
      case Type::kUnion:
        for (const Node& part : node.children) {
          Values found;
          if (!List(part.children, input, found)) {
            out = input;
            return false;
          }
          out.insert(out.end(), found.begin(), found.end());
          if (out.size() > kMaxResults) return Fail("too many results");
        }
        return true;
      case Type::kArray:
        return Array(node, input, out);
      case Type::kFilter:
        return Filter(node, input, out);
      case Type::kIdentifier:
        // range and end make sense in templates only, where a column could not show more than the first value.
        if (node.text != "end") out = input;
        return Fail(fmt::format("unrecognized identifier {}", node.text));
    }
    return false;
  }

  static void Children(const Value& value, Values& out) {
    for (const auto& [key, member] : value.object()) out.push_back(member);
    for (const Value& item : value.list()) out.push_back(item);
    for (char c : value.string_value()) out.emplace_back(static_cast<std::int64_t>(static_cast<unsigned char>(c)));
  }

  bool Recursive(const Values& input, Values& out, int depth) {
    for (const Value& value : input) {
      Values below;
      Children(value, below);
      if (below.empty()) continue;
      out.push_back(value);
      if (value.is_string()) continue;
      if (out.size() > kMaxResults || depth > 10'000) return Fail("too many results");
      if (!Recursive(below, out, depth + 1)) return false;
    }
    return true;
  }

  bool Array(const Node& node, const Values& input, Values& out) {
    for (const Value& value : input) {
      if (value.is_null()) continue;
      if (!value.is_list()) {
        out = input;
        return Fail(fmt::format("{} is not array or slice", value.kind_name()));
      }
      const kube::List<Value>& items = value.list();
      auto size = static_cast<std::int64_t>(items.size());
      std::int64_t from = node.bounds[0].known ? node.bounds[0].value : 0;
      if (from < 0) from += size;
      std::int64_t to = node.bounds[1].known ? node.bounds[1].value : size;
      if (to < 0 || (to == 0 && node.bounds[1].derived)) to += size;
      if (from == to) return true;
      std::int64_t step = node.bounds[2].known ? node.bounds[2].value : 1;
      std::string problem;
      if (from >= size || from < 0) {
        problem = fmt::format("array index out of bounds: index {}, length {}", from, size);
      } else if (to > size || to < 0) {
        problem = fmt::format("array index out of bounds: index {}, length {}", to - 1, size);
      } else if (from > to) {
        problem = fmt::format("starting index {} is greater than ending index {}", from, to);
      } else if (step <= 0) {
        problem = "step must be > 0";
      }
      if (!problem.empty()) {
        out = input;
        return Fail(std::move(problem));
      }
      for (std::int64_t i = from; i < to; i += std::min(step, size)) out.push_back(items[static_cast<std::size_t>(i)]);
    }
    return true;
  }

  bool Filter(const Node& node, const Values& input, Values& out) {
    for (const Value& value : input) {
      if (!value.is_list()) {
        out = input;
        return Fail(fmt::format("{} is not array or slice and cannot be filtered", value.kind_name()));
      }
      for (const Value& item : value.list()) {
        Values self{item};
        Values lefts, rights;
        bool ok = List(node.children[0].children, self, lefts);
        if (node.text.empty()) {
          if (!lefts.empty()) out.push_back(item);
          continue;
        }
        ok = ok && (lefts.empty() || List(node.children[1].children, self, rights));
        if (!ok || lefts.size() > 1 || rights.size() > 1) {
          out = input;
          return ok ? Fail("can only compare one element at a time") : false;
        }
        if (lefts.empty() || rights.empty()) continue;
        std::optional<bool> pass = Compare(lefts[0], node.text, rights[0]);
        if (!pass) return false;
        if (*pass) out.push_back(item);
      }
    }
    return true;
  }

  // Only like compares with like; an integer is no float.
  std::optional<bool> Compare(const Value& a, std::string_view op, const Value& b) {
    auto fail = [&](std::string what) {
      Fail(std::move(what));
      return std::nullopt;
    };
    if (a.is_null() || a.is_list() || a.is_object() || b.is_null() || b.is_list() || b.is_object()) {
      return fail("invalid type for comparison");
    }
    static constexpr std::array<std::string_view, 6> kKnown = {"<", ">", "==", "!=", "<=", ">="};
    if (std::find(kKnown.begin(), kKnown.end(), op) == kKnown.end()) return fail(fmt::format("unrecognized filter operator {}", op));
    if (a.kind() != b.kind()) return fail("incompatible types for comparison");
    if (op == "==") return a == b;
    if (op == "!=") return !(a == b);
    if (a.is_bool()) return fail("invalid type for comparison");
    bool less = a.is_string() ? a.string_value().view() < b.string_value().view()
                : a.is_int()  ? a.int_value() < b.int_value()
                              : a.double_value() < b.double_value();
    if (op == "<") return less;
    if (op == ">=") return !less;
    bool less_or_equal = less || a == b;
    return op == "<=" ? less_or_equal : !less_or_equal;
  }

  std::string error_;
};

// As Go's %v: the shortest digits that give the number again, with an exponent if it is below -4 or above 5.
std::string PrintDouble(double d) {
  char buffer[40];
  char* end = std::to_chars(buffer, buffer + sizeof buffer, d, std::chars_format::scientific).ptr;
  std::string scientific(buffer, end);
  std::size_t e = scientific.find('e');
  int exponent = e == std::string::npos ? 0 : std::atoi(scientific.c_str() + e + 1);
  if (exponent < -4 || exponent > 5) return scientific;
  end = std::to_chars(buffer, buffer + sizeof buffer, d, std::chars_format::fixed).ptr;
  return std::string(buffer, end);
}

std::string EscapeHtml(std::string_view json) {
  std::string out;
  out.reserve(json.size());
  for (std::size_t i = 0; i < json.size(); ++i) {
    if (json[i] == '<') {
      out += "\\u003c";
    } else if (json[i] == '>') {
      out += "\\u003e";
    } else if (json[i] == '&') {
      out += "\\u0026";
    } else if (json.substr(i, 3) == "\xe2\x80\xa8" || json.substr(i, 3) == "\xe2\x80\xa9") {
      out += json[i + 2] == '\xa8' ? "\\u2028" : "\\u2029";
      i += 2;
    } else {
      out += json[i];
    }
  }
  return out;
}

}  // namespace

Result<JsonPath> JsonPath::Parse(std::string_view path) {
  std::string braced = fmt::format("{{{}}}", path);
  Result<std::vector<Node>> nodes = Parser(braced, 0).Parse();
  if (!nodes) return nodes.error();
  return JsonPath(std::make_shared<const std::vector<Node>>(*std::move(nodes)));
}

Result<std::vector<Value>> JsonPath::Find(const Value& object) const {
  Values first;
  Values input{object};
  for (std::size_t i = 0; i < nodes_->size(); ++i) {
    const Node& node = (*nodes_)[i];
    if (node.type == Type::kText) continue;
    Evaluator evaluator;
    Values found;
    if (!evaluator.List(node.children, input, found)) return Bad(evaluator.error());
    if (i == 0) first = std::move(found);
  }
  return first;
}

std::optional<Value> JsonPath::First(const Value& object) const {
  Result<std::vector<Value>> found = Find(object);
  if (!found || found->empty()) return std::nullopt;
  return std::move(found->front());
}

std::vector<std::string> SplitFieldPath(std::string_view path) {
  if (!path.empty() && path.front() == '.') path.remove_prefix(1);
  std::vector<std::string> parts;
  for (std::size_t i = 0; i <= path.size();) {
    std::size_t dot = std::min(path.find('.', i), path.size());
    parts.emplace_back(path.substr(i, dot - i));
    i = dot + 1;
  }
  return parts;
}

const Value* FindField(const Value& object, std::string_view path) {
  const Value* at = &object;
  for (const std::string& part : SplitFieldPath(path)) {
    at = at->Find(part);
    if (at == nullptr) return nullptr;
  }
  return at;
}

bool SetField(Value& object, std::string_view path, Value value) {
  std::vector<std::string> parts = SplitFieldPath(path);
  const Value* at = &object;
  for (std::size_t i = 0; at != nullptr && i + 1 < parts.size(); ++i) {
    at = at->Find(parts[i]);
    if (at != nullptr && !at->is_object()) return false;
  }
  Value* to = &object;
  for (const std::string& part : parts) to = &(*to)[part];
  *to = std::move(value);
  return true;
}

std::string PrintJsonPathValue(const Value& value) {
  switch (value.kind()) {
    case Value::Kind::kNull:
      return "<no value>";
    case Value::Kind::kBool:
      return value.bool_value() ? "true" : "false";
    case Value::Kind::kInt:
      return std::to_string(value.int_value());
    case Value::Kind::kDouble:
      return PrintDouble(value.double_value());
    case Value::Kind::kString:
      return value.string_value().str();
    case Value::Kind::kList:
    case Value::Kind::kObject:
      break;
  }
  return EscapeHtml(ToJson(value));
}

Value CellOf(std::string_view type, const Value& value, Time now) {
  if (type == "string") return PrintJsonPathValue(value);
  if (type == "integer") {
    if (value.is_int()) return value;
    if (!value.is_double()) return {};
    double d = value.double_value();
    // What the processor makes of a number that does not fit.
    if (!(d > -9.3e18 && d < 9.223372036854775e18)) return std::numeric_limits<std::int64_t>::min();
    return static_cast<std::int64_t>(d);
  }
  if (type == "number") return value.is_number() ? value : Value();
  if (type == "boolean") return value.is_bool() ? value : Value();
  if (type == "date" && value.is_string()) {
    const String& text = value.string_value();
    if (text.empty() || text == "null") return AgeOf(Time(), now);
    Result<Time> time = Time::Parse(text);
    return time ? AgeOf(*time, now) : std::string("<invalid>");
  }
  return {};
}

std::string AgeOf(Time since, Time now) { return since.IsZero() ? "<unknown>" : HumanDuration(now - since); }

}  // namespace kube::apiserver
