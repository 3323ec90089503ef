#include "generate/crd_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "generate/builtin_matcher.h"
#include "generate/marker_writer.h"
#include "generate/names.h"
#include "generate/plural.h"
#include "generate/schema_reader.h"
#include "generate/type_pool.h"
#include "kube/codec/json.h"

namespace kube::generate {
namespace {

std::string Lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return out;
}

bool IsIdentifier(std::string_view text) {
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  return !text.empty() && letter(text[0]) &&
         std::all_of(text.begin(), text.end(), [&](char c) { return letter(c) || (c >= '0' && c <= '9') || c == '_'; });
}

// What cluster:NAME brings along, or tools leave behind.
bool IsOfTools(std::string_view annotation) {
  return annotation == "controller-gen.kubebuilder.io/version" || annotation == "kubectl.kubernetes.io/last-applied-configuration";
}

class CrdReader {
 public:
  CrdReader(const CrdReaderOptions& options, BuiltinTypes& builtins, Model& model, Problems& problems)
      : options_(options), matcher_(builtins, options.builtins), model_(model), problems_(problems) {}

  CrdReading Run(const std::vector<CrdInput>& crds) {
    std::set<std::string> groups;
    for (const CrdInput& input : crds) groups.insert(input.crd["spec"]["group"].string_value().str());
    several_ = groups.size() > 1;
    for (const CrdInput& input : crds) Read(input);
    for (auto& [scope, types] : scopes_) Finish(scope, types);
    model_.Index();
    return std::move(reading_);
  }

 private:
  // A kind in one version, with what stands above it.
  struct Kind {
    Struct s;
    std::string group, version;
  };
  // A namespace.
  struct Scope {
    TypePool pool;
    std::vector<Kind> kinds;
    std::string folder, group, version;
  };

  void Error(const CrdInput& input, const std::string& text) {
    const std::string name = input.crd["metadata"]["name"].string_value().str();
    problems_.Error({}, fmt::format("{}{}{}: {}", input.where, input.where.empty() || name.empty() ? "" : ": ", name, text));
  }

  void Read(const CrdInput& input) {
    const Value& spec = input.crd["spec"];
    const std::string group = spec["group"].string_value().str(), kind = spec["names"]["kind"].string_value().str();
    if (input.crd["kind"].string_value() != "CustomResourceDefinition") return Error(input, "not a CustomResourceDefinition");
    if (input.crd["apiVersion"].string_value() != "apiextensions.k8s.io/v1") {
      return Error(input, fmt::format("apiVersion: expected apiextensions.k8s.io/v1, got \"{}\"; convert the definition first",
                                      input.crd["apiVersion"].string_value().view()));
    }
    if (group.empty()) return Error(input, "spec.group is missing");
    if (!IsIdentifier(kind) || IsReservedName(kind))
      return Error(input, fmt::format("spec.names.kind: \"{}\" is no name that a struct can have", kind));
    if (spec["versions"].list().empty()) return Error(input, "spec.versions is missing");
    if (const std::string list = spec["names"]["listKind"].string_value().str(); !list.empty() && list != kind + "List")
      problems_.Warning({}, fmt::format("{}: spec.names.listKind: {} becomes {}List, which no marker changes",
                                        input.crd["metadata"]["name"].string_value().view(), list, kind));
    std::set<std::string> seen;
    for (const Value& version : spec["versions"].list()) {
      const std::string name = version["name"].string_value().str();
      const Value& schema = version["schema"]["openAPIV3Schema"];
      if (!IsIdentifier(name) || !seen.insert(name).second) {
        Error(input, fmt::format("spec.versions: \"{}\" is {}", name, IsIdentifier(name) ? "there twice" : "no name of a version"));
      } else if (!schema.is_object()) {
        Error(input, fmt::format("version {}: schema.openAPIV3Schema is missing", name));
      } else {
        ReadVersion(input, version, schema);
      }
    }
  }

  void ReadVersion(const CrdInput& input, const Value& version, const Value& schema) {
    const Value& spec = input.crd["spec"];
    const std::string group = spec["group"].string_value().str(), name = version["name"].string_value().str(),
                      kind = spec["names"]["kind"].string_value().str();
    const std::string outer = options_.name_space.empty() ? NamespaceOfGroup(group) : options_.name_space;
    Scope& scope = scopes_[outer + "::" + (IsReservedName(name) ? name + '_' : name)];
    if (scope.kinds.empty()) {
      scope.group = group;
      scope.version = name;
      scope.folder = (several_ ? NamespaceOfGroup(group) + "/" : "") + name + "/";
    }
    if (scope.group != group || scope.version != name) {
      return Error(input, fmt::format("groups {} and {} have the same namespace in C++; read them one by one, with --namespace",
                                      scope.group, group));
    }
    if (std::any_of(scope.kinds.begin(), scope.kinds.end(), [&](const Kind& k) { return k.s.name == kind; }))
      return Error(input, fmt::format("kind {} of {}/{} is defined twice", kind, group, name));
    SchemaReader reader(matcher_, scope.pool, scope.kinds.size(), kind,
                        fmt::format("{}/{}: ", input.crd["metadata"]["name"].string_value().view(), name), reading_);
    Kind out{.s = reader.ReadKind(schema), .group = group, .version = name};
    for (const std::string& error : reader.errors()) Error(input, fmt::format("version {}: {}", name, error));
    out.s.name = kind;
    std::vector<Marker> markers = MarkersOf(spec, version);
    if (IsStored(spec, version)) AddMetadata(input.crd, markers);
    for (const Marker& marker : markers) {
      if (!WriteMarker(marker))
        Error(input, fmt::format("version {}: incomplete or wrong for +{}: {}", name, marker.name, ToJson(marker.arguments)));
    }
    out.s.markers.insert(out.s.markers.begin(), markers.begin(), markers.end());
    scope.kinds.push_back(std::move(out));
  }

