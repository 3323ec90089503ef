// RequestBudget: a rate limit for the requests of one piece of work, whichever client sends them.
//
//   const Context ctx = parent.WithValue(std::make_shared<RequestBudget>(RequestBudget{MakeTokenBucket(5, 10)}));
//
// Requests with that context wait for its limiter instead of their client's. The work is then neither delayed by the rest of a program nor
// delays it.
#pragma once

#include <memory>

#include "kube/transport/rate_limiter.h"

namespace kube::internal {

struct RequestBudget {
  std::shared_ptr<RateLimiter> limiter{};  // never null
};

}  // namespace kube::internal
