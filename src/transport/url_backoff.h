// The state of UrlBackoff (decorators.h): the current delay for the server.
#pragma once

#include <chrono>

#include "kube/base/clock.h"
#include "kube/base/mutex.h"
#include "kube/transport/decorators.h"

namespace kube::internal {

// Thread safety: all functions may be called from many threads at once.
class UrlBackoffState {
 public:
  explicit UrlBackoffState(UrlBackoff settings) : settings_(settings) {}

  // The delay before the next attempt.
  std::chrono::nanoseconds Delay();
  // Records the result of an attempt; the code is 0 if there was no response.
  void Update(int code, Clock::TimePoint now);

 private:
  const UrlBackoff settings_;
  Mutex mu_;
  std::chrono::nanoseconds delay_ KUBE_GUARDED_BY(mu_){};
  bool failing_ KUBE_GUARDED_BY(mu_) = false;
  Clock::TimePoint updated_ KUBE_GUARDED_BY(mu_){};
};

}  // namespace kube::internal
