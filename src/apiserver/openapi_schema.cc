#include "apiserver/openapi_schema.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "kube/codec/json.h"
#include "kube/meta/v1.h"

namespace kube::apiserver {
namespace {

constexpr std::string_view kMetaV1 = "io.k8s.apimachinery.pkg.apis.meta.v1.";

Value TypeOnly(std::string_view type, std::string_view format = {}) {
  Value out = Value::Object({{"type", type}});
  if (!format.empty()) out["format"] = format;
  return out;
}

Value Split(std::string_view text) {
  Value out = Value::Array();
  for (std::size_t i = 0; i <= text.size();) {
    std::size_t comma = std::min(text.find(',', i), text.size());
    out.MutableList().push_back(text.substr(i, comma - i));
    i = comma + 1;
  }
  return out;
}

// Types that are scalars in JSON have a name of their own all the same.
Value ScalarSchema(FieldKind kind, OpenApiForm form) {
  bool v3 = form == OpenApiForm::kV3;
  switch (kind) {
    case FieldKind::kQuantity:
      if (v3) return Value::Object({{"oneOf", Value::Array({TypeOnly("string"), TypeOnly("number")})}});
      return TypeOnly("string");
    case FieldKind::kIntOrString:
      if (v3) return Value::Object({{"format", "int-or-string"}, {"oneOf", Value::Array({TypeOnly("integer"), TypeOnly("string")})}});
      return TypeOnly("string", "int-or-string");
    case FieldKind::kTime:
    case FieldKind::kMicroTime:
      return TypeOnly("string", "date-time");
    default:
      return TypeOnly("string");
  }
}

std::string ScalarName(FieldKind kind) {
  switch (kind) {
    case FieldKind::kQuantity:
      return "io.k8s.apimachinery.pkg.api.resource.Quantity";
    case FieldKind::kIntOrString:
      return "io.k8s.apimachinery.pkg.util.intstr.IntOrString";
    case FieldKind::kTime:
      return fmt::format("{}Time", kMetaV1);
    case FieldKind::kMicroTime:
      return fmt::format("{}MicroTime", kMetaV1);
    default:
      return fmt::format("{}Duration", kMetaV1);
  }
}

// The tables say which fields are always written, which is nearly the same as which ones a client has to give. Where it is not: by type,
// sorted, what must be given all the same (+) and what need not (-).
constexpr std::array<std::pair<std::string_view, std::string_view>, 57> kRequiredElsewise = {{
    {"admissionregistration.v1.MutatingWebhook", "+sideEffects"},
    {"admissionregistration.v1.ValidatingAdmissionPolicyBinding", "+spec"},
    {"admissionregistration.v1.ValidatingAdmissionPolicyBindingSpec", "+policyName,+validationActions"},
    {"admissionregistration.v1.ValidatingWebhook", "+sideEffects"},
    {"apiextensions.v1.CustomResourceDefinitionStatus", "-conditions,-acceptedNames,-storedVersions"},
    {"apps.v1.DaemonSetSpec", "+selector"},
    {"apps.v1.DeploymentSpec", "+selector"},
    {"apps.v1.ReplicaSetSpec", "+selector"},
    {"apps.v1.StatefulSetOrdinals", "-start"},
    {"apps.v1.StatefulSetSpec", "+selector,-serviceName"},
    {"apps.v1.StatefulSetStatus", "-availableReplicas"},
    {"authentication.v1.TokenRequest", "-spec"},
    {"authentication.v1.TokenRequestSpec", "-audiences"},
    {"authentication.v1.TokenRequestStatus", "-token"},
    {"authentication.v1.TokenReviewSpec", "+token"},
    {"autoscaling.v1.HorizontalPodAutoscaler", "+spec"},
    {"autoscaling.v2.HorizontalPodAutoscaler", "+spec"},
    {"autoscaling.v2.HorizontalPodAutoscalerStatus", "-currentMetrics"},
    {"batch.v1.CronJob", "+spec"},
    {"batch.v1.PodFailurePolicyOnPodConditionsPattern", "-status"},
    {"core.v1.ContainerImage", "-names"},
    {"core.v1.ContainerRestartRule", "+action"},
    {"core.v1.ContainerRestartRuleOnExitCodes", "+operator"},
    {"core.v1.Event", "-reportingComponent,-reportingInstance"},
    {"core.v1.ImageVolumeStatus", "+imageRef"},
    {"core.v1.NodeRuntimeHandler", "-name"},
    {"core.v1.PodCertificateProjection", "+signerName,+keyType"},
    {"core.v1.ProjectedVolumeSource", "-sources"},
    {"core.v1.ResourceFieldSelector", "-divisor"},
    {"core.v1.ScaleIOPersistentVolumeSource", "+secretRef"},
    {"core.v1.ScaleIOVolumeSource", "+secretRef"},
    {"discovery.v1.EndpointSlice", "-endpoints,-ports"},
    {"events.v1.Event", "+eventTime,-metadata"},
    {"events.v1.EventSeries", "+lastObservedTime"},
    {"flowcontrol.v1.FlowSchemaSpec", "-matchingPrecedence"},
    {"flowcontrol.v1.QueuingConfiguration", "-queues,-handSize,-queueLengthLimit"},
    {"flowcontrol.v1.ResourcePolicyRule", "-namespaces"},
    {"meta.v1.Condition", "+lastTransitionTime"},
    {"meta.v1.WatchEvent", "+object"},
    {"networking.v1.HTTPIngressPath", "+pathType"},
    {"networking.v1.IPAddress", "+spec"},
    {"networking.v1.IPAddressSpec", "+parentRef"},
    {"networking.v1.NetworkPolicySpec", "-podSelector"},
    {"networking.v1.ParentReference", "+resource,+name"},
    {"policy.v1.PodDisruptionBudgetStatus", "-disruptionsAllowed,-currentHealthy,-desiredHealthy,-expectedPods"},
    {"rbac.v1.ClusterRole", "-rules"},
    {"rbac.v1.Role", "-rules"},
    {"rbac.v1.RoleRef", "-apiGroup"},
    {"resource.v1.AllocatedDeviceStatus", "-conditions"},
    {"resource.v1.CapacityRequestPolicyRange", "+min"},
    {"resource.v1.CounterSet", "+counters"},
    {"resource.v1.DeviceClaim", "-requests"},
    {"resource.v1.DeviceCounterConsumption", "+counters"},
    {"resource.v1.OpaqueDeviceConfiguration", "+parameters"},
    {"resource.v1.ResourceClaimSpec", "-devices"},
    {"scheduling.v1.PriorityClass", "-value"},
    {"storage.v1.CSINodeDriver", "-topologyKeys"},
}};

// Maps and structs that are merged by their members although their type says otherwise.
constexpr std::array<std::pair<std::string_view, std::string_view>, 2> kGranular = {{
    {"core.v1.PersistentVolumeClaimStatus", "allocatedResourceStatuses"},
    {"core.v1.PersistentVolumeSpec", "claimRef"},
}};

bool StartsWith(std::string_view text, std::string_view prefix) { return text.substr(0, prefix.size()) == prefix; }

bool Truthy(const Value& schema, std::string_view key) { return schema[key].bool_value(); }

}  // namespace

std::string DefinitionName(const TypeInfo& type) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 3> kElsewhere = {{
      {"meta.", "io.k8s.apimachinery.pkg.apis."},
      {"apiextensions.", "io.k8s.apiextensions-apiserver.pkg.apis."},
      {"apiregistration.", "io.k8s.kube-aggregator.pkg.apis."},
  }};
  for (const auto& [group, prefix] : kElsewhere) {
    if (StartsWith(type.name, group)) return fmt::format("{}{}", prefix, type.name);
  }
  return fmt::format("io.k8s.api.{}", type.name);
}

