// JSON to objects: one walk over the tokens, led by the type's table.
#include <charconv>
#include <vector>

#include "codec/array_builder.h"
#include "codec/base64.h"
#include "codec/fields.h"
#include "codec/intern_table.h"
#include "codec/json_bytes.h"
#include "codec/json_tokens.h"
#include "codec/path.h"
#include "codec/selection_node.h"
#include "kube/codec/json.h"
#include "value/field_access.h"

namespace kube {
namespace internal {
namespace {

constexpr std::size_t kMostStrictProblems = 100;
constexpr auto kJson = InternTable::Format::kJson;
using Verdict = InternTable::Verdict;

// Which fields of one object were there already.
class Seen {
 public:
  // False if it was there already, or if that is unknown.
  bool SetIfNew(std::uint32_t ordinal) {
    if (ordinal >= 256) return false;
    std::uint64_t& word = bits_[ordinal >> 6];
    std::uint64_t bit = std::uint64_t{1} << (ordinal & 63);
    if ((word & bit) != 0) return false;
    word |= bit;
    return true;
  }
  // Ordinals beyond the bitmap count as seen whenever the field is not empty.
  bool TestAndSet(const FoundField& found, const void* at) {
    if (found.ordinal >= 256) return !IsEmptyField(*found.field, at);
    std::uint64_t& word = bits_[found.ordinal >> 6];
    std::uint64_t bit = std::uint64_t{1} << (found.ordinal & 63);
    bool seen = (word & bit) != 0;
    word |= bit;
    return seen;
  }

 private:
  std::uint64_t bits_[4] = {};
};

class JsonDecoder {
 public:
  JsonDecoder(JsonTokens& tokens, const DecodeOptions& options)
      : t_(tokens),
        strict_(options.strict),
        keep_unknown_(options.keep_unknown),
        // A shared part would hide the strict problems inside it, and bring the unknown fields of another decoder.
        table_(options.interner != nullptr && !options.strict && options.keep_unknown ? &InternAccess::TableOf(*options.interner)
                                                                                      : nullptr),
        options_(options) {}

  Result<void> Run(const TypeInfo& type, void* object) {
    const FieldSelection fields = SelectionFor(type, options_);
    node_ = SelectionAccess::RootOf(fields);
    if (type.kind != nullptr && type.kind->is_list) items_ = FindByName(type, "items", 0).field;
    if (!Struct(type, static_cast<char*>(object), nullptr, 0)) return Error::Decode(std::move(error_));
    if (!t_.AtEnd()) return Error::Decode("offset " + std::to_string(t_.Offset(t_.pos)) + ": more text after the JSON value");
    if (problems_.empty()) return {};
    std::string all = "strict decoding error: ";
    for (std::size_t i = 0; i < problems_.size(); ++i) all += (i == 0 ? "" : ", ") + problems_[i];
    return Error::Decode(std::move(all));
  }

 private:
  JsonTokens& t_;
  const bool strict_;
  const bool keep_unknown_;
  InternTable* const table_;
  const DecodeOptions& options_;
  const SelectionNode* node_ = nullptr;  // what is wanted of the value at pos; null: all of it
  std::string error_;
  std::vector<std::string> problems_;
  std::string scratch_;
  ScratchArrays scratch_arrays_;
  const FieldInfo* items_ = nullptr;  // of the list kind that is being decoded

  bool Fail(const Path* path, std::string_view message) {
    error_ = At(path, message);
    return false;
  }
  bool Expected(const Path* path, std::string_view what) {
    return Fail(path, "expected " + std::string(what) + ", got " + std::string(DescribeToken(t_.Peek())));
  }
  // With the text that stands there: only for fields that hold no secrets.
  bool ExpectedNot(const Path* path, std::string_view what) {
    char c = t_.Peek();
    if (c != '"' && (c == '{' || c == '[' || c == '\0')) return Expected(path, what);
    std::string token(t_.Token(t_.pos).substr(0, 64));
    return Fail(path, "expected " + std::string(what) + ", got " + token);
  }
  bool Malformed(const Path* path, std::string_view what) {
    return Fail(path, "malformed JSON at offset " + std::to_string(t_.Offset(t_.pos)) + ": " + std::string(what));
  }
  void Problem(const Path* path, std::string_view what) {
    if (problems_.size() < kMostStrictProblems) problems_.push_back(std::string(what) + " field \"" + ToString(path) + "\"");
  }

