// kubexx crd compat, crd validate and migrate storage.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <fstream>
#include <memory>
#include <optional>
#include <sstream>

#include "command.h"
#include "kube/client/client.h"
#include "kube/codec/json.h"
#include "kube/control/crds.h"
#include "kube/testing/api_server.h"
#include "testing/temporary_directory.h"

namespace kube::app {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

struct Ran {
  ExitCode code;
  std::string out;
  std::string err;
};

class CrdCommandsTest : public ::testing::Test {
 protected:
  Ran Kubexx(const std::vector<std::string>& args, const std::string& input = "") const {
    std::istringstream in(input);
    std::ostringstream out, err;
    Streams io{in, out, err};
    const ExitCode code = RunProgram(args, io);
    return {code, out.str(), err.str()};
  }
  std::string File(const std::string& name, const std::string& text) const {
    const std::string path = dir_->path() + "/" + name;
    std::ofstream(path) << text;
    return path;
  }
  static std::string Crd(const std::string& field, bool v2_stored = false, const std::string& plural = "widgets") {
    const std::string schema =
        "schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {a: " + field + "}}}}}";
    return "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: " + plural +
           ".a.com}\nspec:\n  group: a.com\n  scope: Namespaced\n  names: {plural: " + plural + ", kind: Widget" + plural.substr(0, 1) +
           "}\n  versions:\n  - {name: v1, served: true, storage: " + (v2_stored ? "false" : "true") + ", " + schema +
           "}\n  - {name: v2, served: true, storage: " + (v2_stored ? "true" : "false") + ", " + schema + "}\n";
  }
  void StartServer() {
    server_ = testing::ApiServer::Start().value();
    client_.emplace(server_->NewClient().value());
    kubeconfig_ = File("kubeconfig", server_->Kubeconfig());
  }
  static Context Patience() { return Context::Background().WithTimeout(std::chrono::minutes(2)); }

