#include <algorithm>
#include <set>

#include "apiserver/builtin/service_addresses.h"
#include "apiserver/builtin/validation_kinds.h"
#include "apiserver/names.h"
#include "kube/api/core/v1.h"
#include "kube/api/discovery/v1.h"
#include "kube/api/networking/v1.h"

namespace kube::apiserver::builtin {
namespace {

using core::v1::Service;
using core::v1::ServicePort;

constexpr const char* kBadIp = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)";

// ---- Services ----

bool IsHeadless(const Service& s) { return !s.spec.cluster_ips.empty() && s.spec.cluster_ips[0] == "None"; }
bool NeedsNodePort(const Service& s) { return s.spec.type == "NodePort" || s.spec.type == "LoadBalancer"; }
bool IsExternallyAccessible(const Service& s) { return NeedsNodePort(s) || (s.spec.type == "ClusterIP" && !s.spec.external_ips.empty()); }
bool NeedsHealthCheckPort(const Service& s) { return s.spec.type == "LoadBalancer" && s.spec.external_traffic_policy == "Local"; }

void CheckByType(Errors& errors, const Service& s) {
  const auto& spec = s.spec;
  if (NeedsNodePort(s) && IsHeadless(s)) {
    errors.push_back(InvalidValue("spec.clusterIPs[0]", "None", "may not be set to 'None' for " + spec.type.str() + " services"));
  }
  if (spec.type != "ExternalName") return;
  const char* const why = "may not be set for ExternalName services";
  if (!spec.cluster_ips.empty()) errors.push_back(ForbiddenField("spec.clusterIPs", why));
  if (!spec.ip_families.empty()) errors.push_back(ForbiddenField("spec.ipFamilies", why));
  if (spec.ip_family_policy.has_value()) errors.push_back(ForbiddenField("spec.ipFamilyPolicy", why));
  std::string name = spec.external_name.str();
  if (name.ends_with('.')) name.pop_back();
  if (name.empty()) {
    errors.push_back(Required("spec.externalName"));
  } else {
    AddProblems(errors, "spec.externalName", name, DnsSubdomainProblems(name));
  }
}

void CheckServicePorts(Errors& errors, const Service& s) {
  const auto& ports = s.spec.ports;
  std::set<std::string> names;
  for (std::size_t i = 0; i < ports.size(); ++i) {
    const ServicePort& p = ports[i];
    const std::string at = Index("spec.ports", i);
    if (p.name.empty()) {
      if (ports.size() > 1) errors.push_back(Required(Child(at, "name")));
    } else {
      AddProblems(errors, Child(at, "name"), p.name, DnsLabelProblems(p.name));
      if (!names.insert(p.name.str()).second) errors.push_back(DuplicateValue(Child(at, "name"), p.name));
    }
    CheckPort(errors, Child(at, "port"), p.port);
    CheckEnum(errors, Child(at, "protocol"), p.protocol, {"SCTP", "TCP", "UDP"});
    CheckPortNumberOrName(errors, Child(at, "targetPort"), p.target_port);
    if (p.app_protocol.has_value()) AddProblems(errors, Child(at, "appProtocol"), *p.app_protocol, QualifiedNameProblems(*p.app_protocol));
  }
}

void CheckPortUniqueness(Errors& errors, const Service& s) {
  const auto& ports = s.spec.ports;
  if (s.spec.type == "ClusterIP") {
    for (std::size_t i = 0; i < ports.size(); ++i) {
      if (ports[i].node_port == 0) continue;
      errors.push_back(ForbiddenField(Child(Index("spec.ports", i), "nodePort"), "may not be used when `type` is 'ClusterIP'"));
    }
  }
  std::set<std::pair<std::string, int>> node_ports, numbers;
  for (std::size_t i = 0; i < ports.size(); ++i) {
    const ServicePort& p = ports[i];
    if (p.node_port != 0 && !node_ports.insert({p.protocol.str(), p.node_port}).second) {
      errors.push_back(DuplicateValue(Child(Index("spec.ports", i), "nodePort"), p.node_port));
    }
  }
  for (std::size_t i = 0; i < ports.size(); ++i) {
    const ServicePort& p = ports[i];
    if (numbers.insert({p.protocol.str(), p.port}).second) continue;
    // The whole port is shown, with nothing but what makes it a duplicate.
    FieldError duplicate = DuplicateValue(Index("spec.ports", i), Value());
    duplicate.value = "{\"Name\":\"\",\"Protocol\":\"" + p.protocol.str() + "\",\"AppProtocol\":null,\"Port\":" + std::to_string(p.port) +
                      ",\"TargetPort\":0,\"NodePort\":0}";
    errors.push_back(std::move(duplicate));
  }
}

void CheckTraffic(Errors& errors, const Service& s) {
  const auto& spec = s.spec;
  const std::string external = "spec.externalTrafficPolicy", health = "spec.healthCheckNodePort";
  if (!IsExternallyAccessible(s)) {
    if (!spec.external_traffic_policy.empty()) {
      errors.push_back(InvalidValue(external, spec.external_traffic_policy, "may only be set for externally-accessible services"));
    }
  } else {
    CheckEnum(errors, external, spec.external_traffic_policy, {"Cluster", "Local"});
  }
  if (!NeedsHealthCheckPort(s)) {
    if (spec.health_check_node_port != 0) {
      errors.push_back(InvalidValue(health, spec.health_check_node_port,
                                    "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'"));
    }
  } else if (spec.health_check_node_port == 0) {
    errors.push_back(Required(health));
  } else {
    CheckPort(errors, health, spec.health_check_node_port);
  }
  if (spec.internal_traffic_policy.has_value()) {
    CheckEnum(errors, "spec.internalTrafficPolicy", *spec.internal_traffic_policy, {"Cluster", "Local"});
  }
  if (spec.traffic_distribution.has_value()) {
    CheckEnum(errors, "spec.trafficDistribution", *spec.traffic_distribution, {"PreferClose", "PreferSameZone", "PreferSameNode"});
  }
}

void CheckAddressUpdate(Errors& errors, const Service& s, const Service& old) {
  if (s.spec.type == "ExternalName" || old.spec.type == "ExternalName" || (IsHeadless(s) && IsHeadless(old))) return;
  const auto& now = s.spec.cluster_ips;
  const auto& before = old.spec.cluster_ips;
  auto refuse = [&](std::size_t i, const char* why) { errors.push_back(InvalidValue(Index("spec.clusterIPs", i), Shown(now), why)); };
  if (now.size() == before.size()) {
    for (std::size_t i = 0; i < now.size(); ++i) {
      if (!(now[i] == before[i])) refuse(i, "may not change once set");
    }
  } else if (now.size() < before.size()) {
    if (now.empty()) {
      refuse(0, "primary clusterIP can not be unset");
    } else if (!(now[0] == before[0])) {
      refuse(0, "may not change once set");
    }
  } else if (!before.empty() && !(now[0] == before[0])) {
    refuse(0, "may not change once set");
  }
  if (IsHeadless(s) || IsHeadless(old)) return;
  const auto& families = s.spec.ip_families;
  const auto& families_before = old.spec.ip_families;
  bool changed = !families.empty() && !families_before.empty() && !(families[0] == families_before[0]);
  if (changed) errors.push_back(InvalidValue("spec.ipFamilies[0]", Shown(families), "may not change once set"));
}

// ---- Ingresses ----

void CheckBackend(Errors& errors, const std::string& path, const networking::v1::IngressBackend& b) {
  bool has_resource = b.resource.has_value(), has_service = b.service.has_value();
  if (has_resource && has_service) {
    errors.push_back(InvalidValue(path, "", "cannot set both resource and service backends"));
  } else if (has_resource) {
    const std::string at = Child(path, "resource");
    if (b.resource->kind.empty()) errors.push_back(Required(Child(at, "kind")));
    if (b.resource->name.empty()) errors.push_back(Required(Child(at, "name")));
  } else if (!has_service) {
    errors.push_back(InvalidValue(path, "", "resource or service backend is required"));
  } else {
    const std::string at = Child(path, "service");
    if (b.service->name.empty()) {
      errors.push_back(Required(Child(at, "name")));
    } else {
      AddProblems(errors, Child(at, "name"), b.service->name, DnsLabelProblems(b.service->name));
    }
    const auto& port = b.service->port;
    if (!port.name.empty() && port.number != 0) {
      errors.push_back(InvalidValue(path, "", "cannot set both port name & port number"));
    } else if (!port.name.empty()) {
      AddProblems(errors, Child(at, "port.name"), port.name, PortNameProblems(port.name));
    } else if (port.number != 0) {
      CheckPort(errors, Child(at, "port.number"), port.number);
    } else {
      errors.push_back(Required(path, "port name or number is required"));
    }
  }
}

void CheckPath(Errors& errors, const std::string& at, const networking::v1::HTTPIngressPath& p) {
  if (!p.path_type.has_value()) {
    errors.push_back(Required(Child(at, "pathType"), "pathType must be specified"));
    return;
  }
  std::string_view text = p.path;
  const std::string path = Child(at, "path");
  if (*p.path_type == "Exact" || *p.path_type == "Prefix") {
    if (!text.starts_with('/')) errors.push_back(InvalidValue(path, p.path, "must be an absolute path"));
    for (const char* sequence : {"//", "/./", "/../", "%2f", "%2F"}) {
      if (text.find(sequence) == std::string_view::npos) continue;
      errors.push_back(InvalidValue(path, p.path, std::string("must not contain '") + sequence + "'"));
    }
    for (const char* suffix : {"/..", "/."}) {
      if (text.ends_with(suffix)) errors.push_back(InvalidValue(path, p.path, std::string("cannot end with '") + suffix + "'"));
    }
  } else if (*p.path_type == "ImplementationSpecific") {
    if (!text.empty() && !text.starts_with('/')) errors.push_back(InvalidValue(path, p.path, "must be an absolute path"));
  } else {
    errors.push_back(NotSupported(Child(at, "pathType"), *p.path_type, {"Exact", "ImplementationSpecific", "Prefix"}));
  }
  CheckBackend(errors, Child(at, "backend"), p.backend);
}

void CheckHost(Errors& errors, const std::string& path, const String& host) {
  bool wild = host.view().find('*') != std::string_view::npos;
  AddProblems(errors, path, host, wild ? WildcardSubdomainProblems(host) : DnsSubdomainProblems(host));
}

// ---- Network policies ----

void CheckPolicyPort(Errors& errors, const std::string& path, const networking::v1::NetworkPolicyPort& p) {
  if (p.protocol.has_value()) CheckEnum(errors, Child(path, "protocol"), *p.protocol, {"TCP", "UDP", "SCTP"}, false);
  const std::string end = Child(path, "endPort");
  if (!p.port.has_value()) {
    if (p.end_port.has_value()) errors.push_back(InvalidValue(end, *p.end_port, "may not be specified when `port` is not specified"));
  } else if (p.port->is_string()) {
    if (p.end_port.has_value()) errors.push_back(InvalidValue(end, *p.end_port, "may not be specified when `port` is non-numeric"));
    AddProblems(errors, Child(path, "port"), p.port->string_value(), PortNameProblems(p.port->string_value()));
  } else {
    CheckPort(errors, Child(path, "port"), p.port->int_value());
    if (p.end_port.has_value()) {
      if (*p.end_port < p.port->int_value()) {
        errors.push_back(InvalidValue(end, p.port->int_value(), "must be greater than or equal to `port`"));
      }
      CheckPort(errors, end, *p.end_port);
    }
  }
}

void CheckPeer(Errors& errors, const std::string& path, const networking::v1::NetworkPolicyPeer& p) {
  int peers = 0;
  if (p.pod_selector.has_value()) {
    ++peers;
    CheckSelector(errors, Child(path, "podSelector"), *p.pod_selector);
  }
  if (p.namespace_selector.has_value()) {
    ++peers;
    CheckSelector(errors, Child(path, "namespaceSelector"), *p.namespace_selector);
  }
  if (p.ip_block.has_value()) {
    ++peers;
    if (p.ip_block->cidr.empty()) errors.push_back(Required(Child(path, "ipBlock.cidr")));
  }
  if (peers == 0) {
    errors.push_back(Required(path, "must specify a peer"));
  } else if (peers > 1 && p.ip_block.has_value()) {
    errors.push_back(ForbiddenField(path, "may not specify both ipBlock and another peer"));
  }
}

}  // namespace

