// Controller: watches kinds of objects, queues the keys that changes are about, and calls a reconciler for each until it succeeds.
//
//   ControllerSpec spec = ControllerFor<Deployment>("auto-expose")
//                             .Owns<Service>()                                   // a change of a child is a matter of its owner
//                             .Watches<ConfigMap>([](const ConfigMap& config) { return std::vector<ObjectKey>{...}; })
//                             .Workers(4)
//                             .Reconcile([&](const Context& ctx, const Request& request) -> Result<Action> { ... });
//
//   manager.Add(std::move(spec));                                                // or, without a manager:
//
//   Result<std::unique_ptr<Controller>> controller = Controller::Create(std::move(spec), {.informers = &informers});
//   (*controller)->Start();
//   informers.Start(ctx);
//   (*controller)->Run(ctx);                                                     // waits for the caches, then works until ctx stops
//
// Below this stand an InformerFactory (kube/cache) and a WorkQueue (kube/queue), which can be used without it: examples/pod_controller.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kube/base/clock.h"
#include "kube/base/context.h"
#include "kube/base/export.h"
#include "kube/base/metrics.h"
#include "kube/base/result.h"
#include "kube/cache/informer.h"
#include "kube/cache/informer_factory.h"
#include "kube/control/access.h"
#include "kube/control/predicate.h"
#include "kube/control/reconcile.h"
#include "kube/meta/gvk.h"
#include "kube/meta/owner_reference.h"
#include "kube/queue/rate_limiters.h"
#include "kube/queue/work_queue.h"

namespace kube {

// Of keys that were there when a watch began, and of resyncs: changes go first. WorkQueue has ageing, so these come too.
inline constexpr int kInitialPriority = -100;

struct ControllerOptions {
  int workers = 1;
  // Of one call of the reconciler: its context stops then. 0: no limit.
  std::chrono::nanoseconds reconcile_timeout{};
  // Delays of retries; none: 5 ms, doubled each time, up to 1000 s.
  std::shared_ptr<RetryLimiter> rate_limiter{};
  // Workers wait until this replica leads. Watches do not: the next leader has its caches complete.
  bool needs_leader = true;
};

template <ObjectType T>
struct SourceOptions {
  Predicate<T> when{};                        // must not wait: it may be asked on the informer's thread
  std::optional<InformerOptions> informer{};  // none: the factory's defaults
  std::string name{};                         // of causes, logs and metrics; empty: the resource, "deployments.apps"
  // Work begins also where the server does not have the kind or does not allow to read it; changes are told once it does.
  bool optional = false;
};

namespace internal {

class WriteTracker;

using EnqueueFunction = std::function<void(const ObjectKey& key, Cause cause, int priority)>;

// A watch of a controller, whatever it watches.
struct WatchSpec {
  std::string name{};
  Gvr gvr{};
  std::optional<std::string> ns{};  // none: the factory's
  bool namespaced = true;           // as far as is known here
  bool optional = false;
  std::function<Result<HandlerRegistration>(InformerFactory& informers, const EnqueueFunction& enqueue)> start{};
};

// Calls enqueue for each change that passes, with the keys that it is about.
template <ObjectType T>
EventHandler<T> MakeHandler(String source, Predicate<T> when, std::function<void(const Change<T>&, std::vector<ObjectKey>&)> keys_of,
                            EnqueueFunction enqueue) {
  const auto tell = [source = std::move(source), when = std::move(when), keys_of = std::move(keys_of),
                     enqueue = std::move(enqueue)](const Change<T>& change) {
    if (!when(change)) return;
    std::vector<ObjectKey> keys;
    keys_of(change, keys);
    const int priority = change.initial || change.kind == ChangeKind::kResync ? kInitialPriority : 0;
    for (const ObjectKey& key : keys) enqueue(key, {.source = source, .object = change.key, .change = change.kind}, priority);
  };
  const auto same_version = [](const T& a, const T& b) {
    if constexpr (std::same_as<T, DynamicObject>) {
      return a.resource_version() == b.resource_version();
    } else {
      return a.metadata.resource_version == b.metadata.resource_version;
    }
  };
  using kube::KeyOf;
  return {
      .on_add = [tell](const Ptr<T>& object,
                       bool initial) { tell({.kind = ChangeKind::kAdded, .key = KeyOf(*object), .object = object, .initial = initial}); },
      .on_update =
          [tell, same_version](const Ptr<T>& before, const Ptr<T>& after) {
            const ChangeKind kind = same_version(*before, *after) ? ChangeKind::kResync : ChangeKind::kUpdated;
            tell({.kind = kind, .key = KeyOf(*after), .before = before, .object = after});
          },
      .on_delete = [tell](const Deleted<T>& gone) { tell({.kind = ChangeKind::kDeleted, .key = gone.key, .object = gone.object}); }};
}

// The key of the controller among these.
KUBE_EXPORT std::optional<ObjectKey> OwnerKeyIn(const List<meta::v1::OwnerReference>& references, const String& ns, const Gvk& owner,
                                                bool owner_namespaced);
// The key of the controller of `object`, where that is of this group and kind, in any version.
template <ObjectType T>
std::optional<ObjectKey> OwnerKey(const T& object, const Gvk& owner, bool owner_namespaced) {
  List<meta::v1::OwnerReference> references;
  String ns;
  if constexpr (std::same_as<T, DynamicObject>) {
    const meta::v1::ObjectMeta metadata = object.metadata();
    references = metadata.owner_references;
    ns = metadata.namespace_;
  } else {
    references = object.metadata.owner_references;
    ns = object.metadata.namespace_;
  }
  return OwnerKeyIn(references, ns, owner, owner_namespaced);
}

}  // namespace internal

// What a controller is: made by ControllerFor, run by a Manager or a Controller. A value.
struct ControllerSpec {
  std::string name{};
  ControllerOptions options{};
  std::vector<internal::WatchSpec> watches{};
  std::vector<AccessNeed> needs{};  // beyond its watches
  Reconciler reconcile{};
};

// Thread safety: one thread at a time.
template <ObjectType T>
class ControllerBuilder {
 public:
  ControllerBuilder(std::string name, Gvr gvr, Gvk gvk, bool namespaced)
      : gvr_(std::move(gvr)), gvk_(std::move(gvk)), namespaced_(namespaced) {
    spec_.name = std::move(name);
  }

