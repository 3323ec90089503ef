// kubexx generate types: its flags, and which files it writes. What stands in them is tested in src/generate.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>

#include "command.h"
#include "kube/client/client.h"
#include "kube/control/crds.h"
#include "kube/testing/api_server.h"
#include "testing/temporary_directory.h"

namespace kube::app {
namespace {

using ::testing::HasSubstr;

constexpr const char* kCrd = R"(
apiVersion: v1
kind: Namespace
metadata: {name: x}
---
apiVersion: v1
kind: List
items:
- apiVersion: apiextensions.k8s.io/v1
  kind: CustomResourceDefinition
  metadata: {name: things.example.com}
  spec:
    group: example.com
    scope: Namespaced
    names: {kind: Thing, plural: things}
    versions:
    - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {a: {type: number}}}}}}}
)";

constexpr const char* kWidgets = R"(
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  scope: Cluster
  names: {kind: Widget, plural: widgets}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {size: {type: string, enum: [large, small]}}}}}}
)";

class GenerateTypesTest : public ::testing::Test {
 protected:
  struct Ran {
    ExitCode code;
    std::string out, err;
  };
  static Ran Run(std::vector<std::string> args, const std::string& input = "") {
    args.insert(args.begin(), {"generate", "types"});
    std::istringstream in(input);
    std::ostringstream out, err;
    Streams io{in, out, err};
    const ExitCode code = RunProgram(args, io);
    return {code, out.str(), err.str()};
  }
  std::string Path(const std::string& name) const { return dir_->path() + "/" + name; }
  std::string File(const std::string& name, const std::string& text) const {
    std::ofstream(Path(name)) << text;
    return Path(name);
  }
  std::string Text(const std::string& name) const {
    std::ostringstream out;
    out << std::ifstream(Path(name)).rdbuf();
    return out.str();
  }

  const std::unique_ptr<testing::internal::TemporaryDirectory> dir_ =
      testing::internal::TemporaryDirectory::Create("kubexx-generate-types").value();
};

TEST_F(GenerateTypesTest, ExplainsWrongFlags) {
  const auto refused = [](const std::vector<std::string>& args) {
    const Ran ran = Run(args);
    EXPECT_EQ(ran.code, ExitCode::kUsage);
    EXPECT_EQ(ran.out, "");
    return ran.err;
  };
  EXPECT_THAT(refused({}), HasSubstr("pass --from-crd, --from-openapi, --from-cluster or --from-go"));
  EXPECT_THAT(refused({"--from-crd", "x"}), HasSubstr("--out is missing"));
  EXPECT_THAT(refused({"--from-openapi", "x", "--out", "y"}), HasSubstr("--from-openapi needs --kind"));
  EXPECT_THAT(refused({"--from-crd", "x", "--out", "y", "--kind", "K"}), HasSubstr("--kind is for --from-openapi"));
  EXPECT_THAT(refused({"--from-crd", "-", "--from-openapi", "-", "--kind", "K", "--out", "y"}), HasSubstr("can be read only once"));
  EXPECT_THAT(refused({"--from-crd", "x", "--out", "y", "--builtins", "some"}), HasSubstr("expected equal, subset or never, got \"some\""));
  EXPECT_THAT(refused({"--from-crd", "x", "--out", "y", "--cpp-namespace", "a::class"}),
              HasSubstr("\"a::class\" is not the name of a namespace"));
}