void ValidateKind(const Service& s, const Service* old, Errors& errors) {
  const auto& spec = s.spec;
  if (old != nullptr) {
    CheckAddressUpdate(errors, s, *old);
    if (NeedsHealthCheckPort(*old) && NeedsHealthCheckPort(s) && spec.health_check_node_port != old->spec.health_check_node_port) {
      errors.push_back(ForbiddenField("spec.healthCheckNodePort", "field is immutable"));
    }
  }
  if (spec.ports.empty() && !IsHeadless(s) && spec.type != "ExternalName") errors.push_back(Required("spec.ports"));
  CheckByType(errors, s);
  CheckServicePorts(errors, s);
  CheckLabels(errors, "spec.selector", spec.selector);
  CheckEnum(errors, "spec.sessionAffinity", spec.session_affinity, {"ClientIP", "None"});
  if (spec.session_affinity == "ClientIP") {
    std::int32_t seconds = spec.session_affinity_config->client_ip->timeout_seconds.value_or(0);
    if (seconds <= 0 || seconds > 86400) {
      errors.push_back(
          InvalidValue("spec.sessionAffinityConfig.clientIP.timeoutSeconds", seconds, "must be greater than 0 and less than 86400"));
    }
  }
  Add(errors, ValidateServiceAddresses(s, old));
  for (std::size_t i = 0; i < spec.external_ips.size(); ++i) {
    if (!IsIpv4(spec.external_ips[i]) && !IsIpv6(spec.external_ips[i])) {
      errors.push_back(InvalidValue(Index("spec.externalIPs", i), spec.external_ips[i], kBadIp));
    }
  }
  CheckEnum(errors, "spec.type", spec.type, {"ClusterIP", "ExternalName", "LoadBalancer", "NodePort"});
  CheckPortUniqueness(errors, s);
  if (!spec.load_balancer_source_ranges.empty() && spec.type != "LoadBalancer") {
    errors.push_back(ForbiddenField("spec.LoadBalancerSourceRanges", "may only be used when `type` is 'LoadBalancer'"));
  }
  if (spec.allocate_load_balancer_node_ports.has_value() && spec.type != "LoadBalancer") {
    errors.push_back(ForbiddenField("spec.allocateLoadBalancerNodePorts", "may only be used when `type` is 'LoadBalancer'"));
  }
  if (spec.load_balancer_class.has_value()) {
    if (spec.type != "LoadBalancer") {
      errors.push_back(ForbiddenField("spec.loadBalancerClass", "may only be used when `type` is 'LoadBalancer'"));
    } else {
      AddProblems(errors, "spec.loadBalancerClass", *spec.load_balancer_class, QualifiedNameProblems(*spec.load_balancer_class));
    }
  }
  CheckTraffic(errors, s);
}

