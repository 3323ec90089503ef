// Leader election and events against the embedded server, and against scripted answers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "client/scripted_transport_test_util.h"
#include "control/election/lease_lock.h"
#include "control/events/event_sink.h"
#include "kube/api/coordination/v1.h"
#include "kube/api/core/v1.h"
#include "kube/api/events/v1.h"
#include "kube/base/metrics.h"
#include "kube/client/client.h"
#include "kube/client/wait.h"
#include "kube/config/client_config.h"
#include "kube/control/event_recorder.h"
#include "kube/control/leader_election.h"
#include "kube/serve/http_server.h"
#include "kube/testing/api_server.h"

namespace kube::internal {
namespace {

using coordination::v1::Lease;
using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

Context Soon() { return Context::Background().WithTimeout(seconds(60)); }

class ControlServerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    Result<std::unique_ptr<testing::ApiServer>> server = testing::ApiServer::Start();
    ASSERT_TRUE(server) << server.error().ToString();
    server_ = *std::move(server);
    client_ = std::make_unique<Client>(server_->NewClient().value());
  }
  // Long terms: a machine that is busy for seconds does not lose the lease. Replicas release it on shutdown, so no test waits for its end.
  static LeaderElectionOptions Quick(std::string identity) {
    return {.name = "test",
            .ns = "default",
            .identity = std::move(identity),
            .lease_duration = seconds(60),
            .renew_deadline = seconds(40),
            .retry_period = milliseconds(100)};
  }
  Lease GetLease() const { return client_->Get<Lease>(Soon(), {"default", "test"}).value(); }

  std::unique_ptr<testing::ApiServer> server_;
  std::unique_ptr<Client> client_;
};

TEST_F(ControlServerTest, ACandidateWritesTheLeaseAndGivesItBack) {
  LeaderElectionOptions options = Quick("me");
  options.labels = {{"app", "web"}};
  {
    Result<LeaderCandidate> candidate = LeaderCandidate::Start(*client_, options);
    ASSERT_TRUE(candidate) << candidate.error().ToString();
    ASSERT_TRUE(candidate->WaitForLeadership(Soon()));
    const Lease lease = GetLease();
    EXPECT_EQ(*lease.spec.holder_identity, "me");
    EXPECT_EQ(*lease.spec.lease_duration_seconds, 60);
    EXPECT_EQ(lease.metadata.labels.Get("app"), "web");
    EXPECT_FALSE(lease.spec.renew_time.IsZero());
  }
  const Lease lease = GetLease();
  EXPECT_EQ(*lease.spec.holder_identity, "");
  EXPECT_EQ(*lease.spec.lease_duration_seconds, 1);
}

TEST_F(ControlServerTest, TheStandbyLeadsAsSoonAsTheLeaderEnds) {
  auto first = std::make_unique<LeaderCandidate>(LeaderCandidate::Start(*client_, Quick("first")).value());
  ASSERT_TRUE(first->WaitForLeadership(Soon()));
  Result<LeaderCandidate> second = LeaderCandidate::Start(*client_, Quick("second"));
  ASSERT_TRUE(second);
  const Context patience = Soon();
  while (second->leader().empty() && patience.SleepFor(milliseconds(1))) {
  }
  EXPECT_EQ(second->leader(), "first");
  EXPECT_FALSE(second->WaitForLeadership(Context::Background().WithTimeout(milliseconds(300))));
  first.reset();
  ASSERT_TRUE(second->WaitForLeadership(Soon()));
  EXPECT_EQ(*GetLease().spec.lease_transitions, 1);
}

TEST_F(ControlServerTest, ALeaderThatCannotWriteStopsInTime) {
  LeaderElectionOptions options = Quick("me");
  options.lease_duration = seconds(3);
  options.renew_deadline = seconds(2);
  Result<LeaderCandidate> candidate = LeaderCandidate::Start(*client_, options);
  ASSERT_TRUE(candidate);
  const Result<Context> lead = candidate->WaitForLeadership(Soon());
  ASSERT_TRUE(lead);
  server_->AddFault({.verb = "update", .resource = "leases", .kind = testing::FaultKind::kDrop, .times = -1});
  lead->WaitUntilStopped();
  EXPECT_TRUE(IsCancelled(*lead->Err()));
  // Two seconds of tries that failed; counted from the last renewal, which on a busy machine may be long before the fault.
  EXPECT_GE(MicroTime::Now() - GetLease().spec.renew_time, Duration(milliseconds(1900)));
  EXPECT_FALSE(candidate->is_leader());
  server_->ClearFaults();
  EXPECT_TRUE(candidate->WaitForLeadership(Soon()));  // and runs again
}

