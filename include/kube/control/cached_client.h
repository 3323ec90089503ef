// CachedClient: the client of a reconciler. Reads come from informers' caches, writes go to the server, and a reconciler reads its own
// writes.
//
//   CachedClient client = manager.cached();
//
//   Result<Ptr<Deployment>> deployment = client.Get<Deployment>(ctx, request.key);                  // from the cache
//   Result<std::vector<Ptr<Service>>> mine = client.List<Service>(ctx, {.ns = "default", .label_selector = "app=web"});
//   Result<Service> made = client.Create(ctx, service);                                             // on the server
//   Result<Pod> now = client.Live().Get<Pod>(ctx, key);                                             // what the server has at this moment
//   DesiredState(client, **deployment, "web").Want(service).Apply(ctx);                             // reads from the caches that there are
//
//   client.Resource(Gvr{"stable.example.com", "v1", "crontabs"}).Get(ctx, key);                     // kinds without a struct
//   client.Metadata<Node>().List(ctx);                                                              // metadata alone
//   client.From(informer).List(ctx);                                                                // of that informer
//
// Read your writes. A cache is behind the server: a reconciler that creates a child and lists its children would not see it, and create
// another. So the version that the server answered to each write is remembered, with the object and with the key whose reconcile wrote:
//   - a Get waits until the cache has seen all that this program wrote to that object;
//   - a List waits until the cache has seen all that the same key's reconciles wrote to objects of that kind and namespace;
//   - the next reconcile of the key begins when all caches have seen what the one before wrote. No worker waits for that: the key is
//     put aside, and other keys go on.
// A deletion counts as seen when the object with that UID is gone, or is being deleted where the server said so. Waiting ends after
// CachedClientOptions::wait_timeout, is logged and counted, and that write is not waited for again. It takes milliseconds otherwise: the
// time that an event needs.
//
// Writes are known by the context that a reconciler is given (kube/client/write_observer.h): those of helpers and of other clients of the
// same server count too, and on other threads, as long as they are made with that context. Not known are writes whose answer was lost,
// and those of other programs: for these there is Live().
//
// A kind that has no informer is not read: the error says which watch to add. An informer that nobody asked for would hold a kind of the
// whole cluster in memory, and need permission to list it. CachedClientOptions::start_missing allows it, with a line in the log.
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

struct CachedClientOptions {
  bool read_your_writes = true;
  // How long one read, or one key, waits for what was written before. Then it goes on, with what the cache has.
  std::chrono::nanoseconds wait_timeout = std::chrono::seconds(5);
  // Writes that are remembered because a cache has not seen them. Beyond that the oldest are forgotten, and counted. About 300 bytes each.
  std::size_t most_writes = 10'000;
  // A read of a kind without an informer starts one: in InformerFactoryOptions::ns, or for all namespaces. One line in the log says so.
  bool start_missing = false;
  // How long a read waits for a cache that is not complete yet; then it is an error.
  std::chrono::nanoseconds sync_timeout = std::chrono::seconds(30);
  std::shared_ptr<MetricsSink> metrics{};
  // The time of day that helpers write (StatusWriter); null: the machine's. Waiting uses the clock of the caller's context.
  std::shared_ptr<Clock> clock{};
};

// Which objects of a cache. As ListOptions of a Client.
struct CachedListOptions {
  std::string ns{};  // empty: all namespaces; in a factory that has one for all its informers, that one
  std::string label_selector{};
  // An index of the informer, by name, and the value to look for (SharedInformer::AddIndex).
  std::string index{};
  std::string index_value{};
};

// What a CachedClient remembers of writes. Opaque: only to pass to ControllerEnvironment::writes.
class WriteTracker;

namespace internal {

// The client without templates.
class KUBE_EXPORT CachedClientCore {
 public:
  CachedClientCore(Client client, InformerFactory& informers, CachedClientOptions options);
  ~CachedClientCore();
  CachedClientCore(const CachedClientCore&) = delete;
  CachedClientCore& operator=(const CachedClientCore&) = delete;

