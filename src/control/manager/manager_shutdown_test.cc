// The end of a manager: in good order, in bounded time, and with what does not end by itself.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>

#include "control/manager/manager_test_util.h"
#include "kube/api/coordination/v1.h"
#include "kube/base/fake_clock.h"

namespace kube::internal {
namespace {

using coordination::v1::Lease;
using core::v1::ConfigMap;
using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Something that does not listen to its context, but to the test.
class Stuck {
 public:
  void Enter() {
    MutexLock lock(mu_);
    ++inside_;
    while (!released_) changed_.Wait(mu_);
    --inside_;
  }
  void Release() {
    MutexLock lock(mu_);
    released_ = true;
    changed_.NotifyAll();
  }
  int inside() const {
    MutexLock lock(mu_);
    return inside_;
  }

 private:
  mutable Mutex mu_;
  CondVar changed_;
  int inside_ KUBE_GUARDED_BY(mu_) = 0;
  bool released_ KUBE_GUARDED_BY(mu_) = false;
};

class ManagerShutdownTest : public ManagerServerTest {
 protected:
  // Long terms: a machine that is busy for seconds does not lose the lease. Replicas release it on shutdown, so no test waits for its end.
  static LeaderElectionOptions Quick() {
    return {.name = "manager",
            .ns = "default",
            .identity = "me",
            .lease_duration = seconds(60),
            .renew_deadline = seconds(40),
            .retry_period = milliseconds(50)};
  }
  ControllerSpec StuckController() {
    return ControllerFor<ConfigMap>("maps").Workers(2).Reconcile([this](const Context&, const Request& request) -> Result<Action> {
      if (request.key.ns == "default") stuck_.Enter();
      return Action::Done();
    });
  }
  Runnable StuckRunnable(bool needs_leader) {
    return {.name = "mailer",
            .run = [this](const Context&) -> Result<void> {
              stuck_.Enter();
              return {};
            },
            .needs_leader = needs_leader};
  }
  Result<Lease> GetLease() const { return client_->Get<Lease>(Patience(), {"default", "manager"}); }

