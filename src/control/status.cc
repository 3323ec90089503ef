#include "kube/control/status.h"

#include <utility>

#include "kube/codec/json.h"

namespace kube::internal {

using meta::v1::Condition;

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

}  // namespace kube::internal