std::string DefinitionName(const ServedResource& custom, std::string_view kind) {
  std::string out;
  for (std::size_t end = custom.group.size(); end != std::string::npos;) {
    std::size_t dot = end == 0 ? std::string::npos : custom.group.rfind('.', end - 1);
    std::size_t start = dot == std::string::npos ? 0 : dot + 1;
    out += custom.group.substr(start, end - start) + ".";
    end = dot;
  }
  return fmt::format("{}{}.{}", out, custom.version, kind);
}

Value Definitions::Ref(std::string_view name) const {
  std::string_view where = form_ == OpenApiForm::kV3 ? "#/components/schemas/" : "#/definitions/";
  return Value::Object({{"$ref", fmt::format("{}{}", where, name)}});
}

Value Definitions::MemberRef(Value ref, Value default_value) const {
  if (form_ == OpenApiForm::kV2) return ref;
  Value out = Value::Object({{"allOf", Value::Array({std::move(ref)})}});
  if (!default_value.is_null()) out["default"] = std::move(default_value);
  return out;
}

Value Definitions::RefTo(const TypeInfo& type) {
  std::string name = DefinitionName(type);
  if (schemas_.emplace(name, Value()).second) pending_.emplace_back(name, &type);
  return Ref(name);
}

Value Definitions::RefTo(std::string_view name, Value schema) {
  schemas_.emplace(std::string(name), std::move(schema));
  return Ref(name);
}