void ValidateKind(const networking::v1::Ingress& object, const networking::v1::Ingress* old, Errors& errors) {
  const auto& spec = object.spec;
  if (spec.rules.empty() && !spec.default_backend.has_value()) {
    errors.push_back(InvalidValue("spec", Value(), "either `defaultBackend` or `rules` must be specified"));
  }
  if (spec.default_backend.has_value()) CheckBackend(errors, "spec.defaultBackend", *spec.default_backend);
  for (std::size_t i = 0; i < spec.rules.size(); ++i) {
    const auto& rule = spec.rules[i];
    const std::string at = Index("spec.rules", i);
    if (!rule.host.empty()) {
      if (IsIpv4(rule.host) || IsIpv6(rule.host)) {
        errors.push_back(InvalidValue(Child(at, "host"), rule.host, "must be a DNS name, not an IP address"));
      }
      CheckHost(errors, Child(at, "host"), rule.host);
    }
    if (!rule.http.has_value()) continue;
    if (rule.http->paths.empty()) errors.push_back(Required(Child(at, "http.paths")));
    for (std::size_t j = 0; j < rule.http->paths.size(); ++j) CheckPath(errors, Index(Child(at, "http.paths"), j), rule.http->paths[j]);
  }
  for (std::size_t i = 0; i < spec.tls.size(); ++i) {
    const std::string at = Index("spec.tls", i);
    for (std::size_t j = 0; j < spec.tls[i].hosts.size(); ++j) CheckHost(errors, Index(Child(at, "hosts"), j), spec.tls[i].hosts[j]);
    const String& secret = spec.tls[i].secret_name;
    if (!secret.empty()) AddProblems(errors, Child(at, "secretName"), secret, DnsSubdomainProblems(secret));
  }
  if (spec.ingress_class_name.has_value()) {
    AddProblems(errors, "spec.ingressClassName", *spec.ingress_class_name, DnsSubdomainProblems(*spec.ingress_class_name));
  }
  const String* annotation = object.metadata.annotations.Find("kubernetes.io/ingress.class");
  if (old == nullptr && annotation != nullptr && spec.ingress_class_name.has_value() && !(*annotation == *spec.ingress_class_name)) {
    errors.push_back(
        InvalidValue("annotations.kubernetes.io/ingress.class", *annotation, "must match `ingressClassName` when both are specified"));
  }
}

