// An object as a server writes it.
//
// Clients leave out what is empty. A server that is written in Go cannot leave out a struct: `status: {}`, `resources: {}` and
// `lastProbeTime: null` are there in every answer, and so in managedFields. Empty lists that must be there are `null`.
#pragma once

#include "kube/base/result.h"
#include "kube/value/type_info.h"
#include "kube/value/value.h"

namespace kube::apiserver {

// With apiVersion and kind. Errors: as ToValue.
Result<Value> ToServerValue(const TypeInfo& type, const void* object);

}  // namespace kube::apiserver
