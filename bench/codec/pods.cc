#include "pods.h"

#include <fmt/format.h>

#include <algorithm>

namespace kube::bench {
namespace {

using namespace core::v1;

Container MakeContainer(const std::string& app, int d, const char* name) {
  Container c;
  c.name = name;
  c.image = fmt::format("registry.example.com/team-{:02}/{}-{}:v1.{}.0@sha256:{:064x}", d % 20, app, name, d % 50, d);
  c.args = {"--port=8080", "--log-level=info", String("--config=/etc/" + app + "/config.yaml")};
  c.ports = {ContainerPort{.name = "http", .container_port = 8080, .protocol = "TCP"},
             ContainerPort{.name = "metrics", .container_port = 9090, .protocol = "TCP"}};
  EnvVar pod_name{.name = "POD_NAME"};
  pod_name.value_from.Mutable().field_ref = ObjectFieldSelector{.api_version = "v1", .field_path = "metadata.name"};
  EnvVar database{.name = "DATABASE_URL"};
  database.value_from.Mutable().secret_key_ref = SecretKeySelector{.name = String(app + "-db"), .key = "url"};
  c.env = {pod_name, database, EnvVar{.name = "REGION", .value = "eu-west-1"}, EnvVar{.name = "GOMAXPROCS", .value = "4"}};
  auto quantity = [](const char* text) { return Quantity::Parse(text).value(); };
  c.resources.requests = {{"cpu", quantity("250m")}, {"memory", quantity("512Mi")}};
  c.resources.limits = {{"cpu", quantity("1")}, {"memory", quantity("1Gi")}};
  c.volume_mounts = {
      VolumeMount{.name = "config", .read_only = true, .mount_path = String("/etc/" + app)},
      VolumeMount{.name = "kube-api-access-x", .read_only = true, .mount_path = "/var/run/secrets/kubernetes.io/serviceaccount"}};
  auto probe = [](const char* path, int period) {
    Probe p;
    p.http_get = HTTPGetAction{.path = path, .port = "http", .scheme = "HTTP"};
    p.timeout_seconds = 1;
    p.period_seconds = period;
    p.success_threshold = 1;
    p.failure_threshold = 3;
    return p;
  };
  c.liveness_probe = probe("/healthz", 10);
  c.readiness_probe = probe("/readyz", 5);
  SecurityContext& security = c.security_context.Mutable();
  security.run_as_non_root = true;
  security.allow_privilege_escalation = false;
  security.read_only_root_filesystem = true;
  c.image_pull_policy = "IfNotPresent";
  c.termination_message_path = "/dev/termination-log";
  c.termination_message_policy = "File";
  return c;
}

// What a server notes for the manager that created the pod: one entry per field. The text is the same for all pods of a Deployment.
std::string OwnedSpec(const std::string& owner_uid) {
  auto container = [](const char* name) {
    return fmt::format(
        R"("k:{{\"name\":\"{}\"}}":{{".":{{}},"f:args":{{}},"f:env":{{".":{{}},"k:{{\"name\":\"DATABASE_URL\"}}":{{".":{{}},"f:name":{{}},"f:valueFrom":{{".":{{}},"f:secretKeyRef":{{}}}}}},"k:{{\"name\":\"GOMAXPROCS\"}}":{{".":{{}},"f:name":{{}},"f:value":{{}}}},"k:{{\"name\":\"POD_NAME\"}}":{{".":{{}},"f:name":{{}},"f:valueFrom":{{".":{{}},"f:fieldRef":{{}}}}}},"k:{{\"name\":\"REGION\"}}":{{".":{{}},"f:name":{{}},"f:value":{{}}}}}},"f:image":{{}},"f:imagePullPolicy":{{}},"f:livenessProbe":{{".":{{}},"f:failureThreshold":{{}},"f:httpGet":{{".":{{}},"f:path":{{}},"f:port":{{}},"f:scheme":{{}}}},"f:periodSeconds":{{}},"f:successThreshold":{{}},"f:timeoutSeconds":{{}}}},"f:name":{{}},"f:ports":{{".":{{}},"k:{{\"containerPort\":8080,\"protocol\":\"TCP\"}}":{{".":{{}},"f:containerPort":{{}},"f:name":{{}},"f:protocol":{{}}}},"k:{{\"containerPort\":9090,\"protocol\":\"TCP\"}}":{{".":{{}},"f:containerPort":{{}},"f:name":{{}},"f:protocol":{{}}}}}},"f:readinessProbe":{{".":{{}},"f:failureThreshold":{{}},"f:httpGet":{{".":{{}},"f:path":{{}},"f:port":{{}},"f:scheme":{{}}}},"f:periodSeconds":{{}},"f:successThreshold":{{}},"f:timeoutSeconds":{{}}}},"f:resources":{{".":{{}},"f:limits":{{".":{{}},"f:cpu":{{}},"f:memory":{{}}}},"f:requests":{{".":{{}},"f:cpu":{{}},"f:memory":{{}}}}}},"f:securityContext":{{".":{{}},"f:allowPrivilegeEscalation":{{}},"f:readOnlyRootFilesystem":{{}},"f:runAsNonRoot":{{}}}},"f:terminationMessagePath":{{}},"f:terminationMessagePolicy":{{}},"f:volumeMounts":{{".":{{}},"k:{{\"mountPath\":\"/var/run/secrets/kubernetes.io/serviceaccount\"}}":{{".":{{}},"f:mountPath":{{}},"f:name":{{}},"f:readOnly":{{}}}}}}}})",
        name);
  };
  return fmt::format(
      R"({{"f:metadata":{{"f:annotations":{{".":{{}},"f:checksum/config":{{}},"f:cni.projectcalico.org/podIP":{{}},"f:prometheus.io/port":{{}},"f:prometheus.io/scrape":{{}}}},"f:labels":{{".":{{}},"f:app.kubernetes.io/instance":{{}},"f:app.kubernetes.io/managed-by":{{}},"f:app.kubernetes.io/name":{{}},"f:pod-template-hash":{{}},"f:tier":{{}}}},"f:ownerReferences":{{".":{{}},"k:{{\"uid\":\"{}\"}}":{{}}}}}},"f:spec":{{"f:containers":{{{},{}}},"f:dnsPolicy":{{}},"f:enableServiceLinks":{{}},"f:nodeName":{{}},"f:restartPolicy":{{}},"f:schedulerName":{{}},"f:securityContext":{{".":{{}},"f:fsGroup":{{}},"f:runAsUser":{{}}}},"f:serviceAccount":{{}},"f:serviceAccountName":{{}},"f:terminationGracePeriodSeconds":{{}},"f:tolerations":{{}},"f:volumes":{{".":{{}},"k:{{\"name\":\"config\"}}":{{".":{{}},"f:configMap":{{".":{{}},"f:defaultMode":{{}},"f:name":{{}}}},"f:name":{{}}}},"k:{{\"name\":\"kube-api-access-x\"}}":{{".":{{}},"f:emptyDir":{{}},"f:name":{{}}}}}}}}}})",
      owner_uid, container("main"), container("proxy"));
}

