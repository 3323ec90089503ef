#include "apiserver/builtin/convert.h"

#include <utility>

#include "apiserver/builtin/server_form.h"
#include "kube/api/autoscaling/v1.h"
#include "kube/api/autoscaling/v2.h"
#include "kube/api/core/v1.h"
#include "kube/api/events/v1.h"
#include "kube/codec/json.h"

namespace kube::apiserver {
namespace {

namespace v1 = autoscaling::v1;
namespace v2 = autoscaling::v2;

// ---- Events ----

core::v1::Event Convert(const events::v1::Event& in) {
  core::v1::Event out;
  out.metadata = in.metadata;
  out.involved_object = in.regarding;
  out.reason = in.reason;
  out.message = in.note;
  out.source = in.deprecated_source;
  out.first_timestamp = in.deprecated_first_timestamp;
  out.last_timestamp = in.deprecated_last_timestamp;
  out.count = in.deprecated_count;
  out.type = in.type;
  out.event_time = in.event_time;
  if (in.series.has_value())
    out.series = core::v1::EventSeries{.count = in.series->count, .last_observed_time = in.series->last_observed_time};
  out.action = in.action;
  out.related = in.related;
  out.reporting_component = in.reporting_controller;
  out.reporting_instance = in.reporting_instance;
  return out;
}

events::v1::Event Convert(const core::v1::Event& in) {
  events::v1::Event out;
  out.metadata = in.metadata;
  out.regarding = in.involved_object;
  out.reason = in.reason;
  out.note = in.message;
  out.deprecated_source = in.source;
  out.deprecated_first_timestamp = in.first_timestamp;
  out.deprecated_last_timestamp = in.last_timestamp;
  out.deprecated_count = in.count;
  out.type = in.type;
  out.event_time = in.event_time;
  if (in.series.has_value())
    out.series = events::v1::EventSeries{.count = in.series->count, .last_observed_time = in.series->last_observed_time};
  out.action = in.action;
  out.related = in.related;
  out.reporting_controller = in.reporting_component;
  out.reporting_instance = in.reporting_instance;
  return out;
}

// ---- Autoscalers ----

constexpr const char* kMetrics = "autoscaling.alpha.kubernetes.io/metrics";
constexpr const char* kCurrentMetrics = "autoscaling.alpha.kubernetes.io/current-metrics";
constexpr const char* kConditions = "autoscaling.alpha.kubernetes.io/conditions";
constexpr const char* kBehavior = "autoscaling.alpha.kubernetes.io/behavior";

template <typename To, typename From>
To Reference(const From& from) {
  To to;
  to.kind = from.kind;
  to.name = from.name;
  to.api_version = from.api_version;
  return to;
}

template <typename T>
Value ListToValue(const List<T>& items) {
  Value out = Value::Array();
  for (const T& item : items) {
    if (auto value = ToServerValue(T::kType, &item)) out.MutableList().push_back(*value);
  }
  return out;
}

template <typename T>
bool ListFromText(std::string_view text, List<T>& out) {
  Result<Value> value = ParseJson(text);
  if (!value || !value->is_list()) return false;
  for (const Value& item : value->list()) {
    Result<T> decoded = FromValue<T>(item);
    if (!decoded) return false;
    out.push_back(*decoded);
  }
  return true;
}

bool IsCpuUtilization(const v2::MetricSpec& m) {
  return m.type == "Resource" && m.resource.has_value() && m.resource->name == "cpu" && m.resource->target.average_utilization.has_value();
}

v2::MetricSpec CpuUtilization(std::int32_t percent) {
  v2::MetricSpec m;
  m.type = "Resource";
  auto& r = m.resource.Mutable();
  r.name = "cpu";
  r.target.type = "Utilization";
  r.target.average_utilization = percent;
  return m;
}

v1::MetricSpec Convert(const v2::MetricSpec& in) {
  v1::MetricSpec out;
  out.type = in.type;
  if (in.object.has_value()) {
    auto& o = out.object.Mutable();
    o.target = Reference<v1::CrossVersionObjectReference>(in.object->described_object);
    o.metric_name = in.object->metric.name;
    o.selector = in.object->metric.selector;
    o.target_value = in.object->target.value.value_or(Quantity());
    o.average_value = in.object->target.average_value;
  }
  if (in.pods.has_value()) {
    auto& p = out.pods.Mutable();
    p.metric_name = in.pods->metric.name;
    p.selector = in.pods->metric.selector;
    p.target_average_value = in.pods->target.average_value.value_or(Quantity());
  }
  if (in.resource.has_value()) {
    auto& r = out.resource.Mutable();
    r.name = in.resource->name;
    r.target_average_value = in.resource->target.average_value;
    r.target_average_utilization = in.resource->target.average_utilization;
  }
  if (in.container_resource.has_value()) {
    auto& r = out.container_resource.Mutable();
    r.name = in.container_resource->name;
    r.container = in.container_resource->container;
    r.target_average_value = in.container_resource->target.average_value;
    r.target_average_utilization = in.container_resource->target.average_utilization;
  }
  if (in.external.has_value()) {
    auto& e = out.external.Mutable();
    e.metric_name = in.external->metric.name;
    e.metric_selector = in.external->metric.selector;
    e.target_value = in.external->target.value;
    e.target_average_value = in.external->target.average_value;
  }
  return out;
}

String TargetType(bool other, const char* type) { return other ? type : "AverageValue"; }

v2::MetricSpec Convert(const v1::MetricSpec& in) {
  v2::MetricSpec out;
  out.type = in.type;
  if (in.object.has_value()) {
    auto& o = out.object.Mutable();
    o.described_object = Reference<v2::CrossVersionObjectReference>(in.object->target);
    o.metric.name = in.object->metric_name;
    o.metric.selector = in.object->selector;
    o.target.average_value = in.object->average_value;
    o.target.type = TargetType(!in.object->average_value.has_value(), "Value");
    if (!in.object->average_value.has_value() || !in.object->target_value.IsZero()) o.target.value = in.object->target_value;
  }
  if (in.pods.has_value()) {
    auto& p = out.pods.Mutable();
    p.metric.name = in.pods->metric_name;
    p.metric.selector = in.pods->selector;
    p.target.type = "AverageValue";
    p.target.average_value = in.pods->target_average_value;
  }
  if (in.resource.has_value()) {
    auto& r = out.resource.Mutable();
    r.name = in.resource->name;
    r.target.type = TargetType(in.resource->target_average_utilization.has_value(), "Utilization");
    r.target.average_value = in.resource->target_average_value;
    r.target.average_utilization = in.resource->target_average_utilization;
  }
  if (in.container_resource.has_value()) {
    auto& r = out.container_resource.Mutable();
    r.name = in.container_resource->name;
    r.container = in.container_resource->container;
    r.target.type = TargetType(in.container_resource->target_average_utilization.has_value(), "Utilization");
    r.target.average_value = in.container_resource->target_average_value;
    r.target.average_utilization = in.container_resource->target_average_utilization;
  }
  if (in.external.has_value()) {
    auto& e = out.external.Mutable();
    e.metric.name = in.external->metric_name;
    e.metric.selector = in.external->metric_selector;
    e.target.type = TargetType(in.external->target_value.has_value(), "Value");
    e.target.value = in.external->target_value;
    e.target.average_value = in.external->target_average_value;
  }
  return out;
}

v1::MetricStatus Convert(const v2::MetricStatus& in) {
  v1::MetricStatus out;
  out.type = in.type;
  if (in.object.has_value()) {
    auto& o = out.object.Mutable();
    o.target = Reference<v1::CrossVersionObjectReference>(in.object->described_object);
    o.metric_name = in.object->metric.name;
    o.selector = in.object->metric.selector;
    o.current_value = in.object->current.value.value_or(Quantity());
    o.average_value = in.object->current.average_value;
  }
  if (in.pods.has_value()) {
    auto& p = out.pods.Mutable();
    p.metric_name = in.pods->metric.name;
    p.selector = in.pods->metric.selector;
    p.current_average_value = in.pods->current.average_value.value_or(Quantity());
  }
  if (in.resource.has_value()) {
    auto& r = out.resource.Mutable();
    r.name = in.resource->name;
    r.current_average_utilization = in.resource->current.average_utilization;
    r.current_average_value = in.resource->current.average_value.value_or(Quantity());
  }
  if (in.container_resource.has_value()) {
    auto& r = out.container_resource.Mutable();
    r.name = in.container_resource->name;
    r.container = in.container_resource->container;
    r.current_average_utilization = in.container_resource->current.average_utilization;
    r.current_average_value = in.container_resource->current.average_value.value_or(Quantity());
  }
  if (in.external.has_value()) {
    auto& e = out.external.Mutable();
    e.metric_name = in.external->metric.name;
    e.metric_selector = in.external->metric.selector;
    e.current_value = in.external->current.value.value_or(Quantity());
    e.current_average_value = in.external->current.average_value;
  }
  return out;
}

v2::MetricStatus Convert(const v1::MetricStatus& in) {
  v2::MetricStatus out;
  out.type = in.type;
  if (in.object.has_value()) {
    auto& o = out.object.Mutable();
    o.described_object = Reference<v2::CrossVersionObjectReference>(in.object->target);
    o.metric.name = in.object->metric_name;
    o.metric.selector = in.object->selector;
    o.current.value = in.object->current_value;
    o.current.average_value = in.object->average_value;
  }
  if (in.pods.has_value()) {
    auto& p = out.pods.Mutable();
    p.metric.name = in.pods->metric_name;
    p.metric.selector = in.pods->selector;
    p.current.average_value = in.pods->current_average_value;
  }
  if (in.resource.has_value()) {
    auto& r = out.resource.Mutable();
    r.name = in.resource->name;
    r.current.average_utilization = in.resource->current_average_utilization;
    r.current.average_value = in.resource->current_average_value;
  }
  if (in.container_resource.has_value()) {
    auto& r = out.container_resource.Mutable();
    r.name = in.container_resource->name;
    r.container = in.container_resource->container;
    r.current.average_utilization = in.container_resource->current_average_utilization;
    r.current.average_value = in.container_resource->current_average_value;
  }
  if (in.external.has_value()) {
    auto& e = out.external.Mutable();
    e.metric.name = in.external->metric_name;
    e.metric.selector = in.external->metric_selector;
    e.current.value = in.external->current_value;
    e.current.average_value = in.external->current_average_value;
  }
  return out;
}

void DropOwnAnnotations(Map<String>& annotations) {
  for (const char* name : {kMetrics, kCurrentMetrics, kConditions, kBehavior}) annotations.Erase(name);
}

template <typename To, typename From>
void CopyCommonStatus(To& to, const From& from) {
  to.observed_generation = from.observed_generation;
  to.last_scale_time = from.last_scale_time;
  to.current_replicas = from.current_replicas;
  to.desired_replicas = from.desired_replicas;
}

v1::HorizontalPodAutoscaler Convert(const v2::HorizontalPodAutoscaler& in) {
  v1::HorizontalPodAutoscaler out;
  out.metadata = in.metadata;
  DropOwnAnnotations(out.metadata.annotations);
  out.spec.scale_target_ref = Reference<v1::CrossVersionObjectReference>(in.spec.scale_target_ref);
  out.spec.min_replicas = in.spec.min_replicas;
  out.spec.max_replicas = in.spec.max_replicas;
  CopyCommonStatus(out.status, in.status);

  List<v1::MetricSpec> others;
  for (const v2::MetricSpec& m : in.spec.metrics) {
    if (!IsCpuUtilization(m)) {
      others.push_back(Convert(m));
    } else if (!out.spec.target_cpu_utilization_percentage.has_value()) {
      out.spec.target_cpu_utilization_percentage = m.resource->target.average_utilization;
    }
  }
  auto& annotations = out.metadata.annotations;
  if (!others.empty()) annotations.Set(kMetrics, ToJson(ListToValue(others)));
  List<v1::MetricStatus> current;
  for (const v2::MetricStatus& m : in.status.current_metrics) {
    current.push_back(Convert(m));
    if (m.type == "Resource" && m.resource->name == "cpu" && m.resource->current.average_utilization.has_value()) {
      out.status.current_cpu_utilization_percentage = m.resource->current.average_utilization;
    }
  }
  if (!current.empty()) annotations.Set(kCurrentMetrics, ToJson(ListToValue(current)));
  if (in.spec.behavior.has_value()) {
    if (auto text = ToJson(*in.spec.behavior)) annotations.Set(kBehavior, *text);
  }
  if (!in.status.conditions.empty()) annotations.Set(kConditions, ToJson(ListToValue(in.status.conditions)));
  return out;
}

v2::HorizontalPodAutoscaler Convert(const v1::HorizontalPodAutoscaler& in) {
  v2::HorizontalPodAutoscaler out;
  out.metadata = in.metadata;
  out.spec.scale_target_ref = Reference<v2::CrossVersionObjectReference>(in.spec.scale_target_ref);
  out.spec.min_replicas = in.spec.min_replicas;
  out.spec.max_replicas = in.spec.max_replicas;
  CopyCommonStatus(out.status, in.status);

  const auto& annotations = in.metadata.annotations;
  List<v1::MetricSpec> others;
  if (ListFromText(annotations.Get(kMetrics), others)) {
    for (const v1::MetricSpec& m : std::as_const(others)) out.spec.metrics.push_back(Convert(m));
  }
  if (in.spec.target_cpu_utilization_percentage.has_value()) {
    out.spec.metrics.push_back(CpuUtilization(*in.spec.target_cpu_utilization_percentage));
  }
  if (out.spec.metrics.empty()) out.spec.metrics.push_back(CpuUtilization(80));
  if (const String* text = annotations.Find(kBehavior)) {
    if (auto behavior = FromJson<v2::HorizontalPodAutoscalerBehavior>(*text)) out.spec.behavior = *behavior;
  }
  List<v1::MetricStatus> current;
  if (ListFromText(annotations.Get(kCurrentMetrics), current)) {
    for (const v1::MetricStatus& m : std::as_const(current)) out.status.current_metrics.push_back(Convert(m));
  } else if (in.status.current_cpu_utilization_percentage.has_value()) {
    v2::MetricStatus m;
    m.type = "Resource";
    m.resource.Mutable().name = "cpu";
    m.resource.Mutable().current.average_utilization = in.status.current_cpu_utilization_percentage;
    out.status.current_metrics.push_back(m);
  }
  List<v2::HorizontalPodAutoscalerCondition> conditions;
  if (ListFromText(annotations.Get(kConditions), conditions)) out.status.conditions = conditions;
  DropOwnAnnotations(out.metadata.annotations);
  return out;
}

template <typename From>
Value ConvertValue(Value value) {
  Result<From> in = FromValue<From>(value);
  if (!in) return value;
  auto out = Convert(*in);
  Result<Value> converted = ToServerValue(decltype(out)::kType, &out);
  return converted ? *std::move(converted) : value;
}

Value WithVersion(const TypeInfo& type, Value value) {
  if (type.kind != nullptr && value.is_object()) {
    std::string version(type.kind->group);
    if (!version.empty()) version += '/';
    value["apiVersion"] = version + std::string(type.kind->version);
  }
  return value;
}

}  // namespace

core::v1::Event ToCoreEvent(const events::v1::Event& event) { return Convert(event); }
v2::HorizontalPodAutoscaler ToV2Autoscaler(const v1::HorizontalPodAutoscaler& autoscaler) { return Convert(autoscaler); }

Value ConvertForStorage(const BuiltinResource& resource, Value object) {
  if (resource.type == resource.stored_type) return object;
  if (resource.type == &events::v1::Event::kType) return ConvertValue<events::v1::Event>(std::move(object));
  if (resource.type == &v1::HorizontalPodAutoscaler::kType) return ConvertValue<v1::HorizontalPodAutoscaler>(std::move(object));
  return WithVersion(*resource.stored_type, std::move(object));
}

Value ConvertFromStorage(const BuiltinResource& resource, Value stored) {
  if (resource.type == resource.stored_type) return stored;
  if (resource.type == &events::v1::Event::kType) return ConvertValue<core::v1::Event>(std::move(stored));
  if (resource.type == &v1::HorizontalPodAutoscaler::kType) return ConvertValue<v2::HorizontalPodAutoscaler>(std::move(stored));
  return WithVersion(*resource.type, std::move(stored));
}

}  // namespace kube::apiserver
