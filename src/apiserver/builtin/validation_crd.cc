#include <algorithm>
#include <set>

#include "apiserver/builtin/validation_kinds.h"
#include "apiserver/names.h"
#include "kube/api/apiextensions/v1.h"

namespace kube::apiserver::builtin {
namespace {

using apiextensions::v1::CustomResourceDefinition;
using apiextensions::v1::CustomResourceDefinitionNames;

std::string Lower(std::string text) {
  for (char& c : text) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return text;
}

std::string Joined(const Problems& problems) {
  std::string out;
  for (const std::string& p : problems) out += (out.empty() ? "" : ",") + p;
  return out;
}

// All problems of a name as one error.
void CheckLabel(Errors& errors, const std::string& path, const String& shown, const std::string& label, const char* prefix = "") {
  if (Problems problems = Dns1035LabelProblems(label); !problems.empty()) {
    errors.push_back(InvalidValue(path, shown, prefix + Joined(problems)));
  }
}

void CheckNames(Errors& errors, const CustomResourceDefinitionNames& n) {
  const std::string path = "spec.names";
  if (n.plural.empty()) errors.push_back(Required(Child(path, "plural")));
  if (n.singular.empty()) errors.push_back(Required(Child(path, "singular")));
  if (n.kind.empty()) errors.push_back(Required(Child(path, "kind")));
  if (n.list_kind.empty()) errors.push_back(Required(Child(path, "listKind")));
  const char* const mixed = "may have mixed case, but should otherwise match: ";
  if (!n.plural.empty()) CheckLabel(errors, Child(path, "plural"), n.plural, n.plural.str());
  if (!n.singular.empty()) CheckLabel(errors, Child(path, "singular"), n.singular, n.singular.str());
  if (!n.kind.empty()) CheckLabel(errors, Child(path, "kind"), n.kind, Lower(n.kind.str()), mixed);
  if (!n.list_kind.empty()) CheckLabel(errors, Child(path, "listKind"), n.list_kind, Lower(n.list_kind.str()), mixed);
  for (std::size_t i = 0; i < n.short_names.size(); ++i) {
    CheckLabel(errors, Index(Child(path, "shortNames"), i), n.short_names[i], n.short_names[i].str());
  }
  if (!n.kind.empty() && n.kind == n.list_kind) {
    errors.push_back(InvalidValue(Child(path, "listKind"), n.list_kind, "kind and listKind may not be the same"));
  }
  for (std::size_t i = 0; i < n.categories.size(); ++i) {
    CheckLabel(errors, Index(Child(path, "categories"), i), n.categories[i], n.categories[i].str());
  }
}

void CheckColumns(Errors& errors, const std::string& path, const List<apiextensions::v1::CustomResourceColumnDefinition>& columns) {
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const auto& c = columns[i];
    const std::string at = Index(path, i);
    if (c.name.empty()) errors.push_back(Required(Child(at, "name")));
    const char* const types = "must be one of boolean,date,integer,number,string";
    bool known = c.type == "boolean" || c.type == "date" || c.type == "integer" || c.type == "number" || c.type == "string";
    if (c.type.empty()) {
      errors.push_back(Required(Child(at, "type"), types));
    } else if (!known) {
      errors.push_back(InvalidValue(Child(at, "type"), c.type, types));
    }
    if (c.json_path.empty()) errors.push_back(Required(Child(at, "JSONPath")));
  }
}

void CheckConversion(Errors& errors, const apiextensions::v1::CustomResourceConversion& c) {
  const std::string path = "spec.conversion";
  CheckEnum(errors, Child(path, "strategy"), c.strategy, {"None", "Webhook"});
  if (c.strategy == "Webhook") {
    const std::string config = Child(path, "webhookClientConfig");
    if (!c.webhook->client_config.has_value()) {
      errors.push_back(Required(config, "required when strategy is set to Webhook"));
    } else if (c.webhook->client_config->url.has_value() == c.webhook->client_config->service.has_value()) {
      errors.push_back(Required(config, "exactly one of url or service is required"));
    }
    if (c.webhook->conversion_review_versions.empty()) errors.push_back(Required(Child(path, "conversionReviewVersions")));
  } else if (c.webhook->client_config.has_value()) {
    errors.push_back(ForbiddenField(Child(path, "webhookClientConfig"), "should not be set when strategy is not set to Webhook"));
  }
}

void CheckStoredVersions(Errors& errors, const CustomResourceDefinition& crd) {
  const std::string path = "status.storedVersions";
  const auto& stored = crd.status.stored_versions;
  if (stored.empty()) {
    errors.push_back(InvalidValue(path, Value(), "must have at least one stored version"));
    return;
  }
  auto is_stored = [&](const String& name) { return std::find(stored.begin(), stored.end(), name) != stored.end(); };
  for (const auto& v : crd.spec.versions) {
    if (v.storage && !is_stored(v.name))
      errors.push_back(InvalidValue(path, Shown(stored), "must have the storage version " + v.name.str()));
  }
  for (std::size_t i = 0; i < stored.size(); ++i) {
    const auto& versions = crd.spec.versions;
    if (std::any_of(versions.begin(), versions.end(), [&](const auto& v) { return v.name == stored[i]; })) continue;
    const std::string v = stored[i].str();
    errors.push_back(InvalidValue(Index(path, i), stored[i],
                                  "missing from spec.versions; " + v +
                                      " was previously a storage version, and must remain in spec.versions "
                                      "until a storage migration ensures no data remains persisted in " +
                                      v + " and removes " + v + " from status.storedVersions"));
  }
}

}  // namespace

