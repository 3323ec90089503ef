#include "random_object.h"

#include "codec/array_builder.h"
#include "codec/fields.h"
#include "codec/wire.h"
#include "kube/codec/json.h"
#include "value/field_access.h"

namespace kube::contract {
namespace {

using namespace internal;  // NOLINT: this file builds objects the way the decoders do

constexpr int kDeepest = 6;

bool Chance(Random& random, double p) { return std::uniform_real_distribution<>(0, 1)(random) < p; }
std::int64_t Between(Random& random, std::int64_t low, std::int64_t high) {
  return std::uniform_int_distribution<std::int64_t>(low, high)(random);
}

std::string RandomText(Random& random) {
  static const char* const kPieces[] = {"a",
                                        "Z",
                                        "0",
                                        "-",
                                        "/",
                                        ".",
                                        " ",
                                        ":",
                                        "#",
                                        "'",
                                        "\"",
                                        "\\",
                                        "\n",
                                        "\t",
                                        "{",
                                        "]",
                                        "true",
                                        "null",
                                        "1e3",
                                        "\xc3\xa9",
                                        "\xe2\x82\xac",
                                        "\xf0\x9f\x98\x80",
                                        "\x01",
                                        "app.kubernetes.io/name",
                                        "~",
                                        "- ",
                                        "yes",
                                        "<&>"};
  std::string text;
  for (std::int64_t n = Between(random, 0, Chance(random, 0.1) ? 40 : 6); n > 0; --n)
    text += kPieces[Between(random, 0, std::size(kPieces) - 1)];
  return text;
}

Value RandomJson(Random& random, int depth) {
  switch (Between(random, 0, depth > 2 ? 3 : 5)) {
    case 0:
      return Value(RandomText(random));
    case 1:
      return Value(Between(random, INT64_MIN, INT64_MAX));
    case 2:
      return Value(Chance(random, 0.5));
    case 3:
      return Value(static_cast<double>(2 * Between(random, -1000000, 1000000) + 1) / 1024);  // YAML makes an integer of 5.0, as Go does
    case 4: {
      Value list = Value::Array();
      for (std::int64_t n = Between(random, 0, 3); n > 0; --n) list.MutableList().push_back(RandomJson(random, depth + 1));
      return list;
    }
    default: {
      Value object = Value::Object();
      for (std::int64_t n = Between(random, 0, 3); n > 0; --n) object[std::string_view(RandomText(random))] = RandomJson(random, depth + 1);
      return object;
    }
  }
}

void Make(Random& random, FieldKind, bool& out) { out = Chance(random, 0.5); }
void Make(Random& random, FieldKind, std::int32_t& out) { out = static_cast<std::int32_t>(Between(random, INT32_MIN, INT32_MAX)); }
void Make(Random& random, FieldKind, std::int64_t& out) { out = Between(random, INT64_MIN, INT64_MAX); }
void Make(Random& random, FieldKind, double& out) { out = static_cast<double>(Between(random, -100000000, 100000000)) / 4096; }
void Make(Random& random, FieldKind kind, String& out) {
  std::string text = RandomText(random);
  if (kind == FieldKind::kBytes) {
    for (char& c : text) c = static_cast<char>(Between(random, 0, 255));
  }
  out = String(text);
}
void Make(Random& random, FieldKind, Quantity& out) {
  static const char* const kSuffixes[] = {"", "m", "k", "M", "Ki", "Mi", "Gi", "n", "u", "e3"};
  out = Quantity::Parse(std::to_string(Between(random, -99999, 99999)) + kSuffixes[Between(random, 0, std::size(kSuffixes) - 1)]).value();
}
void Make(Random& random, FieldKind, Time& out) { out = Time::FromUnix(Between(random, -62135596799, 253402300799)); }
void Make(Random& random, FieldKind, MicroTime& out) {
  out = MicroTime::FromUnixMicros(Between(random, -62135596799000000, 253402300799000000));
}
void Make(Random& random, FieldKind, Duration& out) { out = Duration::FromNanoseconds(Between(random, INT64_MIN, INT64_MAX)); }
void Make(Random& random, FieldKind, IntOrString& out) {
  out =
      Chance(random, 0.5) ? IntOrString(static_cast<std::int32_t>(Between(random, INT32_MIN, INT32_MAX))) : IntOrString(RandomText(random));
}
void Make(Random& random, FieldKind, RawJson& out) { out = ToRawJson(RandomJson(random, 0)); }

void Fill(Random& random, const TypeInfo& type, char* object, int depth);

void FillElement(Random& random, const FieldInfo& field, char* at, int depth) {
  if (field.kind == FieldKind::kMessage) return Fill(random, *field.type, at, depth + 1);
  WithScalarType(field.kind, [&](auto t) { Make(random, field.kind, Write<typename decltype(t)::type>(at)); });
}

void FillField(Random& random, const FieldInfo& field, char* at, int depth) {
  switch (field.shape) {
    case FieldShape::kPlain:
      return FillElement(random, field, at, depth);
    case FieldShape::kOptional:
      if (field.kind == FieldKind::kMessage) {
        BoxRep* rep = NewBox(field.type->size);
        Write<BoxRep*>(at) = rep;
        return Fill(random, *field.type, rep->data(), depth + 1);
      }
      return WithScalarType(field.kind, [&](auto t) {
        using T = typename decltype(t)::type;
        if constexpr (kOwnUnset<T>) {
          Make(random, field.kind, Write<T>(at));
        } else {
          Make(random, field.kind, Write<std::optional<T>>(at).emplace());
        }
      });
    case FieldShape::kList:
    case FieldShape::kMap: {
      auto count = static_cast<std::size_t>(Between(random, 1, 3));
      ArrayRep** rep = &Write<ArrayRep*>(at);
      ArrayBuilder builder(field, rep, count);
      for (std::size_t i = 0; i < count; ++i) {
        char* element = builder.Add();
        if (field.shape == FieldShape::kList) {
          FillElement(random, field, element, depth);
        } else {
          Write<String>(element) = String(RandomText(random));
          FillElement(random, field, element + kEntryValueOffset, depth);
        }
      }
      if (field.shape == FieldShape::kMap) SortEntries(field, rep, [](std::string_view) {});
      return;
    }
  }
}

void Fill(Random& random, const TypeInfo& type, char* object, int depth) {
  if (type.form == TypeForm::kByToken) {
    // Just one of them, and "or bool" says yes together with a schema.
    const FieldInfo& field = type.fields[Between(random, 0, type.field_count - 1)];
    FillField(random, field, At(object, field), depth);
    if (field.kind != FieldKind::kBool) {
      for (const FieldInfo& other : type) {
        if (other.kind == FieldKind::kBool) Write<bool>(At(object, other)) = true;
      }
    }
    return;
  }
  if (depth > kDeepest) return;
  double p = depth == 0 ? 1 : std::min(1.0, 3.0 / type.field_count);
  for (const FieldInfo& field : type) {
    if (field.kind == FieldKind::kInline) {
      Fill(random, *field.type, At(object, field), depth + 1);
    } else if (Chance(random, p)) {
      FillField(random, field, At(object, field), depth);
    }
  }
}

void AppendVarint(std::string& out, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  out += static_cast<char>(value);
}

void AppendField(std::string& out, std::uint32_t number, std::string_view bytes) {
  AppendVarint(out, std::uint64_t{number} << 3 | 2);
  AppendVarint(out, bytes.size());
  out += bytes;
}

std::string AddToEntry(const TypeInfo& type, std::string_view entry, int& added) {
  std::string out;
  for (WireReader r(entry); !r.AtEnd();) {
    const char* start = r.at;
    std::uint32_t number = 0;
    Wire wire{};
    std::string_view part;
    r.Tag(number, wire);
    if (number == 2 && r.Bytes(part)) {
      AppendField(out, 2, AddUnknownFields(type, part, added));
    } else {
      r.Skip(number, wire, 10);
      out.append(start, r.at);
    }
  }
  return out;
}

int AddToElement(const FieldInfo& field, Value& json) {
  return field.kind == FieldKind::kMessage ? AddUnknownMembers(*field.type, json) : 0;
}

}  // namespace

AnyObject RandomObject(const TypeInfo& type, Random& random) {
  AnyObject object(type);
  Fill(random, type, static_cast<char*>(object.mutable_data()), 0);
  return object;
}

int AddUnknownMembers(const TypeInfo& type, Value& json) {
  int added = 0;
  if (type.form == TypeForm::kOnlyField) return 0;
  if (type.form == TypeForm::kByToken) {
    for (const FieldInfo& field : type) {
      if (field.shape == FieldShape::kList && json.is_list()) {
        for (Value& item : json.MutableList()) added += AddToElement(field, item);
      } else if (field.shape == FieldShape::kOptional && json.is_object()) {
        added += AddToElement(field, json);
      }
    }
    return added;
  }
  if (!json.is_object()) return 0;
  List<String> names;
  for (const auto& member : json.object()) names.push_back(member.key);
  for (const String& name : std::as_const(names)) {
    FoundField found = FindByName(type, name.view(), 0);
    if (found.field == nullptr || found.field->kind != FieldKind::kMessage) continue;
    Value& value = json[name.view()];
    if (found.field->shape == FieldShape::kList) {
      for (Value& item : value.MutableList()) added += AddToElement(*found.field, item);
    } else if (found.field->shape == FieldShape::kMap) {
      List<String> keys;
      for (const auto& entry : value.object()) keys.push_back(entry.key);
      for (const String& key : std::as_const(keys)) added += AddToElement(*found.field, value[key.view()]);
    } else {
      added += AddToElement(*found.field, value);
    }
  }
  json["ofANewerServer"] = Value::Object({{"n", Value(added)}, {"deep", Value::Array({Value(1.5), Value(), Value("x")})}});
  return added + 1;
}

std::string UnknownFieldBytes() {
  std::string out;
  AppendField(out, 19999, "of a newer server");
  return out;
}

std::string AddUnknownFields(const TypeInfo& type, std::string_view message, int& added) {
  std::string out;
  for (WireReader r(message); !r.AtEnd();) {
    const char* start = r.at;
    std::uint32_t number = 0;
    Wire wire{};
    r.Tag(number, wire);
    std::uint16_t hint = 0;
    const FieldInfo* field = FindByNumber(type, number, hint);
    bool nested = field != nullptr && (field->kind == FieldKind::kMessage || field->kind == FieldKind::kInline) &&
                  field->type->form != TypeForm::kOnlyField;
    std::string_view part;
    if (nested && r.Bytes(part)) {
      AppendField(out, number,
                  field->shape == FieldShape::kMap ? AddToEntry(*field->type, part, added) : AddUnknownFields(*field->type, part, added));
    } else {
      r.Skip(number, wire, 10);
      out.append(start, r.at);
    }
  }
  ++added;
  return out + UnknownFieldBytes();
}

}  // namespace kube::contract
