// One step of the election at a time: contracts.md section 6, TestTryAcquireOrRenewLeases and its neighbours.
#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "control/election/lease_test_util.h"

namespace kube::internal {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;
using Attempt = ElectorImpl::Attempt;

class Step : public ::testing::Test {
 protected:
  Step() { Make({}); }
  void Make(LeaderElectionOptions options) {
    options.name = "test";
    options.identity = "me";
    options.metrics = metrics_;
    elector_ = std::make_unique<ElectorImpl>(std::make_unique<FakeLock>(lease_, "me"), options,
                                             LeaderCallbacks{.on_started_leading = [](const Context&) {}, .on_stopped_leading = [] {}});
    elector_->SetObservedForTest({}, {}, clock_);
  }
  LeaderRecord Record(std::string holder, std::int32_t duration = 10, std::int32_t transitions = 3) const {
    // The times of a record are of another machine: of the year 2001 here.
    return {.holder = std::move(holder),
            .lease_duration_seconds = duration,
            .acquire_time = MicroTime::FromUnix(1000000000, 0),
            .renew_time = MicroTime::FromUnix(1000000001, 0),
            .transitions = transitions};
  }
  // As if that record had been seen so long ago.
  void Saw(const LeaderRecord& record, seconds ago) {
    clock_->Advance(seconds(1000));
    elector_->SetObservedForTest(record, clock_->Now() - ago, clock_);
  }
  Attempt Try(bool renewing = false) { return elector_->TryAcquireOrRenew(ctx_, renewing); }

