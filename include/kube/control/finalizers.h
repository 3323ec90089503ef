// Finalizers: work that has to be done before an object may go.
//
//   static const Finalizers<Bucket> finalizers = Finalizers<Bucket>()
//       .Add("shop.example.com/empty", [](const Context& ctx, const Bucket& b) { return EmptyBucket(ctx, b); })
//       .Add("shop.example.com/release", [](const Context& ctx, const Bucket& b) { return ReleaseName(ctx, b); });
//
//   Result<FinalizerResult> r = finalizers.Run(ctx, cached, bucket);                         // first thing in a reconciler
//   if (!r) return r.error();
//   if (!r->proceed) return Action::Done();                                                  // it is being deleted: nothing else to do
//
// A live object gets the finalizers that it does not have, in one write. For one whose deletion was asked for, the functions are called in
// the order of Add; each finalizer is taken off when its function has succeeded, and the first error ends the run, to be tried again. A
// function may be called again after it succeeded (the process may end in between): it must not mind.
#pragma once

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kube/base/context.h"
#include "kube/base/export.h"
#include "kube/base/result.h"
#include "kube/client/client.h"
#include "kube/client/options.h"
#include "kube/client/resource_client.h"
#include "kube/client/retry.h"
#include "kube/control/cached_client.h"
#include "kube/meta/dynamic_object.h"

namespace kube {

namespace internal {

template <ObjectType T>
List<String> FinalizersOf(const T& object) {
  if constexpr (std::same_as<T, DynamicObject>) {
    return object.finalizers();
  } else {
    return object.metadata.finalizers;
  }
}
template <ObjectType T>
void SetFinalizers(T& object, List<String> finalizers) {
  if constexpr (std::same_as<T, DynamicObject>) {
    object.set_finalizers(finalizers);
  } else {
    object.metadata.finalizers = std::move(finalizers);
  }
}
KUBE_EXPORT bool HasName(const List<String>& finalizers, std::string_view name);
// Refused by the server where the object is not of this version any more.
KUBE_EXPORT Patch FinalizerPatch(const List<String>& finalizers, const meta::v1::ObjectMeta& metadata);
// Errors: kInvalid for a name without a domain, and for one that is there twice.
KUBE_EXPORT Result<void> CheckFinalizerNames(const std::vector<std::string>& names);
// Calls it; an exception becomes an error of kind kUserCode.
KUBE_EXPORT Result<void> CallFinalizer(const std::function<Result<void>()>& call, const std::string& name, const ObjectKey& key);

}  // namespace internal

// ---- On an object in memory: nothing is sent ----
template <ObjectType T>
bool HasFinalizer(const T& object, std::string_view name) {
  return internal::HasName(internal::FinalizersOf(object), name);
}
// Behind all others. Returns whether it was missing.
template <ObjectType T>
bool AddFinalizer(T& object, std::string_view name) {
  List<String> finalizers = internal::FinalizersOf(object);
  if (internal::HasName(finalizers, name)) return false;
  finalizers.push_back(String(name));
  internal::SetFinalizers(object, std::move(finalizers));
  return true;
}
// Returns whether it was there.
template <ObjectType T>
bool RemoveFinalizer(T& object, std::string_view name) {
  List<String> finalizers = internal::FinalizersOf(object);
  if (finalizers.erase_if([&](const String& f) { return f == name; }) == 0) return false;
  internal::SetFinalizers(object, std::move(finalizers));
  return true;
}

struct FinalizerResult {
  bool proceed = false;                 // the object is live: go on with it
  bool changed = false;                 // something was written; the object is the newest one now
  std::vector<std::string> finished{};  // finalizers that were taken off in this run, in order
};

// Thread safety: const functions from many threads at once, as the callbacks allow it.
// Blocking and cancellation: Run waits for its requests and for the callbacks, which get the context.
// Errors: of a callback, with the finalizer's name in front, or kUserCode where it throws; of the writes: a conflict where a live object
//   was not the newest, which the next run with a newer one gets over; kInvalid for names that no server takes. What was done before an
//   error stays done.
// Cost: no request where there is nothing to do; one write for all additions, and one for each finalizer that is done with.
template <ObjectType T>
class Finalizers {
 public:
  using Callback = std::function<Result<void>(const Context& ctx, const T& object)>;

