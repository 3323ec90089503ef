// Events and leases against the embedded server and real ones: what their validation lets through.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <utility>

#include "client/server_test_util.h"
#include "control/event_sink.h"
#include "kube/api/coordination/v1.h"
#include "kube/api/core/v1.h"
#include "kube/api/events/v1.h"
#include "kube/client/client.h"
#include "kube/control/event_recorder.h"
#include "kube/control/leader_election.h"

namespace kube::internal {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

Context Soon() { return Context::Background().WithTimeout(seconds(60)); }

class ControlRealTest : public ServerTest {
 protected:
  Client MakeClient() const { return Client::FromConfig(Config()).value(); }
};

TEST_P(ControlRealTest, EventsOfAllSortsAreTaken) {
  const Client client = MakeClient();
  core::v1::Namespace ns;
  ns.metadata.name = "events-" + std::string(GetParam());
  ns = client.Create(Soon(), ns).value();
  core::v1::ConfigMap map;
  map.metadata = {.name = "settings", .namespace_ = ns.metadata.name};
  map = client.Create(Soon(), map).value();
  {
    const EventRecorder recorder(client, {.controller = "test.example.com/control"});
    for (int i = 0; i < 5; ++i) recorder.Event(map, EventType::kNormal, "Changed", "Update", "changed it", EventObjectOf(ns));
    for (int i = 0; i < 12; ++i) recorder.Event(map, EventType::kWarning, "Refused", "Update", "attempt " + std::to_string(i));
    recorder.Event(map, EventType::kNormal, "Long", "", std::string(3000, 'x'));
    recorder.Event(ns, EventType::kNormal, "Used", "Use", "a cluster-scoped object");
    ASSERT_TRUE(recorder.Flush(seconds(60)));
    EXPECT_EQ(recorder.stats().dropped_rejected, 0U);
  }
  const auto events = client.List<events::v1::Event>(Soon(), {.ns = ns.metadata.name.str()}).value();
  int combined = 0;
  int singles = 0;
  for (const events::v1::Event& event : events.items) {
    if (event.reason == "Changed") {
      EXPECT_EQ(event.series->count, 5);
      EXPECT_EQ(event.related->name, ns.metadata.name);
      EXPECT_EQ(event.regarding.uid, map.metadata.uid);
    } else if (event.note.view().substr(0, 9) == "(combined") {
      ++combined;
      EXPECT_EQ(event.series->count, 3);
    } else {
      ++singles;
      EXPECT_FALSE(event.series);
    }
  }
  EXPECT_EQ(combined, 1);
  EXPECT_EQ(singles, 10);  // nine attempts and the long one
  const auto cluster = client.List<events::v1::Event>(Soon(), {.ns = "default"}).value();
  bool found = false;
  for (const events::v1::Event& event : cluster.items) found = found || (event.reason == "Used" && event.regarding.uid == ns.metadata.uid);
  EXPECT_TRUE(found);
}

TEST_P(ControlRealTest, CoreEventsAreTaken) {
  const Client client = MakeClient();
  events::v1::Event event;
  event.metadata = {.name = String("core." + std::string(GetParam())), .namespace_ = "default"};
  event.event_time = MicroTime::Now();
  event.reporting_controller = "test.example.com/control";
  event.reporting_instance = "replica-1";
  event.action = "Act";
  event.reason = "Started";
  event.note = "it runs";
  event.type = "Normal";
  event.regarding.kind = "ConfigMap";
  event.regarding.api_version = "v1";
  event.regarding.name = "settings";
  event.regarding.namespace_ = "default";
  const Result<core::v1::Event> created = client.Create(Soon(), ToCoreEvent(event));
  ASSERT_TRUE(created) << created.error().ToString();
  EXPECT_EQ(created->count, 1);
}

TEST_P(ControlRealTest, TheLeaseGoesFromHandToHand) {
  const Client client = MakeClient();
  const auto options = [](std::string identity) {
    return LeaderElectionOptions{.name = "hand-to-hand",
                                 .ns = "default",
                                 .identity = std::move(identity),
                                 .labels = {{"app", "test"}},
                                 .lease_duration = seconds(6),
                                 .renew_deadline = seconds(4),
                                 .retry_period = milliseconds(100)};
  };
  for (int round = 0; round < 3; ++round) {
    Result<LeaderCandidate> candidate = LeaderCandidate::Start(client, options("replica-" + std::to_string(round)));
    ASSERT_TRUE(candidate);
    ASSERT_TRUE(candidate->WaitForLeadership(Soon()));
    EXPECT_TRUE(candidate->is_leader());
  }
  const auto lease = client.Get<coordination::v1::Lease>(Soon(), {"default", "hand-to-hand"}).value();
  EXPECT_EQ(*lease.spec.holder_identity, "");
  EXPECT_EQ(*lease.spec.lease_transitions, 2);
  EXPECT_EQ(*lease.spec.lease_duration_seconds, 1);
  EXPECT_EQ(lease.metadata.labels.Get("app"), "test");
}

INSTANTIATE_SERVERS(ControlRealTest);

}  // namespace
}  // namespace kube::internal
