// Creates a JSON Patch for a document that is another form of the changed object.
#pragma once

#include "kube/base/export.h"
#include "kube/value/value.h"

namespace kube::internal {

// Returns the change from `from` to `to` as a patch of `document`, which is another form of `from`, such as the JSON that the object was
// decoded from. The two forms may differ in members that are absent in one and empty or null in the other, in unknown members, and in the
// spelling of values. Parts that are equal in `from` and `to` stay as in `document`; other parts become as in `to`. The patch is an empty
// list if nothing differs. If it had more operations than JsonPatchLimits allows, it replaces whole members of the document.
KUBE_EXPORT Value CreateJsonPatchOf(const Value& document, const Value& from, const Value& to);

}  // namespace kube::internal
