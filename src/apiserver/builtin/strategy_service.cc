#include "apiserver/builtin/strategy_service.h"

#include <algorithm>
#include <map>

#include "apiserver/builtin/service_addresses.h"
#include "apiserver/errors.h"
#include "kube/codec/json.h"

namespace kube::apiserver::builtin {
namespace {

using core::v1::Service;
using core::v1::ServicePort;
using core::v1::ServiceSpec;

bool NeedsClusterIp(const Service& s) { return s.spec.type != "ExternalName"; }
bool NeedsNodePort(const Service& s) { return s.spec.type == "NodePort" || s.spec.type == "LoadBalancer"; }
bool NeedsHealthCheckPort(const Service& s) { return s.spec.type == "LoadBalancer" && s.spec.external_traffic_policy == "Local"; }
bool IsExternallyAccessible(const Service& s) { return NeedsNodePort(s) || (s.spec.type == "ClusterIP" && !s.spec.external_ips.empty()); }
bool IsHeadless(const Service& s) { return s.spec.cluster_ip == "None"; }
bool MayTakeNodePorts(const Service& s) {
  return s.spec.type == "NodePort" || (s.spec.type == "LoadBalancer" && s.spec.allocate_load_balancer_node_ports.value_or(false));
}

Error InvalidService(const Service& s, std::vector<FieldError> errors) { return Invalid("", "Service", s.metadata.name, errors); }

Value ListValue(const List<String>& texts) {
  Value out = Value::Array();
  for (const String& t : texts) out.MutableList().push_back(t);
  return out;
}

bool SameAddresses(const Service& a, const Service& b) {
  return a.spec.cluster_ip == b.spec.cluster_ip && a.spec.cluster_ips == b.spec.cluster_ips;
}

// ---- Families: only IPv4 is configured. ----

Result<void> SettleFamilies(Service& s, const Service* old) {
  if (!NeedsClusterIp(s)) return {};
  ServiceSpec& spec = s.spec;
  if (!spec.ip_family_policy.has_value()) {
    if (old != nullptr && old->spec.ip_family_policy.has_value()) {
      spec.ip_family_policy = old->spec.ip_family_policy;
    } else {
      spec.ip_family_policy = String(IsHeadless(s) && spec.selector.empty() ? "RequireDualStack" : "SingleStack");
    }
  }
  if (auto errors = ValidateServiceAddresses(s, old); !errors.empty()) return InvalidService(s, std::move(errors));

  const String policy = *spec.ip_family_policy;
  std::vector<FieldError> errors;
  auto bad_policy = [&](const char* why) { errors.push_back(InvalidValue("spec.ipFamilyPolicy", policy, why)); };
  if (policy == "SingleStack") {
    if (old != nullptr && SameAddresses(s, *old) && spec.cluster_ips.size() > 1) spec.cluster_ips = {std::as_const(spec.cluster_ips)[0]};
    if (old != nullptr && spec.ip_families == old->spec.ip_families && spec.ip_families.size() > 1) {
      spec.ip_families = {std::as_const(spec.ip_families)[0]};
    }
    if (spec.cluster_ips.size() == 2) {
      bad_policy("must be 'RequireDualStack' or 'PreferDualStack' when multiple cluster IPs are specified");
    }
    if (spec.ip_families.size() == 2) {
      bad_policy("must be 'RequireDualStack' or 'PreferDualStack' when multiple IP families are specified");
    }
  }
  for (std::size_t i = 0; i < spec.cluster_ips.size(); ++i) {
    const String& ip = std::as_const(spec.cluster_ips)[i];
    if (ip == "None") break;
    if (i < spec.ip_families.size()) continue;
    if (IsIpv6(ip)) {
      errors.push_back(InvalidValue("spec.clusterIPs[" + std::to_string(i) + "]", ListValue(spec.cluster_ips),
                                    "IPv6 is not configured on this cluster"));
    } else {
      spec.ip_families.push_back("IPv4");
    }
  }
  if (!errors.empty()) return InvalidService(s, std::move(errors));

  if (IsHeadless(s) && spec.selector.empty()) {
    if (spec.ip_families.empty()) spec.ip_families = {"IPv4"};
    if (spec.ip_families.size() < 2 && policy != "SingleStack") {
      spec.ip_families.push_back(std::as_const(spec.ip_families)[0] == "IPv4" ? "IPv6" : "IPv4");
    }
    return {};
  }
  if (policy == "RequireDualStack") bad_policy("this cluster is not configured for dual-stack services");
  for (std::size_t i = 0; i < spec.ip_families.size(); ++i) {
    const String& family = std::as_const(spec.ip_families)[i];
    if (family != "IPv4") {
      errors.push_back(InvalidValue("spec.ipFamilies[" + std::to_string(i) + "]", family, "not configured on this cluster"));
    }
  }
  if (!errors.empty()) return InvalidService(s, std::move(errors));
  if (spec.ip_families.empty()) spec.ip_families = {"IPv4"};
  return {};
}

// ---- Addresses ----

Result<void> TakeAddresses(Service& s, ServiceAllocation& allocation) {
  ServiceSpec& spec = s.spec;
  if (!NeedsClusterIp(s) || (!spec.cluster_ips.empty() && std::as_const(spec.cluster_ips)[0] == "None")) return {};
  for (std::size_t i = 0; i < spec.ip_families.size(); ++i) {
    if (i >= spec.cluster_ips.size()) spec.cluster_ips.push_back("");
    std::string wanted = std::as_const(spec.cluster_ips)[i].str();
    if (wanted.empty()) {
      wanted = allocation.TakeAddress();
      if (wanted.empty()) {
        return InternalError("failed to allocate a serviceIP: range is full");
      }
    } else if (auto claimed = allocation.ClaimAddress(wanted); !claimed) {
      return InvalidService(s, {InvalidValue("spec.clusterIPs", ListValue(spec.cluster_ips),
                                             "failed to allocate IP " + wanted + ": " + claimed.error().message())});
    }
    spec.cluster_ips[i] = String(wanted);
    if (i == 0) spec.cluster_ip = String(wanted);
  }
  return {};
}

// ---- Ports ----

Result<void> ClaimPort(const Service& s, std::size_t i, int port, ServiceAllocation& allocation) {
  auto claimed = allocation.ClaimPort(port);
  if (claimed) return {};
  return InvalidService(s, {InvalidValue("spec.ports[" + std::to_string(i) + "].nodePort", port, claimed.error().message())});
}

Error NoPortLeft() { return InternalError("failed to allocate a nodePort: range is full"); }

// Ports of one number but different protocols share a node port.
Result<void> TakeNodePorts(Service& s, ServiceAllocation& allocation) {
  std::map<int, int> taken;  // port -> node port
  for (std::size_t i = 0; i < s.spec.ports.size(); ++i) {
    ServicePort& p = s.spec.ports[i];
    if (p.node_port == 0 && !MayTakeNodePorts(s)) continue;
    int& shared = taken[p.port];
    if (shared == 0) {
      for (const ServicePort& other : std::as_const(s.spec.ports)) {
        if (other.port == p.port && other.node_port != 0 && shared == 0) shared = other.node_port;
      }
      if (shared != 0) {
        if (auto claimed = ClaimPort(s, i, shared, allocation); !claimed) return claimed;
      } else if ((shared = allocation.TakePort()) == 0) {
        return NoPortLeft();
      }
      p.node_port = shared;
    } else if (p.node_port == 0) {
      p.node_port = shared;
    } else if (p.node_port != shared) {
      if (auto claimed = ClaimPort(s, i, p.node_port, allocation); !claimed) return claimed;
    }
  }
  return {};
}

Result<void> TakeHealthCheckPort(Service& s, ServiceAllocation& allocation) {
  if (s.spec.health_check_node_port == 0) {
    s.spec.health_check_node_port = allocation.TakePort();
    return s.spec.health_check_node_port == 0 ? Result<void>(NoPortLeft()) : Result<void>();
  }
  auto claimed = allocation.ClaimPort(s.spec.health_check_node_port);
  if (claimed) return {};
  return InternalError("failed to allocate requested HealthCheck NodePort " + std::to_string(s.spec.health_check_node_port) + ": " +
                       claimed.error().message());
}

std::vector<int> PlainNodePorts(const Service& s) {
  std::vector<int> out;
  for (const ServicePort& p : s.spec.ports) {
    if (p.node_port != 0) out.push_back(p.node_port);
  }
  return out;
}

bool Has(const std::vector<int>& ports, int port) { return std::find(ports.begin(), ports.end(), port) != ports.end(); }

Result<void> UpdateNodePorts(Service& s, const Service& old, ServiceAllocation& allocation) {
  const std::vector<int> before = PlainNodePorts(old);
  if (NeedsNodePort(old) && !NeedsNodePort(s)) {
    for (int port : before) allocation.DropPort(port);
  }
  if (NeedsNodePort(s)) {
    std::vector<int> claimed_now;
    for (std::size_t i = 0; i < s.spec.ports.size(); ++i) {
      ServicePort& p = s.spec.ports[i];
      if (p.node_port == 0 && !MayTakeNodePorts(s)) continue;
      if (p.node_port == 0) {
        p.node_port = allocation.TakePort();
        if (p.node_port == 0) return NoPortLeft();
      } else if (!Has(before, p.node_port) && !Has(claimed_now, p.node_port)) {
        if (auto claimed = ClaimPort(s, i, p.node_port, allocation); !claimed) return claimed;
        claimed_now.push_back(p.node_port);
      }
    }
    const std::vector<int> after = PlainNodePorts(s);
    for (int port : before) {
      if (!Has(after, port)) allocation.DropPort(port);
    }
  }
  if (!NeedsHealthCheckPort(old) && NeedsHealthCheckPort(s)) return TakeHealthCheckPort(s, allocation);
  if (NeedsHealthCheckPort(old) && !NeedsHealthCheckPort(s)) allocation.DropPort(old.spec.health_check_node_port);
  return {};
}

// ---- Update: what a client left out or left behind ----

// A PUT without the allotted values means "as before".
void KeepAllotted(Service& s, const Service& old) {
  if (NeedsClusterIp(old) && NeedsClusterIp(s)) {
    if (s.spec.cluster_ip.empty()) s.spec.cluster_ip = old.spec.cluster_ip;
    if (s.spec.cluster_ips.empty()) s.spec.cluster_ips = old.spec.cluster_ips;
  }
  if (NeedsNodePort(old) && NeedsNodePort(s)) {
    const std::vector<int> before = PlainNodePorts(old), now = PlainNodePorts(s);
    for (ServicePort& p : s.spec.ports) {
      if (p.node_port != 0) continue;
      for (const ServicePort& was : old.spec.ports) {
        bool used = was.node_port != 0 && Has(before, was.node_port) && Has(now, was.node_port);
        if (was.name == p.name && !used) p.node_port = was.node_port;
      }
    }
  }
  if (NeedsHealthCheckPort(old) && NeedsHealthCheckPort(s) && s.spec.health_check_node_port == 0) {
    s.spec.health_check_node_port = old.spec.health_check_node_port;
  }
}

// clusterIP and clusterIPs say the same; clients that know only the first must not break the second.
void FollowClusterIp(Service& s, const Service* old) {
  ServiceSpec& spec = s.spec;
  if (old == nullptr) {
    if (!spec.cluster_ip.empty() && spec.cluster_ips.empty()) spec.cluster_ips = {spec.cluster_ip};
    return;
  }
  if (!old->spec.cluster_ips.empty() && spec.cluster_ips.empty() && old->spec.cluster_ip == spec.cluster_ip) {
    spec.cluster_ips = old->spec.cluster_ips;
  }
  if (old->spec.cluster_ip == spec.cluster_ip || !(old->spec.cluster_ips == spec.cluster_ips)) return;
  // Only the singular one was changed or cleared.
  if (spec.cluster_ip.empty()) {
    spec.cluster_ips.clear();
  } else {
    spec.cluster_ips = {spec.cluster_ip};
  }
}

// Changing the type leaves values behind that no longer apply; they go unless the client changed them in the same request.
void DropWhatNoLongerApplies(Service& s, const Service& old) {
  ServiceSpec& spec = s.spec;
  if (NeedsClusterIp(old) && !NeedsClusterIp(s)) {
    if (SameAddresses(s, old)) {
      spec.cluster_ip.clear();
      spec.cluster_ips.clear();
    }
    if (spec.ip_families == old.spec.ip_families) spec.ip_families.clear();
    if (spec.ip_family_policy == old.spec.ip_family_policy) spec.ip_family_policy.reset();
  }
  if (NeedsNodePort(old) && !NeedsNodePort(s)) {
    const std::vector<int> before = PlainNodePorts(old), now = PlainNodePorts(s);
    if (std::all_of(now.begin(), now.end(), [&](int port) { return Has(before, port); })) {
      for (ServicePort& p : spec.ports) p.node_port = 0;
    }
  }
  if (NeedsHealthCheckPort(old) && !NeedsHealthCheckPort(s) && spec.health_check_node_port == old.spec.health_check_node_port) {
    spec.health_check_node_port = 0;
  }
  bool was_balanced = old.spec.type == "LoadBalancer", is_balanced = spec.type == "LoadBalancer";
  if (was_balanced && !is_balanced) {
    if (spec.allocate_load_balancer_node_ports == old.spec.allocate_load_balancer_node_ports)
      spec.allocate_load_balancer_node_ports.reset();
    if (spec.load_balancer_class == old.spec.load_balancer_class) spec.load_balancer_class.reset();
  }
  if (IsExternallyAccessible(old) && !IsExternallyAccessible(s) && spec.external_traffic_policy == old.spec.external_traffic_policy) {
    spec.external_traffic_policy.clear();
  }
  if (!is_balanced) s.status.load_balancer = {};
}

}  // namespace

Result<void> PrepareServiceCreate(Service& s, ServiceAllocation* allocation) {
  FollowClusterIp(s, nullptr);
  if (auto settled = SettleFamilies(s, nullptr); !settled) return settled;
  if (allocation == nullptr) return {};
  if (auto taken = TakeAddresses(s, *allocation); !taken) return taken;
  if (NeedsNodePort(s)) {
    if (auto taken = TakeNodePorts(s, *allocation); !taken) return taken;
  }
  return NeedsHealthCheckPort(s) ? TakeHealthCheckPort(s, *allocation) : Result<void>();
}

Result<void> PrepareServiceUpdate(Service& s, const Service& old, ServiceAllocation* allocation) {
  KeepAllotted(s, old);
  FollowClusterIp(s, &old);
  // A real server drops these only behind the allotment and lets that work around them; the outcome is the same.
  DropWhatNoLongerApplies(s, old);
  if (auto settled = SettleFamilies(s, &old); !settled) return settled;
  if (allocation == nullptr) return {};
  if (!NeedsClusterIp(old) && NeedsClusterIp(s)) {
    if (auto taken = TakeAddresses(s, *allocation); !taken) return taken;
  } else if (NeedsClusterIp(old) && !NeedsClusterIp(s)) {
    for (const std::string& address : AddressesOf(old)) allocation->DropAddress(address);
  }
  return UpdateNodePorts(s, old, *allocation);
}

std::vector<std::string> AddressesOf(const Service& s) {
  std::vector<std::string> out;
  for (const String& ip : s.spec.cluster_ips) {
    if (!ip.empty() && ip != "None") out.push_back(ip.str());
  }
  return out;
}

std::vector<int> NodePortsOf(const Service& s) {
  std::vector<int> out = PlainNodePorts(s);
  if (s.spec.health_check_node_port != 0) out.push_back(s.spec.health_check_node_port);
  return out;
}

}  // namespace kube::apiserver::builtin
