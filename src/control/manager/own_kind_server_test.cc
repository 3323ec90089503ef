// Managers that install a definition, convert between its versions and watch its objects, on servers: from a first start by restarts to a
// new version. What API servers serve at every moment is read from a watch of the definition.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "client/server_test_util.h"
#include "control/manager/manager_test_util.h"
#include "control/manager/tcp_proxy_test_util.h"
#include "kube/api/core/v1.h"
#include "kube/codec/json.h"
#include "kube/control/crds.h"
#include "kube/control/manager.h"
#include "kube/control/storage_migration.h"
#include "kube/testing/webhooks.h"
#include "webhook/conversion_test_types.h"

namespace kube::internal {
namespace {

using core::v1::Namespace;
using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::HasSubstr;
namespace v1 = nets::v1;
namespace v2 = nets::v2;

const Gvr kDefinitions{"apiextensions.k8s.io", "v1", "customresourcedefinitions"};
const ObjectKey kName{"", "networks.nets.example.com"};

// Each version has a schema of its own, so that objects lose fields if they are not converted.
Value Version(const std::string& name, bool storage) {
  const std::string properties = name == "v1"   ? R"("cidr":{"type":"string"},"mode":{"type":"string"})"
                                 : name == "v2" ? R"("cidrs":{"type":"array","items":{"type":"string"}},"mode":{"type":"integer"})"
                                                : R"("other":{"type":"string"})";
  return ParseJson(R"({"name":")" + name + R"(","served":true,"storage":)" + (storage ? "true" : "false") +
                   R"(,"schema":{"openAPIV3Schema":{"type":"object","properties":{"spec":{"type":"object","properties":{)" + properties +
                   R"(,"gateway":{"type":"string"}}}}}}})")
      .value();
}

// The last version is the stored one.
DynamicObject Definition(const std::vector<std::string>& versions) {
  DynamicObject crd = FromJson<DynamicObject>(R"({"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition",
      "metadata":{"name":"networks.nets.example.com"},"spec":{"group":"nets.example.com","scope":"Namespaced",
      "names":{"kind":"Network","listKind":"NetworkList","plural":"networks","singular":"network"}}})")
                          .value();
  for (const std::string& version : versions) crd["spec"]["versions"].MutableList().push_back(Version(version, version == versions.back()));
  return crd;
}

bool Has(const DynamicObject& crd, const std::string& version) {
  const List<Value>& versions = crd["spec"]["versions"].list();
  return std::any_of(versions.begin(), versions.end(), [&](const Value& v) { return v["name"].string_value() == version; });
}
bool Converts(const DynamicObject& crd) {
  const Value& conversion = crd["spec"]["conversion"];
  return conversion["strategy"].string_value() == "Webhook" && !conversion["webhook"]["clientConfig"]["caBundle"].string_value().empty();
}

class OwnKindTest : public ServerTest {
 protected:
  void SetUp() override {
    ServerTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    static int count = 0;
    ns_ = "own-" + std::string(GetParam()) + "-" + std::to_string(++count);
    admin_ = std::make_unique<Client>(NewClient());
    Namespace ns;
    ns.metadata.name = ns_;
    ASSERT_TRUE(admin_->Create(Patience(), ns));
  }
  // Without a program the server could convert nothing, and would not get rid of the objects.
  void TearDown() override {
    if (!admin_) return;
    const auto crds = admin_->Resource(kDefinitions);
    (void)crds.Patch(Patience(), kName,
                     Patch::Json(std::string(R"([{"op":"replace","path":"/spec/conversion","value":{"strategy":"None"}}])")));
    (void)crds.Delete(Patience(), kName);
    EXPECT_TRUE(Eventually([&] {
      const Result<DynamicObject> left = crds.Get(Patience(), kName);
      return !left && IsNotFound(left.error());
    }));
  }

  ManagerOptions Options() const {
    return {.health_probe_bind_address = "127.0.0.1:0",
            .preflight = Preflight::kSkip,
            .webhooks = {.name = ns_,
                         .ns = ns_,
                         .url = proxy_.url(),
                         .bind_address = "127.0.0.1",
                         .port = 0,
                         .shutdown_delay = seconds(0),
                         .times = {.ready_wait = milliseconds(100), .repair_delay = milliseconds(100)}}};
  }
  static ManagedCrds Managed(const std::vector<std::string>& versions) { return {.crds = {{.crd = Definition(versions)}}}; }

