#include "kube/queue/work_queue_base.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <limits>
#include <utility>

#include "base/keyed_hash.h"
#include "kube/base/log.h"
#include "queue/work_queue_impl.h"

namespace kube {

std::string_view ToString(KeyState state) {
  switch (state) {
    case KeyState::kProcessing:
      return "processing";
    case KeyState::kQueued:
      return "queued";
    case KeyState::kWaiting:
      return "waiting";
  }
  return "";
}

namespace internal {
namespace {

constexpr Clock::Duration kRefreshPeriod = std::chrono::milliseconds(500);

// Waking a thread that sleeps takes about this long.
constexpr std::chrono::microseconds kLookOut{10};

Error Closed() { return Error(ErrorKind::kClosed, "the work queue is shut down"); }

const Logger& Log() {
  static const Logger log("queue");
  return log;
}

}  // namespace

std::size_t HashTexts(std::string_view a, std::string_view b) { return static_cast<std::size_t>(KeyedHash::Of(a, b)); }

WorkQueueBase::Impl::Impl(const KeyOps& ops, WorkQueueOptions options)
    : ops_(ops),
      clock_(options.clock != nullptr ? std::move(options.clock) : Clock::Real()),
      limiter_(options.rate_limiter != nullptr ? std::move(options.rate_limiter) : DefaultRateLimiter(clock_)),
      nodes_(ops_),
      metrics_(std::move(options.name), std::move(options.controller), std::move(options.metrics)),
      pool_(ops_),
      ready_(std::max(options.ageing, Clock::Duration::zero())) {}

WorkQueueBase::Impl::~Impl() {
  {
    Afterwards after;
    BriefLock lock(mu_);
    StopLocked(after);
    forced_ = true;
    changed_.NotifyAll();
    // A caller that wakes up now must not take a key from a queue that is shutting down.
    while (!ready_.empty()) Release(ready_.Pop());
    while (idle_ + draining_ != 0) changed_.Wait(mu_);
  }
  BriefLock lock(mu_);
  nodes_.ForEach([this](WorkNode* node) KUBE_NO_THREAD_SAFETY_ANALYSIS { pool_.Destroy(node); });
}

WorkNode* WorkQueueBase::Impl::Make(const void* key, std::size_t hash) {
  nodes_.MakeRoom();
  WorkNode* node = pool_.Make(key);
  node->hash = hash;
  nodes_.Insert(node);
  return node;
}

WorkNode* WorkQueueBase::Impl::FindOrMake(const void* key, std::size_t hash) {
  WorkNode* node = nodes_.Find(key, hash);
  return node != nullptr ? node : Make(key, hash);
}

void WorkQueueBase::Impl::Release(WorkNode* node) {
  if (node->queued || node->processing || node->waiting || node->failures != 0) return;
  nodes_.Erase(node);
  pool_.Destroy(node);
}

void WorkQueueBase::Impl::Add(const void* key, std::size_t hash, const AddOptions& options) {
  hash = NodeTable::Mix(hash);
  if (options.rate_limited || options.after > Clock::Duration::zero()) return AddLater(key, hash, options);
  WakeAfterwards after;
  BriefLock lock(mu_);
  if (shutting_down_) return;
  WorkNode* node = nodes_.Find(key, hash);
  if (node == nullptr) {
    node = Make(key, hash);
  } else if (node->queued && options.priority <= node->priority) {
    return;  // the most frequent case needs no time
  }
  MakeReady(node, options.priority, clock_->Now());
  WakeOne(after);
}

void WorkQueueBase::Impl::AddLater(const void* key, std::size_t hash, const AddOptions& options) {
  Clock::Duration delay = options.after;
  if (options.rate_limited) {
    int failures = 0;
    {
      BriefLock lock(mu_);
      if (shutting_down_) return;
      WorkNode* node = FindOrMake(key, hash);
      failures = node->failures;
      if (failures < std::numeric_limits<int>::max()) ++node->failures;
    }
    delay = std::max(delay, limiter_->When(failures));
  }
  Afterwards after;
  BriefLock lock(mu_);
  if (shutting_down_) return;
  metrics_.Retried();
  WorkNode* node = FindOrMake(key, hash);
  if (delay > Clock::Duration::zero()) {
    MakeWait(node, options.priority, clock_->Later(delay), after);
    return;
  }
  MakeReady(node, options.priority, clock_->Now());
  WakeOne(after);
}

void WorkQueueBase::Impl::MakeReady(WorkNode* node, int priority, Clock::TimePoint now) {
  if (node->queued) {
    if (priority <= node->priority) return;
    metrics_.Raised(node->priority, priority);
    ready_.Raise(node, priority, now);
    return;
  }
  if (!node->processing) {
    node->queued_at = now;
    metrics_.Added(priority);
    ready_.Push(node, priority, now);
    has_ready_.store(true, std::memory_order_relaxed);
    return;
  }
  if (!node->dirty) {
    node->dirty = true;
    node->next_priority = priority;
    node->queued_at = now;
    metrics_.Added(priority);
  } else if (priority > node->next_priority) {
    metrics_.Raised(node->next_priority, priority);
    node->next_priority = priority;
  }
}

void WorkQueueBase::Impl::MakeWait(WorkNode* node, int priority, Clock::TimePoint due, Afterwards& after) {
  if (!node->waiting) {
    node->waiting = true;
    node->wait_priority = priority;
    node->due = due;
    waiting_.Push(node);
  } else {
    node->wait_priority = std::max(node->wait_priority, priority);
    if (due >= node->due) return;
    node->due = due;
    waiting_.Update(node);
  }
  ArmDueTimer(after);
}

void WorkQueueBase::Impl::ArmDueTimer(Afterwards& after) {
  if (waiting_.empty() || waiting_.top()->due >= due_armed_) return;
  due_armed_ = waiting_.top()->due;
  after.old_due = std::exchange(due_timer_, clock_->AddTimer(due_armed_, [this] { OnDue(); }));
}

void WorkQueueBase::Impl::OnDue() {
  Afterwards after;
  BriefLock lock(mu_);
  if (shutting_down_) return;
  const Clock::TimePoint now = clock_->Now();
  while (!waiting_.empty() && waiting_.top()->due <= now) {
    WorkNode* node = waiting_.top();
    waiting_.Remove(node);
    node->waiting = false;
    MakeReady(node, node->wait_priority, now);
  }
  if (due_armed_ <= now) due_armed_ = Clock::TimePoint::max();
  ArmDueTimer(after);
  WakeOneNow();
}

void WorkQueueBase::Impl::Forget(const void* key, std::size_t hash) {
  BriefLock lock(mu_);
  WorkNode* node = nodes_.Find(key, NodeTable::Mix(hash));
  if (node == nullptr) return;
  node->failures = 0;
  Release(node);
}

int WorkQueueBase::Impl::NumRequeues(const void* key, std::size_t hash) const {
  BriefLock lock(mu_);
  const WorkNode* node = nodes_.Find(key, NodeTable::Mix(hash));
  return node == nullptr ? 0 : node->failures;
}

void WorkQueueBase::Impl::WakeOne(WakeAfterwards& after) {
  if (coming_ || asleep_ == nullptr || ready_.empty()) return;
  // Only one at a time: a caller that takes a key and leaves others wakes the next. A burst of adds then costs one system call, not one for
  // each.
  Sleeper* sleeper = asleep_;
  Unlink(sleeper);
  sleeper->for_work = true;
  coming_ = true;
  after.wake = sleeper;
}

void WorkQueueBase::Impl::WakeOneNow() {
  WakeAfterwards after;
  WakeOne(after);
}

void WorkQueueBase::Impl::LookOut() const {
  const auto end = std::chrono::steady_clock::now() + kLookOut;
  while (!has_ready_.load(std::memory_order_relaxed) && std::chrono::steady_clock::now() < end) {
    for (int i = 0; i < 8; ++i) Pause();
  }
}

WorkQueueBase::Impl::Sleeper* WorkQueueBase::Impl::FallAsleep() {
  Sleeper* sleeper = free_sleepers_;
  if (sleeper != nullptr) {
    free_sleepers_ = sleeper->next;
  } else {
    sleeper = sleepers_.emplace_back(std::make_unique<Sleeper>()).get();
  }
  sleeper->asleep = true;
  sleeper->for_work = false;
  sleeper->prev = nullptr;
  sleeper->next = asleep_;
  if (asleep_ != nullptr) asleep_->prev = sleeper;
  asleep_ = sleeper;
  return sleeper;
}

void WorkQueueBase::Impl::Unlink(Sleeper* sleeper) {
  sleeper->asleep = false;
  (sleeper->prev != nullptr ? sleeper->prev->next : asleep_) = sleeper->next;
  if (sleeper->next != nullptr) sleeper->next->prev = sleeper->prev;
}

void WorkQueueBase::Impl::SleepUntilWoken(const Context& ctx, Sleeper* sleeper) {
  const Context::Registration stop = ctx.OnDone([this, sleeper] {
    BriefLock lock(mu_);
    if (!sleeper->asleep) return;
    Unlink(sleeper);
    sleeper->wake.Unpark();
  });
  while (sleeper->asleep) sleeper->wake.Park();
}

Result<WorkNode*> WorkQueueBase::Impl::Get(const Context& ctx) {
  Sleeper* sleeper = nullptr;
  bool looking_out = false;
  bool looked_out = false;
  for (;;) {
    if (looking_out) LookOut();
    if (sleeper != nullptr) SleepUntilWoken(ctx, sleeper);
    Afterwards after;
    BriefLock lock(mu_);
    if (looking_out || sleeper != nullptr) {
      if (looking_out || sleeper->for_work) coming_ = false;
      looking_out = false;
      if (sleeper != nullptr) {
        sleeper->next = std::exchange(free_sleepers_, sleeper);
        sleeper = nullptr;
      }
      --idle_;
      Left();
    }
    if (ctx.stopped()) {
      WakeOneNow();  // for the key that this one may have been woken for
      break;
    }
    if (!ready_.empty()) return TakeNext(after);
    if (shutting_down_) return Closed();
    ++idle_;
    if (!coming_ && !looked_out && CanLookOut()) {
      looked_out = looking_out = coming_ = true;
    } else {
      sleeper = FallAsleep();
    }
  }
  return *ctx.Err();
}

WorkNode* WorkQueueBase::Impl::TakeNext(Afterwards& after) {
  const Clock::TimePoint now = clock_->Now();
  WorkNode* node = ready_.Pop();
  if (ready_.empty()) has_ready_.store(false, std::memory_order_relaxed);
  node->processing = true;
  node->started_at = now;
  processing_.PushBack(node);
  metrics_.Got(node->priority, now - node->queued_at);
  if (metrics_.enabled()) ArmRefreshTimer(after);
  WakeOne(after);
  return node;
}

void WorkQueueBase::Impl::Done(const void* key, std::size_t hash) {
  WakeAfterwards after;
  BriefLock lock(mu_);
  WorkNode* node = nodes_.Find(key, NodeTable::Mix(hash));
  if (node != nullptr && node->processing) Finish(node, after);
}

void WorkQueueBase::Impl::Done(WorkNode* node) {
  WakeAfterwards after;
  BriefLock lock(mu_);
  Finish(node, after);
}

void WorkQueueBase::Impl::Finish(WorkNode* node, WakeAfterwards& after) {
  processing_.Remove(node);
  node->processing = false;
  if (metrics_.enabled()) metrics_.Done(clock_->Now() - node->started_at);
  if (node->dirty) {
    node->dirty = false;
    ready_.Push(node, node->next_priority, clock_->Now());
    has_ready_.store(true, std::memory_order_relaxed);
    WakeOne(after);
  } else {
    Release(node);
  }
  if (shutting_down_ && Drained()) changed_.NotifyAll();
}

std::size_t WorkQueueBase::Impl::Len() const {
  BriefLock lock(mu_);
  return ready_.size();
}

bool WorkQueueBase::Impl::shutting_down() const {
  BriefLock lock(mu_);
  return shutting_down_;
}

void WorkQueueBase::Impl::StopLocked(Afterwards& after) {
  shutting_down_ = true;
  for (WorkNode* node : waiting_.Clear()) {
    node->waiting = false;
    Release(node);
  }
  after.old_due = std::exchange(due_timer_, Timer());
  after.old_refresh = std::exchange(refresh_timer_, Timer());
  while (asleep_ != nullptr) {
    Sleeper* sleeper = asleep_;
    Unlink(sleeper);
    sleeper->wake.Unpark();
  }
}

void WorkQueueBase::Impl::ShutDown() {
  Afterwards after;
  BriefLock lock(mu_);
  StopLocked(after);
  forced_ = true;
  changed_.NotifyAll();
}

Result<void> WorkQueueBase::Impl::ShutDownWithDrain(const Context& ctx) {
  {
    Afterwards after;
    BriefLock lock(mu_);
    StopLocked(after);
    ++draining_;
  }
  {
    // The callback takes the lock, so neither registering nor unregistering may happen under it.
    const Context::Registration stop = ctx.OnDone([this] {
      BriefLock lock(mu_);
      changed_.NotifyAll();
    });
    BriefLock lock(mu_);
    while (!forced_ && !Drained() && !ctx.stopped()) changed_.Wait(mu_);
  }
  BriefLock lock(mu_);
  --draining_;
  Left();
  if (Drained()) return {};
  if (forced_) return Error(ErrorKind::kClosed, "the work queue was shut down before all of its keys were done");
  return *ctx.Err();
}

void WorkQueueBase::Impl::ArmRefreshTimer(Afterwards& after) {
  if (refresh_armed_ || shutting_down_) return;
  refresh_armed_ = true;
  after.old_refresh = std::exchange(refresh_timer_, clock_->AddTimerAfter(kRefreshPeriod, [this] { OnRefresh(); }));
}

void WorkQueueBase::Impl::OnRefresh() {
  Afterwards after;
  BriefLock lock(mu_);
  if (shutting_down_) return;
  refresh_armed_ = false;
  ReportUnfinished(clock_->Now());
  if (processing_.size != 0) ArmRefreshTimer(after);
}

void WorkQueueBase::Impl::ReportUnfinished(Clock::TimePoint now) {
  Clock::Duration all{};
  for (const WorkNode* node = processing_.head; node != nullptr; node = node->next) all += now - node->started_at;
  metrics_.Unfinished(all, processing_.head == nullptr ? Clock::Duration::zero() : now - processing_.head->started_at);
}

QueueCounts WorkQueueBase::Impl::Visit(std::size_t max, const std::function<void(const WorkNode&, const KeyInfo&)>& visit) const {
  BriefLock lock(mu_);
  const Clock::TimePoint now = clock_->Now();
  const auto info = [now](const WorkNode& node, KeyState state, int priority, Clock::Duration age) {
    KeyInfo out{.state = state, .again = node.dirty, .priority = priority, .requeues = node.failures, .age = age};
    if (node.waiting) out.due_in = std::max(node.due - now, Clock::Duration::zero());
    return out;
  };
  for (const WorkNode* node = processing_.head; node != nullptr && max != 0; node = node->next, --max) {
    visit(*node, info(*node, KeyState::kProcessing, node->priority, now - node->started_at));
  }
  ready_.ForEach([&](const WorkNode& node) {
    if (max == 0) return false;
    --max;
    visit(node, info(node, KeyState::kQueued, node.priority, now - node.queued_at));
    return true;
  });
  // The first ones of the heap, without sorting all of it: a key's children come after it.
  std::vector<std::size_t> next;
  const auto later = [this](std::size_t a, std::size_t b)
                         KUBE_NO_THREAD_SAFETY_ANALYSIS { return waiting_.at(b)->due < waiting_.at(a)->due; };
  if (!waiting_.empty()) next.push_back(0);
  while (!next.empty() && max != 0) {
    std::pop_heap(next.begin(), next.end(), later);
    const std::size_t i = next.back();
    next.pop_back();
    for (const std::size_t child : {2 * i + 1, 2 * i + 2}) {
      if (child >= waiting_.size()) continue;
      next.push_back(child);
      std::push_heap(next.begin(), next.end(), later);
    }
    const WorkNode& node = *waiting_.at(i);
    if (node.queued || node.processing) continue;  // told of already
    --max;
    visit(node, info(node, KeyState::kWaiting, node.wait_priority, Clock::Duration::zero()));
  }
  return {.queued = ready_.size(),
          .processing = processing_.size,
          .waiting = waiting_.size(),
          .idle_workers = idle_,
          .oldest = ready_.empty() ? Clock::Duration::zero() : now - ready_.Oldest(),
          .shutting_down = shutting_down_};
}

WorkQueueBase::WorkQueueBase(const KeyOps& ops, WorkQueueOptions options) : impl_(std::make_unique<Impl>(ops, std::move(options))) {}
WorkQueueBase::~WorkQueueBase() = default;
void WorkQueueBase::Add(const void* key, std::size_t hash, const AddOptions& options) { impl_->Add(key, hash, options); }
void WorkQueueBase::Forget(const void* key, std::size_t hash) { impl_->Forget(key, hash); }
int WorkQueueBase::NumRequeues(const void* key, std::size_t hash) const { return impl_->NumRequeues(key, hash); }
Result<WorkNode*> WorkQueueBase::Get(const Context& ctx) { return impl_->Get(ctx); }
void WorkQueueBase::Done(const void* key, std::size_t hash) { impl_->Done(key, hash); }
void WorkQueueBase::Done(WorkNode* node) { impl_->Done(node); }
std::size_t WorkQueueBase::Len() const { return impl_->Len(); }
void WorkQueueBase::ShutDown() { impl_->ShutDown(); }
Result<void> WorkQueueBase::ShutDownWithDrain(const Context& ctx) { return impl_->ShutDownWithDrain(ctx); }
bool WorkQueueBase::shutting_down() const { return impl_->shutting_down(); }
QueueCounts WorkQueueBase::Visit(std::size_t max, const std::function<void(const WorkNode&, const KeyInfo&)>& visit) const {
  return impl_->Visit(max, visit);
}

bool WorkQueueBase::Call(const std::function<void()>& work, const std::string& key) const {
  std::string what;
  try {
    work();
    return true;
  } catch (const std::exception& e) {
    what = e.what();
  } catch (...) {
    what = "something that is not a std::exception";
  }
  Log().Error(Error(ErrorKind::kUserCode, what), "A worker threw; its key is tried again", {{"key", key}});
  return false;
}

}  // namespace internal
}  // namespace kube
