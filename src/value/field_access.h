// Shared by the table-driven code: maps (kind, shape) to C++ types, and provides raw access to lists, maps and boxes.
#pragma once

#include <cstddef>
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

// Calls f(std::type_identity<T>{}) with the element type of a scalar kind.
// Requires: kind is neither kMessage nor kInline.
template <typename F>
decltype(auto) WithScalarType(FieldKind kind, F&& f) {
  switch (kind) {
    case FieldKind::kBool:
      return f(std::type_identity<bool>{});
    case FieldKind::kInt32:
      return f(std::type_identity<std::int32_t>{});
    case FieldKind::kInt64:
      return f(std::type_identity<std::int64_t>{});
    case FieldKind::kDouble:
      return f(std::type_identity<double>{});
    case FieldKind::kQuantity:
      return f(std::type_identity<Quantity>{});
    case FieldKind::kTime:
      return f(std::type_identity<Time>{});
    case FieldKind::kMicroTime:
      return f(std::type_identity<MicroTime>{});
    case FieldKind::kDuration:
      return f(std::type_identity<Duration>{});
    case FieldKind::kIntOrString:
      return f(std::type_identity<IntOrString>{});
    case FieldKind::kRawJson:
      return f(std::type_identity<RawJson>{});
    default:
      return f(std::type_identity<String>{});
  }
}

// Time types have an unset value, so an optional one is not a std::optional.
template <typename T>
inline constexpr bool kOwnUnset = std::is_same_v<T, Time> || std::is_same_v<T, MicroTime>;

template <typename T>
const T& Read(const void* at) {
  return *static_cast<const T*>(at);
}
template <typename T>
T& Write(void* at) {
  return *static_cast<T*>(at);
}

inline const char* At(const void* object, const FieldInfo& field) { return static_cast<const char*>(object) + field.offset; }
inline char* At(void* object, const FieldInfo& field) { return static_cast<char*>(object) + field.offset; }

// Lists and maps of every element type have the same layout: one pointer to an ArrayRep. A map's element is a MapEntry.
inline ArrayRep* Array(const void* at) { return Read<ArrayRep*>(at); }
inline BoxRep* BoxOf(const void* at) { return Read<BoxRep*>(at); }
inline std::size_t ArraySize(const void* at) {
  ArrayRep* rep = Array(at);
  return rep == nullptr ? 0 : rep->size;
}

inline std::size_t ElementSize(const FieldInfo& field) {
  if (field.kind == FieldKind::kMessage) return field.type->size;
  return WithScalarType(field.kind, [](auto t) { return sizeof(typename decltype(t)::type); });
}
inline constexpr std::size_t kEntryValueOffset = sizeof(String);
// Size of a MapEntry: the value follows the key; entries are aligned to 8.
inline std::size_t EntrySize(const FieldInfo& field) { return (kEntryValueOffset + ElementSize(field) + 7) & ~std::size_t{7}; }

template <typename T>
bool IsEmptyScalar(const T& v) {
  if constexpr (std::is_same_v<T, String> || std::is_same_v<T, RawJson>) {
    return v.empty();
  } else if constexpr (std::is_same_v<T, Quantity> || kOwnUnset<T>) {
    return v.IsZero();
  } else {
    return v == T{};
  }
}

// Whether the field has its default value, so it is written only if it is required.
inline bool IsEmptyField(const FieldInfo& field, const void* at) {
  switch (field.shape) {
    case FieldShape::kList:
    case FieldShape::kMap:
      return ArraySize(at) == 0;
    case FieldShape::kOptional:
      if (field.kind == FieldKind::kMessage) return BoxOf(at) == nullptr;
      return WithScalarType(field.kind, [&](auto t) {
        using T = typename decltype(t)::type;
        if constexpr (kOwnUnset<T>) {
          return Read<T>(at).IsZero();
        } else {
          return !Read<std::optional<T>>(at).has_value();
        }
      });
    case FieldShape::kPlain:
      break;
  }
  if (field.kind == FieldKind::kMessage || field.kind == FieldKind::kInline) return IsEmptyObject(*field.type, at);
  return WithScalarType(field.kind, [&](auto t) { return IsEmptyScalar(Read<typename decltype(t)::type>(at)); });
}

inline const UnknownFields* UnknownOf(const TypeInfo& type, const void* object) {
  return type.unknown_offset == kNoOffset ? nullptr
                                          : reinterpret_cast<const UnknownFields*>(static_cast<const char*>(object) + type.unknown_offset);
}
inline UnknownFields* UnknownOf(const TypeInfo& type, void* object) {
  return type.unknown_offset == kNoOffset ? nullptr : reinterpret_cast<UnknownFields*>(static_cast<char*>(object) + type.unknown_offset);
}

// Drops one reference of the block of a list or map field.
KUBE_EXPORT void ReleaseArray(const FieldInfo& field, ArrayRep* rep) noexcept;

}  // namespace kube::internal
