// Backoff: delays between attempts.
//
//   Backoff               a growing series of delays with jitter; the semantics of client-go's wait.Backoff
//   BackoffManager        a Backoff that restarts periodically, for retry loops that never end
//   ExponentialBackoff    calls a function until it succeeds, with the delays of a Backoff
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

// Returns numbers in [0, 1). Empty: the built-in generator. Tests pass their own.
using RandomSource = std::function<double()>;

// Returns a random delay between `duration` and `duration * (1 + max_factor)`. A max_factor of zero or less counts as 1.
KUBE_EXPORT std::chrono::nanoseconds Jitter(std::chrono::nanoseconds duration, double max_factor, const RandomSource& random = {});

// A series of delays. It is a plain value: copy it to start the series again.
//
//   Backoff backoff{.duration = 10ms, .factor = 5, .jitter = 0.1, .steps = 4};   // 10, 50, 250, ... ms, each up to 10 % longer
struct KUBE_EXPORT Backoff {
  std::chrono::nanoseconds duration{};  // the next base delay
  double factor = 0;                    // each step multiplies the base by this; 0 keeps the base
  double jitter = 0;                    // each delay is stretched randomly by up to this fraction; the stretch does not accumulate
  int steps = 0;                        // how often the base may still grow; for ExponentialBackoff also the maximum number of calls
  std::chrono::nanoseconds cap{};       // upper limit of the base, which then stops growing; 0: no limit

  // Returns the next delay. After `steps` steps the last base repeats. Jitter is added on top of the cap.
  std::chrono::nanoseconds Step(const RandomSource& random = {});
};

// The delays of a Backoff, restarted each time `reset_window` has passed since the last restart. The window is fixed; it does not count
// from the last failure. Under permanent failure the delay therefore drops back to the first one once per window.
//
// A Backoff without a factor never grows and is used as it is. A window of zero or less returns the first delay each time.
//
// Thread safety: may be shared by several loops; they then share one series.
class KUBE_EXPORT BackoffManager {
 public:
  // `clock` measures the reset window. An empty `random` uses the built-in generator.
  BackoffManager(Backoff backoff, std::chrono::nanoseconds reset_window, std::shared_ptr<Clock> clock, RandomSource random = {});

  // Returns the next delay.
  std::chrono::nanoseconds Next();

  // Sleeps for the next delay by the context's clock. Returns the context's error if it stops first.
  Result<void> Wait(const Context& ctx);

  // Restarts the series and the window.
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

// Calls `condition` until it returns true or an error, at most `backoff.steps` times, with the delays of `backoff` in between. The call
// after which the cap is reached is the last one. Returns Error::Timeout if `condition` never returned true, or the context's error if it
// stops first; `condition` is then not called again.
KUBE_EXPORT Result<void> ExponentialBackoff(const Context& ctx, Backoff backoff, const std::function<Result<bool>()>& condition,
                                            const RandomSource& random = {});

}  // namespace kube