void ValidateKind(const networking::v1::IngressClass& object, const networking::v1::IngressClass* old, Errors& errors) {
  const auto& spec = object.spec;
  if (old != nullptr) CheckImmutable(errors, "spec.controller", spec.controller, spec.controller == old->spec.controller);
  if (spec.controller.size() > 250) errors.push_back(TooLong("spec.controller", 250));
  if (spec.controller.empty()) {
    errors.push_back(Required("spec.controller"));
  } else if (std::size_t slash = spec.controller.view().find('/'); slash == std::string_view::npos || slash + 1 == spec.controller.size()) {
    errors.push_back(InvalidValue("spec.controller", spec.controller, "must be a domain-prefixed path (such as \"acme.io/foo\")"));
  }
  if (!spec.parameters.has_value()) return;
  const auto& p = *spec.parameters;
  if (p.api_group.has_value()) AddProblems(errors, "spec.parameters.apiGroup", *p.api_group, DnsSubdomainProblems(*p.api_group));
  if (p.kind.empty()) errors.push_back(Required("spec.parameters.kind"));
  if (p.name.empty()) errors.push_back(Required("spec.parameters.name"));
  const String scope = p.scope.value_or(String());
  if (scope != "Namespace" && scope != "Cluster") {
    errors.push_back(NotSupported("spec.parameters.scope", scope, {"Cluster", "Namespace"}));
  } else if (scope == "Namespace" && !p.namespace_.has_value()) {
    errors.push_back(Required("spec.parameters.namespace", "`parameters.scope` is set to 'Namespace'"));
  } else if (scope == "Cluster" && p.namespace_.has_value()) {
    errors.push_back(ForbiddenField("spec.parameters.namespace", "`parameters.scope` is set to 'Cluster'"));
  }
}

