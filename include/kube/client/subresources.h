// Subresources that act as calls: pod eviction and binding, service account tokens, ephemeral containers. Scale is in scale.h; status is a
// verb of the Client.
//
//   Result<void> evicted = EvictPod(ctx, client, {"default", "web-0"});
//   if (!evicted && IsTooManyRequests(evicted.error())) ...      // a PodDisruptionBudget blocks it now: retry later
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

// Deletes a pod, unless a PodDisruptionBudget currently forbids it (429). Uses policy/v1, which all servers since 1.22 support.
KUBE_EXPORT Result<void> EvictPod(const Context& ctx, const Client& client, const ObjectKey& pod, const DeleteOptions& options = {});

// Binds a pod to a node, as a scheduler does. Errors: IsConflict if the pod is already bound.
KUBE_EXPORT Result<void> BindPod(const Context& ctx, const Client& client, const ObjectKey& pod, std::string_view node,
                                 const CreateOptions& options = {});

// Requests a token for a service account. The token is in status.token; treat it as a secret.
KUBE_EXPORT Result<authentication::v1::TokenRequest> CreateServiceAccountToken(const Context& ctx, const Client& client,
                                                                               const ObjectKey& service_account,
                                                                               const authentication::v1::TokenRequestSpec& spec = {},
                                                                               const CreateOptions& options = {});

// Updates only spec.ephemeralContainers of `pod`. Containers can be added, but not changed or removed.
KUBE_EXPORT Result<core::v1::Pod> UpdateEphemeralContainers(const Context& ctx, const Client& client, const core::v1::Pod& pod,
                                                            const UpdateOptions& options = {});

}  // namespace kube
