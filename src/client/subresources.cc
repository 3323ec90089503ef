#include "kube/client/subresources.h"

#include <utility>

#include "kube/api/policy/v1.h"
#include "kube/meta/v1.h"

namespace kube {

Result<void> EvictPod(const Context& ctx, const Client& client, const ObjectKey& pod, const DeleteOptions& options) {
  policy::v1::Eviction eviction;
  eviction.metadata.name = pod.name;
  eviction.metadata.namespace_ = pod.ns;
  if (options.grace_period_seconds || !options.propagation.empty() || !options.uid.empty() || !options.resource_version.empty() ||
      options.dry_run) {
    meta::v1::DeleteOptions& how = eviction.delete_options.Mutable();
    how.grace_period_seconds = options.grace_period_seconds;
    if (!options.propagation.empty()) how.propagation_policy = String(options.propagation);
    if (!options.uid.empty()) how.preconditions.Mutable().uid = String(options.uid);
    if (!options.resource_version.empty()) how.preconditions.Mutable().resource_version = String(options.resource_version);
    if (options.dry_run) how.dry_run.push_back("All");
  }
  const CreateOptions create{.dry_run = options.dry_run};
  Result<meta::v1::Status> done =
      client.Resource<core::v1::Pod>().PostSubresource<meta::v1::Status>(ctx, pod, "eviction", eviction, create);
  if (!done) return done.error();
  return {};
}

Result<void> BindPod(const Context& ctx, const Client& client, const ObjectKey& pod, std::string_view node, const CreateOptions& options) {
  if (node.empty()) return Error::Invalid("the name of the node is missing").WithContext("bind pod " + pod.ToString());
  core::v1::Binding binding;
  binding.metadata.name = pod.name;
  binding.metadata.namespace_ = pod.ns;
  binding.target.kind = "Node";
  binding.target.name = node;
  Result<meta::v1::Status> done = client.Resource<core::v1::Pod>().PostSubresource<meta::v1::Status>(ctx, pod, "binding", binding, options);
  if (!done) return done.error();
  return {};
}

Result<authentication::v1::TokenRequest> CreateServiceAccountToken(const Context& ctx, const Client& client,
                                                                   const ObjectKey& service_account,
                                                                   const authentication::v1::TokenRequestSpec& spec,
                                                                   const CreateOptions& options) {
  authentication::v1::TokenRequest request;
  request.spec = spec;
  return client.Resource<core::v1::ServiceAccount>().PostSubresource<authentication::v1::TokenRequest>(ctx, service_account, "token",
                                                                                                       request, options);
}

Result<core::v1::Pod> UpdateEphemeralContainers(const Context& ctx, const Client& client, const core::v1::Pod& pod,
                                                const UpdateOptions& options) {
  return client.Resource<core::v1::Pod>().UpdateSubresource(ctx, "ephemeralcontainers", pod, options);
}

}  // namespace kube
