// Backoff: how long to wait before trying again.
//
//   Backoff               a growing series of delays, with jitter; the semantics of client-go's wait.Backoff
//   BackoffManager        a Backoff that starts over now and then; what retry loops that never end use
//   ExponentialBackoff    call a function until it succeeds, with the delays of a Backoff
#pragma once

#include "kube/base/clock.h"
#include "kube/base/context.h"
#include "kube/base/export.h"
#include "kube/base/mutex.h"
#include "kube/base/result.h"
#include "kube/base/std_chrono.h"
#include "kube/base/std_function.h"
#include "kube/base/std_memory.h"

namespace kube {

// Gives numbers in [0, 1). An empty one means the built-in generator; tests pass their own.
using RandomSource = std::function<double()>;

// `duration` stretched by a random part of itself: between duration and duration * (1 + max_factor). A max_factor of zero or less counts
// as 1.
KUBE_EXPORT std::chrono::nanoseconds Jitter(std::chrono::nanoseconds duration, double max_factor, const RandomSource& random = {});

// A series of delays. A plain value: copy it to start the series again.
//
//   Backoff backoff{.duration = 10ms, .factor = 5, .jitter = 0.1, .steps = 4};   // 10, 50, 250, ... ms, each up to 10 % longer
struct KUBE_EXPORT Backoff {
  std::chrono::nanoseconds duration{};  // the next base delay
  double factor = 0;                    // each step multiplies the base by this; 0 leaves it as it is
  double jitter = 0;                    // each delay is stretched by up to this part of itself; the stretch never adds up
  int steps = 0;                        // how many times the base may still grow; for ExponentialBackoff also the number of calls
  std::chrono::nanoseconds cap{};       // a base that would exceed this becomes this and stops growing; 0 is no cap

  // The next delay. When `steps` are used up, the last base repeats. Jitter comes on top of the cap.
  std::chrono::nanoseconds Step(const RandomSource& random = {});
};

// The delays of a Backoff, started over when `reset_window` has passed since the last start: a fixed window, not the time since the
// last failure, so under lasting failure the delay falls back to the first one once per window.
//
// A Backoff without a factor is used as it is; a window of zero or less gives the first delay each time.
//
// Thread safety: may be shared by several loops; they then share one series.
class KUBE_EXPORT BackoffManager {
 public:
  BackoffManager(Backoff backoff, std::chrono::nanoseconds reset_window, std::shared_ptr<Clock> clock, RandomSource random = {});

  // The next delay.
  std::chrono::nanoseconds Next();

  // Sleeps for the next delay; the context's error if it stops first. The context's clock counts.
  Result<void> Wait(const Context& ctx);

  // Starts the series over, and the window with it.
  void Reset();

 private:
  const Backoff initial_;
  const std::chrono::nanoseconds reset_window_;  // 0: never start over
  const std::shared_ptr<Clock> clock_;
  const RandomSource random_;

  Mutex mu_;
  Backoff current_ KUBE_GUARDED_BY(mu_);
  Clock::TimePoint last_start_ KUBE_GUARDED_BY(mu_);
};

// Calls `condition` until it gives true or an error, at most `backoff.steps` times, sleeping for the backoff's delays in between. When
// the cap is reached that was the last call. Error::Timeout if it never gave true; the context's error if it stops first, in which
// case `condition` is not called again.
KUBE_EXPORT Result<void> ExponentialBackoff(const Context& ctx, Backoff backoff, const std::function<Result<bool>()>& condition,
                                            const RandomSource& random = {});

}  // namespace kube
