#include <algorithm>

#include "apiserver/builtin/cron.h"
#include "apiserver/builtin/validation_kinds.h"
#include "apiserver/builtin/validation_pod.h"
#include "apiserver/names.h"
#include "kube/api/apps/v1.h"
#include "kube/api/batch/v1.h"
#include "kube/api/core/v1.h"
#include "kube/codec/json.h"
#include "kube/meta/selector.h"

namespace kube::apiserver::builtin {
namespace {

using meta::v1::LabelSelector;

Value ShownLabels(const Map<String>& labels) {
  if (labels.empty()) return {};
  Value out = Value::Object();
  for (const auto& [key, value] : labels) out[key.view()] = value;
  return out;
}

Value Shown(const Box<LabelSelector>& selector) { return selector.has_value() ? builtin::Shown(*selector) : Value(); }

void CheckOptional(Errors& errors, const std::string& path, const std::optional<std::int32_t>& value) {
  if (value.has_value()) CheckNonNegative(errors, path, *value);
}

// Without a selector nothing is selected, so the template does not fit either.
void CheckTemplateLabels(Errors& errors, const std::string& path, const Box<LabelSelector>& selector, const Map<String>& labels,
                         bool also_if_empty) {
  Result<Selector> parsed = Selector::FromLabelSelector(selector);
  if (!parsed || (parsed->empty() && !also_if_empty) || parsed->Matches(labels)) return;
  errors.push_back(InvalidValue(Child(path, "metadata.labels"), ShownLabels(labels), "`selector` does not match template `labels`"));
}

void CheckRequiredSelector(Errors& errors, const Box<LabelSelector>& selector, const char* if_empty) {
  if (!selector.has_value()) {
    errors.push_back(Required("spec.selector"));
    return;
  }
  CheckSelector(errors, "spec.selector", *selector);
  if (IsEmptySelector(*selector)) errors.push_back(InvalidValue("spec.selector", Shown(selector), if_empty));
}

void CheckAlwaysRestarted(Errors& errors, const core::v1::PodSpec& spec, const char* kind) {
  if (spec.restart_policy != "Always") {
    errors.push_back(NotSupported("spec.template.spec.restartPolicy", spec.restart_policy, {"Always"}));
  }
  if (spec.active_deadline_seconds.has_value()) {
    errors.push_back(
        ForbiddenField("spec.template.spec.activeDeadlineSeconds", std::string("activeDeadlineSeconds in ") + kind + " is not Supported"));
  }
}

// Deployments and what they are made of.
void CheckReplicaTemplate(Errors& errors, const Box<LabelSelector>& selector, const core::v1::PodTemplateSpec& spec) {
  Result<Selector> parsed = Selector::FromLabelSelector(selector);
  if (!parsed) {
    errors.push_back(InvalidValue("spec.selector", Shown(selector), "invalid label selector"));
    return;
  }
  CheckTemplateLabels(errors, "spec.template", selector, spec.metadata.labels, false);
  CheckPodTemplate(errors, "spec.template", spec);
  CheckAlwaysRestarted(errors, spec.spec, "ReplicaSet");
}

// The number behind an integer or a percentage.
std::int64_t AmountOf(const IntOrString& value) {
  int percent = PercentOf(value);
  return percent >= 0 ? percent : value.int_value();
}

void CheckStrategy(Errors& errors, const apps::v1::DeploymentStrategy& s) {
  const std::string path = "spec.strategy";
  if (s.type == "Recreate") {
    if (s.rolling_update.has_value()) {
      errors.push_back(ForbiddenField(Child(path, "rollingUpdate"), "may not be specified when strategy `type` is 'Recreate'"));
    }
  } else if (s.type == "RollingUpdate") {
    const std::string at = Child(path, "rollingUpdate");
    const IntOrString unavailable = s.rolling_update->max_unavailable.value_or(IntOrString());
    const IntOrString surge = s.rolling_update->max_surge.value_or(IntOrString());
    CheckIntOrPercent(errors, Child(at, "maxUnavailable"), unavailable);
    CheckIntOrPercent(errors, Child(at, "maxSurge"), surge);
    if (AmountOf(unavailable) == 0 && AmountOf(surge) == 0) {
      errors.push_back(InvalidValue(Child(at, "maxUnavailable"), builtin::Shown(unavailable), "may not be 0 when `maxSurge` is 0"));
    }
    CheckNotMoreThan100Percent(errors, Child(at, "maxUnavailable"), unavailable);
  } else {
    errors.push_back(WithInternalText(NotSupported(path, Value(), {"Recreate", "RollingUpdate"}), s));
  }
}

void CheckDaemonStrategy(Errors& errors, const apps::v1::DaemonSetUpdateStrategy& s) {
  const std::string path = "spec.updateStrategy", at = Child(path, "rollingUpdate");
  if (s.type == "OnDelete") return;
  if (s.type != "RollingUpdate") {
    errors.push_back(WithInternalText(NotSupported(path, Value(), {"RollingUpdate", "OnDelete"}), s));
    return;
  }
  const IntOrString unavailable = s.rolling_update->max_unavailable.value_or(IntOrString());
  const IntOrString surge = s.rolling_update->max_surge.value_or(IntOrString());
  CheckIntOrPercent(errors, Child(at, "maxUnavailable"), unavailable);
  CheckIntOrPercent(errors, Child(at, "maxSurge"), surge);
  CheckNotMoreThan100Percent(errors, Child(at, "maxUnavailable"), unavailable);
  CheckNotMoreThan100Percent(errors, Child(at, "maxSurge"), surge);
  bool has_unavailable = AmountOf(unavailable) != 0, has_surge = AmountOf(surge) != 0;
  if (has_unavailable && has_surge) {
    errors.push_back(InvalidValue(Child(at, "maxSurge"), builtin::Shown(surge), "may not be set when maxUnavailable is non-zero"));
  } else if (!has_unavailable && !has_surge) {
    errors.push_back(Required(Child(at, "maxUnavailable"), "cannot be 0 when maxSurge is 0"));
  }
}

void CheckStatefulStrategy(Errors& errors, const apps::v1::StatefulSetUpdateStrategy& s) {
  const std::string path = "spec.updateStrategy", at = Child(path, "rollingUpdate");
  if (s.type == "OnDelete") {
    if (s.rolling_update.has_value()) {
      FieldError error = InvalidValue(at, Value(), "only allowed for updateStrategy 'RollingUpdate'");
      error.value =
          "{\"Partition\":" + std::to_string(s.rolling_update->partition.value_or(0)) + ",\"MaxUnavailable\":" +
          (s.rolling_update->max_unavailable.has_value() ? PrintValue(builtin::Shown(*s.rolling_update->max_unavailable)) : "null") + "}";
      errors.push_back(std::move(error));
    }
  } else if (s.type == "RollingUpdate") {
    CheckNonNegative(errors, Child(at, "partition"), s.rolling_update->partition.value_or(0));
    if (const auto& unavailable = s.rolling_update->max_unavailable; unavailable.has_value()) {
      const std::string where = Child(at, "maxUnavailable");
      CheckIntOrPercent(errors, where, *unavailable);
      if (AmountOf(*unavailable) == 0) errors.push_back(InvalidValue(where, builtin::Shown(*unavailable), "cannot be 0"));
      CheckNotMoreThan100Percent(errors, where, *unavailable);
    }
  } else {
    errors.push_back(WithInternalText(InvalidValue(path, Value(), "must be 'RollingUpdate' or 'OnDelete'"), s));
  }
}

// Pods of a StatefulSet have its claims as volumes.
core::v1::PodTemplateSpec WithClaimVolumes(const apps::v1::StatefulSetSpec& spec) {
  core::v1::PodTemplateSpec out = spec.template_;
  out.spec.subdomain.clear();
  out.spec.hostname.clear();
  if (spec.volume_claim_templates.empty()) return out;
  List<core::v1::Volume> volumes;
  for (const auto& claim : spec.volume_claim_templates) {
    core::v1::Volume v;
    v.name = claim.metadata.name;
    v.persistent_volume_claim.Mutable().claim_name = "claim";
    volumes.push_back(v);
  }
  for (const auto& v : std::as_const(out.spec.volumes)) {
    const auto& claims = spec.volume_claim_templates;
    if (std::none_of(claims.begin(), claims.end(), [&](const auto& c) { return c.metadata.name == v.name; })) volumes.push_back(v);
  }
  out.spec.volumes = volumes;
  return out;
}

// ---- Jobs ----

void CheckJobSpec(Errors& errors, const std::string& path, const batch::v1::JobSpec& spec) {
  CheckOptional(errors, Child(path, "parallelism"), spec.parallelism);
  CheckOptional(errors, Child(path, "completions"), spec.completions);
  if (spec.active_deadline_seconds.has_value())
    CheckNonNegative(errors, Child(path, "activeDeadlineSeconds"), *spec.active_deadline_seconds);
  CheckOptional(errors, Child(path, "backoffLimit"), spec.backoff_limit);
  CheckOptional(errors, Child(path, "ttlSecondsAfterFinished"), spec.ttl_seconds_after_finished);
  CheckOptional(errors, Child(path, "backoffLimitPerIndex"), spec.backoff_limit_per_index);
  if (spec.max_failed_indexes.has_value()) {
    CheckNonNegative(errors, Child(path, "maxFailedIndexes"), *spec.max_failed_indexes);
    if (!spec.backoff_limit_per_index.has_value()) {
      errors.push_back(Required(Child(path, "backoffLimitPerIndex"), "when maxFailedIndexes is specified"));
    }
  }
  const String mode = spec.completion_mode.value_or(String("NonIndexed"));
  if (mode != "NonIndexed" && mode != "Indexed") {
    errors.push_back(NotSupported(Child(path, "completionMode"), mode, {"NonIndexed", "Indexed"}));
  }
  if (mode == "Indexed") {
    if (!spec.completions.has_value()) errors.push_back(Required(Child(path, "completions"), "when completion mode is Indexed"));
    if (spec.parallelism.value_or(0) > 100000) {
      errors.push_back(InvalidValue(Child(path, "parallelism"), *spec.parallelism,
                                    "must be less than or equal to 100000 when completion mode is Indexed"));
    }
    if (spec.completions.has_value() && spec.max_failed_indexes.value_or(0) > *spec.completions) {
      errors.push_back(
          InvalidValue(Child(path, "maxFailedIndexes"), *spec.max_failed_indexes, "must be less than or equal to completions"));
    }
  } else if (mode == "NonIndexed") {
    const char* const why = "requires indexed completion mode";
    if (spec.backoff_limit_per_index.has_value()) {
      errors.push_back(InvalidValue(Child(path, "backoffLimitPerIndex"), *spec.backoff_limit_per_index, why));
    }
    if (spec.max_failed_indexes.has_value()) {
      errors.push_back(InvalidValue(Child(path, "maxFailedIndexes"), *spec.max_failed_indexes, why));
    }
  }
  CheckPodTemplate(errors, Child(path, "template"), spec.template_);
  const std::string restart_path = Child(path, "template.spec.restartPolicy");
  const String& restart = spec.template_.spec.restart_policy;
  if (restart == "Always" || restart.empty()) {
    errors.push_back(Required(restart_path, "valid values: \"OnFailure\", \"Never\""));
  } else if (restart != "OnFailure" && restart != "Never") {
    errors.push_back(NotSupported(restart_path, restart, {"OnFailure", "Never"}));
  } else if (spec.pod_failure_policy.has_value() && restart != "Never") {
    errors.push_back(InvalidValue(restart_path, restart, "only \"Never\" is supported when podFailurePolicy is specified"));
  }
}

void CheckJobUpdate(Errors& errors, const batch::v1::JobSpec& spec, const batch::v1::JobSpec& old) {
  auto shown = [](const std::optional<std::int32_t>& v) { return v.has_value() ? Value(*v) : Value(); };
  if (spec.completion_mode != String("Indexed")) {
    CheckImmutable(errors, "spec.completions", shown(spec.completions), spec.completions == old.completions);
  } else if (spec.completions != old.completions && spec.completions.has_value() && spec.completions != spec.parallelism) {
    errors.push_back(InvalidValue("spec.completions", *spec.completions, "can only be modified in tandem with spec.parallelism"));
  }
  CheckImmutable(errors, "spec.selector", Shown(spec.selector), spec.selector == old.selector);
  core::v1::PodTemplateSpec before = old.template_;
  if (old.suspend.value_or(false)) {
    // A suspended job has no pods yet: where they will run, and with what, may still change.
    before.spec.node_selector = spec.template_.spec.node_selector;
    before.spec.tolerations = spec.template_.spec.tolerations;
    before.spec.scheduling_gates = spec.template_.spec.scheduling_gates;
    before.metadata.annotations = spec.template_.metadata.annotations;
    before.metadata.labels = spec.template_.metadata.labels;
    before.spec.affinity = spec.template_.spec.affinity;
    if (before.spec.containers.size() == spec.template_.spec.containers.size()) {
      for (std::size_t i = 0; i < before.spec.containers.size(); ++i) {
        before.spec.containers[i].resources = spec.template_.spec.containers[i].resources;
      }
    }
  }
  CheckImmutable(errors, "spec.template", builtin::Shown(spec.template_), spec.template_ == before);
  CheckImmutable(errors, "spec.completionMode", spec.completion_mode.value_or(String()), spec.completion_mode == old.completion_mode);
  CheckImmutable(errors, "spec.podFailurePolicy", builtin::Shown(*spec.pod_failure_policy),
                 spec.pod_failure_policy == old.pod_failure_policy);
  CheckImmutable(errors, "spec.backoffLimitPerIndex", shown(spec.backoff_limit_per_index),
                 spec.backoff_limit_per_index == old.backoff_limit_per_index);
  CheckImmutable(errors, "spec.managedBy", spec.managed_by.value_or(String()), spec.managed_by == old.managed_by);
  CheckImmutable(errors, "spec.successPolicy", builtin::Shown(*spec.success_policy), spec.success_policy == old.success_policy);
}

// A selector that the server made must select by the labels that it made.
void CheckGeneratedSelector(Errors& errors, const batch::v1::Job& job) {
  if (job.spec.manual_selector.value_or(false) || !job.spec.selector.has_value()) return;
  const auto& labels = job.spec.template_.metadata.labels;
  auto check = [&](const char* key, const String& expected) {
    const String* value = labels.Find(key);
    const std::string path = "spec.template.metadata.labels";
    if (value == nullptr) {
      errors.push_back(Required(Key(path, key), "must be '" + expected.str() + "'"));
    } else if (!(*value == expected)) {
      errors.push_back(InvalidValue(Key(path, key), ShownLabels(labels), "must be '" + expected.str() + "'"));
    }
  };
  check("job-name", job.metadata.name);
  check("controller-uid", job.metadata.uid);
  check("batch.kubernetes.io/job-name", job.metadata.name);
  check("batch.kubernetes.io/controller-uid", job.metadata.uid);
  Map<String> generated;
  for (const char* key : {"controller-uid", "batch.kubernetes.io/controller-uid"}) generated.Set(key, job.metadata.uid);
  for (const char* key : {"job-name", "batch.kubernetes.io/job-name"}) generated.Set(key, job.metadata.name);
  Result<Selector> selector = Selector::FromLabelSelector(job.spec.selector);
  if (selector && !selector->Matches(generated)) {
    errors.push_back(InvalidValue("spec.selector", Shown(job.spec.selector), "`selector` not auto-generated"));
  }
}

}  // namespace

void ValidateKind(const apps::v1::Deployment& object, const apps::v1::Deployment* old, Errors& errors) {
  const auto& spec = object.spec;
  CheckNonNegative(errors, "spec.replicas", spec.replicas.value_or(0));
  CheckRequiredSelector(errors, spec.selector, "empty selector is invalid for deployment");
  CheckReplicaTemplate(errors, spec.selector, spec.template_);
  CheckStrategy(errors, spec.strategy);
  CheckNonNegative(errors, "spec.minReadySeconds", spec.min_ready_seconds);
  CheckOptional(errors, "spec.revisionHistoryLimit", spec.revision_history_limit);
  if (spec.progress_deadline_seconds.has_value()) {
    CheckNonNegative(errors, "spec.progressDeadlineSeconds", *spec.progress_deadline_seconds);
    if (*spec.progress_deadline_seconds <= spec.min_ready_seconds) {
      errors.push_back(
          InvalidValue("spec.progressDeadlineSeconds", *spec.progress_deadline_seconds, "must be greater than minReadySeconds"));
    }
  }
  if (old != nullptr) CheckImmutable(errors, "spec.selector", Shown(spec.selector), spec.selector == old->spec.selector);
}

void ValidateKind(const apps::v1::ReplicaSet& object, const apps::v1::ReplicaSet* old, Errors& errors) {
  const auto& spec = object.spec;
  CheckNonNegative(errors, "spec.replicas", spec.replicas.value_or(0));
  CheckNonNegative(errors, "spec.minReadySeconds", spec.min_ready_seconds);
  CheckRequiredSelector(errors, spec.selector, "empty selector is invalid for deployment");
  CheckReplicaTemplate(errors, spec.selector, spec.template_);
  if (old != nullptr) CheckImmutable(errors, "spec.selector", Shown(spec.selector), spec.selector == old->spec.selector);
}

void ValidateKind(const core::v1::ReplicationController& object, const core::v1::ReplicationController*, Errors& errors) {
  const auto& spec = object.spec;
  CheckNonNegative(errors, "spec.minReadySeconds", spec.min_ready_seconds);
  if (spec.selector.empty()) errors.push_back(Required("spec.selector"));
  if (!spec.replicas.has_value()) {
    errors.push_back(Required("spec.replicas"));
  } else {
    CheckNonNegative(errors, "spec.replicas", *spec.replicas);
  }
  if (!spec.template_.has_value()) {
    errors.push_back(Required("spec.template"));
    return;
  }
  const auto& labels = spec.template_->metadata.labels;
  bool fits = std::all_of(spec.selector.begin(), spec.selector.end(),
                          [&](const auto& e) { return labels.contains(e.key) && labels.Get(e.key) == e.value; });
  if (!spec.selector.empty() && !fits) {
    errors.push_back(InvalidValue("spec.template.metadata.labels", ShownLabels(labels), "`selector` does not match template `labels`"));
  }
  CheckPodTemplate(errors, "spec.template", *spec.template_);
  if (spec.template_->spec.restart_policy != "Always") {
    errors.push_back(NotSupported("spec.template.spec.restartPolicy", spec.template_->spec.restart_policy, {"Always"}));
  }
  if (spec.template_->spec.active_deadline_seconds.has_value()) {
    errors.push_back(
        ForbiddenField("spec.template.spec.activeDeadlineSeconds", "activeDeadlineSeconds in ReplicationController is not Supported"));
  }
}

void ValidateKind(const core::v1::PodTemplate& object, const core::v1::PodTemplate*, Errors& errors) {
  CheckPodTemplate(errors, "template", object.template_);
}

void ValidateKind(const apps::v1::StatefulSet& object, const apps::v1::StatefulSet* old, Errors& errors) {
  const auto& spec = object.spec;
  if (spec.pod_management_policy != "OrderedReady" && spec.pod_management_policy != "Parallel") {
    errors.push_back(InvalidValue("spec.podManagementPolicy", spec.pod_management_policy, "must be 'OrderedReady' or 'Parallel'"));
  }
  CheckStatefulStrategy(errors, spec.update_strategy);
  const auto& retention = spec.persistent_volume_claim_retention_policy;
  const std::string retention_path = "spec.persistentVolumeClaimRetentionPolicy";
  CheckEnum(errors, Child(retention_path, "whenDeleted"), retention->when_deleted, {"Delete", "Retain"}, false);
  CheckEnum(errors, Child(retention_path, "whenScaled"), retention->when_scaled, {"Delete", "Retain"}, false);
  CheckNonNegative(errors, "spec.replicas", spec.replicas.value_or(0));
  CheckNonNegative(errors, "spec.minReadySeconds", spec.min_ready_seconds);
  if (spec.ordinals.has_value()) CheckNonNegative(errors, "spec.ordinals.start", spec.ordinals->start);
  if (old == nullptr && !spec.service_name.empty()) {
    AddProblems(errors, "spec.serviceName", spec.service_name, DnsLabelProblems(spec.service_name));
  }
  CheckRequiredSelector(errors, spec.selector, "empty selector is invalid for statefulset");
  if (!Selector::FromLabelSelector(spec.selector)) {
    errors.push_back(InvalidValue("spec.selector", Shown(spec.selector), ""));
  } else {
    const core::v1::PodTemplateSpec checked = WithClaimVolumes(spec);
    CheckTemplateLabels(errors, "spec.template", spec.selector, checked.metadata.labels, false);
    CheckPodTemplate(errors, "spec.template", checked);
  }
  CheckAlwaysRestarted(errors, spec.template_.spec, "StatefulSet");
  if (old == nullptr) return;
  apps::v1::StatefulSetSpec rest = spec;
  rest.replicas = old->spec.replicas;
  rest.template_ = old->spec.template_;
  rest.update_strategy = old->spec.update_strategy;
  rest.min_ready_seconds = old->spec.min_ready_seconds;
  rest.ordinals = old->spec.ordinals;
  rest.revision_history_limit = old->spec.revision_history_limit;
  rest.persistent_volume_claim_retention_policy = old->spec.persistent_volume_claim_retention_policy;
  if (rest == old->spec) return;
  errors.push_back(ForbiddenField("spec",
                                  "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', "
                                  "'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden"));
}

void ValidateKind(const apps::v1::DaemonSet& object, const apps::v1::DaemonSet* old, Errors& errors) {
  const auto& spec = object.spec;
  if (old != nullptr) CheckImmutable(errors, "spec.selector", Shown(spec.selector), spec.selector == old->spec.selector);
  if (spec.selector.has_value()) CheckSelector(errors, "spec.selector", *spec.selector);
  CheckTemplateLabels(errors, "spec.template", spec.selector, spec.template_.metadata.labels, true);
  if (spec.selector.has_value() && IsEmptySelector(*spec.selector)) {
    errors.push_back(InvalidValue("spec.selector", Shown(spec.selector), "empty selector is invalid for daemonset"));
  }
  CheckPodTemplate(errors, "spec.template", spec.template_);
  CheckAlwaysRestarted(errors, spec.template_.spec, "DaemonSet");
  CheckNonNegative(errors, "spec.minReadySeconds", spec.min_ready_seconds);
  CheckDaemonStrategy(errors, spec.update_strategy);
  CheckOptional(errors, "spec.revisionHistoryLimit", spec.revision_history_limit);
}

void ValidateKind(const apps::v1::ControllerRevision& object, const apps::v1::ControllerRevision* old, Errors& errors) {
  CheckNonNegative(errors, "revision", object.revision);
  if (old != nullptr) {
    CheckImmutable(errors, "data", ParseJson(object.data).ok() ? *ParseJson(object.data) : Value(), object.data == old->data);
  } else if (object.data.empty() || object.data.text() == "null") {
    errors.push_back(Required("data", "data is mandatory"));
  }
}

void ValidateKind(const batch::v1::Job& object, const batch::v1::Job* old, Errors& errors) {
  const auto& spec = object.spec;
  if (old == nullptr) CheckGeneratedSelector(errors, object);
  CheckJobSpec(errors, "spec", spec);
  if (!spec.selector.has_value()) {
    errors.push_back(Required("spec.selector"));
  } else {
    CheckSelector(errors, "spec.selector", *spec.selector);
  }
  CheckTemplateLabels(errors, "spec.template", spec.selector, spec.template_.metadata.labels, true);
  if (old != nullptr) CheckJobUpdate(errors, spec, old->spec);
}

void ValidateKind(const batch::v1::CronJob& object, const batch::v1::CronJob* old, Errors& errors) {
  const auto& spec = object.spec;
  if (spec.schedule.empty()) {
    errors.push_back(Required("spec.schedule"));
  } else {
    if (std::string problem = CronProblem(spec.schedule); !problem.empty()) {
      errors.push_back(InvalidValue("spec.schedule", spec.schedule, problem));
    }
    bool has_zone = spec.schedule.view().find("TZ") != std::string_view::npos;
    bool had_zone = old != nullptr && old->spec.schedule.view().find("TZ") != std::string_view::npos;
    if (had_zone && has_zone && spec.time_zone.has_value()) {
      errors.push_back(InvalidValue("spec.schedule", spec.schedule, "cannot use both timeZone field and TZ or CRON_TZ in schedule"));
    } else if (!had_zone && has_zone) {
      errors.push_back(InvalidValue("spec.schedule", spec.schedule, "cannot use TZ or CRON_TZ in schedule, use timeZone field instead"));
    }
  }
  if (spec.starting_deadline_seconds.has_value()) CheckNonNegative(errors, "spec.startingDeadlineSeconds", *spec.starting_deadline_seconds);
  if (spec.time_zone.has_value() && spec.time_zone->empty()) {
    errors.push_back(InvalidValue("spec.timeZone", "", "timeZone must be nil or non-empty string"));
  }
  CheckEnum(errors, "spec.concurrencyPolicy", spec.concurrency_policy, {"Allow", "Forbid", "Replace"});
  CheckJobSpec(errors, "spec.jobTemplate.spec", spec.job_template.spec);
  if (spec.job_template.spec.selector.has_value()) {
    errors.push_back(
        InvalidValue("spec.jobTemplate.spec.selector", Shown(spec.job_template.spec.selector), "`selector` will be auto-generated"));
  }
  if (spec.job_template.spec.manual_selector.value_or(false)) {
    errors.push_back(NotSupported("spec.jobTemplate.spec.manualSelector", true, {"nil", "false"}));
  }
  CheckOptional(errors, "spec.successfulJobsHistoryLimit", spec.successful_jobs_history_limit);
  CheckOptional(errors, "spec.failedJobsHistoryLimit", spec.failed_jobs_history_limit);
  if (old == nullptr && object.metadata.name.size() > 52) {
    errors.push_back(InvalidValue("metadata.name", object.metadata.name, "must be no more than 52 characters"));
  }
}

}  // namespace kube::apiserver::builtin
