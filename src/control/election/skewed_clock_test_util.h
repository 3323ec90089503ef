// A machine of its own in a test: the time passes as everywhere, the time of day is another one.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <utility>

#include "kube/base/fake_clock.h"

namespace kube::internal {

class SkewedClock final : public Clock {
 public:
  SkewedClock(std::shared_ptr<FakeClock> clock, Duration skew) : clock_(std::move(clock)), skew_(skew) {}
  TimePoint Now() const override { return clock_->Now(); }
  WallTime WallNow() const override { return clock_->WallNow() + std::chrono::duration_cast<WallTime::duration>(skew_); }
  [[nodiscard]] Timer AddTimer(TimePoint when, std::function<void()> callback) override {
    return clock_->AddTimer(when, std::move(callback));
  }

 private:
  const std::shared_ptr<FakeClock> clock_;
  const Duration skew_;
};

}  // namespace kube::internal
