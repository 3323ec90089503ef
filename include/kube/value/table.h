// KUBE_TABLE, KUBE_FIELD, KUBE_DEFINE_TABLE, KUBE_DEFINE_KIND: define the table of a struct by hand, checked by the compiler.
//
//   struct CartItem {
//     kube::String sku{};
//     std::optional<std::int32_t> amount{};
//     KUBE_TABLE(CartItem);                                     // unknown fields, kType and ==; the last member
//   };
//   struct Cart {
//     kube::meta::v1::ObjectMeta metadata{};
//     kube::List<CartItem> items{};
//     KUBE_TABLE(Cart);
//   };
//
//   // In one source file, in the struct's namespace:
//   KUBE_DEFINE_TABLE(CartItem, "shop.v1.CartItem", KUBE_FIELD(CartItem, sku, .required = true), KUBE_FIELD(CartItem, amount));
//   KUBE_DEFINE_KIND(Cart, (.group = "shop.example.com", .version = "v1", .kind = "Cart", .resource = "carts", .namespaced = true),
//                    KUBE_FIELD(Cart, metadata), KUBE_FIELD(Cart, items));
//
// Members must start out as zero, false or empty. `= 5` is not a default of the API, and would not apply to an absent Box; defaults are set
// by the server. Kind, shape and offset of a field follow from its C++ type. The table lists the members in the order of the struct.
// Missing or duplicate members and unsupported types are compile errors. JSON names are the member names in lowerCamel ("runAsUser" for
// run_as_user, "namespace" for namespace_) unless `.json` is set.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

#include "kube/value/member_type.h"
#include "kube/value/type_info.h"

