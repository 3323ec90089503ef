#include "random_object.h"

#include "codec/fields.h"
#include "codec/wire.h"
#include "kube/codec/json.h"

namespace kube::contract {
namespace {

using namespace internal;  // NOLINT: this file reads messages the way the decoders do

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

bool Chance(Random& random, double p) { return std::uniform_real_distribution<>(0, 1)(random) < p; }

Value Mix(const Value& value, const Value& other, Random& random) {
  if (!value.is_object() || !other.is_object()) return Chance(random, 0.3) ? other : value;
  Value out = value;
  for (const auto& [key, member] : value.object()) {
    if (key == "apiVersion" || key == "kind") continue;
    const Value* theirs = other.Find(key);
    if (theirs == nullptr) {
      if (Chance(random, 0.1)) out.MutableObject().Erase(key);
    } else if (Chance(random, 0.5)) {
      out[key] = Mix(member, *theirs, random);
    }
  }
  for (const auto& [key, member] : other.object()) {
    if (value.Find(key) == nullptr && Chance(random, 0.3)) out[key] = member;
  }
  // Lists with an element more, less, or elsewhere.
  for (const auto& [key, member] : value.object()) {
    if (!member.is_list() || member.list().size() == 0 || !Chance(random, 0.3) || !out[key].is_list()) continue;
    List<Value>& list = out[key].MutableList();
    if (list.size() == 0) continue;
    const std::size_t at = random() % list.size();
    const Value element = list[at];
    if (Chance(random, 0.5)) list.erase(at);
    if (Chance(random, 0.5)) list.insert(random() % (list.size() + 1), element);
  }
  return out;
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
