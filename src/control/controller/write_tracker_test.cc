// Read your writes: which keys wait, for what and for how long, and which do not.
#include "control/controller/write_tracker.h"

#include <algorithm>

#include "control/controller/cached_test_util.h"
#include "kube/base/fake_clock.h"
#include "kube/control/controller.h"
#include "kube/control/create_or_update.h"
#include "kube/control/desired_state.h"
#include "kube/control/finalizers.h"
#include "kube/control/manager.h"
#include "kube/control/status.h"
#include "kube/transport/transport_errors.h"

namespace kube {
namespace {

using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

// Secrets and ConfigMaps have informers; the watch of secrets is behind from SetUp on.
class ReadYourWritesTest : public CachedTest {
 protected:
  void SetUp() override {
    CachedTest::SetUp();
    MakeFactory({.ns = "default"});
    secrets_ = std::make_unique<SharedInformer<Secret>>(informers_->For<Secret>());
    maps_ = std::make_unique<SharedInformer<ConfigMap>>(informers_->For<ConfigMap>());
    Sync();
    Use({});
    gate_->Close("secrets");
  }
  void TearDown() override { gate_->Open(); }
  void Use(CachedClientOptions options) { cached_ = std::make_unique<CachedClient>(MakeCached(std::move(options))); }

  // Calls `read` on another thread, sees that it waits, opens the gate and gives what it read.
  template <typename Read>
  auto Waits(const Read& read, const std::string& controller = "") {
    const double before = Counted("waits_total", "secrets", controller);
    std::optional<decltype(read())> out;
    std::atomic<bool> returned = false;
    Thread reader("reader", [&] {
      out.emplace(read());
      returned = true;
    });
    EXPECT_TRUE(Eventually([&] { return Counted("waits_total", "secrets", controller) == before + 1 || returned; }));
    EXPECT_FALSE(returned) << "it did not wait";
    gate_->Open();
    reader.Join();
    return *std::move(out);
  }
  Context As(const std::string& key) const { return cached_->writes()->Scope(Patient(), "c", {"default", String(key)}); }

