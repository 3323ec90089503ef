// Kubernetes protobuf to objects: one pass over the bytes, led by the type's table.
#include <bit>
#include <string>

#include "codec/array_builder.h"
#include "codec/fields.h"
#include "codec/intern_table.h"
#include "codec/path.h"
#include "codec/selection_node.h"
#include "codec/wire.h"
#include "kube/codec/predecessors.h"
#include "kube/codec/protobuf.h"
#include "value/field_access.h"

namespace kube {
namespace internal {
namespace {

constexpr std::size_t kFewestToHash = 32;  // bytes of a part; less is decoded sooner than compared
constexpr auto kProtobuf = InternTable::Format::kProtobuf;
using Verdict = InternTable::Verdict;

Wire WireOf(FieldKind kind) {
  switch (kind) {
    case FieldKind::kBool:
    case FieldKind::kInt32:
    case FieldKind::kInt64:
      return Wire::kVarint;
    case FieldKind::kDouble:
      return Wire::kFixed64;
    default:
      return Wire::kBytes;
  }
}
Wire WireOf(const FieldInfo& field) { return field.shape == FieldShape::kMap ? Wire::kBytes : WireOf(field.kind); }

void AppendVarint(std::string& out, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  out += static_cast<char>(value);
}

class ProtobufDecoder {
 public:
  // `selection` is what is wanted of the object; null: all of it.
  ProtobufDecoder(const TypeInfo& type, std::string_view input, const DecodeOptions& options, const SelectionNode* selection)
      : input_(input.data()),
        node_(selection),
        strict_(options.strict),
        keep_unknown_(options.keep_unknown),
        table_(options.interner != nullptr && !options.strict && options.keep_unknown ? &InternAccess::TableOf(*options.interner)
                                                                                      : nullptr),
        type_(type),
        predecessors_(table_ != nullptr && options.predecessors != nullptr && options.predecessors->Has(type) ? options.predecessors
                                                                                                              : nullptr) {}

  // All of it.
  bool Object(char* object, std::string_view bytes) {
    if (!Message(type_, object, bytes, nullptr, 0)) return false;
    if (begun_) predecessors_->End(object, parts_);
    return true;
  }

  // Unknown fields go to the object, or to `leftover` if the type is a view of a larger struct.
  bool Message(const TypeInfo& type, char* object, std::string_view bytes, const Path* path, int depth, std::string* leftover = nullptr) {
    if (depth >= kMaxDecodeDepth) return Fail(path, bytes.data(), "nested too deep");
    if (!HasNumbers(type)) return Fail(path, bytes.data(), std::string(type.name) + " has no protobuf form: use JSON");
    WireReader r(bytes);
    std::uint16_t hint = 0;
    std::string unknown;
    // A type that is its only field in JSON has no names of its own.
    const SelectionNode* const selection = type.form == TypeForm::kStruct ? node_ : nullptr;
    while (!r.AtEnd()) {
      const char* start = r.at;
      std::uint32_t number = 0;
      Wire wire{};
      if (!r.Tag(number, wire)) return Fail(path, start, "malformed protobuf tag");
      const FieldInfo* field = FindByNumber(type, number, hint);
      if (selection != nullptr) [[unlikely]] {
        if (field == nullptr ? selection->only : field->kind != FieldKind::kInline && !Enter(*selection, field->json_name)) {
          if (!r.Skip(number, wire, kMaxDecodeDepth)) return Fail(path, start, "malformed protobuf");
          node_ = selection;
          continue;
        }
      }
      if (field == nullptr) {
        if (!Unknown(r, number, wire, start, path, unknown)) return false;
        continue;
      }
      if (field->kind == FieldKind::kInline) {
        std::string_view part;
        if (wire != Wire::kBytes || !r.Bytes(part)) return Fail(path, start, "malformed protobuf");
        std::string inner;
        if (!Message(*field->type, object, part, path, depth + 1, &inner)) return false;
        if (!inner.empty()) {
          // Kept as a second occurrence of the inlined message: readers merge the two.
          AppendVarint(unknown, std::uint64_t{number} << 3 | static_cast<std::uint64_t>(Wire::kBytes));
          AppendVarint(unknown, inner.size());
          unknown += inner;
        }
        continue;
      }
      Path here = Path::Field(path, field->json_name);
      if (!Field(*field, At(object, *field), r, wire, start, &here, depth)) return false;
      if (selection != nullptr) node_ = selection;
    }
    if (!unknown.empty()) {
      if (leftover != nullptr) {
        *leftover = std::move(unknown);
      } else if (UnknownFields* keep = UnknownOf(type, object)) {
        unknown.insert(0, keep->protobuf());
        keep->set_protobuf(unknown);
      }
    }
    return true;
  }

