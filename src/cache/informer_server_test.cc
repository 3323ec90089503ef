// Informers over real connections: the embedded server and the real ones of `make control-plane`.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "cache/informer_test_util.h"
#include "client/server_test_util.h"
#include "kube/api/apiextensions/v1.h"
#include "kube/api/core/v1.h"
#include "kube/api/rbac/v1.h"
#include "kube/base/log.h"
#include "kube/cache/informer_factory.h"
#include "kube/transport/http_transport.h"
#include "kube/transport/transport.h"

namespace kube {
namespace {

using core::v1::ConfigMap;
using core::v1::Namespace;
using core::v1::Service;
using internal::RecordingLog;
using internal::Witness;
using meta::v1::PartialObjectMetadata;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// What was asked for, as "list configmaps" and "watch configmaps from 12 initial".
class Requests : public TransportDecorator {
 public:
  struct Seen {
    Mutex mu;
    std::vector<std::string> targets KUBE_GUARDED_BY(mu);
  };
  Requests(std::shared_ptr<Transport> next, std::shared_ptr<Seen> seen) : TransportDecorator(std::move(next)), seen_(std::move(seen)) {}
  Result<HttpResponse> RoundTrip(const Context& ctx, HttpRequest request) override {
    if (request.method == "GET") {
      MutexLock lock(seen_->mu);
      seen_->targets.push_back(request.target);
    }
    return next().RoundTrip(ctx, std::move(request));
  }

 private:
  std::shared_ptr<Seen> seen_;
};

std::vector<std::string> Kinds(Requests::Seen& seen) {
  MutexLock lock(seen.mu);
  std::vector<std::string> out;
  for (const std::string& target : seen.targets) {
    std::string kind = target.find("watch=") == std::string::npos ? "list" : "watch";
    if (target.find("sendInitialEvents=true") != std::string::npos) kind = "stream";
    out.push_back(kind);
  }
  return out;
}

// The default log goes here for as long as it lives.
class CapturedLog {
 public:
  CapturedLog() { LogBackend::Default()->SetSink(log_); }
  ~CapturedLog() { LogBackend::Default()->SetSink(MakeTextSink()); }
  RecordingLog& operator*() { return *log_; }
  RecordingLog* operator->() { return log_.get(); }

 private:
  std::shared_ptr<RecordingLog> log_ = std::make_shared<RecordingLog>();
};

class InformerServerTest : public internal::ServerTest {
 protected:
  void SetUp() override {
    ServerTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    client_.emplace(NewClient(
        {.wrap_transport = [seen = seen_](std::shared_ptr<Transport> next) { return std::make_shared<Requests>(std::move(next), seen); }}));
    Namespace ns;
    ns.metadata.generate_name = "informer-";
    const Result<Namespace> made = client_->Create(Patient(), ns);
    ASSERT_TRUE(made) << made.error().ToString();
    ns_ = made->metadata.name.str();
    auto [ctx, cancel] = Context::Background().WithCancel();
    ctx_.emplace(ctx);
    cancel_.emplace(std::move(cancel));
  }
  void TearDown() override {
    if (client_ && !ns_.empty()) (void)client_->Delete<Namespace>(Patient(), {"", String(ns_)});
  }

  ConfigMap Make(const std::string& name, const std::string& value = "1") const {
    ConfigMap map;
    map.metadata.namespace_ = ns_;
    map.metadata.name = name;
    map.metadata.labels["app"] = value;
    map.data["value"] = value;
    return map;
  }
  ConfigMap Create(const std::string& name, const std::string& value = "1") const {
    Result<ConfigMap> made = client_->Create(Patient(), Make(name, value));
    EXPECT_TRUE(made) << made.error().ToString();
    return made ? *made : ConfigMap();
  }
  // Real servers put one into every namespace.
  static bool Interesting(const meta::v1::ObjectMeta& metadata) { return metadata.name != "kube-root-ca.crt"; }
  std::map<std::string, std::string> OnServer() const {
    std::map<std::string, std::string> out;
    const Result<ObjectList<ConfigMap>> list = client_->List<ConfigMap>(Patient(), {.ns = ns_});
    EXPECT_TRUE(list);
    for (const ConfigMap& map : *list) {
      if (Interesting(map.metadata)) out[ns_ + "/" + map.metadata.name.str()] = map.metadata.resource_version.str();
    }
    return out;
  }
  EventHandler<ConfigMap> Told(Witness<ConfigMap>& witness) const {
    EventHandler<ConfigMap> handler = witness.Handler();
    handler.filter = [](const ConfigMap& map) { return Interesting(map.metadata); };
    return handler;
  }

