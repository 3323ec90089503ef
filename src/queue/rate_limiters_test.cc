#include "kube/queue/rate_limiters.h"

#include <gtest/gtest.h>

#include <chrono>
#include <limits>
#include <memory>
#include <string>

#include "kube/base/fake_clock.h"
#include "kube/queue/item_rate_limiter.h"

namespace kube {
namespace {

using namespace std::chrono_literals;

TEST(Contract05RateLimiters, ItemExponentialFailureDoublesForEachKey) {
  ItemRateLimiter<std::string> limiter(ExponentialLimiter(1ms, 1s));
  EXPECT_EQ(limiter.When("one"), 1ms);
  EXPECT_EQ(limiter.When("one"), 2ms);
  EXPECT_EQ(limiter.When("one"), 4ms);
  EXPECT_EQ(limiter.When("one"), 8ms);
  EXPECT_EQ(limiter.When("one"), 16ms);
  EXPECT_EQ(limiter.NumRequeues("one"), 5);
  EXPECT_EQ(limiter.When("two"), 1ms);
  EXPECT_EQ(limiter.When("two"), 2ms);
  EXPECT_EQ(limiter.NumRequeues("two"), 2);
  limiter.Forget("one");
  EXPECT_EQ(limiter.NumRequeues("one"), 0);
  EXPECT_EQ(limiter.When("one"), 1ms);
  EXPECT_EQ(limiter.NumRequeues("two"), 2);
}

TEST(Contract05RateLimiters, ItemExponentialFailureOverFlowGivesTheCap) {
  const std::shared_ptr<RetryLimiter> limiter = ExponentialLimiter(1ms, 1000s);
  EXPECT_EQ(limiter->When(4), 16ms);
  EXPECT_EQ(limiter->When(19), 524288ms);
  EXPECT_EQ(limiter->When(20), 1000s);
  for (const int failures : {50, 63, 64, 65, 1000, 1024, 100000, std::numeric_limits<int>::max()}) {
    EXPECT_EQ(limiter->When(failures), 1000s) << failures;
  }
  EXPECT_EQ(ExponentialLimiter(1min, 24h * 365 * 100)->When(1000), 24h * 365 * 100);
  EXPECT_EQ(ExponentialLimiter(1ms, Clock::Duration::max())->When(5000), Clock::Duration::max());
}

TEST(Contract05RateLimiters, ItemFastSlow) {
  ItemRateLimiter<std::string> limiter(FastSlowLimiter(5ms, 10s, 3));
  for (int i = 0; i < 3; ++i) EXPECT_EQ(limiter.When("one"), 5ms);
  for (int i = 0; i < 2; ++i) EXPECT_EQ(limiter.When("one"), 10s);
  EXPECT_EQ(limiter.NumRequeues("one"), 5);
  EXPECT_EQ(limiter.When("two"), 5ms);
  limiter.Forget("one");
  EXPECT_EQ(limiter.When("one"), 5ms);
}

TEST(Contract05RateLimiters, MaxOfTakesTheLongest) {
  ItemRateLimiter<std::string> limiter(MaxOfLimiter({FastSlowLimiter(5ms, 3s, 3), ExponentialLimiter(1ms, 1s)}));
  EXPECT_EQ(limiter.When("one"), 5ms);
  EXPECT_EQ(limiter.When("one"), 5ms);
  EXPECT_EQ(limiter.When("one"), 5ms);
  EXPECT_EQ(limiter.When("one"), 3s);
  EXPECT_EQ(limiter.When("one"), 3s);
  EXPECT_EQ(limiter.NumRequeues("one"), 5);
  EXPECT_EQ(limiter.When("two"), 5ms);
}

TEST(Contract05RateLimiters, WithMaxWaitCutsOff) {
  ItemRateLimiter<std::string> limiter(MaxWaitLimiter(FastSlowLimiter(5ms, 100s, 3), 1s));
  for (int i = 0; i < 3; ++i) EXPECT_EQ(limiter.When("one"), 5ms);
  for (int i = 0; i < 2; ++i) EXPECT_EQ(limiter.When("one"), 1s);
  EXPECT_EQ(limiter.NumRequeues("one"), 5);
}

TEST(Contract05RateLimiters, DefaultIsTheLongerOfExponentialAndBucket) {
  auto clock = std::make_shared<FakeClock>();
  const std::shared_ptr<RetryLimiter> limiter = DefaultRateLimiter(clock);
  EXPECT_EQ(limiter->When(0), 5ms);
  EXPECT_EQ(limiter->When(1), 10ms);
  EXPECT_EQ(limiter->When(10), 5120ms);
  EXPECT_EQ(limiter->When(50), 1000s);
  for (int i = 0; i < 96; ++i) EXPECT_EQ(limiter->When(0), 5ms) << i;
  EXPECT_EQ(limiter->When(0), 100ms);  // the burst is used up: the bucket decides
  EXPECT_EQ(limiter->When(0), 200ms);
  EXPECT_EQ(limiter->When(10), 5120ms);
}

TEST(Contract05RateLimiters, TheBucketGivesATokenEvenIfAnotherLimiterDominates) {
  auto clock = std::make_shared<FakeClock>();
  const std::shared_ptr<RetryLimiter> bucket = BucketLimiter(10, 2, clock);
  const std::shared_ptr<RetryLimiter> both = MaxOfLimiter({ExponentialLimiter(1h, 1h), bucket});
  EXPECT_EQ(both->When(0), 1h);
  EXPECT_EQ(both->When(0), 1h);
  EXPECT_EQ(bucket->When(0), 100ms);
}

TEST(Contract05RateLimiters, DefaultItemBasedIsFromOneMillisecond) {
  const std::shared_ptr<RetryLimiter> limiter = DefaultItemBasedRateLimiter();
  EXPECT_EQ(limiter->When(0), 1ms);
  EXPECT_EQ(limiter->When(3), 8ms);
  EXPECT_EQ(limiter->When(30), 1000s);
}

TEST(RateLimitersTest, BucketReservesWhatHasStillToFall) {
  auto clock = std::make_shared<FakeClock>();
  const std::shared_ptr<RetryLimiter> limiter = BucketLimiter(10, 2, clock);
  EXPECT_EQ(limiter->When(0), 0s);
  EXPECT_EQ(limiter->When(0), 0s);
  EXPECT_EQ(limiter->When(0), 100ms);
  EXPECT_EQ(limiter->When(0), 200ms);
  clock->Advance(200ms);
  EXPECT_EQ(limiter->When(0), 100ms);
  clock->Advance(100ms + 100ms);
  EXPECT_EQ(limiter->When(0), 0s);
}

TEST(RateLimitersTest, BucketNeverHoldsMoreThanItsBurst) {
  auto clock = std::make_shared<FakeClock>();
  const std::shared_ptr<RetryLimiter> limiter = BucketLimiter(10, 2, clock);
  clock->Advance(24h);
  EXPECT_EQ(limiter->When(0), 0s);
  EXPECT_EQ(limiter->When(0), 0s);
  EXPECT_EQ(limiter->When(0), 100ms);
}

TEST(RateLimitersTest, BucketWithoutBurstMakesTheFirstOneWait) {
  auto clock = std::make_shared<FakeClock>();
  EXPECT_EQ(BucketLimiter(10, 0, clock)->When(0), 100ms);
}

TEST(RateLimitersTest, AVerySlowBucketDoesNotOverflow) {
  auto clock = std::make_shared<FakeClock>();
  const std::shared_ptr<RetryLimiter> limiter = BucketLimiter(1e-300, 1, clock);
  EXPECT_EQ(limiter->When(0), 0s);
  EXPECT_EQ(limiter->When(0), Clock::Duration::max());
}

TEST(RateLimitersTest, ExponentialBeginsAtItsBase) {
  EXPECT_EQ(ExponentialLimiter(5ms, 1000s)->When(0), 5ms);
  EXPECT_EQ(ExponentialLimiter(5ms, 1000s)->When(-1), 5ms);
  EXPECT_EQ(ExponentialLimiter(5ms, 1ms)->When(0), 1ms);
  EXPECT_EQ(ExponentialLimiter(0s, 1s)->When(100), 0s);
}

TEST(RateLimitersTest, MaxOfNothingDoesNotWait) { EXPECT_EQ(MaxOfLimiter({})->When(7), 0s); }

TEST(RateLimitersTest, ForgetOfAnUnknownKeyIsNothing) {
  ItemRateLimiter<int> limiter(DefaultItemBasedRateLimiter());
  limiter.Forget(1);
  EXPECT_EQ(limiter.NumRequeues(1), 0);
}

}  // namespace
}  // namespace kube
