#include "apiserver/crd.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "apiserver/builtin/crd_rules.h"
#include "apiserver/conversion.h"
#include "apiserver/errors.h"
#include "apiserver/object_meta.h"
#include "apiserver/structural_schema.h"
#include "codec/base64.h"

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

// What a name controller makes of the names that a definition asks for.
struct Naming {
  Value accepted;
  std::string reason = "NoConflicts", message = "no conflicts found";
  bool ok() const { return reason == "NoConflicts"; }
};

// `others` are the accepted names of the other definitions of the group. Each name that is free, or ours already, is accepted; the
// condition is about the last one that is not.
Naming NamesOf(const Value& crd, const std::vector<Value>& others) {
  const Value& wanted = crd["spec"]["names"];
  Naming out{.accepted = crd["status"]["acceptedNames"]};
  if (!out.accepted.is_object()) out.accepted = Value::Object({{"kind", ""}, {"plural", ""}});
  std::set<std::string> resources, kinds;
  auto add = [](std::set<std::string>& names, const Value& name) {
    if (!name.string_value().empty()) names.insert(name.string_value().str());
  };
  auto take = [&](const Value& names) {
    add(resources, names["plural"]);
    add(resources, names["singular"]);
    for (const Value& name : names["shortNames"].list()) add(resources, name);
    add(kinds, names["kind"]);
    add(kinds, names["listKind"]);
  };
  for (const Value& names : others) take(names);
  take(out.accepted);
  const Value before = out.accepted;
  auto refuse = [&](const char* reason, const std::string& name) {
    out.reason = reason;
    out.message = fmt::format("\"{}\" is already in use", name);
  };
  auto check = [&](const char* member, const std::set<std::string>& used, const char* reason) {
    std::string name = wanted[member].string_value().str();
    if (name != before[member].string_value().str() && used.contains(name)) {
      refuse(reason, name);
    } else if (!name.empty()) {
      out.accepted[member] = name;
    }
  };
  check("plural", resources, "PluralConflict");
  check("singular", resources, "SingularConflict");
  if (!(wanted["shortNames"] == before["shortNames"])) {
    std::vector<std::string> mine = StringList(before["shortNames"]), taken;
    for (const std::string& name : StringList(wanted["shortNames"])) {
      if (std::find(mine.begin(), mine.end(), name) == mine.end() && resources.contains(name)) taken.push_back(name);
    }
    if (taken.size() == 1) {
      refuse("ShortNamesConflict", taken[0]);
    } else if (!taken.empty()) {
      out.reason = "ShortNamesConflict";
      out.message = "[";
      for (const std::string& name : taken)
        out.message += fmt::format("{}\"{}\" is already in use", out.message.size() > 1 ? ", " : "", name);
      out.message += "]";
    } else if (wanted["shortNames"].is_list()) {
      out.accepted["shortNames"] = wanted["shortNames"];
    } else {
      out.accepted.MutableObject().Erase("shortNames");
    }
  }
  check("kind", kinds, "KindConflict");
  check("listKind", kinds, "ListKindConflict");
  if (wanted["categories"].is_list()) {
    out.accepted["categories"] = wanted["categories"];
  } else {
    out.accepted.MutableObject().Erase("categories");
  }
  return out;
}

bool ConditionTrue(const Value& crd, std::string_view type) {
  for (const Value& condition : crd["status"]["conditions"].list()) {
    if (condition["type"].string_value() == type) return condition["status"].string_value() == "True";
  }
  return false;
}

// The newest served version after this one that is not deprecated; empty if there is none.
std::string NewestInUse(const Value& versions, const std::string& deprecated) {
  std::string out;
  for (const Value& version : versions.list()) {
    std::string name = version["name"].string_value().str();
    if (!version["served"].bool_value() || version["deprecated"].bool_value() || CompareVersions(deprecated, name) >= 0) continue;
    if (out.empty() || CompareVersions(out, name) < 0) out = name;
  }
  return out;
}

bool HasBrokenBundle(const Value& conversion) {
  const Value& bundle = conversion["webhook"]["clientConfig"]["caBundle"];
  std::string pem;
  if (bundle.string_value().empty() || !internal::DecodeBase64(bundle.string_value(), pem)) return false;
  return !builtin::BundleProblem(pem).empty();
}

}  // namespace

