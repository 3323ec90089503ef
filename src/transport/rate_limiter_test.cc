#include "kube/transport/rate_limiter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <vector>

#include "kube/base/fake_clock.h"
#include "kube/base/mutex.h"
#include "kube/base/thread.h"

namespace kube {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;

struct Rig {
  explicit Rig(double qps = 10, int burst = 2) : limiter(MakeTokenBucket(qps, burst, clock)) {}
  std::shared_ptr<FakeClock> clock = std::make_shared<FakeClock>();
  Context ctx = Context::Background(clock);
  std::shared_ptr<RateLimiter> limiter;
};

int Take(RateLimiter& limiter) {
  int taken = 0;
  while (limiter.TryAccept()) ++taken;
  return taken;
}

TEST(Contract9RateLimit, ABurstThenAToken) {
  Rig s;
  EXPECT_EQ(s.limiter->qps(), 10);
  EXPECT_EQ(Take(*s.limiter), 2);
  s.clock->Advance(milliseconds(99));
  EXPECT_EQ(Take(*s.limiter), 0);
  s.clock->Advance(milliseconds(1));
  EXPECT_EQ(Take(*s.limiter), 1);
}

TEST(Contract9RateLimit, TheBucketHoldsNoMoreThanTheBurst) {
  Rig s;
  EXPECT_EQ(Take(*s.limiter), 2);
  s.clock->Advance(std::chrono::hours(1));
  EXPECT_EQ(Take(*s.limiter), 2);
}

TEST(Contract9RateLimit, FailedTriesCostNothing) {
  Rig s;
  EXPECT_EQ(Take(*s.limiter), 2);
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(s.limiter->TryAccept());
  s.clock->Advance(milliseconds(100));
  EXPECT_TRUE(s.limiter->TryAccept());
}

TEST(Contract9RateLimit, FractionsOfTokensAddUp) {
  Rig s(0.5, 1);
  EXPECT_EQ(Take(*s.limiter), 1);
  s.clock->Advance(seconds(1));
  EXPECT_EQ(Take(*s.limiter), 0);
  s.clock->Advance(seconds(1));
  EXPECT_EQ(Take(*s.limiter), 1);
}

TEST(Contract9RateLimit, WaitersGoInTheOrderOfAsking) {
  Rig s(10, 1);
  ASSERT_TRUE(s.limiter->Wait(s.ctx));
  Mutex mu;
  std::vector<int> order;
  std::vector<Thread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back("waiter", [&, i] {
      EXPECT_TRUE(s.limiter->Wait(s.ctx));
      MutexLock lock(mu);
      order.push_back(i);
    });
    ASSERT_TRUE(s.clock->WaitForWaiters(static_cast<std::size_t>(i) + 1));
  }
  for (std::size_t left = 3; left > 0; --left) {
    s.clock->Advance(milliseconds(100));
    threads[3 - left].Join();
    EXPECT_EQ(s.clock->waiters(), left - 1);
  }
  MutexLock lock(mu);
  EXPECT_THAT(order, ElementsAre(0, 1, 2));
}

TEST(Contract9RateLimit, AWaiterSleepsForWhatIsMissing) {
  Rig s(10, 1);
  ASSERT_TRUE(s.limiter->Wait(s.ctx));
  s.clock->Advance(milliseconds(40));
  std::atomic<bool> gone = false;
  Thread waiter("waiter", [&] {
    EXPECT_TRUE(s.limiter->Wait(s.ctx));
    gone = true;
  });
  ASSERT_TRUE(s.clock->WaitForWaiters(1));
  s.clock->Advance(milliseconds(59));
  EXPECT_FALSE(gone);
  s.clock->Advance(milliseconds(1));
  waiter.Join();
}