void ValidateKind(const networking::v1::NetworkPolicy& object, const networking::v1::NetworkPolicy*, Errors& errors) {
  const auto& spec = object.spec;
  CheckSelector(errors, "spec.podSelector", spec.pod_selector);
  for (std::size_t i = 0; i < spec.ingress.size(); ++i) {
    const std::string at = Index("spec.ingress", i);
    for (std::size_t j = 0; j < spec.ingress[i].ports.size(); ++j) {
      CheckPolicyPort(errors, Index(Child(at, "ports"), j), spec.ingress[i].ports[j]);
    }
    for (std::size_t j = 0; j < spec.ingress[i].from.size(); ++j) CheckPeer(errors, Index(Child(at, "from"), j), spec.ingress[i].from[j]);
  }
  for (std::size_t i = 0; i < spec.egress.size(); ++i) {
    const std::string at = Index("spec.egress", i);
    for (std::size_t j = 0; j < spec.egress[i].ports.size(); ++j) {
      CheckPolicyPort(errors, Index(Child(at, "ports"), j), spec.egress[i].ports[j]);
    }
    for (std::size_t j = 0; j < spec.egress[i].to.size(); ++j) CheckPeer(errors, Index(Child(at, "to"), j), spec.egress[i].to[j]);
  }
  if (spec.policy_types.size() > 2) {
    errors.push_back(InvalidValue("spec.policyTypes", Shown(spec.policy_types), "may not specify more than two policyTypes"));
    return;
  }
  for (std::size_t i = 0; i < spec.policy_types.size(); ++i) {
    const String& type = spec.policy_types[i];
    if (type != "Ingress" && type != "Egress") errors.push_back(NotSupported(Index("spec.policyTypes", i), type, {"Ingress", "Egress"}));
  }
}

