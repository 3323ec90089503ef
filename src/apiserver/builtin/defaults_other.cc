#include "apiserver/builtin/defaults_table.h"
#include "kube/api/admissionregistration/v1.h"
#include "kube/api/apiextensions/v1.h"
#include "kube/api/apiregistration/v1.h"
#include "kube/api/authentication/v1.h"
#include "kube/api/discovery/v1.h"
#include "kube/api/flowcontrol/v1.h"
#include "kube/api/networking/v1.h"
#include "kube/api/rbac/v1.h"
#include "kube/api/resource/v1.h"
#include "kube/api/scheduling/v1.h"
#include "kube/api/storage/v1.h"

namespace kube::apiserver::builtin {
namespace {

// ---- networking ----
void DefaultPolicyPort(networking::v1::NetworkPolicyPort& p) { Default(p.protocol, String("TCP")); }

void DefaultNetworkPolicy(networking::v1::NetworkPolicy& p) {
  if (!p.spec.policy_types.empty()) return;
  p.spec.policy_types.push_back("Ingress");
  if (!p.spec.egress.empty()) p.spec.policy_types.push_back("Egress");
}

void DefaultClassParameters(networking::v1::IngressClassParametersReference& r) { Default(r.scope, String("Cluster")); }

// ---- rbac ----
constexpr const char* kRbacGroup = "rbac.authorization.k8s.io";
void DefaultRoleRef(rbac::v1::RoleRef& r) { Default(r.api_group, kRbacGroup); }
void DefaultSubject(rbac::v1::Subject& s) {
  if (s.kind == "User" || s.kind == "Group") Default(s.api_group, kRbacGroup);
}

// ---- storage ----
void DefaultStorageClass(storage::v1::StorageClass& c) {
  Default(c.reclaim_policy, String("Delete"));
  Default(c.volume_binding_mode, String("Immediate"));
}

void DefaultCsiDriver(storage::v1::CSIDriver& d) {
  storage::v1::CSIDriverSpec& spec = d.spec;
  Default(spec.attach_required, true);
  Default(spec.pod_info_on_mount, false);
  Default(spec.storage_capacity, false);
  Default(spec.fs_group_policy, String("ReadWriteOnceWithFSType"));
  if (spec.volume_lifecycle_modes.empty()) spec.volume_lifecycle_modes = {"Persistent"};
  Default(spec.requires_republish, false);
  Default(spec.se_linux_mount, false);
}

// ---- discovery, scheduling ----
void DefaultEndpointPort(discovery::v1::EndpointPort& p) {
  Default(p.name, String(""));
  Default(p.protocol, String("TCP"));
}

void DefaultPriorityClass(scheduling::v1::PriorityClass& c) { Default(c.preemption_policy, String("PreemptLowerPriority")); }

// ---- admissionregistration ----
template <typename W>
void DefaultWebhook(W& w) {
  Default(w.failure_policy, String("Fail"));
  Default(w.match_policy, String("Equivalent"));
  if (!w.namespace_selector.has_value()) w.namespace_selector.Mutable();
  if (!w.object_selector.has_value()) w.object_selector.Mutable();
  Default(w.timeout_seconds, 10);
  if constexpr (requires { w.reinvocation_policy; }) Default(w.reinvocation_policy, String("Never"));
}

template <typename R>
void DefaultRule(R& r) {
  Default(r.scope, String("*"));
}

template <typename R>
void DefaultServicePort(R& r) {
  Default(r.port, 443);
}

template <typename S>
void DefaultAdmissionPolicy(S& s) {
  Default(s.failure_policy, String("Fail"));
}

void DefaultMatchResources(admissionregistration::v1::MatchResources& m) {
  Default(m.match_policy, String("Equivalent"));
  if (!m.namespace_selector.has_value()) m.namespace_selector.Mutable();
  if (!m.object_selector.has_value()) m.object_selector.Mutable();
}

// ---- apiextensions ----
void DefaultCrd(apiextensions::v1::CustomResourceDefinition& crd) {
  auto& names = crd.spec.names;
  if (names.singular.empty()) {
    std::string singular = names.kind.str();
    for (char& c : singular) {
      if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    }
    names.singular = singular;
  }
  if (names.list_kind.empty() && !names.kind.empty()) names.list_kind = names.kind.str() + "List";
  if (!crd.spec.conversion.has_value()) crd.spec.conversion.Mutable().strategy = "None";
  if (!crd.status.stored_versions.empty()) return;
  for (const auto& version : std::as_const(crd.spec.versions)) {
    if (!version.storage) continue;
    crd.status.stored_versions.push_back(version.name);
    break;
  }
}

// ---- flowcontrol ----
void DefaultFlowSchema(flowcontrol::v1::FlowSchemaSpec& s) { Default(s.matching_precedence, 1000); }

void DefaultExempt(flowcontrol::v1::ExemptPriorityLevelConfiguration& c) {
  Default(c.nominal_concurrency_shares, 0);
  Default(c.lendable_percent, 0);
}

void DefaultLimited(flowcontrol::v1::LimitedPriorityLevelConfiguration& c) {
  Default(c.nominal_concurrency_shares, 30);
  Default(c.lendable_percent, 0);
}

void DefaultQueuing(flowcontrol::v1::QueuingConfiguration& c) {
  Default(c.hand_size, 8);
  Default(c.queues, 64);
  Default(c.queue_length_limit, 50);
}

// ---- resource ----
template <typename R>
void DefaultDeviceRequest(R& r) {
  Default(r.allocation_mode, "ExactCount");
  if (r.allocation_mode == "ExactCount") Default(r.count, std::int64_t{1});
}
void DefaultDeviceToleration(resource::v1::DeviceToleration& t) { Default(t.operator_, "Equal"); }
void DefaultDeviceTaint(resource::v1::DeviceTaint& t) {
  if (t.time_added.IsZero()) t.time_added = Time::Now();
}

// ---- authentication ----
void DefaultTokenRequest(authentication::v1::TokenRequestSpec& s) { Default(s.expiration_seconds, std::int64_t{3600}); }

}  // namespace

void AddOtherDefaults(DefaultsTable& t) {
  namespace admission = admissionregistration::v1;
  t.Add<networking::v1::NetworkPolicyPort, DefaultPolicyPort>();
  t.Add<networking::v1::NetworkPolicy, DefaultNetworkPolicy>();
  t.Add<networking::v1::IngressClassParametersReference, DefaultClassParameters>();
  t.Add<rbac::v1::RoleRef, DefaultRoleRef>();
  t.Add<rbac::v1::Subject, DefaultSubject>();
  t.Add<storage::v1::StorageClass, DefaultStorageClass>();
  t.Add<storage::v1::CSIDriver, DefaultCsiDriver>();
  t.Add<discovery::v1::EndpointPort, DefaultEndpointPort>();
  t.Add<scheduling::v1::PriorityClass, DefaultPriorityClass>();
  t.Add<admission::ValidatingWebhook, DefaultWebhook<admission::ValidatingWebhook>>();
  t.Add<admission::MutatingWebhook, DefaultWebhook<admission::MutatingWebhook>>();
  t.Add<admission::RuleWithOperations, DefaultRule<admission::RuleWithOperations>>();
  t.Add<admission::NamedRuleWithOperations, DefaultRule<admission::NamedRuleWithOperations>>();
  t.Add<admission::ServiceReference, DefaultServicePort<admission::ServiceReference>>();
  t.Add<admission::ValidatingAdmissionPolicySpec, DefaultAdmissionPolicy<admission::ValidatingAdmissionPolicySpec>>();
  t.Add<admission::MutatingAdmissionPolicySpec, DefaultAdmissionPolicy<admission::MutatingAdmissionPolicySpec>>();
  t.Add<admission::MatchResources, DefaultMatchResources>();
  t.Add<apiextensions::v1::CustomResourceDefinition, DefaultCrd>();
  t.Add<apiextensions::v1::ServiceReference, DefaultServicePort<apiextensions::v1::ServiceReference>>();
  t.Add<apiregistration::v1::ServiceReference, DefaultServicePort<apiregistration::v1::ServiceReference>>();
  t.Add<flowcontrol::v1::FlowSchemaSpec, DefaultFlowSchema>();
  t.Add<flowcontrol::v1::ExemptPriorityLevelConfiguration, DefaultExempt>();
  t.Add<flowcontrol::v1::LimitedPriorityLevelConfiguration, DefaultLimited>();
  t.Add<flowcontrol::v1::QueuingConfiguration, DefaultQueuing>();
  t.Add<resource::v1::ExactDeviceRequest, DefaultDeviceRequest<resource::v1::ExactDeviceRequest>>();
  t.Add<resource::v1::DeviceSubRequest, DefaultDeviceRequest<resource::v1::DeviceSubRequest>>();
  t.Add<resource::v1::DeviceToleration, DefaultDeviceToleration>();
  t.Add<resource::v1::DeviceTaint, DefaultDeviceTaint>();
  t.Add<authentication::v1::TokenRequestSpec, DefaultTokenRequest>();
}

}  // namespace kube::apiserver::builtin
