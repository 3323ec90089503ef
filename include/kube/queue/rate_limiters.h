// RetryLimiter: how long a key that failed waits before it is tried again.
//
//   DefaultRateLimiter()             5 ms, 10 ms, 20 ms ... 1000 s for each key, and not more than 10 a second (100 at once) over all keys
//   DefaultItemBasedRateLimiter()    1 ms, 2 ms, 4 ms ... 1000 s for each key; nothing over all keys
//   ExponentialLimiter(5ms, 1000s)   doubles with each failure, up to the second one
//   FastSlowLimiter(5ms, 30s, 3)     three quick tries, then slow ones
//   BucketLimiter(10, 100)           a token for each try, over all keys
//   MaxOfLimiter({a, b})             the longer one
//   MaxWaitLimiter(a, 1min)          never longer than this
//
//   WorkQueue<> queue({.rate_limiter = MaxOfLimiter({ExponentialLimiter(5ms, 1000s), BucketLimiter(50, 300)})});
//
// Who counts the failures is the queue, so a limiter knows nothing of keys and one can serve many queues. For retries without a queue,
// ItemRateLimiter (item_rate_limiter.h) counts for itself. kube/transport/rate_limiter.h is something else: it makes callers wait.
#pragma once

#include <vector>

#include "kube/base/clock.h"
#include "kube/base/export.h"
#include "kube/base/std_chrono.h"
#include "kube/base/std_memory.h"

namespace kube {

// Thread safety: When is called from many threads at once.
// Lifetime: shared by those who use it.
// Blocking: never; it only computes.
class KUBE_EXPORT RetryLimiter {
 public:
  using Duration = Clock::Duration;
  virtual ~RetryLimiter();
  // How long to wait before the next try of something that had been tried again `failures` times before: 0 for the first retry. Must be
  // quick and must not throw. Where the limit is one of all keys, each call takes its share, whatever becomes of it.
  virtual Duration When(int failures) = 0;
};

// base * 2^failures, at most `max`; however many failures.
KUBE_EXPORT std::shared_ptr<RetryLimiter> ExponentialLimiter(Clock::Duration base, Clock::Duration max);

// `fast` for the first `max_fast` retries, then `slow`.
KUBE_EXPORT std::shared_ptr<RetryLimiter> FastSlowLimiter(Clock::Duration fast, Clock::Duration slow, int max_fast);

// A bucket of `burst` tokens that fills with `qps` a second; full at first. Each call takes a token, one that has still to fall if need
// be, and answers when it will be there. Requires: qps > 0, burst >= 0 (with 0, the first one waits as well).
KUBE_EXPORT std::shared_ptr<RetryLimiter> BucketLimiter(double qps, int burst, std::shared_ptr<Clock> clock = Clock::Real());

// The longest of them; all are asked each time, so a bucket among them gives a token also where another one waits longer. None: no wait.
KUBE_EXPORT std::shared_ptr<RetryLimiter> MaxOfLimiter(std::vector<std::shared_ptr<RetryLimiter>> limiters);

// What `limiter` says, at most `max`.
KUBE_EXPORT std::shared_ptr<RetryLimiter> MaxWaitLimiter(std::shared_ptr<RetryLimiter> limiter, Clock::Duration max);

// client-go's: the longer of ExponentialLimiter(5 ms, 1000 s) and BucketLimiter(10, 100).
KUBE_EXPORT std::shared_ptr<RetryLimiter> DefaultRateLimiter(std::shared_ptr<Clock> clock = Clock::Real());
// ExponentialLimiter(1 ms, 1000 s).
KUBE_EXPORT std::shared_ptr<RetryLimiter> DefaultItemBasedRateLimiter();

}  // namespace kube
