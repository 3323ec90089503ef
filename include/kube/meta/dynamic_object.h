// DynamicObject: an object of any kind, held as a Value; the counterpart of client-go's Unstructured. For kinds without a struct.
//
//   Result<DynamicObject> cart = DynamicObject::Parse(text);            // JSON or YAML
//   cart->set_label("tier", "front");
//   (*cart)["spec"]["replicas"] = 3;
//   std::optional<String> size = cart->NestedString({"spec", "size"});
//   Result<Cart> typed = FromDynamic<Cart>(*cart);                      // ToDynamic(typed) is the reverse
//
// Its accessors provide the metadata that typed objects have as fields. FromJson<DynamicObject>, ToJson, FromYaml<DynamicObject> and ToYaml
// work as for typed objects, so generic code needs no special case.
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kube/base/result.h"
#include "kube/codec/json.h"
#include "kube/codec/yaml.h"
#include "kube/meta/gvk.h"
#include "kube/meta/object_key.h"
#include "kube/meta/resource.h"
#include "kube/meta/v1.h"
#include "kube/value/any_object.h"
#include "kube/value/value.h"

namespace kube {

// The path to a nested member: {"spec", "template", "metadata"}. Use it only as a parameter, because it refers to its argument.
class KeyPath {
 public:
  KeyPath(std::initializer_list<std::string_view> keys) : keys_(keys.begin(), keys.size()) {}  // NOLINT(google-explicit-constructor)
  KeyPath(std::span<const std::string_view> keys) : keys_(keys) {}                             // NOLINT(google-explicit-constructor)
  auto begin() const { return keys_.begin(); }
  auto end() const { return keys_.end(); }
  std::size_t size() const { return keys_.size(); }

 private:
  std::span<const std::string_view> keys_;
};

// An object of any kind. Accessors never fail: a missing value, or one whose type differs from the API's, reads as empty. Objects from
// Parse or FromValue have metadata of the right types. Setting a value to empty removes it.
//
// Thread safety and cost: as Value; copying costs one atomic increment, however large the object.
class KUBE_EXPORT DynamicObject {
 public:
  DynamicObject() : value_(Value::Object()) {}
  // Creates an object with apiVersion, kind, namespace and name.
  explicit DynamicObject(const Gvk& gvk, const ObjectKey& key = {});
  // Accepts any Value without checks.
  explicit DynamicObject(Value value) : value_(std::move(value)) {}
  // Fails if the value is not an object, if apiVersion or kind are not strings, if kind is missing, or if the metadata does not fit
  // ObjectMeta.
  static Result<DynamicObject> FromValue(Value value);
  // Parses one object as JSON or YAML; text that starts with '{' is JSON. Errors: those of the parsers and of FromValue.
  static Result<DynamicObject> Parse(std::string_view text, const DecodeOptions& options = {});
  // Parses a YAML text with exactly one document.
  static Result<DynamicObject> FromYaml(std::string_view text, const DecodeOptions& options = {});
  // Parses all documents of a YAML text, or one JSON object.
  static Result<std::vector<DynamicObject>> ParseAll(std::string_view text, const DecodeOptions& options = {});

  // ---- The whole object ----
  const Value& value() const { return value_; }
  Value& mutable_value() { return value_; }  // for changing it
  const Value& operator[](std::string_view key) const { return value_[key]; }
  Value& operator[](std::string_view key) { return value_[key]; }
  friend bool operator==(const DynamicObject&, const DynamicObject&) = default;

  // For the library's caches: see kube/value/shared.h.
  bool HoldsLent() const { return value_.HoldsLent(); }
  void Settle() { value_.Settle(); }

  // ---- Type ----
  const String& api_version() const { return value_["apiVersion"].string_value(); }
  const String& kind() const { return value_["kind"].string_value(); }
  // Empty if apiVersion is malformed.
  Gvk gvk() const;
  void set_api_version(String api_version) { value_.MutableObject().Set("apiVersion", std::move(api_version)); }
  void set_kind(String kind) { value_.MutableObject().Set("kind", std::move(kind)); }
  void set_gvk(const Gvk& gvk);

  // ---- Metadata ----
  const String& name() const { return Meta("name").string_value(); }
  const String& namespace_() const { return Meta("namespace").string_value(); }
  const String& generate_name() const { return Meta("generateName").string_value(); }
  const String& uid() const { return Meta("uid").string_value(); }
  const String& resource_version() const { return Meta("resourceVersion").string_value(); }
  std::int64_t generation() const { return Meta("generation").int_value(); }
  Time creation_timestamp() const { return MetaTime("creationTimestamp"); }
  // Zero if its deletion was not requested.
  Time deletion_timestamp() const { return MetaTime("deletionTimestamp"); }
  std::optional<std::int64_t> deletion_grace_period_seconds() const;
  Map<String> labels() const;
  Map<String> annotations() const;
  List<String> finalizers() const;
  List<meta::v1::OwnerReference> owner_references() const;
  ObjectKey key() const { return {namespace_(), name()}; }

