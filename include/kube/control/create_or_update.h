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
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "kube/base/context.h"
#include "kube/base/export.h"
#include "kube/base/result.h"
#include "kube/base/std_function.h"
#include "kube/client/client.h"
#include "kube/client/options.h"
#include "kube/client/resource_client.h"
#include "kube/control/cached_client.h"
#include "kube/meta/dynamic_object.h"

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

// The merge patch from one to the other, or nothing where they are equal. Lists are replaced as a whole by such a patch, so one that has a
// list names the version it was made for, and is refused where that is not the newest. Errors: kInvalid for a null that cannot be said.
KUBE_EXPORT Result<std::optional<Patch>> PatchBetween(const Value& before, const Value& after);
// The same for the parts of an object: all but its status, and the status alone.
KUBE_EXPORT Result<std::optional<Patch>> PatchWithoutStatus(const DynamicObject& before, const DynamicObject& after);
KUBE_EXPORT Result<std::optional<Patch>> PatchOfStatus(const DynamicObject& before, const DynamicObject& after);

// The two functions without templates. `object` is what `target.type` says: a struct, or a DynamicObject.
using MutateFunction = std::function<Result<void>(void* object)>;
KUBE_EXPORT Result<OperationResult> CreateOrUpdateObject(const Context& ctx, const ClientCore& core, const ResourceTarget& target,
                                                         void* object, const MutateFunction& mutate, const CreateOrUpdateOptions& options);
KUBE_EXPORT Result<OperationResult> CreateOrPatchObject(const Context& ctx, const ClientCore& core, const ResourceTarget& target,
                                                        void* object, const MutateFunction& mutate, const CreateOrUpdateOptions& options);

// Refers to `mutate`, which may return nothing.
template <ObjectType T, typename Mutate>
MutateFunction ErasedMutate(Mutate& mutate) {
  return [&mutate](void* object) -> Result<void> {
    if constexpr (std::is_void_v<std::invoke_result_t<Mutate&, T&>>) {
      mutate(*static_cast<T*>(object));
      return {};
    } else {
      return mutate(*static_cast<T*>(object));
    }
  };
}

}  // namespace internal

// `object` says which one it is by name and namespace; where there is none on the server yet, the function gets it as it is.
template <ObjectType T, std::invocable<T&> Mutate>
Result<OperationResult> CreateOrUpdate(const Context& ctx, const ResourceClient<T>& client, T& object, Mutate mutate,
                                       const CreateOrUpdateOptions& options = {}) {
  return internal::CreateOrUpdateObject(ctx, client.core(), client.target(), &object, internal::ErasedMutate<T>(mutate), options);
}
template <ObjectType T, std::invocable<T&> Mutate>
Result<OperationResult> CreateOrPatch(const Context& ctx, const ResourceClient<T>& client, T& object, Mutate mutate,
                                      const CreateOrUpdateOptions& options = {}) {
  return internal::CreateOrPatchObject(ctx, client.core(), client.target(), &object, internal::ErasedMutate<T>(mutate), options);
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