std::string OwnedStatus() {
  std::string conditions;
  for (const char* type : {"ContainersReady", "Initialized", "PodScheduled", "Ready"}) {
    conditions += fmt::format(
        R"(,"k:{{\"type\":\"{}\"}}":{{".":{{}},"f:lastProbeTime":{{}},"f:lastTransitionTime":{{}},"f:status":{{}},"f:type":{{}}}})", type);
  }
  return R"({"f:status":{"f:conditions":{".":{})" + conditions +
         R"(},"f:containerStatuses":{},"f:hostIP":{},"f:phase":{},"f:podIP":{},"f:podIPs":{".":{},"k:{\"ip\":\"10.0.0.1\"}":{".":{},"f:ip":{}}},"f:startTime":{}}})";
}

void AddStatus(Pod& pod, int i) {
  Time t = Time::FromUnix(1700000000 + i);
  PodStatus& status = pod.status;
  status.phase = "Running";
  status.host_ip = "10.0.0.1";
  status.pod_ip = fmt::format("10.{}.{}.{}", i >> 16 & 255, i >> 8 & 255, i & 255);
  status.pod_ips = {PodIP{.ip = status.pod_ip}};
  status.start_time = t;
  status.qos_class = "Burstable";
  for (const char* type : {"Initialized", "Ready", "ContainersReady", "PodScheduled"}) {
    status.conditions.push_back(PodCondition{.type = type, .status = "True", .last_transition_time = t});
  }
  for (const Container& c : std::as_const(pod.spec.containers)) {
    ContainerStatus s;
    s.name = c.name;
    s.image = c.image;
    s.image_id = c.image;
    s.container_id = fmt::format("containerd://{:064x}", i);
    s.ready = true;
    s.started = true;
    s.state.running.Mutable().started_at = t;
    status.container_statuses.push_back(s);
  }
}

}  // namespace

