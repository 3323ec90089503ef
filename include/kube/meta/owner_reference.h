// Owner references: the owners of an object. The garbage collector deletes objects that have lost all owners, and controllers find their
// children through them.
//
//   if (auto r = SetControllerReference(deployment, service); !r) return r.error();    // the Deployment now owns the Service
//   if (IsControlledBy(service, deployment)) ...
//
// All functions work on typed objects and on DynamicObject; the overloads that take ObjectMeta and a Gvk implement them.
#pragma once

#include <optional>

#include "kube/base/result.h"
#include "kube/meta/dynamic_object.h"
#include "kube/meta/gvk.h"
#include "kube/meta/object_traits.h"
#include "kube/meta/resource.h"
#include "kube/meta/v1.h"

namespace kube {

// Options of SetControllerReference and SetOwnerReference.
struct OwnerReferenceOptions {
  // Whether foreground deletion of the owner waits for this object. Unset: true for controllers, omitted for other owners.
  std::optional<bool> block_owner_deletion{};
};

// ---- On metadata ----
// Returns a reference to `owner` without controller and blockOwnerDeletion.
KUBE_EXPORT meta::v1::OwnerReference NewOwnerRef(const meta::v1::ObjectMeta& owner, const Gvk& owner_gvk);
// Returns a reference with controller and blockOwnerDeletion true.
KUBE_EXPORT meta::v1::OwnerReference NewControllerRef(const meta::v1::ObjectMeta& owner, const Gvk& owner_gvk);
// The first reference with controller=true, or null. Valid until the list changes.
KUBE_EXPORT const meta::v1::OwnerReference* FindController(const List<meta::v1::OwnerReference>& references);
// True if group, kind and name are equal. Version and UID may differ, so `b` may refer to an earlier object of the same name.
KUBE_EXPORT bool ReferToSameObject(const meta::v1::OwnerReference& a, const meta::v1::OwnerReference& b);

// In the functions below, a reference matches an owner with the same group, kind, name and UID; the version may differ.
//
// Makes `owner` the controller of `object`, or updates the existing reference. Errors (kInvalid), in which case the object is unchanged:
//  - the object has another controller: IsAlreadyOwned(e). An owner of the same name with another UID counts as another: it is an earlier
//    object, whose children the garbage collector is about to delete;
//  - the owner is namespaced and the object is in another namespace or cluster-scoped. Cluster-scoped owners may own any object.
KUBE_EXPORT Result<void> SetControllerReference(const meta::v1::ObjectMeta& owner, const Gvk& owner_gvk, meta::v1::ObjectMeta& object,
                                                const OwnerReferenceOptions& options = {});
// Adds `owner` as one of several owners, or updates the existing reference. Namespace errors as above.
KUBE_EXPORT Result<void> SetOwnerReference(const meta::v1::ObjectMeta& owner, const Gvk& owner_gvk, meta::v1::ObjectMeta& object,
                                           const OwnerReferenceOptions& options = {});
// Removes a reference. Fails (kInvalid) if `owner` is not an owner.
KUBE_EXPORT Result<void> RemoveOwnerReference(const meta::v1::ObjectMeta& owner, const Gvk& owner_gvk, meta::v1::ObjectMeta& object);
// Removes the controller reference. Fails (kInvalid) if `owner` is not the controller.
KUBE_EXPORT Result<void> RemoveControllerReference(const meta::v1::ObjectMeta& owner, const Gvk& owner_gvk, meta::v1::ObjectMeta& object);
// Whether `owner` is one of the owners.
KUBE_EXPORT bool HasOwnerReference(const List<meta::v1::OwnerReference>& references, const meta::v1::ObjectMeta& owner,
                                   const Gvk& owner_gvk);

// True for the error that the object has another controller.
KUBE_EXPORT bool IsAlreadyOwned(const Error& e);

// ---- On objects ----
template <ObjectType Owner>
meta::v1::OwnerReference NewControllerRef(const Owner& owner) {
  return NewControllerRef(MetadataOf(owner), GvkOf(owner));
}
// A copy of the controller reference, if there is one.
template <ObjectType T>
std::optional<meta::v1::OwnerReference> GetControllerOf(const T& object) {
  const auto& metadata = MetadataOf(object);
  const meta::v1::OwnerReference* controller = FindController(metadata.owner_references);
  return controller != nullptr ? std::optional<meta::v1::OwnerReference>(*controller) : std::nullopt;
}
// IsControlledBy: whether the controller of `object` has the UID of `owner`. HasControllerReference: whether there is a controller.
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