TEST_F(ControlServerTest, EventsOfTheElectionAreAboutTheLease) {
  RecordedEvents events;
  LeaderElectionOptions options = Quick("me");
  options.events = events.recorder();
  {
    Result<LeaderCandidate> candidate = LeaderCandidate::Start(*client_, options);
    ASSERT_TRUE(candidate);
    ASSERT_TRUE(candidate->WaitForLeadership(Soon()));
  }
  EXPECT_THAT(events.events(), ElementsAre("Normal LeaderElection me became leader", "Normal LeaderElection me stopped leading"));
  const EventObject object = events.objects()[0];
  EXPECT_EQ(object.kind, "Lease");
  EXPECT_EQ(object.api_version, "coordination.k8s.io/v1");
  EXPECT_EQ(object.name, "test");
  EXPECT_EQ(object.uid, GetLease().metadata.uid);
}

TEST_F(ControlServerTest, WithoutARecorderNothingIsRecorded) {
  ResourceLeaseLock lock(*client_, {"default", "test"}, {}, {});
  lock.RecordEvent("Acquire", "me became leader");
  EXPECT_EQ(lock.Describe(), "default/test");
}

TEST_F(ControlServerTest, ALockOfALeaseThatIsNotThere) {
  ResourceLeaseLock lock(*client_, {"default", "test"}, {}, {});
  const Result<LeaderRecord> found = lock.Get(Soon());
  ASSERT_FALSE(found);
  EXPECT_TRUE(IsNotFound(found.error()));
}

TEST_F(ControlServerTest, ALockIsCreatedOnce) {
  ResourceLeaseLock lock(*client_, {"default", "test"}, {}, {});
  ASSERT_TRUE(lock.Create(Soon(), {.holder = "me", .lease_duration_seconds = 15}));
  const Result<void> again = lock.Create(Soon(), {.holder = "me", .lease_duration_seconds = 15});
  ASSERT_FALSE(again);
  EXPECT_TRUE(IsAlreadyExists(again.error()));
}

TEST_F(ControlServerTest, AnUpdateNeedsAGetOrACreate) {
  ResourceLeaseLock lock(*client_, {"default", "test"}, {}, {});
  const Result<void> updated = lock.Update(Soon(), {.holder = "me"});
  ASSERT_FALSE(updated);
  EXPECT_EQ(updated.error().kind(), ErrorKind::kInvalid);
  EXPECT_THAT(updated.error().message(), HasSubstr("Get or Create"));
}

TEST_F(ControlServerTest, AnUpdateOfWhatAnotherOneChangedIsAConflict) {
  ResourceLeaseLock mine(*client_, {"default", "test"}, {}, {});
  ResourceLeaseLock other(*client_, {"default", "test"}, {}, {});
  ASSERT_TRUE(mine.Create(Soon(), {.holder = "me", .lease_duration_seconds = 15}));
  ASSERT_TRUE(other.Get(Soon()));
  ASSERT_TRUE(other.Update(Soon(), {.holder = "other", .lease_duration_seconds = 15}));
  const Result<void> updated = mine.Update(Soon(), {.holder = "me", .lease_duration_seconds = 15});
  ASSERT_FALSE(updated);
  EXPECT_TRUE(IsConflict(updated.error()));
}

TEST_F(ControlServerTest, OnlyConfiguredLabelsAreOverwritten) {
  Lease lease;
  lease.metadata = {.name = "test", .namespace_ = "default"};
  lease.metadata.labels["team"] = "blue";
  lease.metadata.labels["app"] = "old";
  ASSERT_TRUE(client_->Create(Soon(), lease));
  ResourceLeaseLock lock(*client_, {"default", "test"}, {{"app", "new"}}, {});
  ASSERT_TRUE(lock.Get(Soon()));
  ASSERT_TRUE(lock.Update(Soon(), {.holder = "me", .lease_duration_seconds = 15}));
  EXPECT_EQ(GetLease().metadata.labels.Get("team"), "blue");
  EXPECT_EQ(GetLease().metadata.labels.Get("app"), "new");
}

TEST_F(ControlServerTest, WithoutLabelsThoseOfTheLeaseStay) {
  Lease lease;
  lease.metadata = {.name = "test", .namespace_ = "default"};
  lease.metadata.labels["team"] = "blue";
  lease.spec.strategy = String("OldestEmulationVersion");
  ASSERT_TRUE(client_->Create(Soon(), lease));
  ResourceLeaseLock lock(*client_, {"default", "test"}, {}, {});
  ASSERT_TRUE(lock.Get(Soon()));
  ASSERT_TRUE(lock.Update(Soon(), {.holder = "me", .lease_duration_seconds = 15}));
  EXPECT_EQ(GetLease().metadata.labels.Get("team"), "blue");
  EXPECT_EQ(*GetLease().spec.strategy, "OldestEmulationVersion");
}

