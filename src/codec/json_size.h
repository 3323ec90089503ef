// How large and how deep a Value is, up to a limit: Values share structure, so that a small one can stand for a huge text.
#pragma once

#include <cstddef>

#include "kube/value/value.h"

namespace kube::internal {

// About the size of the value as compact JSON (escapes are not counted). Stops counting at `limit` or soon after.
std::size_t JsonSize(const Value& value, std::size_t limit);

// Levels of lists and objects: 0 for a scalar, 1 for `{}`. Stops at `limit`.
std::size_t Depth(const Value& value, std::size_t limit);

}  // namespace kube::internal
