#include "kube/base/backoff.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <climits>
#include <future>
#include <memory>
#include <vector>

#include "kube/base/fake_clock.h"
#include "kube/base/thread.h"

namespace kube {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::nanoseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;

double Half() { return 0.5; }
double Zero() { return 0.0; }

std::vector<milliseconds> Take(Backoff& backoff, int n, const RandomSource& random = {}) {
  std::vector<milliseconds> out;
  for (int i = 0; i < n; ++i) out.push_back(std::chrono::duration_cast<milliseconds>(backoff.Step(random)));
  return out;
}

TEST(BackoffTest, GrowsByTheFactorForItsSteps) {
  Backoff backoff{.duration = milliseconds(10), .factor = 5, .steps = 2};
  EXPECT_THAT(Take(backoff, 5), ElementsAre(milliseconds(10), milliseconds(50), milliseconds(250), milliseconds(250), milliseconds(250)));
  EXPECT_EQ(backoff.steps, 0);
}

TEST(BackoffTest, WithoutAFactorTheDelayStays) {
  Backoff backoff{.duration = milliseconds(10), .steps = 3};
  EXPECT_THAT(Take(backoff, 4), ElementsAre(milliseconds(10), milliseconds(10), milliseconds(10), milliseconds(10)));
}

TEST(BackoffTest, WithoutStepsTheDelayStays) {
  Backoff backoff{.duration = milliseconds(10), .factor = 2};
  EXPECT_THAT(Take(backoff, 2), ElementsAre(milliseconds(10), milliseconds(10)));
}

TEST(BackoffTest, StopsGrowingAtTheCap) {
  Backoff backoff{.duration = milliseconds(10), .factor = 10, .steps = 10, .cap = milliseconds(300)};
  EXPECT_THAT(Take(backoff, 4), ElementsAre(milliseconds(10), milliseconds(100), milliseconds(300), milliseconds(300)));
  EXPECT_EQ(backoff.steps, 0);
}

TEST(BackoffTest, JitterIsNeverCompounded) {
  Backoff backoff{.duration = milliseconds(100), .factor = 2, .jitter = 0.5, .steps = 3};
  EXPECT_THAT(Take(backoff, 4, Half), ElementsAre(milliseconds(125), milliseconds(250), milliseconds(500), milliseconds(1000)));
  EXPECT_EQ(backoff.duration, milliseconds(800));
}

TEST(BackoffTest, JitterComesOnTopOfTheCap) {
  Backoff backoff{.duration = seconds(30), .factor = 2, .jitter = 1, .steps = INT_MAX, .cap = seconds(30)};
  EXPECT_EQ(backoff.Step(Half), seconds(45));
  EXPECT_EQ(backoff.Step(Half), seconds(45));
}

TEST(BackoffTest, ReflectorSeriesHasTheKnownBases) {
  Backoff backoff{.duration = milliseconds(800), .factor = 2, .jitter = 1, .steps = INT_MAX, .cap = seconds(30)};
  EXPECT_THAT(Take(backoff, 8, Zero), ElementsAre(milliseconds(800), milliseconds(1600), milliseconds(3200), milliseconds(6400),
                                                  milliseconds(12800), milliseconds(25600), milliseconds(30000), milliseconds(30000)));
}

TEST(BackoffTest, BuiltInRandomStaysInRange) {
  bool varied = false;
  nanoseconds first{};
  for (int i = 0; i < 1000; ++i) {
    const nanoseconds delay = Jitter(seconds(1), 0.25);
    EXPECT_GE(delay, seconds(1));
    EXPECT_LE(delay, milliseconds(1250));
    if (i == 0) first = delay;
    varied |= delay != first;
  }
  EXPECT_TRUE(varied);
}

TEST(BackoffTest, JitterFactorOfZeroCountsAsOne) { EXPECT_EQ(Jitter(seconds(2), 0, Half), seconds(3)); }

TEST(BackoffTest, HugeFactorsSaturate) {
  Backoff backoff{.duration = seconds(1), .factor = 1e30, .jitter = 1, .steps = 5};
  backoff.Step(Half);
  EXPECT_EQ(backoff.Step(Half), nanoseconds::max());
  EXPECT_EQ(backoff.duration, nanoseconds::max());
}

class BackoffManagerTest : public ::testing::Test {
 protected:
  std::shared_ptr<FakeClock> clock_ = std::make_shared<FakeClock>();
  const Backoff backoff_{.duration = milliseconds(800), .factor = 2, .jitter = 1, .steps = INT_MAX, .cap = seconds(30)};
};

TEST_F(BackoffManagerTest, StartsOverAFixedTimeAfterTheLastStart) {
  BackoffManager manager(backoff_, minutes(2), clock_, Zero);
  std::vector<nanoseconds> delays;
  Clock::TimePoint start = clock_->Now();
  // Under lasting failure: each delay is slept in full.
  for (int i = 0; i < 11; ++i) {
    delays.push_back(manager.Next());
    clock_->Advance(delays.back());
  }
  EXPECT_THAT(delays, ElementsAre(milliseconds(800), milliseconds(1600), milliseconds(3200), milliseconds(6400), milliseconds(12800),
                                  milliseconds(25600), seconds(30), seconds(30), seconds(30), milliseconds(800), milliseconds(1600)));
  EXPECT_GT(clock_->Now() - start, minutes(2));
}

TEST_F(BackoffManagerTest, TheEndOfTheWindowItselfDoesNotStartOver) {
  BackoffManager manager(backoff_, minutes(2), clock_, Zero);
  EXPECT_EQ(manager.Next(), milliseconds(800));
  clock_->Advance(minutes(2));
  EXPECT_EQ(manager.Next(), milliseconds(1600));
  clock_->Advance(nanoseconds(1));
  EXPECT_EQ(manager.Next(), milliseconds(800));
}

TEST_F(BackoffManagerTest, ResetStartsOver) {
  BackoffManager manager(backoff_, minutes(2), clock_, Zero);
  manager.Next();
  manager.Next();
  manager.Reset();
  EXPECT_EQ(manager.Next(), milliseconds(800));
}

TEST_F(BackoffManagerTest, WithoutAWindowTheFirstDelayRepeats) {
  BackoffManager manager(backoff_, nanoseconds(0), clock_, Half);
  EXPECT_EQ(manager.Next(), milliseconds(1200));
  EXPECT_EQ(manager.Next(), milliseconds(1200));
}

TEST_F(BackoffManagerTest, WithoutAFactorNothingStartsOver) {
  BackoffManager manager({.duration = seconds(1), .steps = 1}, seconds(1), clock_);
  EXPECT_EQ(manager.Next(), seconds(1));
  clock_->Advance(minutes(5));
  EXPECT_EQ(manager.Next(), seconds(1));
}

TEST_F(BackoffManagerTest, WaitSleepsForTheDelay) {
  BackoffManager manager(backoff_, minutes(2), clock_, Zero);
  const Context ctx = Context::Background(clock_);
  std::promise<Result<void>> done;
  Thread waiter("waiter", [&] { done.set_value(manager.Wait(ctx)); });
  ASSERT_TRUE(clock_->WaitForWaiters(1));
  clock_->Advance(milliseconds(800));
  EXPECT_TRUE(done.get_future().get().ok());
}

class ExponentialBackoffTest : public ::testing::Test {
 protected:
  // Runs with time moving to each sleep at once; returns the outcome and notes when each call came.
  Result<void> Run(Backoff backoff, const std::function<Result<bool>(int call)>& condition) {
    const Context ctx = Context::Background(clock_);
    const Clock::TimePoint start = clock_->Now();
    std::promise<void> ended;
    std::future<void> end = ended.get_future();
    Result<void> result;
    Thread runner("runner", [&] {
      result = ExponentialBackoff(ctx, backoff, [&] {
        calls_.push_back(std::chrono::duration_cast<milliseconds>(clock_->Now() - start));
        return condition(static_cast<int>(calls_.size()));
      });
      ended.set_value();
    });
    while (end.wait_for(seconds(0)) != std::future_status::ready) clock_->AdvanceToNextTimer();
    runner.Join();
    slept_ = std::chrono::duration_cast<milliseconds>(clock_->Now() - start);
    return result;
  }

