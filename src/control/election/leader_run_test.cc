// Whole runs: callbacks, renewals, loss, release. contracts.md section 6, and contract 21.
#include <fcntl.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "control/election/lease_test_util.h"

namespace kube::internal {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::UnorderedElementsAre;
using Lines = std::vector<std::string>;

Lines Without(const Lines& lines, const std::string& prefix) {
  Lines rest;
  for (const std::string& line : lines) {
    if (line.rfind(prefix, 0) != 0) rest.push_back(line);
  }
  return rest;
}

TEST(Contract06LeaderElectionRun, TheFirstReplicaLeadsAndTheSecondStandsBy) {
  Election election;
  Election::Replica& a = election.Start("a");
  Election::Replica& b = election.Start("b");
  ASSERT_TRUE(election.WaitForLine(a, "started"));
  EXPECT_TRUE(a.elector().is_leader());
  EXPECT_FALSE(b.elector().is_leader());
  EXPECT_EQ(b.elector().leader(), "a");
  ASSERT_TRUE(election.Advance(seconds(60)));
  EXPECT_TRUE(a.elector().is_leader());
  EXPECT_FALSE(b.elector().is_leader());
  EXPECT_THAT(election.lease->ops("b"), Not(Contains("update")));
}

TEST(Contract06LeaderElectionRun, RenewsEveryRetryPeriod) {
  Election election;
  Election::Replica& a = election.Start("a");
  ASSERT_TRUE(election.Advance(seconds(20)));
  EXPECT_TRUE(a.elector().is_leader());
  // The first renewal comes at once, then one every two seconds.
  EXPECT_EQ(election.lease->ops(), (Lines{"get", "create", "update", "update", "update", "update", "update", "update", "update", "update",
                                          "update", "update", "update"}));
}

TEST(Contract06LeaderElectionRun, StandbysTryEveryRetryPeriodWithJitter) {
  Election election;
  election.lease->Put({.holder = "other", .lease_duration_seconds = 1000});
  std::vector<double> dice{0, 0.5, 1};
  std::size_t at = 0;
  Election::Replica& a = election.Start("a", {.random = [&] { return dice[at++ % dice.size()]; }});
  const auto tries = [&] { return election.lease->ops().size(); };
  EXPECT_EQ(tries(), 1U);
  ASSERT_TRUE(election.Advance(milliseconds(1999)));
  EXPECT_EQ(tries(), 1U);
  ASSERT_TRUE(election.Advance(milliseconds(1)));  // 2 s
  EXPECT_EQ(tries(), 2U);
  ASSERT_TRUE(election.Advance(milliseconds(3199)));
  EXPECT_EQ(tries(), 2U);
  ASSERT_TRUE(election.Advance(milliseconds(1)));  // 3.2 s
  EXPECT_EQ(tries(), 3U);
  ASSERT_TRUE(election.Advance(milliseconds(4399)));
  EXPECT_EQ(tries(), 3U);
  ASSERT_TRUE(election.Advance(milliseconds(1)));  // 4.4 s
  EXPECT_EQ(tries(), 4U);
  EXPECT_FALSE(a.elector().is_leader());
}

TEST(Contract06LeaderElectionRun, AReleasedLeaseGoesToTheStandbyWithinItsRetryPeriod) {
  Election election;
  Election::Replica& a = election.Start("a");
  Election::Replica& b = election.Start("b");
  ASSERT_TRUE(election.WaitForLine(a, "started"));
  a.Cancel();
  ASSERT_TRUE(election.WaitForEnd(a));
  ASSERT_TRUE(election.Advance(seconds(3)));
  EXPECT_TRUE(b.elector().is_leader());
  EXPECT_EQ(election.lease->record()->transitions, 1);
}

TEST(Contract06LeaderElectionRun, WithoutReleaseTheStandbyWaitsForTheEndOfTheLease) {
  Election election;
  Election::Replica& a = election.Start("a", {.release_on_cancel = false});
  Election::Replica& b = election.Start("b");
  ASSERT_TRUE(election.WaitForLine(a, "started"));
  a.Cancel();
  ASSERT_TRUE(election.WaitForEnd(a));
  EXPECT_EQ(election.lease->record()->holder, "a");
  ASSERT_TRUE(election.Advance(seconds(10)));
  EXPECT_FALSE(b.elector().is_leader());
  ASSERT_TRUE(election.Advance(seconds(10)));
  EXPECT_TRUE(b.elector().is_leader());
}

TEST(Contract06LeaderElectionRun, OnNewLeaderOncePerChange) {
  Election election;
  Election::Replica& b = election.Start("b", {.identity = "b"});
  ASSERT_TRUE(election.WaitForLine(b, "new leader b"));
  ASSERT_TRUE(election.Advance(seconds(30)));
  Election::Replica& c = election.Start("c");
  ASSERT_TRUE(election.WaitForLine(c, "new leader b"));
  ASSERT_TRUE(election.Advance(seconds(30)));
  b.Cancel();
  ASSERT_TRUE(election.WaitForEnd(b));
  ASSERT_TRUE(election.Advance(seconds(5)));
  ASSERT_TRUE(election.WaitForLine(c, "new leader c"));
  EXPECT_THAT(Without(Without(c.said(), "started"), "stopped"), ElementsAre("new leader b", "new leader c"));
}

TEST(Contract06LeaderElectionRun, RunEndsWithAnErrorWhereTheLeaseIsTaken) {
  Election election;
  Election::Replica& a = election.Start("a");
  ASSERT_TRUE(election.WaitForLine(a, "started"));
  election.lease->Put({.holder = "thief", .lease_duration_seconds = 15});
  ASSERT_TRUE(election.Advance(seconds(2)));
  ASSERT_TRUE(election.WaitForEnd(a));
  ASSERT_TRUE(a.result());
  ASSERT_FALSE(*a.result());
  EXPECT_TRUE(IsLeadershipLost(a.result()->error()));
  EXPECT_THAT(a.result()->error().ToString(), HasSubstr("held by thief"));
  EXPECT_EQ(election.lease->record()->holder, "thief");
  EXPECT_FALSE(a.elector().is_leader());
}

TEST(Contract06LeaderElectionRun, AShortFailureOfTheServerIsNoLoss) {
  Election election;
  Election::Replica& a = election.Start("a");
  for (int i = 0; i < 4; ++i) {
    election.lease->AddFault("update", FakeLease::Fault::kFail, ApiError(500, "InternalError"));
    election.lease->AddFault("get", FakeLease::Fault::kFail, ApiError(500, "InternalError"));
  }
  ASSERT_TRUE(election.Advance(seconds(30)));
  EXPECT_TRUE(a.elector().is_leader());
  EXPECT_FALSE(a.work_stopped_at());
}

TEST(Contract06LeaderElectionRun, WhoCannotRenewForTheRenewDeadlineGivesUp) {
  Election election;
  Election::Replica& a = election.Start("a");
  ASSERT_TRUE(election.WaitForLine(a, "started"));
  const Clock::TimePoint begin = election.clock->Now();
  election.lease->Partition("a", true);
  ASSERT_TRUE(election.Advance(seconds(20)));
  ASSERT_TRUE(election.WaitForEnd(a));
  ASSERT_TRUE(a.work_stopped_at());
  // The last renewal was sent at the beginning, the next round began two seconds later and took the ten of the deadline.
  EXPECT_EQ(*a.work_stopped_at() - begin, seconds(12));
  EXPECT_TRUE(IsLeadershipLost(a.result()->error()));
}

TEST(Contract06LeaderElectionRun, ASlowAnswerDoesNotProlongTheLease) {
  // The server takes the renewal and answers nine seconds later. client-go would count from the answer and lead until 21 s after it was
  // sent; others may take the lease after 15 s.
  Election election;
  Election::Replica& a = election.Start("a");
  ASSERT_TRUE(election.WaitForLine(a, "started"));
  ASSERT_TRUE(election.Advance(milliseconds(1999)));
  const Clock::TimePoint sent = election.clock->Now() + milliseconds(1);
  election.lease->AddFault("update", FakeLease::Fault::kNoAnswer);
  election.lease->AddFault("get", FakeLease::Fault::kHang);
  ASSERT_TRUE(election.Advance(milliseconds(1)));
  election.lease->Partition("a", true);
  ASSERT_TRUE(election.Advance(seconds(30)));
  ASSERT_TRUE(election.WaitForEnd(a));
  EXPECT_LT(*a.work_stopped_at() - sent, seconds(15));
}

TEST(Contract06LeaderElectionRun, TheWorkStopsHalfwayBetweenRenewDeadlineAndLeaseDurationAtTheLatest) {
  // A retry period so long that rounds and pauses add up to more than the lease.
  Election election;
  Election::Replica& a = election.Start("a", {.lease_duration = seconds(11), .renew_deadline = seconds(10), .retry_period = seconds(8)});
  ASSERT_TRUE(election.WaitForLine(a, "started"));
  const Clock::TimePoint begin = election.clock->Now();
  election.lease->Partition("a", true);
  ASSERT_TRUE(election.Advance(milliseconds(10499)));
  EXPECT_TRUE(a.elector().is_leader());
  EXPECT_FALSE(a.work_stopped_at());
  ASSERT_TRUE(election.Advance(milliseconds(1)));
  EXPECT_FALSE(a.elector().is_leader());
  ASSERT_TRUE(a.work_stopped_at());
  EXPECT_EQ(*a.work_stopped_at() - begin, milliseconds(10500));
  ASSERT_TRUE(election.WaitForEnd(a));
}

TEST(Contract06LeaderElectionRun, IsLeaderEndsByItselfWhereNothingRuns) {
  // The replica hangs in a call, without any signal.
  Election election;
  Election::Replica& a = election.Start("a", {.retry_period = seconds(8)});
  ASSERT_TRUE(election.WaitForLine(a, "started"));
  EXPECT_TRUE(a.elector().is_leader());
  election.lease->Partition("a", true);
  ASSERT_TRUE(election.Advance(milliseconds(12500)));
  EXPECT_FALSE(a.elector().is_leader());
}

// A process that stood still finds out before it writes, not a moment later.
TEST(Contract06LeaderElectionRun, WritesAreAllowedAsLongAsTheLeaseIsSurelyOurs) {
  Election election;
  Election::Replica& a = election.Start("a");  // 15 s, 10 s, 2 s: it leads for 12.5 s after the last renewal that was sent
  ASSERT_TRUE(election.WaitForLine(a, "started"));
  ASSERT_NE(a.permit(), nullptr);
  EXPECT_TRUE(a.permit()->Check());
  ASSERT_TRUE(election.Advance(seconds(60)));  // renewed, and so is the permit
  EXPECT_TRUE(a.permit()->Check());
  election.lease->Partition("a", true);
  ASSERT_TRUE(election.Advance(seconds(10)));
  EXPECT_TRUE(a.permit()->Check());
  ASSERT_TRUE(election.Advance(milliseconds(2500)));
  const Result<void> refused = a.permit()->Check();
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().ToString(), HasSubstr("was not renewed in time"));
}

