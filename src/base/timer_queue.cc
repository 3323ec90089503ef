#include "base/timer_queue.h"

namespace kube::internal {

Timer TimerQueue::Add(Clock::TimePoint when, std::function<void()> callback) {
  auto entry = std::make_shared<TimerEntry>();
  entry->queue = shared_from_this();
  entry->callback = std::move(callback);
  MutexLock lock(mu_);
  entry->key = {when, next_sequence_++};
  pending_.emplace(entry->key, entry);
  if (when < sleeps_until_ || size_waiters_ > 0) changed_.NotifyAll();
  return Timer(std::move(entry));
}

bool TimerQueue::Cancel(TimerEntry& entry) {
  std::function<void()> dropped;  // destroyed after the lock is released: it may own anything
  MutexLock lock(mu_);
  switch (entry.state) {
    case TimerEntry::State::kPending:
      dropped = std::move(entry.callback);
      entry.state = TimerEntry::State::kDone;
      pending_.erase(entry.key);
      lock.Unlock();
      return true;
    case TimerEntry::State::kRunning:
      if (entry.runner != std::this_thread::get_id()) {
        while (entry.state == TimerEntry::State::kRunning) finished_.Wait(mu_);
      }
      return false;
    case TimerEntry::State::kDone:
      return false;
  }
  return false;
}

bool TimerQueue::Pending(const TimerEntry& entry) const {
  MutexLock lock(mu_);
  return entry.state == TimerEntry::State::kPending;
}

std::optional<Clock::TimePoint> TimerQueue::Next() const {
  MutexLock lock(mu_);
  if (pending_.empty()) return std::nullopt;
  return pending_.begin()->first.first;
}

std::size_t TimerQueue::size() const {
  MutexLock lock(mu_);
  return pending_.size();
}

bool TimerQueue::RunOne(Clock::TimePoint now) {
  std::shared_ptr<TimerEntry> entry;
  std::function<void()> callback;
  {
    MutexLock lock(mu_);
    if (pending_.empty() || pending_.begin()->first.first > now) return false;
    entry = std::move(pending_.begin()->second);
    pending_.erase(pending_.begin());
    entry->state = TimerEntry::State::kRunning;
    entry->runner = std::this_thread::get_id();
    callback = std::move(entry->callback);
  }
  [&]() noexcept { callback(); }();
  callback = nullptr;  // what it captured is destroyed before Cancel() returns
  MutexLock lock(mu_);
  entry->state = TimerEntry::State::kDone;
  finished_.NotifyAll();
  return true;
}

void TimerQueue::RunUntilStopped() {
  for (;;) {
    {
      MutexLock lock(mu_);
      if (stopped_) return;
      if (pending_.empty()) {
        sleeps_until_ = Clock::TimePoint::max();
        changed_.Wait(mu_);
        sleeps_until_ = Clock::TimePoint::min();
        continue;
      }
      const Clock::TimePoint when = pending_.begin()->first.first;
      if (when > std::chrono::steady_clock::now()) {
        sleeps_until_ = when;
        changed_.WaitUntil(mu_, when);
        sleeps_until_ = Clock::TimePoint::min();
        continue;
      }
    }
    RunOne(std::chrono::steady_clock::now());
  }
}

void TimerQueue::Stop() {
  MutexLock lock(mu_);
  stopped_ = true;
  changed_.NotifyAll();
}

bool TimerQueue::WaitForSize(std::size_t n, Clock::TimePoint until) const {
  MutexLock lock(mu_);
  ++size_waiters_;
  while (pending_.size() < n && changed_.WaitUntil(mu_, until)) {
  }
  --size_waiters_;
  return pending_.size() >= n;
}

}  // namespace kube::internal
