#include "kube/base/periodic.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "base/process_log_test_util.h"
#include "kube/base/fake_clock.h"
#include "kube/base/log.h"
#include "kube/base/thread.h"

namespace kube {
namespace {

using internal::ProcessLog;
using std::chrono::duration_cast;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class PeriodicTest : public ::testing::Test {
 protected:
  // Runs until there have been `calls` calls, with `pauses` pauses between or before them, and returns when each call began. `work` is the
  // function, called with the number of the call. The last call stops the context.
  std::vector<milliseconds> Starts(const PeriodicOptions& options, int calls, int pauses,
                                   const std::function<Result<void>(int call)>& work = {}) {
    const auto [ctx, cancel] = root_.WithCancel();
    const CancelSource& stop = cancel;
    const Clock::TimePoint begin = clock_->Now();
    std::vector<milliseconds> starts;
    std::promise<void> ended;
    Thread thread("periodic", [&, ctx = ctx] {
      RunPeriodically(ctx, options, [&](const Context&) -> Result<void> {
        starts.push_back(duration_cast<milliseconds>(clock_->Now() - begin));
        const int call = static_cast<int>(starts.size());
        if (call == calls) stop.Cancel();
        return work ? work(call) : Result<void>();
      });
      ended.set_value();
    });
    for (int i = 0; i < pauses; ++i) {
      EXPECT_TRUE(clock_->WaitForWaiters(1)) << "pause " << i + 1;
      EXPECT_TRUE(clock_->AdvanceToNextTimer());
    }
    EXPECT_EQ(ended.get_future().wait_for(seconds(30)), std::future_status::ready) << "one pause more than expected";
    stop.Cancel();
    thread.Join();
    return starts;
  }
  Result<void> Take(milliseconds time) {
    clock_->Advance(time);
    return {};
  }

  std::shared_ptr<FakeClock> clock_ = std::make_shared<FakeClock>();
  Context root_ = Context::Background(clock_);
};

TEST_F(PeriodicTest, CallsAtOnceAndAfterEachPeriod) {
  EXPECT_THAT(Starts({.period = seconds(10)}, 4, 3), ElementsAre(seconds(0), seconds(10), seconds(20), seconds(30)));
}

TEST_F(PeriodicTest, MayWaitBeforeTheFirstCall) {
  EXPECT_THAT(Starts({.period = seconds(10), .immediate = false}, 2, 2), ElementsAre(seconds(10), seconds(20)));
}

TEST_F(PeriodicTest, ASlidingPeriodBeginsWhenTheCallReturns) {
  EXPECT_THAT(Starts({.period = seconds(10)}, 3, 2, [&](int) { return Take(seconds(3)); }),
              ElementsAre(seconds(0), seconds(13), seconds(26)));
}

TEST_F(PeriodicTest, AFixedPeriodBeginsWithTheCall) {
  EXPECT_THAT(Starts({.period = seconds(10), .sliding = false}, 3, 2, [&](int) { return Take(seconds(3)); }),
              ElementsAre(seconds(0), seconds(10), seconds(20)));
}

TEST_F(PeriodicTest, AFixedPeriodThatACallOutlastsIsOverAtOnceAndNotMadeUpFor) {
  const auto first_is_long = [&](int call) { return Take(call == 1 ? seconds(35) : seconds(1)); };
  EXPECT_THAT(Starts({.period = seconds(10), .sliding = false}, 4, 2, first_is_long),
              ElementsAre(seconds(0), seconds(35), seconds(45), seconds(55)));
}

TEST_F(PeriodicTest, WithoutAPeriodThereIsNoPause) {
  EXPECT_THAT(Starts({}, 100, 0), SizeIs(100));
  EXPECT_THAT(Starts({.period = -seconds(1), .sliding = false}, 100, 0), SizeIs(100));
}

TEST_F(PeriodicTest, JitterStretchesEachPeriodAnew) {
  std::vector<double> parts = {0, 0.5, 0.25};
  const auto next = [&parts, i = 0]() mutable { return parts.at(static_cast<std::size_t>(i++)); };
  EXPECT_THAT(Starts({.period = seconds(10), .jitter = 0.2, .random = next}, 3, 2), ElementsAre(seconds(0), seconds(10), seconds(21)));
  EXPECT_THAT(Starts({.period = seconds(10), .jitter = 0.2, .sliding = false, .random = [] { return 0.5; }}, 3, 2,
                     [&](int) { return Take(seconds(4)); }),
              ElementsAre(seconds(0), seconds(11), seconds(22)));
  EXPECT_THAT(Starts({.period = seconds(10), .jitter = 0.2, .immediate = false, .random = [] { return 0.5; }}, 2, 2),
              ElementsAre(seconds(11), seconds(22)));
}

TEST_F(PeriodicTest, WithoutJitterNothingIsRandom) {
  const auto never = []() -> double {
    ADD_FAILURE() << "asked for a random number";
    return 0;
  };
  EXPECT_THAT(Starts({.period = seconds(10), .random = never}, 2, 1), ElementsAre(seconds(0), seconds(10)));
  EXPECT_THAT(Starts({.period = seconds(10), .jitter = -1, .random = never}, 2, 1), ElementsAre(seconds(0), seconds(10)));
}

TEST_F(PeriodicTest, AStoppedContextIsNeverCalledWith) {
  const auto [ctx, cancel] = root_.WithCancel();
  cancel.Cancel();
  const auto never = [](const Context&) -> Result<void> {
    ADD_FAILURE() << "called";
    return {};
  };
  RunPeriodically(ctx, {}, never);
  RunPeriodically(ctx, {.period = seconds(1), .immediate = false}, never);
}

TEST_F(PeriodicTest, APauseEndsWithTheContext) {
  const Context ctx = root_.WithTimeout(seconds(25));
  int calls = 0;
  Thread thread("periodic", [&] {
    RunPeriodically(ctx, {.period = seconds(10)}, [&](const Context&) -> Result<void> {
      ++calls;
      return {};
    });
  });
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(clock_->WaitForWaiters(2));  // the deadline and the pause
    clock_->Advance(seconds(10));
  }
  ASSERT_TRUE(clock_->WaitForWaiters(2));
  clock_->Advance(seconds(5));
  thread.Join();
  EXPECT_EQ(calls, 3);
}

TEST_F(PeriodicTest, TheFunctionGetsTheContext) {
  const Context ctx = root_.WithTimeout(minutes(1));
  int calls = 0;
  Thread thread("periodic", [&] {
    RunPeriodically(ctx, {}, [&](const Context& own) {
      ++calls;
      return own.SleepFor(minutes(5));
    });
  });
  ASSERT_TRUE(clock_->WaitForWaiters(2));  // the deadline and the sleep
  clock_->Advance(minutes(1));
  thread.Join();
  EXPECT_EQ(calls, 1);
}

// A thread that lives as long as a test logs to the backend of the process.
class PeriodicFailureTest : public PeriodicTest {
 protected:
  std::vector<std::string> lines() const { return log_.lines(); }

