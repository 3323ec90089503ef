// RunPeriodically: calls a function periodically until a context stops. Combines client-go's wait.Until, wait.NonSlidingUntil and
// wait.JitterUntil.
//
//   RunPeriodically(ctx, {.name = "worker", .period = 1s}, work);               // wait.Until(work, time.Second, stopCh)
//
//   manager.Add(Runnable{.name = "sweeper", .run = Periodically({.name = "sweeper", .period = 1min, .jitter = 0.1}, Sweep)});
//
// Use it for scheduled work. Work that follows from a change of an object belongs in a controller; to delay a single key, use
// Action::RequeueAfter or WorkQueue::AddAfter.
#pragma once

#include <string>

#include "kube/base/backoff.h"
#include "kube/base/context.h"
#include "kube/base/export.h"
#include "kube/base/result.h"
#include "kube/base/std_chrono.h"
#include "kube/base/std_function.h"

namespace kube {

// Options of RunPeriodically.
struct PeriodicOptions {
  std::string name{};  // for logs
  // Time between calls; see `sliding`. 0 or less: the next call follows immediately.
  std::chrono::nanoseconds period{};
  // Each period is stretched randomly by up to this fraction: with 0.1 a period of 10 s lasts 10 to 11 s. 0 or less: no jitter. Jitter
  // spreads out replicas that start together.
  double jitter = 0;
  // If true, the period begins when a call has returned: it is the pause between calls. If false, it begins with the call; a call that
  // takes longer than the period is followed by the next one immediately, and missed calls are not made up for.
  bool sliding = true;
  // Whether the first call happens immediately or after one period.
  bool immediate = true;
  RandomSource random{};  // for the jitter; tests pass their own
};

// The function to call. An error or exception is logged, and the calls continue.
using PeriodicFunction = std::function<Result<void>(const Context& ctx)>;

// Calls `function` until `ctx` stops, never after that.
//
// Thread safety: `function` is called on the calling thread, one call at a time.
// Blocking and cancellation: blocks until the context stops. A pause ends at once; a running call is passed the context and must return by
//   itself. Uses the context's clock, so a FakeClock controls it.
KUBE_EXPORT void RunPeriodically(const Context& ctx, const PeriodicOptions& options, const PeriodicFunction& function);

// Returns RunPeriodically as a function, for Runnable::run.
KUBE_EXPORT PeriodicFunction Periodically(PeriodicOptions options, PeriodicFunction function);

}  // namespace kube
