// TypeInfo and FieldInfo: the one table per type that every engine walks.
//
// A generated (or hand-written) struct has a `static const TypeInfo kType`. From it the non-template engines of room `codec` read and
// write JSON, protobuf and YAML, patch, diff and hash; this file's own engines copy, destroy and compare. No code is generated per type.
//
// The rules that make this work:
//   - every field type has all-zero bytes as its default value, and may be moved by copying its bytes;
//   - the C++ type of a field follows from (kind, shape), see the table at FieldKind;
//   - a struct ends with `UnknownFields unknown_fields` so that nothing is lost in a read-modify-write.
//
// Users rarely need this header: `kube/codec/json.h` and friends are the way in.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "kube/base/export.h"

namespace kube {

struct TypeInfo;

// What one element of a field is. The C++ type of the field is this element type under its FieldShape:
//
//                  kPlain          kOptional                kList            kMap (keys are always String)
//   kBool          bool            std::optional<bool>      List<bool>       Map<bool>
//   kString        String          std::optional<String>    List<String>     Map<String>
//   kTime          Time            Time (zero is unset)     List<Time>       Map<Time>        (kMicroTime likewise)
//   kMessage       T               Box<T>                   List<T>          Map<T>
//   others         as kBool, with their own element type
//
// A list or map that is the element of another (Map<List<String>>), or in a Box (Box<List<String>>), is a kMessage: its type has form
// kOnlyField, and the inner list is its only field. A List has the bytes of such a struct.
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
  kMessage,      // a struct with a table of its own (FieldInfo::type)
  kInline,       // JSON has the fields of `type` flat in the outer object. In built-in kinds C++ too: `type` is a view of the same struct.
                 // In kinds of your own they are a member, at `offset`
};

enum class FieldShape : std::uint8_t { kPlain, kOptional, kList, kMap };

// How server-side apply and strategic merge treat a list (or map or struct).
enum class ListType : std::uint8_t { kUnset, kAtomic, kSet, kMap };

// What only patches, apply and schemas ask for; absent for most fields. Several values are comma-separated.
struct FieldExtra {
  ListType list_type = ListType::kUnset;
  bool atomic = false;                    // a map or struct that is replaced as a whole
  std::string_view map_keys = {};         // keys of a list of type map: "containerPort,protocol"
  std::string_view patch_strategy = {};   // "merge", "replace", "retainKeys", "merge,retainKeys"
  std::string_view patch_merge_key = {};  // strategic merge key: "name"
  std::string_view default_json = {};     // the server's default, as JSON text
  std::string_view enum_values = {};      // the values that the server accepts, where it says so
};

struct FieldInfo {
  std::string_view json_name;      // empty for kInline
  const TypeInfo* type = nullptr;  // kMessage, kInline
  const FieldExtra* extra = nullptr;
  std::uint16_t offset = 0;  // in the struct; 0 for a view
  std::uint16_t number = 0;  // protobuf field number; 0 = this type has no protobuf form
  FieldKind kind = FieldKind::kBool;
  FieldShape shape = FieldShape::kPlain;
  bool required = false;  // written even when empty
};

// How a type looks in JSON.
enum class TypeForm : std::uint8_t {
  kStruct,     // an object
  kOnlyField,  // as its only field, without a wrapping object: `ExtraValue` is a JSON array, and a message with `items` in protobuf;
               // so is a list inside of another
  kByToken,    // the kind of JSON token picks the field: JSONSchemaPropsOrBool, ...OrArray, ...OrStringArray
};

// What makes a struct a kind that a server serves.
struct KindInfo {
  std::string_view group;  // "" for core
  std::string_view version;
  std::string_view kind;
  std::string_view resource;  // plural, lower case: "pods"; empty where it is not served as a resource
  bool namespaced = false;
  bool is_list = false;   // has `items`
  bool built_in = false;  // set by kubexx's own generator alone: servers speak protobuf for these kinds, and JSON for all others
};

inline constexpr std::uint16_t kNoOffset = 0xffff;

struct TypeInfo {
  std::string_view name;  // "core.v1.Pod"
  const FieldInfo* fields = nullptr;
  std::uint16_t field_count = 0;
  std::uint16_t size = 0;  // sizeof the struct
  std::uint16_t unknown_offset = kNoOffset;
  TypeForm form = TypeForm::kStruct;
  const KindInfo* kind = nullptr;  // null for a struct that is only a part of others

  const FieldInfo* begin() const { return fields; }
  const FieldInfo* end() const { return fields + field_count; }
};

// A struct that has a table.
template <typename T>
concept Described = requires {
  static_cast<const TypeInfo&>(T::kType);
};

// ---- The engines that implicit sharing needs. `object` points at a struct of the given type. ----

// True where both objects have equal fields, unknown fields included. Quantities compare by amount.
KUBE_EXPORT bool EqualObjects(const TypeInfo& type, const void* a, const void* b);
// True where every field has its default value and nothing is unknown.
KUBE_EXPORT bool IsEmptyObject(const TypeInfo& type, const void* object);

namespace internal {
// Copies `object` into raw memory; shared parts stay shared. If memory runs out, the memory is all zeroes: a default object.
KUBE_EXPORT void CopyObject(const TypeInfo& type, void* raw, const void* object);
// Drops what the object holds; leaves raw memory.
KUBE_EXPORT void DestroyObject(const TypeInfo& type, void* object) noexcept;
// Why the table cannot be right: fields that overlap, or do not fit into the struct. Empty where nothing is seen; a wrong kind of the right
// size is not. Looks once for each type; tables of built-in kinds are not looked at. The codecs ask.
KUBE_EXPORT std::string_view TableProblem(const TypeInfo& type);
}  // namespace internal

}  // namespace kube