TEST_F(GenerateTypesTest, ReadsGo) {
  std::filesystem::create_directories(Path("v1"));
  std::filesystem::create_directories(Path("shared"));
  File("v1/types.go",
       "// +groupName=example.com\npackage v1\n\nimport \"example.com/far/shared\"\n\ntype Net struct {\n\tName shared.Name "
       "`json:\"name\"`\n}\n");
  File("shared/name.go", "package shared\n\ntype Name string\n");
  const std::string import = "example.com/far=" + dir_->path();
  const Ran ran = Run({"--from-go", Path("v1"), "--import", import, "--out", Path("api")});
  EXPECT_EQ(ran.code, ExitCode::kOk) << ran.err;
  EXPECT_EQ(ran.out, "wrote " + Path("api/example/v1/types.h") + "\nwrote " + Path("api/far/shared/types.h") + "\n");
  EXPECT_THAT(Text("api/example/v1/types.h"), HasSubstr("  // +required\n  far::shared::Name name{};\n"));

  const auto refused = [](const std::vector<std::string>& args, ExitCode code) {
    const Ran wrong = Run(args);
    EXPECT_EQ(wrong.code, code);
    EXPECT_EQ(wrong.out, "");
    return wrong.err;
  };
  EXPECT_THAT(refused({"--from-go", "x", "--from-crd", "y", "--out", "z"}, ExitCode::kUsage),
              HasSubstr("--from-go cannot be combined with"));
  EXPECT_THAT(refused({"--from-crd", "x", "--import", "a=b", "--out", "z"}, ExitCode::kUsage), HasSubstr("--import is for --from-go"));
  EXPECT_THAT(refused({"--from-go", "x", "--import", "a=", "--out", "z"}, ExitCode::kUsage),
              HasSubstr("--import: expected PATH=DIR, got \"a=\""));
  EXPECT_THAT(refused({"--from-go", "x", "--builtins", "never", "--out", "z"}, ExitCode::kUsage), HasSubstr("are not for --from-go"));
  EXPECT_THAT(refused({"--from-go", Path("none"), "--out", Path("other")}, ExitCode::kFailure),
              HasSubstr("none: No such file or directory"));
  EXPECT_THAT(refused({"--from-go", Path("v1"), "--import", "example.com=" + Path("v1"), "--out", Path("other")}, ExitCode::kFailure),
              HasSubstr("types.go:4:8: package \"example.com/far/shared\": --import example.com="));
  EXPECT_FALSE(std::filesystem::exists(Path("other")));
}

TEST_F(GenerateTypesTest, WritesHeadersOnce) {
  const std::string crd = File("crd.yaml", kCrd), api = Path("api"), header = api + "/v1/thing_types.h";
  Ran ran = Run({"--from-crd", crd, "--out", api});
  EXPECT_EQ(ran.code, ExitCode::kOk) << ran.err;
  EXPECT_EQ(ran.out, "wrote " + header + "\n");
  EXPECT_EQ(ran.err, "kubexx generate types: these types have floating point numbers: pass --allow-dangerous-types to kubexx generate\n");
  const std::string text = Text("api/v1/thing_types.h");
  EXPECT_THAT(text, HasSubstr("namespace example::v1 {"));

  ran = Run({"--from-crd", "-", "--out", api}, kCrd);
  EXPECT_EQ(ran.code, ExitCode::kOk);
  EXPECT_EQ(ran.out, "");
  EXPECT_EQ(Run({"--from-crd", crd, "--out", api, "--check"}).code, ExitCode::kOk);

  File("api/v1/thing_types.h", "// mine");
  ran = Run({"--from-crd", crd, "--out", api, "--check"});
  EXPECT_EQ(ran.code, ExitCode::kFailure);
  EXPECT_EQ(ran.out, "differs: " + header + "\n");
  ran = Run({"--from-crd", crd, "--out", api});
  EXPECT_EQ(ran.code, ExitCode::kFailure);
  EXPECT_THAT(ran.err, HasSubstr(header + " exists and has other content\nkubexx generate types: nothing was written; pass --force"));
  EXPECT_EQ(Text("api/v1/thing_types.h"), "// mine");
  EXPECT_EQ(Run({"--from-crd", crd, "--out", api, "--force"}).code, ExitCode::kOk);
  EXPECT_EQ(Text("api/v1/thing_types.h"), text);
  EXPECT_EQ(Run({"--from-crd", crd, "--out", api, "--cpp-namespace", "shop::api", "--force"}).code, ExitCode::kOk);
  EXPECT_THAT(Text("api/v1/thing_types.h"), HasSubstr("namespace shop::api::v1 {"));
}

