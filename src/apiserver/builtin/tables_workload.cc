#include "apiserver/builtin/convert.h"
#include "apiserver/builtin/tables_internal.h"
#include "kube/api/apps/v1.h"
#include "kube/api/autoscaling/v1.h"
#include "kube/api/autoscaling/v2.h"
#include "kube/api/batch/v1.h"
#include "kube/api/policy/v1.h"
#include "kube/meta/gvk.h"
#include "kube/meta/selector.h"

namespace kube::apiserver::builtin {
namespace {

std::string Of(std::int64_t some, std::int64_t all) { return std::to_string(some) + "/" + std::to_string(all); }

Cells DeploymentRow(const apps::v1::Deployment& d, Time now) {
  const auto& containers = d.spec.template_.spec.containers;
  Result<Selector> selector = Selector::FromLabelSelector(d.spec.selector);
  return {d.metadata.name,
          Of(d.status.ready_replicas, d.spec.replicas.value_or(0)),
          d.status.updated_replicas,
          d.status.available_replicas,
          AgeOf(d.metadata, now),
          ContainerNames(containers),
          ContainerImages(containers),
          selector ? selector->ToString() : std::string("<invalid>")};
}

Cells ReplicaSetRow(const apps::v1::ReplicaSet& r, Time now) {
  const auto& containers = r.spec.template_.spec.containers;
  return {r.metadata.name,        r.spec.replicas.value_or(0), r.status.replicas,           r.status.ready_replicas,
          AgeOf(r.metadata, now), ContainerNames(containers),  ContainerImages(containers), PrintSelector(r.spec.selector)};
}

Cells ReplicationControllerRow(const core::v1::ReplicationController& r, Time now) {
  const auto& containers = r.spec.template_->spec.containers;
  return {r.metadata.name,        r.spec.replicas.value_or(0), r.status.replicas,           r.status.ready_replicas,
          AgeOf(r.metadata, now), ContainerNames(containers),  ContainerImages(containers), PrintLabels(r.spec.selector)};
}

Cells StatefulSetRow(const apps::v1::StatefulSet& s, Time now) {
  const auto& containers = s.spec.template_.spec.containers;
  return {s.metadata.name, Of(s.status.ready_replicas, s.spec.replicas.value_or(0)), AgeOf(s.metadata, now), ContainerNames(containers),
          ContainerImages(containers)};
}

Cells DaemonSetRow(const apps::v1::DaemonSet& d, Time now) {
  const auto& containers = d.spec.template_.spec.containers;
  return {d.metadata.name,
          d.status.desired_number_scheduled,
          d.status.current_number_scheduled,
          d.status.number_ready,
          d.status.updated_number_scheduled,
          d.status.number_available,
          PrintLabels(d.spec.template_.spec.node_selector),
          AgeOf(d.metadata, now),
          ContainerNames(containers),
          ContainerImages(containers),
          PrintSelector(d.spec.selector)};
}

Cells ControllerRevisionRow(const apps::v1::ControllerRevision& r, Time now) {
  std::string controller = "<none>";
  for (const auto& owner : r.metadata.owner_references) {
    if (!owner.controller.value_or(false)) continue;
    Result<GroupVersion> gv = GroupVersion::Parse(owner.api_version);
    std::string group = gv && !gv->group.empty() ? "." + gv->group.str() : "";
    controller = Lower(owner.kind.str() + group) + "/" + owner.name.str();
    break;
  }
  return {r.metadata.name, controller, r.revision, AgeOf(r.metadata, now)};
}

bool Has(const batch::v1::Job& job, std::string_view type) {
  for (const auto& c : job.status.conditions) {
    if (c.type == type) return c.status == "True";
  }
  return false;
}

std::string JobStatus(const batch::v1::Job& job) {
  if (Has(job, "Complete")) return "Complete";
  if (Has(job, "Failed")) return "Failed";
  if (!job.metadata.deletion_timestamp.IsZero()) return "Terminating";
  for (const char* type : {"Suspended", "FailureTarget", "SuccessCriteriaMet"}) {
    if (Has(job, type)) return type;
  }
  return "Running";
}

Cells JobRow(const batch::v1::Job& job, Time now) {
  std::string completions;
  if (job.spec.completions.has_value()) {
    completions = Of(job.status.succeeded, *job.spec.completions);
  } else {
    std::int32_t parallelism = job.spec.parallelism.value_or(0);
    completions = Of(job.status.succeeded, 1);
    if (parallelism > 1) completions += " of " + std::to_string(parallelism);
  }
  std::string took;
  if (!job.status.start_time.IsZero()) {
    took = HumanDuration((job.status.completion_time.IsZero() ? now : job.status.completion_time) - job.status.start_time);
  }
  const auto& containers = job.spec.template_.spec.containers;
  return {job.metadata.name,
          JobStatus(job),
          completions,
          took,
          AgeOf(job.metadata, now),
          ContainerNames(containers),
          ContainerImages(containers),
          PrintSelector(job.spec.selector)};
}

Cells CronJobRow(const batch::v1::CronJob& job, Time now) {
  std::string last = job.status.last_schedule_time.IsZero() ? "<none>" : Ago(job.status.last_schedule_time, now);
  std::string suspend = !job.spec.suspend.has_value() ? "<unset>" : *job.spec.suspend ? "True" : "False";
  const auto& containers = job.spec.job_template.spec.template_.spec.containers;
  return {job.metadata.name,
          job.spec.schedule,
          Or(job.spec.time_zone, "<none>"),
          suspend,
          static_cast<std::int64_t>(job.status.active.size()),
          last,
          AgeOf(job.metadata, now),
          ContainerNames(containers),
          ContainerImages(containers),
          PrintSelector(job.spec.job_template.spec.selector)};
}

Cells BudgetRow(const policy::v1::PodDisruptionBudget& b, Time now) {
  auto text = [](const std::optional<IntOrString>& v) { return v.has_value() ? v->ToString() : std::string("N/A"); };
  return {b.metadata.name, text(b.spec.min_available), text(b.spec.max_unavailable), b.status.disruptions_allowed, AgeOf(b.metadata, now)};
}

// ---- Autoscalers ----

namespace v2 = autoscaling::v2;

std::string Amount(const std::optional<Quantity>& q) { return q.has_value() ? q->ToString() : "<nil>"; }
std::string Percent(const std::optional<std::int32_t>& p, const char* fallback) {
  return p.has_value() ? std::to_string(*p) + "%" : fallback;
}

// "<unknown>/10", "5/10 (avg)": metrics of objects and of the world outside.
template <typename Source, typename Status>
std::string ValueMetric(const Source& source, const Box<Status>& status) {
  if (source.target.average_value.has_value()) {
    bool known = status.has_value() && status->current.average_value.has_value();
    return (known ? Amount(status->current.average_value) : "<unknown>") + "/" + Amount(source.target.average_value) + " (avg)";
  }
  return (status.has_value() ? Amount(status->current.value) : "<unknown>") + "/" + Amount(source.target.value);
}

// "cpu: 50%/80%": metrics of a pod's resources.
template <typename Source, typename Status>
std::string ResourceMetric(const Source& source, const Box<Status>& status) {
  std::string out = source.name.str() + ": ";
  if (source.target.average_value.has_value()) {
    return out + (status.has_value() ? Amount(status->current.average_value) : "<unknown>") + "/" + Amount(source.target.average_value);
  }
  return out + Percent(status->current.average_utilization, "<unknown>") + "/" + Percent(source.target.average_utilization, "<auto>");
}

std::string Metrics(const v2::HorizontalPodAutoscaler& a) {
  const auto& specs = a.spec.metrics;
  if (specs.empty()) return "<none>";
  std::vector<std::string> out;
  for (std::size_t i = 0; i < specs.size(); ++i) {
    const v2::MetricSpec& spec = specs[i];
    const v2::MetricStatus status = i < a.status.current_metrics.size() ? a.status.current_metrics[i] : v2::MetricStatus{};
    if (spec.type == "External") {
      out.push_back(ValueMetric(*spec.external, status.external));
    } else if (spec.type == "Object") {
      out.push_back(ValueMetric(*spec.object, status.object));
    } else if (spec.type == "Pods") {
      out.push_back((status.pods.has_value() ? Amount(status.pods->current.average_value) : "<unknown>") + "/" +
                    Amount(spec.pods->target.average_value));
    } else if (spec.type == "Resource") {
      out.push_back(ResourceMetric(*spec.resource, status.resource));
    } else if (spec.type == "ContainerResource") {
      out.push_back(ResourceMetric(*spec.container_resource, status.container_resource));
    } else {
      out.push_back("<unknown type>");
    }
  }
  if (out.size() <= 2) return Join(out, ", ");
  return out[0] + ", " + out[1] + " + " + std::to_string(out.size() - 2) + " more...";
}

Cells AutoscalerRow(const v2::HorizontalPodAutoscaler& a, Time now) {
  return {a.metadata.name,
          a.spec.scale_target_ref.kind.str() + "/" + a.spec.scale_target_ref.name.str(),
          Metrics(a),
          a.spec.min_replicas.has_value() ? std::to_string(*a.spec.min_replicas) : std::string("<unset>"),
          a.spec.max_replicas,
          a.status.current_replicas,
          AgeOf(a.metadata, now)};
}

Cells AutoscalerV1Row(const autoscaling::v1::HorizontalPodAutoscaler& a, Time now) { return AutoscalerRow(ToV2Autoscaler(a), now); }

}  // namespace

void AddWorkloadTables(TableRegistry& r) {
  const TableColumn containers = Text("Containers", 1), images = Text("Images", 1), selector = Text("Selector", 1);
  r.Add<apps::v1::Deployment, DeploymentRow>(
      {NameColumn(), Text("Ready"), Text("Up-to-date"), Text("Available"), AgeColumn(), containers, images, selector});
  const TableColumns replicas = {NameColumn(), Number("Desired"), Number("Current"), Number("Ready"), AgeColumn(), containers,
                                 images,       selector};
  r.Add<apps::v1::ReplicaSet, ReplicaSetRow>(replicas);
  r.Add<core::v1::ReplicationController, ReplicationControllerRow>(replicas);
  r.Add<apps::v1::StatefulSet, StatefulSetRow>({NameColumn(), Text("Ready"), AgeColumn(), containers, images});
  r.Add<apps::v1::DaemonSet, DaemonSetRow>({NameColumn(), Number("Desired"), Number("Current"), Number("Ready"), Number("Up-to-date"),
                                            Number("Available"), Text("Node Selector"), AgeColumn(), containers, images, selector});
  r.Add<apps::v1::ControllerRevision, ControllerRevisionRow>({NameColumn(), Text("Controller"), Text("Revision"), AgeColumn()});
  r.Add<batch::v1::Job, JobRow>(
      {NameColumn(), Text("Status"), Text("Completions"), Text("Duration"), AgeColumn(), containers, images, selector});
  r.Add<batch::v1::CronJob, CronJobRow>({NameColumn(), Text("Schedule"), Text("Timezone"), Flag("Suspend"), Number("Active"),
                                         Text("Last Schedule"), AgeColumn(), containers, images, selector});
  r.Add<policy::v1::PodDisruptionBudget, BudgetRow>(
      {NameColumn(), Text("Min Available"), Text("Max Unavailable"), Number("Allowed Disruptions"), AgeColumn()});
  const TableColumns autoscaler = {NameColumn(),    Text("Reference"), Text("Targets"), Text("MinPods"),
                                   Text("MaxPods"), Text("Replicas"),  AgeColumn()};
  r.Add<v2::HorizontalPodAutoscaler, AutoscalerRow>(autoscaler);
  r.Add<autoscaling::v1::HorizontalPodAutoscaler, AutoscalerV1Row>(autoscaler);
}

}  // namespace kube::apiserver::builtin
