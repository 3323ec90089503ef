// Finalizers: cleanup that must happen before an object is deleted.
//
//   static const Finalizers<Bucket> finalizers = Finalizers<Bucket>()
//       .Add("shop.example.com/empty", [](const Context& ctx, const Bucket& b) { return EmptyBucket(ctx, b); })
//       .Add("shop.example.com/release", [](const Context& ctx, const Bucket& b) { return ReleaseName(ctx, b); });
//
//   Result<FinalizerResult> r = finalizers.Run(ctx, cached, bucket);                         // first thing in a reconciler
//   if (!r) return r.error();
//   if (!r->proceed) return Action::Done();                                                  // it is being deleted: nothing else to do
//
// A live object gets its missing finalizers in one write. When an object is being deleted, the functions are called in the order of Add.
// Each finalizer is removed once its function has succeeded; the first error ends the run, which is retried. The functions must be
// idempotent: the process may exit before the finalizer is removed.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kube/base/context.h"
#include "kube/base/export.h"
#include "kube/base/result.h"
#include "kube/base/std_function.h"
#include "kube/client/client.h"
#include "kube/client/options.h"
#include "kube/client/resource_client.h"
#include "kube/control/cached_client.h"
#include "kube/meta/dynamic_object.h"
#include "kube/meta/object_traits.h"

namespace kube {

namespace internal {

KUBE_EXPORT bool HasName(const List<String>& finalizers, std::string_view name);
KUBE_EXPORT bool AddName(List<String>& finalizers, std::string_view name);
KUBE_EXPORT bool RemoveName(List<String>& finalizers, std::string_view name);

}  // namespace internal

// ---- On an object in memory: no requests ----
// Whether `object` has this finalizer.
template <ObjectType T>
bool HasFinalizer(const T& object, std::string_view name) {
  return internal::HasName(ObjectTraits<T>::Finalizers(object), name);
}
// Appends the finalizer. Returns whether it was missing.
template <ObjectType T>
bool AddFinalizer(T& object, std::string_view name) {
  List<String> finalizers = ObjectTraits<T>::Finalizers(object);
  if (!internal::AddName(finalizers, name)) return false;
  ObjectTraits<T>::SetFinalizers(object, std::move(finalizers));
  return true;
}
// Returns whether the finalizer was present.
template <ObjectType T>
bool RemoveFinalizer(T& object, std::string_view name) {
  List<String> finalizers = ObjectTraits<T>::Finalizers(object);
  if (!internal::RemoveName(finalizers, name)) return false;
  ObjectTraits<T>::SetFinalizers(object, std::move(finalizers));
  return true;
}

// The outcome of Finalizers::Run.
struct FinalizerResult {
  bool proceed = false;                 // not being deleted: continue reconciling
  bool changed = false;                 // something was written; the object is now the newest version
  std::vector<std::string> finished{};  // finalizers removed by this run, in order
};

namespace internal {

// Finalizers without templates. Objects have the type of the target: a struct or a DynamicObject.
class KUBE_EXPORT FinalizersCore {
 public:
  using Callback = std::function<Result<void>(const Context& ctx, const void* object)>;

  void Add(std::string name, Callback callback) { entries_.push_back({std::move(name), std::move(callback)}); }
  std::vector<std::string> names() const;
  Result<FinalizerResult> Run(const Context& ctx, const ClientCore& core, const ResourceTarget& target, void* object) const;

 private:
  struct Entry {
    std::string name;
    Callback callback;
  };
  std::vector<Entry> entries_{};
};

}  // namespace internal

// The finalizers of a kind and their cleanup functions.
//
// Thread safety: const functions may be called from many threads at once if the callbacks allow it.
// Blocking and cancellation: Run waits for its requests and for the callbacks, which get the context.
// Errors: an error of a callback, prefixed with the finalizer's name, or kUserCode if it throws anything but an ErrorException. Writes may
//   return a conflict if a live object was outdated, which a run with the newer version resolves, or kInvalid for a name that no server
//   accepts. Work done before an error is kept.
// Cost: no request if there is nothing to do; one write for all additions, and one per removed finalizer.
template <ObjectType T>
class Finalizers {
 public:
  using Callback = std::function<Result<void>(const Context& ctx, const T& object)>;  // the cleanup; must be idempotent

  // Registers a cleanup function. `name` must have a domain: "shop.example.com/empty".
  Finalizers& Add(std::string name, Callback callback) & {
    core_.Add(std::move(name),
              [f = std::move(callback)](const Context& ctx, const void* object) { return f(ctx, *static_cast<const T*>(object)); });
    return *this;
  }
  Finalizers&& Add(std::string name, Callback callback) && {
    Add(std::move(name), std::move(callback));
    return std::move(*this);
  }
  std::vector<std::string> names() const { return core_.names(); }

  // `object` may come from a cache. It is updated to the version of the last write.
  Result<FinalizerResult> Run(const Context& ctx, const ResourceClient<T>& client, T& object) const {
    return core_.Run(ctx, client.core(), client.target(), &object);
  }
  Result<FinalizerResult> Run(const Context& ctx, const CachedResource<T>& client, T& object) const {
    return Run(client.Writing(ctx), client.Live(), object);
  }
  template <kube::Resource U = T>
  Result<FinalizerResult> Run(const Context& ctx, const Client& client, U& object) const {
    return Run(ctx, client.Resource<U>(), object);
  }
  template <kube::Resource U = T>
  Result<FinalizerResult> Run(const Context& ctx, const CachedClient& client, U& object) const {
    return Run(ctx, client.Resource<U>(), object);
  }

 private:
  internal::FinalizersCore core_{};
};

}  // namespace kube
