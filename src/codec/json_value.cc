// Any JSON as a Value, and back.
#include <algorithm>
#include <charconv>
#include <vector>

#include "codec/json_tokens.h"
#include "codec/json_writer.h"
#include "codec/path.h"
#include "codec/selection_node.h"
#include "kube/codec/json.h"

namespace kube {
namespace internal {
namespace {

class ValueReader {
 public:
  ValueReader(JsonTokens& tokens, bool strict, const SelectionNode* selection) : t_(tokens), strict_(strict), node_(selection) {}

  bool Read(Value& out, const Path* path, int depth) {
    if (depth >= kMaxDecodeDepth) return Fail(path, "nested too deep");
    switch (t_.Peek()) {
      case '{':
        return Object(out, path, depth);
      case '[':
        return Array(out, path, depth);
      case '"': {
        String text;
        if (!Text(text, path)) return false;
        out = Value(std::move(text));
        return true;
      }
      default:
        return Scalar(out, path);
    }
  }
  std::string&& TakeError() { return std::move(error_); }

 private:
  JsonTokens& t_;
  const bool strict_;
  const SelectionNode* node_;  // what is wanted of the value at pos; null: all of it
  std::string error_;
  std::string scratch_;

  bool Fail(const Path* path, std::string_view message) {
    error_ = At(path, "malformed JSON at offset " + std::to_string(t_.Offset(t_.pos)) + ": " + std::string(message));
    return false;
  }
  bool Text(String& out, const Path* path) {
    if (t_.Peek() != '"') return Fail(path, "expected a string");
    std::string_view token = t_.Token(t_.pos);
    std::string_view body = token.substr(1, token.size() - 2);
    if (t_.HasEscape(body)) {
      scratch_.clear();
      if (!Unescape(body, scratch_)) return Fail(path, "bad escape in a string");
      body = scratch_;
    }
    out = String(body);
    ++t_.pos;
    return true;
  }
  bool Scalar(Value& out, const Path* path) {
    if (t_.AtEnd()) return Fail(path, "the text ends too early");
    std::string_view token = t_.Token(t_.pos);
    bool integer = false;
    if (token == "true" || token == "false") {
      out = Value(token == "true");
    } else if (token == "null") {
      out = Value();
    } else if (IsJsonNumber(token, integer)) {
      std::int64_t n = 0;
      double d = 0;
      if (integer && ParseJsonInteger(token, n)) {
        out = Value(n);
      } else if (std::from_chars(token.data(), token.data() + token.size(), d).ec == std::errc()) {
        out = Value(d);
      } else {
        return Fail(path, "a number too large for double precision");
      }
    } else {
      return Fail(path, "not a JSON value");
    }
    ++t_.pos;
    return true;
  }
  bool Array(Value& out, const Path* path, int depth) {
    List<Value> items;
    ++t_.pos;
    if (t_.Peek() == ']') {
      ++t_.pos;
    } else {
      for (std::int64_t i = 0;; ++i) {
        Path here = Path::Index(path, i);
        Value item;
        if (!Read(item, &here, depth + 1)) return false;
        items.push_back(std::move(item));
        char next = t_.Peek();
        if (next != ',' && next != ']') return Fail(&here, "expected ',' or ']'");
        ++t_.pos;
        if (next == ']') break;
      }
    }
    out = Value(std::move(items));
    return true;
  }
  bool Object(Value& out, const Path* path, int depth) {
    std::vector<MapEntry<Value>> members;
    ++t_.pos;
    if (t_.Peek() == '}') {
      ++t_.pos;
      out = Value(Map<Value>());
      return true;
    }
    const SelectionNode* const selection = node_;
    for (;;) {
      MapEntry<Value> member;
      if (!Text(member.key, path)) return false;
      Path here = Path::Field(path, member.key.view());
      if (t_.Peek() != ':') return Fail(&here, "expected ':'");
      ++t_.pos;
      if (selection != nullptr && !Enter(*selection, member.key.view())) {
        if (!SkipValue(&here)) return false;
      } else {
        if (!Read(member.value, &here, depth + 1)) return false;
        members.push_back(std::move(member));
      }
      node_ = selection;
      char next = t_.Peek();
      if (next != ',' && next != '}') return Fail(path, "expected ',' or '}'");
      ++t_.pos;
      if (next == '}') break;
    }
    return Collect(std::move(members), out, path);
  }
  bool Enter(const SelectionNode& node, std::string_view name) {
    SelectionNode::Found found = node.Find(name);
    node_ = found.inside;
    return found.keep;
  }
  // Over a value that is not wanted. Only its brackets are looked at.
  bool SkipValue(const Path* path) {
    char c = t_.Peek();
    std::uint32_t end = t_.Skip(t_.pos);
    if (c == '\0' || c == ',' || c == ':' || c == '}' || c == ']' || end > t_.count()) return Fail(path, "expected a value");
    t_.pos = end;
    return true;
  }
  bool Collect(std::vector<MapEntry<Value>> members, Value& out, const Path* path) {
    std::stable_sort(members.begin(), members.end(), [](const auto& a, const auto& b) { return a.key < b.key; });
    Map<Value> map;
    for (std::size_t i = 0; i < members.size(); ++i) {
      if (i + 1 < members.size() && members[i].key == members[i + 1].key) {
        if (!strict_) continue;  // the last of several wins
        Path here = Path::Field(path, members[i].key.view());
        error_ = "strict decoding error: duplicate field \"" + ToString(&here) + '"';
        return false;
      }
      map.Append(std::move(members[i].key), std::move(members[i].value));
    }
    out = Value(std::move(map));
    return true;
  }
};

void WriteValue(JsonWriter& w, const Value& v) {
  switch (v.kind()) {
    case Value::Kind::kNull:
      return w.Null();
    case Value::Kind::kBool:
      return w.Bool(v.bool_value());
    case Value::Kind::kInt:
      return w.Int(v.int_value());
    case Value::Kind::kDouble:
      return w.Double(v.double_value());
    case Value::Kind::kString:
      return w.String(v.string_value().view());
    case Value::Kind::kList:
      w.BeginList();
      for (const Value& item : v.list()) {
        w.Element();
        WriteValue(w, item);
      }
      return w.EndList();
    case Value::Kind::kObject:
      w.BeginObject();
      for (const auto& [key, value] : v.object()) {
        w.Name(key.view());
        WriteValue(w, value);
      }
      return w.EndObject();
  }
}

}  // namespace
}  // namespace internal

Result<Value> ParseJson(std::string_view text, const DecodeOptions& options) {
  internal::JsonTokens tokens;
  if (auto r = tokens.Load(text); !r) return r.error();
  internal::ValueReader reader(tokens, options.strict, options.fields == nullptr ? nullptr : options.fields->root());
  Value out;
  if (!reader.Read(out, nullptr, 0)) return Error::Decode(reader.TakeError());
  if (!tokens.AtEnd()) return Error::Decode("offset " + std::to_string(tokens.Offset(tokens.pos)) + ": more text after the JSON value");
  return out;
}

std::string ToJson(const Value& value, const JsonFormat& format) {
  std::string out;
  internal::JsonWriter writer(out, format.indent);
  internal::WriteValue(writer, value);
  return out;
}

RawJson ToRawJson(const Value& value) { return {String(ToJson(value))}; }

Result<Value> ToValue(const TypeInfo& type, const void* object) {
  std::string text;
  if (auto r = EncodeJson(type, object, text); !r) return r.error();
  return ParseJson(text);
}

}  // namespace kube
