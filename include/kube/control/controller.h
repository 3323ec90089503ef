// Controller: watches kinds, queues the keys that their changes affect, and calls a reconciler for each key until it succeeds.
//
//   ControllerSpec spec = ControllerFor<Deployment>("auto-expose")
//                             .Owns<Service>()                                   // children: watched, cached, and may be applied
//                             .Watches<ConfigMap>([](const ConfigMap& config) { return std::vector<ObjectKey>{...}; })
//                             .Workers(4)
//                             .Reconcile([&](const Context& ctx, const Deployment& deployment) -> Result<Action> { ... });
//
//   manager.Add(std::move(spec));                                                // or, without a manager:
//
//   Result<std::unique_ptr<Controller>> controller = Controller::Create(std::move(spec), {.informers = &informers});
//   (*controller)->Start();
//   informers.Start(ctx);
//   (*controller)->Run(ctx);                                                     // waits for the caches, then works until ctx stops
//
// A controller is built on an InformerFactory (kube/cache) and a WorkQueue (kube/queue). Both can be used alone: examples/pod_controller.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "kube/base/clock.h"
#include "kube/base/context.h"
#include "kube/base/export.h"
#include "kube/base/result.h"
#include "kube/base/std_chrono.h"
#include "kube/base/std_function.h"
#include "kube/base/std_memory.h"
#include "kube/cache/informer.h"
#include "kube/cache/informer_factory.h"
#include "kube/control/access.h"
#include "kube/control/child_marks.h"
#include "kube/control/controller_spec.h"
#include "kube/control/predicate.h"
#include "kube/control/reconcile.h"
#include "kube/meta/dynamic_kind.h"
#include "kube/meta/gvk.h"
#include "kube/meta/object_traits.h"
#include "kube/meta/owner_reference.h"
#include "kube/queue/rate_limiters.h"
#include "kube/queue/work_queue.h"

namespace kube {

class MetricsSink;
class WriteTracker;

// Builds the ControllerSpec of a controller that reconciles objects of T. ControllerFor creates one.
//
// Thread safety: one thread at a time.
template <ObjectType T>
class ControllerBuilder {
 public:
  ControllerBuilder(std::string name, Gvr gvr, Gvk gvk, bool namespaced)
      : gvr_(std::move(gvr)), gvk_(std::move(gvk)), namespaced_(namespaced) {
    spec_.name = std::move(name);
  }

  // Sets how T itself is watched. The default is all objects.
  ControllerBuilder& For(SourceOptions<T> options) {
    for_ = std::move(options);
    return *this;
  }

  // Watches children: objects whose controller reference names a T. Their changes enqueue the owner, DesiredState(cached, ...) reads their
  // cache, and the reconciler may apply them, as with MayApply<U>().
  template <Resource U>
  ControllerBuilder& Owns(SourceOptions<U> options = {}) {
    return WatchesOwned<U>(std::move(options)).template MayApply<U>();
  }
  // The same for a kind without a C++ type.
  ControllerBuilder& Owns(Gvr gvr, SourceOptions<DynamicObject> options = {}) {
    Needs({.group = gvr.group.str(), .resource = gvr.resource.str(), .verbs = ApplyVerbs()}).Needs(OwnNeed("finalizers", {"update"}));
    return Watch<DynamicObject>(std::move(gvr), std::move(options), Owners<DynamicObject>(), true);
  }
  // Owns children that may also live outside of their owner's namespace, as DesiredState::Anywhere() creates them. They are watched and
  // cached in all namespaces, and the reconciler may apply them there and write finalizers of T.
  template <Resource U>
  ControllerBuilder& OwnsAnywhere(SourceOptions<U> options = {}, std::string mark_prefix = std::string(kMarkPrefix)) {
    return WatchAnywhere<U>(GvrOf<U>(), std::move(options), std::move(mark_prefix));
  }
  ControllerBuilder& OwnsAnywhere(Gvr gvr, SourceOptions<DynamicObject> options = {}, std::string mark_prefix = std::string(kMarkPrefix)) {
    return WatchAnywhere<DynamicObject>(std::move(gvr), std::move(options), std::move(mark_prefix));
  }
  // Like Owns, but without the permission to write the children.
  template <Resource U>
  ControllerBuilder& WatchesOwned(SourceOptions<U> options = {}) {
    return Watch<U>(GvrOf<U>(), std::move(options), Owners<U>(), true);
  }

