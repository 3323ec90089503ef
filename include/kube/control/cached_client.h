// CachedClient: a client for reconcilers. Reads come from informer caches, writes go to the API server, and a reconciler reads its own
// writes.
//
//   CachedClient client = manager.cached();
//
//   Result<Ptr<Deployment>> deployment = client.Get<Deployment>(ctx, request.key);                  // from the cache
//   Result<std::vector<Ptr<Service>>> mine = client.List<Service>(ctx, {.ns = "default", .label_selector = "app=web"});
//   Result<Service> made = client.Create(ctx, service);                                             // on the server
//   Result<Pod> now = client.Live().Get<Pod>(ctx, key);                                             // a live read
//   DesiredState(client, **deployment, "web").Want(service).Apply(ctx);                             // reads from the caches
//
//   client.Resource(Gvr{"stable.example.com", "v1", "crontabs"}).Get(ctx, key);                     // kinds without a struct
//   client.Metadata<Node>().List(ctx);                                                              // metadata only
//   client.From(informer).List(ctx);                                                                // from this informer
//
// Read your writes. A cache lags behind the API server: a reconciler that creates a child and then lists its children would not see it, and
// would create another one. CachedClient therefore remembers the resourceVersion returned by each write, with the object and with the key
// whose reconcile wrote it:
//   - Get waits until the cache has seen every write of this program to that object.
//   - List waits until the cache has seen every write by reconciles of the same key to objects of that kind and namespace.
//   - The next reconcile of a key starts once all caches have seen the writes of the previous one. No worker blocks: the key is held back
//     and workers process other keys.
// A deletion counts as seen once the object with that UID is deleted, or is marked for deletion if the API server answered so. This usually
// takes milliseconds, the latency of a watch event. After CachedClientOptions::wait_timeout the wait ends, is logged and counted, and later
// reads no longer wait for that write.
//
// Writes are tracked through the reconciler's context (kube/client/write_observer.h). Writes by helpers, by other clients of the same API
// server and on other threads count if they use that context. Writes whose response was lost, and writes by other programs, are not
// tracked: use Live() if they matter.
//
// Reading a kind that has no informer is an error that names the watch to add. An implicit informer could cache a kind of the whole cluster
// in memory and would need permission to list it. CachedClientOptions::start_missing allows it and logs a line.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kube/base/clock.h"
#include "kube/base/context.h"
#include "kube/base/export.h"
#include "kube/base/result.h"
#include "kube/base/std_chrono.h"
#include "kube/base/std_memory.h"
#include "kube/cache/informer.h"
#include "kube/cache/informer_factory.h"
#include "kube/client/client.h"
#include "kube/client/rest_mapper.h"
#include "kube/meta/selector.h"

namespace kube {

class MetricsSink;

// Options of a CachedClient.
struct CachedClientOptions {
  // Whether reads and reconciles wait for earlier writes, as described above.
  bool read_your_writes = true;
  // How long one read, or one key, waits for earlier writes. It then continues with what the cache has.
  std::chrono::nanoseconds wait_timeout = std::chrono::seconds(5);
  // Maximum number of writes to remember until the caches have seen them. Beyond it the oldest are dropped and counted. About 300 bytes
  // each.
  std::size_t most_writes = 10'000;
  // Starts an informer when a kind without one is read: in InformerFactoryOptions::ns, or for all namespaces. Logs one line.
  bool start_missing = false;
  // How long a read waits for a cache that has not synced. It then fails.
  std::chrono::nanoseconds sync_timeout = std::chrono::seconds(30);
  // Where waits and dropped writes are counted; null for nowhere.
  std::shared_ptr<MetricsSink> metrics{};
  // Wall clock for timestamps that helpers write (StatusWriter); null for the system clock. Waits use the clock of the caller's context.
  std::shared_ptr<Clock> clock{};
};

// Selects objects of a cache, like ListOptions for a Client.
struct CachedListOptions {
  // Empty for all namespaces, or for the factory's namespace if it has one for all its informers.
  std::string ns{};
  std::string label_selector{};
  // The name of an index of the informer (SharedInformer::AddIndex), and the value to look up.
  std::string index{};
  std::string index_value{};
};

// The recent writes of a CachedClient. Opaque; pass it to ControllerEnvironment::writes.
class WriteTracker;

namespace internal {

// The untemplated part of CachedClient.
class KUBE_EXPORT CachedClientCore {
 public:
  CachedClientCore(Client client, InformerFactory& informers, CachedClientOptions options);
  ~CachedClientCore();
  CachedClientCore(const CachedClientCore&) = delete;
  CachedClientCore& operator=(const CachedClientCore&) = delete;

