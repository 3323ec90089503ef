// StatusWriter: collects what a pass of a reconciler has to say about an object, and writes the status once, where it is different.
//
//   StatusWriter<Cart> status(cached, cart);                                    // or a Client
//   status->replicas = 3;                                                       // any field
//   status.SetCondition({.type = "Ready", .status = "False", .reason = "NoStock", .message = "waiting for goods"});
//   ...
//   Result<bool> written = status.Write(ctx);                                   // at the end of the pass; false: nothing had changed
//
// Conditions get the generation of the object as observedGeneration. Their lastTransitionTime changes only where their status is another
// one than at the beginning of the pass, however often it changed in between.
//
// Thread safety: none; one for each pass.
// Lifetime: holds copies of the client and of the object.
// Blocking and cancellation: only Write, for its request; it ends with the context.
// Errors: of Write: those of a patch. IsConflict where somebody else wrote the status meanwhile (a write to the rest of the object does not
//   matter): the next pass sees it. IsNotFound where the object is gone, or its kind has no status subresource.
// Cost: Write compares the two states; one request where they differ.
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

struct StatusWriterOptions {
  std::string field_manager{};
  bool dry_run = false;
  std::shared_ptr<Clock> clock{};  // of conditions; null: that of the CachedClient, or the machine's
};

// Kinds whose status has conditions of the standard type.
template <typename T>
concept HasConditions = requires(T& object) {
  { object.status.conditions } -> std::same_as<List<meta::v1::Condition>&>;
};
// What StatusWriter can set conditions of.
template <typename T>
concept TakesConditions = HasConditions<T> || std::same_as<T, DynamicObject>;

namespace internal {

// SetStatusCondition, but the time of a condition whose status is as it was in `before` is that one.
KUBE_EXPORT bool SetConditionSince(const List<meta::v1::Condition>& before, List<meta::v1::Condition>& conditions,
                                   meta::v1::Condition condition, Time now);
// Of a DynamicObject; entries that are no conditions are left out.
KUBE_EXPORT List<meta::v1::Condition> ConditionsOf(const DynamicObject& object);
KUBE_EXPORT Result<void> SetConditions(DynamicObject& object, const List<meta::v1::Condition>& conditions);
// The same for both, so that StatusWriter does not tell them apart: `edit` changes a list of conditions and returns whether it did.
template <HasConditions T, typename Edit>
bool EditConditions(const T& before, T& object, const Edit& edit) {
  return edit(before.status.conditions, object.status.conditions);
}
template <typename Edit>
bool EditConditions(const DynamicObject& before, DynamicObject& object, const Edit& edit) {
  List<meta::v1::Condition> conditions = ConditionsOf(object);
  return edit(ConditionsOf(before), conditions) && SetConditions(object, conditions).ok();
}
// StatusWriter::Write if something changed. Both objects have `target.type`, and are what the server has if it returns true.
KUBE_EXPORT Result<bool> WriteStatus(const Context& ctx, const ClientCore& core, const ResourceTarget& target,
                                     const StatusWriterOptions& options, bool (*same_status)(const void*, const void*), void* before,
                                     void* object);
KUBE_EXPORT Time NowOf(const StatusWriterOptions& options);

}  // namespace internal

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

  // The object with the status as it will be written.
  const T& object() const { return object_; }
  // The status for writing; of a DynamicObject a Value.
  auto& status() { return ObjectTraits<T>::Status(object_); }
  auto* operator->() { return &status(); }

  // Adds it or brings it up to date; returns whether the status is another one than before the call. Kinds that have condition structs of
  // their own (Deployment, Pod) have to be written by status(). `at` is the time of a transition; none: now, by the clock of the options.
  bool SetCondition(meta::v1::Condition condition, std::optional<Time> at = {}) requires TakesConditions<T> {
    const Time now = at ? *at : internal::NowOf(options_);
    if (condition.observed_generation == 0) condition.observed_generation = MetadataOf(object_).generation;
    return internal::EditConditions(before_, object_, [&](const List<meta::v1::Condition>& before, List<meta::v1::Condition>& conditions) {
      return internal::SetConditionSince(before, conditions, std::move(condition), now);
    });
  }
  // Returns whether there was one.
  bool RemoveCondition(std::string_view type) requires TakesConditions<T> {
    return internal::EditConditions(
        before_, object_, [&](const auto&, List<meta::v1::Condition>& conditions) { return RemoveStatusCondition(conditions, type); });
  }

  // Whether Write would write.
  bool changed() const { return !ObjectTraits<T>::SameStatus(before_, object_); }

  // Returns whether it wrote; object() is then what the server has.
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