  // Setters of single fields. An empty value removes the field.
  void set_name(const String& name) { SetMeta("name", name); }
  void set_namespace(const String& ns) { SetMeta("namespace", ns); }
  void set_generate_name(const String& prefix) { SetMeta("generateName", prefix); }
  void set_uid(const String& uid) { SetMeta("uid", uid); }
  void set_resource_version(const String& version) { SetMeta("resourceVersion", version); }
  void set_generation(std::int64_t generation);
  void set_creation_timestamp(Time t) { SetMeta("creationTimestamp", t); }
  void set_deletion_timestamp(Time t) { SetMeta("deletionTimestamp", t); }
  void set_deletion_grace_period_seconds(std::optional<std::int64_t> seconds);
  void set_labels(const Map<String>& labels) { SetMeta("labels", labels); }
  void set_label(std::string_view key, const String& value);
  void set_annotations(const Map<String>& annotations) { SetMeta("annotations", annotations); }
  void set_annotation(std::string_view key, const String& value);
  void set_finalizers(const List<String>& finalizers);
  // Fails if a reference cannot be encoded.
  Result<void> SetOwnerReferences(const List<meta::v1::OwnerReference>& references);

  // Returns a copy of the metadata as a struct; write changes back with SetMetadata. Members of the wrong type are omitted.
  meta::v1::ObjectMeta metadata() const;
  // Replaces all metadata. Fails if it cannot be encoded.
  Result<void> SetMetadata(const meta::v1::ObjectMeta& metadata);
  // Removes managedFields, which are often the larger part of an object and useless to a controller. Returns whether there were any.
  bool RemoveManagedFields();

  // ---- Nested members ----
  // Null if there is no such member.
  const Value* FindNested(KeyPath path) const;
  // NestedString, NestedInt, NestedDouble and NestedBool return nothing if the member is missing or of another type; see FindNested.
  std::optional<String> NestedString(KeyPath path) const;
  std::optional<std::int64_t> NestedInt(KeyPath path) const;
  std::optional<double> NestedDouble(KeyPath path) const;  // also for integers
  std::optional<bool> NestedBool(KeyPath path) const;
  // NestedStringList and NestedStringMap also return nothing if an element is not a string.
  std::optional<List<String>> NestedStringList(KeyPath path) const;
  std::optional<Map<String>> NestedStringMap(KeyPath path) const;
  // Sets a member and creates missing objects along the path. Fails, and changes nothing, if a value along the path is not an object.
  Result<void> SetNested(KeyPath path, Value value);
  // Returns whether the member existed.
  bool RemoveNested(KeyPath path);

  // ---- Lists ----
  // True for a list kind, which has `items`.
  bool is_list() const { return value_["items"].is_list(); }
  // Returns the items as objects. Items of a list kind have no apiVersion and kind on the wire; they are derived from the list (CartList ->
  // Cart).
  std::vector<DynamicObject> Items() const;

 private:
  Value value_;

  const Value& Meta(std::string_view field) const { return value_["metadata"][field]; }
  Time MetaTime(std::string_view field) const;
  void SetMeta(std::string_view field, const String& text);
  void SetMeta(std::string_view field, Time time);
  void SetMeta(std::string_view field, const Map<String>& map);
  void SetMetaValue(std::string_view field, Value value);
  void EraseMeta(std::string_view field);
};

// ---- The interface of typed objects ----
// A typed object or a DynamicObject.
template <typename T>
concept ObjectType = Resource<T> || std::same_as<T, DynamicObject>;

inline Gvk GvkOf(const DynamicObject& object) { return object.gvk(); }
inline ObjectKey KeyOf(const DynamicObject& object) { return object.key(); }
inline meta::v1::ObjectMeta MetadataOf(const DynamicObject& object) { return object.metadata(); }
inline meta::v1::PartialObjectMetadata AsPartialObjectMetadata(const DynamicObject& object) { return {.metadata = object.metadata()}; }

template <std::same_as<DynamicObject> T>
Result<T> FromJson(std::string_view text, const DecodeOptions& options = {}) {
  Result<Value> value = ParseJson(text, options);
  if (!value) return value.error();
  return DynamicObject::FromValue(*std::move(value));
}
inline Result<std::string> ToJson(const DynamicObject& object, const JsonFormat& format = {}) { return ToJson(object.value(), format); }
template <std::same_as<DynamicObject> T>
Result<T> FromYaml(std::string_view text, const DecodeOptions& options = {}) {
  return DynamicObject::FromYaml(text, options);
}
inline Result<std::string> ToYaml(const DynamicObject& object) { return ToYaml(object.value()); }

// ---- Conversion between typed and dynamic ----
KUBE_EXPORT Result<DynamicObject> ToDynamic(const TypeInfo& type, const void* object);
inline Result<DynamicObject> ToDynamic(const AnyObject& object) { return ToDynamic(object.type(), object.data()); }
template <Described T>
Result<DynamicObject> ToDynamic(const T& object) {
  return ToDynamic(T::kType, &object);
}
// Fails if the object has another kind, or if a member does not fit the table.
template <Described T>
Result<T> FromDynamic(const DynamicObject& object, const DecodeOptions& options = {}) {
  return FromValue<T>(object.value(), options);
}
KUBE_EXPORT Result<AnyObject> FromDynamic(const TypeInfo& type, const DynamicObject& object, const DecodeOptions& options = {});

}  // namespace kube
