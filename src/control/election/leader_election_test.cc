// The public face of leader election: options, the candidate, and many replicas with random faults.
#include "kube/control/leader_election.h"

#include <chrono>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "control/election/lease_test_util.h"
#include "control/host_identity.h"

namespace kube::internal {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;

const LeaderCallbacks kNothing{.on_started_leading = [](const Context&) {}, .on_stopped_leading = [] {}};

std::unique_ptr<LeaseLock> AnyLock() { return std::make_unique<FakeLock>(std::make_shared<FakeLease>(), "a"); }

std::string Refusal(LeaderElectionOptions options, const LeaderCallbacks& callbacks = kNothing) {
  if (options.name.empty()) options.name = "test";
  const Result<LeaderElector> made = ElectionAccess::Create(AnyLock(), std::move(options), callbacks);
  if (made) return "";
  EXPECT_EQ(made.error().kind(), ErrorKind::kInvalid);
  return made.error().message();
}

TEST(Contract06LeaderElectionOptions, DefaultsAreThoseOfCoreComponents) {
  const LeaderElectionOptions options;
  EXPECT_EQ(options.lease_duration, seconds(15));
  EXPECT_EQ(options.renew_deadline, seconds(10));
  EXPECT_EQ(options.retry_period, seconds(2));
  EXPECT_EQ(Refusal({}), "");
}
TEST(Contract06LeaderElectionOptions, LeaseDurationIsLongerThanRenewDeadline) {
  EXPECT_THAT(Refusal({.lease_duration = seconds(10)}), HasSubstr("lease_duration must be greater than renew_deadline"));
}
TEST(Contract06LeaderElectionOptions, RenewDeadlineIsLongerThanJitteredRetryPeriod) {
  EXPECT_THAT(Refusal({.renew_deadline = milliseconds(2400)}), HasSubstr("renew_deadline must be greater than 1.2 times retry_period"));
  EXPECT_EQ(Refusal({.renew_deadline = milliseconds(2401)}), "");
}
TEST(Contract06LeaderElectionOptions, AllDurationsArePositive) {
  EXPECT_THAT(Refusal({.lease_duration = seconds(0)}), HasSubstr("lease_duration must be greater than zero"));
  EXPECT_THAT(Refusal({.renew_deadline = seconds(0)}), HasSubstr("renew_deadline must be greater than zero"));
  EXPECT_THAT(Refusal({.retry_period = seconds(0)}), HasSubstr("retry_period must be greater than zero"));
  EXPECT_THAT(Refusal({.retry_period = seconds(-1)}), HasSubstr("retry_period"));
}
TEST(Contract06LeaderElectionOptions, BothCallbacksAreRequired) {
  EXPECT_THAT(Refusal({}, {.on_stopped_leading = [] {}}), HasSubstr("on_started_leading"));
  EXPECT_THAT(Refusal({}, {.on_started_leading = [](const Context&) {}}), HasSubstr("on_stopped_leading"));
}
TEST(Contract06LeaderElectionOptions, AnEmptyIdentityIsRefused) { EXPECT_THAT(Refusal({.identity = ""}), HasSubstr("identity")); }
TEST(Contract06LeaderElectionOptions, ALockIsRequired) {
  const Result<LeaderElector> made = ElectionAccess::Create(std::unique_ptr<LeaseLock>(), {.name = "test"}, kNothing);
  ASSERT_FALSE(made);
  EXPECT_THAT(made.error().message(), HasSubstr("lock"));
}
TEST(Contract06LeaderElectionOptions, TheNameIsRequiredAndAName) {
  const Result<LeaderElector> made = ElectionAccess::Create(AnyLock(), {}, kNothing);
  ASSERT_FALSE(made);
  EXPECT_THAT(made.error().message(), HasSubstr("name"));
  EXPECT_THAT(Refusal({.name = "No Name"}), HasSubstr("name"));
}
TEST(Contract06LeaderElectionOptions, LabelsAreChecked) {
  EXPECT_THAT(Refusal({.labels = {{"a b", "c"}}}), HasSubstr("labels"));
  EXPECT_THAT(Refusal({.labels = {{"app", "a b"}}}), HasSubstr("labels: app"));
}
TEST(Contract06LeaderElectionOptions, TheIdentityIsHostNameAndUuid) {
  const Result<LeaderElector> a = ElectionAccess::Create(AnyLock(), {.name = "test"}, kNothing);
  const Result<LeaderElector> b = ElectionAccess::Create(AnyLock(), {.name = "test"}, kNothing);
  ASSERT_TRUE(a && b);
  EXPECT_NE(a->identity(), b->identity());
  EXPECT_EQ(a->identity().substr(0, HostName().size() + 1), HostName() + "_");
  EXPECT_THAT(a->identity().substr(HostName().size() + 1),
              MatchesRegex("[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"));
}
TEST(Contract06LeaderElectionOptions, AnElectorThatDoesNotRunLeadsNothingAndIsHealthy) {
  const Result<LeaderElector> a = ElectionAccess::Create(AnyLock(), {.name = "test"}, kNothing);
  ASSERT_TRUE(a);
  EXPECT_FALSE(a->is_leader());
  EXPECT_EQ(a->leader(), "");
  EXPECT_TRUE(a->Check());
}

// ---- The candidate ----

TEST(LeaderCandidateTest, LeadsUntilItIsDestroyedAndGivesTheLeaseBack) {
  auto clock = std::make_shared<FakeClock>();
  auto lease = std::make_shared<FakeLease>();
  {
    Result<LeaderCandidate> candidate =
        ElectionAccess::Start(std::make_unique<FakeLock>(lease, "a"), clock, {.name = "test", .identity = "a"});
    ASSERT_TRUE(candidate) << candidate.error().ToString();
    const Result<Context> lead = candidate->WaitForLeadership(Context::Background());
    ASSERT_TRUE(lead);
    EXPECT_FALSE(lead->stopped());
    EXPECT_TRUE(candidate->is_leader());
    EXPECT_EQ(candidate->leader(), "a");
    EXPECT_EQ(candidate->identity(), "a");
    EXPECT_TRUE(candidate->Check());
    EXPECT_EQ(lease->record()->holder, "a");
  }
  EXPECT_EQ(lease->record()->holder, "");
}

TEST(LeaderCandidateTest, WaitingEndsWithTheContext) {
  auto clock = std::make_shared<FakeClock>();
  auto lease = std::make_shared<FakeLease>();
  lease->Put({.holder = "other", .lease_duration_seconds = 1000});
  Result<LeaderCandidate> candidate =
      ElectionAccess::Start(std::make_unique<FakeLock>(lease, "a"), clock, {.name = "test", .identity = "a"});
  ASSERT_TRUE(candidate);
  const Result<Context> lead = candidate->WaitForLeadership(Context::Background().WithTimeout(milliseconds(20)));
  ASSERT_FALSE(lead);
  EXPECT_TRUE(IsDeadlineExceeded(lead.error()));
}

TEST(LeaderCandidateTest, ALostLeadershipStopsTheContextAndIsRunForAgain) {
  auto clock = std::make_shared<FakeClock>();
  auto lease = std::make_shared<FakeLease>();
  Result<LeaderCandidate> candidate =
      ElectionAccess::Start(std::make_unique<FakeLock>(lease, "a"), clock, {.name = "test", .identity = "a", .random = [] { return 0.0; }});
  ASSERT_TRUE(candidate);
  const Result<Context> lead = candidate->WaitForLeadership(Context::Background());
  ASSERT_TRUE(lead);
  lease->Put({.holder = "thief", .lease_duration_seconds = 3});
  std::atomic<bool> again{false};
  Thread waiter("waiter", [&] {
    lead->WaitUntilStopped();
    EXPECT_TRUE(candidate->WaitForLeadership(Context::Background()));
    again = true;
  });
  while (!again) {
    if (!clock->AdvanceToNextTimer()) std::this_thread::yield();
  }
  waiter.Join();
  EXPECT_EQ(lease->record()->holder, "a");
}

// A process that stood still notices that before it writes, whichever context it uses.
TEST(LeaderCandidateTest, TheContextCarriesTheWritePermit) {
  class Never : public WritePermit {
   public:
    Result<void> Check() override { return Error::Timeout("refused from outside"); }
  };
  auto clock = std::make_shared<FakeClock>();
  auto lease = std::make_shared<FakeLease>();
  Result<LeaderCandidate> candidate =
      ElectionAccess::Start(std::make_unique<FakeLock>(lease, "a"), clock, {.name = "test", .identity = "a"});
  ASSERT_TRUE(candidate);
  const Result<Context> lead = candidate->WaitForLeadership(Context::Background());
  ASSERT_TRUE(lead);
  const std::shared_ptr<WritePermit> permit = lead->Value<WritePermit>();
  ASSERT_NE(permit, nullptr);
  EXPECT_TRUE(permit->Check());
  // A permit that the caller's context has is not lost.
  const Result<Context> nested = candidate->WaitForLeadership(AddWritePermit(Context::Background(), std::make_shared<Never>()));
  ASSERT_TRUE(nested);
  EXPECT_THAT(nested->Value<WritePermit>()->Check().error().ToString(), HasSubstr("refused from outside"));
  lease->Partition("a", true);
  clock->Advance(seconds(13));
  EXPECT_THAT(permit->Check().error().ToString(), HasSubstr("was not renewed in time"));
  lease->Partition("a", false);  // so that the lease can be released
}

TEST(LeaderCandidateTest, TheUsersCallbacksAreCalled) {
  auto clock = std::make_shared<FakeClock>();
  auto lease = std::make_shared<FakeLease>();
  Mutex mu;
  CondVar changed;
  std::vector<std::string> said;
  const auto say = [&](const std::string& what) {
    MutexLock lock(mu);
    said.push_back(what);
    changed.NotifyAll();
  };
  {
    Result<LeaderCandidate> candidate =
        ElectionAccess::Start(std::make_unique<FakeLock>(lease, "a"), clock, {.name = "test", .identity = "a"},
                              {.on_started_leading = [&](const Context&) { say("started"); },
                               .on_stopped_leading = [&] { say("stopped"); },
                               .on_new_leader = [&](const std::string& id) { say("new " + id); }});
    ASSERT_TRUE(candidate);
    ASSERT_TRUE(WaitBounded(mu, changed, [&]() KUBE_NO_THREAD_SAFETY_ANALYSIS { return said.size() == 2; }));
  }
  EXPECT_THAT(said, ::testing::UnorderedElementsAre("started", "new a", "stopped"));
  EXPECT_EQ(said.back(), "stopped");
}

TEST(LeaderCandidateTest, OptionsAreCheckedAtTheStart) {
  const Result<LeaderCandidate> candidate = ElectionAccess::Start(AnyLock(), std::make_shared<FakeClock>(), {});
  ASSERT_FALSE(candidate);
  EXPECT_THAT(candidate.error().message(), HasSubstr("name"));
}

// ---- Never two ----

// Three replicas with different times of day, whose requests hang, fail and get lost at random; at every moment at most one works, and
// when all is well again one does.
void RunStorm(unsigned seed) {
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  const auto dice = [&random](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  Election election;
  election.skews = {{"a", std::chrono::hours(dice(100) - 50)}, {"b", seconds(dice(100) - 50)}};
  std::vector<Election::Replica*> replicas;
  const std::vector<std::string> names{"a", "b", "c"};
  for (const std::string& name : names) {
    replicas.push_back(&election.Start(name, {.random = [p = 0.0]() mutable { return p = p > 0.9 ? 0 : p + 0.13; }}));
  }
  std::map<std::string, Election::Replica*> by_name;
  int generation = 0;
  for (int step = 0; step < 150; ++step) {
    const std::string& victim = names[static_cast<std::size_t>(dice(3))];
    switch (dice(5)) {
      case 0:
        election.lease->Partition(victim, true);
        break;
      case 1:
      case 2:
        election.lease->Partition(victim, false);
        break;
      case 3:
        election.lease->AddFault(dice(2) == 0 ? "update" : "get", dice(2) == 0 ? FakeLease::Fault::kNoAnswer : FakeLease::Fault::kHang);
        break;
      default:
        break;
    }
    ASSERT_TRUE(election.Advance(milliseconds(200 + dice(2500))));
    int working = 0;
    int leading = 0;
    for (Election::Replica*& replica : replicas) {
      working += replica->working() ? 1 : 0;
      leading += replica->elector().is_leader() ? 1 : 0;
      if (replica->result()) {  // lost it: a new process takes its place
        replica = &election.Start(names[static_cast<std::size_t>(&replica - replicas.data())],
                                  {.identity = "again" + std::to_string(++generation)});
      }
    }
    ASSERT_LE(working, 1) << "at step " << step;
    ASSERT_LE(leading, 1) << "at step " << step;
  }
  for (const std::string& name : names) election.lease->Partition(name, false);
  ASSERT_TRUE(election.Advance(seconds(60)));
  int leading = 0;
  for (Election::Replica* replica : replicas) leading += replica->elector().is_leader() ? 1 : 0;
  EXPECT_EQ(leading, 1);
}

class LeaderStormTest : public ::testing::TestWithParam<unsigned> {};
TEST_P(LeaderStormTest, NeverTwoAtOnce) { RunStorm(GetParam()); }
INSTANTIATE_TEST_SUITE_P(Seeds, LeaderStormTest, ::testing::Range(1U, 9U));

}  // namespace
}  // namespace kube::internal
