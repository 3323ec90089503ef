// The obvious program is the right one: what a controller gets without asking for it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "cache/recording_test_util.h"
#include "control/controller/cached_test_util.h"
#include "control/manager/manager_test_util.h"
#include "kube/api/coordination/v1.h"
#include "kube/base/fake_clock.h"
#include "kube/base/log.h"
#include "kube/control/desired_state.h"
#include "kube/control/manager.h"
#include "kube/control/status.h"

namespace kube::internal {
namespace {

using core::v1::ConfigMap;
using core::v1::Namespace;
using core::v1::Secret;
using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::HasSubstr;

class ManagerProgramTest : public ManagerServerTest {
 protected:
  Client NewCounted() const {
    return NewClient({.wrap_transport = [this](std::shared_ptr<Transport> inner) -> std::shared_ptr<Transport> {
      return std::make_shared<CountedRequests>(std::move(inner), requests_);
    }});
  }
  // The program of the README.
  ControllerSpec Greeter(Manager& manager) {
    auto greet = [this, cached = manager.cached()](const Context& ctx, const Namespace& ns) -> Result<Action> {
      ConfigMap welcome;
      welcome.metadata.name = "welcome";
      welcome.metadata.namespace_ = ns.metadata.name;
      welcome.data["text"] = "Hello " + ns.metadata.name.str();
      auto changes = DesiredState(cached, ns, "greeter").Want(welcome).Apply(ctx);
      if (ns.metadata.labels.Get("seen") == "yes") ++labelled_;
      if (!changes) return changes.error();
      return Action::Done();
    };
    return ControllerFor<Namespace>("greeter").Owns<ConfigMap>().Reconcile(greet);
  }
  bool Greeted() const { return client_->Get<ConfigMap>(Patience(), {"default", "welcome"}).ok(); }
  static bool Idle(Manager& manager) {
    const ControllerStatus status = manager.controller("greeter")->status();
    return status.running && status.active == 0 && status.queue.entries.empty() && status.held.empty() &&
           manager.cached().unseen_writes() == 0;
  }

