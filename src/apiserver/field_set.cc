#include "apiserver/field_set.h"

#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <utility>

#include "codec/utf8.h"
#include "kube/codec/json.h"

namespace kube::apiserver {
namespace {

int Sign(std::strong_ordering o) { return o < 0 ? -1 : (o > 0 ? 1 : 0); }

template <typename T>
int Order(T a, T b) {
  return a < b ? -1 : (b < a ? 1 : 0);
}

// The order of kinds among values.
int Rank(const Value& v) {
  switch (v.kind()) {
    case Value::Kind::kInt:
    case Value::Kind::kDouble:
      return 0;
    case Value::Kind::kString:
      return 1;
    case Value::Kind::kBool:
      return 2;
    case Value::Kind::kList:
      return 3;
    case Value::Kind::kObject:
      return 4;
    case Value::Kind::kNull:
      return 5;
  }
  return 5;
}

// JSON of a key's or item's value, as Go's encoder with HTML escapes writes it.
void WriteJson(const Value& value, std::string& out) {
  switch (value.kind()) {
    case Value::Kind::kString:
      out += QuoteJson(value.string_value(), true);
      return;
    case Value::Kind::kList: {
      out += '[';
      bool first = true;
      for (const Value& item : value.list()) {
        if (!std::exchange(first, false)) out += ',';
        WriteJson(item, out);
      }
      out += ']';
      return;
    }
    case Value::Kind::kObject: {
      out += '{';
      bool first = true;
      for (const auto& [key, member] : value.object()) {
        if (!std::exchange(first, false)) out += ',';
        out += QuoteJson(key, true);
        out += ':';
        WriteJson(member, out);
      }
      out += '}';
      return;
    }
    default:
      out += ToJson(value);
      return;
  }
}

// Calls `visit(a, b)` for each element of two sorted lists in order; the one that does not have it is null.
template <typename A, typename B, typename KeyA, typename KeyB, typename Visit>
void Zip(const std::vector<A>& a, const std::vector<B>& b, KeyA key_a, KeyB key_b, Visit visit) {
  std::size_t i = 0, j = 0;
  while (i < a.size() || j < b.size()) {
    int c = i == a.size() ? 1 : (j == b.size() ? -1 : Compare(key_a(a[i]), key_b(b[j])));
    visit(c <= 0 ? &a[i] : nullptr, c >= 0 ? &b[j] : nullptr);
    if (c <= 0) ++i;
    if (c >= 0) ++j;
  }
}

const PathElement& Self(const PathElement& e) { return e; }
const PathElement& ElementOf(const FieldSetNode& n) { return n.element; }

}  // namespace

int CompareValues(const Value& a, const Value& b) {
  if (int c = Order(Rank(a), Rank(b)); c != 0) return c;
  switch (a.kind()) {
    case Value::Kind::kInt:
    case Value::Kind::kDouble:
      if (a.is_int() && b.is_int()) return Order(a.int_value(), b.int_value());
      return Order(a.double_value(), b.double_value());
    case Value::Kind::kString:
      return Sign(a.string_value() <=> b.string_value());
    case Value::Kind::kBool:
      return Order(a.bool_value(), b.bool_value());
    case Value::Kind::kList: {
      const List<Value>&x = a.list(), &y = b.list();
      for (std::size_t i = 0; i < x.size() && i < y.size(); ++i) {
        if (int c = CompareValues(x[i], y[i]); c != 0) return c;
      }
      return Order(x.size(), y.size());
    }
    case Value::Kind::kObject: {
      const auto &x = a.object(), &y = b.object();
      const auto *i = x.begin(), *j = y.begin();
      for (; i != x.end() && j != y.end(); ++i, ++j) {
        if (int c = Sign(i->key <=> j->key); c != 0) return c;
        if (int c = CompareValues(i->value, j->value); c != 0) return c;
      }
      return Order(x.size(), y.size());
    }
    case Value::Kind::kNull:
      return 0;
  }
  return 0;
}

int PathElement::CompareSameKind(const PathElement& other) const { return CompareValues(value_, other.value_); }

Result<PathElement> PathElement::Parse(std::string_view text, bool* unknown) {
  *unknown = false;
  if (text.size() < 2) return Error::Decode("a path element has at least 2 characters: \"" + std::string(text) + "\"");
  if (text[1] != ':') return Error::Decode("missing colon: " + std::string(text));
  std::string_view rest = text.substr(2);
  switch (text[0]) {
    case 'f':
      return Field(rest);
    case 'v': {
      Result<Value> value = ParseJson(rest);
      if (!value) return value.error();
      return OfValue(*std::move(value));
    }
    case 'k': {
      Result<Value> value = ParseJson(rest);
      if (!value) return value.error();
      if (!value->is_object()) return Error::Decode("the keys of a list item are no object: " + std::string(text));
      return Key(*std::move(value));
    }
    case 'i': {
      // As Go's strconv.Atoi, which knows a plus sign.
      if (rest.size() > 1 && rest[0] == '+' && rest[1] != '-') rest.remove_prefix(1);
      std::int64_t index = 0;
      auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), index);
      if (error != std::errc() || end != rest.data() + rest.size()) return Error::Decode("no index: " + std::string(text));
      return Index(index);
    }
    default:
      *unknown = true;
      return Field({});
  }
}

