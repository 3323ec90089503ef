// CreateOrUpdate and CreateOrPatch: bring one object into a state, whatever it is in now, and write only what has to be written.
//
//   ConfigMap map;
//   map.metadata.namespace_ = "default";
//   map.metadata.name = "settings";
//   Result<OperationResult> done = CreateOrUpdate(ctx, client, map, [&](ConfigMap& m) {
//     m.data["level"] = "info";                        // touch what you want, leave alone what you have no opinion on
//     return SetControllerReference(owner, m);         // a function that gives nothing is fine too
//   });
//   // *done: kCreated, kUpdated or kUnchanged; `map` is now what the server has
//
// The object is read from the server, a copy is given to the function, and what the function changed is written. Defaults that the server
// has put in are in the copy too, so they make no difference. A function that assigns a whole spec does wipe them out; the server puts
// them back, nothing is changed, and this is remembered: the same change on the same object is not sent a second time by this process.
//
// CreateOrPatch sends what changed as a merge patch, and the status, where that changed, as a second one to the status subresource.
// For the children of an owner see desired_state.h, which also prunes; for status see status.h.
//
// Thread safety: functions of their arguments; the function is called on the calling thread.
// Blocking and cancellation: until the server has answered, and again after conflicts; ends with the context.
// Errors: those of the verbs and of the function; kInvalid where the function changes name or namespace, or there is no name. `object` is
//   unchanged then.
// Cost: one read, and one write where something changed.
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "kube/base/context.h"
#include "kube/base/export.h"
#include "kube/base/result.h"
#include "kube/client/client.h"
#include "kube/client/options.h"
#include "kube/client/resource_client.h"
#include "kube/client/retry.h"
#include "kube/control/cached_client.h"
#include "kube/meta/dynamic_object.h"
#include "kube/value/type_info.h"

namespace kube {

enum class OperationResult : std::uint8_t {
  kUnchanged,
  kCreated,
  kUpdated,
  kUpdatedStatus,      // and the rest too
  kUpdatedStatusOnly,  // of CreateOrPatch
};
// "unchanged", "created", "updated", "updatedStatus", "updatedStatusOnly"
KUBE_EXPORT std::string_view ToString(OperationResult result);

struct CreateOrUpdateOptions {
  std::string field_manager{};
  bool dry_run = false;
  // Where somebody wrote in between: read again and call the function again, as RetryOnConflict does. Off: the conflict is the error.
  bool retry_on_conflict = true;
};

namespace internal {

KUBE_EXPORT Result<void> RetryWrites(const Context& ctx, bool on_conflict, const std::function<Result<void>()>& attempt);
// Errors: kInvalid where the two differ.
KUBE_EXPORT Result<void> CheckSameKey(const ObjectKey& before, const ObjectKey& after);

// What the server made of a change. For the whole process, bounded. Thread safety: one thread; the memory behind it is shared.
class KUBE_EXPORT ChangeMemory {
 public:
  ChangeMemory(const DynamicObject& before, const DynamicObject& wanted);
  // Whether this change was made to this object before, and the server had it as it is now afterwards.
  bool IsFutile() const;
  void Remember(const DynamicObject& after) const;

