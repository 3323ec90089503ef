// Events, leases and cached reads against the embedded server and real ones: what their validation lets through, what their answers say.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <utility>

#include "client/server_test_util.h"
#include "control/events/event_sink.h"
#include "kube/api/apps/v1.h"
#include "kube/api/coordination/v1.h"
#include "kube/api/core/v1.h"
#include "kube/api/events/v1.h"
#include "kube/base/metrics.h"
#include "kube/cache/informer_factory.h"
#include "kube/client/client.h"
#include "kube/control/cached_client.h"
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

// What a server answers to a write is enough to know when a cache has seen it; nothing runs into the timeout.
TEST_P(ControlRealTest, ACacheShowsWhatWasWritten) {
  using apps::v1::Deployment;
  using core::v1::ConfigMap;
  ClientConfig config = Config();
  config.qps = -1;
  const Client client = Client::FromConfig(config).value();
  core::v1::Namespace ns;
  ns.metadata.name = "cached-" + std::string(GetParam());
  ns = client.Create(Soon(), ns).value();
  const String in = ns.metadata.name;
  const auto metrics = std::make_shared<RecordedMetrics>();
  InformerFactory informers(client, {.ns = in.str()});
  const SharedInformer<ConfigMap> maps = informers.For<ConfigMap>();
  const SharedInformer<DynamicObject> dynamic = informers.For(GvrOf<ConfigMap>());
  const SharedInformer<meta::v1::PartialObjectMetadata> light = informers.ForMetadata<ConfigMap>();
  const SharedInformer<ConfigMap> chosen = informers.For<ConfigMap>({.ns = in.str(), .label_selector = "round"});
  const SharedInformer<Deployment> deployments = informers.For<Deployment>();
  informers.Start(Context::Background());
  ASSERT_TRUE(informers.WaitForSync(Soon()));
  const CachedClient cached(client, informers, {.wait_timeout = seconds(30), .metrics = metrics});
  const ObjectKey key{in, "a"};
  const auto has = [&](const std::string& round) {
    EXPECT_EQ((*cached.From(maps).Get(Soon(), key))->data.Get("round"), round);
    EXPECT_EQ((*cached.From(dynamic).Get(Soon(), key))->labels().Get("round"), round);
    EXPECT_EQ((*cached.From(light).Get(Soon(), key))->metadata.labels.Get("round"), round);
    EXPECT_EQ((*cached.From(chosen).Get(Soon(), key))->data.Get("round"), round);
  };
  const auto gone = [&] {
    EXPECT_TRUE(IsNotFound(cached.From(maps).Get(Soon(), key).error()));
    EXPECT_TRUE(IsNotFound(cached.From(dynamic).Get(Soon(), key).error()));
    EXPECT_TRUE(IsNotFound(cached.From(light).Get(Soon(), key).error()));
    EXPECT_TRUE(IsNotFound(cached.From(chosen).Get(Soon(), key).error()));
  };
  for (int i = 0; i < 20; ++i) {
    const std::string round = std::to_string(i);
    ConfigMap map;
    map.metadata = {.name = key.name, .namespace_ = key.ns};
    map.metadata.labels["round"] = String(round);
    map.data["round"] = String(round);
    if (i % 2 == 0) map.metadata.finalizers = {"example.com/test"};
    map = cached.Create(Soon(), map).value();
    has(round);
    ASSERT_TRUE(cached.Patch<ConfigMap>(Soon(), key, Patch::Merge(R"({"metadata":{"labels":{"round":null}}})")));
    EXPECT_TRUE(IsNotFound(cached.From(chosen).Get(Soon(), key).error()));
    map =
        cached.Patch<ConfigMap>(Soon(), key, Patch::Merge(R"({"metadata":{"labels":{"round":"again"}},"data":{"round":"again"}})")).value();
    has("again");
    if (i % 4 < 2) {
      ASSERT_TRUE(cached.Delete<ConfigMap>(Soon(), key));
    } else {
      ASSERT_TRUE(cached.DeleteCollection<ConfigMap>(Soon(), {.ns = in.str(), .label_selector = "round"}));
    }
    if (i % 2 == 0) {
      EXPECT_FALSE((*cached.From(maps).Get(Soon(), key))->metadata.deletion_timestamp.IsZero());
      ASSERT_TRUE(cached.Patch<ConfigMap>(Soon(), key, Patch::Merge(R"({"metadata":{"finalizers":null}})")));
    }
    gone();
  }
  Deployment deployment;
  deployment.metadata = {.name = key.name, .namespace_ = key.ns};
  deployment.spec.replicas = 0;
  deployment.spec.selector.Mutable().match_labels["app"] = "a";
  deployment.spec.template_.metadata.labels["app"] = "a";
  core::v1::Container container;
  container.name = "c";
  container.image = "example.com/c";
  deployment.spec.template_.spec.containers.push_back(container);
  const Result<Deployment> made = cached.Create(Soon(), deployment);
  ASSERT_TRUE(made) << made.error().ToString();
  ASSERT_TRUE(cached.Get<Deployment>(Soon(), key));
  Deployment status = **cached.Get<Deployment>(Soon(), key);
  status.status.observed_generation = 7;
  ASSERT_TRUE(cached.UpdateStatus(Soon(), status));
  EXPECT_EQ((*cached.Get<Deployment>(Soon(), key))->status.observed_generation, 7);
  EXPECT_EQ(metrics->Value("kubexx_read_your_writes_timeouts_total", {{"controller", ""}, {"resource", "configmaps"}}), 0);
  EXPECT_EQ(metrics->Value("kubexx_read_your_writes_timeouts_total", {{"controller", ""}, {"resource", "deployments.apps"}}), 0);
  EXPECT_EQ(cached.unseen_writes(), 0U);
}

INSTANTIATE_SERVERS(ControlRealTest);

}  // namespace
}  // namespace kube::internal
