// Children that lost their workload and stayed: `kubectl delete --cascade=orphan` removes the owner reference, not the object. A workload
// that wants the child's name adopts it, and if there is none the child is deleted. Otherwise it would outlive every policy.
#pragma once

#include <functional>

#include "children.h"
#include "kube/base/context.h"
#include "kube/base/result.h"
#include "kube/client/client.h"
#include "kube/meta/gvk.h"

namespace auto_expose {

// As far as a cache without managedFields can tell. Whoever removes the label kubexx.dev/set keeps the object for good.
bool IsOrphan(const kube::meta::v1::ObjectMeta& child);
// As above, of the whole object: auto-expose wrote it.
bool IsOwnOrphan(const kube::DynamicObject& live);

// Gives the object to the workload, or deletes it if `owner` is null and `has_owner` says that no workload can own it. Reads the object
// from the server first, and leaves it alone if that is no orphan of auto-expose's, or if the role does not allow the change. `has_owner`:
// whether the server has a workload with the children's name or this UID.
kube::Result<void> SettleOrphan(const kube::Context& ctx, const kube::Client& client, const kube::Gvr& gvr, const kube::ObjectKey& key,
                                const Workload* owner, const std::function<kube::Result<bool>(const kube::String& uid)>& has_owner);

}  // namespace auto_expose