std::string PathElement::Serialize() const {
  std::string out;
  switch (kind_) {
    case Kind::kField:
      return "f:" + value_.string_value().str();
    case Kind::kKey: {
      out = "k:{";
      bool first = true;
      for (const auto& [key, value] : value_.object()) {
        if (!std::exchange(first, false)) out += ',';
        out += QuoteJson(key, false);
        out += ':';
        WriteJson(value, out);
      }
      return out + "}";
    }
    case Kind::kValue:
      out = "v:";
      WriteJson(value_, out);
      return out;
    case Kind::kIndex:
      return "i:" + std::to_string(value_.int_value());
  }
  return out;
}

std::string PathElement::ToString() const {
  switch (kind_) {
    case Kind::kField:
      return "." + value_.string_value().str();
    case Kind::kKey: {
      std::string out = "[";
      for (const auto& [key, value] : value_.object()) {
        if (out.size() > 1) out += ',';
        out += key.str() + "=" + PathValueToString(value);
      }
      return out + "]";
    }
    case Kind::kValue:
      return "[=" + PathValueToString(value_) + "]";
    case Kind::kIndex:
      return "[" + std::to_string(value_.int_value()) + "]";
  }
  return {};
}

std::string PathToString(const FieldPath& path) {
  std::string out;
  for (const PathElement& e : path) out += e.ToString();
  return out;
}

FieldSet::FieldSet() = default;
FieldSet::FieldSet(std::initializer_list<FieldPath> paths) {
  for (const FieldPath& p : paths) Insert(p);
}
FieldSet::FieldSet(const FieldSet& other) = default;
FieldSet::FieldSet(FieldSet&& other) noexcept = default;
FieldSet& FieldSet::operator=(const FieldSet& other) = default;
FieldSet& FieldSet::operator=(FieldSet&& other) noexcept = default;
FieldSet::~FieldSet() = default;

Result<FieldSet> FieldSet::FromFieldsV1(const Value& json) {
  // Returns what is below, and says whether the place itself is a member.
  struct Reader {
    static Result<FieldSet> Read(const Value& json, bool& member) {
      FieldSet out;
      member = false;
      if (!json.is_null() && !json.is_object()) return Error::Decode("FieldsV1: expected an object, got " + std::string(json.kind_name()));
      for (const auto& [key, below] : json.object()) {
        if (key == ".") {
          member = true;
          continue;
        }
        bool unknown = false;
        Result<PathElement> element = PathElement::Parse(key, &unknown);
        if (!element) return element.error();
        if (unknown) continue;
        bool child_is_member = false;
        Result<FieldSet> children = Read(below, child_is_member);
        if (!children) return children.error();
        if (child_is_member) out.InsertMember(*element);
        if (!children->members_.empty() || !children->children_.empty()) out.Descend(*element) = *std::move(children);
      }
      if (out.members_.empty() && out.children_.empty()) member = true;
      return out;
    }
  };
  bool member = false;
  return Reader::Read(json, member);
}

Value FieldSet::ToFieldsV1() const {
  Value out = Value::Object();
  Map<Value>& object = out.MutableObject();
  Zip(members_, children_, Self, ElementOf, [&](const PathElement* member, const FieldSetNode* child) {
    Value below = Value::Object();
    if (child != nullptr) {
      below = child->set.ToFieldsV1();
      if (member != nullptr && !below.object().empty()) below["."] = Value::Object();
    }
    object.Set((member != nullptr ? *member : child->element).Serialize(), std::move(below));
  });
  return out;
}

std::string FieldSet::ToFieldsV1Text() const {
  std::string out = "{";
  WriteText(false, out);
  return out + "}";
}

void FieldSet::WriteText(bool self, std::string& out) const {
  bool first = true;
  if (self && (!members_.empty() || !children_.empty())) {
    out += "\".\":{}";
    first = false;
  }
  Zip(members_, children_, Self, ElementOf, [&](const PathElement* member, const FieldSetNode* child) {
    if (!std::exchange(first, false)) out += ',';
    out += QuoteJson((member != nullptr ? *member : child->element).Serialize(), false);
    out += ":{";
    if (child != nullptr) child->set.WriteText(member != nullptr, out);
    out += '}';
  });
}