Pod MakePod(int i, int deployments, bool managed_fields) {
  int d = i % deployments;
  std::string app = fmt::format("app-{:04}", d);
  std::string owner_uid = fmt::format("00000000-0000-4000-8000-{:012x}", d);
  Pod pod;
  auto& meta = pod.metadata;
  meta.name = fmt::format("{}-7cddf8cbf4-{:05}", app, i);
  meta.namespace_ = fmt::format("team-{:02}", d % 20);
  meta.uid = fmt::format("{:08x}-77aa-4bcd-9e0f-{:012x}", static_cast<unsigned>(i) * 2654435761U, i);
  meta.resource_version = std::to_string(100000 + 2 * i);
  meta.generation = 1;
  meta.creation_timestamp = Time::FromUnix(1700000000 + i);
  meta.labels = {{"app.kubernetes.io/name", String(app)},
                 {"app.kubernetes.io/instance", String(app)},
                 {"app.kubernetes.io/managed-by", "helm"},
                 {"pod-template-hash", "7cddf8cbf4"},
                 {"tier", "backend"}};
  meta.annotations = {{"prometheus.io/scrape", "true"},
                      {"prometheus.io/port", "9090"},
                      {"checksum/config", String(fmt::format("{:064x}", d))},
                      {"cni.projectcalico.org/podIP", String(fmt::format("10.{}.{}.{}/32", i >> 16 & 255, i >> 8 & 255, i & 255))}};
  meta::v1::OwnerReference owner{
      .api_version = "apps/v1", .kind = "ReplicaSet", .name = String(app + "-7cddf8cbf4"), .uid = String(owner_uid)};
  owner.controller = true;
  owner.block_owner_deletion = true;
  meta.owner_references = {owner};
  if (managed_fields) {
    auto entry = [&](std::string fields) {
      meta::v1::ManagedFieldsEntry e;
      e.manager = "kube-controller-manager";
      e.operation = "Update";
      e.api_version = "v1";
      e.time = meta.creation_timestamp;
      e.fields_type = "FieldsV1";
      e.fields_v1 = String(fields);
      return e;
    };
    auto status = entry(OwnedStatus());
    status.manager = "kubelet";
    status.subresource = "status";
    meta.managed_fields = {entry(OwnedSpec(owner_uid)), status};
  }
  PodSpec& spec = pod.spec;
  spec.containers = {MakeContainer(app, d, "main"), MakeContainer(app, d, "proxy")};
  spec.restart_policy = "Always";
  spec.termination_grace_period_seconds = 30;
  spec.dns_policy = "ClusterFirst";
  spec.service_account_name = "default";
  spec.service_account = "default";
  spec.node_name = fmt::format("node-{:04}", i % 500);
  spec.security_context.Mutable().run_as_user = 1000;
  spec.security_context.Mutable().fs_group = 1000;
  spec.scheduler_name = "default-scheduler";
  auto toleration = [](const char* key) {
    Toleration t{.key = key, .operator_ = "Exists", .effect = "NoExecute"};
    t.toleration_seconds = 30;
    return t;
  };
  spec.tolerations = {toleration("node.kubernetes.io/not-ready"), toleration("node.kubernetes.io/unreachable")};
  Volume config{.name = "config"};
  config.config_map.Mutable().name = app + "-config";
  config.config_map.Mutable().default_mode = 420;
  Volume access{.name = "kube-api-access-x"};
  access.empty_dir.Mutable();
  spec.volumes = {config, access};
  spec.priority = 0;
  spec.enable_service_links = true;
  spec.preemption_policy = "PreemptLowerPriority";
  AddStatus(pod, i);
  return pod;
}

PodList MakePods(int count, bool managed_fields) {
  std::vector<Pod> pods;
  int deployments = (count + 49) / 50;
  for (int i = 0; i < count; ++i) pods.push_back(MakePod(i, deployments, managed_fields));
  std::sort(pods.begin(), pods.end(), [](const Pod& a, const Pod& b) {
    return std::pair(a.metadata.namespace_, a.metadata.name) < std::pair(b.metadata.namespace_, b.metadata.name);
  });
  PodList list;
  list.metadata.resource_version = "200000";
  list.items.reserve(pods.size());
  for (Pod& pod : pods) list.items.push_back(std::move(pod));
  return list;
}

}  // namespace kube::bench
