#include "kube/meta/dynamic_object.h"

#include <algorithm>

namespace kube {

namespace {

using meta::v1::ObjectMeta;
using meta::v1::OwnerReference;

std::optional<Map<String>> AsStringMap(const Value& value) {
  if (!value.is_object()) return std::nullopt;
  Map<String> out;
  for (const auto& [key, member] : value.object()) {
    if (!member.is_string()) return std::nullopt;
    out.Set(key, member.string_value());
  }
  return out;
}

std::optional<List<String>> AsStringList(const Value& value) {
  if (!value.is_list()) return std::nullopt;
  List<String> out;
  out.reserve(value.list().size());
  for (const Value& item : value.list()) {
    if (!item.is_string()) return std::nullopt;
    out.push_back(item.string_value());
  }
  return out;
}

std::string PathText(KeyPath path, std::size_t count) {
  std::string out;
  for (std::string_view key : path) {
    if (count-- == 0) break;
    if (!out.empty()) out += '.';
    out += key;
  }
  return out;
}

bool LooksLikeJson(std::string_view text) {
  std::size_t start = text.find_first_not_of(" \t\r\n");
  return start != std::string_view::npos && text[start] == '{';
}

bool RemoveAt(Value& object, const std::string_view* key, const std::string_view* end) {
  // Looks first: a write to a shared Value would copy it for nothing.
  if (std::as_const(object).Find(*key) == nullptr) return false;
  if (key + 1 == end) return object.MutableObject().Erase(*key);
  return RemoveAt(object[*key], key + 1, end);
}

bool SurelyFits(const TypeInfo& type, const Value& value);

bool SurelyFits(const FieldInfo& field, const Value& value) {
  if (value.is_null()) return true;
  switch (field.kind) {
    case FieldKind::kString:
      return value.is_string();
    case FieldKind::kBool:
      return value.is_bool();
    case FieldKind::kInt64:
      return value.is_int();
    case FieldKind::kTime:
      return value.is_string() && Time::Parse(value.string_value().view()).ok();
    case FieldKind::kRawJson:
      return true;
    case FieldKind::kMessage:
      return SurelyFits(*field.type, value);
    default:
      return false;
  }
}

// True only if decoding the value as that type would succeed. Decoding would say what is wrong, but costs more than all the rest of
// reading an object.
bool SurelyFits(const TypeInfo& type, const Value& value) {
  if (!value.is_object() || type.form != TypeForm::kStruct) return false;
  for (const MapEntry<Value>& entry : value.object()) {
    const Value& member = entry.value;
    const FieldInfo* field = std::find_if(type.begin(), type.end(), [&](const FieldInfo& f) { return f.json_name == entry.key.view(); });
    if (field == type.end() || member.is_null()) continue;  // what is unknown may be anything
    if (field->shape == FieldShape::kList) {
      if (!member.is_list()) return false;
      for (const Value& item : member.list()) {
        if (!SurelyFits(*field, item)) return false;
      }
    } else if (field->shape == FieldShape::kMap) {
      if (!member.is_object()) return false;
      for (const auto& [key, element] : member.object()) {
        if (!SurelyFits(*field, element)) return false;
      }
    } else if (!SurelyFits(*field, member)) {
      return false;
    }
  }
  return std::none_of(type.begin(), type.end(), [](const FieldInfo& f) { return f.kind == FieldKind::kInline; });
}

}  // namespace

DynamicObject::DynamicObject(const Gvk& gvk, const ObjectKey& key) : DynamicObject() {
  set_gvk(gvk);
  set_namespace(key.ns);
  set_name(key.name);
}

Result<DynamicObject> DynamicObject::FromValue(Value value) {
  const Value& v = value;
  auto found = [](const Value& bad) { return ", got " + std::string(bad.kind_name()); };
  if (!v.is_object()) return Error::Decode("expected an object" + found(v));
  const Value& api_version = v["apiVersion"];
  if (!api_version.is_string() && !api_version.is_null()) return Error::Decode("apiVersion: expected a string" + found(api_version));
  const Value& kind = v["kind"];
  if (!kind.is_string() && !kind.is_null()) return Error::Decode("kind: expected a string" + found(kind));
  if (kind.string_value().empty()) return Error::Decode("kind: missing");
  if (auto gv = GroupVersion::Parse(api_version.string_value()); !gv) return Error::Decode("apiVersion: " + gv.error().message());
  const Value& metadata = v["metadata"];
  if (!metadata.is_null()) {
    if (!SurelyFits(ObjectMeta::kType, metadata)) {
      if (auto r = kube::FromValue<ObjectMeta>(metadata); !r) return r.error().WithContext("metadata");
    }
  }
  return DynamicObject(std::move(value));
}

Result<DynamicObject> DynamicObject::Parse(std::string_view text, const DecodeOptions& options) {
  return LooksLikeJson(text) ? FromJson<DynamicObject>(text, options) : FromYaml(text, options);
}

Result<DynamicObject> DynamicObject::FromYaml(std::string_view text, const DecodeOptions& options) {
  Result<std::vector<Value>> documents = ParseYaml(text, options);
  if (!documents) return documents.error();
  if (documents->size() != 1) return Error::Decode("expected one YAML document, got " + std::to_string(documents->size()));
  return FromValue(std::move(documents->front()));
}

Result<std::vector<DynamicObject>> DynamicObject::ParseAll(std::string_view text, const DecodeOptions& options) {
  std::vector<DynamicObject> out;
  if (LooksLikeJson(text)) {
    // A YAML stream may start with a flow mapping; only what is no JSON at all is read as one.
    if (Result<Value> value = ParseJson(text, options)) {
      Result<DynamicObject> object = FromValue(*std::move(value));
      if (!object) return object.error();
      out.push_back(*std::move(object));
      return out;
    }
  }
  Result<std::vector<Value>> documents = ParseYaml(text, options);
  if (!documents) return documents.error();
  out.reserve(documents->size());
  for (std::size_t i = 0; i < documents->size(); ++i) {
    Result<DynamicObject> object = FromValue(std::move((*documents)[i]));
    if (!object) return object.error().WithContext("document " + std::to_string(i + 1));
    out.push_back(*std::move(object));
  }
  return out;
}

Gvk DynamicObject::gvk() const {
  Result<GroupVersion> gv = GroupVersion::Parse(api_version());
  return gv.value_or(GroupVersion{}).WithKind(kind());
}

void DynamicObject::set_gvk(const Gvk& gvk) {
  set_api_version(gvk.api_version());
  set_kind(gvk.kind);
}

// ---- Metadata ----

Time DynamicObject::MetaTime(std::string_view field) const {
  const String& text = Meta(field).string_value();
  if (text.empty()) return {};
  return Time::Parse(text).value_or(Time{});
}

std::optional<std::int64_t> DynamicObject::deletion_grace_period_seconds() const {
  return NestedInt({"metadata", "deletionGracePeriodSeconds"});
}

Map<String> DynamicObject::labels() const { return AsStringMap(Meta("labels")).value_or(Map<String>{}); }
Map<String> DynamicObject::annotations() const { return AsStringMap(Meta("annotations")).value_or(Map<String>{}); }
List<String> DynamicObject::finalizers() const { return AsStringList(Meta("finalizers")).value_or(List<String>{}); }

List<OwnerReference> DynamicObject::owner_references() const {
  List<OwnerReference> out;
  for (const Value& item : Meta("ownerReferences").list()) {
    if (Result<OwnerReference> reference = kube::FromValue<OwnerReference>(item)) out.push_back(*std::move(reference));
  }
  return out;
}

void DynamicObject::SetMetaValue(std::string_view field, Value value) {
  internal::Unlent unlent(value_);
  value_["metadata"][field] = unlent.Takes(std::move(value));
}

void DynamicObject::EraseMeta(std::string_view field) { RemoveNested({"metadata", field}); }

void DynamicObject::SetMeta(std::string_view field, const String& text) { text.empty() ? EraseMeta(field) : SetMetaValue(field, text); }

void DynamicObject::SetMeta(std::string_view field, Time time) { time.IsZero() ? EraseMeta(field) : SetMetaValue(field, time.ToString()); }

void DynamicObject::SetMeta(std::string_view field, const Map<String>& map) {
  Map<Value> members;
  for (const auto& [key, text] : map) members.Set(key, text);
  members.empty() ? EraseMeta(field) : SetMetaValue(field, std::move(members));
}

void DynamicObject::set_generation(std::int64_t generation) {
  generation == 0 ? EraseMeta("generation") : SetMetaValue("generation", generation);
}

void DynamicObject::set_deletion_grace_period_seconds(std::optional<std::int64_t> seconds) {
  seconds ? SetMetaValue("deletionGracePeriodSeconds", *seconds) : EraseMeta("deletionGracePeriodSeconds");
}

void DynamicObject::set_label(std::string_view key, const String& value) {
  internal::Unlent unlent(value_);
  value_["metadata"]["labels"][key] = value;
}
void DynamicObject::set_annotation(std::string_view key, const String& value) {
  internal::Unlent unlent(value_);
  value_["metadata"]["annotations"][key] = value;
}

void DynamicObject::set_finalizers(const List<String>& finalizers) {
  List<Value> items;
  items.reserve(finalizers.size());
  for (const String& finalizer : finalizers) items.push_back(finalizer);
  items.empty() ? EraseMeta("finalizers") : SetMetaValue("finalizers", std::move(items));
}

Result<void> DynamicObject::SetOwnerReferences(const List<OwnerReference>& references) {
  List<Value> items;
  items.reserve(references.size());
  for (const OwnerReference& reference : references) {
    Result<Value> value = ToValue(reference);
    if (!value) return value.error().WithContext("ownerReferences");
    items.push_back(*std::move(value));
  }
  items.empty() ? EraseMeta("ownerReferences") : SetMetaValue("ownerReferences", std::move(items));
  return {};
}

ObjectMeta DynamicObject::metadata() const {
  const Value& metadata = value_["metadata"];
  if (!metadata.is_object()) return {};
  if (Result<ObjectMeta> whole = kube::FromValue<ObjectMeta>(metadata)) return *std::move(whole);
  // Rare: the value was built by hand and is malformed. Keep the members that fit.
  Value fitting = Value::Object();
  for (const auto& [key, member] : metadata.object()) {
    if (kube::FromValue<ObjectMeta>(Value::Object({{key, member}}))) fitting[key] = member;
  }
  return kube::FromValue<ObjectMeta>(fitting).value_or(ObjectMeta{});
}

Result<void> DynamicObject::SetMetadata(const ObjectMeta& metadata) {
  Result<Value> value = ToValue(metadata);
  if (!value) return value.error().WithContext("metadata");
  value_.MutableObject().Set("metadata", *std::move(value));
  return {};
}

bool DynamicObject::RemoveManagedFields() { return RemoveNested({"metadata", "managedFields"}); }

// ---- Nested members ----

const Value* DynamicObject::FindNested(KeyPath path) const {
  const Value* at = &value_;
  for (std::string_view key : path) {
    at = at->Find(key);
    if (at == nullptr) return nullptr;
  }
  return at;
}

std::optional<String> DynamicObject::NestedString(KeyPath path) const {
  const Value* found = FindNested(path);
  return found != nullptr && found->is_string() ? std::optional<String>(found->string_value()) : std::nullopt;
}
std::optional<std::int64_t> DynamicObject::NestedInt(KeyPath path) const {
  const Value* found = FindNested(path);
  return found != nullptr && found->is_int() ? std::optional<std::int64_t>(found->int_value()) : std::nullopt;
}
std::optional<double> DynamicObject::NestedDouble(KeyPath path) const {
  const Value* found = FindNested(path);
  return found != nullptr && found->is_number() ? std::optional<double>(found->double_value()) : std::nullopt;
}
std::optional<bool> DynamicObject::NestedBool(KeyPath path) const {
  const Value* found = FindNested(path);
  return found != nullptr && found->is_bool() ? std::optional<bool>(found->bool_value()) : std::nullopt;
}
std::optional<List<String>> DynamicObject::NestedStringList(KeyPath path) const {
  const Value* found = FindNested(path);
  return found != nullptr ? AsStringList(*found) : std::nullopt;
}
std::optional<Map<String>> DynamicObject::NestedStringMap(KeyPath path) const {
  const Value* found = FindNested(path);
  return found != nullptr ? AsStringMap(*found) : std::nullopt;
}

Result<void> DynamicObject::SetNested(KeyPath path, Value value) {
  if (path.size() == 0) return Error::Invalid("an empty path names no member");
  const Value* look = &value_;
  std::size_t depth = 0;
  for (std::string_view key : path) {
    if (look == nullptr) break;
    if (!look->is_object()) {
      return Error::Invalid("cannot set " + PathText(path, path.size()) + ": " + (depth == 0 ? "the value" : PathText(path, depth)) +
                            " is a " + std::string(look->kind_name()) + ", not an object");
    }
    look = look->Find(key);
    ++depth;
  }
  internal::Unlent unlent(value_);
  Value* at = &value_;
  for (std::string_view key : path) at = &(*at)[key];
  *at = unlent.Takes(std::move(value));
  return {};
}

bool DynamicObject::RemoveNested(KeyPath path) {
  if (path.size() == 0 || FindNested(path) == nullptr) return false;
  internal::Unlent unlent(value_);
  return RemoveAt(value_, &*path.begin(), &*path.begin() + path.size());
}

// ---- Lists ----

std::vector<DynamicObject> DynamicObject::Items() const {
  std::vector<DynamicObject> out;
  const List<Value>& items = value_["items"].list();
  out.reserve(items.size());
  std::string_view item_kind = kind();
  // `List` itself holds objects that say what they are.
  bool known = item_kind.size() > 4 && item_kind.ends_with("List");
  if (known) item_kind.remove_suffix(4);
  for (const Value& item : items) {
    DynamicObject object(item);
    if (known && item.is_object() && object.kind().empty() && object.api_version().empty()) {
      object.set_api_version(api_version());
      object.set_kind(item_kind);
    }
    out.push_back(std::move(object));
  }
  return out;
}

// ---- Between typed and dynamic ----

Result<DynamicObject> ToDynamic(const TypeInfo& type, const void* object) {
  Result<Value> value = ToValue(type, object);
  if (!value) return value.error();
  DynamicObject out(*std::move(value));
  if (type.kind != nullptr && out.kind().empty()) out.set_gvk(GvkOf(type));
  return out;
}

Result<AnyObject> FromDynamic(const TypeInfo& type, const DynamicObject& object, const DecodeOptions& options) {
  AnyObject out(type);
  if (auto r = DecodeValue(type, out.mutable_data(), object.value(), options); !r) return r.error();
  return out;
}

}  // namespace kube
