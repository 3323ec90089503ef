#include "base/parker.h"

#include <gtest/gtest.h>

#include <atomic>

#include "kube/base/thread.h"

namespace kube::internal {
namespace {

TEST(ParkerTest, DoesNotSleepWhereItWasWokenBefore) {
  Parker parker;
  parker.Unpark();
  parker.Unpark();  // counts once
  parker.Park();
  SUCCEED();
}

TEST(ParkerTest, EachWakeUpIsSeen) {
  constexpr int kRounds = 20'000;
  Parker ping, pong;
  std::atomic<bool> odd = false;
  int shared = 0;  // guarded by whose turn it is
  Thread other("other", [&] {
    for (int i = 0; i < kRounds; ++i) {
      while (!odd.load(std::memory_order_relaxed)) ping.Park();
      ++shared;
      odd.store(false, std::memory_order_relaxed);
      pong.Unpark();
    }
  });
  for (int i = 0; i < kRounds; ++i) {
    ASSERT_EQ(shared, i);
    odd.store(true, std::memory_order_relaxed);
    ping.Unpark();
    while (odd.load(std::memory_order_relaxed)) pong.Park();
  }
  other.Join();
  EXPECT_EQ(shared, kRounds);
}

}  // namespace
}  // namespace kube::internal
