// Any JSON as a Value, and back.
#include <algorithm>
#include <charconv>
#include <vector>

#include "codec/intern_table.h"
#include "codec/json_bytes.h"
#include "codec/json_tokens.h"
#include "codec/json_writer.h"
#include "codec/path.h"
#include "codec/selection_node.h"
#include "codec/utf8.h"
#include "kube/codec/json.h"

namespace kube {
namespace internal {
namespace {

class ValueReader {
 public:
  ValueReader(JsonTokens& tokens, const DecodeOptions& options)
      : t_(tokens),
        strict_(options.strict),
        table_(options.interner != nullptr && !options.strict ? &InternAccess::TableOf(*options.interner) : nullptr),
        node_(options.fields == nullptr ? nullptr : SelectionAccess::RootOf(*options.fields)) {}

  bool Read(Value& out, const Path* path, int depth) {
    if (depth >= kMaxDecodeDepth) return Fail(path, "nested too deep");
    switch (t_.Peek()) {
      case '{':
        return Shared(kValueObjectPart, out, path, depth);
      case '[':
        return Shared(kValueListPart, out, path, depth);
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
  InternTable* const table_;
  const SelectionNode* node_;  // what is wanted of the value at pos; null: all of it
  std::string error_;
  std::string scratch_;
  // Stacks of what the objects and lists that are being read have so far; finished ones move to blocks of the right size.
  std::vector<MapEntry<Value>> members_;
  std::vector<Value> items_;

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
    ++t_.pos;
    if (table_ == nullptr || body.size() <= String::kInlineCapacity || body.size() > InternTable::kMaxBytes) {
      out = String(body);
      return true;
    }
    InternTable::Key key{};
    InternTable::Verdict verdict = table_->FindString(body, out, key);
    if (verdict == InternTable::Verdict::kFound) return true;
    out = String(body);
    table_->AddString(verdict, key, out);
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

  // An object or a list; equal parts of this and earlier values are shared. The whole text is not worth a look: it hardly repeats.
  bool Shared(const FieldInfo& part, Value& out, const Path* path, int depth) {
    InternTable::Key key{};
    auto verdict = InternTable::Verdict::kNotAsked;
    if (table_ != nullptr && depth != 0 && depth <= InternTable::kMaxDepth) {
      std::int64_t height = 0;
      std::uint32_t end = t_.Skip(t_.pos, height);
      table_->CountScan(end - t_.pos);
      std::string_view text = end <= t_.count() ? t_.Span(t_.pos, end - 1) : std::string_view();
      // What was shallow enough elsewhere may be too deep here.
      if (text.size() > 2 && text.size() <= InternTable::kMaxBytes && depth + height < kMaxDecodeDepth) {
        ArrayRep* rep = nullptr;
        verdict = table_->FindArray(InternTable::Format::kJson, part, node_ == nullptr ? 0 : node_->id, text, rep, key);
        if (verdict == InternTable::Verdict::kFound) {
          Take(part, rep, out);
          t_.pos = end;
          return true;
        }
      }
    }
    if (!(&part == &kValueObjectPart ? Object(out, path, depth) : Array(out, path, depth))) return false;
    if (verdict != InternTable::Verdict::kNotAsked) {
      ArrayRep* rep = out.is_object() ? internal::Array(&out.object()) : internal::Array(&out.list());
      table_->AddArray(verdict, key, part, rep);
    }
    return true;
  }
  // A Value that owns the block.
  static void Take(const FieldInfo& part, ArrayRep* rep, Value& out) {
    if (&part == &kValueObjectPart) {
      Map<Value> object;
      Write<ArrayRep*>(&object) = rep;
      out = Value(std::move(object));
    } else {
      List<Value> list;
      Write<ArrayRep*>(&list) = rep;
      out = Value(std::move(list));
    }
  }
  // Moves what is on the stack from `base` on into a block.
  template <typename T>
  static void Finish(const FieldInfo& part, std::vector<T>& stack, std::size_t base, Value& out) {
    std::size_t count = stack.size() - base;
    ArrayRep* rep = count == 0 ? nullptr : NewArray(count, sizeof(T));
    for (std::size_t i = 0; i < count; ++i) new (rep->data() + i * sizeof(T)) T(std::move(stack[base + i]));
    if (rep != nullptr) rep->size = static_cast<std::uint32_t>(count);
    stack.resize(base);
    Take(part, rep, out);
  }

  bool Array(Value& out, const Path* path, int depth) {
    const std::size_t base = items_.size();
    ++t_.pos;
    if (t_.Peek() == ']') {
      ++t_.pos;
    } else {
      for (std::int64_t i = 0;; ++i) {
        Path here = Path::Index(path, i);
        Value item;
        if (!Read(item, &here, depth + 1)) return false;
        items_.push_back(std::move(item));
        char next = t_.Peek();
        if (next != ',' && next != ']') return Fail(&here, "expected ',' or ']'");
        ++t_.pos;
        if (next == ']') break;
      }
    }
    Finish(kValueListPart, items_, base, out);
    return true;
  }
  bool Object(Value& out, const Path* path, int depth) {
    const std::size_t base = members_.size();
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
        members_.push_back(std::move(member));
      }
      node_ = selection;
      char next = t_.Peek();
      if (next != ',' && next != '}') return Fail(path, "expected ',' or '}'");
      ++t_.pos;
      if (next == '}') break;
    }
    if (!SortMembers(base, path)) return false;
    Finish(kValueObjectPart, members_, base, out);
    return true;
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
  // Sorts the members from `base` on by key; of several with one key the last stays.
  bool SortMembers(std::size_t base, const Path* path) {
    auto first = members_.begin() + static_cast<std::ptrdiff_t>(base);
    auto less = [](const auto& a, const auto& b) { return a.key < b.key; };
    auto not_behind = [](const auto& a, const auto& b) { return a.key >= b.key; };
    if (std::adjacent_find(first, members_.end(), not_behind) == members_.end()) return true;  // servers write them sorted
    std::stable_sort(first, members_.end(), less);
    auto to = first;
    for (auto from = first; from != members_.end(); ++from) {
      if (from + 1 != members_.end() && from->key == (from + 1)->key) {
        if (!strict_) continue;
        Path here = Path::Field(path, from->key.view());
        error_ = "strict decoding error: duplicate field \"" + ToString(&here) + '"';
        return false;
      }
      if (to != from) *to = std::move(*from);
      ++to;
    }
    members_.erase(to, members_.end());
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

Result<Value> ReadValue(JsonTokens& tokens, const DecodeOptions& options) {
  ValueReader reader(tokens, options);
  Value out;
  if (!reader.Read(out, nullptr, 0)) return Error::Decode(reader.TakeError());
  if (!tokens.AtEnd()) return Error::Decode("offset " + std::to_string(tokens.Offset(tokens.pos)) + ": more text after the JSON value");
  return out;
}

}  // namespace

Result<Value> ParseJsonBytes(std::string_view text, const DecodeOptions& options) {
  JsonTokens tokens;
  if (auto r = tokens.Load(text, JsonTokens::BadBytes::kAsTheyAre); !r) return r.error();
  return ReadValue(tokens, options);
}

std::string ToJsonBytes(const Value& value) {
  std::string out;
  JsonWriter writer(out, 0, JsonWriter::BadBytes::kAsTheyAre);
  WriteValue(writer, value);
  return out;
}

std::string ToWireJson(std::string text) { return ValidUtf8(text) ? std::move(text) : MendUtf8(text); }

}  // namespace internal

Result<Value> ParseJson(std::string_view text, const DecodeOptions& options) {
  internal::JsonTokens tokens;
  if (auto r = tokens.Load(text); !r) return r.error();
  return internal::ReadValue(tokens, options);
}

std::string ToJson(const Value& value, const JsonFormat& format) {
  std::string out;
  internal::JsonWriter writer(out, format.indent);
  internal::WriteValue(writer, value);
  return out;
}

Result<Value> ParseJson(const RawJson& raw) {
  std::string whole;
  return ParseJson(raw.View(whole));
}

RawJson ToRawJson(const Value& value) { return RawJson(String(ToJson(value))); }

Result<Value> ToValue(const TypeInfo& type, const void* object) {
  std::string text;
  if (auto r = internal::EncodeJsonBytes(type, object, text); !r) return r.error();
  return internal::ParseJsonBytes(text);
}

}  // namespace kube