namespace kube {

// Properties of a field that its C++ type does not express.
struct FieldOptions {
  std::string_view json{};  // empty: the member name in lowerCamel
  bool required = false;    // written even if it is empty
  bool bytes = false;       // its Strings hold binary data: base64 in JSON
  bool inlined = false;     // a struct whose fields are part of the outer JSON object
  // For patches, apply and schemas; null: none.
  const FieldExtra* extra = nullptr;
};

namespace internal {

template <std::size_t N>
struct FixedText {
  char text[N]{};
  constexpr FixedText(const char (&from)[N]) {  // NOLINT(google-explicit-constructor)
    for (std::size_t i = 0; i < N; ++i) text[i] = from[i];
  }
};

// "run_as_user" becomes "runAsUser".
template <FixedText Name>
struct LowerCamel {
  static constexpr std::size_t kRoom = sizeof(Name.text);
  struct Text {
    char text[kRoom]{};
    std::size_t size = 0;
  };
  static constexpr Text Make() {
    Text out;
    bool upper = false;
    for (std::size_t i = 0; Name.text[i] != '\0'; ++i) {
      const char c = Name.text[i];
      if (c == '_') {
        upper = out.size != 0;
        continue;
      }
      out.text[out.size++] = upper && c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
      upper = false;
    }
    return out;
  }
  static constexpr Text kText = Make();
  static constexpr std::string_view view() { return {kText.text, kText.size}; }
};

// A field with the layout of its member.
struct Column {
  FieldInfo info{};
  std::size_t end = 0;  // end offset of the member
  std::size_t alignment = 1;
};
// A Column that keeps the member's type.
template <typename Member>
struct ColumnOf {
  Column column{};
};

constexpr Column MakeColumn(const MemberInfo& member, std::size_t offset, const FieldOptions& options) {
  Column column{.info = member.field, .end = offset + member.size, .alignment = member.alignment};
  column.info.json_name = options.json;
  column.info.offset = static_cast<std::uint16_t>(offset);
  column.info.required = options.required;
  column.info.extra = options.extra;
  if (options.bytes) {
    if (column.info.kind == FieldKind::kString) column.info.kind = FieldKind::kBytes;
    column.info.type = member.bytes_type;
  }
  if (options.inlined) {
    column.info.json_name = {};
    column.info.kind = FieldKind::kInline;
  }
  return column;
}
template <typename Member, FixedText Name>
constexpr ColumnOf<Member> MakeNamedColumn(std::size_t offset, FieldOptions options) {
  if (options.json.empty()) options.json = LowerCamel<Name>::view();
  return {MakeColumn(kMember<Member>, offset, options)};
}

// Whether a member at `offset` directly follows one that ends at `end`.
constexpr bool Follows(std::size_t end, std::size_t offset, std::size_t alignment) {
  return (end + alignment - 1) / alignment * alignment == offset;
}

// Whether a struct has exactly these members and its unknown fields. Offsets alone do not reveal a member that fits into padding.
template <typename Struct, typename... Members>
inline constexpr bool kHasJust = requires {
  Struct{std::declval<Members>()..., std::declval<UnknownFields>()};
};

// The errors in a table.
enum class TableFlaw : std::uint8_t { kNone, kOrder, kForgotten, kNotLast, kName, kInlined };

// An array that may have no elements.
template <std::size_t N>
struct FieldArray {
  static constexpr std::uint16_t kCount = N;
  FieldInfo fields[N == 0 ? 1 : N]{};
};
template <typename... Members>
constexpr FieldArray<sizeof...(Members)> FieldsOf(const ColumnOf<Members>&... columns) {
  return {{columns.column.info...}};
}

// `end` is the offset of the struct's unknown fields.
template <typename Struct, typename... Members>
constexpr TableFlaw FlawOf(std::size_t end, const ColumnOf<Members>&... columns) {
  constexpr std::size_t n = sizeof...(Members);
  const std::array<Column, n> all{columns.column...};
  std::size_t at = 0;
  for (std::size_t i = 0; i < n; ++i) {
    if (all[i].info.offset < at) return TableFlaw::kOrder;
    at = all[i].end;
  }
  at = 0;
  for (std::size_t i = 0; i < n; ++i) {
    if (!Follows(at, all[i].info.offset, all[i].alignment)) return TableFlaw::kForgotten;
    at = all[i].end;
  }
  if (!Follows(at, end, alignof(UnknownFields)) || !kHasJust<Struct, Members...>) return TableFlaw::kForgotten;
  if (end + sizeof(UnknownFields) != sizeof(Struct)) return TableFlaw::kNotLast;
  for (std::size_t i = 0; i < n; ++i) {
    const FieldInfo& field = all[i].info;
    if (field.kind == FieldKind::kInline) {
      if (field.type == nullptr || field.shape != FieldShape::kPlain) return TableFlaw::kInlined;
      continue;
    }
    if (field.json_name.empty()) return TableFlaw::kName;
    for (std::size_t j = 0; j < i; ++j) {
      if (field.json_name == all[j].info.json_name) return TableFlaw::kName;
    }
  }
  return TableFlaw::kNone;
}

}  // namespace internal
}  // namespace kube

