// Objects to Kubernetes protobuf, by their tables. Written from the end to the front, so that every length is known when it is needed.
#include <bit>

#include "codec/fields.h"
#include "codec/path.h"
#include "codec/wire.h"
#include "kube/codec/protobuf.h"
#include "value/field_access.h"

namespace kube {
namespace internal {
namespace {

// Bytes that grow at their front.
class FrontBuffer {
 public:
  std::size_t size() const { return bytes_.size() - front_; }
  std::string_view view() const { return std::string_view(bytes_).substr(front_); }

  void Bytes(std::string_view bytes) {
    Reserve(bytes.size());
    front_ -= bytes.size();
    if (!bytes.empty()) std::memcpy(bytes_.data() + front_, bytes.data(), bytes.size());
  }
  void Varint(std::uint64_t value) {
    char buffer[10];
    std::size_t n = 0;
    while (value >= 0x80) {
      buffer[n++] = static_cast<char>(value | 0x80);
      value >>= 7;
    }
    buffer[n++] = static_cast<char>(value);
    Bytes({buffer, n});
  }
  void Tag(std::uint32_t number, Wire wire) { Varint(std::uint64_t{number} << 3 | static_cast<std::uint64_t>(wire)); }
  void Text(std::uint32_t number, std::string_view text) {
    Bytes(text);
    Varint(text.size());
    Tag(number, Wire::kBytes);
  }
  void Number(std::uint32_t number, std::int64_t value) {
    Varint(static_cast<std::uint64_t>(value));
    Tag(number, Wire::kVarint);
  }

 private:
  std::string bytes_;
  std::size_t front_ = 0;

  void Reserve(std::size_t n) {
    if (n <= front_) return;
    std::size_t used = size();
    std::string larger(std::max<std::size_t>(used * 2 + n, 512), '\0');
    std::size_t front = larger.size() - used;
    std::memcpy(larger.data() + front, bytes_.data() + front_, used);
    bytes_ = std::move(larger);
    front_ = front;
  }
};

class ProtobufEncoder {
 public:
  bool Message(const TypeInfo& type, const void* object, const Path* path) {
    if (!HasNumbers(type)) return Fail(path, std::string(type.name) + " has no protobuf form: use JSON");
    if (const UnknownFields* unknown = UnknownOf(type, object); unknown != nullptr && !unknown->empty()) {
      if (!unknown->json().empty() && !OnlyTypeHeader(type, unknown->json())) {
        std::string_view first = unknown->json().substr(0, unknown->json().find(':'));
        return Fail(path, "fields that came in by JSON and have no protobuf form, the first is " + std::string(first.substr(0, 80)));
      }
      b_.Bytes(unknown->protobuf());
    }
    for (const FieldInfo* field = type.end(); field != type.begin();) {  // some structs have no field at all
      --field;
      const char* at = At(object, *field);
      if (field->kind == FieldKind::kInline) {
        std::size_t before = b_.size();
        if (!Message(*field->type, object, path)) return false;
        Close(field->number, before, false);
        continue;
      }
      Path here = Path::Field(path, field->json_name);
      if (!Field(*field, at, &here)) return false;
    }
    return true;
  }
  FrontBuffer& buffer() { return b_; }
  Error TakeError() { return Error::Invalid(std::move(error_)); }

 private:
  FrontBuffer b_;
  std::string error_;

  bool Fail(const Path* path, std::string_view message) {
    error_ = At(path, message);
    return false;
  }

  // A nested kind may say its own apiVersion and kind in JSON; protobuf never does, and nothing is lost by that.
  static bool OnlyTypeHeader(const TypeInfo& type, std::string_view members) {
    if (type.kind == nullptr) return false;
    std::string api_version =
        "\"apiVersion\":\"" + std::string(type.kind->group) + (type.kind->group.empty() ? "" : "/") + std::string(type.kind->version) + '"';
    std::string kind = "\"kind\":\"" + std::string(type.kind->kind) + '"';
    return members == kind || members == api_version || members == kind + ',' + api_version || members == api_version + ',' + kind;
  }

  // Length and tag in front of what was written since `before`. An empty message is left out unless it means something.
  void Close(std::uint32_t number, std::size_t before, bool even_empty) {
    std::size_t size = b_.size() - before;
    if (size == 0 && !even_empty) return;
    b_.Varint(size);
    b_.Tag(number, Wire::kBytes);
  }

