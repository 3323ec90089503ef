// RunPeriodically: calls a function again and again until a context stops; client-go's wait.Until, wait.NonSlidingUntil and
// wait.JitterUntil in one.
//
//   RunPeriodically(ctx, {.name = "worker", .period = 1s}, work);               // wait.Until(work, time.Second, stopCh)
//
//   manager.Add(Runnable{.name = "sweeper", .run = Periodically({.name = "sweeper", .period = 1min, .jitter = 0.1}, Sweep)});
//
// For work that is due by the clock. Work that follows from a change of an object belongs into a controller, and a delay of one key into
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

struct PeriodicOptions {
  std::string name{};  // for logs
  // From one call to the next; see `sliding`. 0 or less: the next call follows at once.
  std::chrono::nanoseconds period{};
  // Each period is stretched by a random part of itself, up to this one: with 0.1 a period of 10 s lasts 10 to 11 s. 0 or less: none.
  // Replicas that start together spread out this way.
  double jitter = 0;
  // true: the period begins when a call has returned, so it is a pause between calls. false: it begins with the call; a call that takes
  // longer than the period is followed by the next one at once, and the calls that would have fallen into it are not made up for.
  bool sliding = true;
  // Whether the first call comes at once, or after one period.
  bool immediate = true;
  RandomSource random{};  // for the jitter; tests pass their own
};

// What is called. An error, or an exception, is logged, and the next call comes as usual.
using PeriodicFunction = std::function<Result<void>(const Context& ctx)>;

// Calls `function` until `ctx` stops, never after that.
//
// Thread safety: `function` is called on the calling thread, one call at a time.
// Blocking and cancellation: until the context stops; a pause ends with it, a call gets it and has to return by itself. The context's
//   clock counts, so a FakeClock moves it.
KUBE_EXPORT void RunPeriodically(const Context& ctx, const PeriodicOptions& options, const PeriodicFunction& function);

// The same as a function, for Runnable::run.
KUBE_EXPORT PeriodicFunction Periodically(PeriodicOptions options, PeriodicFunction function);

}  // namespace kube
