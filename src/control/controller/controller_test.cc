// Controllers on the embedded server; retries and requeues on time that stands still.
#include "kube/control/controller.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <set>
#include <stdexcept>

#include "base/wait_test_util.h"
#include "kube/api/apps/v1.h"
#include "kube/api/core/v1.h"
#include "kube/base/fake_clock.h"
#include "kube/base/metrics.h"
#include "kube/base/thread.h"
#include "kube/client/client.h"
#include "kube/config/kubeconfig.h"
#include "kube/config/load.h"
#include "kube/testing/api_server.h"

namespace kube {
namespace {

using core::v1::ConfigMap;
using core::v1::Secret;
using internal::Eventually;
using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Context Patient() { return Context::Background().WithTimeout(seconds(120)); }

ConfigMap Map(const std::string& name, const Map<String>& labels = {}) {
  ConfigMap map;
  map.metadata.namespace_ = "default";
  map.metadata.name = name;
  map.metadata.labels = labels;
  return map;
}

// Records its requests, and returns the scripted results.
class Script {
 public:
  Reconciler Function() {
    return [this](const Context& ctx, const Request& request) -> Result<Action> {
      std::function<Result<Action>(const Context&, const Request&)> answer;
      {
        MutexLock lock(mu_);
        requests_.push_back(request);
        answer = answer_;
      }
      return answer ? answer(ctx, request) : Action::Done();
    };
  }
  void Answer(std::function<Result<Action>(const Context&, const Request&)> answer) {
    MutexLock lock(mu_);
    answer_ = std::move(answer);
  }
  std::vector<Request> requests() const {
    MutexLock lock(mu_);
    return requests_;
  }
  std::vector<Request> Of(const std::string& name) const {
    std::vector<Request> out;
    for (const Request& request : requests()) {
      if (request.key.name == name) out.push_back(request);
    }
    return out;
  }

 private:
  mutable Mutex mu_;
  std::vector<Request> requests_ KUBE_GUARDED_BY(mu_);
  std::function<Result<Action>(const Context&, const Request&)> answer_ KUBE_GUARDED_BY(mu_);
};

std::vector<std::string> Texts(const std::vector<Cause>& causes) {
  std::vector<std::string> out;
  for (const Cause& cause : causes) out.push_back(cause.ToString());
  return out;
}

class ControllerTest : public ::testing::Test {
 protected:
  // A timer that is due already when it is set runs with the next Advance: time moves on by nothing, again and again.
  template <typename Condition>
  bool Soon(Condition condition) {
    return Eventually([&] {
      clock_->Advance({});
      return condition();
    });
  }
  bool WaitFor(const std::string& name, std::size_t times = 1) {
    return Soon([&] { return script_.Of(name).size() >= times; });
  }
  void SetUp() override {
    server_ = testing::ApiServer::Start({.http = true}).value();
    ClientConfig config = ToClientConfig(Kubeconfig::Parse(server_->Kubeconfig()).value()).value();
    config.qps = -1;
    client_ = std::make_unique<Client>(Client::FromConfig(config).value());
    informers_ = std::make_unique<InformerFactory>(*client_, InformerFactoryOptions{.ns = "default"});
  }
  void TearDown() override { Stop(); }

  void Start(ControllerSpec spec, bool fake_time = true) {
    Result<std::unique_ptr<Controller>> made = Controller::Create(
        std::move(spec), {.informers = informers_.get(), .metrics = metrics_, .clock = fake_time ? clock_ : Clock::Real()});
    ASSERT_TRUE(made) << made.error().ToString();
    controller_ = *std::move(made);
    ASSERT_TRUE(controller_->Start());
    informers_->Start(Context::Background());
    Run();
  }
  void Run() {
    auto [ctx, cancel] = Context::Background().WithCancel();
    cancel_ = std::make_unique<CancelSource>(std::move(cancel));
    runner_ = Thread("runner", [this, ctx = ctx] { EXPECT_TRUE(controller_->Run(ctx)); });
  }
  void Halt() {
    if (cancel_) cancel_->Cancel();
    runner_.Join();
  }
  void Stop() {
    Halt();
    controller_ = nullptr;
  }
  ConfigMap Create(const ConfigMap& map) { return client_->Create(Patient(), map).value(); }

