// The options of a WorkQueue, and the part of its implementation that does not depend on the key type. Include work_queue.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "kube/base/clock.h"
#include "kube/base/context.h"
#include "kube/base/export.h"
#include "kube/base/result.h"
#include "kube/base/std_chrono.h"
#include "kube/base/std_function.h"
#include "kube/base/std_memory.h"
#include "kube/queue/rate_limiters.h"

namespace kube {

class MetricsSink;

// Options of a WorkQueue.
struct WorkQueueOptions {
  // The label `name` of the metrics. Without a name the queue has no metrics.
  std::string name{};
  // The label `controller` of a controller's queue. The depth metric is then reported by priority, as in controller-runtime.
  std::string controller{};
  std::shared_ptr<MetricsSink> metrics{};  // null for none
  std::shared_ptr<Clock> clock = Clock::Real();
  // Delays of AddRateLimited. Null for DefaultRateLimiter(clock).
  std::shared_ptr<RetryLimiter> rate_limiter{};
  // How long a key must wait to gain one point of priority. With the default, a key of priority -100 is taken before every key of priority
  // 0 that arrives 10 s after it. zero() ignores priorities. Clock::Duration::max() turns ageing off, so that keys of low priority may
  // starve.
  Clock::Duration ageing = std::chrono::milliseconds(100);
};

// How to add a key.
struct AddOptions {
  // Higher priorities are taken first. If a key is added several times before it is taken, the highest counts.
  int priority = 0;
  // Delay before the key is queued.
  Clock::Duration after{};
  // Counts a failure of the key and delays it as the rate limiter says. With `after`, the longer delay applies.
  bool rate_limited = false;
};

// The state of a key; the first that applies.
enum class KeyState : std::uint8_t {
  kProcessing,  // a worker has it
  kQueued,      // a worker may take it
  kWaiting,     // it is not due yet
};

KUBE_EXPORT std::string_view ToString(KeyState state);

namespace internal {

struct ReadyBucket;

// A key in any state. KeyNode<T> adds the key itself.
struct KUBE_EXPORT WorkNode {
  std::size_t hash = 0;
  WorkNode* prev = nullptr;  // queued: in its bucket; processing: in that list. Never both.
  WorkNode* next = nullptr;
  ReadyBucket* bucket = nullptr;  // queued
  std::int64_t rank = 0;          // queued: order of arrival in its bucket
  Clock::TimePoint queued_at{};   // queued or dirty: since when
  Clock::TimePoint started_at{};  // processing: since when
  Clock::TimePoint due{};         // waiting: until when
  std::size_t heap_index = 0;     // waiting
  int priority = 0;               // as queued, or as taken
  int next_priority = 0;          // dirty
  int wait_priority = 0;          // waiting
  int failures = 0;               // counted by rate-limited adds since Forget
  bool queued = false;
  bool processing = false;
  bool dirty = false;    // processing, and added again
  bool waiting = false;  // in addition to any of the others
};

// The operations on keys that the base class needs.
struct KeyOps {
  std::size_t node_size;
  std::size_t node_alignment;
  bool (*equal)(const WorkNode& node, const void* key);
  WorkNode* (*construct)(void* memory, const void* key);
  void (*destroy)(WorkNode* node);
};

// A hash of two texts, keyed by a secret of the process, so that users who choose object names cannot create collisions.
KUBE_EXPORT std::size_t HashTexts(std::string_view a, std::string_view b);

struct KeyInfo {
  KeyState state = KeyState::kQueued;
  bool again = false;
  int priority = 0;
  int requeues = 0;
  Clock::Duration age{};
  std::optional<Clock::Duration> due_in{};
};

struct QueueCounts {
  std::size_t queued = 0;
  std::size_t processing = 0;
  std::size_t waiting = 0;
  std::size_t idle_workers = 0;
  Clock::Duration oldest{};
  bool shutting_down = false;
};

// A WorkQueue without the type of its keys. `hash` need not be a good one.
class KUBE_EXPORT WorkQueueBase {
 public:
  WorkQueueBase(const KeyOps& ops, WorkQueueOptions options);
  ~WorkQueueBase();
  WorkQueueBase(const WorkQueueBase&) = delete;
  WorkQueueBase& operator=(const WorkQueueBase&) = delete;

  void Add(const void* key, std::size_t hash, const AddOptions& options);
  void Forget(const void* key, std::size_t hash);
  int NumRequeues(const void* key, std::size_t hash) const;

  // The node stays at its address until Done.
  Result<WorkNode*> Get(const Context& ctx);
  void Done(const void* key, std::size_t hash);
  void Done(WorkNode* node);

  std::size_t Len() const;
  void ShutDown();
  Result<void> ShutDownWithDrain(const Context& ctx);
  bool shutting_down() const;

  // Calls `visit` for up to `max` keys while holding the lock.
  QueueCounts Visit(std::size_t max, const std::function<void(const WorkNode&, const KeyInfo&)>& visit) const;

  // Calls `work`. Returns false if it threw, after logging that.
  bool Call(const std::function<void()>& work, const std::string& key) const;

 private:
  class Impl;
  const std::unique_ptr<Impl> impl_;
};

}  // namespace internal
}  // namespace kube
