// Finds a field of a table by name or number. Servers write fields in the table's order, so the search starts after the last hit.
#pragma once

#include <cstring>
#include <string_view>

#include "kube/value/type_info.h"

namespace kube::internal {

// For names whose ordinal does not fit into a few bits.
inline constexpr std::uint32_t kNoOrdinal = 0xffffffff;

struct FoundField {
  const FieldInfo* field = nullptr;
  std::uint32_t ordinal = 0;  // unique among the names of one object; for "seen before"
  std::uint16_t next = 0;     // where to start the next search
  std::uint32_t base = 0;     // offset of the struct that has the field, because an inlined struct may be a separate member
};

// Also searches inlined structs.
inline FoundField FindByName(const TypeInfo& type, std::string_view name, std::uint16_t start) {
  for (std::uint16_t n = 0, i = start; n < type.field_count; ++n, ++i) {
    if (i >= type.field_count) i = 0;
    const FieldInfo& field = type.fields[i];
    if (field.kind == FieldKind::kInline) {
      FoundField inner = FindByName(*field.type, name, 0);
      if (inner.field == nullptr) continue;
      bool fits = type.field_count <= 64 && inner.ordinal < 64;
      return {inner.field, fits ? (i + 1U) * 64U + inner.ordinal : kNoOrdinal, i, field.offset + inner.base};
    } else if (field.json_name == name) {
      return {&field, i, static_cast<std::uint16_t>(i + 1), 0};
    }
  }
  return {};
}

// The list or map that is one element of the field (Map<List<T>>) or is in its Box; null for all others.
inline const FieldInfo* NestedField(const FieldInfo& field) {
  return field.kind == FieldKind::kMessage && field.type->form == TypeForm::kOnlyField ? field.type->fields : nullptr;
}

inline bool EqualBytes(const char* a, const char* b, std::size_t n) {
  if (n >= 8) {
    std::uint64_t x, y;
    for (std::size_t i = 0; i + 8 <= n; i += 8) {
      std::memcpy(&x, a + i, 8);
      std::memcpy(&y, b + i, 8);
      if (x != y) return false;
    }
    std::memcpy(&x, a + n - 8, 8);
    std::memcpy(&y, b + n - 8, 8);
    return x == y;
  }
  for (std::size_t i = 0; i < n; ++i) {
    if (a[i] != b[i]) return false;
  }
  return true;
}

// The same for a name in JSON text: `key` points after the opening quote, and `left` bytes follow. Does not find names with escapes or in
// inlined structs. Cheap enough to try first.
inline const FieldInfo* FindByKeyText(const TypeInfo& type, const char* key, std::size_t left, std::uint16_t& hint) {
  std::uint16_t i = hint;
  for (std::uint16_t n = 0; n < type.field_count; ++n, ++i) {
    if (i >= type.field_count) i = 0;
    std::string_view name = type.fields[i].json_name;
    if (name.empty()) continue;  // an inlined struct
    if (name.size() < left && key[name.size()] == '"' && key[0] == name[0] && EqualBytes(key, name.data(), name.size())) {
      hint = static_cast<std::uint16_t>(i + 1);
      return &type.fields[i];
    }
  }
  return nullptr;
}

// Whether the type has a protobuf form.
inline bool HasNumbers(const TypeInfo& type) { return type.field_count == 0 || type.fields[0].number != 0; }

inline const FieldInfo* FindByNumber(const TypeInfo& type, std::uint32_t number, std::uint16_t& hint) {
  std::uint16_t i = hint;
  for (std::uint16_t n = 0; n < type.field_count; ++n, ++i) {
    if (i >= type.field_count) i = 0;
    if (type.fields[i].number == number) {
      hint = i;
      return &type.fields[i];
    }
  }
  return nullptr;
}

}  // namespace kube::internal