  Error TakeError() { return Error::Decode(std::move(error_)); }
  const std::string& problems() const { return problems_; }

 private:
  const char* const input_;
  const SelectionNode* node_;  // what is wanted of the part that is being decoded; null: all of it
  const bool strict_;
  const bool keep_unknown_;
  InternTable* const table_;
  const TypeInfo& type_;  // of the object that is decoded
  Predecessors* const predecessors_;
  // State of the decoded object and of its earlier version.
  bool begun_ = false;  // the predecessors were asked
  unsigned seen_ = 0;   // bits of the parts that came
  const char* earlier_ = nullptr;
  PartHashes parts_{}, earlier_parts_{};
  std::string error_;
  std::string problems_;

  bool Fail(const Path* path, const char* at, std::string_view message) {
    error_ = At(path, "offset " + std::to_string(at - input_) + ": " + std::string(message));
    return false;
  }

  std::uint64_t NodeId() const { return node_ == nullptr ? 0 : node_->id; }
  // Whether a member of what stands under `node` is wanted; if it is, node_ is the member's. The caller sets it back.
  bool Enter(const SelectionNode& node, std::string_view name) {
    SelectionNode::Found found = node.Find(name);
    node_ = found.inside;
    return found.keep;
  }

  bool Unknown(WireReader& r, std::uint32_t number, Wire wire, const char* start, const Path* path, std::string& unknown) {
    if (!r.Skip(number, wire, kMaxDecodeDepth)) return Fail(path, start, "malformed protobuf in unknown field " + std::to_string(number));
    if (keep_unknown_) unknown.append(start, r.at);
    if (strict_ && problems_.size() < 4096) {
      std::string where = ToString(path);
      problems_ += (problems_.empty() ? "" : ", ") + std::string("unknown field ") + (where.empty() ? "" : "\"" + where + "\" ") +
                   "number " + std::to_string(number);
    }
    return true;
  }

  bool Field(const FieldInfo& field, char* at, WireReader& r, Wire wire, const char* start, const Path* path, int depth) {
    if (wire != WireOf(field)) {
      // Repeated numbers may come packed.
      if (field.shape == FieldShape::kList && wire == Wire::kBytes) return Packed(field, at, r, start, path);
      return Fail(path, start, "wrong protobuf wire type " + std::to_string(static_cast<int>(wire)));
    }
    switch (field.shape) {
      case FieldShape::kList:
      case FieldShape::kMap:
        return Run(field, at, r, start, path, depth);
      case FieldShape::kOptional:
        if (field.kind == FieldKind::kMessage) return Boxed(*field.type, at, r, start, path, depth);
        return WithScalarType(field.kind, [&](auto t) {
          using T = typename decltype(t)::type;
          if constexpr (kOwnUnset<T>) {
            return Scalar(field.kind, Write<T>(at), r, start, path);
          } else {
            return Scalar(field.kind, Write<std::optional<T>>(at).emplace(), r, start, path);
          }
        });
      case FieldShape::kPlain:
        break;
    }
    return Element(field, at, r, start, path, depth);
  }

  bool Element(const FieldInfo& field, char* at, WireReader& r, const char* start, const Path* path, int depth) {
    if (field.kind == FieldKind::kMessage) {
      std::string_view part;
      if (!r.Bytes(part)) return TooLong(start, path);
      if (depth == 0 && predecessors_ != nullptr && field.shape == FieldShape::kPlain) return Part(field, at, part, path);
      return Message(*field.type, at, part, path, depth + 1);
    }
    return WithScalarType(field.kind, [&](auto t) { return Scalar(field.kind, Write<typename decltype(t)::type>(at), r, start, path); });
  }