  // A program with the kind in both versions, which reconciles it in v1: a list needs conversions, because v2 is stored.
  struct Program {
    Program(const Client& client, const ManagerOptions& options, const std::vector<std::string>& versions) : manager(client, options) {
      EXPECT_TRUE(manager.Add(Managed(versions)));
      EXPECT_TRUE(manager.Add(nets::NetworkConversion()));
      EXPECT_TRUE(manager.Add(ControllerFor<v1::Network>("networks").Reconcile([this](const Context&, const Request&) -> Result<Action> {
        ++runs;
        return Action::Done();
      })));
      running.emplace(manager);
    }
    bool Ready() const {
      return manager.health_port() != 0 && AskServer(PlainTo(manager.health_port()), "GET", "/readyz").starts_with("200");
    }
    std::string Why() const {
      return manager.health_port() == 0 ? "not started" : AskServer(PlainTo(manager.health_port()), "GET", "/readyz?verbose");
    }

    std::atomic<int> runs = 0;
    Manager manager;
    std::optional<RunningManager> running;
  };
  std::unique_ptr<Program> Start(const std::vector<std::string>& versions = {"v1", "v2"}) const {
    return std::make_unique<Program>(NewClient(), Options(), versions);
  }
  // Does what a Service does: calls go to the program if it is ready. Until `condition` holds.
  template <typename Condition>
  bool Serve(const Program& program, Condition condition) {
    return Eventually([&] {
      std::vector<std::uint16_t> backends;
      if (program.Ready() && program.manager.webhook_port() != 0) backends.push_back(program.manager.webhook_port());
      proxy_.SetBackends(backends);
      return condition();
    });
  }
  void StopServing(Program& program) {
    proxy_.SetBackends({});
    EXPECT_TRUE(program.running->Stop());
  }

  // States of the definition, from when this is made.
  Watcher<DynamicObject> WatchDefinition() const {
    const auto crds = admin_->Resource(kDefinitions);
    const auto list = crds.List(Patience(), {.limit = 1}).value();
    return crds
        .Watch(Patience(),
               {.field_selector = "metadata.name=" + kName.name.str(), .resource_version = list.metadata.resource_version.str()})
        .value();
  }
  // Those until now.
  std::vector<DynamicObject> States(Watcher<DynamicObject>& watcher) const {
    const String last = Live().resource_version();
    std::vector<DynamicObject> out;
    while (out.empty() || out.back().resource_version() != last) {
      auto event = watcher.Next(Patience());
      EXPECT_TRUE(event) << event.error().ToString();
      if (!event || !event->has_value()) break;
      if ((*event)->type != WatchEventType::kBookmark) out.push_back((*event)->object);
    }
    return out;
  }
  DynamicObject Live() const { return admin_->Resource(kDefinitions).Get(Patience(), kName).value(); }

  Result<v1::Network> CreateV1(const std::string& name) const {
    v1::Network network;
    network.metadata = {.name = String(name), .namespace_ = String(ns_)};
    network.spec.cidr = "10.0.0.0/8";
    network.spec.mode = "slow";
    return admin_->Create(Patience(), network);
  }
  std::string CidrsInV2(const std::string& name) const {
    const Result<v2::Network> found = admin_->Get<v2::Network>(Patience(), {String(ns_), String(name)});
    if (!found) return found.error().ToString();
    return std::string(found->spec.cidrs.size() == 1 ? found->spec.cidrs[0].view() : "not one");
  }

