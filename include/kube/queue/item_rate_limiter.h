// ItemRateLimiter: a RetryLimiter that counts failures by key itself; for programs that have no WorkQueue but their own schedule.
//
//   ItemRateLimiter<std::string> limiter(ExponentialLimiter(1s, 5min));
//   ctx.SleepFor(limiter.When(host));      // 1 s, 2 s, 4 s ...
//   limiter.Forget(host);                  // it works again
//
// A WorkQueue needs none: it has AddRateLimited, Forget and NumRequeues.
#pragma once

#include <limits>
#include <unordered_map>
#include <utility>

#include "kube/base/mutex.h"
#include "kube/base/std_memory.h"
#include "kube/queue/rate_limiters.h"
#include "kube/queue/work_queue.h"

namespace kube {

// Thread safety: all functions from many threads at once.
// Cost: a lock and a lookup. A key that failed is kept until Forget.
template <typename T, typename Hash = WorkHash<T>>
class ItemRateLimiter {
 public:
  using Duration = Clock::Duration;

  explicit ItemRateLimiter(std::shared_ptr<RetryLimiter> limiter) : limiter_(std::move(limiter)) {}

  // Counts one more failure of `key`, and says how long its next try has to wait.
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

  // The next failure of `key` is its first again.
  void Forget(const T& key) {
    MutexLock lock(mu_);
    failures_.erase(key);
  }

  // How many failures were counted since Forget.
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
