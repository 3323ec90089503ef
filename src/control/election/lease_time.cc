#include "control/election/lease_time.h"

#include <ctime>
#include <utility>

namespace kube::internal {
namespace {

using std::chrono::nanoseconds;

#ifdef CLOCK_BOOTTIME
constexpr clockid_t kUptime = CLOCK_BOOTTIME;
#else  // other systems: CLOCK_MONOTONIC, which may or may not count suspend
constexpr clockid_t kUptime = CLOCK_MONOTONIC;
#endif

nanoseconds MachineUptime() {
  timespec now{};
  if (clock_gettime(kUptime, &now) != 0) (void)clock_gettime(CLOCK_MONOTONIC, &now);
  return std::chrono::seconds(now.tv_sec) + nanoseconds(now.tv_nsec);
}

LeaseTime::Uptime UptimeOf(const std::shared_ptr<Clock>& clock) {
  if (clock == Clock::Real()) return MachineUptime;
  return [clock] { return std::chrono::duration_cast<nanoseconds>(clock->Now().time_since_epoch()); };
}

}  // namespace

LeaseTime::LeaseTime(std::shared_ptr<Clock> clock, Uptime uptime)
    : clock_(std::move(clock)), uptime_(uptime ? std::move(uptime) : UptimeOf(clock_)) {}

LeaseTime::Moment LeaseTime::Now() const { return {.up = uptime_(), .wall = clock_->WallNow()}; }

LeaseTime::Verdict LeaseTime::Judge(const Moment& since, nanoseconds limit, nanoseconds slack) const {
  const Moment now = Now();
  const nanoseconds up = now.up - since.up;
  if (up >= limit) return Verdict::kOver;
  const nanoseconds wall = now.wall - since.wall;
  return wall >= limit || wall <= up - slack ? Verdict::kWallJumped : Verdict::kWithin;
}

}  // namespace kube::internal