 private:
  const ProcessLog log_;
};

TEST_F(PeriodicFailureTest, ErrorsAndExceptionsAreLoggedAndTheNextCallComes) {
  const auto fail = [](int call) -> Result<void> {
    if (call == 1) return Error::Internal("no disk");
    if (call == 2) Result<void>(Error::Invalid("no name")).value();
    if (call == 3) throw std::runtime_error("oops");
    if (call == 4) throw 7;  // NOLINT: users do such things
    return {};
  };
  EXPECT_THAT(Starts({.name = "sweeper", .period = seconds(10)}, 6, 5, fail),
              ElementsAre(seconds(0), seconds(10), seconds(20), seconds(30), seconds(40), seconds(50)));
  ASSERT_THAT(lines(), SizeIs(4));
  for (const std::string& line : lines()) EXPECT_THAT(line, HasSubstr("name=\"sweeper\""));
  EXPECT_THAT(lines()[0], HasSubstr("no disk"));
  EXPECT_THAT(lines()[1], HasSubstr("no name"));
  EXPECT_THAT(lines()[2], HasSubstr("it threw: oops"));
  EXPECT_THAT(lines()[3], HasSubstr("it threw something"));
}

TEST_F(PeriodicFailureTest, WhatFailsBecauseTheContextStoppedIsNotLogged) {
  EXPECT_THAT(Starts({}, 1, 0, [](int) -> Result<void> { return Error::Cancelled("stopped"); }), SizeIs(1));
  EXPECT_THAT(lines(), IsEmpty());
}

TEST_F(PeriodicTest, AsAFunctionItEndsWithoutAnError) {
  const auto [ctx, cancel] = root_.WithCancel();
  const CancelSource& stop = cancel;
  int calls = 0;
  const PeriodicFunction run = Periodically({}, [&](const Context&) -> Result<void> {
    if (++calls == 3) stop.Cancel();
    return {};
  });
  EXPECT_TRUE(run(ctx));
  EXPECT_EQ(calls, 3);
  EXPECT_TRUE(run(ctx)) << "may be called again";
  EXPECT_EQ(calls, 3);
}

}  // namespace
}  // namespace kube