// The type of a field's elements, and their value if they are not set.
struct Definitions::Element {
  Value schema;
  bool is_ref = false;
  Value zero;
};

Definitions::Element Definitions::ElementOf(const FieldInfo& field, const TypeInfo& owner) {
  switch (field.kind) {
    case FieldKind::kBool:
      return {TypeOnly("boolean"), false, false};
    case FieldKind::kInt32:
      return {TypeOnly("integer", "int32"), false, 0};
    case FieldKind::kInt64:
      return {TypeOnly("integer", "int64"), false, 0};
    case FieldKind::kDouble:
      return {TypeOnly("number", "double"), false, 0};
    case FieldKind::kString:
      return {TypeOnly("string"), false, ""};
    case FieldKind::kBytes:
      return {TypeOnly("string", "byte"), false, {}};
    case FieldKind::kQuantity:
    case FieldKind::kTime:
    case FieldKind::kMicroTime:
    case FieldKind::kDuration:
    case FieldKind::kIntOrString:
      return {RefTo(ScalarName(field.kind), ScalarSchema(field.kind, form_)), true, {}};
    case FieldKind::kRawJson:
      if (field.json_name == "fieldsV1") return {RefTo(fmt::format("{}FieldsV1", kMetaV1), TypeOnly("object")), true, {}};
      if (StartsWith(owner.name, "apiextensions.")) {
        std::string name = DefinitionName(owner);
        return {RefTo(name.substr(0, name.rfind('.')) + ".JSON", Value::Object()), true, {}};
      }
      return {RefTo("io.k8s.apimachinery.pkg.runtime.RawExtension", TypeOnly("object")), true, {}};
    case FieldKind::kMessage:
    case FieldKind::kInline:
      break;
  }
  const TypeInfo& type = *field.type;
  if (type.form == TypeForm::kOnlyField) return {FieldSchema(*type.begin(), type), false, {}};
  if (type.form == TypeForm::kByToken) return {RefTo(DefinitionName(type), Value::Object()), true, {}};
  if (field.extra != nullptr && field.extra->atomic) atomic_.push_back(DefinitionName(type));
  return {RefTo(type), true, Value::Object()};
}

