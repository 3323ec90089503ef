// Client: a connection to a Kubernetes API server, with the verbs for every kind.
//
//   Result<Client> client = Client::FromEnvironment();                  // $KUBECONFIG, ~/.kube/config, a pod's service account
//   Result<Pod> pod = client->Get<Pod>(ctx, {"default", "web"});
//   Result<ObjectList<Pod>> pods = client->List<Pod>(ctx, {.ns = "default", .label_selector = "app=web"});
//   pod->metadata.labels["tier"] = "front";
//   Result<Pod> updated = client->Update(ctx, *pod);
//   if (!updated && IsConflict(updated.error())) ...
//
//   client->Resource(Gvr{"stable.example.com", "v1", "crontabs"}).Get(ctx, {"default", "x"});   // kinds without a struct
//   client->Metadata<Pod>().List(ctx);                                                           // metadata only
//
// See also retry.h (RetryOnConflict), pager.h, wait.h, discovery.h, subresources.h (scale, evict, bind, tokens) and pods.h (logs, exec,
// attach, port-forward).
#pragma once

#include <string>
#include <utility>

#include "kube/base/context.h"
#include "kube/base/export.h"
#include "kube/base/result.h"
#include "kube/base/std_function.h"
#include "kube/base/std_memory.h"
#include "kube/client/options.h"
#include "kube/client/resource_client.h"
#include "kube/client/watch.h"

namespace kube {

class Clock;
class MetricsSink;
class RateLimiter;
class Transport;
struct ApiWarning;
struct ClientConfig;
struct HttpRequest;
struct HttpResponse;
struct LoadOptions;
struct TransportStats;

// Options of a Client that do not come from the kubeconfig.
struct ClientOptions {
  std::shared_ptr<MetricsSink> metrics{};                    // rest_client_* metrics; null: none
  std::function<void(const ApiWarning&)> warning_handler{};  // called on the calling thread; empty: each distinct warning is logged once
  std::shared_ptr<RateLimiter> rate_limiter{};               // overrides qps and burst of the config
  int max_retries = 10;                                      // per request
  // Wraps the network transport. Runs inside credentials, retries and rate limits, so it sees every attempt as it is sent, including
  // Authorization.
  std::function<std::shared_ptr<Transport>(std::shared_ptr<Transport>)> wrap_transport{};
  // Replaces the network, for tests. The connection settings of the config are then ignored.
  std::shared_ptr<Transport> transport{};
  std::shared_ptr<Clock> clock{};  // null: the real clock
};

// A client for one API server. Copies are cheap: they share one connection, one rate limit and one I/O thread.
//
// Thread safety: all functions may be called from many threads at once.
// Lifetime: the connection closes with the last copy. Each ResourceClient, Discovery and RestMapper holds a copy, and so does a call in
//   progress. Watches and log streams end with the connection; exec sessions and forwarded ports do not.
// Blocking and cancellation, errors, cost: as ResourceClient.
class KUBE_EXPORT Client {
 public:
  // Creates a client from `config` and reads the files that it names. Sends nothing: an unreachable server shows up in the first call.
  // Errors: kConfig; kAuth if the auth provider is not supported.
  static Result<Client> FromConfig(const ClientConfig& config, ClientOptions options = {});
  // Finds the server as kubectl does. Errors: those of LoadConfig (IsEmptyConfig ...) and FromConfig.
  static Result<Client> FromEnvironment(ClientOptions options = {});

  Client(const Client&) = default;
  Client(Client&&) noexcept = default;
  Client& operator=(const Client&) = default;
  Client& operator=(Client&&) noexcept = default;
  ~Client();

  // The config that the client was created from.
  const ClientConfig& config() const;
  // The namespace of the kubeconfig context, or "default".
  const std::string& default_namespace() const;