// CLOCK_MONOTONIC stands still while a machine is suspended: no timer of the leader fires, but its lease ends.
TEST(Contract06LeaderElectionRun, AfterASuspendNothingIsWrittenUntilTheLeaseIsRenewed) {
  Election election;
  Election::Replica& a = election.Start("a");
  ASSERT_TRUE(election.WaitForLine(a, "started"));
  ASSERT_TRUE(election.Advance(seconds(10)));
  ASSERT_NE(a.permit(), nullptr);
  ASSERT_TRUE(a.permit()->Check());
  election.slept = std::chrono::hours(1);
  const Result<void> refused = a.permit()->Check();
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().ToString(), HasSubstr("was not renewed in time"));
  EXPECT_FALSE(a.elector().is_leader());
  EXPECT_TRUE(a.working());  // that stops later: this is why the permit is needed
  // No one else took the lease: a renewal proves it.
  ASSERT_TRUE(election.Advance(seconds(2)));
  EXPECT_TRUE(a.permit()->Check());
  EXPECT_TRUE(a.elector().is_leader());
  EXPECT_FALSE(a.work_stopped_at());
}

TEST(Contract06LeaderElectionRun, ALeaseThatWasTakenDuringASuspendIsLost) {
  Election election;
  Election::Replica& a = election.Start("a");
  ASSERT_TRUE(election.WaitForLine(a, "started"));
  const std::shared_ptr<WritePermit> permit = a.permit();
  election.slept = std::chrono::hours(1);
  election.lease->Put({.holder = "b", .lease_duration_seconds = 15});
  EXPECT_FALSE(permit->Check());
  EXPECT_FALSE(a.elector().is_leader());
  ASSERT_TRUE(election.Advance(seconds(2)));
  ASSERT_TRUE(election.WaitForEnd(a));
  EXPECT_TRUE(IsLeadershipLost(a.result()->error()));
  EXPECT_FALSE(permit->Check());
  EXPECT_EQ(election.lease->record()->holder, "b");
}

