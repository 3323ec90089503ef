// Footprint: how much memory objects hold, and how much less that is because they share their parts.
//
//   Footprint memory;
//   for (const Pod& pod : pods) memory.Add(pod);
//   memory.logical_bytes();   // as if nothing were shared: what the same objects would cost as plain structs and strings
//   memory.real_bytes();      // what there is: every block once, however many objects refer to it
//
// Counted are the structs themselves and all blocks on the heap that they reach, in the sizes in which they were asked for. What malloc
// adds to a block (8 bytes, and rounding up to 16) is not: it depends on the allocator.
//
// Thread safety: none; the objects are only read.
// Lifetime: it remembers addresses. Whatever was added has to stay alive and unchanged until the last call of Add.
// Cost: one walk over each object; a part that was met before is not walked again. About 50 bytes for each object and each shared part
// while it lives.
#pragma once

#include <cstddef>

#include "kube/base/export.h"
#include "kube/base/std_memory.h"
#include "kube/value/type_info.h"
#include "kube/value/value.h"

namespace kube {

class KUBE_EXPORT Footprint {
 public:
  Footprint();
  ~Footprint();
  Footprint(Footprint&&) noexcept;
  Footprint& operator=(Footprint&&) noexcept;

  // The object, its struct included. Added twice it counts twice as logical and once as real. Not for an object and then a part of that
  // very object: blocks that only one object holds are not remembered, and would count again.
  void Add(const TypeInfo& type, const void* object);
  // A Value; of a DynamicObject that is its value().
  void Add(const Value& value);
  template <Described T>
  void Add(const T& object) {
    Add(T::kType, &object);
  }

  std::size_t logical_bytes() const;
  std::size_t real_bytes() const;

 private:
  class Walk;
  std::unique_ptr<Walk> walk_;
};

}  // namespace kube