TEST(Contract9RateLimit, ADeadlineBeforeTheTokenFailsAtOnceAndTakesNone) {
  Rig s(1, 1);
  ASSERT_TRUE(s.limiter->Wait(s.ctx));
  const Context soon = s.ctx.WithTimeout(milliseconds(999));
  const Result<void> r = s.limiter->Wait(soon);
  ASSERT_FALSE(r);
  EXPECT_TRUE(IsDeadlineExceeded(r.error()));
  EXPECT_FALSE(soon.stopped());
  s.clock->Advance(seconds(1));
  EXPECT_TRUE(s.limiter->TryAccept());
}

TEST(Contract9RateLimit, ADeadlineAtTheTokenIsInTime) {
  Rig s(1, 1);
  ASSERT_TRUE(s.limiter->Wait(s.ctx));
  const Context later = s.ctx.WithTimeout(seconds(2));
  Thread waiter("waiter", [&] { EXPECT_TRUE(s.limiter->Wait(later)); });
  ASSERT_TRUE(s.clock->WaitForWaiters(2));
  s.clock->Advance(seconds(1));
  waiter.Join();
}

TEST(Contract9RateLimit, AStoppedContextFailsWithItsErrorAndTakesNone) {
  Rig s(1, 1);
  auto [ctx, cancel] = s.ctx.WithCancel();
  cancel.Cancel();
  const Result<void> r = s.limiter->Wait(ctx);
  ASSERT_FALSE(r);
  EXPECT_TRUE(IsCancelled(r.error()));
  EXPECT_TRUE(s.limiter->TryAccept());
}

TEST(Contract9RateLimit, WhoGivesUpGivesTheTokenBack) {
  Rig s(1, 1);
  ASSERT_TRUE(s.limiter->Wait(s.ctx));
  auto [ctx, cancel] = s.ctx.WithCancel();
  const Context waiting = ctx;
  Thread waiter("waiter", [&] { EXPECT_FALSE(s.limiter->Wait(waiting)); });
  ASSERT_TRUE(s.clock->WaitForWaiters(1));
  cancel.Cancel();
  waiter.Join();
  s.clock->Advance(seconds(1));
  EXPECT_TRUE(s.limiter->TryAccept());
  EXPECT_FALSE(s.limiter->TryAccept());
}

TEST(Contract9RateLimit, WhoCameLaterKeepsItsTimeWhenSomebodyGivesUp) {
  Rig s(1, 1);
  ASSERT_TRUE(s.limiter->Wait(s.ctx));
  auto [ctx, cancel] = s.ctx.WithCancel();
  const Context waiting = ctx;
  Thread first("first", [&] { EXPECT_FALSE(s.limiter->Wait(waiting)); });
  ASSERT_TRUE(s.clock->WaitForWaiters(1));
  std::atomic<bool> gone = false;
  Thread second("second", [&] {
    EXPECT_TRUE(s.limiter->Wait(s.ctx));
    gone = true;
  });
  ASSERT_TRUE(s.clock->WaitForWaiters(2));
  cancel.Cancel();
  first.Join();
  s.clock->Advance(seconds(1));
  EXPECT_FALSE(gone);
  EXPECT_FALSE(s.limiter->TryAccept());
  s.clock->Advance(seconds(1));
  second.Join();
}

TEST(Contract9RateLimit, VeryLowRatesDoNotOverflow) {
  Rig s(1e-12, 1);
  EXPECT_TRUE(s.limiter->TryAccept());
  EXPECT_FALSE(s.limiter->TryAccept());
  const Result<void> r = s.limiter->Wait(s.ctx.WithTimeout(seconds(1)));
  ASSERT_FALSE(r);
  EXPECT_TRUE(IsDeadlineExceeded(r.error()));
}

TEST(Contract9RateLimit, NoLimitNeverWaits) {
  const std::shared_ptr<RateLimiter> limiter = MakeUnlimited();
  for (int i = 0; i < 1000; ++i) ASSERT_TRUE(limiter->TryAccept());
  EXPECT_TRUE(limiter->Wait(Context::Background()));
  EXPECT_TRUE(std::isinf(limiter->qps()));
}

}  // namespace
}  // namespace kube
