// SharedMutex: a lock for many readers or one writer, annotated for clang's thread-safety analysis like Mutex (mutex.h).
//
//   SharedMutex mu_;
//   std::string name_ KUBE_GUARDED_BY(mu_);
//
//   std::string name() const { ReaderLock lock(mu_); return name_; }
//   void set_name(std::string name) { WriterLock lock(mu_); name_.swap(name); }
#pragma once

#include <pthread.h>

#include "kube/base/mutex.h"

#define KUBE_REQUIRES_SHARED(...) KUBE_THREAD_ANNOTATION(requires_shared_capability(__VA_ARGS__))
#define KUBE_ACQUIRE_SHARED(...) KUBE_THREAD_ANNOTATION(acquire_shared_capability(__VA_ARGS__))
#define KUBE_RELEASE_SHARED(...) KUBE_THREAD_ANNOTATION(release_shared_capability(__VA_ARGS__))
#define KUBE_RELEASE_GENERIC(...) KUBE_THREAD_ANNOTATION(release_generic_capability(__VA_ARGS__))
#define KUBE_TRY_ACQUIRE_SHARED(...) KUBE_THREAD_ANNOTATION(try_acquire_shared_capability(__VA_ARGS__))

namespace kube {

// Many readers at once, or one writer. Readers cannot starve a writer: once one waits, new readers queue behind it (libstdc++'s
// std::shared_mutex lets them pass indefinitely). A thread that holds it for reading must therefore not lock it again. It is meant for
// short sections that many threads read; otherwise a Mutex is faster.
class KUBE_CAPABILITY("mutex") SharedMutex {
 public:
  SharedMutex() {
    pthread_rwlockattr_t attributes;
    pthread_rwlockattr_init(&attributes);
#if defined(__GLIBC__)
    pthread_rwlockattr_setkind_np(&attributes, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
#endif
    pthread_rwlock_init(&lock_, &attributes);
    pthread_rwlockattr_destroy(&attributes);
  }
  ~SharedMutex() { pthread_rwlock_destroy(&lock_); }
  SharedMutex(const SharedMutex&) = delete;
  SharedMutex& operator=(const SharedMutex&) = delete;

  void Lock() KUBE_ACQUIRE() { pthread_rwlock_wrlock(&lock_); }
  void Unlock() KUBE_RELEASE() { pthread_rwlock_unlock(&lock_); }
  bool TryLock() KUBE_TRY_ACQUIRE(true) { return pthread_rwlock_trywrlock(&lock_) == 0; }
  void LockShared() KUBE_ACQUIRE_SHARED() { pthread_rwlock_rdlock(&lock_); }
  void UnlockShared() KUBE_RELEASE_SHARED() { pthread_rwlock_unlock(&lock_); }
  bool TryLockShared() KUBE_TRY_ACQUIRE_SHARED(true) { return pthread_rwlock_tryrdlock(&lock_) == 0; }

 private:
  pthread_rwlock_t lock_;
};

// Holds a SharedMutex for a scope, together with other readers.
class KUBE_SCOPED_CAPABILITY ReaderLock {
 public:
  explicit ReaderLock(SharedMutex& mu) KUBE_ACQUIRE_SHARED(mu) : mu_(mu) { mu_.LockShared(); }
  ~ReaderLock() KUBE_RELEASE_GENERIC() { mu_.UnlockShared(); }
  ReaderLock(const ReaderLock&) = delete;
  ReaderLock& operator=(const ReaderLock&) = delete;

 private:
  SharedMutex& mu_;
};

// Holds a SharedMutex for a scope, alone.
class KUBE_SCOPED_CAPABILITY WriterLock {
 public:
  explicit WriterLock(SharedMutex& mu) KUBE_ACQUIRE(mu) : mu_(mu) { mu_.Lock(); }
  ~WriterLock() KUBE_RELEASE() { mu_.Unlock(); }
  WriterLock(const WriterLock&) = delete;
  WriterLock& operator=(const WriterLock&) = delete;

 private:
  SharedMutex& mu_;
};

}  // namespace kube
