// The machinery of all work queues: what a key does, who waits for one, and the timers.
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

// Locks: mu_ alone. With it held: the clock is asked and given timers, metrics are told. Without it: timers are cancelled (their callbacks
// take it), contexts are watched (the same), limiters are asked (they may be a user's), workers are woken.
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
  // A caller of Get that sleeps, or the place for the next one. They live as long as the queue, so waking one needs no lock: at worst it
  // hits someone who came later, and who looks at `asleep`.
  struct Sleeper {
    Parker wake;
    Sleeper* prev = nullptr;  // among those who sleep; `next` also among the free ones
    Sleeper* next = nullptr;
    std::atomic<bool> asleep = false;  // nobody has woken it yet; changed with the lock held
    bool for_work = false;             // woken because of a key
  };

  // What has to be done once the lock is released. Declared before the lock is taken, they do that in their destructors.
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

  // Rate-limited, with a delay, or both.
  void AddLater(const void* key, std::size_t hash, const AddOptions& options) KUBE_EXCLUDES(mu_);
  WorkNode* Make(const void* key, std::size_t hash) KUBE_REQUIRES(mu_);
  WorkNode* FindOrMake(const void* key, std::size_t hash) KUBE_REQUIRES(mu_);
  // Frees a node that does nothing.
  void Release(WorkNode* node) KUBE_REQUIRES(mu_);
  void MakeReady(WorkNode* node, int priority, Clock::TimePoint now) KUBE_REQUIRES(mu_);
  void MakeWait(WorkNode* node, int priority, Clock::TimePoint due, Afterwards& after) KUBE_REQUIRES(mu_);
  WorkNode* TakeNext(Afterwards& after) KUBE_REQUIRES(mu_);
  void Finish(WorkNode* node, WakeAfterwards& after) KUBE_REQUIRES(mu_);
  // If there are keys and a sleeper, and none is on its way already.
  void WakeOne(WakeAfterwards& after) KUBE_REQUIRES(mu_);
  // The same with the lock held, for those whom the destructor may not see any more once they have released it.
  void WakeOneNow() KUBE_REQUIRES(mu_);
  // Looks out for a key for a moment before it is worth to fall asleep.
  void LookOut() const KUBE_EXCLUDES(mu_);
  Sleeper* FallAsleep() KUBE_REQUIRES(mu_);
  void Unlink(Sleeper* sleeper) KUBE_REQUIRES(mu_);
  void SleepUntilWoken(const Context& ctx, Sleeper* sleeper) KUBE_EXCLUDES(mu_);
  void StopLocked(Afterwards& after) KUBE_REQUIRES(mu_);
  // Somebody has stopped waiting. The queue may go away as soon as the lock is released, unless that one has taken a key.
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

  // Alone in its cache line: what an Add of a queued key reads beside it then stays with each processor.
  alignas(64) mutable BriefMutex mu_;
  alignas(64) bool shutting_down_ KUBE_GUARDED_BY(mu_) = false;
  NodeTable nodes_ KUBE_GUARDED_BY(mu_);
  QueueMetrics metrics_ KUBE_GUARDED_BY(mu_);
  NodePool pool_ KUBE_GUARDED_BY(mu_);
  ReadyList ready_ KUBE_GUARDED_BY(mu_);
  NodeList processing_ KUBE_GUARDED_BY(mu_);  // in the order of their beginning
  IndexedHeap<WorkNode, Sooner> waiting_ KUBE_GUARDED_BY(mu_);

  Sleeper* asleep_ KUBE_GUARDED_BY(mu_) = nullptr;  // the one that fell asleep last is woken first: its data is still near the processor
  Sleeper* free_sleepers_ KUBE_GUARDED_BY(mu_) = nullptr;
  std::vector<std::unique_ptr<Sleeper>> sleepers_ KUBE_GUARDED_BY(mu_);
  bool coming_ KUBE_GUARDED_BY(mu_) = false;       // someone looks out for a key, or was woken for one and has not come for it yet
  std::atomic<bool> has_ready_ = false;            // !ready_.empty(), for the one who looks out
  std::size_t idle_ KUBE_GUARDED_BY(mu_) = 0;      // callers who wait in Get
  std::size_t draining_ KUBE_GUARDED_BY(mu_) = 0;  // and in ShutDownWithDrain

  bool forced_ KUBE_GUARDED_BY(mu_) = false;  // ShutDown was called: nobody waits for a drain
  BriefCondVar changed_;                      // drained, forced, or the last caller has left

  // One for the key that is due first. An old one that comes too early finds nothing to do.
  Timer due_timer_ KUBE_GUARDED_BY(mu_);
  Clock::TimePoint due_armed_ KUBE_GUARDED_BY(mu_) = Clock::TimePoint::max();
  Timer refresh_timer_ KUBE_GUARDED_BY(mu_);
  bool refresh_armed_ KUBE_GUARDED_BY(mu_) = false;
};

}  // namespace kube::internal
