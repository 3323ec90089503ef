#include "queue/brief_mutex.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "kube/base/thread.h"

namespace kube::internal {
namespace {

TEST(BriefMutexTest, OneAtATime) {
  constexpr int kThreads = 4;
  constexpr int kTurns = 20'000;
  struct {
    BriefMutex mu;
    int count KUBE_GUARDED_BY(mu) = 0;
  } shared;
  {
    std::vector<Thread> threads;
    for (int i = 0; i < kThreads; ++i) {
      threads.emplace_back("turns", [&shared] {
        for (int turn = 0; turn < kTurns; ++turn) {
          BriefLock lock(shared.mu);
          ++shared.count;
        }
      });
    }
  }
  BriefLock lock(shared.mu);
  EXPECT_EQ(shared.count, kThreads * kTurns);
}

// The waiter is never woken: it has to acquire the lock by itself, even after it has begun to sleep.
TEST(BriefMutexTest, WhoHasToWaitComesInTheEnd) {
  BriefMutex mu;
  std::atomic<bool> started = false;
  std::atomic<bool> in = false;
  mu.Lock();
  Thread waiter("waiter", [&] {
    started = true;
    BriefLock lock(mu);
    in = true;
  });
  while (!started) std::this_thread::yield();
  EXPECT_FALSE(in);
  mu.Unlock();
  waiter.Join();
  EXPECT_TRUE(in);
}

// As a queue's destructor does with the lock that the last caller has just released.
TEST(BriefMutexTest, TheNextHolderMayDestroyIt) {
  struct Shared {
    BriefMutex mu;
    bool left KUBE_GUARDED_BY(mu) = false;
  };
  for (int round = 0; round < 300; ++round) {
    auto shared = std::make_unique<Shared>();
    Thread leaver("leaver", [at = shared.get()] {
      BriefLock lock(at->mu);
      at->left = true;
    });
    for (bool left = false; !left;) {
      BriefLock lock(shared->mu);
      left = shared->left;
    }
    shared.reset();
    leaver.Join();
  }
}

TEST(BriefCondVarTest, WakesAllWhoWait) {
  struct {
    BriefMutex mu;
    BriefCondVar changed;
    int waiting KUBE_GUARDED_BY(mu) = 0;
    bool go KUBE_GUARDED_BY(mu) = false;
  } shared;
  std::vector<Thread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back("waiter", [&shared] {
      BriefLock lock(shared.mu);
      ++shared.waiting;
      shared.changed.NotifyAll();
      while (!shared.go) shared.changed.Wait(shared.mu);
    });
  }
  {
    BriefLock lock(shared.mu);
    while (shared.waiting != 3) shared.changed.Wait(shared.mu);
    shared.go = true;
    shared.changed.NotifyAll();
  }
  for (Thread& thread : threads) thread.Join();
}

}  // namespace
}  // namespace kube::internal
