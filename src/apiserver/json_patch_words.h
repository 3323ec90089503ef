// JSON patches as the real server's library applies them, and in its words.
#pragma once

#include "kube/base/result.h"
#include "kube/value/value.h"

namespace kube::apiserver {

// As ApplyJsonPatch, but `replace` also adds a member that is not there. `patch` is a list. Errors: kInvalid.
Result<Value> ApplyServerPatch(const Value& document, Value patch);

}  // namespace kube::apiserver