  // Metadata, spec or status of the object: what is equal to its earlier version is taken from there.
  bool Part(const FieldInfo& field, char* at, std::string_view bytes, const Path* path) {
    if (field.number == 1) {
      if (!Message(*field.type, at, bytes, path, 1)) return false;
      begun_ = true;
      earlier_ = static_cast<const char*>(predecessors_->Begin(at - field.offset, earlier_parts_));
      return true;
    }
    const std::size_t i = field.number - 2U;
    if (i >= parts_.size()) return Message(*field.type, at, bytes, path, 1);
    // What comes twice is merged, and what comes of that has no bytes of its own.
    const bool first = (seen_ & (1U << i)) == 0;
    seen_ |= 1U << i;
    parts_[i] = first && bytes.size() >= kFewestToHash ? table_->HashOf(bytes) : 0;
    if (earlier_ == nullptr || parts_[i] == 0 || parts_[i] != earlier_parts_[i]) return Message(*field.type, at, bytes, path, 1);
    CopyObject(*field.type, at, earlier_ + field.offset);
    table_->CountHit(bytes.size());
    return true;
  }

  bool TooLong(const char* start, const Path* path) { return Fail(path, start, "a length beyond the end of the message"); }

  bool Boxed(const TypeInfo& type, char* at, WireReader& r, const char* start, const Path* path, int depth) {
    std::string_view part;
    if (!r.Bytes(part)) return TooLong(start, path);
    BoxRep*& rep = Write<BoxRep*>(at);
    InternTable::Key key{};
    Verdict verdict = Verdict::kNotAsked;
    if (rep == nullptr) {
      if (table_ != nullptr && depth <= InternTable::kMaxDepth && part.size() <= InternTable::kMaxBytes) {
        verdict = table_->FindBox(kProtobuf, type, NodeId(), part, rep, key);
        if (verdict == Verdict::kFound) return true;
      }
      rep = NewBox(type.size);
    } else if (!rep->refs.IsOne()) {
      // The same message twice: the second merges into the first, which must be private.
      BoxRep* fresh = CopyBox(rep, type);
      ReleaseBox(rep, type);
      rep = fresh;
    }
    if (!Message(type, rep->data(), part, path, depth + 1)) return false;
    if (table_ != nullptr) table_->AddBox(verdict, key, type, rep);
    return true;
  }

  // All consecutive elements of a list or entries of a map: one part for the interner, one exact block. `r` is behind the first tag.
  bool Run(const FieldInfo& field, char* at, WireReader& r, const char* start, const Path* path, int depth) {
    std::size_t tag_size = static_cast<std::size_t>(r.at - start);
    WireReader ahead = r;
    std::size_t count = 0;
    for (;;) {
      if (!ahead.Skip(0, WireOf(field), 1)) return Fail(path, ahead.at, "malformed protobuf");
      ++count;
      if (ahead.left() < tag_size || std::memcmp(ahead.at, start, tag_size) != 0) break;
      ahead.at += tag_size;
    }
    std::string_view run(start, static_cast<std::size_t>(ahead.at - start));
    ArrayRep*& rep = Write<ArrayRep*>(at);
    InternTable::Key key{};
    Verdict verdict = Verdict::kNotAsked;
    if (table_ != nullptr && rep == nullptr && depth <= InternTable::kMaxDepth && run.size() <= InternTable::kMaxBytes) {
      verdict = table_->FindArray(kProtobuf, field, NodeId(), run, rep, key);
      if (verdict == Verdict::kFound) {
        r.at = ahead.at;
        return true;
      }
    }
    bool map = field.shape == FieldShape::kMap;
    std::int64_t index = rep == nullptr ? 0 : rep->size;
    const SelectionNode* const selection = map ? node_ : nullptr;
    std::size_t wanted = selection == nullptr ? count : WantedEntries(*selection, run, tag_size);
    if (wanted == 0) {
      r.at = ahead.at;
      return true;
    }
    ArrayBuilder builder(field, &rep, wanted);
    for (std::size_t i = 0; i < count; ++i, ++index) {
      if (i != 0) r.at += tag_size;
      const char* element = r.at;
      if (selection != nullptr && !Enter(*selection, EntryKey(r))) {
        if (!r.Skip(0, Wire::kBytes, 1)) return TooLong(element, path);
      } else if (map) {
        if (!Entry(field, builder.Add(), r, element, path, depth)) return false;
      } else {
        Path here = Path::Index(path, index);
        if (!Element(field, builder.Add(), r, element, &here, depth)) return false;
      }
    }
    if (selection != nullptr) node_ = selection;
    if (map) SortEntries(field, &rep, [](std::string_view) {});
    if (table_ != nullptr) table_->AddArray(verdict, key, field, rep);
    return true;
  }

