#include "kube/queue/rate_limiters.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>

#include "kube/base/mutex.h"

namespace kube {
namespace {

using Duration = Clock::Duration;

class Exponential : public RetryLimiter {
 public:
  Exponential(Duration base, Duration max) : base_(base), max_(max) {}
  Duration When(int failures) override {
    // In floating point, where nothing overflows: past the largest double it is infinite, and that is more than any maximum.
    const double delay = std::ldexp(static_cast<double>(base_.count()), std::max(failures, 0));
    if (delay >= static_cast<double>(max_.count())) return max_;
    return Duration(static_cast<std::int64_t>(delay));
  }

 private:
  const Duration base_;
  const Duration max_;
};

class FastSlow : public RetryLimiter {
 public:
  FastSlow(Duration fast, Duration slow, int max_fast) : fast_(fast), slow_(slow), max_fast_(max_fast) {}
  Duration When(int failures) override { return failures < max_fast_ ? fast_ : slow_; }

 private:
  const Duration fast_;
  const Duration slow_;
  const int max_fast_;
};

// Not MakeTokenBucket of kube/transport: that one makes its caller wait for the token, this one has to say when it will be there.
class Bucket : public RetryLimiter {
 public:
  Bucket(double qps, int burst, std::shared_ptr<Clock> clock)
      : qps_(qps), burst_(burst), clock_(std::move(clock)), tokens_(burst_), filled_at_(clock_->Now()) {}

  Duration When(int) override {
    MutexLock lock(mu_);
    const Clock::TimePoint now = std::max(clock_->Now(), filled_at_);
    tokens_ = std::min(burst_, tokens_ + std::chrono::duration<double>(now - filled_at_).count() * qps_) - 1;
    filled_at_ = now;
    if (tokens_ >= 0) return Duration::zero();
    const double wait = -tokens_ / qps_ * 1e9;
    if (!(wait < static_cast<double>(std::numeric_limits<std::int64_t>::max()))) return Duration::max();
    return Duration(static_cast<std::int64_t>(wait));
  }

 private:
  const double qps_;
  const double burst_;
  const std::shared_ptr<Clock> clock_;
  Mutex mu_;
  double tokens_ KUBE_GUARDED_BY(mu_);  // less than none: promised, but not there yet
  Clock::TimePoint filled_at_ KUBE_GUARDED_BY(mu_);
};

class MaxOf : public RetryLimiter {
 public:
  explicit MaxOf(std::vector<std::shared_ptr<RetryLimiter>> limiters) : limiters_(std::move(limiters)) {}
  Duration When(int failures) override {
    Duration longest{};
    for (const std::shared_ptr<RetryLimiter>& limiter : limiters_) longest = std::max(longest, limiter->When(failures));
    return longest;
  }

 private:
  const std::vector<std::shared_ptr<RetryLimiter>> limiters_;
};

class MaxWait : public RetryLimiter {
 public:
  MaxWait(std::shared_ptr<RetryLimiter> limiter, Duration max) : limiter_(std::move(limiter)), max_(max) {}
  Duration When(int failures) override { return std::min(max_, limiter_->When(failures)); }

 private:
  const std::shared_ptr<RetryLimiter> limiter_;
  const Duration max_;
};

}  // namespace

RetryLimiter::~RetryLimiter() = default;

std::shared_ptr<RetryLimiter> ExponentialLimiter(Duration base, Duration max) { return std::make_shared<Exponential>(base, max); }

std::shared_ptr<RetryLimiter> FastSlowLimiter(Duration fast, Duration slow, int max_fast) {
  return std::make_shared<FastSlow>(fast, slow, max_fast);
}

std::shared_ptr<RetryLimiter> BucketLimiter(double qps, int burst, std::shared_ptr<Clock> clock) {
  return std::make_shared<Bucket>(qps, burst, std::move(clock));
}

std::shared_ptr<RetryLimiter> MaxOfLimiter(std::vector<std::shared_ptr<RetryLimiter>> limiters) {
  return std::make_shared<MaxOf>(std::move(limiters));
}

std::shared_ptr<RetryLimiter> MaxWaitLimiter(std::shared_ptr<RetryLimiter> limiter, Duration max) {
  return std::make_shared<MaxWait>(std::move(limiter), max);
}

std::shared_ptr<RetryLimiter> DefaultRateLimiter(std::shared_ptr<Clock> clock) {
  return MaxOfLimiter(
      {ExponentialLimiter(std::chrono::milliseconds(5), std::chrono::seconds(1000)), BucketLimiter(10, 100, std::move(clock))});
}

std::shared_ptr<RetryLimiter> DefaultItemBasedRateLimiter() {
  return ExponentialLimiter(std::chrono::milliseconds(1), std::chrono::seconds(1000));
}

}  // namespace kube