  // `name` has a domain: "shop.example.com/empty".
  Finalizers& Add(std::string name, Callback callback) & {
    entries_.push_back({std::move(name), std::move(callback)});
    return *this;
  }
  Finalizers&& Add(std::string name, Callback callback) && {
    Add(std::move(name), std::move(callback));
    return std::move(*this);
  }
  std::vector<std::string> names() const {
    std::vector<std::string> out;
    for (const Entry& entry : entries_) out.push_back(entry.name);
    return out;
  }

  // `object` may come from a cache. It becomes what the server has after the last write.
  Result<FinalizerResult> Run(const Context& ctx, const ResourceClient<T>& client, T& object) const {
    if (Result<void> r = internal::CheckFinalizerNames(names()); !r) return r.error();
    return MetadataOf(object).deletion_timestamp.IsZero() ? AddMissing(ctx, client, object) : Finish(ctx, client, object);
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
  struct Entry {
    std::string name;
    Callback callback;
  };

  Result<FinalizerResult> AddMissing(const Context& ctx, const ResourceClient<T>& client, T& object) const {
    T next = object;
    bool changed = false;
    for (const Entry& entry : entries_) changed = AddFinalizer(next, entry.name) || changed;
    if (!changed) return FinalizerResult{.proceed = true};
    Result<T> patched = client.Patch(ctx, KeyOf(object), internal::FinalizerPatch(internal::FinalizersOf(next), MetadataOf(object)));
    if (!patched) return patched.error().WithContext("add finalizers");
    object = *std::move(patched);
    // Deleted since it was read: the server does not let finalizers be added to such an object, so it has none of ours.
    return FinalizerResult{.proceed = MetadataOf(object).deletion_timestamp.IsZero(), .changed = true};
  }

  Result<FinalizerResult> Finish(const Context& ctx, const ResourceClient<T>& client, T& object) const {
    FinalizerResult out;
    for (const Entry& entry : entries_) {
      if (!HasFinalizer(object, entry.name)) continue;
      Result<void> done = internal::CallFinalizer([&] { return entry.callback(ctx, object); }, entry.name, KeyOf(object));
      if (!done) return done.error();
      Result<bool> there = TakeOff(ctx, client, entry.name, object);
      if (!there) return there.error().WithContext("take the finalizer " + entry.name + " off");
      out.finished.push_back(entry.name);
      out.changed = true;
      if (!*there) break;
    }
    return out;
  }

  // False: the object is gone. Its work is done, so a newer version is no reason to do it again.
  static Result<bool> TakeOff(const Context& ctx, const ResourceClient<T>& client, std::string_view name, T& object) {
    bool there = true, stale = false;
    const auto gone = [&](const Error& error) -> Result<void> {
      if (!IsNotFound(error)) return error;
      there = false;
      return {};
    };
    Result<void> done = RetryOnConflict(ctx, [&]() -> Result<void> {
      if (stale) {
        Result<T> live = client.Get(ctx, KeyOf(object));
        if (!live) return gone(live.error());
        if (MetadataOf(*live).uid != MetadataOf(object).uid) {  // another one of that name
          there = false;
          return {};
        }
        object = *std::move(live);
      }
      stale = true;
      T next = object;
      if (!RemoveFinalizer(next, name)) return {};
      Result<T> patched = client.Patch(ctx, KeyOf(object), internal::FinalizerPatch(internal::FinalizersOf(next), MetadataOf(object)));
      if (!patched) return gone(patched.error());
      object = *std::move(patched);
      return {};
    });
    if (!done) return done.error();
    return there;
  }

  std::vector<Entry> entries_;
};

}  // namespace kube