void FieldSet::InsertMember(const PathElement& element) {
  auto it = std::lower_bound(members_.begin(), members_.end(), element);
  if (it == members_.end() || !(*it == element)) members_.insert(it, element);
}

FieldSet& FieldSet::Descend(const PathElement& element) {
  auto it = std::lower_bound(children_.begin(), children_.end(), element,
                             [](const FieldSetNode& n, const PathElement& e) { return n.element < e; });
  if (it == children_.end() || !(it->element == element)) it = children_.insert(it, FieldSetNode{element, {}});
  return it->set;
}

void FieldSet::Insert(const FieldPath& path) {
  if (path.empty()) return;
  FieldSet* set = this;
  for (std::size_t i = 0; i + 1 < path.size(); ++i) set = &set->Descend(path[i]);
  set->InsertMember(path.back());
}

bool FieldSet::HasMember(const PathElement& element) const { return std::binary_search(members_.begin(), members_.end(), element); }

const FieldSet* FieldSet::Child(const PathElement& element) const {
  auto it = std::lower_bound(children_.begin(), children_.end(), element,
                             [](const FieldSetNode& n, const PathElement& e) { return n.element < e; });
  return it != children_.end() && it->element == element ? &it->set : nullptr;
}

bool FieldSet::Has(const FieldPath& path) const {
  if (path.empty()) return false;
  const FieldSet* set = this;
  for (std::size_t i = 0; i + 1 < path.size(); ++i) {
    set = set->Child(path[i]);
    if (set == nullptr) return false;
  }
  return set->HasMember(path.back());
}

bool FieldSet::Empty() const {
  return members_.empty() && std::all_of(children_.begin(), children_.end(), [](const FieldSetNode& n) { return n.set.Empty(); });
}

std::size_t FieldSet::Size() const {
  std::size_t n = members_.size();
  for (const FieldSetNode& child : children_) n += child.set.Size();
  return n;
}

FieldSet FieldSet::Union(const FieldSet& other) const {
  FieldSet out;
  Zip(members_, other.members_, Self, Self,
      [&](const PathElement* a, const PathElement* b) { out.members_.push_back(b != nullptr ? *b : *a); });
  Zip(children_, other.children_, ElementOf, ElementOf, [&](const FieldSetNode* a, const FieldSetNode* b) {
    if (a != nullptr && b != nullptr) {
      out.children_.push_back({a->element, a->set.Union(b->set)});
    } else {
      out.children_.push_back(a != nullptr ? *a : *b);
    }
  });
  return out;
}

FieldSet FieldSet::Intersection(const FieldSet& other) const {
  FieldSet out;
  Zip(members_, other.members_, Self, Self, [&](const PathElement* a, const PathElement* b) {
    if (a != nullptr && b != nullptr) out.members_.push_back(*a);
  });
  Zip(children_, other.children_, ElementOf, ElementOf, [&](const FieldSetNode* a, const FieldSetNode* b) {
    if (a == nullptr || b == nullptr) return;
    FieldSet both = a->set.Intersection(b->set);
    if (!both.Empty()) out.children_.push_back({a->element, std::move(both)});
  });
  return out;
}

FieldSet FieldSet::Difference(const FieldSet& other) const {
  FieldSet out;
  Zip(members_, other.members_, Self, Self, [&](const PathElement* a, const PathElement* b) {
    if (a != nullptr && b == nullptr) out.members_.push_back(*a);
  });
  Zip(children_, other.children_, ElementOf, ElementOf, [&](const FieldSetNode* a, const FieldSetNode* b) {
    if (a == nullptr) return;
    if (b == nullptr) {
      out.children_.push_back(*a);
      return;
    }
    FieldSet left = a->set.Difference(b->set);
    if (!left.Empty()) out.children_.push_back({a->element, std::move(left)});
  });
  return out;
}

FieldSet FieldSet::RecursiveDifference(const FieldSet& other) const {
  FieldSet out;
  Zip(members_, other.members_, Self, Self, [&](const PathElement* a, const PathElement* b) {
    if (a != nullptr && b == nullptr) out.members_.push_back(*a);
  });
  Zip(children_, other.children_, ElementOf, ElementOf, [&](const FieldSetNode* a, const FieldSetNode* b) {
    if (a == nullptr || other.HasMember(a->element)) return;
    if (b == nullptr) {
      out.children_.push_back(*a);
      return;
    }
    FieldSet left = a->set.RecursiveDifference(b->set);
    if (!left.Empty()) out.children_.push_back({a->element, std::move(left)});
  });
  return out;
}

void FieldSet::ForEach(const std::function<void(const FieldPath&)>& visit) const {
  FieldPath prefix;
  ForEach(prefix, visit);
}

