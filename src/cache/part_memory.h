// PartMemory: remembers of which bytes the spec and the status of cached objects came, so that a new version decodes only what changed.
//
//   PartMemory memory(store);
//   DecodeOptions options{.interner = &interner, .predecessors = &memory};
//
// A few numbers for each object (27 to 80 bytes), found by its uid and good for one resourceVersion. Nobody tells it of deletions: when it
// is full, it looks which objects the store has and forgets the others, those that are still on their way to the store included. What is
// forgotten is decoded as a whole the next time.
//
// Parts are compared by hashes of 64 bits alone: their bytes would take as much memory as the objects. Two different parts, whoever chose
// them, have the same hash with a probability of about 2^-62 (src/base/keyed_hash.h), and each is compared with one other, its predecessor.
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
  // Whether objects of the type have a spec or a status as it is meant here. Null, of DynamicObjects, has not.
  static bool Helps(const TypeInfo* type);
  // Requires: it helps for the objects of the store.
  explicit PartMemory(const Store& store) : Predecessors(*store.form().type()), store_(store), form_(store.form()) { Resize(kFewest); }

  const void* Begin(const void* object, PartHashes& parts) override;
  void End(const void* object, const PartHashes& parts) override;

  std::size_t size() const { return used_; }
  std::size_t capacity() const { return tags_.size(); }

 private:
  static constexpr std::size_t kFewest = 16;

  std::uint32_t TagOf(const void* object) const;
  std::uint64_t VersionOf(const void* object) const;
  // Where the tag is, or the free place for it.
  std::size_t Find(std::uint32_t tag) const;
  void Put(std::uint32_t tag, const PartHashes& parts);
  void Resize(std::size_t capacity);
  void MakeRoom();

  const Store& store_;
  const ObjectForm& form_;
  // Open addressing, a power of two. A tag is a hash of the uid and never 0, which is a free place. To the hashes of the parts a hash of
  // the version is added, so that they fit no other.
  std::vector<std::uint32_t> tags_;
  std::vector<PartHashes> parts_;
  std::size_t used_ = 0;
  ObjectRef earlier_;  // what Begin handed out
};

}  // namespace kube::internal
