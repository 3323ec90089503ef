#include "generate/crd_checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "apiserver/builtin/validation.h"
#include "apiserver/crd.h"
#include "apiserver/errors.h"
#include "apiserver/json_path.h"
#include "generate/cel_features.h"
#include "generate/crd_places.h"
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
        case Scalar::kDuration:  // the schema says only that it is a string
          return value.is_string() && Duration::Parse(value.string_value().view());
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

void CheckEnums(const Model& model, Problems& problems) {
  const auto check = [&](const std::vector<Marker>& markers, const Type& type, const std::string& name) {
    const auto has = [&](std::string_view marker) {
      return std::any_of(markers.begin(), markers.end(), [&](const Marker& m) { return m.name == marker && !m.items; });
    };
    if (has("kubebuilder:validation:Type") || has("kubebuilder:validation:Schemaless")) return;
    for (const Marker& marker : markers) {
      if (marker.name != "kubebuilder:validation:Enum" || marker.items) continue;
      for (const Value& value : marker.value.list()) {
        std::string path;
        if (Fits(model, type, value, path) || (value.is_null() && has("nullable"))) continue;
        const Type* under = Underlying(model, type);
        const bool list = under != nullptr && under->form == TypeForm::kList;
        problems.Warning(marker.at, fmt::format("marker +{}: {} is {}, which {} of type {} never holds; {}", marker.name, ToJson(value),
                                                JsonNameOf(value), name, type.Spelling(),
                                                list ? "write +kubebuilder:validation:items:Enum for its items"
                                                     : fmt::format("write \"{}\" if it is a text", ToJson(value))));
        break;
      }
    }
  };
  for (const Struct& s : model.structs) {
    for (const Field& field : s.fields) check(field.markers, field.type, "field " + field.json);
  }
  for (const Alias& alias : model.aliases) check(alias.markers, alias.type, "alias " + alias.name);
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

// Keys of a rule, and the releases that they came with: servers before refuse or ignore them.
struct RuleKey {
  std::string_view key;
  int since;
};
constexpr RuleKey kRuleKeys[] = {{"messageExpression", 27}, {"reason", 28}, {"fieldPath", 28}, {"optionalOldSelf", 30}};
constexpr int kRules = 25, kSelectableFields = 31;

class FeatureChecker {
 public:
  FeatureChecker(const Model& model, const Struct& kind, int least, Problems& problems) : kind_(kind), least_(least), problems_(problems) {
    for (const Struct& s : model.structs) {
      Add(s.markers);
      for (const Field& field : s.fields) Add(field.markers);
    }
    for (const Alias& alias : model.aliases) Add(alias.markers);
  }

  void Check(const Value& version) {
    if (version.Find("selectableFields") != nullptr && kSelectableFields > least_) {
      const Marker* marker = kind_.Find("kubebuilder:selectablefield");
      Missing(marker != nullptr ? marker->at : kind_.at, "+kubebuilder:selectablefield", kSelectableFields);
    }
    CheckSchema(version["schema"]["openAPIV3Schema"]);
  }

 private:
  static std::string KeyOf(const Value& rule) { return ToJson(rule["rule"]) + ToJson(rule["messageExpression"]); }

  // The rules that markers write.
  void Add(const std::vector<Marker>& markers) {
    for (const Marker& marker : markers) {
      if (marker.name == "kubebuilder:validation:XValidation") markers_[KeyOf(marker.arguments)].push_back(&marker);
      if (marker.name != "kube:schema") continue;
      for (const Value& rule : marker.value["x-kubernetes-validations"].list()) markers_[KeyOf(rule)].push_back(&marker);
    }
  }

  void Missing(const Position& at, const std::string& what, int since) {
    // A struct may be in many places.
    if (since <= least_ || !reported_.insert(at.ToString() + what).second) return;
    problems_.Error(at, fmt::format("kind {}: {} needs Kubernetes 1.{}, but --min-kubernetes is 1.{}; leave it out, or raise the version",
                                    kind_.name, what, since, least_));
  }

  void CheckRule(const Value& rule, const Position& at) {
    Missing(at, "a CEL rule", kRules);
    for (const RuleKey& key : kRuleKeys) {
      if (rule.Find(key.key) != nullptr) Missing(at, fmt::format("{} of a CEL rule", key.key), key.since);
    }
    for (const char* key : {"rule", "messageExpression"}) {
      const String& expression = rule[key].string_value();
      for (const CelFeature& feature : FeaturesOf(expression)) Missing(at, fmt::format("{} in a CEL rule", feature.what), feature.since);
    }
  }

  void CheckSchema(const Value& schema) {
    if (!schema.is_object()) return;
    for (const Value& rule : schema["x-kubernetes-validations"].list()) {
      const auto found = markers_.find(KeyOf(rule));
      if (found == markers_.end()) CheckRule(rule, kind_.at);
      for (std::size_t i = 0; found != markers_.end() && i < found->second.size(); ++i) CheckRule(rule, found->second[i]->at);
    }
    for (const auto& [name, property] : schema["properties"].object()) CheckSchema(property);
    CheckSchema(schema["items"]);
    CheckSchema(schema["additionalProperties"]);
  }

  const Struct& kind_;
  const int least_;
  Problems& problems_;
  std::map<std::string, std::vector<const Marker*>> markers_;
  std::set<std::string> reported_;
};

}  // namespace

void CheckFeatures(const Model& model, const Struct& kind, const Value& version, int min_kubernetes, Problems& problems) {
  FeatureChecker(model, kind, min_kubernetes, problems).Check(version);
}

void CheckAsServer(const Model& model, const Crd& crd, Problems& problems) {
  if (problems.has_errors()) return;  // they would only be said in other words
  const Position& at = crd.kinds[0]->at;
  auto report = [&](const std::vector<apiserver::FieldError>& errors) {
    for (const apiserver::FieldError& error : errors) {
      const CrdPlace place = PlaceOf(model, crd, error.field);
      problems.Error(place.at, fmt::format("{}: a server would refuse the CRD: {}; {}", place.what, error.ToString(), place.remedy));
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
