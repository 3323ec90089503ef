// Which informer a cached read comes from, and what is said where there is none.
#include "kube/control/cached_client.h"

#include "cache/recording_test_util.h"
#include "control/cached_test_util.h"
#include "kube/api/apps/v1.h"
#include "kube/base/log.h"
#include "kube/control/create_or_update.h"
#include "kube/control/desired_state.h"

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
    informer.indexer().store()->MarkUndecodable({.key = {"default", name}, .error = "data: expected an object, got a number"});
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
  EXPECT_EQ(log->Count("Starting an informer for a read of a kind that nobody watches"), 2U);
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

TEST_F(CachedClientTest, WhereAClientIsWantedItIsOne) {
  const SharedInformer<Secret> informer = informers_->For<Secret>();
  Sync();
  const CachedClient cached = MakeCached();
  Secret secret = Named<Secret>("a");
  const Result<OperationResult> done = CreateOrUpdate(Patient(), cached, secret, [](Secret& s) { s.data["x"] = "1"; });
  ASSERT_TRUE(done) << done.error().ToString();
  EXPECT_EQ(*done, OperationResult::kCreated);
  const ConfigMap owner = cached.Create(Patient(), Named<ConfigMap>("owner")).value();
  const Result<Changes> changes =
      DesiredState(cached, owner, {.field_manager = "test", .name = "set"}).Want(Named<Secret>("child")).Apply(Patient());
  ASSERT_TRUE(changes) << changes.error().ToString();
  EXPECT_EQ(changes->Summary(), "1 created");
}

}  // namespace
}  // namespace kube