  std::shared_ptr<Requests::Seen> seen_ = std::make_shared<Requests::Seen>();
  std::optional<Client> client_;
  std::string ns_;
  std::optional<Context> ctx_;
  std::optional<CancelSource> cancel_;
};
INSTANTIATE_SERVERS(InformerServerTest);

// Uses Services, because they have a spec that lasts.
class ServiceVersions : public InformerServerTest {
 protected:
  Service Web(const std::string& name) const {
    Service service;
    service.metadata = {.name = String(name), .namespace_ = String(ns_)};
    service.spec.type = "ClusterIP";
    service.spec.cluster_ip = "None";
    service.spec.selector = {{"app.kubernetes.io/name", "a-name-that-is-long-enough"}};
    service.spec.ports = {{.name = "http-of-the-application", .port = 80}};
    return service;
  }
  void Start(const SharedInformer<Service>& services) {
    const Result<Service> made = client_->Create(Patient(), Web("web"));
    ASSERT_TRUE(made) << made.error().ToString();
    services.Start(*ctx_);
    ASSERT_TRUE(services.WaitForSync(Patient()));
  }
  // The cached object after a merge patch.
  Ptr<Service> Change(const SharedInformer<Service>& services, std::string_view patch) {
    const Result<Service> patched = client_->Patch<Service>(Patient(), {String(ns_), "web"}, Patch::Merge(std::string(patch)));
    if (!patched) {
      ADD_FAILURE() << patched.error().ToString();
      return std::make_shared<Service>();
    }
    EXPECT_TRUE(services.WaitUntilSeen(Patient(), {String(ns_), "web"}, patched->metadata.resource_version));
    Result<Ptr<Service>> cached = services.lister().Get({String(ns_), "web"});
    EXPECT_TRUE(cached && **cached == *patched);
    return cached.value_or(std::make_shared<Service>());
  }
};
INSTANTIATE_SERVERS(ServiceVersions);

TEST_P(ServiceVersions, AnUnchangedSpecIsSharedAndAChangedOneIsNot) {
  InformerFactory informers(*client_);
  const SharedInformer<Service> services = informers.For<Service>({.ns = ns_});
  ASSERT_NO_FATAL_FAILURE(Start(services));
  const Ptr<Service> first = services.lister().Get({String(ns_), "web"}).value_or(nullptr);
  ASSERT_NE(first, nullptr);
  const Ptr<Service> second = Change(services, R"({"metadata":{"annotations":{"a":"1"}}})");
  EXPECT_EQ(first->spec.ports.data(), second->spec.ports.data());
  const Ptr<Service> third = Change(services, R"({"spec":{"ports":[{"name":"another-name-of-that-port","port":80}]}})");
  EXPECT_NE(second->spec.ports.data(), third->spec.ports.data());
  ASSERT_EQ(third->spec.ports.size(), 1U);
  EXPECT_EQ(third->spec.ports[0].name, "another-name-of-that-port");
  const Ptr<Service> fourth = Change(services, R"({"metadata":{"annotations":{"a":"2"}}})");
  EXPECT_EQ(third->spec.ports.data(), fourth->spec.ports.data());
}

// So many that the interner, which keeps what was seen once for a short while only, has forgotten most before their next versions come: it
// alone would share about a fifth.
TEST_P(ServiceVersions, TakeTheirSpecFromTheOneInTheCache) {
  if (std::string(GetParam()) == "oldest") GTEST_SKIP() << "its lists are no streams, and what a list brings is not remembered";
  constexpr int kServices = 200;
  const auto key = [this](int i) { return ObjectKey{String(ns_), String("web-" + std::to_string(i))}; };
  for (int i = 0; i < kServices; ++i) {
    Service service = Web(key(i).name.str());
    service.spec.ports[0].name = "port-of-service-" + std::to_string(i);
    ASSERT_TRUE(client_->Create(Patient(), service));
  }
  InformerFactory informers(*client_);
  const SharedInformer<Service> services = informers.For<Service>({.ns = ns_});
  services.Start(*ctx_);
  ASSERT_TRUE(services.WaitForSync(Patient()));
  int shared = 0;
  for (int i = 0; i < kServices; ++i) {
    const Result<Ptr<Service>> before = services.lister().Get(key(i));
    ASSERT_TRUE(before);
    const Result<Service> patched = client_->Patch<Service>(Patient(), key(i), Patch::Merge(R"({"metadata":{"annotations":{"a":"1"}}})"));
    ASSERT_TRUE(patched) << patched.error().ToString();
    ASSERT_TRUE(services.WaitUntilSeen(Patient(), key(i), patched->metadata.resource_version));
    const Result<Ptr<Service>> after = services.lister().Get(key(i));
    ASSERT_TRUE(after);
    if ((*before)->spec.ports.data() == (*after)->spec.ports.data()) ++shared;
  }
  EXPECT_GE(shared, kServices - 2);  // hashes of 31 bits may be equal
}

// What a transform made of the earlier version is not what the server sent.
TEST_P(ServiceVersions, EachIsTransformedOnce) {
  InformerFactory informers(*client_);
  const SharedInformer<Service> services = informers.For<Service>({.ns = ns_});
  ASSERT_TRUE(services.Transform([](Service& service) -> Result<void> {
    for (core::v1::ServicePort& port : service.spec.ports) port.port += 1;
    return {};
  }));
  ASSERT_NO_FATAL_FAILURE(Start(services));
  for (int i = 0; i < 3; ++i) {
    const Result<Service> patched = client_->Patch<Service>(
        Patient(), {String(ns_), "web"}, Patch::Merge(R"({"metadata":{"annotations":{"a":")" + std::to_string(i) + "\"}}}"));
    ASSERT_TRUE(patched) << patched.error().ToString();
    ASSERT_TRUE(services.WaitUntilSeen(Patient(), {String(ns_), "web"}, patched->metadata.resource_version));
    const Result<Ptr<Service>> cached = services.lister().Get({String(ns_), "web"});
    ASSERT_TRUE(cached);
    EXPECT_EQ((*cached)->spec.ports[0].port, 81);
  }
}

TEST_P(InformerServerTest, KeepsUpWithTheServer) {
  Create("a");
  Create("b");
  InformerFactory informers(*client_);
  const SharedInformer<ConfigMap> maps = informers.For<ConfigMap>({.ns = ns_});
  Witness<ConfigMap> witness;
  const Result<HandlerRegistration> registration = maps.AddEventHandler(Told(witness));
  informers.Start(*ctx_);
  ASSERT_TRUE(informers.WaitForSync(Patient()));
  ConfigMap c = Create("c");
  c.data["value"] = "2";
  const Result<ConfigMap> updated = client_->Update(Patient(), c);
  ASSERT_TRUE(updated);
  // Read your own writes.
  ASSERT_TRUE(maps.WaitUntilSeen(Patient(), KeyOf(*updated), updated->metadata.resource_version));
  const Result<Ptr<ConfigMap>> cached = maps.lister().Namespace(ns_).Get("c");
  ASSERT_TRUE(cached);
  EXPECT_EQ((*cached)->data.Get("value"), "2");
  ASSERT_TRUE(client_->Delete<ConfigMap>(Patient(), {ns_, "a"}));
  const ConfigMap last = Create("last");
  ASSERT_TRUE(maps.WaitUntilSeen(Patient(), KeyOf(last), last.metadata.resource_version));
  EXPECT_TRUE(IsNotFound(maps.lister().Get({ns_, "a"}).error()));
  ASSERT_TRUE(witness.WaitFor("add " + ns_ + "/last@" + last.metadata.resource_version.str()));
  EXPECT_EQ(witness.view(), OnServer());
  EXPECT_THAT(witness.contradictions(), IsEmpty());
}

TEST_P(InformerServerTest, Contract05And06And07_TheFirstListIsAStreamWhereTheServerCan) {
  Create("a");
  InformerFactory informers(*client_);
  const SharedInformer<ConfigMap> maps = informers.For<ConfigMap>({.ns = ns_});
  Witness<ConfigMap> witness;
  const Result<HandlerRegistration> registration = maps.AddEventHandler(Told(witness));
  {
    MutexLock lock(seen_->mu);
    seen_->targets.clear();
  }
  informers.Start(*ctx_);
  ASSERT_TRUE(informers.WaitForSync(Patient()));
  const ConfigMap b = Create("b");
  ASSERT_TRUE(witness.WaitFor("add " + ns_ + "/b@" + b.metadata.resource_version.str()));
  if (std::string(GetParam()) == "oldest") {
    EXPECT_THAT(Kinds(*seen_), ElementsAre("stream", "list", "watch"));
  } else {
    EXPECT_THAT(Kinds(*seen_), ElementsAre("stream"));
  }
}

TEST_P(InformerServerTest, OneWatchHoweverManyAskForIt) {
  Create("a");
  InformerFactory informers(*client_);
  std::vector<SharedInformer<ConfigMap>> same;
  std::vector<HandlerRegistration> registrations;
  for (int i = 0; i < 5; ++i) {
    same.push_back(informers.For<ConfigMap>({.ns = ns_}));
    registrations.push_back(*same.back().AddEventHandler({}));
  }
  const SharedInformer<ConfigMap> other = informers.For<ConfigMap>({.ns = ns_, .label_selector = "app=2"});
  informers.Start(*ctx_);
  informers.Start(*ctx_);
  ASSERT_TRUE(informers.WaitForSync(Patient()));
  EXPECT_EQ(informers.status().size(), 2U);
  EXPECT_EQ(same[0].status().handlers.size(), 5U);
  EXPECT_EQ(other.indexer().size(), 0U);
}

TEST_P(InformerServerTest, DynamicAndMetadataOnlyShowTheSame) {
  const ConfigMap a = Create("a");
  const Gvr gvr{"", "v1", "configmaps"};
  InformerFactory informers(*client_, {.ns = ns_});
  const SharedInformer<DynamicObject> dynamic = informers.For(gvr);
  const SharedInformer<PartialObjectMetadata> light = informers.ForMetadata<ConfigMap>();
  informers.Start(*ctx_);
  ASSERT_TRUE(informers.WaitForSync(Patient()));
  const Ptr<DynamicObject> object = dynamic.indexer().Get({ns_, "a"});
  ASSERT_NE(object, nullptr);
  EXPECT_EQ(object->NestedString({"data", "value"}), String("1"));
  EXPECT_EQ(object->resource_version(), a.metadata.resource_version);
  const Ptr<PartialObjectMetadata> metadata = light.indexer().Get({ns_, "a"});
  ASSERT_NE(metadata, nullptr);
  EXPECT_EQ(metadata->metadata.uid, a.metadata.uid);
  EXPECT_EQ(metadata->metadata.labels.Get("app"), "1");
  const ConfigMap b = Create("b");
  EXPECT_TRUE(dynamic.WaitUntilSeen(Patient(), KeyOf(b), b.metadata.resource_version));
  EXPECT_TRUE(light.WaitUntilSeen(Patient(), KeyOf(b), b.metadata.resource_version));
  EXPECT_NE(dynamic.indexer().Get({ns_, "b"}), nullptr);
  EXPECT_NE(light.indexer().Get({ns_, "b"}), nullptr);
}

TEST_P(InformerServerTest, FieldsThatAreNotWantedAreNotHeld) {
  Create("a");
  InformerFactory informers(*client_, {.ns = ns_, .strip_managed_fields = true});
  const SharedInformer<ConfigMap> maps = informers.For<ConfigMap>();
  InformerOptions whole = informers.defaults();
  whole.strip_managed_fields = false;
  const SharedInformer<ConfigMap> all = informers.For<ConfigMap>(whole);
  InformerOptions few = informers.defaults();
  few.fields = FieldSelection::Without({"data"}).value();
  const SharedInformer<ConfigMap> names = informers.For<ConfigMap>(few);
  informers.Start(*ctx_);
  ASSERT_TRUE(informers.WaitForSync(Patient()));
  EXPECT_THAT(maps.indexer().Get({ns_, "a"})->metadata.managed_fields, IsEmpty());
  EXPECT_EQ(maps.indexer().Get({ns_, "a"})->data.Get("value"), "1");
  EXPECT_FALSE(all.indexer().Get({ns_, "a"})->metadata.managed_fields.empty());
  EXPECT_TRUE(names.indexer().Get({ns_, "a"})->data.empty());
  EXPECT_THAT(names.indexer().Get({ns_, "a"})->metadata.managed_fields, IsEmpty());
}

TEST_P(InformerServerTest, ListsInPagesWhereStreamsAreOff) {
  for (int i = 0; i < 20; ++i) Create("m" + std::to_string(i));
  InformerFactory informers(*client_, {.ns = ns_, .watch_list = false});
  const SharedInformer<ConfigMap> maps = informers.For<ConfigMap>();
  {
    MutexLock lock(seen_->mu);
    seen_->targets.clear();
  }
  informers.Start(*ctx_);
  ASSERT_TRUE(informers.WaitForSync(Patient()));
  const ConfigMap last = Create("last");
  ASSERT_TRUE(maps.WaitUntilSeen(Patient(), KeyOf(last), last.metadata.resource_version));
  EXPECT_THAT(Kinds(*seen_), ElementsAre("list", "watch"));
  std::map<std::string, std::string> cached;
  for (const Ptr<ConfigMap>& map : maps.indexer().List()) {
    if (Interesting(map->metadata)) cached[KeyOf(*map).ToString()] = map->metadata.resource_version.str();
  }
  EXPECT_EQ(cached, OnServer());
}

TEST_P(InformerServerTest, AKindThatIsNotThereYetIsNamedOnceAndComesByItself) {
  CapturedLog log;
  const std::string group = ns_ + ".k8s.example";
  const Gvr gvr{group, "v1", "networks"};
  InformerFactory informers(*client_);
  const SharedInformer<DynamicObject> networks = informers.For(gvr);
  informers.Start(*ctx_);
  ASSERT_TRUE(log->WaitFor("networks." + group + ": the server could not find the requested resource")) << log->text();
  EXPECT_FALSE(networks.HasSynced());
  EXPECT_THAT(networks.status().ToString(), HasSubstr("could not find the requested resource"));
  const std::string crd = R"(
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: networks.GROUP}
spec:
  group: GROUP
  names: {kind: Network, plural: networks, singular: network}
  scope: Namespaced
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
)";
  std::string text = crd;
  for (std::size_t at = 0; (at = text.find("GROUP")) != std::string::npos;) text.replace(at, 5, group);
  const Gvr crds{"apiextensions.k8s.io", "v1", "customresourcedefinitions"};
  ASSERT_TRUE(client_->Resource(crds).Create(Patient(), DynamicObject::Parse(text).value()));
  const Result<void> synced = informers.WaitForSync(Patient());
  EXPECT_TRUE(synced) << synced.error().ToString();
  // As soon as a list has worked it counts.
  EXPECT_LE(log->Count("could not find the requested resource"), 1U) << log->text();
  ASSERT_TRUE(client_->Resource(crds).Delete(Patient(), {"", String("networks." + group)}));
}

