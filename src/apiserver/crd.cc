#include "apiserver/crd.h"

#include <fmt/format.h>

#include <utility>

#include "apiserver/errors.h"
#include "apiserver/object_meta.h"
#include "apiserver/structural_schema.h"

namespace kube::apiserver {
namespace {

std::vector<std::string> StringList(const Value& list) {
  std::vector<std::string> out;
  for (const Value& item : list.list()) out.push_back(item.string_value().str());
  return out;
}

// ".spec.replicas" -> "spec.replicas"
std::string PlainPath(const Value& path) {
  std::string_view text = path.string_value();
  if (text.starts_with('.')) text.remove_prefix(1);
  return std::string(text);
}

bool Conflicts(const ApiCore& core, const Value& crd, std::string& reason, std::string& message) {
  const Value& names = crd["spec"]["names"];
  std::string group = crd["spec"]["group"].string_value().str();
  std::shared_ptr<const Resources> resources = const_cast<ApiCore&>(core).registry().current();
  const ServedGroup* served = resources->FindGroup(group);
  if (served == nullptr) return false;
  for (const ServedVersion& version : served->versions) {
    for (const auto& entry : version.resources) {
      const ResourcePtr& resource = entry.second;
      if (resource->custom && resource->custom->crd_name == NameOf(crd)) continue;
      auto taken = [&](std::string_view name) {
        if (resource->resource == name || resource->singular == name) return true;
        for (const std::string& s : resource->short_names) {
          if (s == name) return true;
        }
        return false;
      };
      std::vector<std::pair<const char*, std::string>> wanted = {{"Plural", names["plural"].string_value().str()},
                                                                 {"Singular", names["singular"].string_value().str()}};
      for (const std::string& s : StringList(names["shortNames"])) wanted.emplace_back("ShortNames", s);
      for (const auto& [what, name] : wanted) {
        if (!name.empty() && taken(name)) {
          reason = fmt::format("{}Conflict", what);
          message = fmt::format("\"{}\" is already in use", name);
          return true;
        }
      }
      if (resource->kind == names["kind"].string_value() || resource->list_kind == names["kind"].string_value()) {
        reason = "KindConflict";
        message = fmt::format("\"{}\" is already in use", names["kind"].string_value().view());
        return true;
      }
    }
  }
  return false;
}

void SetCondition(Value& crd, std::string_view type, bool ok, std::string_view reason, std::string_view message, Time now) {
  List<Value>& conditions = crd["status"]["conditions"].MutableList();
  std::string_view status = ok ? "True" : "False";
  for (std::size_t i = 0; i < conditions.size(); ++i) {
    const Value& read = std::as_const(conditions)[i];
    if (read["type"].string_value() != type) continue;
    if (read["status"].string_value() == status && read["reason"].string_value() == reason) return;
    conditions.erase(i);
    break;
  }
  conditions.push_back(Value::Object(
      {{"lastTransitionTime", now.ToString()}, {"message", message}, {"reason", reason}, {"status", status}, {"type", type}}));
}

}  // namespace

std::vector<ResourcePtr> ResourcesOf(const Value& crd) {
  std::vector<ResourcePtr> out;
  const Value& spec = crd["spec"];
  const Value& names = spec["names"];
  std::string group = spec["group"].string_value().str();
  std::string storage_version;
  std::shared_ptr<const StructuralSchema> storage_schema;
  for (const Value& version : spec["versions"].list()) {
    if (!version["storage"].bool_value()) continue;
    storage_version = version["name"].string_value().str();
    storage_schema = StructuralSchema::Make(version["schema"]["openAPIV3Schema"], spec["preserveUnknownFields"].bool_value());
  }
  for (const Value& version : spec["versions"].list()) {
    if (!version["served"].bool_value()) continue;
    auto custom = std::make_shared<CustomResource>();
    custom->crd_name = NameOf(crd);
    custom->raw_schema = version["schema"]["openAPIV3Schema"];
    custom->schema = StructuralSchema::Make(custom->raw_schema, spec["preserveUnknownFields"].bool_value());
    if (!version["storage"].bool_value()) custom->storage_schema = storage_schema;
    custom->has_cel_rules = custom->schema->has_cel_rules();
    for (const Value& column : version["additionalPrinterColumns"].list()) {
      custom->columns.push_back({.name = column["name"].string_value().str(),
                                 .type = column["type"].string_value().str(),
                                 .format = column["format"].string_value().str(),
                                 .description = column["description"].string_value().str(),
                                 .json_path = column["jsonPath"].string_value().str(),
                                 .priority = column["priority"].int_value()});
    }
    for (const Value& field : version["selectableFields"].list()) custom->selectable_fields.push_back(PlainPath(field["jsonPath"]));
    const Value& subresources = version["subresources"];
    custom->has_status = subresources.Find("status") != nullptr;
    if (const Value* scale = subresources.Find("scale"); scale != nullptr && scale->is_object()) {
      custom->has_scale = true;
      custom->spec_replicas = PlainPath((*scale)["specReplicasPath"]);
      custom->status_replicas = PlainPath((*scale)["statusReplicasPath"]);
      custom->label_selector = PlainPath((*scale)["labelSelectorPath"]);
    }
    custom->storage = version["storage"].bool_value();
    auto r = std::make_shared<ServedResource>();
    r->group = group;
    r->version = version["name"].string_value().str();
    r->resource = names["plural"].string_value().str();
    r->singular = names["singular"].string_value().str();
    r->kind = names["kind"].string_value().str();
    r->list_kind = names["listKind"].string_value().str();
    r->namespaced = spec["scope"].string_value() == "Namespaced";
    r->short_names = StringList(names["shortNames"]);
    r->categories = StringList(names["categories"]);
    r->verbs = {"delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"};
    if (version["deprecated"].bool_value()) {
      custom->deprecated = true;
      custom->deprecation_warning = version["deprecationWarning"].string_value().str();
      if (custom->deprecation_warning.empty()) {
        custom->deprecation_warning = fmt::format("{} {} is deprecated", r->api_version(), r->kind);
      }
    }
    if (custom->has_status) r->subresources.push_back({"status", "", "", r->kind, {"get", "patch", "update"}});
    if (custom->has_scale) r->subresources.push_back({"scale", "autoscaling", "v1", "Scale", {"get", "patch", "update"}});
    r->schema = custom->schema->ToApplySchema();
    r->storage = group + "/" + r->resource;
    r->storage_api_version = group + "/" + storage_version;
    r->storage_kind = r->kind;
    r->has_status = custom->has_status;
    r->unconditional_update = false;
    r->custom = std::move(custom);
    out.push_back(std::move(r));
  }
  return out;
}

std::vector<FieldError> CheckCrd(const Value& crd, const Value*) {
  std::vector<FieldError> errors;
  const List<Value>& versions = crd["spec"]["versions"].list();
  for (std::size_t i = 0; i < versions.size(); ++i) {
    const Value* schema = versions[i]["schema"].Find("openAPIV3Schema");
    if (schema == nullptr) {
      errors.push_back(Required(fmt::format("spec.versions[{}].schema.openAPIV3Schema", i), "schemas are required"));
      continue;
    }
    bool status = versions[i]["subresources"].Find("status") != nullptr;
    std::string path =
        versions.size() == 1 ? "spec.validation.openAPIV3Schema" : fmt::format("spec.versions[{}].schema.openAPIV3Schema", i);
    for (FieldError& e : CheckCrdSchema(*schema, path, status)) errors.push_back(std::move(e));
  }
  return errors;
}

CrdController::CrdController(ApiCore& core) : core_(core) {
  core_.AddCheck(std::string(kCrdStorage), CheckCrd);
  core_.store().OnChange([this](const std::string& resource, const StoreEvent& event) {
    if (resource == kCrdStorage) OnChange(event);
  });
}

void CrdController::OnChange(const StoreEvent& event) {
  std::string reason, message;
  bool conflict = false;
  {
    // Changes may be told out of order, so the CRD is served as it is by now.
    MutexLock lock(mu_);
    ObjectPtr current = core_.store().Get(std::string(kCrdStorage), "", event.object->name);
    if (!current) {
      core_.registry().RemoveCrd(event.object->name);
      return;
    }
    Value crd = current->Parse();
    conflict = Conflicts(core_, crd, reason, message);
    if (!conflict) core_.registry().SetCrd(event.object->name, ResourcesOf(crd));
  }
  ResourcePtr definitions = core_.registry().current()->Find("apiextensions.k8s.io", "v1", "customresourcedefinitions");
  // Writing the status is a change of its own, which comes back here and finds nothing left to write.
  (void)core_.Rewrite(*definitions, "", event.object->name, [&](const Value& live) -> Result<Value> {
    Value next = live;
    Time now = core_.Now();
    if (conflict) {
      SetCondition(next, "NamesAccepted", false, reason, message, now);
      SetCondition(next, "Established", false, "NotAccepted", "not all names are accepted", now);
    } else {
      SetCondition(next, "NamesAccepted", true, "NoConflicts", "no conflicts found", now);
      SetCondition(next, "Established", true, "InitialNamesAccepted", "the initial names have been accepted", now);
      next["status"]["acceptedNames"] = std::as_const(live)["spec"]["names"];
    }
    List<Value>& stored = next["status"]["storedVersions"].MutableList();
    for (const Value& version : live["spec"]["versions"].list()) {
      if (!version["storage"].bool_value()) continue;
      bool known = false;
      for (const Value& s : std::as_const(stored)) known = known || s == version["name"];
      if (!known) stored.push_back(version["name"]);
    }
    if (IsDeleting(live)) {
      SetCondition(next, "Terminating", true, "InstanceDeletionInProgress", "CustomResource deletion is in progress", now);
    }
    return next;
  });
}

}  // namespace kube::apiserver