void ValidateKind(const discovery::v1::EndpointSlice& object, const discovery::v1::EndpointSlice* old, Errors& errors) {
  CheckEnum(errors, "addressType", object.address_type, {"FQDN", "IPv4", "IPv6"});
  if (object.ports.size() > 20000) {
    errors.push_back(TooMany("ports", object.ports.size(), 20000));
  } else {
    std::set<std::string> names;
    for (std::size_t i = 0; i < object.ports.size(); ++i) {
      const auto& p = object.ports[i];
      const String name = p.name.value_or(String());
      const std::string at = Index("ports", i);
      if (!name.empty()) AddProblems(errors, Child(at, "name"), name, DnsLabelProblems(name));
      if (!names.insert(name.str()).second) errors.push_back(DuplicateValue(Child(at, "name"), name));
      CheckEnum(errors, Child(at, "protocol"), p.protocol.value_or(String()), {"SCTP", "TCP", "UDP"});
    }
  }
  if (object.endpoints.size() > 1000) {
    errors.push_back(TooMany("endpoints", object.endpoints.size(), 1000));
  } else {
    for (std::size_t i = 0; i < object.endpoints.size(); ++i) {
      const auto& e = object.endpoints[i];
      const std::string at = Child(Index("endpoints", i), "addresses");
      if (e.addresses.empty()) errors.push_back(Required(at, "must contain at least 1 address"));
      if (e.addresses.size() > 100) errors.push_back(TooMany(at, e.addresses.size(), 100));
      for (std::size_t j = 0; j < e.addresses.size(); ++j) {
        const String& a = e.addresses[j];
        if (object.address_type != "IPv4" && object.address_type != "IPv6") continue;
        if (!IsIpv4(a) && !IsIpv6(a)) {
          errors.push_back(InvalidValue(Index(at, j), a, kBadIp));
        } else if (object.address_type == "IPv4" && !IsIpv4(a)) {
          errors.push_back(InvalidValue(at, a, "must be an IPv4 address"));
        } else if (object.address_type == "IPv6" && !IsIpv6(a)) {
          errors.push_back(InvalidValue(at, a, "must be an IPv6 address"));
        }
      }
    }
  }
  if (old != nullptr) CheckImmutable(errors, "addressType", object.address_type, object.address_type == old->address_type);
}

}  // namespace kube::apiserver::builtin
