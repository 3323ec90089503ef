// FrameBudget: how many frames a client of HTTP/2 may send ahead of what it gets done. Each frame costs the server work, and some cost it
// an answer, but only requests that are answered are of use.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace kube::serve {

// A bucket of `burst` frames; a tenth of it is added each second.
//
// Thread safety: none.
class FrameBudget {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  FrameBudget(std::uint32_t burst, TimePoint now) : burst_(std::max<std::uint32_t>(1, burst)), left_(burst_), refilled_(now) {}

  // False if there is nothing left. The time is only asked for then.
  template <typename Now>
  bool Spend(const Now& now) {
    if (left_ < 1) {
      const TimePoint at = now();
      const double seconds = std::chrono::duration<double>(at - refilled_).count();
      left_ = std::min(burst_, left_ + seconds * burst_ / 10);
      refilled_ = at;
    }
    if (left_ < 1) return false;
    left_ -= 1;
    return true;
  }
  void Earn(double frames) { left_ = std::min(burst_, left_ + frames); }

 private:
  const double burst_;
  double left_;
  TimePoint refilled_;  // or when the bucket was first used
};

}  // namespace kube::serve
