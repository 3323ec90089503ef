// kubexx init and kubexx create: flags, questions, and what happens to files that exist. What stands in the files is tested in
// src/scaffold, and built by tests/install/scaffold.sh.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>

#include "command.h"
#include "testing/temporary_directory.h"

namespace kube::app {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

class ScaffoldTest : public ::testing::Test {
 protected:
  struct Ran {
    ExitCode code;
    std::string out, err;
  };
  // With `answers` a person sits at a terminal.
  Ran Run(std::vector<std::string> args, const std::string& answers = "") const {
    args.insert(args.end(), {"--project-dir", folder()});
    std::istringstream in(answers);
    std::ostringstream out, err;
    Streams io{in, out, err, false, !answers.empty()};
    const ExitCode code = RunProgram(args, io);
    return {code, out.str(), err.str()};
  }
  std::string folder() const { return dir_->path() + "/My Books"; }
  std::string Text(const std::string& name) const {
    std::ostringstream out;
    out << std::ifstream(folder() + "/" + name).rdbuf();
    return out.str();
  }
  void Write(const std::string& name, const std::string& text) const {
    fs::create_directories(fs::path(folder() + "/" + name).parent_path());
    std::ofstream(folder() + "/" + name) << text;
  }
  std::vector<std::string> Files() const {
    std::vector<std::string> out;
    if (!fs::exists(folder())) return out;
    for (const auto& entry : fs::recursive_directory_iterator(folder())) {
      if (entry.is_regular_file()) out.push_back(entry.path().lexically_relative(folder()).string());
    }
    std::sort(out.begin(), out.end());
    return out;
  }

