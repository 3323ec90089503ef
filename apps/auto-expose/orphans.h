// Children that lost their workload but still exist: `kubectl delete --cascade=orphan` removes the owner reference, not the object. A
// workload that needs the child's name adopts it; if there is none, the child is deleted. Otherwise it would outlive every policy.
#pragma once

#include <functional>

#include "children.h"
#include "kube/base/context.h"
#include "kube/base/result.h"
#include "kube/client/client.h"
#include "kube/meta/gvk.h"

namespace auto_expose {

// As far as a cache without managedFields shows. An object without the label kubexx.dev/set is not an orphan: a user who removes the label
// keeps it.
bool IsOrphan(const kube::meta::v1::ObjectMeta& child);
// The same for a complete object: auto-expose must have written it.
bool IsOwnOrphan(const kube::DynamicObject& live);

// Makes `owner` the object's controller, or deletes the object if `owner` is null and `has_owner` reports that no workload can own it.
// First reads the object from the API server, and leaves it unchanged if it is not an orphan of auto-expose or the role forbids the change.
// `has_owner`: whether the API server has a workload with the children's name or this UID.
kube::Result<void> SettleOrphan(const kube::Context& ctx, const kube::Client& client, const kube::Gvr& gvr, const kube::ObjectKey& key,
                                const Workload* owner, const std::function<kube::Result<bool>(const kube::String& uid)>& has_owner);

}  // namespace auto_expose
