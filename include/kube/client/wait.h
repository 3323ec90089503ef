// WaitFor: waits until an object meets a condition.
//
//   Result<Deployment> ready = WaitFor<Deployment>(client.Resource<Deployment>(), ctx.WithTimeout(1min), {"default", "web"},
//       [](const Deployment& d) { return d.status.ready_replicas == d.spec.replicas; });
//   Result<void> gone = WaitForDeletion(client.Resource<Pod>(), ctx, {"default", "web"});
//
// Reads the object, then watches it, and starts over if the watch ends. It does not poll and misses no change.
//
// Thread safety: as ResourceClient; the condition is called on the calling thread.
// Blocking and cancellation: blocks until the condition holds or the context stops. Use a deadline.
// Errors: those of the context, with the last observed state in the message; errors that waiting cannot fix (IsForbidden, IsUnauthorized,
//   IsInvalid, IsNotFound of the resource, kInvalid, kDecode). Broken connections and server restarts are retried.
// Cost: one list and one watch of a single object, repeated each time the watch ends.
#pragma once

#include <optional>
#include <utility>

#include "kube/base/context.h"
#include "kube/base/export.h"
#include "kube/base/result.h"
#include "kube/base/std_function.h"
#include "kube/client/resource_client.h"

namespace kube {

namespace internal {
// Ok if waiting continues after `error`, possibly after a short sleep; else the error to return.
KUBE_EXPORT Result<void> PauseAfter(const Context& ctx, const Error& error);
KUBE_EXPORT Error WaitEnded(const Context& ctx, const Error& error, const ObjectKey& key, const char* last_seen);
}  // namespace internal

// Waits until `done` returns true. `done` is called on the calling thread with the object, or with null if it does not exist. Returns the
// object, or nothing if it does not exist.
template <ObjectType T>
Result<std::optional<T>> WaitUntil(const ResourceClient<T>& resource, const Context& ctx, const ObjectKey& key,
                                   const std::function<bool(const T* object)>& done) {
  const std::string only = "metadata.name=" + key.name.str();
  const char* last_seen = "it was never seen";
  for (;;) {
    Result<ObjectList<T>> list = resource.List(ctx, {.ns = key.ns.str(), .field_selector = only});
    if (!list) {
      if (Result<void> go_on = internal::PauseAfter(ctx, list.error()); !go_on) {
        return internal::WaitEnded(ctx, go_on.error(), key, last_seen);
      }
      continue;
    }
    const T* const found = list->empty() ? nullptr : &*list->begin();
    last_seen = found == nullptr ? "it does not exist" : "it exists, but is not as wanted";
    if (done(found)) return found == nullptr ? std::optional<T>() : std::optional<T>(*found);
    Result<Watcher<T>> watcher =
        resource.Watch(ctx, {.ns = key.ns.str(), .field_selector = only, .resource_version = list->metadata.resource_version.str()});
    if (!watcher) {
      if (Result<void> go_on = internal::PauseAfter(ctx, watcher.error()); !go_on) {
        return internal::WaitEnded(ctx, go_on.error(), key, last_seen);
      }
      continue;
    }
    for (;;) {
      Result<std::optional<WatchEvent<T>>> event = watcher->Next(ctx);
      if (!event) return internal::WaitEnded(ctx, event.error(), key, last_seen);
      if (!*event || (*event)->type == WatchEventType::kError) break;
      if ((*event)->type == WatchEventType::kBookmark) continue;
      const bool deleted = (*event)->type == WatchEventType::kDeleted;
      last_seen = deleted ? "it does not exist" : "it exists, but is not as wanted";
      if (done(deleted ? nullptr : &(*event)->object)) return deleted ? std::optional<T>() : std::optional<T>(std::move((*event)->object));
    }
  }
}

// Waits until the object exists and `condition` holds for it.
template <ObjectType T>
Result<T> WaitFor(const ResourceClient<T>& resource, const Context& ctx, const ObjectKey& key,
                  const std::function<bool(const T& object)>& condition) {
  Result<std::optional<T>> found =
      WaitUntil<T>(resource, ctx, key, [&](const T* object) { return object != nullptr && condition(*object); });
  if (!found) return found.error();
  return **std::move(found);
}

// Waits until no object of that name exists.
template <ObjectType T>
Result<void> WaitForDeletion(const ResourceClient<T>& resource, const Context& ctx, const ObjectKey& key) {
  Result<std::optional<T>> gone = WaitUntil<T>(resource, ctx, key, [](const T* object) { return object == nullptr; });
  if (!gone) return gone.error();
  return {};
}

}  // namespace kube
