#include <algorithm>
#include <set>

#include "apiserver/builtin/convert.h"
#include "apiserver/builtin/validation_kinds.h"
#include "apiserver/builtin/validation_pod.h"
#include "apiserver/names.h"
#include "kube/api/autoscaling/v1.h"
#include "kube/api/autoscaling/v2.h"
#include "kube/api/coordination/v1.h"
#include "kube/api/policy/v1.h"
#include "kube/api/rbac/v1.h"
#include "kube/api/scheduling/v1.h"
#include "kube/api/storage/v1.h"
#include "kube/codec/diff.h"

namespace kube::apiserver::builtin {
namespace {

constexpr const char* kRbac = "rbac.authorization.k8s.io";

// ---- rbac ----

void CheckRules(Errors& errors, const List<rbac::v1::PolicyRule>& rules, bool namespaced) {
  for (std::size_t i = 0; i < rules.size(); ++i) {
    const auto& rule = rules[i];
    const std::string at = Index("rules", i);
    if (rule.verbs.empty()) errors.push_back(Required(Child(at, "verbs"), "verbs must contain at least one value"));
    if (!rule.non_resource_urls.empty()) {
      const std::string urls = Child(at, "nonResourceURLs");
      if (namespaced) {
        errors.push_back(InvalidValue(urls, Shown(rule.non_resource_urls), "namespaced rules cannot apply to non-resource URLs"));
      }
      if (!rule.api_groups.empty() || !rule.resources.empty() || !rule.resource_names.empty()) {
        errors.push_back(
            InvalidValue(urls, Shown(rule.non_resource_urls), "rules cannot apply to both regular resources and non-resource URLs"));
      }
      continue;
    }
    if (rule.api_groups.empty()) errors.push_back(Required(Child(at, "apiGroups"), "resource rules must supply at least one api group"));
    if (rule.resources.empty()) errors.push_back(Required(Child(at, "resources"), "resource rules must supply at least one resource"));
  }
}

template <typename B>
void CheckBinding(Errors& errors, const B& b, const B* old, bool namespaced) {
  if (b.role_ref.api_group != kRbac) errors.push_back(NotSupported("roleRef.apiGroup", b.role_ref.api_group, {kRbac}));
  bool known = b.role_ref.kind == "ClusterRole" || (namespaced && b.role_ref.kind == "Role");
  if (!known) {
    errors.push_back(NotSupported("roleRef.kind", b.role_ref.kind,
                                  namespaced ? std::vector<std::string>{"Role", "ClusterRole"} : std::vector<std::string>{"ClusterRole"}));
  }
  if (b.role_ref.name.empty()) {
    errors.push_back(Required("roleRef.name"));
  } else {
    AddProblems(errors, "roleRef.name", b.role_ref.name, PathSegmentProblems(b.role_ref.name));
  }
  for (std::size_t i = 0; i < b.subjects.size(); ++i) {
    const auto& s = b.subjects[i];
    const std::string at = Index("subjects", i);
    if (s.name.empty()) errors.push_back(Required(Child(at, "name")));
    if (s.kind == "ServiceAccount") {
      if (!s.name.empty()) AddProblems(errors, Child(at, "name"), s.name, DnsSubdomainProblems(s.name));
      if (!s.api_group.empty()) errors.push_back(NotSupported(Child(at, "apiGroup"), s.api_group, {""}));
      if (!namespaced && s.namespace_.empty()) errors.push_back(Required(Child(at, "namespace")));
    } else if (s.kind == "User" || s.kind == "Group") {
      if (s.api_group != kRbac) errors.push_back(NotSupported(Child(at, "apiGroup"), s.api_group, {kRbac}));
    } else {
      errors.push_back(NotSupported(Child(at, "kind"), s.kind, {"ServiceAccount", "User", "Group"}));
    }
  }
  if (old != nullptr && !(b.role_ref == old->role_ref)) {
    FieldError changed = InvalidValue("roleRef", Value(), "cannot change roleRef");
    changed.value = "{\"APIGroup\":" + PrintValue(b.role_ref.api_group) + ",\"Kind\":" + PrintValue(b.role_ref.kind) +
                    ",\"Name\":" + PrintValue(b.role_ref.name) + "}";
    errors.push_back(std::move(changed));
  }
}

// ---- autoscaling ----

namespace v2 = autoscaling::v2;

void CheckTarget(Errors& errors, const std::string& path, const v2::MetricTarget& t) {
  if (t.type.empty()) errors.push_back(Required(Child(path, "type"), "must specify a metric target type"));
  if (t.type != "Utilization" && t.type != "Value" && t.type != "AverageValue") {
    errors.push_back(InvalidValue(Child(path, "type"), t.type, "must be either Utilization, Value, or AverageValue"));
  }
  if (t.value.has_value() && t.value->Sign() != 1)
    errors.push_back(InvalidValue(Child(path, "value"), t.value->ToString(), "must be positive"));
  if (t.average_value.has_value() && t.average_value->Sign() != 1) {
    errors.push_back(InvalidValue(Child(path, "averageValue"), t.average_value->ToString(), "must be positive"));
  }
  if (t.average_utilization.value_or(1) < 1) {
    errors.push_back(InvalidValue(Child(path, "averageUtilization"), *t.average_utilization, "must be greater than 0"));
  }
}

template <typename S>
void CheckResourceSource(Errors& errors, const std::string& path, const S& source) {
  if (source.name.empty()) errors.push_back(Required(Child(path, "name"), "must specify a resource name"));
  const std::string target = Child(path, "target");
  CheckTarget(errors, target, source.target);
  bool has_utilization = source.target.average_utilization.has_value(), has_value = source.target.average_value.has_value();
  if (!has_utilization && !has_value) {
    errors.push_back(Required(Child(target, "averageUtilization"), "must set either a target raw value or a target utilization"));
  }
  if (has_utilization && has_value) {
    errors.push_back(ForbiddenField(Child(target, "averageValue"), "may not set both a target raw value and a target utilization"));
  }
}

void CheckMetric(Errors& errors, const std::string& at, const v2::MetricSpec& m) {
  const std::vector<std::string> types = {"ContainerResource", "External", "Object", "Pods", "Resource"};
  bool known = std::find(types.begin(), types.end(), m.type.view()) != types.end();
  if (m.type.empty()) errors.push_back(Required(Child(at, "type"), "must specify a metric source type"));
  if (!known) errors.push_back(NotSupported(Child(at, "type"), m.type, types));
  if (m.resource.has_value()) CheckResourceSource(errors, Child(at, "resource"), *m.resource);
  if (m.container_resource.has_value()) CheckResourceSource(errors, Child(at, "containerResource"), *m.container_resource);
  const std::pair<const char*, bool> sources[] = {{"Object", m.object.has_value()},
                                                  {"Pods", m.pods.has_value()},
                                                  {"Resource", m.resource.has_value()},
                                                  {"External", m.external.has_value()},
                                                  {"ContainerResource", m.container_resource.has_value()}};
  int present = 0;
  for (const auto& [type, there] : sources) {
    std::string field = type;
    field[0] = static_cast<char>(field[0] - 'A' + 'a');
    if (there) ++present;
    if (m.type == type && !there) errors.push_back(Required(Child(at, field), "must populate information for the given metric source"));
  }
  if (!known) errors.push_back(NotSupported(Child(at, "type"), m.type, types));
  if (present == 1) return;
  for (const auto& [type, there] : sources) {
    std::string field = type;
    field[0] = static_cast<char>(field[0] - 'A' + 'a');
    if (there && m.type != type) errors.push_back(ForbiddenField(Child(at, field), "must populate the given metric source only"));
  }
}

// ---- storage ----

const std::vector<std::string>& AccessModes() {
  static const auto* const modes = new std::vector<std::string>{"ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"};
  return *modes;
}

void CheckAccessModes(Errors& errors, const List<String>& modes) {
  bool has_pod = false, has_other = false;
  for (const String& mode : modes) {
    const auto& known = AccessModes();
    if (std::find(known.begin(), known.end(), mode.view()) == known.end()) {
      errors.push_back(NotSupported("spec.accessModes", mode, known));
    } else {
      (mode == "ReadWriteOncePod" ? has_pod : has_other) = true;
    }
  }
  if (has_pod && has_other) errors.push_back(ForbiddenField("spec.accessModes", "may not use ReadWriteOncePod with other access modes"));
}

void CheckPositiveAmount(Errors& errors, const std::string& path, const Quantity& amount) {
  if (amount.Sign() <= 0) errors.push_back(InvalidValue(path, amount.ToString(), "must be greater than zero"));
}

// A volume spec with nothing but where the data is.
core::v1::PersistentVolumeSpec SourceOf(core::v1::PersistentVolumeSpec spec) {
  const core::v1::PersistentVolumeSpec none;
  spec.capacity = none.capacity;
  spec.access_modes = none.access_modes;
  spec.claim_ref = none.claim_ref;
  spec.persistent_volume_reclaim_policy = none.persistent_volume_reclaim_policy;
  spec.storage_class_name = none.storage_class_name;
  spec.mount_options = none.mount_options;
  spec.volume_mode = none.volume_mode;
  spec.node_affinity = none.node_affinity;
  spec.volume_attributes_class_name = none.volume_attributes_class_name;
  return spec;
}

}  // namespace

void ValidateKind(const rbac::v1::Role& object, const rbac::v1::Role*, Errors& errors) { CheckRules(errors, object.rules, true); }

void ValidateKind(const rbac::v1::ClusterRole& object, const rbac::v1::ClusterRole*, Errors& errors) {
  CheckRules(errors, object.rules, false);
  if (!object.aggregation_rule.has_value()) return;
  const auto& selectors = object.aggregation_rule->cluster_role_selectors;
  if (selectors.empty()) {
    errors.push_back(
        Required("aggregationRule.clusterRoleSelectors", "at least one clusterRoleSelector required if aggregationRule is non-nil"));
  }
  for (std::size_t i = 0; i < selectors.size(); ++i) CheckSelector(errors, Index("aggregationRule.clusterRoleSelectors", i), selectors[i]);
}

void ValidateKind(const rbac::v1::RoleBinding& object, const rbac::v1::RoleBinding* old, Errors& errors) {
  CheckBinding(errors, object, old, true);
}

void ValidateKind(const rbac::v1::ClusterRoleBinding& object, const rbac::v1::ClusterRoleBinding* old, Errors& errors) {
  CheckBinding(errors, object, old, false);
}

void ValidateKind(const policy::v1::PodDisruptionBudget& object, const policy::v1::PodDisruptionBudget*, Errors& errors) {
  const auto& spec = object.spec;
  if (spec.min_available.has_value() && spec.max_unavailable.has_value()) {
    auto text = [](const IntOrString& v) { return PrintValue(Shown(v)); };
    FieldError both = InvalidValue("spec", Value(), "minAvailable and maxUnavailable cannot be both set");
    both.value = "{\"MinAvailable\":" + text(*spec.min_available) +
                 ",\"Selector\":" + (spec.selector.has_value() ? PrintValue(Shown(*spec.selector)) : "null") +
                 ",\"MaxUnavailable\":" + text(*spec.max_unavailable) + ",\"UnhealthyPodEvictionPolicy\":" +
                 (spec.unhealthy_pod_eviction_policy.has_value() ? PrintValue(*spec.unhealthy_pod_eviction_policy) : "null") + "}";
    errors.push_back(std::move(both));
  }
  if (spec.min_available.has_value()) {
    CheckIntOrPercent(errors, "spec.minAvailable", *spec.min_available);
    CheckNotMoreThan100Percent(errors, "spec.minAvailable", *spec.min_available);
  }
  if (spec.max_unavailable.has_value()) {
    CheckIntOrPercent(errors, "spec.maxUnavailable", *spec.max_unavailable);
    CheckNotMoreThan100Percent(errors, "spec.maxUnavailable", *spec.max_unavailable);
  }
  if (spec.selector.has_value()) CheckSelector(errors, "spec.selector", *spec.selector);
  if (spec.unhealthy_pod_eviction_policy.has_value()) {
    CheckEnum(errors, "spec.unhealthyPodEvictionPolicy", *spec.unhealthy_pod_eviction_policy, {"AlwaysAllow", "IfHealthyBudget"}, false);
  }
}

void ValidateKind(const v2::HorizontalPodAutoscaler& object, const v2::HorizontalPodAutoscaler*, Errors& errors) {
  const auto& spec = object.spec;
  if (spec.min_replicas.value_or(1) < 1) {
    errors.push_back(InvalidValue("spec.minReplicas", *spec.min_replicas, "must be greater than or equal to 1"));
  }
  if (spec.max_replicas == 0) {
    errors.push_back(Required("spec.maxReplicas", "must be set and greater than 0"));
  } else if (spec.max_replicas < 0) {
    errors.push_back(InvalidValue("spec.maxReplicas", spec.max_replicas, "must be greater than or equal to 1"));
  }
  if (spec.min_replicas.has_value() && spec.max_replicas < *spec.min_replicas) {
    errors.push_back(InvalidValue("spec.maxReplicas", spec.max_replicas, "must be greater than or equal to `minReplicas`"));
  }
  const auto& ref = spec.scale_target_ref;
  const std::string at = "spec.scaleTargetRef";
  auto check = [&](const char* field, const String& text) {
    if (text.empty()) {
      errors.push_back(Required(Child(at, field)));
    } else {
      AddProblems(errors, Child(at, field), text, PathSegmentProblems(text));
    }
  };
  check("kind", ref.kind);
  check("name", ref.name);
  bool has_group = ref.api_version.view().find('/') != std::string_view::npos;
  if (!has_group && ref.kind != "ReplicationController") {
    errors.push_back(InvalidValue(Child(at, "apiVersion"), ref.api_version, "apiVersion must specify API group"));
  }
  for (std::size_t i = 0; i < spec.metrics.size(); ++i) CheckMetric(errors, Index("spec.metrics", i), spec.metrics[i]);
}

void ValidateKind(const autoscaling::v1::HorizontalPodAutoscaler& object, const autoscaling::v1::HorizontalPodAutoscaler*, Errors& errors) {
  ValidateKind(ToV2Autoscaler(object), nullptr, errors);
}

void ValidateKind(const coordination::v1::Lease& object, const coordination::v1::Lease*, Errors& errors) {
  const auto& spec = object.spec;
  if (spec.lease_duration_seconds.has_value()) CheckPositive(errors, "spec.leaseDurationSeconds", *spec.lease_duration_seconds);
  if (spec.lease_transitions.has_value()) CheckNonNegative(errors, "spec.leaseTransitions", *spec.lease_transitions);
  if (!spec.preferred_holder.value_or(String()).empty() && spec.strategy.value_or(String()).empty()) {
    errors.push_back(ForbiddenField("spec.preferredHolder", "may only be specified if `strategy` is defined"));
  }
}

void ValidateKind(const scheduling::v1::PriorityClass& object, const scheduling::v1::PriorityClass* old, Errors& errors) {
  if (old != nullptr) {
    if (object.value != old->value) errors.push_back(ForbiddenField("value", "may not be changed in an update."));
    CheckImmutable(errors, "preemptionPolicy", object.preemption_policy.value_or(String()),
                   object.preemption_policy == old->preemption_policy);
    return;
  }
  const String& name = object.metadata.name;
  bool known =
      (name == "system-node-critical" && object.value == 2000001000) || (name == "system-cluster-critical" && object.value == 2000000000);
  if (name.view().starts_with("system-")) {
    if (!known) {
      errors.push_back(ForbiddenField("metadata.name",
                                      "priority class names with 'system-' prefix are reserved for system use only. error: " + name.str() +
                                          " is not a known system priority class"));
    }
  } else if (object.value > 1000000000) {
    errors.push_back(ForbiddenField("value", "maximum allowed value of a user defined priority is 1000000000"));
  }
  if (object.preemption_policy.has_value()) {
    CheckEnum(errors, "preemptionPolicy", *object.preemption_policy, {"PreemptLowerPriority", "Never"});
  }
}

void ValidateKind(const storage::v1::StorageClass& object, const storage::v1::StorageClass* old, Errors& errors) {
  if (old != nullptr) {
    Value parameters = Value::Object();
    for (const auto& [key, value] : object.parameters) parameters[key.view()] = value;
    CheckImmutable(errors, "parameters", object.parameters.empty() ? Value() : parameters, object.parameters == old->parameters);
    CheckImmutable(errors, "provisioner", object.provisioner, object.provisioner == old->provisioner);
    CheckImmutable(errors, "reclaimPolicy", object.reclaim_policy.value_or(String()), object.reclaim_policy == old->reclaim_policy);
    CheckImmutable(errors, "volumeBindingMode", object.volume_binding_mode.value_or(String()),
                   object.volume_binding_mode == old->volume_binding_mode);
    return;
  }
  if (object.provisioner.empty()) {
    errors.push_back(Required("provisioner"));
  } else {
    std::string lower = object.provisioner.str();
    std::transform(lower.begin(), lower.end(), lower.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
    AddProblems(errors, "provisioner", lower, QualifiedNameProblems(lower));
  }
  if (object.reclaim_policy.has_value()) CheckEnum(errors, "reclaimPolicy", *object.reclaim_policy, {"Delete", "Retain"}, false);
  if (object.volume_binding_mode.has_value()) {
    CheckEnum(errors, "volumeBindingMode", *object.volume_binding_mode, {"Immediate", "WaitForFirstConsumer"}, false);
  }
}

void ValidateKind(const core::v1::PersistentVolumeClaim& object, const core::v1::PersistentVolumeClaim* old, Errors& errors) {
  const auto& spec = object.spec;
  if (spec.access_modes.empty()) errors.push_back(Required("spec.accessModes", "at least 1 access mode is required"));
  if (spec.selector.has_value()) CheckSelector(errors, "spec.selector", *spec.selector);
  CheckAccessModes(errors, spec.access_modes);
  const Quantity* storage = spec.resources.requests.Find("storage");
  if (storage == nullptr) {
    errors.push_back(Required("spec.resources[storage]"));
  } else {
    CheckPositiveAmount(errors, "spec.resources[storage]", *storage);
  }
  const String storage_class = spec.storage_class_name.value_or(String());
  if (!storage_class.empty()) AddProblems(errors, "spec.storageClassName", storage_class, DnsSubdomainProblems(storage_class));
  if (spec.volume_mode.has_value()) CheckEnum(errors, "spec.volumeMode", *spec.volume_mode, {"Block", "Filesystem"}, false);
  if (old == nullptr) return;
  core::v1::PersistentVolumeClaimSpec now = spec, before = old->spec;
  if (before.volume_name.empty()) before.volume_name = now.volume_name;
  if (!before.storage_class_name.has_value() && !old->metadata.annotations.contains("volume.beta.kubernetes.io/storage-class")) {
    before.storage_class_name = now.storage_class_name;
  }
  if (object.status.phase == "Bound") {
    if (!now.resources.requests.empty()) now.resources.requests.Set("storage", before.resources.requests.Get("storage"));
    now.volume_attributes_class_name = before.volume_attributes_class_name;
  }
  if (!(now == before)) {
    errors.push_back(ForbiddenField("spec",
                                    "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound "
                                    "claims\n" +
                                        ToString(Diff(before, now))));
  }
  const Quantity& size = spec.resources.requests.Get("storage");
  if (size < old->spec.resources.requests.Get("storage") && size <= old->status.capacity.Get("storage")) {
    errors.push_back(ForbiddenField("spec.resources.requests.storage", "field can not be less than status.capacity"));
  }
  CheckImmutable(errors, "volumeMode", spec.volume_mode.value_or(String()), spec.volume_mode == old->spec.volume_mode);
}

void ValidateKind(const core::v1::PersistentVolume& object, const core::v1::PersistentVolume* old, Errors& errors) {
  const auto& spec = object.spec;
  if (spec.access_modes.empty()) errors.push_back(Required("spec.accessModes"));
  CheckAccessModes(errors, spec.access_modes);
  if (spec.capacity.empty()) errors.push_back(Required("spec.capacity"));
  if (!spec.capacity.contains("storage") || spec.capacity.size() > 1) {
    Value shown = Value::Object();
    for (const auto& [key, value] : spec.capacity) shown[key.view()] = value.ToString();
    errors.push_back(NotSupported("spec.capacity", spec.capacity.empty() ? Value() : shown, {"storage"}));
  }
  for (const auto& [name, amount] : spec.capacity) {
    if (amount.Sign() < 0) {
      errors.push_back(InvalidValue(Key("spec.capacity", name), amount.Value(), "must be a valid resource quantity"));
    }
    CheckPositiveAmount(errors, Key("spec.capacity", name), amount);
  }
  CheckEnum(errors, "spec.persistentVolumeReclaimPolicy", spec.persistent_volume_reclaim_policy, {"Delete", "Recycle", "Retain"}, false);
  const core::v1::PersistentVolumeSpec source = SourceOf(spec);
  if (source == core::v1::PersistentVolumeSpec{}) errors.push_back(Required("spec", "must specify a volume type"));
  if (spec.host_path.has_value() && spec.host_path->path.empty()) errors.push_back(Required("spec.hostPath.path"));
  if (spec.csi.has_value()) {
    if (spec.csi->driver.empty()) errors.push_back(Required("spec.csi.driver"));
    if (spec.csi->volume_handle.empty()) errors.push_back(Required("spec.csi.volumeHandle"));
  }
  if (spec.local.has_value() && !spec.node_affinity.has_value()) {
    errors.push_back(Required("spec.nodeAffinity", "Local volume requires node affinity"));
  }
  if (!spec.storage_class_name.empty()) {
    AddProblems(errors, "spec.storageClassName", spec.storage_class_name, DnsSubdomainProblems(spec.storage_class_name));
  }
  if (spec.volume_mode.has_value()) CheckEnum(errors, "spec.volumeMode", *spec.volume_mode, {"Block", "Filesystem"}, false);
  if (old == nullptr) return;
  const core::v1::PersistentVolumeSpec before = SourceOf(old->spec);
  if (!(source == before)) {
    errors.push_back(ForbiddenField("spec.persistentvolumesource",
                                    "spec.persistentvolumesource is immutable after creation\n" + ToString(Diff(before, source))));
  }
  CheckImmutable(errors, "volumeMode", spec.volume_mode.value_or(String()), spec.volume_mode == old->spec.volume_mode);
}

void ValidateKind(const core::v1::Node& object, const core::v1::Node* old, Errors& errors) {
  std::set<std::pair<std::string, std::string>> seen;
  for (std::size_t i = 0; i < object.spec.taints.size(); ++i) {
    const auto& t = object.spec.taints[i];
    const std::string at = Index("metadata.taints", i);  // where a real server says they are
    AddProblems(errors, Child(at, "key"), t.key, QualifiedNameProblems(t.key));
    AddProblems(errors, Child(at, "value"), t.value, LabelValueProblems(t.value));
    CheckTaintEffect(errors, Child(at, "effect"), t.effect);
    if (!seen.insert({t.effect.str(), t.key.str()}).second) {
      FieldError duplicate = DuplicateValue(at, Value());
      duplicate.value = "{\"Key\":" + PrintValue(t.key) + ",\"Value\":" + PrintValue(t.value) + ",\"Effect\":" + PrintValue(t.effect) +
                        ",\"TimeAdded\":null}";
      duplicate.detail = "taints must be unique by key and effect pair";
      errors.push_back(std::move(duplicate));
    }
  }
  if (old == nullptr) return;
  const char* const cidr = "node updates may not change podCIDR except from \"\" to valid";
  if (!old->spec.pod_cidrs.empty() && !(object.spec.pod_cidrs == old->spec.pod_cidrs))
    errors.push_back(ForbiddenField("spec.podCIDRs", cidr));
  if (!old->spec.provider_id.empty() && !(object.spec.provider_id == old->spec.provider_id)) {
    errors.push_back(ForbiddenField("spec.providerID", "node updates may not change providerID except from \"\" to valid"));
  }
}

}  // namespace kube::apiserver::builtin