void FieldSet::ForEach(FieldPath& prefix, const std::function<void(const FieldPath&)>& visit) const {
  for (const PathElement& member : members_) {
    prefix.push_back(member);
    visit(prefix);
    prefix.pop_back();
  }
  for (const FieldSetNode& child : children_) {
    prefix.push_back(child.element);
    child.set.ForEach(prefix, visit);
    prefix.pop_back();
  }
}

bool operator==(const FieldSet& a, const FieldSet& b) {
  if (a.members_.size() != b.members_.size() || a.children_.size() != b.children_.size()) return false;
  for (std::size_t i = 0; i < a.members_.size(); ++i) {
    if (!(a.members_[i] == b.members_[i])) return false;
  }
  for (std::size_t i = 0; i < a.children_.size(); ++i) {
    if (!(a.children_[i].element == b.children_[i].element) || !(a.children_[i].set == b.children_[i].set)) return false;
  }
  return true;
}

std::string QuoteJson(std::string_view text, bool escape_html) {
  static constexpr char kHex[] = "0123456789abcdef";
  std::string out = "\"";
  for (std::size_t i = 0; i < text.size(); ++i) {
    unsigned char c = static_cast<unsigned char>(text[i]);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += text[i];
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\r') {
      out += "\\r";
    } else if (c == '\t') {
      out += "\\t";
    } else if (c < 0x20 || (escape_html && (c == '<' || c == '>' || c == '&'))) {
      out += "\\u00";
      out += kHex[c >> 4];
      out += kHex[c & 15];
    } else if (escape_html && c == 0xe2 && (text.substr(i, 3) == "\xe2\x80\xa8" || text.substr(i, 3) == "\xe2\x80\xa9")) {
      out += text[i + 2] == '\xa8' ? "\\u2028" : "\\u2029";
      i += 2;
    } else {
      out += text[i];
    }
  }
  return out + '"';
}

namespace {

// The character that begins the text: its bytes and its number. Nothing if it is not UTF-8.
struct Rune {
  std::size_t bytes = 0;
  std::uint32_t number = 0;
};
Rune FirstRune(std::string_view text) {
  const auto first = static_cast<unsigned char>(text[0]);
  const std::size_t bytes = first < 0x80 ? 1 : first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : first >= 0xc0 ? 2 : 0;
  if (bytes == 0 || bytes > text.size() || !internal::ValidUtf8(text.substr(0, bytes))) return {};
  std::uint32_t number = bytes == 1 ? first : first & (0x7fU >> bytes);
  for (std::size_t i = 1; i < bytes; ++i) number = number << 6 | (static_cast<unsigned char>(text[i]) & 0x3f);
  return {bytes, number};
}

// Letters, marks, numbers, punctuation, symbols, and of the spaces the ASCII one.
bool IsPrint(std::string_view rune) {
  static const re2::RE2 kPrint("[\\p{L}\\p{M}\\p{N}\\p{P}\\p{S} ]");
  return re2::RE2::FullMatch(re2::StringPiece(rune.data(), rune.size()), kPrint);
}

}  // namespace

std::string QuoteGo(std::string_view text) {
  constexpr std::string_view kControls = "\a\b\t\n\v\f\r", kLetters = "abtnvfr";
  std::string out = "\"";
  while (!text.empty()) {
    const auto byte = static_cast<unsigned char>(text[0]);
    const Rune rune = FirstRune(text);
    const std::string_view bytes = text.substr(0, std::max<std::size_t>(rune.bytes, 1));
    if (const std::size_t i = kControls.find(text[0]); i != std::string_view::npos) {
      out += '\\';
      out += kLetters[i];
    } else if (byte == '"' || byte == '\\') {
      out += '\\';
      out += text[0];
    } else if (rune.bytes == 0 || byte < 0x20 || byte == 0x7f) {
      out += fmt::format("\\x{:02x}", byte);
    } else if (rune.bytes == 1 || IsPrint(bytes)) {
      out += bytes;
    } else {
      out += rune.number < 0x10000 ? fmt::format("\\u{:04x}", rune.number) : fmt::format("\\U{:08x}", rune.number);
    }
    text.remove_prefix(bytes.size());
  }
  return out + '"';
}

std::string PathValueToString(const Value& value) {
  switch (value.kind()) {
    case Value::Kind::kString:
      return QuoteGo(value.string_value());
    case Value::Kind::kList: {
      std::string out = "[";
      for (const Value& item : value.list()) {
        if (out.size() > 1) out += ',';
        out += PathValueToString(item);
      }
      return out + "]";
    }
    case Value::Kind::kObject: {
      std::string out;
      for (const auto& [key, member] : value.object()) out += key.str() + "=" + PathValueToString(member);
      return out;
    }
    default:
      return ToJson(value);
  }
}

}  // namespace kube::apiserver
