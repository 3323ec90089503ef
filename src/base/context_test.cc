#include "kube/base/context.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

#include "kube/base/fake_clock.h"
#include "kube/base/stop_token.h"
#include "kube/base/thread.h"
#include "kube/base/wait_until.h"

namespace kube {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;

class ContextTest : public ::testing::Test {
 protected:
  std::shared_ptr<FakeClock> clock_ = std::make_shared<FakeClock>();
  Context root_ = Context::Background(clock_);
};

TEST_F(ContextTest, BackgroundNeverStops) {
  const Context ctx = Context::Background();
  EXPECT_FALSE(ctx.stopped());
  EXPECT_EQ(ctx.Err(), std::nullopt);
  EXPECT_TRUE(ctx.Check().ok());
  EXPECT_EQ(ctx.deadline(), std::nullopt);
  EXPECT_EQ(ctx.remaining(), std::nullopt);
  EXPECT_EQ(ctx.clock(), Clock::Real());
}

TEST_F(ContextTest, CancelStopsTheContextAndItsDescendantsOnly) {
  const auto [ctx, cancel] = root_.WithCancel();
  const Context child = ctx.WithTimeout(hours(1));
  const Context grandchild = child.WithTimeout(seconds(1));
  cancel.Cancel();
  EXPECT_TRUE(ctx.stopped());
  EXPECT_TRUE(child.stopped());
  EXPECT_TRUE(IsCancelled(*ctx.Err()));
  EXPECT_TRUE(IsCancelled(child.Check().error()));
  EXPECT_TRUE(grandchild.stopped());
  EXPECT_FALSE(root_.stopped());
}

TEST_F(ContextTest, CancellingAChildLeavesTheParent) {
  const auto [parent, cancel_parent] = root_.WithCancel();
  const auto [child, cancel_child] = parent.WithCancel();
  cancel_child.Cancel();
  EXPECT_TRUE(child.stopped());
  EXPECT_FALSE(parent.stopped());
}

TEST_F(ContextTest, DestroyingTheSourceCancels) {
  std::optional<Context> kept;
  {
    auto [ctx, cancel] = root_.WithCancel();
    kept = ctx;
    EXPECT_FALSE(kept->stopped());
  }
  EXPECT_TRUE(kept->stopped());
}

TEST_F(ContextTest, ADetachedSourceCancelsNothing) {
  auto [ctx, cancel] = root_.WithCancel();
  cancel.Detach();
  cancel.Cancel();
  EXPECT_FALSE(ctx.stopped());
}

TEST_F(ContextTest, AssigningASourceCancelsTheOldContext) {
  auto [first, cancel] = root_.WithCancel();
  auto [second, other] = root_.WithCancel();
  cancel = std::move(other);
  EXPECT_TRUE(first.stopped());
  EXPECT_FALSE(second.stopped());
  cancel.Cancel();
  EXPECT_TRUE(second.stopped());
}

TEST_F(ContextTest, TheFirstReasonCountsAndReachesDescendants) {
  const auto [ctx, cancel] = root_.WithCancel();
  const Context child = ctx.WithTimeout(seconds(1));
  cancel.Cancel(Error(ErrorKind::kClosed, "leadership lost"));
  cancel.Cancel(Error::Internal("too late"));
  clock_->Advance(seconds(2));
  EXPECT_EQ(ctx.Err()->ToString(), "leadership lost");
  EXPECT_EQ(child.Err()->ToString(), "leadership lost");
  EXPECT_EQ(child.Err()->kind(), ErrorKind::kClosed);
}

// Also the one that came second, while the first is still at it: a moment so short that a failure needs a thread that is put to sleep in
// it.
TEST_F(ContextTest, WhoeverReturnsFromCancelSeesItStopped) {
  std::atomic<int> unseen = 0;
  for (int round = 0; round < 500; ++round) {
    const auto [ctx, source] = root_.WithCancel();
    std::atomic<int> ready = 0;
    const auto cancel = [&ctx = ctx, &source = source, &ready, &unseen] {
      ++ready;
      while (ready < 2) std::this_thread::yield();
      source.Cancel(Error(ErrorKind::kClosed, "over"));
      if (!ctx.Err()) ++unseen;
    };
    Thread other("other", cancel);
    cancel();
    other.Join();
  }
  EXPECT_EQ(unseen, 0);
}

TEST_F(ContextTest, StopsAtTheDeadlineOfTheFakeClock) {
  const Context ctx = root_.WithTimeout(seconds(5));
  EXPECT_EQ(ctx.remaining(), seconds(5));
  clock_->Advance(seconds(4));
  EXPECT_FALSE(ctx.stopped());
  EXPECT_EQ(ctx.remaining(), seconds(1));
  clock_->Advance(seconds(1));
  EXPECT_TRUE(ctx.stopped());
  EXPECT_TRUE(IsDeadlineExceeded(*ctx.Err()));
  clock_->Advance(seconds(1));
  EXPECT_EQ(ctx.remaining(), seconds(0));
}

TEST_F(ContextTest, TheEarlierDeadlineCounts) {
  const Context outer = root_.WithTimeout(seconds(2));
  const Context longer = outer.WithTimeout(seconds(10));
  const Context shorter = outer.WithTimeout(seconds(1));
  EXPECT_EQ(longer.deadline(), outer.deadline());
  EXPECT_EQ(clock_->waiters(), 2u) << "the longer one needs no timer of its own";
  clock_->Advance(seconds(1));
  EXPECT_TRUE(shorter.stopped());
  EXPECT_FALSE(outer.stopped());
  clock_->Advance(seconds(1));
  EXPECT_TRUE(longer.stopped());
  EXPECT_TRUE(IsDeadlineExceeded(*longer.Err()));
}

TEST_F(ContextTest, ADeadlineInThePastStopsAtOnce) {
  const Context ctx = root_.WithTimeout(seconds(0));
  EXPECT_TRUE(ctx.stopped());
  EXPECT_TRUE(IsDeadlineExceeded(*ctx.Err()));
  EXPECT_TRUE(root_.WithDeadline(clock_->Now() - seconds(1)).stopped());
}

TEST_F(ContextTest, AChildOfAStoppedContextIsStopped) {
  const auto [ctx, cancel] = root_.WithCancel();
  cancel.Cancel();
  const Context child = ctx.WithTimeout(hours(1));
  EXPECT_TRUE(child.stopped());
  EXPECT_TRUE(IsCancelled(*child.Err()));
  EXPECT_EQ(clock_->waiters(), 0u);
}

TEST_F(ContextTest, AStopReachesThroughContextsThatNobodyHolds) {
  const auto [ctx, cancel] = root_.WithCancel();
  const Context leaf = ctx.WithTimeout(seconds(5)).WithTimeout(seconds(4)).WithDeadline(clock_->Now() + hours(1));
  const Context by_cancel = leaf.WithTimeout(hours(1));
  clock_->Advance(seconds(4));
  EXPECT_TRUE(leaf.stopped());
  EXPECT_TRUE(by_cancel.stopped());
}

TEST_F(ContextTest, TheLastCopyFreesTimerAndLink) {
  std::optional<Context> ctx = root_.WithTimeout(seconds(5));
  std::optional<Context> copy = ctx;
  ctx.reset();
  EXPECT_EQ(clock_->waiters(), 1u);
  copy.reset();
  EXPECT_EQ(clock_->waiters(), 0u);
}

TEST_F(ContextTest, WithStopTokenFollowsTheToken) {
  std::stop_source source;
  const Context ctx = WithStopToken(root_, source.get_token());
  EXPECT_FALSE(ctx.stopped());
  source.request_stop();
  EXPECT_TRUE(IsCancelled(*ctx.Err()));
  EXPECT_TRUE(WithStopToken(root_, source.get_token()).stopped());
}

TEST_F(ContextTest, StopTokenFollowsTheContext) {
  const auto [ctx, cancel] = root_.WithCancel();
  const std::stop_token token = StopTokenOf(ctx);
  EXPECT_FALSE(token.stop_requested());
  cancel.Cancel();
  EXPECT_TRUE(token.stop_requested());
}

TEST_F(ContextTest, SleepsForTheClocksTime) {
  std::promise<Result<void>> slept;
  Thread sleeper("sleeper", [&] { slept.set_value(root_.SleepFor(hours(1))); });
  ASSERT_TRUE(clock_->WaitForWaiters(1));
  std::future<Result<void>> result = slept.get_future();
  clock_->Advance(hours(1) - milliseconds(1));
  EXPECT_EQ(result.wait_for(seconds(0)), std::future_status::timeout);
  clock_->Advance(milliseconds(1));
  EXPECT_TRUE(result.get().ok());
}

TEST_F(ContextTest, SleepOfNothingReturnsAtOnce) {
  EXPECT_TRUE(root_.SleepFor(seconds(0)).ok());
  EXPECT_TRUE(root_.SleepFor(seconds(-5)).ok());
  EXPECT_EQ(clock_->waiters(), 0u);
}

// Advances when a thread is about to wait, to simulate time passing between reading the clock and setting the timer.
class ClockThatGoesOn : public Clock {
 public:
  TimePoint Now() const override { return clock_.Now(); }
  WallTime WallNow() const override { return clock_.WallNow(); }
  Timer AddTimer(TimePoint when, std::function<void()> callback) override {
    clock_.Advance(hours(1));
    return clock_.AddTimer(when, std::move(callback));
  }