void ValidateKind(const CustomResourceDefinition& object, const CustomResourceDefinition* old, Errors& errors) {
  const auto& spec = object.spec;
  if (object.metadata.name != spec.names.plural.str() + "." + spec.group.str()) {
    errors.push_back(InvalidValue("metadata.name", object.metadata.name, "must be spec.names.plural+\".\"+spec.group"));
  }
  if (spec.group.empty()) {
    errors.push_back(Required("spec.group"));
  } else if (Problems problems = DnsSubdomainProblems(spec.group); !problems.empty()) {
    errors.push_back(InvalidValue("spec.group", spec.group, Joined(problems)));
  } else if (spec.group.view().find('.') == std::string_view::npos) {
    errors.push_back(InvalidValue("spec.group", spec.group, "should be a domain with at least one dot"));
  }
  CheckEnum(errors, "spec.scope", spec.scope, {"Cluster", "Namespaced"});
  for (std::size_t i = 0; i < spec.versions.size(); ++i) {
    if (spec.versions[i].schema->open_api_v3_schema.has_value()) continue;
    errors.push_back(Required(Child(Index("spec.versions", i), "schema.openAPIV3Schema")));
  }
  // What all versions have in common, a real server keeps (and reports) outside of them.
  bool same_columns = std::all_of(spec.versions.begin(), spec.versions.end(), [&](const auto& v) {
    return v.additional_printer_columns == spec.versions[0].additional_printer_columns;
  });
  std::set<std::string> names;
  int storage_versions = 0;
  bool unique = true;
  for (std::size_t i = 0; i < spec.versions.size(); ++i) {
    const auto& v = spec.versions[i];
    const std::string at = Index("spec.versions", i);
    storage_versions += v.storage ? 1 : 0;
    unique = names.insert(v.name.str()).second && unique;
    CheckLabel(errors, Child(at, "name"), v.name, v.name.str());
    if (!same_columns) CheckColumns(errors, Child(at, "additionalPrinterColumns"), v.additional_printer_columns);
  }
  auto bad_versions = [&](const char* why) {
    FieldError error = InvalidValue("spec.versions", Value::Array(), why);
    std::string shown;
    for (const auto& v : spec.versions) {
      shown += (shown.empty() ? "{\"Name\":" : ",{\"Name\":") + PrintValue(v.name) + ",\"Served\":" + (v.served ? "true" : "false") +
               ",\"Storage\":" + (v.storage ? "true" : "false") +
               ",\"Deprecated\":false,\"DeprecationWarning\":null,\"Schema\":null,\"Subresources\":null,"
               "\"AdditionalPrinterColumns\":null,\"SelectableFields\":null}";
    }
    error.value = "[" + shown + "]";
    errors.push_back(std::move(error));
  };
  if (!unique) bad_versions("must contain unique version names");
  if (storage_versions != 1) bad_versions("must have exactly one version marked as storage version");
  if (!spec.versions.empty()) CheckLabel(errors, "spec.version", spec.versions[0].name, spec.versions[0].name.str());
  CheckNames(errors, spec.names);
  if (same_columns && !spec.versions.empty()) {
    CheckColumns(errors, "spec.additionalPrinterColumns", spec.versions[0].additional_printer_columns);
  }
  if (spec.conversion.has_value()) CheckConversion(errors, *spec.conversion);
  if (old != nullptr) {
    const auto& conditions = old->status.conditions;
    bool established =
        std::any_of(conditions.begin(), conditions.end(), [](const auto& c) { return c.type == "Established" && c.status == "True"; });
    if (established) {
      CheckImmutable(errors, "spec.scope", spec.scope, spec.scope == old->spec.scope);
      CheckImmutable(errors, "spec.names.kind", spec.names.kind, spec.names.kind == old->spec.names.kind);
    }
    CheckImmutable(errors, "spec.group", spec.group, spec.group == old->spec.group);
    CheckImmutable(errors, "spec.names.plural", spec.names.plural, spec.names.plural == old->spec.names.plural);
  }
  CheckStoredVersions(errors, object);
  const std::string_view group = spec.group;
  bool is_protected = group == "k8s.io" || group.ends_with(".k8s.io") || group == "kubernetes.io" || group.ends_with(".kubernetes.io");
  if (is_protected && object.metadata.annotations.Get("api-approved.kubernetes.io").empty()) {
    errors.push_back(Required(Key("metadata.annotations", "api-approved.kubernetes.io"),
                              "protected groups must have approval annotation \"api-approved.kubernetes.io\", see "
                              "https://github.com/kubernetes/enhancements/pull/1111"));
  }
}

}  // namespace kube::apiserver::builtin
