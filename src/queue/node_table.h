// NodeTable: the nodes of a queue by key. Open addressing with the hashes beside the pointers, so that growing and most misses touch no
// node.
#pragma once

#include <cstddef>
#include <vector>

#include "kube/queue/work_queue_base.h"

namespace kube::internal {

// Owns nothing. Thread safety: none.
class NodeTable {
 public:
  explicit NodeTable(const KeyOps& ops) : ops_(ops), slots_(kSmallest) {}

  // Hashes that users bring may be as poor as the number itself.
  static std::size_t Mix(std::size_t hash) {
    hash ^= hash >> 32;
    hash *= 0x9e3779b97f4a7c15;
    return hash ^ (hash >> 32);
  }

  WorkNode* Find(const void* key, std::size_t hash) const {
    for (std::size_t i = hash & mask();; i = (i + 1) & mask()) {
      const Slot& slot = slots_[i];
      if (slot.node == nullptr) return nullptr;
      if (slot.hash == hash && ops_.equal(*slot.node, key)) return slot.node;
    }
  }

  // For one more.
  void MakeRoom() {
    if ((size_ + 1) * 4 > slots_.size() * 3) Resize(slots_.size() * 2);
  }
  // Requires: MakeRoom() before; no node has that key; the node's hash is set.
  void Insert(WorkNode* node) {
    Place({node->hash, node});
    ++size_;
  }

  // Requires: the table has it.
  void Erase(const WorkNode* node) {
    std::size_t hole = node->hash & mask();
    while (slots_[hole].node != node) hole = (hole + 1) & mask();
    // What stands behind moves up if it may, so that no search ends too early.
    for (std::size_t i = (hole + 1) & mask(); slots_[i].node != nullptr; i = (i + 1) & mask()) {
      const std::size_t home = slots_[i].hash & mask();
      if (((i - home) & mask()) < ((i - hole) & mask())) continue;
      slots_[hole] = slots_[i];
      hole = i;
    }
    slots_[hole] = {};
    --size_;
    if (slots_.size() > kSmallest && size_ * 8 < slots_.size()) Resize(slots_.size() / 2);
  }

  std::size_t size() const { return size_; }
  std::size_t capacity() const { return slots_.size(); }

  template <typename Visit>
  void ForEach(const Visit& visit) const {
    for (const Slot& slot : slots_) {
      if (slot.node != nullptr) visit(slot.node);
    }
  }

 private:
  static constexpr std::size_t kSmallest = 64;  // a power of two, as all sizes are
  struct Slot {
    std::size_t hash = 0;
    WorkNode* node = nullptr;
  };

  std::size_t mask() const { return slots_.size() - 1; }
  void Place(const Slot& slot) {
    std::size_t i = slot.hash & mask();
    while (slots_[i].node != nullptr) i = (i + 1) & mask();
    slots_[i] = slot;
  }
  void Resize(std::size_t size) {
    std::vector<Slot> old(size);
    old.swap(slots_);
    for (const Slot& slot : old) {
      if (slot.node != nullptr) Place(slot);
    }
  }

  const KeyOps& ops_;
  std::vector<Slot> slots_;
  std::size_t size_ = 0;
};

}  // namespace kube::internal