 private:
  FakeClock clock_;
};

TEST_F(ContextTest, TimeThatPassesWhileASleepBeginsCounts) {
  EXPECT_TRUE(Context::Background(std::make_shared<ClockThatGoesOn>()).SleepFor(hours(1)).ok());
}

TEST_F(ContextTest, TimeThatPassesWhileADeadlineIsSetCounts) {
  const Context ctx = Context::Background(std::make_shared<ClockThatGoesOn>()).WithTimeout(hours(1));
  ASSERT_TRUE(ctx.stopped());
  EXPECT_TRUE(IsDeadlineExceeded(*ctx.Err()));
}

TEST_F(ContextTest, CancelWakesASleeper) {
  auto [ctx, cancel] = root_.WithCancel();
  std::promise<Result<void>> slept;
  Thread sleeper("sleeper", [&slept, ctx = ctx] { slept.set_value(ctx.SleepFor(hours(1))); });
  ASSERT_TRUE(clock_->WaitForWaiters(1));
  cancel.Cancel();
  const Result<void> result = slept.get_future().get();
  ASSERT_FALSE(result.ok());
  EXPECT_TRUE(IsCancelled(result.error()));
  sleeper.Join();
  EXPECT_EQ(clock_->waiters(), 0u);
}

TEST_F(ContextTest, TheDeadlineWakesASleeper) {
  const Context ctx = root_.WithTimeout(seconds(10));
  std::promise<Result<void>> slept;
  Thread sleeper("sleeper", [&] { slept.set_value(ctx.SleepFor(hours(1))); });
  ASSERT_TRUE(clock_->WaitForWaiters(2));
  clock_->Advance(seconds(10));
  EXPECT_TRUE(IsDeadlineExceeded(slept.get_future().get().error()));
}

TEST_F(ContextTest, AStoppedContextDoesNotSleep) {
  const auto [ctx, cancel] = root_.WithCancel();
  cancel.Cancel();
  EXPECT_TRUE(IsCancelled(ctx.SleepFor(hours(1)).error()));
  EXPECT_TRUE(IsCancelled(ctx.SleepFor(seconds(0)).error()));
}

TEST_F(ContextTest, SleepsInRealTimeByDefault) {
  const Clock::TimePoint start = Clock::Real()->Now();
  EXPECT_TRUE(Context::Background().SleepFor(milliseconds(2)).ok());
  EXPECT_GE(Clock::Real()->Now() - start, milliseconds(2));
  EXPECT_TRUE(IsDeadlineExceeded(Context::Background().WithTimeout(milliseconds(1)).SleepFor(hours(1)).error()));
}

TEST_F(ContextTest, OnDoneRunsOnceOnTheStoppingThread) {
  const auto [ctx, cancel] = root_.WithCancel();
  std::vector<std::thread::id> ran;
  const Context::Registration registration = ctx.OnDone([&] { ran.push_back(std::this_thread::get_id()); });
  cancel.Cancel();
  cancel.Cancel();
  EXPECT_THAT(ran, ElementsAre(std::this_thread::get_id()));
}

TEST_F(ContextTest, OnDoneOfAStoppedContextRunsAtOnce) {
  const auto [ctx, cancel] = root_.WithCancel();
  cancel.Cancel();
  bool ran = false;
  const Context::Registration registration = ctx.OnDone([&] { ran = true; });
  EXPECT_TRUE(ran);
}

TEST_F(ContextTest, OnDoneSeesTheReason) {
  const Context timed = root_.WithTimeout(seconds(1));
  std::optional<Error> seen;
  const Context::Registration registration = timed.OnDone([&] { seen = timed.Err(); });
  clock_->Advance(seconds(1));
  ASSERT_TRUE(seen);
  EXPECT_TRUE(IsDeadlineExceeded(*seen));
}

TEST_F(ContextTest, ADroppedRegistrationDoesNotRun) {
  const auto [ctx, cancel] = root_.WithCancel();
  bool ran = false;
  {
    const Context::Registration registration = ctx.OnDone([&] { ran = true; });
  }
  Context::Registration moved;
  {
    Context::Registration registration = ctx.OnDone([&] { ran = true; });
    moved = std::move(registration);
  }
  moved = Context::Registration();
  cancel.Cancel();
  EXPECT_FALSE(ran);
}

TEST_F(ContextTest, DroppingARegistrationWaitsForItsCallback) {
  auto [ctx, cancel] = root_.WithCancel();
  std::promise<void> started;
  std::promise<void> release;
  std::atomic<bool> finished{false};
  std::optional<Context::Registration> registration = ctx.OnDone([&] {
    started.set_value();
    release.get_future().wait();
    finished = true;
  });
  Thread canceller("canceller", [&cancel = cancel] { cancel.Cancel(); });
  started.get_future().wait();
  Thread releaser("releaser", [&] { release.set_value(); });
  registration.reset();
  EXPECT_TRUE(finished);
}

TEST_F(ContextTest, ACallbackMayDropTheLastCopyOfADescendant) {
  auto [ctx, cancel] = root_.WithCancel();
  std::optional<Context> child = ctx.WithTimeout(seconds(5));
  std::optional<Context> grandchild = child->WithTimeout(seconds(4));
  const Context::Registration registration = child->OnDone([&] {
    grandchild.reset();
    child.reset();
  });
  cancel.Cancel();
  EXPECT_FALSE(child.has_value());
  EXPECT_EQ(clock_->waiters(), 0u);
}

TEST_F(ContextTest, WaitUntilStoppedReturnsWhenStopped) {
  const Context ctx = root_.WithTimeout(seconds(1));
  Thread waiter("waiter", [&] { ctx.WaitUntilStopped(); });
  clock_->Advance(seconds(1));
  waiter.Join();
  EXPECT_TRUE(ctx.stopped());
}

TEST_F(ContextTest, StandsManyThreads) {
  for (int round = 0; round < 50; ++round) {
    auto [ctx, cancel] = root_.WithCancel();
    std::vector<Thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back("user", [parent = ctx] {
        const Context own = parent.WithTimeout(hours(1));
        std::promise<void> done;
        const Context::Registration registration = own.OnDone([&] { done.set_value(); });
        const Result<void> result = own.WithTimeout(hours(2)).SleepFor(hours(1));
        EXPECT_TRUE(IsCancelled(result.error()));
        // The sleeper may be awake before the callback has run; a registration that is dropped by then would never run.
        done.get_future().wait();
      });
    }
    cancel.Cancel();
  }
  EXPECT_EQ(clock_->waiters(), 0u);
}

