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

#include <chrono>
#include <concepts>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "kube/base/clock.h"
#include "kube/base/context.h"
#include "kube/base/export.h"
#include "kube/base/result.h"
#include "kube/client/client.h"
#include "kube/client/options.h"
#include "kube/client/resource_client.h"
#include "kube/control/cached_client.h"
#include "kube/control/create_or_update.h"
#include "kube/meta/conditions.h"
#include "kube/meta/dynamic_object.h"

namespace kube {

struct StatusWriterOptions {
  std::string field_manager{};
  bool dry_run = false;
  std::shared_ptr<Clock> clock{};  // of conditions; null: that of the CachedClient, or the machine's
};

namespace internal {

constexpr int kStatusAttempts = 3;

template <typename T>
concept HasConditions = requires(T& object) {
  { object.status.conditions } -> std::same_as<List<meta::v1::Condition>&>;
};

// SetStatusCondition, but the time of a condition whose status is as it was in `before` is that one.
KUBE_EXPORT bool SetConditionSince(const List<meta::v1::Condition>& before, List<meta::v1::Condition>& conditions,
                                   meta::v1::Condition condition, Time now);
// Of a DynamicObject; entries that are no conditions are left out.
KUBE_EXPORT List<meta::v1::Condition> ConditionsOf(const DynamicObject& object);
KUBE_EXPORT Result<void> SetConditions(DynamicObject& object, const List<meta::v1::Condition>& conditions);

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
  auto& status() {
    if constexpr (std::same_as<T, DynamicObject>) {
      return object_["status"];
    } else {
      return object_.status;
    }
  }
  auto* operator->() { return &status(); }

  // Adds it or brings it up to date; returns whether the status is another one than before the call. Kinds that have condition structs of
  // their own (Deployment, Pod) have to be written by status(). `at` is the time of a transition; none: now, by the clock of the options.
  bool SetCondition(meta::v1::Condition condition,
                    std::optional<Time> at = {}) requires(internal::HasConditions<T> || std::same_as<T, DynamicObject>) {
    const Time now = at ? *at : Now();
    const meta::v1::ObjectMeta& metadata = MetadataOf(object_);
    if (condition.observed_generation == 0) condition.observed_generation = metadata.generation;
    if constexpr (std::same_as<T, DynamicObject>) {
      List<meta::v1::Condition> conditions = internal::ConditionsOf(object_);
      if (!internal::SetConditionSince(internal::ConditionsOf(before_), conditions, std::move(condition), now)) return false;
      return internal::SetConditions(object_, conditions).ok();
    } else {
      return internal::SetConditionSince(before_.status.conditions, object_.status.conditions, std::move(condition), now);
    }
  }
  // Returns whether there was one.
  bool RemoveCondition(std::string_view type) requires(internal::HasConditions<T> || std::same_as<T, DynamicObject>) {
    if constexpr (std::same_as<T, DynamicObject>) {
      List<meta::v1::Condition> conditions = internal::ConditionsOf(object_);
      return RemoveStatusCondition(conditions, type) && internal::SetConditions(object_, conditions).ok();
    } else {
      return RemoveStatusCondition(object_.status.conditions, type);
    }
  }

  // Whether Write would write.
  bool changed() const { return !SameStatus(before_, object_); }

  // Returns whether it wrote; object() is then what the server has.
  Result<bool> Write(const Context& outer) {
    if (!changed()) return false;
    const Context ctx = cached_ ? cached_->Writing(outer) : outer;
    Result<DynamicObject> after = internal::AnyToDynamic(object_);
    if (!after) return after.error();
    for (int attempt = 1;; ++attempt) {
      Result<DynamicObject> before = internal::AnyToDynamic(before_);
      if (!before) return before.error();
      Result<std::optional<Patch>> patch = internal::PatchOfStatus(*before, *after);
      if (!patch) return patch.error();
      if (!*patch) return false;
      Result<T> written =
          client_.Patch(ctx, KeyOf(object_), **patch, {.dry_run = options_.dry_run, .field_manager = options_.field_manager}, "status");
      if (written) {
        before_ = *written;
        object_ = *std::move(written);
        return true;
      }
      if (!IsConflict(written.error()) || attempt == internal::kStatusAttempts) return written.error();
      Result<T> live = client_.Get(ctx, KeyOf(object_));
      if (!live) return live.error();
      // Only where the status is the one that the changes were made on: else they may undo what somebody else has said.
      if (MetadataOf(*live).uid != MetadataOf(before_).uid || !SameStatus(*live, before_)) return written.error();
      before_ = *std::move(live);
    }
  }

 private:
  Time Now() const {
    const Clock& clock = options_.clock != nullptr ? *options_.clock : *Clock::Real();
    return Time::FromUnix(std::chrono::floor<std::chrono::seconds>(clock.WallNow()).time_since_epoch().count());
  }
  static bool SameStatus(const T& a, const T& b) {
    if constexpr (std::same_as<T, DynamicObject>) {
      return a["status"] == b["status"];
    } else {
      return internal::Equal(a.status, b.status);
    }
  }

  ResourceClient<T> client_;
  std::optional<CachedResource<T>> cached_{};
  StatusWriterOptions options_;
  T before_;
  T object_;
};

}  // namespace kube
