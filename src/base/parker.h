// Parker: one thread sleeps until another wakes it. Needs half the system calls of a condition variable, which has to reacquire its lock
// after waking and release it again.
//
//   // The sleeping thread; no other thread may park here.
//   while (!Done()) parker.Park();
//   // Any thread, after changing the state that Done reads.
//   parker.Unpark();
#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>

namespace kube::internal {

class Parker {
 public:
  Parker() = default;
  Parker(const Parker&) = delete;
  Parker& operator=(const Parker&) = delete;

  // Returns once Unpark was called since the last Park, immediately if that has already happened. Writes before Unpark are visible
  // afterwards.
  void Park() {
    std::uint32_t old = kNothing;
    if (state_.compare_exchange_strong(old, kParked, std::memory_order_acq_rel)) {
      while (state_.load(std::memory_order_acquire) == kParked) {
        (void)syscall(SYS_futex, &state_, FUTEX_WAIT_PRIVATE, kParked, nullptr, nullptr, 0);
      }
    }
    state_.exchange(kNothing, std::memory_order_acq_rel);
  }
  void Unpark() {
    if (state_.exchange(kUnparked, std::memory_order_acq_rel) == kParked) {
      (void)syscall(SYS_futex, &state_, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
    }
  }

 private:
  static constexpr std::uint32_t kNothing = 0, kParked = 1, kUnparked = 2;
  std::atomic<std::uint32_t> state_ = kNothing;
  static_assert(sizeof(std::atomic<std::uint32_t>) == 4);
};

}  // namespace kube::internal
