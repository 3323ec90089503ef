#include "plan.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include "kube/codec/yaml.h"
#include "kube/meta/validation.h"
#include "ports.h"

namespace auto_expose {
namespace {

using kube::Result;
using kube::String;
using kube::core::v1::Service;
using kube::networking::v1::Ingress;

constexpr std::string_view kManagedBy = "app.kubernetes.io/managed-by";
// Limits on the cost of a tenant's annotations. A plan is computed several times per change of a workload, even while all others wait for
// it.
constexpr std::size_t kMaxAnnotation = 4096;
constexpr std::size_t kMaxIngressAnnotations = std::size_t{32} << 10;
constexpr std::size_t kMostRefusedKeys = 8;  // that are named

// The annotations of a workload, and their problems.
class Annotations {
 public:
  explicit Annotations(const kube::Map<String>& all) : all_(all) {}

  const String* Find(std::string_view name) const { return all_.Find(std::string(kAnnotationPrefix).append(name)); }
  std::string Get(std::string_view name, const std::string& otherwise) const {
    const String* found = Find(name);
    return found != nullptr ? found->str() : otherwise;
  }
  // One of `allowed`, or `otherwise` if there is no annotation.
  std::string OneOf(std::string_view name, std::initializer_list<std::string_view> allowed, const std::string& otherwise) {
    const String* found = Find(name);
    if (found == nullptr) return otherwise;
    for (std::string_view one : allowed) {
      if (*found == one) return found->str();
    }
    std::string text;
    for (std::string_view one : allowed) text.append(text.empty() ? "" : ", ").append(one);
    Bad(name, "allowed are " + text);
    return otherwise;
  }
  void Bad(std::string_view name, std::string_view what) {
    std::string message = "annotation ";
    message.append(kAnnotationPrefix).append(name).append(": \"").append(Get(name, "").substr(0, kMaxShown)).append("\": ").append(what);
    problems_.push_back({"InvalidAnnotation", std::move(message)});
  }
  // The annotation is understood, and its value is not allowed.
  void Refuse(std::string_view name, std::string reason, std::string_view value, std::string_view what) {
    std::string message = "annotation ";
    message.append(kAnnotationPrefix).append(name).append(": \"").append(value.substr(0, kMaxShown)).append("\" is not allowed: ");
    message.append(what);
    refusals_.push_back({std::move(reason), std::move(message), true});
  }
  // Values that are parsed or filled in. The others are only compared.
  void CheckSizes() {
    for (const char* name : {"port", "host", "path", "ingress-class", "tls-secret", "issuer", "cluster-issuer"})
      CheckSize(name, kMaxAnnotation);
    CheckSize("ingress-annotations", kMaxIngressAnnotations);
  }
  std::vector<Problem> problems() && { return std::move(problems_); }
  std::vector<Problem> refusals() && { return std::move(refusals_); }
  bool good() const { return problems_.empty(); }
  std::size_t refused() const { return refusals_.size(); }

 private:
  static constexpr std::size_t kMaxShown = 300;  // of a value in a message

  void CheckSize(std::string_view name, std::size_t most) {
    const String* found = Find(name);
    if (found != nullptr && found->size() > most) Bad(name, "longer than " + std::to_string(most) + " bytes");
  }

