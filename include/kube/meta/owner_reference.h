// Owner references: which object another one belongs to. The garbage collector deletes what has lost all its owners, and controllers
// find their own children by them.
//
//   if (auto r = SetControllerReference(deployment, service); !r) return r.error();    // service now belongs to deployment
//   if (IsControlledBy(service, deployment)) ...
//
// Everything works on typed objects and on DynamicObject alike; the functions that take ObjectMeta and a Gvk are underneath.
#pragma once

#include <optional>

#include "kube/base/result.h"
#include "kube/meta/dynamic_object.h"
#include "kube/meta/gvk.h"
#include "kube/meta/object_traits.h"
#include "kube/meta/resource.h"
#include "kube/meta/v1.h"

namespace kube {

struct OwnerReferenceOptions {
  // Whether the owner's foreground deletion waits for this object. Unset: true for controllers, left out for other owners.
  std::optional<bool> block_owner_deletion{};
};

// ---- On metadata ----
KUBE_EXPORT meta::v1::OwnerReference NewOwnerRef(const meta::v1::ObjectMeta& owner, const Gvk& owner_gvk);
// With controller and blockOwnerDeletion true.
KUBE_EXPORT meta::v1::OwnerReference NewControllerRef(const meta::v1::ObjectMeta& owner, const Gvk& owner_gvk);
// The first reference that says controller=true, or null. Valid until the list changes.
KUBE_EXPORT const meta::v1::OwnerReference* FindController(const List<meta::v1::OwnerReference>& references);
// Same group, kind and name. The version and the UID may differ: it may be an object of that name that was there earlier.
KUBE_EXPORT bool ReferToSameObject(const meta::v1::OwnerReference& a, const meta::v1::OwnerReference& b);

// Below, an owner is who has the same group, kind, name and UID; the version may differ.
//
// Makes `owner` the controller of `object`, or brings the reference that is there up to date. Errors (kInvalid), object unchanged:
//   - another controller is there already: IsAlreadyOwned(e). So is one of the same name with another UID, an earlier object whose
//     children the garbage collector is about to remove;
//   - the owner is in a namespace and the object is in another one, or in none. Owners without a namespace may own anything.
KUBE_EXPORT Result<void> SetControllerReference(const meta::v1::ObjectMeta& owner, const Gvk& owner_gvk, meta::v1::ObjectMeta& object,
                                                const OwnerReferenceOptions& options = {});
// Adds `owner` as one of several owners, or brings the reference that is there up to date. Same errors about namespaces.
KUBE_EXPORT Result<void> SetOwnerReference(const meta::v1::ObjectMeta& owner, const Gvk& owner_gvk, meta::v1::ObjectMeta& object,
                                           const OwnerReferenceOptions& options = {});
// Fails (kInvalid) where `owner` is none of the owners.
KUBE_EXPORT Result<void> RemoveOwnerReference(const meta::v1::ObjectMeta& owner, const Gvk& owner_gvk, meta::v1::ObjectMeta& object);
// Fails (kInvalid) where `owner` is not the controller.
KUBE_EXPORT Result<void> RemoveControllerReference(const meta::v1::ObjectMeta& owner, const Gvk& owner_gvk, meta::v1::ObjectMeta& object);
KUBE_EXPORT bool HasOwnerReference(const List<meta::v1::OwnerReference>& references, const meta::v1::ObjectMeta& owner,
                                   const Gvk& owner_gvk);

// True for the error that another controller owns the object.
KUBE_EXPORT bool IsAlreadyOwned(const Error& e);

// ---- On objects ----
template <ObjectType Owner>
meta::v1::OwnerReference NewControllerRef(const Owner& owner) {
  return NewControllerRef(MetadataOf(owner), GvkOf(owner));
}
template <ObjectType T>
std::optional<meta::v1::OwnerReference> GetControllerOf(const T& object) {
  const auto& metadata = MetadataOf(object);
  const meta::v1::OwnerReference* controller = FindController(metadata.owner_references);
  return controller != nullptr ? std::optional<meta::v1::OwnerReference>(*controller) : std::nullopt;
}
// Whether the controller of `object` has the UID of `owner`; nothing else is compared.
template <ObjectType T, ObjectType Owner>
bool IsControlledBy(const T& object, const Owner& owner) {
  const auto& metadata = MetadataOf(object);
  const meta::v1::OwnerReference* controller = FindController(metadata.owner_references);
  return controller != nullptr && controller->uid == MetadataOf(owner).uid;
}
template <ObjectType Owner, ObjectType T>
Result<void> SetControllerReference(const Owner& owner, T& object, const OwnerReferenceOptions& options = {}) {
  return ObjectTraits<T>::EditOwnerReferences(
      object, [&](meta::v1::ObjectMeta& metadata) { return SetControllerReference(MetadataOf(owner), GvkOf(owner), metadata, options); });
}
template <ObjectType Owner, ObjectType T>
Result<void> SetOwnerReference(const Owner& owner, T& object, const OwnerReferenceOptions& options = {}) {
  return ObjectTraits<T>::EditOwnerReferences(
      object, [&](meta::v1::ObjectMeta& metadata) { return SetOwnerReference(MetadataOf(owner), GvkOf(owner), metadata, options); });
}
template <ObjectType Owner, ObjectType T>
Result<void> RemoveOwnerReference(const Owner& owner, T& object) {
  return ObjectTraits<T>::EditOwnerReferences(
      object, [&](meta::v1::ObjectMeta& metadata) { return RemoveOwnerReference(MetadataOf(owner), GvkOf(owner), metadata); });
}
template <ObjectType Owner, ObjectType T>
Result<void> RemoveControllerReference(const Owner& owner, T& object) {
  return ObjectTraits<T>::EditOwnerReferences(
      object, [&](meta::v1::ObjectMeta& metadata) { return RemoveControllerReference(MetadataOf(owner), GvkOf(owner), metadata); });
}
template <ObjectType T, ObjectType Owner>
bool HasOwnerReference(const T& object, const Owner& owner) {
  const auto& metadata = MetadataOf(object);
  return HasOwnerReference(metadata.owner_references, MetadataOf(owner), GvkOf(owner));
}
template <ObjectType T>
bool HasControllerReference(const T& object) {
  return GetControllerOf(object).has_value();
}

}  // namespace kube
