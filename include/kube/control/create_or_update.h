// CreateOrUpdate and CreateOrPatch: bring one object into the desired state, and write only if something differs.
//
//   ConfigMap map;
//   map.metadata.namespace_ = "default";
//   map.metadata.name = "settings";
//   Result<OperationResult> done = CreateOrUpdate(ctx, client, map, [&](ConfigMap& m) {
//     m.data["level"] = "info";                        // set what you manage, leave the rest alone
//     return SetControllerReference(owner, m);         // a function that returns void is fine too
//   });
//   // *done: kCreated, kUpdated or kUnchanged; `map` is now what the server has
//
// The object is read from the API server, the function gets a copy, and its changes are written. The copy includes the server's defaults,
// so these make no difference. A function that assigns a whole spec does erase them; the API server then restores them and nothing changes.
// The process remembers this and does not send the same change to the same object again.
//
// CreateOrPatch sends the changes as a merge patch. If the status changed, a second patch goes to the status subresource. For the children
// of an owner see desired_state.h, which also prunes; for status see status.h.
//
// Thread safety: stateless; the function is called on the calling thread.
// Blocking and cancellation: blocks until the API server has answered, retries after conflicts, and ends with the context.
// Errors: those of the verbs and of the function; kInvalid if the object has no name or the function changes the name or namespace.
//   `object` is unchanged after an error.
// Cost: one read, plus one write if something changed.
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

// The outcome of CreateOrUpdate and CreateOrPatch.
enum class OperationResult : std::uint8_t {
  kUnchanged,
  kCreated,
  kUpdated,
  kUpdatedStatus,      // CreateOrPatch: the status and other fields
  kUpdatedStatusOnly,  // CreateOrPatch: the status only
};
// "unchanged", "created", "updated", "updatedStatus", "updatedStatusOnly"
KUBE_EXPORT std::string_view ToString(OperationResult result);

// Options of CreateOrUpdate and CreateOrPatch.
struct CreateOrUpdateOptions {
  std::string field_manager{};  // empty for the server's default
  bool dry_run = false;         // sends server-side dry runs
  // After a conflict, read again and call the function again, as RetryOnConflict does. If false, the conflict is returned.
  bool retry_on_conflict = true;
};

namespace internal {

// The merge patch from `before` to `after`, or nullopt if they are equal. A merge patch replaces lists as a whole, so one with a list
// carries the resourceVersion that it was computed from and is rejected if that is outdated. Errors: kInvalid for a null that a merge patch
// cannot express.
KUBE_EXPORT Result<std::optional<Patch>> PatchBetween(const Value& before, const Value& after);
// The same for parts of an object: everything except its status, and the status alone.
KUBE_EXPORT Result<std::optional<Patch>> PatchWithoutStatus(const DynamicObject& before, const DynamicObject& after);
KUBE_EXPORT Result<std::optional<Patch>> PatchOfStatus(const DynamicObject& before, const DynamicObject& after);

// The two functions without templates. `object` has the type of `target.type`: a struct or a DynamicObject.
using MutateFunction = std::function<Result<void>(void* object)>;
KUBE_EXPORT Result<OperationResult> CreateOrUpdateObject(const Context& ctx, const ClientCore& core, const ResourceTarget& target,
                                                         void* object, const MutateFunction& mutate, const CreateOrUpdateOptions& options);
KUBE_EXPORT Result<OperationResult> CreateOrPatchObject(const Context& ctx, const ClientCore& core, const ResourceTarget& target,
                                                        void* object, const MutateFunction& mutate, const CreateOrUpdateOptions& options);

// Captures `mutate` by reference. It may return void.
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

// `object` identifies itself by name and namespace. If it does not exist on the API server, the function gets `object` as it is.
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

// With a CachedClient: reads from the API server too, and writes so that cached reads see the change.
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
