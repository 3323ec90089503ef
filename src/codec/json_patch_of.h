// A JSON patch for a document that is another form of the object that changed.
#pragma once

#include "kube/base/export.h"
#include "kube/value/value.h"

namespace kube::internal {

// The change from `from` to `to`, as a patch of `document`: another form of `from`, as the JSON that an object was decoded from is another
// form of that object. The two may differ in members that are absent in one and empty or null in the other, in members that one does not
// know, and in how they spell a value. What is equal in `from` and `to` stays as `document` has it; what differs becomes as in `to`.
// An empty list if nothing differs. Instead of more operations than JsonPatchLimits allows there are some that replace whole members of the
// document.
KUBE_EXPORT Value CreateJsonPatchOf(const Value& document, const Value& from, const Value& to);

}  // namespace kube::internal
