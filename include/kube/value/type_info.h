// TypeInfo and FieldInfo: the table of a type, which all codecs use.
//
// Every generated or hand-written struct has a `static const TypeInfo kType`. From it the non-template code of room `codec` encodes and
// decodes JSON, protobuf and YAML, patches, compares and hashes objects; the functions below copy, destroy and compare them. No code is
// generated per type.
//
// This relies on three rules:
//   - every field type has all-zero bytes as its default value, and may be moved by copying its bytes;
//   - the C++ type of a field follows from (kind, shape), see the table at FieldKind;
//   - a struct ends with `UnknownFields unknown_fields`, so that a read-modify-write loses nothing.
//
// Programs rarely need this header; use `kube/codec/json.h` and its neighbors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "kube/base/export.h"

namespace kube {

struct TypeInfo;

// The type of one element of a field. The C++ type of the field combines it with the FieldShape:
//
//                  kPlain          kOptional                kList            kMap (keys are always String)
//   kBool          bool            std::optional<bool>      List<bool>       Map<bool>
//   kString        String          std::optional<String>    List<String>     Map<String>
//   kTime          Time            Time (zero is unset)     List<Time>       Map<Time>        (the same for kMicroTime)
//   kMessage       T               Box<T>                   List<T>          Map<T>
//   others         as kBool, with their own element type
//
// A list or map that is the element of another one (Map<List<String>>) or in a Box (Box<List<String>>) is a kMessage: its type has the form
// kOnlyField, and the inner list is its only field. A List has the same bytes as such a struct.
enum class FieldKind : std::uint8_t {
  kBool,
  kInt32,
  kInt64,
  kDouble,
  kString,
  kBytes,        // Bytes; base64 in JSON
  kQuantity,     // Quantity
  kTime,         // Time; seconds
  kMicroTime,    // MicroTime; microseconds
  kDuration,     // Duration; "1h30m" in JSON
  kIntOrString,  // IntOrString
  kRawJson,      // RawJson: RawExtension, FieldsV1, JSON; kept as text
  kMessage,      // a struct with its own table (FieldInfo::type)
  // In JSON, the fields of `type` are part of the outer object. In built-in kinds also in C++: `type` is a view of the same struct. In
  // hand-written kinds they are a member, at `offset`.
  kInline,
};

// Whether a field holds one element, an optional one, a list or a map.
enum class FieldShape : std::uint8_t { kPlain, kOptional, kList, kMap };

// How server-side apply and strategic merge patch treat a list, map or struct.
enum class ListType : std::uint8_t { kUnset, kAtomic, kSet, kMap };

// Properties that only patches, apply and schemas use; null for most fields. Multiple values are separated by commas.
struct FieldExtra {
  ListType list_type = ListType::kUnset;
  bool atomic = false;                    // the map or struct is replaced as a whole
  std::string_view map_keys = {};         // keys of a list with type `map`: "containerPort,protocol"
  std::string_view patch_strategy = {};   // "merge", "replace", "retainKeys", "merge,retainKeys"
  std::string_view patch_merge_key = {};  // merge key of a strategic merge patch: "name"
  std::string_view default_json = {};     // the server's default, as JSON text
  std::string_view enum_values = {};      // the values that the server accepts, if limited
};

// One field of a type.
struct FieldInfo {
  std::string_view json_name;      // empty for kInline
  const TypeInfo* type = nullptr;  // kMessage, kInline
  const FieldExtra* extra = nullptr;
  std::uint16_t offset = 0;  // in the struct; 0 for a view
  std::uint16_t number = 0;  // protobuf field number; 0: this type has no protobuf form
  FieldKind kind = FieldKind::kBool;
  FieldShape shape = FieldShape::kPlain;
  bool required = false;  // written even if empty
};

// How a type is represented in JSON.
enum class TypeForm : std::uint8_t {
  kStruct,  // an object
  // As its only field, without a wrapping object: `ExtraValue` is a JSON array, but a message with `items` in protobuf. A list inside
  // another one has this form, too.
  kOnlyField,
  kByToken,  // the type of the JSON token selects the field: JSONSchemaPropsOrBool, ...OrArray, ...OrStringArray
};

// The names and properties of a kind.
struct KindInfo {
  std::string_view group;  // "" for the core group
  std::string_view version;
  std::string_view kind;
  std::string_view resource;  // plural, lowercase: "pods"; empty if the kind is not served as a resource
  bool namespaced = false;
  bool is_list = false;  // has `items`
  // Set only by kubexx's own generator: servers support protobuf for these kinds, and only JSON for all others.
  bool built_in = false;
};

// TypeInfo::unknown_offset of a type without unknown fields.
inline constexpr std::uint16_t kNoOffset = 0xffff;

// The table of a type, which lists its fields.
struct TypeInfo {
  std::string_view name;  // "core.v1.Pod"
  const FieldInfo* fields = nullptr;
  std::uint16_t field_count = 0;
  std::uint16_t size = 0;  // sizeof the struct
  std::uint16_t unknown_offset = kNoOffset;
  TypeForm form = TypeForm::kStruct;
  const KindInfo* kind = nullptr;  // null for a struct that is only part of others

  const FieldInfo* begin() const { return fields; }
  const FieldInfo* end() const { return fields + field_count; }
};

// A struct with a table.
template <typename T>
concept Described = requires {
  static_cast<const TypeInfo&>(T::kType);
};

// ---- Functions for implicit sharing. `object` points to a struct of the given type ----

// True if all fields are equal, including unknown ones. Quantities compare by amount.
KUBE_EXPORT bool EqualObjects(const TypeInfo& type, const void* a, const void* b);
// True if every field has its default value and there are no unknown fields.
KUBE_EXPORT bool IsEmptyObject(const TypeInfo& type, const void* object);

namespace internal {
// Copies `object` into raw memory; shared parts stay shared. If memory is exhausted, the target is all zeros, which is a default object.
KUBE_EXPORT void CopyObject(const TypeInfo& type, void* raw, const void* object);
// Destroys the contents of the object and leaves raw memory.
KUBE_EXPORT void DestroyObject(const TypeInfo& type, void* object) noexcept;
// Describes an error in a table: fields that overlap or do not fit into the struct. Empty if none is found; a wrong kind of the right size
// is not detected. Checks each type once, and skips tables of built-in kinds. Called by the codecs.
KUBE_EXPORT std::string_view TableProblem(const TypeInfo& type);
}  // namespace internal

}  // namespace kube
