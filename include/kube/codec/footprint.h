// Footprint: the memory that objects hold, and how much they save by sharing parts.
//
//   Footprint memory;
//   for (const Pod& pod : pods) memory.Add(pod);
//   memory.logical_bytes();   // as if nothing were shared: the cost of the same objects as plain structs and strings
//   memory.real_bytes();      // actual memory: every block once, however many objects refer to it
//
// Counts the structs and all heap blocks that they reach, in their requested sizes. malloc's overhead per block (8 bytes, and rounding up
// to 16) is not included, because it depends on the allocator.
//
// Thread safety: none; the objects are only read.
// Lifetime: it stores addresses. Added objects must stay alive and unchanged until the last call of Add.
// Cost: one walk over each object; shared parts are walked once. About 50 bytes per object and per shared part while it exists.
#pragma once

#include <cstddef>

#include "kube/base/export.h"
#include "kube/base/std_memory.h"
#include "kube/value/type_info.h"
#include "kube/value/value.h"

namespace kube {

// Sums up the memory of objects.
class KUBE_EXPORT Footprint {
 public:
  Footprint();
  ~Footprint();
  Footprint(Footprint&&) noexcept;
  Footprint& operator=(Footprint&&) noexcept;

  // Adds an object including its struct. Adding it twice counts twice as logical and once as real. Do not add an object and then a part of
  // it: blocks that only one object holds are not recorded and would be counted again.
  void Add(const TypeInfo& type, const void* object);
  // Adds a Value; for a DynamicObject, pass its value().
  void Add(const Value& value);
  template <Described T>
  void Add(const T& object) {
    Add(T::kType, &object);
  }

  // Memory without and with sharing.
  std::size_t logical_bytes() const;
  std::size_t real_bytes() const;

 private:
  class Walk;
  std::unique_ptr<Walk> walk_;
};

}  // namespace kube
