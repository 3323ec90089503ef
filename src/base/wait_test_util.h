// Waiting for other threads and processes in tests.
#pragma once

#include <chrono>
#include <utility>
#include <vector>

#include "kube/base/context.h"
#include "kube/base/mutex.h"

namespace kube::internal {

// Longer than anything takes on a busy machine: a wait that reaches it is a hang.
inline constexpr std::chrono::minutes kTestPatience{2};

inline Context Patience() { return Context::Background().WithTimeout(kTestPatience); }

// Waits until the condition holds, which it asks every millisecond. False after kTestPatience.
template <typename Condition>
bool Eventually(Condition condition) {
  const Context ctx = Patience();
  while (!condition()) {
    if (!ctx.SleepFor(std::chrono::milliseconds(1))) return false;
  }
  return true;
}

// Waits until `done`, which is called with `mu` held. False after kTestPatience.
template <typename Predicate>
bool WaitBounded(Mutex& mu, CondVar& cv, Predicate done) KUBE_NO_THREAD_SAFETY_ANALYSIS {
  const auto limit = std::chrono::steady_clock::now() + kTestPatience;
  MutexLock lock(mu);
  while (!done()) {
    if (!cv.WaitUntil(mu, limit) && !done()) return false;
  }
  return true;
}

// Something that one thread hands to another. Thread safety: all functions from any thread.
template <typename T>
class Handover {
 public:
  void Put(T value) {
    MutexLock lock(mu_);
    values_.push_back(std::move(value));
    changed_.NotifyAll();
  }
  // The next one; a default one after kTestPatience.
  T Take() {
    MutexLock lock(mu_);
    const auto until = std::chrono::steady_clock::now() + kTestPatience;
    while (values_.empty()) {
      if (!changed_.WaitUntil(mu_, until) && values_.empty()) return T{};
    }
    T value = std::move(values_.front());
    values_.erase(values_.begin());
    return value;
  }

 private:
  Mutex mu_;
  CondVar changed_;
  std::vector<T> values_ KUBE_GUARDED_BY(mu_);
};

}  // namespace kube::internal