  std::shared_ptr<FakeClock> clock_ = std::make_shared<FakeClock>();
  std::vector<milliseconds> calls_;
  milliseconds slept_{};
};

TEST_F(ExponentialBackoffTest, CallsAtMostStepsTimesAndDoesNotSleepAfterTheLast) {
  const Result<void> result = Run({.duration = milliseconds(10), .factor = 2, .steps = 3}, [](int) { return false; });
  EXPECT_TRUE(IsDeadlineExceeded(result.error()));
  EXPECT_THAT(calls_, ElementsAre(milliseconds(0), milliseconds(10), milliseconds(30)));
  EXPECT_EQ(slept_, milliseconds(30));
}

TEST_F(ExponentialBackoffTest, EndsWithSuccess) {
  EXPECT_TRUE(Run({.duration = milliseconds(10), .steps = 5}, [](int call) { return call == 2; }).ok());
  EXPECT_EQ(calls_.size(), 2u);
}

TEST_F(ExponentialBackoffTest, EndsWithTheFirstError) {
  const Result<void> result = Run({.duration = milliseconds(10), .steps = 5}, [](int) -> Result<bool> { return Error::Invalid("no"); });
  EXPECT_EQ(result.error().message(), "no");
  EXPECT_EQ(calls_.size(), 1u);
}

TEST_F(ExponentialBackoffTest, TheCapEndsTheCalls) {
  const Result<void> result =
      Run({.duration = milliseconds(10), .factor = 10, .steps = 9, .cap = milliseconds(300)}, [](int) { return false; });
  EXPECT_TRUE(IsDeadlineExceeded(result.error()));
  EXPECT_THAT(calls_, ElementsAre(milliseconds(0), milliseconds(10)));
  EXPECT_EQ(slept_, milliseconds(10));
}

TEST_F(ExponentialBackoffTest, AStoppedContextIsNotTried) {
  const auto [ctx, cancel] = Context::Background(clock_).WithCancel();
  cancel.Cancel();
  int calls = 0;
  const Result<void> result = ExponentialBackoff(ctx, {.duration = seconds(1), .steps = 3}, [&]() -> Result<bool> {
    ++calls;
    return false;
  });
  EXPECT_TRUE(IsCancelled(result.error()));
  EXPECT_EQ(calls, 0);
}

TEST_F(ExponentialBackoffTest, NoStepsMeansNoCall) {
  EXPECT_TRUE(IsDeadlineExceeded(Run({.duration = milliseconds(10)}, [](int) { return true; }).error()));
  EXPECT_TRUE(calls_.empty());
}

}  // namespace
}  // namespace kube
