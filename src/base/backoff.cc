#include "kube/base/backoff.h"

#include <random>
#include <utility>

namespace kube {
namespace {

using std::chrono::nanoseconds;

double BuiltInRandom() {
  thread_local std::minstd_rand engine{std::random_device{}()};
  return std::uniform_real_distribution<double>(0.0, 1.0)(engine);
}

// Saturates instead of overflowing: factors and steps come from configuration.
nanoseconds FromDouble(double count) {
  constexpr double kLimit = 9.2e18;
  if (!(count < kLimit)) return nanoseconds::max();
  if (!(count > 0)) return nanoseconds::zero();
  return nanoseconds(static_cast<nanoseconds::rep>(count));
}

}  // namespace

nanoseconds Jitter(nanoseconds duration, double max_factor, const RandomSource& random) {
  if (max_factor <= 0) max_factor = 1;
  const auto base = static_cast<double>(duration.count());
  const nanoseconds extra = FromDouble((random ? random() : BuiltInRandom()) * max_factor * base);
  if (extra > nanoseconds::max() - duration) return nanoseconds::max();
  return duration + extra;
}

nanoseconds Backoff::Step(const RandomSource& random) {
  const nanoseconds base = duration;
  if (steps > 0) {
    --steps;
    if (factor != 0) {
      duration = FromDouble(static_cast<double>(base.count()) * factor);
      if (cap > nanoseconds::zero() && duration > cap) {
        duration = cap;
        steps = 0;
      }
    }
  } else {
    steps = 0;
  }
  return jitter > 0 ? Jitter(base, jitter, random) : base;
}

namespace {

Backoff ForManager(Backoff backoff, nanoseconds reset_window) {
  if (backoff.factor > 0 && reset_window <= nanoseconds::zero()) {
    backoff.steps = 0;
    backoff.factor = 0;
  }
  return backoff;
}

}  // namespace

BackoffManager::BackoffManager(Backoff backoff, nanoseconds reset_window, std::shared_ptr<Clock> clock, RandomSource random)
    : initial_(ForManager(backoff, reset_window)),
      reset_window_(initial_.factor > 0 ? reset_window : nanoseconds::zero()),
      clock_(std::move(clock)),
      random_(std::move(random)),
      current_(initial_),
      last_start_(clock_->Now()) {}

nanoseconds BackoffManager::Next() {
  MutexLock lock(mu_);
  if (reset_window_ > nanoseconds::zero()) {
    const Clock::TimePoint now = clock_->Now();
    if (now - last_start_ > reset_window_) {
      current_ = initial_;
      last_start_ = now;
    }
  }
  return current_.Step(random_);
}

Result<void> BackoffManager::Wait(const Context& ctx) { return ctx.SleepFor(Next()); }

void BackoffManager::Reset() {
  MutexLock lock(mu_);
  current_ = initial_;
  last_start_ = clock_->Now();
}

Result<void> ExponentialBackoff(const Context& ctx, Backoff backoff, const std::function<Result<bool>()>& condition,
                                const RandomSource& random) {
  while (backoff.steps > 0) {
    if (Result<void> r = ctx.Check(); !r) return r;
    Result<bool> done = condition();
    if (!done) return done.error();
    if (*done) return {};
    if (backoff.steps == 1) break;
    const nanoseconds delay = backoff.Step(random);
    if (backoff.steps == 0) break;  // capped: no further call follows, so there is nothing to sleep for
    if (Result<void> r = ctx.SleepFor(delay); !r) return r;
  }
  return Error::Timeout("the condition did not come true in the given number of attempts");
}

}  // namespace kube
