// The size and depth of a Value, up to a limit: Values share structure, so a small one can represent a huge text.
#pragma once

#include <cstddef>

#include "kube/value/value.h"

namespace kube::internal {

// The approximate size as compact JSON (escapes are not counted). Stops counting at `limit` or soon after.
std::size_t JsonSize(const Value& value, std::size_t limit);

// The nesting of lists and objects: 0 for a scalar, 1 for `{}`. Stops at `limit`.
std::size_t Depth(const Value& value, std::size_t limit);

}  // namespace kube::internal
