// RefCount: the number of owners of a shared block. Zero bytes mean no owner.
//
// Uses compiler builtins instead of <atomic>: that header alone is a third of the cost of compiling a kind's header, and every header needs
// these counts. GCC, clang and ThreadSanitizer support the builtins.
#pragma once

#include <cstdint>

namespace kube::internal {

// An atomic reference count.
class RefCount {
 public:
  constexpr RefCount() noexcept = default;
  explicit constexpr RefCount(std::uint32_t n) noexcept : n_(n) {}
  RefCount(const RefCount&) = delete;
  RefCount& operator=(const RefCount&) = delete;

  void Increment() { __atomic_fetch_add(&n_, 1, __ATOMIC_RELAXED); }
  // True if there is exactly one owner. That owner may then write, because no other thread has access.
  bool IsOne() const { return __atomic_load_n(&n_, __ATOMIC_ACQUIRE) == 1; }
  // Drops one owner; true if it was the last one. A sole owner needs no atomic write, because no other thread can race with it.
  [[nodiscard]] bool DropsLast() { return IsOne() || __atomic_fetch_sub(&n_, 1, __ATOMIC_ACQ_REL) == 1; }

 private:
  std::uint32_t n_ = 0;
};

}  // namespace kube::internal
