#include "kube/codec/hash.h"

#include <cstring>
#include <optional>
#include <string_view>

#include <xxhash.h>

#include "value/field_access.h"

namespace kube {
namespace {

using internal::At;
using internal::Read;

// Different kinds of content start from different seeds, so that 1, "1" and [1] differ.
enum Seed : std::uint64_t { kNumber = 1, kText, kNull, kBool, kList, kMap, kStruct, kUnknownJson, kUnknownProtobuf };

std::uint64_t HashText(std::string_view text, std::uint64_t seed) { return XXH3_64bits_withSeed(text.data(), text.size(), seed); }

std::uint64_t HashInteger(std::uint64_t n, std::uint64_t seed) {
  unsigned char bytes[8];
  for (int i = 0; i < 8; ++i) bytes[i] = static_cast<unsigned char>(n >> (8 * i));
  return XXH3_64bits_withSeed(bytes, sizeof bytes, seed);
}
std::uint64_t HashInteger(std::int64_t n, std::uint64_t seed) { return HashInteger(static_cast<std::uint64_t>(n), seed); }

std::uint64_t HashDouble(double d, std::uint64_t seed) {
  if (d == 0) d = 0;  // -0 equals 0
  std::uint64_t bits;
  std::memcpy(&bits, &d, sizeof bits);
  return HashInteger(bits, seed);
}

template <typename T>
std::uint64_t HashScalar(const T& v) {
  if constexpr (std::is_same_v<T, bool>) {
    return HashInteger(std::uint64_t{v}, kBool);
  } else if constexpr (std::is_integral_v<T>) {
    return HashInteger(std::int64_t{v}, kNumber);
  } else if constexpr (std::is_same_v<T, double>) {
    return HashDouble(v, kNumber);
  } else if constexpr (std::is_same_v<T, Quantity>) {
    return HashInteger(v.HashValue(), kNumber);
  } else if constexpr (std::is_same_v<T, Time>) {
    return HashInteger(v.unix_seconds(), kNumber);
  } else if constexpr (std::is_same_v<T, MicroTime>) {
    return HashInteger(v.unix_micros(), kNumber);
  } else if constexpr (std::is_same_v<T, Duration>) {
    return HashInteger(v.nanoseconds(), kNumber);
  } else if constexpr (std::is_same_v<T, IntOrString>) {
    return v.is_string() ? HashText(v.string_value(), kText) : HashInteger(std::int64_t{v.int_value()}, kNumber);
  } else if constexpr (std::is_same_v<T, RawJson>) {
    std::string whole;
    return HashText(v.View(whole), kText);
  } else {
    return HashText(v, kText);
  }
}

// One element of a field, at its place in a struct, list or map.
std::uint64_t HashElement(const FieldInfo& field, const void* at) {
  if (field.kind == FieldKind::kMessage) return HashObject(*field.type, at);
  return internal::WithScalarType(field.kind, [&](auto t) { return HashScalar(Read<typename decltype(t)::type>(at)); });
}

std::uint64_t HashField(const FieldInfo& field, const char* at) {
  switch (field.shape) {
    case FieldShape::kPlain:
      return HashElement(field, at);
    case FieldShape::kOptional:
      if (field.kind == FieldKind::kMessage) return HashObject(*field.type, internal::BoxOf(at)->data());
      return internal::WithScalarType(field.kind, [&](auto t) {
        using T = typename decltype(t)::type;
        if constexpr (internal::kOwnUnset<T>) {
          return HashScalar(Read<T>(at));
        } else {
          return HashScalar(*Read<std::optional<T>>(at));
        }
      });
    case FieldShape::kList:
    case FieldShape::kMap:
      break;
  }
  bool map = field.shape == FieldShape::kMap;
  internal::ArrayRep* array = internal::Array(at);
  std::size_t stride = map ? internal::EntrySize(field) : internal::ElementSize(field);
  const char* element = array->data();
  std::uint64_t hash = map ? kMap : kList;
  for (std::uint32_t i = 0; i < array->size; ++i, element += stride) {
    if (map) hash = HashText(Read<String>(element), hash);
    hash = HashInteger(HashElement(field, map ? element + internal::kEntryValueOffset : element), hash);
  }
  return hash;
}

// A sum, so that the order of fields in the table does not matter.
std::uint64_t SumFields(const TypeInfo& type, const void* object) {
  std::uint64_t sum = 0;
  for (const FieldInfo& field : type) {
    const char* at = At(object, field);
    if (field.kind == FieldKind::kInline) {
      sum += SumFields(*field.type, at);
    } else if (!internal::IsEmptyField(field, at)) {
      sum += HashText(field.json_name, HashField(field, at));
    }
  }
  if (const UnknownFields* unknown = internal::UnknownOf(type, object); unknown != nullptr && !unknown->empty()) {
    if (!unknown->json().empty()) sum += HashText(unknown->json(), kUnknownJson);
    if (!unknown->protobuf().empty()) sum += HashText(unknown->protobuf(), kUnknownProtobuf);
  }
  return sum;
}

}  // namespace

std::uint64_t HashObject(const TypeInfo& type, const void* object) { return HashInteger(SumFields(type, object), kStruct); }

std::uint64_t HashObject(const Value& value) {
  switch (value.kind()) {
    case Value::Kind::kNull:
      return HashInteger(std::uint64_t{0}, kNull);
    case Value::Kind::kBool:
      return HashScalar(value.bool_value());
    case Value::Kind::kInt:
    case Value::Kind::kDouble:
      return HashDouble(value.double_value(), kNumber);  // 1 equals 1.0
    case Value::Kind::kString:
      return HashText(value.string_value(), kText);
    case Value::Kind::kList: {
      std::uint64_t hash = kList;
      for (const Value& item : value.list()) hash = HashInteger(HashObject(item), hash);
      return HashInteger(hash, kList);
    }
    case Value::Kind::kObject: {
      std::uint64_t hash = kMap;
      for (const auto& [key, member] : value.object()) hash = HashInteger(HashObject(member), HashText(key, hash));
      return HashInteger(hash, kMap);
    }
  }
  return 0;
}

}  // namespace kube
