// BriefMutex: a lock for what takes some dozens of nanoseconds, where a Mutex would cost as much again.
//
// Taking it is one atomic operation, releasing it a plain store: nobody is woken. Who finds it taken looks once more after a microsecond
// or two, and then every tenth of a millisecond. Under load one thread so gets hundreds of turns in a row with all that it needs in its
// processor's cache, which is several times as fast as handing over after each. The price: it is unfair, and who has to wait for more
// than an instant waits longer than it had to.
#pragma once

#include <atomic>
#include <condition_variable>

#include "kube/base/mutex.h"

namespace kube::internal {

// Tells the processor that this is a loop that waits.
inline void Pause() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Whether waiting awake makes sense: alone on its processor, nobody can see something happen.
bool CanLookOut();

// Not recursive. Whoever holds it may destroy it: the one who held it before does not touch it any more.
class KUBE_CAPABILITY("mutex") BriefMutex {
 public:
  BriefMutex() = default;
  BriefMutex(const BriefMutex&) = delete;
  BriefMutex& operator=(const BriefMutex&) = delete;

  void Lock() KUBE_ACQUIRE() {
    if (!Take()) LockSlowly();
  }
  void Unlock() KUBE_RELEASE() { held_.store(false, std::memory_order_release); }

 private:
  bool Take() { return !held_.exchange(true, std::memory_order_acquire); }
  void LockSlowly();

  std::atomic<bool> held_ = false;
};

// Holds a BriefMutex for a scope.
class KUBE_SCOPED_CAPABILITY BriefLock {
 public:
  explicit BriefLock(BriefMutex& mu) KUBE_ACQUIRE(mu) : mu_(mu) { mu_.Lock(); }
  ~BriefLock() KUBE_RELEASE() { mu_.Unlock(); }
  BriefLock(const BriefLock&) = delete;
  BriefLock& operator=(const BriefLock&) = delete;

 private:
  BriefMutex& mu_;
};

// The CondVar of a BriefMutex, for what is rare. Waiting may end without a reason: wait in a loop over the condition.
class BriefCondVar {
 public:
  void Wait(BriefMutex& mu) KUBE_REQUIRES(mu) KUBE_NO_THREAD_SAFETY_ANALYSIS {
    Lockable lockable{mu};
    cv_.wait(lockable);
  }
  void NotifyAll() { cv_.notify_all(); }

 private:
  struct Lockable {
    void lock() KUBE_NO_THREAD_SAFETY_ANALYSIS { mu.Lock(); }
    void unlock() KUBE_NO_THREAD_SAFETY_ANALYSIS { mu.Unlock(); }
    BriefMutex& mu;
  };
  std::condition_variable_any cv_;
};

}  // namespace kube::internal
