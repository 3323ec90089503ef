// What all WorkQueue<T> have in common: their options, and the machinery behind them, which knows no T. Include work_queue.h.
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

struct WorkQueueOptions {
  // The label `name` of the metrics; a queue without a name has none.
  std::string name{};
  // The label `controller`, if the queue belongs to one: then the depth is told by priority too, as controller-runtime does.
  std::string controller{};
  std::shared_ptr<MetricsSink> metrics{};
  std::shared_ptr<Clock> clock = Clock::Real();
  // Of AddRateLimited; null: DefaultRateLimiter(clock).
  std::shared_ptr<RetryLimiter> rate_limiter{};
  // How long a key has to wait to be worth one point of priority. With the default, a key of priority -100 is taken before every key of
  // priority 0 that comes 10 s after it. zero(): priorities do not count. Clock::Duration::max(): nothing but priorities counts, and what
  // has a low one may starve.
  Clock::Duration ageing = std::chrono::milliseconds(100);
};

// How to add a key.
struct AddOptions {
  // The higher, the sooner. Of several adds of a key that has not been taken yet the highest counts.
  int priority = 0;
  // Not before this has passed.
  Clock::Duration after{};
  // Counts a failure of the key, and waits as the queue's limiter says; with `after` too, the longer of both.
  bool rate_limited = false;
};

// What a key of a queue does; the first that fits.
enum class KeyState : std::uint8_t {
  kProcessing,  // a worker has it
  kQueued,      // a worker may take it
  kWaiting,     // its time has not come
};

KUBE_EXPORT std::string_view ToString(KeyState state);

namespace internal {

struct ReadyBucket;

// A key of a queue, whatever it does there. KeyNode<T> has the key.
struct KUBE_EXPORT WorkNode {
  std::size_t hash = 0;
  WorkNode* prev = nullptr;  // queued: in its bucket; processing: in that list. Never both.
  WorkNode* next = nullptr;
  ReadyBucket* bucket = nullptr;  // queued
  std::int64_t rank = 0;          // queued: when it came into its bucket
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
  bool waiting = false;  // beside any of the others
};

// What the machinery has to do with keys.
struct KeyOps {
  std::size_t node_size;
  std::size_t node_alignment;
  bool (*equal)(const WorkNode& node, const void* key);
  WorkNode* (*construct)(void* memory, const void* key);
  void (*destroy)(WorkNode* node);
};

// A hash of two texts, keyed by a secret of the process: whoever chooses the names of objects cannot choose ones that collide.
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

// All of a queue but the type of its keys. `hash` may be a poor one.
class KUBE_EXPORT WorkQueueBase {
 public:
  WorkQueueBase(const KeyOps& ops, WorkQueueOptions options);
  ~WorkQueueBase();
  WorkQueueBase(const WorkQueueBase&) = delete;
  WorkQueueBase& operator=(const WorkQueueBase&) = delete;

  void Add(const void* key, std::size_t hash, const AddOptions& options);
  void Forget(const void* key, std::size_t hash);
  int NumRequeues(const void* key, std::size_t hash) const;

  // The node stays where it is until Done.
  Result<WorkNode*> Get(const Context& ctx);
  void Done(const void* key, std::size_t hash);
  void Done(WorkNode* node);

  std::size_t Len() const;
  void ShutDown();
  Result<void> ShutDownWithDrain(const Context& ctx);
  bool shutting_down() const;

  // Calls `visit` for up to `max` keys, with the lock held.
  QueueCounts Visit(std::size_t max, const std::function<void(const WorkNode&, const KeyInfo&)>& visit) const;

  // Calls it; false where it threw, which is logged.
  bool Call(const std::function<void()>& work, const std::string& key) const;

 private:
  class Impl;
  const std::unique_ptr<Impl> impl_;
};

}  // namespace internal
}  // namespace kube
