// The scale subresource of any kind that has one: Deployments, StatefulSets, custom resources.
//
//   Result<autoscaling::v1::Scale> scale = GetScale(ctx, mapper, {"apps", "deployments"}, {"default", "web"});
//   scale->spec.replicas = 5;
//   Result<autoscaling::v1::Scale> done = UpdateScale(ctx, mapper, {"apps", "deployments"}, *scale);
//
// Older forms of the server's Scale are converted to autoscaling/v1.
//
// Thread safety, blocking and cancellation: as Client.
// Errors: as ResourceClient; IsNoMatch if the server has no such resource; IsNotFound if the resource has no scale or the object does not
// exist.
// Cost: one request, plus the mapper's discovery the first time.
#pragma once

#include "kube/api/autoscaling/v1.h"
#include "kube/base/context.h"
#include "kube/base/export.h"
#include "kube/base/result.h"
#include "kube/client/client.h"
#include "kube/client/options.h"
#include "kube/client/rest_mapper.h"
#include "kube/meta/gvk.h"
#include "kube/meta/object_key.h"

namespace kube {

// ---- In the preferred version, found by the mapper. An empty namespace means a cluster-scoped resource ----
KUBE_EXPORT Result<autoscaling::v1::Scale> GetScale(const Context& ctx, const RestMapper& mapper, const GroupResource& resource,
                                                    const ObjectKey& key, const GetOptions& options = {});
// Updates the object that the Scale's metadata names. Fails with IsConflict if the Scale's resourceVersion is not the newest.
KUBE_EXPORT Result<autoscaling::v1::Scale> UpdateScale(const Context& ctx, const RestMapper& mapper, const GroupResource& resource,
                                                       const autoscaling::v1::Scale& scale, const UpdateOptions& options = {});

// ---- In a known version, without discovery. UpdateScale sends autoscaling/v1, which all servers since 1.16 accept ----
KUBE_EXPORT Result<autoscaling::v1::Scale> GetScale(const Context& ctx, const Client& client, const Gvr& resource, const ObjectKey& key,
                                                    const GetOptions& options = {});
KUBE_EXPORT Result<autoscaling::v1::Scale> UpdateScale(const Context& ctx, const Client& client, const Gvr& resource,
                                                       const autoscaling::v1::Scale& scale, const UpdateOptions& options = {});
KUBE_EXPORT Result<autoscaling::v1::Scale> PatchScale(const Context& ctx, const Client& client, const Gvr& resource, const ObjectKey& key,
                                                      const Patch& patch, const PatchOptions& options = {});

}  // namespace kube
