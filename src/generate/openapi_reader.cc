#include "generate/openapi_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "generate/plural.h"
#include "generate/schema.h"
#include "generate/schema_reader.h"

namespace kube::generate {
namespace {

constexpr std::size_t kMostNodes = 100'000, kMostDepth = 100;
constexpr const char* kGvk = "x-kubernetes-group-version-kind";
constexpr const char* kPreserve = "x-kubernetes-preserve-unknown-fields";

// What a schema of a CRD may say, apart from what is below it.
constexpr auto kKept = std::to_array<std::string_view>({
    "type",
    "format",
    "title",
    "description",
    "default",
    "nullable",
    "maximum",
    "minimum",
    "multipleOf",
    "maxLength",
    "minLength",
    "pattern",
    "maxItems",
    "minItems",
    "maxProperties",
    "minProperties",
    "uniqueItems",
    "enum",
    "required",
    "example",
    "exclusiveMaximum",
    "exclusiveMinimum",
    "x-kubernetes-preserve-unknown-fields",
    "x-kubernetes-embedded-resource",
    "x-kubernetes-int-or-string",
    "x-kubernetes-list-type",
    "x-kubernetes-list-map-keys",
    "x-kubernetes-map-type",
    "x-kubernetes-validations",
});

Value AnyJson() { return Value::Object({{kPreserve, true}}); }
Value IntOrString() {
  Value out = Value::Object({{"x-kubernetes-int-or-string", true}});
  out["anyOf"] = Value::Array({Value::Object({{"type", "integer"}}), Value::Object({{"type", "string"}})});
  return out;
}

std::string LastPart(std::string_view name) { return std::string(name.substr(name.rfind('.') + 1)); }

// io.k8s.api.core.v1.PodSpec, com.github.openshift.api... The struct of kubexx, if it has one of that name.
std::string BuiltinName(std::string_view name) {
  for (const std::string_view prefix : {"io.k8s.apimachinery.pkg.apis.", "io.k8s.api.", "io.k8s.apiextensions-apiserver.pkg.apis."}) {
    if (!name.starts_with(prefix)) continue;
    std::string out = "kube";
    name.remove_prefix(prefix.size());
    while (!name.empty()) {
      const std::size_t end = name.find('.');
      out += "::" + std::string(name.substr(0, end));
      name.remove_prefix(end == std::string_view::npos ? name.size() : end + 1);
    }
    return out;
  }
  return "";
}

// v2 before v1, v1 before v1beta2, that before v1beta1 and v1alpha3.
std::tuple<int, int, int> RankOf(std::string_view version) {
  const auto number = [](std::string_view& text) {
    int out = 0;
    while (!text.empty() && text[0] >= '0' && text[0] <= '9' && out < 1'000'000) {
      out = out * 10 + (text[0] - '0');
      text.remove_prefix(1);
    }
    return out;
  };
  if (!version.starts_with('v')) return {0, 0, 0};
  version.remove_prefix(1);
  const int major = number(version);
  if (version.empty()) return {3, major, 0};
  const bool beta = version.starts_with("beta");
  version.remove_prefix(std::min<std::size_t>(version.size(), beta ? 4 : 5));
  return {beta ? 2 : 1, major, number(version)};
}

// One schema without references.
class Resolver {
 public:
  Resolver(const Value& schemas, BuiltinTypes& builtins, std::string where, Problems& problems)
      : schemas_(schemas),
        builtins_(builtins),
        maker_(none_, builtins, options_, ignored_),
        where_(std::move(where)),
        problems_(problems) {}

  Value Run(const std::string& name) {
    open_.push_back(name);
    Value out = Resolve(schemas_[name]);
    open_.pop_back();
    if (nodes_ > kMostNodes)
      problems_.Error({}, fmt::format("{}: {}: a schema with more than {} fields, which no server takes", where_, name, kMostNodes));
    return out;
  }

 private:
  void Warn(std::string_view what) {
    problems_.Warning({}, fmt::format("{}: {}: {}: {}; it becomes kube::RawJson", where_, open_.front(), ToString(path_), what));
  }

  // Of "#/definitions/a.b~1c".
  static std::string Target(std::string_view reference) {
    for (const std::string_view prefix : {"#/components/schemas/", "#/definitions/"}) {
      if (!reference.starts_with(prefix)) continue;
      std::string out;
      for (std::size_t i = prefix.size(); i < reference.size(); ++i) {
        const bool escape = reference[i] == '~' && i + 1 < reference.size();
        out += !escape ? reference[i] : reference[i + 1] == '1' ? '/' : '~';
        if (escape) ++i;
      }
      return out;
    }
    return "";
  }

