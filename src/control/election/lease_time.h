// LeaseTime: how much time has passed since a renewal, by every clock of the machine.
//
// CLOCK_MONOTONIC, which Clock::Now() reads, stands still while the machine is suspended; a lease does not. CLOCK_BOOTTIME counts suspend.
// Neither counts the pause of a virtual machine whose hypervisor stops its clocks; there only the time of day shows it, once it has been
// set right. The longest of these counts.
#pragma once

#include <chrono>
#include <functional>
#include <memory>

#include "kube/base/clock.h"

namespace kube::internal {

// Thread safety: all functions from any thread.
class LeaseTime {
 public:
  struct Moment {
    std::chrono::nanoseconds up{};  // since the machine was started, suspend included
    Clock::WallTime wall{};
  };
  // Reads the time since boot; tests put their own in its place.
  using Uptime = std::function<std::chrono::nanoseconds()>;

  // A clock other than Clock::Real() is asked for both times itself.
  explicit LeaseTime(std::shared_ptr<Clock> clock, Uptime uptime = {});

  Moment Now() const;

  enum class Verdict {
    kWithin,      // less than `limit` has passed
    kOver,        // `limit` has passed
    kWallJumped,  // the time of day moved by `limit` or more, or went back by `slack` or more: how much time passed is not known
  };
  Verdict Judge(const Moment& since, std::chrono::nanoseconds limit, std::chrono::nanoseconds slack) const;

 private:
  const std::shared_ptr<Clock> clock_;
  const Uptime uptime_;
};

}  // namespace kube::internal
