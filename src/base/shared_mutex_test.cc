#include "base/shared_mutex.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "kube/base/thread.h"

namespace kube {
namespace {

TEST(SharedMutexTest, ReadersShareAndWritersExclude) {
  SharedMutex mu;
  int value = 0;  // plain: a sanitizer sees it if the lock does not work
  {
    std::vector<Thread> threads;
    for (int t = 0; t < 2; ++t) {
      threads.emplace_back("writer", [&] {
        for (int i = 0; i < 1000; ++i) {
          WriterLock lock(mu);
          ++value;
        }
      });
      threads.emplace_back("reader", [&] {
        for (int last = 0; last < 2000;) {
          ReaderLock lock(mu);
          EXPECT_GE(value, last);
          last = value;
        }
      });
    }
  }
  EXPECT_EQ(value, 2000);
}

TEST(SharedMutexTest, TryLocksSayWhoHoldsIt) {
  SharedMutex mu;
  const auto from_another_thread = [&mu] {
    std::pair<bool, bool> got;  // shared, alone
    Thread("other", [&] {
      if (mu.TryLockShared()) {
        got.first = true;
        mu.UnlockShared();
      }
      if (mu.TryLock()) {
        got.second = true;
        mu.Unlock();
      }
    }).Join();
    return got;
  };
  EXPECT_EQ(from_another_thread(), std::pair(true, true));
  {
    ReaderLock lock(mu);
    EXPECT_EQ(from_another_thread(), std::pair(true, false));
  }
  {
    WriterLock lock(mu);
    EXPECT_EQ(from_another_thread(), std::pair(false, false));
  }
}

#if defined(__GLIBC__)
TEST(SharedMutexTest, WriterThatWaitsGoesBeforeNewReaders) {
  SharedMutex mu;
  mu.LockShared();
  Thread writer("writer", [&] { WriterLock lock(mu); });
  // Sooner or later the writer stands there, and then no new reader gets in although another one reads.
  for (bool passed = true; passed;) {
    passed = false;
    Thread("reader", [&] {
      if (mu.TryLockShared()) {
        passed = true;
        mu.UnlockShared();
      }
    }).Join();
  }
  mu.UnlockShared();
  writer.Join();
}
#endif

}  // namespace
}  // namespace kube
