#include <algorithm>
#include <set>

#include "apiserver/builtin/convert.h"
#include "apiserver/builtin/tables_internal.h"
#include "kube/api/events/v1.h"

namespace kube::apiserver::builtin {
namespace {

using namespace core::v1;

// ---- Services and endpoints ----

std::string ExternalAddresses(const Service& s) {
  const auto& spec = s.spec;
  if (spec.type == "ExternalName") return spec.external_name.str();
  if (spec.type == "ClusterIP" || spec.type == "NodePort") return spec.external_ips.empty() ? "<none>" : Join(spec.external_ips);
  if (spec.type != "LoadBalancer") return "<unknown>";
  std::set<std::string> balanced;
  for (const LoadBalancerIngress& i : s.status.load_balancer.ingress) {
    if (!i.ip.empty() || !i.hostname.empty()) balanced.insert((i.ip.empty() ? i.hostname : i.ip).str());
  }
  std::vector<std::string> all(balanced.begin(), balanced.end());
  for (const String& ip : spec.external_ips) all.push_back(ip.str());
  return all.empty() ? "<pending>" : Join(all);
}

std::string Ports(const Service& s) {
  std::vector<std::string> out;
  for (const ServicePort& p : s.spec.ports) {
    std::string node_port = p.node_port > 0 ? ":" + std::to_string(p.node_port) : "";
    out.push_back(std::to_string(p.port) + node_port + "/" + p.protocol.str());
  }
  return out.empty() ? "<none>" : Join(out);
}

Cells ServiceRow(const Service& s, Time now) {
  return {s.metadata.name,
          s.spec.type,
          s.spec.cluster_ips.empty() ? std::string("<none>") : s.spec.cluster_ips[0].str(),
          ExternalAddresses(s),
          Ports(s),
          AgeOf(s.metadata, now),
          PrintLabels(s.spec.selector)};
}

std::string HostPort(const String& ip, std::int32_t port) {
  bool six = ip.view().find(':') != std::string_view::npos;
  return (six ? "[" + ip.str() + "]" : ip.str()) + ":" + std::to_string(port);
}

Cells EndpointsRow(const Endpoints& e, Time now) {
  std::vector<std::string> all;
  for (const EndpointSubset& s : e.subsets) {
    if (s.ports.empty()) {
      for (const EndpointAddress& a : s.addresses) all.push_back(a.ip.str());
    }
    for (const EndpointPort& p : s.ports) {
      for (const EndpointAddress& a : s.addresses) all.push_back(HostPort(a.ip, p.port));
    }
  }
  return {e.metadata.name, e.subsets.empty() ? std::string("<none>") : WithMore(all, 3, ""), AgeOf(e.metadata, now)};
}

// ---- Nodes ----

std::string NodeStatusWord(const Node& n) {
  std::string out = "Unknown";
  for (const NodeCondition& c : n.status.conditions) {
    if (c.type == "Ready") out = c.status == "True" ? "Ready" : "NotReady";
  }
  return n.spec.unschedulable ? out + ",SchedulingDisabled" : out;
}

std::string Roles(const Node& n) {
  constexpr std::string_view kPrefix = "node-role.kubernetes.io/";
  std::set<std::string> roles;
  for (const auto& [key, value] : n.metadata.labels) {
    if (key.view().starts_with(kPrefix)) {
      if (key.size() > kPrefix.size()) roles.insert(key.str().substr(kPrefix.size()));
    } else if (key == "kubernetes.io/role" && !value.empty()) {
      roles.insert(value.str());
    }
  }
  return roles.empty() ? "<none>" : Join(std::vector<std::string>(roles.begin(), roles.end()));
}

std::string Address(const Node& n, std::string_view type) {
  for (const NodeAddress& a : n.status.addresses) {
    if (a.type == type) return a.address.str();
  }
  return "<none>";
}

Cells NodeRow(const Node& n, Time now) {
  const NodeSystemInfo& info = n.status.node_info;
  std::string kernel = Or(info.kernel_version, "<unknown>");
  if (!info.architecture.empty()) kernel += " (" + info.architecture.str() + ")";
  return {n.metadata.name,
          NodeStatusWord(n),
          Roles(n),
          AgeOf(n.metadata, now),
          info.kubelet_version,
          Address(n, "InternalIP"),
          Address(n, "ExternalIP"),
          Or(info.os_image, "<unknown>"),
          kernel,
          Or(info.container_runtime_version, "<unknown>")};
}

// ---- Volumes ----

std::string AccessModes(const List<String>& modes) {
  constexpr std::pair<std::string_view, const char*> kShort[] = {
      {"ReadWriteOnce", "RWO"}, {"ReadOnlyMany", "ROX"}, {"ReadWriteMany", "RWX"}, {"ReadWriteOncePod", "RWOP"}};
  std::vector<std::string> out;
  for (const auto& [name, abbreviation] : kShort) {
    if (std::any_of(modes.begin(), modes.end(), [n = name](const String& m) { return m == n; })) out.push_back(abbreviation);
  }
  return Join(out);
}

constexpr const char* kOldClass = "volume.beta.kubernetes.io/storage-class";

Cells VolumeRow(const PersistentVolume& v, Time now) {
  std::string claim;
  if (v.spec.claim_ref.has_value()) claim = v.spec.claim_ref->namespace_.str() + "/" + v.spec.claim_ref->name.str();
  const String* old_class = v.metadata.annotations.Find(kOldClass);
  return {v.metadata.name,
          v.spec.capacity.Get("storage").ToString(),
          AccessModes(v.spec.access_modes),
          v.spec.persistent_volume_reclaim_policy,
          v.metadata.deletion_timestamp.IsZero() ? v.status.phase : String("Terminating"),
          claim,
          old_class != nullptr ? *old_class : v.spec.storage_class_name,
          Or(v.spec.volume_attributes_class_name, "<unset>"),
          v.status.reason,
          AgeOf(v.metadata, now),
          Or(v.spec.volume_mode, "<unset>")};
}

Cells ClaimRow(const PersistentVolumeClaim& c, Time now) {
  bool bound = !c.spec.volume_name.empty();
  const String* old_class = c.metadata.annotations.Find(kOldClass);
  return {c.metadata.name,
          c.metadata.deletion_timestamp.IsZero() ? c.status.phase : String("Terminating"),
          c.spec.volume_name,
          bound ? c.status.capacity.Get("storage").ToString() : std::string(),
          bound ? AccessModes(c.status.access_modes) : std::string(),
          old_class != nullptr ? *old_class : c.spec.storage_class_name.value_or(String()),
          Or(c.spec.volume_attributes_class_name, "<unset>"),
          AgeOf(c.metadata, now),
          Or(c.spec.volume_mode, "<unset>")};
}

// ---- Events ----

std::string Trimmed(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r\n\v\f";
  std::size_t first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  return std::string(text.substr(first, text.find_last_not_of(kBlank) - first + 1));
}

Cells EventRow(const Event& e, Time now) {
  std::string first = e.first_timestamp.IsZero() ? Ago(e.event_time, now) : Ago(e.first_timestamp, now);
  std::string last = e.last_timestamp.IsZero() ? first : Ago(e.last_timestamp, now);
  std::int32_t count = e.count;
  if (e.series.has_value()) {
    last = Ago(e.series->last_observed_time, now);
    count = e.series->count;
  } else if (count == 0) {
    count = 1;
  }
  std::string target = Lower(e.involved_object.kind);
  if (!e.involved_object.name.empty()) target += "/" + e.involved_object.name.str();
  const String& component = e.source.component.empty() ? e.reporting_component : e.source.component;
  const String& instance = e.source.host.empty() ? e.reporting_instance : e.source.host;
  return {last,
          e.type,
          e.reason,
          target,
          e.involved_object.field_path,
          component.str() + (instance.empty() ? "" : ", " + instance.str()),
          Trimmed(e.message),
          first,
          count,
          e.metadata.name};
}

Cells NewEventRow(const events::v1::Event& e, Time now) { return EventRow(ToCoreEvent(e), now); }

// ---- The rest of core ----

Cells ConfigMapRow(const ConfigMap& c, Time now) {
  return {c.metadata.name, static_cast<std::int64_t>(c.data.size() + c.binary_data.size()), AgeOf(c.metadata, now)};
}

Cells SecretRow(const Secret& s, Time now) {
  return {s.metadata.name, s.type, static_cast<std::int64_t>(s.data.size()), AgeOf(s.metadata, now)};
}

Cells NamespaceRow(const Namespace& n, Time now) { return {n.metadata.name, n.status.phase, AgeOf(n.metadata, now)}; }
Cells ServiceAccountRow(const ServiceAccount& a, Time now) { return {a.metadata.name, AgeOf(a.metadata, now)}; }

Cells QuotaRow(const ResourceQuota& q, Time now) {
  std::vector<std::string> requests, limits;
  for (const auto& [name, hard] : q.status.hard) {
    bool is_limit = name.view().starts_with("limits.");
    (is_limit ? limits : requests).push_back(name.str() + ": " + q.status.used.Get(name).ToString() + "/" + hard.ToString());
  }
  return {q.metadata.name, Join(requests, ", "), Join(limits, ", "), AgeOf(q.metadata, now)};
}

Cells ComponentStatusRow(const ComponentStatus& s, Time) {
  std::string status = "Unknown";
  String message, error;
  for (const ComponentCondition& c : s.conditions) {
    if (c.type != "Healthy") continue;
    status = c.status == "True" ? "Healthy" : "Unhealthy";
    message = c.message;
    error = c.error;
    break;
  }
  return {s.metadata.name, status, message, error};
}

}  // namespace

void AddCoreTables(TableRegistry& r) {
  r.Add<Service, ServiceRow>(
      {NameColumn(), Text("Type"), Text("Cluster-IP"), Text("External-IP"), Text("Port(s)"), AgeColumn(), Text("Selector", 1)});
  r.Add<Endpoints, EndpointsRow>({NameColumn(), Text("Endpoints"), AgeColumn()});
  r.Add<Node, NodeRow>({NameColumn(), Text("Status"), Text("Roles"), AgeColumn(), Text("Version"), Text("Internal-IP", 1),
                        Text("External-IP", 1), Text("OS-Image", 1), Text("Kernel-Version", 1), Text("Container-Runtime", 1)});
  r.Add<PersistentVolume, VolumeRow>({NameColumn(), Text("Capacity"), Text("Access Modes"), Text("Reclaim Policy"), Text("Status"),
                                      Text("Claim"), Text("StorageClass"), Text("VolumeAttributesClass"), Text("Reason"), AgeColumn(),
                                      Text("VolumeMode", 1)});
  r.Add<PersistentVolumeClaim, ClaimRow>({NameColumn(), Text("Status"), Text("Volume"), Text("Capacity"), Text("Access Modes"),
                                          Text("StorageClass"), Text("VolumeAttributesClass"), AgeColumn(), Text("VolumeMode", 1)});
  const TableColumns event = {Text("Last Seen"), Text("Type"),    Text("Reason"),        Text("Object"),   Text("Subobject", 1),
                              Text("Source", 1), Text("Message"), Text("First Seen", 1), Text("Count", 1), {"Name", "string", "name", 1}};
  r.Add<Event, EventRow>(event);
  r.Add<events::v1::Event, NewEventRow>(event);
  r.Add<ConfigMap, ConfigMapRow>({NameColumn(), Text("Data"), AgeColumn()});
  r.Add<Secret, SecretRow>({NameColumn(), Text("Type"), Text("Data"), AgeColumn()});
  r.Add<Namespace, NamespaceRow>({NameColumn(), Text("Status"), AgeColumn()});
  r.Add<ServiceAccount, ServiceAccountRow>({NameColumn(), AgeColumn()});
  r.Add<ResourceQuota, QuotaRow>({NameColumn(), Text("Request"), Text("Limit"), AgeColumn()});
  r.Add<ComponentStatus, ComponentStatusRow>({NameColumn(), Text("Status"), Text("Message"), Text("Error")});
}

}  // namespace kube::apiserver::builtin
