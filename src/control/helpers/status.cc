#include "kube/control/status.h"

#include <chrono>
#include <utility>

#include "control/helpers/erased_object.h"
#include "kube/codec/json.h"

namespace kube::internal {

using meta::v1::Condition;

namespace {
constexpr int kStatusAttempts = 3;
}

bool SetConditionSince(const List<Condition>& before, List<Condition>& conditions, Condition condition, Time now) {
  const String type = condition.type;
  const bool changed = SetStatusCondition(conditions, std::move(condition), now);
  if (!changed) return false;
  const Condition* old = FindStatusCondition(before, type.view());
  const Condition* current = FindStatusCondition(conditions, type.view());
  if (old != nullptr && current != nullptr && old->status == current->status &&
      old->last_transition_time != current->last_transition_time) {
    const auto index = static_cast<std::size_t>(current - std::as_const(conditions).begin());
    conditions[index].last_transition_time = old->last_transition_time;
  }
  return true;
}

List<Condition> ConditionsOf(const DynamicObject& object) {
  List<Condition> out;
  for (const Value& item : object["status"]["conditions"].list()) {
    if (Result<Condition> condition = FromValue<Condition>(item)) out.push_back(*std::move(condition));
  }
  return out;
}

Result<void> SetConditions(DynamicObject& object, const List<Condition>& conditions) {
  List<Value> items;
  for (const Condition& condition : conditions) {
    Result<Value> item = ToValue(condition);
    if (!item) return item.error();
    items.push_back(*std::move(item));
  }
  return object.SetNested({"status", "conditions"}, Value(std::move(items)));
}

Result<bool> WriteStatus(const Context& ctx, const ClientCore& core, const ResourceTarget& target, const StatusWriterOptions& options,
                         bool (*same_status)(const void*, const void*), void* before, void* object) {
  ErasedObject base(target.type, before);
  Result<DynamicObject> after = ErasedObject(target.type, object).ToDynamic();
  if (!after) return after.error();
  const ObjectKey key = after->key();
  for (int attempt = 1;; ++attempt) {
    Result<DynamicObject> base_dynamic = base.ToDynamic();
    if (!base_dynamic) return base_dynamic.error();
    Result<std::optional<Patch>> patch = PatchOfStatus(*base_dynamic, *after);
    if (!patch) return patch.error();
    if (!*patch) return false;
    ErasedObject answer(target.type);
    Result<void> written = PatchObject(core, ctx, target, key, "status", **patch,
                                       {.dry_run = options.dry_run, .field_manager = options.field_manager}, answer.mutable_data());
    if (written) {
      answer.CopyTo(before);
      answer.CopyTo(object);
      return true;
    }
    if (!IsConflict(written.error()) || attempt == kStatusAttempts) return written.error();
    ErasedObject live(target.type);
    if (Result<void> r = GetObject(core, ctx, target, key, {}, {}, live.mutable_data()); !r) return r.error();
    // Only if the status is the one that the changes were made on: otherwise they could undo another writer's changes.
    if (live.uid() != base.uid() || !same_status(live.data(), base.data())) return written.error();
    base = std::move(live);
    base.CopyTo(before);
  }
}

Time NowOf(const StatusWriterOptions& options) {
  const Clock& clock = options.clock != nullptr ? *options.clock : *Clock::Real();
  return Time::FromUnix(std::chrono::floor<std::chrono::seconds>(clock.WallNow()).time_since_epoch().count());
}

}  // namespace kube::internal
