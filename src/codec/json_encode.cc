// Objects to JSON, by their tables.
#include "codec/base64.h"
#include "codec/json_bytes.h"
#include "codec/json_tokens.h"
#include "codec/json_writer.h"
#include "codec/path.h"
#include "kube/codec/json.h"
#include "value/field_access.h"

namespace kube {
namespace internal {
namespace {

class JsonEncoder {
 public:
  JsonEncoder(std::string& out, const JsonFormat& format, JsonWriter::BadBytes bad_bytes)
      : w_(out, format.indent, bad_bytes), header_(format.type_header) {}

  bool Struct(const TypeInfo& type, const void* object, const Path* path) {
    if (type.form == TypeForm::kOnlyField) return Value(type.fields[0], At(object, type.fields[0]), path);
    if (type.form == TypeForm::kByToken) return ByToken(type, object, path);
    w_.BeginObject();
    const UnknownFields* unknown = UnknownOf(type, object);
    if (type.kind != nullptr && path == nullptr && header_) Header(*type.kind);
    if (!Fields(type, object, path)) return false;
    if (unknown != nullptr && !unknown->json().empty()) w_.RawMembers(unknown->json());
    w_.EndObject();
    return true;
  }

  std::string&& TakeError() { return std::move(error_); }

 private:
  JsonWriter w_;
  const bool header_;
  std::string error_;

  void Header(const KindInfo& kind) {
    w_.Name("kind");
    w_.Plain(kind.kind);
    w_.Name("apiVersion");
    w_.Plain(kind.group.empty() ? std::string(kind.version) : std::string(kind.group) + '/' + std::string(kind.version));
  }

  bool Fields(const TypeInfo& type, const void* object, const Path* path) {
    for (const FieldInfo& field : type) {
      const char* at = At(object, field);
      if (field.kind == FieldKind::kInline) {
        if (!Fields(*field.type, at, path)) return false;
        if (const UnknownFields* unknown = UnknownOf(*field.type, at); unknown != nullptr && !unknown->json().empty()) {
          w_.RawMembers(unknown->json());
        }
        continue;
      }
      if (!field.required && IsEmptyField(field, at)) continue;
      w_.Name(field.json_name);
      Path here = Path::Field(path, field.json_name);
      if (!Value(field, at, &here)) return false;
    }
    return true;
  }

  bool Value(const FieldInfo& field, const char* at, const Path* path) {
    switch (field.shape) {
      case FieldShape::kList: {
        w_.BeginList();
        std::size_t stride = ElementSize(field);
        for (std::size_t i = 0, n = ArraySize(at); i < n; ++i) {
          w_.Element();
          Path here = Path::Index(path, static_cast<std::int64_t>(i));
          if (!Element(field, Array(at)->data() + i * stride, &here)) return false;
        }
        w_.EndList();
        return true;
      }
      case FieldShape::kMap: {
        w_.BeginObject();
        std::size_t stride = EntrySize(field);
        for (std::size_t i = 0, n = ArraySize(at); i < n; ++i) {
          const char* entry = Array(at)->data() + i * stride;
          const auto& key = Read<String>(entry);
          w_.Name(key.view());
          Path here = Path::Key(path, key.view());
          if (!Element(field, entry + kEntryValueOffset, &here)) return false;
        }
        w_.EndObject();
        return true;
      }
      case FieldShape::kOptional:
        if (field.kind == FieldKind::kMessage) {
          BoxRep* rep = BoxOf(at);
          return Struct(*field.type, rep == nullptr ? static_cast<const void*>(kZeroes) : rep->data(), path);
        }
        return WithScalarType(field.kind, [&](auto t) {
          using T = typename decltype(t)::type;
          if constexpr (kOwnUnset<T>) {
            return Scalar(field.kind, Read<T>(at), path);
          } else {
            const auto& held = Read<std::optional<T>>(at);
            if (held.has_value()) return Scalar(field.kind, *held, path);
            w_.Null();  // required, but absent
            return true;
          }
        });
      case FieldShape::kPlain:
        break;
    }
    return Element(field, at, path);
  }

