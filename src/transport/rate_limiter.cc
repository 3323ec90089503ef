#include "kube/transport/rate_limiter.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>

#include "kube/base/mutex.h"

namespace kube {
namespace {

using Nanoseconds = std::chrono::nanoseconds;

// The bucket is below zero if tokens are promised that have yet to be added: the next caller learns when its token will be available, and
// sleeps until then. Callers thus proceed in the order of their calls, without a queue.
class TokenBucket : public RateLimiter {
 public:
  TokenBucket(double qps, int burst, std::shared_ptr<Clock> clock)
      : qps_(qps), burst_(static_cast<double>(burst)), clock_(std::move(clock)), tokens_(burst_), filled_at_(clock_->Now()) {}

  bool TryAccept() override { return Reserve(clock_->Now(), Nanoseconds::zero()).has_value(); }

  Result<void> Wait(const Context& ctx) override {
    if (Result<void> go = ctx.Check(); !go) return go;
    const std::optional<Nanoseconds> limit = ctx.remaining();
    const Clock::TimePoint now = clock_->Now();
    const std::optional<Clock::TimePoint> turn = Reserve(now, limit.value_or(Nanoseconds::max()));
    if (!turn) {
      return Error::Timeout(fmt::format("the client's rate limit of {} requests a second lets this one go only after its deadline", qps_));
    }
    if (*turn <= now) return {};
    if (Result<void> slept = ctx.SleepFor(*turn - now); !slept) {
      GiveBack(*turn);
      return slept;
    }
    return {};
  }

  double qps() const override { return qps_; }

 private:
  // When the next token is available, unless that is more than `longest` away: then none is taken.
  std::optional<Clock::TimePoint> Reserve(Clock::TimePoint now, Nanoseconds longest) {
    MutexLock lock(mu_);
    const double tokens = TokensAt(now) - 1;
    const Nanoseconds wait = tokens < 0 ? TimeFor(-tokens) : Nanoseconds::zero();
    if (wait > longest) return std::nullopt;
    tokens_ = tokens;
    filled_at_ = now;
    last_turn_ = wait == Nanoseconds::max() ? Clock::TimePoint::max() : now + wait;
    return last_turn_;
  }

  // Others that were promised a token after `turn` keep their time; only what is left of this one's token is returned.
  void GiveBack(Clock::TimePoint turn) {
    MutexLock lock(mu_);
    const Clock::TimePoint now = clock_->Now();
    if (turn < now) return;
    const double left = 1 - TokensIn(last_turn_ - turn);
    if (left <= 0) return;
    tokens_ = std::min(burst_, TokensAt(now) + left);
    filled_at_ = now;
    if (turn == last_turn_) {
      const Clock::TimePoint before = turn - TimeFor(1);
      if (before >= now) last_turn_ = before;
    }
  }

  double TokensAt(Clock::TimePoint now) const KUBE_REQUIRES(mu_) {
    return std::min(burst_, tokens_ + TokensIn(std::max(now - filled_at_, Clock::Duration::zero())));
  }
  double TokensIn(Nanoseconds time) const { return std::chrono::duration<double>(time).count() * qps_; }
  Nanoseconds TimeFor(double tokens) const {
    const double nanoseconds = tokens / qps_ * 1e9;
    // Longer than any clock runs; also keeps the sum with "now" in range.
    if (!(nanoseconds < static_cast<double>(std::numeric_limits<std::int64_t>::max()) / 2)) return Nanoseconds::max();
    return Nanoseconds(static_cast<std::int64_t>(nanoseconds));
  }

  const double qps_;
  const double burst_;
  const std::shared_ptr<Clock> clock_;

  Mutex mu_;
  double tokens_ KUBE_GUARDED_BY(mu_);
  Clock::TimePoint filled_at_ KUBE_GUARDED_BY(mu_);    // when `tokens_` was right
  Clock::TimePoint last_turn_ KUBE_GUARDED_BY(mu_){};  // of the newest promise
};

class Unlimited : public RateLimiter {
 public:
  bool TryAccept() override { return true; }
  Result<void> Wait(const Context& ctx) override { return ctx.Check(); }
  double qps() const override { return std::numeric_limits<double>::infinity(); }
};

}  // namespace

RateLimiter::~RateLimiter() = default;

std::shared_ptr<RateLimiter> MakeTokenBucket(double qps, int burst, std::shared_ptr<Clock> clock) {
  return std::make_shared<TokenBucket>(qps, burst, std::move(clock));
}

std::shared_ptr<RateLimiter> MakeUnlimited() { return std::make_shared<Unlimited>(); }

}  // namespace kube
