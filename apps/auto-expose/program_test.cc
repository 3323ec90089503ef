// Flags, environment, config file, and the commands that need no cluster.
#include "program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "base/folder_test_util.h"
#include "settings_flags.h"

namespace auto_expose {
namespace {

using kube::internal::TestFile;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

struct Outcome {
  int code = 0;
  std::string out{}, err{};
};

Outcome Program(const std::vector<std::string>& arguments, std::string_view input = "") {
  std::istringstream in{std::string(input)};
  std::ostringstream out, err;
  const int code = RunProgram(arguments, std::vector<std::string>(), {in, out, err});
  return {code, out.str(), err.str()};
}

constexpr const char* kWeb = R"(apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: main, image: web, ports: [{containerPort: 80}]}]}
)";

// ---- where settings come from

struct Parsed {
  kube::ManagerFlags manager{"auto-expose"};
  ProgramFlags flags;
  kube::Result<void> result;
  explicit Parsed(const std::vector<std::string>& arguments, std::vector<std::string> environment = {}) {
    manager.SetEnvironment(std::move(environment));
    result = ParseFlags(manager, arguments, flags);
  }
};

TEST(AutoExposeArguments, CommandLineThenEnvironmentThenFile) {
  const TestFile file("domain: file.example.com\ningress-class: file\nworkers: 7\nopt-in: true\nleader-elect: true\n");
  const Parsed parsed({"--domain", "flag.example.com", "--config", file.path()},
                      {"AUTO_EXPOSE_DOMAIN=env.example.com", "AUTO_EXPOSE_INGRESS_CLASS=env", "PATH=/bin"});
  ASSERT_TRUE(parsed.result.ok()) << parsed.result.error().ToString();
  EXPECT_EQ(parsed.flags.settings.domain, "flag.example.com");
  EXPECT_EQ(parsed.flags.settings.ingress_class, "env");
  EXPECT_EQ(parsed.flags.workers, 7);
  EXPECT_TRUE(parsed.flags.settings.opt_in);
  EXPECT_TRUE(parsed.manager.options.leader_election);
}

TEST(AutoExposeArguments, ListsOfAFileAndTheFileOfAVariable) {
  const TestFile file("namespaces: [shop, blog]\ningress-annotation:\n- a=1\n- b=2\n");
  const Parsed parsed({"plan", "-f", "x"}, {"AUTO_EXPOSE_CONFIG=" + file.path()});
  ASSERT_TRUE(parsed.result.ok()) << parsed.result.error().ToString();
  EXPECT_THAT(parsed.flags.settings.namespaces, ElementsAre("shop", "blog"));
  EXPECT_EQ(parsed.flags.settings.ingress_annotations.Get("a"), "1");
  EXPECT_EQ(parsed.flags.settings.ingress_annotations.Get("b"), "2");
  EXPECT_THAT(parsed.flags.command, ElementsAre("plan"));
  EXPECT_THAT(parsed.flags.files, ElementsAre("x"));
}

TEST(AutoExposeArguments, BadFilesAreNamed) {
  EXPECT_THAT(Parsed({"--config=/does/not/exist"}).result.error().message(), HasSubstr("/does/not/exist"));
  for (const char* content : {"[1]", "domain: {a: b}", "config: other.yaml", "a: [", "---\na: b\n---\nc: d\n", "domian: x"}) {
    const TestFile file(content);
    const Parsed parsed({"--config", file.path()});
    ASSERT_FALSE(parsed.result.ok()) << content;
    EXPECT_THAT(parsed.result.error().ToString(), HasSubstr(file.path()));
  }
  const TestFile empty("");
  EXPECT_TRUE(Parsed({"--config", empty.path()}).result.ok());
}

TEST(AutoExposeFlags, StandBesideThoseOfAllControllers) {
  const Parsed parsed({"--kinds=deployments,daemonsets", "--kubeconfig", "x", "--opt-in", "--exclude-namespaces=a,b"});
  ASSERT_TRUE(parsed.result.ok()) << parsed.result.error().ToString();
  EXPECT_EQ(parsed.manager.config.options.kubeconfig, "x");
  const Settings& settings = parsed.flags.settings;
  EXPECT_TRUE(settings.deployments && settings.daemon_sets && settings.opt_in);
  EXPECT_FALSE(settings.stateful_sets);
  EXPECT_THAT(settings.excluded_namespaces, ElementsAre("kube-system", "a", "b"));
}

class BadFlag : public ::testing::TestWithParam<const char*> {};
TEST_P(BadFlag, IsNamedAndNothingChanges) {
  const Parsed parsed({"--leader-elect", "--workers=9", GetParam()});
  ASSERT_FALSE(parsed.result.ok());
  const std::string flag = GetParam();
  EXPECT_THAT(parsed.result.error().message(), StartsWith(flag.substr(0, flag.find('='))));
  EXPECT_EQ(parsed.flags.workers, 4);
  EXPECT_FALSE(parsed.manager.leader_elect);
}
INSTANTIATE_TEST_SUITE_P(AutoExpose, BadFlag,
                         ::testing::Values("--kinds=pods", "--kinds=", "--namespaces=A", "--selector=a in", "--service-type=x",
                                           "--ingress=x", "--ingress-class=A", "--domain=a_b", "--host={nam}.x", "--path=x",
                                           "--path-type=prefix", "--tls-secret=A", "--ingress-annotation=x", "--ingress-annotation=a b=x",
                                           "--gateway=a/", "--workers=0", "--workers=many", "--resync=-1s", "--resync=soon", "--opt-in=yes",
                                           "--dry-run=no", "--domain", "--ingress=gateway", "--allow-hosts=A.b", "--allow-hosts=a.*",
                                           "--allow-hosts={name}.a", "--allow-service-types=ExternalName", "--allow-issuers=a b",
                                           "--allow-namespace-hosts=maybe", "--domain={namespace}.a"));

TEST(AutoExposeFlags, ListsOfWhatIsAllowedAddUp) {
  const Parsed parsed({"--allow-hosts=a.org,*.b.org", "--allow-hosts", "{namespace}.{domain}", "--allow-ingress-annotations=x.org/*",
                       "--allow-namespace-hosts=false", "--allow-tls-secrets={name}-tls"});
  ASSERT_TRUE(parsed.result.ok()) << parsed.result.error().ToString();
  const ProgramFlags& flags = parsed.flags;
  EXPECT_THAT(flags.settings.allowed.hosts, ElementsAre("a.org", "*.b.org", "{namespace}.{domain}"));
  EXPECT_THAT(flags.settings.allowed.ingress_annotations, ElementsAre("x.org/*"));
  EXPECT_THAT(flags.settings.allowed.tls_secrets, ElementsAre("{name}-tls"));
  EXPECT_FALSE(flags.settings.allowed.hosts_of_namespaces);
}

// ---- commands

TEST(AutoExposeProgram, HelpNamesEveryFlag) {
  const Outcome help = Program({"--help"});
  EXPECT_EQ(help.code, 0);
  for (const char* flag : {"--domain",
                           "--opt-in",
                           "--ingress ",
                           "--gateway",
                           "--kubeconfig",
                           "--context",
                           "--master",
                           "--namespace",
                           "--workers",
                           "--resync",
                           "--leader-elect",
                           "--metrics-bind-address",
                           "--health-probe-bind-address",
                           "-v",
                           "--config",
                           "--dry-run",
                           "--print-rbac",
                           "--allow-hosts",
                           "--allow-namespace-hosts",
                           "--allow-ingress-annotations",
                           "--allow-ingress-classes",
                           "--allow-service-types",
                           "--allow-issuers",
                           "--allow-cluster-issuers",
                           "--allow-tls-secrets",
                           "which workloads:",
                           "what annotations of workloads may request"}) {
    EXPECT_THAT(help.out, HasSubstr(flag));
  }
  EXPECT_THAT(Program({"version"}).out, StartsWith("auto-expose "));
}

TEST(AutoExposeProgram, UnknownArgumentsAreErrors) {
  EXPECT_EQ(Program({"--domian=x"}).code, 2);
  EXPECT_EQ(Program({"--domian=x"}).err, "auto-expose: unknown flag --domian (did you mean --domain?)\nTry 'auto-expose --help'.\n");
  EXPECT_THAT(Program({"paln"}).err, HasSubstr("unknown command \"paln\""));
  EXPECT_THAT(Program({"-f", "x"}).err, HasSubstr("--filename: only plan reads files"));
  EXPECT_EQ(Program({"plan"}).code, 2);
  EXPECT_EQ(Program({"plan", "-x"}).code, 2);
}

TEST(AutoExposeProgram, PlanPrintsTheChildrenOfAManifest) {
  const Outcome plan = Program({"plan", "-f", "-", "--domain", "example.com"}, kWeb);
  EXPECT_EQ(plan.code, 0) << plan.err;
  EXPECT_THAT(plan.out, HasSubstr("kind: Service"));
  EXPECT_THAT(plan.out, HasSubstr("kind: Ingress"));
  EXPECT_THAT(plan.out, HasSubstr("host: web.default.example.com"));
  EXPECT_THAT(plan.out, Not(HasSubstr("creationTimestamp")));
  EXPECT_THAT(plan.err, HasSubstr("http://web.default.example.com/"));
}

TEST(AutoExposeProgram, PlanReadsSeveralDocumentsAndLists) {
  const std::string list = R"({"apiVersion":"v1","kind":"List","items":[{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x"}},
    {"apiVersion":"apps/v1","kind":"StatefulSet","metadata":{"name":"db"},"spec":{"selector":{"matchLabels":{"a":"b"}},
     "template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","ports":[{"containerPort":5432}]}]}}}}]})";
  const TestFile web(kWeb), db(list);
  const Outcome plan = Program({"plan", "-f", web.path(), "-f", db.path()});
  EXPECT_EQ(plan.code, 0) << plan.err;
  EXPECT_THAT(plan.out, HasSubstr("name: web"));
  EXPECT_THAT(plan.out, HasSubstr("name: db"));
}