void SetCrdCondition(Value& crd, std::string_view type, bool ok, std::string_view reason, std::string_view message, Time now) {
  std::string_view status = ok ? "True" : "False";
  List<Value>& conditions = crd["status"]["conditions"].MutableList();
  for (Value& condition : conditions) {
    const Value& read = condition;
    if (read["type"].string_value() != type) continue;
    if (read["status"].string_value() != status) condition["lastTransitionTime"] = now.ToString();
    condition["status"] = status;
    condition["reason"] = reason;
    condition["message"] = message;
    return;
  }
  conditions.push_back(Value::Object(
      {{"lastTransitionTime", now.ToString()}, {"message", message}, {"reason", reason}, {"status", status}, {"type", type}}));
}

namespace {

std::shared_ptr<CustomResource> CustomOf(const Value& crd, const Value& version,
                                         const std::shared_ptr<const StructuralSchema>& storage_schema) {
  auto custom = std::make_shared<CustomResource>();
  custom->crd_name = NameOf(crd);
  custom->crd_uid = MetaOf(crd)["uid"].string_value().str();
  custom->raw_schema = version["schema"]["openAPIV3Schema"];
  bool stored = version["storage"].bool_value();
  custom->schema = stored ? storage_schema : StructuralSchema::Make(custom->raw_schema, crd["spec"]["preserveUnknownFields"].bool_value());
  custom->storage_schema = storage_schema;
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
  return custom;
}

std::string DeprecationWarning(const Value& versions, const Value& version, const ServedResource& r) {
  if (const std::string_view text = version["deprecationWarning"].string_value(); !text.empty()) return std::string(text);
  std::string warning = fmt::format("{} {} is deprecated", r.api_version(), r.kind);
  if (const std::string newer = NewestInUse(versions, r.version); !newer.empty()) {
    warning += fmt::format("; use {}/{} {}", r.group, newer, r.kind);
  }
  return warning;
}

}  // namespace

