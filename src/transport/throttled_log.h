// ThrottledLog: says when a message that could come with every request may come again.
#pragma once

#include <chrono>
#include <optional>

#include "kube/base/clock.h"
#include "kube/base/log.h"
#include "kube/base/mutex.h"

namespace kube::internal {

// At V(2) once a second; where only plain info is wanted, once in ten seconds.
//
// Thread safety: from many threads at once; one of them wins.
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
