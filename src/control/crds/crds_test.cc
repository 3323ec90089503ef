#include "kube/control/crds.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>

#include "control/crds/crd_test_util.h"
#include "control/manager/manager_test_util.h"
#include "testing/temporary_directory.h"

namespace kube::internal {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

const Gvr kDefinitions{"apiextensions.k8s.io", "v1", "customresourcedefinitions"};

std::string ErrorOf(const Result<std::vector<CrdSource>>& result) { return result ? "ok" : result.error().ToString(); }

TEST(CrdSourceTest, ReadsAllDocumentsOfATextAndTheItemsOfLists) {
  const std::string a = WidgetsYaml("a.com", VersionYaml("v1", true)), b = WidgetsYaml("b.com", VersionYaml("v1", true));
  const std::vector<CrdSource> crds = Sources("# two of them\n---\n" + a + "---\n---\n" + b);
  ASSERT_EQ(crds.size(), 2u);
  EXPECT_EQ(crds[0].crd.name(), "widgets.a.com");
  EXPECT_THAT(crds[1].where, HasSubstr("crds.yaml: document 2 (line "));

  const std::string json = R"({"apiVersion":"v1","kind":"List","items":[)" + ToJson(crds[0].crd).value() + "]}";
  EXPECT_EQ(Sources(json)[0].crd.name(), "widgets.a.com");
}

TEST(CrdSourceTest, NamesTheDocumentThatIsNoDefinition) {
  const std::string crd = WidgetsYaml("a.com", VersionYaml("v1", true));
  EXPECT_EQ(ErrorOf(ParseCrds("kind: ConfigMap\napiVersion: v1\nmetadata: {name: x}\n---\n" + crd, "f.yaml")),
            "f.yaml: document 1 (line 1): expected a CustomResourceDefinition, got v1 ConfigMap \"x\"");
  EXPECT_THAT(ErrorOf(ParseCrds("kind: CustomResourceDefinition\napiVersion: apiextensions.k8s.io/v1beta1\nmetadata: {name: x}", "f")),
              HasSubstr("f: document 1 (line 1): expected apiVersion apiextensions.k8s.io/v1, got \"apiextensions.k8s.io/v1beta1\""));
  EXPECT_THAT(ErrorOf(ParseCrds("kind: CustomResourceDefinition\napiVersion: apiextensions.k8s.io/v1", "f")),
              HasSubstr("metadata.name is missing"));
  EXPECT_THAT(ErrorOf(ParseCrds(crd + "spec: {}\n", "f")), HasSubstr("f: document 1 (line 1): duplicate field \"spec\""));
  EXPECT_THAT(ErrorOf(ParseCrds("a: [", "f.yaml")), HasSubstr("f.yaml"));
  EXPECT_EQ(ErrorOf(ParseCrds("# nothing\n", "f.yaml")), "f.yaml: holds no CustomResourceDefinition");
  EXPECT_THAT(ErrorOf(ParseCrds("- 1\n", "f.yaml")), HasSubstr("f.yaml: document 1 (line 1): "));
}

TEST(CrdSourceTest, ReadsFilesAndFolders) {
  const auto dir = testing::internal::TemporaryDirectory::Create("kubexx-crds").value();
  std::ofstream(dir->path() + "/b.yml") << WidgetsYaml("b.com", VersionYaml("v1", true));
  std::ofstream(dir->path() + "/a.yaml") << WidgetsYaml("a.com", VersionYaml("v1", true));
  std::ofstream(dir->path() + "/README.md") << "not one";
  const std::vector<CrdSource> crds = ReadCrds({dir->path()}).value();
  ASSERT_EQ(crds.size(), 2u);
  EXPECT_EQ(crds[0].crd.name(), "widgets.a.com");
  EXPECT_THAT(crds[1].where, HasSubstr("/b.yml: document 1 (line 1)"));
  EXPECT_EQ(ReadCrds({dir->path() + "/b.yml"}).value().size(), 1u);
  EXPECT_THAT(ErrorOf(ReadCrds({dir->path() + "/c.yaml"})), HasSubstr("/c.yaml: cannot be read"));
  std::filesystem::create_directory(dir->path() + "/empty");
  EXPECT_THAT(ErrorOf(ReadCrds({dir->path() + "/empty"})), HasSubstr("the folder has no files *.yaml"));
}

class InstallCrdsTest : public ManagerServerTest {
 protected:
  Result<std::vector<InstalledCrd>> Install(const std::string& yaml, const InstallCrdsOptions& options = {}) const {
    return InstallCrds(Patience(), *client_, Sources(yaml), options);
  }
  std::string Failure(const std::string& yaml, const InstallCrdsOptions& options = {}) const {
    const auto done = Install(yaml, options);
    return done ? "installed" : done.error().ToString();
  }
  DynamicObject Live(const std::string& name = "widgets.a.com") const {
    return client_->Resource(kDefinitions).Get(Patience(), {"", String(name)}).value();
  }
  bool Exists(const std::string& name) const { return client_->Resource(kDefinitions).Get(Patience(), {"", String(name)}).ok(); }
};

TEST_F(InstallCrdsTest, IsIdempotent) {
  const std::string yaml = WidgetsYaml("a.com", VersionYaml("v1", true));
  Result<std::vector<InstalledCrd>> done = Install(yaml);
  ASSERT_TRUE(done) << done.error().ToString();
  EXPECT_EQ(done->at(0).change, CrdChange::kCreated);
  EXPECT_EQ(done->at(0).name, "widgets.a.com");
  // It can be used at once.
  EXPECT_TRUE(client_->Resource(Gvr{"a.com", "v1", "widgets"}).List(Patience()));
  const String version = Live().resource_version();
  done = Install(yaml);
  ASSERT_TRUE(done) << done.error().ToString();
  EXPECT_EQ(done->at(0).change, CrdChange::kUnchanged);
  EXPECT_EQ(Live().resource_version(), version);
  done = Install(WidgetsYaml("a.com", VersionYaml("v1", true) + VersionYaml("v2", false)));
  ASSERT_TRUE(done) << done.error().ToString();
  EXPECT_EQ(done->at(0).change, CrdChange::kUpdated);
  EXPECT_EQ(done->at(0).findings.size(), 1u);
  EXPECT_TRUE(client_->Resource(Gvr{"a.com", "v2", "widgets"}).List(Patience()));
}

TEST_F(InstallCrdsTest, RefusesWhatBreaksAndWritesNothingThen) {
  ASSERT_TRUE(Install(WidgetsYaml("a.com", VersionYaml("v1", true))));
  const std::string narrow = "{type: object, properties: {spec: {type: object, properties: {a: {type: string, maxLength: 3}}}}}";
  const std::string yaml = WidgetsYaml("b.com", VersionYaml("v1", true)) + "---\n" + WidgetsYaml("a.com", VersionYaml("v1", true, narrow));
  const std::string error = Failure(yaml);
  EXPECT_THAT(error, AllOf(HasSubstr("crds.yaml: document 2"), HasSubstr("(widgets.a.com)"), HasSubstr("allow_breaking"),
                           HasSubstr("v1 .spec.a: maxLength of 3 added [breaks stored objects]")));
  EXPECT_FALSE(Exists("widgets.b.com"));
  const auto done = Install(yaml, {.allow_breaking = true});
  ASSERT_TRUE(done) << done.error().ToString();
  EXPECT_EQ(done->at(0).change, CrdChange::kCreated);
  EXPECT_EQ(done->at(1).change, CrdChange::kUpdated);
  EXPECT_TRUE(done->at(1).findings.at(0).breaks());
}

// The server also refuses it, in its own words.
TEST_F(InstallCrdsTest, RefusesToRemoveAStoredVersion) {
  ASSERT_TRUE(Install(WidgetsYaml("a.com", VersionYaml("v1", true))));
  for (const bool allow : {false, true}) {
    const std::string error = Failure(WidgetsYaml("a.com", VersionYaml("v2", true)), {.allow_breaking = allow});
    EXPECT_THAT(error, AllOf(HasSubstr("status.storedVersions"), HasSubstr("version v1 removed, but status.storedVersions has it")));
  }
}

TEST_F(InstallCrdsTest, ChecksOnlyWithDryRun) {
  const auto done = Install(WidgetsYaml("a.com", VersionYaml("v1", true)), {.dry_run = true});
  ASSERT_TRUE(done) << done.error().ToString();
  EXPECT_EQ(done->at(0).change, CrdChange::kCreated);
  EXPECT_FALSE(Exists("widgets.a.com"));
}

TEST_F(InstallCrdsTest, NamesTheFieldThatTheServerRefuses) {
  const std::string error = Failure(WidgetsYaml("a.com", VersionYaml("v1", true, "{type: object, properties: {a: {}}}")));
  EXPECT_THAT(error, AllOf(HasSubstr("crds.yaml: document 1 (line 1) (widgets.a.com)"), HasSubstr("properties[a].type: Required value")));
}

TEST_F(InstallCrdsTest, NamesThatAreInUseAreAnError) {
  ASSERT_TRUE(Install(WidgetsYaml("a.com", VersionYaml("v1", true))));
  const std::string error = Failure(WidgetsYaml("a.com", VersionYaml("v1", true), "", "gadgets", "Widget"));
  EXPECT_THAT(error, AllOf(HasSubstr("(gadgets.a.com)"), HasSubstr("its names are not accepted"),
                           HasSubstr("\"WidgetList\" is already in use"), HasSubstr("ListKindConflict")));
}

TEST_F(InstallCrdsTest, ReadsAgainAfterAConflict) {
  ASSERT_TRUE(Install(WidgetsYaml("a.com", VersionYaml("v1", true))));
  server_->AddFault({.verb = "patch", .resource = "customresourcedefinitions", .status = 409, .reason = "Conflict", .times = 3});
  const auto done = Install(WidgetsYaml("a.com", VersionYaml("v1", true) + VersionYaml("v2", false)));
  ASSERT_TRUE(done) << done.error().ToString();
  EXPECT_EQ(done->at(0).change, CrdChange::kUpdated);
}

TEST_F(InstallCrdsTest, SaysWhichDefinitionIsNotAllowed) {
  server_->AddFault({.verb = "patch", .resource = "customresourcedefinitions", .status = 403, .message = "no", .times = -1});
  const auto done = Install(WidgetsYaml("a.com", VersionYaml("v1", true)));
  ASSERT_FALSE(done);
  EXPECT_TRUE(IsForbidden(done.error()));
  EXPECT_THAT(done.error().ToString(), HasSubstr("(widgets.a.com)"));
}

TEST_F(InstallCrdsTest, Misuse) {
  const std::vector<CrdSource> crds = Sources(WidgetsYaml("a.com", VersionYaml("v1", true)));
  EXPECT_THAT(InstallCrds(Patience(), *client_, {crds[0], crds[0]}).error().ToString(), HasSubstr("defined twice"));
  EXPECT_THAT(InstallCrds(Patience(), *client_, {CrdSource{}}).error().ToString(), HasSubstr("not a CustomResourceDefinition"));
  EXPECT_THAT(InstallCrds(Patience(), *client_, crds, {.field_manager = ""}).error().ToString(), HasSubstr("field_manager is empty"));
  EXPECT_TRUE(InstallCrds(Patience(), *client_, {})->empty());
}

TEST_F(InstallCrdsTest, EndsWithItsTimeout) {
  // The server does not see the definition, so it is never established.
  server_->AddFault({.verb = "list", .resource = "customresourcedefinitions", .kind = testing::FaultKind::kStall, .times = -1});
  const auto done = Install(WidgetsYaml("a.com", VersionYaml("v1", true)), {.timeout = std::chrono::milliseconds(300)});
  server_->ClearFaults();
  ASSERT_FALSE(done);
  EXPECT_THAT(done.error().ToString(), AllOf(HasSubstr("(widgets.a.com)"), HasSubstr("not established yet, never seen")));
}

TEST_F(InstallCrdsTest, WaitForCrdsWaitsForTheVersionToo) {
  const std::vector<CrdSource> wanted = Sources(WidgetsYaml("a.com", VersionYaml("v1", true) + VersionYaml("v2", false)));
  ASSERT_TRUE(Install(WidgetsYaml("a.com", VersionYaml("v1", true))));
  EXPECT_EQ(FindUnservedCrds(Patience(), *client_, wanted).value(), std::vector<std::string>{"widgets.a.com/v2"});
  std::atomic<bool> over = false;
  Result<void> waited;
  Thread waiter("waiter", [&] {
    waited = WaitForCrds(Patience(), *client_, wanted);
    over = true;
  });
  EXPECT_FALSE(over);
  ASSERT_TRUE(InstallCrds(Patience(), *client_, wanted));
  waiter.Join();
  EXPECT_TRUE(waited) << waited.error().ToString();
}

}  // namespace
}  // namespace kube::internal