class WaitUntilTest : public ContextTest {
 protected:
  Mutex mu_;
  CondVar changed_;
  bool ready_ KUBE_GUARDED_BY(mu_) = false;

  Result<void> WaitReady(const Context& ctx) {
    MutexLock lock(mu_);
    return WaitUntil(ctx, mu_, changed_, [this] {
      mu_.AssertHeld();
      return ready_;
    });
  }
  void SetReady() {
    MutexLock lock(mu_);
    ready_ = true;
    changed_.NotifyAll();
  }
};

TEST_F(WaitUntilTest, AConditionThatHoldsWinsOverAStoppedContext) {
  const auto [ctx, cancel] = root_.WithCancel();
  cancel.Cancel();
  EXPECT_TRUE(IsCancelled(WaitReady(ctx).error()));
  SetReady();
  EXPECT_TRUE(WaitReady(ctx).ok());
}

TEST_F(WaitUntilTest, ReturnsWhenTheConditionComesTrue) {
  std::promise<Result<void>> done;
  Thread waiter("waiter", [&] { done.set_value(WaitReady(root_)); });
  SetReady();
  EXPECT_TRUE(done.get_future().get().ok());
}

TEST_F(WaitUntilTest, ReturnsTheErrorWhenTheContextStops) {
  for (int round = 0; round < 100; ++round) {
    auto [ctx, cancel] = root_.WithCancel();
    std::promise<Result<void>> done;
    Thread waiter("waiter", [&, ctx = ctx] { done.set_value(WaitReady(ctx)); });
    cancel.Cancel();
    EXPECT_TRUE(IsCancelled(done.get_future().get().error()));
  }
}

