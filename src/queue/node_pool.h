// NodePool: memory for the nodes of a queue. Reuses some of it: nodes are allocated and freed on different threads, which is slow with
// malloc.
#pragma once

#include <cstddef>
#include <new>

#include "kube/queue/work_queue_base.h"

namespace kube::internal {

// Thread safety: none.
class NodePool {
 public:
  explicit NodePool(const KeyOps& ops) : ops_(ops) {}
  ~NodePool() {
    while (free_ != nullptr) Return(Take());
  }
  NodePool(const NodePool&) = delete;
  NodePool& operator=(const NodePool&) = delete;

  WorkNode* Make(const void* key) {
    void* memory = free_ != nullptr ? Take() : ::operator new(ops_.node_size, std::align_val_t(ops_.node_alignment));
    try {
      return ops_.construct(memory, key);
    } catch (...) {
      Return(memory);
      throw;
    }
  }
  void Destroy(WorkNode* node) {
    ops_.destroy(node);
    if (kept_ == kMost) return Return(node);
    free_ = ::new (static_cast<void*>(node)) Free{free_};
    ++kept_;
  }

 private:
  static constexpr std::size_t kMost = 1024;
  struct Free {
    Free* next;
  };
  static_assert(sizeof(Free) <= sizeof(WorkNode) && alignof(Free) <= alignof(WorkNode));

  void* Take() {
    Free* taken = free_;
    free_ = taken->next;
    --kept_;
    return taken;
  }
  void Return(void* memory) { ::operator delete(memory, std::align_val_t(ops_.node_alignment)); }

  const KeyOps& ops_;
  Free* free_ = nullptr;
  std::size_t kept_ = 0;
};

}  // namespace kube::internal