  // The key of the map entry that `r` stands before; the last one counts.
  static std::string_view EntryKey(WireReader r) {
    std::string_view key;
    std::string_view part;
    if (!r.Bytes(part)) return key;
    WireReader inner(part);
    std::uint32_t number = 0;
    Wire wire{};
    while (!inner.AtEnd() && inner.Tag(number, wire)) {
      bool ok = number == 1 && wire == Wire::kBytes ? inner.Bytes(key) : inner.Skip(number, wire, kMaxDecodeDepth);
      if (!ok) break;
    }
    return key;
  }
  // How many entries of a map's run, which starts with the first one's tag, the node keeps.
  static std::size_t WantedEntries(const SelectionNode& node, std::string_view run, std::size_t tag_size) {
    std::size_t wanted = 0;
    for (WireReader r(run); !r.AtEnd();) {
      r.at += tag_size;
      if (node.Find(EntryKey(r)).keep) ++wanted;
      if (!r.Skip(0, Wire::kBytes, 1)) break;
    }
    return wanted;
  }

  bool Entry(const FieldInfo& field, char* entry, WireReader& r, const char* start, const Path* path, int depth) {
    std::string_view part;
    if (!r.Bytes(part)) return TooLong(start, path);
    WireReader inner(part);
    while (!inner.AtEnd()) {
      const char* at = inner.at;
      std::uint32_t number = 0;
      Wire wire{};
      if (!inner.Tag(number, wire)) return Fail(path, at, "malformed protobuf tag");
      if (number == 1 && wire == Wire::kBytes) {
        if (!Scalar(FieldKind::kString, Write<String>(entry), inner, at, path)) return false;
      } else if (number == 2 && wire == WireOf(field.kind)) {
        Path here = Path::Key(path, Read<String>(entry).view());
        if (!Element(field, entry + kEntryValueOffset, inner, at, &here, depth)) return false;
      } else if (number <= 2) {
        return Fail(path, at, "wrong protobuf wire type " + std::to_string(static_cast<int>(wire)));
      } else if (!inner.Skip(number, wire, kMaxDecodeDepth)) {
        return Fail(path, at, "malformed protobuf");
      }
    }
    return true;
  }

  bool Packed(const FieldInfo& field, char* at, WireReader& r, const char* start, const Path* path) {
    if (WireOf(field) == Wire::kBytes) return Fail(path, start, "wrong protobuf wire type 2");
    std::string_view part;
    if (!r.Bytes(part)) return TooLong(start, path);
    std::size_t count = 0;
    for (WireReader ahead(part); !ahead.AtEnd(); ++count) {
      if (!ahead.Skip(0, WireOf(field), 1)) return Fail(path, start, "malformed protobuf");
    }
    if (count == 0) return true;
    WireReader inner(part);
    ArrayBuilder builder(field, &Write<ArrayRep*>(at), count);
    while (!inner.AtEnd()) {
      const char* element = inner.at;
      if (!Element(field, builder.Add(), inner, element, path, 0)) return false;
    }
    return true;
  }

  // ---- Scalars: `r` is behind the tag. ----