  // How the kind itself is watched; by default all of it.
  ControllerBuilder& For(SourceOptions<T> options) {
    for_ = std::move(options);
    return *this;
  }

  // Objects whose controller is one of T: their changes are about that one.
  template <Resource U>
  ControllerBuilder& Owns(SourceOptions<U> options = {}) {
    return Watch<U>(
        GvrOf<U>(), std::move(options),
        [gvk = gvk_, namespaced = namespaced_](const Change<U>& change, std::vector<ObjectKey>& keys) {
          for (const Ptr<U>& object : {change.before, change.object}) {
            if (object == nullptr) continue;
            if (const std::optional<ObjectKey> owner = internal::OwnerKey(*object, gvk, namespaced)) AddOnce(keys, *owner);
          }
        },
        true);
  }

  // Any other objects. `map` says which keys an object is about; an update is about those of before and after.
  template <Resource U>
  ControllerBuilder& Watches(std::function<std::vector<ObjectKey>(const U& object)> map, SourceOptions<U> options = {}) {
    return Watch<U>(GvrOf<U>(), std::move(options), Mapping<U>(std::move(map)));
  }
  // Of a kind that has no C++ type.
  ControllerBuilder& Watches(Gvr gvr, std::function<std::vector<ObjectKey>(const DynamicObject& object)> map,
                             SourceOptions<DynamicObject> options = {}) {
    return Watch<DynamicObject>(std::move(gvr), std::move(options), Mapping<DynamicObject>(std::move(map)));
  }
  // Only metadata is sent and kept: enough to know that something changed, at a fraction of the memory.
  ControllerBuilder& WatchesMetadata(Gvr gvr, std::function<std::vector<ObjectKey>(const meta::v1::PartialObjectMetadata& object)> map,
                                     SourceOptions<meta::v1::PartialObjectMetadata> options = {}) {
    return Watch<meta::v1::PartialObjectMetadata>(std::move(gvr), std::move(options),
                                                  Mapping<meta::v1::PartialObjectMetadata>(std::move(map)));
  }

