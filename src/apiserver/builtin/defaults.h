// What the server fills in for fields that a client leaves out.
//
//   ApplyDefaults(Pod::kType, &pod);   // pod.spec.dns_policy == "ClusterFirst", ...
//
// Runs on every object of a built-in kind that comes in (create, update, the result of a patch) before it is validated, and is
// idempotent. It also brings what has two spellings into one form, as a real server does when it converts: a secret's stringData goes to
// data, serviceAccount follows serviceAccountName, podIP follows podIPs. Defaults that need to know whether an object is created or
// updated are in strategy.h.
//
// Kinds that are not served by default have no defaults here.
#pragma once

#include "kube/value/type_info.h"

namespace kube::apiserver {

// `object` is a struct of `type`; nothing happens for types without defaults. Thread safety: as writing to the object.
void ApplyDefaults(const TypeInfo& type, void* object);

template <Described T>
void ApplyDefaults(T& object) {
  ApplyDefaults(T::kType, &object);
}

}  // namespace kube::apiserver
