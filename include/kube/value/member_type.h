// Maps the C++ type of a member to the kind, shape and table of its field. Part of kube/value/table.h; include that instead.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <type_traits>

#include "kube/value/box.h"
#include "kube/value/int_or_string.h"
#include "kube/value/list.h"
#include "kube/value/map.h"
#include "kube/value/quantity.h"
#include "kube/value/raw.h"
#include "kube/value/string.h"
#include "kube/value/time.h"
#include "kube/value/type_info.h"

namespace kube::internal {

template <typename T>
struct MemberType;

template <typename T>
inline constexpr bool kIsContainer = false;
template <typename T>
inline constexpr bool kIsContainer<List<T>> = true;
template <typename T>
inline constexpr bool kIsContainer<Map<T>> = true;

// The kind of an element; kInline if no kind fits the type. A list or map inside another one is a kMessage; see ContainerTable.
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
  } else if constexpr (kIsContainer<T>) {
    return KindOfElement<typename MemberType<T>::Element>() == FieldKind::kInline ? FieldKind::kInline : FieldKind::kMessage;
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

// The field that a member's type stands for.
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
  static constexpr bool kGood = kElement<T> && KindOfElement<T>() != FieldKind::kMessage && !kHasOwnUnset<T>;
};
template <typename T>
struct MemberType<Box<T>> {
  using Element = T;
  static constexpr FieldShape kShape = FieldShape::kOptional;
  static constexpr bool kGood = KindOfElement<T>() == FieldKind::kMessage;
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

// The kind, shape and type of a member's field, without name and offset. `bytes`: its Strings hold binary data.
template <typename Member, bool bytes>
constexpr FieldInfo DescribeMember() {
  using Type = MemberType<Member>;
  FieldInfo info;
  info.kind = KindOfElement<typename Type::Element>();
  if (bytes && info.kind == FieldKind::kString) info.kind = FieldKind::kBytes;
  info.shape = Type::kShape;
  if constexpr (kIsContainer<typename Type::Element>) {
    info.type = &ContainerTable<typename Type::Element, bytes>::kType;
  } else if constexpr (KindOfElement<typename Type::Element>() == FieldKind::kMessage) {
    info.type = &Type::Element::kType;
  }
  return info;
}

// The table of a list or map that is the element of another one (Map<List<T>>) or in a Box. It looks like a struct whose only field is the
// list. Such a struct has the same bytes, and JSON writes it without braces, so the codecs need to handle only one level of shape.
template <typename Container, bool bytes>
struct ContainerTable {
  static constexpr FieldInfo kField = DescribeMember<Container, bytes>();
  static constexpr TypeInfo kType{.name = kField.shape == FieldShape::kList ? "List" : "Map",
                                  .fields = &kField,
                                  .field_count = 1,
                                  .size = sizeof(Container),
                                  .form = TypeForm::kOnlyField};
};

// The part of a table that depends only on a member's type. There is one per type, however many members have it.
struct MemberInfo {
  FieldInfo field{};
  const TypeInfo* bytes_type = nullptr;  // replaces field.type if its Strings hold binary data
  std::size_t size = 0;
  std::size_t alignment = 1;
};

template <typename Member>
constexpr MemberInfo MakeMemberInfo() {
  static_assert(
      MemberType<Member>::kGood,
      "KUBE_FIELD: a field cannot have this type. Use kube::String for text, std::int32_t or std::int64_t for integers, kube::List and "
      "kube::Map, also of each other, kube::Box for an optional struct, list or map, std::optional for other optional values, kube::Time "
      "as it is, kube::RawJson for any JSON; a struct needs a KUBE_TABLE of its own");
  MemberInfo info{.size = sizeof(Member), .alignment = alignof(Member)};
  if constexpr (MemberType<Member>::kGood) {
    info.field = DescribeMember<Member, false>();
    info.bytes_type = info.field.type;
    if constexpr (kIsContainer<typename MemberType<Member>::Element>) info.bytes_type = DescribeMember<Member, true>().type;
  }
  return info;
}
template <typename Member>
inline constexpr MemberInfo kMember = MakeMemberInfo<Member>();

}  // namespace kube::internal