  // Watches other objects. `map` returns the keys to enqueue for an object; an update enqueues those of the old and of the new version.
  template <Resource U>
  ControllerBuilder& Watches(std::function<std::vector<ObjectKey>(const U& object)> map, SourceOptions<U> options = {}) {
    return Watch<U>(GvrOf<U>(), std::move(options), Mapping<U>(std::move(map)));
  }
  // The same for a kind without a C++ type.
  ControllerBuilder& Watches(Gvr gvr, std::function<std::vector<ObjectKey>(const DynamicObject& object)> map,
                             SourceOptions<DynamicObject> options = {}) {
    return Watch<DynamicObject>(std::move(gvr), std::move(options), Mapping<DynamicObject>(std::move(map)));
  }
  // Watches metadata only: enough to notice a change, at a fraction of the memory.
  ControllerBuilder& WatchesMetadata(Gvr gvr, std::function<std::vector<ObjectKey>(const meta::v1::PartialObjectMetadata& object)> map,
                                     SourceOptions<meta::v1::PartialObjectMetadata> options = {}) {
    return Watch<meta::v1::PartialObjectMetadata>(std::move(gvr), std::move(options),
                                                  Mapping<meta::v1::PartialObjectMetadata>(std::move(map)));
  }

  // Number of concurrent workers: ControllerOptions::workers.
  ControllerBuilder& Workers(int workers) {
    spec_.options.workers = workers;
    return *this;
  }
  // Deadline for a single Reconcile call: ControllerOptions::reconcile_timeout.
  ControllerBuilder& ReconcileTimeout(std::chrono::nanoseconds timeout) {
    spec_.options.reconcile_timeout = timeout;
    return *this;
  }
  // Delays of retries: ControllerOptions::rate_limiter.
  ControllerBuilder& RateLimited(std::shared_ptr<RetryLimiter> limiter) {
    spec_.options.rate_limiter = std::move(limiter);
    return *this;
  }
  // Runs the workers on every replica, not only on the leader.
  ControllerBuilder& OnAllReplicas() {
    spec_.options.needs_leader = false;
    return *this;
  }

  // Declares permissions beyond those of watches and of Owns, for --print-rbac and the check at startup (access.h). A write that was not
  // declared is logged when it happens, with the line to add.
  //
  // MayApply is for children that DesiredState maintains but that are not watched. It includes `update` on the owner's finalizers, which
  // some clusters require of a client that sets blockOwnerDeletion.
  template <Resource... Kinds>
  ControllerBuilder& MayApply() {
    (MayWrite<Kinds>(ApplyVerbs()), ...);
    return Needs(OwnNeed("finalizers", {"update"}));
  }
  // For StatusWriter, which patches, and reads after a conflict.
  ControllerBuilder& MayWriteStatus(std::vector<std::string> verbs = {"patch"}) {
    return Needs(OwnNeed("", {"get"})).Needs(OwnNeed("status", std::move(verbs)));
  }
  // For Finalizers.
  ControllerBuilder& MayWriteFinalizers() { return Needs(OwnNeed("", {"get", "patch"})); }
  // Any other write.
  template <Resource U>
  ControllerBuilder& MayWrite(std::vector<std::string> verbs, std::string subresource = {}) {
    return Needs(Need<U>(std::move(verbs), {}, std::move(subresource)));
  }
  // Any other permission.
  ControllerBuilder& Needs(AccessNeed need) {
    if (need.why.empty()) need.why = "controller " + spec_.name + " writes it";
    for (const AccessNeed& known : spec_.needs) {
      if (known == need) return *this;
    }
    spec_.needs.push_back(std::move(need));
    return *this;
  }