TEST(LeaseLockTest, ARecordSurvivesTheWayToASpecAndBack) {
  const LeaderRecord record{.holder = "me",
                            .lease_duration_seconds = 15,
                            .acquire_time = MicroTime::FromUnixMicros(1577836800123456),
                            .renew_time = MicroTime::FromUnixMicros(1577836801654321),
                            .transitions = 7};
  coordination::v1::LeaseSpec spec;
  ToLeaseSpec(record, spec);
  EXPECT_EQ(FromLeaseSpec(spec), record);
  EXPECT_EQ(FromLeaseSpec({}), LeaderRecord());
}

TEST(LeaderElectorClientTest, HasAConnectionWithAUserAgentAndATimeoutOfItsOwn) {
  Mutex mu;
  CondVar changed;
  std::vector<std::string> seen;
  auto server =
      serve::HttpServer::Start({.limits = serve::HttpLimits::ForApi()}, [&](const std::shared_ptr<serve::HttpExchange>& exchange) {
        {
          MutexLock lock(mu);
          seen.push_back(std::string(exchange->request().headers.Get("user-agent")) + "|" + exchange->request().query);
          changed.NotifyAll();
        }
        exchange->Reply({.status = 403, .headers = {{"content-type", "text/plain"}}, .body = "no"});
      });
  ASSERT_TRUE(server);
  ClientConfig config;
  config.host = "http://127.0.0.1:" + std::to_string((*server)->port());
  config.user_agent = "my-program/1";
  const Client client = Client::FromConfig(config).value();
  Result<LeaderCandidate> candidate = LeaderCandidate::Start(client, {.name = "test", .renew_deadline = seconds(6)});
  ASSERT_TRUE(candidate);
  MutexLock lock(mu);
  const auto limit = std::chrono::steady_clock::now() + seconds(60);
  while (seen.empty() && changed.WaitUntil(mu, limit)) {
  }
  ASSERT_FALSE(seen.empty());
  EXPECT_EQ(seen[0], "my-program/1/leader-election|timeout=3s");
}

// ---- Events ----

TEST_F(ControlServerTest, EventsArriveWithTheirSeries) {
  core::v1::ConfigMap map;
  map.metadata = {.name = "settings", .namespace_ = "default"};
  map = client_->Create(Soon(), map).value();
  {
    const EventRecorder recorder(*client_, {.controller = "test.example.com/control", .instance = "replica-1"});
    for (int i = 0; i < 5; ++i) recorder.Event(map, EventType::kNormal, "Changed", "Update", "changed it");
    recorder.Event(map, EventType::kWarning, "Bad", "Update", std::string(2000, 'x'));
    ASSERT_TRUE(recorder.Flush());
    EXPECT_EQ(recorder.stats().dropped_rejected, 0U);
  }
  const Result<ObjectList<events::v1::Event>> list = client_->List<events::v1::Event>(Soon(), {.ns = "default"});
  ASSERT_TRUE(list) << list.error().ToString();
  ASSERT_EQ(list->size(), 2U);
  for (const events::v1::Event& event : list->items) {
    EXPECT_EQ(event.regarding.uid, map.metadata.uid);
    EXPECT_EQ(event.reporting_controller, "test.example.com/control");
    EXPECT_EQ(event.reporting_instance, "replica-1");
    if (event.reason == "Bad") {
      EXPECT_EQ(event.note.size(), 1024U);
      EXPECT_FALSE(event.series);
    } else {
      EXPECT_EQ(event.series->count, 5);  // the shutdown wrote the last count
      EXPECT_EQ(event.action, "Update");
    }
  }
}

TEST_F(ControlServerTest, AnEventOfAMissingNamespaceIsRefusedAndNotWrittenElsewhere) {
  const EventRecorder recorder(*client_, {.controller = "test"});
  recorder.Event(EventObject{.api_version = "v1", .kind = "Pod", .ns = "nowhere", .name = "web"}, EventType::kNormal, "A", "Act", "x");
  ASSERT_TRUE(recorder.Flush());
  EXPECT_EQ(recorder.stats().dropped_rejected, 1U);
  // And the next one still uses events.k8s.io.
  recorder.Event(EventObject{.api_version = "v1", .kind = "Pod", .ns = "default", .name = "web"}, EventType::kNormal, "A", "Act", "x");
  ASSERT_TRUE(recorder.Flush());
  EXPECT_EQ(client_->List<events::v1::Event>(Soon(), {.ns = "default"})->size(), 1U);
}

