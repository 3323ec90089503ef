#include "queue/brief_mutex.h"

#include <chrono>
#include <thread>

namespace kube::internal {
namespace {

using SteadyClock = std::chrono::steady_clock;

// Longer than most hold the lock, and shorter than it takes to fall asleep.
constexpr std::chrono::nanoseconds kLookAgain{1500};
// Long enough for hundreds of turns of the others, short for all that waits for work. The holder may also have lost its processor.
constexpr std::chrono::microseconds kKeepAway{100};

const bool kCanLookOut = std::thread::hardware_concurrency() > 1;

}  // namespace

bool CanLookOut() { return kCanLookOut; }

void BriefMutex::LockSlowly() {
  if (kCanLookOut) {
    const SteadyClock::time_point end = SteadyClock::now() + kLookAgain;
    do {
      for (int i = 0; i < 8; ++i) Pause();
    } while (SteadyClock::now() < end);
    if (Take()) return;
  }
  do {
    std::this_thread::sleep_for(kKeepAway);
  } while (!Take());
}

}  // namespace kube::internal
