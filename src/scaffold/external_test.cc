// Kinds of other projects: from headers in external/, and what is said about Go packages without Go.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <memory>

#include "scaffold/scaffold.h"
#include "testing/temporary_directory.h"

namespace kube::scaffold {
namespace {

namespace fs = std::filesystem;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kTypes = R"(// +groupName=cert-manager.io
// +versionName=v1
#pragma once

#include "shared/v1/types.h"

namespace cert_manager::v1 {
// +kubebuilder:resource:scope=Cluster,path=clusterissuers
struct ClusterIssuer {
  kube::meta::v1::ObjectMeta metadata{};
  shared::v1::Ref ref{};
  KUBE_TABLE(ClusterIssuer);
};
}  // namespace cert_manager::v1
)";
constexpr const char* kShared = R"(// +groupName=shared.io
// +versionName=v1
#pragma once
namespace shared::v1 {
struct Ref {
  kube::String name{};
  KUBE_TABLE(Ref);
};
}  // namespace shared::v1
)";

class ExternalTest : public ::testing::Test {
 protected:
  ExternalTest() {
    Write("external/cert_manager/v1/types.h", kTypes);
    Write("external/shared/v1/types.h", kShared);
  }
  const std::string& folder() const { return dir_->path(); }
  void Write(const std::string& name, const std::string& text) const {
    fs::create_directories(fs::path(folder() + "/" + name).parent_path());
    std::ofstream(folder() + "/" + name) << text;
  }
  std::string Problem(const ExternalOptions& options, const std::string& kind = "ClusterIssuer") const {
    const Result<ExternalKind> found = FindExternalKind(folder(), options, "cert-manager", "v1", kind);
    return found ? "" : found.error().message();
  }

  const ExternalOptions options_{.path = "external/cert_manager/v1/types.h", .domain = "io", .module = ""};

 private:
  const std::unique_ptr<kube::testing::internal::TemporaryDirectory> dir_ =
      kube::testing::internal::TemporaryDirectory::Create("external").value();
};

TEST_F(ExternalTest, FindsAKindInAHeader) {
  const ExternalKind found = FindExternalKind(folder(), options_, "cert-manager", "v1", "ClusterIssuer").value();
  EXPECT_TRUE(found.files.empty());
  EXPECT_EQ(found.resource.group, "cert-manager.io");
  EXPECT_EQ(found.resource.plural, "clusterissuers");
  EXPECT_FALSE(found.resource.namespaced);
  EXPECT_EQ(found.resource.type, "cert_manager::v1::ClusterIssuer");
  EXPECT_THAT(found.resource.includes, ElementsAre("external/shared/v1/types.h"));

  const Project project{.name = "books", .domain = "my.domain"};
  const Scaffold made = CreateApi(project, {.group = "cert-manager", .version = "v1", .kind = "ClusterIssuer", .external = found}).value();
  std::vector<std::string> paths;
  for (const ScaffoldFile& file : made.files) {
    paths.push_back(file.path);
    if (file.path == "src/clusterissuer_controller.cc") {
      EXPECT_THAT(file.text, HasSubstr("#include \"external/cert_manager/v1/types.h\"\n"));
      EXPECT_THAT(file.text, HasSubstr("using cert_manager::v1::ClusterIssuer;"));
    }
    EXPECT_THAT(file.text, Not(HasSubstr("crd/cert-manager.io"))) << "the definition is not the project's to deploy";
  }
  EXPECT_THAT(paths, Contains("src/clusterissuer_controller.cc"));
  const Project after = made.project;
  EXPECT_FALSE(CreateWebhook(after, {.group = "cert-manager", .kind = "ClusterIssuer", .conversion = true}));
  const Scaffold hook = CreateWebhook(after, {.group = "cert-manager", .kind = "ClusterIssuer", .validation = true}).value();
  ASSERT_EQ(hook.project.resources.size(), 1u);
  EXPECT_EQ(hook.project.resources[0].webhooks.size(), 1u);
}

TEST_F(ExternalTest, SaysWhatIsWrong) {
  EXPECT_THAT(Problem(options_, "Certificate"),
              HasSubstr("has no cert-manager.io/v1 Certificate: it has cert-manager.io/v1 ClusterIssuer"));
  EXPECT_THAT(Problem({.path = options_.path, .domain = "org", .module = ""}), HasSubstr("has no cert-manager.org/v1 ClusterIssuer"));
  EXPECT_THAT(Problem({.path = "github.com/a/b/v1", .domain = "io", .module = ""}), HasSubstr("pass --external-api-module"));
  EXPECT_THAT(Problem({.path = "github.com/a/b/v1", .domain = "io", .module = "github.com/x@v1.0.0"}),
              HasSubstr("is not in the module github.com/x"));
  Write("other.h", kTypes);
  EXPECT_THAT(Problem({.path = "other.h", .domain = "io", .module = ""}), HasSubstr("is not in the folder external/"));
  EXPECT_THAT(Problem({.path = "external/../other.h", .domain = "io", .module = ""}), HasSubstr("is not in the folder external/"));
  Write("external/broken.h", "struct {");
  EXPECT_THAT(Problem({.path = "external/broken.h", .domain = "io", .module = ""}), HasSubstr("external/broken.h:1"));
}

}  // namespace
}  // namespace kube::scaffold
