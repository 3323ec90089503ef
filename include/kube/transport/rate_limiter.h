// RateLimiter: how fast a client may send.
//
//   std::shared_ptr<RateLimiter> limiter = MakeTokenBucket(5, 10);     // 5 a second, 10 at once
//   if (Result<void> r = limiter->Wait(ctx); !r) return r.error();
//
// The limits of a ClientConfig become one of these; a program with needs of its own derives its own.
#pragma once

#include "kube/base/clock.h"
#include "kube/base/context.h"
#include "kube/base/export.h"
#include "kube/base/result.h"
#include "kube/base/std_memory.h"

namespace kube {

// Thread safety: all functions from many threads at once.
// Lifetime: shared by those who use it: several clients may have one limit together.
// Blocking and cancellation: Wait alone, until its context stops.
class KUBE_EXPORT RateLimiter {
 public:
  virtual ~RateLimiter();
  // Takes a token if there is one.
  virtual bool TryAccept() = 0;
  // Waits for a token, first come, first served. Errors: those of the context; at once (kTimeout) where its deadline comes before the token
  // would, and no token is taken then. Who gives up while waiting gives its token back, as far as nobody has counted on it since.
  virtual Result<void> Wait(const Context& ctx) = 0;
  virtual double qps() const = 0;
};

// A bucket of `burst` tokens that fills with `qps` a second. Full at first. Requires: qps > 0, burst > 0.
// Cost: a lock and a few floating-point operations.
KUBE_EXPORT std::shared_ptr<RateLimiter> MakeTokenBucket(double qps, int burst, std::shared_ptr<Clock> clock = Clock::Real());
// Never waits. Its qps is infinite.
KUBE_EXPORT std::shared_ptr<RateLimiter> MakeUnlimited();

}  // namespace kube
