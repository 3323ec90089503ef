// PartMemory: remembers the bytes of the spec and status of cached objects, so that a new version decodes only what changed.
//
//   PartMemory memory(store);
//   DecodeOptions options{.interner = &interner, .predecessors = &memory};
//
// It stores a few numbers per object (27 to 80 bytes), found by uid and valid for one resourceVersion. It is not notified of deletions:
// when it is full, it drops all objects that are not in the store, including those on their way there. A dropped object is decoded in full
// the next time.
//
// Parts are compared by 64-bit hashes alone: their bytes would take as much memory as the objects. Two different parts, even crafted ones,
// have the same hash with a probability of about 2^-62 (src/base/keyed_hash.h), and each is compared with only one other, its predecessor.
//
// Thread safety: one decoding thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kube/cache/indexer.h"
#include "kube/codec/predecessors.h"

namespace kube::internal {

class PartMemory final : public Predecessors {
 public:
  // Whether objects of the type have a spec or a status that can be remembered. False for null (DynamicObject).
  static bool Helps(const TypeInfo* type);
  // Requires: it applies to the objects of the store.
  explicit PartMemory(const Store& store) : Predecessors(*store.form().type()), store_(store), form_(store.form()) { Resize(kFewest); }

  const void* Begin(const void* object, PartHashes& parts) override;
  void End(const void* object, const PartHashes& parts) override;

  std::size_t size() const { return used_; }
  std::size_t capacity() const { return tags_.size(); }

 private:
  static constexpr std::size_t kFewest = 16;

  std::uint32_t TagOf(const void* object) const;
  std::uint64_t VersionOf(const void* object) const;
  // The slot of the tag, or the free slot for it.
  std::size_t Find(std::uint32_t tag) const;
  void Put(std::uint32_t tag, const PartHashes& parts);
  void Resize(std::size_t capacity);
  void MakeRoom();

  const Store& store_;
  const ObjectForm& form_;
  // Open addressing, a power of two. A tag is a hash of the uid; 0 is a free slot. A hash of the version is added to the hashes of the
  // parts, so that they match no other version.
  std::vector<std::uint32_t> tags_;
  std::vector<PartHashes> parts_;
  std::size_t used_ = 0;
  ObjectRef earlier_;  // returned by Begin
};

}  // namespace kube::internal
