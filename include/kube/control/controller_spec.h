// ControllerSpec: the watches, options, permissions and reconciler of a controller. ControllerFor (controller.h) builds it; a Manager or a
// Controller runs it.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kube/base/context.h"
#include "kube/base/export.h"
#include "kube/base/result.h"
#include "kube/base/std_chrono.h"
#include "kube/base/std_function.h"
#include "kube/base/std_memory.h"
#include "kube/cache/informer.h"
#include "kube/cache/informer_factory.h"
#include "kube/control/access.h"
#include "kube/control/predicate.h"
#include "kube/control/reconcile.h"
#include "kube/meta/gvk.h"
#include "kube/meta/object_traits.h"
#include "kube/meta/owner_reference.h"
#include "kube/queue/rate_limiters.h"

namespace kube {

// Priority of keys from the initial list and from resyncs. Live changes run first; ageing prevents starvation.
inline constexpr int kInitialPriority = -100;

// Options of a controller.
struct ControllerOptions {
  int workers = 1;  // reconciles that may run at a time
  // Deadline for a single Reconcile call. 0 means none.
  std::chrono::nanoseconds reconcile_timeout{};
  // Delays of retries. Null means exponential backoff from 5 ms up to 1000 s.
  std::shared_ptr<RetryLimiter> rate_limiter{};
  // Only the leader's workers run. Watches run on every replica, so that the next leader has warm caches.
  bool needs_leader = true;
};

// How a controller watches one kind.
template <ObjectType T>
struct SourceOptions {
  // Which changes enqueue keys. Must not block: it may be called on the informer's thread.
  Predicate<T> when{};
  // Unset for the factory's defaults.
  std::optional<InformerOptions> informer{};
  // Name of the watch in causes, logs and metrics. Empty for the resource: "deployments.apps".
  std::string name{};
  // Starts the workers even if the server lacks the kind or forbids reading it; changes are delivered once it is available.
  bool optional = false;
};

// Enqueues a key for a controller.
using EnqueueFunction = std::function<void(const ObjectKey& key, Cause cause, int priority)>;

// One watch of a controller, of any kind.
struct WatchSpec {
  std::string name{};
  Gvr gvr{};
  std::optional<std::string> ns{};  // unset for the factory's
  bool namespaced = true;           // as far as known at build time
  bool optional = false;
  std::function<Result<HandlerRegistration>(InformerFactory& informers, const EnqueueFunction& enqueue)> start{};
};

namespace internal {

// A type-erased Change. The references are valid for the duration of the call.
struct ErasedChange {
  ChangeKind kind;
  const ObjectKey& key;
  const ObjectRef& before;
  const ObjectRef& object;
  bool initial = false;
};
// Appends the keys that a change affects; none if the predicate rejects it.
using KeysOfChange = std::function<void(const ErasedChange& change, std::vector<ObjectKey>& keys)>;
template <ObjectType T>
KeysOfChange MakeKeysOfChange(Predicate<T> when, std::function<void(const Change<T>&, std::vector<ObjectKey>&)> keys_of) {
  return [when = std::move(when), keys_of = std::move(keys_of)](const ErasedChange& erased, std::vector<ObjectKey>& keys) {
    const Change<T> change{.kind = erased.kind,
                           .key = erased.key,
                           .before = std::static_pointer_cast<const T>(erased.before),
                           .object = std::static_pointer_cast<const T>(erased.object),
                           .initial = erased.initial};
    if (when(change)) keys_of(change, keys);
  };
}
// Returns a handler that calls `enqueue` for each key of each change to objects of `form`.
KUBE_EXPORT Handler MakeHandler(const ObjectForm& form, String source, KeysOfChange keys_of, EnqueueFunction enqueue);

// The key of the controller reference in `references`.
KUBE_EXPORT std::optional<ObjectKey> OwnerKeyIn(const List<meta::v1::OwnerReference>& references, const String& ns, const Gvk& owner,
                                                bool owner_namespaced);
// The key of the controller of `object`, if it has this group and kind, in any version.
template <ObjectType T>
std::optional<ObjectKey> OwnerKey(const T& object, const Gvk& owner, bool owner_namespaced) {
  const auto& metadata = MetadataOf(object);
  return OwnerKeyIn(metadata.owner_references, metadata.namespace_, owner, owner_namespaced);
}

// The informer with these options. `gvr` is used for kinds without a C++ type.
template <ObjectType U>
SharedInformer<U> InformerOf(InformerFactory& informers, const Gvr& gvr, const std::optional<InformerOptions>& options) {
  return informers.ForTarget<U>(TargetOf<U>(gvr), options.value_or(informers.defaults()));
}

}  // namespace internal

template <ObjectType T>
class ControllerBuilder;

// A reconciler that is called with the object instead of the key. Built by ControllerBuilder::Reconcile.
class ObjectReconciler {
 private:
  template <ObjectType T>
  friend class ControllerBuilder;
  friend class Controller;
  std::function<std::shared_ptr<internal::InformerHandle>(InformerFactory& informers)> source_{};  // the cache to read the object from
  std::function<Result<Action>(const Context& ctx, const void* object)> call_{};
};

// The definition of a controller: built by ControllerFor, run by a Manager or a Controller. A plain value.
struct ControllerSpec {
  std::string name{};
  ControllerOptions options{};
  std::vector<WatchSpec> watches{};
  std::vector<AccessNeed> needs{};  // beyond those of the watches
  Reconciler reconcile{};
  ObjectReconciler reconcile_object{};  // if set, called instead of `reconcile`
};

}  // namespace kube
