// RetryOnConflict: read, change, write, and again where somebody else wrote in between.
//
//   Result<void> done = RetryOnConflict(ctx, [&]() -> Result<void> {
//     Result<Deployment> current = client.Get<Deployment>(ctx, key);      // must read anew each time
//     if (!current) return current.error();
//     current->spec.replicas = 3;
//     Result<Deployment> updated = client.Update(ctx, *current);
//     return updated ? Result<void>() : updated.error();
//   });
//
// Thread safety: the function is called on the calling thread.
// Blocking and cancellation: until the function succeeds, fails otherwise, or the attempts are used up; the pauses end with the context.
// Errors: the function's; after the last attempt the last conflict, not a timeout; the context's where it stops before the first conflict.
// Cost: what the function costs, for each attempt.
#pragma once

#include "kube/base/backoff.h"
#include "kube/base/context.h"
#include "kube/base/export.h"
#include "kube/base/result.h"
#include "kube/base/std_chrono.h"
#include "kube/base/std_function.h"

namespace kube {

// Five attempts, 10 ms apart: for objects that several clients write now and then.
inline constexpr Backoff kDefaultRetry{.duration = std::chrono::milliseconds(10), .factor = 1.0, .jitter = 0.1, .steps = 5};
// Four attempts, 10, 50 and 250 ms apart: for objects that are written all the time.
inline constexpr Backoff kDefaultBackoff{.duration = std::chrono::milliseconds(10), .factor = 5.0, .jitter = 0.1, .steps = 4};

KUBE_EXPORT Result<void> RetryOnConflict(const Context& ctx, const std::function<Result<void>()>& attempt,
                                         const Backoff& backoff = kDefaultRetry);
// The same for any error that `retriable` says yes to.
KUBE_EXPORT Result<void> RetryOnError(const Context& ctx, const Backoff& backoff, const std::function<bool(const Error&)>& retriable,
                                      const std::function<Result<void>()>& attempt);

}  // namespace kube