TEST_F(GenerateTypesTest, ReadsOpenApi) {
  const Ran ran = Run({"--from-openapi", "-", "--kind", "example.com/v1/Net", "--out", Path("api")},
                      R"({"swagger": "2.0", "definitions": {"Net": {"properties": {"spec": {"properties": {"a": {"type": "string"}}}}}}})");
  EXPECT_EQ(ran.code, ExitCode::kOk) << ran.err;
  EXPECT_THAT(Text("api/v1/net_types.h"), HasSubstr("struct NetSpec {\n  std::optional<kube::String> a{};"));
}

// Both ways give the header that the file gives.
TEST_F(GenerateTypesTest, ReadsDefinitionsOfACluster) {
  const std::unique_ptr<testing::ApiServer> server = testing::ApiServer::Start().value();
  const std::string config = File("kubeconfig", server->Kubeconfig());
  const Client client = server->NewClient().value();
  const std::vector<CrdSource> crds = ParseCrds(kWidgets, "").value();
  ASSERT_TRUE(InstallCrds(Context::Background().WithTimeout(std::chrono::minutes(2)), client, crds));

  Ran ran = Run({"--from-crd", "-", "--out", Path("file")}, kWidgets);
  EXPECT_EQ(ran.err, "");
  ran = Run({"--from-cluster", "widgets.example.com", "--kubeconfig", config, "--out", Path("cluster")});
  EXPECT_EQ(ran.code, ExitCode::kOk);
  EXPECT_EQ(ran.err, "");
  EXPECT_EQ(Text("cluster/v1/widget_types.h"), Text("file/v1/widget_types.h"));
  EXPECT_THAT(Text("file/v1/widget_types.h"), HasSubstr("WidgetSize size{};"));

  ran = Run({"--from-cluster", "gadgets.example.com", "--kubeconfig", config, "--out", Path("cluster")});
  EXPECT_EQ(ran.code, ExitCode::kFailure);
  EXPECT_THAT(ran.err, HasSubstr("--from-cluster gadgets.example.com: "));
}

TEST_F(GenerateTypesTest, NamesWhatCannotBeRead) {
  const auto failed = [&](std::vector<std::string> args, const std::string& input = "") {
    args.insert(args.end(), {"--out", Path("api")});
    const Ran ran = Run(args, input);
    EXPECT_EQ(ran.code, ExitCode::kFailure);
    EXPECT_EQ(ran.out, "");
    EXPECT_FALSE(std::filesystem::exists(Path("api")));
    return ran.err;
  };
  EXPECT_THAT(failed({"--from-crd", Path("no.yaml")}), HasSubstr("no.yaml: No such file"));
  EXPECT_THAT(failed({"--from-crd", "-"}, "kind: Pod"), HasSubstr("-: holds no CustomResourceDefinition"));
  EXPECT_THAT(failed({"--from-crd", "-"}, "a: ["), HasSubstr("standard input: "));
  EXPECT_THAT(failed({"--from-crd", "-"}, "kind: CustomResourceDefinition"),
              HasSubstr("standard input: apiVersion: expected apiextensions.k8s.io/v1"));
  EXPECT_THAT(failed({"--from-openapi", "-", "--kind", "K"}, "{}"), HasSubstr("standard input: no OpenAPI document"));
  const std::string config = File("config", "apiVersion: v1\nkind: Config\nclusters: []\ncontexts: []\ncurrent-context: none\n");
  EXPECT_THAT(failed({"--from-cluster", "things.example.com", "--kubeconfig", config}), HasSubstr("--from-cluster things.example.com: "));
}

}  // namespace
}  // namespace kube::app
