// JoinObjects: merges two objects in one pass over both. Inserting member by member into a sorted map would be quadratic.
#pragma once

#include <optional>
#include <utility>

#include "kube/value/map.h"
#include "kube/value/value.h"

namespace kube::internal {

// Calls f(key, const Value* in_a, const Value* in_b) -> std::optional<Value> for each key of either object, in order. The returned value
// becomes the member of the result.
template <typename F>
Map<Value> JoinObjects(const Map<Value>& a, const Map<Value>& b, F&& f) {
  Map<Value> out;
  const MapEntry<Value>* x = a.begin();
  const MapEntry<Value>* y = b.begin();
  while (x != a.end() || y != b.end()) {
    int order = x == a.end() ? 1 : y == b.end() ? -1 : x->key.view().compare(y->key.view());
    const String& key = order <= 0 ? x->key : y->key;
    std::optional<Value> member = f(key, order <= 0 ? &x->value : nullptr, order >= 0 ? &y->value : nullptr);
    if (member) out.Set(key, *std::move(member));
    if (order <= 0) ++x;
    if (order >= 0) ++y;
  }
  return out;
}

}  // namespace kube::internal