  bool IsNull() const { return t_.Peek() == 'n' && t_.Token(t_.pos) == "null"; }

  // ---- Strings ----

  // The text of the string token at pos, without its quotes; unescaped text lives in scratch_ until the next call. Moves on.
  bool StringBody(const Path* path, std::string_view& body) {
    if (t_.Peek() != '"') return Expected(path, "a string");
    std::string_view token = t_.Token(t_.pos);
    body = token.substr(1, token.size() - 2);
    if (t_.HasEscape(body)) {
      scratch_.clear();
      if (!Unescape(body, scratch_)) return Malformed(path, "bad escape in a string");
      body = scratch_;
    }
    ++t_.pos;
    return true;
  }
  void Intern(std::string_view text, String& out) {
    if (table_ == nullptr || text.size() <= String::kInlineCapacity || text.size() > InternTable::kMaxBytes) {
      if (out.empty()) {
        new (&out) String(text);  // an empty String owns nothing
      } else {
        out = String(text);
      }
      return;
    }
    InternTable::Key key;
    Verdict verdict = table_->FindString(text, out, key);
    if (verdict == Verdict::kFound) return;
    out = String(text);
    if (table_ != nullptr) table_->AddString(verdict, key, out);
  }

  // ---- Scalars. Each reads the token at pos into `out` and moves on. ----

  bool Scalar(FieldKind, bool& out, const Path* path) {
    std::string_view token = t_.AtEnd() ? std::string_view() : t_.Token(t_.pos);
    if (token != "true" && token != "false") return ExpectedNot(path, "a boolean");
    out = token == "true";
    ++t_.pos;
    return true;
  }
  bool Scalar(FieldKind, std::int64_t& out, const Path* path) {
    bool integer = false;
    if (t_.AtEnd() || !IsJsonNumber(t_.Token(t_.pos), integer) || !integer) return ExpectedNot(path, "an integer");
    if (!ParseJsonInteger(t_.Token(t_.pos), out)) return ExpectedNot(path, "an integer of 64 bits");
    ++t_.pos;
    return true;
  }
  bool Scalar(FieldKind kind, std::int32_t& out, const Path* path) {
    std::int64_t wide = 0;
    if (!Scalar(kind, wide, path)) return false;
    out = static_cast<std::int32_t>(wide);
    if (out == wide) return true;
    --t_.pos;
    return ExpectedNot(path, "an integer of 32 bits");
  }
  bool Scalar(FieldKind, double& out, const Path* path) {
    bool integer = false;
    if (t_.AtEnd() || !IsJsonNumber(t_.Token(t_.pos), integer)) return ExpectedNot(path, "a number");
    std::string_view token = t_.Token(t_.pos);
    auto [end, code] = std::from_chars(token.data(), token.data() + token.size(), out);
    if (code != std::errc()) return ExpectedNot(path, "a number of double precision");
    ++t_.pos;
    return true;
  }
  bool Scalar(FieldKind kind, String& out, const Path* path) {
    std::string_view body;
    if (!StringBody(path, body)) return false;
    if (kind != FieldKind::kBytes) {
      Intern(body, out);
      return true;
    }
    std::string bytes;
    if (!DecodeBase64(body, bytes)) return Fail(path, "not valid base64");
    Intern(bytes, out);
    return true;
  }
  bool Scalar(FieldKind, Quantity& out, const Path* path) {
    std::string_view text;
    bool integer = false;
    if (t_.Peek() == '"') {
      if (!StringBody(path, text)) return false;
    } else {
      // A bare number is a quantity too.
      if (t_.AtEnd() || !IsJsonNumber(t_.Token(t_.pos), integer)) return Expected(path, "a quantity");
      text = t_.Token(t_.pos++);
    }
    return Parsed(Quantity::Parse(text), out, path);
  }
  template <typename T>
  requires(std::is_same_v<T, Time> || std::is_same_v<T, MicroTime> || std::is_same_v<T, Duration>) bool Scalar(FieldKind, T& out,
                                                                                                               const Path* path) {
    std::string_view body;
    if (!StringBody(path, body)) return false;
    return Parsed(T::Parse(body), out, path);
  }
  bool Scalar(FieldKind kind, IntOrString& out, const Path* path) {
    if (t_.Peek() == '"') {
      String text;
      if (!Scalar(FieldKind::kString, text, path)) return false;
      out = IntOrString(std::move(text));
      return true;
    }
    std::int32_t number = 0;
    if (t_.Peek() == '{' || t_.Peek() == '[' || t_.AtEnd()) return Expected(path, "an integer or a string");
    if (!Scalar(kind, number, path)) return false;
    out = IntOrString(number);
    return true;
  }
  bool Scalar(FieldKind, RawJson& out, const Path* path) {
    InternTable::Key key{};
    Verdict verdict = Verdict::kNotAsked;
    std::string_view part;
    std::uint32_t end = 0;
    if (table_ != nullptr && !t_.AtEnd() && PartText(part, end) && part.size() > String::kInlineCapacity) {
      verdict = table_->FindRawJson(InternTable::Format::kJson, part, out, key);
      if (verdict == Verdict::kFound) {
        t_.pos = end;
        return true;
      }
    }
    std::string_view compact;
    std::string_view problem;
    if (!t_.ReadRaw(0, scratch_, compact, problem)) return Malformed(path, problem);
    out = verdict == Verdict::kNotAsked ? RawJson(String(compact)) : table_->MakeRawJson(verdict, key, compact);
    return true;
  }
  template <typename T>
  bool Parsed(Result<T> parsed, T& out, const Path* path) {
    if (!parsed) return Fail(path, parsed.error().message());
    out = std::move(*parsed);
    return true;
  }