class EventFallbackTest : public ::testing::Test {
 protected:
  EventFallbackTest() {
    ClientConfig config;
    config.qps = -1;
    config.content_type = "application/json";
    client_ = std::make_unique<Client>(Client::FromConfig(config, {.transport = transport_}).value());
  }
  static events::v1::Event SomeEvent(int count) {
    events::v1::Event event;
    event.metadata = {.name = "web.1", .namespace_ = "default"};
    event.event_time = MicroTime::FromUnix(1577836800, 0);
    event.reporting_controller = "test";
    event.reporting_instance = "test-host";
    event.action = "Act";
    event.reason = "Started";
    event.note = "it runs";
    event.type = "Normal";
    event.regarding.kind = "Pod";
    event.regarding.name = "web";
    event.regarding.namespace_ = "default";
    if (count > 1) {
      events::v1::EventSeries series;
      series.count = count;
      series.last_observed_time = MicroTime::FromUnix(1577836805, 250000000);
      event.series = series;
    }
    return event;
  }
  std::vector<std::string> Sent() const {
    std::vector<std::string> sent;
    for (const HttpRequest& request : transport_->requests()) sent.push_back(request.method + " " + request.target);
    return sent;
  }
  static std::string NotFound() {
    return R"({"kind":"Status","apiVersion":"v1","status":"Failure","message":"the server could not find the requested resource","reason":"NotFound","code":404})";
  }

  const std::shared_ptr<ScriptedTransport> transport_ = std::make_shared<ScriptedTransport>();
  std::unique_ptr<Client> client_;
};

TEST_F(EventFallbackTest, AServerWithoutTheNewApiGetsCoreEvents) {
  ClientEventSink sink(*client_);
  transport_->Answer(404, NotFound());
  transport_->Answer(404, NotFound());
  transport_->Answer(201, R"({"kind":"Event","apiVersion":"v1"})");
  ASSERT_TRUE(sink.Create(Soon(), SomeEvent(1)));
  EXPECT_TRUE(sink.uses_core());
  EXPECT_THAT(Sent(), ElementsAre("POST /apis/events.k8s.io/v1/namespaces/default/events", "GET /apis/events.k8s.io/v1",
                                  "POST /api/v1/namespaces/default/events"));
  const Value body = ParseJson(transport_->last().body).value();
  EXPECT_EQ(body["involvedObject"]["name"].string_value(), "web");
  EXPECT_EQ(body["message"].string_value(), "it runs");
  EXPECT_EQ(body["source"]["component"].string_value(), "test");
  EXPECT_EQ(body["count"].int_value(), 1);
  EXPECT_EQ(body["firstTimestamp"].string_value(), "2020-01-01T00:00:00Z");
  EXPECT_EQ(body["reportingComponent"].string_value(), "test");

  // From then on without asking.
  transport_->Answer(200, R"({"kind":"Event","apiVersion":"v1"})");
  ASSERT_TRUE(sink.Patch(Soon(), SomeEvent(3)));
  EXPECT_EQ(Sent().back(), "PATCH /api/v1/namespaces/default/events/web.1");
  EXPECT_EQ(
      ParseJson(transport_->last().body).value(),
      ParseJson(
          R"({"count":3,"lastTimestamp":"2020-01-01T00:00:05Z","series":{"count":3,"lastObservedTime":"2020-01-01T00:00:05.250000Z"}})")
          .value());
}

TEST_F(EventFallbackTest, ANotFoundOfAServerThatHasTheApiStays) {
  ClientEventSink sink(*client_);
  transport_->Answer(404, NotFound());
  transport_->Answer(200, R"({"kind":"APIResourceList","apiVersion":"v1"})");
  const Result<void> created = sink.Create(Soon(), SomeEvent(1));
  ASSERT_FALSE(created);
  EXPECT_TRUE(IsNotFound(created.error()));
  EXPECT_FALSE(sink.uses_core());
  transport_->Answer(404, NotFound());
  EXPECT_FALSE(sink.Create(Soon(), SomeEvent(1)));
  EXPECT_THAT(Sent(), ::testing::SizeIs(3));  // asked once
}

TEST_F(EventFallbackTest, ASeriesIsAMergePatchOfItsCountAndTime) {
  ClientEventSink sink(*client_);
  transport_->Answer(200, R"({"kind":"Event","apiVersion":"events.k8s.io/v1"})");
  ASSERT_TRUE(sink.Patch(Soon(), SomeEvent(2)));
  EXPECT_EQ(Sent().back(), "PATCH /apis/events.k8s.io/v1/namespaces/default/events/web.1");
  EXPECT_EQ(transport_->last().body, R"({"series":{"count":2,"lastObservedTime":"2020-01-01T00:00:05.250000Z"}})");
}

}  // namespace
}  // namespace kube::internal