  bool Field(const FieldInfo& field, const char* at, const Path* path) {
    if (field.number == 0) return IsEmptyField(field, at) || Fail(path, "has no protobuf form");
    switch (field.shape) {
      case FieldShape::kList: {
        std::size_t stride = ElementSize(field);
        for (std::size_t i = ArraySize(at); i-- > 0;) {
          Path here = Path::Index(path, static_cast<std::int64_t>(i));
          if (!Element(field, field.number, Array(at)->data() + i * stride, &here, true)) return false;
        }
        return true;
      }
      case FieldShape::kMap: {
        std::size_t stride = EntrySize(field);
        for (std::size_t i = ArraySize(at); i-- > 0;) {
          const char* entry = Array(at)->data() + i * stride;
          const auto& key = Read<String>(entry);
          Path here = Path::Key(path, key.view());
          std::size_t before = b_.size();
          if (!Element(field, 2, entry + kEntryValueOffset, &here, true)) return false;
          b_.Text(1, key.view());
          Close(field.number, before, true);
        }
        return true;
      }
      case FieldShape::kOptional:
        if (field.kind == FieldKind::kMessage) {
          BoxRep* rep = BoxOf(at);
          if (rep == nullptr) return true;
          std::size_t before = b_.size();
          if (!Message(*field.type, rep->data(), path)) return false;
          Close(field.number, before, true);
          return true;
        }
        WithScalarType(field.kind, [&](auto t) {
          using T = typename decltype(t)::type;
          if constexpr (kOwnUnset<T>) {
            if (!Read<T>(at).IsZero()) Scalar(field.number, Read<T>(at));
          } else {
            const auto& held = Read<std::optional<T>>(at);
            if (held.has_value()) Scalar(field.number, *held);
          }
        });
        return true;
      case FieldShape::kPlain:
        break;
    }
    return Element(field, field.number, at, path, false);
  }

  bool Element(const FieldInfo& field, std::uint32_t number, const char* at, const Path* path, bool even_empty) {
    if (field.kind == FieldKind::kMessage) {
      std::size_t before = b_.size();
      if (!Message(*field.type, at, path)) return false;
      Close(number, before, even_empty);
      return true;
    }
    WithScalarType(field.kind, [&](auto t) {
      const auto& v = Read<typename decltype(t)::type>(at);
      if (even_empty || !IsEmptyScalar(v)) Scalar(number, v);
    });
    return true;
  }

  void Scalar(std::uint32_t number, bool b) { b_.Number(number, b ? 1 : 0); }
  void Scalar(std::uint32_t number, std::int32_t n) { b_.Number(number, n); }
  void Scalar(std::uint32_t number, std::int64_t n) { b_.Number(number, n); }
  void Scalar(std::uint32_t number, double d) {
    auto bits = std::bit_cast<std::uint64_t>(d);
    char bytes[8];
    for (int i = 0; i < 8; ++i) bytes[i] = static_cast<char>(bits >> (8 * i));
    b_.Bytes({bytes, 8});
    b_.Tag(number, Wire::kFixed64);
  }
  void Scalar(std::uint32_t number, const String& s) { b_.Text(number, s.view()); }
  void Scalar(std::uint32_t number, const Quantity& q) {
    std::size_t before = b_.size();
    b_.Text(1, q.text());
    Close(number, before, true);
  }
  void Scalar(std::uint32_t number, const Time& t) {
    std::size_t before = b_.size();
    if (!t.IsZero()) {
      b_.Number(2, 0);
      b_.Number(1, t.unix_seconds());
    }
    Close(number, before, true);
  }
  void Scalar(std::uint32_t number, const MicroTime& t) {
    std::size_t before = b_.size();
    if (!t.IsZero()) {
      b_.Number(2, t.nanoseconds());
      b_.Number(1, t.unix_seconds());
    }
    Close(number, before, true);
  }
  void Scalar(std::uint32_t number, const Duration& d) {
    std::size_t before = b_.size();
    b_.Number(1, d.nanoseconds());
    Close(number, before, true);
  }
  void Scalar(std::uint32_t number, const IntOrString& v) {
    std::size_t before = b_.size();
    b_.Text(3, v.string_value().view());
    b_.Number(2, v.int_value());
    b_.Number(1, v.is_string() ? 1 : 0);
    Close(number, before, true);
  }
  void Scalar(std::uint32_t number, const RawJson& raw) {
    std::size_t before = b_.size();
    std::string whole;
    if (!raw.empty()) b_.Text(1, raw.View(whole));
    Close(number, before, true);
  }
};

}  // namespace
}  // namespace internal

Result<void> EncodeProtobuf(const TypeInfo& type, const void* object, std::string& out, const ProtobufFormat& format) {
  if (const std::string_view problem = internal::TableProblem(type); !problem.empty()) return Error::Invalid(std::string(problem));
  if (format.envelope && type.kind == nullptr) {
    return Error::Invalid(std::string(type.name) + " is no top-level kind: there is no envelope for it");
  }
  internal::ProtobufEncoder encoder;
  if (!encoder.Message(type, object, nullptr)) return encoder.TakeError();
  if (!format.envelope) {
    out += encoder.buffer().view();
    return {};
  }
  // The envelope grows in front of the message; encoding and type stand behind it, empty as servers write them.
  internal::FrontBuffer meta;
  meta.Text(2, type.kind->kind);
  meta.Text(1, std::string(type.kind->group) + (type.kind->group.empty() ? "" : "/") + std::string(type.kind->version));
  internal::FrontBuffer& b = encoder.buffer();
  b.Varint(b.size());
  b.Tag(2, internal::Wire::kBytes);
  b.Text(1, meta.view());
  b.Bytes(internal::kProtobufMagic);
  out += b.view();
  constexpr std::string_view kNoEncodingNoType{"\x1a\0\x22\0", 4};
  out += kNoEncodingNoType;
  return {};
}

}  // namespace kube