  std::shared_ptr<FakeClock> clock_ = std::make_shared<FakeClock>();
  std::shared_ptr<RecordedMetrics> metrics_ = std::make_shared<RecordedMetrics>();
  std::unique_ptr<testing::ApiServer> server_;
  std::unique_ptr<Client> client_;
  std::unique_ptr<InformerFactory> informers_;
  Script script_;
  std::unique_ptr<Controller> controller_;
  std::unique_ptr<CancelSource> cancel_;
  Thread runner_;
};

TEST_F(ControllerTest, WhatIsMissingIsSaid) {
  const auto problem = [&](ControllerSpec spec, InformerFactory* informers) {
    return Controller::Create(std::move(spec), {.informers = informers}).error().ToString();
  };
  const Reconciler nothing = script_.Function();
  EXPECT_THAT(problem(ControllerFor<ConfigMap>("").Reconcile(nothing), informers_.get()), HasSubstr("needs a name"));
  EXPECT_THAT(problem(ControllerFor<ConfigMap>("c").Reconcile({}), informers_.get()), HasSubstr("controller c: it has no reconciler"));
  EXPECT_THAT(problem(ControllerFor<ConfigMap>("c").Workers(0).Reconcile(nothing), informers_.get()), HasSubstr("0 workers"));
  EXPECT_THAT(problem(ControllerFor<ConfigMap>("c").Reconcile(nothing), nullptr), HasSubstr("informers"));
  EXPECT_THAT(problem({.name = "c", .reconcile = nothing}, informers_.get()), HasSubstr("watches nothing"));
}

TEST_F(ControllerTest, WhatIsThereAndWhatChangesIsReconciled) {
  Create(Map("there"));
  Start(ControllerFor<ConfigMap>("maps").Reconcile(script_.Function()));
  ASSERT_TRUE(WaitFor("there"));
  EXPECT_THAT(Texts(script_.Of("there")[0].causes), ElementsAre("configmaps default/there added"));
  EXPECT_EQ(script_.Of("there")[0].attempt, 1);

  ConfigMap changed = Create(Map("new"));
  ASSERT_TRUE(WaitFor("new"));
  changed.data["a"] = "b";
  ASSERT_TRUE(client_->Update(Patient(), changed));
  ASSERT_TRUE(WaitFor("new", 2));
  EXPECT_THAT(Texts(script_.Of("new")[1].causes), ElementsAre("configmaps default/new updated"));
  ASSERT_TRUE(client_->Delete<ConfigMap>(Patient(), {"default", "new"}));
  ASSERT_TRUE(WaitFor("new", 3));
  EXPECT_THAT(Texts(script_.Of("new")[2].causes), ElementsAre("configmaps default/new deleted"));
  EXPECT_EQ(script_.Of("there").size(), 1U);
  EXPECT_LT(script_.Of("new")[0].id, script_.Of("new")[1].id);
}

TEST_F(ControllerTest, AChangeOfAChildIsAMatterOfItsOwner) {
  const ConfigMap owner = Create(Map("owner"));
  Start(ControllerFor<ConfigMap>("maps").Owns<Secret>().Reconcile(script_.Function()));
  ASSERT_TRUE(WaitFor("owner"));
  Secret child;
  child.metadata.namespace_ = "default";
  child.metadata.name = "child";
  ASSERT_TRUE(SetControllerReference(owner, child));
  child = client_->Create(Patient(), child).value();
  ASSERT_TRUE(WaitFor("owner", 2));
  EXPECT_THAT(Texts(script_.Of("owner")[1].causes), ElementsAre("secrets default/child added"));
  // Whose owner it was counts too.
  child.metadata.owner_references.clear();
  ASSERT_TRUE(client_->Update(Patient(), child));
  ASSERT_TRUE(WaitFor("owner", 3));
  EXPECT_THAT(Texts(script_.Of("owner")[2].causes), ElementsAre("secrets default/child updated"));
}

TEST(OwnerKeyTest, GroupAndKindCountAndTheVersionDoesNot) {
  const auto key = [](const char* api_version, const char* kind, bool controller, bool namespaced) {
    List<meta::v1::OwnerReference> references;
    meta::v1::OwnerReference reference;
    reference.api_version = api_version;
    reference.kind = kind;
    reference.name = "o";
    reference.controller = controller;
    references.push_back(reference);
    const std::optional<ObjectKey> found =
        internal::OwnerKeyIn(references, "ns", {.group = "apps", .version = "v1", .kind = "Deployment"}, namespaced);
    return found ? found->ToString() : "none";
  };
  EXPECT_EQ(key("apps/v1", "Deployment", true, true), "ns/o");
  EXPECT_EQ(key("apps/v1beta1", "Deployment", true, true), "ns/o");
  EXPECT_EQ(key("apps/v1", "Deployment", true, false), "o");
  EXPECT_EQ(key("apps/v1", "Deployment", false, true), "none");
  EXPECT_EQ(key("apps/v1", "ReplicaSet", true, true), "none");
  EXPECT_EQ(key("v1", "Deployment", true, true), "none");
  EXPECT_EQ(key("other/v1", "Deployment", true, true), "none");
}

TEST_F(ControllerTest, OtherObjectsAreMappedToKeys) {
  Start(ControllerFor<ConfigMap>("maps")
            .Watches<Secret>([](const Secret& secret) {
              return std::vector<ObjectKey>{{"default", secret.metadata.labels.Get("for")}, {"default", secret.metadata.labels.Get("for")}};
            })
            .Reconcile(script_.Function()));
  Secret secret;
  secret.metadata.namespace_ = "default";
  secret.metadata.name = "s";
  secret.metadata.labels["for"] = "a";
  secret = client_->Create(Patient(), secret).value();
  ASSERT_TRUE(WaitFor("a"));
  secret.metadata.labels["for"] = "b";
  ASSERT_TRUE(client_->Update(Patient(), secret));
  ASSERT_TRUE(WaitFor("b"));
  ASSERT_TRUE(WaitFor("a", 2));
  EXPECT_EQ(script_.Of("a").size(), 2U);
}

TEST_F(ControllerTest, KindsWithoutATypeAndMetadataAreWatchedToo) {
  const Gvr secrets{"", "v1", "secrets"}, maps{"", "v1", "configmaps"};
  Start(ControllerFor<ConfigMap>("maps")
            .Watches(secrets,
                     [](const DynamicObject& object) {
                       return std::vector<ObjectKey>{{"default", "dynamic-" + object.name().str()}};
                     })
            .WatchesMetadata(maps,
                             [](const meta::v1::PartialObjectMetadata& object) {
                               return std::vector<ObjectKey>{{"default", "metadata-" + object.metadata.name.str()}};
                             },
                             {.name = "metadata"})
            .Reconcile(script_.Function()));
  Secret secret;
  secret.metadata.namespace_ = "default";
  secret.metadata.name = "s";
  ASSERT_TRUE(client_->Create(Patient(), secret));
  Create(Map("m"));
  EXPECT_TRUE(WaitFor("dynamic-s"));
  EXPECT_TRUE(WaitFor("metadata-m"));
  EXPECT_THAT(Texts(script_.Of("metadata-m")[0].causes), ElementsAre("metadata default/m added"));
}

TEST_F(ControllerTest, AnOptionalWatchMayComeLater) {
  const Gvr gadgets{"example.com", "v1", "gadgets"};
  Start(ControllerFor<ConfigMap>("maps")
            .Watches(gadgets,
                     [](const DynamicObject& object) {
                       return std::vector<ObjectKey>{{"default", "gadget-" + object.name().str()}};
                     },
                     {.optional = true})
            .Reconcile(script_.Function()));
  Create(Map("m"));
  EXPECT_TRUE(WaitFor("m"));
  EXPECT_TRUE(controller_->HasSynced());
  EXPECT_THAT(controller_->status(10).watches, Contains("gadgets.example.com: not found, or not allowed"));

  const Gvr crds{"apiextensions.k8s.io", "v1", "customresourcedefinitions"};
  ASSERT_TRUE(client_->Resource(crds).Create(Patient(), DynamicObject::Parse(R"(
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: gadgets.example.com}
spec:
  group: example.com
  names: {kind: Gadget, plural: gadgets, singular: gadget}
  scope: Namespaced
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
)")
                                                            .value()));
  const DynamicObject gadget(Gvk{"example.com", "v1", "Gadget"}, {"default", "g"});
  ASSERT_TRUE(Eventually([&] { return client_->Resource(gadgets).Create(Patient(), gadget).ok(); }));
  EXPECT_TRUE(WaitFor("gadget-g"));
  EXPECT_TRUE(Eventually([&] {  // a moment after the last object of the first list was delivered
    const std::vector<std::string> watches = controller_->status(10).watches;
    return std::find(watches.begin(), watches.end(), "gadgets.example.com: synced") != watches.end();
  }));
}

TEST_F(ControllerTest, OnlyWhatPassesIsQueued) {
  Start(ControllerFor<ConfigMap>("maps")
            .For({.when = MatchesLabels("want=yes") && !OfKind({ChangeKind::kDeleted})})
            .Reconcile(script_.Function()));
  Create(Map("no"));
  Create(Map("yes", {{"want", "yes"}}));
  ASSERT_TRUE(WaitFor("yes"));
  ASSERT_TRUE(client_->Delete<ConfigMap>(Patient(), {"default", "yes"}));
  Create(Map("last", {{"want", "yes"}}));
  ASSERT_TRUE(WaitFor("last"));
  EXPECT_THAT(script_.Of("no"), IsEmpty());
  EXPECT_EQ(script_.Of("yes").size(), 1U);
}

TEST_F(ControllerTest, ErrorsAreTriedAgainLaterAndLater) {
  Create(Map("m"));
  script_.Answer([](const Context&, const Request& request) -> Result<Action> {
    if (request.attempt < 4) return Error::Internal("not yet");
    return Action::Done();
  });
  Start(ControllerFor<ConfigMap>("maps").Reconcile(script_.Function()));
  for (int i = 1; i < 4; ++i) {
    ASSERT_TRUE(WaitFor("m", static_cast<std::size_t>(i)));
    ASSERT_TRUE(Soon([&] { return controller_->status().queue.waiting == 1; }));
    const ControllerStatus status = controller_->status();
    ASSERT_EQ(status.failing.size(), 1U);
    EXPECT_EQ(status.failing[0].failures, i);
    EXPECT_EQ(status.failing[0].last_result, "error: not yet");
    EXPECT_EQ(status.queue.entries[0].due_in, milliseconds(5) * (1 << (i - 1)));
    clock_->Advance(milliseconds(5) * (1 << (i - 1)));
  }
  ASSERT_TRUE(WaitFor("m", 4));
  EXPECT_EQ(script_.Of("m")[3].attempt, 4);
  EXPECT_THAT(Texts(script_.Of("m")[3].causes), ElementsAre("retry"));
  EXPECT_TRUE(Soon([&] { return controller_->status().failing.empty(); }));
  // A success forgives.
  script_.Answer({});
  controller_->Enqueue({"default", "m"});
  ASSERT_TRUE(WaitFor("m", 5));
  EXPECT_EQ(script_.Of("m")[4].attempt, 1);
  EXPECT_EQ(metrics_->Value("controller_runtime_reconcile_errors_total", {{"controller", "maps"}}), 3);
  EXPECT_EQ(metrics_->Value("controller_runtime_reconcile_total", {{"controller", "maps"}, {"result", "error"}}), 3);
}

TEST_F(ControllerTest, AServersRetryAfterIsHonoured) {
  Create(Map("m"));
  script_.Answer([](const Context&, const Request& request) -> Result<Action> {
    if (request.attempt > 1) return Action::Done();
    return Error(Error::Payload{.kind = ErrorKind::kApi, .http_code = 429, .reason = "TooManyRequests", .retry_after_seconds = 7});
  });
  Start(ControllerFor<ConfigMap>("maps").Reconcile(script_.Function()));
  ASSERT_TRUE(Soon([&] { return controller_->status().queue.waiting == 1; }));
  EXPECT_EQ(controller_->status().queue.entries[0].due_in, seconds(7));
}

TEST_F(ControllerTest, GivingUpIsNotTriedAgainUntilSomethingChanges) {
  ConfigMap map = Create(Map("m"));
  script_.Answer([](const Context&, const Request&) -> Result<Action> { return Action::GiveUp(Error::Invalid("bad data")); });
  Start(ControllerFor<ConfigMap>("maps").Reconcile(script_.Function()));
  ASSERT_TRUE(Soon([&] { return controller_->status().failing.size() == 1; }));
  EXPECT_EQ(controller_->status().failing[0].last_result, "terminal error: bad data");
  const ControllerStatus status = controller_->status();
  EXPECT_EQ(status.queue.waiting + status.queue.queued, 0U);
  EXPECT_EQ(metrics_->Value("controller_runtime_terminal_reconcile_errors_total", {{"controller", "maps"}}), 1);
  script_.Answer({});
  map.data["a"] = "b";
  ASSERT_TRUE(client_->Update(Patient(), map));
  ASSERT_TRUE(WaitFor("m", 2));
  EXPECT_EQ(script_.Of("m")[1].attempt, 1);
}

TEST_F(ControllerTest, RequeueAfterComesBackThen) {
  Create(Map("m"));
  script_.Answer([](const Context&, const Request& request) -> Result<Action> {
    if (request.Has(ChangeKind::kRequeue)) return Action::Done();
    return Action::RequeueAfter(std::chrono::minutes(10));
  });
  Start(ControllerFor<ConfigMap>("maps").Reconcile(script_.Function()));
  ASSERT_TRUE(Soon([&] { return controller_->status().queue.waiting == 1; }));
  clock_->Advance(std::chrono::minutes(10) - milliseconds(1));
  EXPECT_EQ(script_.Of("m").size(), 1U);
  clock_->Advance(milliseconds(1));
  ASSERT_TRUE(WaitFor("m", 2));
  EXPECT_EQ(script_.Of("m")[1].attempt, 1);
  EXPECT_EQ(metrics_->Value("controller_runtime_reconcile_total", {{"controller", "maps"}, {"result", "requeue_after"}}), 1);
}

TEST_F(ControllerTest, RequeueBacksOffWithoutBeingAnError) {
  Create(Map("m"));
  script_.Answer([](const Context&, const Request& request) -> Result<Action> {
    if (request.attempt < 3) return Action::Requeue();
    return Action::Done();
  });
  Start(ControllerFor<ConfigMap>("maps").Reconcile(script_.Function()));
  for (const int wait : {5, 10}) {
    ASSERT_TRUE(Soon([&] { return controller_->status().queue.waiting == 1; }));
    clock_->Advance(milliseconds(wait));
    ASSERT_TRUE(Soon([&] { return script_.Of("m").size() == (wait == 5 ? 2U : 3U); }));
  }
  EXPECT_EQ(metrics_->Value("controller_runtime_reconcile_errors_total", {{"controller", "maps"}}), 0);
}

TEST_F(ControllerTest, AnErrorThatIsThrownCountsAsReturned) {
  Create(Map("m"));
  script_.Answer([](const Context&, const Request& request) -> Result<Action> {
    if (request.attempt > 1) return Action::Done();
    return Result<Action>(Error::Internal("no disk")).value();
  });
  Start(ControllerFor<ConfigMap>("maps").Reconcile(script_.Function()));
  ASSERT_TRUE(Soon([&] { return controller_->status().queue.waiting == 1; }));
  EXPECT_EQ(controller_->status().failing[0].last_result, "error: no disk");
  clock_->Advance(milliseconds(5));
  ASSERT_TRUE(WaitFor("m", 2));
  EXPECT_EQ(metrics_->Value("controller_runtime_reconcile_panics_total", {{"controller", "maps"}}), 0);
  EXPECT_EQ(metrics_->Value("controller_runtime_reconcile_errors_total", {{"controller", "maps"}}), 1);
}

TEST_F(ControllerTest, AnExceptionIsAnError) {
  Create(Map("m"));
  script_.Answer([](const Context&, const Request& request) -> Result<Action> {
    if (request.attempt == 1) throw std::runtime_error("oops");
    if (request.attempt == 2) throw 42;
    return Action::Done();
  });
  Start(ControllerFor<ConfigMap>("maps").Reconcile(script_.Function()));
  ASSERT_TRUE(Soon([&] { return controller_->status().queue.waiting == 1; }));
  EXPECT_EQ(controller_->status().failing[0].last_result, "error: reconciler of controller maps threw: oops");
  clock_->Advance(milliseconds(5));  // exactly: a longer step may cover the next delay too
  ASSERT_TRUE(WaitFor("m", 2));
  ASSERT_TRUE(Soon([&] { return controller_->status().queue.waiting == 1; }));
  clock_->Advance(milliseconds(10));
  ASSERT_TRUE(WaitFor("m", 3));
  EXPECT_EQ(metrics_->Value("controller_runtime_reconcile_panics_total", {{"controller", "maps"}}), 2);
}

TEST_F(ControllerTest, ARunThatTakesTooLongIsStopped) {
  Create(Map("m"));
  script_.Answer([](const Context& ctx, const Request& request) -> Result<Action> {
    if (request.attempt > 1) return Action::Done();
    ctx.WaitUntilStopped();
    return *ctx.Err();
  });
  Start(ControllerFor<ConfigMap>("maps").ReconcileTimeout(milliseconds(20)).Reconcile(script_.Function()), false);
  ASSERT_TRUE(WaitFor("m", 2));
  EXPECT_EQ(metrics_->Value("controller_runtime_reconcile_timeouts_total", {{"controller", "maps"}}), 1);
}

TEST_F(ControllerTest, Contract16_AKeyIsNeverWithTwoWorkers) {
  std::map<std::string, int> inside;
  Mutex mu;
  std::atomic<bool> twice = false;
  std::atomic<int> most = 0, now = 0;
  script_.Answer([&](const Context& ctx, const Request& request) -> Result<Action> {
    {
      MutexLock lock(mu);
      if (++inside[request.key.ToString()] > 1) twice = true;
    }
    const int together = ++now;
    for (int seen = most; together > seen && !most.compare_exchange_weak(seen, together);) continue;
    (void)ctx.SleepFor(milliseconds(1));
    --now;
    MutexLock lock(mu);
    --inside[request.key.ToString()];
    return Action::Done();
  });
  Start(ControllerFor<ConfigMap>("maps").Workers(8).Reconcile(script_.Function()), false);
  for (int i = 0; i < 2000; ++i) controller_->Enqueue({"default", String("k" + std::to_string(i % 10))});
  EXPECT_TRUE(Soon([&] {
    const ControllerStatus status = controller_->status();
    return status.queue.queued + status.queue.processing == 0;  // also none that was taken and has not begun yet
  }));
  EXPECT_FALSE(twice);
  EXPECT_GT(most, 1);
  EXPECT_LE(most, 8);
}

TEST_F(ControllerTest, CausesAreCollectedAndBounded) {
  std::atomic<bool> go = false;
  script_.Answer([&](const Context& ctx, const Request&) -> Result<Action> {
    while (!go && ctx.SleepFor(milliseconds(1))) continue;
    return Action::Done();
  });
  Start(ControllerFor<ConfigMap>("maps").Reconcile(script_.Function()), false);
  controller_->Enqueue({"default", "m"}, "first");
  ASSERT_TRUE(WaitFor("m"));
  for (int i = 0; i < 12; ++i) {
    controller_->Enqueue({"default", "m"}, "source-" + std::to_string(i));
    controller_->Enqueue({"default", "m"}, "source-" + std::to_string(i));
  }
  go = true;
  ASSERT_TRUE(WaitFor("m", 2));
  EXPECT_THAT(Texts(script_.Of("m")[0].causes), ElementsAre("first default/m external"));
  const Request second = script_.Of("m")[1];
  EXPECT_EQ(second.causes.size(), Request::kMostCauses);
  EXPECT_EQ(second.causes[0].source, "source-0");
  EXPECT_EQ(second.more_causes, 8U);  // four sources, twice
  EXPECT_TRUE(Soon([&] { return controller_->status().active == 0; }));
  EXPECT_EQ(script_.Of("m").size(), 2U);
}

TEST_F(ControllerTest, WatchesComeAndGo) {
  Start(ControllerFor<ConfigMap>("maps").Reconcile(script_.Function()));
  const ControllerSpec more = ControllerFor<Secret>("unused").Reconcile(script_.Function());
  ASSERT_TRUE(controller_->AddWatch(more.watches[0]));
  EXPECT_THAT(controller_->AddWatch(more.watches[0]).error().ToString(), HasSubstr("watch secrets exists already"));
  informers_->Start(Context::Background());
  Secret secret;
  secret.metadata.namespace_ = "default";
  secret.metadata.name = "s";
  ASSERT_TRUE(client_->Create(Patient(), secret));
  ASSERT_TRUE(WaitFor("s"));
  ASSERT_TRUE(controller_->RemoveWatch("secrets"));
  EXPECT_THAT(controller_->RemoveWatch("secrets").error().ToString(), HasSubstr("there is no watch secrets"));
  ASSERT_TRUE(client_->Delete<Secret>(Patient(), {"default", "s"}));
  Create(Map("last"));
  ASSERT_TRUE(WaitFor("last"));
  EXPECT_EQ(script_.Of("s").size(), 1U);
}

// ---- Reconcilers that are called with the object ----

class ObjectReconcilerTest : public ControllerTest {
 protected:
  auto Note() {
    return [this](const Context&, const ConfigMap& map) -> Result<Action> {
      Add(map.metadata.name.str() + "=" + map.data.Get("a").str());
      return Action::Done();
    };
  }
  void Add(std::string text) {
    MutexLock lock(mu_);
    seen_.push_back(std::move(text));
  }
  std::vector<std::string> seen() const {
    MutexLock lock(mu_);
    return seen_;
  }