Value Definitions::FieldSchema(const FieldInfo& field, const TypeInfo& owner) {
  Element element = ElementOf(field, owner);
  const FieldExtra* extra = field.extra;
  if (extra != nullptr && !extra->enum_values.empty() && !element.is_ref) element.schema["enum"] = Split(extra->enum_values);
  bool defaults = form_ == OpenApiForm::kV3;
  Value given;
  if (extra != nullptr && !extra->default_json.empty()) {
    if (Result<Value> parsed = ParseJson(extra->default_json)) given = *std::move(parsed);
  }

  Value out;
  if (field.shape == FieldShape::kList || field.shape == FieldShape::kMap) {
    Value inner = std::move(element.schema);
    if (defaults && !element.zero.is_null()) {
      if (element.is_ref) {
        inner = MemberRef(std::move(inner), element.zero);
      } else {
        inner["default"] = element.zero;
      }
    }
    bool list = field.shape == FieldShape::kList;
    out = Value::Object({{"type", list ? "array" : "object"}, {list ? "items" : "additionalProperties", std::move(inner)}});
    if (defaults && !given.is_null()) out["default"] = std::move(given);
  } else {
    if (given.is_null() && field.shape == FieldShape::kPlain && (field.required || element.is_ref)) given = element.zero;
    if (!defaults) given = Value();
    if (element.is_ref) {
      out = MemberRef(std::move(element.schema), std::move(given));
    } else {
      out = std::move(element.schema);
      if (!given.is_null()) out["default"] = std::move(given);
    }
  }

  if (std::find(kGranular.begin(), kGranular.end(), std::pair(owner.name, field.json_name)) != kGranular.end()) {
    out["x-kubernetes-map-type"] = "granular";
  }
  if (extra == nullptr) return out;
  if (extra->list_type != ListType::kUnset) {
    out["x-kubernetes-list-type"] = extra->list_type == ListType::kAtomic ? "atomic" : extra->list_type == ListType::kSet ? "set" : "map";
  }
  if (!extra->map_keys.empty()) out["x-kubernetes-list-map-keys"] = Split(extra->map_keys);
  if (extra->atomic && field.shape == FieldShape::kMap) out["x-kubernetes-map-type"] = "atomic";
  if (!extra->patch_strategy.empty()) out["x-kubernetes-patch-strategy"] = extra->patch_strategy;
  if (!extra->patch_merge_key.empty()) out["x-kubernetes-patch-merge-key"] = extra->patch_merge_key;
  return out;
}

void Definitions::AddFields(const TypeInfo& type, Value& properties, Value& required) {
  for (const FieldInfo& field : type) {
    if (field.kind == FieldKind::kInline) {
      AddFields(*field.type, properties, required);
      continue;
    }
    properties[field.json_name] = FieldSchema(field, type);
    if (field.required) required.MutableList().push_back(field.json_name);
  }
}

// Corrects `required` by kRequiredElsewise.
static void CorrectRequired(const TypeInfo& type, Value& required) {
  auto at = std::lower_bound(kRequiredElsewise.begin(), kRequiredElsewise.end(), type.name,
                             [](const auto& entry, std::string_view name) { return entry.first < name; });
  if (at == kRequiredElsewise.end() || at->first != type.name) return;
  Value changes = Split(at->second);
  for (const Value& change : std::as_const(changes).list()) {
    std::string_view name = change.string_value().view().substr(1);
    if (change.string_value()[0] == '+') {
      required.MutableList().push_back(name);
    } else {
      required.MutableList().erase_if([&](const Value& v) { return v.string_value() == name; });
    }
  }
}

Value Definitions::StructSchema(const TypeInfo& type) {
  Value out = TypeOnly("object");
  Value properties = Value::Object();
  Value required = Value::Array();
  AddFields(type, properties, required);
  CorrectRequired(type, required);
  if (type.kind != nullptr) {
    properties["apiVersion"] = TypeOnly("string");
    properties["kind"] = TypeOnly("string");
    out["x-kubernetes-group-version-kind"] =
        Value::Array({Value::Object({{"group", type.kind->group}, {"kind", type.kind->kind}, {"version", type.kind->version}})});
  }
  if (!std::as_const(properties).object().empty()) out["properties"] = std::move(properties);
  if (!std::as_const(required).list().empty()) out["required"] = std::move(required);
  return out;
}

Value Definitions::Take() {
  while (!pending_.empty()) {
    auto [name, type] = std::move(pending_.back());
    pending_.pop_back();
    Value schema = StructSchema(*type);
    schemas_[name] = std::move(schema);
  }
  for (const std::string& name : atomic_) schemas_[name]["x-kubernetes-map-type"] = "atomic";
  Map<Value> out;
  for (auto& [name, schema] : schemas_) out.Append(name, std::move(schema));
  schemas_.clear();
  atomic_.clear();
  return out;
}

// ---- CRDs ----

void Definitions::AddObjectMembers(Value& properties) {
  properties["apiVersion"] = TypeOnly("string");
  properties["kind"] = TypeOnly("string");
  properties["metadata"] = MemberRef(RefTo(meta::v1::ObjectMeta::kType), {});
}

