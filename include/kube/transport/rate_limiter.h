// RateLimiter: limits how fast a client sends requests.
//
//   std::shared_ptr<RateLimiter> limiter = MakeTokenBucket(5, 10);     // 5 a second, 10 at once
//   if (Result<void> r = limiter->Wait(ctx); !r) return r.error();
//
// A client builds one from qps and burst of its ClientConfig; programs with other needs derive their own.
#pragma once

#include "kube/base/clock.h"
#include "kube/base/context.h"
#include "kube/base/export.h"
#include "kube/base/result.h"
#include "kube/base/std_memory.h"

namespace kube {

// Grants tokens to requests.
//
// Thread safety: all functions may be called from many threads at once.
// Lifetime: shared by its users; several clients may share one limit.
// Blocking and cancellation: only Wait blocks, until its context stops.
class KUBE_EXPORT RateLimiter {
 public:
  virtual ~RateLimiter();
  // Takes a token if one is available. Does not wait.
  virtual bool TryAccept() = 0;
  // Waits for a token in first-come order. Errors: those of the context; kTimeout immediately if the context's deadline is before the token
  // would be available, in which case no token is taken. A cancelled wait returns its token, unless a later waiter already depends on it.
  virtual Result<void> Wait(const Context& ctx) = 0;
  // Tokens per second.
  virtual double qps() const = 0;
};

// Creates a bucket of `burst` tokens that refills at `qps` per second. It starts full. Requires: qps > 0, burst > 0.
// Cost: a lock and a few floating-point operations.
KUBE_EXPORT std::shared_ptr<RateLimiter> MakeTokenBucket(double qps, int burst, std::shared_ptr<Clock> clock = Clock::Real());
// Creates a limiter that never waits. Its qps is infinite.
KUBE_EXPORT std::shared_ptr<RateLimiter> MakeUnlimited();

}  // namespace kube
