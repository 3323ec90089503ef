// The implementation of all work queues: the state of keys, waiting callers, and timers.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "base/parker.h"
#include "kube/base/mutex.h"
#include "kube/queue/work_queue_base.h"
#include "queue/brief_mutex.h"
#include "queue/indexed_heap.h"
#include "queue/node_pool.h"
#include "queue/node_table.h"
#include "queue/queue_metrics.h"
#include "queue/ready_list.h"

namespace kube::internal {

// Locking: mu_ is the only lock. With it held, the queue reads the clock, arms timers and reports metrics. Without it, it cancels timers
// (their callbacks take it), watches contexts (the same), calls limiters (user code) and wakes workers.
class WorkQueueBase::Impl {
 public:
  Impl(const KeyOps& ops, WorkQueueOptions options);
  ~Impl();

  void Add(const void* key, std::size_t hash, const AddOptions& options) KUBE_EXCLUDES(mu_);
  void Forget(const void* key, std::size_t hash) KUBE_EXCLUDES(mu_);
  int NumRequeues(const void* key, std::size_t hash) const KUBE_EXCLUDES(mu_);
  Result<WorkNode*> Get(const Context& ctx) KUBE_EXCLUDES(mu_);
  void Done(const void* key, std::size_t hash) KUBE_EXCLUDES(mu_);
  void Done(WorkNode* node) KUBE_EXCLUDES(mu_);
  std::size_t Len() const KUBE_EXCLUDES(mu_);
  void ShutDown() KUBE_EXCLUDES(mu_);
  Result<void> ShutDownWithDrain(const Context& ctx) KUBE_EXCLUDES(mu_);
  bool shutting_down() const KUBE_EXCLUDES(mu_);
  QueueCounts Visit(std::size_t max, const std::function<void(const WorkNode&, const KeyInfo&)>& visit) const KUBE_EXCLUDES(mu_);

 private:
  // A sleeping caller of Get, or the slot for the next one. Slots live as long as the queue, so waking one needs no lock: at worst this
  // wakes a later caller, who checks `asleep`.
  struct Sleeper {
    Parker wake;
    Sleeper* prev = nullptr;  // in the list of sleepers; `next` is also used in the free list
    Sleeper* next = nullptr;
    std::atomic<bool> asleep = false;  // not woken yet; changed with the lock held
    bool for_work = false;             // woken because of a key
  };

  // Work to do after the lock is released. Declared before the lock is taken, and done by the destructors.
  struct WakeAfterwards {
    WakeAfterwards() = default;
    WakeAfterwards(const WakeAfterwards&) = delete;
    WakeAfterwards& operator=(const WakeAfterwards&) = delete;
    ~WakeAfterwards() {
      if (wake != nullptr) wake->wake.Unpark();
    }
    Sleeper* wake = nullptr;
  };
  struct Afterwards : WakeAfterwards {
    std::optional<Timer> old_due;
    std::optional<Timer> old_refresh;
  };

  struct Sooner {
    bool operator()(const WorkNode& a, const WorkNode& b) const { return a.due < b.due; }
  };

