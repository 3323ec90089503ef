#include "kube/control/access.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "kube/codec/yaml.h"

namespace kube {
namespace {

using Verbs = std::set<std::string>;

// What a rule is about. Exactly one of resource and path is set.
struct Thing {
  std::string group, resource, name, path;
  friend std::strong_ordering operator<=>(const Thing&, const Thing&) = default;
};
using Grants = std::map<Thing, Verbs>;

// RBAC does not know the name of an object that is not there yet, nor of one in a list unless the request selects it.
bool IsLimitedByName(const AccessNeed& need, const std::string& verb) {
  if (verb == "list" || verb == "watch") return need.selects_name;
  return verb != "create" && verb != "deletecollection";
}

// By namespace; "" is everywhere.
std::map<std::string, Grants> GrantsOf(const std::vector<AccessNeed>& needs) {
  std::map<std::string, Grants> scopes;
  for (const AccessNeed& need : needs) {
    for (const std::string& verb : need.verbs) {
      if (!need.path.empty()) {
        scopes[""][{.path = need.path}].insert(verb);
        continue;
      }
      scopes[need.ns.value_or("")][{need.group, need.resource, IsLimitedByName(need, verb) ? need.name : "", ""}].insert(verb);
    }
  }
  // What is granted for more need not be granted for less.
  const auto drop = [](Grants& grants, const Grants& wider, bool same_scope) {
    for (auto& [thing, verbs] : grants) {
      for (const bool any_name : {false, true}) {
        if (same_scope && (!any_name || thing.name.empty())) continue;
        Thing key = thing;
        if (any_name) key.name.clear();
        const auto found = wider.find(key);
        if (found == wider.end()) continue;
        for (const std::string& verb : found->second) verbs.erase(verb);
      }
    }
  };
  const Grants everywhere = scopes[""];
  for (auto& [ns, grants] : scopes) {
    if (!ns.empty()) drop(grants, everywhere, false);
    drop(grants, Grants(grants), true);
    std::erase_if(grants, [](const auto& grant) { return grant.second.empty(); });
  }
  std::erase_if(scopes, [](const auto& scope) { return scope.second.empty(); });
  return scopes;
}

Value Strings(const auto& texts) {
  List<Value> out;
  for (const std::string& text : texts) out.push_back(Value(text));
  return Value(std::move(out));
}

// Resources of one group that may be used alike share a rule.
Value RulesOf(const Grants& grants) {
  std::map<std::tuple<std::string, std::string, Verbs>, std::set<std::string>> resources;  // group, name, verbs
  std::map<Verbs, std::set<std::string>> paths;
  for (const auto& [thing, verbs] : grants) {
    if (thing.path.empty()) {
      resources[{thing.group, thing.name, verbs}].insert(thing.resource);
    } else {
      paths[verbs].insert(thing.path);
    }
  }
  // Sorted by group, then by resources: that is how people look for them.
  std::map<std::tuple<std::string, std::vector<std::string>, std::string, Verbs>, Value> sorted;
  for (const auto& [key, names] : resources) {
    const auto& [group, name, verbs] = key;
    Value rule =
        Value::Object({{"apiGroups", Strings(std::vector<std::string>{group})}, {"resources", Strings(names)}, {"verbs", Strings(verbs)}});
    if (!name.empty()) rule["resourceNames"] = Strings(std::vector<std::string>{name});
    sorted[{group, std::vector<std::string>(names.begin(), names.end()), name, verbs}] = std::move(rule);
  }
  List<Value> rules;
  for (auto& [key, rule] : sorted) rules.push_back(std::move(rule));
  for (const auto& [verbs, names] : paths) rules.push_back(Value::Object({{"nonResourceURLs", Strings(names)}, {"verbs", Strings(verbs)}}));
  return Value(std::move(rules));
}

// On one line, for logs; without double quotes, which logs escape.
std::string Flow(const Value& rule) {
  std::string out;
  for (const char* member : {"apiGroups", "resources", "resourceNames", "nonResourceURLs", "verbs"}) {
    const Value* const texts = rule.Find(member);
    if (texts == nullptr) continue;
    std::string list;
    for (const Value& text : texts->list())
      list += (list.empty() ? "" : ", ") + (text.string_value().empty() ? "''" : text.string_value().str());
    out += fmt::format("{}{}: [{}]", out.empty() ? "" : ", ", member, list);
  }
  return "{" + out + "}";
}

std::string Document(const Value& value) { return "---\n" + ToYaml(value); }

Value Metadata(const std::string& name, const std::string& ns) {
  Value metadata = Value::Object({{"name", name}});
  if (!ns.empty()) metadata["namespace"] = ns;
  return metadata;
}

Value Binding(const RbacOptions& options, const std::string& ns) {
  const std::string role = ns.empty() ? "ClusterRole" : "Role";
  return Value::Object({{"apiVersion", "rbac.authorization.k8s.io/v1"},
                        {"kind", role + "Binding"},
                        {"metadata", Metadata(options.name, ns)},
                        {"roleRef", Value::Object({{"apiGroup", "rbac.authorization.k8s.io"}, {"kind", role}, {"name", options.name}})},
                        {"subjects", Value::Array({Value::Object({{"kind", "ServiceAccount"},
                                                                  {"name", options.service_account},
                                                                  {"namespace", options.service_account_namespace}})})}});
}

std::string Where(const AccessNeed& need) {
  if (!need.path.empty()) return need.path;
  const std::string ns = need.ns.value_or("");
  const std::string what =
      need.resource + (need.group.empty() ? "" : "." + need.group) + (need.name.empty() ? "" : " \"" + need.name + "\"");
  if (ns.empty()) return what + " in all namespaces";
  return what + (ns == kOwnNamespace ? " in its own namespace" : " in namespace " + ns);
}

}  // namespace

const std::vector<std::string>& ApplyVerbs() {
  static const std::vector<std::string> verbs = {"get", "list", "create", "patch", "delete"};
  return verbs;
}

std::string RbacYaml(const std::vector<AccessNeed>& needs, const RbacOptions& options) {
  const bool bound = !options.service_account.empty() && !options.service_account_namespace.empty();
  std::vector<AccessNeed> placed = needs;
  for (AccessNeed& need : placed) {
    if (need.ns == kOwnNamespace && bound) need.ns = options.service_account_namespace;
  }
  std::string out;
  if (bound) {
    out += Document(Value::Object({{"apiVersion", "v1"},
                                   {"kind", "ServiceAccount"},
                                   {"metadata", Metadata(options.service_account, options.service_account_namespace)}}));
  }
  for (const auto& [scope, grants] : GrantsOf(placed)) {
    const std::string ns = scope == kOwnNamespace ? "" : scope;
    Value role = Value::Object({{"apiVersion", "rbac.authorization.k8s.io/v1"},
                                {"kind", scope.empty() ? "ClusterRole" : "Role"},
                                {"metadata", Metadata(options.name, ns)},
                                {"rules", RulesOf(grants)}});
    if (scope == kOwnNamespace) out += "# For the namespace that the program runs in: kubectl apply -n NAMESPACE\n";
    out += Document(role);
    if (bound) out += Document(Binding(options, ns));
  }
  return out;
}

std::string AccessReport::Summary() const {
  std::string out;
  for (const AccessNeed& need : missing) {
    out += fmt::format("{}{} {}", out.empty() ? "" : "; ", fmt::join(need.verbs, ", "), Where(need));
    if (!need.why.empty()) out += " (" + need.why + ")";
  }
  return out;
}

std::vector<std::string> AccessReport::Rules() const {
  std::vector<std::string> out;
  for (const auto& [scope, grants] : GrantsOf(missing)) {
    const std::string role = scope.empty()            ? "ClusterRole"
                             : scope == kOwnNamespace ? "Role in its own namespace"
                                                      : "Role in namespace " + scope;
    const Value rules = RulesOf(grants);
    for (const Value& rule : rules.list()) out.push_back(role + ": " + Flow(rule));
  }
  return out;
}

std::string AccessReport::ToString(const RbacOptions& options) const {
  if (missing.empty()) return {};
  return "not allowed: " + Summary() + "\nThese rules would allow it:\n" + RbacYaml(missing, options);
}

}  // namespace kube
