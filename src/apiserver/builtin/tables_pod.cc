#include "apiserver/builtin/tables_internal.h"

namespace kube::apiserver::builtin {
namespace {

using namespace core::v1;

bool IsTrue(const List<PodCondition>& conditions, std::string_view type) {
  for (const PodCondition& c : conditions) {
    if (c.type == type && c.status == "True") return true;
  }
  return false;
}

// The word in the STATUS column, how many containers are ready, how often they were restarted: found in one pass over the containers.
struct PodSummary {
  std::string reason;
  int ready = 0;
  std::size_t containers = 0;
  int restarts = 0;
  Time last_restart;
};

class PodReader {
 public:
  explicit PodReader(const Pod& pod) : pod_(pod) {}

  PodSummary Read() {
    s_.reason = pod_.status.phase.str();
    if (!pod_.status.reason.empty()) s_.reason = pod_.status.reason.str();
    for (const PodCondition& c : pod_.status.conditions) {
      if (c.type == "PodScheduled" && c.reason == "SchedulingGated") s_.reason = "SchedulingGated";
    }
    s_.containers = pod_.spec.containers.size();
    for (const Container& c : pod_.spec.init_containers) s_.containers += IsSidecar(c) ? 1 : 0;
    bool initializing = ReadInitContainers();
    if (!initializing || IsTrue(pod_.status.conditions, "Initialized")) {
      s_.restarts = sidecar_restarts_;
      s_.last_restart = sidecar_last_restart_;
      ReadContainers();
    }
    bool ended = pod_.status.phase == "Succeeded" || pod_.status.phase == "Failed";
    if (!pod_.metadata.deletion_timestamp.IsZero()) {
      if (pod_.status.reason == "NodeLost") {
        s_.reason = "Unknown";
      } else if (!ended) {
        s_.reason = "Terminating";
      }
    }
    return s_;
  }

 private:
  static bool IsSidecar(const Container& c) { return c.restart_policy.has_value() && *c.restart_policy == "Always"; }
  bool IsSidecar(const String& name) const {
    for (const Container& c : pod_.spec.init_containers) {
      if (c.name == name) return IsSidecar(c);
    }
    return false;
  }
  static void NoteRestart(const ContainerStatus& c, Time& last) {
    if (c.last_state.terminated.has_value() && last < c.last_state.terminated->finished_at) last = c.last_state.terminated->finished_at;
  }
  static std::string EndReason(const ContainerStateTerminated& end) {
    if (!end.reason.empty()) return end.reason.str();
    if (end.signal != 0) return "Signal:" + std::to_string(end.signal);
    return "ExitCode:" + std::to_string(end.exit_code);
  }

  // True while the pod is still busy with one of them, or stuck.
  bool ReadInitContainers() {
    for (std::size_t i = 0; i < pod_.status.init_container_statuses.size(); ++i) {
      const ContainerStatus& c = pod_.status.init_container_statuses[i];
      s_.restarts += c.restart_count;
      NoteRestart(c, s_.last_restart);
      bool sidecar = IsSidecar(c.name);
      if (sidecar) {
        sidecar_restarts_ += c.restart_count;
        NoteRestart(c, sidecar_last_restart_);
      }
      const auto& end = c.state.terminated;
      const auto& wait = c.state.waiting;
      if (end.has_value() && end->exit_code == 0) continue;
      if (sidecar && c.started.value_or(false)) {
        s_.ready += c.ready ? 1 : 0;
        continue;
      }
      if (end.has_value()) {
        s_.reason = "Init:" + EndReason(*end);
      } else if (wait.has_value() && !wait->reason.empty() && wait->reason != "PodInitializing") {
        s_.reason = "Init:" + wait->reason.str();
      } else {
        s_.reason = "Init:" + std::to_string(i) + "/" + std::to_string(pod_.spec.init_containers.size());
      }
      return true;
    }
    return false;
  }

  void ReadContainers() {
    bool has_running = false;
    std::string error_reason;
    for (std::size_t i = pod_.status.container_statuses.size(); i-- > 0;) {
      const ContainerStatus& c = pod_.status.container_statuses[i];
      s_.restarts += c.restart_count;
      NoteRestart(c, s_.last_restart);
      const auto& end = c.state.terminated;
      if (c.state.waiting.has_value() && !c.state.waiting->reason.empty()) {
        s_.reason = c.state.waiting->reason.str();
      } else if (end.has_value()) {
        s_.reason = EndReason(*end);
        if (end->exit_code != 0) error_reason = s_.reason;
      } else if (c.ready && c.state.running.has_value()) {
        has_running = true;
        ++s_.ready;
      }
    }
    // One container has completed; what the others do says more.
    if (s_.reason != "Completed") return;
    if (has_running && IsTrue(pod_.status.conditions, "Ready")) {
      s_.reason = "Running";
    } else if (!error_reason.empty()) {
      s_.reason = error_reason;
    } else if (has_running) {
      s_.reason = "NotReady";
    }
  }

  const Pod& pod_;
  PodSummary s_;
  int sidecar_restarts_ = 0;
  Time sidecar_last_restart_;
};

std::string ReadinessGates(const Pod& pod) {
  if (pod.spec.readiness_gates.empty()) return "<none>";
  int open = 0;
  for (const PodReadinessGate& gate : pod.spec.readiness_gates) {
    for (const PodCondition& c : pod.status.conditions) {
      if (!(c.type == gate.condition_type)) continue;
      open += c.status == "True" ? 1 : 0;
      break;
    }
  }
  return std::to_string(open) + "/" + std::to_string(pod.spec.readiness_gates.size());
}

Cells PodRow(const Pod& pod, Time now) {
  PodSummary s = PodReader(pod).Read();
  std::string restarts = std::to_string(s.restarts);
  if (s.restarts != 0 && !s.last_restart.IsZero()) restarts += " (" + Ago(s.last_restart, now) + " ago)";
  return {pod.metadata.name,
          std::to_string(s.ready) + "/" + std::to_string(s.containers),
          s.reason,
          restarts,
          AgeOf(pod.metadata, now),
          pod.status.pod_ips.empty() ? std::string("<none>") : Or(pod.status.pod_ips[0].ip, "<none>"),
          Or(pod.spec.node_name, "<none>"),
          Or(pod.status.nominated_node_name, "<none>"),
          ReadinessGates(pod)};
}

Cells PodTemplateRow(const PodTemplate& t, Time) {
  return {t.metadata.name, ContainerNames(t.template_.spec.containers), ContainerImages(t.template_.spec.containers),
          PrintLabels(t.template_.metadata.labels)};
}

}  // namespace

void AddPodTables(TableRegistry& r) {
  r.Add<Pod, PodRow>({NameColumn(), Text("Ready"), Text("Status"), Text("Restarts"), AgeColumn(), Text("IP", 1), Text("Node", 1),
                      Text("Nominated Node", 1), Text("Readiness Gates", 1)});
  r.Add<PodTemplate, PodTemplateRow>({NameColumn(), Text("Containers"), Text("Images"), Text("Pod Labels")});
}

}  // namespace kube::apiserver::builtin