  const Client& client() const;
  const std::shared_ptr<WriteTracker>& writes() const;
  // `from` is null to choose the informer that fits.
  Result<ObjectRef> Get(const Context& ctx, const ObjectForm& form, const ResourceTarget& target,
                        const std::shared_ptr<InformerHandle>& from, const ObjectKey& key) const;
  Result<std::vector<ObjectRef>> List(const Context& ctx, const ObjectForm& form, const ResourceTarget& target,
                                      const std::shared_ptr<InformerHandle>& from, const CachedListOptions& options) const;
  // The context to write with.
  Context Writing(const Context& ctx) const;
  const std::shared_ptr<Clock>& clock() const;

  // ---- For DesiredState ----
  // Reads from an informer that has all objects of the kind in that namespace, typed or dynamic, and all their fields except managedFields.
  // Return nullopt to fall back to the API server: no such informer, it has not synced, or the object cannot be decoded.
  struct Known {
    std::optional<DynamicObject> object{};  // nullopt if it does not exist
  };
  std::optional<Known> LookUp(const Context& ctx, const Gvr& gvr, const ObjectKey& key) const;
  std::optional<std::vector<DynamicObject>> Select(const Context& ctx, const Gvr& gvr, std::string_view ns, const Selector& selector) const;
  // Shared by all users, so that each kind without a struct is looked up once.
  const RestMapper& mapper() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};
struct CachedClientAccess;

}  // namespace internal

// One kind of a CachedClient, with all verbs.
//
// Thread safety, lifetime: as CachedClient; copies are cheap.
template <ObjectType T>
class CachedResource {
 public:
  // ---- From the cache ----
  // Errors: IsNotFound if the cache has no such object, IsUndecodable if the object exists but cannot be decoded.
  Result<Ptr<T>> Get(const Context& ctx, const ObjectKey& key) const {
    Result<internal::ObjectRef> found = core_->Get(ctx, internal::ObjectForm::Of<T>(), target_, from_, key);
    if (!found) return found.error();
    return std::static_pointer_cast<const T>(*std::move(found));
  }
  // In no particular order.
  Result<std::vector<Ptr<T>>> List(const Context& ctx, const CachedListOptions& options = {}) const {
    Result<std::vector<internal::ObjectRef>> found = core_->List(ctx, internal::ObjectForm::Of<T>(), target_, from_, options);
    if (!found) return found.error();
    return internal::CastAll<T>(*std::move(found));
  }

  // ---- From the API server, bypassing the cache ----
  const ResourceClient<T>& Live() const { return live_; }
  // For helpers that write with Live(): the context to write with, so that cached reads see the write, and the clock for timestamps.
  Context Writing(const Context& ctx) const { return core_->Writing(ctx); }
  const std::shared_ptr<Clock>& clock() const { return core_->clock(); }

  // ---- To the API server, as ResourceClient ----
  Result<T> Create(const Context& ctx, const T& object, const CreateOptions& options = {}) const {
    return live_.Create(core_->Writing(ctx), object, options);
  }
  // Returns IsConflict if `object` is an outdated copy from the cache; the next reconcile sees the newer one.
  Result<T> Update(const Context& ctx, const T& object, const UpdateOptions& options = {}) const {
    return live_.Update(core_->Writing(ctx), object, options);
  }
  Result<T> UpdateStatus(const Context& ctx, const T& object, const UpdateOptions& options = {}) const {
    return live_.UpdateStatus(core_->Writing(ctx), object, options);
  }
  Result<T> Patch(const Context& ctx, const ObjectKey& key, const kube::Patch& patch, const PatchOptions& options = {},
                  std::string_view subresource = {}) const {
    return live_.Patch(core_->Writing(ctx), key, patch, options, subresource);
  }
  Result<T> Apply(const Context& ctx, const T& object, const ApplyOptions& options, std::string_view subresource = {}) const {
    return live_.Apply(core_->Writing(ctx), object, options, subresource);
  }
  Result<void> Delete(const Context& ctx, const ObjectKey& key, const DeleteOptions& options = {}) const {
    return live_.Delete(core_->Writing(ctx), key, options);
  }
  Result<void> DeleteCollection(const Context& ctx, const ListOptions& which, const DeleteOptions& options = {}) const {
    return live_.DeleteCollection(core_->Writing(ctx), which, options);
  }

