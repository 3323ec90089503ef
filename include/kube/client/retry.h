// RetryOnConflict: repeats a read-modify-write if another client wrote in between.
//
//   Result<void> done = RetryOnConflict(ctx, [&]() -> Result<void> {
//     Result<Deployment> current = client.Get<Deployment>(ctx, key);      // must read again on each attempt
//     if (!current) return current.error();
//     current->spec.replicas = 3;
//     Result<Deployment> updated = client.Update(ctx, *current);
//     return updated ? Result<void>() : updated.error();
//   });
//
// Thread safety: `attempt` is called on the calling thread.
// Blocking and cancellation: blocks until an attempt succeeds, fails with another error, or the attempts are used up. The pauses end when
//   the context stops.
// Errors: those of `attempt`; after the last attempt the last conflict, not a timeout; the context's error if it stops before the first
//   conflict.
// Cost: that of `attempt`, times the number of attempts.
#pragma once

#include "kube/base/backoff.h"
#include "kube/base/context.h"
#include "kube/base/export.h"
#include "kube/base/result.h"
#include "kube/base/std_chrono.h"
#include "kube/base/std_function.h"

namespace kube {

// Five attempts, 10 ms apart: for objects that several clients write occasionally.
inline constexpr Backoff kDefaultRetry{.duration = std::chrono::milliseconds(10), .factor = 1.0, .jitter = 0.1, .steps = 5};
// Four attempts, 10, 50 and 250 ms apart: for objects that are written constantly.
inline constexpr Backoff kDefaultBackoff{.duration = std::chrono::milliseconds(10), .factor = 5.0, .jitter = 0.1, .steps = 4};

// Calls `attempt` again as long as it fails with IsConflict.
KUBE_EXPORT Result<void> RetryOnConflict(const Context& ctx, const std::function<Result<void>()>& attempt,
                                         const Backoff& backoff = kDefaultRetry);
// Calls `attempt` again as long as it fails with an error that `retriable` accepts.
KUBE_EXPORT Result<void> RetryOnError(const Context& ctx, const Backoff& backoff, const std::function<bool(const Error&)>& retriable,
                                      const std::function<Result<void>()>& attempt);

}  // namespace kube
