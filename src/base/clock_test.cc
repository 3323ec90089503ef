#include "kube/base/clock.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <pthread.h>
#include <signal.h>

#include <atomic>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "kube/base/fake_clock.h"
#include "kube/base/thread.h"

namespace kube {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;

TEST(FakeClockTest, StandsStillUntilAdvanced) {
  FakeClock clock;
  const Clock::TimePoint start = clock.Now();
  const Clock::WallTime wall = clock.WallNow();
  EXPECT_EQ(clock.Now(), start);
  clock.Advance(seconds(90));
  EXPECT_EQ(clock.Now() - start, seconds(90));
  EXPECT_EQ(clock.WallNow() - wall, seconds(90));
}

TEST(FakeClockTest, WallClockStartsAtAKnownMomentAndJumpsAlone) {
  FakeClock clock;
  EXPECT_EQ(clock.WallNow().time_since_epoch(), seconds(1577836800));
  const Clock::TimePoint before = clock.Now();
  clock.SetWallNow(Clock::WallTime(seconds(5)));
  clock.Advance(seconds(1));
  EXPECT_EQ(clock.WallNow().time_since_epoch(), seconds(6));
  EXPECT_EQ(clock.Now() - before, seconds(1));
}

TEST(FakeClockTest, RunsTimersInTheOrderOfTimeThenOfAdding) {
  FakeClock clock;
  std::vector<int> ran;
  const Timer c = clock.AddTimerAfter(seconds(3), [&] { ran.push_back(3); });
  const Timer a = clock.AddTimerAfter(seconds(1), [&] { ran.push_back(1); });
  const Timer a2 = clock.AddTimerAfter(seconds(1), [&] { ran.push_back(11); });
  const Timer b = clock.AddTimerAfter(seconds(2), [&] { ran.push_back(2); });
  clock.Advance(seconds(2));
  EXPECT_THAT(ran, ElementsAre(1, 11, 2));
  EXPECT_FALSE(b.pending());
  EXPECT_TRUE(c.pending());
  clock.Advance(seconds(1));
  EXPECT_THAT(ran, ElementsAre(1, 11, 2, 3));
}

TEST(FakeClockTest, TimeIsTheTimersMomentWhileItRuns) {
  FakeClock clock;
  const Clock::TimePoint start = clock.Now();
  Clock::TimePoint seen;
  const Timer timer = clock.AddTimerAfter(seconds(3), [&] { seen = clock.Now(); });
  clock.Advance(seconds(10));
  EXPECT_EQ(seen - start, seconds(3));
  EXPECT_EQ(clock.Now() - start, seconds(10));
}

TEST(FakeClockTest, RunsTimersThatTimersAdd) {
  FakeClock clock;
  int ticks = 0;
  Timer timer;
  std::function<void()> tick = [&] {
    ++ticks;
    timer = clock.AddTimerAfter(seconds(1), tick);
  };
  timer = clock.AddTimerAfter(seconds(1), tick);
  clock.Advance(seconds(5));
  EXPECT_EQ(ticks, 5);
  EXPECT_EQ(clock.waiters(), 1u);
}

TEST(FakeClockTest, ADueTimerWaitsForTheNextAdvance) {
  FakeClock clock;
  bool ran = false;
  const Timer timer = clock.AddTimerAfter(seconds(-1), [&] { ran = true; });
  EXPECT_FALSE(ran);
  const Clock::TimePoint before = clock.Now();
  clock.Advance({});
  EXPECT_TRUE(ran);
  EXPECT_EQ(clock.Now(), before);
}

TEST(FakeClockTest, AdvanceToNextTimerRunsOneMoment) {
  FakeClock clock;
  std::vector<int> ran;
  EXPECT_FALSE(clock.AdvanceToNextTimer());
  const Timer a = clock.AddTimerAfter(seconds(1), [&] { ran.push_back(1); });
  const Timer b = clock.AddTimerAfter(seconds(1), [&] { ran.push_back(2); });
  const Timer c = clock.AddTimerAfter(seconds(2), [&] { ran.push_back(3); });
  EXPECT_TRUE(clock.AdvanceToNextTimer());
  EXPECT_THAT(ran, ElementsAre(1, 2));
}

TEST(FakeClockTest, WaitsForWaiters) {
  FakeClock clock;
  EXPECT_TRUE(clock.WaitForWaiters(0));
  EXPECT_FALSE(clock.WaitForWaiters(1, milliseconds(1)));
  std::promise<void> release;
  Thread other("other", [&] {
    const Timer timer = clock.AddTimerAfter(hours(1), [] {});
    release.get_future().wait();
  });
  EXPECT_TRUE(clock.WaitForWaiters(1));
  EXPECT_EQ(clock.waiters(), 1u);
  release.set_value();
  other.Join();
  EXPECT_EQ(clock.waiters(), 0u);
}

TEST(TimerTest, CancelPreventsTheCall) {
  FakeClock clock;
  bool ran = false;
  Timer timer = clock.AddTimerAfter(seconds(1), [&] { ran = true; });
  EXPECT_TRUE(timer.Cancel());
  EXPECT_FALSE(timer.Cancel());
  clock.Advance(seconds(2));
  EXPECT_FALSE(ran);
}

TEST(TimerTest, GoingOutOfScopeCancels) {
  FakeClock clock;
  bool ran = false;
  {
    const Timer timer = clock.AddTimerAfter(seconds(1), [&] { ran = true; });
  }
  clock.Advance(seconds(2));
  EXPECT_FALSE(ran);
  EXPECT_EQ(clock.waiters(), 0u);
}

TEST(TimerTest, AssignmentCancelsTheOldOne) {
  FakeClock clock;
  std::vector<int> ran;
  Timer timer = clock.AddTimerAfter(seconds(1), [&] { ran.push_back(1); });
  timer = clock.AddTimerAfter(seconds(1), [&] { ran.push_back(2); });
  clock.Advance(seconds(1));
  EXPECT_THAT(ran, ElementsAre(2));
}

TEST(TimerTest, CancelDropsWhatTheCallbackHolds) {
  FakeClock clock;
  auto held = std::make_shared<int>(1);
  Timer timer = clock.AddTimerAfter(seconds(1), [held] {});
  EXPECT_EQ(held.use_count(), 2);
  timer.Cancel();
  EXPECT_EQ(held.use_count(), 1);
}

TEST(TimerTest, MayCancelItselfWhileItRuns) {
  FakeClock clock;
  Timer timer;
  bool prevented = true;
  timer = clock.AddTimerAfter(seconds(1), [&] { prevented = timer.Cancel(); });
  clock.Advance(seconds(1));
  EXPECT_FALSE(prevented);
}

TEST(TimerTest, CancelWaitsForARunningCallback) {
  FakeClock clock;
  std::promise<void> started;
  std::promise<void> release;
  std::atomic<bool> finished{false};
  Timer timer = clock.AddTimerAfter(seconds(1), [&] {
    started.set_value();
    release.get_future().wait();
    finished = true;
  });
  Thread advancer("advancer", [&] { clock.Advance(seconds(1)); });
  started.get_future().wait();
  Thread releaser("releaser", [&] { release.set_value(); });
  EXPECT_FALSE(timer.Cancel());
  EXPECT_TRUE(finished);
}

TEST(TimerTest, OutlivesItsClock) {
  auto clock = std::make_unique<FakeClock>();
  Timer timer = clock->AddTimerAfter(seconds(1), [] {});
  clock.reset();
  EXPECT_TRUE(timer.pending());
  EXPECT_TRUE(timer.Cancel());
}

TEST(RealClockTest, RunsTimersInOrderOnItsThread) {
  const std::shared_ptr<Clock>& clock = Clock::Real();
  std::promise<void> added;
  std::promise<void> done;
  std::vector<int> ran;
  std::thread::id thread;
  const Clock::TimePoint now = clock->Now();
  // Holds the timer thread until the other timers are in.
  const Timer holder = clock->AddTimer(now, [&] { added.get_future().wait(); });
  const Timer later = clock->AddTimer(now + milliseconds(2), [&] {
    ran.push_back(2);
    thread = std::this_thread::get_id();
    done.set_value();
  });
  const Timer sooner = clock->AddTimer(now + milliseconds(1), [&] { ran.push_back(1); });
  const Timer never = clock->AddTimer(now + hours(1), [&] { ran.push_back(99); });
  added.set_value();
  done.get_future().wait();
  EXPECT_THAT(ran, ElementsAre(1, 2));
  EXPECT_NE(thread, std::this_thread::get_id());
}

TEST(RealClockTest, AnEarlierTimerWakesTheThread) {
  const std::shared_ptr<Clock>& clock = Clock::Real();
  const Timer far = clock->AddTimerAfter(hours(10), [] {});
  std::promise<void> done;
  const Timer near = clock->AddTimerAfter(milliseconds(1), [&] { done.set_value(); });
  done.get_future().wait();
  EXPECT_TRUE(far.pending());
}

TEST(RealClockTest, NeverRunsEarly) {
  const std::shared_ptr<Clock>& clock = Clock::Real();
  std::promise<Clock::TimePoint> ran;
  const Clock::TimePoint when = clock->Later(milliseconds(5));
  const Timer timer = clock->AddTimer(when, [&] { ran.set_value(clock->Now()); });
  EXPECT_GE(ran.get_future().get(), when);
}

TEST(RealClockTest, StandsManyThreadsAddingAndCancelling) {
  const std::shared_ptr<Clock>& clock = Clock::Real();
  std::atomic<int> ran{0};
  std::atomic<int> prevented{0};
  constexpr int kThreads = 4;
  constexpr int kEach = 200;
  {
    std::vector<Thread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back("adder", [&] {
        for (int i = 0; i < kEach; ++i) {
          Timer timer = clock->AddTimerAfter(std::chrono::microseconds(i % 7), [&] { ++ran; });
          if (timer.Cancel()) ++prevented;
        }
      });
    }
  }
  EXPECT_EQ(ran + prevented, kThreads * kEach);
}

