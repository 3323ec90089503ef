#include "kube/base/clock.h"

#include <utility>

#include "base/timer_queue.h"
#include "kube/base/fake_clock.h"
#include "kube/base/mutex.h"
#include "kube/base/thread.h"

namespace kube {
namespace {

class RealClock final : public Clock {
 public:
  RealClock() = default;
  ~RealClock() override {
    queue_->Stop();
    Thread thread;
    {
      MutexLock lock(mu_);
      closing_ = true;
      thread = std::move(thread_);
    }
    thread.Join();  // without the lock: a callback that is still running may add a timer
  }

  TimePoint Now() const override { return std::chrono::steady_clock::now(); }
  WallTime WallNow() const override { return std::chrono::system_clock::now(); }

  Timer AddTimer(TimePoint when, std::function<void()> callback) override {
    {
      MutexLock lock(mu_);
      if (!closing_ && !thread_.joinable()) {
        thread_ = Thread("kube-timer", [queue = queue_] { queue->RunUntilStopped(); });
      }
    }
    return queue_->Add(when, std::move(callback));
  }

 private:
  const std::shared_ptr<internal::TimerQueue> queue_ = std::make_shared<internal::TimerQueue>();
  Mutex mu_;
  Thread thread_ KUBE_GUARDED_BY(mu_);
  bool closing_ KUBE_GUARDED_BY(mu_) = false;
};

constexpr Clock::WallTime kFakeWallStart{std::chrono::seconds(1577836800)};
// Not zero: a steady clock near its epoch would hide mistakes about unset time points.
constexpr Clock::TimePoint kFakeStart{std::chrono::hours(1000)};

}  // namespace

Timer::Timer() = default;
Timer::Timer(std::shared_ptr<internal::TimerEntry> entry) : entry_(std::move(entry)) {}
Timer::Timer(Timer&& other) noexcept : entry_(std::exchange(other.entry_, nullptr)) {}

Timer& Timer::operator=(Timer&& other) noexcept {
  if (this != &other) {
    Cancel();
    entry_ = std::exchange(other.entry_, nullptr);
  }
  return *this;
}

Timer::~Timer() { Cancel(); }

bool Timer::Cancel() {
  if (entry_ == nullptr) return false;
  const std::shared_ptr<internal::TimerEntry> entry = std::exchange(entry_, nullptr);
  return entry->queue->Cancel(*entry);
}

bool Timer::pending() const { return entry_ != nullptr && entry_->queue->Pending(*entry_); }

Clock::~Clock() = default;

const std::shared_ptr<Clock>& Clock::Real() {
  static const std::shared_ptr<Clock> clock = std::make_shared<RealClock>();
  return clock;
}

Clock::TimePoint Clock::Later(Duration delay) const {
  const TimePoint now = Now();
  if (delay > TimePoint::max() - now) return TimePoint::max();
  return now + delay;
}

FakeClock::FakeClock() : FakeClock(kFakeWallStart) {}

FakeClock::FakeClock(WallTime wall) : queue_(std::make_shared<internal::TimerQueue>()), now_(kFakeStart), wall_(wall) {}

FakeClock::~FakeClock() = default;

Clock::TimePoint FakeClock::Now() const {
  MutexLock lock(mu_);
  return now_;
}

Clock::WallTime FakeClock::WallNow() const {
  MutexLock lock(mu_);
  return wall_;
}

Timer FakeClock::AddTimer(TimePoint when, std::function<void()> callback) { return queue_->Add(when, std::move(callback)); }

void FakeClock::MoveTo(TimePoint target) {
  MutexLock lock(mu_);
  if (target <= now_) return;
  wall_ += std::chrono::duration_cast<WallTime::duration>(target - now_);
  now_ = target;
}

void FakeClock::Advance(Duration by) {
  MutexLock advance(advance_mu_);
  const TimePoint target = Later(by);
  for (;;) {
    const std::optional<TimePoint> next = queue_->Next();
    if (next && *next <= target) {
      MoveTo(*next);
      queue_->RunOne(*next);
      continue;
    }
    // At the end once more: what another thread added before it could see the new time is due, too.
    if (Now() >= target) return;
    MoveTo(target);
  }
}

bool FakeClock::AdvanceToNextTimer() {
  MutexLock advance(advance_mu_);
  const std::optional<TimePoint> next = queue_->Next();
  if (!next) return false;
  MoveTo(*next);
  while (queue_->RunOne(*next)) {
  }
  return true;
}

void FakeClock::SetWallNow(WallTime wall) {
  MutexLock lock(mu_);
  wall_ = wall;
}

std::size_t FakeClock::waiters() const { return queue_->size(); }

bool FakeClock::WaitForWaiters(std::size_t n, std::chrono::nanoseconds limit) const { return queue_->WaitForSize(n, Real()->Later(limit)); }

}  // namespace kube
