#include <algorithm>

#include "apiserver/builtin/validation_pod.h"
#include "apiserver/names.h"

namespace kube::apiserver::builtin {
namespace {

using namespace core::v1;

// ---- Resources ----

bool Contains(std::initializer_list<const char*> words, std::string_view word) {
  return std::any_of(words.begin(), words.end(), [&](const char* w) { return word == w; });
}
bool IsHugePages(std::string_view name) { return name.starts_with("hugepages-"); }
bool IsNative(std::string_view name) {
  return name.find('/') == std::string_view::npos || name.find("kubernetes.io/") != std::string_view::npos;
}
bool IsExtended(const String& name) {
  return !IsNative(name) && !name.view().starts_with("requests.") && QualifiedNameProblems("requests." + name.str()).empty();
}
bool MayOvercommit(std::string_view name) { return IsNative(name) && !IsHugePages(name); }
bool IsStandard(std::string_view name) {
  return Contains({"cpu",
                   "memory",
                   "ephemeral-storage",
                   "requests.cpu",
                   "requests.memory",
                   "requests.ephemeral-storage",
                   "limits.cpu",
                   "limits.memory",
                   "limits.ephemeral-storage",
                   "pods",
                   "resourcequotas",
                   "services",
                   "replicationcontrollers",
                   "secrets",
                   "configmaps",
                   "persistentvolumeclaims",
                   "storage",
                   "requests.storage",
                   "services.nodeports",
                   "services.loadbalancers"},
                  name) ||
         IsHugePages(name) || name.starts_with("requests.hugepages-");
}

void CheckResourceName(Errors& errors, const std::string& path, const String& name) {
  Problems problems = QualifiedNameProblems(name);
  AddProblems(errors, path, name, problems);
  bool is_plain = name.view().find('/') == std::string_view::npos;
  if (problems.empty() && is_plain && !IsStandard(name)) {
    errors.push_back(InvalidValue(path, name, "must be a standard resource type or fully qualified"));
  }
  if (is_plain) {
    if (!Contains({"cpu", "memory", "ephemeral-storage"}, name) && !IsHugePages(name)) {
      errors.push_back(InvalidValue(path, name, "must be a standard resource for containers"));
    }
  } else if (!IsNative(name) && !IsExtended(name)) {
    errors.push_back(InvalidValue(path, name, "doesn't follow extended resource name standard"));
  }
}

void CheckResourceAmount(Errors& errors, const std::string& path, const String& name, const Quantity& amount) {
  if (amount.Sign() < 0) errors.push_back(InvalidValue(path, amount.ToString(), "must be greater than or equal to 0"));
  if (IsExtended(name) && amount.MilliValue() % 1000 != 0) errors.push_back(InvalidValue(path, amount.ToString(), "must be an integer"));
}

// ---- Ports ----

void CheckPorts(Errors& errors, const std::string& path, const List<ContainerPort>& ports) {
  std::set<std::string> names;
  for (std::size_t i = 0; i < ports.size(); ++i) {
    const ContainerPort& p = ports[i];
    const std::string at = Index(path, i);
    if (!p.name.empty()) {
      Problems problems = PortNameProblems(p.name);
      AddProblems(errors, Child(at, "name"), p.name, problems);
      if (problems.empty() && !names.insert(p.name.str()).second) errors.push_back(DuplicateValue(Child(at, "name"), p.name));
    }
    if (p.container_port == 0) {
      errors.push_back(Required(Child(at, "containerPort")));
    } else {
      CheckPort(errors, Child(at, "containerPort"), p.container_port);
    }
    if (p.host_port != 0) CheckPort(errors, Child(at, "hostPort"), p.host_port);
    CheckEnum(errors, Child(at, "protocol"), p.protocol, {"SCTP", "TCP", "UDP"});
  }
}

void CheckHostPortConflicts(Errors& errors, const std::string& path, const Container* begin, const Container* end) {
  std::set<std::string> taken;
  for (const Container* c = begin; c != end; ++c) {
    const std::string ports = Child(Index(path, static_cast<std::size_t>(c - begin)), "ports");
    for (std::size_t i = 0; i < c->ports.size(); ++i) {
      const ContainerPort& p = c->ports[i];
      if (p.host_port == 0) continue;
      std::string key = p.protocol.str() + "/" + p.host_ip.str() + "/" + std::to_string(p.host_port);
      if (!taken.insert(key).second) errors.push_back(DuplicateValue(Child(Index(ports, i), "hostPort"), key));
    }
  }
}

// ---- Environment ----

template <typename S>
void CheckKeySelector(Errors& errors, const std::string& path, const S& s) {
  AddProblems(errors, Child(path, "name"), s.name, DnsSubdomainProblems(s.name));
  if (s.key.empty()) {
    errors.push_back(Required(Child(path, "key")));
  } else {
    AddProblems(errors, Child(path, "key"), s.key, ConfigMapKeyProblems(s.key));
  }
}

void CheckFieldRef(Errors& errors, const std::string& path, const ObjectFieldSelector& s) {
  const std::string field = Child(path, "fieldPath");
  if (s.api_version.empty()) return errors.push_back(Required(Child(path, "apiVersion")));
  if (s.field_path.empty()) return errors.push_back(Required(field));
  std::string_view text = s.field_path;
  if (std::size_t open = text.find("['"); open != std::string_view::npos && text.ends_with("']")) {
    std::string_view map = text.substr(0, open), key = text.substr(open + 2, text.size() - open - 4);
    if (map == "metadata.annotations" || map == "metadata.labels") {
      std::string name(key);
      if (map == "metadata.annotations")
        std::transform(name.begin(), name.end(), name.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
      AddProblems(errors, path, name, QualifiedNameProblems(name));
      return;
    }
  }
  const std::vector<std::string> known = {"metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName", "spec.serviceAccountName",
                                          "status.hostIP", "status.hostIPs",     "status.podIP", "status.podIPs"};
  if (std::find(known.begin(), known.end(), text) != known.end()) return;
  if (text == "metadata.annotations" || text == "metadata.labels") {
    errors.push_back(NotSupported(field, s.field_path, known));
  } else {
    errors.push_back(InvalidValue(field, s.field_path, "error converting fieldPath: field label not supported: " + s.field_path.str()));
  }
}

void CheckEnv(Errors& errors, const std::string& path, const List<EnvVar>& vars) {
  for (std::size_t i = 0; i < vars.size(); ++i) {
    const EnvVar& v = vars[i];
    const std::string at = Index(path, i);
    if (v.name.empty()) {
      errors.push_back(Required(Child(at, "name")));
    } else {
      AddProblems(errors, Child(at, "name"), v.name, EnvNameProblems(v.name));
    }
    if (!v.value_from.has_value()) continue;
    const std::string from = Child(at, "valueFrom");
    int sources = 0;
    if (v.value_from->field_ref.has_value()) {
      ++sources;
      CheckFieldRef(errors, Child(from, "fieldRef"), *v.value_from->field_ref);
    }
    if (v.value_from->resource_field_ref.has_value()) {
      ++sources;
      if (v.value_from->resource_field_ref->resource.empty())
        errors.push_back(Required(Child(Child(from, "resourceFieldRef"), "resource")));
    }
    if (v.value_from->config_map_key_ref.has_value()) {
      ++sources;
      CheckKeySelector(errors, Child(from, "configMapKeyRef"), *v.value_from->config_map_key_ref);
    }
    if (v.value_from->secret_key_ref.has_value()) {
      ++sources;
      CheckKeySelector(errors, Child(from, "secretKeyRef"), *v.value_from->secret_key_ref);
    }
    if (v.value_from->file_key_ref.has_value()) ++sources;
    if (sources == 0) {
      errors.push_back(
          InvalidValue(from, "", "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`"));
    } else if (!v.value.empty()) {
      errors.push_back(InvalidValue(from, "", "may not be specified when `value` is not empty"));
    } else if (sources > 1) {
      errors.push_back(InvalidValue(from, "", "may not have more than one field specified at a time"));
    }
  }
}

void CheckEnvFrom(Errors& errors, const std::string& path, const List<EnvFromSource>& all) {
  for (std::size_t i = 0; i < all.size(); ++i) {
    const EnvFromSource& s = all[i];
    const std::string at = Index(path, i);
    if (!s.prefix.empty()) AddProblems(errors, Child(at, "prefix"), s.prefix, EnvNameProblems(s.prefix));
    auto check_name = [&](const char* field, const String& name) {
      const std::string where = Child(Child(at, field), "name");
      if (name.empty()) {
        errors.push_back(Required(where));
      } else {
        AddProblems(errors, where, name, DnsSubdomainProblems(name));
      }
    };
    if (s.config_map_ref.has_value()) check_name("configMapRef", s.config_map_ref->name);
    if (s.secret_ref.has_value()) check_name("secretRef", s.secret_ref->name);
    int sources = (s.config_map_ref.has_value() ? 1 : 0) + (s.secret_ref.has_value() ? 1 : 0);
    if (sources == 0) errors.push_back(InvalidValue(path, "", "must specify one of: `configMapRef` or `secretRef`"));
    if (sources > 1) errors.push_back(InvalidValue(path, "", "may not have more than one field specified at a time"));
  }
}

// ---- Mounts ----

void CheckDescendingPath(Errors& errors, const std::string& path, const String& target) {
  if (target.view().starts_with('/')) errors.push_back(InvalidValue(path, target, "must be a relative path"));
  std::string_view rest = target;
  while (true) {
    std::size_t slash = rest.find('/');
    if (rest.substr(0, slash) == "..") {
      errors.push_back(InvalidValue(path, target, "must not contain '..'"));
      return;
    }
    if (slash == std::string_view::npos) return;
    rest.remove_prefix(slash + 1);
  }
}

void CheckMounts(Errors& errors, const std::string& path, const List<VolumeMount>& mounts, const std::set<std::string>& volumes) {
  std::set<std::string> targets;
  for (std::size_t i = 0; i < mounts.size(); ++i) {
    const VolumeMount& m = mounts[i];
    const std::string at = Index(path, i);
    if (m.name.empty()) errors.push_back(Required(Child(at, "name")));
    if (!volumes.contains(m.name.str())) errors.push_back(NotFoundValue(Child(at, "name"), m.name));
    if (m.mount_path.empty()) errors.push_back(Required(Child(at, "mountPath")));
    if (!targets.insert(m.mount_path.str()).second) {
      errors.push_back(InvalidValue(Child(at, "mountPath"), m.mount_path, "must be unique"));
    }
    if (!m.sub_path.empty()) CheckDescendingPath(errors, Child(path, "subPath"), m.sub_path);
    if (!m.sub_path_expr.empty()) {
      if (!m.sub_path.empty()) {
        errors.push_back(InvalidValue(Child(at, "subPathExpr"), m.sub_path_expr, "subPathExpr and subPath are mutually exclusive"));
      }
      CheckDescendingPath(errors, Child(path, "subPathExpr"), m.sub_path_expr);
    }
  }
}

// ---- Probes and hooks ----

// Exactly one way to do it.
class HandlerCheck {
 public:
  HandlerCheck(Errors& errors, const std::string& path) : errors_(errors), path_(path) {}

  void Exec(const Box<ExecAction>& a) {
    if (!a.has_value() || !IsFirst("exec")) return;
    if (a->command.empty()) errors_.push_back(Required(Child(Child(path_, "exec"), "command")));
  }
  void HttpGet(const Box<HTTPGetAction>& a) {
    if (!a.has_value() || !IsFirst("httpGet")) return;
    const std::string at = Child(path_, "httpGet");
    if (a->path.empty()) errors_.push_back(Required(Child(at, "path")));
    CheckPortNumberOrName(errors_, Child(at, "port"), a->port);
    if (a->scheme != "HTTP" && a->scheme != "HTTPS") errors_.push_back(NotSupported(Child(at, "scheme"), a->scheme, {"HTTP", "HTTPS"}));
    for (const HTTPHeader& h : a->http_headers) {
      AddProblems(errors_, Child(at, "httpHeaders"), h.name, HttpHeaderNameProblems(h.name));
    }
  }
  void TcpSocket(const Box<TCPSocketAction>& a) {
    if (a.has_value() && IsFirst("tcpSocket")) CheckPortNumberOrName(errors_, Child(Child(path_, "tcpSocket"), "port"), a->port);
  }
  void Grpc(const Box<GRPCAction>& a) {
    if (a.has_value() && IsFirst("grpc")) CheckPort(errors_, Child(Child(path_, "grpc"), "port"), a->port);
  }
  void Sleep(const Box<SleepAction>& a) {
    if (a.has_value()) IsFirst("sleep");
  }
  void Finish() {
    if (count_ == 0) errors_.push_back(Required(path_, "must specify a handler type"));
  }

 private:
  bool IsFirst(const char* field) {
    if (count_++ == 0) return true;
    errors_.push_back(ForbiddenField(Child(path_, field), "may not specify more than 1 handler type"));
    return false;
  }

  Errors& errors_;
  const std::string& path_;
  int count_ = 0;
};

enum class ProbeKind { kLiveness, kReadiness, kStartup };

void CheckProbe(Errors& errors, const std::string& path, const Box<Probe>& box, ProbeKind kind) {
  if (!box.has_value()) return;
  const Probe& p = *box;
  HandlerCheck handler(errors, path);
  handler.Exec(p.exec);
  handler.HttpGet(p.http_get);
  handler.TcpSocket(p.tcp_socket);
  handler.Grpc(p.grpc);
  handler.Finish();
  CheckNonNegative(errors, Child(path, "initialDelaySeconds"), p.initial_delay_seconds);
  CheckNonNegative(errors, Child(path, "timeoutSeconds"), p.timeout_seconds);
  CheckNonNegative(errors, Child(path, "periodSeconds"), p.period_seconds);
  CheckNonNegative(errors, Child(path, "successThreshold"), p.success_threshold);
  CheckNonNegative(errors, Child(path, "failureThreshold"), p.failure_threshold);
  const std::string grace = Child(path, "terminationGracePeriodSeconds");
  if (p.termination_grace_period_seconds.has_value()) CheckPositive(errors, grace, *p.termination_grace_period_seconds);
  if (kind == ProbeKind::kReadiness) {
    if (p.termination_grace_period_seconds.has_value()) {
      errors.push_back(InvalidValue(grace, *p.termination_grace_period_seconds, "must not be set for readinessProbes"));
    }
  } else if (p.success_threshold != 1) {
    errors.push_back(InvalidValue(Child(path, "successThreshold"), p.success_threshold, "must be 1"));
  }
}

void CheckProbes(Errors& errors, const std::string& path, const Container& c) {
  for (const auto& [field, handler] : {std::pair("postStart", &c.lifecycle->post_start), std::pair("preStop", &c.lifecycle->pre_stop)}) {
    if (!handler->has_value()) continue;
    const std::string at = Child(Child(path, "lifecycle"), field);
    HandlerCheck check(errors, at);
    check.Exec((*handler)->exec);
    check.HttpGet((*handler)->http_get);
    check.TcpSocket((*handler)->tcp_socket);
    check.Sleep((*handler)->sleep);
    check.Finish();
  }
  CheckProbe(errors, Child(path, "livenessProbe"), c.liveness_probe, ProbeKind::kLiveness);
  CheckProbe(errors, Child(path, "readinessProbe"), c.readiness_probe, ProbeKind::kReadiness);
  CheckProbe(errors, Child(path, "startupProbe"), c.startup_probe, ProbeKind::kStartup);
}

void CheckSecurityContext(Errors& errors, const std::string& path, const Box<SecurityContext>& box) {
  if (!box.has_value()) return;
  auto check_id = [&](const char* field, const std::optional<std::int64_t>& id) {
    if (id.has_value() && (*id < 0 || *id > 2147483647)) {
      errors.push_back(InvalidValue(Child(path, field), *id, "must be between 0 and 2147483647, inclusive"));
    }
  };
  check_id("runAsUser", box->run_as_user);
  check_id("runAsGroup", box->run_as_group);
  if (!box->allow_privilege_escalation.value_or(true) && box->privileged.value_or(false)) {
    errors.push_back(InvalidValue(path, Shown(*box), "cannot set `allowPrivilegeEscalation` to false and `privileged` to true"));
  }
}

// What all sorts of containers have.
template <typename C>
void CheckCommon(Errors& errors, const std::string& path, const C& c, const std::set<std::string>& volumes) {
  if (c.name.empty()) {
    errors.push_back(Required(Child(path, "name")));
  } else {
    AddProblems(errors, Child(path, "name"), c.name, DnsLabelProblems(c.name));
  }
  if (c.image.empty()) errors.push_back(Required(Child(path, "image")));
  CheckEnum(errors, Child(path, "terminationMessagePolicy"), c.termination_message_policy, {"File", "FallbackToLogsOnError"});
  CheckPorts(errors, Child(path, "ports"), c.ports);
  CheckEnv(errors, Child(path, "env"), c.env);
  CheckEnvFrom(errors, Child(path, "envFrom"), c.env_from);
  CheckMounts(errors, Child(path, "volumeMounts"), c.volume_mounts, volumes);
  CheckEnum(errors, Child(path, "imagePullPolicy"), c.image_pull_policy, {"Always", "IfNotPresent", "Never"});
  CheckResources(errors, Child(path, "resources"), c.resources.limits, c.resources.requests);
  CheckSecurityContext(errors, Child(path, "securityContext"), c.security_context);
}

void CheckContainerRestartPolicy(Errors& errors, const std::string& path, const Container& c) {
  if (!c.restart_policy.has_value()) {
    if (!c.restart_policy_rules.empty()) {
      errors.push_back(Required(Child(path, "restartPolicy"), "must specify restartPolicy when restart rules are used"));
    }
    return;
  }
  if (*c.restart_policy != "Always" && *c.restart_policy != "Never" && *c.restart_policy != "OnFailure") {
    errors.push_back(NotSupported(Child(path, "restartPolicy"), *c.restart_policy, {"Always", "Never", "OnFailure"}));
  }
}

void CheckInitContainer(Errors& errors, const std::string& path, const Container& c) {
  if (c.restart_policy.has_value() && *c.restart_policy == "Always") {
    CheckProbes(errors, path, c);
    return;
  }
  const char* const why = "may not be set for init containers without restartPolicy=Always";
  if (c.lifecycle.has_value()) errors.push_back(ForbiddenField(Child(path, "lifecycle"), why));
  if (c.liveness_probe.has_value()) errors.push_back(ForbiddenField(Child(path, "livenessProbe"), why));
  if (c.readiness_probe.has_value()) errors.push_back(ForbiddenField(Child(path, "readinessProbe"), why));
  if (c.startup_probe.has_value()) errors.push_back(ForbiddenField(Child(path, "startupProbe"), why));
}

}  // namespace

FieldError NotFoundValue(const std::string& path, const Value& value) { return {FieldErrorType::kNotFound, path, PrintValue(value), ""}; }

void CheckResources(Errors& errors, const std::string& path, const Map<Quantity>& limits, const Map<Quantity>& requests) {
  const std::string limits_path = Child(path, "limits"), requests_path = Child(path, "requests");
  bool has_pages = false, has_compute = false;
  for (const auto& [name, amount] : limits) {
    CheckResourceName(errors, Key(limits_path, name), name);
    CheckResourceAmount(errors, Key(limits_path, name), name, amount);
    has_pages = has_pages || IsHugePages(name);
    has_compute = has_compute || name == "cpu" || name == "memory";
  }
  for (const auto& [name, amount] : requests) {
    CheckResourceName(errors, Key(requests_path, name), name);
    CheckResourceAmount(errors, Key(requests_path, name), name, amount);
    if (const Quantity* limit = limits.Find(name)) {
      if (amount != *limit && !MayOvercommit(name)) {
        errors.push_back(
            InvalidValue(requests_path, amount.ToString(), "must be equal to " + name.str() + " limit of " + limit->ToString()));
      } else if (amount > *limit) {
        errors.push_back(InvalidValue(requests_path, amount.ToString(),
                                      "must be less than or equal to " + name.str() + " limit of " + limit->ToString()));
      }
    } else if (!MayOvercommit(name)) {
      errors.push_back(Required(limits_path, "Limit must be set for non overcommitable resources"));
    }
    has_pages = has_pages || IsHugePages(name);
    has_compute = has_compute || name == "cpu" || name == "memory";
  }
  if (has_pages && !has_compute) errors.push_back(ForbiddenField(path, "HugePages require cpu or memory"));
}

void CheckContainers(Errors& errors, const std::string& path, const PodSpec& spec, const std::set<std::string>& volumes) {
  const std::string containers = Child(path, "containers"), inits = Child(path, "initContainers");
  std::set<std::string> names;
  if (spec.containers.empty()) {
    errors.push_back(Required(containers));
  } else {
    for (std::size_t i = 0; i < spec.containers.size(); ++i) {
      const Container& c = spec.containers[i];
      const std::string at = Index(containers, i);
      CheckCommon(errors, at, c, volumes);
      if (!names.insert(c.name.str()).second) errors.push_back(DuplicateValue(Child(at, "name"), c.name));
      CheckProbes(errors, at, c);
      CheckContainerRestartPolicy(errors, at, c);
    }
    CheckHostPortConflicts(errors, containers, spec.containers.begin(), spec.containers.end());
  }
  for (std::size_t i = 0; i < spec.init_containers.size(); ++i) {
    const Container& c = spec.init_containers[i];
    const std::string at = Index(inits, i);
    CheckCommon(errors, at, c, volumes);
    CheckContainerRestartPolicy(errors, at, c);
    if (names.contains(c.name.str())) {
      errors.push_back(DuplicateValue(Child(at, "name"), c.name));
    } else if (!c.name.empty()) {
      names.insert(c.name.str());
    }
    CheckHostPortConflicts(errors, inits, &c, &c + 1);
    CheckInitContainer(errors, at, c);
  }
  for (std::size_t i = 0; i < spec.ephemeral_containers.size(); ++i) {
    const EphemeralContainer& c = spec.ephemeral_containers[i];
    const std::string at = Index(Child(path, "ephemeralContainers"), i);
    CheckCommon(errors, at, c, volumes);
    if (!names.insert(c.name.str()).second) errors.push_back(DuplicateValue(Child(at, "name"), c.name));
    bool has_target =
        std::any_of(spec.containers.begin(), spec.containers.end(), [&](const Container& o) { return o.name == c.target_container_name; });
    if (!c.target_container_name.empty() && !has_target) {
      errors.push_back(NotFoundValue(Child(at, "targetContainerName"), c.target_container_name));
    }
  }
}

}  // namespace kube::apiserver::builtin
