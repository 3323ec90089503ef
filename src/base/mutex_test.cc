#include "kube/base/mutex.h"

#include <gtest/gtest.h>

#include <deque>
#include <vector>

#include "kube/base/thread.h"

namespace kube {
namespace {

class Counter {
 public:
  void Add() {
    MutexLock lock(mu_);
    ++count_;
  }
  int Get() {
    MutexLock lock(mu_);
    return count_;
  }

 private:
  Mutex mu_;
  int count_ KUBE_GUARDED_BY(mu_) = 0;
};

TEST(MutexTest, ExcludesOtherThreads) {
  Counter counter;
  {
    std::vector<Thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back("adder", [&] {
        for (int i = 0; i < 1000; ++i) counter.Add();
      });
    }
  }
  EXPECT_EQ(counter.Get(), 4000);
}

TEST(MutexTest, TryLockFailsWhileAnotherThreadHoldsIt) {
  Mutex mu;
  MutexLock lock(mu);
  bool got = true;
  Thread other("other", [&] {
    if (mu.TryLock()) {
      mu.Unlock();
    } else {
      got = false;
    }
  });
  other.Join();
  EXPECT_FALSE(got);
}

TEST(MutexTest, MutexLockLetsGoAndTakesAgain) {
  Mutex mu;
  MutexLock lock(mu);
  lock.Unlock();
  if (mu.TryLock()) {
    mu.Unlock();
  } else {
    ADD_FAILURE() << "still held";
  }
  lock.Lock();
}

TEST(CondVarTest, PassesItemsBetweenThreads) {
  Mutex mu;
  CondVar changed;
  std::deque<int> items;
  int sum = 0;
  Thread consumer("consumer", [&] {
    for (int i = 0; i < 100; ++i) {
      MutexLock lock(mu);
      while (items.empty()) changed.Wait(mu);
      sum += items.front();
      items.pop_front();
    }
  });
  for (int i = 1; i <= 100; ++i) {
    MutexLock lock(mu);
    items.push_back(i);
    changed.NotifyOne();
  }
  consumer.Join();
  EXPECT_EQ(sum, 5050);
}

TEST(CondVarTest, WaitUntilSaysWhenTheTimeIsUp) {
  Mutex mu;
  CondVar changed;
  MutexLock lock(mu);
  EXPECT_FALSE(changed.WaitUntil(mu, std::chrono::steady_clock::now() - std::chrono::seconds(1)));
}

}  // namespace
}  // namespace kube
