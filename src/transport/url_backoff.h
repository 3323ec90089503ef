// The memory behind UrlBackoff (decorators.h): how patient to be with the server at this moment.
#pragma once

#include <chrono>

#include "kube/base/clock.h"
#include "kube/base/mutex.h"
#include "kube/transport/decorators.h"

namespace kube::internal {

// Thread safety: from many threads at once.
class UrlBackoffState {
 public:
  explicit UrlBackoffState(UrlBackoff settings) : settings_(settings) {}

  // How long the next attempt waits.
  std::chrono::nanoseconds Delay();
  // What came of an attempt; the code is 0 where no answer came.
  void Update(int code, Clock::TimePoint now);

 private:
  const UrlBackoff settings_;
  Mutex mu_;
  std::chrono::nanoseconds delay_ KUBE_GUARDED_BY(mu_){};
  bool failing_ KUBE_GUARDED_BY(mu_) = false;
  Clock::TimePoint updated_ KUBE_GUARDED_BY(mu_){};
};

}  // namespace kube::internal