  Value Follow(const Value& schema) {
    const std::string reference = schema["$ref"].string_value().str(), name = Target(reference);
    if (name.ends_with(".api.resource.Quantity")) {
      Value out = maker_.WholeSchema("kube::Quantity");
      return out;
    }
    if (name.ends_with(".util.intstr.IntOrString")) return IntOrString();
    if (name.ends_with(".meta.v1.ObjectMeta")) return Value::Object({{"type", "object"}});
    if (name.ends_with(".meta.v1.FieldsV1") || name.ends_with(".pkg.runtime.RawExtension") || name.ends_with(".v1.JSON")) return AnyJson();
    if (const std::string builtin = BuiltinName(name); !builtin.empty() && builtins_.Has(builtin)) return maker_.WholeSchema(builtin);
    const Value* target = schemas_.Find(name);
    if (target == nullptr) {
      problems_.Error({}, fmt::format("{}: {}: {}: there is no {}", where_, open_.front(), ToString(path_), reference));
      return AnyJson();
    }
    if (std::find(open_.begin(), open_.end(), name) != open_.end()) {
      Warn(fmt::format("{} contains itself", LastPart(name)));
      return AnyJson();
    }
    open_.push_back(name);
    Value out = Resolve(*target);
    open_.pop_back();
    if (out.Find("properties") != nullptr || out.Find("enum") != nullptr) out[kTypeNameKey] = LastPart(name);
    return out;
  }

  // What a schema says beside a reference stands for the type's.
  static void Overlay(const Value& own, Value& out) {
    for (const char* key : {"description", "default", "nullable", "title", "example"}) {
      if (const Value* value = own.Find(key)) out[key] = *value;
    }
  }

  Value Resolve(const Value& schema) {
    if (++nodes_ > kMostNodes || path_.size() > kMostDepth) return AnyJson();
    if (!schema.is_object()) return AnyJson();
    Value own = Plain(schema);
    if (schema.Find("$ref") != nullptr) {
      Value out = Follow(schema);
      Overlay(own, out);
      return out;
    }
    if (const Value& all = schema["allOf"]; !all.list().empty()) return Join(schema, own);
    if (IsMixed(schema)) {
      Value out = IntOrString();
      Overlay(own, out);
      return out;
    }
    if (schema.Find("oneOf") != nullptr || schema.Find("anyOf") != nullptr || schema.Find("patternProperties") != nullptr) {
      if (schema.Find("properties") == nullptr && schema.Find("type") == nullptr) {
        Warn(schema.Find("patternProperties") != nullptr ? "patternProperties" : "several possible types");
        Value out = AnyJson();
        Overlay(own, out);
        return out;
      }
    }
    Below(schema, own);
    return own;
  }

  // allOf: a reference and what is said beside it, or several structs that are one together.
  Value Join(const Value& schema, const Value& own) {
    Value out = Value::Object();
    const auto& parts = schema["allOf"].list();
    for (const Value& part : parts) {
      const Value next = Resolve(part);
      for (const auto& [key, value] : next.object()) {
        if (key == "properties") {
          for (const auto& [name, property] : value.object()) out["properties"][name] = property;
        } else if (key == "required") {
          for (const Value& name : value.list()) out["required"].MutableList().push_back(name);
        } else if (key != kTypeNameKey || parts.size() == 1) {
          out[key] = value;
        }
      }
    }
    Value rest = own;
    if (schema.Find("properties") != nullptr) Below(schema, rest);
    for (const auto& [name, property] : std::as_const(rest)["properties"].object()) out["properties"][name] = property;
    for (const auto& [key, value] : rest.object()) {
      // Kubernetes writes {} as the default of every struct.
      const bool noise = key == "default" && value.is_object() && value.object().empty();
      if (key != "properties" && key != "required" && !noise) out[key] = value;
    }
    for (const Value& name : std::as_const(rest)["required"].list()) out["required"].MutableList().push_back(name);
    return out;
  }

  static bool IsMixed(const Value& schema) {
    if (schema["format"].string_value() == "int-or-string") return true;
    for (const char* key : {"oneOf", "anyOf"}) {
      std::set<std::string> types;
      for (const Value& choice : schema[key].list()) types.insert(choice["type"].string_value().str());
      if (types == std::set<std::string>{"integer", "string"} || types == std::set<std::string>{"number", "string"}) return true;
    }
    return false;
  }