  // Returns the finished spec; call it last. The reconciler gets the object from the cache, once the cache has seen this program's own
  // writes to it. It is not called for objects that do not exist: clean up with owner references or Finalizers. Any other read error
  // (IsUndecodable, a cache that has not synced) fails the run, which is retried.
  template <typename F>
  requires(std::is_invocable_r_v<Result<Action>, const F&, const Context&, const T&> &&
           !std::is_invocable_v<const F&, const Context&, const Request&>) ControllerSpec Reconcile(F reconciler) {
    spec_.reconcile_object.source_ = [gvr = gvr_, options = for_.informer](InformerFactory& informers) {
      return internal::InformerAccess::HandleOf(internal::InformerOf<T>(informers, gvr, options));
    };
    spec_.reconcile_object.call_ = [f = std::move(reconciler)](const Context& ctx, const void* object) -> Result<Action> {
      return f(ctx, *static_cast<const T*>(object));
    };
    return Reconcile(Reconciler());
  }
  // The same with the key and the causes. Also called for keys whose object does not exist.
  ControllerSpec Reconcile(Reconciler reconciler) {
    const auto self = [](const Change<T>& change, std::vector<ObjectKey>& keys) { keys.push_back(change.key); };
    std::vector<WatchSpec> children = std::exchange(spec_.watches, {});
    Watch<T>(gvr_, for_, self, true);  // first: users look for this one
    for (WatchSpec& child : children) spec_.watches.push_back(std::move(child));
    for (const auto& add : std::exchange(anywhere_, {})) add(*this);
    spec_.reconcile = std::move(reconciler);
    return std::exchange(spec_, {});
  }

 private:
  AccessNeed OwnNeed(const std::string& subresource, std::vector<std::string> verbs) const {
    AccessNeed need{.group = gvr_.group.str(),
                    .resource = gvr_.resource.str() + (subresource.empty() ? "" : "/" + subresource),
                    .verbs = std::move(verbs)};
    if (!namespaced_) need.ns = "";
    return need;
  }
  static void AddOnce(std::vector<ObjectKey>& keys, const ObjectKey& key) {
    for (const ObjectKey& known : keys) {
      if (known == key) return;
    }
    keys.push_back(key);
  }
  template <ObjectType U>
  auto Owners() const {
    return [gvk = gvk_, namespaced = namespaced_](const Change<U>& change, std::vector<ObjectKey>& keys) {
      for (const Ptr<U>& object : {change.before, change.object}) {
        if (object == nullptr) continue;
        if (const std::optional<ObjectKey> owner = internal::OwnerKey(*object, gvk, namespaced)) AddOnce(keys, *owner);
      }
    };
  }
  template <ObjectType U>
  static auto Mapping(std::function<std::vector<ObjectKey>(const U&)> map) {
    return [map = std::move(map)](const Change<U>& change, std::vector<ObjectKey>& keys) {
      for (const Ptr<U>& object : {change.before, change.object}) {
        if (object == nullptr) continue;
        for (const ObjectKey& key : map(*object)) AddOnce(keys, key);
      }
    };
  }
  // `quick` is set if finding the keys needs no other informer.
  template <ObjectType U>
  ControllerBuilder& Watch(Gvr gvr, SourceOptions<U> options, std::function<void(const Change<U>&, std::vector<ObjectKey>&)> keys_of,
                           bool quick = false) {
    std::string name = options.name.empty() ? gvr.group_resource().ToString() : options.name;
    WatchSpec watch{.name = name, .gvr = gvr, .optional = options.optional};
    if (options.informer) watch.ns = options.informer->ns;
    watch.namespaced = ObjectTraits<U>::Namespaced().value_or(watch.namespaced);
    watch.start = [gvr = std::move(gvr), options = std::move(options), keys_of = std::move(keys_of), source = String(name), quick](
                      InformerFactory& informers, const EnqueueFunction& enqueue) -> Result<HandlerRegistration> {
      internal::Handler handler =
          internal::MakeHandler(internal::ObjectForm::Of<U>(), source, internal::MakeKeysOfChange<U>(options.when, keys_of), enqueue);
      return internal::InformerAccess::Add(internal::InformerOf<U>(informers, gvr, options.informer), std::move(handler), {.quick = quick});
    };
    spec_.watches.push_back(std::move(watch));
    return *this;
  }