  // ---- Fields ----

  // A value into a field. `at` holds a valid (often default) value and does so after a failure.
  bool Field(const FieldInfo& field, char* at, const Path* path, int depth) {
    if (IsNull()) {
      ++t_.pos;
      return true;
    }
    // Releases blocks of an object that was in use before. Known has reset messages that occur twice.
    const bool block = field.shape != FieldShape::kPlain && (field.shape != FieldShape::kOptional || field.kind == FieldKind::kMessage);
    if (block && Read<void*>(at) != nullptr) [[unlikely]]
      ResetField(field, at);
    switch (field.shape) {
      case FieldShape::kList:
        return Shared(field, at, path, depth, '[', "a list");
      case FieldShape::kMap:
        return Shared(field, at, path, depth, '{', "an object");
      case FieldShape::kOptional:
        if (field.kind == FieldKind::kMessage) return Boxed(*field.type, at, path, depth);
        return WithScalarType(field.kind, [&](auto t) {
          using T = typename decltype(t)::type;
          if constexpr (kOwnUnset<T>) {
            return Scalar(field.kind, Write<T>(at), path);
          } else {
            return Scalar(field.kind, Write<std::optional<T>>(at).emplace(), path);
          }
        });
      case FieldShape::kPlain:
        break;
    }
    return Element(field, at, path, depth);
  }

  // A value that stands for itself: a plain field, a list element, a map value.
  bool Element(const FieldInfo& field, char* at, const Path* path, int depth) {
    if (IsNull()) {
      ++t_.pos;
      return true;
    }
    if (field.kind == FieldKind::kMessage) return Struct(*field.type, at, path, depth);
    return WithScalarType(field.kind, [&](auto t) { return Scalar(field.kind, Write<typename decltype(t)::type>(at), path); });
  }

  // ---- The selection ----

