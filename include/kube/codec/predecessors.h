// Predecessors: lets a decoder take what did not change from an object's earlier version.
//
// Most changes of an object leave its spec or its status as they were. A decoder with Predecessors hashes the bytes of these parts; where
// the version that is cached came of the same bytes, its part is taken (some increments) instead of decoded and, with the old version,
// destroyed. For protobuf and for an object that has nothing in it yet; only where parts are shared at all, that is with an Interner (whose
// secret keys the hashes of 64 bits, each of which is compared with one other), and neither strict nor without unknown fields.
//
// Thread safety: called by the decoding thread.
#pragma once

#include <array>
#include <cstdint>

#include "kube/base/export.h"

namespace kube {

struct TypeInfo;

// Of the bytes of fields 2 and 3, which are spec and status nearly everywhere. 0 is for what is not known, and fits no bytes.
using PartHashes = std::array<std::uint64_t, 2>;

class KUBE_EXPORT Predecessors {
 public:
  // Of objects of this type: others, such as lists of them, are decoded as if it were not there.
  explicit Predecessors(const TypeInfo& type) : type_(&type) {}
  virtual ~Predecessors() = default;
  bool Has(const TypeInfo& type) const { return type_ == &type; }
  // Once the metadata of `object` is there (and once more where more metadata comes). Its earlier version, which lives until End or the
  // next Begin, and what is known of its parts; null where there is none.
  virtual const void* Begin(const void* object, PartHashes& parts) = 0;
  // The object is complete; `parts` are its own.
  virtual void End(const void* object, const PartHashes& parts) = 0;

 private:
  const TypeInfo* type_;
};

}  // namespace kube