// The clocks of a virtual machine stand still while its hypervisor pauses it. Only the time of day shows it, once it is set right.
TEST(Contract06LeaderElectionRun, AfterAJumpOfTheTimeOfDayNothingIsWrittenUntilTheLeaseIsRenewed) {
  for (const seconds jump : {seconds(3600), seconds(13), seconds(-60)}) {
    Election election;
    Election::Replica& a = election.Start("a");
    ASSERT_TRUE(election.WaitForLine(a, "started"));
    ASSERT_TRUE(election.Advance(seconds(10)));
    election.clock->SetWallNow(election.clock->WallNow() + jump);
    const Result<void> refused = a.permit()->Check();
    ASSERT_FALSE(refused) << jump.count();
    EXPECT_THAT(refused.error().ToString(), HasSubstr("time of day jumped"));
    EXPECT_FALSE(a.elector().is_leader());
    ASSERT_TRUE(election.Advance(seconds(2)));
    EXPECT_TRUE(a.permit()->Check());
    EXPECT_TRUE(a.elector().is_leader());
    EXPECT_FALSE(a.work_stopped_at());
  }
}

TEST(Contract06LeaderElectionRun, ASmallCorrectionOfTheTimeOfDayChangesNothing) {
  Election election;
  Election::Replica& a = election.Start("a");
  ASSERT_TRUE(election.WaitForLine(a, "started"));
  for (const milliseconds step : {milliseconds(1000), milliseconds(-2000)}) {
    ASSERT_TRUE(election.Advance(seconds(2)));
    election.clock->SetWallNow(election.clock->WallNow() + step);
    EXPECT_TRUE(a.permit()->Check());
    EXPECT_TRUE(a.elector().is_leader());
  }
}

