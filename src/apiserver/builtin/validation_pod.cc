#include "apiserver/builtin/validation_pod.h"

#include <algorithm>
#include <limits>

#include "apiserver/builtin/service_addresses.h"
#include "apiserver/builtin/validation_kinds.h"
#include "apiserver/names.h"
#include "kube/codec/diff.h"
#include "kube/codec/json.h"
#include "kube/meta/selector.h"

namespace kube::apiserver::builtin {
namespace {

using namespace core::v1;

constexpr std::int64_t kMaxInt32 = std::numeric_limits<std::int32_t>::max();

// ---- Volumes ----

bool HasBackstep(std::string_view path) {
  while (true) {
    std::size_t slash = path.find('/');
    if (path.substr(0, slash) == "..") return true;
    if (slash == std::string_view::npos) return false;
    path.remove_prefix(slash + 1);
  }
}

void CheckMode(Errors& errors, const std::string& path, const std::optional<std::int32_t>& mode) {
  if (mode.has_value() && (*mode < 0 || *mode > 0777)) {
    errors.push_back(InvalidValue(path, *mode, "must be a number between 0 and 0777 (octal), both inclusive"));
  }
}

void CheckItems(Errors& errors, const std::string& path, const List<KeyToPath>& items) {
  for (std::size_t i = 0; i < items.size(); ++i) {
    const std::string at = Index(path, i);
    if (items[i].key.empty()) errors.push_back(Required(Child(at, "key")));
    if (items[i].path.empty()) errors.push_back(Required(Child(at, "path")));
    if (items[i].path.view().starts_with('/')) {
      errors.push_back(InvalidValue(Child(at, "path"), items[i].path, "must be a relative path"));
    }
    if (HasBackstep(items[i].path)) errors.push_back(InvalidValue(Child(at, "path"), items[i].path, "must not contain '..'"));
    CheckMode(errors, Child(at, "mode"), items[i].mode);
  }
}

// At most one source; the others are only counted.
class SourceCheck {
 public:
  SourceCheck(Errors& errors, const std::string& path) : errors_(errors), path_(path) {}
  // True if the source is there and is the first one: it is to be looked at.
  template <typename T>
  bool Is(const Box<T>& source, const char* field) {
    if (!source.has_value()) return false;
    if (count_++ == 0) return true;
    errors_.push_back(ForbiddenField(Child(path_, field), "may not specify more than 1 volume type"));
    return false;
  }
  int count() const { return count_; }