  const Client& client() const;
  const std::shared_ptr<WriteTracker>& writes() const;
  // `from` null: the informer that fits.
  Result<ObjectRef> Get(const Context& ctx, const ObjectForm& form, const ResourceTarget& target,
                        const std::shared_ptr<InformerHandle>& from, const ObjectKey& key) const;
  Result<std::vector<ObjectRef>> List(const Context& ctx, const ObjectForm& form, const ResourceTarget& target,
                                      const std::shared_ptr<InformerHandle>& from, const CachedListOptions& options) const;
  // The context that a write is made with.
  Context Writing(const Context& ctx) const;
  const std::shared_ptr<Clock>& clock() const;

  // ---- For DesiredState ----
  // Reads of an informer that has all objects of the kind in that namespace, and all of their fields but managedFields; typed and dynamic
  // ones alike. Nothing: there is no such informer, it is not complete, or the object cannot be decoded: ask the server.
  struct Known {
    std::optional<DynamicObject> object{};  // none: it does not exist
  };
  std::optional<Known> LookUp(const Context& ctx, const Gvr& gvr, const ObjectKey& key) const;
  std::optional<std::vector<DynamicObject>> Select(const Context& ctx, const Gvr& gvr, std::string_view ns, const Selector& selector) const;
  // One for all, so that kinds without a struct are looked up once.
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
  // Errors: IsNotFound where the cache has none, IsUndecodable where the object exists and cannot be decoded.
  Result<Ptr<T>> Get(const Context& ctx, const ObjectKey& key) const {
    Result<internal::ObjectRef> found = core_->Get(ctx, internal::ObjectForm::Of<T>(), target_, from_, key);
    if (!found) return found.error();
    return std::static_pointer_cast<const T>(*std::move(found));
  }
  // In no order.
  Result<std::vector<Ptr<T>>> List(const Context& ctx, const CachedListOptions& options = {}) const {
    Result<std::vector<internal::ObjectRef>> found = core_->List(ctx, internal::ObjectForm::Of<T>(), target_, from_, options);
    if (!found) return found.error();
    return internal::CastAll<T>(*std::move(found));
  }

  // ---- From the server, past the cache ----
  const ResourceClient<T>& Live() const { return live_; }
  // For helpers that write with Live(): the context to write with, so that cached reads see it; and the clock that they tell the time by.
  Context Writing(const Context& ctx) const { return core_->Writing(ctx); }
  const std::shared_ptr<Clock>& clock() const { return core_->clock(); }

  // ---- To the server: as ResourceClient ----
  Result<T> Create(const Context& ctx, const T& object, const CreateOptions& options = {}) const {
    return live_.Create(core_->Writing(ctx), object, options);
  }
  // An object out of the cache may be behind: IsConflict then, and the next run has the newer one.
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

// A cheap handle: copies share what was written.
//
// Which informer is read: one of the same form (typed, dynamic, metadata alone) whose namespace covers what is asked for. One without
// selectors and with all fields goes first; otherwise the only one that there is: what it does not select is not found. Several of those
// are an error: use From.
//
// Thread safety: all functions may be called from many threads at once.
// Lifetime: copies may outlive the InformerFactory, or the manager: reads are errors of kind kClosed then, writes go on. Informers that it
//   started itself (start_missing) stop with its last copy, or with the factory.
// Blocking and cancellation: reads wait as said above, and end with the context; a write as ResourceClient.
// Errors: of reads IsNotFound, IsUndecodable; kInvalid: no informer, one that was not started, several of them, a selector or an index that
// cannot be; kClosed after the manager's end;
//   the context's; kTimeout for a cache that is not complete. Of writes as ResourceClient.
// Cost: of a read two locks and what Indexer costs; nothing is copied. Of a write about a microsecond more than without.
class KUBE_EXPORT CachedClient {
 public:
  CachedClient(Client client, InformerFactory& informers, CachedClientOptions options = {})
      : core_(std::make_shared<internal::CachedClientCore>(std::move(client), informers, std::move(options))) {}

  // The server, past all caches.
  const Client& Live() const { return core_->client(); }
  // The context for writes with Live(), so that cached reads see them; Create, Update ... use it by themselves.
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
  // Reads from this informer and no other.
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

  // For ControllerEnvironment::writes: a controller without a manager.
  const std::shared_ptr<WriteTracker>& writes() const { return core_->writes(); }
  // How many writes are remembered at the moment.
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
