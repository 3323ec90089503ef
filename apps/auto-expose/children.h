// Reads existing Services, Ingresses and HTTPRoutes: their hosts and paths, their owner, and what the policy refuses.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "kube/api/core/v1.h"
#include "kube/api/networking/v1.h"
#include "kube/meta/dynamic_object.h"
#include "kube/meta/object_key.h"
#include "plan.h"

namespace auto_expose {

inline constexpr const char* kFieldManager = "auto-expose";
inline constexpr const char* kSet = "auto-expose";  // name of the kube::DesiredState set
// The set's labels: its name, and the UID of the workload.
inline constexpr const char* kSetLabel = "kubexx.dev/set";
inline constexpr const char* kOwnerLabel = "kubexx.dev/owner-uid";

// The distinct pairs of host and path, with normalized hosts. Bounded per object.
std::vector<Claim> ClaimsOf(const kube::networking::v1::Ingress& ingress);
std::vector<Claim> ClaimsOf(const kube::DynamicObject& route);
// The same for an Ingress that cannot be decoded. Parts with the wrong shape are skipped.
std::vector<Claim> ClaimsOfIngress(const kube::Value& ingress);

// The workload that controls an object of auto-expose. Unset if another program or a user made the object.
struct ChildOwner {
  kube::String kind{};
  kube::ObjectKey key{};
  kube::String uid{};
};
std::optional<ChildOwner> OwnerOf(const kube::meta::v1::ObjectMeta& child);
// The same for the JSON of an object that cannot be decoded.
std::optional<ChildOwner> OwnerOf(const kube::Value& child);
// Whether the object's controller is this workload.
bool IsControlledBy(const kube::meta::v1::ObjectMeta& child, const kube::String& uid);

// Whether an update leaves the claims and the owner of an object unchanged.
bool HoldsTheSame(const kube::networking::v1::Ingress& before, const kube::networking::v1::Ingress& after);
bool HoldsTheSame(const kube::DynamicObject& before, const kube::DynamicObject& after);

// What the policy refuses of a workload's existing children. Used if the workload's annotations are invalid, so that children made under
// another policy do not outlive it. For an Ingress or route, `live` is the whole object from the API server: its managedFields show which
// annotations auto-expose owns. Those of other managers are ignored; without managedFields all count as its own. `class_is_default`: the
// cluster assigns the Ingress's class to Ingresses that name none.
std::vector<Problem> RefusedOf(const kube::networking::v1::Ingress& ingress, const kube::DynamicObject& live, const Workload& workload,
                               const Settings& settings, const NamespacePolicy& of_namespace, bool class_is_default);
std::vector<Problem> RefusedOf(const kube::DynamicObject& live, const Workload& workload, const Settings& settings,
                               const NamespacePolicy& of_namespace);
std::vector<Problem> RefusedOf(const kube::core::v1::Service& service, const Workload& workload, const Settings& settings);

}  // namespace auto_expose