  ControllerBuilder& Workers(int workers) {
    spec_.options.workers = workers;
    return *this;
  }
  ControllerBuilder& ReconcileTimeout(std::chrono::nanoseconds timeout) {
    spec_.options.reconcile_timeout = timeout;
    return *this;
  }
  ControllerBuilder& RateLimited(std::shared_ptr<RetryLimiter> limiter) {
    spec_.options.rate_limiter = std::move(limiter);
    return *this;
  }
  // Also on replicas that do not lead.
  ControllerBuilder& OnAllReplicas() {
    spec_.options.needs_leader = false;
    return *this;
  }

  // What the reconciler does to objects, for --print-rbac and the check of permissions at start (access.h); watches are known anyway.
  // Children that DesiredState keeps. (`update` of the owner's finalizers is what some clusters ask of who sets blockOwnerDeletion.)
  template <Resource... Kinds>
  ControllerBuilder& Applies() {
    (Writes<Kinds>(ApplyVerbs()), ...);
    return Needs(OwnNeed("finalizers", {"update"}));
  }
  // StatusWriter patches, and reads where somebody else wrote.
  ControllerBuilder& WritesStatus(std::vector<std::string> verbs = {"patch"}) {
    return Needs(OwnNeed("", {"get"})).Needs(OwnNeed("status", std::move(verbs)));
  }
  // Finalizers.
  ControllerBuilder& WritesFinalizers() { return Needs(OwnNeed("", {"get", "patch"})); }
  template <Resource U>
  ControllerBuilder& Writes(std::vector<std::string> verbs, std::string subresource = {}) {
    return Needs(Need<U>(std::move(verbs), {}, std::move(subresource)));
  }
  ControllerBuilder& Needs(AccessNeed need) {
    if (need.why.empty()) need.why = "controller " + spec_.name + " writes it";
    spec_.needs.push_back(std::move(need));
    return *this;
  }

