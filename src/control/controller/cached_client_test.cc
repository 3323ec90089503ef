// Which informer serves a cached read, and the error if there is none.
#include "kube/control/cached_client.h"

#include "cache/recording_test_util.h"
#include "control/controller/cached_test_util.h"
#include "kube/api/apps/v1.h"
#include "kube/base/fake_clock.h"
#include "kube/base/log.h"
#include "kube/control/create_or_update.h"
#include "kube/control/desired_state.h"
#include "kube/control/event_recorder.h"
#include "kube/control/finalizers.h"
#include "kube/control/status.h"

namespace kube {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

class CachedClientTest : public CachedTest {
 protected:
  void SetUp() override {
    CachedTest::SetUp();
    MakeFactory({});
    server_->Load("{kind: Namespace, apiVersion: v1, metadata: {name: other}}").value();
  }
  void Create(const Secret& secret) { ASSERT_TRUE(client_->Create(Patient(), secret)); }
};

TEST_F(CachedClientTest, ReadsCostNoRequest) {
  Create(Named<Secret>("a"));
  const SharedInformer<Secret> informer = informers_->For<Secret>();
  Sync();
  const CachedClient cached = MakeCached();
  ASSERT_TRUE(Eventually([&] { return informer.lister().List().size() == 1; }));
  const int before = *requests_;
  const Result<Ptr<Secret>> found = cached.Get<Secret>(Patient(), {"default", "a"});
  ASSERT_TRUE(found);
  EXPECT_EQ((*found)->metadata.name, "a");
  EXPECT_THAT(Names(cached.List<Secret>(Patient())), ElementsAre("a"));
  const Result<Ptr<Secret>> missing = cached.Get<Secret>(Patient(), {"default", "b"});
  ASSERT_FALSE(missing);
  EXPECT_TRUE(IsNotFound(missing.error()));
  EXPECT_THAT(missing.error().ToString(), HasSubstr("secrets \"b\" not found"));
  EXPECT_EQ(*requests_, before);
}

TEST_F(CachedClientTest, AnObjectThatCannotBeDecodedIsNotMissing) {
  Create(Named<Secret>("a"));
  const SharedInformer<Secret> informer = informers_->For<Secret>();
  Sync();
  const CachedClient cached = MakeCached();
  ASSERT_TRUE(Eventually([&] { return informer.lister().List().size() == 1; }));
  for (const char* name : {"a", "b"}) {
    internal::IndexerAccess::StoreOf(informer.indexer())
        ->MarkUndecodable({.key = {"default", name}, .error = "data: expected an object, got a number"});
    const Result<Ptr<Secret>> found = cached.Get<Secret>(Patient(), {"default", name});
    ASSERT_FALSE(found);
    EXPECT_TRUE(IsUndecodable(found.error()));
    EXPECT_FALSE(IsNotFound(found.error()));
    EXPECT_THAT(found.error().ToString(), HasSubstr("cannot be decoded: data: expected an object"));
  }
  EXPECT_THAT(Names(cached.List<Secret>(Patient())), ElementsAre("a")) << "its last good version";
  EXPECT_TRUE(IsNotFound(cached.Get<Secret>(Patient(), {"default", "c"}).error()));

  // The next change that can be decoded is one.
  ASSERT_TRUE(cached.Patch<Secret>(Patient(), {"default", "a"}, Patch::Merge(R"({"metadata":{"labels":{"x":"y"}}})")));
  EXPECT_TRUE(Eventually([&] { return cached.Get<Secret>(Patient(), {"default", "a"}).ok(); }));
}

TEST_F(CachedClientTest, AllVerbsReachTheServer) {
  const SharedInformer<Secret> informer = informers_->For<Secret>();
  Sync();
  const CachedClient cached = MakeCached();
  const ObjectKey key{"default", "a"};
  Result<Secret> made = cached.Create(Patient(), Named<Secret>("a"));
  ASSERT_TRUE(made);
  made->data["x"] = "1";
  ASSERT_TRUE(cached.Update(Patient(), *made));
  EXPECT_EQ((*cached.Get<Secret>(Patient(), key))->data.Get("x"), "1");
  ASSERT_TRUE(cached.Patch<Secret>(Patient(), key, Patch::Merge(R"({"data":{"x":null}})")));
  EXPECT_EQ((*cached.Get<Secret>(Patient(), key))->data.size(), 0U);
  Secret applied = Named<Secret>("a");
  applied.data["y"] = "2";
  ASSERT_TRUE(cached.Apply(Patient(), applied, {.field_manager = "test"}));
  EXPECT_EQ((*cached.Get<Secret>(Patient(), key))->data.Get("y"), "2");
  EXPECT_EQ(cached.Live().Get<Secret>(Patient(), key)->data.Get("y"), "2");
  ASSERT_TRUE(cached.Delete<Secret>(Patient(), key));
  EXPECT_TRUE(IsNotFound(cached.Get<Secret>(Patient(), key).error()));
  ASSERT_TRUE(cached.Create(Patient(), Named<Secret>("b")));
  ASSERT_TRUE(cached.DeleteCollection<Secret>(Patient(), {.ns = "default"}));
  EXPECT_THAT(Names(cached.List<Secret>(Patient())), IsEmpty());
  EXPECT_EQ(cached.unseen_writes(), 0U);
}

TEST_F(CachedClientTest, ListsByNamespaceSelectorAndIndex) {
  const SharedInformer<Secret> informer = informers_->For<Secret>();
  ASSERT_TRUE(informer.AddIndex("type", [](const Secret& secret) { return std::vector<String>{secret.type}; }));
  Sync();
  const CachedClient cached = MakeCached();
  Secret typed = Named<Secret>("typed", {{"app", "web"}});
  typed.type = "example.com/t";
  ASSERT_TRUE(cached.Create(Patient(), typed));
  typed.metadata.namespace_ = "other";
  typed.metadata.name = "far";
  ASSERT_TRUE(cached.Create(Patient(), typed));
  ASSERT_TRUE(cached.Create(Patient(), Named<Secret>("plain", {{"app", "web"}})));
  const auto list = [&](const CachedListOptions& options) { return Names(cached.List<Secret>(Patient(), options)); };
  EXPECT_THAT(list({}), UnorderedElementsAre("typed", "far", "plain"));
  EXPECT_THAT(list({.ns = "other"}), ElementsAre("far"));
  EXPECT_THAT(list({.ns = "default", .label_selector = "app=web"}), UnorderedElementsAre("typed", "plain"));
  EXPECT_THAT(list({.label_selector = "app!=web"}), IsEmpty());
  EXPECT_THAT(list({.index = "type", .index_value = "example.com/t"}), UnorderedElementsAre("typed", "far"));
  EXPECT_THAT(list({.ns = "default", .label_selector = "app", .index = "type", .index_value = "example.com/t"}), ElementsAre("typed"));
  EXPECT_THAT(list({.label_selector = "!app", .index = "type", .index_value = "example.com/t"}), IsEmpty());
  EXPECT_THAT(list({.label_selector = "=,="}), ElementsAre(HasSubstr("label_selector")));
  EXPECT_THAT(list({.index = "color", .index_value = "red"}), ElementsAre(HasSubstr("color")));
  EXPECT_THAT(list({.index_value = "red"}), ElementsAre(HasSubstr("name the index")));
}

TEST_F(CachedClientTest, AKindWithoutAnInformerIsAnErrorThatSaysWhatToAdd) {
  const CachedClient cached = MakeCached();
  const Result<Ptr<Secret>> typed = cached.Get<Secret>(Patient(), {"default", "a"});
  ASSERT_FALSE(typed);
  EXPECT_EQ(typed.error().kind(), ErrorKind::kInvalid);
  EXPECT_THAT(typed.error().ToString(),
              AllOf(HasSubstr("secrets of namespace default"), HasSubstr(".Owns<Secret>()"), HasSubstr("Live()")));
  EXPECT_THAT(cached.List<Secret>(Patient()).error().ToString(), HasSubstr("secrets of all namespaces"));
  const Gvr carts{"shop.example.com", "v1", "carts"};
  EXPECT_THAT(
      cached.Resource(carts).List(Patient()).error().ToString(),
      HasSubstr("dynamic carts.shop.example.com of all namespaces: add .Watches(Gvr{\"shop.example.com\", \"v1\", \"carts\"}, ...)"));
  EXPECT_THAT(cached.Metadata(carts).List(Patient()).error().ToString(), HasSubstr("add .WatchesMetadata("));
  EXPECT_EQ(informers_->status().size(), 0U);
}

TEST_F(CachedClientTest, AnInformerOfAnotherNamespaceDoesNotCount) {
  const SharedInformer<Secret> informer = informers_->For<Secret>({.ns = "default"});
  Sync();
  const CachedClient cached = MakeCached();
  EXPECT_TRUE(IsNotFound(cached.Get<Secret>(Patient(), {"default", "a"}).error()));
  EXPECT_TRUE(cached.List<Secret>(Patient(), {.ns = "default"}));
  EXPECT_THAT(cached.Get<Secret>(Patient(), {"other", "a"}).error().ToString(),
              HasSubstr("secrets of namespace other (there are: namespace default)"));
  EXPECT_THAT(cached.List<Secret>(Patient()).error().ToString(), HasSubstr("secrets of all namespaces (there are: namespace default)"));
}

TEST_F(CachedClientTest, InAProgramOfOneNamespaceThatIsWhatAListMeans) {
  MakeFactory({.ns = "other"});
  Create(Named<Secret>("far", {}, "other"));
  Create(Named<Secret>("near"));
  const SharedInformer<Secret> informer = informers_->For<Secret>();
  Sync();
  EXPECT_THAT(Names(MakeCached().List<Secret>(Patient())), ElementsAre("far"));
}

TEST_F(CachedClientTest, AnInformerWithoutSelectorsGoesFirst) {
  Create(Named<Secret>("web", {{"app", "web"}}));
  Create(Named<Secret>("db", {{"app", "db"}}));
  const SharedInformer<Secret> web = informers_->For<Secret>({.label_selector = "app=web"});
  Sync();
  const CachedClient cached = MakeCached();
  // The only one that there is: it has what it has.
  EXPECT_THAT(Names(cached.List<Secret>(Patient())), ElementsAre("web"));
  EXPECT_TRUE(IsNotFound(cached.Get<Secret>(Patient(), {"default", "db"}).error()));
  const SharedInformer<Secret> db = informers_->For<Secret>({.label_selector = "app=db"});
  Sync();
  EXPECT_THAT(cached.List<Secret>(Patient()).error().ToString(),
              AllOf(HasSubstr("several informers of secrets"), HasSubstr("all namespaces with app=web"), HasSubstr("From(informer)")));
  EXPECT_THAT(Names(cached.From(db).List(Patient())), ElementsAre("db"));
  EXPECT_TRUE(cached.From(web).Get(Patient(), {"default", "web"}));
  const SharedInformer<Secret> all = informers_->For<Secret>();
  Sync();
  EXPECT_THAT(Names(cached.List<Secret>(Patient())), UnorderedElementsAre("web", "db"));
}

TEST_F(CachedClientTest, DynamicObjectsAndMetadataHaveCachesOfTheirOwn) {
  const Gvr secrets = GvrOf<Secret>();
  const SharedInformer<DynamicObject> dynamic = informers_->For(secrets);
  const SharedInformer<meta::v1::PartialObjectMetadata> light = informers_->ForMetadata<Secret>();
  Sync();
  const CachedClient cached = MakeCached();
  DynamicObject object(GvkOf<Secret>(), {"default", "a"});
  ASSERT_TRUE(cached.Resource(secrets).Create(Patient(), object));
  const ObjectKey key{"default", "a"};
  const Result<Ptr<DynamicObject>> one = cached.Resource(secrets).Get(Patient(), key);
  ASSERT_TRUE(one) << one.error().ToString();
  EXPECT_EQ((*one)->name(), "a");
  const auto two = cached.Metadata<Secret>().Get(Patient(), key);
  ASSERT_TRUE(two) << two.error().ToString();
  EXPECT_EQ((*two)->metadata.name, "a");
  ASSERT_TRUE(cached.Metadata(secrets).Patch(Patient(), key, Patch::Merge(R"({"metadata":{"labels":{"x":"y"}}})")));
  EXPECT_EQ((*cached.Metadata(secrets).Get(Patient(), key))->metadata.labels.Get("x"), "y");
  EXPECT_EQ((*cached.From(dynamic).Get(Patient(), key))->labels().Get("x"), "y");
  EXPECT_EQ((*cached.From(light).Get(Patient(), key))->metadata.labels.Get("x"), "y");
  // The typed one has none.
  EXPECT_FALSE(cached.Get<Secret>(Patient(), key));
}

TEST_F(CachedClientTest, ClusterScopedKinds) {
  const SharedInformer<core::v1::Node> nodes = informers_->For<core::v1::Node>();
  Sync();
  const CachedClient cached = MakeCached();
  core::v1::Node node;
  node.metadata.name = "n";
  ASSERT_TRUE(cached.Create(Patient(), node));
  EXPECT_TRUE(cached.Get<core::v1::Node>(Patient(), {"", "n"}));
  EXPECT_EQ(cached.List<core::v1::Node>(Patient())->size(), 1U);
}

TEST_F(CachedClientTest, AMissingInformerIsStartedWhereThatIsAllowedAndLogged) {
  const auto log = std::make_shared<internal::RecordingLog>();
  LogBackend::Default()->SetSink(log);
  Create(Named<Secret>("a"));
  {
    const CachedClient cached = MakeCached({.start_missing = true});
    EXPECT_TRUE(cached.Get<Secret>(Patient(), {"default", "a"}));
    EXPECT_THAT(Names(cached.List<Secret>(Patient())), ElementsAre("a"));
    EXPECT_TRUE(cached.List<core::v1::Node>(Patient()));
    EXPECT_EQ(informers_->status().size(), 2U);
  }
  LogBackend::Default()->SetSink(MakeTextSink());
  EXPECT_EQ(log->Count("Starting an informer for a read of a kind without one"), 2U);
  EXPECT_EQ(informers_->status().size(), 0U);  // they went with the client
}

TEST_F(CachedClientTest, AnInformerThatWasNotStartedIsAnError) {
  const SharedInformer<Secret> informer = informers_->For<Secret>();
  EXPECT_THAT(MakeCached().List<Secret>(Patient()).error().ToString(), HasSubstr("has not been started"));
}

TEST_F(CachedClientTest, ReadsWaitForACacheThatIsNotComplete) {
  const int stall = server_->AddFault({.resource = "secrets", .kind = testing::FaultKind::kStall, .times = -1});
  const SharedInformer<Secret> informer = informers_->For<Secret>();
  informers_->Start(Context::Background());
  const Result<std::vector<Ptr<Secret>>> late = MakeCached({.sync_timeout = milliseconds(1)}).List<Secret>(Patient());
  ASSERT_FALSE(late);
  EXPECT_TRUE(IsDeadlineExceeded(late.error()));
  EXPECT_THAT(late.error().ToString(), HasSubstr("the cache of secrets"));
  auto [ctx, cancel] = Patient().WithCancel();
  Thread reader("reader", [&, ctx = ctx] { EXPECT_TRUE(IsCancelled(MakeCached().List<Secret>(ctx).error())); });
  cancel.Cancel();
  reader.Join();
  Thread waiter("waiter", [&] { EXPECT_TRUE(MakeCached().List<Secret>(Patient())); });
  ASSERT_TRUE(server_->RemoveFault(stall));
  waiter.Join();
}

// It would read past the caches without a word.
static_assert(!std::is_convertible_v<CachedClient, Client>);
static_assert(!std::is_convertible_v<const CachedClient&, const Client&>);

TEST_F(CachedClientTest, HelpersTakeIt) {
  const SharedInformer<Secret> secrets = informers_->For<Secret>();
  const SharedInformer<core::v1::Service> services = informers_->For<core::v1::Service>();
  Sync();
  const auto clock = std::make_shared<FakeClock>();
  const CachedClient cached = MakeCached({.clock = clock});
  Secret secret = Named<Secret>("a");
  const Result<OperationResult> done = CreateOrUpdate(Patient(), cached, secret, [](Secret& s) { s.data["x"] = "1"; });
  ASSERT_TRUE(done) << done.error().ToString();
  EXPECT_EQ(*done, OperationResult::kCreated);
  EXPECT_TRUE(cached.Get<Secret>(Patient(), {"default", "a"})) << "it reads its own write";
  EXPECT_EQ(*CreateOrPatch(Patient(), cached, secret, [](Secret& s) { s.data["x"] = "2"; }), OperationResult::kUpdated);
  EXPECT_EQ((*cached.Get<Secret>(Patient(), {"default", "a"}))->data.Get("x"), "2");

  const auto finalizers = Finalizers<Secret>().Add("test.example.com/a", [](const Context&, const Secret&) { return Result<void>(); });
  ASSERT_TRUE(finalizers.Run(Patient(), cached, secret)->proceed);
  EXPECT_EQ((*cached.Get<Secret>(Patient(), {"default", "a"}))->metadata.finalizers.size(), 1U);

  core::v1::Service service = Named<core::v1::Service>("web");
  service.spec.ports.push_back({.port = 80});
  StatusWriter<core::v1::Service> status(cached, cached.Create(Patient(), service).value());
  clock->Advance(std::chrono::hours(1));
  status.SetCondition({.type = "Ready", .status = "True", .reason = "Exposed"});
  ASSERT_TRUE(status.Write(Patient()));
  const Ptr<core::v1::Service> written = cached.Get<core::v1::Service>(Patient(), {"default", "web"}).value();
  ASSERT_EQ(written->status.conditions.size(), 1U);
  const auto now = std::chrono::floor<seconds>(clock->WallNow()).time_since_epoch().count();
  EXPECT_EQ(written->status.conditions[0].last_transition_time.unix_seconds(), now) << "by the client's clock";

  EventRecorder events(cached, {.controller = "test"});
  events.Event(secret, EventType::kNormal, "Tested", "Test", "it works");
  EXPECT_TRUE(events.Flush());
}

TEST_F(CachedClientTest, APassOfDesiredStateThatChangesNothingSendsNoRequest) {
  const SharedInformer<Secret> secrets = informers_->For<Secret>();
  const SharedInformer<DynamicObject> services = informers_->For(GvrOf<core::v1::Service>());
  Sync();
  const CachedClient cached = MakeCached();
  const ConfigMap owner = cached.Create(Patient(), Named<ConfigMap>("owner")).value();
  DynamicObject service(GvkOf<core::v1::Service>(), {"", "web"});
  ASSERT_TRUE(service.SetNested({"spec", "ports"}, Value::Array({Value::Object({{"port", 80}, {"protocol", "TCP"}})})));
  const auto pass = [&](bool both) {
    const int before = *requests_;
    DesiredState desired(cached, owner, "set");
    desired.Manage<Secret>().Manage(GvkOf<core::v1::Service>()).Want(Named<Secret>("a"));
    if (both) desired.Want(Named<Secret>("b")).Want(service);
    const Result<Changes> changes = desired.Apply(Patient());
    const std::string summary = changes ? changes->Summary() : changes.error().ToString();
    return summary + ", " + std::to_string(*requests_ - before) + " requests";
  };
  EXPECT_THAT(pass(true), HasSubstr("3 created, "));  // and asks once which kind Service is
  EXPECT_EQ(pass(true), "3 unchanged, 0 requests");
  EXPECT_EQ(pass(false), "2 pruned, 1 unchanged, 4 requests");  // each is read before it is deleted
  EXPECT_EQ(pass(false), "1 unchanged, 0 requests");
  ASSERT_TRUE(cached.Patch<Secret>(Patient(), {"default", "a"}, Patch::Merge(R"({"metadata":{"labels":null}})")));
  EXPECT_THAT(pass(false), HasSubstr("1 updated, "));
  EXPECT_EQ(pass(false), "1 unchanged, 0 requests");
}

// It might have dropped the marks by which leftovers are found.
TEST_F(CachedClientTest, DesiredStateDoesNotReadACacheWithATransform) {
  const ConfigMap owner = client_->Create(Patient(), Named<ConfigMap>("owner")).value();
  const SharedInformer<Secret> secrets = informers_->For<Secret>();
  ASSERT_TRUE(secrets.Transform([](Secret& secret) -> Result<void> {
    secret.metadata.labels.clear();
    return {};
  }));
  Sync();
  const CachedClient cached = MakeCached();
  const auto pass = [&](const char* name) {
    return DesiredState(cached, owner, "set").Manage<Secret>().Want(Named<Secret>(name)).Apply(Patient())->Summary();
  };
  EXPECT_EQ(pass("a"), "1 created");
  EXPECT_EQ(pass("b"), "1 created, 1 pruned");
}

TEST_F(CachedClientTest, DesiredStateAsksTheServerWhereNoCacheCanSay) {
  const ConfigMap owner = client_->Create(Patient(), Named<ConfigMap>("owner")).value();
  const SharedInformer<Secret> other = informers_->For<Secret>({.ns = "other"});
  const SharedInformer<Secret> some = informers_->For<Secret>({.label_selector = "app=web"});
  const SharedInformer<meta::v1::PartialObjectMetadata> light = informers_->ForMetadata<Secret>();
  Sync();
  const CachedClient cached = MakeCached();
  const auto pass = [&] { return DesiredState(cached, owner, "set").Want(Named<Secret>("a")).Apply(Patient())->Summary(); };
  EXPECT_EQ(pass(), "1 created");
  const int before = *requests_;
  EXPECT_EQ(pass(), "1 unchanged");
  EXPECT_EQ(*requests_ - before, 2) << "a read and a list";
  // One whose newest version cannot be decoded is not missing.
  const SharedInformer<Secret> all = informers_->For<Secret>();
  Sync();
  internal::IndexerAccess::StoreOf(all.indexer())
      ->MarkUndecodable({.key = {"default", "a"}, .error = "data: expected an object, got a number"});
  EXPECT_EQ(pass(), "1 unchanged");
}

TEST_F(CachedClientTest, ACopyThatOutlivesItsInformersAnswersWithAnError) {
  std::optional<SharedInformer<Secret>> informer = informers_->For<Secret>();
  Sync();
  const CachedClient cached = MakeCached();
  const CachedClient starting = MakeCached({.start_missing = true});
  informers_.reset();
  for (const bool held : {true, false}) {
    if (!held) informer.reset();
    for (const CachedClient& client : {cached, starting}) {
      const Result<Ptr<Secret>> found = client.Get<Secret>(Patient(), {"default", "a"});
      ASSERT_FALSE(found);
      EXPECT_EQ(found.error().kind(), ErrorKind::kClosed) << found.error().ToString();
      EXPECT_EQ(client.List<Secret>(Patient()).error().kind(), ErrorKind::kClosed);
    }
  }
  // Writes go to the server, and DesiredState asks it.
  const ConfigMap owner = cached.Create(Patient(), Named<ConfigMap>("owner")).value();
  EXPECT_EQ(DesiredState(cached, owner, "set").Want(Named<Secret>("a")).Apply(Patient())->Summary(), "1 created");
  EXPECT_EQ(cached.unseen_writes(), 0U);
}

TEST_F(CachedClientTest, AnIndexOnATemporaryIsAnErrorUnlessTheFactoryKeepsIt) {
  const auto by_type = [](const Secret& secret) { return std::vector<String>{secret.type}; };
  const Result<void> lost = informers_->For<Secret>().AddIndex("type", by_type);
  ASSERT_FALSE(lost);
  EXPECT_THAT(lost.error().ToString(), AllOf(HasSubstr("the informer of secrets ends with this expression"), HasSubstr("index type")));
  EXPECT_FALSE(informers_->For<Secret>().Transform([](Secret&) { return Result<void>(); }));
  EXPECT_FALSE(informers_->For<Secret>().OnError([](const Error&) {}));
  const SharedInformer<Secret> held = informers_->For<Secret>();
  EXPECT_TRUE(informers_->For<Secret>().AddIndex("type", by_type));

  MakeFactory({.keep = true});
  ASSERT_TRUE(informers_->For<Secret>().AddIndex("type", by_type));
  ASSERT_TRUE(informers_->For<Secret>().Transform([](Secret& secret) {
    secret.metadata.annotations = {};
    return Result<void>();
  }));
  Sync();
  const CachedClient cached = MakeCached();
  Secret typed = Named<Secret>("typed");
  typed.type = "example.com/t";
  typed.metadata.annotations["x"] = "y";
  ASSERT_TRUE(cached.Create(Patient(), typed));
  const Result<std::vector<Ptr<Secret>>> found = cached.List<Secret>(Patient(), {.index = "type", .index_value = "example.com/t"});
  ASSERT_THAT(Names(found), ElementsAre("typed"));
  EXPECT_EQ((*found)[0]->metadata.annotations.size(), 0U);
  EXPECT_FALSE(informers_->For<ConfigMap>().AddIndex("x", [](const ConfigMap&) { return std::vector<String>(); }))
      << "after Start it keeps no more";
}

}  // namespace
}  // namespace kube