  bool Element(const FieldInfo& field, const char* at, const Path* path) {
    if (field.kind == FieldKind::kMessage) return Struct(*field.type, at, path);
    return WithScalarType(field.kind, [&](auto t) { return Scalar(field.kind, Read<typename decltype(t)::type>(at), path); });
  }

  bool Scalar(FieldKind, bool b, const Path*) { return w_.Bool(b), true; }
  bool Scalar(FieldKind, std::int32_t n, const Path*) { return w_.Int(n), true; }
  bool Scalar(FieldKind, std::int64_t n, const Path*) { return w_.Int(n), true; }
  bool Scalar(FieldKind, double d, const Path*) { return w_.Double(d), true; }
  bool Scalar(FieldKind kind, const String& s, const Path*) {
    if (kind != FieldKind::kBytes) return w_.String(s.view()), true;
    w_.out() += '"';
    AppendBase64(s.view(), w_.out());
    w_.out() += '"';
    return true;
  }
  bool Scalar(FieldKind, const Quantity& q, const Path*) { return w_.Plain(q.text()), true; }
  bool Scalar(FieldKind, const Duration& d, const Path*) { return Formatted(d); }
  bool Scalar(FieldKind, const Time& t, const Path*) { return t.IsZero() ? (w_.Null(), true) : Formatted(t); }
  bool Scalar(FieldKind, const MicroTime& t, const Path*) { return t.IsZero() ? (w_.Null(), true) : Formatted(t); }
  bool Scalar(FieldKind, const IntOrString& v, const Path*) {
    if (v.is_string()) return w_.String(v.string_value().view()), true;
    return w_.Int(v.int_value()), true;
  }
  // Users and protobuf may have put anything there: it is checked before it becomes part of a document.
  bool Scalar(FieldKind, const RawJson& raw, const Path* path) {
    if (raw.empty()) return w_.Null(), true;
    JsonTokens tokens;
    std::string whole, scratch;
    std::string_view compact;
    std::string_view problem = "not JSON";
    const auto bad_bytes = w_.keeps_bytes() ? JsonTokens::BadBytes::kAsTheyAre : JsonTokens::BadBytes::kReplace;
    if (!tokens.Load(raw.View(whole), bad_bytes) || !tokens.ReadRaw(0, scratch, compact, problem) || !tokens.AtEnd()) {
      error_ = At(path, "holds bytes that are not JSON: " + std::string(problem));
      return false;
    }
    return w_.Raw(compact), true;
  }
  template <typename T>
  bool Formatted(const T& v) {
    char buffer[T::kMaxTextSize];
    w_.Plain({buffer, v.Format(buffer)});
    return true;
  }

  // The first field that says something; "or bool" has its bool last in line.
  bool ByToken(const TypeInfo& type, const void* object, const Path* path) {
    const FieldInfo* fallback = nullptr;
    for (const FieldInfo& field : type) {
      if (field.kind == FieldKind::kBool) {
        fallback = &field;
      } else if (!IsEmptyField(field, At(object, field))) {
        return Value(field, At(object, field), path);
      }
    }
    if (fallback != nullptr) return Value(*fallback, At(object, *fallback), path);
    return w_.Null(), true;
  }
};

Result<void> Encode(const TypeInfo& type, const void* object, std::string& out, const JsonFormat& format, JsonWriter::BadBytes bad_bytes) {
  if (const std::string_view problem = TableProblem(type); !problem.empty()) return Error::Invalid(std::string(problem));
  std::size_t before = out.size();
  JsonEncoder encoder(out, format, bad_bytes);
  if (encoder.Struct(type, object, nullptr)) return {};
  out.resize(before);
  return Error::Invalid(encoder.TakeError());
}

}  // namespace

Result<void> EncodeJsonBytes(const TypeInfo& type, const void* object, std::string& out) {
  return Encode(type, object, out, {}, JsonWriter::BadBytes::kAsTheyAre);
}

}  // namespace internal

Result<void> EncodeJson(const TypeInfo& type, const void* object, std::string& out, const JsonFormat& format) {
  return internal::Encode(type, object, out, format, internal::JsonWriter::BadBytes::kReplace);
}

}  // namespace kube