// Makes a struct usable as an API type. Must be its last member.
#define KUBE_TABLE(Struct)                                                                                                          \
  ::kube::UnknownFields unknown_fields{};                                                                                           \
  static const ::kube::TypeInfo kType;                                                                                              \
  bool operator==(const Struct& other) const {                                                                                      \
    static_assert(::std::is_same_v<decltype(this), const Struct*>, "KUBE_TABLE(" #Struct ") is in another struct; write its name"); \
    return ::kube::EqualObjects(kType, this, &other);                                                                               \
  }                                                                                                                                 \
  static_assert(true, "for the semicolon")

// A field in a table: struct, member, and optional FieldOptions.
#define KUBE_FIELD(Struct, member, ...) \
  ::kube::internal::MakeNamedColumn<decltype(Struct::member), #member>(offsetof(Struct, member), ::kube::FieldOptions{__VA_ARGS__})

#define KUBE_INTERNAL_UNWRAP(...) __VA_ARGS__
#define KUBE_INTERNAL_CHECKS(Struct, remedy)                                                                  \
  static_assert(kKubeFlawOf##Struct != ::kube::internal::TableFlaw::kOrder,                                   \
                "the table of " #Struct " names a member twice, or in another order than the struct" remedy); \
  static_assert(kKubeFlawOf##Struct != ::kube::internal::TableFlaw::kForgotten,                               \
                "the table of " #Struct " lacks a member of the struct" remedy);                              \
  static_assert(kKubeFlawOf##Struct != ::kube::internal::TableFlaw::kNotLast,                                 \
                "KUBE_TABLE(" #Struct ") must be the last member of " #Struct);                               \
  static_assert(kKubeFlawOf##Struct != ::kube::internal::TableFlaw::kName,                                    \
                "the table of " #Struct " has a JSON name twice, or an empty one" remedy);                    \
  static_assert(kKubeFlawOf##Struct != ::kube::internal::TableFlaw::kInlined,                                 \
                "the table of " #Struct " inlines a member that is not a plain struct" remedy);               \
  static_assert(sizeof(Struct) < 0xffff, "a struct with a table must be smaller than 64 KiB: move parts of " #Struct " into a kube::Box")
#define KUBE_INTERNAL_TYPE(Struct, table_name, kind_pointer, count)                                           \
  constinit const ::kube::TypeInfo Struct::kType {                                                            \
    table_name, kKubeFieldsOf##Struct.fields, count, static_cast<std::uint16_t>(sizeof(Struct)),              \
        static_cast<std::uint16_t>(offsetof(Struct, unknown_fields)), ::kube::TypeForm::kStruct, kind_pointer \
  }
#define KUBE_INTERNAL_TABLE(Struct, table_name, kind_pointer, ...)                                   \
  static constexpr auto kKubeFlawOf##Struct =                                                        \
      ::kube::internal::FlawOf<Struct>(offsetof(Struct, unknown_fields) __VA_OPT__(, ) __VA_ARGS__); \
  KUBE_INTERNAL_CHECKS(Struct, "");                                                                  \
  static constexpr auto kKubeFieldsOf##Struct = ::kube::internal::FieldsOf(__VA_ARGS__);             \
  KUBE_INTERNAL_TYPE(Struct, table_name, kind_pointer, kKubeFieldsOf##Struct.kCount)

// Structs with std::optional members are not standard-layout, but both compilers compute their offsets.
#define KUBE_INTERNAL_OFFSETS_BEGIN _Pragma("GCC diagnostic push") _Pragma("GCC diagnostic ignored \"-Winvalid-offsetof\"")
#define KUBE_INTERNAL_OFFSETS_END _Pragma("GCC diagnostic pop") static_assert(true, "for the semicolon")
#define KUBE_INTERNAL_KIND(Struct, kind_info) \
  static constexpr ::kube::KindInfo kKubeKindOf##Struct { KUBE_INTERNAL_UNWRAP kind_info }

// Define the table of a struct, and of a kind that a server serves. Use them in one source file, in the struct's namespace.
#define KUBE_DEFINE_TABLE(Struct, table_name, ...)                             \
  KUBE_INTERNAL_OFFSETS_BEGIN                                                  \
  KUBE_INTERNAL_TABLE(Struct, table_name, nullptr __VA_OPT__(, ) __VA_ARGS__); \
  KUBE_INTERNAL_OFFSETS_END
#define KUBE_DEFINE_KIND(Struct, kind_info, ...)                                                          \
  KUBE_INTERNAL_OFFSETS_BEGIN                                                                             \
  KUBE_INTERNAL_KIND(Struct, kind_info);                                                                  \
  KUBE_INTERNAL_TABLE(Struct, kKubeKindOf##Struct.kind, &kKubeKindOf##Struct __VA_OPT__(, ) __VA_ARGS__); \
  KUBE_INTERNAL_OFFSETS_END
