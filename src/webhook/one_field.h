// A field by itself, so that the engines that walk structs can work on it: `at` is where the field is, or one element of a list or map.
#pragma once

#include <cstring>
#include <optional>

#include "kube/codec/hash.h"
#include "kube/value/type_info.h"
#include "value/field_access.h"

namespace kube::internal {

class OneField {
 public:
  explicit OneField(const FieldInfo& field) : OneField(field, field.shape) {}
  // An element of the list or map.
  static OneField ElementOf(const FieldInfo& field) { return OneField(field, FieldShape::kPlain); }
  OneField(const OneField& other) : OneField(other.field_) {}
  OneField& operator=(const OneField&) = delete;

  const FieldInfo& field() const { return field_; }
  // A struct of this field alone, which JSON has without braces.
  const TypeInfo& type() const { return type_; }

  bool IsEmpty(const void* at) const { return IsEmptyField(field_, at); }
  bool Equal(const void* a, const void* b) const { return EqualObjects(type_, a, b); }
  std::uint64_t Hash(const void* at) const { return HashObject(type_, at); }
  // Requires: `to` has the default value.
  void Copy(const void* from, void* to) const { CopyObject(type_, to, from); }
  void Reset(void* at) const {
    DestroyObject(type_, at);
    std::memset(at, 0, size());
  }
  std::size_t size() const {
    if (field_.shape == FieldShape::kList || field_.shape == FieldShape::kMap) return sizeof(void*);
    const bool optional = field_.shape == FieldShape::kOptional;
    if (field_.kind == FieldKind::kMessage) return optional ? sizeof(void*) : field_.type->size;
    return WithScalarType(field_.kind, [&](auto t) {
      using T = typename decltype(t)::type;
      return optional && !kOwnUnset<T> ? sizeof(std::optional<T>) : sizeof(T);
    });
  }

 private:
  // Types of built-in kinds are not checked for mistakes; the check would remember the address of this one.
  static constexpr KindInfo kUnchecked{.built_in = true};
  FieldInfo field_;
  TypeInfo type_;

  OneField(const FieldInfo& field, FieldShape shape) : field_(field) {
    field_.offset = 0;
    field_.shape = shape;
    type_ = {.name = field.json_name, .fields = &field_, .field_count = 1, .form = TypeForm::kOnlyField, .kind = &kUnchecked};
  }
};

// Whether the field, or an element of its list or map, is a struct whose members JSON has in braces.
inline bool IsStruct(const FieldInfo& field) { return field.kind == FieldKind::kMessage && field.type->form == TypeForm::kStruct; }

}  // namespace kube::internal