 private:
  mutable Mutex mu_;
  std::vector<std::string> seen_ KUBE_GUARDED_BY(mu_);
};

TEST_F(ObjectReconcilerTest, GetTheObjectAndAreNotCalledWithoutOne) {
  ConfigMap map = Map("m");
  map.data["a"] = "1";
  map = Create(map);
  Start(ControllerFor<ConfigMap>("maps").Reconcile(Note()));
  ASSERT_TRUE(Soon([&] { return seen().size() == 1; }));
  EXPECT_THAT(seen(), ElementsAre("m=1"));
  map.data["a"] = "2";
  ASSERT_TRUE(client_->Update(Patient(), map));
  ASSERT_TRUE(Soon([&] { return seen().size() == 2; }));
  ASSERT_TRUE(client_->Delete<ConfigMap>(Patient(), {"default", "m"}));
  ASSERT_TRUE(Soon([&] { return controller_->status().runs == 3; }));
  EXPECT_THAT(seen(), ElementsAre("m=1", "m=2"));
  EXPECT_EQ(controller_->status().errors, 0U);
}

TEST_F(ObjectReconcilerTest, AReadThatFailsIsTriedAgainAndIsNoDeletion) {
  ConfigMap map = Create(Map("m"));
  const SharedInformer<ConfigMap> informer = informers_->For<ConfigMap>();
  Start(ControllerFor<ConfigMap>("maps").Reconcile(Note()));
  ASSERT_TRUE(Soon([&] { return seen().size() == 1; }));
  internal::IndexerAccess::StoreOf(informer.indexer())
      ->MarkUndecodable({.key = {"default", "m"}, .error = "data: expected an object, got a number"});
  controller_->Enqueue({"default", "m"});
  ASSERT_TRUE(Soon([&] { return controller_->status().queue.waiting == 1; }));
  ASSERT_EQ(controller_->status().failing.size(), 1U);
  EXPECT_THAT(controller_->status().failing[0].last_result, HasSubstr("cannot be decoded: data: expected an object"));
  EXPECT_EQ(seen().size(), 1U);
  map.data["a"] = "2";
  ASSERT_TRUE(client_->Update(Patient(), map));
  ASSERT_TRUE(Soon([&] { return seen().size() == 2; }));
  EXPECT_EQ(seen()[1], "m=2");
}

TEST_F(ObjectReconcilerTest, KindsWithoutAStruct) {
  ConfigMap map = Map("m");
  map.data["a"] = "1";
  map = Create(map);
  Start(ControllerFor("maps", {.gvr = GvrOf<ConfigMap>(), .kind = "ConfigMap"})
            .Owns(GvrOf<Secret>())
            .Reconcile([this](const Context&, const DynamicObject& object) -> Result<Action> {
              Add(object.name().str() + "=" + object["data"]["a"].string_value().str());
              return Action::Done();
            }));
  ASSERT_TRUE(Soon([&] { return seen().size() == 1; }));
  EXPECT_THAT(seen(), ElementsAre("m=1"));
  Secret secret;
  secret.metadata.namespace_ = "default";
  secret.metadata.name = "s";
  ASSERT_TRUE(SetControllerReference(map, secret));
  ASSERT_TRUE(client_->Create(Patient(), secret));
  EXPECT_TRUE(Soon([&] { return seen().size() == 2; })) << "a change of its child";
}

// As when leadership is lost and won again: the next run takes what was queued or cut off.
TEST_F(ControllerTest, NoKeyIsLostBetweenRuns) {
  script_.Answer([](const Context& ctx, const Request&) -> Result<Action> {
    ctx.WaitUntilStopped();
    return *ctx.Err();
  });
  Start(ControllerFor<ConfigMap>("maps").Reconcile(script_.Function()));
  controller_->Enqueue({"default", "cut-off"});
  ASSERT_TRUE(WaitFor("cut-off"));
  controller_->Enqueue({"default", "queued"});
  Halt();
  EXPECT_FALSE(controller_->status().running);
  EXPECT_EQ(controller_->status().errors, 0U);
  script_.Answer({});
  Run();
  EXPECT_TRUE(WaitFor("cut-off", 2));
  EXPECT_EQ(script_.Of("cut-off")[1].attempt, 1);
  EXPECT_TRUE(WaitFor("queued"));
}

TEST_F(ControllerTest, WhatWasThereComesAfterWhatChanges) {
  for (int i = 0; i < 5; ++i) Create(Map("old-" + std::to_string(i)));
  std::atomic<bool> go = false;
  script_.Answer([&](const Context& ctx, const Request&) -> Result<Action> {
    while (!go && ctx.SleepFor(milliseconds(1))) continue;
    return Action::Done();
  });
  Start(ControllerFor<ConfigMap>("maps").Reconcile(script_.Function()));
  ASSERT_TRUE(Soon([&] { return script_.requests().size() == 1; }));
  Create(Map("new"));
  ASSERT_TRUE(Soon([&] { return controller_->status().queue.queued == 5; }));
  go = true;
  ASSERT_TRUE(Soon([&] { return script_.requests().size() == 6; }));
  EXPECT_EQ(script_.requests()[1].key.name, "new");
}

TEST_F(ControllerTest, TellsWhatItDoes) {
  Create(Map("m"));
  Start(ControllerFor<ConfigMap>("maps").Workers(3).Reconcile(script_.Function()));
  ASSERT_TRUE(Soon([&] { return controller_->status().runs == 1; }));
  ASSERT_TRUE(Soon([&] { return controller_->status().recent.size() == 1; }));
  const ControllerStatus status = controller_->status();
  EXPECT_EQ(status.name, "maps");
  EXPECT_EQ(status.workers, 3);
  EXPECT_TRUE(status.running);
  EXPECT_THAT(status.watches, ElementsAre("configmaps: synced"));
  EXPECT_EQ(status.recent[0].key.ToString(), "default/m");
  EXPECT_EQ(status.recent[0].last_result, "success");
  EXPECT_THAT(Texts(status.recent[0].last_causes), ElementsAre("configmaps default/m added"));
  EXPECT_EQ(metrics_->Value("controller_runtime_max_concurrent_reconciles", {{"controller", "maps"}}), 3);
  EXPECT_EQ(metrics_->Value("controller_runtime_active_workers", {{"controller", "maps"}}), 0);
  EXPECT_EQ(metrics_->Count("controller_runtime_reconcile_time_seconds", {{"controller", "maps"}}), 1U);
  EXPECT_THAT(metrics_->Names(), Contains(HasSubstr("workqueue_adds_total{")));
}

// ---- Predicates ----

bool Passes(const MetaPredicate& predicate, ChangeKind kind, const meta::v1::ObjectMeta* before, const meta::v1::ObjectMeta* object) {
  return predicate({kind, false, before, object});
}

TEST(PredicateTest, ComparesBeforeAndAfter) {
  meta::v1::ObjectMeta a, b;
  a.generation = 1;
  b.generation = 2;
  EXPECT_TRUE(Passes(GenerationChanged(), ChangeKind::kUpdated, &a, &b));
  EXPECT_FALSE(Passes(GenerationChanged(), ChangeKind::kUpdated, &a, &a));
  EXPECT_FALSE(Passes(LabelsChanged(), ChangeKind::kUpdated, &a, &b));
  EXPECT_FALSE(Passes(AnnotationsChanged(), ChangeKind::kUpdated, &a, &b));
  b.labels["x"] = "y";
  EXPECT_TRUE(Passes(LabelsChanged(), ChangeKind::kUpdated, &a, &b));
  b.annotations["x"] = "y";
  EXPECT_TRUE(Passes(AnnotationsChanged(), ChangeKind::kUpdated, &a, &b));
  b.resource_version = "2";
  EXPECT_TRUE(Passes(ResourceVersionChanged(), ChangeKind::kUpdated, &a, &b));
  for (const MetaPredicate& predicate : {GenerationChanged(), ResourceVersionChanged(), LabelsChanged(), AnnotationsChanged()}) {
    EXPECT_TRUE(Passes(predicate, ChangeKind::kAdded, nullptr, &a));
    EXPECT_TRUE(Passes(predicate, ChangeKind::kDeleted, nullptr, &a));
    EXPECT_TRUE(Passes(predicate, ChangeKind::kDeleted, nullptr, nullptr));
    EXPECT_FALSE(Passes(predicate, ChangeKind::kResync, &a, &a));
  }
}

TEST(PredicateTest, SelectorsLookAtBothSidesOfAnUpdate) {
  meta::v1::ObjectMeta in, out;
  in.labels["app"] = "web";
  const MetaPredicate web = MatchesLabels("app=web");
  EXPECT_TRUE(Passes(web, ChangeKind::kUpdated, &in, &out));
  EXPECT_TRUE(Passes(web, ChangeKind::kUpdated, &out, &in));
  EXPECT_FALSE(Passes(web, ChangeKind::kUpdated, &out, &out));
  EXPECT_FALSE(Passes(MatchesLabels("app in ("), ChangeKind::kAdded, nullptr, &in)) << "a wrong selector lets nothing pass";
}

TEST(PredicateTest, AndOrNot) {
  const MetaPredicate yes([](const ChangedMeta&) { return true; }), no([](const ChangedMeta&) { return false; });
  const ChangedMeta change{ChangeKind::kAdded, true, nullptr, nullptr};
  EXPECT_TRUE((yes && yes)(change));
  EXPECT_FALSE((yes && no)(change));
  EXPECT_TRUE((yes || no)(change));
  EXPECT_FALSE((no || no)(change));
  EXPECT_TRUE((!no)(change));
  EXPECT_TRUE(OfKind({ChangeKind::kAdded})(change));
  EXPECT_FALSE(OfKind({ChangeKind::kDeleted, ChangeKind::kUpdated})(change));
  const Predicate<ConfigMap> everything;
  EXPECT_TRUE(everything({}));
  const Predicate<ConfigMap> of_data = [](const Change<ConfigMap>& c) { return c.object != nullptr; };
  EXPECT_FALSE(of_data({}));
}

TEST(ReconcileTest, TextsOfCauses) {
  EXPECT_EQ((Cause{.source = "pods", .object = {"a", "b"}, .change = ChangeKind::kUpdated}.ToString()), "pods a/b updated");
  EXPECT_EQ((Cause{.change = ChangeKind::kRetry}.ToString()), "retry");
  EXPECT_EQ(ToString(ChangeKind::kResync), "resync");
  EXPECT_EQ(ToString(ChangeKind::kRequeue), "requeue");
}

}  // namespace
}  // namespace kube