  const std::shared_ptr<FakeClock> clock_ = std::make_shared<FakeClock>();
  const Context ctx_ = Context::Background(clock_);
  const std::shared_ptr<FakeLease> lease_ = std::make_shared<FakeLease>();
  const std::shared_ptr<RecordedMetrics> metrics_ = std::make_shared<RecordedMetrics>();
  std::unique_ptr<ElectorImpl> elector_;
};
using Contract06LeaderElection = Step;
using Contract20LeaseExpiry = Step;

TEST_F(Contract06LeaderElection, NoLeaseIsCreated) {
  EXPECT_EQ(Try(), Attempt::kHeld);
  EXPECT_THAT(lease_->ops(), ElementsAre("get", "create"));
  const LeaderRecord record = *lease_->record();
  EXPECT_EQ(record.holder, "me");
  EXPECT_EQ(record.lease_duration_seconds, 15);
  EXPECT_EQ(record.transitions, 0);
  EXPECT_EQ(record.acquire_time, record.renew_time);
  EXPECT_EQ(record.renew_time.ToString(), "2020-01-01T00:00:00.000000Z");
}

TEST_F(Contract06LeaderElection, ALeaseWithoutARecordIsTaken) {
  lease_->Put({});
  EXPECT_EQ(Try(), Attempt::kHeld);
  EXPECT_EQ(lease_->record()->holder, "me");
  EXPECT_EQ(lease_->record()->transitions, 1);
}

TEST_F(Contract06LeaderElection, AnEndedLeaseIsTakenOver) {
  lease_->Put(Record("other", 10));
  Saw(Record("other", 10), seconds(10));
  EXPECT_EQ(Try(), Attempt::kHeld);
  EXPECT_EQ(lease_->record()->holder, "me");
  EXPECT_EQ(lease_->record()->transitions, 4);
  EXPECT_NE(lease_->record()->acquire_time, Record("other").acquire_time);
}

TEST_F(Contract06LeaderElection, TheDurationInTheRecordCountsNotOurs) {
  lease_->Put(Record("other", 60));
  Saw(Record("other", 60), seconds(59));
  EXPECT_EQ(Try(), Attempt::kRefused);
  clock_->Advance(seconds(1));
  EXPECT_EQ(Try(), Attempt::kHeld);
}

TEST_F(Contract06LeaderElection, AShortLeaseOfAnotherEndsByItsOwnSeconds) {
  lease_->Put(Record("other", 1));
  Saw(Record("other", 1), seconds(1));
  EXPECT_EQ(Try(), Attempt::kHeld);
}

TEST_F(Contract06LeaderElection, AnEmptyHolderIsTakenAtOnce) {
  lease_->Put(Record("", 1));
  Saw(Record("other", 100), seconds(0));
  EXPECT_EQ(Try(), Attempt::kHeld);
  EXPECT_EQ(lease_->record()->holder, "me");
  EXPECT_EQ(lease_->record()->transitions, 4);
}

TEST_F(Contract06LeaderElection, AnEmptyHolderThatWasSeenLongAgoIsTaken) {
  lease_->Put(Record("", 100));
  Saw(Record("", 100), seconds(1));
  EXPECT_EQ(Try(), Attempt::kHeld);
}

TEST_F(Contract06LeaderElection, AHeldAndFreshLeaseIsRefused) {
  lease_->Put(Record("other", 10));
  Saw(Record("other", 10), seconds(9));
  EXPECT_EQ(Try(), Attempt::kRefused);
  EXPECT_THAT(lease_->ops(), ElementsAre("get"));
  EXPECT_EQ(*lease_->record(), Record("other", 10));
  EXPECT_EQ(elector_->leader(), "other");
}

TEST_F(Contract06LeaderElection, ALeaseThatIsSeenForTheFirstTimeIsRefused) {
  lease_->Put(Record("other", 10));
  EXPECT_EQ(Try(), Attempt::kRefused);
}

TEST_F(Contract06LeaderElection, OurOwnIsRenewedWithoutATransition) {
  lease_->Put(Record("me", 10));
  Saw(Record("me", 10), seconds(100));  // expired long ago, but not acquired by another replica
  EXPECT_EQ(Try(), Attempt::kHeld);
  EXPECT_THAT(lease_->ops(), ElementsAre("get", "update"));
  EXPECT_EQ(lease_->record()->transitions, 3);
  EXPECT_EQ(lease_->record()->acquire_time, Record("me").acquire_time);
  EXPECT_NE(lease_->record()->renew_time, Record("me").renew_time);
  EXPECT_EQ(metrics_->Value("leader_election_slowpath_total", {{"name", "test"}}), 1);
}

TEST_F(Contract06LeaderElection, FastPathGetCreateUpdateUpdate) {
  EXPECT_EQ(Try(), Attempt::kHeld);
  EXPECT_EQ(Try(true), Attempt::kHeld);
  clock_->Advance(seconds(2));
  EXPECT_EQ(Try(true), Attempt::kHeld);
  EXPECT_THAT(lease_->ops(), ElementsAre("get", "create", "update", "update"));
  EXPECT_EQ(metrics_->Count("leader_election_slowpath_total", {{"name", "test"}}), 0U);
}

TEST_F(Contract06LeaderElection, AFailedFastUpdateReadsAndRetriesInTheSameAttempt) {
  EXPECT_EQ(Try(), Attempt::kHeld);
  lease_->AddFault("update", FakeLease::Fault::kFail, Conflict());
  EXPECT_EQ(Try(true), Attempt::kHeld);
  EXPECT_THAT(lease_->ops(), ElementsAre("get", "create", "update", "get", "update"));
  EXPECT_EQ(metrics_->Value("leader_election_slowpath_total", {{"name", "test"}}), 1);
}

TEST_F(Contract06LeaderElection, TheFastPathNeedsAValidLease) {
  EXPECT_EQ(Try(), Attempt::kHeld);
  clock_->Advance(seconds(15));
  EXPECT_EQ(Try(), Attempt::kHeld);
  EXPECT_THAT(lease_->ops(), ElementsAre("get", "create", "get", "update"));
}

TEST_F(Contract06LeaderElection, RenewingKeepsAcquireTimeAndTransitions) {
  lease_->Put(Record("", 1, 7));
  EXPECT_EQ(Try(), Attempt::kHeld);
  const LeaderRecord first = *lease_->record();
  clock_->Advance(seconds(2));
  EXPECT_EQ(Try(true), Attempt::kHeld);
  EXPECT_EQ(lease_->record()->acquire_time, first.acquire_time);
  EXPECT_EQ(lease_->record()->transitions, 8);
  EXPECT_EQ(lease_->record()->renew_time - first.renew_time, Duration(seconds(2)));
}

TEST_F(Contract06LeaderElection, AReadErrorIsNoReasonToCreate) {
  lease_->AddFault("get", FakeLease::Fault::kFail, ApiError(403, "Forbidden"));
  EXPECT_EQ(Try(), Attempt::kRefused);
  EXPECT_THAT(lease_->ops(), ElementsAre("get"));
}

TEST_F(Contract06LeaderElection, ACreationThatAnotherOneWonIsRefused) {
  lease_->AddFault("create", FakeLease::Fault::kFail, ApiError(409, "AlreadyExists"));
  EXPECT_EQ(Try(), Attempt::kRefused);
}

TEST_F(Contract06LeaderElection, ATakeOverThatAnotherOneWonIsRefused) {
  lease_->Put(Record("", 1));
  lease_->AddFault("update", FakeLease::Fault::kFail, Conflict());
  EXPECT_EQ(Try(), Attempt::kRefused);
  EXPECT_EQ(lease_->record()->holder, "");
}

TEST_F(Contract06LeaderElection, WhileLeadingAnotherHolderMeansLost) {
  EXPECT_EQ(Try(), Attempt::kHeld);
  lease_->Put(Record("other", 10));
  EXPECT_EQ(Try(true), Attempt::kLost);
  EXPECT_EQ(lease_->record()->holder, "other");
  EXPECT_EQ(elector_->leader(), "other");
}

TEST_F(Contract06LeaderElection, WhileLeadingNothingIsTakenOverNotEvenAnEndedOrEmptyLease) {
  EXPECT_EQ(Try(), Attempt::kHeld);
  lease_->Put(Record("", 1));
  EXPECT_EQ(Try(true), Attempt::kLost);
  lease_->Put(Record("other", 1));
  Saw(Record("other", 1), seconds(100));
  EXPECT_EQ(Try(true), Attempt::kLost);
  EXPECT_EQ(lease_->record()->holder, "other");
}

TEST_F(Contract06LeaderElection, WhileLeadingADeletedLeaseIsMadeAgain) {
  EXPECT_EQ(Try(), Attempt::kHeld);
  lease_->Delete();
  EXPECT_EQ(Try(true), Attempt::kHeld);
  EXPECT_EQ(lease_->record()->holder, "me");
}

TEST_F(Contract06LeaderElection, ADurationOfPartsOfASecondIsRoundedUp) {
  Make({.lease_duration = milliseconds(1500), .renew_deadline = milliseconds(1000), .retry_period = milliseconds(100)});
  EXPECT_EQ(Try(), Attempt::kHeld);
  EXPECT_EQ(lease_->record()->lease_duration_seconds, 2);
}

TEST_F(Contract06LeaderElection, ReleaseWritesAnEmptyHolderAndOneSecond) {
  lease_->Put(Record("", 1, 5));
  EXPECT_EQ(Try(), Attempt::kHeld);
  clock_->Advance(seconds(3));
  EXPECT_TRUE(elector_->Release());
  const LeaderRecord record = *lease_->record();
  EXPECT_EQ(record.holder, "");
  EXPECT_EQ(record.lease_duration_seconds, 1);
  EXPECT_EQ(record.transitions, 6);
  EXPECT_EQ(record.renew_time.ToString(), "2020-01-01T00:00:03.000000Z");
  EXPECT_EQ(record.acquire_time, record.renew_time);
  EXPECT_EQ(elector_->leader(), "");
}

TEST_F(Contract06LeaderElection, ReleaseReadsFirst) {
  EXPECT_EQ(Try(), Attempt::kHeld);
  EXPECT_TRUE(elector_->Release());
  EXPECT_THAT(lease_->ops(), ElementsAre("get", "create", "get", "update"));
}

TEST_F(Contract06LeaderElection, ReleaseDoesNotTouchTheLeaseOfAnother) {
  EXPECT_EQ(Try(), Attempt::kHeld);
  lease_->Put(Record("other", 10));
  EXPECT_TRUE(elector_->Release());
  EXPECT_EQ(*lease_->record(), Record("other", 10));
}

TEST_F(Contract06LeaderElection, ReleaseOfALeaseThatIsGone) {
  EXPECT_EQ(Try(), Attempt::kHeld);
  lease_->Delete();
  EXPECT_FALSE(elector_->Release());
  EXPECT_FALSE(lease_->record());
}

TEST_F(Contract06LeaderElection, ReleaseIsTriedAgainAfterAConflict) {
  EXPECT_EQ(Try(), Attempt::kHeld);
  lease_->AddFault("update", FakeLease::Fault::kFail, Conflict());
  lease_->AddFault("update", FakeLease::Fault::kFail, Conflict());
  std::atomic<bool> done{false};
  Thread release("release", [&] {
    EXPECT_TRUE(elector_->Release());
    done = true;
  });
  // In small steps: the pauses are of ten milliseconds, the patience of ten seconds.
  while (!done) {
    clock_->Advance(milliseconds(1));
    std::this_thread::sleep_for(milliseconds(1));
  }
  release.Join();
  EXPECT_THAT(lease_->ops(), ElementsAre("get", "create", "get", "update", "get", "update", "get", "update"));
  EXPECT_EQ(lease_->record()->holder, "");
}

TEST_F(Contract06LeaderElection, ReleaseIsBoundedByTheRenewDeadline) {
  EXPECT_EQ(Try(), Attempt::kHeld);
  lease_->Partition("me", true);
  const Clock::TimePoint begin = clock_->Now();
  std::atomic<bool> done{false};
  Thread release("release", [&] {
    EXPECT_FALSE(elector_->Release());
    done = true;
  });
  while (!done) {
    if (!clock_->AdvanceToNextTimer()) std::this_thread::yield();
  }
  release.Join();
  EXPECT_LE(clock_->Now() - begin, seconds(10));
}

TEST_F(Contract20LeaseExpiry, TheTimesInTheRecordDoNotCount) {
  // A holder whose clock is a day ahead, and one whose clock is 20 years behind, get the same patience.
  for (const std::int64_t when : {std::int64_t{1577836800 + 86400}, std::int64_t{946684800}}) {
    LeaderRecord record = Record("other", 10);
    record.renew_time = record.acquire_time = MicroTime::FromUnix(when, 0);
    lease_->Put(record);
    Make({});
    EXPECT_EQ(Try(), Attempt::kRefused);  // seen now
    clock_->Advance(milliseconds(9999));
    EXPECT_EQ(Try(), Attempt::kRefused);
    clock_->Advance(milliseconds(1));
    EXPECT_EQ(Try(), Attempt::kHeld);
  }
}

TEST_F(Contract20LeaseExpiry, AJumpOfTheWallClockDoesNotCount) {
  lease_->Put(Record("other", 10));
  EXPECT_EQ(Try(), Attempt::kRefused);
  clock_->SetWallNow(clock_->WallNow() + std::chrono::hours(24 * 365));
  EXPECT_EQ(Try(), Attempt::kRefused);
  clock_->SetWallNow(clock_->WallNow() - std::chrono::hours(24 * 365 * 10));
  EXPECT_EQ(Try(), Attempt::kRefused);
  clock_->Advance(seconds(10));
  EXPECT_EQ(Try(), Attempt::kHeld);
}

TEST_F(Contract20LeaseExpiry, EachChangeOfTheRecordStartsAnew) {
  LeaderRecord record = Record("other", 10);
  lease_->Put(record);
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(Try(), Attempt::kRefused);
    clock_->Advance(seconds(9));
    record.renew_time = record.renew_time + Duration(std::chrono::microseconds(1));
    lease_->Put(record);
  }
  EXPECT_EQ(Try(), Attempt::kRefused);
  clock_->Advance(seconds(10));
  EXPECT_EQ(Try(), Attempt::kHeld);
}

TEST_F(Contract20LeaseExpiry, ATouchThatLeavesTheRecordAsItIsDoesNotCount) {
  // Editing a label changes the resourceVersion and does not prolong the lease.
  lease_->Put(Record("other", 10));
  EXPECT_EQ(Try(), Attempt::kRefused);
  clock_->Advance(seconds(6));
  lease_->Put(Record("other", 10));
  EXPECT_EQ(Try(), Attempt::kRefused);
  clock_->Advance(seconds(4));
  EXPECT_EQ(Try(), Attempt::kHeld);
}

}  // namespace
}  // namespace kube::internal
