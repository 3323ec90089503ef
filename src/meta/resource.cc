#include "kube/meta/resource.h"

#include "kube/value/shared.h"

namespace kube {

namespace {

const FieldInfo* FindField(const TypeInfo& type, std::string_view json_name) {
  for (const FieldInfo& field : type) {
    if (field.json_name == json_name) return &field;
  }
  return nullptr;
}

template <typename Meta>
const Meta* FindMetadata(const TypeInfo& type, const void* object) {
  const FieldInfo* field = FindField(type, "metadata");
  if (field == nullptr || field->kind != FieldKind::kMessage || field->shape != FieldShape::kPlain || field->type != &Meta::kType) {
    return nullptr;
  }
  return reinterpret_cast<const Meta*>(static_cast<const char*>(object) + field->offset);
}

const FieldInfo* FindItems(const TypeInfo& type) {
  const FieldInfo* field = FindField(type, "items");
  bool fits = field != nullptr && type.kind != nullptr && type.kind->is_list && field->kind == FieldKind::kMessage &&
              field->shape == FieldShape::kList;
  return fits ? field : nullptr;
}

}  // namespace

const KindInfo& KindOf(const TypeInfo& type) {
  static constexpr KindInfo kNone{};
  return type.kind != nullptr ? *type.kind : kNone;
}

Gvk GvkOf(const TypeInfo& type) {
  const KindInfo& kind = KindOf(type);
  return {kind.group, kind.version, kind.kind};
}

Gvr GvrOf(const TypeInfo& type) {
  const KindInfo& kind = KindOf(type);
  return kind.resource.empty() ? Gvr{} : Gvr{kind.group, kind.version, kind.resource};
}

const meta::v1::ObjectMeta* MetadataOf(const TypeInfo& type, const void* object) {
  return FindMetadata<meta::v1::ObjectMeta>(type, object);
}
meta::v1::ObjectMeta* MutableMetadataOf(const TypeInfo& type, void* object) {
  return const_cast<meta::v1::ObjectMeta*>(MetadataOf(type, object));  // NOLINT: `object` was not const
}
const meta::v1::ListMeta* ListMetadataOf(const TypeInfo& type, const void* object) {
  return FindMetadata<meta::v1::ListMeta>(type, object);
}
meta::v1::ListMeta* MutableListMetadataOf(const TypeInfo& type, void* object) {
  return const_cast<meta::v1::ListMeta*>(ListMetadataOf(type, object));  // NOLINT: `object` was not const
}

ItemsView ItemsOf(const TypeInfo& type, const void* list) {
  const FieldInfo* field = FindItems(type);
  if (field == nullptr) return {};
  // A List is one pointer to its block, whatever its elements are.
  auto* rep = *reinterpret_cast<internal::ArrayRep* const*>(static_cast<const char*>(list) + field->offset);
  if (rep == nullptr) return {field->type, nullptr, 0};
  return {field->type, rep->data(), rep->size};
}

const TypeInfo* ItemTypeOf(const TypeInfo& list_type) {
  const FieldInfo* field = FindItems(list_type);
  return field != nullptr ? field->type : nullptr;
}

}  // namespace kube
