#include "apiserver/builtin/defaults_table.h"
#include "kube/api/core/v1.h"

namespace kube::apiserver::builtin {
namespace {

using namespace core::v1;

void DefaultNamespace(Namespace& ns) {
  if (!ns.metadata.name.empty()) ns.metadata.labels["kubernetes.io/metadata.name"] = ns.metadata.name;
}

void DefaultNamespaceStatus(NamespaceStatus& s) { Default(s.phase, "Active"); }

void DefaultReplicationController(ReplicationController& rc) {
  Default(rc.spec.replicas, 1);
  if (!rc.spec.template_.has_value()) return;
  const Map<String>& labels = rc.spec.template_->metadata.labels;
  if (rc.spec.selector.empty()) rc.spec.selector = labels;
  if (rc.metadata.labels.empty()) rc.metadata.labels = labels;
}

bool IsExternallyAccessible(const ServiceSpec& spec) {
  return spec.type == "LoadBalancer" || spec.type == "NodePort" || (spec.type == "ClusterIP" && !spec.external_ips.empty());
}

void DefaultService(Service& service) {
  ServiceSpec& spec = service.spec;
  Default(spec.session_affinity, "None");
  if (spec.session_affinity == "None") {
    spec.session_affinity_config.reset();
  } else if (spec.session_affinity == "ClientIP" && !spec.session_affinity_config->client_ip->timeout_seconds.has_value()) {
    SessionAffinityConfig config;
    config.client_ip.Mutable().timeout_seconds = 10800;
    spec.session_affinity_config = config;
  }
  Default(spec.type, "ClusterIP");
  for (ServicePort& p : spec.ports) {
    Default(p.protocol, "TCP");
    if (p.target_port == IntOrString(0) || p.target_port == IntOrString("")) p.target_port = p.port;
  }
  if (IsExternallyAccessible(spec)) Default(spec.external_traffic_policy, "Cluster");
  bool has_address = spec.type == "NodePort" || spec.type == "LoadBalancer" || spec.type == "ClusterIP";
  if (has_address) Default(spec.internal_traffic_policy, String("Cluster"));
  if (spec.type == "LoadBalancer") {
    Default(spec.allocate_load_balancer_node_ports, true);
    for (LoadBalancerIngress& i : service.status.load_balancer.ingress) {
      if (!i.ip.empty()) Default(i.ip_mode, String("VIP"));
    }
  }
}

void DefaultSecret(Secret& s) {
  Default(s.type, "Opaque");
  for (const auto& [key, value] : std::as_const(s.string_data)) s.data.Set(key, value);
  s.string_data.clear();  // it can be written, but never read
}

void DefaultPersistentVolume(PersistentVolume& v) {
  Default(v.status.phase, "Pending");
  Default(v.spec.persistent_volume_reclaim_policy, "Retain");
  Default(v.spec.volume_mode, String("Filesystem"));
}

void DefaultClaim(PersistentVolumeClaim& c) { Default(c.status.phase, "Pending"); }
void DefaultClaimSpec(PersistentVolumeClaimSpec& s) { Default(s.volume_mode, String("Filesystem")); }

void DefaultEndpointPort(EndpointPort& p) { Default(p.protocol, "TCP"); }

void DefaultNodeStatus(NodeStatus& s) {
  if (s.allocatable.empty()) s.allocatable = s.capacity;
}

// The singular field follows the first of the list; where both are given and differ, the singular one wins.
void FollowPodCidrs(NodeSpec& s) {
  if (!s.pod_cidr.empty() && (s.pod_cidrs.empty() || !(std::as_const(s.pod_cidrs)[0] == s.pod_cidr))) s.pod_cidrs = {s.pod_cidr};
  if (!s.pod_cidrs.empty()) s.pod_cidr = std::as_const(s.pod_cidrs)[0];
}

void DefaultLimits(LimitRangeItem& item) {
  if (item.type != "Container") return;
  auto fill = [](Map<Quantity>& to, const Map<Quantity>& from) {
    for (const auto& [name, amount] : from) {
      if (!to.contains(name)) to.Set(name, amount);
    }
  };
  fill(item.default_, item.max);
  fill(item.default_request, item.default_);
  fill(item.default_request, item.min);
}

}  // namespace

void AddCoreDefaults(DefaultsTable& t) {
  t.Add<Namespace, DefaultNamespace>();
  t.Add<NamespaceStatus, DefaultNamespaceStatus>();
  t.Add<ReplicationController, DefaultReplicationController>();
  t.Add<Service, DefaultService>();
  t.Add<Secret, DefaultSecret>();
  t.Add<PersistentVolume, DefaultPersistentVolume>();
  t.Add<PersistentVolumeClaim, DefaultClaim>();
  t.Add<PersistentVolumeClaimSpec, DefaultClaimSpec>();
  t.Add<EndpointPort, DefaultEndpointPort>();
  t.Add<NodeStatus, DefaultNodeStatus>();
  t.Add<NodeSpec, FollowPodCidrs>();
  t.Add<LimitRangeItem, DefaultLimits>();
}

}  // namespace kube::apiserver::builtin