  const std::unique_ptr<testing::internal::TemporaryDirectory> dir_ = testing::internal::TemporaryDirectory::Create("kubexx-crd").value();
  std::unique_ptr<testing::ApiServer> server_;
  std::optional<Client> client_;
  std::string kubeconfig_;
};

TEST_F(CrdCommandsTest, CompatPrintsFindingsLikeACompiler) {
  const std::string old = File("old.yaml", Crd("{type: string}")), next = File("new.yaml", Crd("{type: string, maxLength: 3}"));
  const Ran ran = Kubexx({"crd", "compat", old, next});
  EXPECT_EQ(ran.code, ExitCode::kFailure);
  EXPECT_EQ(ran.out, next + ": document 1 (line 1): error: widgets.a.com v1 .spec.a: maxLength of 3 added [breaks stored objects]\n" +
                         next + ": document 1 (line 1): error: widgets.a.com v2 .spec.a: maxLength of 3 added [breaks stored objects]\n");
  EXPECT_EQ(ran.err, "kubexx crd compat: 2 changes break something\n");
  const Ran back = Kubexx({"crd", "compat", next, old});
  EXPECT_EQ(back.code, ExitCode::kOk);
  EXPECT_THAT(back.out, HasSubstr(": note: widgets.a.com v1 .spec.a: maxLength of 3 removed [harmless]"));
  EXPECT_EQ(Kubexx({"crd", "compat", "-q", next, old}).out, "");
  EXPECT_EQ(Kubexx({"crd", "compat", old, old}).out, "");
}

TEST_F(CrdCommandsTest, CompatPrintsJson) {
  const Ran ran = Kubexx({"crd", "compat", "-o", "json", File("old.yaml", Crd("{type: string}")), "-"}, Crd("{type: integer}"));
  EXPECT_EQ(ran.code, ExitCode::kFailure);
  const Value list = ParseJson(ran.out).value();
  ASSERT_EQ(list.list().size(), 2u);
  const Value& first = list.list()[0];
  EXPECT_EQ(first["crd"].string_value(), "widgets.a.com");
  EXPECT_EQ(first["where"].string_value(), "standard input: document 1 (line 1)");
  EXPECT_EQ(first["severity"].string_value(), "breaks stored objects");
  EXPECT_TRUE(first["breaks"].bool_value());
  EXPECT_EQ(first["version"].string_value(), "v1");
  EXPECT_EQ(first["path"].string_value(), ".spec.a");
  EXPECT_EQ(first["text"].string_value(), "type changed from string to integer");
}

TEST_F(CrdCommandsTest, CompatMatchesDefinitionsByName) {
  const std::string a = Crd("{type: string}"), b = Crd("{type: string}", false, "gizmos");
  const Ran ran = Kubexx({"crd", "compat", File("old.yaml", a + "---\n" + b), File("new.yaml", a)});
  EXPECT_EQ(ran.code, ExitCode::kFailure);
  EXPECT_THAT(ran.out, HasSubstr("error: gizmos.a.com: the definition was removed: deleting it deletes all objects"));
  const Ran back = Kubexx({"crd", "compat", File("old.yaml", a), File("new.yaml", a + "---\n" + b)});
  EXPECT_EQ(back.code, ExitCode::kOk);
  EXPECT_THAT(back.out, HasSubstr("note: gizmos.a.com: the definition is new"));
  // One each: what is compared is clear.
  EXPECT_THAT(Kubexx({"crd", "compat", File("old.yaml", a), File("new.yaml", b)}).out,
              HasSubstr("spec.names.plural: changed from widgets to gizmos"));
}

TEST_F(CrdCommandsTest, CompatReadsTheClusterWithItsStatus) {
  StartServer();
  ASSERT_TRUE(InstallCrds(Patience(), *client_, ParseCrds(Crd("{type: string}"), "").value()));
  const std::string same = File("same.yaml", Crd("{type: string}"));
  EXPECT_EQ(Kubexx({"crd", "compat", "--kubeconfig", kubeconfig_, "cluster:widgets.a.com", same}).code, ExitCode::kOk);
  const Ran missing = Kubexx({"crd", "compat", "--kubeconfig", kubeconfig_, "cluster:gizmos.a.com", same});
  EXPECT_EQ(missing.code, ExitCode::kFailure);
  EXPECT_THAT(missing.err, HasSubstr("\"gizmos.a.com\" not found"));
}

TEST_F(CrdCommandsTest, CompatMisuse) {
  EXPECT_EQ(Kubexx({"crd", "compat", "-", "-"}).code, ExitCode::kUsage);
  EXPECT_EQ(Kubexx({"crd", "compat", "a"}).code, ExitCode::kUsage);
  const std::string map = File("map.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n");
  const Ran ran = Kubexx({"crd", "compat", map, map});
  EXPECT_EQ(ran.code, ExitCode::kFailure);
  EXPECT_THAT(ran.err, HasSubstr("map.yaml: document 1 (line 1): expected a CustomResourceDefinition, got v1 ConfigMap \"x\""));
  const Ran unknown = Kubexx({"crd", "compta", "a", "b"});
  EXPECT_EQ(unknown.code, ExitCode::kUsage);
  EXPECT_THAT(unknown.err, AllOf(HasSubstr("unknown command \"crd compta\""), HasSubstr("did you mean crd compat?")));
  EXPECT_EQ(Kubexx({"crd"}).code, ExitCode::kUsage);
  EXPECT_THAT(Kubexx({"help", "crd", "compat"}).out, HasSubstr("kubexx crd compat [flags] OLD NEW"));
}

TEST_F(CrdCommandsTest, ValidatePrintsTheServersMessages) {
  const std::string crd = File("crd.yaml", Crd("{type: string, maxLength: 3, x-kubernetes-validations: [{rule: 'true'}]}"));
  const std::string objects = File("objects.yaml", R"(apiVersion: a.com/v1
kind: Widgetw
metadata: {name: good, namespace: x}
spec: {a: abc}
---
apiVersion: a.com/v2
kind: Widgetw
metadata: {name: Bad}
spec: {a: abcd, b: 1}
)");
  const Ran ran = Kubexx({"crd", "validate", crd, objects});
  EXPECT_EQ(ran.code, ExitCode::kFailure);
  EXPECT_THAT(ran.out,
              AllOf(HasSubstr("objects.yaml:5: warning: Widgetw Bad: unknown field \"spec.b\"\n"),
                    HasSubstr("objects.yaml:5: error: Widgetw Bad: metadata.name: Invalid value: \"Bad\": a lowercase RFC 1123 subdomain"),
                    HasSubstr("objects.yaml:5: error: Widgetw Bad: spec.a: Too long: may not be more than 3 bytes")));
  EXPECT_EQ(ran.err, "2 objects, 1 invalid; 2 CEL rules were not evaluated\n");
}

TEST_F(CrdCommandsTest, ValidateReadsStandardInputListsAndJson) {
  const std::string crd = File("crd.yaml", Crd("{type: string, maxLength: 3}"));
  const Ran ran = Kubexx({"crd", "validate", crd, "-"}, R"({"apiVersion":"v1","kind":"List","items":[
    {"apiVersion":"a.com/v1","kind":"Widgetw","metadata":{"name":"a"},"spec":{"a":"x"}},
    {"apiVersion":"a.com/v1","kind":"Widgetw","metadata":{"name":"b"},"spec":{"a":1}}]})");
  EXPECT_EQ(ran.code, ExitCode::kFailure);
  EXPECT_EQ(ran.out,
            "standard input:1, item 2: error: Widgetw b: spec.a: Invalid value: \"integer\": spec.a in body must be of type string: "
            "\"integer\"\n");
  EXPECT_EQ(ran.err, "2 objects, 1 invalid\n");
}