 private:
  const std::unique_ptr<testing::internal::TemporaryDirectory> dir_ = testing::internal::TemporaryDirectory::Create("scaffold").value();
};

TEST_F(ScaffoldTest, InitMakesAProject) {
  const Ran ran = Run({"init", "my.domain"});
  EXPECT_EQ(ran.code, ExitCode::kOk) << ran.err;
  EXPECT_THAT(
      Files(),
      ElementsAre(".clang-format", ".containerignore", ".github/workflows/test.yml", ".gitignore", "CMakeLists.txt", "CMakePresets.json",
                  "Containerfile", "Makefile", "PROJECT", "README.md", "config/components/cert-manager/certificate.yaml",
                  "config/components/cert-manager/kustomization.yaml", "config/components/network-policy/kustomization.yaml",
                  "config/components/network-policy/network_policy.yaml", "config/components/prometheus/kustomization.yaml",
                  "config/components/prometheus/monitor.yaml", "config/kustomization.yaml", "config/manager/deployment.yaml",
                  "config/manager/namespace.yaml", "config/rbac/role_binding.yaml", "deploy/kustomization.yaml", "deploy/make-root",
                  "src/main.cc", "tests/cluster.h"));
  EXPECT_THAT(ran.out, HasSubstr("wrote " + folder() + "/src/main.cc\n"));
  EXPECT_THAT(ran.out, HasSubstr("Next: kubexx create api "));
  EXPECT_THAT(Text("PROJECT"), HasSubstr("\"domain\": \"my.domain\""));
  EXPECT_THAT(Text("src/main.cc"), HasSubstr("\"my-books\"")) << "the name of the folder";
}

TEST_F(ScaffoldTest, InitTakesTheDomainAsAFlagToo) {
  EXPECT_EQ(Run({"init", "--domain", "my.domain", "--repo", "my.domain/guestbook", "--project-name", "guestbook"}).code, ExitCode::kOk);
  EXPECT_THAT(Text("PROJECT"), HasSubstr("\"name\": \"guestbook\""));
  EXPECT_EQ(Run({"init", "my.domain", "--domain", "other.domain"}).code, ExitCode::kUsage);
}

TEST_F(ScaffoldTest, ADryRunWritesNothing) {
  const Ran ran = Run({"init", "my.domain", "--dry-run"});
  EXPECT_EQ(ran.code, ExitCode::kOk);
  EXPECT_THAT(ran.out, HasSubstr("would write " + folder() + "/PROJECT\n"));
  EXPECT_THAT(Files(), IsEmpty());
}

TEST_F(ScaffoldTest, FilesOfTheUserAreNotOverwritten) {
  Write("Makefile", "all:\n");
  Ran ran = Run({"init", "my.domain"});
  EXPECT_EQ(ran.code, ExitCode::kFailure);
  EXPECT_EQ(ran.err,
            folder() + "/Makefile: exists\nkubexx init: nothing was written; move these files away, or overwrite them with --force\n");
  EXPECT_EQ(ran.out, "");
  EXPECT_THAT(Files(), ElementsAre("Makefile"));
  EXPECT_EQ(Run({"init", "my.domain", "--dry-run"}).code, ExitCode::kFailure);

  ran = Run({"init", "my.domain", "--force", "--dry-run"});
  EXPECT_THAT(ran.out, HasSubstr("would update " + folder() + "/Makefile\n"));
  EXPECT_EQ(Text("Makefile"), "all:\n");
  EXPECT_EQ(Run({"init", "my.domain", "--force"}).code, ExitCode::kOk);
  EXPECT_THAT(Text("Makefile"), HasSubstr("manifests:"));
  EXPECT_EQ(Run({"init", "my.domain"}).code, ExitCode::kOk) << "the same project again";

  fs::remove(folder() + "/Makefile");
  fs::create_directory(folder() + "/Makefile");
  ran = Run({"init", "my.domain", "--force"});
  EXPECT_EQ(ran.code, ExitCode::kFailure);
  EXPECT_THAT(ran.err, HasSubstr("Makefile: exists and is no file"));
}

TEST_F(ScaffoldTest, AnotherProjectIsNotReplaced) {
  ASSERT_EQ(Run({"init", "my.domain"}).code, ExitCode::kOk);
  const Ran ran = Run({"init", "other.domain"});
  EXPECT_EQ(ran.code, ExitCode::kFailure);
  EXPECT_THAT(ran.err, HasSubstr("PROJECT: exists\n"));
  EXPECT_THAT(Text("PROJECT"), HasSubstr("my.domain"));
}

TEST_F(ScaffoldTest, AsksForTheDomainOnATerminalOnly) {
  Ran ran = Run({"init"});
  EXPECT_EQ(ran.code, ExitCode::kUsage);
  EXPECT_THAT(ran.err, HasSubstr("the domain is missing"));
  EXPECT_THAT(Files(), IsEmpty());

  ran = Run({"init"}, "no domain\nbooks.example.com\n");
  EXPECT_EQ(ran.code, ExitCode::kOk);
  EXPECT_THAT(ran.err, HasSubstr("Domain of the project's API groups [my.domain]: --domain: \"no domain\" is no domain"));
  EXPECT_THAT(Text("PROJECT"), HasSubstr("\"domain\": \"books.example.com\""));
}

TEST_F(ScaffoldTest, NamesAreChecked) {
  EXPECT_THAT(Run({"init", "My_Domain"}).err, HasSubstr("kubexx init: --domain: \"My_Domain\" is no domain"));
  EXPECT_THAT(Run({"init", "my.domain", "--project-name", "Guest Book"}).err,
              HasSubstr("--project-name: \"Guest Book\" cannot name objects"));
  EXPECT_THAT(Files(), IsEmpty());
}

TEST_F(ScaffoldTest, CreateAddsFilesToAProject) {
  Ran ran = Run({"create", "api", "--group", "webapp", "--version", "v1", "--kind", "Guestbook"});
  EXPECT_EQ(ran.code, ExitCode::kFailure);
  EXPECT_THAT(ran.err, HasSubstr("PROJECT: no such file; `kubexx init --domain my.domain` makes a project"));

  ASSERT_EQ(Run({"init", "my.domain"}).code, ExitCode::kOk);
  ran = Run({"create", "api", "--group", "webapp", "--version", "v1", "--kind", "Guestbook"});
  EXPECT_EQ(ran.code, ExitCode::kOk) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("updated " + folder() + "/PROJECT\nwrote " + folder() + "/api/v1/guestbook_types.h\n"));
  EXPECT_THAT(ran.out, HasSubstr("Next: edit api/v1/guestbook_types.h"));
  ran = Run(
      {"create", "webhook", "--group", "webapp", "--version", "v1", "--kind", "Guestbook", "--defaulting", "--programmatic-validation"});
  EXPECT_EQ(ran.code, ExitCode::kOk) << ran.err;
  EXPECT_THAT(Text("src/guestbook_webhook.cc"), HasSubstr(".Default(SetDefaults).Validate(Validate)"));

