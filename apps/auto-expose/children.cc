#include "children.h"

#include <algorithm>
#include <set>
#include <utility>

#include "kube/meta/owner_reference.h"

namespace auto_expose {
namespace {

using kube::String;
using kube::networking::v1::Ingress;

constexpr std::string_view kMarks = "kubexx.dev/";
// Limit per object. Further claims are ignored.
constexpr std::size_t kMaxClaims = 4096, kMaxPathsOfHost = 64;
constexpr std::ptrdiff_t kMostAlike = 8;  // problems with the same reason

// The annotations that auto-expose wrote.
std::set<std::string> OwnAnnotations(const kube::DynamicObject& live) {
  std::set<std::string> keys;
  const kube::Value& entries = live["metadata"]["managedFields"];
  if (entries.list().empty()) {
    for (const auto& entry : live["metadata"]["annotations"].object()) keys.insert(entry.key.str());
    return keys;
  }
  for (const kube::Value& entry : entries.list()) {
    if (entry["manager"].string_value() != kFieldManager) continue;
    for (const auto& field : entry["fieldsV1"]["f:metadata"]["f:annotations"].object()) {
      if (field.key.view().starts_with("f:")) keys.insert(std::string(field.key.view().substr(2)));
    }
  }
  return keys;
}

Problem Refusal(std::string reason, std::string_view what, std::string_view value) {
  std::string message(what);
  message.append(" \"").append(value.substr(0, 300)).append("\" of an earlier time is not allowed");
  return {std::move(reason), std::move(message), true};
}

// Returns false if there are enough problems with this reason: each is an event, and editing an Ingress must not control their number.
bool Add(std::vector<Problem>& problems, Problem problem) {
  const auto alike = std::count_if(problems.begin(), problems.end(), [&](const Problem& p) { return p.reason == problem.reason; });
  if (alike >= kMostAlike) return false;
  problems.push_back(std::move(problem));
  return true;
}

void CheckAnnotations(const kube::DynamicObject& live, const Policy& policy, std::vector<Problem>& problems) {
  for (const std::string& key : OwnAnnotations(live)) {
    const kube::Value& value = live["metadata"]["annotations"][key];
    if (!value.is_string() || key.starts_with(kMarks)) continue;
    const std::string_view text = value.string_value().view();
    const bool issuer = key == "cert-manager.io/issuer", cluster_issuer = key == "cert-manager.io/cluster-issuer";
    if ((issuer || cluster_issuer) && policy.AllowsIssuer(text, cluster_issuer)) continue;
    if (!policy.AllowsAnnotation(key, text) && !Add(problems, Refusal("IngressAnnotationNotAllowed", "annotation", key))) return;
  }
}

// Hosts and paths of which the server or its proxy may match more than their prefix by segments.
using LoosePaths = std::set<std::pair<std::string, std::string>>;

LoosePaths LoosePathsOf(const Ingress& ingress) {
  LoosePaths paths;
  for (const kube::networking::v1::IngressRule& rule : ingress.spec.rules) {
    if (!rule.http) continue;
    for (const kube::networking::v1::HTTPIngressPath& path : rule.http->paths) {
      if (path.path_type == kImplementationSpecific) paths.emplace(NormalHost(rule.host), path.path.empty() ? "/" : path.path.str());
    }
  }
  return paths;
}

LoosePaths LoosePathsOf(const kube::DynamicObject& route) {
  LoosePaths paths;
  for (const Claim& claim : ClaimsOf(route)) {
    for (const kube::Value& rule : route["spec"]["rules"].list()) {
      for (const kube::Value& match : rule["matches"].list()) {
        const String& type = match["path"]["type"].string_value();
        const String& value = match["path"]["value"].string_value();
        const bool strict = type.empty() || type == "Exact" || type == "PathPrefix";
        if (!strict && claim.path == (value.empty() ? "/" : value.view())) paths.emplace(claim.host, claim.path);
      }
    }
  }
  return paths;
}

void CheckClaims(const std::vector<Claim>& claims, const LoosePaths& loose, const Workload& workload, const Settings& settings,
                 const Policy& policy, std::vector<Problem>& problems) {
  for (const Claim& claim : claims) {
    const std::string_view type = loose.count({claim.host, claim.path}) != 0 ? kImplementationSpecific : std::string_view();
    if (!policy.AllowsHost(claim.host, TemplateHost(workload, settings))) {
      (void)Add(problems, Refusal("HostNotAllowed", "host", claim.host));
    } else if (!policy.AllowsPath(claim.host, claim.path, type, TemplatePath(workload, settings, claim.host))) {
      (void)Add(problems, Refusal("PathNotAllowed", "path", claim.path));
    }
  }
}

bool SameOwner(const kube::meta::v1::ObjectMeta& a, const kube::meta::v1::ObjectMeta& b) {
  return a.owner_references == b.owner_references && a.labels.Get(kSetLabel) == b.labels.Get(kSetLabel);
}

}  // namespace

std::vector<Claim> ClaimsOfIngress(const kube::Value& ingress) {
  Ingress plain;
  for (const kube::Value& rule : ingress["spec"]["rules"].list()) {
    kube::networking::v1::HTTPIngressRuleValue http;
    for (const kube::Value& path : rule["http"]["paths"].list()) http.paths.push_back({.path = path["path"].string_value()});
    plain.spec.rules.push_back({.host = rule["host"].string_value(), .http = std::move(http)});
  }
  if (ingress["spec"]["defaultBackend"].is_object()) plain.spec.default_backend.Mutable();
  return ClaimsOf(plain);
}

std::vector<Claim> ClaimsOf(const Ingress& ingress) {
  std::vector<Claim> claims;
  std::set<std::pair<std::string, std::string>> known;
  const auto add = [&](const std::string& host, std::string path) {
    if (known.size() < kMaxClaims && known.emplace(host, path).second) claims.push_back({host, std::move(path)});
  };
  for (const kube::networking::v1::IngressRule& rule : ingress.spec.rules) {
    const std::string host = NormalHost(rule.host);
    if (!rule.http || rule.http->paths.empty()) {
      add(host, "/");
      continue;
    }
    for (const kube::networking::v1::HTTPIngressPath& path : rule.http->paths) add(host, path.path.empty() ? "/" : path.path.str());
  }
  // Last: auto-expose makes none, so the first claim of its own Ingresses is the rule's.
  if (ingress.spec.default_backend) add("", "/");
  return claims;
}

std::vector<Claim> ClaimsOf(const kube::DynamicObject& route) {
  std::vector<std::string> paths;
  for (const kube::Value& rule : route["spec"]["rules"].list()) {
    if (rule["matches"].list().empty() && paths.size() < kMaxPathsOfHost) paths.emplace_back("/");
    for (const kube::Value& match : rule["matches"].list()) {
      const String& path = match["path"]["value"].string_value();
      if (paths.size() < kMaxPathsOfHost) paths.push_back(path.empty() ? "/" : path.str());
    }
  }
  if (paths.empty()) paths.emplace_back("/");
  std::sort(paths.begin(), paths.end());
  paths.erase(std::unique(paths.begin(), paths.end()), paths.end());
  std::set<std::string> hosts;
  for (const kube::Value& host : route["spec"]["hostnames"].list()) {
    if (hosts.size() < kMaxClaims) hosts.insert(NormalHost(host.string_value()));
  }
  if (hosts.empty()) hosts.insert("");
  paths.resize(std::min(paths.size(), std::max<std::size_t>(1, kMaxClaims / hosts.size())));
  std::vector<Claim> claims;
  for (const std::string& host : hosts) {
    for (const std::string& path : paths) claims.push_back({host, path});
  }
  return claims;
}

std::optional<ChildOwner> OwnerOf(const kube::meta::v1::ObjectMeta& child) {
  if (child.labels.Get(kSetLabel) != kSet) return std::nullopt;
  const kube::meta::v1::OwnerReference* controller = kube::FindController(child.owner_references);
  if (controller == nullptr) return std::nullopt;
  return ChildOwner{controller->kind, {child.namespace_, controller->name}, controller->uid};
}

std::optional<ChildOwner> OwnerOf(const kube::Value& child) {
  const kube::Value& metadata = child["metadata"];
  if (metadata["labels"][kSetLabel].string_value() != kSet) return std::nullopt;
  for (const kube::Value& reference : metadata["ownerReferences"].list()) {
    if (!reference["controller"].bool_value()) continue;
    return ChildOwner{reference["kind"].string_value(),
                      {metadata["namespace"].string_value(), reference["name"].string_value()},
                      reference["uid"].string_value()};
  }
  return std::nullopt;
}

bool IsControlledBy(const kube::meta::v1::ObjectMeta& child, const String& uid) {
  const kube::meta::v1::OwnerReference* controller = kube::FindController(child.owner_references);
  return controller != nullptr && controller->uid == uid;
}

bool HoldsTheSame(const Ingress& before, const Ingress& after) {
  return SameOwner(before.metadata, after.metadata) && ClaimsOf(before) == ClaimsOf(after);
}

bool HoldsTheSame(const kube::DynamicObject& before, const kube::DynamicObject& after) {
  return SameOwner(before.metadata(), after.metadata()) && ClaimsOf(before) == ClaimsOf(after);
}

std::vector<Problem> RefusedOf(const Ingress& ingress, const kube::DynamicObject& live, const Workload& workload, const Settings& settings,
                               const NamespacePolicy& of_namespace, bool class_is_default) {
  const Policy policy(settings, workload.metadata.namespace_, of_namespace);
  std::vector<Problem> problems;
  CheckClaims(ClaimsOf(ingress), LoosePathsOf(ingress), workload, settings, policy, problems);
  const std::string ingress_class = ingress.spec.ingress_class_name ? ingress.spec.ingress_class_name->str() : "";
  if (!policy.AllowsClass(ingress_class) && !(settings.ingress_class.empty() && class_is_default)) {
    problems.push_back(Refusal("IngressClassNotAllowed", "ingress class", ingress_class));
  }
  const std::vector<std::string> secrets{TemplateSecret(workload, settings), ChildName(workload.metadata.name) + "-tls", ""};
  if (ingress.spec.tls.empty() && (!policy.AllowsIssuer("", false) || !policy.AllowsIssuer("", true) ||
                                   !policy.AllowsTlsSecret("", workload.metadata.name, {TemplateSecret(workload, settings)}))) {
    problems.push_back(Refusal("TlsSecretNotAllowed", "TLS secret", ""));
  }
  for (const kube::networking::v1::IngressTLS& tls : ingress.spec.tls) {
    if (!policy.AllowsTlsSecret(tls.secret_name, workload.metadata.name, secrets)) {
      (void)Add(problems, Refusal("TlsSecretNotAllowed", "TLS secret", tls.secret_name));
    }
  }
  CheckAnnotations(live, policy, problems);
  return problems;
}

std::vector<Problem> RefusedOf(const kube::DynamicObject& live, const Workload& workload, const Settings& settings,
                               const NamespacePolicy& of_namespace) {
  const Policy policy(settings, workload.metadata.namespace_, of_namespace);
  std::vector<Problem> problems;
  CheckClaims(ClaimsOf(live), LoosePathsOf(live), workload, settings, policy, problems);
  CheckAnnotations(live, policy, problems);
  return problems;
}

std::vector<Problem> RefusedOf(const kube::core::v1::Service& service, const Workload& workload, const Settings& settings) {
  const Policy policy(settings, workload.metadata.namespace_);
  if (service.spec.type.empty() || policy.AllowsServiceType(service.spec.type)) return {};
  return {Refusal("ServiceTypeNotAllowed", "service type", service.spec.type)};
}

}  // namespace auto_expose
