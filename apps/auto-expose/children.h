// What Services, Ingresses and HTTPRoutes that exist have: hosts and paths, whose they are, and what the policy refuses of them.
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
inline constexpr const char* kSet = "auto-expose";  // of kube::DesiredState
// Its labels: the set, and the UID of the workload.
inline constexpr const char* kSetLabel = "kubexx.dev/set";
inline constexpr const char* kOwnerLabel = "kubexx.dev/owner-uid";

// The hosts and paths, each pair once; hosts are normal. A bounded number of each object.
std::vector<Claim> ClaimsOf(const kube::networking::v1::Ingress& ingress);
std::vector<Claim> ClaimsOf(const kube::DynamicObject& route);
// The same of an Ingress that cannot be decoded: what has the wrong shape is left out.
std::vector<Claim> ClaimsOfIngress(const kube::Value& ingress);

// The workload that controls an object of auto-expose; none if another program or a person made the object.
struct ChildOwner {
  kube::String kind{};
  kube::ObjectKey key{};
  kube::String uid{};
};
std::optional<ChildOwner> OwnerOf(const kube::meta::v1::ObjectMeta& child);
// The same of the JSON of an object that cannot be decoded.
std::optional<ChildOwner> OwnerOf(const kube::Value& child);
// Whether the object's controller is this workload.
bool IsControlledBy(const kube::meta::v1::ObjectMeta& child, const kube::String& uid);

// Whether an update leaves the claims of an object, and whose it is, as they were.
bool HoldsTheSame(const kube::networking::v1::Ingress& before, const kube::networking::v1::Ingress& after);
bool HoldsTheSame(const kube::DynamicObject& before, const kube::DynamicObject& after);

// What the policy refuses of a workload's children as they are now. Asked when the workload's annotations cannot be understood, so that
// what was made under another policy does not outlive it. `live` of an Ingress or route is the whole object of the server: its
// managedFields tell which annotations are auto-expose's. Those of others are not its concern; without managedFields all are taken for its
// own. `class_is_default`: the server gives the Ingress's class to Ingresses that name none.
std::vector<Problem> RefusedOf(const kube::networking::v1::Ingress& ingress, const kube::DynamicObject& live, const Workload& workload,
                               const Settings& settings, const NamespacePolicy& of_namespace, bool class_is_default);
std::vector<Problem> RefusedOf(const kube::DynamicObject& live, const Workload& workload, const Settings& settings,
                               const NamespacePolicy& of_namespace);
std::vector<Problem> RefusedOf(const kube::core::v1::Service& service, const Workload& workload, const Settings& settings);

}  // namespace auto_expose
