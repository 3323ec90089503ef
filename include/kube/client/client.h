// Client: talks to a Kubernetes API server.
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
// More: retry.h (RetryOnConflict), pager.h, wait.h, discovery.h, subresources.h (scale, evict, bind, tokens), pods.h (logs, exec, attach,
// port-forward).
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

struct ClientOptions {
  std::shared_ptr<MetricsSink> metrics{};                    // rest_client_*; null: none
  std::function<void(const ApiWarning&)> warning_handler{};  // on the thread of the call; empty: logged, each text once
  std::shared_ptr<RateLimiter> rate_limiter{};               // wins over the config's qps and burst
  int max_retries = 10;
  // Put around the connection, inside of credentials, retries and limits; sees every attempt as it is sent, Authorization included.
  std::function<std::shared_ptr<Transport>(std::shared_ptr<Transport>)> wrap_transport{};
  // In the place of the network: for tests. Nothing of the config that concerns connections counts then.
  std::shared_ptr<Transport> transport{};
  std::shared_ptr<Clock> clock{};  // null: the real one
};

// A cheap handle: copies share one connection, one rate limit and one I/O thread.
//
// Thread safety: all functions may be called from many threads at once.
// Lifetime: the connection ends with the last copy, of which ResourceClients, Discovery and RestMapper hold one; calls that wait meanwhile
//   hold it. Watches and logs end with it, exec sessions and forwarded ports do not.
// Blocking and cancellation, errors, cost: as ResourceClient.
class KUBE_EXPORT Client {
 public:
  // Reads the files that the config names. Nothing is sent: a server that is not there is found out by the first call.
  // Errors: kConfig; kAuth for an auth provider that is not supported.
  static Result<Client> FromConfig(const ClientConfig& config, ClientOptions options = {});
  // As kubectl finds its server. Errors: those of LoadConfig (IsEmptyConfig ...) and FromConfig.
  static Result<Client> FromEnvironment(ClientOptions options = {});

  Client(const Client&) = default;
  Client(Client&&) noexcept = default;
  Client& operator=(const Client&) = default;
  Client& operator=(Client&&) noexcept = default;
  ~Client();

  const ClientConfig& config() const;
  // The namespace of the context, or "default".
  const std::string& default_namespace() const;

  // ---- A kind, then the verb ----
  template <Resource T>
  ResourceClient<T> Resource() const {
    return {core_, {.gvr = GvrOf<T>(), .gvk = GvkOf<T>(), .type = &T::kType, .namespaced = IsNamespaced<T>()}};
  }
  ResourceClient<DynamicObject> Resource(Gvr gvr) const { return {core_, {.gvr = std::move(gvr)}}; }
  // Where more is known than the name of the resource; RestMapper::Resource finds it out.
  ResourceClient<DynamicObject> ResourceAt(ResourceTarget target) const { return {core_, std::move(target)}; }
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

  // ---- The verb, then the kind ----
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

  // ---- Anything else ----
  // A request as it is, with credentials, limits and retries: /healthz, /metrics, a proxied service. Codes other than
  // 200 to 206 are errors, with what the server said.
  Result<HttpResponse> Raw(const Context& ctx, HttpRequest request) const;
  // What requests go through, credentials and all; for code that builds on HTTP itself.
  const std::shared_ptr<Transport>& transport() const;
  // What the connections of the real transport did; zeros for an injected one.
  TransportStats transport_stats() const;

  const ClientCore& core() const { return *core_; }
  const std::shared_ptr<const ClientCore>& shared_core() const { return core_; }

 private:
  explicit Client(std::shared_ptr<const ClientCore> core) : core_(std::move(core)) {}
  std::shared_ptr<const ClientCore> core_;
};

}  // namespace kube
