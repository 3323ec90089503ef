// RefCount: how many owners a shared block has. All-zero bytes mean no owner.
//
// Compiler builtins instead of <atomic>: that header alone is a third of what compiling a kind's header costs, and these counts are in
// every header. GCC and clang have the builtins, and ThreadSanitizer understands them.
#pragma once

#include <cstdint>

namespace kube::internal {

class RefCount {
 public:
  constexpr RefCount() noexcept = default;
  explicit constexpr RefCount(std::uint32_t n) noexcept : n_(n) {}
  RefCount(const RefCount&) = delete;
  RefCount& operator=(const RefCount&) = delete;

  void Increment() { __atomic_fetch_add(&n_, 1, __ATOMIC_RELAXED); }
  // True where there is one owner: who asks may then write, since nobody else can look.
  bool IsOne() const { return __atomic_load_n(&n_, __ATOMIC_ACQUIRE) == 1; }
  // Gives one owner's share back; true where it was the last one. A sole owner needs no atomic write: nobody else is there to race.
  [[nodiscard]] bool DropsLast() { return IsOne() || __atomic_fetch_sub(&n_, 1, __ATOMIC_ACQ_REL) == 1; }

 private:
  std::uint32_t n_ = 0;
};

}  // namespace kube::internal
