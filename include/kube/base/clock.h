// Clock: the time, and timers, of everything in kubexx that waits.
//
//   Clock::Real()      the machine's clock, with one timer thread for the process
//   FakeClock          time that a test moves by hand (fake_clock.h)
//   Timer              a pending call; cancelled when it goes out of scope
//
// Code that waits takes its Clock from its Context (ctx.clock()), so a test with a fake clock controls every delay of the code under
// test. To sleep, use Context::SleepFor, which also ends when the context ends.
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

// A pending call of Clock::AddTimer.
//
// Thread safety: one thread at a time per object. The callback runs on another thread; see Cancel.
class KUBE_EXPORT Timer {
 public:
  Timer();
  Timer(Timer&&) noexcept;
  Timer& operator=(Timer&&) noexcept;  // cancels what this object held
  ~Timer();                            // Cancel()

  // Makes sure that the callback is not running and will not run. Waits for a callback that is running at this moment, unless it is
  // that callback that calls. Do not hold a lock that the callback takes. Returns whether the call was prevented.
  bool Cancel();

  // Whether the callback has still to run.
  bool pending() const;

 private:
  friend class internal::TimerQueue;
  explicit Timer(std::shared_ptr<internal::TimerEntry> entry);
  std::shared_ptr<internal::TimerEntry> entry_;
};

// A source of time and timers. Has two implementations, Real() and FakeClock; not meant to be derived from elsewhere.
//
// Thread safety: all methods may be called from any thread.
class KUBE_EXPORT Clock {
 public:
  using Duration = std::chrono::nanoseconds;
  using TimePoint = std::chrono::steady_clock::time_point;
  using WallTime = std::chrono::system_clock::time_point;

  virtual ~Clock();
  Clock(const Clock&) = delete;
  Clock& operator=(const Clock&) = delete;

  // The machine's clock. The same object each time; its timer thread starts with the first timer and is joined when the process exits.
  static const std::shared_ptr<Clock>& Real();

  // Time that only moves forward; for durations and deadlines.
  virtual TimePoint Now() const = 0;

  // The time of day, which may jump; for people and for other machines.
  virtual WallTime WallNow() const = 0;

  // Calls `callback` once, at `when` or soon after. Timers of the same moment run in the order in which they were added. All callbacks
  // of a clock run one after another on one thread, so a callback must be quick, must not block and must not throw.
  [[nodiscard]] virtual Timer AddTimer(TimePoint when, std::function<void()> callback) = 0;

  // The same, `delay` from now.
  [[nodiscard]] Timer AddTimerAfter(Duration delay, std::function<void()> callback) { return AddTimer(Later(delay), std::move(callback)); }

  // Now() + delay, without overflow for very long delays.
  TimePoint Later(Duration delay) const;

 protected:
  Clock() = default;
};

}  // namespace kube