  Write("src/guestbook_controller.cc", "// mine\n");
  ran = Run({"create", "api", "--group", "webapp", "--version", "v1", "--kind", "Guestbook"});
  EXPECT_EQ(ran.code, ExitCode::kFailure);
  EXPECT_THAT(ran.err, StartsWith(folder() + "/src/guestbook_controller.cc: exists\nkubexx create api: nothing was written"));
  EXPECT_EQ(Run({"create", "api", "--group", "webapp", "--version", "v1", "--kind", "Author"}).code, ExitCode::kOk);
  EXPECT_EQ(Text("src/guestbook_controller.cc"), "// mine\n");
}

TEST_F(ScaffoldTest, CreateAsksForWhatIsMissing) {
  ASSERT_EQ(Run({"init", "my.domain"}).code, ExitCode::kOk);
  EXPECT_THAT(Run({"create", "api"}).err, HasSubstr("kubexx create api: --group is missing"));
  EXPECT_THAT(Run({"create", "api", "--group", ""}).err, HasSubstr("--version is missing"));
  EXPECT_THAT(Run({"create", "api", "--group", "", "--version", "v1"}).err, HasSubstr("--kind is missing"));
  EXPECT_THAT(Run({"create", "webhook"}).err, HasSubstr("kubexx create webhook: --kind is missing"));
  const Ran ran = Run({"create", "api"}, "webapp\n\nguestbook\nGuestbook\n");
  EXPECT_EQ(ran.code, ExitCode::kOk) << ran.err;
  EXPECT_THAT(ran.err, HasSubstr("Group, without my.domain: Version [v1]: Kind, such as Guestbook: --kind: \"guestbook\" is no kind"));
  EXPECT_THAT(Text("PROJECT"), HasSubstr("\"type\": \"webapp::v1::Guestbook\""));
}

TEST_F(ScaffoldTest, CreateChecksItsFlags) {
  ASSERT_EQ(Run({"init", "my.domain"}).code, ExitCode::kOk);
  const std::vector<std::string> api = {"create", "api", "--group", "webapp", "--version", "v1", "--kind"};
  const auto with = [&](std::vector<std::string> more) {
    std::vector<std::string> out = api;
    out.insert(out.end(), more.begin(), more.end());
    return out;
  };
  EXPECT_THAT(Run(with({"guestbook"})).err, HasSubstr("kubexx create api: --kind: \"guestbook\" is no kind"));
  EXPECT_THAT(Run(with({"Guestbook", "--controller", "--no-controller"})).err, HasSubstr("--controller and --no-controller"));
  EXPECT_EQ(Run(with({"Guestbook", "--cluster-scoped", "--no-controller", "--make=false", "--dry-run"})).code, ExitCode::kOk);
  EXPECT_THAT(Text("PROJECT"), Not(HasSubstr("Guestbook"))) << "a dry run";
  EXPECT_EQ(Run(with({"Guestbook", "--controller=true", "--resource=true", "--namespaced=false"})).code, ExitCode::kOk);
  EXPECT_THAT(Text("api/v1/guestbook_types.h"), HasSubstr("scope=Cluster"));
  EXPECT_THAT(Run({"create", "webhook", "--kind", "Guestbook"}).err, HasSubstr("kubexx create webhook: what for?"));
  Write("PROJECT", "version: \"3\"\n");
  EXPECT_EQ(Run(with({"Author"})).code, ExitCode::kFailure);
}