  const kube::Map<String>& all_;
  std::vector<Problem> problems_{};
  std::vector<Problem> refusals_{};
};

std::string Fill(std::string_view text, const Workload& workload, const Settings& settings) {
  const std::pair<std::string_view, std::string_view> values[] = {
      {"{name}", workload.metadata.name.view()}, {"{namespace}", workload.metadata.namespace_.view()}, {"{domain}", settings.domain}};
  std::string filled;
  while (!text.empty()) {
    const auto* const found =
        std::find_if(std::begin(values), std::end(values), [text](const auto& entry) { return text.starts_with(entry.first); });
    if (found != std::end(values)) {
      filled.append(found->second);
      text.remove_prefix(found->first.size());
      continue;
    }
    const std::size_t next = std::min(text.find('{', 1), text.size());
    filled.append(text.substr(0, next));
    text.remove_prefix(next);
  }
  return filled;
}

// Service selectors support labels only. An expression is replaced by the pods' label.
kube::Map<String> ServiceSelector(const Workload& workload) {
  kube::Map<String> labels;
  if (!workload.selector) return labels;
  if (workload.selector->match_expressions.empty()) return workload.selector->match_labels;
  // Not with Set, which moves what is behind: there may be very many.
  std::map<std::string_view, String> sorted;
  for (const auto& label : workload.selector->match_labels) sorted.emplace(label.key.view(), label.value);
  for (const auto& expression : workload.selector->match_expressions) {
    const String* label = workload.pods.metadata.labels.Find(expression.key);
    if (label != nullptr) sorted.insert_or_assign(expression.key.view(), *label);
  }
  for (const auto& [key, value] : sorted) labels.Append(String(key), value);
  return labels;
}

std::optional<std::string> WhyNot(const Workload& workload, const Settings& settings, Annotations& annotations) {
  if (!settings.selector.Matches(workload.metadata.labels)) return "its labels do not match the selector";
  const std::string expose = annotations.OneOf("expose", {"true", "false"}, settings.opt_in ? "false" : "true");
  if (expose == "true") return std::nullopt;
  return annotations.Find("expose") != nullptr ? "annotation expose is false" : "it has no annotation expose: \"true\"";
}

// What an Ingress and an HTTPRoute are made from.
struct Route {
  std::string ingress_class{};
  std::string host{};  // empty: any
  std::string path{};
  std::string path_type{};
  std::string tls_secret{};  // empty: no TLS
  kube::Map<String> annotations{};
};

void ReadAnnotationsOfIngress(Annotations& annotations, const Policy& policy, Route& route) {
  const String* text = annotations.Find("ingress-annotations");
  if (text == nullptr) return;
  const Result<std::vector<kube::Value>> documents = kube::ParseYaml(text->view());
  if (!documents || documents->size() != 1 || !documents->front().is_object()) {
    return annotations.Bad("ingress-annotations", "must be a YAML map of strings, as \"key: value\" lines");
  }
  constexpr std::string_view kHint = "the operator allows keys with --allow-ingress-annotations";
  std::size_t refused = 0;
  for (const auto& entry : documents->front().object()) {
    if (Result<void> key = kube::ValidateLabelKey(entry.key); !key) {
      return annotations.Bad("ingress-annotations", "\"" + entry.key.str() + "\" cannot be a key: " + key.error().message());
    }
    if (!entry.value.is_string()) {
      return annotations.Bad("ingress-annotations", "the value of " + entry.key.str() + " must be a string: put it in quotes");
    }
    if (!policy.AllowsAnnotation(entry.key, entry.value.string_value())) {
      // Each one is an event: there must not be one for each of very many keys.
      if (++refused <= kMostRefusedKeys) annotations.Refuse("ingress-annotations", "IngressAnnotationNotAllowed", entry.key, kHint);
      continue;
    }
    route.annotations.Set(entry.key, entry.value.string_value());
  }
  if (refused > kMostRefusedKeys) {
    annotations.Refuse("ingress-annotations", "IngressAnnotationNotAllowed", std::to_string(refused - kMostRefusedKeys) + " more keys",
                       kHint);
  }
}

void ReadHostAndPath(const Workload& workload, const Settings& settings, const Policy& policy, Annotations& annotations, Route& route) {
  const std::string own_host = TemplateHost(workload, settings);
  route.host = annotations.Find("host") != nullptr ? Fill(annotations.Get("host", ""), workload, settings) : own_host;
  if (!route.host.empty() && !IsHost(route.host)) {
    if (annotations.Find("host") != nullptr) {
      annotations.Bad("host", "not a host name: expected lower-case letters, digits, '-' and '.', at most 63 between dots");
    } else {
      annotations.Bad("host", "the host \"" + route.host + "\" derived from the name is not a host name: set this annotation");
    }
  } else if (!policy.AllowsHost(route.host, own_host)) {
    annotations.Refuse("host", "HostNotAllowed", route.host,
                       "this namespace may have " + policy.DescribeHosts() +
                           "; the operator allows more with --allow-hosts or the annotation " + std::string(kAllowHostsAnnotation) +
                           " of the namespace");
  }
  const std::string own_path = TemplatePath(workload, settings, route.host);
  const std::string asked = annotations.Get("path", "");
  route.path = asked.empty() ? own_path : Fill(asked, workload, settings);
  route.path_type = annotations.OneOf("path-type", {"Prefix", "Exact", kImplementationSpecific}, settings.path_type);
  if (!route.path.starts_with('/') || route.path.find("//") != std::string::npos) {
    annotations.Bad("path", "must start with '/', and have no \"//\"");
  } else if (!policy.AllowsPath(route.host, route.path, route.path_type, own_path)) {
    annotations.Refuse(annotations.Find("path") == nullptr ? "path-type" : "path", "PathNotAllowed", route.path,
                       IsSafePath(route.path)
                           ? "namespaces share this host, so paths start with /" + workload.metadata.namespace_.str() + "/"
                           : "a path has letters, digits and -._~ between slashes, and no segment \".\" or \"..\"");
  }
}

void ReadTls(const Workload& workload, const Settings& settings, const Policy& policy, Annotations& annotations, Route& route) {
  const bool own_issuer = annotations.Find("issuer") != nullptr || annotations.Find("cluster-issuer") != nullptr;
  const std::string issuer = annotations.Get("issuer", own_issuer ? "" : settings.issuer);
  const std::string cluster_issuer = annotations.Get("cluster-issuer", own_issuer ? "" : settings.cluster_issuer);
  if (!issuer.empty() && !cluster_issuer.empty()) annotations.Bad("issuer", "cluster-issuer is also set: remove one of them");
  const auto set = [&](const char* name, const std::string& value, bool cluster) {
    if (value.empty()) return;
    route.annotations.Set(std::string("cert-manager.io/") + name, value);
    if (policy.AllowsIssuer(value, cluster)) return;
    annotations.Refuse(name, "IssuerNotAllowed", value, std::string("the operator allows names with --allow-") + name + "s");
  };
  set("issuer", issuer, false);
  set("cluster-issuer", cluster_issuer, true);
  // No issuer at all, in the place of the operator's.
  if (own_issuer && issuer.empty() && cluster_issuer.empty()) {
    for (const bool cluster : {false, true}) {
      if (policy.AllowsIssuer("", cluster)) continue;
      annotations.Refuse(
          annotations.Find("issuer") != nullptr ? "issuer" : "cluster-issuer", "IssuerNotAllowed", "",
          std::string("it removes the operator's; --allow-") + (cluster ? "cluster-issuers" : "issuers") + "='*' permits that");
    }
  }
  const std::string own_secret = TemplateSecret(workload, settings);
  route.tls_secret = Fill(annotations.Get("tls-secret", settings.tls_secret), workload, settings);
  if (route.tls_secret.empty()) {
    if (!issuer.empty() || !cluster_issuer.empty()) route.tls_secret = ChildName(workload.metadata.name) + "-tls";
    if (!own_secret.empty() && !policy.AllowsTlsSecret(route.tls_secret, workload.metadata.name, {own_secret})) {
      annotations.Refuse("tls-secret", "TlsSecretNotAllowed", "", "it removes the operator's; --allow-tls-secrets='*' permits that");
    }
  } else if (Result<void> valid = kube::ValidateDnsSubdomain(route.tls_secret); !valid) {
    annotations.Bad("tls-secret", valid.error().message());
  } else if (!policy.AllowsTlsSecret(route.tls_secret, workload.metadata.name, {own_secret})) {
    annotations.Refuse("tls-secret", "TlsSecretNotAllowed", route.tls_secret, "the operator allows names with --allow-tls-secrets");
  }
}

Route ReadRoute(const Workload& workload, const Settings& settings, const Policy& policy, Annotations& annotations) {
  Route route;
  route.ingress_class = annotations.Get("ingress-class", settings.ingress_class);
  if (!route.ingress_class.empty() && !kube::ValidateDnsSubdomain(route.ingress_class)) {
    annotations.Bad("ingress-class", kube::ValidateDnsSubdomain(route.ingress_class).error().message());
  } else if (settings.exposure == Exposure::kIngress && !policy.AllowsClass(route.ingress_class)) {
    annotations.Refuse("ingress-class", "IngressClassNotAllowed", route.ingress_class,
                       "the operator allows names with --allow-ingress-classes");
  }
  ReadHostAndPath(workload, settings, policy, annotations, route);
  for (const auto& entry : settings.ingress_annotations) route.annotations.Set(entry.key, entry.value);
  ReadAnnotationsOfIngress(annotations, policy, route);
  ReadTls(workload, settings, policy, annotations, route);
  return route;
}

kube::meta::v1::ObjectMeta ChildMetadata(const Workload& workload) {
  kube::meta::v1::ObjectMeta metadata;
  metadata.name = ChildName(workload.metadata.name);
  metadata.namespace_ = workload.metadata.namespace_;
  metadata.labels = {{String(kManagedBy), "auto-expose"}};
  return metadata;
}

Ingress MakeIngress(const Workload& workload, const Route& route, const kube::core::v1::ServicePort& port) {
  Ingress ingress;
  ingress.metadata = ChildMetadata(workload);
  ingress.metadata.annotations = route.annotations;
  if (!route.ingress_class.empty()) ingress.spec.ingress_class_name = route.ingress_class;
  kube::networking::v1::HTTPIngressPath path;
  path.path = route.path;
  path.path_type = route.path_type;
  kube::networking::v1::IngressServiceBackend backend;
  backend.name = ingress.metadata.name;
  backend.port.number = port.port;
  path.backend.service = std::move(backend);
  kube::networking::v1::HTTPIngressRuleValue http;
  http.paths.push_back(std::move(path));
  kube::networking::v1::IngressRule rule;
  rule.host = route.host;
  rule.http = std::move(http);
  ingress.spec.rules.push_back(std::move(rule));
  if (!route.tls_secret.empty()) {
    kube::networking::v1::IngressTLS tls;
    if (!route.host.empty()) tls.hosts.push_back(route.host);
    tls.secret_name = route.tls_secret;
    ingress.spec.tls.push_back(std::move(tls));
  }
  return ingress;
}

kube::DynamicObject MakeHttpRoute(const Workload& workload, const Settings& settings, const Route& route,
                                  const kube::core::v1::ServicePort& port) {
  const kube::meta::v1::ObjectMeta metadata = ChildMetadata(workload);
  kube::DynamicObject object(kHttpRoute, {metadata.namespace_, metadata.name});
  object.set_label(kManagedBy, "auto-expose");
  for (const auto& entry : route.annotations) object.set_annotation(entry.key, entry.value);
  kube::Value parent = kube::Value::Object();
  parent["name"] = String(settings.gateway);
  if (!settings.gateway_namespace.empty()) parent["namespace"] = String(settings.gateway_namespace);
  kube::Value path = kube::Value::Object();
  path["type"] = route.path_type == "Exact" ? "Exact" : "PathPrefix";
  path["value"] = String(route.path);
  kube::Value match = kube::Value::Object();
  match["path"] = std::move(path);
  kube::Value backend = kube::Value::Object();
  backend["name"] = metadata.name;
  backend["port"] = port.port;
  kube::Value rule = kube::Value::Object();
  rule["matches"].MutableList().push_back(std::move(match));
  rule["backendRefs"].MutableList().push_back(std::move(backend));
  kube::Value& spec = object["spec"];
  spec["parentRefs"].MutableList().push_back(std::move(parent));
  if (!route.host.empty()) spec["hostnames"].MutableList().push_back(String(route.host));
  spec["rules"].MutableList().push_back(std::move(rule));
  return object;
}

// "http" and "web" speak for themselves; else the first that HTTP can go to.
const kube::core::v1::ServicePort* HttpPort(const Service& service) {
  const kube::core::v1::ServicePort* first = nullptr;
  for (const kube::core::v1::ServicePort& port : service.spec.ports) {
    if (port.protocol != "TCP") continue;
    if (port.name == "http" || port.name == "web") return &port;
    if (first == nullptr) first = &port;
  }
  return first;
}

// Returns the Service that exposes the workload. It has no ports if none are declared or if the annotation for them is malformed.
Service ServiceFor(const Workload& workload, const Settings& settings, const Policy& policy, Annotations& annotations) {
  Service service;
  service.metadata = ChildMetadata(workload);
  service.spec.selector = ServiceSelector(workload);
  std::string type = annotations.OneOf("service-type", {"ClusterIP", "NodePort", "LoadBalancer"}, settings.service_type);
  if (!policy.AllowsServiceType(type)) {
    annotations.Refuse("service-type", "ServiceTypeNotAllowed", type,
                       "the Service has type ClusterIP; the operator allows more with --allow-service-types");
    type = "ClusterIP";
  }
  service.spec.type = type;
  const std::string affinity = annotations.OneOf("session-affinity", {"None", "ClientIP"}, "");
  service.spec.session_affinity = affinity;
  const std::vector<DeclaredPort> declared = DeclaredPorts(workload.pods.spec);
  if (const String* wanted = annotations.Find("port")) {
    Result<kube::List<kube::core::v1::ServicePort>> ports = ParsePorts(*wanted, declared);
    if (ports) {
      service.spec.ports = std::move(*ports);
    } else {
      annotations.Bad("port", ports.error().message());
    }
  } else {
    service.spec.ports = ServicePorts(declared);
  }
  return service;
}

// Plans the Ingress or HTTPRoute that leads to the port, if `allowed`.
void PlanRoute(const Workload& workload, const Settings& settings, const Policy& policy, const Route& route,
               const kube::core::v1::ServicePort& http, bool allowed, Plan& plan) {
  plan.wish = Claim{route.host, route.path, policy.InZone(route.host, route.path), policy.GivenTo(route.host, route.path)};
  if (!allowed) return;
  if (settings.exposure == Exposure::kGateway) {
    plan.route = MakeHttpRoute(workload, settings, route, http);
  } else {
    plan.ingress = MakeIngress(workload, route, http);
  }
  plan.claim = plan.wish;
  plan.url = route.host.empty() ? route.path : (route.tls_secret.empty() ? "http://" : "https://") + route.host + route.path;
}

}  // namespace

bool IsRefused(const Plan& plan, std::string_view reason) {
  return std::any_of(plan.problems.begin(), plan.problems.end(), [&](const Problem& p) { return p.refused && p.reason == reason; });
}

bool IsHostRefusal(const Problem& problem) { return problem.refused && problem.reason == "HostNotAllowed"; }

bool IsRefusedForHostOnly(const Plan& plan) {
  return IsRefused(plan, "HostNotAllowed") && std::none_of(plan.problems.begin(), plan.problems.end(), [](const Problem& p) {
           return p.refused && !IsHostRefusal(p) && p.reason != "ServiceTypeNotAllowed";
         });
}

void LeaveHostUndecided(Plan& plan) {
  std::erase_if(plan.problems, IsHostRefusal);
  plan.problems.push_back({"Failed", "Namespaces cannot be listed: the role does not allow it. The hosts that the annotation " +
                                         std::string(kAllowHostsAnnotation) +
                                         " of this namespace adds are not known, so its Ingress or HTTPRoute stays unchanged"});
}

void LeaveHostsUnknown(Plan& plan) {
  const char* what = plan.route ? "HTTPRoutes (httproutes.gateway.networking.k8s.io)" : "Ingresses (ingresses.networking.k8s.io)";
  plan.problems.push_back({"Failed", std::string(what) + " cannot be listed: they are not installed or not allowed. The hosts in use are " +
                                         "not known, so none is created"});
  plan.ingress.reset();
  plan.route.reset();
  plan.url.clear();
}

bool CoversNamespace(const Settings& settings, std::string_view ns) {
  const auto has = [ns](const std::vector<std::string>& names) { return std::find(names.begin(), names.end(), ns) != names.end(); };
  return !has(settings.excluded_namespaces) && (settings.namespaces.empty() || has(settings.namespaces));
}

std::string TemplateHost(const Workload& workload, const Settings& settings) {
  return settings.domain.empty() ? "" : Fill(settings.host, workload, settings);
}

std::string TemplatePath(const Workload& workload, const Settings& settings, std::string_view host) {
  if (!settings.path.empty()) return Fill(settings.path, workload, settings);
  const std::optional<std::string> shared = SharedHost(settings);
  return Fill(host.empty() || (shared && host == *shared) ? "/{namespace}/{name}" : "/", workload, settings);
}

std::string TemplateSecret(const Workload& workload, const Settings& settings) { return Fill(settings.tls_secret, workload, settings); }

Workload WorkloadOf(const kube::apps::v1::Deployment& deployment) {
  return {kube::GvkOf(deployment), deployment.metadata, deployment.spec.selector, deployment.spec.template_};
}
Workload WorkloadOf(const kube::apps::v1::StatefulSet& set) {
  return {kube::GvkOf(set), set.metadata, set.spec.selector, set.spec.template_};
}
Workload WorkloadOf(const kube::apps::v1::DaemonSet& set) {
  return {kube::GvkOf(set), set.metadata, set.spec.selector, set.spec.template_};
}

std::string ChildName(std::string_view workload_name) {
  const auto is_letter = [](char c) { return c >= 'a' && c <= 'z'; };
  if (kube::ValidateDnsLabel(workload_name) && is_letter(workload_name.front())) return std::string(workload_name);
  // FNV-1a, 32 bits: the name has to be the same in every process and every release.
  std::uint32_t hash = 2166136261U;
  for (const char c : workload_name) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619U;
  char hex[8];
  for (int i = 7; i >= 0; --i, hash >>= 4) hex[i] = "0123456789abcdef"[hash & 15U];
  std::string name(workload_name);
  std::replace(name.begin(), name.end(), '.', '-');
  if (name.empty() || !is_letter(name.front())) name.insert(0, "w-");
  name.resize(std::min<std::size_t>(name.size(), kube::kMaxDnsLabelLength - 9));
  return name + "-" + std::string(hex, sizeof hex);
}

Plan PlanFor(const Workload& workload, const Settings& settings, const NamespacePolicy& of_namespace) {
  Plan plan;
  if (!CoversNamespace(settings, workload.metadata.namespace_)) {
    plan.verdict = Plan::Verdict::kIgnore;
    plan.why = "its namespace is excluded";
    return plan;
  }
  Annotations annotations(workload.metadata.annotations);
  if (std::optional<std::string> why = WhyNot(workload, settings, annotations); why && annotations.good()) {
    plan.why = std::move(*why);
    return plan;
  }

  annotations.CheckSizes();
  if (!annotations.good()) {
    plan.verdict = Plan::Verdict::kKeep;
    plan.problems = std::move(annotations).problems();
    return plan;
  }
  const Policy policy(settings, workload.metadata.namespace_, of_namespace);
  Service service = ServiceFor(workload, settings, policy, annotations);
  const bool routed = annotations.OneOf("ingress", {"none"}, "") != "none" && settings.exposure != Exposure::kNone;
  Route route;
  bool allowed = true;  // an Ingress or a route
  if (routed) {
    const std::size_t before = annotations.refused();
    route = ReadRoute(workload, settings, policy, annotations);
    allowed = annotations.refused() == before;
  }

  plan.verdict = Plan::Verdict::kKeep;
  if (!annotations.good()) {
    plan.problems = std::move(annotations).problems();
    return plan;
  }
  if (service.spec.ports.size() > kMaxPorts) {
    plan.verdict = Plan::Verdict::kKeep;
    plan.problems.push_back({"TooManyPorts", "the containers declare more than " + std::to_string(kMaxPorts) +
                                                 " ports: name those of the Service with annotation " + std::string(kAnnotationPrefix) +
                                                 "port"});
    return plan;
  }
  if (service.spec.ports.empty()) {
    // Nothing to send traffic to: what was made for an earlier port would lead nowhere.
    plan.verdict = Plan::Verdict::kLeave;
    plan.why = "no container declares a port";
    plan.problems.push_back({"NoPort", "no container declares a port: add spec.template.spec.containers[].ports, or set annotation " +
                                           std::string(kAnnotationPrefix) + "port, for example \"8080\""});
    return plan;
  }
  if (service.spec.selector.empty()) {
    plan.problems.push_back({"NoSelector", "spec.selector has no label that a Service could select pods by: use matchLabels"});
    return plan;
  }
  plan.verdict = Plan::Verdict::kExpose;
  plan.problems = std::move(annotations).refusals();
  const kube::core::v1::ServicePort* http = HttpPort(service);
  if (routed && http != nullptr) PlanRoute(workload, settings, policy, route, *http, allowed, plan);
  plan.service = std::move(service);
  return plan;
}

}  // namespace auto_expose
