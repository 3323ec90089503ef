#include "kube/meta/conditions.h"

namespace kube {

bool SetStatusCondition(List<meta::v1::Condition>& conditions, meta::v1::Condition condition, Time now) {
  if (condition.last_transition_time.IsZero()) condition.last_transition_time = now;
  const meta::v1::Condition* existing = FindStatusCondition(conditions, condition.type);
  if (existing == nullptr) {
    conditions.push_back(std::move(condition));
    return true;
  }
  bool transition = existing->status != condition.status;
  if (!transition && existing->reason == condition.reason && existing->message == condition.message &&
      existing->observed_generation == condition.observed_generation) {
    return false;
  }
  // From here on the list is written to; the index outlives its detaching from copies.
  auto& target = conditions[static_cast<std::size_t>(existing - std::as_const(conditions).begin())];
  if (transition) target.last_transition_time = condition.last_transition_time;
  target.status = std::move(condition.status);
  target.reason = std::move(condition.reason);
  target.message = std::move(condition.message);
  target.observed_generation = condition.observed_generation;
  return true;
}

bool RemoveStatusCondition(List<meta::v1::Condition>& conditions, std::string_view type) {
  return conditions.erase_if([type](const meta::v1::Condition& c) { return c.type == type; }) != 0;
}

bool IsStatusConditionPresentAndEqual(const List<meta::v1::Condition>& conditions, std::string_view type, std::string_view status) {
  const meta::v1::Condition* found = FindStatusCondition(conditions, type);
  return found != nullptr && found->status == status;
}

}  // namespace kube