  template <typename T>
  requires std::is_integral_v<T>
  bool Scalar(FieldKind, T& out, WireReader& r, const char* start, const Path* path) {
    std::uint64_t value = 0;
    if (!r.Varint(value)) return Fail(path, start, "malformed varint");
    if constexpr (std::is_same_v<T, bool>) {
      out = value != 0;
    } else {
      out = static_cast<T>(value);
    }
    return true;
  }
  bool Scalar(FieldKind, double& out, WireReader& r, const char* start, const Path* path) {
    if (r.left() < 8) return Fail(path, start, "the message ends within a number");
    std::uint64_t bits = 0;
    for (int i = 0; i < 8; ++i) bits |= static_cast<std::uint64_t>(static_cast<unsigned char>(r.at[i])) << (8 * i);
    out = std::bit_cast<double>(bits);
    r.at += 8;
    return true;
  }
  bool Scalar(FieldKind, String& out, WireReader& r, const char* start, const Path* path) {
    std::string_view text;
    if (!r.Bytes(text)) return TooLong(start, path);
    Text(text, out);
    return true;
  }
  // Text is not checked, as servers do not check it: one that is not UTF-8 is kept as it came.
  void Text(std::string_view text, String& out) {
    InternTable::Key key{};
    Verdict verdict = Verdict::kNotAsked;
    if (table_ != nullptr && text.size() > String::kInlineCapacity && text.size() <= InternTable::kMaxBytes) {
      verdict = table_->FindString(text, out, key);
      if (verdict == Verdict::kFound) return;
    }
    out = String(text);
    if (table_ != nullptr) table_->AddString(verdict, key, out);
  }
  bool Scalar(FieldKind, Quantity& out, WireReader& r, const char* start, const Path* path) {
    std::string_view text;
    std::uint64_t unused[2] = {};
    if (!Small(r, unused, text, start, path)) return false;
    auto parsed = Quantity::Parse(text.empty() ? std::string_view("0") : text);
    if (!parsed) return Fail(path, start, parsed.error().message());
    out = std::move(*parsed);
    return true;
  }
  template <typename T>
  requires kOwnUnset<T>
  bool Scalar(FieldKind, T& out, WireReader& r, const char* start, const Path* path) {
    std::string_view unused;
    std::uint64_t numbers[2] = {};
    bool any = false;
    if (!Small(r, numbers, unused, start, path, &any)) return false;
    auto seconds = static_cast<std::int64_t>(numbers[0]);
    if (!any) {
      out = T();  // an empty message is Go's zero time
    } else if constexpr (std::is_same_v<T, Time>) {
      out = Time::FromUnix(seconds);
    } else {
      out = MicroTime::FromUnix(seconds, static_cast<std::int32_t>(numbers[1]));
    }
    return true;
  }
  bool Scalar(FieldKind, Duration& out, WireReader& r, const char* start, const Path* path) {
    std::string_view unused;
    std::uint64_t numbers[2] = {};
    if (!Small(r, numbers, unused, start, path)) return false;
    out = Duration::FromNanoseconds(static_cast<std::int64_t>(numbers[0]));
    return true;
  }
  bool Scalar(FieldKind, IntOrString& out, WireReader& r, const char* start, const Path* path) {
    std::string_view text;
    std::uint64_t numbers[2] = {};
    if (!Small(r, numbers, text, start, path)) return false;
    if (numbers[0] == 0) {
      out = IntOrString(static_cast<std::int32_t>(numbers[1]));
      return true;
    }
    String held;
    Text(text, held);
    out = IntOrString(std::move(held));
    return true;
  }
  bool Scalar(FieldKind, RawJson& out, WireReader& r, const char* start, const Path* path) {
    std::string_view raw;
    std::uint64_t unused[2] = {};
    if (!Small(r, unused, raw, start, path)) return false;
    if (table_ == nullptr || raw.size() <= String::kInlineCapacity) {
      out = String(raw);
      return true;
    }
    InternTable::Key key{};
    const Verdict verdict = table_->FindRawJson(InternTable::Format::kProtobuf, raw, out, key);
    if (verdict != Verdict::kFound) out = table_->MakeRawJson(verdict, key, raw);
    return true;
  }

