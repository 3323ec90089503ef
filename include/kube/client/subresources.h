// Subresources that are calls rather than objects: eviction and binding of pods, tokens of service accounts, containers for debugging.
// (Scale has a header of its own, scale.h; status is a verb of the Client.)
//
//   Result<void> evicted = EvictPod(ctx, client, {"default", "web-0"});
//   if (!evicted && IsTooManyRequests(evicted.error())) ...      // a PodDisruptionBudget does not allow it now: try again later
//   Result<authentication::v1::TokenRequest> token = CreateServiceAccountToken(ctx, client, {"default", "robot"}, {.expiration_seconds =
//   600});
//
// Thread safety, blocking and cancellation, errors, cost: as ResourceClient.
#pragma once

#include <string_view>

#include "kube/api/authentication/v1.h"
#include "kube/api/core/v1.h"
#include "kube/base/context.h"
#include "kube/base/export.h"
#include "kube/base/result.h"
#include "kube/client/client.h"
#include "kube/client/options.h"
#include "kube/meta/object_key.h"

namespace kube {

// Deletes a pod, unless a PodDisruptionBudget forbids that at the moment (429). With policy/v1, which all servers since 1.22 have.
KUBE_EXPORT Result<void> EvictPod(const Context& ctx, const Client& client, const ObjectKey& pod, const DeleteOptions& options = {});

// What a scheduler does: the pod goes to this node. Errors: IsConflict where it has one already.
KUBE_EXPORT Result<void> BindPod(const Context& ctx, const Client& client, const ObjectKey& pod, std::string_view node,
                                 const CreateOptions& options = {});

// A new token of a service account; it is in status.token, and has to be treated as the secret that it is.
KUBE_EXPORT Result<authentication::v1::TokenRequest> CreateServiceAccountToken(const Context& ctx, const Client& client,
                                                                               const ObjectKey& service_account,
                                                                               const authentication::v1::TokenRequestSpec& spec = {},
                                                                               const CreateOptions& options = {});

// Takes spec.ephemeralContainers of `pod`, and nothing else; they can be added, but not changed or removed.
KUBE_EXPORT Result<core::v1::Pod> UpdateEphemeralContainers(const Context& ctx, const Client& client, const core::v1::Pod& pod,
                                                            const UpdateOptions& options = {});

}  // namespace kube
