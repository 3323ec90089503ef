// RequestBudget: a rate limit for the requests of one piece of work, whichever client sends them.
//
//   const Context ctx = parent.WithValue(std::make_shared<RequestBudget>(RequestBudget{MakeTokenBucket(5, 10)}));
//
// Requests with that context wait for its limiter instead of their client's, so the work neither waits behind the rest of a program nor
// holds it up.
#pragma once

#include <memory>

#include "kube/transport/rate_limiter.h"

namespace kube::internal {

struct RequestBudget {
  std::shared_ptr<RateLimiter> limiter{};  // never null
};

}  // namespace kube::internal
