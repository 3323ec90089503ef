#include <set>

#include "apiserver/builtin/tables_internal.h"
#include "kube/api/admissionregistration/v1.h"
#include "kube/api/apiregistration/v1.h"
#include "kube/api/autoscaling/v1.h"
#include "kube/api/certificates/v1.h"
#include "kube/api/coordination/v1.h"
#include "kube/api/discovery/v1.h"
#include "kube/api/flowcontrol/v1.h"
#include "kube/api/networking/v1.h"
#include "kube/api/node/v1.h"
#include "kube/api/rbac/v1.h"
#include "kube/api/resource/v1.h"
#include "kube/api/scheduling/v1.h"
#include "kube/api/storage/v1.h"

namespace kube::apiserver::builtin {
namespace {

std::int64_t Count(std::size_t n) { return static_cast<std::int64_t>(n); }

bool IsMarked(const meta::v1::ObjectMeta& metadata, std::initializer_list<const char*> annotations) {
  for (const char* a : annotations) {
    if (metadata.annotations.Get(a) == "true") return true;
  }
  return false;
}

// ---- networking, discovery ----

Cells IngressRow(const networking::v1::Ingress& i, Time now) {
  // Rules count behind the third one even if they name no host.
  std::vector<std::string> hosts;
  bool more = false;
  for (const auto& rule : i.spec.rules) {
    more = more || hosts.size() == 3;
    if (!more && !rule.host.empty()) hosts.push_back(rule.host.str());
  }
  std::string host_text = hosts.empty() ? "*" : Join(hosts);
  if (more) host_text += " + " + std::to_string(i.spec.rules.size() - 3) + " more...";
  std::set<std::string> addresses;
  for (const auto& a : i.status.load_balancer.ingress) {
    if (!a.ip.empty() || !a.hostname.empty()) addresses.insert((a.ip.empty() ? a.hostname : a.ip).str());
  }
  return {i.metadata.name,
          Or(i.spec.ingress_class_name, "<none>"),
          host_text,
          Join(std::vector<std::string>(addresses.begin(), addresses.end())),
          i.spec.tls.empty() ? "80" : "80, 443",
          AgeOf(i.metadata, now)};
}

Cells IngressClassRow(const networking::v1::IngressClass& c, Time now) {
  std::string name = c.metadata.name.str(), parameters = "<none>";
  if (IsMarked(c.metadata, {"ingressclass.kubernetes.io/is-default-class"})) name += " (default)";
  if (c.spec.parameters.has_value()) {
    const auto& p = *c.spec.parameters;
    parameters = p.kind.str() + (p.api_group.has_value() ? "." + p.api_group->str() : "") + "/" + p.name.str();
  }
  return {name, c.spec.controller, parameters, AgeOf(c.metadata, now)};
}

Cells NetworkPolicyRow(const networking::v1::NetworkPolicy& p, Time now) {
  return {p.metadata.name, PrintSelector(p.spec.pod_selector), AgeOf(p.metadata, now)};
}

Cells ServiceCidrRow(const networking::v1::ServiceCIDR& c, Time now) {
  return {c.metadata.name, Join(c.spec.cidrs), AgeOf(c.metadata, now)};
}

Cells IpAddressRow(const networking::v1::IPAddress& a, Time now) {
  std::string parent = "<none>";
  if (a.spec.parent_ref.has_value()) {
    const auto& p = *a.spec.parent_ref;
    parent = Lower(p.resource.str() + (p.group.empty() ? "" : "." + p.group.str()));
    if (!p.namespace_.empty()) parent += "/" + p.namespace_.str();
    parent += "/" + p.name.str();
  }
  return {a.metadata.name, parent, AgeOf(a.metadata, now)};  // one more than there are columns, as a real server has it
}

Cells EndpointSliceRow(const discovery::v1::EndpointSlice& s, Time now) {
  std::vector<std::string> ports, addresses;
  for (const auto& p : s.ports) ports.push_back(p.port.has_value() ? std::to_string(*p.port) : Or(p.name, "*"));
  for (const auto& e : s.endpoints) {
    for (const String& a : e.addresses) addresses.push_back(a.str());
  }
  return {s.metadata.name, s.address_type, WithMore(ports, 3, "<unset>"), WithMore(addresses, 3, "<unset>"), AgeOf(s.metadata, now)};
}

// ---- rbac ----

template <typename B>
Cells BindingRow(const B& b, Time now) {
  std::vector<std::string> users, groups, accounts;
  for (const auto& s : b.subjects) {
    if (s.kind == "User") users.push_back(s.name.str());
    if (s.kind == "Group") groups.push_back(s.name.str());
    if (s.kind == "ServiceAccount") accounts.push_back(s.namespace_.str() + "/" + s.name.str());
  }
  return {b.metadata.name,        b.role_ref.kind.str() + "/" + b.role_ref.name.str(),
          AgeOf(b.metadata, now), Join(users, ", "),
          Join(groups, ", "),     Join(accounts, ", ")};
}

// ---- storage ----

Cells StorageClassRow(const storage::v1::StorageClass& c, Time now) {
  std::string name = c.metadata.name.str();
  if (IsMarked(c.metadata, {"storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class"})) {
    name += " (default)";
  }
  return {name,
          c.provisioner,
          Or(c.reclaim_policy, "Delete"),
          Or(c.volume_binding_mode, "Immediate"),
          c.allow_volume_expansion.value_or(false),
          AgeOf(c.metadata, now)};
}

Cells CsiDriverRow(const storage::v1::CSIDriver& d, Time now) {
  const auto& spec = d.spec;
  std::vector<std::string> audiences;
  for (const auto& t : spec.token_requests) audiences.push_back(t.audience.str());
  return {d.metadata.name,
          spec.attach_required.value_or(true),
          spec.pod_info_on_mount.value_or(false),
          spec.storage_capacity.value_or(false),
          spec.token_requests.empty() ? std::string("<unset>") : Join(audiences),
          spec.requires_republish.value_or(false),
          spec.volume_lifecycle_modes.empty() ? std::string("<none>") : Join(spec.volume_lifecycle_modes),
          AgeOf(d.metadata, now)};
}

Cells CsiNodeRow(const storage::v1::CSINode& n, Time now) {
  return {n.metadata.name, Count(n.spec.drivers.size()), AgeOf(n.metadata, now)};
}

Cells AttachmentRow(const storage::v1::VolumeAttachment& a, Time now) {
  return {a.metadata.name,  a.spec.attacher,   Or(a.spec.source.persistent_volume_name, ""),
          a.spec.node_name, a.status.attached, AgeOf(a.metadata, now)};
}

Cells AttributesClassRow(const storage::v1::VolumeAttributesClass& c, Time now) {
  return {c.metadata.name, c.driver_name, AgeOf(c.metadata, now)};
}

// ---- admissionregistration, apiregistration ----

template <typename W>
Cells WebhooksRow(const W& w, Time now) {
  return {w.metadata.name, Count(w.webhooks.size()), AgeOf(w.metadata, now)};
}

template <typename P>
Cells PolicyRow(const P& p, Time now) {
  std::string param = "<unset>";
  if (p.spec.param_kind.has_value()) param = p.spec.param_kind->api_version.str() + "/" + p.spec.param_kind->kind.str();
  std::size_t count = 0;
  if constexpr (requires { p.spec.validations; }) {
    count = p.spec.validations.size();
  } else {
    count = p.spec.mutations.size();
  }
  return {p.metadata.name, Count(count), param, AgeOf(p.metadata, now)};
}

template <typename B>
Cells PolicyBindingRow(const B& b, Time now) {
  std::string param = "<unset>";
  if (b.spec.param_ref.has_value()) {
    const auto& ref = *b.spec.param_ref;
    if (!ref.name.empty()) {
      param = (ref.namespace_.empty() ? "*" : ref.namespace_.str()) + "/" + ref.name.str();
    } else if (ref.selector.has_value()) {
      param = PrintSelector(ref.selector);
    }
  }
  return {b.metadata.name, b.spec.policy_name, param, AgeOf(b.metadata, now)};
}

Cells ApiServiceRow(const apiregistration::v1::APIService& s, Time now) {
  std::string service = "Local", available = "Unknown";
  if (s.spec.service.has_value()) service = s.spec.service->namespace_.str() + "/" + s.spec.service->name.str();
  for (const auto& c : s.status.conditions) {
    if (c.type != "Available") continue;
    available = c.status.str();
    if (c.status != "True" && !c.reason.empty()) available += " (" + c.reason.str() + ")";
    break;
  }
  return {s.metadata.name, service, available, AgeOf(s.metadata, now)};
}

// ---- the rest ----

Cells SigningRequestRow(const certificates::v1::CertificateSigningRequest& csr, Time now) {
  bool approved = false, denied = false, failed = false;
  for (const auto& c : csr.status.conditions) {
    approved = approved || c.type == "Approved";
    denied = denied || c.type == "Denied";
    failed = failed || c.type == "Failed";
  }
  std::string status = denied ? "Denied" : approved ? "Approved" : "Pending";
  if (failed) status += ",Failed";
  if (!csr.status.certificate.empty()) status += ",Issued";
  std::string duration = "<none>";
  if (csr.spec.expiration_seconds.has_value()) {
    duration = HumanDuration(Duration::FromNanoseconds(std::int64_t{*csr.spec.expiration_seconds} * 1'000'000'000));
  }
  return {csr.metadata.name, AgeOf(csr.metadata, now), Or(csr.spec.signer_name, "<none>"), csr.spec.username, duration, status};
}

Cells LeaseRow(const coordination::v1::Lease& l, Time now) {
  return {l.metadata.name, Or(l.spec.holder_identity, ""), AgeOf(l.metadata, now)};
}

Cells PriorityClassRow(const scheduling::v1::PriorityClass& c, Time now) {
  return {c.metadata.name, c.value, c.global_default, AgeOf(c.metadata, now), Or(c.preemption_policy, "")};
}

Cells RuntimeClassRow(const node::v1::RuntimeClass& c, Time now) { return {c.metadata.name, c.handler, AgeOf(c.metadata, now)}; }

Cells FlowSchemaRow(const flowcontrol::v1::FlowSchema& s, Time now) {
  std::string dangling = "?";
  for (const auto& c : s.status.conditions) {
    if (c.type == "Dangling") dangling = c.status.str();
  }
  return {s.metadata.name,
          s.spec.priority_level_configuration.name,
          s.spec.matching_precedence,
          s.spec.distinguisher_method.has_value() ? s.spec.distinguisher_method->type.str() : std::string("<none>"),
          AgeOf(s.metadata, now),
          dangling};
}

Cells PriorityLevelRow(const flowcontrol::v1::PriorityLevelConfiguration& c, Time now) {
  Value shares = "<none>", queues = "<none>", hand = "<none>", limit = "<none>";
  if (c.spec.limited.has_value()) {
    shares = c.spec.limited->nominal_concurrency_shares.value_or(0);
    if (const auto& q = c.spec.limited->limit_response.queuing; q.has_value()) {
      queues = q->queues;
      hand = q->hand_size;
      limit = q->queue_length_limit;
    }
  }
  return {c.metadata.name, c.spec.type, shares, queues, hand, limit, AgeOf(c.metadata, now)};
}

Cells DeviceClassRow(const resource::v1::DeviceClass& c, Time now) { return {c.metadata.name, AgeOf(c.metadata, now)}; }
Cells ClaimTemplateRow(const resource::v1::ResourceClaimTemplate& c, Time now) { return {c.metadata.name, AgeOf(c.metadata, now)}; }

Cells ClaimRow(const resource::v1::ResourceClaim& c, Time now) {
  bool deleted = !c.metadata.deletion_timestamp.IsZero();
  std::vector<std::string> states;
  if (deleted) states.push_back("deleted");
  if (c.status.allocation.has_value()) {
    states.push_back("allocated");
    if (!c.status.reserved_for.empty()) states.push_back("reserved");
  } else if (!deleted) {
    states.push_back("pending");
  }
  return {c.metadata.name, Join(states), AgeOf(c.metadata, now)};
}

Cells SliceRow(const resource::v1::ResourceSlice& s, Time now) {
  return {s.metadata.name, Or(s.spec.node_name, ""), s.spec.driver, s.spec.pool.name, AgeOf(s.metadata, now)};
}

Cells ScaleRow(const autoscaling::v1::Scale& s, Time now) {
  return {s.metadata.name, s.spec.replicas, s.status.replicas, AgeOf(s.metadata, now)};
}

}  // namespace

void AddOtherTables(TableRegistry& r) {
  namespace admission = admissionregistration::v1;
  r.Add<networking::v1::Ingress, IngressRow>({NameColumn(), Text("Class"), Text("Hosts"), Text("Address"), Text("Ports"), AgeColumn()});
  r.Add<networking::v1::IngressClass, IngressClassRow>({NameColumn(), Text("Controller"), Text("Parameters"), AgeColumn()});
  r.Add<networking::v1::NetworkPolicy, NetworkPolicyRow>({NameColumn(), Text("Pod-Selector"), AgeColumn()});
  r.Add<networking::v1::ServiceCIDR, ServiceCidrRow>({NameColumn(), Text("CIDRs"), AgeColumn()});
  r.Add<networking::v1::IPAddress, IpAddressRow>({NameColumn(), Text("ParentRef")});
  r.Add<discovery::v1::EndpointSlice, EndpointSliceRow>({NameColumn(), Text("AddressType"), Text("Ports"), Text("Endpoints"), AgeColumn()});
  const TableColumns binding = {NameColumn(), Text("Role"), AgeColumn(), Text("Users", 1), Text("Groups", 1), Text("ServiceAccounts", 1)};
  r.Add<rbac::v1::RoleBinding, BindingRow<rbac::v1::RoleBinding>>(binding);
  r.Add<rbac::v1::ClusterRoleBinding, BindingRow<rbac::v1::ClusterRoleBinding>>(binding);
  r.Add<storage::v1::StorageClass, StorageClassRow>(
      {NameColumn(), Text("Provisioner"), Text("ReclaimPolicy"), Text("VolumeBindingMode"), Text("AllowVolumeExpansion"), AgeColumn()});
  r.Add<storage::v1::CSIDriver, CsiDriverRow>({NameColumn(), Flag("AttachRequired"), Flag("PodInfoOnMount"), Flag("StorageCapacity"),
                                               Text("TokenRequests"), Flag("RequiresRepublish"), Text("Modes"), AgeColumn()});
  r.Add<storage::v1::CSINode, CsiNodeRow>({NameColumn(), Number("Drivers"), AgeColumn()});
  r.Add<storage::v1::VolumeAttachment, AttachmentRow>(
      {NameColumn(), {"Attacher", "string", "name"}, Text("PV"), Text("Node"), Flag("Attached"), AgeColumn()});
  r.Add<storage::v1::VolumeAttributesClass, AttributesClassRow>({NameColumn(), Text("DriverName"), AgeColumn()});
  const TableColumns webhooks = {NameColumn(), Number("Webhooks"), AgeColumn()};
  r.Add<admission::ValidatingWebhookConfiguration, WebhooksRow<admission::ValidatingWebhookConfiguration>>(webhooks);
  r.Add<admission::MutatingWebhookConfiguration, WebhooksRow<admission::MutatingWebhookConfiguration>>(webhooks);
  r.Add<admission::ValidatingAdmissionPolicy, PolicyRow<admission::ValidatingAdmissionPolicy>>(
      {NameColumn(), Number("Validations"), Text("ParamKind"), AgeColumn()});
  r.Add<admission::MutatingAdmissionPolicy, PolicyRow<admission::MutatingAdmissionPolicy>>(
      {NameColumn(), Number("Mutations"), Text("ParamKind"), AgeColumn()});
  const TableColumns policy_binding = {NameColumn(), Text("PolicyName"), Text("ParamRef"), AgeColumn()};
  r.Add<admission::ValidatingAdmissionPolicyBinding, PolicyBindingRow<admission::ValidatingAdmissionPolicyBinding>>(policy_binding);
  r.Add<admission::MutatingAdmissionPolicyBinding, PolicyBindingRow<admission::MutatingAdmissionPolicyBinding>>(policy_binding);
  r.Add<apiregistration::v1::APIService, ApiServiceRow>({NameColumn(), Text("Service"), Text("Available"), AgeColumn()});
  r.Add<certificates::v1::CertificateSigningRequest, SigningRequestRow>(
      {NameColumn(), AgeColumn(), Text("SignerName"), Text("Requestor"), Text("RequestedDuration"), Text("Condition")});
  r.Add<coordination::v1::Lease, LeaseRow>({NameColumn(), Text("Holder"), AgeColumn()});
  r.Add<scheduling::v1::PriorityClass, PriorityClassRow>(
      {NameColumn(), Number("Value"), Flag("Global-Default"), AgeColumn(), Text("PreemptionPolicy")});
  r.Add<node::v1::RuntimeClass, RuntimeClassRow>({NameColumn(), Text("Handler"), AgeColumn()});
  r.Add<flowcontrol::v1::FlowSchema, FlowSchemaRow>(
      {NameColumn(), Text("PriorityLevel"), Text("MatchingPrecedence"), Text("DistinguisherMethod"), AgeColumn(), Text("MissingPL")});
  r.Add<flowcontrol::v1::PriorityLevelConfiguration, PriorityLevelRow>({NameColumn(), Text("Type"), Text("NominalConcurrencyShares"),
                                                                        Text("Queues"), Text("HandSize"), Text("QueueLengthLimit"),
                                                                        AgeColumn()});
  r.Add<resource::v1::DeviceClass, DeviceClassRow>({NameColumn(), AgeColumn()});
  r.Add<resource::v1::ResourceClaim, ClaimRow>({NameColumn(), Text("State"), AgeColumn()});
  r.Add<resource::v1::ResourceClaimTemplate, ClaimTemplateRow>({NameColumn(), AgeColumn()});
  r.Add<resource::v1::ResourceSlice, SliceRow>({NameColumn(), Text("Node"), Text("Driver"), Text("Pool"), AgeColumn()});
  r.Add<autoscaling::v1::Scale, ScaleRow>({NameColumn(), Number("Desired"), Number("Available"), AgeColumn()});
}

}  // namespace kube::apiserver::builtin