// ---- Values ----

TEST(ContextValueTest, ValuesAreInheritedAndFoundByTheirType) {
  const Context root = Context::Background();
  EXPECT_EQ(root.Value<int>(), nullptr);
  const Context one = root.WithValue(std::make_shared<int>(1));
  const auto [child, cancel] = one.WithTimeout(hours(1)).WithCancel();
  ASSERT_NE(child.Value<int>(), nullptr);
  EXPECT_EQ(*child.Value<int>(), 1);
  EXPECT_EQ(child.Value<double>(), nullptr);
  EXPECT_EQ(root.Value<int>(), nullptr);

  const Context two = child.WithValue(std::make_shared<double>(0.5)).WithValue(std::make_shared<int>(2));
  EXPECT_EQ(*two.Value<int>(), 2);
  EXPECT_EQ(*two.Value<double>(), 0.5);
  EXPECT_EQ(*child.Value<int>(), 1);
}

TEST(ContextValueTest, AContextWithAValueStopsWithItsParent) {
  const auto [parent, cancel] = Context::Background().WithTimeout(hours(1)).WithCancel();
  const Context child = parent.WithValue(std::make_shared<int>(1));
  EXPECT_EQ(child.deadline(), parent.deadline());
  EXPECT_FALSE(child.stopped());
  cancel.Cancel();
  EXPECT_TRUE(child.stopped());
  EXPECT_TRUE(IsCancelled(*child.Err()));
}

