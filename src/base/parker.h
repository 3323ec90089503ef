// Parker: one thread sleeps, another wakes it. Half the system calls of a condition variable, which takes its lock again in a way that
// costs another one to let go.
//
//   // The thread that sleeps; nobody else parks here.
//   while (!Done()) parker.Park();
//   // Any thread, once it has changed what Done looks at.
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

  // Returns once Unpark was called since the last Park; at once where that is so already. What happened before Unpark is seen afterwards.
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