  // The keys that stay, in the words of version 3.0.
  static Value Plain(const Value& schema) {
    Value out = Value::Object();
    for (const auto& [name, value] : schema.object()) {
      const std::string_view key = name;
      if (std::find(kKept.begin(), kKept.end(), key) != kKept.end()) out[key] = value;
    }
    if (schema["x-nullable"].bool_value()) out["nullable"] = true;
    if (const Value* one = schema.Find("const")) out["enum"] = Value::Array({*one});
    if (const Value& types = schema["type"]; types.is_list()) {
      out.MutableObject().Erase("type");
      std::size_t count = 0;
      for (const Value& type : types.list()) {
        if (type == Value("null")) {
          out["nullable"] = true;
        } else if (++count == 1) {
          out["type"] = type;
        }
      }
      if (count != 1) out.MutableObject().Erase("type");
    }
    for (const auto& [exclusive, limit] : {std::pair("exclusiveMinimum", "minimum"), std::pair("exclusiveMaximum", "maximum")}) {
      const Value value = std::as_const(out)[exclusive];
      if (!value.is_number()) continue;
      out[limit] = value;
      out[exclusive] = true;
    }
    return out;
  }

  void Below(const Value& schema, Value& out) {
    const std::string type = std::as_const(out)["type"].string_value().str();
    const Value *properties = schema.Find("properties"), *items = schema.Find("items"), *more = schema.Find("additionalProperties");
    if (properties != nullptr && properties->is_object() && !properties->object().empty()) {
      out["type"] = "object";
      for (const auto& [name, property] : properties->object()) {
        path_.push_back({name.str(), false});
        out["properties"][name] = Resolve(property);
        path_.pop_back();
      }
      if (more != nullptr && (more->is_object() || *more == Value(true))) out[kPreserve] = true;
      return;
    }
    path_.push_back({"", true});
    if (type == "array" || items != nullptr) {
      out["type"] = "array";
      out["items"] = items != nullptr ? Resolve(*items) : AnyJson();
    } else if (more != nullptr && more->is_object() && !more->object().empty()) {
      out["type"] = "object";
      out["additionalProperties"] = Resolve(*more);
    } else if ((type == "object" || type.empty()) && std::as_const(out).Find("x-kubernetes-int-or-string") == nullptr) {
      out[kPreserve] = true;
    }
    path_.pop_back();
  }