  // Owners are found by the marks of a child, which a tenant can copy. A key is therefore enqueued only if the cache has an owner with that
  // key and UID. That reads another informer, so the handler may block, and which informer is only known after For.
  template <ObjectType U>
  ControllerBuilder& WatchAnywhere(Gvr gvr, SourceOptions<U> options, std::string mark_prefix) {
    Needs({.group = gvr.group.str(), .resource = gvr.resource.str(), .verbs = ApplyVerbs(), .ns = ""});
    MayWriteFinalizers().Needs(OwnNeed("finalizers", {"update"}));
    anywhere_.push_back([gvr = std::move(gvr), options = std::move(options), prefix = std::move(mark_prefix)](ControllerBuilder& self) {
      std::string name = options.name.empty() ? gvr.group_resource().ToString() : options.name;
      if (gvr == self.gvr_ && options.name.empty()) name += " anywhere";  // owners of that kind are also watched
      WatchSpec watch{.name = name, .gvr = gvr, .ns = options.informer ? options.informer->ns : "", .optional = options.optional};
      watch.namespaced = ObjectTraits<U>::Namespaced().value_or(watch.namespaced);
      watch.start = [gvr, options, prefix, source = String(name), by_reference = self.template Owners<U>(), owner = self.gvk_,
                     owners = self.gvr_,
                     how = self.for_.informer](InformerFactory& informers, const EnqueueFunction& enqueue) -> Result<HandlerRegistration> {
        InformerOptions everywhere = informers.defaults();
        everywhere.ns.clear();
        const auto keys_of = [by_reference, prefix, owner = owner.group_kind(),
                              known = internal::InformerOf<T>(informers, owners, how).indexer()](const Change<U>& change,
                                                                                                 std::vector<ObjectKey>& keys) {
          by_reference(change, keys);
          for (const Ptr<U>& object : {change.before, change.object}) {
            if (object == nullptr) continue;
            const std::optional<internal::MarkedOwner> marked = internal::MarkedOwnerOf(*object, owner, prefix);
            const Ptr<T> found = marked ? known.Get(marked->key) : nullptr;
            if (found != nullptr && internal::OwnerHash(MetadataOf(*found).uid.view()) == marked->hash.view()) AddOnce(keys, marked->key);
          }
        };
        internal::Handler handler =
            internal::MakeHandler(internal::ObjectForm::Of<U>(), source, internal::MakeKeysOfChange<U>(options.when, keys_of), enqueue);
        return internal::InformerAccess::Add(internal::InformerOf<U>(informers, gvr, options.informer.value_or(everywhere)),
                                             std::move(handler), {.quick = false});
      };
      self.spec_.watches.push_back(std::move(watch));
    });
    return *this;
  }