TEST(ClockTest, LaterSaturates) {
  FakeClock clock;
  EXPECT_EQ(clock.Later(Clock::Duration::max()), Clock::TimePoint::max());
  EXPECT_EQ(clock.Later(seconds(2)), clock.Now() + seconds(2));
}

TEST(ThreadTest, CarriesItsNameCutToFifteenBytes) {
  std::string name;
  Thread thread("a-rather-long-thread-name", [&] {
    char buffer[64] = {};
    pthread_getname_np(pthread_self(), buffer, sizeof(buffer));
    name = buffer;
  });
  thread.Join();
  EXPECT_EQ(name, "a-rather-long-t");
  EXPECT_FALSE(thread.joinable());
}

TEST(ThreadTest, BlocksSignalsOfTheProcess) {
  bool blocked = false;
  Thread thread("t", [&] {
    sigset_t mask;
    pthread_sigmask(SIG_SETMASK, nullptr, &mask);
    blocked = sigismember(&mask, SIGTERM) == 1 && sigismember(&mask, SIGSEGV) == 0;
  });
  thread.Join();
  EXPECT_TRUE(blocked);
}

TEST(ThreadTest, AssignmentJoinsTheOldThread) {
  std::atomic<int> done{0};
  Thread thread("one", [&] { ++done; });
  thread = Thread("two", [&] { ++done; });
  EXPECT_GE(done, 1);
  thread.Join();
  EXPECT_EQ(done, 2);
}

}  // namespace
}  // namespace kube
