// What a server has by itself: the RBAC roles and bindings of its start, and an APIService for each group version that it serves.
#include <algorithm>
#include <fstream>
#include <map>
#include <set>

#include "contract.h"
#include "kube/codec/json.h"
#include "texts.h"

namespace kube::contract {
namespace {

CONTRACT_SUITE(BootstrapContract);

constexpr const char* kPolicyFile = "tests/contract/api/bootstrap_policy.txt";
constexpr const char* kServicesFile = "tests/contract/api/bootstrap_apiservices.txt";
const std::string kRbac = "/apis/rbac.authorization.k8s.io/v1/";
const std::string kAggregateTo = "rbac.authorization.k8s.io/aggregate-to-";

std::vector<std::string> LinesOf(const char* file) {
  std::ifstream in(file);
  std::vector<std::string> out;
  for (std::string line; std::getline(in, line);) out.push_back(line);
  return out;
}

std::string Words(const Value& list) {
  std::string out;
  for (const Value& item : list.list()) {
    const std::string word = item.string_value().str();
    out += (out.empty() ? "" : ",") + (word.empty() ? "-" : word);
  }
  return out;
}

std::string RuleLine(const Value& rule) {
  std::string out = "  " + Words(rule["verbs"]);
  if (rule["nonResourceURLs"].is_list()) return out + " / " + Words(rule["nonResourceURLs"]);
  out += " " + Words(rule["apiGroups"]) + " " + Words(rule["resources"]);
  return rule["resourceNames"].is_list() ? out + " " + Words(rule["resourceNames"]) : out;
}

std::string SubjectWord(const Value& subject) {
  const std::string ns = subject["namespace"].string_value().str();
  return subject["kind"].string_value().str() + ":" + (ns.empty() ? "" : ns + "/") + subject["name"].string_value().str();
}

bool IsBootstrap(const Value& object) {
  return object["metadata"]["labels"]["kubernetes.io/bootstrapping"].string_value() == "rbac-defaults" &&
         object["metadata"]["annotations"]["rbac.authorization.kubernetes.io/autoupdate"].string_value() == "true";
}

// An object in the words of the file; rules of aggregated roles are those of their parts.
void AddLines(const std::string& kind, const Value& object, std::vector<std::string>& lines) {
  const Value& meta = object["metadata"];
  const std::string ns = meta["namespace"].string_value().str();
  std::string line = kind + " " + (ns.empty() ? "" : ns + "/") + meta["name"].string_value().str();
  if (kind.ends_with("Binding")) {
    line += " " + object["roleRef"]["kind"].string_value().str() + " " + object["roleRef"]["name"].string_value().str();
    std::string subjects;
    for (const Value& subject : object["subjects"].list()) subjects += (subjects.empty() ? "" : ",") + SubjectWord(subject);
    lines.push_back(subjects.empty() ? line : line + " " + subjects);
    return;
  }
  for (const auto& [label, value] : meta["labels"].object()) {
    if (label.view().starts_with(kAggregateTo)) line += " >" + label.str().substr(kAggregateTo.size());
  }
  const Value& selectors = object["aggregationRule"]["clusterRoleSelectors"];
  for (const Value& selector : selectors.list()) {
    for (const auto& [label, value] : selector["matchLabels"].object()) line += " <" + label.str().substr(kAggregateTo.size());
  }
  lines.push_back(line);
  if (selectors.is_list()) return;
  for (const Value& rule : object["rules"].list()) lines.push_back(RuleLine(rule));
}

TEST_P(BootstrapContract, RolesAndBindings) {
  if (server().oldest()) GTEST_SKIP() << "the list is that of the newest release";
  std::vector<std::string> lines;
  for (const char* kind : {"ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"}) {
    std::string plural(kind);
    for (char& c : plural) c = static_cast<char>(c | 0x20);
    const Answer list = Get(kRbac + plural + "s");
    EXPECT_CODE(list, 200);
    for (const Value& object : list.body["items"].list()) {
      if (IsBootstrap(object)) AddLines(kind, object, lines);
    }
  }
  EXPECT_EQ(lines, LinesOf(kPolicyFile));
}

// Admin, edit and view have the rules of all roles with their label. The real server needs a controller for that.
TEST_P(BootstrapContract, AggregatedRolesHaveTheRulesOfTheirParts) {
  if (!server().lifecycle) GTEST_SKIP() << "no controllers";
  for (const std::string name : {"admin", "edit", "view"}) {
    SCOPED_TRACE(name);
    const Answer role = GetUntil(kRbac + "clusterroles/" + name, [](const Answer& a) { return a.body["rules"].list().size() > 10; });
    std::set<std::string> rules, parts;
    for (const Value& rule : role.body["rules"].list()) rules.insert(RuleLine(rule));
    const Answer labelled = Get(kRbac + "clusterroles?labelSelector=" + kAggregateTo + name + "%3Dtrue");
    EXPECT_CODE(labelled, 200);
    for (const Value& part : labelled.body["items"].list()) {
      for (const Value& rule : part["rules"].list()) parts.insert(RuleLine(rule));
    }
    EXPECT_EQ(rules, parts);
  }
}

std::string ServiceLine(const Value& service) {
  const Value& spec = service["spec"];
  std::string line = service["metadata"]["name"].string_value().str() + " group=" + spec["group"].string_value().str() +
                     " version=" + spec["version"].string_value().str() + " priorities=" + ToJson(spec["groupPriorityMinimum"]) + "," +
                     ToJson(spec["versionPriority"]) +
                     " managed=" + service["metadata"]["labels"]["kube-aggregator.kubernetes.io/automanaged"].string_value().str();
  for (const Value& c : service["status"]["conditions"].list()) {
    line += " " + c["type"].string_value().str() + "=" + c["status"].string_value().str() + "/" + c["reason"].string_value().str() + "/" +
            c["message"].string_value().str();
  }
  return line;
}

TEST_P(BootstrapContract, ApiServicesOfTheServer) {
  if (server().oldest()) GTEST_SKIP() << "the list is that of the newest release";
  const Answer list = Get("/apis/apiregistration.k8s.io/v1/apiservices");
  EXPECT_CODE(list, 200);
  std::vector<std::string> lines;
  for (const Value& service : list.body["items"].list()) {
    if (service["spec"]["group"].string_value().view().find(".example.com") == std::string_view::npos)
      lines.push_back(ServiceLine(service));
  }
  EXPECT_EQ(lines, LinesOf(kServicesFile));
}

TEST_P(BootstrapContract, ApiServicesFollowDefinitions) {
  const std::string path = "/apis/apiregistration.k8s.io/v1/apiservices/v1.{id}.example.com";
  EXPECT_EQ(Get(path).code, 404);
  CreateCrd(R"(
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: "carts.{id}.example.com"}
spec:
  group: "{id}.example.com"
  scope: Namespaced
  names: {plural: carts, singular: cart, kind: Cart, listKind: CartList}
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]
)");
  const Answer service = GetUntil(path, [](const Answer& a) { return a.code == 200 && a.body["status"]["conditions"].is_list(); });
  EXPECT_EQ(ServiceLine(service.body), Expand("v1.{id}.example.com group={id}.example.com version=v1 priorities=1000,100 managed=true "
                                              "Available=True/Local/Local APIServices are always available"));
  EXPECT_EQ(Delete("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/carts.{id}.example.com").code, 200);
  GetUntilGone(path);
}

}  // namespace
}  // namespace kube::contract
