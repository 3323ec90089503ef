// Status conditions: the entries of `status.conditions` that most kinds have.
//
//   SetStatusCondition(cart.status.conditions, {.type = "Ready", .status = "False", .reason = "NoStock", .message = "waiting"});
//   if (IsStatusConditionTrue(cart.status.conditions, "Ready")) ...
//
// These functions work on meta::v1::Condition. Older kinds have their own condition structs (PodCondition ...); FindCondition reads those,
// too.
#pragma once

#include <string_view>

#include "kube/meta/v1.h"
#include "kube/value/list.h"
#include "kube/value/time.h"

namespace kube {

// The condition of this type, or null. Works for every struct with a `type`. Valid until the next write to the list.
template <typename C>
const C* FindCondition(const List<C>& conditions, std::string_view type) {
  for (const C& c : conditions) {
    if (c.type == type) return &c;
  }
  return nullptr;
}
// The same for meta::v1::Condition, under client-go's name.
inline const meta::v1::Condition* FindStatusCondition(const List<meta::v1::Condition>& conditions, std::string_view type) {
  return FindCondition(conditions, type);
}

// Adds the condition, or updates the one of the same type. Returns whether anything changed; if nothing did, the list still shares its
// elements with its copies.
//
// last_transition_time changes only together with `status`: to the value in `condition`, or to `now` if that is unset. A new reason,
// message or observed_generation does not change it.
KUBE_EXPORT bool SetStatusCondition(List<meta::v1::Condition>& conditions, meta::v1::Condition condition, Time now = Time::Now());

// Removes the condition of this type. Returns whether there was one.
KUBE_EXPORT bool RemoveStatusCondition(List<meta::v1::Condition>& conditions, std::string_view type);

// True if there is a condition with this status; IsStatusConditionTrue and IsStatusConditionFalse compare with "True" and "False".
KUBE_EXPORT bool IsStatusConditionPresentAndEqual(const List<meta::v1::Condition>& conditions, std::string_view type,
                                                  std::string_view status);
inline bool IsStatusConditionTrue(const List<meta::v1::Condition>& conditions, std::string_view type) {
  return IsStatusConditionPresentAndEqual(conditions, type, meta::v1::kConditionTrue);
}
inline bool IsStatusConditionFalse(const List<meta::v1::Condition>& conditions, std::string_view type) {
  return IsStatusConditionPresentAndEqual(conditions, type, meta::v1::kConditionFalse);
}

}  // namespace kube
