// The check of the writers finds what it is there for.
#include "audit_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kube::chaos {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr Micros kSecond = 1'000'000;
constexpr Micros kLease = 6 * kSecond;

LeaseWrite Lease(const std::string& holder, double at) {
  const auto time = static_cast<Micros>(at * 1e6);
  return {.holder = holder, .received = time - 1000, .completed = time};
}
ChildWrite Write(const std::string& replica, double sent) {
  const auto time = static_cast<Micros>(sent * 1e6);
  return {.replica = replica, .what = "patch of-d1", .sent = time, .received = time + 1000, .completed = time + 2000, .code = 200};
}
Freeze Frozen(const std::string& replica, double stopped, double resumed) {
  return {.replica = replica, .stopped = static_cast<Micros>(stopped * 1e6), .resumed = static_cast<Micros>(resumed * 1e6)};
}

TEST(AuditLogTest, TheHolderWritesAndNobodyElse) {
  const AuditLog log{.leases = {Lease("a-1", 1), Lease("a-1", 2), Lease("", 3), Lease("b-1", 4)},
                     .writes = {Write("a-1", 1.5), Write("a-1", 2.5), Write("b-1", 4.5)}};
  const WriterReport report = CheckWriters(log, {}, kLease, 4);
  EXPECT_THAT(report.problems, IsEmpty());
  EXPECT_EQ(report.writes, 3);
  EXPECT_EQ(report.holders, 1);
}

TEST(AuditLogTest, AWriteBeforeTheLeaseIsFound) {
  EXPECT_THAT(CheckWriters({.leases = {Lease("a-1", 1)}, .writes = {Write("a-1", 0.5)}}, {}, kLease, 4).problems,
              ElementsAre(HasSubstr("nobody had the lease")));
}

TEST(AuditLogTest, AWriteAfterTheNextLeaderBeganIsFound) {
  const AuditLog log{.leases = {Lease("a-1", 1), Lease("b-1", 8)}, .writes = {Write("a-1", 1.5), Write("a-1", 8.5)}};
  EXPECT_THAT(CheckWriters(log, {}, kLease, 4).problems, ElementsAre(HasSubstr("the lease was b-1's")));
}

TEST(AuditLogTest, AWriteAfterTheReleaseIsFound) {
  const AuditLog log{.leases = {Lease("a-1", 1), Lease("", 2)}, .writes = {Write("a-1", 2.5)}};
  EXPECT_THAT(CheckWriters(log, {}, kLease, 4).problems, ElementsAre(HasSubstr("the lease was free")));
}

TEST(AuditLogTest, ARestartedReplicaIsAnotherOne) {
  const AuditLog log{.leases = {Lease("a-1", 1)}, .writes = {Write("a-2", 1.5)}};
  EXPECT_THAT(CheckWriters(log, {}, kLease, 4).problems, ElementsAre(HasSubstr("the lease was a-1's")));
}

TEST(AuditLogTest, AWritePastTheLeaseIsFoundThoughNobodyTookIt) {
  const AuditLog log{.leases = {Lease("a-1", 1)}, .writes = {Write("a-1", 6.9), Write("a-1", 7.1)}};
  EXPECT_THAT(CheckWriters(log, {}, kLease, 4).problems, ElementsAre(HasSubstr("the lease was over")));
}

TEST(AuditLogTest, EachThreadOfAFrozenReplicaMaySendOnce) {
  const AuditLog log{.leases = {Lease("a-1", 1), Lease("b-1", 8)}, .writes = {Write("a-1", 9.1), Write("a-1", 9.1), Write("a-1", 9.2)}};
  EXPECT_THAT(CheckWriters(log, {Frozen("a-1", 1.5, 9)}, kLease, 3).problems, IsEmpty());
  EXPECT_EQ(CheckWriters(log, {Frozen("a-1", 1.5, 9)}, kLease, 2).problems.size(), 1U);
  EXPECT_EQ(CheckWriters(log, {Frozen("b-1", 1.5, 9)}, kLease, 3).problems.size(), 3U);
  EXPECT_EQ(CheckWriters(log, {Frozen("a-1", 1.5, 6)}, kLease, 3).problems.size(), 3U);
}

TEST(AuditLogTest, WritesOnTheirWayAreCounted) {
  ChildWrite slow = Write("a-1", 2);
  slow.completed = 9 * kSecond;
  const WriterReport report = CheckWriters({.leases = {Lease("a-1", 1), Lease("b-1", 8)}, .writes = {slow}}, {}, kLease, 4);
  EXPECT_THAT(report.problems, IsEmpty());
  EXPECT_EQ(report.in_flight, 1);
}

TEST(AuditLogTest, ReadsWhatTheServerWrites) {
  const AuditLog log = ParseAuditLog(
      R"({"stage":"RequestReceived","auditID":"a-1.1700000001500000.7","verb":"patch","objectRef":{"resource":"configmaps","name":"of-d1"},"requestReceivedTimestamp":"2023-11-14T22:13:21.600000Z","stageTimestamp":"2023-11-14T22:13:21.600000Z"}
{"stage":"ResponseComplete","auditID":"x","verb":"update","objectRef":{"resource":"leases","name":"chaos"},"responseStatus":{"code":200},"requestObject":{"spec":{"holderIdentity":"a-1"}},"requestReceivedTimestamp":"2023-11-14T22:13:20.000000Z","stageTimestamp":"2023-11-14T22:13:20.100000Z"}
{"stage":"ResponseComplete","auditID":"y","verb":"update","objectRef":{"resource":"leases","name":"chaos"},"responseStatus":{"code":409},"requestObject":{"spec":{"holderIdentity":"b-1"}},"requestReceivedTimestamp":"2023-11-14T22:13:20.000000Z","stageTimestamp":"2023-11-14T22:13:20.200000Z"}
{"stage":"ResponseComplete","auditID":"2f1c","verb":"delete","objectRef":{"resource":"configmaps","name":"of-d2"},"responseStatus":{"code":200}}
{"stage":"ResponseComplete","auditID":"a-1.1700000001500000.7","verb":"patch","objectRef":{"resource":"configmaps","name":"of-d1"},"responseStatus":{"code":201},"requestReceivedTimestamp":"2023-11-14T22:13:21.600000Z","stageTimestamp":"2023-11-14T22:13:21.700000Z"}
{"stage":"Resp)");
  ASSERT_EQ(log.leases.size(), 1U);
  EXPECT_EQ(log.leases[0].holder, "a-1");
  EXPECT_EQ(log.leases[0].completed - log.leases[0].received, 100'000);
  ASSERT_EQ(log.writes.size(), 1U);
  EXPECT_EQ(log.writes[0].replica, "a-1");
  EXPECT_EQ(log.writes[0].what, "patch of-d1");
  EXPECT_EQ(log.writes[0].received - log.writes[0].sent, 100'000);
  EXPECT_EQ(log.writes[0].completed, 1'700'000'001'700'000);
  EXPECT_EQ(log.writes[0].code, 201);
  EXPECT_EQ(log.broken_lines, 1);
  EXPECT_THAT(CheckWriters(log, {}, kLease, 4).problems, IsEmpty());
}

}  // namespace
}  // namespace kube::chaos
