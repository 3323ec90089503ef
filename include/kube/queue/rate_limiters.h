// RetryLimiter: how long a failed key waits before its next try.
//
//   DefaultRateLimiter()             5 ms, 10 ms, 20 ms ... 1000 s per key, and at most 10 per second (burst 100) over all keys
//   DefaultItemBasedRateLimiter()    1 ms, 2 ms, 4 ms ... 1000 s per key; no limit over all keys
//   ExponentialLimiter(5ms, 1000s)   doubles with each failure, up to the second value
//   FastSlowLimiter(5ms, 30s, 3)     three fast tries, then slow ones
//   BucketLimiter(10, 100)           a token bucket over all keys
//   MaxOfLimiter({a, b})             the longer delay
//   MaxWaitLimiter(a, 1min)          a's delay, but at most this
//
//   WorkQueue<> queue({.rate_limiter = MaxOfLimiter({ExponentialLimiter(5ms, 1000s), BucketLimiter(50, 300)})});
//
// The queue counts the failures. A limiter therefore does not see keys, and one can serve many queues. For retries without a queue,
// ItemRateLimiter (item_rate_limiter.h) does the counting. kube/transport/rate_limiter.h is different: it blocks callers.
#pragma once

#include <vector>

#include "kube/base/clock.h"
#include "kube/base/export.h"
#include "kube/base/std_chrono.h"
#include "kube/base/std_memory.h"

namespace kube {

// Computes retry delays.
//
// Thread safety: When is called from many threads at once.
// Lifetime: shared by its users.
// Blocking: never; it only computes.
class KUBE_EXPORT RetryLimiter {
 public:
  using Duration = Clock::Duration;
  virtual ~RetryLimiter();
  // Returns the delay before the next try of something that was retried `failures` times before: 0 for the first retry. Must be fast and
  // must not throw. A limit over all keys counts every call, whether or not the caller retries.
  virtual Duration When(int failures) = 0;
};

// base * 2^failures, at most `max`. Never overflows.
KUBE_EXPORT std::shared_ptr<RetryLimiter> ExponentialLimiter(Clock::Duration base, Clock::Duration max);

// `fast` for the first `max_fast` retries, then `slow`.
KUBE_EXPORT std::shared_ptr<RetryLimiter> FastSlowLimiter(Clock::Duration fast, Clock::Duration slow, int max_fast);

// A token bucket that holds `burst` tokens, starts full and refills at `qps` per second. Each call takes a token, reserving a future one if
// the bucket is empty, and returns the time until that token is available. Requires: qps > 0, burst >= 0 (with 0, even the first call
// waits).
KUBE_EXPORT std::shared_ptr<RetryLimiter> BucketLimiter(double qps, int burst, std::shared_ptr<Clock> clock = Clock::Real());

// The longest delay. Every limiter is called each time, so a token bucket spends a token even if another limiter waits longer. An empty
// list means no delay.
KUBE_EXPORT std::shared_ptr<RetryLimiter> MaxOfLimiter(std::vector<std::shared_ptr<RetryLimiter>> limiters);

// The delay of `limiter`, but at most `max`.
KUBE_EXPORT std::shared_ptr<RetryLimiter> MaxWaitLimiter(std::shared_ptr<RetryLimiter> limiter, Clock::Duration max);

// client-go's default: the longer of ExponentialLimiter(5 ms, 1000 s) and BucketLimiter(10, 100).
KUBE_EXPORT std::shared_ptr<RetryLimiter> DefaultRateLimiter(std::shared_ptr<Clock> clock = Clock::Real());
// client-go's item-based default: ExponentialLimiter(1 ms, 1000 s).
KUBE_EXPORT std::shared_ptr<RetryLimiter> DefaultItemBasedRateLimiter();

}  // namespace kube