Value Definitions::CustomSchema(const Value& schema, bool root) {
  if (!schema.is_object()) return schema;  // additionalProperties: true
  bool v2 = form_ == OpenApiForm::kV2;
  // Version 2 knows no values of several types; clients that check against it let everything through there.
  bool any_type = v2 && !root &&
                  (Truthy(schema, "nullable") || Truthy(schema, "x-kubernetes-int-or-string") ||
                   Truthy(schema, "x-kubernetes-preserve-unknown-fields"));
  if (v2 && root && Truthy(schema, "x-kubernetes-preserve-unknown-fields")) return TypeOnly("object");
  Value out = Value::Object();
  for (const auto& [key, value] : schema.object()) {
    if (v2) {
      static constexpr std::array<std::string_view, 7> kUnknown = {"nullable", "oneOf", "anyOf", "allOf", "not", "default", "example"};
      static constexpr std::array<std::string_view, 7> kOfOneType = {"type", "format",  "items", "properties", "additionalProperties",
                                                                     "enum", "required"};
      if (std::find(kUnknown.begin(), kUnknown.end(), key.view()) != kUnknown.end()) continue;
      if (any_type && std::find(kOfOneType.begin(), kOfOneType.end(), key.view()) != kOfOneType.end()) continue;
    }
    if (key == "properties") {
      Value members = Value::Object();
      for (const auto& [name, member] : value.object()) members[name] = CustomSchema(member, false);
      out[key] = std::move(members);
    } else if (key == "items" || key == "additionalProperties") {
      out[key] = CustomSchema(value, false);
    } else {
      out[key] = value;
    }
  }
  if (!v2 && Truthy(schema, "x-kubernetes-int-or-string") && schema["anyOf"].is_null()) {
    out["anyOf"] = Value::Array({TypeOnly("integer"), TypeOnly("string")});
  }
  bool embedded = Truthy(schema, "x-kubernetes-embedded-resource");
  if (root || (embedded && !any_type)) AddObjectMembers(out["properties"]);
  if (embedded && !root && !any_type) {
    for (const char* name : {"kind", "apiVersion"}) {
      const List<Value>& required = std::as_const(out)["required"].list();
      if (std::find(required.begin(), required.end(), Value(name)) == required.end()) out["required"].MutableList().push_back(name);
    }
  }
  return out;
}

namespace {

Value SelectableFields(const ServedResource& r) {
  Value out = Value::Array();
  for (const std::string& path : r.custom->selectable_fields) out.MutableList().push_back(Value::Object({{"fieldPath", path}}));
  return out;
}

void AddNames(Value& schema, const ServedResource& r, std::string_view kind) {
  schema["x-kubernetes-group-version-kind"] = Value::Array({Value::Object({{"group", r.group}, {"kind", kind}, {"version", r.version}})});
  if (!r.custom->selectable_fields.empty()) schema["x-kubernetes-selectable-fields"] = SelectableFields(r);
}

}  // namespace

Value Definitions::RefToCustom(const ServedResource& resource) {
  std::string name = DefinitionName(resource, resource.kind);
  if (schemas_.find(name) == schemas_.end()) {
    Value raw = resource.custom->raw_schema.is_object() ? resource.custom->raw_schema : Value::Object();
    Value schema = CustomSchema(raw, true);
    schema["type"] = "object";
    AddNames(schema, resource, resource.kind);
    schemas_.emplace(name, std::move(schema));
  }
  return Ref(name);
}

Value Definitions::RefToCustomList(const ServedResource& resource) {
  std::string name = DefinitionName(resource, resource.list_kind);
  if (schemas_.find(name) == schemas_.end()) {
    Value schema = TypeOnly("object");
    Value& properties = schema["properties"];
    AddObjectMembers(properties);
    properties["metadata"] = MemberRef(RefTo(meta::v1::ListMeta::kType), {});
    properties["items"] = Value::Object({{"type", "array"}, {"items", RefToCustom(resource)}});
    schema["required"] = Value::Array({"items"});
    AddNames(schema, resource, resource.list_kind);
    schemas_.emplace(name, std::move(schema));
  }
  return Ref(name);
}

}  // namespace kube::apiserver
