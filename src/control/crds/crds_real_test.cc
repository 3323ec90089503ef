// InstallCrds and MigrateStorage on the embedded server and on real ones.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <optional>
#include <string>

#include "client/server_test_util.h"
#include "codec/base64.h"
#include "control/crds/crd_test_util.h"
#include "control/manager/manager_test_util.h"
#include "kube/api/core/v1.h"
#include "kube/client/subresources.h"
#include "kube/control/crds.h"
#include "kube/control/manager.h"

namespace kube::internal {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

const Gvr kDefinitions{"apiextensions.k8s.io", "v1", "customresourcedefinitions"};

// Each case has its own group: deleting a definition takes a while.
class CrdsRealTest : public ServerTest {
 protected:
  void SetUp() override {
    ServerTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    client_.emplace(NewClient());
    static int count = 0;
    group_ = "g" + std::to_string(++count) + ".example.com";
    name_ = "widgets." + group_;
  }
  Result<std::vector<InstalledCrd>> Install(const std::string& versions, const std::string& more = "",
                                            const InstallCrdsOptions& options = {}) const {
    return InstallCrds(Patience(), *client_, Sources(WidgetsYaml(group_, versions, more)), options);
  }
  DynamicObject Live() const { return client_->Resource(kDefinitions).Get(Patience(), {"", String(name_)}).value(); }
  ResourceClient<DynamicObject> Widgets(const char* version) const { return client_->Resource(Gvr{String(group_), version, "widgets"}); }
  DynamicObject Widget(const char* version, const std::string& name) const {
    return DynamicObject({String(group_), version, "Widget"}, {"default", String(name)});
  }

  std::optional<Client> client_;
  std::string group_, name_;
};

TEST_P(CrdsRealTest, InstallsIdempotentlyAndCanBeUsedAtOnce) {
  Result<std::vector<InstalledCrd>> done = Install(VersionYaml("v1", true));
  ASSERT_TRUE(done) << done.error().ToString();
  EXPECT_EQ(done->at(0).change, CrdChange::kCreated);
  const auto made = Widgets("v1").Create(Patience(), Widget("v1", "a"));
  EXPECT_TRUE(made) << made.error().ToString();
  const std::int64_t generation = Live().generation();
  const String version = Live().resource_version();
  done = Install(VersionYaml("v1", true));
  ASSERT_TRUE(done) << done.error().ToString();
  EXPECT_EQ(done->at(0).change, CrdChange::kUnchanged);
  EXPECT_EQ(Live().generation(), generation);
  EXPECT_EQ(Live().resource_version(), version);
  done = Install(VersionYaml("v1", true) + VersionYaml("v2", false));
  ASSERT_TRUE(done) << done.error().ToString();
  EXPECT_EQ(done->at(0).change, CrdChange::kUpdated);
  EXPECT_TRUE(Widgets("v2").Get(Patience(), {"default", "a"}));
}

TEST_P(CrdsRealTest, RefusesWhatBreaks) {
  ASSERT_TRUE(Install(VersionYaml("v1", true)));
  const std::string other = "{type: object, properties: {spec: {type: object, properties: {b: {type: string}}}}}";
  Result<std::vector<InstalledCrd>> done = Install(VersionYaml("v1", true, other));
  ASSERT_FALSE(done);
  EXPECT_THAT(done.error().ToString(), HasSubstr("v1 .spec.a: removed: its values are pruned [breaks stored objects]"));
  EXPECT_EQ(Live().generation(), 1);
  done = Install(VersionYaml("v1", true, other), "", {.allow_breaking = true});
  EXPECT_TRUE(done) << done.error().ToString();
  // The server refuses this one in any case.
  done = Install(VersionYaml("v2", true, other), "", {.allow_breaking = true});
  ASSERT_FALSE(done);
  EXPECT_THAT(done.error().ToString(), AllOf(HasSubstr("status.storedVersions"), HasSubstr("version v1 removed")));
}

TEST_P(CrdsRealTest, NamesThatAreInUseAreAnError) {
  ASSERT_TRUE(Install(VersionYaml("v1", true)));
  const auto done = InstallCrds(Patience(), *client_, Sources(WidgetsYaml(group_, VersionYaml("v1", true), "", "gadgets", "Widget")));
  ASSERT_FALSE(done);
  EXPECT_THAT(done.error().ToString(), AllOf(HasSubstr("gadgets." + group_), HasSubstr("not accepted"), HasSubstr("is already in use")));
}

TEST_P(CrdsRealTest, KeepsTheBundleAndTheScaleThatOthersSet) {
  const std::string conversion =
      "  conversion: {strategy: Webhook, webhook: {conversionReviewVersions: [v1], clientConfig: {url: 'https://localhost:1/convert'}}}\n";
  const std::string schema =
      "{type: object, properties: {spec: {type: object, properties: {a: {type: string}, n: {type: integer}}}, "
      "status: {type: object, properties: {n: {type: integer}}}}}";
  const std::string versions = VersionYaml("v1", true, schema, "subresources: {status: {}}");
  Result<std::vector<InstalledCrd>> done = Install(versions, conversion);
  ASSERT_TRUE(done) << done.error().ToString();
  std::string bundle;
  AppendBase64(Config().tls.ca_data, bundle);
  ASSERT_FALSE(bundle.empty());
  // As an injector and a person with kubectl edit do it.
  const std::string patch = R"([{"op":"add","path":"/spec/conversion/webhook/clientConfig/caBundle","value":")" + bundle + R"("},
    {"op":"add","path":"/spec/versions/0/subresources/scale","value":{"specReplicasPath":".spec.n","statusReplicasPath":".status.n"}}])";
  const auto patched =
      client_->Resource(kDefinitions).Patch(Patience(), {"", String(name_)}, Patch::Json(patch), {.field_manager = "injector"});
  ASSERT_TRUE(patched) << patched.error().ToString();
  auto bundle_of = [&] { return Live()["spec"]["conversion"]["webhook"]["clientConfig"]["caBundle"].string_value().str(); };
  auto scaled = [&] { return Live()["spec"]["versions"].list()[0]["subresources"].Find("scale") != nullptr; };
  ASSERT_TRUE(scaled());
  // The second time the whole version is ours again; a placeholder in the manifest is not taken either.
  const std::string placeholder =
      "  conversion: {strategy: Webhook, webhook: {conversionReviewVersions: [v1], clientConfig: {url: 'https://localhost:1/convert', "
      "caBundle: "
      "Cg==}}}\n";
  for (const std::string& more : {conversion, conversion, placeholder}) {
    done = Install(versions, more);
    ASSERT_TRUE(done) << done.error().ToString();
    EXPECT_EQ(bundle_of(), bundle);
    EXPECT_TRUE(scaled());
  }
  done = Install(versions, conversion, {.keep_scale = false});
  ASSERT_FALSE(done);
  EXPECT_THAT(done.error().ToString(), HasSubstr("scale subresource removed"));
  done = Install(versions, conversion, {.allow_breaking = true, .keep_scale = false});
  ASSERT_TRUE(done) << done.error().ToString();
  EXPECT_FALSE(scaled());
  EXPECT_EQ(bundle_of(), bundle);
}