TEST_F(CrdCommandsTest, ValidatePrintsOneLineWhateverTheKeysAre) {
  const std::string crd = File("crd.yaml", Crd("{type: object, additionalProperties: {type: string}}"));
  const Ran ran =
      Kubexx({"crd", "validate", crd, "-"}, "{apiVersion: a.com/v1, kind: Widgetw, metadata: {name: b}, spec: {a: {\"x\\n\\e[2J\": 1}}}");
  EXPECT_EQ(ran.out,
            "standard input:1: error: Widgetw b: spec.a.x\\n\\x1b[2J: Invalid value: \"integer\": spec.a.x\\n\\x1b[2J in body must be of "
            "type string: "
            "\"integer\"\n");
}

TEST_F(CrdCommandsTest, ValidateStrictAndOld) {
  const std::string crd = File("crd.yaml", Crd("{type: string, maxLength: 3}"));
  const std::string head = "apiVersion: a.com/v1\nkind: Widgetw\nmetadata: {name: a}\n";
  const std::string unknown = File("unknown.yaml", head + "spec: {b: 1}\n");
  EXPECT_EQ(Kubexx({"crd", "validate", crd, unknown}).code, ExitCode::kOk);
  const Ran strict = Kubexx({"crd", "validate", "--strict", crd, unknown});
  EXPECT_EQ(strict.code, ExitCode::kFailure);
  EXPECT_THAT(strict.out, HasSubstr("error: Widgetw a: unknown field \"spec.b\""));
  const std::string twice = File("twice.yaml", head + "spec: {a: x, a: y}\n");
  EXPECT_THAT(Kubexx({"crd", "validate", crd, twice}).out, HasSubstr("warning: Widgetw a: duplicate field \"spec.a\""));

  const std::string invalid = File("invalid.yaml", head + "spec: {a: abcd}\n");
  EXPECT_EQ(Kubexx({"crd", "validate", crd, invalid}).code, ExitCode::kFailure);
  EXPECT_EQ(Kubexx({"crd", "validate", "--old", invalid, crd, invalid}).code, ExitCode::kOk);
}

