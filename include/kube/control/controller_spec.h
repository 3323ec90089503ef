// What a controller is: watches, options, permissions and a reconciler. ControllerFor (controller.h) makes it, a Manager or a Controller
// runs it.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kube/base/context.h"
#include "kube/base/export.h"
#include "kube/base/result.h"
#include "kube/cache/informer.h"
#include "kube/cache/informer_factory.h"
#include "kube/control/access.h"
#include "kube/control/predicate.h"
#include "kube/control/reconcile.h"
#include "kube/meta/gvk.h"
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

namespace internal {

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

// The informer of these options; `gvr` is for kinds that have no C++ type.
template <ObjectType U>
SharedInformer<U> InformerOf(InformerFactory& informers, const Gvr& gvr, const std::optional<InformerOptions>& options) {
  const InformerOptions how = options.value_or(informers.defaults());
  if constexpr (std::same_as<U, DynamicObject>) {
    return informers.For(gvr, how);
  } else if constexpr (std::same_as<U, meta::v1::PartialObjectMetadata>) {
    return informers.ForMetadata(gvr, how);
  } else {
    return informers.For<U>(how);
  }
}

// A reconciler that is called with the object itself.
struct ObjectReconciler {
  std::function<std::shared_ptr<InformerHandle>(InformerFactory& informers)> source{};  // the cache that it comes from
  std::function<Result<Action>(const Context& ctx, const void* object)> call{};
};

}  // namespace internal

// Made by ControllerFor, run by a Manager or a Controller. A value.
struct ControllerSpec {
  std::string name{};
  ControllerOptions options{};
  std::vector<internal::WatchSpec> watches{};
  std::vector<AccessNeed> needs{};  // beyond its watches
  Reconciler reconcile{};
  internal::ObjectReconciler reconcile_object{};  // in its place
};

}  // namespace kube
