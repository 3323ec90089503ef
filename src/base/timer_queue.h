// The queue of pending timers of both clocks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

#include "kube/base/clock.h"
#include "kube/base/mutex.h"

namespace kube::internal {

class TimerQueue;

// (time, insertion number): the order in which timers run.
using TimerKey = std::pair<Clock::TimePoint, std::uint64_t>;

struct TimerEntry {
  enum class State { kPending, kRunning, kDone };

  TimerKey key;                       // set once
  std::shared_ptr<TimerQueue> queue;  // set once

  // Guarded by queue->mu_, which the analysis cannot name here.
  State state = State::kPending;
  std::function<void()> callback;
  std::thread::id runner;
};

class TimerQueue : public std::enable_shared_from_this<TimerQueue> {
 public:
  Timer Add(Clock::TimePoint when, std::function<void()> callback) KUBE_EXCLUDES(mu_);
  bool Cancel(TimerEntry& entry) KUBE_EXCLUDES(mu_);
  bool Pending(const TimerEntry& entry) const KUBE_EXCLUDES(mu_);

  std::optional<Clock::TimePoint> Next() const KUBE_EXCLUDES(mu_);
  std::size_t size() const KUBE_EXCLUDES(mu_);

  // Runs the earliest timer if it is due at `now`. Returns false if there is none.
  bool RunOne(Clock::TimePoint now) KUBE_EXCLUDES(mu_);

  // Runs timers in real time on the calling thread until Stop().
  void RunUntilStopped() KUBE_EXCLUDES(mu_);
  void Stop() KUBE_EXCLUDES(mu_);

  // Waits in real time until at least n timers are pending; returns false if `until` is reached first.
  bool WaitForSize(std::size_t n, Clock::TimePoint until) const KUBE_EXCLUDES(mu_);

 private:
  mutable Mutex mu_;
  mutable CondVar changed_;  // for sleeping threads: an earlier timer was added, or stopped_ became true
  CondVar finished_;         // a callback returned
  // Exactly the entries in state kPending.
  std::map<TimerKey, std::shared_ptr<TimerEntry>> pending_ KUBE_GUARDED_BY(mu_);
  std::uint64_t next_sequence_ KUBE_GUARDED_BY(mu_) = 0;
  bool stopped_ KUBE_GUARDED_BY(mu_) = false;
  // The time until which RunUntilStopped sleeps unless it is woken; in the distant past while it does not sleep. Most timers are deadlines
  // that are cancelled early, so adding a later one does not wake the thread.
  Clock::TimePoint sleeps_until_ KUBE_GUARDED_BY(mu_) = Clock::TimePoint::min();
  mutable int size_waiters_ KUBE_GUARDED_BY(mu_) = 0;
};

}  // namespace kube::internal
