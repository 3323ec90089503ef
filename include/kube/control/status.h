// StatusWriter: collects the status changes of one reconcile pass and writes them once, if anything changed.
//
//   StatusWriter<Cart> status(cached, cart);                                    // or a Client
//   status->replicas = 3;                                                       // any field
//   status.SetCondition({.type = "Ready", .status = "False", .reason = "NoStock", .message = "waiting for goods"});
//   ...
//   Result<bool> written = status.Write(ctx);                                   // at the end of the pass; false if nothing changed
//
// Conditions get the object's generation as observedGeneration. lastTransitionTime changes only if a condition's status differs from that
// at the beginning of the pass, however often it changed in between.
//
// Thread safety: none; use one per pass.
// Lifetime: holds copies of the client and of the object.
// Blocking and cancellation: only Write blocks, for its request; it ends with the context.
// Errors: Write returns those of a patch. IsConflict if another client wrote the status meanwhile (writes to the rest of the object do not
//   matter): the next pass sees it. IsNotFound if the object does not exist, or its kind has no status subresource.
// Cost: Write compares the two states, and sends one request if they differ.
#pragma once

#include <concepts>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "kube/base/clock.h"
#include "kube/base/context.h"
#include "kube/base/export.h"
#include "kube/base/result.h"
#include "kube/base/std_memory.h"
#include "kube/client/client.h"
#include "kube/client/options.h"
#include "kube/client/resource_client.h"
#include "kube/control/cached_client.h"
#include "kube/control/create_or_update.h"
#include "kube/meta/conditions.h"
#include "kube/meta/dynamic_object.h"
#include "kube/meta/object_traits.h"

namespace kube {

// Options of a StatusWriter.
struct StatusWriterOptions {
  std::string field_manager{};  // empty for the server's default
  bool dry_run = false;         // sends a server-side dry run
  // Clock for the times of conditions. Null for that of the CachedClient, or the system clock.
  std::shared_ptr<Clock> clock{};
};

// Kinds whose status has conditions of the standard type, meta.v1.Condition.
template <typename T>
concept HasConditions = requires(T& object) {
  { object.status.conditions } -> std::same_as<List<meta::v1::Condition>&>;
};
// Objects whose conditions a StatusWriter can set.
template <typename T>
concept TakesConditions = HasConditions<T> || std::same_as<T, DynamicObject>;

namespace internal {

// SetStatusCondition, except that a condition whose status is the same as in `before` keeps its time from there.
KUBE_EXPORT bool SetConditionSince(const List<meta::v1::Condition>& before, List<meta::v1::Condition>& conditions,
                                   meta::v1::Condition condition, Time now);
// Conditions of a DynamicObject. Entries that are not conditions are skipped.
KUBE_EXPORT List<meta::v1::Condition> ConditionsOf(const DynamicObject& object);
KUBE_EXPORT Result<void> SetConditions(DynamicObject& object, const List<meta::v1::Condition>& conditions);
// Edits the conditions of either form of object: `edit` changes a list of conditions and returns whether it did.
template <HasConditions T, typename Edit>
bool EditConditions(const T& before, T& object, const Edit& edit) {
  return edit(before.status.conditions, object.status.conditions);
}
template <typename Edit>
bool EditConditions(const DynamicObject& before, DynamicObject& object, const Edit& edit) {
  List<meta::v1::Condition> conditions = ConditionsOf(object);
  return edit(ConditionsOf(before), conditions) && SetConditions(object, conditions).ok();
}
// Implements StatusWriter::Write for a changed status. Both objects have the type `target.type`; if it returns true, both hold the server's
// version.
KUBE_EXPORT Result<bool> WriteStatus(const Context& ctx, const ClientCore& core, const ResourceTarget& target,
                                     const StatusWriterOptions& options, bool (*same_status)(const void*, const void*), void* before,
                                     void* object);
KUBE_EXPORT Time NowOf(const StatusWriterOptions& options);

}  // namespace internal

// See the beginning of this file.
template <ObjectType T>
class StatusWriter {
 public:
  StatusWriter(ResourceClient<T> client, T object, StatusWriterOptions options = {})
      : client_(std::move(client)), options_(std::move(options)), before_(object), object_(std::move(object)) {}
  StatusWriter(const CachedResource<T>& client, T object, StatusWriterOptions options = {})
      : StatusWriter(client.Live(), std::move(object), std::move(options)) {
    if (options_.clock == nullptr) options_.clock = client.clock();
    cached_ = client;
  }
  template <kube::Resource U = T>
  StatusWriter(const Client& client, U object, StatusWriterOptions options = {})
      : StatusWriter(client.Resource<U>(), std::move(object), std::move(options)) {}
  template <kube::Resource U = T>
  StatusWriter(const CachedClient& client, U object, StatusWriterOptions options = {})
      : StatusWriter(client.Resource<U>(), std::move(object), std::move(options)) {}

  // The object, with the status as it will be written.
  const T& object() const { return object_; }
  // The status for writing; a Value for a DynamicObject.
  auto& status() { return ObjectTraits<T>::Status(object_); }
  auto* operator->() { return &status(); }

  // Adds or updates a condition; returns whether that changed the status. Not for kinds with their own condition structs (Deployment, Pod):
  // edit those through status(). `at` is the transition time; unset for now, by the clock of the options.
  bool SetCondition(meta::v1::Condition condition, std::optional<Time> at = {}) requires TakesConditions<T> {
    const Time now = at ? *at : internal::NowOf(options_);
    if (condition.observed_generation == 0) condition.observed_generation = MetadataOf(object_).generation;
    return internal::EditConditions(before_, object_, [&](const List<meta::v1::Condition>& before, List<meta::v1::Condition>& conditions) {
      return internal::SetConditionSince(before, conditions, std::move(condition), now);
    });
  }
  // Returns whether there was such a condition.
  bool RemoveCondition(std::string_view type) requires TakesConditions<T> {
    return internal::EditConditions(
        before_, object_, [&](const auto&, List<meta::v1::Condition>& conditions) { return RemoveStatusCondition(conditions, type); });
  }

  // Whether Write would send a request.
  bool changed() const { return !ObjectTraits<T>::SameStatus(before_, object_); }

  // Returns whether it wrote. object() is then the server's version.
  Result<bool> Write(const Context& ctx) {
    if (!changed()) return false;
    return internal::WriteStatus(
        cached_ ? cached_->Writing(ctx) : ctx, client_.core(), client_.target(), options_,
        [](const void* a, const void* b) { return ObjectTraits<T>::SameStatus(*static_cast<const T*>(a), *static_cast<const T*>(b)); },
        &before_, &object_);
  }

 private:
  ResourceClient<T> client_;
  std::optional<CachedResource<T>> cached_{};
  StatusWriterOptions options_;
  T before_;
  T object_;
};

}  // namespace kube
