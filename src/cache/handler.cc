#include "cache/handler.h"

#include <exception>
#include <thread>
#include <utility>

#include "kube/base/wait_until.h"

namespace kube::internal {
namespace {

struct Graveyard {
  Mutex mu;
  std::vector<Thread> threads KUBE_GUARDED_BY(mu);
};

// Never destroyed: a thread may be on its way here while the process exits.
Graveyard& TheGraveyard() {
  static Graveyard* const graveyard = new Graveyard;
  return *graveyard;
}

struct JoinAtExit {
  ~JoinAtExit() {
    std::vector<Thread> threads;
    MutexLock lock(TheGraveyard().mu);
    threads.swap(TheGraveyard().threads);
    lock.Unlock();
  }  // joined
};

}  // namespace

void Bury(Thread thread) {
  Graveyard& graveyard = TheGraveyard();
  static const JoinAtExit at_exit;
  std::vector<Thread> earlier;
  {
    MutexLock lock(graveyard.mu);
    earlier = std::exchange(graveyard.threads, {});
    graveyard.threads.push_back(std::move(thread));
  }
  // Threads that came before this one have only to return; each waits only for earlier ones, so there is no deadlock.
  earlier.clear();
}

std::shared_ptr<HandlerThread> HandlerThread::Start(Handler handler, std::string name, bool quick, const ObjectForm& form,
                                                    const std::string& what) {
  std::shared_ptr<HandlerThread> self(new HandlerThread(std::move(handler), std::move(name), quick, form, what));
  MutexLock lock(self->join_mu_);
  self->thread_ = Thread("kube-h-" + self->name_, [self] { self->Run(); });
  return self;
}

HandlerThread::HandlerThread(Handler handler, std::string name, bool quick, const ObjectForm& form, const std::string& what)
    : handler_(std::move(handler)),
      name_(std::move(name)),
      quick_(quick),
      form_(form),
      log_(Logger("cache.handler").With({{"informer", what}, {"handler", name_}})) {}

HandlerThread::~HandlerThread() {
  // The thread holds a reference, so it has ended, or this is its end.
  MutexLock lock(join_mu_);
  if (thread_.joinable() && thread_.id() == std::this_thread::get_id()) Bury(std::move(thread_));
}

bool HandlerThread::Push(std::span<const Notification> notifications, bool offers_to_tell) {
  if (notifications.empty() || removed_) return false;
  std::size_t late = 0;
  bool wake = false;
  bool assist = false;
  {
    MutexLock lock(mu_);
    if (removed_) return false;
    waiting_.insert(waiting_.end(), notifications.begin(), notifications.end());
    if (waiting_.size() > warn_at_) {
      late = waiting_.size();
      warn_at_ *= 4;
    }
    // An assisting thread continues until nothing waits.
    if (!assisted_ && sleeping_) {
      assist = assisted_ = quick_ && offers_to_tell;
      wake = !assist;
      if (wake) sleeping_ = false;
    }
  }
  // Without the lock: the other thread would wake up only to wait for it.
  if (wake) bell_.Unpark();
  if (late != 0) log_.Warn("The handler is slow: notifications wait for it and take memory", {{"waiting", late}});
  return assist;
}

void HandlerThread::Assist() {
  for (;;) {
    {
      MutexLock lock(mu_);
      assists_ = !waiting_.empty() && !removed_;
      if (!assists_) {
        assistant_ = std::thread::id();
        assisted_ = false;
        if (removed_) assist_over_.NotifyAll();
        return;
      }
      assistant_ = std::this_thread::get_id();
      assist_batch_.swap(waiting_);
      in_hand_ = assist_batch_.size();
    }
    (void)TellAll(assist_batch_);
  }
}

void HandlerThread::Remove() {
  std::vector<Notification> dropped;  // objects are freed without the lock
  MutexLock lock(mu_);
  removed_ = true;
  dropped.swap(waiting_);
  bell_.Unpark();
  synced_changed_.NotifyAll();
}

void HandlerThread::RemoveAndWait() {
  Remove();
  if (OnThread()) return;
  {
    // A call that has not begun yet will find it removed.
    MutexLock lock(mu_);
    while (assists_) assist_over_.Wait(mu_);
  }
  // Several may wait; the first one joins.
  MutexLock lock(join_mu_);
  if (thread_.joinable()) thread_.Join();
}

bool HandlerThread::HasSynced() const {
  MutexLock lock(mu_);
  return synced_;
}

Result<void> HandlerThread::WaitForSync(const Context& ctx) {
  MutexLock lock(mu_);
  const auto over = [&] {
    mu_.AssertHeld();
    return synced_ || removed_.load();
  };
  if (Result<void> r = WaitUntil(ctx, mu_, synced_changed_, over); !r) {
    return r.error().WithContext("handler " + name_ + " has not processed the initial list yet");
  }
  if (synced_) return {};
  // The context often stops the informer too, which may remove the handler first: the caller sees the cause.
  if (Result<void> r = ctx.Check(); !r) return r.error().WithContext("handler " + name_ + " has not processed the initial list yet");
  return Error(ErrorKind::kClosed, "handler " + name_ + " was removed, or its informer has stopped");
}

HandlerStatus HandlerThread::status() const {
  MutexLock lock(mu_);
  return {.name = name_, .pending = waiting_.size() + in_hand_, .handled = handled_, .failures = failures_, .synced = synced_};
}

void HandlerThread::Run() {
  thread_id_ = std::this_thread::get_id();
  std::vector<Notification> batch;
  for (;;) {
    {
      MutexLock lock(mu_);
      while ((waiting_.empty() || assisted_) && !removed_) {
        sleeping_ = true;
        lock.Unlock();
        bell_.Park();
        lock.Lock();
      }
      sleeping_ = false;
      if (removed_) return;
      batch.swap(waiting_);
      in_hand_ = batch.size();
    }
    if (!TellAll(batch)) return;
  }
}

bool HandlerThread::TellAll(std::vector<Notification>& batch) {
  for (Notification& notification : batch) {
    if (removed_) break;
    // A waiter for the last notification sees nothing pending afterwards.
    const bool last_word = notification.kind == Notification::Kind::kSynced;
    if (last_word) in_hand_.fetch_sub(1, std::memory_order_relaxed);
    Tell(notification);
    notification = {};  // a deleted object need not wait for the end of the batch
    if (!last_word) in_hand_.fetch_sub(1, std::memory_order_relaxed);
  }
  // The first list may have been long; the block that it needed is not wanted again.
  if (batch.capacity() > 64) std::vector<Notification>().swap(batch);  // `= {}` would keep it
  batch.clear();
  return !removed_;
}

void HandlerThread::Tell(const Notification& notification) {
  if (notification.kind == Notification::Kind::kSynced) {
    MutexLock lock(mu_);
    synced_ = true;
    synced_changed_.NotifyAll();
    return;
  }
  try {
    Call(notification);
  } catch (const std::exception& e) {
    Failed(e.what());
  } catch (...) {
    Failed("an exception that is not a std::exception");
  }
  handled_.fetch_add(1, std::memory_order_relaxed);
}

void HandlerThread::Call(const Notification& notification) {
  const ObjectRef& before = notification.before;
  const ObjectRef& after = notification.after;
  switch (notification.kind) {
    case Notification::Kind::kAdd:
      if (handler_.filter && !handler_.filter(after.get())) return;
      if (handler_.on_add) handler_.on_add(after, notification.flag);
      return;
    case Notification::Kind::kUpdate: {
      const bool was = !handler_.filter || handler_.filter(before.get());
      const bool is = !handler_.filter || handler_.filter(after.get());
      if (was && is) {
        if (handler_.on_update) handler_.on_update(before, after);
      } else if (is) {
        if (handler_.on_add) handler_.on_add(after, false);
      } else if (was) {
        if (handler_.on_delete) handler_.on_delete(form_.Key(before.get()), before, false);
      }
      return;
    }
    case Notification::Kind::kDelete:
      // Filters by the state last reported: after a missed update, the latest state alone would lose deletions, or report unknown objects.
      if (handler_.filter && !handler_.filter(after != nullptr ? after.get() : before.get())) return;
      if (handler_.on_delete) handler_.on_delete(form_.Key(before.get()), before, notification.flag);
      return;
    case Notification::Kind::kSynced:
      return;
  }
}

void HandlerThread::Failed(std::string_view what) {
  const std::uint64_t failures = failures_.fetch_add(1, std::memory_order_relaxed) + 1;
  // A handler that always throws must not fill the disk.
  const auto now = std::chrono::steady_clock::now();
  if (last_failure_log_ && now - *last_failure_log_ < std::chrono::seconds(1)) return;
  last_failure_log_ = now;
  log_.Error("An event handler threw; the notification counts as delivered", {{"what", what}, {"failures", failures}});
}

}  // namespace kube::internal
