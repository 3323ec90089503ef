// WaitUntil: waits for a condition, or until a context stops.
#pragma once

#include <optional>
#include <utility>

#include "kube/base/context.h"
#include "kube/base/mutex.h"
#include "kube/base/result.h"

namespace kube {

// Waits until `pred()` is true or `ctx` stops. `pred` is called with `mu` held; the thread that makes it true notifies `cv`. Returns ok
// only if `pred()` is true on return; a condition that already holds wins over a stopped context.
//
//   MutexLock lock(mu_);
//   if (Result<void> r = WaitUntil(ctx, mu_, changed_, [&] { return !items_.empty(); }); !r) return r.error();
//
// Requires: `mu` is held once. It is released while waiting, and briefly before and after.
template <typename Predicate>
Result<void> WaitUntil(const Context& ctx, Mutex& mu, CondVar& cv, Predicate pred) KUBE_REQUIRES(mu) KUBE_NO_THREAD_SAFETY_ANALYSIS {
  for (;;) {
    if (pred()) return {};
    if (std::optional<Error> error = ctx.Err()) return *std::move(error);
    // The callback takes the lock, so neither registering nor unregistering may happen under it.
    mu.Unlock();
    {
      const Context::Registration wake = ctx.OnDone([&mu, &cv] {
        MutexLock lock(mu);
        cv.NotifyAll();
      });
      mu.Lock();
      while (!ctx.stopped() && !pred()) cv.Wait(mu);
      mu.Unlock();
    }
    mu.Lock();
  }
}

}  // namespace kube
