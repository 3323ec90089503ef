// What field selectors may ask for, per built-in kind. Most kinds know only metadata.name and metadata.namespace.
//
//   SelectableFields(Pod::kType, &pod)                       {"spec.nodeName": "n1", "status.phase": "Running", ...}
//   CheckSelectableField(Pod::kType, "spec.containers")      error: field label not supported: spec.containers
#pragma once

#include <string_view>

#include "kube/base/result.h"
#include "kube/value/map.h"
#include "kube/value/string.h"
#include "kube/value/type_info.h"

namespace kube::apiserver {

// The labels of this kind, in this version, with the object's values; metadata.name and metadata.namespace among them.
Map<String> SelectableFields(const TypeInfo& type, const void* object);

// Errors: 400 in the words of the server, which differ between kinds.
Result<void> CheckSelectableField(const TypeInfo& type, std::string_view label);

}  // namespace kube::apiserver
