#include "queue/ready_list.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace kube::internal {
namespace {

constexpr std::size_t kIdleBuckets = 32;

std::int64_t Nanoseconds(Clock::TimePoint time) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(time.time_since_epoch()).count();
}

}  // namespace

// Beyond the range of the numbers, all keys have the same score, and the higher priority decides. That is what ageing by nothing is meant
// to do.
std::int64_t ReadyList::Score(std::int64_t rank, int priority) const {
  std::int64_t bonus = 0;
  std::int64_t score = 0;
  if (!__builtin_mul_overflow(static_cast<std::int64_t>(priority), ageing_.count(), &bonus) &&
      !__builtin_sub_overflow(rank, bonus, &score)) {
    return score;
  }
  return priority > 0 ? std::numeric_limits<std::int64_t>::min() : std::numeric_limits<std::int64_t>::max();
}

ReadyBucket* ReadyList::BucketOf(int priority) {
  const auto found = std::lower_bound(buckets_.begin(), buckets_.end(), priority,
                                      [](const std::unique_ptr<ReadyBucket>& bucket, int p) { return bucket->priority < p; });
  if (found != buckets_.end() && (*found)->priority == priority) return found->get();
  auto bucket = std::make_unique<ReadyBucket>();
  bucket->priority = priority;
  return buckets_.insert(found, std::move(bucket))->get();
}

void ReadyList::Link(WorkNode* node, ReadyBucket* bucket, Clock::TimePoint now) {
  node->rank = Nanoseconds(now);
  node->bucket = bucket;
  bucket->nodes.PushBack(node);
  ++size_;
  if (bucket->nodes.size == 1) {
    bucket->score = Score(node->rank, bucket->priority);
    heads_.Push(bucket);
  }
}

void ReadyList::Unlink(WorkNode* node) {
  ReadyBucket* bucket = std::exchange(node->bucket, nullptr);
  const bool was_head = bucket->nodes.head == node;
  bucket->nodes.Remove(node);
  --size_;
  if (bucket->nodes.size == 0) {
    heads_.Remove(bucket);
    if (buckets_.size() > kIdleBuckets) {
      buckets_.erase(std::lower_bound(buckets_.begin(), buckets_.end(), bucket->priority,
                                      [](const std::unique_ptr<ReadyBucket>& b, int p) { return b->priority < p; }));
    }
  } else if (was_head) {
    bucket->score = Score(bucket->nodes.head->rank, bucket->priority);
    heads_.Update(bucket);
  }
}

void ReadyList::Push(WorkNode* node, int priority, Clock::TimePoint now) {
  node->priority = priority;
  node->queued = true;
  Link(node, BucketOf(priority), now);
}

WorkNode* ReadyList::Pop() {
  WorkNode* node = heads_.top()->nodes.head;
  Remove(node);
  return node;
}

void ReadyList::Remove(WorkNode* node) {
  node->queued = false;
  Unlink(node);
}

void ReadyList::Raise(WorkNode* node, int priority, Clock::TimePoint now) {
  node->priority = priority;
  // Its age may be worth more than the new priority without it.
  if (Score(Nanoseconds(now), priority) > Score(node->rank, node->bucket->priority)) return;
  Unlink(node);
  Link(node, BucketOf(priority), now);
}

Clock::TimePoint ReadyList::Oldest() const {
  Clock::TimePoint oldest = Clock::TimePoint::max();
  for (std::size_t i = 0; i < heads_.size(); ++i) oldest = std::min(oldest, heads_.at(i)->nodes.head->queued_at);
  return oldest;
}

}  // namespace kube::internal
