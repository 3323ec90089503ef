#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "codec/base64.h"
#include "control/crds/crd_test_util.h"
#include "control/manager/manager_crds.h"
#include "control/manager/manager_test_util.h"
#include "kube/base/fake_clock.h"
#include "kube/control/crds.h"
#include "kube/control/manager.h"
#include "kube/serve/certificate.h"
#include "testing/temporary_directory.h"

namespace kube::internal {
namespace {

using std::chrono::milliseconds;
using ::testing::AllOf;
using ::testing::HasSubstr;

const Gvr kDefinitions{"apiextensions.k8s.io", "v1", "customresourcedefinitions"};
const Gvr kWidgets{"a.com", "v1", "widgets"};

std::string NewBundle() {
  std::string out;
  AppendBase64(serve::CertificateAuthority::Create("kubexx test CA").value().certificate_pem(), out);
  return out;
}

LeaderElectionOptions Quick(const std::string& identity) {
  return {.name = "widgets",
          .ns = "default",
          .identity = identity,
          .lease_duration = std::chrono::seconds(60),
          .renew_deadline = std::chrono::seconds(40),
          .retry_period = milliseconds(50)};
}

class ManagerCrdsTest : public ManagerServerTest {
 protected:
  // Counts the widgets that are reconciled.
  ControllerSpec Counter() {
    return ControllerFor("widgets", {.gvr = kWidgets, .kind = "Widget"})
        .Reconcile([this](const Context&, const Request&) -> Result<Action> {
          ++runs_;
          return Action::Done();
        });
  }
  void MakeWidget(const std::string& name) const {
    const auto made = client_->Resource(kWidgets).Create(Patience(), DynamicObject({"a.com", "v1", "Widget"}, {"default", String(name)}));
    ASSERT_TRUE(made) << made.error().ToString();
  }
  bool Installed() const { return client_->Resource(kDefinitions).Get(Patience(), {"", "widgets.a.com"}).ok(); }
  bool IsStoredInV2Only() const {
    const DynamicObject crd = client_->Resource(kDefinitions).Get(Patience(), {"", "widgets.a.com"}).value();
    return crd["status"]["storedVersions"] == Value::Array({Value("v2")});
  }
  static ManagedCrds Crds() { return {.crds = Sources(WidgetsYaml("a.com", VersionYaml("v1", true)))}; }
  static std::string Ready(const Manager& manager) {
    return manager.health_port() == 0 ? "" : AskServer(PlainTo(manager.health_port()), "GET", "/readyz");
  }