TEST_P(InformerServerTest, APermissionThatIsMissingIsNamedAndComesByItself) {
  if (std::string(GetParam()) == "embedded") GTEST_SKIP() << "the embedded server does not evaluate RBAC";
  CapturedLog log;
  ClientConfig config = Config();
  config.impersonate.user = "stranger-" + ns_;
  const Client stranger = Client::FromConfig(config).value();
  InformerFactory informers(stranger, {.ns = ns_});
  const SharedInformer<ConfigMap> maps = informers.For<ConfigMap>();
  informers.Start(*ctx_);
  ASSERT_TRUE(log->WaitFor("configmaps: forbidden: User")) << log->text();
  rbac::v1::Role role;
  role.metadata.namespace_ = ns_;
  role.metadata.name = "reader";
  role.rules.push_back({.verbs = {"list", "watch"}, .api_groups = {""}, .resources = {"configmaps"}});
  ASSERT_TRUE(client_->Create(Patient(), role));
  rbac::v1::RoleBinding binding;
  binding.metadata = role.metadata;
  binding.role_ref = {.api_group = "rbac.authorization.k8s.io", .kind = "Role", .name = "reader"};
  binding.subjects.push_back({.kind = "User", .api_group = "rbac.authorization.k8s.io", .name = String("stranger-" + ns_)});
  ASSERT_TRUE(client_->Create(Patient(), binding));
  const Result<void> synced = informers.WaitForSync(Patient());
  EXPECT_TRUE(synced) << synced.error().ToString();
}

TEST_P(InformerServerTest, TheWatchEndsWithTheLastUser) {
  InformerFactory informers(*client_, {.ns = ns_});
  {
    const SharedInformer<ConfigMap> maps = informers.For<ConfigMap>();
    informers.Start(*ctx_);
    ASSERT_TRUE(informers.WaitForSync(Patient()));
    EXPECT_EQ(informers.status().size(), 1U);
  }
  EXPECT_THAT(informers.status(), IsEmpty());
  // The I/O thread is notified; the call does not wait for it.
  const Context patience = Patient();
  while (client_->transport_stats().in_flight > 0 && patience.SleepFor(std::chrono::milliseconds(1))) {
  }
  EXPECT_EQ(client_->transport_stats().in_flight, 0U);
  // And can be had again.
  const SharedInformer<ConfigMap> again = informers.For<ConfigMap>();
  informers.Start(*ctx_);
  ASSERT_TRUE(informers.WaitForSync(Patient()));
  informers.Shutdown();
  const Result<HandlerRegistration> late = informers.For<ConfigMap>().AddEventHandler({});
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().kind(), ErrorKind::kClosed);
}

}  // namespace
}  // namespace kube