  const ObjectKey key_{"default", "a"};
  std::unique_ptr<SharedInformer<Secret>> secrets_;
  std::unique_ptr<SharedInformer<ConfigMap>> maps_;
  std::unique_ptr<CachedClient> cached_;
};

TEST_F(ReadYourWritesTest, AGetWaitsForWhatWasCreated) {
  const Secret made = cached_->Create(Patient(), Named<Secret>("a")).value();
  const Result<Ptr<Secret>> read = Waits([&] { return cached_->Get<Secret>(Patient(), key_); });
  ASSERT_TRUE(read);
  EXPECT_EQ((*read)->metadata.resource_version, made.metadata.resource_version);
  EXPECT_EQ(cached_->unseen_writes(), 0U);
  EXPECT_EQ(Counted("timeouts_total"), 0);
  EXPECT_EQ(metrics_->Count("kubexx_read_your_writes_wait_seconds", {{"controller", ""}, {"resource", "secrets"}}), 1U);
}

TEST_F(ReadYourWritesTest, AGetWaitsForTheLastOfSeveralWrites) {
  Secret secret = cached_->Create(Patient(), Named<Secret>("a")).value();
  secret.data["n"] = "1";
  secret = cached_->Update(Patient(), secret).value();
  ASSERT_TRUE(cached_->Patch<Secret>(Patient(), key_, Patch::Merge(R"({"metadata":{"labels":{"n":"2"}}})")));
  EXPECT_EQ(cached_->unseen_writes(), 1U);  // one for each object
  const Result<Ptr<Secret>> read = Waits([&] { return cached_->Get<Secret>(Patient(), key_); });
  ASSERT_TRUE(read);
  EXPECT_EQ((*read)->metadata.labels.Get("n"), "2");
}

TEST_F(ReadYourWritesTest, AListWaitsForAllOfThem) {
  ASSERT_TRUE(cached_->Create(Patient(), Named<Secret>("a")));
  ASSERT_TRUE(cached_->Create(Patient(), Named<Secret>("b")));
  EXPECT_THAT(Names(Waits([&] { return cached_->List<Secret>(Patient(), {.ns = "default"}); })), UnorderedElementsAre("a", "b"));
  EXPECT_EQ(cached_->unseen_writes(), 0U);
}

TEST_F(ReadYourWritesTest, OtherKindsAndObjectsAreReadAtOnce) {
  ASSERT_TRUE(cached_->Create(Patient(), Named<Secret>("a")));
  ASSERT_TRUE(cached_->Create(Patient(), Named<ConfigMap>("m")));
  EXPECT_TRUE(cached_->Get<ConfigMap>(Patient(), {"default", "m"}));
  EXPECT_TRUE(cached_->List<ConfigMap>(Patient()));
  EXPECT_TRUE(IsNotFound(cached_->Get<Secret>(Patient(), {"default", "b"}).error()));
  EXPECT_TRUE(IsNotFound(cached_->Get<Secret>(As("k"), {"default", "b"}).error()));
  EXPECT_THAT(Names(cached_->List<Secret>(As("k"))), IsEmpty());
  EXPECT_EQ(Counted("waits_total"), 0);
}

TEST_F(ReadYourWritesTest, ADeletedObjectIsGone) {
  gate_->Open();
  ASSERT_TRUE(cached_->Create(Patient(), Named<Secret>("a")));
  ASSERT_TRUE(cached_->Get<Secret>(Patient(), key_));
  gate_->Close("secrets");
  ASSERT_TRUE(cached_->Delete<Secret>(Patient(), key_));
  EXPECT_TRUE(IsNotFound(Waits([&] { return cached_->Get<Secret>(Patient(), key_); }).error()));
  EXPECT_EQ(cached_->unseen_writes(), 0U);
}

TEST_F(ReadYourWritesTest, AnObjectWithFinalizersIsBeingDeleted) {
  gate_->Open();
  Secret secret = Named<Secret>("a");
  secret.metadata.finalizers = {"example.com/f"};
  ASSERT_TRUE(cached_->Create(Patient(), secret));
  ASSERT_TRUE(cached_->Get<Secret>(Patient(), key_));
  gate_->Close("secrets");
  ASSERT_TRUE(cached_->Delete<Secret>(Patient(), key_));
  const Result<Ptr<Secret>> read = Waits([&] { return cached_->Get<Secret>(Patient(), key_); });
  ASSERT_TRUE(read);
  EXPECT_FALSE((*read)->metadata.deletion_timestamp.IsZero());
  // Taking the last one off ends it, although the server answers with the object.
  gate_->Close("secrets");
  secret = **read;
  secret.metadata.finalizers.clear();
  ASSERT_TRUE(cached_->Update(Patient(), secret));
  EXPECT_TRUE(IsNotFound(Waits([&] { return cached_->Get<Secret>(Patient(), key_); }).error()));
}

TEST_F(ReadYourWritesTest, WhatWasCreatedAndDeletedAtOnceDoesNotComeBack) {
  ASSERT_TRUE(cached_->Create(Patient(), Named<Secret>("a")));
  ASSERT_TRUE(cached_->Delete<Secret>(Patient(), key_));
  ASSERT_TRUE(cached_->Create(Patient(), Named<Secret>("b")));
  // The cache has none of them yet, which is not what is waited for.
  EXPECT_EQ(cached_->unseen_writes(), 2U);
  EXPECT_THAT(Names(Waits([&] { return cached_->List<Secret>(Patient()); })), ElementsAre("b"));
}

TEST_F(ReadYourWritesTest, WhatWasDeletedAndCreatedAnewIsTheNewOne) {
  gate_->Open();
  ASSERT_TRUE(cached_->Create(Patient(), Named<Secret>("a")));
  ASSERT_TRUE(cached_->Get<Secret>(Patient(), key_));
  gate_->Close("secrets");
  ASSERT_TRUE(cached_->Delete<Secret>(Patient(), key_));
  const Secret anew = cached_->Create(Patient(), Named<Secret>("a")).value();
  const Result<Ptr<Secret>> read = Waits([&] { return cached_->Get<Secret>(Patient(), key_); });
  ASSERT_TRUE(read);
  EXPECT_EQ((*read)->metadata.uid, anew.metadata.uid);
}

TEST_F(ReadYourWritesTest, ACollectionThatWasDeleted) {
  gate_->Open();
  ASSERT_TRUE(cached_->Create(Patient(), Named<Secret>("a")));
  ASSERT_TRUE(cached_->Create(Patient(), Named<Secret>("b")));
  ASSERT_EQ(cached_->List<Secret>(Patient())->size(), 2U);
  gate_->Close("secrets");
  ASSERT_TRUE(cached_->DeleteCollection<Secret>(Patient(), {.ns = "default"}));
  EXPECT_THAT(Names(Waits([&] { return cached_->List<Secret>(Patient()); })), IsEmpty());
}

TEST_F(ReadYourWritesTest, AWriteThatChangedNothingIsNotWaitedFor) {
  gate_->Open();
  const Secret made = cached_->Create(Patient(), Named<Secret>("a")).value();
  ASSERT_TRUE(cached_->Get<Secret>(Patient(), key_));
  gate_->Close("secrets");
  ASSERT_TRUE(cached_->Update(Patient(), made));
  EXPECT_EQ(cached_->unseen_writes(), 0U);
  EXPECT_TRUE(cached_->Get<Secret>(Patient(), key_));
}

TEST_F(ReadYourWritesTest, ADryRunIsNoWrite) {
  ASSERT_TRUE(cached_->Create(Patient(), Named<Secret>("a"), {.dry_run = true}));
  EXPECT_EQ(cached_->unseen_writes(), 0U);
}

TEST_F(ReadYourWritesTest, AListWaitsForItsOwnKeyOnlyAGetForEverybody) {
  ASSERT_TRUE(cached_->Create(As("one"), Named<Secret>("a")));
  EXPECT_THAT(Names(cached_->List<Secret>(As("two"))), IsEmpty());
  EXPECT_THAT(Names(cached_->List<Secret>(Patient())), IsEmpty());
  EXPECT_EQ(Counted("waits_total", "secrets", "c"), 0);
  EXPECT_TRUE(Waits([&] { return cached_->Get<Secret>(As("two"), key_); }, "c"));
}

TEST_F(ReadYourWritesTest, AListOfTheSameKeyWaits) {
  ASSERT_TRUE(cached_->Create(As("one"), Named<Secret>("a")));
  EXPECT_THAT(Names(Waits([&] { return cached_->List<Secret>(As("one")); }, "c")), ElementsAre("a"));
}

TEST_F(ReadYourWritesTest, TheWaitIsBoundedCountedAndNotRepeated) {
  const auto clock = std::make_shared<FakeClock>();
  ASSERT_TRUE(cached_->Create(Patient(), Named<Secret>("a")));
  Thread reader("reader", [&] { EXPECT_TRUE(IsNotFound(cached_->Get<Secret>(Context::Background(clock), key_).error())); });
  ASSERT_TRUE(clock->WaitForWaiters(1));
  clock->Advance(seconds(5));
  reader.Join();
  EXPECT_EQ(Counted("timeouts_total"), 1);
  EXPECT_EQ(Counted("wait_seconds"), 5);
  EXPECT_EQ(cached_->unseen_writes(), 0U);
  EXPECT_TRUE(IsNotFound(cached_->Get<Secret>(Context::Background(clock), key_).error()));  // at once
  EXPECT_EQ(Counted("waits_total"), 1);
}

TEST_F(ReadYourWritesTest, TheTimeoutIsForAllWritesOfAReadTogether) {
  Use({.wait_timeout = seconds(2)});
  const auto clock = std::make_shared<FakeClock>();
  ASSERT_TRUE(cached_->Create(Patient(), Named<Secret>("a")));
  ASSERT_TRUE(cached_->Create(Patient(), Named<Secret>("b")));
  Thread reader("reader", [&] { EXPECT_THAT(Names(cached_->List<Secret>(Context::Background(clock))), IsEmpty()); });
  ASSERT_TRUE(clock->WaitForWaiters(1));
  clock->Advance(seconds(2));
  reader.Join();
  EXPECT_EQ(Counted("timeouts_total"), 1);
  EXPECT_EQ(cached_->unseen_writes(), 0U);
}

// A cluster that was restored from an old backup: other objects, smaller versions. Nothing waits for the versions of before.
TEST_F(ReadYourWritesTest, AServerWithSmallerVersionsIsFollowedAndOldWritesAreForgotten) {
  Use({.wait_timeout = std::chrono::hours(1)});
  gate_->Open();
  for (int i = 0; i < 50; ++i) ASSERT_TRUE(client_->Create(Patient(), Named<ConfigMap>("filler-" + std::to_string(i))));
  ASSERT_TRUE(cached_->Create(Patient(), Named<Secret>("old")));
  ASSERT_TRUE(cached_->Get<Secret>(Patient(), {"default", "old"}));
  gate_->Close("secrets");
  ASSERT_TRUE(cached_->Create(Patient(), Named<Secret>("a")));
  ASSERT_EQ(cached_->unseen_writes(), 1U);
  const std::uint64_t before = server_->resource_version();
  const std::uint16_t port = server_->port();
  server_.reset();
  gate_->Open();
  // Both notice that the server is away; without that, only two minutes of silence make them ask for its version.
  ASSERT_TRUE(Eventually([&] {
    const std::vector<InformerStatus> informers = informers_->status();
    return std::all_of(informers.begin(), informers.end(), [](const InformerStatus& informer) {
      return informer.reflector.error && IsConnectionRefused(*informer.reflector.error);
    });
  }));
  const std::string kept = "{apiVersion: v1, kind: Secret, metadata: {name: kept, namespace: default}}";
  server_ = testing::ApiServer::Start({.port = port, .http = true, .manifests = {kept}}).value();
  ASSERT_LT(server_->resource_version(), before);
  // A read may come before the new list: it waits for that.
  EXPECT_TRUE(Eventually([&] { return Names(cached_->List<Secret>(Patient())) == std::vector<std::string>{"kept"}; }));
  EXPECT_TRUE(IsNotFound(cached_->Get<Secret>(Patient(), key_).error()));
  ASSERT_TRUE(cached_->Create(Patient(), Named<Secret>("a")));
  EXPECT_TRUE(cached_->Get<Secret>(Patient(), key_)) << "and the own writes of now are read";
  ASSERT_TRUE(cached_->Delete<Secret>(Patient(), key_));
  EXPECT_TRUE(IsNotFound(cached_->Get<Secret>(Patient(), key_).error()));
  EXPECT_EQ(Counted("timeouts_total"), 0);
  ASSERT_LT(server_->resource_version(), before) << "still older than the versions of before";
}

TEST_F(ReadYourWritesTest, AReadEndsWithItsContext) {
  ASSERT_TRUE(cached_->Create(Patient(), Named<Secret>("a")));
  auto [ctx, cancel] = Patient().WithCancel();
  Thread reader("reader", [&, ctx = ctx] { EXPECT_TRUE(IsCancelled(cached_->Get<Secret>(ctx, key_).error())); });
  EXPECT_TRUE(Eventually([&] { return Counted("waits_total") == 1; }));
  cancel.Cancel();
  reader.Join();
  EXPECT_EQ(Counted("timeouts_total"), 0);
  EXPECT_EQ(cached_->unseen_writes(), 1U);  // the next one waits
}

TEST_F(ReadYourWritesTest, WithoutItNobodyWaits) {
  Use({.read_your_writes = false});
  ASSERT_TRUE(cached_->Create(As("k"), Named<Secret>("a")));
  EXPECT_TRUE(IsNotFound(cached_->Get<Secret>(As("k"), key_).error()));
  EXPECT_THAT(Names(cached_->List<Secret>(As("k"))), IsEmpty());
  EXPECT_EQ(cached_->unseen_writes(), 0U);
}

TEST_F(ReadYourWritesTest, MemoryIsBounded) {
  Use({.most_writes = 10});
  for (int i = 0; i < 25; ++i) {
    ASSERT_TRUE(cached_->Create(Patient(), Named<Secret>("s" + std::to_string(i))));
    EXPECT_LE(cached_->unseen_writes(), 10U);
  }
  EXPECT_EQ(cached_->unseen_writes(), 10U);
  EXPECT_EQ(Counted("dropped_total"), 15);
  EXPECT_EQ(Waits([&] { return cached_->List<Secret>(Patient()); })->size(), 25U);
  EXPECT_EQ(cached_->unseen_writes(), 0U);
}

TEST_F(ReadYourWritesTest, WhatCachesHaveSeenIsForgottenAlsoWhereNobodyReads) {
  for (int i = 0; i < 50; ++i) ASSERT_TRUE(cached_->Create(As("k" + std::to_string(i)), Named<Secret>("s" + std::to_string(i))));
  EXPECT_EQ(cached_->unseen_writes(), 50U);
  gate_->Open();
  ASSERT_TRUE(Eventually([&] { return secrets_->lister().List().size() == 50; }));
  // Each write checks two old ones.
  for (int i = 0; i < 40; ++i) ASSERT_TRUE(cached_->Create(Patient(), Named<ConfigMap>("m" + std::to_string(i))));
  ASSERT_TRUE(Eventually([&] { return cached_->List<ConfigMap>(Patient()).ok() && cached_->unseen_writes() == 0; }));
}

TEST_F(ReadYourWritesTest, AKindThatNobodyCachesIsNotRemembered) {
  ASSERT_TRUE(cached_->Create(Patient(), Named<core::v1::ServiceAccount>("a")));
  EXPECT_EQ(cached_->unseen_writes(), 0U);
}

TEST_F(ReadYourWritesTest, AnInformerOfAnotherNamespaceIsNotWaitedFor) {
  ASSERT_TRUE(server_->Load("{kind: Namespace, apiVersion: v1, metadata: {name: other}}"));
  ASSERT_TRUE(cached_->Create(Patient(), Named<Secret>("a", {}, "other")));
  EXPECT_EQ(cached_->unseen_writes(), 0U);
}

TEST_F(ReadYourWritesTest, AnInformerThatDoesNotSelectTheObjectIsNotWaitedFor) {
  gate_->Open();
  const SharedInformer<Secret> web = informers_->For<Secret>({.ns = "default", .label_selector = "app=web"});
  Sync();
  const Secret made = cached_->Create(Patient(), Named<Secret>("a", {{"app", "web"}})).value();
  ASSERT_TRUE(cached_->From(web).Get(Patient(), key_));
  ASSERT_TRUE(cached_->Get<Secret>(Patient(), key_));
  gate_->Close("secrets");
  // It leaves the one, and stays in the other.
  Secret changed = made;
  changed.metadata.labels["app"] = "db";
  ASSERT_TRUE(cached_->Update(Patient(), changed));
  EXPECT_TRUE(IsNotFound(Waits([&] { return cached_->From(web).Get(Patient(), key_); }).error()));
  ASSERT_TRUE(Eventually([&] { return cached_->Get<Secret>(Patient(), key_).ok() && cached_->unseen_writes() == 0; }));
  gate_->Close("secrets");
  // It has never been in there: nothing will come, and nothing is waited for.
  ASSERT_TRUE(cached_->Create(Patient(), Named<Secret>("b", {{"app", "db"}})));
  EXPECT_TRUE(IsNotFound(cached_->From(web).Get(Patient(), {"default", "b"}).error()));
  EXPECT_EQ(Counted("timeouts_total"), 0);
}

TEST_F(ReadYourWritesTest, WritesToOtherServersAreNotWaitedFor) {
  const std::unique_ptr<testing::ApiServer> far = testing::ApiServer::Start({.http = true}).value();
  ASSERT_TRUE(NewClient(*far).Create(As("k"), Named<Secret>("a")));
  EXPECT_EQ(cached_->unseen_writes(), 0U);
  // Another client of the same one is as good as the own.
  ASSERT_TRUE(NewClient(*server_).Create(As("k"), Named<Secret>("a")));
  EXPECT_EQ(cached_->unseen_writes(), 1U);
}

TEST_F(ReadYourWritesTest, AnInformerThatHasStoppedIsNotWaitedFor) {
  ASSERT_TRUE(cached_->Create(Patient(), Named<Secret>("a")));
  Thread reader("reader", [&] { EXPECT_TRUE(IsNotFound(cached_->From(*secrets_).Get(Patient(), key_).error())); });
  EXPECT_TRUE(Eventually([&] { return Counted("waits_total") == 1; }));
  secrets_->Stop();
  reader.Join();
  EXPECT_EQ(Counted("timeouts_total"), 0);
}

TEST_F(ReadYourWritesTest, WritesOfHelpersCount) {
  const ConfigMap owner = client_->Create(Patient(), Named<ConfigMap>("owner")).value();
  const Context ctx = As("owner");
  Secret secret = Named<Secret>("a");
  ASSERT_TRUE(CreateOrUpdate(ctx, *client_, secret, [](Secret& s) { s.data["x"] = "1"; }));
  EXPECT_EQ(cached_->unseen_writes(), 1U);
  Secret patched = Named<Secret>("b");
  ASSERT_TRUE(CreateOrPatch(ctx, *client_, patched, [](Secret& s) { s.data["x"] = "1"; }));
  EXPECT_EQ(cached_->unseen_writes(), 2U);
  ASSERT_TRUE(DesiredState(*client_, owner, {.field_manager = "test", .name = "set"}).Want(Named<Secret>("c")).Apply(ctx));
  EXPECT_EQ(cached_->unseen_writes(), 3U);
  Secret held = client_->Create(Patient(), Named<Secret>("d")).value();
  const Finalizers<Secret> finalizers =
      Finalizers<Secret>().Add("example.com/f", [](const Context&, const Secret&) { return Result<void>(); });
  ASSERT_TRUE(finalizers.Run(ctx, *client_, held));
  EXPECT_EQ(cached_->unseen_writes(), 4U);
  // On another thread, with a context made from it.
  Thread other("other", [&] { EXPECT_TRUE(client_->Create(ctx.WithTimeout(seconds(60)), Named<Secret>("e"))); });
  other.Join();
  EXPECT_EQ(cached_->unseen_writes(), 5U);
  EXPECT_THAT(Names(Waits([&] { return cached_->List<Secret>(ctx); }, "c")), UnorderedElementsAre("a", "b", "c", "d", "e"));
}

// ---- The next run of a key ----

// A controller of ConfigMaps with one worker, which makes a Secret for each of them.
class HeldKeysTest : public ReadYourWritesTest {
 protected:
  void TearDown() override {
    Halt();
    controller_ = nullptr;
    ReadYourWritesTest::TearDown();
  }
  void Start(std::shared_ptr<Clock> clock = nullptr) {
    ControllerSpec spec =
        ControllerFor<ConfigMap>("c").For({.when = MatchesLabels("ours")}).Reconcile([this](const Context& ctx, const Request& request) {
          return Reconcile(ctx, request);
        });
    controller_ =
        Controller::Create(std::move(spec), {.informers = informers_.get(), .clock = std::move(clock), .writes = cached_->writes()})
            .value();
    ASSERT_TRUE(controller_->Start());
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
  Result<Action> Reconcile(const Context& ctx, const Request& request) {
    const std::string name = request.key.name.str();
    {
      MutexLock lock(mu_);
      runs_.push_back(name);
      causes_ = request.causes;
    }
    const bool there = secrets_->lister().Get(request.key).ok();  // a lister waits for nothing: the run has waited
    if (there) return Action::Done();
    if (Result<Secret> made = client_->Create(ctx, Named<Secret>(name)); !made && !IsAlreadyExists(made.error())) return made.error();
    return Action::RequeueAfter({});
  }
  std::size_t Runs(const std::string& name) const {
    MutexLock lock(mu_);
    return static_cast<std::size_t>(std::count(runs_.begin(), runs_.end(), name));
  }
  ConfigMap Parent(const std::string& name) { return client_->Create(Patient(), Named<ConfigMap>(name, {{"ours", "1"}})).value(); }
  bool WaitHeld(const std::string& name) {
    return Eventually([&] {
      const std::vector<ObjectKey> held = controller_->status().held;
      return std::find(held.begin(), held.end(), ObjectKey{"default", String(name)}) != held.end();
    });
  }

  mutable Mutex mu_;
  std::vector<std::string> runs_ KUBE_GUARDED_BY(mu_);
  std::vector<Cause> causes_ KUBE_GUARDED_BY(mu_);
  std::unique_ptr<Controller> controller_;
  std::unique_ptr<CancelSource> cancel_;
  Thread runner_;
};

TEST_F(HeldKeysTest, TheNextRunBeginsWhenCachesHaveSeenWhatTheOneBeforeWrote) {
  Start();
  Parent("a");
  ASSERT_TRUE(WaitHeld("a"));
  EXPECT_EQ(Runs("a"), 1U);
  EXPECT_EQ(cached_->writes()->holds(), 1U);
  gate_->Open();
  ASSERT_TRUE(Eventually([&] { return Runs("a") == 2; }));
  ASSERT_TRUE(Eventually([&] { return controller_->status().runs == 2; }));
  EXPECT_THAT(controller_->status().held, IsEmpty());
  EXPECT_EQ(cached_->writes()->holds(), 0U);
  EXPECT_EQ(cached_->unseen_writes(), 0U);
  EXPECT_EQ(Counted("waits_total", "secrets", "c"), 1);
  EXPECT_EQ(Counted("timeouts_total", "secrets", "c"), 0);
}

TEST_F(HeldKeysTest, OtherKeysGoOnWithOneWorker) {
  Start();
  for (const char* name : {"a", "b", "c"}) {
    Parent(name);
    ASSERT_TRUE(WaitHeld(name));
  }
  EXPECT_EQ(cached_->writes()->holds(), 3U);
  EXPECT_EQ(controller_->status().active, 0);
  gate_->Open();
  ASSERT_TRUE(Eventually([&] { return Runs("a") + Runs("b") + Runs("c") == 6; }));
}

TEST_F(HeldKeysTest, ChangesMeanwhileMakeOneRunThatKnowsThem) {
  Start();
  ConfigMap parent = Parent("a");
  ASSERT_TRUE(WaitHeld("a"));
  for (int i = 0; i < 5; ++i) {
    parent.data["n"] = String(std::to_string(i));
    parent = client_->Update(Patient(), parent).value();
  }
  ASSERT_TRUE(maps_->WaitUntilSeen(Patient(), KeyOf(parent), parent.metadata.resource_version));
  Parent("later");  // behind them in the queue
  ASSERT_TRUE(WaitHeld("later"));
  EXPECT_EQ(Runs("a"), 1U);
  gate_->Open();
  ASSERT_TRUE(Eventually([&] { return Runs("a") == 2 && Runs("later") == 2; }));
  ASSERT_TRUE(Eventually([&] { return controller_->status().queue.entries.empty(); }));
  EXPECT_EQ(Runs("a"), 2U);
}

TEST_F(HeldKeysTest, TheTimeIsBoundedAndTheWriteIsNotWaitedForAgain) {
  const auto clock = std::make_shared<FakeClock>();
  Start(clock);
  Parent("a");
  ASSERT_TRUE(Eventually([&] {
    clock->Advance({});  // for the requeue, which is due at once
    return cached_->writes()->holds() == 1;
  }));
  EXPECT_EQ(Runs("a"), 1U);
  clock->Advance(seconds(5));
  ASSERT_TRUE(Eventually([&] { return Runs("a") >= 2; }));
  EXPECT_EQ(Counted("timeouts_total", "secrets", "c"), 1);
  // Its Create reported that the object exists, so nothing was written, and nothing is waited for.
  ASSERT_TRUE(Eventually([&] {
    clock->Advance({});
    return Runs("a") >= 3;
  }));
  EXPECT_EQ(Counted("waits_total", "secrets", "c"), 1);
  EXPECT_EQ(cached_->unseen_writes(), 0U);
}

TEST_F(HeldKeysTest, AKeyIsNotLostWhenTheControllerRunsAgain) {
  Start();
  Parent("a");
  ASSERT_TRUE(WaitHeld("a"));
  Halt();
  gate_->Open();
  ASSERT_TRUE(Eventually([&] { return controller_->status().queue.queued == 1; }));
  Run();
  ASSERT_TRUE(Eventually([&] { return Runs("a") == 2; }));
}

TEST_F(HeldKeysTest, AControllerMayGoWhileKeysAreHeld) {
  Start();
  Parent("a");
  ASSERT_TRUE(WaitHeld("a"));
  Halt();
  controller_ = nullptr;
  EXPECT_EQ(cached_->writes()->holds(), 0U);
  EXPECT_EQ(cached_->unseen_writes(), 0U);
  gate_->Open();
}

TEST_F(HeldKeysTest, AnInformerThatStopsLetsThemGo) {
  Start();
  Parent("a");
  ASSERT_TRUE(WaitHeld("a"));
  secrets_->Stop();
  ASSERT_TRUE(Eventually([&] { return Runs("a") >= 2; }));
  EXPECT_EQ(Counted("timeouts_total", "secrets", "c"), 0);
}

TEST_F(HeldKeysTest, OfAManager) {
  Manager manager(*client_, {.informers = {.ns = "default"}});
  std::atomic<int> runs = 0;
  std::atomic<bool> stale = false;
  ControllerSpec spec = ControllerFor<ConfigMap>("made")
                            .For({.when = MatchesLabels("ours")})
                            .Owns<Secret>()
                            .Reconcile([&](const Context& ctx, const Request& request) -> Result<Action> {
                              const int run = ++runs;
                              const Result<std::vector<Ptr<Secret>>> children = manager.cached().List<Secret>(ctx);
                              if (!children || children->size() != static_cast<std::size_t>(run - 1)) stale = true;
                              if (run > 20) return Action::Done();
                              const Result<Secret> made =
                                  manager.cached().Create(ctx, Named<Secret>(request.key.name.str() + std::to_string(run)));
                              if (!made) return made.error();
                              return Action::RequeueAfter({});
                            });
  ASSERT_TRUE(manager.Add(std::move(spec)));
  gate_->Open();
  gate_->Delay(std::chrono::microseconds(3000), 7);
  auto [ctx, cancel] = Context::Background().WithCancel();
  Thread runner("runner", [&, ctx = ctx] { EXPECT_TRUE(manager.Run(ctx)); });
  Parent("p");
  EXPECT_TRUE(Eventually([&] { return runs > 20; }));
  EXPECT_FALSE(stale);
  EXPECT_THAT(manager.metrics()->Render(), HasSubstr("# TYPE kubexx_read_your_writes_waits_total counter\n"
                                                     "kubexx_read_your_writes_waits_total{controller=\"made\",resource=\"secrets\"}"));
  EXPECT_THAT(manager.metrics()->Render(), HasSubstr("# TYPE kubexx_read_your_writes_wait_seconds histogram"));
  cancel.Cancel();
  runner.Join();
}

}  // namespace
}  // namespace kube