  std::atomic<int> runs_ = 0;
};

TEST_F(ManagerCrdsTest, InstallsThemBeforeControllersStart) {
  Manager manager(NewClient(), {.health_probe_bind_address = "127.0.0.1:0"});
  ASSERT_TRUE(manager.Add(Crds()));
  ASSERT_TRUE(manager.Add(Counter()));
  RunningManager running(manager);
  ASSERT_TRUE(Eventually([&] { return Ready(manager) == "200 ok"; }));
  EXPECT_TRUE(Installed());
  MakeWidget("a");
  EXPECT_TRUE(Eventually([&] { return runs_ == 1; }));
  EXPECT_TRUE(running.Stop());
}

TEST_F(ManagerCrdsTest, MigratesTheStorage) {
  ASSERT_TRUE(InstallCrds(Patience(), *client_, Sources(WidgetsYaml("a.com", VersionYaml("v1", true) + VersionYaml("v2", false)))));
  MakeWidget("a");
  Manager manager(NewClient());
  ASSERT_TRUE(manager.Add(ManagedCrds{.crds = Sources(WidgetsYaml("a.com", VersionYaml("v1", false) + VersionYaml("v2", true))),
                                      .migrate_storage = true,
                                      .migration_delay = milliseconds(0)}));
  ASSERT_TRUE(manager.Add(Counter()));
  RunningManager running(manager);
  EXPECT_TRUE(Eventually([&] { return IsStoredInV2Only(); }));
  EXPECT_TRUE(running.Stop());
}

TEST_F(ManagerCrdsTest, MigratesTheStorageOnceTheDefinitionIsAMinuteOld) {
  const std::vector<CrdSource> next = Sources(WidgetsYaml("a.com", VersionYaml("v1", false) + VersionYaml("v2", true)));
  ASSERT_TRUE(InstallCrds(Patience(), *client_, Sources(WidgetsYaml("a.com", VersionYaml("v1", true) + VersionYaml("v2", false)))));
  ASSERT_TRUE(InstallCrds(Patience(), *client_, next));
  ManagerCrds crds(*client_);
  ASSERT_TRUE(crds.Add({.crds = next, .migrate_storage = true}));

  const auto clock = std::make_shared<FakeClock>();
  const auto start = clock->Now();
  std::atomic<bool> over = false;
  Thread runner("runner", [&] {
    crds.Migrate(Context::Background(clock));
    over = true;
  });
  while (!over) {
    if (clock->WaitForWaiters(1, milliseconds(20))) clock->Advance(std::chrono::seconds(5));
  }
  runner.Join();
  EXPECT_TRUE(IsStoredInV2Only());
  EXPECT_GE(clock->Now() - start, std::chrono::minutes(1));

  // Nothing to do: no delay.
  crds.Migrate(Patience());
}

TEST_F(ManagerCrdsTest, EndsWhileItWaitsToMigrate) {
  const std::vector<CrdSource> next = Sources(WidgetsYaml("a.com", VersionYaml("v1", false) + VersionYaml("v2", true)));
  ASSERT_TRUE(InstallCrds(Patience(), *client_, Sources(WidgetsYaml("a.com", VersionYaml("v1", true) + VersionYaml("v2", false)))));
  ASSERT_TRUE(InstallCrds(Patience(), *client_, next));
  ManagerCrds crds(*client_);
  ASSERT_TRUE(crds.Add({.crds = next, .migrate_storage = true, .migration_delay = std::chrono::hours(1)}));
  crds.Migrate(Context::Background().WithTimeout(milliseconds(300)));
  EXPECT_FALSE(IsStoredInV2Only());
}

// Only a bundle that another field manager owns is kept.
TEST_F(ManagerCrdsTest, RotatesTheBundleOfTheManifest) {
  const std::string a = NewBundle(), b = NewBundle();
  const auto install = [&](const std::string& bundle) {
    const std::string conversion =
        "  conversion: {strategy: Webhook, webhook: {conversionReviewVersions: [v1], clientConfig: {url: 'https://localhost:1/convert'" +
        (bundle.empty() ? "" : ", caBundle: " + bundle) + "}}}\n";
    const auto done = InstallCrds(Patience(), *client_, Sources(WidgetsYaml("a.com", VersionYaml("v1", true), conversion)));
    EXPECT_TRUE(done) << done.error().ToString();
  };
  const auto bundle = [&] {
    const DynamicObject crd = client_->Resource(kDefinitions).Get(Patience(), {"", "widgets.a.com"}).value();
    return crd["spec"]["conversion"]["webhook"]["clientConfig"]["caBundle"].string_value().str();
  };
  install(a);
  EXPECT_EQ(bundle(), a);
  install(b);
  EXPECT_EQ(bundle(), b);
  install("");
  EXPECT_EQ(bundle(), b);
  install(a);
  EXPECT_EQ(bundle(), a);
  const std::string patch = R"([{"op":"replace","path":"/spec/conversion/webhook/clientConfig/caBundle","value":")" + b + R"("}])";
  ASSERT_TRUE(client_->Resource(kDefinitions).Patch(Patience(), {"", "widgets.a.com"}, Patch::Json(patch), {.field_manager = "injector"}));
  for (const std::string& manifest : {a, std::string(), a}) {
    install(manifest);
    EXPECT_EQ(bundle(), b);
  }
}

// Before that, objects would be read as they are stored.
TEST_F(ManagerCrdsTest, WaitsForTheConversionOfTheManifest) {
  const std::string versions = VersionYaml("v1", true) + VersionYaml("v2", false);
  const std::vector<CrdSource> converted = Sources(WidgetsYaml("a.com", versions,
                                                               "  conversion: {strategy: Webhook, webhook: {conversionReviewVersions: "
                                                               "[v1], clientConfig: {url: 'https://localhost:1/convert'}}}\n"));
  ASSERT_TRUE(InstallCrds(Patience(), *client_, Sources(WidgetsYaml("a.com", versions))));
  EXPECT_FALSE(WaitForCrds(Context::Background().WithTimeout(milliseconds(200)), *client_, converted));
  ASSERT_TRUE(InstallCrds(Patience(), *client_, converted));
  EXPECT_TRUE(WaitForCrds(Patience(), *client_, converted));
}

// It did not exist when it was read, and does when it is written.
TEST_F(ManagerCrdsTest, ChecksADefinitionThatAnotherClientCreatedMeanwhile) {
  const std::string other = "{type: object, properties: {spec: {type: object, properties: {b: {type: string}}}}}";
  ASSERT_TRUE(InstallCrds(Patience(), *client_, Sources(WidgetsYaml("a.com", VersionYaml("v1", true, other)))));
  server_->AddFault({.verb = "get", .resource = "customresourcedefinitions", .status = 404, .reason = "NotFound"});
  const auto done = InstallCrds(Patience(), *client_, Crds().crds);
  ASSERT_FALSE(done);
  EXPECT_THAT(done.error().ToString(), HasSubstr("v1 .spec.b: removed"));
}

TEST(CrdSourceTest, ALoopOfSymbolicLinksIsAnError) {
  const auto dir = testing::internal::TemporaryDirectory::Create("kubexx-crds").value();
  std::filesystem::create_symlink("loop.yaml", dir->path() + "/loop.yaml");
  for (const std::string& path : {dir->path(), dir->path() + "/loop.yaml"}) {
    const auto crds = ReadCrds({path});
    ASSERT_FALSE(crds);
    EXPECT_EQ(crds.error().kind(), ErrorKind::kConfig);
    EXPECT_THAT(crds.error().ToString(), HasSubstr("/loop.yaml: cannot be read"));
  }
}

TEST_F(ManagerCrdsTest, AChangeThatBreaksEndsTheManager) {
  const std::string other = "{type: object, properties: {spec: {type: object, properties: {b: {type: string}}}}}";
  ASSERT_TRUE(InstallCrds(Patience(), *client_, Sources(WidgetsYaml("a.com", VersionYaml("v1", true, other)))));
  Manager manager(NewClient());
  ASSERT_TRUE(manager.Add(Crds()));
  ASSERT_TRUE(manager.Add(Counter()));
  const Result<void> ran = manager.Run(Context::Background());
  ASSERT_FALSE(ran);
  EXPECT_THAT(ran.error().ToString(),
              AllOf(HasSubstr("CRDs"), HasSubstr("v1 .spec.b: removed: its values are pruned [breaks stored objects]")));
  EXPECT_EQ(runs_, 0);
}

TEST_F(ManagerCrdsTest, WithoutPermissionItGoesOnWithWhatIsThere) {
  ASSERT_TRUE(InstallCrds(Patience(), *client_, Crds().crds));
  for (const char* verb : {"get", "list", "watch", "patch"}) {
    server_->AddFault({.verb = verb, .resource = "customresourcedefinitions", .status = 403, .reason = "Forbidden", .times = -1});
  }
  Manager manager(NewClient());
  ASSERT_TRUE(manager.Add(Crds()));
  ASSERT_TRUE(manager.Add(Counter()));
  RunningManager running(manager);
  MakeWidget("a");
  EXPECT_TRUE(Eventually([&] { return runs_ == 1; }));
  EXPECT_TRUE(running.Stop());
}

TEST_F(ManagerCrdsTest, WithoutPermissionAndDefinitionsItSaysWhatIsMissing) {
  server_->AddFault({.verb = "patch", .resource = "customresourcedefinitions", .status = 403, .reason = "Forbidden", .times = -1});
  Manager manager(NewClient());
  ASSERT_TRUE(manager.Add(Crds()));
  const Result<void> ran = manager.Run(Context::Background());
  ASSERT_FALSE(ran);
  EXPECT_THAT(ran.error().ToString(),
              AllOf(HasSubstr("CRDs are missing (widgets.a.com/v1) and this program may not install them"), HasSubstr("resourceNames")));
}

// As in a rolling update: the old leader ends only once the new replica is ready, and the new one installs only once it leads.
TEST_F(ManagerCrdsTest, AReplicaThatDoesNotLeadIsReadyAndWaits) {
  Manager old(NewClient(), {.leader_election = Quick("old")});
  RunningManager running_old(old);
  ASSERT_TRUE(Eventually([&] { return old.is_leader(); }));
  Manager next(NewClient(), {.leader_election = Quick("next"), .health_probe_bind_address = "127.0.0.1:0"});
  ASSERT_TRUE(next.Add(Crds()));
  ASSERT_TRUE(next.Add(Counter()));
  RunningManager running_next(next);
  ASSERT_TRUE(Eventually([&] { return Ready(next) == "200 ok"; }));
  EXPECT_FALSE(Installed());
  EXPECT_TRUE(running_old.Stop());
  ASSERT_TRUE(Eventually([&] { return Installed() && next.is_leader(); }));
  ASSERT_TRUE(Eventually([&] { return FindUnservedCrds(Patience(), *client_, Crds().crds)->empty(); }));
  MakeWidget("a");
  EXPECT_TRUE(Eventually([&] { return runs_ == 1; }));
  EXPECT_TRUE(running_next.Stop());
}

TEST_F(ManagerCrdsTest, EndsWhileItWaitsForThem) {
  Manager old(NewClient(), {.leader_election = Quick("old")});
  RunningManager running_old(old);
  ASSERT_TRUE(Eventually([&] { return old.is_leader(); }));
  Manager next(NewClient(), {.leader_election = Quick("next"), .health_probe_bind_address = "127.0.0.1:0"});
  ASSERT_TRUE(next.Add(Crds()));
  ASSERT_TRUE(next.Add(Counter()));
  RunningManager running_next(next);
  ASSERT_TRUE(Eventually([&] { return next.health_port() != 0; }));
  const Result<void> ended = running_next.Stop();
  EXPECT_TRUE(ended) << ended.error().ToString();
  EXPECT_TRUE(running_old.Stop());
}

TEST_F(ManagerCrdsTest, Misuse) {
  Manager manager(NewClient());
  ASSERT_TRUE(manager.Add(Crds()));
  EXPECT_THAT(manager.Add(Crds()).error().ToString(), HasSubstr("installs the CRD widgets.a.com already"));
  EXPECT_THAT(manager.Add(ManagedCrds{}).error().ToString(), HasSubstr("has no definitions"));
  EXPECT_THAT(manager.Add(ManagedCrds{.crds = {CrdSource{.where = "x.yaml"}}}).error().ToString(), HasSubstr("x.yaml: not a Custom"));
}

TEST_F(ManagerCrdsTest, PrintsTheRolesForThem) {
  Manager manager(NewClient());
  ManagedCrds crds = Crds();
  crds.migrate_storage = true;
  ASSERT_TRUE(manager.Add(std::move(crds)));
  EXPECT_EQ(manager.RbacYaml({.name = "w"}), R"(---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: w
rules:
- apiGroups:
  - a.com
  resources:
  - widgets
  verbs:
  - list
  - update
- apiGroups:
  - apiextensions.k8s.io
  resources:
  - customresourcedefinitions
  verbs:
  - create
- apiGroups:
  - apiextensions.k8s.io
  resourceNames:
  - widgets.a.com
  resources:
  - customresourcedefinitions
  verbs:
  - get
  - list
  - patch
  - watch
- apiGroups:
  - apiextensions.k8s.io
  resourceNames:
  - widgets.a.com
  resources:
  - customresourcedefinitions/status
  verbs:
  - update
)");
}

}  // namespace
}  // namespace kube::internal
