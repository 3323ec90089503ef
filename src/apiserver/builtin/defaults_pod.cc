#include <algorithm>
#include <string>

#include "apiserver/builtin/defaults_table.h"
#include "apiserver/builtin/image_reference.h"
#include "kube/api/core/v1.h"

namespace kube::apiserver::builtin {
namespace {

using namespace core::v1;

String PullPolicyFor(std::string_view image) { return ImageTag(image) == "latest" ? "Always" : "IfNotPresent"; }

template <typename C>
void DefaultContainer(C& c) {
  if (c.image_pull_policy.empty()) c.image_pull_policy = PullPolicyFor(c.image);
  Default(c.termination_message_path, "/dev/termination-log");
  Default(c.termination_message_policy, "File");
}

void DefaultPort(ContainerPort& p) { Default(p.protocol, "TCP"); }

void DefaultProbe(Probe& p) {
  Default(p.timeout_seconds, 1);
  Default(p.period_seconds, 10);
  Default(p.success_threshold, 1);
  Default(p.failure_threshold, 3);
}

void DefaultHttpGet(HTTPGetAction& a) {
  Default(a.path, "/");
  Default(a.scheme, "HTTP");
}

void DefaultGrpc(GRPCAction& a) { Default(a.service, String("")); }
void DefaultFieldRef(ObjectFieldSelector& s) { Default(s.api_version, "v1"); }
void DefaultFileKey(FileKeySelector& s) { Default(s.optional, false); }

// Resource amounts have no finer unit than a thousandth.
void RoundUp(Map<Quantity>& amounts) {
  for (std::size_t i = 0; i < amounts.size(); ++i) {
    const auto& entry = amounts.begin()[i];
    if (entry.value == Quantity::FromMilli(entry.value.MilliValue())) continue;
    // Amounts beyond what fits in an int64 of thousandths have no fraction that matters.
    String key = entry.key;
    Quantity rounded = Quantity::FromMilli(entry.value.MilliValue(), entry.value.format());
    if (rounded > entry.value) amounts.Set(key, std::move(rounded));
  }
}

void DefaultResources(ResourceRequirements& r) {
  RoundUp(r.limits);
  RoundUp(r.requests);
}

void DefaultVolumeResources(VolumeResourceRequirements& r) {
  RoundUp(r.limits);
  RoundUp(r.requests);
}

bool HasNoSource(const Volume& v) {
  Volume only_name;
  only_name.name = v.name;
  only_name.unknown_fields = v.unknown_fields;
  return v == only_name;
}

void DefaultVolume(Volume& v) {
  if (HasNoSource(v)) v.empty_dir.Mutable();
}

void DefaultImageVolume(ImageVolumeSource& v) {
  if (v.pull_policy.empty()) v.pull_policy = PullPolicyFor(v.reference);
}

constexpr std::int32_t kFileMode = 0644;
void DefaultHostPath(HostPathVolumeSource& v) { Default(v.type, String("")); }
void DefaultSecretVolume(SecretVolumeSource& v) { Default(v.default_mode, kFileMode); }
void DefaultConfigMapVolume(ConfigMapVolumeSource& v) { Default(v.default_mode, kFileMode); }
void DefaultDownwardApi(DownwardAPIVolumeSource& v) { Default(v.default_mode, kFileMode); }
void DefaultProjected(ProjectedVolumeSource& v) { Default(v.default_mode, kFileMode); }
void DefaultToken(ServiceAccountTokenProjection& v) { Default(v.expiration_seconds, std::int64_t{3600}); }

template <typename V>
void DefaultIscsi(V& v) {
  Default(v.iscsi_interface, "default");
}

template <typename V>
void DefaultRbd(V& v) {
  Default(v.pool, "rbd");
  Default(v.user, "admin");
  Default(v.keyring, "/etc/ceph/keyring");
}

template <typename V>
void DefaultScaleIo(V& v) {
  Default(v.storage_mode, "ThinProvisioned");
  Default(v.fs_type, "xfs");
}

void DefaultAzureDisk(AzureDiskVolumeSource& v) {
  Default(v.caching_mode, String("ReadWrite"));
  Default(v.fs_type, String("ext4"));
  Default(v.read_only, false);
  Default(v.kind, String("Shared"));
}

// The old name of a field follows the new one.
void FollowServiceAccount(PodSpec& spec) {
  if (spec.service_account_name.empty()) spec.service_account_name = spec.service_account;
  spec.service_account = spec.service_account_name;
}

void DefaultPodSpec(PodSpec& spec) {
  Default(spec.dns_policy, "ClusterFirst");
  Default(spec.restart_policy, "Always");
  if (!spec.security_context.has_value()) spec.security_context.Mutable();
  Default(spec.termination_grace_period_seconds, std::int64_t{30});
  Default(spec.scheduler_name, "default-scheduler");
  FollowServiceAccount(spec);
  RoundUp(spec.overhead);
}

void RequestsFromLimits(List<Container>& containers) {
  for (Container& c : containers) {
    for (const auto& [name, amount] : std::as_const(c.resources.limits)) {
      if (!c.resources.requests.contains(name)) c.resources.requests.Set(name, amount);
    }
  }
}

bool IsHugePages(std::string_view resource) { return resource.starts_with("hugepages-"); }
bool IsPodLevelResource(std::string_view resource) { return resource == "cpu" || resource == "memory" || IsHugePages(resource); }

Map<Quantity> SumOver(const PodSpec& spec, bool limits) {
  auto amounts = [limits](const Container& c) -> const Map<Quantity>& { return limits ? c.resources.limits : c.resources.requests; };
  auto add = [](Map<Quantity>& sum, const Map<Quantity>& more) {
    for (const auto& [name, amount] : more) sum[name] += amount;
  };
  Map<Quantity> sum;
  for (const Container& c : spec.containers) add(sum, amounts(c));
  // Init containers run one after the other before the others; those that are restarted stay beside what follows.
  Map<Quantity> sidecars, largest;
  for (const Container& c : spec.init_containers) {
    Map<Quantity> here = amounts(c);
    add(here, sidecars);
    if (c.restart_policy == String("Always")) {
      add(sum, amounts(c));
      add(sidecars, amounts(c));
      here = sidecars;
    }
    for (const auto& [name, amount] : here) {
      if (amount > largest.Get(name)) largest.Set(name, amount);
    }
  }
  for (const auto& [name, amount] : largest) {
    if (!sum.contains(name) || amount > sum.Get(name)) sum.Set(name, amount);
  }
  return sum;
}

void DefaultPodLevelResources(PodSpec& spec) {
  if (!spec.resources.has_value() || (spec.resources->limits.empty() && spec.resources->requests.empty())) return;
  ResourceRequirements& r = spec.resources.Mutable();
  for (const auto& [name, amount] : SumOver(spec, true)) {
    if (IsHugePages(name) && !r.requests.contains(name) && !r.limits.contains(name)) r.limits.Set(name, amount);
  }
  if (r.limits.empty()) return;
  for (const auto& [name, amount] : SumOver(spec, false)) {
    if (IsPodLevelResource(name) && !IsHugePages(name) && !r.requests.contains(name)) r.requests.Set(name, amount);
  }
  for (const auto& [name, amount] : std::as_const(r.limits)) {
    if (IsPodLevelResource(name) && !r.requests.contains(name)) r.requests.Set(name, amount);
  }
}

// The singular field follows the first of the list; where both are given and differ, the singular one wins.
void FollowIps(PodStatus& s) {
  if (!s.pod_ip.empty() && (s.pod_ips.empty() || !(std::as_const(s.pod_ips)[0].ip == s.pod_ip))) s.pod_ips = {PodIP{.ip = s.pod_ip}};
  if (!s.pod_ips.empty()) s.pod_ip = std::as_const(s.pod_ips)[0].ip;
  RoundUp(s.allocated_resources);
}

void DefaultContainerStatus(ContainerStatus& s) { RoundUp(s.allocated_resources); }

// The host's network has no ports of its own.
void OpenHostPorts(List<Container>& containers) {
  for (Container& c : containers) {
    for (ContainerPort& p : c.ports) {
      if (p.host_port == 0) p.host_port = p.container_port;
    }
  }
}

void DefaultPod(Pod& pod) {
  RequestsFromLimits(pod.spec.containers);
  RequestsFromLimits(pod.spec.init_containers);
  DefaultPodLevelResources(pod.spec);
  Default(pod.spec.enable_service_links, true);
  if (pod.spec.host_network) {
    OpenHostPorts(pod.spec.containers);
    OpenHostPorts(pod.spec.init_containers);
  }
  if (pod.spec.termination_grace_period_seconds.value_or(0) < 0) pod.spec.termination_grace_period_seconds = 1;
}

}  // namespace

void AddPodDefaults(DefaultsTable& t) {
  t.Add<Pod, DefaultPod>();
  t.Add<PodSpec, DefaultPodSpec>();
  t.Add<PodStatus, FollowIps>();
  t.Add<ContainerStatus, DefaultContainerStatus>();
  t.Add<Container, DefaultContainer<Container>>();
  t.Add<EphemeralContainer, DefaultContainer<EphemeralContainer>>();
  t.Add<ContainerPort, DefaultPort>();
  t.Add<Probe, DefaultProbe>();
  t.Add<HTTPGetAction, DefaultHttpGet>();
  t.Add<GRPCAction, DefaultGrpc>();
  t.Add<ObjectFieldSelector, DefaultFieldRef>();
  t.Add<FileKeySelector, DefaultFileKey>();
  t.Add<ResourceRequirements, DefaultResources>();
  t.Add<VolumeResourceRequirements, DefaultVolumeResources>();
  t.Add<Volume, DefaultVolume>();
  t.Add<ImageVolumeSource, DefaultImageVolume>();
  t.Add<HostPathVolumeSource, DefaultHostPath>();
  t.Add<SecretVolumeSource, DefaultSecretVolume>();
  t.Add<ConfigMapVolumeSource, DefaultConfigMapVolume>();
  t.Add<DownwardAPIVolumeSource, DefaultDownwardApi>();
  t.Add<ProjectedVolumeSource, DefaultProjected>();
  t.Add<ServiceAccountTokenProjection, DefaultToken>();
  t.Add<ISCSIVolumeSource, DefaultIscsi<ISCSIVolumeSource>>();
  t.Add<ISCSIPersistentVolumeSource, DefaultIscsi<ISCSIPersistentVolumeSource>>();
  t.Add<RBDVolumeSource, DefaultRbd<RBDVolumeSource>>();
  t.Add<RBDPersistentVolumeSource, DefaultRbd<RBDPersistentVolumeSource>>();
  t.Add<ScaleIOVolumeSource, DefaultScaleIo<ScaleIOVolumeSource>>();
  t.Add<ScaleIOPersistentVolumeSource, DefaultScaleIo<ScaleIOPersistentVolumeSource>>();
  t.Add<AzureDiskVolumeSource, DefaultAzureDisk>();
}

}  // namespace kube::apiserver::builtin