 private:
  Errors& errors_;
  const std::string& path_;
  int count_ = 0;
};

void CheckSource(Errors& errors, const std::string& path, const Volume& v) {
  SourceCheck check(errors, path);
  auto require = [&](const char* source, const char* field, const String& text) {
    if (text.empty()) errors.push_back(Required(Child(Child(path, source), field)));
  };
  if (check.Is(v.empty_dir, "emptyDir") && v.empty_dir->size_limit.has_value() && v.empty_dir->size_limit->Sign() < 0) {
    errors.push_back(ForbiddenField(Child(path, "emptyDir.sizeLimit"), "SizeLimit field must be a valid resource quantity"));
  }
  if (check.Is(v.host_path, "hostPath")) {
    const std::string at = Child(path, "hostPath");
    require("hostPath", "path", v.host_path->path);
    if (HasBackstep(v.host_path->path)) errors.push_back(InvalidValue(Child(at, "path"), v.host_path->path, "must not contain '..'"));
    const std::vector<std::string> types = {"",     "BlockDevice",  "CharDevice", "Directory", "DirectoryOrCreate",
                                            "File", "FileOrCreate", "Socket"};
    if (!v.host_path->path.empty() && v.host_path->type.has_value() &&
        std::find(types.begin(), types.end(), v.host_path->type->view()) == types.end()) {
      errors.push_back(NotSupported(Child(at, "type"), *v.host_path->type, types));
    }
  }
  check.Is(v.git_repo, "gitRepo");
  check.Is(v.gce_persistent_disk, "gcePersistentDisk");
  check.Is(v.aws_elastic_block_store, "awsElasticBlockStore");
  if (check.Is(v.secret, "secret")) {
    const std::string at = Child(path, "secret");
    require("secret", "secretName", v.secret->secret_name);
    CheckMode(errors, Child(at, "defaultMode"), v.secret->default_mode);
    CheckItems(errors, Child(at, "items"), v.secret->items);
  }
  if (check.Is(v.nfs, "nfs")) {
    require("nfs", "server", v.nfs->server);
    require("nfs", "path", v.nfs->path);
    if (!v.nfs->path.view().starts_with('/')) {
      errors.push_back(InvalidValue(Child(path, "nfs.path"), v.nfs->path, "must be an absolute path"));
    }
  }
  check.Is(v.iscsi, "iscsi");
  check.Is(v.glusterfs, "glusterfs");
  check.Is(v.flocker, "flocker");
  if (check.Is(v.persistent_volume_claim, "persistentVolumeClaim")) {
    require("persistentVolumeClaim", "claimName", v.persistent_volume_claim->claim_name);
  }
  check.Is(v.rbd, "rbd");
  check.Is(v.cinder, "cinder");
  check.Is(v.cephfs, "cephFS");
  check.Is(v.quobyte, "quobyte");
  if (check.Is(v.downward_api, "downwarAPI")) CheckMode(errors, Child(path, "downwardAPI.defaultMode"), v.downward_api->default_mode);
  check.Is(v.fc, "fc");
  check.Is(v.flex_volume, "flexVolume");
  if (check.Is(v.config_map, "configMap")) {
    const std::string at = Child(path, "configMap");
    require("configMap", "name", v.config_map->name);
    CheckMode(errors, Child(at, "defaultMode"), v.config_map->default_mode);
    CheckItems(errors, Child(at, "items"), v.config_map->items);
  }
  check.Is(v.azure_file, "azureFile");
  check.Is(v.vsphere_volume, "vsphereVolume");
  check.Is(v.photon_persistent_disk, "photonPersistentDisk");
  check.Is(v.portworx_volume, "portworxVolume");
  check.Is(v.azure_disk, "azureDisk");
  check.Is(v.storageos, "storageos");
  if (check.Is(v.projected, "projected")) CheckMode(errors, Child(path, "projected.defaultMode"), v.projected->default_mode);
  check.Is(v.scale_io, "scaleIO");
  if (check.Is(v.csi, "csi")) require("csi", "driver", v.csi->driver);
  if (check.Is(v.ephemeral, "ephemeral") && !v.ephemeral->volume_claim_template.has_value()) {
    errors.push_back(Required(Child(path, "ephemeral.volumeClaimTemplate")));
  }
  check.Is(v.image, "image");
  if (check.count() == 0) errors.push_back(Required(path, "must specify a volume type"));
}

// ---- The rest of a spec ----

void CheckSpread(Errors& errors, const std::string& path, const List<TopologySpreadConstraint>& constraints) {
  for (std::size_t i = 0; i < constraints.size(); ++i) {
    const TopologySpreadConstraint& c = constraints[i];
    const std::string at = Index(path, i);
    if (c.max_skew <= 0) errors.push_back(InvalidValue(Child(at, "maxSkew"), c.max_skew, "must be greater than zero"));
    if (c.topology_key.empty()) errors.push_back(Required(Child(at, "topologyKey"), "can not be empty"));
    if (c.when_unsatisfiable != "DoNotSchedule" && c.when_unsatisfiable != "ScheduleAnyway") {
      errors.push_back(NotSupported(Child(at, "whenUnsatisfiable"), c.when_unsatisfiable, {"DoNotSchedule", "ScheduleAnyway"}));
    }
    for (std::size_t j = i + 1; j < constraints.size(); ++j) {
      if (!(constraints[j].topology_key == c.topology_key) || !(constraints[j].when_unsatisfiable == c.when_unsatisfiable)) continue;
      errors.push_back(DuplicateValue(Child(at, "{topologyKey, whenUnsatisfiable}"),
                                      "{" + c.topology_key.str() + ", " + c.when_unsatisfiable.str() + "}"));
      break;
    }
    if (c.label_selector.has_value()) CheckSelector(errors, Child(at, "labelSelector"), *c.label_selector);
  }
}

void CheckHostNetwork(Errors& errors, const std::string& path, const PodSpec& spec, bool is_pod) {
  if (!spec.host_network) return;
  for (std::size_t i = 0; i < spec.containers.size(); ++i) {
    const std::string ports = Child(Index(Child(path, "containers"), i), "ports");
    for (std::size_t j = 0; j < spec.containers[i].ports.size(); ++j) {
      const ContainerPort& p = spec.containers[i].ports[j];
      if ((is_pod || p.host_port != 0) && p.host_port != p.container_port) {
        errors.push_back(
            InvalidValue(Child(Index(ports, j), "hostPort"), p.host_port, "must match `containerPort` when `hostNetwork` is true"));
      }
    }
  }
}

// ---- Update ----

bool HasOuterBlanks(std::string_view text) {
  auto blank = [](char c) { return c == ' ' || (c >= '\t' && c <= '\r'); };
  return !text.empty() && (blank(text.front()) || blank(text.back()));
}

void CheckImageBlanks(Errors& errors, const std::string& path, const List<Container>& containers) {
  for (std::size_t i = 0; i < containers.size(); ++i) {
    if (HasOuterBlanks(containers[i].image)) {
      errors.push_back(InvalidValue(Child(Index(path, i), "image"), containers[i].image, "must not have leading or trailing whitespace"));
    }
  }
}

// False if the lists are so different that comparing them further makes no sense.
bool CheckContainerUpdates(Errors& errors, const std::string& path, const List<Container>& containers, const List<Container>& old) {
  if (containers.size() != old.size()) {
    errors.push_back(ForbiddenField(path, "pod updates may not add or remove containers"));
    return false;
  }
  for (std::size_t i = 0; i < containers.size(); ++i) {
    if (containers[i].image.empty()) errors.push_back(Required(Child(Index(path, i), "image")));
  }
  CheckImageBlanks(errors, path, containers);
  return true;
}

bool CheckDeadlineUpdate(Errors& errors, const PodSpec& spec, const PodSpec& old) {
  const std::string path = "spec.activeDeadlineSeconds";
  if (spec.active_deadline_seconds.has_value()) {
    std::int64_t now = *spec.active_deadline_seconds;
    if (now < 0 || now > kMaxInt32) {
      errors.push_back(InvalidValue(path, now, "must be between 0 and 2147483647, inclusive"));
      return false;
    }
    if (old.active_deadline_seconds.has_value() && *old.active_deadline_seconds < now) {
      errors.push_back(InvalidValue(path, now, "must be less than or equal to previous value"));
      return false;
    }
  } else if (old.active_deadline_seconds.has_value()) {
    errors.push_back(InvalidValue(path, Value(), "must not update from a positive integer to nil value"));
  }
  return true;
}

void CheckTolerationUpdate(Errors& errors, const PodSpec& spec, const PodSpec& old) {
  for (const Toleration& before : old.tolerations) {
    bool kept = std::any_of(spec.tolerations.begin(), spec.tolerations.end(), [&](const Toleration& t) {
      Toleration copy = before;
      copy.toleration_seconds = t.toleration_seconds;
      return copy == t;
    });
    if (!kept) {
      errors.push_back(ForbiddenField("spec.tolerations", "existing toleration can not be modified except its tolerationSeconds"));
      return;
    }
  }
  CheckTolerations(errors, "spec.tolerations", spec.tolerations);
}

void CheckGateUpdate(Errors& errors, const PodSpec& spec, const PodSpec& old) {
  for (std::size_t i = 0; i < spec.scheduling_gates.size(); ++i) {
    const String& name = spec.scheduling_gates[i].name;
    if (std::any_of(old.scheduling_gates.begin(), old.scheduling_gates.end(), [&](const PodSchedulingGate& g) { return g.name == name; })) {
      continue;
    }
    errors.push_back(ForbiddenField(Child(Index("spec.schedulingGates", i), "name"),
                                    "only deletion is allowed, but found new scheduling gate '" + name.str() + "'"));
  }
}

void CheckSpecUpdate(Errors& errors, const PodSpec& spec, const PodSpec& old) {
  if (!CheckContainerUpdates(errors, "spec.containers", spec.containers, old.containers)) return;
  if (!CheckContainerUpdates(errors, "spec.initContainers", spec.init_containers, old.init_containers)) return;
  if (!CheckDeadlineUpdate(errors, spec, old)) return;
  CheckTolerationUpdate(errors, spec, old);
  CheckGateUpdate(errors, spec, old);
  // With all that may change put back, nothing may be different.
  PodSpec rest = spec;
  for (std::size_t i = 0; i < rest.containers.size(); ++i) rest.containers[i].image = old.containers[i].image;
  for (std::size_t i = 0; i < rest.init_containers.size(); ++i) rest.init_containers[i].image = old.init_containers[i].image;
  rest.active_deadline_seconds = old.active_deadline_seconds;
  rest.scheduling_gates = old.scheduling_gates;
  rest.tolerations = old.tolerations;
  if (old.termination_grace_period_seconds.value_or(0) < 0 && rest.termination_grace_period_seconds == 1) {
    rest.termination_grace_period_seconds = old.termination_grace_period_seconds;
  }
  if (!old.scheduling_gates.empty()) {  // not scheduled yet: where it may run can still be narrowed
    rest.node_selector = old.node_selector;
    if (rest.affinity.has_value() || old.affinity.has_value()) {
      rest.affinity.Mutable().node_affinity = old.affinity->node_affinity;
      if (!old.affinity.has_value() && *rest.affinity == Affinity{}) rest.affinity.reset();
    }
  }
  if (rest == old) return;
  errors.push_back(ForbiddenField(
      "spec",
      "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,"
      "`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` "
      "(allow it to be set to 1 if it was previously negative)\n" +
          ToString(Diff(old, rest))));
}

}  // namespace

std::set<std::string> CheckVolumes(Errors& errors, const std::string& path, const List<Volume>& volumes) {
  std::set<std::string> names;
  for (std::size_t i = 0; i < volumes.size(); ++i) {
    const Volume& v = volumes[i];
    const std::string at = Index(path, i);
    Errors here;
    CheckSource(here, at, v);
    if (v.name.empty()) {
      here.push_back(Required(Child(at, "name")));
    } else {
      AddProblems(here, Child(at, "name"), v.name, DnsLabelProblems(v.name));
    }
    if (names.contains(v.name.str())) here.push_back(DuplicateValue(Child(at, "name"), v.name));
    if (here.empty()) names.insert(v.name.str());
    Add(errors, std::move(here));
  }
  return names;
}

void CheckTaintEffect(Errors& errors, const std::string& path, const String& effect) {
  CheckEnum(errors, path, effect, {"NoSchedule", "PreferNoSchedule", "NoExecute"});
}

void CheckTolerations(Errors& errors, const std::string& path, const List<Toleration>& tolerations) {
  for (std::size_t i = 0; i < tolerations.size(); ++i) {
    const Toleration& t = tolerations[i];
    const std::string at = Index(path, i);
    if (!t.key.empty()) AddProblems(errors, Child(at, "key"), t.key, QualifiedNameProblems(t.key));
    if (t.key.empty() && t.operator_ != "Exists") {
      errors.push_back(InvalidValue(Child(at, "operator"), t.operator_,
                                    "operator must be Exists when `key` is empty, which means \"match all values and all keys\""));
    }
    if (t.toleration_seconds.has_value() && t.effect != "NoExecute") {
      errors.push_back(InvalidValue(Child(at, "effect"), t.effect, "effect must be 'NoExecute' when `tolerationSeconds` is set"));
    }
    if (t.operator_ == "Equal" || t.operator_.empty()) {
      if (Problems problems = LabelValueProblems(t.value); !problems.empty()) {
        std::string all;
        for (const std::string& p : problems) all += (all.empty() ? "" : ";") + p;
        errors.push_back(InvalidValue(Child(at, "operator"), t.value, all));
      }
    } else if (t.operator_ == "Exists") {
      if (!t.value.empty())
        errors.push_back(InvalidValue(Child(at, "operator"), t.value, "value must be empty when `operator` is 'Exists'"));
    } else if (t.operator_ == "Lt" || t.operator_ == "Gt") {
      errors.push_back(NotSupported(Child(at, "operator"), t.operator_, {"Equal", "Exists", "Lt", "Gt"}));
    } else {
      errors.push_back(NotSupported(Child(at, "operator"), t.operator_, {"Equal", "Exists"}));
    }
    if (!t.effect.empty()) CheckTaintEffect(errors, Child(at, "effect"), t.effect);
  }
}

void CheckPodSpec(Errors& errors, const std::string& path, const PodSpec& spec, const PodSpecOptions& options) {
  std::set<std::string> volumes = CheckVolumes(errors, Child(path, "volumes"), spec.volumes);
  CheckContainers(errors, path, spec, volumes);
  CheckHostNetwork(errors, path, spec, options.is_pod);
  CheckEnum(errors, Child(path, "restartPolicy"), spec.restart_policy, {"Always", "OnFailure", "Never"});
  CheckEnum(errors, Child(path, "dnsPolicy"), spec.dns_policy, {"ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"});
  CheckLabels(errors, Child(path, "nodeSelector"), spec.node_selector);
  if (spec.dns_policy == "None" && spec.dns_config->nameservers.empty()) {
    errors.push_back(spec.dns_config.has_value() ? Required(Child(path, "dnsConfig.nameservers"),
                                                            "must provide at least one DNS nameserver when `dnsPolicy` is None")
                                                 : Required(Child(path, "dnsConfig"), "must provide `dnsConfig` when `dnsPolicy` is None"));
  }
  for (std::size_t i = 0; i < spec.readiness_gates.size(); ++i) {
    const String& type = spec.readiness_gates[i].condition_type;
    AddProblems(errors, Child(Index(Child(path, "readinessGates"), i), "conditionType"), type, QualifiedNameProblems(type));
  }
  std::set<std::string> gates;
  for (std::size_t i = 0; i < spec.scheduling_gates.size(); ++i) {
    const String& name = spec.scheduling_gates[i].name;
    const std::string at = Index(Child(path, "schedulingGates"), i);
    AddProblems(errors, at, name, QualifiedNameProblems(name));
    if (!gates.insert(name.str()).second) errors.push_back(DuplicateValue(at, name));
  }
  CheckSpread(errors, Child(path, "topologySpreadConstraints"), spec.topology_spread_constraints);
  auto check_name = [&](const char* field, const String& name) {
    if (!name.empty()) AddProblems(errors, Child(path, field), name, DnsSubdomainProblems(name));
  };
  auto check_label = [&](const char* field, const String& name) {
    if (!name.empty()) AddProblems(errors, Child(path, field), name, DnsLabelProblems(name));
  };
  check_name("serviceAccountName", spec.service_account_name);
  check_name("nodeName", spec.node_name);
  if (spec.active_deadline_seconds.has_value() && (*spec.active_deadline_seconds < 1 || *spec.active_deadline_seconds > kMaxInt32)) {
    errors.push_back(
        InvalidValue(Child(path, "activeDeadlineSeconds"), *spec.active_deadline_seconds, "must be between 1 and 2147483647, inclusive"));
  }
  check_label("hostname", spec.hostname);
  check_label("subdomain", spec.subdomain);
  CheckTolerations(errors, Child(path, "tolerations"), spec.tolerations);
  for (std::size_t i = 0; i < spec.host_aliases.size(); ++i) {
    const HostAlias& alias = spec.host_aliases[i];
    const std::string at = Index(Child(path, "hostAliases"), i);
    if (!IsIpv4(alias.ip) && !IsIpv6(alias.ip)) {
      errors.push_back(InvalidValue(Child(at, "ip"), alias.ip, "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"));
    }
    for (std::size_t j = 0; j < alias.hostnames.size(); ++j) {
      AddProblems(errors, Index(Child(at, "hostnames"), j), alias.hostnames[j], DnsSubdomainProblems(alias.hostnames[j]));
    }
  }
  check_name("priorityClassName", spec.priority_class_name);
  if (spec.runtime_class_name.has_value()) {
    AddProblems(errors, Child(path, "runtimeClassName"), *spec.runtime_class_name, DnsSubdomainProblems(*spec.runtime_class_name));
  }
  if (spec.preemption_policy.has_value()) {
    CheckEnum(errors, Child(path, "preemptionPolicy"), *spec.preemption_policy, {"PreemptLowerPriority", "Never"});
  }
}

void CheckPodTemplate(Errors& errors, const std::string& path, const PodTemplateSpec& spec) {
  CheckLabels(errors, Child(path, "labels"), spec.metadata.labels);
  for (const auto& [key, value] : spec.metadata.annotations) {
    std::string lower = key.str();
    std::transform(lower.begin(), lower.end(), lower.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
    AddProblems(errors, Child(path, "annotations"), key, QualifiedNameProblems(lower));
  }
  CheckPodSpec(errors, Child(path, "spec"), spec.spec, {});
  if (!spec.spec.ephemeral_containers.empty()) {
    errors.push_back(ForbiddenField(Child(path, "spec.ephemeralContainers"), "ephemeral containers not allowed in pod template"));
  }
}

void CheckSelectorMatchesTemplate(Errors& errors, const std::string& path, const meta::v1::LabelSelector& selector,
                                  const Map<String>& labels) {
  Result<Selector> parsed = Selector::FromLabelSelector(selector);
  if (parsed && !parsed->Matches(labels)) {
    Value shown = Value::Object();
    for (const auto& [key, value] : labels) shown[key.view()] = value;
    errors.push_back(InvalidValue(path, labels.empty() ? Value() : shown, "`selector` does not match template `labels`"));
  }
}

void ValidateKind(const Pod& pod, const Pod* old, Errors& errors) {
  CheckPodSpec(errors, "spec", pod.spec, {.is_pod = true});
  if (pod.spec.service_account_name.empty()) {
    for (std::size_t i = 0; i < pod.spec.volumes.size(); ++i) {
      const auto& sources = pod.spec.volumes[i].projected->sources;
      for (std::size_t j = 0; j < sources.size(); ++j) {
        if (!sources[j].service_account_token.has_value()) continue;
        errors.push_back(ForbiddenField(Child(Index(Child(Index("spec.volumes", i), "projected.sources"), j), "serviceAccountToken"),
                                        "must not be specified when serviceAccountName is not set"));
      }
    }
  }
  CheckImageBlanks(errors, "spec.containers", pod.spec.containers);
  CheckImageBlanks(errors, "spec.initContainers", pod.spec.init_containers);
  if (old != nullptr) {
    CheckSpecUpdate(errors, pod.spec, old->spec);
    return;
  }
  if (!pod.spec.ephemeral_containers.empty()) errors.push_back(ForbiddenField("spec.ephemeralContainers", "cannot be set on create"));
  if (!pod.spec.node_name.empty() && !pod.spec.scheduling_gates.empty()) {
    errors.push_back(ForbiddenField("spec.nodeName", "cannot be set until all schedulingGates have been cleared"));
  }
}

void ValidatePodStatus(const Pod& pod, const Pod& old, Errors& errors) {
  CheckImmutable(errors, "status.qosClass", pod.status.qos_class, pod.status.qos_class == old.status.qos_class);
  if (!(pod.status.nominated_node_name == old.status.nominated_node_name) && !pod.status.nominated_node_name.empty()) {
    AddProblems(errors, "status.nominatedNodeName", pod.status.nominated_node_name, DnsSubdomainProblems(pod.status.nominated_node_name));
  }
  for (std::size_t i = 0; i < pod.status.pod_ips.size(); ++i) {
    const String& ip = pod.status.pod_ips[i].ip;
    if (!IsIpv4(ip) && !IsIpv6(ip)) {
      errors.push_back(InvalidValue(Index("status.podIPs", i), ip, "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"));
    }
  }
}

void ValidateEphemeralContainers(const Pod& pod, const Pod& old, Errors& errors) {
  CheckPodSpec(errors, "spec", pod.spec, {.is_pod = true});
  for (const EphemeralContainer& before : old.spec.ephemeral_containers) {
    const auto& now = pod.spec.ephemeral_containers;
    auto found = std::find_if(now.begin(), now.end(), [&](const EphemeralContainer& c) { return c.name == before.name; });
    const std::string quoted = "existing ephemeral containers \"" + before.name.str() + "\" may not be ";
    if (found == now.end()) {
      errors.push_back(ForbiddenField("spec.ephemeralContainers", quoted + "removed\n"));
    } else if (!(*found == before)) {
      errors.push_back(ForbiddenField("spec.ephemeralContainers", quoted + "changed\n" + ToString(Diff(before, *found))));
    }
  }
}

}  // namespace kube::apiserver::builtin
