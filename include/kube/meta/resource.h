// The names of a kind from its table, and the metadata of any object.
//
//   Resource, ResourceList     concepts: the struct of a kind, the struct of its list
//   GvkOf<T>(), GvrOf<T>()     core::v1::Pod -> v1 Pod, v1 pods
//   IsNamespaced<T>()
//   MetadataOf(object)         its ObjectMeta; also for objects whose type is known only at run time
//   KeyOf(object)              its namespace and name
//   AsPartialObjectMetadata    a copy with only the metadata
//
// For kinds without a struct see dynamic_object.h.
#pragma once

#include <concepts>
#include <cstddef>

#include "kube/meta/gvk.h"
#include "kube/meta/object_key.h"
#include "kube/meta/v1.h"
#include "kube/value/any_object.h"
#include "kube/value/type_info.h"

namespace kube {

// A struct with a table and an ObjectMeta. A served kind also has a KindInfo with a resource. Parts such as PodTemplateSpec have none, and
// the functions below return empty names for them.
template <typename T>
concept Resource = Described<T> && requires(const T& object) {
  { object.metadata } -> std::same_as<const meta::v1::ObjectMeta&>;
};

// A struct with a table, a ListMeta and Resources as `items`.
template <typename T>
concept ResourceList = Described<T> && requires(const T& list) {
  { list.metadata } -> std::same_as<const meta::v1::ListMeta&>;
  { *list.items.begin() } -> std::same_as<const typename decltype(T::items)::value_type&>;
  requires Resource<typename decltype(T::items)::value_type>;
};
// The type of a list's items.
template <ResourceList L>
using ItemOf = typename decltype(L::items)::value_type;

// ---- By type ----
// KindOf, GvkOf and GvrOf are empty, and IsNamespaced is false, if the type is not a kind.
KUBE_EXPORT const KindInfo& KindOf(const TypeInfo& type);
KUBE_EXPORT Gvk GvkOf(const TypeInfo& type);
KUBE_EXPORT Gvr GvrOf(const TypeInfo& type);
template <Described T>
const KindInfo& KindOf() {
  return KindOf(T::kType);
}
template <Described T>
Gvk GvkOf() {
  return GvkOf(T::kType);
}
template <Described T>
Gvr GvrOf() {
  return GvrOf(T::kType);
}
template <Described T>
bool IsNamespaced() {
  return KindOf<T>().namespaced;
}

// ---- The kind, metadata and key of an object ----
template <Resource T>
Gvk GvkOf(const T&) {
  return GvkOf<T>();
}
template <Resource T>
const meta::v1::ObjectMeta& MetadataOf(const T& object) {
  return object.metadata;
}
inline ObjectKey KeyOf(const meta::v1::ObjectMeta& metadata) { return {metadata.namespace_, metadata.name}; }
template <Resource T>
ObjectKey KeyOf(const T& object) {
  return KeyOf(object.metadata);
}

// ---- By object whose type is known only at run time: null if it has no such metadata ----
KUBE_EXPORT const meta::v1::ObjectMeta* MetadataOf(const TypeInfo& type, const void* object);
KUBE_EXPORT meta::v1::ObjectMeta* MutableMetadataOf(const TypeInfo& type, void* object);
KUBE_EXPORT const meta::v1::ListMeta* ListMetadataOf(const TypeInfo& type, const void* object);
KUBE_EXPORT meta::v1::ListMeta* MutableListMetadataOf(const TypeInfo& type, void* object);
inline const meta::v1::ObjectMeta* MetadataOf(const AnyObject& object) {
  return object ? MetadataOf(object.type(), object.data()) : nullptr;
}
// Copies the object first if it is shared.
inline meta::v1::ObjectMeta* MutableMetadataOf(AnyObject& object) {
  return object ? MutableMetadataOf(object.type(), object.mutable_data()) : nullptr;
}

// The items of a list object, as an array of structs of `type`. Valid until the list changes.
struct ItemsView {
  const TypeInfo* type = nullptr;  // null: not a list, or its items have no table
  const char* data = nullptr;
  // The number of items.
  std::size_t size = 0;
  // Requires: i < size.
  const void* operator[](std::size_t i) const { return data + i * type->size; }
};
// The items of a list object.
KUBE_EXPORT ItemsView ItemsOf(const TypeInfo& type, const void* list);
// The table of a list type's items, or null.
KUBE_EXPORT const TypeInfo* ItemTypeOf(const TypeInfo& list_type);

// ---- Copies that have only metadata ----
template <Resource T>
meta::v1::PartialObjectMetadata AsPartialObjectMetadata(const T& object) {
  return {.metadata = object.metadata};
}
template <ResourceList L>
meta::v1::PartialObjectMetadataList AsPartialObjectMetadataList(const L& list) {
  meta::v1::PartialObjectMetadataList out{.metadata = list.metadata};
  out.items.reserve(list.items.size());
  for (const auto& item : list.items) out.items.push_back(AsPartialObjectMetadata(item));
  return out;
}

}  // namespace kube
