// ReadyList: the keys that a worker may take, ordered by priority and age.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "kube/queue/work_queue_base.h"
#include "queue/indexed_heap.h"

namespace kube::internal {

// A doubly linked list through WorkNode's `prev` and `next`.
struct NodeList {
  WorkNode* head = nullptr;
  WorkNode* tail = nullptr;
  std::size_t size = 0;

  void PushBack(WorkNode* node) {
    node->prev = tail;
    node->next = nullptr;
    (tail != nullptr ? tail->next : head) = node;
    tail = node;
    ++size;
  }
  void Remove(WorkNode* node) {
    (node->prev != nullptr ? node->prev->next : head) = node->next;
    (node->next != nullptr ? node->next->prev : tail) = node->prev;
    node->prev = node->next = nullptr;
    --size;
  }
};

// All queued keys of one priority, oldest first.
struct ReadyBucket {
  int priority = 0;
  std::int64_t score = 0;  // of its head; the lowest goes first
  std::size_t heap_index = 0;
  NodeList nodes;
};

// A key that arrives at time t with priority p has the score t - p * ageing. All keys become more urgent at the same rate, so waiting never
// changes their order: it is enough to compare the heads of the few buckets.
//
// Cost: a few steps per call while there are few priorities, otherwise log(number of priorities). Owns no nodes. Thread safety: none.
class ReadyList {
 public:
  explicit ReadyList(Clock::Duration ageing) : ageing_(ageing) {}

  bool empty() const { return size_ == 0; }
  std::size_t size() const { return size_; }

  // Adds the node behind those of its priority. Sets `queued`, `priority`.
  void Push(WorkNode* node, int priority, Clock::TimePoint now);
  // Removes and returns the first node. Requires: !empty().
  WorkNode* Pop();
  // Gives a queued key a higher priority.
  void Raise(WorkNode* node, int priority, Clock::TimePoint now);
  void Remove(WorkNode* node);

  // When the oldest queued key was queued; requires: !empty(). Keys that were raised may count from that time.
  Clock::TimePoint Oldest() const;

  // Bucket by bucket, the highest priority first, until `visit` returns false.
  template <typename Visit>
  void ForEach(const Visit& visit) const {
    for (auto bucket = buckets_.rbegin(); bucket != buckets_.rend(); ++bucket) {
      for (const WorkNode* node = (*bucket)->nodes.head; node != nullptr; node = node->next) {
        if (!visit(*node)) return;
      }
    }
  }

 private:
  struct Before {
    bool operator()(const ReadyBucket& a, const ReadyBucket& b) const {
      return a.score != b.score ? a.score < b.score : a.priority > b.priority;
    }
  };
  std::int64_t Score(std::int64_t rank, int priority) const;
  ReadyBucket* BucketOf(int priority);
  void Link(WorkNode* node, ReadyBucket* bucket, Clock::TimePoint now);
  void Unlink(WorkNode* node);

  const Clock::Duration ageing_;
  std::size_t size_ = 0;
  std::vector<std::unique_ptr<ReadyBucket>> buckets_;  // by priority, lowest first; empty buckets stay while they are few
  IndexedHeap<ReadyBucket, Before> heads_;             // the non-empty ones
};

}  // namespace kube::internal
