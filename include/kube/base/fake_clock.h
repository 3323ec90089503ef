// FakeClock: a Clock for tests, whose time moves only when the test moves it.
#pragma once

#include <cstddef>

#include "kube/base/clock.h"
#include "kube/base/export.h"
#include "kube/base/mutex.h"
#include "kube/base/std_chrono.h"
#include "kube/base/std_function.h"
#include "kube/base/std_memory.h"

namespace kube {

// A clock that tests advance by hand. Example: code under test sleeps in another thread; the test waits until it does, then advances time.
//
//   auto clock = std::make_shared<FakeClock>();
//   Context ctx = Context::Background(clock);
//   Thread worker("worker", [&] { (void)ctx.SleepFor(std::chrono::hours(1)); });
//   ASSERT_TRUE(clock->WaitForWaiters(1));
//   clock->Advance(std::chrono::hours(1));
//
// Thread safety: all methods may be called from any thread, except that Advance and AdvanceToNextTimer must not be called from a timer's
//   callback.
class KUBE_EXPORT FakeClock final : public Clock {
 public:
  // The wall clock starts at 2020-01-01T00:00:00Z.
  FakeClock();
  // The wall clock starts at `wall`.
  explicit FakeClock(WallTime wall);
  ~FakeClock() override;

  // As Clock.
  TimePoint Now() const override;
  WallTime WallNow() const override;
  [[nodiscard]] Timer AddTimer(TimePoint when, std::function<void()> callback) override;

  // Advances both clocks and runs the timers that become due, in order of time, on the calling thread. While a timer runs, Now() is exactly
  // its time. A timer that is already due when it is added runs in the next Advance, which may be Advance({}).
  void Advance(Duration by);

  // Advances to the earliest timer and runs all timers of that time. Returns false if there is none.
  bool AdvanceToNextTimer();

  // Sets the wall clock alone, as an administrator or NTP would.
  void SetWallNow(WallTime wall);

  // The number of pending timers, including sleeps and context deadlines.
  std::size_t waiters() const;

  // Blocks until at least `n` timers are pending. Returns false after `limit` of real time, which means that the test hangs.
  [[nodiscard]] bool WaitForWaiters(std::size_t n, std::chrono::nanoseconds limit = std::chrono::seconds(30)) const;

 private:
  void MoveTo(TimePoint target) KUBE_REQUIRES(advance_mu_);

  const std::shared_ptr<internal::TimerQueue> queue_;

  Mutex advance_mu_ KUBE_ACQUIRED_BEFORE(mu_);  // one Advance at a time
  mutable Mutex mu_;
  TimePoint now_ KUBE_GUARDED_BY(mu_);
  WallTime wall_ KUBE_GUARDED_BY(mu_);
};

}  // namespace kube