 private:
  String uid_;
  std::uint64_t before_;
  std::uint64_t wanted_;
};

// The merge patch from one to the other, or nothing where they are equal. Lists are replaced as a whole by such a patch, so one that has a
// list names the version it was made for, and is refused where that is not the newest. Errors: kInvalid for a null that cannot be said.
KUBE_EXPORT Result<std::optional<Patch>> PatchBetween(const Value& before, const Value& after);
// The same for the parts of an object: all but its status, and the status alone.
KUBE_EXPORT Result<std::optional<Patch>> PatchWithoutStatus(const DynamicObject& before, const DynamicObject& after);
KUBE_EXPORT Result<std::optional<Patch>> PatchOfStatus(const DynamicObject& before, const DynamicObject& after);

template <ObjectType T>
Result<DynamicObject> AnyToDynamic(const T& object) {
  if constexpr (std::same_as<T, DynamicObject>) {
    return object;
  } else {
    return ToDynamic(object);
  }
}
template <ObjectType T>
const String& VersionOf(const T& object) {
  if constexpr (std::same_as<T, DynamicObject>) {
    return object.resource_version();
  } else {
    return object.metadata.resource_version;
  }
}

// By the table if there is one: a struct needs no operator== of its own.
template <typename T>
bool Equal(const T& a, const T& b) {
  if constexpr (Described<T>) {
    return EqualObjects(T::kType, &a, &b);
  } else {
    return a == b;
  }
}

template <ObjectType T, typename Mutate>
Result<void> CallMutate(Mutate& mutate, T& object) {
  const ObjectKey key = KeyOf(object);
  if constexpr (std::is_void_v<std::invoke_result_t<Mutate&, T&>>) {
    mutate(object);
  } else {
    if (Result<void> r = mutate(object); !r) return r;
  }
  return CheckSameKey(key, KeyOf(object));
}

// What both functions begin with: the state on the server, and the one that the function makes of it.
template <ObjectType T>
struct Mutated {
  std::optional<T> live{};
  T next{};
};
template <ObjectType T, typename Mutate>
Result<Mutated<T>> ReadAndMutate(const Context& ctx, const ResourceClient<T>& client, const T& start, Mutate& mutate) {
  Mutated<T> out;
  Result<T> live = client.Get(ctx, KeyOf(start));
  if (live) {
    out.live = *live;
  } else if (!IsNotFound(live.error())) {
    return live.error();
  }
  out.next = live ? *live : start;
  if (Result<void> r = CallMutate(mutate, out.next); !r) return r.error();
  return out;
}

}  // namespace internal

// `object` says which one it is by name and namespace; where there is none on the server yet, the function gets it as it is.
template <ObjectType T, std::invocable<T&> Mutate>
Result<OperationResult> CreateOrUpdate(const Context& ctx, const ResourceClient<T>& client, T& object, Mutate mutate,
                                       const CreateOrUpdateOptions& options = {}) {
  OperationResult result = OperationResult::kUnchanged;
  const WriteOptions write{.dry_run = options.dry_run, .field_manager = options.field_manager};
  const T start = object;
  Result<void> done = internal::RetryWrites(ctx, options.retry_on_conflict, [&]() -> Result<void> {
    Result<internal::Mutated<T>> state = internal::ReadAndMutate(ctx, client, start, mutate);
    if (!state) return state.error();
    if (!state->live) {
      Result<T> created = client.Create(ctx, state->next, write);
      if (!created) return created.error();
      object = *std::move(created);
      result = OperationResult::kCreated;
      return {};
    }
    const T& live = *state->live;
    result = OperationResult::kUnchanged;
    if (internal::Equal(state->next, live)) {
      object = live;
      return {};
    }
    Result<DynamicObject> before = internal::AnyToDynamic(live), wanted = internal::AnyToDynamic(state->next);
    if (!before) return before.error();
    if (!wanted) return wanted.error();
    const internal::ChangeMemory memory(*before, *wanted);
    if (memory.IsFutile()) {
      object = live;
      return {};
    }
    Result<T> updated = client.Update(ctx, state->next, write);
    if (!updated) return updated.error();
    Result<DynamicObject> after = internal::AnyToDynamic(*updated);
    if (after && !options.dry_run) memory.Remember(*after);
    if (internal::VersionOf(*updated) != internal::VersionOf(live) || options.dry_run) result = OperationResult::kUpdated;
    object = *std::move(updated);
    return {};
  });
  if (!done) return done.error();
  return result;
}

template <ObjectType T, std::invocable<T&> Mutate>
Result<OperationResult> CreateOrPatch(const Context& ctx, const ResourceClient<T>& client, T& object, Mutate mutate,
                                      const CreateOrUpdateOptions& options = {}) {
  OperationResult result = OperationResult::kUnchanged;
  const WriteOptions write{.dry_run = options.dry_run, .field_manager = options.field_manager};
  const T start = object;
  Result<void> done = internal::RetryWrites(ctx, options.retry_on_conflict, [&]() -> Result<void> {
    Result<internal::Mutated<T>> state = internal::ReadAndMutate(ctx, client, start, mutate);
    if (!state) return state.error();
    Result<DynamicObject> wanted = internal::AnyToDynamic(state->next);
    if (!wanted) return wanted.error();
    bool body_changed = false;
    result = OperationResult::kUnchanged;
    T now{};
    if (!state->live) {
      Result<T> created = client.Create(ctx, state->next, write);
      if (!created) return created.error();
      now = *std::move(created);
      result = OperationResult::kCreated;
    } else {
      now = *state->live;
      Result<DynamicObject> before = internal::AnyToDynamic(now);
      if (!before) return before.error();
      const internal::ChangeMemory memory(*before, *wanted);
      Result<std::optional<Patch>> patch = internal::PatchWithoutStatus(*before, *wanted);
      if (!patch) return patch.error();
      if (*patch && !memory.IsFutile()) {
        Result<T> patched = client.Patch(ctx, KeyOf(now), **patch, write);
        if (!patched) return patched.error();
        Result<DynamicObject> after = internal::AnyToDynamic(*patched);
        if (after && !options.dry_run) memory.Remember(*after);
        body_changed = internal::VersionOf(*patched) != internal::VersionOf(now) || options.dry_run;
        now = *std::move(patched);
        if (body_changed) result = OperationResult::kUpdated;
      }
    }
    Result<DynamicObject> before = internal::AnyToDynamic(now);
    if (!before) return before.error();
    Result<std::optional<Patch>> status = internal::PatchOfStatus(*before, *wanted);
    if (!status) return status.error();
    // A dry run has created nothing whose status could be patched.
    if (*status && !(options.dry_run && result == OperationResult::kCreated)) {
      Result<T> patched = client.Patch(ctx, KeyOf(now), **status, write, "status");
      if (!patched) return patched.error();
      if (result != OperationResult::kCreated) {
        result = body_changed ? OperationResult::kUpdatedStatus : OperationResult::kUpdatedStatusOnly;
      }
      now = *std::move(patched);
    }
    object = std::move(now);
    return {};
  });
  if (!done) return done.error();
  return result;
}

// With a CachedClient: read from the server all the same, and written so that cached reads see it.
template <ObjectType T, std::invocable<T&> Mutate>
Result<OperationResult> CreateOrUpdate(const Context& ctx, const CachedResource<T>& client, T& object, Mutate mutate,
                                       const CreateOrUpdateOptions& options = {}) {
  return CreateOrUpdate(client.Writing(ctx), client.Live(), object, std::move(mutate), options);
}
template <ObjectType T, std::invocable<T&> Mutate>
Result<OperationResult> CreateOrPatch(const Context& ctx, const CachedResource<T>& client, T& object, Mutate mutate,
                                      const CreateOrUpdateOptions& options = {}) {
  return CreateOrPatch(client.Writing(ctx), client.Live(), object, std::move(mutate), options);
}

// Typed objects need no ResourceClient.
template <Resource T, std::invocable<T&> Mutate>
Result<OperationResult> CreateOrUpdate(const Context& ctx, const CachedClient& client, T& object, Mutate mutate,
                                       const CreateOrUpdateOptions& options = {}) {
  return CreateOrUpdate(ctx, client.Resource<T>(), object, std::move(mutate), options);
}
template <Resource T, std::invocable<T&> Mutate>
Result<OperationResult> CreateOrPatch(const Context& ctx, const CachedClient& client, T& object, Mutate mutate,
                                      const CreateOrUpdateOptions& options = {}) {
  return CreateOrPatch(ctx, client.Resource<T>(), object, std::move(mutate), options);
}
template <Resource T, std::invocable<T&> Mutate>
Result<OperationResult> CreateOrUpdate(const Context& ctx, const Client& client, T& object, Mutate mutate,
                                       const CreateOrUpdateOptions& options = {}) {
  return CreateOrUpdate(ctx, client.Resource<T>(), object, std::move(mutate), options);
}
template <Resource T, std::invocable<T&> Mutate>
Result<OperationResult> CreateOrPatch(const Context& ctx, const Client& client, T& object, Mutate mutate,
                                      const CreateOrUpdateOptions& options = {}) {
  return CreateOrPatch(ctx, client.Resource<T>(), object, std::move(mutate), options);
}

}  // namespace kube