TEST(Contract06LeaderElectionRun, APermitDoesNotOutliveItsTerm) {
  Election election;
  Election::Replica& a = election.Start("a");
  ASSERT_TRUE(election.WaitForLine(a, "started"));
  const std::shared_ptr<WritePermit> permit = a.permit();
  election.lease->Put({.holder = "b", .lease_duration_seconds = 15});
  ASSERT_TRUE(election.Advance(seconds(2)));
  ASSERT_TRUE(election.WaitForEnd(a));
  const Result<void> refused = permit->Check();  // though the time of its last renewal is not over
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().ToString(), HasSubstr("is no longer held"));
}

constexpr seconds kSuspended{100'000};
constexpr int kCounts = 0, kDoesNotCount = 1, kNotAllowed = 2;

// Runs f in a time namespace whose CLOCK_BOOTTIME alone is ahead by kSuspended, as after a suspend, and gives what it returns.
// f must not allocate: other threads of the test are not there.
template <typename F>
int AfterSuspend(F f) {
#ifdef CLONE_NEWTIME
  const auto wait = [](pid_t pid) {
    int status = 0;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    return pid > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : kNotAllowed;
  };
  const pid_t outer = fork();
  if (outer != 0) return wait(outer);
  // In a process of its own: the namespace is for all children that come later.
  if (unshare(CLONE_NEWTIME) != 0 && unshare(CLONE_NEWUSER | CLONE_NEWTIME) != 0) _exit(kNotAllowed);
  char text[64];
  const int size = snprintf(text, sizeof text, "boottime %lld 0\n", static_cast<long long>(kSuspended.count()));
  const int file = open("/proc/self/timens_offsets", O_WRONLY | O_CLOEXEC);
  if (file < 0 || write(file, text, static_cast<std::size_t>(size)) != size) _exit(kNotAllowed);
  const pid_t inner = fork();
  if (inner == 0) _exit(f());
  _exit(wait(inner));
#else
  (void)f;
  return kNotAllowed;
#endif
}

// What is measured with is a clock that counts suspend.
TEST(LeaseTimeTest, TheMachinesClockIsTheOneThatCountsSuspend) {
  const LeaseTime time(Clock::Real());
  const LeaseTime::Moment before = time.Now();
  const int counts = AfterSuspend([&] { return time.Now().up - before.up >= kSuspended ? kCounts : kDoesNotCount; });
  if (counts == kNotAllowed) GTEST_SKIP() << "this system does not let the test make a time namespace (unshare -T)";
  EXPECT_EQ(counts, kCounts);
  EXPECT_LT(time.Now().up - before.up, kSuspended);  // here nothing was shifted
}

TEST(Contract06LeaderElectionRun, AHungRequestIsGivenUpAndTriedAgain) {
  Election election;
  Election::Replica& a = election.Start("a");
  ASSERT_TRUE(election.WaitForLine(a, "started"));
  election.lease->AddFault("update", FakeLease::Fault::kHang);  // five seconds: half of the deadline
  ASSERT_TRUE(election.Advance(seconds(30)));
  EXPECT_TRUE(a.elector().is_leader());
  EXPECT_FALSE(a.work_stopped_at());
}

TEST(Contract06LeaderElectionRun, TheStandbyTakesOverAfterThePartitionAndTheOldLeaderHasStoppedBefore) {
  Election election;
  Election::Replica& a = election.Start("a");
  Election::Replica& b = election.Start("b");
  ASSERT_TRUE(election.WaitForLine(a, "started"));
  election.lease->Partition("a", true);
  for (int i = 0; i < 3000 && !b.elector().is_leader(); ++i) {
    ASSERT_TRUE(election.Advance(milliseconds(10)));
    ASSERT_FALSE(a.elector().is_leader() && b.elector().is_leader());
  }
  ASSERT_TRUE(b.elector().is_leader());
  ASSERT_TRUE(a.work_stopped_at());
  EXPECT_LT(*a.work_stopped_at(), election.clock->Now());
  EXPECT_EQ(election.lease->record()->holder, "b");
}

// Hours apart, ahead or behind: the lease is kept as long as it is renewed, and acquired after its duration, neither before nor later.
TEST(Contract20LeaseExpiryRun, ClocksThatDifferBetweenReplicasDoNoHarm) {
  for (const int hours : {-48, -1, 1, 48}) {
    SCOPED_TRACE(hours);
    Election election;
    election.skews = {{"a", std::chrono::hours(hours)}, {"b", std::chrono::hours(-hours)}};
    Election::Replica& a = election.Start("a");
    Election::Replica& b = election.Start("b");
    ASSERT_TRUE(election.WaitForLine(a, "started"));
    ASSERT_TRUE(election.Advance(seconds(120)));
    EXPECT_TRUE(a.elector().is_leader());
    EXPECT_EQ(election.lease->record()->transitions, 0);
    election.lease->Partition("a", true);
    const Clock::TimePoint cut = election.clock->Now();
    while (!b.elector().is_leader() && election.clock->Now() - cut < seconds(60)) {
      ASSERT_TRUE(election.Advance(milliseconds(100)));
      ASSERT_FALSE(a.elector().is_leader() && b.elector().is_leader());
    }
    // The last renewal was at most a retry period before the cut; the standby looks every retry period.
    EXPECT_GE(election.clock->Now() - cut, seconds(13));
    EXPECT_LE(election.clock->Now() - cut, seconds(18));
    ASSERT_TRUE(a.work_stopped_at());
    EXPECT_LT(*a.work_stopped_at() - cut, seconds(13));
    EXPECT_EQ(election.lease->record()->holder, "b");
  }
}

TEST(Contract06LeaderElectionRun, ReleaseOnCancelHappensBeforeOnStopped) {
  Election election;
  Election::Replica& a = election.Start("a");
  ASSERT_TRUE(election.WaitForLine(a, "started"));
  election.lease->OnCall([&](const std::string& op) { a.Say("call " + op); });
  a.Cancel();
  ASSERT_TRUE(election.WaitForEnd(a));
  EXPECT_TRUE(*a.result());
  const Lines said = a.said();
  EXPECT_THAT(Without(said, "new leader"), ElementsAre("started", "work done", "call get", "call update", "stopped"));
  EXPECT_EQ(election.lease->record()->holder, "");
  EXPECT_EQ(election.lease->record()->lease_duration_seconds, 1);
}

TEST(Contract06LeaderElectionRun, CancelDuringAnUpdateStillReleases) {
  Election election;
  Election::Replica& a = election.Start("a");
  ASSERT_TRUE(election.WaitForLine(a, "started"));
  election.lease->AddFault("update", FakeLease::Fault::kNoAnswer);  // the server takes it, and we do not know
  ASSERT_TRUE(election.Advance(seconds(2)));
  a.Cancel();
  ASSERT_TRUE(election.WaitForEnd(a));
  EXPECT_EQ(election.lease->record()->holder, "");
}

TEST(Contract06LeaderElectionRun, CancelDuringAGetStillReleases) {
  Election election;
  Election::Replica& a = election.Start("a");
  ASSERT_TRUE(election.WaitForLine(a, "started"));
  election.lease->AddFault("update", FakeLease::Fault::kFail, Conflict());
  election.lease->AddFault("get", FakeLease::Fault::kHang);
  ASSERT_TRUE(election.Advance(seconds(2)));
  a.Cancel();
  ASSERT_TRUE(election.WaitForEnd(a));
  EXPECT_EQ(election.lease->record()->holder, "");
}

TEST(Contract06LeaderElectionRun, CancelDuringTheCreationReleasesWhatTheServerTook) {
  Election election;
  election.lease->AddFault("create", FakeLease::Fault::kNoAnswer);
  Election::Replica& a = election.Start("a");
  EXPECT_EQ(election.lease->record()->holder, "a");
  EXPECT_FALSE(a.elector().is_leader());
  a.Cancel();
  ASSERT_TRUE(election.WaitForEnd(a));
  EXPECT_EQ(election.lease->record()->holder, "");
}

TEST(Contract06LeaderElectionRun, TheLeaseIsRenewedWhileTheWorkEnds) {
  Election election;
  Election::Replica& a = election.Start("a");
  Election::Replica& b = election.Start("b");
  ASSERT_TRUE(election.WaitForLine(a, "started"));
  Mutex mu;
  CondVar changed;
  bool finish = false;
  a.OnWorkEnd([&] { (void)WaitBounded(mu, changed, [&]() KUBE_NO_THREAD_SAFETY_ANALYSIS { return finish; }); });
  a.Cancel();
  ASSERT_TRUE(election.Advance(seconds(25)));
  EXPECT_EQ(election.lease->record()->holder, "a");
  EXPECT_FALSE(b.elector().is_leader());
  EXPECT_THAT(a.said(), Not(Contains("stopped")));
  {
    MutexLock lock(mu);
    finish = true;
    changed.NotifyAll();
  }
  ASSERT_TRUE(election.WaitForEnd(a));
  ASSERT_TRUE(election.Advance(seconds(5)));
  EXPECT_TRUE(b.elector().is_leader());
}

TEST(Contract06LeaderElectionRun, WorkThatDoesNotEndKeepsTheLeaseFromBeingReleased) {
  Election election;
  Election::Replica& a = election.Start("a", {.drain_timeout = seconds(4)});
  ASSERT_TRUE(election.WaitForLine(a, "started"));
  Mutex mu;
  CondVar changed;
  bool finish = false;
  a.OnWorkEnd([&] { (void)WaitBounded(mu, changed, [&]() KUBE_NO_THREAD_SAFETY_ANALYSIS { return finish; }); });
  a.Cancel();
  ASSERT_TRUE(election.WaitForLine(a, "stopped", true));
  EXPECT_EQ(election.lease->record()->holder, "a");
  {
    MutexLock lock(mu);
    finish = true;
    changed.NotifyAll();
  }
  ASSERT_TRUE(election.WaitForEnd(a));
}

TEST(Contract06LeaderElectionRun, RecordsEventsOfItsOwn) {
  Election election;
  Election::Replica& a = election.Start("a");
  ASSERT_TRUE(election.WaitForLine(a, "started"));
  a.Cancel();
  ASSERT_TRUE(election.WaitForEnd(a));
  EXPECT_THAT(election.lease->notes(), ElementsAre("Acquire: a became leader", "StopLeading: a stopped leading"));
}

TEST(Contract06LeaderElectionRun, MasterStatusIsOneWhileLeading) {
  Election election;
  auto metrics = std::make_shared<RecordedMetrics>();
  Election::Replica& a = election.Start("a", {.metrics = metrics});
  ASSERT_TRUE(election.WaitForLine(a, "started"));
  EXPECT_EQ(metrics->Value("leader_election_master_status", {{"name", "test"}}), 1);
  a.Cancel();
  ASSERT_TRUE(election.WaitForEnd(a));
  EXPECT_EQ(metrics->Value("leader_election_master_status", {{"name", "test"}}), 0);
  EXPECT_EQ(metrics->Count("leader_election_master_status", {{"name", "test"}}), 3U);  // off from the start
}

TEST(Contract06LeaderElectionRun, HealthCheckOfAStandbyAndOfAnEndedOther) {
  Election election;
  election.lease->Put({.holder = "other", .lease_duration_seconds = 1000});
  Election::Replica& a = election.Start("a");
  EXPECT_TRUE(a.elector().Check(seconds(0)));
  ASSERT_TRUE(election.Advance(seconds(500)));
  EXPECT_TRUE(a.elector().Check(seconds(0)));
}

TEST(Contract06LeaderElectionRun, HealthCheckOfALeaderThatRenews) {
  Election election;
  Election::Replica& a = election.Start("a");
  ASSERT_TRUE(election.Advance(seconds(100)));
  EXPECT_TRUE(a.elector().Check(seconds(0)));
}

TEST(Contract06LeaderElectionRun, HealthCheckFailsForALeaderThatHangs) {
  // Its call hangs in a way that even its context does not end.
  Mutex mu;
  CondVar changed;
  bool go_on = false;
  bool hangs = false;
  Election election;
  Election::Replica& a = election.Start("a");
  ASSERT_TRUE(election.WaitForLine(a, "started"));
  election.lease->OnCall([&](const std::string&) {
    MutexLock lock(mu);
    hangs = true;
    changed.NotifyAll();
    while (!go_on) changed.Wait(mu);
  });
  ASSERT_TRUE(election.clock->WaitForWaiters(2));  // the limit of the work, and the pause that ends now
  election.clock->Advance(seconds(2));
  ASSERT_TRUE(WaitBounded(mu, changed, [&]() KUBE_NO_THREAD_SAFETY_ANALYSIS { return hangs; }));
  election.clock->Advance(seconds(13));  // 15 s since the last renewal
  EXPECT_TRUE(a.elector().Check(seconds(0)));
  election.clock->Advance(milliseconds(1));
  const Result<void> check = a.elector().Check(seconds(0));
  ASSERT_FALSE(check);
  EXPECT_THAT(check.error().message(), HasSubstr("default/test"));
  EXPECT_TRUE(a.elector().Check(seconds(1)));  // tolerated
  EXPECT_FALSE(a.elector().is_leader());
  EXPECT_TRUE(a.work_stopped_at());  // and the work was stopped in time all the same
  MutexLock lock(mu);
  go_on = true;
  changed.NotifyAll();
}

TEST(Contract06LeaderElectionRun, ACallbackThatThrowsEndsNothing) {
  Election election;
  Election::Replica& a = election.Start("a");
  ASSERT_TRUE(election.WaitForLine(a, "started"));
  a.OnWorkEnd([] { throw std::runtime_error("the user's bug"); });
  a.Cancel();
  ASSERT_TRUE(election.WaitForEnd(a));
  EXPECT_THAT(a.said(), Contains("stopped"));
  EXPECT_EQ(election.lease->record()->holder, "");
}

TEST(Contract21OnStoppedLeading, OnceWhereItNeverLed) {
  Election election;
  election.lease->Put({.holder = "other", .lease_duration_seconds = 1000});
  Election::Replica& a = election.Start("a");
  ASSERT_TRUE(election.Advance(seconds(10)));
  a.Cancel();
  ASSERT_TRUE(election.WaitForEnd(a));
  EXPECT_TRUE(*a.result());
  EXPECT_THAT(a.said(), UnorderedElementsAre("new leader other", "stopped"));
  EXPECT_EQ(election.lease->record()->holder, "other");
}

TEST(Contract21OnStoppedLeading, OnceAfterALoss) {
  Election election;
  Election::Replica& a = election.Start("a");
  ASSERT_TRUE(election.WaitForLine(a, "started"));
  election.lease->Partition("a", true);
  ASSERT_TRUE(election.Advance(seconds(60)));
  ASSERT_TRUE(election.WaitForEnd(a));
  const Lines said = a.said();
  EXPECT_EQ(std::count(said.begin(), said.end(), "stopped"), 1);
}

TEST(Contract21OnStoppedLeading, OnceWhereTheContextHasStoppedBefore) {
  auto lease = std::make_shared<FakeLease>();
  int stopped = 0;
  ElectorImpl elector(std::make_unique<FakeLock>(lease, "a"), {.name = "test", .identity = "a"},
                      {.on_started_leading = [](const Context&) {}, .on_stopped_leading = [&] { ++stopped; }});
  auto [ctx, cancel] = Context::Background(std::make_shared<FakeClock>()).WithCancel();
  cancel.Cancel();
  EXPECT_TRUE(elector.Run(ctx));
  EXPECT_EQ(stopped, 1);
  EXPECT_TRUE(elector.Run(ctx));  // once for each Run
  EXPECT_EQ(stopped, 2);
  EXPECT_THAT(lease->ops(), IsEmpty());
}

TEST(Contract21OnStoppedLeading, AfterTheReleaseAlsoWhereThatFails) {
  Election election;
  Election::Replica& a = election.Start("a");
  ASSERT_TRUE(election.WaitForLine(a, "started"));
  election.lease->AddFault("get", FakeLease::Fault::kFail, ApiError(500, "InternalError"));
  election.lease->OnCall([&](const std::string& op) { a.Say("call " + op); });
  a.Cancel();
  ASSERT_TRUE(election.WaitForEnd(a));
  EXPECT_THAT(Without(a.said(), "new leader"), ElementsAre("started", "work done", "call get", "stopped"));
  EXPECT_EQ(election.lease->record()->holder, "a");
}

TEST(LeaderElectorTest, RunsAgainAfterALoss) {
  auto lease = std::make_shared<FakeLease>();
  std::atomic<int> started{0};
  ElectorImpl elector(std::make_unique<FakeLock>(lease, "a"), {.name = "test", .identity = "a"},
                      {.on_started_leading = [&](const Context&) { ++started; }, .on_stopped_leading = [] {}});
  auto [ctx, cancel] = Context::Background(std::make_shared<FakeClock>()).WithCancel();
  lease->AddFault("update", FakeLease::Fault::kFail, Conflict());
  int calls = 0;
  lease->OnCall([&](const std::string&) {
    // Before the slow path of the first renewal reads the lease, another replica takes it, and ends at once.
    if (++calls == 4) lease->Put({.holder = "thief", .lease_duration_seconds = 0, .transitions = 5});
  });
  EXPECT_FALSE(elector.Run(ctx));
  EXPECT_FALSE(elector.is_leader());
  int updates = 0;
  lease->OnCall([&updates, &source = cancel](const std::string& op) {
    if (op == "update" && ++updates == 2) source.Cancel();
  });
  EXPECT_TRUE(elector.Run(ctx));
  EXPECT_EQ(started, 2);
  EXPECT_EQ(lease->record()->holder, "");
  EXPECT_EQ(lease->record()->transitions, 6);
}

TEST(LeaderElectorTest, TwoRunsAtOnceAreRefused) {
  Election election;
  Election::Replica& a = election.Start("a");
  const Result<void> second = a.elector().Run(Context::Background(election.clock));
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().kind(), ErrorKind::kInvalid);
}

}  // namespace
}  // namespace kube::internal
