// Clock: time and timers for everything in kubexx that waits.
//
//   Clock::Real()      the system clock, with one timer thread per process
//   FakeClock          a clock that tests advance by hand (fake_clock.h)
//   Timer              a pending callback; cancelled when it goes out of scope
//
// Code that waits takes its Clock from its Context (ctx.clock()), so a test with a FakeClock controls every delay of the code under test.
// To sleep, use Context::SleepFor, which also returns when the context stops.
#pragma once

#include <utility>

#include "kube/base/export.h"
#include "kube/base/std_chrono.h"
#include "kube/base/std_function.h"
#include "kube/base/std_memory.h"

namespace kube {

namespace internal {
class TimerQueue;
struct TimerEntry;
}  // namespace internal

// A pending callback of Clock::AddTimer.
//
// Thread safety: one thread at a time per object. The callback runs on another thread; see Cancel.
class KUBE_EXPORT Timer {
 public:
  Timer();
  Timer(Timer&&) noexcept;
  Timer& operator=(Timer&&) noexcept;  // cancels the timer that this object held
  ~Timer();                            // Cancel()

  // Ensures that the callback is not running and will not run. Waits for a callback that is currently running, unless called from that
  // callback. Do not hold a lock that the callback takes. Returns true if the call was prevented.
  bool Cancel();

  // Whether the callback has not run yet.
  bool pending() const;

 private:
  friend class internal::TimerQueue;
  explicit Timer(std::shared_ptr<internal::TimerEntry> entry);
  std::shared_ptr<internal::TimerEntry> entry_;
};

// A source of time and timers. The only implementations are Real() and FakeClock; do not derive others.
//
// Thread safety: all methods may be called from any thread.
class KUBE_EXPORT Clock {
 public:
  // Durations, monotonic times and times of day of all clocks.
  using Duration = std::chrono::nanoseconds;
  using TimePoint = std::chrono::steady_clock::time_point;
  using WallTime = std::chrono::system_clock::time_point;  // a time of day

  virtual ~Clock();
  Clock(const Clock&) = delete;
  Clock& operator=(const Clock&) = delete;

  // The system clock, always the same object. Its timer thread starts with the first timer and is joined when the process exits.
  static const std::shared_ptr<Clock>& Real();

  // Monotonic time, for durations and deadlines.
  virtual TimePoint Now() const = 0;

  // Time of day, which may jump; for display and for data sent to other machines.
  virtual WallTime WallNow() const = 0;

  // Calls `callback` once, at `when` or soon after. Timers with the same time run in the order in which they were added. All callbacks of a
  // clock run one after another on one thread, so a callback must be non-blocking and must not throw.
  [[nodiscard]] virtual Timer AddTimer(TimePoint when, std::function<void()> callback) = 0;

  // The same, after `delay`.
  [[nodiscard]] Timer AddTimerAfter(Duration delay, std::function<void()> callback) { return AddTimer(Later(delay), std::move(callback)); }

  // Returns Now() + delay, without overflow for very long delays.
  TimePoint Later(Duration delay) const;

 protected:
  Clock() = default;
};

}  // namespace kube
