// Conversions from the API's times and durations to std::chrono. A separate header, so that only programs that need <chrono> compile it.
//
//   timer.Wait(ToChrono(policy.spec.period));
#pragma once

#include "kube/base/std_chrono.h"
#include "kube/value/time.h"

namespace kube {

// Returns the same time or duration as a type of std::chrono.
constexpr std::chrono::nanoseconds ToChrono(Duration d) { return std::chrono::nanoseconds(d.nanoseconds()); }
inline std::chrono::sys_seconds ToChrono(Time t) { return std::chrono::sys_seconds(std::chrono::seconds(t.unix_seconds())); }
inline std::chrono::sys_time<std::chrono::microseconds> ToChrono(MicroTime t) {
  return std::chrono::sys_time<std::chrono::microseconds>(std::chrono::microseconds(t.unix_micros()));
}

}  // namespace kube