TEST_F(ScaffoldTest, FlagsOfKubebuilder) {
  Ran ran = Run(
      {"init", "--domain", "my.domain", "--plugins=go/v4", "--multigroup", "--license", "apache2", "--owner", "The authors", "--repo=a/b"});
  EXPECT_EQ(ran.code, ExitCode::kOk);
  EXPECT_THAT(ran.err, HasSubstr("kubexx init: --license has no effect: "));
  EXPECT_THAT(ran.err, HasSubstr("kubexx init: --multigroup has no effect: "));
  ran = Run(
      {"create", "api", "--group", "g", "--version", "v1", "--kind", "Cache", "--image=memcached:1", "--plugins=deploy-image/v1-alpha"});
  EXPECT_EQ(ran.code, ExitCode::kUsage);
  EXPECT_THAT(ran.err, HasSubstr("kubexx create api: --image: there is no scaffold for a kind that runs an image: "));
  EXPECT_THAT(Files(), Not(::testing::Contains("api/v1/cache_types.h")));
  EXPECT_EQ(Run({"create", "api", "--group", "g", "--version", "v1", "--kind", "Cache", "--plugins=go/v4", "--make=false"}).code,
            ExitCode::kOk);
  EXPECT_EQ(
      Run({"create", "webhook", "--group", "g", "--version", "v1", "--kind", "Cache", "--plural=caches", "--defaulting", "--make=false"})
          .code,
      ExitCode::kOk);
  EXPECT_THAT(Run({"create", "api", "--group", "g", "--version", "v1", "--kind", "Other", "--external-api-domain=io"}).err,
              HasSubstr("--external-api-path is missing"));
  EXPECT_THAT(Run({"edit", "--multigroup"}).err, HasSubstr("kubexx edit: there is nothing to edit"));
}

TEST_F(ScaffoldTest, NothingIsWrittenThroughLinks) {
  ASSERT_EQ(Run({"init", "my.domain"}).code, ExitCode::kOk);
  const std::string elsewhere = folder() + "/../elsewhere";
  fs::create_directories(elsewhere);
  fs::create_directory_symlink(elsewhere, folder() + "/api");
  const std::vector<std::string> args = {"create", "api", "--group", "webapp", "--version", "v1", "--kind", "Guestbook", "--force"};
  EXPECT_THAT(Run(args).err, HasSubstr("/api: is a symbolic link"));
  EXPECT_TRUE(fs::is_empty(elsewhere));
  fs::remove(folder() + "/api");
  Write("api", "a file\n");
  EXPECT_THAT(Run(args).err, HasSubstr("/api: exists and is no folder"));
  fs::remove(folder() + "/api");

  // One that leads nowhere, and PROJECT.
  fs::create_symlink(elsewhere + "/nowhere.cc", folder() + "/src/guestbook_controller.cc");
  EXPECT_THAT(Run(args).err, HasSubstr("/src/guestbook_controller.cc: is a symbolic link"));
  fs::remove(folder() + "/src/guestbook_controller.cc");
  fs::rename(folder() + "/PROJECT", elsewhere + "/PROJECT");
  fs::create_symlink(elsewhere + "/PROJECT", folder() + "/PROJECT");
  EXPECT_THAT(Run(args).err, HasSubstr("/PROJECT: is a symbolic link"));
  EXPECT_THAT(Files(), Not(::testing::Contains("api/v1/guestbook_types.h")));
}

TEST_F(ScaffoldTest, ABrokenProjectIsNotReplaced) {
  ASSERT_EQ(Run({"init", "my.domain"}).code, ExitCode::kOk);
  for (const char* text :
       {"", "{", "[]", "null", "{\"layout\": 99, \"name\": \"a\", \"domain\": \"b.c\"}", "\xff\xfe", "{\"layout\": \"1\"}"}) {
    Write("PROJECT", text);
    const Ran ran = Run({"create", "api", "--group", "webapp", "--version", "v1", "--kind", "Guestbook", "--force"});
    EXPECT_EQ(ran.code, ExitCode::kFailure) << text;
    EXPECT_THAT(ran.err, HasSubstr("/PROJECT: ")) << text;
    EXPECT_EQ(Text("PROJECT"), text);
  }
}

}  // namespace
}  // namespace kube::app
