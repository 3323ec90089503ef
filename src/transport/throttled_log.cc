#include "transport/throttled_log.h"

namespace kube::internal {

std::optional<int> ThrottledLog::Allow(const Logger& logger, Clock::TimePoint now) {
  MutexLock lock(mu_);
  for (Setting& setting : settings_) {
    if (!logger.V(setting.verbosity)) continue;
    if (setting.last && now - *setting.last < setting.interval) return std::nullopt;
    setting.last = now;
    return setting.verbosity;
  }
  return std::nullopt;
}

}  // namespace kube::internal