  const std::shared_ptr<std::atomic<int>> requests_ = std::make_shared<std::atomic<int>>(0);
  std::atomic<int> labelled_ = 0;
};

TEST_F(ManagerProgramTest, APassThatChangesNothingSendsNoRequest) {
  Manager manager(NewCounted());
  ASSERT_TRUE(manager.Add(Greeter(manager)));
  RunningManager running(manager);
  ASSERT_TRUE(Eventually([&] { return Greeted() && Idle(manager); }));
  const int before = *requests_;
  ASSERT_TRUE(client_->Patch<Namespace>(Patience(), {"", "default"}, Patch::Merge(R"({"metadata":{"labels":{"seen":"yes"}}})")));
  ASSERT_TRUE(Eventually([&] { return labelled_ > 0 && Idle(manager); }));
  EXPECT_EQ(*requests_, before);
  // And it still notices what others do.
  ASSERT_TRUE(client_->Delete<ConfigMap>(Patience(), {"default", "welcome"}));
  EXPECT_TRUE(Eventually([&] { return Greeted(); }));
  EXPECT_TRUE(running.Stop());
}

TEST_F(ManagerProgramTest, AChildThatFailsIsTriedAgain) {
  server_->AddFault({.verb = "create", .resource = "configmaps", .kind = testing::FaultKind::kStatus, .status = 403, .times = 2});
  Manager manager(NewCounted());
  ASSERT_TRUE(manager.Add(Greeter(manager)));
  RunningManager running(manager);
  EXPECT_TRUE(Eventually([&] {
    const ObjectList<Namespace> namespaces = client_->List<Namespace>(Patience()).value();
    for (const Namespace& ns : namespaces) {
      if (!client_->Get<ConfigMap>(Patience(), {ns.metadata.name, "welcome"})) return false;
    }
    return true;
  }));
  EXPECT_GE(manager.controller("greeter")->status().errors, 1U);
  EXPECT_TRUE(running.Stop());
}

TEST_F(ManagerProgramTest, AWriteThatWasNotDeclaredIsLoggedOnceWithTheLineToAdd) {
  const auto log = std::make_shared<RecordingLog>();
  LogBackend::Default()->SetSink(log);
  for (const char* name : {"a", "b"}) Create(name);
  Manager manager(*client_);
  std::atomic<int> done = 0;
  const CachedClient cached = manager.cached();
  ASSERT_TRUE(manager.Add(
      ControllerFor<ConfigMap>("maps")
          .MayWrite<Secret>({"create"})
          .Reconcile([&](const Context& ctx, const ConfigMap& map) -> Result<Action> {
            if (map.metadata.name != "a" && map.metadata.name != "b") return Action::Done();
            Secret secret;
            secret.metadata.name = map.metadata.name;
            secret.metadata.namespace_ = "default";
            if (auto made = cached.Create(ctx, secret); !made) return made.error();
            const Patch patch = Patch::Merge(R"({"data":{"x":"eA=="}})");
            if (auto changed = cached.Patch<Secret>(ctx, KeyOf(secret), patch); !changed) return changed.error();
            if (auto gone = cached.Delete<Secret>(ctx, KeyOf(secret)); !gone) return gone.error();
            if (auto dynamic =
                    cached.Live().Resource(GvrOf<ConfigMap>()).Patch(ctx, KeyOf(map), Patch::Merge(R"({"data":{"done":"yes"}})"));
                !dynamic)
              return dynamic.error();
            ++done;
            return Action::GiveUp(Error::Invalid("once is enough"));
          })));
  ASSERT_TRUE(manager.Add(Runnable{.name = "mailer", .run = [&](const Context& ctx) -> Result<void> {
                                     core::v1::Service service;
                                     service.metadata.name = "mail";
                                     service.metadata.namespace_ = "default";
                                     service.spec.ports.push_back({.port = 25});
                                     if (auto made = client_->Create(ctx, service); !made) return made.error();
                                     ctx.WaitUntilStopped();
                                     return {};
                                   }}));
  RunningManager running(manager);
  EXPECT_TRUE(Eventually([&] { return done >= 2 && log->Count("runnable mailer") > 0; }));
  EXPECT_TRUE(running.Stop());
  LogBackend::Default()->SetSink(MakeTextSink());
  const auto said = [&](const std::string& by, const std::string& verb, const std::string& resource, const std::string& add) {
    return log->Count("A write was not declared: the role of --print-rbac does not allow it\" logger=\"control\" by=\"" + by +
                      "\" verb=\"" + verb + "\" resource=\"" + resource + "\"") == 1 &&
           log->Count("add=\"" + add + "\"") == 1;
  };
  EXPECT_TRUE(said("controller maps", "patch", "secrets", R"(.MayWrite<Secret>({\"patch\"}))")) << log->text();
  EXPECT_TRUE(said("controller maps", "delete", "secrets", R"(.MayWrite<Secret>({\"delete\"}))")) << log->text();
  EXPECT_TRUE(
      said("controller maps", "patch", "configmaps", R"(.Needs({.group = \"\", .resource = \"configmaps\", .verbs = {\"patch\"}}))"))
      << log->text();
  EXPECT_TRUE(said("runnable mailer", "create", "services", R"(manager.Needs(Need<Service>({\"create\"})))")) << log->text();
  EXPECT_EQ(log->Count("A write was not declared"), 4U) << log->text();
}

TEST_F(ManagerProgramTest, WhatDesiredStateWritesToChildrenIsDeclaredByOwns) {
  const auto log = std::make_shared<RecordingLog>();
  LogBackend::Default()->SetSink(log);
  Manager manager(NewCounted());
  ASSERT_TRUE(manager.Add(Greeter(manager)));
  RunningManager running(manager);
  ASSERT_TRUE(Eventually([&] { return Greeted(); }));
  ASSERT_TRUE(client_->Patch<ConfigMap>(Patience(), {"default", "welcome"}, Patch::Merge(R"({"data":{"text":"Bye"}})")));
  EXPECT_TRUE(Eventually([&] { return client_->Get<ConfigMap>(Patience(), {"default", "welcome"})->data.Get("text") == "Hello default"; }));
  EXPECT_TRUE(running.Stop());
  LogBackend::Default()->SetSink(MakeTextSink());
  EXPECT_EQ(log->Count("A write was not declared"), 0U) << log->text();
}

TEST_F(ManagerProgramTest, AnIndexAddedThroughATemporaryIsThere) {
  Create("a");
  Manager manager(*client_);
  ASSERT_TRUE(
      manager.informers().For<ConfigMap>().AddIndex("name", [](const ConfigMap& map) { return std::vector<String>{map.metadata.name}; }));
  std::atomic<std::size_t> found = 0;
  ASSERT_TRUE(manager.Add(ControllerFor<ConfigMap>("maps").Reconcile(
      [&, cached = manager.cached()](const Context& ctx, const ConfigMap& map) -> Result<Action> {
        auto same = cached.List<ConfigMap>(ctx, {.index = "name", .index_value = map.metadata.name.str()});
        if (!same) return Action::GiveUp(same.error());
        if (map.metadata.name == "a") found = same->size();
        return Action::Done();
      })));
  RunningManager running(manager);
  EXPECT_TRUE(Eventually([&] { return found == 1; })) << manager.DebugJson();
  EXPECT_TRUE(running.Stop());
}

TEST_F(ManagerProgramTest, ACachedClientMayOutliveItsManager) {
  Create("a");
  std::optional<CachedClient> kept;
  {
    Manager manager(*client_);
    kept = manager.cached();
    std::atomic<int> runs = 0;
    ASSERT_TRUE(manager.Add(ControllerFor<ConfigMap>("maps").Reconcile([&](const Context&, const ConfigMap&) -> Result<Action> {
      ++runs;
      return Action::Done();
    })));
    RunningManager running(manager);
    ASSERT_TRUE(Eventually([&] { return runs > 0; }));
    EXPECT_TRUE(kept->Get<ConfigMap>(Patience(), {"default", "a"}));
    EXPECT_TRUE(running.Stop());
  }
  const Result<Ptr<ConfigMap>> late = kept->Get<ConfigMap>(Patience(), {"default", "a"});
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().kind(), ErrorKind::kClosed) << late.error().ToString();
  EXPECT_TRUE(kept->Delete<ConfigMap>(Patience(), {"default", "a"})) << "writes go to the server";
}

// Handlers, predicates, maps and error callbacks refer to what the program has on its stack.
TEST_F(ManagerProgramTest, NoCallbackRunsAfterRunAndTheDestructor) {
  for (const bool destroy : {false, true}) {
    std::atomic<int> inside = 0, calls = 0;
    const auto work = [&] {
      ++inside;
      (void)Context::Background().SleepFor(milliseconds(1));
      ++calls;
      --inside;
    };
    auto manager = std::make_unique<Manager>(*client_);
    const SharedInformer<Secret> secrets = manager->informers().For<Secret>();
    const Result<HandlerRegistration> handler = secrets.AddEventHandler(
        {.on_add = [&](const Ptr<Secret>&, bool) { work(); }, .on_update = [&](const auto&, const auto&) { work(); }});
    ASSERT_TRUE(manager->Add(ControllerFor<ConfigMap>("maps")
                                 .Watches<Secret>([&](const Secret&) {
                                   work();
                                   return std::vector<ObjectKey>{{"default", "a"}};
                                 })
                                 .Reconcile([&](const Context&, const Request&) -> Result<Action> {
                                   work();
                                   return Action::Requeue();
                                 })));
    std::atomic<bool> stop = false;
    Thread writer("writer", [&] {
      for (int i = 0; !stop; ++i) {
        Secret secret;
        secret.metadata.namespace_ = "default";
        secret.metadata.name = (destroy ? "d-" : "r-") + std::to_string(i);
        EXPECT_TRUE(client_->Create(Patience(), secret));
      }
    });
    {
      RunningManager running(*manager);
      EXPECT_TRUE(Eventually([&] { return calls > 20; }));
      EXPECT_TRUE(running.Stop());
    }
    if (destroy) manager.reset();
    EXPECT_EQ(inside, 0);
    const int after = calls;
    stop = true;
    writer.Join();
    EXPECT_EQ(calls, after);
  }
}

TEST_F(ManagerProgramTest, AFakeClockGovernsEveryDelay) {
  const auto clock = std::make_shared<FakeClock>();
  Create("a");
  // Long terms: time moves while requests are under way.
  const LeaderElectionOptions election{.name = "m",
                                       .ns = "default",
                                       .identity = "me",
                                       .lease_duration = hours(24),
                                       .renew_deadline = hours(16),
                                       .retry_period = seconds(10)};
  Manager manager(*client_, {.leader_election = election, .clock = clock});
  std::atomic<int> runs = 0, failures = 0;
  std::atomic<bool> same_clock = true;
  const auto reconcile = [&](const Context& ctx, const ConfigMap& map) -> Result<Action> {
    if (map.metadata.name != "a") return Action::Done();
    same_clock = same_clock && ctx.clock() == clock && ctx.remaining() <= seconds(30);
    const int run = ++runs;
    if (run == 1) return Action::RequeueAfter(seconds(120));
    if (run == 2) {
      ctx.WaitUntilStopped();  // at its deadline
      ++failures;
      return *ctx.Err();
    }
    return Action::Done();
  };
  ASSERT_TRUE(manager.Add(ControllerFor<ConfigMap>("maps").ReconcileTimeout(seconds(30)).Reconcile(reconcile)));
  EXPECT_EQ(manager.cached().Resource<ConfigMap>().clock(), clock);
  RunningManager running(manager, Context::Background(clock));
  const auto soon = [&](auto condition) {
    return Eventually([&] {
      clock->Advance({});
      return condition();
    });
  };
  ASSERT_TRUE(soon([&] { return runs == 1; })) << manager.DebugJson();
  const auto renewed = [&] { return client_->Get<coordination::v1::Lease>(Patience(), {"default", "m"})->spec.renew_time.unix_seconds(); };
  const std::int64_t first = renewed();
  for (int i = 0; i < 119; ++i) clock->Advance(seconds(1));
  EXPECT_EQ(runs, 1) << "not before the two minutes are over";
  ASSERT_TRUE(soon([&] {
    clock->Advance(milliseconds(100));
    return runs >= 2;
  }));
  ASSERT_TRUE(soon([&] {
    clock->Advance(seconds(1));
    return failures == 1;
  }));
  ASSERT_TRUE(soon([&] {
    clock->Advance(milliseconds(5));
    return runs >= 3;
  }));
  EXPECT_TRUE(same_clock);
  EXPECT_TRUE(soon([&] {
    clock->Advance(seconds(1));
    return renewed() >= first + 120;
  })) << "the lease, too";
  const Result<void> ran = running.Stop();
  EXPECT_TRUE(ran) << ran.error().ToString();
}

// Conditions have the manager's time, and what a server asks to wait for is waited for on its clock.
TEST_F(ManagerProgramTest, AFakeClockGovernsConditionsAndRetriesOfTheClient) {
  using core::v1::Service;
  const auto clock = std::make_shared<FakeClock>();
  const std::int64_t begin = std::chrono::system_clock::to_time_t(clock->WallNow());
  Service service;
  service.metadata = {.name = "web", .namespace_ = "default"};
  service.spec.ports.push_back({.port = 80});
  ASSERT_TRUE(client_->Create(Patience(), service));
  server_->AddFault({.verb = "patch", .resource = "services", .status = 429, .retry_after_seconds = 1000});
  Manager manager(NewCounted(), {.clock = clock});
  std::atomic<int> sent_before = -1;
  const auto reconcile = [&, cached = manager.cached()](const Context& ctx, const Service& found) -> Result<Action> {
    if (found.metadata.name != "web") return Action::Done();
    StatusWriter<Service> status(cached, found);
    if (status.SetCondition({.type = "Ready", .status = "True", .reason = "Test"})) sent_before = requests_->load();
    return status.Write(ctx).transform([](bool) { return Action::Done(); });
  };
  ASSERT_TRUE(manager.Add(ControllerFor<Service>("services").MayWriteStatus().Reconcile(reconcile)));
  RunningManager running(manager, Context::Background(clock));
  ASSERT_TRUE(Eventually([&] {
    clock->Advance({});
    return sent_before >= 0 && *requests_ > sent_before;
  }));
  const auto conditions = [&] { return client_->Get<Service>(Patience(), {"default", "web"})->status.conditions; };
  for (int i = 0; i < 99; ++i) clock->Advance(seconds(10));
  EXPECT_TRUE(conditions().empty()) << "not before the server's 1000 seconds are over";
  ASSERT_TRUE(Eventually([&] {
    clock->Advance(seconds(1));
    return !conditions().empty();
  }));
  EXPECT_GE(conditions()[0].last_transition_time.unix_seconds(), begin);
  EXPECT_LT(conditions()[0].last_transition_time.unix_seconds(), begin + 3600) << "the machine's time is years later";
  EXPECT_TRUE(running.Stop());
}

TEST_F(ManagerProgramTest, AnotherClockInTheContextOfRunIsAnError) {
  Manager manager(*client_);
  const Result<void> ran = manager.Run(Context::Background(std::make_shared<FakeClock>()));
  ASSERT_FALSE(ran);
  EXPECT_THAT(ran.error().ToString(), HasSubstr("set ManagerOptions::clock"));
}

TEST_F(ManagerProgramTest, AnErrorThatARunnableThrowsCountsAsReturned) {
  Manager manager(*client_);
  ASSERT_TRUE(manager.Add(Runnable{.name = "mailer", .run = [](const Context&) -> Result<void> {
                                     Result<void>(Error::Timeout("too slow")).value();
                                     return {};
                                   }}));
  const Result<void> ran = manager.Run(Patience());
  ASSERT_FALSE(ran);
  EXPECT_EQ(ran.error().kind(), ErrorKind::kTimeout);
  EXPECT_EQ(ran.error().ToString(), "mailer: too slow");
}

TEST_F(ManagerProgramTest, AnExceptionOfARunnableIsTheProgramsOwn) {
  Manager manager(*client_);
  ASSERT_TRUE(manager.Add(Runnable{.name = "mailer", .run = [](const Context&) -> Result<void> { throw std::runtime_error("oops"); }}));
  const Result<void> ran = manager.Run(Patience());
  ASSERT_FALSE(ran);
  EXPECT_EQ(ran.error().kind(), ErrorKind::kUserCode);
  EXPECT_EQ(ran.error().ToString(), "mailer: it threw: oops");
}

}  // namespace
}  // namespace kube::internal