  std::uint64_t NodeId() const { return node_ == nullptr ? 0 : node_->id; }
  // Whether a member of what stands under `node` is wanted; if it is, node_ is the member's. The caller sets it back.
  bool Enter(const SelectionNode& node, std::string_view name) {
    SelectionNode::Found found = node.Find(name);
    node_ = found.inside;
    return found.keep;
  }
  // Over a value that is not wanted. Only its brackets are looked at.
  bool SkipValue(const Path* path) {
    char c = t_.Peek();
    std::uint32_t end = t_.Skip(t_.pos);
    if (c == '\0' || c == ',' || c == ':' || c == '}' || c == ']' || end > t_.count()) return Malformed(path, "expected a value");
    t_.pos = end;
    return true;
  }

  // ---- Parts that may be shared ----

  // The same field of the object before: templates repeat, and comparing bytes is cheaper than finding where a part ends and hashing it.
  struct Recent {
    const TypeInfo* box = nullptr;     // what it is: a box of this type,
    const FieldInfo* array = nullptr;  // or a list or map of this field
    const SelectionNode* node = nullptr;
    std::string_view text;  // in this very document
    std::uint32_t tokens = 0;
    void* rep = nullptr;  // one reference of it is held here

    Recent() = default;
    Recent(const Recent&) = delete;
    Recent& operator=(const Recent&) = delete;
    ~Recent() { Release(); }
    void Release() {
      if (box != nullptr) ReleaseBox(static_cast<BoxRep*>(rep), *box);
      if (array != nullptr) ReleaseArray(*array, static_cast<ArrayRep*>(rep));
      box = nullptr;
      array = nullptr;
    }
    bool Is(const TypeInfo& type) const { return box == &type; }
    bool Is(const FieldInfo& field) const { return array == &field; }
    void Set(const TypeInfo& type) { box = &type; }
    void Set(const FieldInfo& field) { array = &field; }
  };
  static constexpr std::size_t kRecent = 64;
  Recent recent_[kRecent];
  Recent& RecentOf(const void* what) { return recent_[(reinterpret_cast<std::uintptr_t>(what) >> 4) % kRecent]; }

  // The part that stands at pos, up to but without token `end`; false if it is not worth looking up.
  bool PartText(std::string_view& text, std::uint32_t& end) const {
    end = t_.Skip(t_.pos);
    table_->CountScan(end - t_.pos);
    if (end > t_.count()) return false;
    text = t_.Span(t_.pos, end - 1);
    return text.size() <= InternTable::kMaxBytes;
  }

  // Looks a box, list or map up. If it is found, `at` gets it and pos moves behind it.
  template <typename Rep, typename Info, typename Find>
  Verdict LookUp(const Info& what, char* at, InternTable::Key& key, Find find) {
    Recent& recent = RecentOf(&what);
    if (recent.Is(what) && recent.node == node_ && t_.StartsWith(recent.text)) {
      auto* rep = static_cast<Rep*>(recent.rep);
      rep->refs.Increment();
      Write<Rep*>(at) = rep;
      t_.pos += recent.tokens;
      table_->CountHit(recent.text.size());
      return Verdict::kFound;
    }
    std::string_view text;
    std::uint32_t end = 0;
    if (!PartText(text, end)) return Verdict::kNotAsked;
    Rep* rep = nullptr;
    Verdict verdict = find(text, rep, key);
    if (verdict == Verdict::kFound) {
      recent.Release();
      recent.Set(what);
      recent.node = node_;
      recent.text = text;
      recent.tokens = end - t_.pos;
      recent.rep = rep;
      rep->refs.Increment();
      Write<Rep*>(at) = rep;
      t_.pos = end;
    }
    return verdict;
  }

