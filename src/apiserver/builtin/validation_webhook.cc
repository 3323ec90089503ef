// Validation of MutatingWebhookConfiguration and ValidatingWebhookConfiguration.
#include <algorithm>
#include <initializer_list>
#include <set>
#include <string_view>

#include "apiserver/builtin/validation_kinds.h"
#include "apiserver/names.h"
#include "kube/api/admissionregistration/v1.h"

namespace kube::apiserver::builtin {

void CheckWebhookUrl(Errors& errors, const std::string& path, const String& url) {
  const std::string form = "; desired format: https://host[/path]";
  auto cut = [](std::string_view& text, std::string_view at) {
    std::size_t i = text.find(at);
    std::string_view rest = i == std::string_view::npos ? std::string_view() : text.substr(i + at.size());
    text = text.substr(0, i);
    return rest;
  };
  std::string_view rest = url;
  std::string_view fragment = cut(rest, "#"), query = cut(rest, "?"), scheme;
  if (std::size_t i = rest.find("://"); i != std::string_view::npos) {
    scheme = rest.substr(0, i);
    rest.remove_prefix(i + 3);
  } else {
    rest = {};
  }
  std::string_view host = rest.substr(0, rest.find('/')), user;
  if (std::size_t i = host.rfind('@'); i != std::string_view::npos) {
    user = host.substr(0, i);
    host.remove_prefix(i + 1);
  }
  if (scheme != "https") errors.push_back(InvalidValue(path, Value(scheme), "'https' is the only allowed URL scheme" + form));
  if (host.empty()) errors.push_back(InvalidValue(path, Value(host), "host must be specified" + form));
  if (!user.empty()) errors.push_back(InvalidValue(path, Value(user), "user information is not permitted in the URL"));
  if (!fragment.empty()) errors.push_back(InvalidValue(path, Value(fragment), "fragments are not permitted in the URL"));
  if (!query.empty()) errors.push_back(InvalidValue(path, Value(query), "query parameters are not permitted in the URL"));
}

void CheckWebhookService(Errors& errors, const std::string& path, const String& ns, const String& name, std::string_view url_path,
                         std::int64_t port) {
  if (name.empty()) errors.push_back(Required(Child(path, "name")));
  if (ns.empty()) errors.push_back(Required(Child(path, "namespace")));
  if (port < 1 || port > 65535) {
    errors.push_back(InvalidValue(Child(path, "port"), port, "port is not valid: must be between 1 and 65535, inclusive"));
  }
  if (url_path.empty() || url_path == "/") return;
  const std::string at = Child(path, "path");
  const Value shown(url_path);
  if (url_path == "//") {
    errors.push_back(InvalidValue(at, shown, "segment[0] may not be empty"));
    return;
  }
  if (url_path[0] != '/') errors.push_back(InvalidValue(at, shown, "must start with a '/'"));
  std::string_view rest = url_path.substr(1);
  if (rest.ends_with('/')) rest.remove_suffix(1);
  for (std::size_t i = 0;; ++i) {
    const std::size_t slash = rest.find('/');
    const std::string_view step = rest.substr(0, slash);
    if (step.empty()) {
      errors.push_back(InvalidValue(at, shown, "segment[" + std::to_string(i) + "] may not be empty"));
    } else {
      for (const std::string& problem : DnsSubdomainProblems(step))
        errors.push_back(InvalidValue(at, shown, "segment[" + std::to_string(i) + "]: " + problem));
    }
    if (slash == std::string_view::npos) return;
    rest.remove_prefix(slash + 1);
  }
}

namespace {

using admissionregistration::v1::MutatingWebhookConfiguration;
using admissionregistration::v1::RuleWithOperations;
using admissionregistration::v1::ValidatingWebhookConfiguration;
using admissionregistration::v1::WebhookClientConfig;

bool Has(const List<String>& items, std::string_view wanted) {
  return std::any_of(items.begin(), items.end(), [&](const String& item) { return item == wanted; });
}

template <typename Optional>
void CheckOneOf(Errors& errors, const std::string& path, const Optional& value, const std::vector<std::string>& allowed) {
  if (!value.has_value() || std::find(allowed.begin(), allowed.end(), value->str()) != allowed.end()) return;
  errors.push_back(NotSupported(path, *value, allowed));
}

// A list that must say something, and nothing beside "*".
void CheckWildcard(Errors& errors, const std::string& path, const List<String>& items, const char* others) {
  if (items.empty()) errors.push_back(Required(path));
  if (items.size() > 1 && Has(items, "*"))
    errors.push_back(InvalidValue(path, Shown(items), std::string("if '*' is present, must not specify other ") + others));
}

void CheckResources(Errors& errors, const std::string& path, const List<String>& resources) {
  if (resources.empty()) errors.push_back(Required(path));
  std::set<std::string> all_of, all_with;  // "x" of "x/*", "x" of "*/x"
  bool plain = false;
  for (std::size_t i = 0; i < resources.size(); ++i) {
    const std::string_view text = resources[i];
    if (text.empty()) {
      errors.push_back(Required(Index(path, i)));
      continue;
    }
    const std::size_t slash = text.find('/');
    if (slash == std::string_view::npos) {
      plain = text != "*";
      continue;
    }
    const std::string resource(text.substr(0, slash)), sub(text.substr(slash + 1));
    if (all_of.contains(resource))
      errors.push_back(
          InvalidValue(Index(path, i), resources[i], "if '" + resource + "/*' is present, must not specify " + std::string(text)));
    if (all_with.contains(sub))
      errors.push_back(InvalidValue(Index(path, i), resources[i], "if '*/" + sub + "' is present, must not specify " + std::string(text)));
    if (sub == "*") all_of.insert(resource);
    if (resource == "*") all_with.insert(sub);
  }
  if (resources.size() > 1 && Has(resources, "*/*"))
    errors.push_back(InvalidValue(path, Shown(resources), "if '*/*' is present, must not specify other resources"));
  if (Has(resources, "*") && plain)
    errors.push_back(InvalidValue(path, Shown(resources), "if '*' is present, must not specify other resources without subresources"));
}

void CheckRule(Errors& errors, const std::string& path, const RuleWithOperations& rule) {
  CheckWildcard(errors, Child(path, "operations"), rule.operations, "operations");
  const std::vector<std::string> operations = {"*", "CONNECT", "CREATE", "DELETE", "UPDATE"};
  for (std::size_t i = 0; i < rule.operations.size(); ++i) {
    if (std::find(operations.begin(), operations.end(), rule.operations[i].str()) == operations.end())
      errors.push_back(NotSupported(Index(Child(path, "operations"), i), rule.operations[i], operations));
  }
  CheckWildcard(errors, Child(path, "apiGroups"), rule.api_groups, "API groups");
  CheckWildcard(errors, Child(path, "apiVersions"), rule.api_versions, "API versions");
  for (std::size_t i = 0; i < rule.api_versions.size(); ++i) {
    if (rule.api_versions[i].empty()) errors.push_back(Required(Index(Child(path, "apiVersions"), i)));
  }
  CheckResources(errors, Child(path, "resources"), rule.resources);
  CheckOneOf(errors, Child(path, "scope"), rule.scope, {"*", "Cluster", "Namespaced"});
}

void CheckName(Errors& errors, const std::string& path, const String& name) {
  if (name.empty()) {
    errors.push_back(Required(path));
    return;
  }
  std::string problems;
  for (const std::string& problem : DnsSubdomainProblems(name)) problems += (problems.empty() ? "" : ",") + problem;
  if (!problems.empty()) {
    errors.push_back(InvalidValue(path, name, problems));
  } else if (std::count(name.view().begin(), name.view().end(), '.') < 2) {
    errors.push_back(InvalidValue(path, name, "should be a domain with at least three segments separated by dots"));
  }
}

void CheckClient(Errors& errors, const std::string& path, const WebhookClientConfig& client) {
  if (client.url.has_value() == client.service.has_value()) {
    errors.push_back(Required(path, "exactly one of url or service is required"));
  } else if (client.url.has_value()) {
    CheckWebhookUrl(errors, Child(path, "url"), *client.url);
  } else {
    const auto& service = *client.service;
    CheckWebhookService(errors, Child(path, "service"), service.namespace_, service.name, service.path.value_or(String()).view(),
                        service.port.value_or(443));
  }
}

void CheckReviewVersions(Errors& errors, const std::string& path, const List<String>& versions) {
  if (versions.empty()) {
    errors.push_back(Required(path, "must specify one of v1, v1beta1"));
    return;
  }
  std::set<std::string> seen;
  for (std::size_t i = 0; i < versions.size(); ++i) {
    if (!seen.insert(versions[i].str()).second) {
      errors.push_back(InvalidValue(Index(path, i), versions[i], "duplicate version"));
      continue;
    }
    AddProblems(errors, Index(path, i), versions[i], Dns1035LabelProblems(versions[i]));
  }
  if (!seen.contains("v1") && !seen.contains("v1beta1"))
    errors.push_back(InvalidValue(path, Shown(versions), "must include at least one of v1, v1beta1"));
}

template <typename W>
void CheckWebhook(Errors& errors, const std::string& path, const W& w) {
  CheckName(errors, Child(path, "name"), w.name);
  for (std::size_t i = 0; i < w.rules.size(); ++i) CheckRule(errors, Index(Child(path, "rules"), i), w.rules[i]);
  CheckOneOf(errors, Child(path, "failurePolicy"), w.failure_policy, {"Fail", "Ignore"});
  CheckOneOf(errors, Child(path, "matchPolicy"), w.match_policy, {"Equivalent", "Exact"});
  if (!w.side_effects.has_value()) errors.push_back(Required(Child(path, "sideEffects"), "must specify one of None, NoneOnDryRun"));
  CheckOneOf(errors, Child(path, "sideEffects"), w.side_effects, {"None", "NoneOnDryRun"});
  if (w.timeout_seconds.has_value() && (*w.timeout_seconds > 30 || *w.timeout_seconds < 1)) {
    errors.push_back(InvalidValue(Child(path, "timeoutSeconds"), *w.timeout_seconds, "the timeout value must be between 1 and 30 seconds"));
  }
  if (w.namespace_selector.has_value()) CheckSelector(errors, Child(path, "namespaceSelector"), *w.namespace_selector);
  if (w.object_selector.has_value()) CheckSelector(errors, Child(path, "objectSelector"), *w.object_selector);
  if constexpr (requires { w.reinvocation_policy; }) {
    CheckOneOf(errors, Child(path, "reinvocationPolicy"), w.reinvocation_policy, {"IfNeeded", "Never"});
  }
  CheckClient(errors, Child(path, "clientConfig"), w.client_config);
  if (!w.match_conditions.empty()) {
    errors.push_back(ForbiddenField(Child(path, "matchConditions"),
                                    "match conditions are CEL expressions, which this server does not evaluate: leave them out, or test "
                                    "with a real API server"));
  }
  CheckReviewVersions(errors, Child(path, "admissionReviewVersions"), w.admission_review_versions);
}

template <typename Configuration>
void CheckConfiguration(Errors& errors, const Configuration& object) {
  std::set<std::string> names;
  for (std::size_t i = 0; i < object.webhooks.size(); ++i) {
    const auto& webhook = object.webhooks[i];
    const std::string path = Index("webhooks", i);
    CheckWebhook(errors, path, webhook);
    if (!webhook.name.empty() && !names.insert(webhook.name.str()).second)
      errors.push_back(DuplicateValue(Child(path, "name"), webhook.name));
  }
}

}  // namespace

void ValidateKind(const MutatingWebhookConfiguration& object, const MutatingWebhookConfiguration* /*old*/, Errors& errors) {
  CheckConfiguration(errors, object);
}

void ValidateKind(const ValidatingWebhookConfiguration& object, const ValidatingWebhookConfiguration* /*old*/, Errors& errors) {
  CheckConfiguration(errors, object);
}

}  // namespace kube::apiserver::builtin
