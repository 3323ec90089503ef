#include "generate/crd_checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "apiserver/builtin/validation.h"
#include "apiserver/crd.h"
#include "apiserver/errors.h"
#include "apiserver/json_path.h"
#include "generate/resolve.h"
#include "kube/api/apiextensions/v1.h"
#include "kube/codec/json.h"
#include "kube/codec/yaml.h"
#include "kube/meta/v1.h"

namespace kube::generate {
namespace {

constexpr std::size_t kLargeCrdBytes = 250'000;  // kubectl apply keeps a copy in an annotation, which may have 262144 bytes

const char* JsonNameOf(const Value& value) {
  if (value.is_list()) return "a list";
  if (value.is_object()) return "an object";
  if (value.is_string()) return "a string";
  if (value.is_bool()) return "a bool";
  if (value.is_int()) return "an integer";
  if (value.is_double()) return "a number";
  return "null";
}

// Whether a JSON value can be one of this type; `path` is where it cannot.
bool Fits(const Model& model, const Type& type, const Value& value, std::string& path, int depth = 0) {
  const Type* under = Underlying(model, type);
  if (under == nullptr || depth > 32) return true;
  switch (under->form) {
    case TypeForm::kOptional:
    case TypeForm::kBox:
      return Fits(model, *under->element, value, path, depth + 1);
    case TypeForm::kList: {
      if (!value.is_list()) return value.is_object() && value.object().empty();  // {} is how an empty list is written
      for (std::size_t i = 0; i < value.list().size(); ++i) {
        if (Fits(model, *under->element, value.list()[i], path, depth + 1)) continue;
        path = fmt::format("[{}]{}", i, path);
        return false;
      }
      return true;
    }
    case TypeForm::kMap: {
      if (!value.is_object()) return false;
      for (const auto& [key, item] : value.object()) {
        if (Fits(model, *under->element, item, path, depth + 1)) continue;
        path = fmt::format(".{}{}", key.view(), path);
        return false;
      }
      return true;
    }
    case TypeForm::kStruct: {
      if (!value.is_object()) return false;
      const Struct* s = model.FindStruct(under->name);
      if (s == nullptr) return true;
      const bool inlines = std::any_of(s->fields.begin(), s->fields.end(), [](const Field& f) { return f.inlined; });
      for (const auto& [key, item] : value.object()) {
        const std::string_view json = key;
        auto field = std::find_if(s->fields.begin(), s->fields.end(), [&](const Field& f) { return f.json == json; });
        const bool known = field != s->fields.end();
        if (!known && inlines) continue;
        if (known && Fits(model, field->type, item, path, depth + 1)) continue;
        path = fmt::format(".{}{}", key.view(), path);
        return false;
      }
      return true;
    }
    case TypeForm::kScalar:
      switch (under->scalar) {
        case Scalar::kBool:
          return value.is_bool();
        case Scalar::kInt32:
          return value.is_int() && value.int_value() >= INT32_MIN && value.int_value() <= INT32_MAX;
        case Scalar::kInt64:
          return value.is_int();
        case Scalar::kDouble:
          return value.is_number();
        case Scalar::kQuantity:
          return value.is_string() || value.is_number();
        case Scalar::kIntOrString:
          return value.is_string() || value.is_int();
        case Scalar::kRawJson:
          return true;
        default:
          return value.is_string();
      }
    default:
      return true;
  }
}

bool IsZero(const Value& value) {
  return value.is_null() || (value.is_bool() && !value.bool_value()) || (value.is_number() && value.double_value() == 0);
}

// ---- Paths ----

// The first field of a path: ".spec.x" gives "spec" and leaves ".x". Nothing if the path goes on with something else than a plain field.
bool TakeField(std::string_view& path, std::string& out) {
  out.clear();
  if (path.starts_with("['") || path.starts_with("[\"")) {
    const char quote = path[1];
    const std::size_t end = path.find(quote, 2);
    if (end == std::string_view::npos || end + 1 >= path.size() || path[end + 1] != ']') return false;
    out = path.substr(2, end - 2);
    path.remove_prefix(end + 2);
    return true;
  }
  if (!path.starts_with('.') || path.starts_with("..")) return false;
  std::size_t at = 1;
  while (at < path.size() && path[at] != '.' && path[at] != '[') {
    if (path[at] == '\\' && at + 1 < path.size()) ++at;
    out += path[at++];
  }
  path.remove_prefix(at);
  return !out.empty() && out != "*";
}

bool IsMetaField(std::string_view name) {
  const TypeInfo& type = meta::v1::ObjectMeta::kType;
  return std::any_of(type.begin(), type.end(), [&](const FieldInfo& f) { return f.json_name == name; });
}

}  // namespace

std::string PathProblem(std::string_view path, const Value& schema) {
  if (path.starts_with('{') && path.ends_with('}')) path = path.substr(1, path.size() - 2);
  if (!path.starts_with('.') && !path.starts_with('[')) return "a path begins with a dot: .spec.name";
  if (Result<apiserver::JsonPath> parsed = apiserver::JsonPath::Parse(path); !parsed) return parsed.error().message();
  const Value* at = &schema;
  std::string walked, field;
  while (!path.empty()) {
    if (path.starts_with("[*]") || path.starts_with("[?") || (path.size() > 1 && path[0] == '[' && path[1] >= '0' && path[1] <= '9')) {
      // Into the elements of a list. What a filter says is not checked.
      int depth = 0;
      std::size_t end = 0;
      do {
        if (path[end] == '[') ++depth;
        if (path[end] == ']') --depth;
        ++end;
      } while (end < path.size() && depth > 0);
      const Value* items = at->Find("items");
      if (items == nullptr)
        return at->Find("type") == nullptr || (*at)["x-kubernetes-preserve-unknown-fields"].bool_value()
                   ? ""
                   : fmt::format("{} is no list", walked);
      at = items;
      walked += path.substr(0, end);
      path.remove_prefix(end);
      continue;
    }
    if (!TakeField(path, field)) return "";  // descents, ranges, wildcards: not followed
    if (walked == ".metadata") return IsMetaField(field) ? "" : fmt::format("metadata has no field {}", field);
    if ((*at)["x-kubernetes-preserve-unknown-fields"].bool_value() || at->Find("x-kubernetes-int-or-string") != nullptr) return "";
    const Value* next = (*at)["properties"].Find(field);
    if (next == nullptr && at->Find("additionalProperties") != nullptr) next = at->Find("additionalProperties");
    if (next == nullptr)
      return walked.empty() ? fmt::format("there is no field {}", field) : fmt::format("{} has no field {}", walked, field);
    walked += '.' + field;
    at = next;
  }
  return "";
}

void CheckDefaults(const Model& model, const Struct& s, Problems& problems) {
  for (const Field& field : s.fields) {
    for (const Marker& marker : field.markers) {
      if (marker.name != "kubebuilder:default" && marker.name != "default") continue;
      if (field.Find("kubebuilder:validation:Type") != nullptr || field.Find("kubebuilder:validation:Schemaless") != nullptr) continue;
      std::string path;
      if (!(marker.value.is_null() && field.Find("nullable") != nullptr) && !Fits(model, field.type, marker.value, path)) {
        problems.Error(marker.at,
                       fmt::format("marker +{}: {} is {}, which field {} of type {} cannot hold{}", marker.name, ToJson(marker.value),
                                   JsonNameOf(marker.value), field.json, field.type.Spelling(), path.empty() ? "" : "; see " + path));
        continue;
      }
      const Type* under = Underlying(model, field.type);
      if (under == nullptr || under->form != TypeForm::kScalar || IsZero(marker.value)) continue;
      const bool plain = under->scalar == Scalar::kBool || under->scalar == Scalar::kInt32 || under->scalar == Scalar::kInt64 ||
                         under->scalar == Scalar::kDouble;
      if (plain && field.Find("required") == nullptr && field.Find("kubebuilder:validation:Required") == nullptr) {
        problems.Error(
            marker.at,
            fmt::format("marker +{}: a plain {} that is {} is not written, so the server would set {}; write std::optional<{}> {}{{}};",
                        marker.name, field.type.Spelling(), under->scalar == Scalar::kBool ? "false" : "0", ToJson(marker.value),
                        field.type.Spelling(), field.name));
      }
    }
  }
}

void CheckPaths(const Struct& kind, const Value& schema, Problems& problems) {
  for (const Marker& marker : kind.markers) {
    for (const char* name : {"JSONPath", "specpath", "statuspath", "selectorpath"}) {
      const Value* path = marker.arguments.Find(name);
      if (path == nullptr) continue;
      const std::string problem = PathProblem(path->string_value(), schema);
      if (!problem.empty())
        problems.Error(marker.at, fmt::format("marker +{}: {}={}: {}", marker.name, name, path->string_value().view(), problem));
    }
  }
}

namespace {

// What came with which release: servers before it refuse or ignore it.
struct Feature {
  std::string_view text;  // a key of a rule, or a function that its text calls
  int since;
};
constexpr Feature kRuleKeys[] = {{"messageExpression", 27}, {"reason", 28}, {"fieldPath", 28}, {"optionalOldSelf", 30}};
constexpr Feature kFunctions[] = {{"cidr(", 31},     {"isCIDR(", 31},     {"ip(", 31},    {"isIP(", 31},
                                  {"quantity(", 29}, {"isQuantity(", 29}, {"format.", 32}};

bool Calls(std::string_view rule, std::string_view function) {
  for (std::size_t at = rule.find(function); at != std::string_view::npos; at = rule.find(function, at + 1)) {
    const char before = at == 0 ? ' ' : rule[at - 1];
    const bool part_of_name = (before >= 'a' && before <= 'z') || (before >= 'A' && before <= 'Z') || (before >= '0' && before <= '9') ||
                              before == '_' || before == '.';
    if (!part_of_name) return true;
  }
  return false;
}

void CheckRules(const Value& schema, const Struct& kind, int least, Problems& problems) {
  if (!schema.is_object()) return;
  auto missing = [&](std::string_view what, int since) {
    if (since > least) {
      problems.Error(kind.at,
                     fmt::format("kind {}: {} needs Kubernetes 1.{}, but --min-kubernetes is 1.{}; leave it out, or raise the version",
                                 kind.name, what, since, least));
    }
  };
  for (const Value& rule : schema["x-kubernetes-validations"].list()) {
    missing("a CEL rule", 25);
    for (const Feature& key : kRuleKeys) {
      if (rule.Find(key.text) != nullptr) missing(fmt::format("{} of a CEL rule", key.text), key.since);
    }
    for (const Feature& function : kFunctions) {
      if (Calls(rule["rule"].string_value(), function.text)) missing(fmt::format("{}...) in a CEL rule", function.text), function.since);
    }
  }
  for (const auto& [name, property] : schema["properties"].object()) CheckRules(property, kind, least, problems);
  CheckRules(schema["items"], kind, least, problems);
  CheckRules(schema["additionalProperties"], kind, least, problems);
}

}  // namespace

void CheckFeatures(const Struct& kind, const Value& version, int min_kubernetes, Problems& problems) {
  if (version.Find("selectableFields") != nullptr && min_kubernetes < 31) {
    problems.Error(
        kind.at,
        fmt::format(
            "kind {}: +kubebuilder:selectablefield needs Kubernetes 1.31, but --min-kubernetes is 1.{}; leave it out, or raise the version",
            kind.name, min_kubernetes));
  }
  CheckRules(version["schema"]["openAPIV3Schema"], kind, min_kubernetes, problems);
}

void CheckAsServer(const Crd& crd, Problems& problems) {
  if (problems.has_errors()) return;  // they would only be said in other words
  const Position& at = crd.kinds[0]->at;
  auto report = [&](const std::vector<apiserver::FieldError>& errors) {
    for (const apiserver::FieldError& error : errors) {
      problems.Error(at, fmt::format("kind {}: a server would refuse the CRD: {}", crd.kinds[0]->name, error.ToString()));
    }
  };
  using apiextensions::v1::CustomResourceDefinition;
  Result<CustomResourceDefinition> typed = FromValue<CustomResourceDefinition>(crd.object);
  if (!typed) {
    problems.Error(at, fmt::format("kind {}: a server would refuse the CRD: {}", crd.kinds[0]->name, typed.error().ToString()));
    return;
  }
  // What the server sets before it looks.
  typed->spec.conversion.Mutable().strategy = "None";
  for (const auto& version : std::as_const(typed->spec.versions)) {
    if (version.storage) typed->status.stored_versions.push_back(version.name);
  }
  report(apiserver::Validate(CustomResourceDefinition::kType, &*typed, nullptr));
  report(apiserver::CheckCrd(crd.object, nullptr));
  if (const std::size_t bytes = crd.ToYaml().size(); bytes > kLargeCrdBytes) {
    problems.Warning(
        at, fmt::format(
                "kind {}: the CRD has {} bytes, and kubectl apply takes 262144; use kubectl apply --server-side, or --max-description 0",
                crd.kinds[0]->name, bytes));
  }
}

}  // namespace kube::generate