  bool Boxed(const TypeInfo& type, char* at, const Path* path, int depth) {
    InternTable::Key key{};
    Verdict verdict = Verdict::kNotAsked;
    if (table_ != nullptr && depth <= InternTable::kMaxDepth && t_.Peek() == '{') {
      verdict = LookUp<BoxRep>(type, at, key, [&](std::string_view text, BoxRep*& rep, InternTable::Key& k) {
        return table_->FindBox(kJson, type, NodeId(), text, rep, k);
      });
      if (verdict == Verdict::kFound) return true;
    }
    BoxRep* rep = NewBox(type.size);
    Write<BoxRep*>(at) = rep;
    if (!Struct(type, rep->data(), path, depth)) return false;
    if (table_ != nullptr) table_->AddBox(verdict, key, type, rep);
    return true;
  }

  bool Shared(const FieldInfo& field, char* at, const Path* path, int depth, char open, std::string_view what) {
    if (t_.Peek() != open) return Expected(path, what);
    if (depth >= kMaxDecodeDepth) return Fail(path, "nested too deep");
    InternTable::Key key{};
    Verdict verdict = Verdict::kNotAsked;
    // The items of a list kind are too many and too different to be looked up as one part.
    if (table_ != nullptr && depth <= InternTable::kMaxDepth && &field != items_) {
      verdict = LookUp<ArrayRep>(field, at, key, [&](std::string_view text, ArrayRep*& rep, InternTable::Key& k) {
        return table_->FindArray(kJson, field, NodeId(), text, rep, k);
      });
      if (verdict == Verdict::kFound) return true;
    }
    if (!(open == '[' ? Elements(field, at, path, depth) : Entries(field, at, path, depth))) return false;
    if (table_ != nullptr) table_->AddArray(verdict, key, field, Array(at));
    return true;
  }

  bool Elements(const FieldInfo& field, char* at, const Path* path, int depth) {
    ++t_.pos;
    if (t_.Peek() == ']') {
      ++t_.pos;
      return true;
    }
    ScratchArrays::Builder elements(scratch_arrays_, field);
    for (std::int64_t i = 0;; ++i) {
      Path here = Path::Index(path, i);
      if (!Element(field, elements.Add(), &here, depth + 1)) return false;
      char next = t_.Peek();
      if (next != ',' && next != ']') return Malformed(&here, "expected ',' or ']'");
      ++t_.pos;
      if (next == ']') break;
    }
    elements.Finish(&Write<ArrayRep*>(at));
    return true;
  }

  bool Entries(const FieldInfo& field, char* at, const Path* path, int depth) {
    ++t_.pos;
    if (t_.Peek() == '}') {
      ++t_.pos;
      return true;
    }
    ScratchArrays::Builder entries(scratch_arrays_, field);
    const SelectionNode* const selection = node_;
    for (;;) {
      std::string_view name;
      if (!StringBody(path, name)) return false;
      if (selection != nullptr && !Enter(*selection, name)) {
        if (t_.Peek() != ':') return Malformed(path, "expected ':'");
        ++t_.pos;
        if (!SkipValue(path)) return false;
      } else {
        char* entry = entries.Add();
        String& key = Write<String>(entry);
        Intern(name, key);
        Path here = Path::Key(path, key.view());
        if (t_.Peek() != ':') return Malformed(&here, "expected ':'");
        ++t_.pos;
        if (!Element(field, entry + kEntryValueOffset, &here, depth + 1)) return false;
      }
      node_ = selection;
      char next = t_.Peek();
      if (next != ',' && next != '}') return Malformed(path, "expected ',' or '}'");
      ++t_.pos;
      if (next == '}') break;
    }
    if (entries.empty()) return true;  // none of them was wanted
    entries.Finish(&Write<ArrayRep*>(at));
    SortEntries(field, &Write<ArrayRep*>(at), [&](std::string_view duplicate) {
      if (!strict_) return;
      Path here = Path::Key(path, duplicate);
      Problem(&here, "duplicate");
    });
    return true;
  }

  // ---- Structs ----