  ControllerSpec spec_{};
  std::vector<std::function<void(ControllerBuilder&)>> anywhere_{};  // watches added by OwnsAnywhere
  SourceOptions<T> for_{};
  Gvr gvr_;
  Gvk gvk_;
  bool namespaced_;
};

// Starts the definition of a controller for objects of T. `name` appears in logs, metrics and the debug page, and must be unique in a
// program.
template <Resource T>
ControllerBuilder<T> ControllerFor(std::string name) {
  return ControllerBuilder<T>(std::move(name), GvrOf<T>(), GvkOf<T>(), IsNamespaced<T>());
}
// The same for a kind without a C++ type: ControllerFor("carts", {.gvr = {"shop.example.com", "v1", "carts"}, .kind = "Cart"})
inline ControllerBuilder<DynamicObject> ControllerFor(std::string name, DynamicKind kind) {
  Gvk gvk{kind.gvr.group, kind.gvr.version, std::move(kind.kind)};
  return {std::move(name), std::move(kind.gvr), std::move(gvk), kind.namespaced};
}

// ---- Running one ----

// What a Controller needs when it runs without a Manager.
struct ControllerEnvironment {
  InformerFactory* informers = nullptr;  // required; must outlive the controller
  std::shared_ptr<MetricsSink> metrics{};
  std::shared_ptr<Clock> clock{};  // null for the system clock
  // CachedClient::writes() of the client that the reconciler reads with, so that it reads its own writes (cached_client.h).
  std::shared_ptr<WriteTracker> writes{};
};

// The last run of one key, for debugging.
struct KeyReport {
  ObjectKey key{};
  int failures = 0;           // consecutive
  std::string last_result{};  // "success", "error: ...", "requeue after 10s" ...
  Clock::WallTime last_run{};
  std::chrono::nanoseconds last_duration{};
  std::vector<Cause> last_causes{};
  std::size_t more_causes = 0;  // causes beyond Request::kMostCauses
};

// Why a key is queued or being processed.
struct KeyCauses {
  std::vector<Cause> causes{};
  std::size_t more = 0;  // causes beyond Request::kMostCauses
};

// A snapshot of a controller, for debugging.
struct ControllerStatus {
  std::string name{};
  int workers = 0;
  int active = 0;  // workers that are in a Reconcile call
  bool running = false;
  std::uint64_t runs = 0, errors = 0;
  std::vector<std::string> watches{};  // "services: synced", "ingresses.networking.k8s.io: waiting for its first list"
  WorkQueueSnapshot<ObjectKey> queue{};
  std::vector<ObjectKey> held{};     // until caches have seen the writes of their last run; in no particular order
  std::vector<KeyCauses> causes{};   // one per entry of queue.entries: the causes of its next or current run
  std::vector<KeyReport> failing{};  // keys whose last run failed, most failures first
  std::vector<KeyReport> recent{};   // the last runs, newest first
};

// Runs one ControllerSpec.
//
// Thread safety: all functions may be called from any thread; Run from one thread at a time.
// Lifetime: the destructor removes the watches and waits for running calls. The informers must outlive it.
// Blocking and cancellation: Run blocks until its context stops and all Reconcile calls have returned. Nothing else blocks.
// Errors: Create returns kInvalid if the spec has no reconciler, no watch, no name or fewer than one worker.
class KUBE_EXPORT Controller {
 public:
  static Result<std::unique_ptr<Controller>> Create(ControllerSpec spec, ControllerEnvironment environment);  // does not start it
  Controller(const Controller&) = delete;
  Controller& operator=(const Controller&) = delete;
  ~Controller();

  const std::string& name() const;
  bool needs_leader() const;
  const std::vector<WatchSpec>& watches() const;
  const std::vector<AccessNeed>& needs() const;

  // Adds the watches to their informers, which the factory starts. Keys are queued from now on. Call it once.
  Result<void> Start();
  // HasSynced returns whether all watches have delivered their initial list; WaitForSync waits until they have.
  bool HasSynced() const;
  Result<void> WaitForSync(const Context& ctx) const;  // errors: the context's
  // Waits for the caches, then runs the workers until `ctx` stops. Keys that are still queued stay queued for the next Run.
  Result<void> Run(const Context& ctx);

  // Enqueues a key without a watch: for timers, messages and other systems.
  void Enqueue(const ObjectKey& key, std::string_view source = "external", int priority = 0);
  // Add or remove a watch while the controller runs. AddWatch fails if the name is taken, RemoveWatch if it is unknown. Errors: kInvalid,
  // and those of the informer.
  Result<void> AddWatch(WatchSpec watch);
  Result<void> RemoveWatch(std::string_view name);

  // Each list has at most `most` keys.
  ControllerStatus status(std::size_t most = 100) const;

 private:
  class Impl;
  explicit Controller(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace kube