  // The last call: gives the finished spec.
  ControllerSpec Reconcile(Reconciler reconciler) {
    const auto self = [](const Change<T>& change, std::vector<ObjectKey>& keys) { keys.push_back(change.key); };
    std::vector<internal::WatchSpec> children = std::exchange(spec_.watches, {});
    Watch<T>(gvr_, for_, self, true);  // first: it is the one that people look for
    for (internal::WatchSpec& child : children) spec_.watches.push_back(std::move(child));
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
  static auto Mapping(std::function<std::vector<ObjectKey>(const U&)> map) {
    return [map = std::move(map)](const Change<U>& change, std::vector<ObjectKey>& keys) {
      for (const Ptr<U>& object : {change.before, change.object}) {
        if (object == nullptr) continue;
        for (const ObjectKey& key : map(*object)) AddOnce(keys, key);
      }
    };
  }
  // `quick`: finding the keys needs nobody else.
  template <ObjectType U>
  ControllerBuilder& Watch(Gvr gvr, SourceOptions<U> options, std::function<void(const Change<U>&, std::vector<ObjectKey>&)> keys_of,
                           bool quick = false) {
    std::string name = options.name.empty() ? gvr.group_resource().ToString() : options.name;
    internal::WatchSpec watch{.name = name, .gvr = gvr, .optional = options.optional};
    if (options.informer) watch.ns = options.informer->ns;
    if constexpr (Resource<U> && !std::same_as<U, meta::v1::PartialObjectMetadata>) watch.namespaced = IsNamespaced<U>();
    watch.start = [gvr = std::move(gvr), options = std::move(options), keys_of = std::move(keys_of), source = String(name), quick](
                      InformerFactory& informers, const internal::EnqueueFunction& enqueue) -> Result<HandlerRegistration> {
      const InformerOptions how = options.informer.value_or(informers.defaults());
      EventHandler<U> handler = internal::MakeHandler<U>(source, options.when, keys_of, enqueue);
      if constexpr (std::same_as<U, DynamicObject>) {
        return informers.For(gvr, how).AddEventHandler(std::move(handler), {.quick = quick});
      } else if constexpr (std::same_as<U, meta::v1::PartialObjectMetadata>) {
        return informers.ForMetadata(gvr, how).AddEventHandler(std::move(handler), {.quick = quick});
      } else {
        return informers.For<U>(how).AddEventHandler(std::move(handler), {.quick = quick});
      }
    };
    spec_.watches.push_back(std::move(watch));
    return *this;
  }

  ControllerSpec spec_{};
  SourceOptions<T> for_{};
  Gvr gvr_;
  Gvk gvk_;
  bool namespaced_;
};

// A controller of objects of T. `name` is for logs, metrics and the debug page; different for each controller of a program.
template <Resource T>
ControllerBuilder<T> ControllerFor(std::string name) {
  return ControllerBuilder<T>(std::move(name), GvrOf<T>(), GvkOf<T>(), IsNamespaced<T>());
}

// ---- Running one ----

struct ControllerEnvironment {
  InformerFactory* informers = nullptr;  // required; lives longer than the controller
  std::shared_ptr<MetricsSink> metrics{};
  std::shared_ptr<Clock> clock{};  // null: the machine's
  // Of the CachedClient that the reconciler reads with, so that it reads its own writes (cached_client.h): CachedClient::writes().
  std::shared_ptr<internal::WriteTracker> writes{};
};

// One key, for people.
struct KeyReport {
  ObjectKey key{};
  int failures = 0;           // in a row
  std::string last_result{};  // "success", "error: ...", "requeue after 10s", "gave up: ..."
  Clock::WallTime last_run{};
  std::chrono::nanoseconds last_duration{};
  std::vector<Cause> last_causes{};
  std::size_t more_causes = 0;  // that had no room
};

// Why a key is there.
struct KeyCauses {
  std::vector<Cause> causes{};
  std::size_t more = 0;  // that had no room
};

struct ControllerStatus {
  std::string name{};
  int workers = 0;
  int active = 0;  // workers in a reconciler now
  bool running = false;
  std::uint64_t runs = 0, errors = 0;
  std::vector<std::string> watches{};  // "services: synced", "ingresses.networking.k8s.io: waiting for its first list"
  WorkQueueSnapshot<ObjectKey> queue{};
  std::vector<ObjectKey> held{};     // until caches have seen what their last run wrote; in no order
  std::vector<KeyCauses> causes{};   // of queue.entries, one for each: what its next run is for, or the one that is under way
  std::vector<KeyReport> failing{};  // keys whose last run failed; the most failures first
  std::vector<KeyReport> recent{};   // the last runs, newest first
};

// Thread safety: all functions from any thread; Run on one at a time.
// Lifetime: the destructor removes the watches and waits for what runs. The informers have to be there until then.
// Blocking and cancellation: Run blocks until its context stops and all calls of the reconciler have returned. The rest does not block.
// Errors: of Create kInvalid: no reconciler, no watch, no name, fewer than one worker.
class KUBE_EXPORT Controller {
 public:
  static Result<std::unique_ptr<Controller>> Create(ControllerSpec spec, ControllerEnvironment environment);
  Controller(const Controller&) = delete;
  Controller& operator=(const Controller&) = delete;
  ~Controller();

  const std::string& name() const;
  bool needs_leader() const;
  const std::vector<internal::WatchSpec>& watches() const;
  const std::vector<AccessNeed>& needs() const;

  // Adds the watches to their informers, which the factory starts. Keys collect in the queue from now on. Once.
  Result<void> Start();
  // All watches have been told what was there.
  bool HasSynced() const;
  Result<void> WaitForSync(const Context& ctx) const;
  // Works until `ctx` stops: waits for the caches, then workers take keys. What is queued stays there for a Run that follows.
  Result<void> Run(const Context& ctx);

  // From outside, without a watch: timers, messages, other systems.
  void Enqueue(const ObjectKey& key, std::string_view source = "external", int priority = 0);
  // While it runs. The name is the watch's; a watch of that name must not exist, or has to. Errors: kInvalid, and those of the informer.
  Result<void> AddWatch(internal::WatchSpec watch);
  Result<void> RemoveWatch(std::string_view name);

  // Up to `most` keys of each list.
  ControllerStatus status(std::size_t most = 100) const;

 private:
  class Impl;
  explicit Controller(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace kube