  // Adds a key that is rate-limited, delayed, or both.
  void AddLater(const void* key, std::size_t hash, const AddOptions& options) KUBE_EXCLUDES(mu_);
  WorkNode* Make(const void* key, std::size_t hash) KUBE_REQUIRES(mu_);
  WorkNode* FindOrMake(const void* key, std::size_t hash) KUBE_REQUIRES(mu_);
  // Frees a node in no state.
  void Release(WorkNode* node) KUBE_REQUIRES(mu_);
  void MakeReady(WorkNode* node, int priority, Clock::TimePoint now) KUBE_REQUIRES(mu_);
  void MakeWait(WorkNode* node, int priority, Clock::TimePoint due, Afterwards& after) KUBE_REQUIRES(mu_);
  WorkNode* TakeNext(Afterwards& after) KUBE_REQUIRES(mu_);
  void Finish(WorkNode* node, WakeAfterwards& after) KUBE_REQUIRES(mu_);
  // Wakes a sleeper if there are keys and no woken worker is on its way.
  void WakeOne(WakeAfterwards& after) KUBE_REQUIRES(mu_);
  // The same with the lock held, for callers that may be destroyed once they release it.
  void WakeOneNow() KUBE_REQUIRES(mu_);
  // Spins briefly for a key before sleeping.
  void LookOut() const KUBE_EXCLUDES(mu_);
  Sleeper* FallAsleep() KUBE_REQUIRES(mu_);
  void Unlink(Sleeper* sleeper) KUBE_REQUIRES(mu_);
  void SleepUntilWoken(const Context& ctx, Sleeper* sleeper) KUBE_EXCLUDES(mu_);
  void StopLocked(Afterwards& after) KUBE_REQUIRES(mu_);
  // A caller has stopped waiting. The queue may be destroyed as soon as the lock is released, unless that caller has taken a key.
  void Left() KUBE_REQUIRES(mu_) {
    if (forced_ && idle_ + draining_ == 0) changed_.NotifyAll();
  }
  bool Drained() const KUBE_REQUIRES(mu_) { return ready_.empty() && processing_.size == 0; }

  void ArmDueTimer(Afterwards& after) KUBE_REQUIRES(mu_);
  void OnDue() KUBE_EXCLUDES(mu_);
  void ArmRefreshTimer(Afterwards& after) KUBE_REQUIRES(mu_);
  void OnRefresh() KUBE_EXCLUDES(mu_);
  void ReportUnfinished(Clock::TimePoint now) KUBE_REQUIRES(mu_);

  const KeyOps ops_;
  const std::shared_ptr<Clock> clock_;
  const std::shared_ptr<RetryLimiter> limiter_;

  // In its own cache line, so that the data that an Add of a queued key reads stays cached on each processor.
  alignas(64) mutable BriefMutex mu_;
  alignas(64) bool shutting_down_ KUBE_GUARDED_BY(mu_) = false;
  NodeTable nodes_ KUBE_GUARDED_BY(mu_);
  QueueMetrics metrics_ KUBE_GUARDED_BY(mu_);
  NodePool pool_ KUBE_GUARDED_BY(mu_);
  ReadyList ready_ KUBE_GUARDED_BY(mu_);
  NodeList processing_ KUBE_GUARDED_BY(mu_);  // in the order in which processing began
  IndexedHeap<WorkNode, Sooner> waiting_ KUBE_GUARDED_BY(mu_);

  Sleeper* asleep_ KUBE_GUARDED_BY(mu_) = nullptr;  // last in, first out: the last sleeper's data is still in the cache
  Sleeper* free_sleepers_ KUBE_GUARDED_BY(mu_) = nullptr;
  std::vector<std::unique_ptr<Sleeper>> sleepers_ KUBE_GUARDED_BY(mu_);
  bool coming_ KUBE_GUARDED_BY(mu_) = false;       // a worker spins, or was woken for a key and has not taken it yet
  std::atomic<bool> has_ready_ = false;            // !ready_.empty(), for the spinning worker
  std::size_t idle_ KUBE_GUARDED_BY(mu_) = 0;      // callers waiting in Get
  std::size_t draining_ KUBE_GUARDED_BY(mu_) = 0;  // callers waiting in ShutDownWithDrain

  bool forced_ KUBE_GUARDED_BY(mu_) = false;  // ShutDown was called: drains end
  BriefCondVar changed_;                      // drained, forced, or the last caller has left

  // For the key that is due first. A stale timer that fires early does nothing.
  Timer due_timer_ KUBE_GUARDED_BY(mu_);
  Clock::TimePoint due_armed_ KUBE_GUARDED_BY(mu_) = Clock::TimePoint::max();
  Timer refresh_timer_ KUBE_GUARDED_BY(mu_);
  bool refresh_armed_ KUBE_GUARDED_BY(mu_) = false;
};

}  // namespace kube::internal
