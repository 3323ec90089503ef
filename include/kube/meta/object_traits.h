// ObjectTraits<T>: the operations of generic code on an object, for kinds with a struct and for DynamicObject. Only this header
// distinguishes the two.
//
//   using Traits = ObjectTraits<T>;
//   Traits::Metadata(object)                       a reference for a struct; a copy for a DynamicObject
//   Traits::kType                                  the table; null for DynamicObject, as in ResourceTarget
//
// Thread safety: pure functions.
// Cost: nothing is copied for a struct, except by ToDynamic. For a DynamicObject, Metadata decodes; the functions for single fields do not.
#pragma once

#include <concepts>
#include <optional>
#include <utility>

#include "kube/base/result.h"
#include "kube/meta/dynamic_object.h"
#include "kube/meta/gvk.h"
#include "kube/meta/resource.h"
#include "kube/meta/v1.h"
#include "kube/value/type_info.h"

namespace kube {

// For kinds with a struct.
template <ObjectType T>
struct ObjectTraits {
  // The type's table.
  static constexpr const TypeInfo* kType = &T::kType;
  // True if only metadata is transferred and stored; the kind is then known at run time.
  static constexpr bool kMetadataOnly = std::same_as<T, meta::v1::PartialObjectMetadata>;
  // ResourceOfType, KindOfType and Namespaced: what the type defines of it. `named` is for types that serve several resources.
  static Gvr ResourceOfType(const Gvr& named) { return kMetadataOnly ? named : GvrOf(T::kType); }
  static Gvk KindOfType() { return kMetadataOnly ? Gvk() : GvkOf(T::kType); }
  static std::optional<bool> Namespaced() { return kMetadataOnly ? std::nullopt : std::optional<bool>(KindOf(T::kType).namespaced); }

  // Metadata, ResourceVersion and Finalizers read the metadata; SetFinalizers changes it.
  static const meta::v1::ObjectMeta& Metadata(const T& object) { return object.metadata; }
  static const String& ResourceVersion(const T& object) { return object.metadata.resource_version; }
  static const List<String>& Finalizers(const T& object) { return object.metadata.finalizers; }
  static void SetFinalizers(T& object, List<String> finalizers) { object.metadata.finalizers = std::move(finalizers); }
  // Calls `edit` (Result<void>(ObjectMeta&)) to change the owner references. The metadata it sees has at least those, the name and the
  // namespace.
  template <typename Edit>
  static Result<void> EditOwnerReferences(T& object, const Edit& edit) {
    return edit(object.metadata);
  }

  // Status returns a reference to the status; SameStatus compares the status of two objects.
  static auto& Status(T& object) { return object.status; }
  static bool SameStatus(const T& a, const T& b) {
    using StatusType = decltype(T::status);
    if constexpr (Described<StatusType>) {  // a struct needs no operator==
      return EqualObjects(StatusType::kType, &a.status, &b.status);
    } else {
      return a.status == b.status;
    }
  }

  // Returns the object as a DynamicObject.
  static Result<DynamicObject> ToDynamic(const T& object) { return kube::ToDynamic(object); }
};

// For objects of any kind.
template <>
struct ObjectTraits<DynamicObject> {
  static constexpr const TypeInfo* kType = nullptr;
  static constexpr bool kMetadataOnly = false;
  static Gvr ResourceOfType(const Gvr& named) { return named; }
  static Gvk KindOfType() { return {}; }
  static std::optional<bool> Namespaced() { return std::nullopt; }

  static meta::v1::ObjectMeta Metadata(const DynamicObject& object) { return object.metadata(); }
  static const String& ResourceVersion(const DynamicObject& object) { return object.resource_version(); }
  static List<String> Finalizers(const DynamicObject& object) { return object.finalizers(); }
  static void SetFinalizers(DynamicObject& object, const List<String>& finalizers) { object.set_finalizers(finalizers); }
  template <typename Edit>
  static Result<void> EditOwnerReferences(DynamicObject& object, const Edit& edit) {
    meta::v1::ObjectMeta metadata;
    metadata.name = object.name();
    metadata.namespace_ = object.namespace_();
    metadata.owner_references = object.owner_references();
    if (Result<void> r = edit(metadata); !r) return r;
    return object.SetOwnerReferences(metadata.owner_references);
  }

  static Value& Status(DynamicObject& object) { return object["status"]; }
  static bool SameStatus(const DynamicObject& a, const DynamicObject& b) { return a["status"] == b["status"]; }

  static Result<DynamicObject> ToDynamic(const DynamicObject& object) { return object; }
};

}  // namespace kube
