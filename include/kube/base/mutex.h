// Locks that clang's thread-safety analysis understands.
//
//   Mutex, MutexLock, CondVar      as in std, with annotations
//   KUBE_GUARDED_BY(mu_) ...       say which lock protects a member, or which lock a function needs
//
// Every lock in kubexx is one of these, but for WorkQueue's: std::mutex of libstdc++ carries no annotations, so the analysis cannot see
// it. Waiting that has to end when a Context ends goes through WaitUntil() in wait_until.h.
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

#if defined(__clang__)
#define KUBE_THREAD_ANNOTATION(x) __attribute__((x))
#else
#define KUBE_THREAD_ANNOTATION(x)
#endif

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

// A mutual-exclusion lock; not recursive.
class KUBE_CAPABILITY("mutex") Mutex {
 public:
  Mutex() = default;
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;

  void Lock() KUBE_ACQUIRE() { mu_.lock(); }
  void Unlock() KUBE_RELEASE() { mu_.unlock(); }
  bool TryLock() KUBE_TRY_ACQUIRE(true) { return mu_.try_lock(); }

  // Tells the analysis that the lock is held where it cannot see that itself, as inside a callback. Checks nothing.
  void AssertHeld() const KUBE_ASSERT_CAPABILITY(this) {}

 private:
  friend class CondVar;
  std::mutex mu_;
};

// Holds a Mutex for a scope. Unlock() lets go early, Lock() takes it again.
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

// A condition variable over Mutex. Waiting may end without a reason: wait in a loop over the condition.
//
//   MutexLock lock(mu_);
//   while (items_.empty()) changed_.Wait(mu_);
class CondVar {
 public:
  CondVar() = default;
  CondVar(const CondVar&) = delete;
  CondVar& operator=(const CondVar&) = delete;

  void Wait(Mutex& mu) KUBE_REQUIRES(mu) {
    std::unique_lock<std::mutex> lock(mu.mu_, std::adopt_lock);
    cv_.wait(lock);
    lock.release();
  }

  // Returns false when `when` has passed. Real time only: code that has to work with a fake clock waits with a Clock's timer instead.
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