  // The small messages of scalars: numbers in fields 1 and 2, text in field 1 or 3.
  bool Small(WireReader& r, std::uint64_t (&numbers)[2], std::string_view& text, const char* start, const Path* path, bool* any = nullptr) {
    std::string_view part;
    if (!r.Bytes(part)) return TooLong(start, path);
    if (any != nullptr) *any = !part.empty();
    WireReader inner(part);
    while (!inner.AtEnd()) {
      std::uint32_t number = 0;
      Wire wire{};
      bool ok = inner.Tag(number, wire);
      if (ok && wire == Wire::kVarint && (number == 1 || number == 2)) {
        ok = inner.Varint(numbers[number - 1]);
      } else if (ok && wire == Wire::kBytes && (number == 1 || number == 3)) {
        ok = inner.Bytes(text);
      } else if (ok) {
        ok = inner.Skip(number, wire, kMaxDecodeDepth);
      }
      if (!ok) return Fail(path, start, "malformed protobuf");
    }
    return true;
  }
};

}  // namespace
}  // namespace internal

bool HasProtobufEnvelope(std::string_view bytes) { return bytes.starts_with(internal::kProtobufMagic); }

Result<ProtobufEnvelope> ParseProtobufEnvelope(std::string_view bytes) {
  if (!HasProtobufEnvelope(bytes)) return Error::Decode("no Kubernetes protobuf: the bytes do not start with \"k8s\\0\"");
  ProtobufEnvelope envelope;
  internal::WireReader r(bytes.substr(internal::kProtobufMagic.size()));
  auto malformed = [] { return Error::Decode("malformed Kubernetes protobuf envelope"); };
  while (!r.AtEnd()) {
    std::uint32_t number = 0;
    internal::Wire wire{};
    std::string_view part;
    if (!r.Tag(number, wire)) return malformed();
    if (wire != internal::Wire::kBytes || number > 4) {
      if (!r.Skip(number, wire, kMaxDecodeDepth)) return malformed();
      continue;
    }
    if (!r.Bytes(part)) return malformed();
    if (number == 2) envelope.raw = part;
    if (number == 3) envelope.content_encoding = String(part);
    if (number == 4) envelope.content_type = String(part);
    if (number != 1) continue;
    internal::WireReader meta(part);
    while (!meta.AtEnd()) {
      if (!meta.Tag(number, wire)) return malformed();
      std::string_view text;
      if (wire == internal::Wire::kBytes && number <= 2) {
        if (!meta.Bytes(text)) return malformed();
        (number == 1 ? envelope.api_version : envelope.kind) = String(text);
      } else if (!meta.Skip(number, wire, kMaxDecodeDepth)) {
        return malformed();
      }
    }
  }
  return envelope;
}

Result<void> DecodeProtobuf(const TypeInfo& type, void* object, std::string_view bytes, const DecodeOptions& options) {
  if (const std::string_view problem = internal::TableProblem(type); !problem.empty()) return Error::Invalid(std::string(problem));
  std::string_view message = bytes;
  if (HasProtobufEnvelope(bytes)) {
    auto envelope = ParseProtobufEnvelope(bytes);
    if (!envelope) return envelope.error();
    if (type.kind != nullptr && !envelope->kind.empty() && envelope->kind != type.kind->kind) {
      return Error::Decode("kind: expected \"" + std::string(type.kind->kind) + "\", got \"" + envelope->kind.str() + '"');
    }
    std::string expected =
        type.kind == nullptr ? "" : std::string(type.kind->group) + (type.kind->group.empty() ? "" : "/") + std::string(type.kind->version);
    if (type.kind != nullptr && !envelope->api_version.empty() && envelope->api_version != expected &&
        !type.kind->kind.ends_with("Options")) {
      return Error::Decode("apiVersion: expected \"" + expected + "\", got \"" + envelope->api_version.str() + '"');
    }
    message = envelope->raw;
  }
  const FieldSelection fields = internal::SelectionFor(type, options);
  internal::ProtobufDecoder decoder(type, bytes, options, internal::SelectionAccess::RootOf(fields));
  if (!decoder.Object(static_cast<char*>(object), message)) return decoder.TakeError();
  if (!decoder.problems().empty()) return Error::Decode("strict decoding error: " + decoder.problems());
  return {};
}

}  // namespace kube
