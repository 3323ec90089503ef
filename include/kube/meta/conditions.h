// Status conditions: what most kinds say about themselves in `status.conditions`.
//
//   SetStatusCondition(cart.status.conditions, {.type = "Ready", .status = "False", .reason = "NoStock", .message = "waiting"});
//   if (IsStatusConditionTrue(cart.status.conditions, "Ready")) ...
//
// These work on meta::v1::Condition. Older kinds have condition structs of their own (PodCondition ...); FindCondition reads those too.
#pragma once

#include <string_view>

#include "kube/meta/v1.h"
#include "kube/value/list.h"
#include "kube/value/time.h"

namespace kube {

// The condition of that type, or null. Works for every struct with a `type`. Valid until the next write to the list.
template <typename C>
const C* FindCondition(const List<C>& conditions, std::string_view type) {
  for (const C& c : conditions) {
    if (c.type == type) return &c;
  }
  return nullptr;
}
inline const meta::v1::Condition* FindStatusCondition(const List<meta::v1::Condition>& conditions, std::string_view type) {
  return FindCondition(conditions, type);
}

// Adds the condition, or brings the one of its type up to date. Returns whether anything changed; where nothing did, the list still
// shares its elements with its copies.
//
// last_transition_time changes only with `status`: to the given one, or to `now` where none is given. A new reason, message or
// observed_generation leaves it alone.
KUBE_EXPORT bool SetStatusCondition(List<meta::v1::Condition>& conditions, meta::v1::Condition condition, Time now = Time::Now());

// Returns whether there was one.
KUBE_EXPORT bool RemoveStatusCondition(List<meta::v1::Condition>& conditions, std::string_view type);

// False where there is no such condition.
KUBE_EXPORT bool IsStatusConditionPresentAndEqual(const List<meta::v1::Condition>& conditions, std::string_view type,
                                                  std::string_view status);
inline bool IsStatusConditionTrue(const List<meta::v1::Condition>& conditions, std::string_view type) {
  return IsStatusConditionPresentAndEqual(conditions, type, meta::v1::kConditionTrue);
}
inline bool IsStatusConditionFalse(const List<meta::v1::Condition>& conditions, std::string_view type) {
  return IsStatusConditionPresentAndEqual(conditions, type, meta::v1::kConditionFalse);
}

}  // namespace kube
