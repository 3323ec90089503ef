// HashObject: a 64-bit hash of an object's content that means the same tomorrow, in another process and in another build.
//
//   std::uint64_t h = HashObject(deployment.spec.template_);     // e.g. for a label that changes with the template
//
// It depends on field names and values only: neither on the order or layout of fields nor on the type's name, and fields that have
// their default value do not count, so a field that a later version adds changes no hash until somebody sets it.
// Objects that are equal (operator==, EqualObjects) have the same hash: quantities count by amount, maps in sorted order, absent lists
// like empty ones. Not for untrusted input where somebody gains from collisions; not the same number for a typed object and its Value.
//
// Cost: one pass, no allocation. Thread safety: as reading the object.
#pragma once

#include <cstdint>

#include "kube/base/export.h"
#include "kube/value/type_info.h"
#include "kube/value/value.h"

namespace kube {

KUBE_EXPORT std::uint64_t HashObject(const TypeInfo& type, const void* object);
KUBE_EXPORT std::uint64_t HashObject(const Value& value);

template <Described T>
std::uint64_t HashObject(const T& object) {
  return HashObject(T::kType, &object);
}

}  // namespace kube
