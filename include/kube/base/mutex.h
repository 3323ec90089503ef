// Locks with annotations for clang's thread-safety analysis.
//
//   Mutex, MutexLock, CondVar      as in std, with annotations
//   KUBE_GUARDED_BY(mu_) ...       declare the lock that protects a member, or that a function requires
//
// Every lock in kubexx is one of these, except WorkQueue's: libstdc++'s std::mutex has no annotations, so the analysis cannot see it. To
// wait until a condition holds or a Context stops, use WaitUntil() of wait_until.h.
//
//   class Counter {
//    public:
//     void Add(int n) {
//       MutexLock lock(mu_);
//       count_ += n;
//     }
//    private:
//     Mutex mu_;
//     int count_ KUBE_GUARDED_BY(mu_) = 0;
//   };
#pragma once

#include <condition_variable>
#include <mutex>

#include "kube/base/std_chrono.h"

// The annotations of the analysis; empty for other compilers.
#if defined(__clang__)
#define KUBE_THREAD_ANNOTATION(x) __attribute__((x))
#else
#define KUBE_THREAD_ANNOTATION(x)  // Nothing without clang.
#endif
// Clang's attributes of the same names; see its "Thread Safety Analysis".
#define KUBE_CAPABILITY(x) KUBE_THREAD_ANNOTATION(capability(x))
#define KUBE_SCOPED_CAPABILITY KUBE_THREAD_ANNOTATION(scoped_lockable)
#define KUBE_GUARDED_BY(x) KUBE_THREAD_ANNOTATION(guarded_by(x))
#define KUBE_PT_GUARDED_BY(x) KUBE_THREAD_ANNOTATION(pt_guarded_by(x))
#define KUBE_ACQUIRED_BEFORE(...) KUBE_THREAD_ANNOTATION(acquired_before(__VA_ARGS__))
#define KUBE_ACQUIRED_AFTER(...) KUBE_THREAD_ANNOTATION(acquired_after(__VA_ARGS__))
#define KUBE_REQUIRES(...) KUBE_THREAD_ANNOTATION(requires_capability(__VA_ARGS__))
#define KUBE_ACQUIRE(...) KUBE_THREAD_ANNOTATION(acquire_capability(__VA_ARGS__))
#define KUBE_RELEASE(...) KUBE_THREAD_ANNOTATION(release_capability(__VA_ARGS__))
#define KUBE_TRY_ACQUIRE(...) KUBE_THREAD_ANNOTATION(try_acquire_capability(__VA_ARGS__))
#define KUBE_EXCLUDES(...) KUBE_THREAD_ANNOTATION(locks_excluded(__VA_ARGS__))
#define KUBE_ASSERT_CAPABILITY(x) KUBE_THREAD_ANNOTATION(assert_capability(x))
#define KUBE_RETURN_CAPABILITY(x) KUBE_THREAD_ANNOTATION(lock_returned(x))
#define KUBE_NO_THREAD_SAFETY_ANALYSIS KUBE_THREAD_ANNOTATION(no_thread_safety_analysis)

namespace kube {

// A mutual-exclusion lock. Not recursive.
class KUBE_CAPABILITY("mutex") Mutex {
 public:
  Mutex() = default;
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;

  void Lock() KUBE_ACQUIRE() { mu_.lock(); }
  void Unlock() KUBE_RELEASE() { mu_.unlock(); }
  // Acquires the lock if it is free; returns whether it did.
  bool TryLock() KUBE_TRY_ACQUIRE(true) { return mu_.try_lock(); }

  // Declares to the analysis that the lock is held, for code where it cannot see this, such as callbacks. Checks nothing.
  void AssertHeld() const KUBE_ASSERT_CAPABILITY(this) {}

 private:
  friend class CondVar;
  std::mutex mu_;
};

// Holds a Mutex for a scope. Unlock() releases it early, Lock() acquires it again.
class KUBE_SCOPED_CAPABILITY MutexLock {
 public:
  explicit MutexLock(Mutex& mu) KUBE_ACQUIRE(mu) : mu_(mu) { mu_.Lock(); }
  ~MutexLock() KUBE_RELEASE() {
    if (held_) mu_.Unlock();
  }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

  void Unlock() KUBE_RELEASE() {
    mu_.Unlock();
    held_ = false;
  }
  void Lock() KUBE_ACQUIRE() {
    mu_.Lock();
    held_ = true;
  }

 private:
  Mutex& mu_;
  bool held_ = true;
};

// A condition variable for Mutex. Spurious wakeups occur: wait in a loop over the condition.
//
//   MutexLock lock(mu_);
//   while (items_.empty()) changed_.Wait(mu_);
class CondVar {
 public:
  CondVar() = default;
  CondVar(const CondVar&) = delete;
  CondVar& operator=(const CondVar&) = delete;

  // Releases `mu` while it waits.
  void Wait(Mutex& mu) KUBE_REQUIRES(mu) {
    std::unique_lock<std::mutex> lock(mu.mu_, std::adopt_lock);
    cv_.wait(lock);
    lock.release();
  }

  // Returns false if `when` has passed. Uses real time only: code that must work with a FakeClock uses a Clock's timer instead.
  bool WaitUntil(Mutex& mu, std::chrono::steady_clock::time_point when) KUBE_REQUIRES(mu) {
    std::unique_lock<std::mutex> lock(mu.mu_, std::adopt_lock);
    const std::cv_status status = cv_.wait_until(lock, when);
    lock.release();
    return status == std::cv_status::no_timeout;
  }

  void NotifyOne() { cv_.notify_one(); }
  void NotifyAll() { cv_.notify_all(); }

 private:
  std::condition_variable cv_;
};

}  // namespace kube
