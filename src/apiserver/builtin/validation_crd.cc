#include <algorithm>
#include <set>

#include "apiserver/builtin/crd_rules.h"
#include "apiserver/builtin/validation_kinds.h"
#include "apiserver/names.h"
#include "codec/base64.h"
#include "kube/api/apiextensions/v1.h"

namespace kube::apiserver::builtin {
namespace {

using apiextensions::v1::CustomResourceDefinition;
using apiextensions::v1::CustomResourceDefinitionNames;

constexpr const char* kApproved = "api-approved.kubernetes.io";

bool IsEstablished(const CustomResourceDefinition& crd) {
  return std::any_of(crd.status.conditions.begin(), crd.status.conditions.end(),
                     [](const auto& c) { return c.type == "Established" && c.status == "True"; });
}

std::string BundleOf(const apiextensions::v1::CustomResourceConversion& c) {
  if (!c.webhook.has_value() || !c.webhook->client_config.has_value()) return "";
  return std::string(c.webhook->client_config->ca_bundle.view());
}

std::string ToBase64(std::string_view bytes) {
  std::string out;
  internal::AppendBase64(bytes, out);
  return out;
}

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

// ".spec.replicas", below one of these: ".spec.".
void CheckScalePath(Errors& errors, const std::string& path, const String& value, std::initializer_list<std::string_view> below,
                    const char* where) {
  std::string_view text = value;
  if (text.empty()) {
    errors.push_back(Required(path));
  } else if (text[0] != '.') {
    errors.push_back(InvalidValue(path, value, "must be a simple json path starting with ."));
  } else if (std::none_of(below.begin(), below.end(), [&](std::string_view start) { return text.starts_with(start); })) {
    errors.push_back(InvalidValue(path, value, std::string("should be a json path under ") + where));
  }
}

void CheckSubresources(Errors& errors, const std::string& path, const apiextensions::v1::CustomResourceDefinitionVersion& v) {
  if (!v.subresources.has_value() || !v.subresources->scale.has_value()) return;
  const auto& scale = *v.subresources->scale;
  CheckScalePath(errors, Child(path, "scale.specReplicasPath"), scale.spec_replicas_path, {".spec."}, ".spec");
  CheckScalePath(errors, Child(path, "scale.statusReplicasPath"), scale.status_replicas_path, {".status."}, ".status");
  if (scale.label_selector_path.has_value() && !scale.label_selector_path->empty()) {
    CheckScalePath(errors, Child(path, "scale.labelSelectorPath"), *scale.label_selector_path, {".spec.", ".status."},
                   "either .spec or .status");
  }
}

void CheckReviewVersions(Errors& errors, const std::string& path, const List<String>& versions) {
  if (versions.empty()) {
    errors.push_back(Required(path));
    return;
  }
  std::set<std::string> seen;
  for (std::size_t i = 0; i < versions.size(); ++i) {
    if (!seen.insert(versions[i].str()).second) {
      errors.push_back(InvalidValue(Index(path, i), versions[i], "duplicate version"));
      continue;
    }
    AddProblems(errors, Index(path, i), versions[i], Dns1035LabelProblems(versions[i]));
  }
  if (!seen.contains("v1") && !seen.contains("v1beta1")) {
    errors.push_back(InvalidValue(path, Shown(versions), "must include at least one of v1, v1beta1"));
  }
}

// `check_bundle`: a CA bundle has to be good.
void CheckConversion(Errors& errors, const apiextensions::v1::CustomResourceConversion& c, bool check_bundle) {
  const std::string path = "spec.conversion";
  CheckEnum(errors, Child(path, "strategy"), c.strategy, {"None", "Webhook"});
  if (c.strategy == "Webhook") {
    const std::string config = Child(path, "webhookClientConfig");
    if (!c.webhook->client_config.has_value()) {
      errors.push_back(Required(config, "required when strategy is set to Webhook"));
    } else if (c.webhook->client_config->url.has_value() == c.webhook->client_config->service.has_value()) {
      errors.push_back(Required(config, "exactly one of url or service is required"));
    } else if (c.webhook->client_config->url.has_value()) {
      CheckWebhookUrl(errors, Child(config, "url"), *c.webhook->client_config->url);
    }
    if (check_bundle && c.webhook->client_config.has_value()) {
      std::string bundle = BundleOf(c);
      std::string problem = bundle.empty() ? "" : BundleProblem(bundle);
      if (!problem.empty()) errors.push_back(InvalidValue(Child(config, "caBundle"), ToBase64(bundle), problem));
    }
    CheckReviewVersions(errors, Child(path, "conversionReviewVersions"), c.webhook->conversion_review_versions);
  } else {
    if (c.webhook->client_config.has_value()) {
      errors.push_back(ForbiddenField(Child(path, "webhookClientConfig"), "should not be set when strategy is not set to Webhook"));
    }
    if (!c.webhook->conversion_review_versions.empty()) {
      errors.push_back(ForbiddenField(Child(path, "conversionReviewVersions"), "should not be set when strategy is not set to Webhook"));
    }
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

void CheckVersions(Errors& errors, const apiextensions::v1::CustomResourceDefinitionSpec& spec) {
  for (std::size_t i = 0; i < spec.versions.size(); ++i) {
    if (spec.versions[i].schema->open_api_v3_schema.has_value()) continue;
    errors.push_back(Required(Child(Index("spec.versions", i), "schema.openAPIV3Schema")));
  }
  // What all versions have in common, a real server keeps (and reports) outside of them.
  bool same_columns = std::all_of(spec.versions.begin(), spec.versions.end(), [&](const auto& v) {
    return v.additional_printer_columns == spec.versions[0].additional_printer_columns;
  });
  bool same_subresources = std::all_of(spec.versions.begin(), spec.versions.end(),
                                       [&](const auto& v) { return v.subresources == spec.versions[0].subresources; });
  std::set<std::string> names;
  int storage_versions = 0;
  bool unique = true;
  for (std::size_t i = 0; i < spec.versions.size(); ++i) {
    const auto& v = spec.versions[i];
    const std::string at = Index("spec.versions", i);
    storage_versions += v.storage ? 1 : 0;
    unique = names.insert(v.name.str()).second && unique;
    CheckLabel(errors, Child(at, "name"), v.name, v.name.str());
    if (!same_subresources) CheckSubresources(errors, Child(at, "subresources"), v);
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
  if (same_subresources && !spec.versions.empty()) CheckSubresources(errors, "spec.subresources", spec.versions[0]);
  if (same_columns && !spec.versions.empty()) {
    CheckColumns(errors, "spec.additionalPrinterColumns", spec.versions[0].additional_printer_columns);
  }
}

void CheckApproval(Errors& errors, const CustomResourceDefinition& object, const CustomResourceDefinition* old) {
  if (!IsProtectedGroup(object.spec.group)) return;
  const std::string_view annotation = object.metadata.annotations.Get(kApproved);
  const Approval approval = ApprovalOf(annotation);
  // An unchanged approval state is not checked again.
  if (old != nullptr && ApprovalOf(old->metadata.annotations.Get(kApproved)).reason == approval.reason) return;
  if (annotation.empty()) {
    errors.push_back(Required(Key("metadata.annotations", kApproved), approval.message));
  } else if (approval.reason == "InvalidAnnotation") {
    errors.push_back(InvalidValue(Key("metadata.annotations", kApproved), Value(annotation), approval.message));
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
  CheckVersions(errors, spec);
  if (spec.conversion.has_value()) {
    // A definition that is established keeps a good bundle.
    bool check_bundle = old != nullptr && IsEstablished(*old);
    if (check_bundle && old->spec.conversion.has_value()) {
      std::string before = BundleOf(*old->spec.conversion);
      check_bundle = before.empty() || BundleProblem(before).empty();
    }
    CheckConversion(errors, *spec.conversion, check_bundle);
  }
  if (old != nullptr) {
    if (IsEstablished(*old)) {
      CheckImmutable(errors, "spec.scope", spec.scope, spec.scope == old->spec.scope);
      CheckImmutable(errors, "spec.names.kind", spec.names.kind, spec.names.kind == old->spec.names.kind);
    }
    CheckImmutable(errors, "spec.group", spec.group, spec.group == old->spec.group);
    CheckImmutable(errors, "spec.names.plural", spec.names.plural, spec.names.plural == old->spec.names.plural);
  }
  CheckStoredVersions(errors, object);
  CheckApproval(errors, object, old);
}

}  // namespace kube::apiserver::builtin