TEST_F(CrdCommandsTest, ValidateMisuse) {
  const std::string crd = File("crd.yaml", Crd("{type: string}"));
  EXPECT_EQ(Kubexx({"crd", "validate", crd}).code, ExitCode::kUsage);
  EXPECT_THAT(Kubexx({"crd", "validate", crd, "none.yaml"}).err, HasSubstr("none.yaml: No such file or directory"));
  EXPECT_THAT(Kubexx({"crd", "validate", crd, "-"}, "# nothing").err, HasSubstr("standard input: holds no objects"));
  EXPECT_THAT(Kubexx({"crd", "validate", crd, "-"}, "{apiVersion: v1, kind: Pod, metadata: {name: p}}").out,
              HasSubstr("no definition of v1 Pod is given"));
  EXPECT_THAT(Kubexx({"crd", "validate", crd, "-"}, "just text").out, HasSubstr("error"));
  EXPECT_THAT(Kubexx({"crd", "validate", File("bad.yaml", Crd("{}")), "-"}, "a: 1").err, HasSubstr("properties[a].type: Required value"));
}

TEST_F(CrdCommandsTest, MigratesStorageAndKeepsItsProgress) {
  StartServer();
  ASSERT_TRUE(InstallCrds(Patience(), *client_, ParseCrds(Crd("{type: string}"), "").value()));
  for (const char* name : {"a", "b", "c"}) {
    ASSERT_TRUE(
        client_->Resource(Gvr{"a.com", "v1", "widgets"}).Create(Patience(), DynamicObject({"a.com", "v1", "Widgetw"}, {"default", name})));
  }
  ASSERT_TRUE(InstallCrds(Patience(), *client_, ParseCrds(Crd("{type: string}", true), "").value()));
  const std::vector<std::string> command = {"migrate", "storage", "--kubeconfig", kubeconfig_, "--qps", "0", "widgets.a.com"};
  auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), command.begin(), command.end());
    return Kubexx(more);
  };
  const Ran dry = with({"--dry-run"});
  EXPECT_EQ(dry.code, ExitCode::kOk);
  EXPECT_THAT(dry.out, AllOf(HasSubstr("3 would be rewritten in v2"), HasSubstr("stays: this was a dry run")));

  // A run that could not do one of them.
  const std::string state = dir_->path() + "/state.json";
  server_->AddFault({.verb = "update", .resource = "widgets", .name = "b", .status = 422, .reason = "Invalid", .message = "no good"});
  const Ran first = with({"--page-size", "1", "--continue", state});
  EXPECT_EQ(first.code, ExitCode::kFailure);
  EXPECT_THAT(first.err, AllOf(HasSubstr("1 objects, 2 to go, last default/a\n"), HasSubstr("default/b: no good")));
  EXPECT_THAT(first.out, HasSubstr("status.storedVersions stays: 1 objects were not rewritten"));
  EXPECT_TRUE(std::ifstream(state).good());
  const Ran second = with({"--continue", state});
  EXPECT_EQ(second.code, ExitCode::kOk) << second.err;
  EXPECT_EQ(second.out,
            "widgets.a.com: 2 rewritten in v2, 0 changed by others, 0 deleted, 1 done before, 0 failed\n"
            "widgets.a.com: status.storedVersions is [v2]\n");
  EXPECT_FALSE(std::ifstream(state).good());
}

TEST_F(CrdCommandsTest, MigrateMisuse) {
  StartServer();
  const Ran missing = Kubexx({"migrate", "storage", "--kubeconfig", kubeconfig_, "none.a.com"});
  EXPECT_EQ(missing.code, ExitCode::kFailure);
  EXPECT_THAT(missing.err, HasSubstr("\"none.a.com\" not found"));
  const std::string junk = File("junk", "not json");
  EXPECT_THAT(Kubexx({"migrate", "storage", "--kubeconfig", kubeconfig_, "--continue", junk, "none.a.com"}).err,
              HasSubstr("does not hold the progress of a migration"));
  EXPECT_THAT(Kubexx({"migrate", "storage", "--kubeconfig", kubeconfig_, "--dry-run", "--continue", junk, "none.a.com"}).err,
              HasSubstr("--dry-run and --continue cannot be combined"));
  EXPECT_EQ(Kubexx({"migrate", "storage", "--kubeconfig", dir_->path() + "/none", "x"}).code, ExitCode::kFailure);
}

}  // namespace
}  // namespace kube::app
