// create api and create webhook: which files they make, and what they write into PROJECT. tests/install/scaffold.sh builds the files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "kube/codec/yaml.h"
#include "scaffold/scaffold.h"

namespace kube::scaffold {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
using ::testing::Not;

// A project that grows by commands.
class CreateTest : public ::testing::Test {
 protected:
  Scaffold Api(const CreateApiOptions& options) { return Keep(CreateApi(project_, options)); }
  Scaffold Webhook(const CreateWebhookOptions& options) { return Keep(CreateWebhook(project_, options)); }
  std::string ApiError(const CreateApiOptions& options) const { return Message(CreateApi(project_, options)); }
  std::string WebhookError(const CreateWebhookOptions& options) const { return Message(CreateWebhook(project_, options)); }

  static std::vector<std::string> Paths(const Scaffold& made) {
    std::vector<std::string> out;
    for (const ScaffoldFile& file : made.files) out.push_back((file.generated ? "*" : "") + file.path);
    return out;
  }
  static std::string Text(const Scaffold& made, std::string_view path) {
    for (const ScaffoldFile& file : made.files) {
      if (file.path == path) return file.text;
    }
    ADD_FAILURE() << path << " was not made";
    return "";
  }

  Project project_{.name = "books", .domain = "my.domain"};

 private:
  static std::string Message(const Result<Scaffold>& made) { return made ? "" : made.error().message(); }
  Scaffold Keep(Result<Scaffold> made) {
    if (!made) {
      ADD_FAILURE() << made.error().ToString();
      return {};
    }
    for (const ScaffoldFile& file : made->files) {
      EXPECT_TRUE(file.text.ends_with('\n') && !file.text.ends_with("\n\n")) << file.path;
      EXPECT_TRUE(!file.path.ends_with(".yaml") || ParseYaml(file.text)) << file.path;
    }
    project_ = ParseProject(Text(*made, "PROJECT")).value();
    return *std::move(made);
  }
};

TEST_F(CreateTest, MakesAKindWithItsController) {
  const Scaffold made = Api({.group = "webapp", .version = "v1", .kind = "Guestbook"});
  EXPECT_THAT(Paths(made),
              ElementsAre("*PROJECT", "api/v1/guestbook_types.h", "*config/kustomization.yaml", "config/samples/webapp_v1_guestbook.yaml",
                          "src/guestbook_controller.cc", "src/guestbook_controller.h", "tests/guestbook_controller_test.cc"));
  const std::string types = Text(made, "api/v1/guestbook_types.h");
  EXPECT_THAT(types, HasSubstr("// +groupName=webapp.my.domain\n"));
  EXPECT_THAT(types, HasSubstr("namespace webapp::v1 {\n"));
  EXPECT_THAT(types, HasSubstr("+kubebuilder:storageversion"));
  EXPECT_THAT(types, Not(HasSubstr("+kubebuilder:resource")));
  EXPECT_THAT(types, Not(HasSubstr("api-approved")));
  EXPECT_THAT(Text(made, "config/kustomization.yaml"), HasSubstr("- crd/webapp.my.domain_guestbooks.yaml\n"));
  const Resource& resource = project_.resources.at(0);
  EXPECT_EQ(resource.type, "webapp::v1::Guestbook");
  EXPECT_EQ(resource.controllers.at(0).header, "src/guestbook_controller.h");
  EXPECT_EQ(resource.controllers.at(0).setup, "SetupGuestbookController");
}

TEST_F(CreateTest, MakesKindsWithMarkers) {
  const Scaffold made =
      Api({.group = "fleet", .version = "v1", .kind = "Sheep", .plural = "flock", .namespaced = false, .controller = false});
  EXPECT_THAT(Paths(made),
              ElementsAre("*PROJECT", "api/v1/sheep_types.h", "*config/kustomization.yaml", "config/samples/fleet_v1_sheep.yaml"));
  EXPECT_THAT(Text(made, "api/v1/sheep_types.h"), HasSubstr("// +kubebuilder:resource:path=flock,scope=Cluster\n"));
  EXPECT_THAT(Text(made, "config/samples/fleet_v1_sheep.yaml"), Not(HasSubstr("namespace")));
  EXPECT_FALSE(project_.resources.at(0).namespaced);

  project_ = {.name = "net", .domain = "k8s.io"};
  EXPECT_THAT(Text(Api({.group = "samplecrd", .version = "v1", .kind = "Network"}), "api/v1/network_types.h"),
              HasSubstr("\"api-approved.kubernetes.io=unapproved, example\""));
}

TEST_F(CreateTest, ASecondKindAddsFilesOnly) {
  Api({.group = "webapp", .version = "v1", .kind = "Guestbook"});
  const Scaffold made = Api({.group = "webapp", .version = "v1", .kind = "Author"});
  EXPECT_THAT(Paths(made),
              ElementsAre("*PROJECT", "api/v1/author_types.h", "*config/kustomization.yaml", "config/samples/webapp_v1_author.yaml",
                          "src/author_controller.cc", "src/author_controller.h", "tests/author_controller_test.cc"));
  EXPECT_THAT(Text(made, "config/kustomization.yaml"),
              HasSubstr("- crd/webapp.my.domain_authors.yaml\n- crd/webapp.my.domain_guestbooks.yaml\n"));
}

TEST_F(CreateTest, AnotherVersionSharesTheController) {
  Api({.group = "webapp", .version = "v1", .kind = "Guestbook", .namespaced = false});
  const Scaffold made = Api({.group = "webapp", .version = "v2", .kind = "Guestbook"});
  EXPECT_THAT(Paths(made),
              ElementsAre("*PROJECT", "api/v2/guestbook_types.h", "*config/kustomization.yaml", "config/samples/webapp_v2_guestbook.yaml"));
  EXPECT_THAT(Text(made, "api/v2/guestbook_types.h"), Not(HasSubstr("storageversion"))) << "the first one is stored";
  EXPECT_THAT(Text(made, "api/v2/guestbook_types.h"), HasSubstr("scope=Cluster")) << "as the first one";
  EXPECT_THAT(ApiError({.group = "webapp", .version = "v3", .kind = "Guestbook", .controller = true}), HasSubstr("v1 Guestbook has one"));
  EXPECT_THAT(ApiError({.group = "webapp", .version = "v3", .kind = "Guestbook", .plural = "books"}), HasSubstr("--plural"));
}

TEST_F(CreateTest, GroupsAreApart) {
  Api({.group = "ship", .version = "v1", .kind = "Frigate"});
  const Scaffold made = Api({.group = "sea-creatures", .version = "v1", .kind = "Frigate"});
  EXPECT_THAT(Paths(made), IsSupersetOf({"api/sea_creatures/v1/frigate_types.h", "src/sea_creatures_frigate_controller.cc"}));
  EXPECT_EQ(project_.resources.at(1).controllers.at(0).setup, "SetupSeaCreaturesFrigateController");
  EXPECT_THAT(Text(made, "src/sea_creatures_frigate_controller.cc"), HasSubstr("ControllerFor<Frigate>(\"sea-creatures-frigate\")"));
  Webhook({.group = "ship", .kind = "Frigate", .validation = true});
  EXPECT_THAT(Paths(Webhook({.group = "sea-creatures", .kind = "Frigate", .validation = true})),
              IsSupersetOf({"src/sea_creatures_frigate_webhook.cc"}));
  EXPECT_THAT(Paths(Api({.group = "ship", .version = "v2", .kind = "Cruiser"})), IsSupersetOf({"api/v2/cruiser_types.h"}))
      << "the first group";
  Api({.group = "ship", .version = "v2", .kind = "Frigate"});
  EXPECT_THAT(Paths(Webhook({.group = "ship", .version = "v2", .kind = "Frigate", .validation = true})),
              IsSupersetOf({"src/frigate_v2_webhook.cc"}));
  EXPECT_THAT(Paths(Webhook({.group = "ship", .version = "v2", .kind = "Frigate", .validation = true})),
              IsSupersetOf({"src/frigate_v2_webhook.cc"}))
      << "again";
  Api({.group = "", .version = "v1", .kind = "Lakers"});
  EXPECT_EQ(project_.resources.at(4).group, "my.domain");
  EXPECT_EQ(project_.resources.at(4).type, "my::v1::Lakers");
}

TEST_F(CreateTest, TheSameKindAgainMakesTheSameFiles) {
  Api({.group = "webapp", .version = "v1", .kind = "Guestbook"});
  Webhook({.kind = "Guestbook", .defaulting = true});
  const Scaffold made = Api({.group = "webapp", .version = "v1", .kind = "Guestbook"});
  EXPECT_THAT(Paths(made), IsSupersetOf({"src/guestbook_controller.cc"}));
  ASSERT_EQ(project_.resources.size(), 1u);
  EXPECT_TRUE(!project_.resources[0].webhooks.empty()) << "what was made for it before is not forgotten";
  EXPECT_THAT(Text(made, "api/v1/guestbook_types.h"), HasSubstr("storageversion"));
}

TEST_F(CreateTest, MakesControllersForKindsThatExist) {
  const Scaffold made = Api({.group = "core", .version = "v1", .kind = "Pod", .resource = false});
  EXPECT_THAT(Paths(made), ElementsAre("*PROJECT", "*config/kustomization.yaml", "src/pod_controller.cc", "src/pod_controller.h",
                                       "tests/pod_controller_test.cc"));
  EXPECT_THAT(Text(made, "src/pod_controller.cc"), HasSubstr("#include <kube/api/core/v1.h>\n"));
  EXPECT_THAT(Text(made, "src/pod_controller.cc"), HasSubstr("using kube::core::v1::Pod;"));
  EXPECT_THAT(Text(made, "config/kustomization.yaml"), Not(HasSubstr("crd")));
  EXPECT_TRUE(project_.resources.at(0).built_in);
  Api({.group = "networking", .version = "v1", .kind = "Ingress", .resource = false});
  EXPECT_EQ(project_.resources.at(1).group, "networking.k8s.io");

  Api({.group = "webapp", .version = "v1", .kind = "Guestbook", .controller = false});
  Api({.group = "webapp", .version = "v1", .kind = "Guestbook", .resource = false});
  EXPECT_EQ(project_.resources.at(2).controllers.at(0).setup, "SetupGuestbookController");
  EXPECT_THAT(ApiError({.group = "cert-manager", .version = "v1", .kind = "Certificate", .resource = false}),
              HasSubstr("\"Certificate\" is unknown"));
}

TEST_F(CreateTest, ChecksNames) {
  const CreateApiOptions good{.group = "webapp", .version = "v1", .kind = "Guestbook"};
  CreateApiOptions bad = good;
  bad.group = "Webapp";
  EXPECT_THAT(ApiError(bad), HasSubstr("--group: \"Webapp\""));
  bad = good;
  bad.version = "1";
  EXPECT_THAT(ApiError(bad), HasSubstr("--version: \"1\""));
  bad = good;
  bad.kind = "guestbook";
  EXPECT_THAT(ApiError(bad), HasSubstr("--kind: \"guestbook\""));
  bad = good;
  bad.plural = "Books";
  EXPECT_THAT(ApiError(bad), HasSubstr("--plural: \"Books\""));
  Api(good);
  EXPECT_THAT(ApiError({.group = "webapp", .version = "v1", .kind = "GuestbookSpec"}), HasSubstr("would have the same name"));
  EXPECT_THAT(ApiError({.group = "webapp", .version = "v1", .kind = "Book", .plural = "guestbooks"}),
              HasSubstr("has the plural guestbooks already"));
}

TEST_F(CreateTest, MakesWebhooks) {
  Api({.group = "webapp", .version = "v1", .kind = "Guestbook"});
  const Scaffold made = Webhook({.kind = "Guestbook", .defaulting = true, .validation = true});
  EXPECT_THAT(Paths(made), ElementsAre("*PROJECT", "*config/kustomization.yaml", "src/guestbook_webhook.cc", "src/guestbook_webhook.h",
                                       "tests/guestbook_webhook_test.cc"));
  EXPECT_THAT(Text(made, "src/guestbook_webhook.cc"),
              HasSubstr("WebhookFor<Guestbook>(\"guestbooks.webapp.my.domain\").Default(SetDefaults).Validate(Validate);"));
  EXPECT_THAT(Text(made, "config/kustomization.yaml"), HasSubstr("- webhook/manifests.yaml\n"));
  EXPECT_EQ(project_.resources.at(0).webhooks.at(0).setup, "SetupGuestbookWebhook");
  EXPECT_EQ(project_.resources.at(0).controllers.at(0).setup, "SetupGuestbookController");

  const std::string one = Text(Webhook({.kind = "Guestbook", .validation = true}), "src/guestbook_webhook.cc");
  EXPECT_THAT(one, Not(HasSubstr("SetDefaults"))) << "made anew, which takes --force";
  const Scaffold pods = Webhook({.group = "core", .version = "v1", .kind = "Pod", .defaulting = true});
  EXPECT_THAT(Text(pods, "src/pod_webhook.cc"), HasSubstr("WebhookFor<Pod>(\"pods.core.my.domain\").Default(SetDefaults);"));
}

TEST_F(CreateTest, ASecondWebhookHasFilesOfItsOwn) {
  Api({.group = "webapp", .version = "v1", .kind = "Guestbook"});
  const std::string first =
      Text(Webhook({.kind = "Guestbook", .defaulting = true, .defaulting_path = "/custom"}), "src/guestbook_webhook.cc");
  EXPECT_THAT(first, HasSubstr(".Default(SetDefaults).DefaultAt(\"/custom\");"));
  const Scaffold made = Webhook({.kind = "Guestbook", .validation = true, .validation_path = "/check-it"});
  EXPECT_THAT(Paths(made), ElementsAre("*PROJECT", "*config/kustomization.yaml", "src/guestbook_validation_webhook.cc",
                                       "src/guestbook_validation_webhook.h", "tests/guestbook_validation_webhook_test.cc"));
  EXPECT_THAT(Text(made, "src/guestbook_validation_webhook.cc"), HasSubstr("SetupGuestbookValidationWebhook(kube::Manager& manager)"));
  EXPECT_THAT(Text(made, "src/guestbook_validation_webhook.cc"), HasSubstr(".Validate(Validate).ValidateAt(\"/check-it\");"));
  ASSERT_EQ(project_.resources.at(0).webhooks.size(), 2u);
  EXPECT_TRUE(project_.resources[0].webhooks[0].defaulting && !project_.resources[0].webhooks[0].validation);
  EXPECT_TRUE(project_.resources[0].webhooks[1].validation && !project_.resources[0].webhooks[1].defaulting);

  EXPECT_EQ(Text(Webhook({.kind = "Guestbook", .defaulting = true, .defaulting_path = "/custom"}), "src/guestbook_webhook.cc"), first)
      << "again";
  EXPECT_EQ(project_.resources.at(0).webhooks.size(), 2u);
  EXPECT_THAT(WebhookError({.kind = "Guestbook", .defaulting = true, .validation = true}),
              HasSubstr("has both webhooks: src/guestbook_webhook.h, src/guestbook_validation_webhook.h"));
}

TEST_F(CreateTest, ChecksPathsAndPluralsOfWebhooks) {
  Api({.group = "webapp", .version = "v1", .kind = "Guestbook"});
  EXPECT_THAT(WebhookError({.kind = "Guestbook", .validation = true, .defaulting_path = "/a"}),
              HasSubstr("--defaulting-path is for --defaulting"));
  EXPECT_THAT(WebhookError({.kind = "Guestbook", .defaulting = true, .validation_path = "/a"}),
              HasSubstr("--validation-path is for --validation"));
  for (const char* bad : {"a", "/", "/a//b", "/a b", "/\"", "/a?b"})
    EXPECT_THAT(WebhookError({.kind = "Guestbook", .defaulting = true, .defaulting_path = bad}), HasSubstr("is no path")) << bad;
  EXPECT_THAT(WebhookError({.kind = "Guestbook", .defaulting = true, .plural = "books"}), HasSubstr("has the plural guestbooks"));
  Webhook({.kind = "Guestbook", .defaulting = true, .plural = "guestbooks"});
}

TEST_F(CreateTest, AKindMayHaveSeveralControllers) {
  EXPECT_THAT(Paths(Api({.group = "crew", .version = "v1", .kind = "Captain", .controller_name = "captain"})),
              IsSupersetOf({"src/captain_controller.cc"}))
      << "the kind's own name";
  const Scaffold made = Api({.group = "crew", .version = "v1", .kind = "Captain", .resource = false, .controller_name = "captain-backup"});
  EXPECT_THAT(Paths(made), ElementsAre("*PROJECT", "*config/kustomization.yaml", "src/captain_backup_controller.cc",
                                       "src/captain_backup_controller.h", "tests/captain_backup_controller_test.cc"));
  EXPECT_THAT(Text(made, "src/captain_backup_controller.cc"), HasSubstr("SetupCaptainBackupController(kube::Manager& manager)"));
  EXPECT_THAT(Text(made, "src/captain_backup_controller.cc"), HasSubstr("ControllerFor<Captain>(\"captain-backup\")"));
  ASSERT_EQ(project_.resources.size(), 1u);
  ASSERT_EQ(project_.resources[0].controllers.size(), 2u);
  EXPECT_EQ(project_.resources[0].controllers[1].header, "src/captain_backup_controller.h");
  Api({.group = "crew", .version = "v1", .kind = "Captain", .resource = false, .controller_name = "captain-backup"});
  EXPECT_EQ(project_.resources[0].controllers.size(), 2u) << "again";

  EXPECT_THAT(ApiError({.group = "crew", .version = "v1", .kind = "Mate", .controller_name = "captain"}),
              HasSubstr("pass another --controller-name"));
  EXPECT_THAT(Paths(Api({.group = "crew", .version = "v1", .kind = "CaptainBackup"})),
              IsSupersetOf({"src/crew_captainbackup_controller.h"}))
      << "src/captainbackup_controller.h would be free, but not SetupCaptainBackupController";
  for (const char* bad : {"Captain", "2nd", "a_b", "a.b", "-a", "../x"})
    EXPECT_THAT(ApiError({.group = "crew", .version = "v1", .kind = "Mate", .controller_name = bad}), HasSubstr("--controller-name: "))
        << bad;
  EXPECT_THAT(ApiError({.group = "crew", .version = "v1", .kind = "Mate", .controller = false, .controller_name = "mate"}),
              HasSubstr("without a controller"));
}

TEST_F(CreateTest, NamesOfDifferentKindsStayApart) {
  Api({.group = "foo.bar", .version = "v1", .kind = "Thing"});
  EXPECT_THAT(ApiError({.group = "foo-bar", .version = "v1", .kind = "Thing"}), HasSubstr("has the C++ name foo_bar::v1::Thing already"));
  EXPECT_THAT(ApiError({.group = "foo.bar", .version = "v1", .kind = "THing", .plural = "others"}),
              HasSubstr("api/v1/thing_types.h already"));
}

TEST_F(CreateTest, VersionsHaveWebhooksOfTheirOwn) {
  Api({.group = "webapp", .version = "v1", .kind = "Guestbook"});
  Api({.group = "webapp", .version = "v2", .kind = "Guestbook"});
  EXPECT_THAT(WebhookError({.kind = "Guestbook", .defaulting = true}),
              HasSubstr("webapp.my.domain/v1, webapp.my.domain/v2; pass --group and --version"));
  Webhook({.version = "v1", .kind = "Guestbook", .defaulting = true});
  const Scaffold made = Webhook({.version = "v2", .kind = "Guestbook", .defaulting = true});
  EXPECT_THAT(Text(made, "src/guestbook_v2_webhook.cc"), HasSubstr("(\"v2-guestbooks.webapp.my.domain\")"));
  EXPECT_EQ(project_.resources.at(1).webhooks.at(0).setup, "SetupGuestbookV2Webhook");
}

TEST_F(CreateTest, MakesConversions) {
  Api({.group = "webapp", .version = "v1", .kind = "Guestbook"});
  EXPECT_THAT(WebhookError({.kind = "Guestbook", .conversion = true}), HasSubstr("has one version"));
  Api({.group = "webapp", .version = "v2", .kind = "Guestbook"});
  Api({.group = "webapp", .version = "v1beta1", .kind = "Guestbook"});
  EXPECT_THAT(WebhookError({.version = "v1", .kind = "Guestbook", .conversion = true, .spokes = {"v3"}}), HasSubstr("--spoke: \"v3\""));
  const Scaffold made = Webhook({.version = "v2", .kind = "Guestbook", .conversion = true});
  EXPECT_THAT(Paths(made), ElementsAre("*PROJECT", "*config/kustomization.yaml", "src/guestbook_conversion.cc",
                                       "src/guestbook_conversion.h", "tests/guestbook_conversion_test.cc"));
  const std::string text = Text(made, "src/guestbook_conversion.cc");
  EXPECT_THAT(text, HasSubstr("kube::Conversion<webapp::v2::Guestbook>()"));
  EXPECT_THAT(text, HasSubstr(".Spoke<webapp::v1::Guestbook>("));
  EXPECT_THAT(text, HasSubstr(".Spoke<webapp::v1beta1::Guestbook>("));
  EXPECT_THAT(text, HasSubstr(".StoredAs<webapp::v1::Guestbook>()"));
  EXPECT_THAT(WebhookError({.version = "v1", .kind = "Guestbook", .conversion = true}), HasSubstr("with the hub v2"));

  project_.resources[1].conversion = {};
  const std::string hub = Text(Webhook({.kind = "Guestbook", .conversion = true}), "src/guestbook_conversion.cc");
  EXPECT_THAT(hub, HasSubstr("kube::Conversion<webapp::v1::Guestbook>()")) << "the stored version";
  EXPECT_THAT(hub, Not(HasSubstr("StoredAs")));
}

TEST_F(CreateTest, SaysWhatAWebhookNeeds) {
  Api({.group = "webapp", .version = "v1", .kind = "Guestbook"});
  EXPECT_THAT(WebhookError({.kind = "Guestbook"}), HasSubstr("--defaulting, --validation or --conversion"));
  EXPECT_THAT(WebhookError({.kind = "Guestbook", .defaulting = true, .spokes = {"v2"}}), HasSubstr("--spoke is for --conversion"));
  EXPECT_THAT(WebhookError({.kind = "Author", .defaulting = true}), HasSubstr("needs --group"));
  EXPECT_THAT(WebhookError({.group = "core", .version = "v1", .kind = "Pod", .conversion = true}),
              HasSubstr("converted by the API server itself"));
}

}  // namespace
}  // namespace kube::scaffold
