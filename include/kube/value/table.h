// KUBE_TABLE, KUBE_FIELD, KUBE_DEFINE_TABLE, KUBE_DEFINE_KIND: the table of a struct of your own, checked by the compiler.
//
//   struct CartItem {
//     kube::String sku{};
//     std::optional<std::int32_t> amount{};
//     KUBE_TABLE(CartItem);                                     // unknown fields, kType and ==; last in the struct
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
// Members start out as zero, false or empty: `= 5` is no default of the API, and an absent Box would not have it. Defaults are the server's
// matter. Kind, shape and place of a field follow from its C++ type. A member that the table forgets or names twice, and a type that a
// field cannot have, are errors of the compiler. JSON names are the members' in lowerCamel ("runAsUser" for run_as_user, "namespace" for
// namespace_), or what `.json` says.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>

#include "kube/value/box.h"
#include "kube/value/int_or_string.h"
#include "kube/value/list.h"
#include "kube/value/map.h"
#include "kube/value/member_count.h"
#include "kube/value/quantity.h"
#include "kube/value/raw.h"
#include "kube/value/string.h"
#include "kube/value/time.h"
#include "kube/value/type_info.h"

namespace kube {

// What a field's C++ type does not say.
struct FieldOptions {
  std::string_view json{};  // empty: the member's name in lowerCamel
  bool required = false;    // written even if it is empty
  bool bytes = false;       // a String that holds binary data: base64 in JSON
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

// The kind of an element; kInline if no kind fits the type.
template <typename T>
constexpr FieldKind KindOfElement() {
  if constexpr (std::is_same_v<T, bool>) {
    return FieldKind::kBool;
  } else if constexpr (std::is_same_v<T, std::int32_t>) {
    return FieldKind::kInt32;
  } else if constexpr (std::is_same_v<T, std::int64_t>) {
    return FieldKind::kInt64;
  } else if constexpr (std::is_same_v<T, double>) {
    return FieldKind::kDouble;
  } else if constexpr (std::is_same_v<T, String>) {
    return FieldKind::kString;
  } else if constexpr (std::is_same_v<T, Quantity>) {
    return FieldKind::kQuantity;
  } else if constexpr (std::is_same_v<T, Time>) {
    return FieldKind::kTime;
  } else if constexpr (std::is_same_v<T, MicroTime>) {
    return FieldKind::kMicroTime;
  } else if constexpr (std::is_same_v<T, Duration>) {
    return FieldKind::kDuration;
  } else if constexpr (std::is_same_v<T, IntOrString>) {
    return FieldKind::kIntOrString;
  } else if constexpr (std::is_same_v<T, RawJson>) {
    return FieldKind::kRawJson;
  } else if constexpr (Described<T>) {
    return FieldKind::kMessage;
  } else {
    return FieldKind::kInline;
  }
}
template <typename T>
inline constexpr bool kElement = KindOfElement<T>() != FieldKind::kInline;
template <typename T>
inline constexpr bool kHasOwnUnset = std::is_same_v<T, Time> || std::is_same_v<T, MicroTime>;

// What a member's type means.
template <typename T>
struct MemberType {
  using Element = T;
  static constexpr FieldShape kShape = FieldShape::kPlain;
  static constexpr bool kGood = kElement<T>;
};
template <typename T>
struct MemberType<std::optional<T>> {
  using Element = T;
  static constexpr FieldShape kShape = FieldShape::kOptional;
  static constexpr bool kGood = kElement<T> && !Described<T> && !kHasOwnUnset<T>;
};
template <typename T>
struct MemberType<Box<T>> {
  using Element = T;
  static constexpr FieldShape kShape = FieldShape::kOptional;
  static constexpr bool kGood = Described<T>;
};
template <typename T>
struct MemberType<List<T>> {
  using Element = T;
  static constexpr FieldShape kShape = FieldShape::kList;
  static constexpr bool kGood = kElement<T>;
};
template <typename T>
struct MemberType<Map<T>> {
  using Element = T;
  static constexpr FieldShape kShape = FieldShape::kMap;
  static constexpr bool kGood = kElement<T>;
};

// A field with what the compiler knows of its member.
struct Column {
  FieldInfo info{};
  std::size_t size = 0;
  std::size_t alignment = 0;
};

template <typename Member, FixedText Name>
constexpr Column MakeColumn(std::size_t offset, FieldOptions options) {
  using Type = MemberType<Member>;
  static_assert(
      Type::kGood,
      "KUBE_FIELD: a field cannot have this type. Use kube::String for text, std::int32_t or std::int64_t for integers, kube::List and "
      "kube::Map, kube::Box for an optional struct, std::optional for other optional values, kube::Time as it is, kube::RawJson for "
      "any JSON; a struct needs a KUBE_TABLE of its own");
  Column column;
  column.info.json_name = options.json.empty() ? LowerCamel<Name>::view() : options.json;
  column.info.kind = KindOfElement<typename Type::Element>();
  if (options.bytes && column.info.kind == FieldKind::kString) column.info.kind = FieldKind::kBytes;
  column.info.shape = Type::kShape;
  column.info.offset = static_cast<std::uint16_t>(offset);
  column.info.required = options.required;
  column.info.extra = options.extra;
  if constexpr (Described<typename Type::Element>) column.info.type = &Type::Element::kType;
  column.size = sizeof(Member);
  column.alignment = alignof(Member);
  return column;
}

// Whether a JSON name is there twice, or is none.
template <std::size_t N>
constexpr bool HasUsableNames(const std::array<Column, N>& columns) {
  for (std::size_t i = 0; i < N; ++i) {
    if (columns[i].info.json_name.empty()) return false;
    for (std::size_t j = 0; j < i; ++j) {
      if (columns[i].info.json_name == columns[j].info.json_name) return false;
    }
  }
  return true;
}

// Whether the columns, in any order, are all members of a struct whose unknown_fields are at `end`.
template <std::size_t N>
constexpr bool CoversStruct(const std::array<Column, N>& columns, std::size_t end) {
  std::size_t at = 0;
  for (std::size_t covered = 0; covered < N; ++covered) {
    const Column* next = nullptr;
    for (const Column& column : columns) {
      if (column.info.offset >= at && (next == nullptr || column.info.offset < next->info.offset)) next = &column;
    }
    if (next == nullptr || (at + next->alignment - 1) / next->alignment * next->alignment != next->info.offset) return false;
    at = next->info.offset + next->size;
  }
  return (at + 7) / 8 * 8 == end;
}

template <std::size_t N>
constexpr std::array<FieldInfo, N> FieldsOf(const std::array<Column, N>& columns) {
  std::array<FieldInfo, N> out{};
  for (std::size_t i = 0; i < N; ++i) out[i] = columns[i].info;
  return out;
}

template <typename... Columns>
constexpr std::array<Column, sizeof...(Columns)> ColumnsOf(Columns... columns) {
  return {columns...};
}

}  // namespace internal
}  // namespace kube