TEST(ContextValueTest, AValueLivesAsLongAsAContextThatHasIt) {
  const auto value = std::make_shared<int>(1);
  {
    std::optional<Context> child = Context::Background().WithValue(value).WithTimeout(hours(1));
    EXPECT_GT(value.use_count(), 1);
    child.reset();
  }
  EXPECT_EQ(value.use_count(), 1);
}

// Signals are sent in a process of their own: the context is one per process.
class SignalContextDeathTest : public ::testing::Test {
 protected:
  SignalContextDeathTest() { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

TEST_F(SignalContextDeathTest, TheFirstSignalCancels) {
  for (const int signal : {SIGINT, SIGTERM}) {
    EXPECT_EXIT(
        {
          const Context ctx = SignalContext();
          if (ctx.stopped()) std::exit(3);
          raise(signal);
          const Result<void> slept = ctx.SleepFor(hours(1));
          std::exit(!slept.ok() && IsCancelled(slept.error()) && SignalContext().stopped() ? 0 : 4);
        },
        ::testing::ExitedWithCode(0), "");
  }
}

TEST_F(SignalContextDeathTest, TheSecondSignalExitsWithOneEvenWhenCallbacksHang) {
  EXPECT_EXIT(
      {
        const Context ctx = SignalContext();
        std::promise<void> hanging;
        const Context::Registration registration = ctx.OnDone([&] {
          hanging.set_value();
          std::promise<void>().get_future().wait_for(hours(1));
        });
        raise(SIGTERM);
        hanging.get_future().wait();
        raise(SIGINT);
        std::exit(5);
      },
      ::testing::ExitedWithCode(1), "");
}

TEST_F(SignalContextDeathTest, AProgramThatNeverGetsASignalExitsCleanly) {
  EXPECT_EXIT(
      {
        const Context ctx = SignalContext();
        std::exit(ctx.stopped() ? 3 : 0);
      },
      ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace kube