  const Value& schemas_;
  BuiltinTypes& builtins_;
  Model none_;
  Problems ignored_;
  SchemaOptions options_{.allow_dangerous_types = true, .embedded_object_meta = false, .max_description = {}};
  SchemaMaker maker_;
  const std::string where_;
  Problems& problems_;
  std::vector<std::string> open_;
  SchemaPath path_;
  std::size_t nodes_ = 0;
};

struct Found {
  const OpenApiInput* input = nullptr;
  std::string group, version, kind, schema;
  auto operator<=>(const Found&) const = default;
};

const Value& SchemasOf(const Value& document) {
  return document.Find("definitions") != nullptr ? document["definitions"] : document["components"]["schemas"];
}

// What "a.com/v1/Kind" and "Kind" mean in these documents.
std::vector<Found> Find(const std::vector<OpenApiInput>& documents, const std::string& wanted) {
  const std::size_t last = wanted.rfind('/'), first = wanted.find('/');
  const bool exact = last != std::string::npos && first != last;
  const std::string kind = last == std::string::npos ? wanted : wanted.substr(last + 1), group = exact ? wanted.substr(0, first) : "",
                    version = exact ? wanted.substr(first + 1, last - first - 1) : "";
  std::vector<Found> out, named;
  for (const OpenApiInput& input : documents) {
    for (const auto& [name, schema] : SchemasOf(input.document).object()) {
      if (exact && LastPart(name) == kind) named.push_back({&input, group, version, kind, name.str()});
      const Value kinds = schema[kGvk].is_object() ? Value::Array({schema[kGvk]}) : schema[kGvk];
      for (const Value& gvk : kinds.list()) {
        const Found found{&input, gvk["group"].string_value().str(), gvk["version"].string_value().str(), gvk["kind"].string_value().str(),
                          name.str()};
        if (found.kind == kind && (!exact || (found.group == group && found.version == version))) out.push_back(found);
      }
    }
  }
  return out.empty() ? named : out;
}

// Plural, scope and status, as the paths of the document have them.
struct Resource {
  std::string plural;
  bool namespaced = true, status = false;
};
Resource ResourceIn(const Value& document, const Found& found) {
  Resource out{.plural = PluralOf(found.kind)};
  const std::string prefix = fmt::format("/apis/{}/{}/", found.group, found.version);
  bool seen = false;
  std::set<std::string> all;
  for (const auto& [path, item] : document["paths"].object()) {
    std::string_view rest = path;
    if (!rest.starts_with(prefix)) continue;
    rest.remove_prefix(prefix.size());
    const bool matches = std::any_of(item.object().begin(), item.object().end(), [&](const auto& method) {
      const Value& gvk = method.value[kGvk];
      return gvk["kind"].string_value() == std::string_view(found.kind) && gvk["version"].string_value() == std::string_view(found.version);
    });
    if (!matches) continue;
    all.insert(std::string(rest));
    constexpr std::string_view kNamespaced = "namespaces/{namespace}/";
    const bool namespaced = rest.starts_with(kNamespaced);
    if (namespaced) rest.remove_prefix(kNamespaced.size());
    if (rest.starts_with("watch/") || rest.find('/') != std::string_view::npos) {
      out.status = out.status || rest.ends_with("/{name}/status");
      continue;
    }
    if (!seen || namespaced) out.namespaced = namespaced;
    seen = true;
    out.plural = std::string(rest);
  }
  return out;
}

}  // namespace

void ReadOpenApi(const std::vector<OpenApiInput>& documents, const std::vector<std::string>& kinds, BuiltinTypes& builtins,
                 std::vector<CrdInput>& out, Problems& problems) {
  for (const OpenApiInput& input : documents) {
    if (!SchemasOf(input.document).is_object())
      problems.Error({}, fmt::format("{}: no OpenAPI document: it has neither definitions nor components.schemas", input.where));
  }
  for (const std::string& wanted : kinds) {
    std::vector<Found> found = Find(documents, wanted);
    std::set<std::string> groups, versions;
    std::string choices;
    for (const Found& f : found) {
      groups.insert(f.group);
      choices += fmt::format("{}{}/{}/{}", choices.empty() ? "" : ", ", f.group, f.version, f.kind);
    }
    if (found.empty()) {
      problems.Error(
          {}, fmt::format("--kind {}: no schema has this kind in its x-kubernetes-group-version-kind; pass GROUP/VERSION/KIND to name it",
                          wanted));
      continue;
    }
    if (groups.size() > 1) {
      problems.Error({}, fmt::format("--kind {}: there is {}; pass one of them", wanted, choices));
      continue;
    }
    if (found[0].group.empty()) {
      problems.Error({}, fmt::format("--kind {}: {} is a kind of Kubernetes, not a custom one; kubexx has it as kube::core::{}::{}", wanted,
                                     choices, found[0].version, found[0].kind));
      continue;
    }
    std::sort(found.begin(), found.end(), [](const Found& a, const Found& b) { return RankOf(a.version) > RankOf(b.version); });
    const Resource resource = ResourceIn(found[0].input->document, found[0]);
    Value versions_out = Value::Array();
    for (const Found& f : found) {
      if (!versions.insert(f.version).second) continue;
      Resolver resolver(SchemasOf(f.input->document), builtins, f.input->where, problems);
      Value schema = resolver.Run(f.schema);
      schema["type"] = "object";
      schema["properties"]["metadata"] = Value::Object({{"type", "object"}});
      schema.MutableObject().Erase(kTypeNameKey);
      Value version = Value::Object({{"name", f.version}, {"served", true}, {"storage", versions.size() == 1}});
      version["schema"]["openAPIV3Schema"] = std::move(schema);
      if (resource.status) version["subresources"]["status"] = Value::Object();
      versions_out.MutableList().push_back(std::move(version));
    }
    const Found& best = found[0];
    Value crd = Value::Object({{"apiVersion", "apiextensions.k8s.io/v1"}, {"kind", "CustomResourceDefinition"}});
    crd["metadata"]["name"] = resource.plural + "." + best.group;
    crd["spec"]["group"] = best.group;
    crd["spec"]["names"] = Value::Object({{"kind", best.kind}, {"plural", resource.plural}});
    crd["spec"]["scope"] = resource.namespaced ? "Namespaced" : "Cluster";
    crd["spec"]["versions"] = std::move(versions_out);
    out.push_back({std::move(crd), best.input->where});
  }
}

}  // namespace kube::generate
