#include "generate/roles.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "kube/codec/yaml.h"
#include "kube/meta/validation.h"

namespace kube::generate {
namespace {

using Names = std::set<std::string>;

struct Rule {
  Names groups, resources, resource_names, urls, verbs;

  friend bool operator<(const Rule& a, const Rule& b) {
    return std::tie(a.groups, a.resources, a.resource_names, a.urls, a.verbs) <
           std::tie(b.groups, b.resources, b.resource_names, b.urls, b.verbs);
  }
  // controller-gen's order.
  std::string SortKey() const {
    return fmt::format("{} + {} + {} + {}", fmt::join(groups, "&"), fmt::join(resources, "&"), fmt::join(resource_names, "&"),
                       fmt::join(urls, "&"));
  }
};

struct RoleKey {
  bool cluster = true;
  std::string ns, name;

  friend bool operator<(const RoleKey& a, const RoleKey& b) {
    return std::tie(b.cluster, a.ns, a.name) < std::tie(a.cluster, b.ns, b.name);  // ClusterRoles first
  }
};

Names NamesIn(const Value& strings) {
  Names out;
  for (const Value& text : strings.list()) out.insert(text.string_value().str());
  return out;
}

// "core" is another name of the group "".
Names GroupsIn(const Value& strings) {
  Names out = NamesIn(strings);
  if (out.erase("core") != 0) out.insert("");
  return out;
}

// What is wrong with the marker that servers refuse, or that could never take effect.
std::string Complaint(const Rule& rule, const std::string& ns) {
  if (rule.verbs.empty()) return "verbs has no verb; write verbs=get;list";
  if (rule.urls.empty()) {
    if (rule.resources.empty()) return "resources and urls are missing; write one of them";
    if (rule.groups.empty()) return "groups is missing; write groups=\"\" for the resources of the core group";
    if (rule.resources.contains("")) return "resources has an empty name";
  } else {
    if (!rule.resources.empty() || !rule.groups.empty() || !rule.resource_names.empty())
      return "urls go without groups, resources and resourceNames; write two markers";
    if (!ns.empty()) return "urls belong to no namespace; leave out namespace";
  }
  if (!ns.empty() && !ValidateDnsLabel(ns)) return fmt::format("namespace \"{}\" is not the name of a namespace", ns);
  return "";
}

// Rules that differ in nothing but this member become one.
void Unite(std::vector<Rule>& rules, Names Rule::*member) {
  std::map<Rule, Names> by_rest;
  for (Rule& rule : rules) {
    const Names values = std::exchange(rule.*member, {});
    by_rest[rule].insert(values.begin(), values.end());
  }
  rules.clear();
  for (const auto& [rest, values] : by_rest) {
    rules.push_back(rest);
    rules.back().*member = values;
  }
}

Value Strings(const Names& names) {
  List<Value> out;
  for (const std::string& name : names) out.push_back(Value(name));
  return Value(std::move(out));
}

Value RulesOf(std::vector<Rule> rules) {
  for (Names Rule::*member : {&Rule::verbs, &Rule::resources, &Rule::groups, &Rule::urls}) Unite(rules, member);
  std::sort(rules.begin(), rules.end(), [](const Rule& a, const Rule& b) {
    const std::string left = a.SortKey(), right = b.SortKey();
    return std::tie(left, a.verbs) < std::tie(right, b.verbs);
  });
  List<Value> out;
  for (Rule& rule : rules) {
    if (rule.verbs.contains("*")) rule.verbs = {"*"};
    Value object = Value::Object();
    if (!rule.groups.empty()) object["apiGroups"] = Strings(rule.groups);
    if (!rule.urls.empty()) object["nonResourceURLs"] = Strings(rule.urls);
    if (!rule.resource_names.empty()) object["resourceNames"] = Strings(rule.resource_names);
    if (!rule.resources.empty()) object["resources"] = Strings(rule.resources);
    object["verbs"] = Strings(rule.verbs);
    out.push_back(std::move(object));
  }
  return Value(std::move(out));
}

// controller-gen takes the resources of a rule apart first, so that those of two rules meet.
void AddRule(const Rule& rule, std::vector<Rule>& rules) {
  if (rule.resources.empty()) rules.push_back(rule);
  for (const std::string& resource : rule.resources) {
    rules.push_back(rule);
    rules.back().resources = {resource};
  }
}

}  // namespace

std::vector<Value> MakeRoles(const std::vector<Marker>& markers, const std::vector<Value>& program, const std::string& name,
                             Problems& problems) {
  std::map<RoleKey, std::vector<Rule>> roles;
  for (const Marker& marker : markers) {
    const Value& arguments = marker.arguments;
    const std::string ns = arguments["namespace"].string_value().str(), own_name = arguments["roleName"].string_value().str();
    const Rule rule{.groups = GroupsIn(arguments["groups"]),
                    .resources = NamesIn(arguments["resources"]),
                    .resource_names = NamesIn(arguments["resourceNames"]),
                    .urls = NamesIn(arguments["urls"]),
                    .verbs = NamesIn(arguments["verbs"])};
    if (const std::string wrong = Complaint(rule, ns); !wrong.empty()) {
      problems.Error(marker.at, fmt::format("marker +{}: {}", marker.name, wrong));
      continue;
    }
    AddRule(rule, roles[{ns.empty(), ns, own_name.empty() ? name : own_name}]);
  }
  for (const Value& role : program) {
    const RoleKey key{role["kind"].string_value() == "ClusterRole", role["metadata"]["namespace"].string_value().str(), name};
    for (const Value& rule : role["rules"].list()) {
      AddRule({.groups = NamesIn(rule["apiGroups"]),
               .resources = NamesIn(rule["resources"]),
               .resource_names = NamesIn(rule["resourceNames"]),
               .urls = NamesIn(rule["nonResourceURLs"]),
               .verbs = NamesIn(rule["verbs"])},
              roles[key]);
    }
  }
  std::vector<Value> out;
  for (auto& [key, rules] : roles) {
    Value metadata = Value::Object({{"name", key.name}});
    if (!key.ns.empty()) metadata["namespace"] = key.ns;
    out.push_back(Value::Object({{"apiVersion", "rbac.authorization.k8s.io/v1"},
                                 {"kind", key.cluster ? "ClusterRole" : "Role"},
                                 {"metadata", std::move(metadata)},
                                 {"rules", RulesOf(std::move(rules))}}));
  }
  return out;
}

std::string RolesYaml(const std::vector<Value>& roles) {
  std::string out;
  for (const Value& role : roles) {
    if (role["kind"].string_value() == "Role" && role["metadata"].Find("namespace") == nullptr)
      out += "# For the namespace that the program runs in: kubectl apply -n NAMESPACE, or a kustomization with a namespace\n";
    out += "---\n" + ToYaml(role);
  }
  return out;
}

}  // namespace kube::generate
