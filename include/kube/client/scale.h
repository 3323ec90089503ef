// The scale subresource of any kind that has one: deployments, statefulsets, custom resources.
//
//   Result<autoscaling::v1::Scale> scale = GetScale(ctx, mapper, {"apps", "deployments"}, {"default", "web"});
//   scale->spec.replicas = 5;
//   Result<autoscaling::v1::Scale> done = UpdateScale(ctx, mapper, {"apps", "deployments"}, *scale);
//
// Whatever form the server's scale has (autoscaling/v1, or one of the forms before it), it is an autoscaling/v1 Scale here.
//
// Thread safety, blocking and cancellation: as Client.
// Errors: as ResourceClient; IsNoMatch where the server has no such resource; IsNotFound where it has no scale, or there is no such object.
// Cost: one request, besides what the mapper needs the first time.
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

// ---- A resource in its preferred version, which the mapper knows. An empty namespace: a resource of the cluster ----
KUBE_EXPORT Result<autoscaling::v1::Scale> GetScale(const Context& ctx, const RestMapper& mapper, const GroupResource& resource,
                                                    const ObjectKey& key, const GetOptions& options = {});
// Of the object that the scale's metadata names. Fails with IsConflict where the scale's resourceVersion is not the newest.
KUBE_EXPORT Result<autoscaling::v1::Scale> UpdateScale(const Context& ctx, const RestMapper& mapper, const GroupResource& resource,
                                                       const autoscaling::v1::Scale& scale, const UpdateOptions& options = {});

// ---- A resource in a version that the caller knows. No discovery; UpdateScale sends autoscaling/v1, which every server since 1.16 takes
// ----
KUBE_EXPORT Result<autoscaling::v1::Scale> GetScale(const Context& ctx, const Client& client, const Gvr& resource, const ObjectKey& key,
                                                    const GetOptions& options = {});
KUBE_EXPORT Result<autoscaling::v1::Scale> UpdateScale(const Context& ctx, const Client& client, const Gvr& resource,
                                                       const autoscaling::v1::Scale& scale, const UpdateOptions& options = {});
KUBE_EXPORT Result<autoscaling::v1::Scale> PatchScale(const Context& ctx, const Client& client, const Gvr& resource, const ObjectKey& key,
                                                      const Patch& patch, const PatchOptions& options = {});

}  // namespace kube