 private:
  friend class CachedClient;
  CachedResource(std::shared_ptr<const internal::CachedClientCore> core, ResourceTarget target,
                 std::shared_ptr<internal::InformerHandle> from = nullptr)
      : core_(std::move(core)), target_(target), from_(std::move(from)), live_(core_->client().shared_core(), std::move(target)) {}

  std::shared_ptr<const internal::CachedClientCore> core_;
  ResourceTarget target_;
  std::shared_ptr<internal::InformerHandle> from_;
  ResourceClient<T> live_;
};

// A cheap handle: copies share the record of writes.
//
// Choice of the informer: same form (typed, dynamic or metadata only) and a namespace that covers the read. An informer without selectors
// and with all fields is preferred. Otherwise there must be exactly one, and a read does not find objects that its selectors exclude. If
// there are several, the read fails: use From.
//
// Thread safety: all functions may be called from many threads at once.
// Lifetime: copies may outlive the InformerFactory and the manager. Reads then fail with kClosed; writes still work. Informers started by
//   start_missing stop with the last copy or with the factory.
// Blocking and cancellation: reads wait as described above and end with the context; writes block as in ResourceClient.
// Errors: reads return IsNotFound or IsUndecodable; kInvalid if there is no informer, it was not started, several fit, or the selector or
//   index is invalid; kClosed after the manager has ended; kTimeout if the cache has not synced; or the context's error. Writes return
//   those of ResourceClient.
// Cost: a read costs two locks plus the Indexer's work and copies nothing. Tracking adds about a microsecond to a write.
class KUBE_EXPORT CachedClient {
 public:
  CachedClient(Client client, InformerFactory& informers, CachedClientOptions options = {})
      : core_(std::make_shared<internal::CachedClientCore>(std::move(client), informers, std::move(options))) {}

  // The client for live reads, which bypass the caches.
  const Client& Live() const { return core_->client(); }
  // The context for writes with Live(), so that cached reads see them. Create, Update and the other verbs below use it already.
  Context Writing(const Context& ctx) const { return core_->Writing(ctx); }

  // ---- A kind, then the verb ----
  template <kube::Resource T>
  CachedResource<T> Resource() const {
    return {core_, {.gvr = GvrOf<T>(), .gvk = GvkOf<T>(), .type = &T::kType, .namespaced = IsNamespaced<T>()}};
  }
  CachedResource<DynamicObject> Resource(Gvr gvr) const { return {core_, {.gvr = std::move(gvr)}}; }
  template <kube::Resource T>
  CachedResource<meta::v1::PartialObjectMetadata> Metadata() const {
    return {core_, MetadataTarget(GvrOf<T>(), IsNamespaced<T>())};
  }
  CachedResource<meta::v1::PartialObjectMetadata> Metadata(Gvr gvr) const { return {core_, MetadataTarget(std::move(gvr), {})}; }
  // Reads from this informer only.
  template <ObjectType T>
  CachedResource<T> From(const SharedInformer<T>& informer) const {
    return {core_, internal::TargetOf<T>(informer.gvr()), internal::InformerAccess::HandleOf(informer)};
  }

  // ---- The verb, then the kind ----
  template <kube::Resource T>
  Result<Ptr<T>> Get(const Context& ctx, const ObjectKey& key) const {
    return Resource<T>().Get(ctx, key);
  }
  template <kube::Resource T>
  Result<std::vector<Ptr<T>>> List(const Context& ctx, const CachedListOptions& options = {}) const {
    return Resource<T>().List(ctx, options);
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

  // For ControllerEnvironment::writes, in a program that runs a Controller without a Manager.
  const std::shared_ptr<WriteTracker>& writes() const { return core_->writes(); }
  // The number of writes that are currently remembered.
  std::size_t unseen_writes() const;

 private:
  friend struct internal::CachedClientAccess;
  static ResourceTarget MetadataTarget(Gvr gvr, std::optional<bool> namespaced) {
    return {.gvr = std::move(gvr), .type = &meta::v1::PartialObjectMetadata::kType, .metadata_only = true, .namespaced = namespaced};
  }

  std::shared_ptr<const internal::CachedClientCore> core_;
};

namespace internal {
// For helpers.
struct CachedClientAccess {
  static const std::shared_ptr<const CachedClientCore>& CoreOf(const CachedClient& client) { return client.core_; }
};
}  // namespace internal

}  // namespace kube
