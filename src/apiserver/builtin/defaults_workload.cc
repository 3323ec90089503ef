#include <limits>

#include "apiserver/builtin/defaults_table.h"
#include "kube/api/apps/v1.h"
#include "kube/api/autoscaling/v1.h"
#include "kube/api/autoscaling/v2.h"
#include "kube/api/batch/v1.h"

namespace kube::apiserver::builtin {
namespace {

void DefaultDeployment(apps::v1::Deployment& d) {
  apps::v1::DeploymentSpec& spec = d.spec;
  Default(spec.replicas, 1);
  Default(spec.strategy.type, "RollingUpdate");
  if (spec.strategy.type == "RollingUpdate") {
    auto& rolling = spec.strategy.rolling_update.Mutable();
    Default(rolling.max_unavailable, IntOrString("25%"));
    Default(rolling.max_surge, IntOrString("25%"));
  }
  Default(spec.revision_history_limit, 10);
  Default(spec.progress_deadline_seconds, 600);
}

void DefaultReplicaSet(apps::v1::ReplicaSet& r) { Default(r.spec.replicas, 1); }

void DefaultDaemonSet(apps::v1::DaemonSet& d) {
  auto& strategy = d.spec.update_strategy;
  Default(strategy.type, "RollingUpdate");
  if (strategy.type == "RollingUpdate") {
    auto& rolling = strategy.rolling_update.Mutable();
    Default(rolling.max_unavailable, IntOrString(1));
    Default(rolling.max_surge, IntOrString(0));
  }
  Default(d.spec.revision_history_limit, 10);
}

void DefaultStatefulSet(apps::v1::StatefulSet& s) {
  apps::v1::StatefulSetSpec& spec = s.spec;
  Default(spec.pod_management_policy, "OrderedReady");
  if (spec.update_strategy.type.empty()) {
    spec.update_strategy.type = "RollingUpdate";
    spec.update_strategy.rolling_update.Mutable();
  }
  if (spec.update_strategy.type == "RollingUpdate" && spec.update_strategy.rolling_update.has_value()) {
    Default(spec.update_strategy.rolling_update.Mutable().partition, 0);
  }
  auto& retention = spec.persistent_volume_claim_retention_policy.Mutable();
  Default(retention.when_deleted, "Retain");
  Default(retention.when_scaled, "Retain");
  Default(spec.replicas, 1);
  Default(spec.revision_history_limit, 10);
}

void DefaultJob(batch::v1::Job& job) {
  batch::v1::JobSpec& spec = job.spec;
  if (!spec.completions.has_value() && !spec.parallelism.has_value()) spec.completions = 1;
  Default(spec.parallelism, 1);
  Default(spec.backoff_limit, spec.backoff_limit_per_index.has_value() ? std::numeric_limits<std::int32_t>::max() : 6);
  if (job.metadata.labels.empty()) job.metadata.labels = spec.template_.metadata.labels;
  Default(spec.completion_mode, String("NonIndexed"));
  Default(spec.suspend, false);
  Default(spec.pod_replacement_policy, String(spec.pod_failure_policy.has_value() ? "Failed" : "TerminatingOrFailed"));
  Default(spec.manual_selector, false);
}

void DefaultCronJob(batch::v1::CronJob& job) {
  Default(job.spec.concurrency_policy, "Allow");
  Default(job.spec.suspend, false);
  Default(job.spec.successful_jobs_history_limit, 3);
  Default(job.spec.failed_jobs_history_limit, 1);
}

void DefaultPodCondition(batch::v1::PodFailurePolicyOnPodConditionsPattern& p) { Default(p.status, "True"); }

// What v2 can say and v1 cannot stands in annotations.
void DefaultAutoscalerV1(autoscaling::v1::HorizontalPodAutoscaler& a) {
  Default(a.spec.min_replicas, 1);
  if (!a.metadata.annotations.contains("autoscaling.alpha.kubernetes.io/metrics")) Default(a.spec.target_cpu_utilization_percentage, 80);
}

using autoscaling::v2::HPAScalingPolicy;
using autoscaling::v2::HPAScalingRules;

void DefaultScalingRules(Box<HPAScalingRules>& box, const List<HPAScalingPolicy>& policies, bool up) {
  HPAScalingRules& rules = box.Mutable();
  Default(rules.select_policy, String("Max"));
  if (up) Default(rules.stabilization_window_seconds, 0);
  if (rules.policies.empty()) rules.policies = policies;
}

void DefaultAutoscalerV2(autoscaling::v2::HorizontalPodAutoscaler& a) {
  Default(a.spec.min_replicas, 1);
  if (a.spec.metrics.empty()) {
    autoscaling::v2::MetricSpec metric;
    metric.type = "Resource";
    auto& resource = metric.resource.Mutable();
    resource.name = "cpu";
    resource.target.type = "Utilization";
    resource.target.average_utilization = 80;
    a.spec.metrics.push_back(metric);
  }
  if (!a.spec.behavior.has_value()) return;
  auto& behavior = a.spec.behavior.Mutable();
  const HPAScalingPolicy pods{.type = "Pods", .value = 4, .period_seconds = 15};
  const HPAScalingPolicy percent{.type = "Percent", .value = 100, .period_seconds = 15};
  DefaultScalingRules(behavior.scale_up, {pods, percent}, true);
  DefaultScalingRules(behavior.scale_down, {percent}, false);
}

}  // namespace

void AddWorkloadDefaults(DefaultsTable& t) {
  t.Add<apps::v1::Deployment, DefaultDeployment>();
  t.Add<apps::v1::ReplicaSet, DefaultReplicaSet>();
  t.Add<apps::v1::DaemonSet, DefaultDaemonSet>();
  t.Add<apps::v1::StatefulSet, DefaultStatefulSet>();
  t.Add<batch::v1::Job, DefaultJob>();
  t.Add<batch::v1::CronJob, DefaultCronJob>();
  t.Add<batch::v1::PodFailurePolicyOnPodConditionsPattern, DefaultPodCondition>();
  t.Add<autoscaling::v1::HorizontalPodAutoscaler, DefaultAutoscalerV1>();
  t.Add<autoscaling::v2::HorizontalPodAutoscaler, DefaultAutoscalerV2>();
}

}  // namespace kube::apiserver::builtin
