// ThrottledLog: limits how often a message that could occur for every request is logged.
#pragma once

#include <chrono>
#include <optional>

#include "kube/base/clock.h"
#include "kube/base/log.h"
#include "kube/base/mutex.h"

namespace kube::internal {

// Once per second at V(2); once per ten seconds at plain info.
//
// Thread safety: may be called from many threads at once; one of them wins.
class ThrottledLog {
 public:
  // The verbosity to log with, or nothing if it is too early.
  std::optional<int> Allow(const Logger& logger, Clock::TimePoint now);

 private:
  struct Setting {
    int verbosity;
    std::chrono::nanoseconds interval;
    std::optional<Clock::TimePoint> last{};
  };
  Mutex mu_;
  Setting settings_[2] KUBE_GUARDED_BY(mu_) = {{2, std::chrono::seconds(1)}, {0, std::chrono::seconds(10)}};
};

}  // namespace kube::internal
