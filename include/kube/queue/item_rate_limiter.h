// ItemRateLimiter: a RetryLimiter that counts failures per key, for programs that schedule retries without a WorkQueue.
//
//   ItemRateLimiter<std::string> limiter(ExponentialLimiter(1s, 5min));
//   ctx.SleepFor(limiter.When(host));      // 1 s, 2 s, 4 s ...
//   limiter.Forget(host);                  // after a success
//
// A WorkQueue does not need it: it has AddRateLimited, Forget and NumRequeues.
#pragma once

#include <limits>
#include <unordered_map>
#include <utility>

#include "kube/base/mutex.h"
#include "kube/base/std_memory.h"
#include "kube/queue/rate_limiters.h"
#include "kube/queue/work_queue.h"

namespace kube {

// Counts failures per key and asks a RetryLimiter for the delays.
//
// Thread safety: all functions may be called from many threads at once.
// Cost: a lock and a lookup. A failed key is stored until Forget.
template <typename T, typename Hash = WorkHash<T>>
class ItemRateLimiter {
 public:
  using Duration = Clock::Duration;

  explicit ItemRateLimiter(std::shared_ptr<RetryLimiter> limiter) : limiter_(std::move(limiter)) {}

  // Counts one more failure of `key` and returns the delay before its next try.
  Duration When(const T& key) {
    int failures = 0;
    {
      MutexLock lock(mu_);
      int& count = failures_[key];
      failures = count;
      if (count < std::numeric_limits<int>::max()) ++count;
    }
    return limiter_->When(failures);
  }

  // Resets the failure count of `key`.
  void Forget(const T& key) {
    MutexLock lock(mu_);
    failures_.erase(key);
  }

  // The number of failures since Forget.
  int NumRequeues(const T& key) const {
    MutexLock lock(mu_);
    const auto found = failures_.find(key);
    return found == failures_.end() ? 0 : found->second;
  }

 private:
  const std::shared_ptr<RetryLimiter> limiter_;
  mutable Mutex mu_;
  std::unordered_map<T, int, Hash> failures_ KUBE_GUARDED_BY(mu_);
};

}  // namespace kube