std::vector<ResourcePtr> ResourcesOf(const Value& crd) {
  std::vector<ResourcePtr> out;
  const Value& spec = crd["spec"];
  // A change of names that is not accepted leaves the old ones.
  const Value& names = crd["status"]["acceptedNames"].is_object() ? crd["status"]["acceptedNames"] : spec["names"];
  std::string group = spec["group"].string_value().str();
  std::string storage_version;
  std::shared_ptr<const StructuralSchema> storage_schema;
  const std::shared_ptr<const CustomConversion> conversion = CustomConversion::Of(crd);
  for (const Value& version : spec["versions"].list()) {
    if (!version["storage"].bool_value()) continue;
    storage_version = version["name"].string_value().str();
    storage_schema = StructuralSchema::Make(version["schema"]["openAPIV3Schema"], spec["preserveUnknownFields"].bool_value());
  }
  for (const Value& version : spec["versions"].list()) {
    if (!version["served"].bool_value()) continue;
    auto custom = CustomOf(crd, version, storage_schema);
    custom->storage = version["storage"].bool_value();
    custom->conversion = conversion;
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
      custom->deprecation_warning = DeprecationWarning(spec["versions"], version, *r);
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

namespace {

constexpr std::size_t kMostSelectableFields = 8;

// Why this path is none of a selectable field; empty if it is one.
std::string SelectablePathProblem(std::string_view path, const Value& schema) {
  const Value* at = &schema;
  while (!path.empty()) {
    if (path[0] == '[') return "is an invalid path: array notation is not allowed";
    if (path[0] != '.') return fmt::format("is an invalid path: expected [ or . but got: {}", path.substr(0, path.find_first_of(".[")));
    path.remove_prefix(1);
    if (path.empty()) return "is an invalid path: unexpected end of JSON path";
    const std::string_view name = path.substr(0, path.find_first_of(".["));
    path.remove_prefix(name.size());
    const Value* next = (*at)["properties"].Find(name);
    if (next == nullptr && (*at)["additionalProperties"].is_object()) next = at->Find("additionalProperties");
    if (next == nullptr) return "is an invalid path: does not refer to a valid field";
    at = next;
  }
  const std::string_view type = (*at)["type"].string_value();
  if (type == "string" || type == "boolean" || type == "integer") return {};
  return "must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed.";
}

void CheckSelectableFields(const Value& version, const std::string& path, std::vector<FieldError>& errors) {
  const List<Value>& fields = version["selectableFields"].list();
  std::set<std::string> seen;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const Value& json_path = fields[i]["jsonPath"];
    const std::string at = fmt::format("{}[{}].jsonPath", path, i), text = json_path.string_value().str();
    if (text.empty()) {
      errors.push_back(Required(at));
      continue;
    }
    if (std::string problem = SelectablePathProblem(text, version["schema"]["openAPIV3Schema"]); !problem.empty()) {
      errors.push_back(InvalidValue(at, json_path, problem));
    }
    if (!seen.insert(text).second) errors.push_back(DuplicateValue(at, json_path));
  }
  if (fields.size() > kMostSelectableFields) errors.push_back(TooMany(path, fields.size(), kMostSelectableFields));
}

}  // namespace

std::vector<FieldError> CheckCrd(const Value& crd, const Value*) {
  std::vector<FieldError> errors;
  const List<Value>& versions = crd["spec"]["versions"].list();
  bool shared = true, any_status = false;
  for (const Value& version : versions) {
    shared = shared && version["schema"] == versions[0]["schema"];
    any_status = any_status || version["subresources"].Find("status") != nullptr;
  }
  for (std::size_t i = 0; i < versions.size(); ++i) {
    const Value* schema = versions[i]["schema"].Find("openAPIV3Schema");
    if (schema == nullptr) {
      errors.push_back(Required(fmt::format("spec.versions[{}].schema.openAPIV3Schema", i), "schemas are required"));
      continue;
    }
    // A real server keeps what all versions share outside of them, and checks it once.
    if (shared && i != 0) break;
    bool status = shared ? any_status : versions[i]["subresources"].Find("status") != nullptr;
    std::string path = shared ? "spec.validation.openAPIV3Schema" : fmt::format("spec.versions[{}].schema.openAPIV3Schema", i);
    for (FieldError& e : CheckCrdSchema(*schema, path, status)) errors.push_back(std::move(e));
  }
  // What all versions have in common stands outside of them, too.
  const bool same_fields = std::all_of(versions.begin(), versions.end(),
                                       [&](const Value& v) { return v["selectableFields"] == versions[0]["selectableFields"]; });
  for (std::size_t i = 0; i < versions.size(); ++i) {
    if (same_fields && i != 0) break;
    const std::string path = same_fields ? "spec.selectableFields" : fmt::format("spec.versions[{}].selectableFields", i);
    if (shared && !same_fields && !versions[i]["selectableFields"].list().empty()) {
      errors.push_back(InvalidValue(path, Value(""), "may only be set when `version.schema.openAPIV3Schema` is not included"));
    } else {
      CheckSelectableFields(versions[i], path, errors);
    }
  }
  return errors;
}

CrdController::CrdController(ApiCore& core) : core_(core) {
  core_.AddCheck(std::string(kCrdStorage), CheckCrd);
  core_.store().OnChange([this](const std::string& resource, const StoreEvent& event) {
    if (resource == kCrdStorage) Sync(event.object->name);
  });
}

void CrdController::Forget() {
  MutexLock lock(mu_);
  for (const auto& [name, served] : known_) core_.registry().RemoveCrd(name);
  known_.clear();
}

void CrdController::Sync(const std::string& name) {
  std::string group, ended;
  Value status;
  bool names_changed = false;
  {
    // Changes may be reported out of order, so the CRD is served in its current state.
    MutexLock lock(mu_);
    auto known = known_.find(name);
    ObjectPtr current = core_.store().Get(std::string(kCrdStorage), "", name);
    if (!current) {
      if (known == known_.end()) return;
      core_.registry().RemoveCrd(name);
      ended = known->second.storage;
      group = known->second.group;
      known_.erase(known);
      names_changed = true;
    } else {
      Value crd = current->Parse();
      group = std::as_const(crd)["spec"]["group"].string_value().str();
      std::vector<Value> others;
      for (const auto& [other, entry] : known_) {
        if (other != name && entry.group == group) others.push_back(entry.accepted);
      }
      SetStatus(crd, others);
      const Value& read = crd;
      status = read["status"];
      bool serve = ConditionTrue(crd, "NamesAccepted") || ConditionTrue(crd, "Established");
      Known now{
          current->uid, group, group + "/" + read["spec"]["names"]["plural"].string_value().str(), read["spec"], status["acceptedNames"],
          serve};
      names_changed = known == known_.end() ? false : !(known->second.accepted == now.accepted);
      bool same = known != known_.end() && known->second.uid == now.uid && known->second.spec == now.spec &&
                  known->second.accepted == now.accepted && known->second.served == serve;
      if (!same) {
        if (known != known_.end()) ended = now.storage;
        if (serve) {
          core_.registry().SetCrd(name, ResourcesOf(crd));
        } else {
          core_.registry().RemoveCrd(name);
        }
        known_[name] = std::move(now);
      }
    }
  }
  if (!ended.empty()) core_.store().EndWatches(ended);
  if (!status.is_null()) WriteStatus(name, status);
  // Names that are free now may be what another definition waits for.
  if (!names_changed) return;
  for (const ObjectPtr& other : core_.store().List(std::string(kCrdStorage), "").objects) {
    if (other->name != name && other->name.ends_with("." + group)) Sync(other->name);
  }
}

void CrdController::WriteStatus(const std::string& name, const Value& status) {
  ResourcePtr definitions = core_.registry().current()->Find("apiextensions.k8s.io", "v1", "customresourcedefinitions");
  // Writing the status is another change, which triggers this function again; the second pass finds nothing left to write.
  (void)core_.Rewrite(*definitions, "", name, [&](const Value& live) -> Result<Value> {
    Value next = live;
    Value& to = next["status"];
    for (const char* member : {"acceptedNames", "storedVersions"}) to[member] = status[member];
    // Compares only the conditions set here: another thread may have set others meanwhile.
    for (const Value& c : status["conditions"].list()) {
      std::string_view type = c["type"].string_value();
      if (type == "Terminating") continue;
      SetCrdCondition(next, type, c["status"].string_value() == "True", c["reason"].string_value(), c["message"].string_value(),
                      core_.Now());
    }
    return next;
  });
}

void CrdController::SetStatus(Value& crd, const std::vector<Value>& others) const {
  Time now = core_.Now();
  const Value& read = crd;
  const Value& accepted = read["status"]["acceptedNames"];
  if (!(accepted == read["spec"]["names"]) || !ConditionTrue(crd, "NamesAccepted")) {
    Naming naming = NamesOf(crd, others);
    crd["status"]["acceptedNames"] = naming.accepted;
    SetCrdCondition(crd, "NamesAccepted", naming.ok(), naming.reason, naming.message, now);
  }
  if (!ConditionTrue(crd, "Established")) {
    if (!ConditionTrue(crd, "NamesAccepted")) {
      SetCrdCondition(crd, "Established", false, "NotAccepted", "not all names are accepted", now);
    } else if (HasBrokenBundle(read["spec"]["conversion"])) {
      SetCrdCondition(crd, "Established", false, "InvalidCABundle", "The conversion webhook CABundle is invalid", now);
    } else {
      SetCrdCondition(crd, "Established", true, "InitialNamesAccepted", "the initial names have been accepted", now);
    }
  }
  std::string_view group = read["spec"]["group"].string_value();
  if (builtin::IsProtectedGroup(group)) {
    builtin::Approval approval = builtin::ApprovalOf(MetaOf(crd)["annotations"]["api-approved.kubernetes.io"].string_value());
    SetCrdCondition(crd, "KubernetesAPIApprovalPolicyConformant", approval.approved, approval.reason, approval.message, now);
  }
  List<Value>& stored = crd["status"]["storedVersions"].MutableList();
  for (const Value& version : read["spec"]["versions"].list()) {
    if (!version["storage"].bool_value()) continue;
    bool known = false;
    for (const Value& s : std::as_const(stored)) known = known || s == version["name"];
    if (!known) stored.push_back(version["name"]);
  }
}

}  // namespace kube::apiserver