TEST_P(CrdsRealTest, MigratesTheStorage) {
  ASSERT_TRUE(Install(VersionYaml("v1", true) + VersionYaml("v2", false)));
  for (const char* name : {"a", "b", "c"}) ASSERT_TRUE(Widgets("v1").Create(Patience(), Widget("v1", name)));
  ASSERT_TRUE(Install(VersionYaml("v1", false) + VersionYaml("v2", true)));
  const Result<ObjectList<DynamicObject>> before = Widgets("v2").List(Patience());
  ASSERT_TRUE(before);
  for (const DynamicObject& widget : *before) EXPECT_EQ(widget.api_version(), group_ + "/v2");
  const Result<StorageMigration> done = MigrateStorage(Patience(), *client_, name_, {.qps = 0, .page_size = 2});
  ASSERT_TRUE(done) << done.error().ToString();
  EXPECT_EQ(done->rewritten, 3u);
  EXPECT_TRUE(done->trimmed) << done->not_trimmed_because;
  EXPECT_EQ(Live()["status"]["storedVersions"], Value::Array({Value("v2")}));
  const Result<ObjectList<DynamicObject>> after = Widgets("v2").List(Patience());
  ASSERT_TRUE(after);
  ASSERT_EQ(after->size(), 3u);
  for (std::size_t i = 0; i < 3; ++i) {
    // The bytes in the store are others, though nothing changed for a reader.
    EXPECT_NE(before->items[i].resource_version(), after->items[i].resource_version());
    EXPECT_EQ(before->items[i].generation(), after->items[i].generation());
  }
  const auto removed = Install(VersionYaml("v2", true), "", {.allow_breaking = true});
  EXPECT_TRUE(removed) << removed.error().ToString();
}

// With nothing but the roles that a manager prints. The embedded server allows everything.
TEST_P(CrdsRealTest, AManagerInstallsAndMigratesWithTheRolesThatItPrints) {
  if (server_.kubectl.empty()) GTEST_SKIP() << "no kubectl: run make control-plane";
  ASSERT_TRUE(Install(VersionYaml("v1", true) + VersionYaml("v2", false)));
  ASSERT_TRUE(Widgets("v1").Create(Patience(), Widget("v1", "a")));
  const ManagedCrds crds{.crds = Sources(WidgetsYaml(group_, VersionYaml("v1", false) + VersionYaml("v2", true))),
                         .migrate_storage = true,
                         .migration_delay = std::chrono::seconds(0)};
  std::ofstream(dir() + "/roles.yaml") << RbacYaml(
      NeedsOf(crds), {.name = "crds-" + group_, .service_account = "installer", .service_account_namespace = "default"});
  (void)Kubectl("apply -f '" + dir() + "/roles.yaml'");
  ClientConfig config;
  config.host = Config().host;
  config.tls.ca_data = Config().tls.ca_data;
  config.token = SecretString(CreateServiceAccountToken(Patience(), *client_, {"default", "installer"}).value().status.token.str());
  config.qps = -1;
  Manager manager(Client::FromConfig(config).value(), {.preflight = Preflight::kFail});
  ASSERT_TRUE(manager.Add(crds));
  RunningManager running(manager);
  const bool migrated = Eventually([&] { return Live()["status"]["storedVersions"] == Value::Array({Value("v2")}); });
  EXPECT_TRUE(migrated);
  const Result<void> ended = running.Stop();
  EXPECT_TRUE(ended) << ended.error().ToString();
}

INSTANTIATE_SERVERS(CrdsRealTest);

}  // namespace
}  // namespace kube::internal