  bool Struct(const TypeInfo& type, char* object, const Path* path, int depth) {
    if (depth >= kMaxDecodeDepth) return Fail(path, "nested too deep");
    if (type.form == TypeForm::kOnlyField) return Field(type.fields[0], At(object, type.fields[0]), path, depth + 1);
    if (type.form == TypeForm::kByToken) return ByToken(type, object, path, depth);
    if (t_.Peek() != '{') return Expected(path, "an object");
    ++t_.pos;
    if (t_.Peek() == '}') {
      ++t_.pos;
      return true;
    }
    std::string unknown;
    Seen seen;
    std::uint16_t hint = 0;
    const SelectionNode* const selection = node_;
    for (;;) {
      if (t_.Peek() != '"') return Malformed(path, "expected a field name");
      std::uint32_t name_token = t_.pos;
      std::size_t left = 0;
      const char* quote = t_.At(left);
      if (const FieldInfo* known = FindByKeyText(type, quote + 1, left - 1, hint)) {
        ++t_.pos;
        if (t_.Peek() != ':') return Malformed(path, "expected ':'");
        ++t_.pos;
        auto ordinal = static_cast<std::uint32_t>(known - type.fields);
        if (selection != nullptr) [[unlikely]] {
          bool ok = Enter(*selection, known->json_name) ? Known({known, ordinal, 0, 0}, object, seen, path, depth) : SkipValue(path);
          if (!ok) return false;
          node_ = selection;
        } else if (!PlainText(*known, At(object, *known), ordinal, seen) && !Known({known, ordinal, 0, 0}, object, seen, path, depth)) {
          return false;
        }
        char next = t_.Peek();
        ++t_.pos;
        if (next == ',') continue;
        if (next == '}') break;
        --t_.pos;
        return Malformed(path, "expected ',' or '}'");
      }
      std::string_view name;
      if (!StringBody(path, name)) return false;
      if (t_.Peek() != ':') return Malformed(path, "expected ':'");
      ++t_.pos;
      FoundField found = FindByName(type, name, hint);
      if (selection != nullptr && !Enter(*selection, name)) {
        if (!SkipValue(path)) return false;
      } else if (found.field != nullptr) {
        hint = found.next;
        if (!Known(found, object, seen, path, depth)) return false;
      } else if (!OtherField(type, name_token, name, path, depth, unknown)) {
        return false;
      }
      node_ = selection;
      char next = t_.Peek();
      if (next != ',' && next != '}') return Malformed(path, "expected ',' or '}'");
      ++t_.pos;
      if (next == '}') break;
    }
    if (!unknown.empty()) {
      if (UnknownFields* keep = UnknownOf(type, object)) keep->set_json(unknown);
    }
    return true;
  }

  // Most fields are plain strings without escapes, seen for the first time: those need nothing of what Known prepares.
  bool PlainText(const FieldInfo& field, char* at, std::uint32_t ordinal, Seen& seen) {
    if (field.kind != FieldKind::kString || field.shape != FieldShape::kPlain || t_.Peek() != '"') return false;
    std::string_view token = t_.Token(t_.pos);
    std::string_view body = token.substr(1, token.size() - 2);
    if (t_.HasEscape(body) || !seen.SetIfNew(ordinal)) return false;
    Intern(body, Write<String>(at));
    ++t_.pos;
    return true;
  }

  bool Known(const FoundField& found, char* object, Seen& seen, const Path* path, int depth) {
    Path here = Path::Field(path, found.field->json_name);
    char* at = At(object, *found.field) + found.base;
    if (seen.TestAndSet(found, at)) {
      if (strict_) Problem(&here, "duplicate");
      ResetField(*found.field, at);
    }
    return Field(*found.field, at, &here, depth + 1);
  }

  // A field that the table does not have: apiVersion and kind of a kind, or one that this build does not know.
  bool OtherField(const TypeInfo& type, std::uint32_t name_token, std::string_view name, const Path* path, int depth,
                  std::string& unknown) {
    bool header = type.kind != nullptr && (name == "apiVersion" || name == "kind");
    std::string name_copy(name);  // `name` may live in scratch_
    Path here = Path::Field(path, name_copy);
    if (header && path == nullptr) return CheckHeader(*type.kind, name_copy == "kind", &here);
    std::string_view compact;
    std::string_view problem;
    if (!t_.ReadRaw(depth, scratch_, compact, problem)) return Malformed(&here, problem);
    if (strict_ && !header) Problem(&here, "unknown");
    if (!keep_unknown_ && !header) return true;
    // The last of several duplicates wins when read again, so all are kept as they came.
    if (!unknown.empty()) unknown += ',';
    unknown += t_.Token(name_token);
    unknown += ':';
    unknown += compact;
    return true;
  }