  // ---- Clients for one kind ----
  // All verbs for a kind that has a struct.
  template <Resource T>
  ResourceClient<T> Resource() const {
    return {core_, {.gvr = GvrOf<T>(), .gvk = GvkOf<T>(), .type = &T::kType, .namespaced = IsNamespaced<T>()}};
  }
  // All verbs for a resource given by name, with objects as DynamicObject.
  ResourceClient<DynamicObject> Resource(Gvr gvr) const { return {core_, {.gvr = std::move(gvr)}}; }
  // The same if more than the name of the resource is known. RestMapper::Resource discovers the rest.
  ResourceClient<DynamicObject> ResourceAt(ResourceTarget target) const { return {core_, std::move(target)}; }
  // As Resource, but objects carry only their metadata (PartialObjectMetadata).
  template <kube::Resource T>
  ResourceClient<meta::v1::PartialObjectMetadata> Metadata() const {
    return {core_,
            {.gvr = GvrOf<T>(),
             .gvk = GvkOf<T>(),
             .type = &meta::v1::PartialObjectMetadata::kType,
             .metadata_only = true,
             .namespaced = IsNamespaced<T>()}};
  }
  ResourceClient<meta::v1::PartialObjectMetadata> Metadata(Gvr gvr) const {
    return {core_, {.gvr = std::move(gvr), .type = &meta::v1::PartialObjectMetadata::kType, .metadata_only = true}};
  }

  // ---- Verbs, with the kind as a template argument; see ResourceClient ----
  template <kube::Resource T>
  Result<T> Get(const Context& ctx, const ObjectKey& key, const GetOptions& options = {}) const {
    return Resource<T>().Get(ctx, key, options);
  }
  template <kube::Resource T>
  Result<ObjectList<T>> List(const Context& ctx, const ListOptions& options = {}) const {
    return Resource<T>().List(ctx, options);
  }
  template <kube::Resource T>
  Result<Watcher<T>> Watch(const Context& ctx, const WatchOptions& options = {}) const {
    return Resource<T>().Watch(ctx, options);
  }
  template <kube::Resource T>
  Result<T> Create(const Context& ctx, const T& object, const CreateOptions& options = {}) const {
    return Resource<T>().Create(ctx, object, options);
  }
  template <kube::Resource T>
  Result<T> Update(const Context& ctx, const T& object, const UpdateOptions& options = {}) const {
    return Resource<T>().Update(ctx, object, options);
  }
  template <kube::Resource T>
  Result<T> UpdateStatus(const Context& ctx, const T& object, const UpdateOptions& options = {}) const {
    return Resource<T>().UpdateStatus(ctx, object, options);
  }
  template <kube::Resource T>
  Result<T> Patch(const Context& ctx, const ObjectKey& key, const kube::Patch& patch, const PatchOptions& options = {}) const {
    return Resource<T>().Patch(ctx, key, patch, options);
  }
  template <kube::Resource T>
  Result<T> Apply(const Context& ctx, const T& object, const ApplyOptions& options) const {
    return Resource<T>().Apply(ctx, object, options);
  }
  template <kube::Resource T>
  Result<void> Delete(const Context& ctx, const ObjectKey& key, const DeleteOptions& options = {}) const {
    return Resource<T>().Delete(ctx, key, options);
  }
  template <kube::Resource T>
  Result<void> DeleteCollection(const Context& ctx, const ListOptions& which, const DeleteOptions& options = {}) const {
    return Resource<T>().DeleteCollection(ctx, which, options);
  }

  // ---- Raw access ----
  // Sends `request` as it is, with credentials, rate limits and retries: /healthz, /metrics, a proxied service. A code outside 200 to 206
  // is an error that carries the server's message.
  Result<HttpResponse> Raw(const Context& ctx, HttpRequest request) const;
  // The transport of this client, including credentials, for code that builds on plain HTTP.
  const std::shared_ptr<Transport>& transport() const;
  // Connection statistics of the real transport; zeros for an injected one.
  TransportStats transport_stats() const;

  // Used by other parts of the library.
  const ClientCore& core() const { return *core_; }
  const std::shared_ptr<const ClientCore>& shared_core() const { return core_; }

 private:
  explicit Client(std::shared_ptr<const ClientCore> core) : core_(std::move(core)) {}
  std::shared_ptr<const ClientCore> core_;
};

}  // namespace kube