#define KUBE_TABLE(Struct)                                                                                                          \
  ::kube::UnknownFields unknown_fields{};                                                                                           \
  static const ::kube::TypeInfo kType;                                                                                              \
  [[maybe_unused]] friend bool operator==(const Struct& a, const Struct& b) { return ::kube::EqualObjects(Struct::kType, &a, &b); } \
  static_assert(true, "for the semicolon")

#define KUBE_FIELD(Struct, member, ...) \
  ::kube::internal::MakeColumn<decltype(Struct::member), #member>(offsetof(Struct, member), ::kube::FieldOptions{__VA_ARGS__})

#define KUBE_INTERNAL_UNWRAP(...) __VA_ARGS__
#define KUBE_INTERNAL_TABLE(Struct, table_name, kind_pointer, ...)                                                               \
  static constexpr auto kKubeColumnsOf##Struct = ::kube::internal::ColumnsOf(__VA_ARGS__);                                       \
  static_assert(::kube::internal::CoversStruct(kKubeColumnsOf##Struct, offsetof(Struct, unknown_fields)),                        \
                "the table of " #Struct " forgets a member of the struct, or names one twice; KUBE_TABLE has to be last in it"); \
  static_assert(::kube::internal::HasUsableNames(kKubeColumnsOf##Struct),                                                        \
                "the table of " #Struct " has a JSON name twice, or an empty one");                                              \
  static_assert(sizeof(Struct) < 0xffff, "a struct with a table has fewer than 64 KiB");                                         \
  [[maybe_unused]] static constexpr auto kKubeMembersOf##Struct =                                                                \
      &::kube::internal::TheTableNamesAllMembersOf<kKubeColumnsOf##Struct.size() + 1, Struct>;                                   \
  static constexpr auto kKubeFieldsOf##Struct = ::kube::internal::FieldsOf(kKubeColumnsOf##Struct);                              \
  constinit const ::kube::TypeInfo Struct::kType {                                                                               \
    table_name, kKubeFieldsOf##Struct.data(), static_cast<std::uint16_t>(kKubeFieldsOf##Struct.size()),                          \
        static_cast<std::uint16_t>(sizeof(Struct)), static_cast<std::uint16_t>(offsetof(Struct, unknown_fields)),                \
        ::kube::TypeForm::kStruct, kind_pointer                                                                                  \
  }

// Structs with std::optional members are not of standard layout; both compilers give their offsets all the same.
#define KUBE_DEFINE_TABLE(Struct, table_name, ...)                                        \
  _Pragma("GCC diagnostic push") _Pragma("GCC diagnostic ignored \"-Winvalid-offsetof\"") \
      KUBE_INTERNAL_TABLE(Struct, table_name, nullptr, __VA_ARGS__);                      \
  _Pragma("GCC diagnostic pop") static_assert(true, "for the semicolon")
#define KUBE_DEFINE_KIND(Struct, kind_info, ...)                                                                      \
  _Pragma("GCC diagnostic push")                                                                                      \
      _Pragma("GCC diagnostic ignored \"-Winvalid-offsetof\"") static constexpr ::kube::KindInfo kKubeKindOf##Struct{ \
          KUBE_INTERNAL_UNWRAP kind_info};                                                                            \
  KUBE_INTERNAL_TABLE(Struct, kKubeKindOf##Struct.kind, &kKubeKindOf##Struct, __VA_ARGS__);                           \
  _Pragma("GCC diagnostic pop") static_assert(true, "for the semicolon")
