// FakeClock: a Clock for tests, where time stands still until the test moves it.
#pragma once

#include <cstddef>

#include "kube/base/clock.h"
#include "kube/base/export.h"
#include "kube/base/mutex.h"
#include "kube/base/std_chrono.h"
#include "kube/base/std_function.h"
#include "kube/base/std_memory.h"

namespace kube {

// Example: code under test sleeps in a thread of its own; the test waits until it does, then moves time.
//
//   auto clock = std::make_shared<FakeClock>();
//   Context ctx = Context::Background(clock);
//   Thread worker("worker", [&] { (void)ctx.SleepFor(std::chrono::hours(1)); });
//   ASSERT_TRUE(clock->WaitForWaiters(1));
//   clock->Advance(std::chrono::hours(1));
//
// Thread safety: all methods may be called from any thread, but Advance and AdvanceToNextTimer not from inside a timer's callback.
class KUBE_EXPORT FakeClock final : public Clock {
 public:
  // The wall clock starts at 2020-01-01T00:00:00Z.
  FakeClock();
  explicit FakeClock(WallTime wall);
  ~FakeClock() override;

  TimePoint Now() const override;
  WallTime WallNow() const override;
  [[nodiscard]] Timer AddTimer(TimePoint when, std::function<void()> callback) override;

  // Moves both clocks forward and runs what becomes due, in the order of time, on the calling thread; Now() is exactly the timer's
  // moment while it runs. A timer that is already due when it is added waits for the next Advance, which may be Advance({}).
  void Advance(Duration by);

  // Moves to the earliest timer and runs all of that moment. False if there is none.
  bool AdvanceToNextTimer();

  // Moves the wall clock alone, as an administrator or NTP would.
  void SetWallNow(WallTime wall);

  // How many timers are pending: sleeps, context deadlines and direct ones alike.
  std::size_t waiters() const;

  // Blocks until at least `n` timers are pending. False if that takes longer than `limit` of real time, which means the test hangs.
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
