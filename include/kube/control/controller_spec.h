// What a controller is: watches, options, permissions and a reconciler. ControllerFor (controller.h) makes it, a Manager or a Controller
// runs it.
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

struct ControllerOptions {
  int workers = 1;
  // Deadline for a single Reconcile call. 0 means none.
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
  // Work begins even if the server lacks the kind or forbids reading it; changes are delivered once it is available.
  bool optional = false;
};

// Enqueues a key for a controller.
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

namespace internal {

// A Change of any type. Borrowed: it lives as long as the call that it is an argument of.
struct ErasedChange {
  ChangeKind kind;
  const ObjectKey& key;
  const ObjectRef& before;
  const ObjectRef& object;
  bool initial = false;
};
// Adds the keys that a change is about; none if it does not pass.
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
// Calls enqueue for each key of each change, of objects of that form.
KUBE_EXPORT Handler MakeHandler(const ObjectForm& form, String source, KeysOfChange keys_of, EnqueueFunction enqueue);

// The key of the controller among these.
KUBE_EXPORT std::optional<ObjectKey> OwnerKeyIn(const List<meta::v1::OwnerReference>& references, const String& ns, const Gvk& owner,
                                                bool owner_namespaced);
// The key of the controller of `object`, where that is of this group and kind, in any version.
template <ObjectType T>
std::optional<ObjectKey> OwnerKey(const T& object, const Gvk& owner, bool owner_namespaced) {
  const auto& metadata = MetadataOf(object);
  return OwnerKeyIn(metadata.owner_references, metadata.namespace_, owner, owner_namespaced);
}

// The informer of these options; `gvr` is for kinds that have no C++ type.
template <ObjectType U>
SharedInformer<U> InformerOf(InformerFactory& informers, const Gvr& gvr, const std::optional<InformerOptions>& options) {
  return informers.ForTarget<U>(TargetOf<U>(gvr), options.value_or(informers.defaults()));
}

}  // namespace internal

template <ObjectType T>
class ControllerBuilder;

// A reconciler that is called with the object itself. Made by ControllerBuilder::Reconcile.
class ObjectReconciler {
 private:
  template <ObjectType T>
  friend class ControllerBuilder;
  friend class Controller;
  std::function<std::shared_ptr<internal::InformerHandle>(InformerFactory& informers)> source_{};  // the cache that it comes from
  std::function<Result<Action>(const Context& ctx, const void* object)> call_{};
};

// Made by ControllerFor, run by a Manager or a Controller. A value.
struct ControllerSpec {
  std::string name{};
  ControllerOptions options{};
  std::vector<WatchSpec> watches{};
  std::vector<AccessNeed> needs{};  // beyond its watches
  Reconciler reconcile{};
  ObjectReconciler reconcile_object{};  // in its place
};

}  // namespace kube
