// HashObject: a 64-bit hash of an object's content that is stable across processes and builds.
//
//   std::uint64_t h = HashObject(deployment.spec.template_);     // for example for a label that changes with the template
//
// The hash depends only on field names and values: not on the order or layout of fields, nor on the name of the type. Fields with default
// values do not count, so a field added in a later version changes no hash until it is set. Equal objects (operator==, EqualObjects) have
// equal hashes: quantities count by amount, maps in sorted order, absent lists as empty ones. It is not collision-resistant: do not use it
// for untrusted input if a collision helps an attacker. A typed object and its Value have different hashes.
//
// Cost: one pass, no allocation. Thread safety: as reading the object.
#pragma once

#include <cstdint>

#include "kube/base/export.h"
#include "kube/value/type_info.h"
#include "kube/value/value.h"

namespace kube {

// Returns the hash of an object.
KUBE_EXPORT std::uint64_t HashObject(const TypeInfo& type, const void* object);
KUBE_EXPORT std::uint64_t HashObject(const Value& value);

template <Described T>
std::uint64_t HashObject(const T& object) {
  return HashObject(T::kType, &object);
}

}  // namespace kube
