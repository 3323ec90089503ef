// Roles and webhook configurations: of markers, of a program's output, and of both. What controller-gen makes of the same markers is
// compared by tests/generate.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "generate/generate_test_util.h"
#include "generate/program_manifests.h"
#include "generate/source_reader.h"
#include "generate/tokens.h"
#include "kube/codec/yaml.h"

namespace kube::generate {
namespace {

using testing::HasSubstr;

struct Made {
  ProgramManifests manifests;
  std::string problems;
};

// `lines`: markers without "// +kubebuilder:".
Made Make(const std::vector<std::string>& lines, const std::optional<std::string>& printed = std::nullopt) {
  std::string text = "void Reconcile();\n";
  for (const std::string& line : lines) text += "// +kubebuilder:" + line + "\n";
  Model model;
  Problems problems;
  ReadSource("a.cc", text, {}, model, problems);
  Made out;
  out.manifests = MakeProgramManifests(model, printed, "manager-role", problems);
  out.problems = problems.ToString();
  return out;
}

std::string Roles(const std::vector<std::string>& lines, const std::optional<std::string>& printed = std::nullopt) {
  const Made made = Make(lines, printed);
  EXPECT_EQ(made.problems, "");
  return made.manifests.roles;
}

constexpr std::string_view kHead = "apiVersion: rbac.authorization.k8s.io/v1\nkind: ";

std::string Role(const std::string& kind, const std::string& metadata, const std::string& rules) {
  return "---\n" + std::string(kHead) + kind + "\nmetadata:\n" + metadata + "rules:\n" + rules;
}

TEST(RolesTest, NothingWithoutRules) { EXPECT_EQ(Roles({}), ""); }

TEST(RolesTest, UnitesRulesAndSortsThem) {
  EXPECT_EQ(Roles({"rbac:groups=apps,resources=deployments,verbs=list;get", "rbac:groups=core,resources=pods,verbs=get;list",
                   "rbac:groups=apps,resources=deployments;statefulsets,verbs=get;list", "rbac:groups=\"\",resources=pods,verbs=delete",
                   "rbac:urls=/metrics,verbs=get", "rbac:urls=/healthz,verbs=get",
                   "rbac:groups=a.com;b.com,resources=things,resourceNames=x,verbs=patch;*"}),
            Role("ClusterRole", "  name: manager-role\n",
                 "- nonResourceURLs:\n  - /healthz\n  - /metrics\n  verbs:\n  - get\n"
                 "- apiGroups:\n  - \"\"\n  resources:\n  - pods\n  verbs:\n  - delete\n  - get\n  - list\n"
                 "- apiGroups:\n  - a.com\n  - b.com\n  resourceNames:\n  - x\n  resources:\n  - things\n  verbs:\n  - '*'\n"
                 "- apiGroups:\n  - apps\n  resources:\n  - deployments\n  - statefulsets\n  verbs:\n  - get\n  - list\n"));
}

TEST(RolesTest, NamespacesAndNamesMakeRolesOfTheirOwn) {
  const std::string rule = "- apiGroups:\n  - \"\"\n  resources:\n  - secrets\n  verbs:\n  - get\n";
  EXPECT_EQ(Roles({"rbac:groups=\"\",namespace=b,resources=secrets,verbs=get", "rbac:groups=\"\",namespace=a,resources=secrets,verbs=get",
                   "rbac:groups=\"\",resources=secrets,verbs=get,roleName=reader", "rbac:groups=\"\",resources=secrets,verbs=get"}),
            Role("ClusterRole", "  name: manager-role\n", rule) + Role("ClusterRole", "  name: reader\n", rule) +
                Role("Role", "  name: manager-role\n  namespace: a\n", rule) +
                Role("Role", "  name: manager-role\n  namespace: b\n", rule));
}

TEST(RolesTest, MarkersAddToWhatTheProgramRegisters) {
  const std::string printed =
      Role("ClusterRole", "  name: manager\n", "- apiGroups:\n  - apps\n  resources:\n  - deployments\n  verbs:\n  - list\n  - watch\n") +
      "# For the namespace that the program runs in: kubectl apply -n NAMESPACE\n" +
      Role("Role", "  name: manager\n", "- apiGroups:\n  - coordination.k8s.io\n  resources:\n  - leases\n  verbs:\n  - create\n");
  EXPECT_EQ(Roles({"rbac:groups=apps,resources=deployments,verbs=get", "rbac:groups=\"\",resources=nodes,verbs=get"}, printed),
            Role("ClusterRole", "  name: manager-role\n",
                 "- apiGroups:\n  - \"\"\n  resources:\n  - nodes\n  verbs:\n  - get\n"
                 "- apiGroups:\n  - apps\n  resources:\n  - deployments\n  verbs:\n  - get\n  - list\n  - watch\n") +
                "# For the namespace that the program runs in: kubectl apply -n NAMESPACE, or a kustomization with a namespace\n" +
                Role("Role", "  name: manager-role\n",
                     "- apiGroups:\n  - coordination.k8s.io\n  resources:\n  - leases\n  verbs:\n  - create\n"));
}

TEST(RolesTest, RefusesWhatServersRefuse) {
  const auto error = [](const std::string& arguments) { return Make({"rbac:" + arguments}).problems; };
  EXPECT_EQ(error("groups=apps,verbs=get"), "a.cc:2:4: marker +kubebuilder:rbac: resources and urls are missing; write one of them\n");
  EXPECT_THAT(error("resources=pods,verbs=get"), HasSubstr("groups is missing; write groups=\"\""));
  EXPECT_THAT(error("groups=apps,resources=pods,verbs={}"), HasSubstr("verbs has no verb"));
  EXPECT_THAT(error("groups=apps,urls=/x,verbs=get"), HasSubstr("urls go without groups"));
  EXPECT_THAT(error("urls=/x,verbs=get,namespace=a"), HasSubstr("urls belong to no namespace"));
  EXPECT_THAT(error("groups=apps,resources=pods,verbs=get,namespace=A_b"), HasSubstr("namespace \"A_b\" is not the name of a namespace"));
}

TEST(ProgramManifestsTest, RefusesOutputThatItDoesNotUnderstand) {
  EXPECT_THAT(Make({}, "a: [").problems, HasSubstr("what the program prints for --print-manifests is no YAML"));
  EXPECT_THAT(Make({}, "apiVersion: v1\nkind: Pod\n").problems, HasSubstr("apiVersion \"v1\", kind \"Pod\""));
  EXPECT_THAT(Make({}, "usage: manager\n").problems, HasSubstr("an object that this command has no file for"));
}

TEST(ProgramManifestsTest, AServiceStandsBesideTheWebhooks) {
  const Made made = Make({}, "apiVersion: v1\nkind: Service\nmetadata:\n  name: w\n");
  EXPECT_EQ(made.problems, "");
  EXPECT_EQ(made.manifests.webhooks, "---\napiVersion: v1\nkind: Service\nmetadata:\n  name: w\n");
}

TEST(ProgramManifestsTest, ConversionsAreThoseOfDefinitions) {
  const Made made =
      Make({},
           "---\napiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata:\n  name: a.b.com\nspec:\n"
           "  conversion:\n    strategy: Webhook\n"
           "---\napiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata:\n  name: c.b.com\nspec: {}\n");
  EXPECT_EQ(made.problems, "");
  ASSERT_EQ(made.manifests.conversions.size(), 1U);
  EXPECT_EQ(made.manifests.conversions.begin()->first, "a.b.com");
  EXPECT_EQ(made.manifests.conversions.begin()->second["strategy"].string_value(), "Webhook");
  EXPECT_EQ(made.manifests.webhooks, "");
}

// ---- Webhooks ----

const std::string kValid =
    "webhook:mutating=false,failurePolicy=fail,sideEffects=None,groups=core,resources=pods,verbs=create;UPDATE,versions=v1,"
    "name=pods.example.com,admissionReviewVersions=v1";

TEST(WebhooksTest, MakesConfigurationsByName) {
  const Made made =
      Make({kValid + ",path=/validate-v1-pod", "webhookconfiguration:mutating=true,name=mine",
            "webhook:mutating=true,failurePolicy=Ignore,matchPolicy=exact,sideEffects=noneondryrun,timeoutSeconds=7,groups=a.com,"
            "resources=things,verbs=*,versions=v1;v2,name=b.example.com,admissionReviewVersions={v1,v1beta1},"
            "reinvocationPolicy=ifneeded,url=\"https://example.com/x\"",
            "webhook:mutating=true,failurePolicy=Fail,sideEffects=None,groups=a.com,resources=things,verbs=delete,versions=v1,"
            "name=a.example.com,admissionReviewVersions=v1,path=/x,serviceName=svc,serviceNamespace=ns,servicePort=8443"});
  EXPECT_EQ(made.problems, "");
  EXPECT_EQ(made.manifests.webhooks,
            "---\napiVersion: admissionregistration.k8s.io/v1\nkind: MutatingWebhookConfiguration\nmetadata:\n  name: mine\nwebhooks:\n"
            "- admissionReviewVersions:\n  - v1\n  clientConfig:\n    service:\n      name: svc\n      namespace: ns\n      path: /x\n"
            "      port: 8443\n  failurePolicy: Fail\n  name: a.example.com\n  rules:\n  - apiGroups:\n    - a.com\n    apiVersions:\n"
            "    - v1\n    operations:\n    - DELETE\n    resources:\n    - things\n  sideEffects: None\n"
            "- admissionReviewVersions:\n  - v1\n  - v1beta1\n  clientConfig:\n    url: https://example.com/x\n  failurePolicy: Ignore\n"
            "  matchPolicy: Exact\n  name: b.example.com\n  reinvocationPolicy: IfNeeded\n  rules:\n  - apiGroups:\n    - a.com\n"
            "    apiVersions:\n    - v1\n    - v2\n    operations:\n    - '*'\n    resources:\n    - things\n"
            "  sideEffects: NoneOnDryRun\n  timeoutSeconds: 7\n"
            "---\napiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingWebhookConfiguration\nmetadata:\n"
            "  name: validating-webhook-configuration\nwebhooks:\n- admissionReviewVersions:\n  - v1\n  clientConfig:\n    service:\n"
            "      name: webhook-service\n      namespace: system\n      path: /validate-v1-pod\n  failurePolicy: Fail\n"
            "  name: pods.example.com\n  rules:\n  - apiGroups:\n    - \"\"\n    apiVersions:\n    - v1\n    operations:\n    - CREATE\n"
            "    - UPDATE\n    resources:\n    - pods\n  sideEffects: None\n");
}

TEST(WebhooksTest, PatchesReachEveryField) {
  const Made made =
      Make({kValid + ",path=/x,timeoutSeconds=5,patch=`{\"timeoutSeconds\":null,\"namespaceSelector\":{\"matchLabels\":{\"a\":\"b\"}}}`"});
  EXPECT_EQ(made.problems, "");
  EXPECT_THAT(made.manifests.webhooks, HasSubstr("  namespaceSelector:\n    matchLabels:\n      a: b\n"));
  EXPECT_THAT(made.manifests.webhooks, testing::Not(HasSubstr("timeoutSeconds")));
}

TEST(WebhooksTest, RegisteredOnesJoinThoseOfMarkers) {
  const std::string printed =
      "apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingWebhookConfiguration\nmetadata:\n  name: "
      "validating-webhook-configuration\n"
      "webhooks:\n- name: a.example.com\n---\n"
      "apiVersion: admissionregistration.k8s.io/v1\nkind: MutatingWebhookConfiguration\nmetadata:\n  name: own\nwebhooks:\n- name: "
      "z.example.com\n";
  const Made made = Make({kValid + ",path=/x"}, printed);
  EXPECT_EQ(made.problems, "");
  const std::vector<Value> documents = ParseYaml(made.manifests.webhooks).value();
  ASSERT_EQ(documents.size(), 2U);
  EXPECT_EQ(documents[0]["metadata"]["name"].string_value(), "own");
  ASSERT_EQ(documents[1]["webhooks"].list().size(), 2U);
  EXPECT_EQ(documents[1]["webhooks"].list()[0]["name"].string_value(), "a.example.com");
  EXPECT_EQ(documents[1]["webhooks"].list()[1]["name"].string_value(), "pods.example.com");
}

TEST(WebhooksTest, RefusesWhatServersRefuse) {
  const auto error = [](const std::string& more) { return Make({kValid + more}).problems; };
  EXPECT_THAT(error(""), HasSubstr("pass either path, for the program's Service, or url"));
  EXPECT_THAT(error(",path=/x,url=\"https://a\""), HasSubstr("pass either path"));
  EXPECT_THAT(error(",path=x"), HasSubstr("path: expected a path that begins with /, got \"x\""));
  EXPECT_THAT(error(",path=/x,timeoutSeconds=31"), HasSubstr("timeoutSeconds: expected 1 to 30, got 31"));
  EXPECT_THAT(error(",path=/x,servicePort=0"), HasSubstr("servicePort: expected 1 to 65535, got 0"));
  EXPECT_THAT(error(",path=/x,matchPolicy=Never"), HasSubstr("matchPolicy: expected Exact or Equivalent, got \"Never\""));
  EXPECT_THAT(error(",path=/x,reinvocationPolicy=Never"), HasSubstr("reinvocationPolicy is for mutating webhooks"));
  EXPECT_THAT(error(",path=/x,webhookVersions=v1beta1"), HasSubstr("only v1 is known, not v1beta1"));
  EXPECT_THAT(error(",path=/x,patch=`{`"), HasSubstr("patch: "));
  EXPECT_THAT(error(",path=/x,patch=`[]`"), HasSubstr("patch is not a JSON object"));
  EXPECT_THAT(error(",path=/x,patch=`{\"timeout\":null}`"), HasSubstr("patch: "));
  EXPECT_THAT(error(",path=/x,patch=`{\"clientConfig\":{\"path\":\"/y\"}}`"), HasSubstr("patch: "));
  EXPECT_THAT(error(",path=/x,patch=`{\"sideEffects\":\"Some\"}`"), HasSubstr("patch: sideEffects has to be None or NoneOnDryRun"));
  EXPECT_THAT(error(",path=/x,patch=`{\"timeoutSeconds\":99}`"), HasSubstr("patch: timeoutSeconds: expected 1 to 30"));

  const auto changed = [](const std::string& from, const std::string& to) {
    std::string text = kValid + ",path=/x";
    text.replace(text.find(from), from.size(), to);
    return Make({text}).problems;
  };
  EXPECT_THAT(changed("sideEffects=None,", ""), HasSubstr("argument sideEffects is missing; write sideEffects=None"));
  EXPECT_THAT(changed("sideEffects=None", "sideEffects=Some"), HasSubstr("sideEffects: expected None or NoneOnDryRun, got \"Some\""));
  EXPECT_THAT(changed("failurePolicy=fail", "failurePolicy=warn"), HasSubstr("failurePolicy: expected Fail or Ignore, got \"warn\""));
  EXPECT_THAT(changed("create;UPDATE", "create;get"), HasSubstr("verbs: expected create, update, delete, connect or *, got \"get\""));
  EXPECT_THAT(changed("groups=core", "groups={}"), HasSubstr("groups is empty"));
  EXPECT_THAT(changed("pods.example.com", "pods.example"), HasSubstr("name: expected a name of three parts or more"));

  EXPECT_THAT(Make({kValid + ",path=/x", kValid + ",path=/y"}).problems, HasSubstr("webhook pods.example.com stands twice"));
  EXPECT_THAT(Make({"webhookconfiguration:mutating=true,name=a", "webhookconfiguration:mutating=true,name=b"}).problems,
              HasSubstr("the mutating configuration is called a already"));
}

// ---- Sources ----

TEST(SourceReaderTest, FindsMarkersInAnyCxx) {
  Model model;
  Problems problems;
  constexpr std::string_view kSource = R"source(
#include <vector>
#  include "b.h"  // why
#include MACRO
template <typename T> class Odd : Base<T> { int x = 1'000; char c = '"'; };
const char* text = R"(
// +kubebuilder:rbac:groups=no,resources=no,verbs=get
)";
/* +kubebuilder:rbac:groups=no,resources=no,verbs=get */
void F() {
  // +kubebuilder:rbac:groups=apps,resources=deployments,verbs=get
  // +optional
  // +kubebuilder:validation:MaxLength=3
  // +kubebuilder:object:root=false
  // +1 for this
}
)source";
  ReadSource("src/a.cc", kSource, {}, model, problems);
  EXPECT_EQ(problems.ToString(), "");
  ASSERT_EQ(model.files.size(), 1U);
  EXPECT_THAT(model.files[0].includes, testing::ElementsAre("vector", "b.h"));
  ASSERT_EQ(model.files[0].markers.size(), 1U);
  EXPECT_EQ(model.files[0].markers[0].at.ToString(), "src/a.cc:11:6");
}

TEST(SourceReaderTest, ReportsMisspeltMarkers) {
  Model model;
  Problems problems;
  ReadSource("a.cc", "// +kubebuilder:rabc:groups=apps,resources=deployments,verbs=get\n// +kubebuilder:rbac:group=apps,verbs=get\n", {},
             model, problems);
  EXPECT_THAT(problems.ToString(), HasSubstr("a.cc:1:4: unknown marker +kubebuilder:rabc"));
  EXPECT_THAT(problems.ToString(), HasSubstr("did you mean +kubebuilder:rbac?"));
  EXPECT_THAT(problems.ToString(), HasSubstr("a.cc:2:4: marker +kubebuilder:rbac: unknown argument group; did you mean groups?"));
}

TEST(SourceReaderTest, BrokenCxxIsTheCompilersBusiness) {
  Model model;
  Problems problems;
  ReadSource("a.cc", "const char* x = \"\n/* no end", {}, model, problems);
  ReadSource("b.cc", std::string(kMostHeaderBytes + 1, ' '), {}, model, problems);
  EXPECT_FALSE(problems.has_errors());
  EXPECT_THAT(problems.ToString(), HasSubstr("b.cc:1:1: warning: more than 4 MiB: not searched for markers"));
}

}  // namespace
}  // namespace kube::generate
