// Predecessors: lets a decoder reuse unchanged parts of an object's earlier version.
//
// Most changes leave the spec or the status of an object unchanged. A decoder with Predecessors hashes the bytes of these parts. If the
// cached version was decoded from the same bytes, its part is shared (a few increments), which saves decoding the new part and destroying
// the old one. Works for protobuf and for objects that are still empty; only together with an Interner (whose secret keys the 64-bit
// hashes, each of which is compared with one other), without strict decoding, and with unknown fields kept.
//
// Thread safety: called on the decoding thread.
#pragma once

#include <array>
#include <cstdint>

#include "kube/base/export.h"

namespace kube {

struct TypeInfo;

// Hashes of the bytes of fields 2 and 3, which are spec and status of nearly every kind. 0 means unknown and matches no bytes.
using PartHashes = std::array<std::uint64_t, 2>;

// Finds earlier versions of objects. Derived by caches.
class KUBE_EXPORT Predecessors {
 public:
  // Only for objects of this type. Others, such as their lists, are decoded as usual.
  explicit Predecessors(const TypeInfo& type) : type_(&type) {}
  virtual ~Predecessors() = default;
  // Whether it is for objects of this type.
  bool Has(const TypeInfo& type) const { return type_ == &type; }
  // Called when the metadata of `object` is decoded (again if more metadata follows). Returns the earlier version, valid until End or the
  // next Begin, and sets `parts` to its hashes. Null if there is none.
  virtual const void* Begin(const void* object, PartHashes& parts) = 0;
  // Called when the object is complete; `parts` are its own hashes.
  virtual void End(const void* object, const PartHashes& parts) = 0;

 private:
  const TypeInfo* type_;
};

}  // namespace kube
