#include "apiserver/builtin/admission.h"

#include <algorithm>

#include "apiserver/errors.h"
#include "kube/api/core/v1.h"
#include "kube/api/networking/v1.h"
#include "kube/api/scheduling/v1.h"
#include "kube/api/storage/v1.h"

namespace kube::apiserver {
namespace {

using namespace core::v1;

std::vector<Value> ListOf(const AdmissionContext& context, std::string_view group, std::string_view resource, std::string_view ns = {}) {
  return context.list ? context.list(group, resource, ns) : std::vector<Value>();
}

const String& NameOf(const Value& object) { return object["metadata"]["name"].string_value(); }

// ---- Priority ----

struct PriorityClassInfo {
  String name;
  std::int64_t value = 0;
  String policy = "PreemptLowerPriority";
};

PriorityClassInfo ReadPriorityClass(const Value& object) {
  PriorityClassInfo info{NameOf(object), object["value"].int_value()};
  if (const Value& policy = object["preemptionPolicy"]; policy.is_string()) info.policy = policy.string_value();
  return info;
}

Result<PriorityClassInfo> PriorityOf(const Pod& pod, const AdmissionContext& context) {
  const String& wanted = pod.spec.priority_class_name;
  // These two exist in every cluster, also in one without any configuration.
  PriorityClassInfo found;
  bool known = true;
  if (wanted == "system-node-critical") {
    found = {wanted, 2000001000};
  } else if (wanted == "system-cluster-critical") {
    found = {wanted, 2000000000};
  } else {
    known = wanted.empty();
  }
  bool has_default = false;
  for (const Value& c : ListOf(context, "scheduling.k8s.io", "priorityclasses")) {
    if (wanted.empty()) {
      if (!c["globalDefault"].bool_value() || (has_default && c["value"].int_value() >= found.value)) continue;
      has_default = true;
    } else if (!(NameOf(c) == wanted)) {
      continue;
    }
    found = ReadPriorityClass(c);
    known = true;
  }
  if (!known) return Forbidden("", "pods", pod.metadata.name, "no PriorityClass with name " + wanted.str() + " was found");
  return found;
}

Result<void> AdmitPriority(Pod& pod, const AdmissionContext& context) {
  auto found = PriorityOf(pod, context);
  if (!found) return found.error();
  pod.spec.priority_class_name = found->name;
  if (pod.spec.priority.has_value() && *pod.spec.priority != found->value) {
    return Forbidden("", "pods", pod.metadata.name,
                     "the integer value of priority (" + std::to_string(*pod.spec.priority) +
                         ") must not be provided in pod spec; priority admission controller computed " + std::to_string(found->value) +
                         " from the given PriorityClass name");
  }
  pod.spec.priority = static_cast<std::int32_t>(found->value);
  if (pod.spec.preemption_policy.has_value() && !(*pod.spec.preemption_policy == found->policy)) {
    return Forbidden("", "pods", pod.metadata.name,
                     "the string value of PreemptionPolicy (" + pod.spec.preemption_policy->str() +
                         ") must not be provided in pod spec; priority admission controller computed " + found->policy.str() +
                         " from the given PriorityClass name");
  }
  pod.spec.preemption_policy = found->policy;
  return {};
}

// ---- DefaultTolerationSeconds ----

void TolerateForAWhile(Pod& pod) {
  for (const char* taint : {"node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"}) {
    bool tolerated = false;
    for (const Toleration& t : std::as_const(pod.spec.tolerations)) {
      if ((t.key == taint || t.key.empty()) && (t.effect == "NoExecute" || t.effect.empty())) tolerated = true;
    }
    if (tolerated) continue;
    Toleration t;
    t.key = taint;
    t.operator_ = "Exists";
    t.effect = "NoExecute";
    t.toleration_seconds = 300;
    pod.spec.tolerations.push_back(t);
  }
}

// ---- ServiceAccount ----

constexpr const char* kTokenPath = "/var/run/secrets/kubernetes.io/serviceaccount";
constexpr std::string_view kTokenVolume = "kube-api-access-";

Volume TokenVolume(const String& name) {
  Volume volume;
  volume.name = name;
  ProjectedVolumeSource& projected = volume.projected.Mutable();
  projected.default_mode = 0644;
  VolumeProjection token, ca, ns;
  token.service_account_token.Mutable().path = "token";
  token.service_account_token.Mutable().expiration_seconds = 3607;  // an hour, and seven seconds that mark it as automatic
  ca.config_map.Mutable().name = "kube-root-ca.crt";
  ca.config_map.Mutable().items.push_back(KeyToPath{.key = "ca.crt", .path = "ca.crt"});
  DownwardAPIVolumeFile file;
  file.path = "namespace";
  file.field_ref.Mutable().api_version = "v1";
  file.field_ref.Mutable().field_path = "metadata.namespace";
  ns.downward_api.Mutable().items.push_back(file);
  projected.sources = {token, ca, ns};
  return volume;
}

void MountToken(Pod& pod, const AdmissionContext& context) {
  String name;
  for (const Volume& v : std::as_const(pod.spec.volumes)) {
    if (name.empty() && v.name.view().starts_with(kTokenVolume)) name = v.name;
  }
  bool has_volume = !name.empty(), is_used = false;
  if (!has_volume) name = String(std::string(kTokenVolume) + (context.name_suffix ? context.name_suffix() : "xxxxx"));
  for (List<Container>* containers : {&pod.spec.init_containers, &pod.spec.containers}) {
    for (Container& c : *containers) {
      const List<VolumeMount>& mounts = c.volume_mounts;
      if (std::any_of(mounts.begin(), mounts.end(), [](const VolumeMount& m) { return m.mount_path == kTokenPath; })) continue;
      VolumeMount mount;
      mount.name = name;
      mount.mount_path = kTokenPath;
      mount.read_only = true;
      c.volume_mounts.push_back(mount);
      is_used = true;
    }
  }
  if (!has_volume && is_used) pod.spec.volumes.push_back(TokenVolume(name));
}

Result<void> AdmitServiceAccount(Pod& pod, const AdmissionContext& context) {
  if (pod.metadata.annotations.contains("kubernetes.io/config.mirror")) return {};
  if (pod.spec.service_account_name.empty()) pod.spec.service_account_name = "default";
  pod.spec.service_account = pod.spec.service_account_name;
  std::vector<Value> accounts = ListOf(context, "", "serviceaccounts", pod.metadata.namespace_);
  auto account = std::find_if(accounts.begin(), accounts.end(), [&](const Value& a) { return NameOf(a) == pod.spec.service_account_name; });
  if (account == accounts.end()) {
    return Forbidden("", "pods", pod.metadata.name,
                     "error looking up service account " + pod.metadata.namespace_.str() + "/" + pod.spec.service_account_name.str() +
                         ": serviceaccount \"" + pod.spec.service_account_name.str() + "\" not found");
  }
  const Value& automount = std::as_const(*account)["automountServiceAccountToken"];
  bool wanted = pod.spec.automount_service_account_token.value_or(automount.is_bool() ? automount.bool_value() : true);
  if (wanted) MountToken(pod, context);
  if (pod.spec.image_pull_secrets.empty()) {
    for (const Value& secret : std::as_const(*account)["imagePullSecrets"].list()) {
      pod.spec.image_pull_secrets.push_back(LocalObjectReference{.name = secret["name"].string_value()});
    }
  }
  return {};
}

// ---- Default classes ----

// The newest of the classes that are marked as default; by name if they are equally old.
String DefaultClass(const std::vector<Value>& classes, std::initializer_list<const char*> marks) {
  const Value* best = nullptr;
  for (const Value& c : classes) {
    const Value& annotations = c["metadata"]["annotations"];
    if (std::none_of(marks.begin(), marks.end(), [&](const char* m) { return annotations[m].string_value() == "true"; })) continue;
    if (best != nullptr) {
      const String& mine = c["metadata"]["creationTimestamp"].string_value();
      const String& other = (*best)["metadata"]["creationTimestamp"].string_value();
      if (mine < other || (mine == other && NameOf(*best) < NameOf(c))) continue;
    }
    best = &c;
  }
  return best == nullptr ? String() : NameOf(*best);
}

void AdmitClaim(PersistentVolumeClaim& claim, const AdmissionContext& context) {
  if (claim.spec.storage_class_name.has_value() || claim.metadata.annotations.contains("volume.beta.kubernetes.io/storage-class")) return;
  String found = DefaultClass(ListOf(context, "storage.k8s.io", "storageclasses"),
                              {"storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class"});
  if (!found.empty()) claim.spec.storage_class_name = found;
}

void AdmitIngress(networking::v1::Ingress& ingress, const AdmissionContext& context) {
  if (ingress.spec.ingress_class_name.has_value() || ingress.metadata.annotations.contains("kubernetes.io/ingress.class")) return;
  String found = DefaultClass(ListOf(context, "networking.k8s.io", "ingressclasses"), {"ingressclass.kubernetes.io/is-default-class"});
  if (!found.empty()) ingress.spec.ingress_class_name = found;
}

void AddFinalizer(meta::v1::ObjectMeta& metadata, const char* finalizer) {
  for (const String& f : std::as_const(metadata.finalizers)) {
    if (f == finalizer) return;
  }
  metadata.finalizers.push_back(finalizer);
}

void TaintNewNode(Node& node) {
  for (const Taint& t : std::as_const(node.spec.taints)) {
    if (t.key == "node.kubernetes.io/not-ready" && t.effect == "NoSchedule") return;
  }
  Taint taint;
  taint.key = "node.kubernetes.io/not-ready";
  taint.effect = "NoSchedule";
  node.spec.taints.push_back(taint);
}

Result<void> AdmitPriorityClass(const scheduling::v1::PriorityClass& c, bool creating, const AdmissionContext& context) {
  if (!c.global_default) return {};
  for (const Value& other : ListOf(context, "scheduling.k8s.io", "priorityclasses")) {
    if (!other["globalDefault"].bool_value() || (!creating && NameOf(other) == c.metadata.name)) continue;
    return Forbidden("scheduling.k8s.io", "priorityclasses", c.metadata.name,
                     "PriorityClass " + NameOf(other).str() + " is already marked as default. Only one default can exist");
  }
  return {};
}

Result<void> AdmitPod(Pod& pod, const Pod* old, const AdmissionContext& context) {
  if (old != nullptr) {
    if (!pod.spec.priority.has_value()) pod.spec.priority = old->spec.priority;
    if (!pod.spec.preemption_policy.has_value()) pod.spec.preemption_policy = old->spec.preemption_policy;
    TolerateForAWhile(pod);
    return {};
  }
  if (context.service_accounts) {
    if (auto admitted = AdmitServiceAccount(pod, context); !admitted) return admitted;
  }
  if (auto admitted = AdmitPriority(pod, context); !admitted) return admitted;
  TolerateForAWhile(pod);
  return {};
}

}  // namespace

Result<void> Admit(const TypeInfo& type, void* object, const void* old, const AdmissionContext& context) {
  if (&type == &Pod::kType) return AdmitPod(*static_cast<Pod*>(object), static_cast<const Pod*>(old), context);
  if (&type == &scheduling::v1::PriorityClass::kType) {
    return AdmitPriorityClass(*static_cast<scheduling::v1::PriorityClass*>(object), old == nullptr, context);
  }
  if (old != nullptr) return {};
  if (&type == &PersistentVolumeClaim::kType) {
    auto& claim = *static_cast<PersistentVolumeClaim*>(object);
    AdmitClaim(claim, context);
    AddFinalizer(claim.metadata, "kubernetes.io/pvc-protection");
  } else if (&type == &PersistentVolume::kType) {
    AddFinalizer(static_cast<PersistentVolume*>(object)->metadata, "kubernetes.io/pv-protection");
  } else if (&type == &storage::v1::VolumeAttributesClass::kType) {
    AddFinalizer(static_cast<storage::v1::VolumeAttributesClass*>(object)->metadata, "kubernetes.io/vac-protection");
  } else if (&type == &networking::v1::Ingress::kType) {
    AdmitIngress(*static_cast<networking::v1::Ingress*>(object), context);
  } else if (&type == &Node::kType) {
    TaintNewNode(*static_cast<Node*>(object));
  }
  return {};
}

}  // namespace kube::apiserver