  std::string ns_;
  std::unique_ptr<Client> admin_;
  TcpProxy proxy_;
};

TEST_P(OwnKindTest, AFirstStartNeverServesTheKindWithoutItsConversion) {
  Watcher<DynamicObject> watcher = WatchDefinition();
  const auto program = Start();
  ASSERT_TRUE(Serve(*program, [&] { return CreateV1("a").ok(); })) << program->Why();
  EXPECT_EQ(CidrsInV2("a"), "10.0.0.0/8");
  EXPECT_TRUE(Serve(*program, [&] { return program->runs > 0 && program->Ready(); })) << program->Why();
  for (const DynamicObject& state : States(watcher)) EXPECT_TRUE(Converts(state)) << ToJson(state.value());
  StopServing(*program);
}

// The caches need conversions, conversions need a Service with a ready replica, and there is none but this one.
TEST_P(OwnKindTest, TheOnlyReplicaRestartsAndReadsItsObjects) {
  {
    const auto first = Start();
    ASSERT_TRUE(Serve(*first, [&] { return CreateV1("a").ok(); })) << first->Why();
    StopServing(*first);
  }
  EXPECT_FALSE(admin_->Get<v1::Network>(Patience(), {String(ns_), "a"})) << "it is stored as v2, and nothing converts it";
  const std::string before = ToJson(Live()["spec"]["conversion"]);
  Watcher<DynamicObject> watcher = WatchDefinition();
  const auto second = Start();
  EXPECT_TRUE(Serve(*second, [&] { return second->runs > 0; })) << second->Why();
  EXPECT_TRUE(Serve(*second, [&] { return second->Ready(); })) << second->Why();
  EXPECT_EQ(ToJson(Live()["spec"]["conversion"]), before);
  // Whatever changes it next shows that nothing was taken out of it meanwhile.
  ASSERT_TRUE(admin_->Resource(kDefinitions).Patch(Patience(), kName, Patch::Merge(R"({"metadata":{"labels":{"a":"b"}}})")));
  for (const DynamicObject& state : States(watcher)) EXPECT_TRUE(Converts(state)) << ToJson(state.value());
  StopServing(*second);
}

TEST_P(OwnKindTest, AProgramWithANewVersionConvertsWhatIsStored) {
  {
    Manager old(NewClient(), Options());
    ASSERT_TRUE(old.Add(Managed({"v1"})));
    RunningManager running(old);
    ASSERT_TRUE(Eventually([&] { return CreateV1("a").ok(); }));
    ASSERT_TRUE(CreateV1("b"));
    EXPECT_TRUE(running.Stop());
  }
  Watcher<DynamicObject> watcher = WatchDefinition();
  const auto program = Start();
  EXPECT_TRUE(Serve(*program, [&] { return CidrsInV2("a") == "10.0.0.0/8"; })) << program->Why() << CidrsInV2("a");
  ASSERT_TRUE(Serve(*program, [&] { return CreateV1("c").ok(); }));
  EXPECT_TRUE(Serve(*program, [&] { return program->runs > 0 && program->Ready(); })) << program->Why();
  int both = 0;
  for (const DynamicObject& state : States(watcher)) {
    if (!Has(state, "v2")) continue;
    ++both;
    EXPECT_TRUE(Converts(state)) << ToJson(state.value());
  }
  EXPECT_GT(both, 0);
  const Result<StorageMigration> migrated = MigrateStorage(Patience(), *admin_, kName.name.str(), {.qps = 0});
  ASSERT_TRUE(migrated) << migrated.error().ToString();
  EXPECT_TRUE(migrated->trimmed) << migrated->not_trimmed_because;
  EXPECT_EQ(Live()["status"]["storedVersions"], Value::Array({Value("v2")}));
  for (const char* name : {"a", "b", "c"}) {
    EXPECT_EQ(CidrsInV2(name), "10.0.0.0/8");
    const Result<v1::Network> back = admin_->Get<v1::Network>(Patience(), {String(ns_), name});
    ASSERT_TRUE(back) << back.error().ToString();
    EXPECT_EQ(back->spec.mode, "slow");
  }
  StopServing(*program);
}

TEST_P(OwnKindTest, AConversionThatIsTakenOutReturns) {
  const auto program = Start();
  ASSERT_TRUE(Serve(*program, [&] { return CreateV1("a").ok(); })) << program->Why();
  ASSERT_TRUE(admin_->Resource(kDefinitions)
                  .Patch(Patience(), kName,
                         Patch::Json(std::string(R"([{"op":"replace","path":"/spec/conversion","value":{"strategy":"None"}}])"))));
  EXPECT_TRUE(Eventually([&] { return Converts(Live()); })) << "also without --webhook-install";
  StopServing(*program);
}

// ---- A version without functions ----

TEST_P(OwnKindTest, AVersionThatIsNotConvertedFailsAtStart) {
  {
    Manager manager(NewClient(), Options());
    ASSERT_TRUE(manager.Add(Managed({"v1", "v3", "v2"})));
    ASSERT_TRUE(manager.Add(nets::NetworkConversion()));
    const Result<void> ran = manager.Run(Patience());
    ASSERT_FALSE(ran);
    EXPECT_THAT(ran.error().ToString(), HasSubstr("the program does not convert version v3: add a Spoke for it"));
    EXPECT_FALSE(admin_->Resource(kDefinitions).Get(Patience(), kName));
  }
  {
    Manager manager(NewClient(), Options());
    ASSERT_TRUE(manager.Add(Managed({"v2", "v1"})));
    ASSERT_TRUE(manager.Add(nets::NetworkConversion()));
    EXPECT_THAT(manager.Run(Patience()).error().ToString(), HasSubstr("v1 is stored, and the conversion expects v2"));
  }
  // The same for an existing definition.
  ASSERT_TRUE(InstallCrds(Patience(), *admin_, {{.crd = Definition({"v1", "v3", "v2"})}}));
  Manager manager(NewClient(), Options());
  ASSERT_TRUE(manager.Add(nets::NetworkConversion()));
  const Result<void> ran = manager.Run(Patience());
  ASSERT_FALSE(ran);
  EXPECT_THAT(ran.error().ToString(), AllOf(HasSubstr("networks.nets.example.com"), HasSubstr("does not convert version v3")));
}

TEST_P(OwnKindTest, AVersionThatIsAddedLaterIsReported) {
  ASSERT_TRUE(InstallCrds(Patience(), *admin_, {{.crd = Definition({"v1", "v2"})}}));
  Manager manager(NewClient(), Options());
  ASSERT_TRUE(manager.Add(nets::NetworkConversion()));
  RunningManager running(manager);
  const auto report = [&] {
    const Value all = ParseJson(manager.DebugJson()).value();
    return ToJson(all["webhooks"]);
  };
  ASSERT_TRUE(Eventually([&] { return report().find("\"ready\":true") != std::string_view::npos; })) << report();
  ASSERT_TRUE(InstallCrds(Patience(), *admin_, {{.crd = Definition({"v1", "v3", "v2"})}}));
  EXPECT_TRUE(Eventually([&] { return report().find("does not convert version v3") != std::string_view::npos; })) << report();
  EXPECT_TRUE(running.Stop());
}

// ---- testing::InstallWebhooks ----

TEST_P(OwnKindTest, ATestInstallsAConversionWithoutAManager) {
  const auto install = [&] {
    return testing::InstallWebhooks(Patience(), *admin_, {}, {.name = ns_, .conversions = {nets::NetworkConversion()}});
  };
  const auto without = install();
  ASSERT_FALSE(without);
  EXPECT_TRUE(IsNotFound(without.error())) << "the definition is the test's";
  ASSERT_TRUE(InstallCrds(Patience(), *admin_, {{.crd = Definition({"v1", "v2"})}}));
  const Value before = Live()["spec"];
  {
    const auto installed = install();
    ASSERT_TRUE(installed) << installed.error().ToString();
    ASSERT_TRUE(CreateV1("a"));
    EXPECT_EQ(CidrsInV2("a"), "10.0.0.0/8") << "at once, without waiting";
    EXPECT_EQ(Live()["spec"]["versions"], before["versions"]);
  }
  EXPECT_EQ(ToJson(Live()["spec"]), ToJson(before));
  ASSERT_TRUE(InstallCrds(Patience(), *admin_, {{.crd = Definition({"v1", "v3", "v2"})}}));
  EXPECT_THAT(install().error().ToString(), HasSubstr("does not convert version v3"));
}

INSTANTIATE_SERVERS(OwnKindTest);

}  // namespace
}  // namespace kube::internal