  static bool IsStored(const Value& spec, const Value& version) {
    return version["storage"].bool_value() || spec["versions"].list().size() == 1;
  }

  // What stands above a kind, apart from its schema.
  static std::vector<Marker> MarkersOf(const Value& spec, const Value& version) {
    std::vector<Marker> out;
    const auto add = [&](const char* name, Value arguments = {}) {
      out.push_back({.name = name, .items = false, .value = {}, .arguments = std::move(arguments), .at = {}});
    };
    const Value& names = spec["names"];
    const std::string kind = names["kind"].string_value().str();
    Value resource = Value::Object();
    if (const Value& plural = names["plural"]; plural.is_string() && plural != Value(PluralOf(kind))) resource["path"] = plural;
    if (const Value& one = names["singular"]; !one.string_value().empty() && one != Value(Lower(kind))) resource["singular"] = one;
    if (const Value& list = names["shortNames"]; !list.list().empty()) resource["shortName"] = list;
    if (const Value& list = names["categories"]; !list.list().empty()) resource["categories"] = list;
    if (spec["scope"] == Value("Cluster")) resource["scope"] = "Cluster";
    if (!resource.object().empty()) add("kubebuilder:resource", resource);
    if (version["subresources"].Find("status") != nullptr) add("kubebuilder:subresource:status");
    if (const Value* scale = version["subresources"].Find("scale")) {
      Value paths = Value::Object({{"specpath", (*scale)["specReplicasPath"]}, {"statuspath", (*scale)["statusReplicasPath"]}});
      if (const Value* selector = scale->Find("labelSelectorPath")) paths["selectorpath"] = *selector;
      add("kubebuilder:subresource:scale", paths);
    }
    if (spec["versions"].list().size() > 1 && version["storage"].bool_value()) add("kubebuilder:storageversion");
    if (version["served"] == Value(false)) add("kubebuilder:unservedversion");
    if (version["deprecated"].bool_value()) {
      Value warning = Value::Object();
      if (const Value* text = version.Find("deprecationWarning")) warning["warning"] = *text;
      add("kubebuilder:deprecatedversion", warning);
    }
    for (const Value& column : version["additionalPrinterColumns"].list()) {
      Value arguments = Value::Object();
      for (const auto& [name, value] : column.object()) arguments[name == "jsonPath" ? "JSONPath" : name.view()] = value;
      add("kubebuilder:printcolumn", arguments);
    }
    for (const Value& field : version["selectableFields"].list())
      add("kubebuilder:selectablefield", Value::Object({{"JSONPath", field["jsonPath"]}}));
    return out;
  }

  static void AddMetadata(const Value& crd, std::vector<Marker>& out) {
    for (const char* part : {"annotations", "labels"}) {
      for (const auto& [name, value] : crd["metadata"][part].object()) {
        if (IsOfTools(name)) continue;
        const std::string pair = fmt::format("{}={}", name.view(), value.string_value().view());
        out.push_back({.name = "kubebuilder:metadata",
                       .items = false,
                       .value = {},
                       .arguments = Value::Object({{part, Value::Array({pair})}}),
                       .at = {}});
      }
    }
  }

  std::size_t AddFile(const Scope& scope, const std::string& name) {
    model_.files.push_back({.path = scope.folder + name, .group = scope.group, .version = scope.version});
    return model_.files.size() - 1;
  }

  void Finish(const std::string& name, Scope& scope) {
    std::map<std::size_t, std::size_t> files;
    std::set<std::string> taken;
    for (std::size_t i = 0; i < scope.kinds.size(); ++i) {
      files[i] = AddFile(scope, Lower(scope.kinds[i].s.name) + "_types.h");
      taken.insert(scope.kinds[i].s.name);
    }
    scope.pool.Finish(
        name, taken, files, [&] { return AddFile(scope, "common_types.h"); }, model_);
    for (std::size_t i = 0; i < scope.kinds.size(); ++i) {
      Struct s = std::move(scope.kinds[i].s);
      s.scope = name;
      s.qualified = name + "::" + s.name;
      s.role = StructRole::kKind;
      s.file = files[i];
      for (Field& field : s.fields) scope.pool.Rename(field.type);
      model_.structs.push_back(std::move(s));
    }
  }

  const CrdReaderOptions& options_;
  BuiltinMatcher matcher_;
  Model& model_;
  Problems& problems_;
  CrdReading reading_;
  std::map<std::string, Scope> scopes_;
  bool several_ = false;
};

}  // namespace

CrdReading ReadCrds(const std::vector<CrdInput>& crds, const CrdReaderOptions& options, BuiltinTypes& builtins, Model& model,
                    Problems& problems) {
  return CrdReader(options, builtins, model, problems).Run(crds);
}

}  // namespace kube::generate
