#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "kube/codec/json.h"
#include "kube/codec/yaml.h"
#include "scaffold/scaffold.h"

namespace kube::scaffold {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const ScaffoldFile& File(const Scaffold& made, std::string_view path) {
  const auto found = std::find_if(made.files.begin(), made.files.end(), [&](const ScaffoldFile& file) { return file.path == path; });
  EXPECT_NE(found, made.files.end()) << path;
  return found == made.files.end() ? made.files[0] : *found;
}

TEST(InitTest, FillsInTheTemplates) {
  const Scaffold made = Init({.name = "guestbook", .domain = "my.domain", .kubexx_version = "7.8"}).value();
  EXPECT_THAT(File(made, "CMakeLists.txt").text, HasSubstr("project(guestbook LANGUAGES CXX)"));
  EXPECT_THAT(File(made, "CMakeLists.txt").text, HasSubstr("find_package(kubexx 7.8 REQUIRED"));
  EXPECT_THAT(File(made, "CMakeLists.txt").text, HasSubstr("add_executable(guestbook_manager ")) << "no target that another project has";
  EXPECT_THAT(File(made, "Containerfile").text, HasSubstr("--target guestbook_manager\n"));
  EXPECT_THAT(File(made, "README.md").text, HasSubstr("my.domain"));
  EXPECT_THAT(File(made, "deploy/kustomization.yaml").text, HasSubstr("namespace: guestbook-system"));
  EXPECT_THAT(File(made, "Makefile").text, HasSubstr("\n\tcmake --build")) << "tabs";
  for (const ScaffoldFile& file : made.files) {
    EXPECT_TRUE(file.text.ends_with('\n') && !file.text.ends_with("\n\n")) << file.path;
    const bool is_yaml = file.path.ends_with(".yaml") || file.path.ends_with(".yml");
    EXPECT_TRUE(!is_yaml || ParseYaml(file.text)) << file.path;
    EXPECT_TRUE(!file.path.ends_with(".json") || ParseJson(file.text)) << file.path;
  }
}

TEST(InitTest, WritesAProjectThatIsReadAgain) {
  const Scaffold made = Init({.name = "guestbook", .domain = "my.domain"}).value();
  const Project project = ParseProject(File(made, "PROJECT").text).value();
  EXPECT_EQ(project.name, "guestbook");
  EXPECT_EQ(project.domain, "my.domain");
  EXPECT_TRUE(project.resources.empty());
}

TEST(InitTest, AProgramMayHaveOneNamespace) {
  const Scaffold made = Init({.name = "guestbook", .domain = "my.domain", .namespaced = true}).value();
  EXPECT_THAT(File(made, "CMakeLists.txt").text, HasSubstr(":8443 --namespace=guestbook-system)"));
  EXPECT_THAT(File(made, "config/manager/deployment.yaml").text, HasSubstr("\n        - --namespace=guestbook-system\n"));
  const Scaffold all = Init({.name = "guestbook", .domain = "my.domain"}).value();
  EXPECT_THAT(File(all, "config/manager/deployment.yaml").text, Not(HasSubstr("--namespace")));
}

TEST(InitTest, ChecksNames) {
  EXPECT_FALSE(Init({.name = "guestbook", .domain = "No"}));
  EXPECT_FALSE(Init({.name = "Guestbook", .domain = "my.domain"}));
}

TEST(ProjectTest, KeepsEverything) {
  Project project{.name = "books", .domain = "my.domain"};
  project.resources.push_back({.group = "webapp.my.domain",
                               .version = "v1",
                               .kind = "Guestbook",
                               .plural = "guestbooks",
                               .namespaced = true,
                               .header = "api/v1/guestbook_types.h",
                               .type = "webapp::v1::Guestbook",
                               .controllers = {{"src/guestbook_controller.h", "SetupGuestbookController"}},
                               .webhooks = {{"src/guestbook_webhook.h", "SetupGuestbookWebhook", true, false},
                                            {"src/guestbook_validation_webhook.h", "SetupGuestbookValidationWebhook", false, true}},
                               .conversion = {"src/guestbook_conversion.h", "SetupGuestbookConversion"}});
  project.resources.push_back({.group = "",
                               .version = "v1",
                               .kind = "Node",
                               .plural = "nodes",
                               .namespaced = false,
                               .built_in = true,
                               .header = "kube/api/core/v1.h",
                               .type = "kube::core::v1::Node"});
  project.resources.push_back({.group = "cert-manager.io",
                               .version = "v1",
                               .kind = "Certificate",
                               .plural = "certificates",
                               .external = true,
                               .header = "external/cert_manager/v1/types.h",
                               .includes = {"external/acme/v1/types.h"},
                               .type = "cert_manager::v1::Certificate",
                               .controllers = {{"src/a_controller.h", "SetupA"}, {"src/b_controller.h", "SetupB"}}});
  const std::string text = ToText(project);
  const Project read = ParseProject(text).value();
  EXPECT_EQ(ToText(read), text);
  ASSERT_EQ(read.resources.size(), 3u);
  EXPECT_TRUE(read.resources[0].conversion.exists());
  EXPECT_FALSE(!read.resources[1].controllers.empty());
  EXPECT_TRUE(read.resources[1].built_in);
  EXPECT_TRUE(read.resources[0].webhooks.at(1).validation);
  EXPECT_FALSE(read.resources[0].webhooks.at(1).defaulting);
  EXPECT_TRUE(read.resources[2].external);
  EXPECT_EQ(read.resources[2].controllers.at(1).setup, "SetupB");
  EXPECT_NE(read.Find("", "v1", "Node"), nullptr);
  EXPECT_EQ(read.Find("", "v2", "Node"), nullptr);
}

TEST(ProjectTest, RefusesWhatItDoesNotKnow) {
  const auto message = [](std::string_view text) {
    const Result<Project> read = ParseProject(text);
    return read ? "" : read.error().message();
  };
  EXPECT_THAT(message("version: \"3\"\n"), Not(""));
  EXPECT_THAT(message("{}"), HasSubstr("expected \"layout\": 1"));
  EXPECT_THAT(message(R"({"layout": 1})"), HasSubstr("name or domain is missing"));
  EXPECT_THAT(message(R"({"layout": 1, "name": "a", "domain": "b", "resources": [{}]})"), HasSubstr("resources[0]"));
  EXPECT_THAT(message(R"({"layout": 2, "name": "a", "domain": "b"})"), HasSubstr("a newer kubexx writes"));
  EXPECT_THAT(message(R"({"layout": 1, "name": "../a", "domain": "b"})"), HasSubstr("--project-name: \"../a\""));
  EXPECT_THAT(message(R"({"layout": 1, "name": "a", "domain": "b c"})"), HasSubstr("--domain: \"b c\""));
  const auto with = [&](std::string_view controller) {
    return message(
        R"({"layout": 1, "name": "a", "domain": "b", "resources": [{"group": "g.b", "version": "v1", "kind": "K", "header": "k.h", "controller": )" +
        std::string(controller) + "}]}");
  };
  EXPECT_EQ(with(R"({"header": "a.h", "setup": "S"})"), "");
  EXPECT_THAT(with(R"([{"header": "a.h"}])"), HasSubstr("controller: header or setup is missing"));
  EXPECT_THAT(with(R"({"header": "a.h\"\n#error", "setup": "S"})"), HasSubstr("neither a header nor a C++ name"));
}

TEST(ProjectTest, AnOlderWebhookMayDoBoth) {
  const Project read =
      ParseProject(R"({"layout": 1, "name": "a", "domain": "b", "resources": [{"group": "g.b", "version": "v1", "kind": "K",
    "header": "k.h", "webhook": {"header": "src/k_webhook.h", "setup": "SetupKWebhook"}}]})")
          .value();
  EXPECT_TRUE(read.resources.at(0).webhooks.at(0).defaulting && read.resources[0].webhooks[0].validation);
}

}  // namespace
}  // namespace kube::scaffold