  Stuck stuck_;
};

TEST_F(ManagerShutdownTest, AReconcilerThatDoesNotReturnIsNamedWithItsKeys) {
  Create("a");
  Create("b");
  Manager manager(*client_, {.graceful_shutdown_timeout = milliseconds(50)});
  ASSERT_TRUE(manager.Add(StuckController()));
  EXPECT_THAT(manager.StillRunning(), IsEmpty());
  RunningManager running(manager);
  ASSERT_TRUE(Eventually([&] { return stuck_.inside() == 2; }));
  const Result<void> ran = running.Stop();
  ASSERT_FALSE(ran);
  EXPECT_TRUE(IsShutdownTimeout(ran.error()));
  EXPECT_EQ(ran.error().ToString(), "shutdown did not finish within 0.05s, still running: controller maps (default/a, default/b)");
  EXPECT_THAT(manager.StillRunning(), ElementsAre("controller maps (default/a, default/b)"));
  // Later it ends after all: nothing is left, and the destructor has nothing to wait for.
  stuck_.Release();
  EXPECT_TRUE(Eventually([&] { return manager.StillRunning().empty(); }));
}

TEST_F(ManagerShutdownTest, TheDestructorWaitsForWhatStillRuns) {
  std::atomic<bool> destroyed = false;
  auto manager = std::make_unique<Manager>(*client_, ManagerOptions{.graceful_shutdown_timeout = seconds(0)});
  ASSERT_TRUE(manager->Add(StuckRunnable(false)));
  {
    RunningManager running(*manager);
    ASSERT_TRUE(Eventually([&] { return stuck_.inside() == 1; }));
    const Result<void> ran = running.Stop();
    ASSERT_FALSE(ran);
    EXPECT_EQ(ran.error().ToString(), "shutdown did not finish within 0s, still running: runnable mailer");
  }
  Thread destroyer("destroyer", [&] {
    manager.reset();
    destroyed = true;
  });
  EXPECT_TRUE(Context::Background().SleepFor(milliseconds(20)));
  EXPECT_FALSE(destroyed);  // cannot be too early; that it waits is what keeps the runnable's references good
  stuck_.Release();
  destroyer.Join();
  EXPECT_TRUE(destroyed);
}

TEST_F(ManagerShutdownTest, TheTimeIsThatOfTheManagersClock) {
  const auto clock = std::make_shared<FakeClock>();
  Manager manager(*client_, {.clock = clock, .graceful_shutdown_timeout = seconds(25)});
  ASSERT_TRUE(manager.Add(StuckRunnable(true)));
  auto [ctx, cancel] = Context::Background(clock).WithCancel();
  std::optional<Result<void>> ran;
  Thread runner("runner", [&, ctx = ctx] { ran = manager.Run(ctx); });
  ASSERT_TRUE(Eventually([&] { return stuck_.inside() == 1; }));
  cancel.Cancel();
  ASSERT_TRUE(clock->WaitForWaiters(1));
  clock->Advance(seconds(25));
  runner.Join();
  EXPECT_THAT(ran->error().ToString(), HasSubstr("did not finish within 25s, still running: runnable mailer"));
  stuck_.Release();
}

TEST_F(ManagerShutdownTest, WhatReturnsInTimeIsAnEndInGoodOrder) {
  Create("a");
  Manager manager(*client_, {.leader_election = Quick(), .graceful_shutdown_timeout = seconds(60)});
  ASSERT_TRUE(manager.Add(StuckController()));
  RunningManager running(manager);
  ASSERT_TRUE(Eventually([&] { return stuck_.inside() == 1; }));
  std::atomic<bool> ended = false;
  Thread stopper("stopper", [&] {
    EXPECT_TRUE(running.Stop());
    ended = true;
  });
  // The lease is renewed while the reconciler still runs, and then released.
  const Lease before = GetLease().value();
  EXPECT_TRUE(Eventually([&] { return GetLease()->spec.renew_time != before.spec.renew_time; }));
  EXPECT_FALSE(ended);
  EXPECT_EQ(GetLease()->spec.holder_identity, String("me"));
  stuck_.Release();
  stopper.Join();
  EXPECT_EQ(GetLease()->spec.holder_identity.value_or(""), "");
  EXPECT_THAT(manager.StillRunning(), IsEmpty());
}

TEST_F(ManagerShutdownTest, TheLeaseIsNotGivenBackWhileSomethingStillActs) {
  Create("a");
  Manager manager(*client_, {.leader_election = Quick(), .graceful_shutdown_timeout = milliseconds(100)});
  ASSERT_TRUE(manager.Add(StuckController()));
  RunningManager running(manager);
  ASSERT_TRUE(Eventually([&] { return stuck_.inside() == 1; }));
  const Result<void> ran = running.Stop();
  ASSERT_FALSE(ran);
  EXPECT_TRUE(IsShutdownTimeout(ran.error()));
  EXPECT_THAT(ran.error().ToString(), HasSubstr("controller maps (default/a)"));
  EXPECT_TRUE(Eventually([&] { return !manager.is_leader(); }));
  EXPECT_EQ(GetLease()->spec.holder_identity, String("me"));  // it ends by itself
  stuck_.Release();
  EXPECT_TRUE(Eventually([&] { return manager.StillRunning().empty(); }));
  EXPECT_EQ(GetLease()->spec.holder_identity, String("me"));
}

TEST_F(ManagerShutdownTest, ALostLeaseIsToldAlthoughAReconcilerHangs) {
  Create("a");
  Manager manager(*client_, {.leader_election = Quick(), .graceful_shutdown_timeout = milliseconds(50)});
  ASSERT_TRUE(manager.Add(StuckController()));
  RunningManager running(manager);
  ASSERT_TRUE(Eventually([&] { return stuck_.inside() == 1; }));
  // Another replica takes the lease. A write of ours may come in between.
  EXPECT_TRUE(Eventually([&] {
    Lease lease = GetLease().value();
    lease.spec.holder_identity = String("other");
    return client_->Update(Patience(), lease).ok();
  }));
  const Result<void> ran = running.Wait();
  ASSERT_FALSE(ran);
  EXPECT_TRUE(IsLeadershipLost(ran.error())) << ran.error().ToString();
  EXPECT_THAT(ran.error().ToString(), HasSubstr("still running: controller maps (default/a)"));
  EXPECT_FALSE(manager.is_leader());
  stuck_.Release();
}

TEST_F(ManagerShutdownTest, AFailureIsToldWithWhatStillRuns) {
  Manager manager(*client_, {.graceful_shutdown_timeout = milliseconds(50)});
  ASSERT_TRUE(manager.Add(StuckRunnable(false)));
  ASSERT_TRUE(manager.Add(Runnable{.name = "bad", .run = [this](const Context&) -> Result<void> {
                                     EXPECT_TRUE(Eventually([&] { return stuck_.inside() == 1; }));
                                     return Error::Internal("no disk");
                                   }}));
  const Result<void> ran = manager.Run(Patience());
  ASSERT_FALSE(ran);
  EXPECT_EQ(ran.error().ToString(), "shutdown did not finish within 0.05s, still running: runnable mailer: bad: no disk");
  EXPECT_FALSE(IsShutdownTimeout(ran.error()));
  stuck_.Release();
}

TEST_F(ManagerShutdownTest, EventsAreWrittenBeforeRunReturns) {
  Manager manager(*client_);
  const EventRecorder events = manager.events("maps");
  ASSERT_TRUE(manager.Add(
      ControllerFor<ConfigMap>("maps").Reconcile([&](const Context&, const Request&) -> Result<Action> { return Action::Done(); })));
  Create("a");
  const ConfigMap map = client_->Get<ConfigMap>(Patience(), {"default", "a"}).value();
  ASSERT_TRUE(manager.Add(Runnable{.name = "teller", .run = [&](const Context& ctx) -> Result<void> {
                                     ctx.WaitUntilStopped();
                                     events.Event(map, EventType::kNormal, "Stopping", "Stop", "the end");
                                     return {};
                                   }}));
  RunningManager running(manager);
  EXPECT_TRUE(Eventually([&] { return manager.is_leader(); }));
  EXPECT_TRUE(running.Stop());
  EXPECT_EQ(events.stats().written, 1U);
}

}  // namespace
}  // namespace kube::internal