TEST(AutoExposeProgram, PlanSaysWhatIsWrong) {
  std::string no_port = kWeb;
  no_port.replace(no_port.find(", ports: [{containerPort: 80}]"), 30, "");
  const Outcome plan = Program({"plan", "-f", "-"}, no_port);
  EXPECT_EQ(plan.code, 1);
  EXPECT_THAT(plan.err, HasSubstr("Deployment default/web: NoPort"));
  EXPECT_EQ(plan.out, "");
  EXPECT_EQ(Program({"plan", "-f", "/does/not/exist"}).code, 1);
  EXPECT_THAT(Program({"plan", "-f", "-"}, "a: [").err, HasSubstr("-: "));
  EXPECT_THAT(Program({"plan", "-f", "-"}, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n").err, HasSubstr("no Deployment"));
  EXPECT_EQ(Program({"plan", "-f", "-"}, "apiVersion: apps/v1\nkind: Deployment\nspec: 7\n").code, 1);
}

TEST(AutoExposeProgram, PlanSaysWhatIsRefused) {
  std::string web = kWeb;
  web.replace(web.find("{name: web}"), 11, "{name: web, annotations: {auto-expose.kubexx.dev/host: shop.org}}");
  const Outcome plan = Program({"plan", "-f", "-", "--domain", "example.com"}, web);
  EXPECT_EQ(plan.code, 1);
  EXPECT_THAT(plan.err, HasSubstr("Deployment default/web: HostNotAllowed: "));
  EXPECT_THAT(plan.out, Not(HasSubstr("kind: Ingress")));
  EXPECT_EQ(Program({"plan", "-f", "-", "--domain", "example.com", "--allow-hosts=shop.org"}, web).code, 0);
  // A Namespace among the documents allows it.
  const std::string ns =
      "apiVersion: v1\nkind: Namespace\nmetadata: {name: default, annotations: {auto-expose.kubexx.dev/allow-hosts: shop.org}}\n---\n";
  const Outcome allowed = Program({"plan", "-f", "-", "--domain", "example.com"}, ns + web);
  EXPECT_EQ(allowed.code, 0) << allowed.err;
  EXPECT_THAT(allowed.out, HasSubstr("host: shop.org"));
  // All namespaces may have it, and an Ingress of another one does.
  const std::string taken =
      "apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {name: x, namespace: bank}\nspec: {rules: [{host: shop.org}]}\n---\n";
  const Outcome held = Program({"plan", "-f", "-", "--domain", "example.com", "--allow-hosts=shop.org"}, taken + web);
  EXPECT_EQ(held.code, 1);
  EXPECT_THAT(held.err, HasSubstr("HostConflict: http://shop.org/ belongs to Ingress bank/x"));
}

// A manifest cannot drive the terminal of its reviewer or forge a line.
TEST(AutoExposeProgram, PlanPrintsNothingThatATerminalObeys) {
  const auto plan = [](const std::string& host) {
    std::string web = kWeb;
    web.replace(
        web.find("{name: web}"), 11,
        R"({name: "w\e[2Jb", annotations: {auto-expose.kubexx.dev/ingress-annotations: "a: \"\\e[1m\"", auto-expose.kubexx.dev/host: )" +
            host + "}}");
    return Program({"plan", "-f", "-", "--domain", "example.com", "--allow-hosts=*", "--allow-ingress-annotations=*"}, web);
  };
  const Outcome refused = plan(R"("\e]0;x\ashop\nDeployment default/bank: fine")");
  EXPECT_EQ(refused.code, 1);
  EXPECT_THAT(refused.err, HasSubstr("Deployment default/w\\x1b[2Jb: InvalidAnnotation: "));
  EXPECT_THAT(refused.err, HasSubstr("\\x1b]0;x\\x07shop\\nDeployment"));
  const Outcome allowed = plan("shop.org");
  EXPECT_EQ(allowed.code, 0) << allowed.err;
  EXPECT_THAT(allowed.out, HasSubstr("kind: Ingress"));
  for (const std::string& printed : {refused.err, refused.out, allowed.err, allowed.out}) {
    EXPECT_THAT(printed, Not(HasSubstr("\x1b")));
    EXPECT_THAT(printed, Not(HasSubstr("\a")));
  }
}

TEST(AutoExposeProgram, PlanOfAnOptedOutWorkloadSaysWhy) {
  const Outcome plan = Program({"plan", "-f", "-", "--opt-in"}, kWeb);
  EXPECT_EQ(plan.code, 0);
  EXPECT_EQ(plan.out, "");
  EXPECT_THAT(plan.err, HasSubstr("not exposed: it has no annotation"));
}

}  // namespace
}  // namespace auto_expose