  bool CheckHeader(const KindInfo& kind, bool is_kind, const Path* here) {
    std::string_view text;
    if (IsNull()) {
      ++t_.pos;
      return true;
    }
    if (!StringBody(here, text)) return false;
    if (text.empty()) return true;
    std::string expected(is_kind ? kind.kind : kind.group.empty() ? kind.version : std::string_view());
    if (expected.empty()) expected = std::string(kind.group) + '/' + std::string(kind.version);
    // DeleteOptions and the like travel under the apiVersion of whatever group they are used with.
    if (text == expected || (!is_kind && kind.kind.ends_with("Options"))) return true;
    return Fail(here, "expected \"" + expected + "\", got \"" + std::string(text.substr(0, 128)) + '"');
  }

  // The kind of token picks the field.
  bool ByToken(const TypeInfo& type, char* object, const Path* path, int depth) {
    char c = t_.Peek();
    for (const FieldInfo& field : type) {
      bool fits = field.kind == FieldKind::kBool ? c == 't' || c == 'f' : field.shape == FieldShape::kList ? c == '[' : c == '{';
      if (!fits) continue;
      if (field.kind != FieldKind::kBool) {
        // "Or bool": an object also means yes.
        for (const FieldInfo& other : type) {
          if (other.kind == FieldKind::kBool) Write<bool>(At(object, other)) = true;
        }
      }
      return Field(field, At(object, field), path, depth + 1);
    }
    return Expected(path, "another type of value");
  }

  static void ResetField(const FieldInfo& field, char* at) {
    FieldInfo alone = field;
    alone.offset = 0;
    TypeInfo one{.name = {}, .fields = &alone, .field_count = 1};
    DestroyObject(one, at);
    std::size_t size = field.shape == FieldShape::kList || field.shape == FieldShape::kMap ? sizeof(void*)
                       : field.kind == FieldKind::kMessage ? (field.shape == FieldShape::kOptional ? sizeof(void*) : field.type->size)
                                                           : ScalarFieldSize(field);
    std::memset(at, 0, size);
  }
  static std::size_t ScalarFieldSize(const FieldInfo& field) {
    return WithScalarType(field.kind, [&](auto t) {
      using T = typename decltype(t)::type;
      return field.shape == FieldShape::kOptional && !kOwnUnset<T> ? sizeof(std::optional<T>) : sizeof(T);
    });
  }
};

}  // namespace
}  // namespace internal

Result<void> internal::DecodeJsonBytes(const TypeInfo& type, void* object, std::string_view text, const DecodeOptions& options) {
  if (const std::string_view problem = TableProblem(type); !problem.empty()) return Error::Invalid(std::string(problem));
  JsonTokens tokens;
  if (auto r = tokens.Load(text, JsonTokens::BadBytes::kAsTheyAre); !r) return r;
  return JsonDecoder(tokens, options).Run(type, object);
}

Result<void> DecodeJson(const TypeInfo& type, void* object, std::string_view text, const DecodeOptions& options) {
  if (const std::string_view problem = internal::TableProblem(type); !problem.empty()) return Error::Invalid(std::string(problem));
  internal::JsonTokens tokens;
  if (auto r = tokens.Load(text); !r) return r;
  return internal::JsonDecoder(tokens, options).Run(type, object);
}

Result<void> DecodeValue(const TypeInfo& type, void* object, const Value& value, const DecodeOptions& options) {
  return internal::DecodeJsonBytes(type, object, internal::ToJsonBytes(value), options);
}

}  // namespace kube
