// Marks on children outside of their owner's namespace, where Kubernetes allows no owner reference. DesiredState::Anywhere writes them,
// ControllerBuilder::OwnsAnywhere reads them. docs/children-anywhere.md explains the scheme.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "kube/base/export.h"
#include "kube/meta/dynamic_object.h"
#include "kube/meta/gvk.h"
#include "kube/meta/object_key.h"
#include "kube/meta/resource.h"

namespace kube {

// Default domain of the marks.
inline constexpr std::string_view kMarkPrefix = "kubexx.dev";

}  // namespace kube

namespace kube::internal {

// Identifies an owner without revealing its UID, which is the key of the proof below.
KUBE_EXPORT std::string OwnerHash(std::string_view uid);

// An HMAC over the child's kind and key. Proves that the writer of the marks knows the owner's UID and `proof_key`. It is invalid on any
// other object.
KUBE_EXPORT std::string ChildProof(std::string_view owner_uid, std::string_view proof_key, std::string_view set, const GroupKind& kind,
                                   const ObjectKey& key);
// Compares in constant time.
KUBE_EXPORT bool SameProof(std::string_view a, std::string_view b);

// "Deployment.apps shop/web"
KUBE_EXPORT std::string OwnerMark(const GroupKind& kind, const ObjectKey& key);

// The owner that a child's marks name. Anyone who can write the child can forge them: compare `hash` with the owner's.
struct MarkedOwner {
  ObjectKey key{};
  String hash{};
};
// Returns nullopt if the marks are incomplete or name an owner of another kind.
KUBE_EXPORT std::optional<MarkedOwner> MarkedOwnerIn(const Map<String>& labels, const Map<String>& annotations, const GroupKind& owner,
                                                     std::string_view mark_prefix);
template <Resource T>
std::optional<MarkedOwner> MarkedOwnerOf(const T& object, const GroupKind& owner, std::string_view mark_prefix) {
  return MarkedOwnerIn(object.metadata.labels, object.metadata.annotations, owner, mark_prefix);
}
inline std::optional<MarkedOwner> MarkedOwnerOf(const DynamicObject& object, const GroupKind& owner, std::string_view mark_prefix) {
  return MarkedOwnerIn(object.labels(), object.annotations(), owner, mark_prefix);
}

}  // namespace kube::internal
