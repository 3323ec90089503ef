#include "kube/client/retry.h"

#include <optional>

namespace kube {

Result<void> RetryOnError(const Context& ctx, const Backoff& backoff, const std::function<bool(const Error&)>& retriable,
                          const std::function<Result<void>()>& attempt) {
  std::optional<Error> last;
  const Result<void> waited = ExponentialBackoff(ctx, backoff, [&]() -> Result<bool> {
    Result<void> done = attempt();
    if (done) return true;
    if (!retriable(done.error())) return done.error();
    last = done.error();
    return false;
  });
  if (waited) return {};
  // Out of attempts, or out of time between two: what stood in the way says more than "timeout".
  const bool out_of_time = waited.error().kind() == ErrorKind::kTimeout || waited.error().kind() == ErrorKind::kCancelled;
  if (last && out_of_time) return *last;
  return waited;
}

Result<void> RetryOnConflict(const Context& ctx, const std::function<Result<void>()>& attempt, const Backoff& backoff) {
  return RetryOnError(ctx, backoff, IsConflict, attempt);
}

}  // namespace kube
