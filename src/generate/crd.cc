#include "generate/crd.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "apiserver/names.h"
#include "generate/crd_checks.h"
#include "generate/plural.h"
#include "generate/resolve.h"
#include "kube/codec/yaml.h"

namespace kube::generate {
namespace {

std::string Lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return out;
}

// One argument of the kind's +kubebuilder:resource.
Value ResourceArgument(const Struct& kind, std::string_view name) {
  const Marker* marker = kind.Find("kubebuilder:resource");
  return marker == nullptr ? Value() : marker->arguments[name];
}

// The parts of names and scope that all versions have to agree on.
Value NamesOf(const Struct& kind) {
  Value out = Value::Object({{"kind", kind.name}, {"listKind", kind.name + "List"}, {"plural", ResourceOf(kind)}});
  const std::string singular = ResourceArgument(kind, "singular").string_value().str();
  out["singular"] = singular.empty() ? Lower(kind.name) : singular;
  if (Value names = ResourceArgument(kind, "shortName"); !names.list().empty()) out["shortNames"] = names;
  if (Value names = ResourceArgument(kind, "categories"); !names.list().empty()) out["categories"] = names;
  return out;
}

class CrdMaker {
 public:
  CrdMaker(const Model& model, BuiltinTypes& builtins, const CrdOptions& options, Problems& problems)
      : model_(model), builtins_(builtins), options_(options), problems_(problems), schemas_(model, builtins, options_.schema, problems) {}

  std::vector<Crd> Run() {
    std::map<std::pair<std::string, std::string>, std::vector<const Struct*>> kinds;
    for (const Struct& s : model_.structs) {
      if (s.role != StructRole::kKind || !model_.FileOf(s).given) continue;
      if (CheckKind(s)) kinds[{model_.FileOf(s).group, s.name}].push_back(&s);
    }
    CheckEnums(model_, problems_);
    std::vector<Crd> out;
    std::map<std::string, const Struct*> files;
    for (auto& [key, versions] : kinds) {
      Crd crd = Make(versions);
      if (crd.kinds.empty()) continue;
      auto [other, added] = files.emplace(crd.file_name, crd.kinds[0]);
      if (!added) {
        problems_.Error(
            crd.kinds[0]->at,
            fmt::format("kinds {} and {} have the same resource {}; give one of them another with `// +kubebuilder:resource:path=...`",
                        other->second->name, crd.kinds[0]->name, ResourceOf(*crd.kinds[0])));
        continue;
      }
      out.push_back(std::move(crd));
    }
    std::sort(out.begin(), out.end(), [](const Crd& a, const Crd& b) { return a.file_name < b.file_name; });
    return out;
  }

 private:
  // Every kind has apiVersion and kind without a member for them, which would write them twice.
  void CheckTypeMeta(const Struct& kind, const Struct& s, std::set<const Struct*>& seen) {
    if (!seen.insert(&s).second) return;  // structs that inline themselves are reported elsewhere
    for (const Field& field : s.fields) {
      if (!field.inlined && (field.json == "apiVersion" || field.json == "kind")) {
        const Position& at = field.at.file != nullptr ? field.at : kind.at;
        problems_.Error(at, fmt::format("field {} of {}, which every kind has without a member; leave it out", field.json, s.name));
      }
      const Type* under = field.inlined ? Underlying(model_, field.type) : nullptr;
      if (under == nullptr) continue;
      const Struct* inner = under->form == TypeForm::kStruct    ? model_.FindStruct(under->name)
                            : under->form == TypeForm::kBuiltin ? builtins_.Find(under->name)
                                                                : nullptr;
      if (inner != nullptr) CheckTypeMeta(kind, *inner, seen);
    }
  }

  bool CheckKind(const Struct& kind) {
    const File& file = model_.FileOf(kind);
    if (file.group.empty()) {
      problems_.Error(kind.at, fmt::format("kind {} without a group; write `// +groupName=example.com` at the top of the file", kind.name));
      return false;
    }
    if (file.version.empty()) {
      problems_.Error(kind.at, fmt::format("kind {} without a version; write `// +versionName=v1` at the top of the file", kind.name));
      return false;
    }
    std::set<const Struct*> seen;
    CheckTypeMeta(kind, kind, seen);
    if (const Value scope = ResourceArgument(kind, "scope");
        !scope.string_value().empty() && scope != Value("Namespaced") && scope != Value("Cluster")) {
      problems_.Error(kind.Find("kubebuilder:resource")->at,
                      fmt::format("marker +kubebuilder:resource: no scope {}; write Namespaced or Cluster", scope.string_value().view()));
    }
    return true;
  }

  // The versions of one kind that are part of its CRD, sorted.
  std::vector<const Struct*> Versions(const std::vector<const Struct*>& all) {
    std::map<std::string, const Struct*> by_name;
    for (const Struct* kind : all) {
      auto [first, added] = by_name.emplace(model_.FileOf(*kind).version, kind);
      if (!added) {
        problems_.Error(kind->at, fmt::format("kind {} is declared twice in {}/{}; the first one is at {}", kind->name,
                                              model_.FileOf(*kind).group, model_.FileOf(*kind).version, first->second->at.ToString()));
      }
    }
    std::vector<const Struct*> out;
    for (const auto& [name, kind] : by_name) {
      if (kind->Find("kubebuilder:skipversion") == nullptr) out.push_back(kind);
    }
    return out;
  }

  Crd Make(const std::vector<const Struct*>& all) {
    Crd crd;
    crd.kinds = Versions(all);
    if (crd.kinds.empty()) return crd;
    const Struct& first = *crd.kinds[0];
    const std::string group = model_.FileOf(first).group;
    const Value names = NamesOf(first);
    const std::string plural = names["plural"].string_value().str();
    crd.file_name = group + "_" + plural + ".yaml";

    Value metadata = Value::Object({{"name", plural + "." + group}});
    Value versions = Value::Array();
    for (const Struct* kind : crd.kinds) {
      if (!(NamesOf(*kind) == names) || IsNamespaced(*kind) != IsNamespaced(first)) {
        problems_.Error(
            kind->at, fmt::format("kind {} has other names or another scope in {} than in {}; write the same +kubebuilder:resource in both",
                                  kind->name, model_.FileOf(*kind).version, model_.FileOf(first).version));
      }
      AddMetadata(*kind, metadata);
      versions.MutableList().push_back(Version(*kind));
    }
    CheckStorage(crd.kinds, versions);
    Value spec = Value::Object(
        {{"group", group}, {"names", names}, {"scope", IsNamespaced(first) ? "Namespaced" : "Cluster"}, {"versions", versions}});
    crd.object = Value::Object(
        {{"apiVersion", "apiextensions.k8s.io/v1"}, {"kind", "CustomResourceDefinition"}, {"metadata", metadata}, {"spec", spec}});
    CheckAsServer(model_, crd, problems_);
    return crd;
  }

  // As a server checks names and values of annotations and labels.
  void CheckMetadata(const Marker& marker, std::string_view part, std::string_view name, std::string_view value) {
    std::vector<std::string> wrong = apiserver::QualifiedNameProblems(part == "annotations" ? Lower(name) : std::string(name));
    for (std::string& problem : wrong) problem = fmt::format("{}: {}", name, problem);
    if (part == "labels") {
      for (const std::string& problem : apiserver::LabelValueProblems(value))
        wrong.push_back(fmt::format("value of {}: {}", name, problem));
    }
    for (const std::string& problem : wrong) {
      problems_.Error(marker.at,
                      fmt::format("marker +kubebuilder:metadata: a server would refuse the CRD: metadata.{}: {}", part, problem));
    }
  }

  void AddMetadata(const Struct& kind, Value& metadata) {
    for (const Marker& marker : kind.markers) {
      if (marker.name != "kubebuilder:metadata") continue;
      for (const auto& [part, list] : marker.arguments.object()) {  // annotations, labels
        for (const Value& pair : list.list()) {
          const std::string_view text = pair.string_value();
          const std::size_t equals = text.find('=');
          if (equals == std::string_view::npos) {
            problems_.Error(marker.at,
                            fmt::format("marker +kubebuilder:metadata: {} has no value; write {}=\"NAME=VALUE\"", text, part.view()));
            continue;
          }
          CheckMetadata(marker, part, text.substr(0, equals), text.substr(equals + 1));
          metadata[part][text.substr(0, equals)] = Value(text.substr(equals + 1));
        }
      }
    }
  }

  Value Version(const Struct& kind) {
    for (const Struct& s : model_.structs) {
      if (checked_.insert(s.qualified).second) CheckDefaults(model_, s, problems_);
    }
    Value schema = schemas_.KindSchema(kind);
    CheckPaths(kind, schema, problems_);
    Value out = Value::Object({{"name", model_.FileOf(kind).version}, {"served", true}, {"storage", false}});
    out["schema"]["openAPIV3Schema"] = std::move(schema);
    for (const Marker& marker : kind.markers) {
      const Value& a = marker.arguments;
      if (marker.name == "kubebuilder:subresource:status") {
        out["subresources"]["status"] = Value::Object();
      } else if (marker.name == "kubebuilder:subresource:scale") {
        Value scale = Value::Object({{"specReplicasPath", a["specpath"]}, {"statusReplicasPath", a["statuspath"]}});
        if (const Value* selector = a.Find("selectorpath")) scale["labelSelectorPath"] = *selector;
        out["subresources"]["scale"] = std::move(scale);
      } else if (marker.name == "kubebuilder:printcolumn") {
        Value column = Value::Object();
        for (const auto& [name, value] : a.object()) {
          const Value zero(0);
          const bool empty = (value.is_string() && value.string_value().empty()) || value == zero;
          if (!empty) column[name == "JSONPath" ? "jsonPath" : name.view()] = value;
        }
        out["additionalPrinterColumns"].MutableList().push_back(std::move(column));
        out["subresources"].MutableObject();  // controller-gen has it there with every printer column
      } else if (marker.name == "kubebuilder:selectablefield") {
        out["selectableFields"].MutableList().push_back(Value::Object({{"jsonPath", a["JSONPath"]}}));
      } else if (marker.name == "kubebuilder:storageversion") {
        out["storage"] = true;
      } else if (marker.name == "kubebuilder:unservedversion") {
        out["served"] = false;
      } else if (marker.name == "kubebuilder:deprecatedversion") {
        out["deprecated"] = true;
        if (const Value* warning = a.Find("warning")) out["deprecationWarning"] = *warning;
      }
    }
    if (options_.min_kubernetes > 0) CheckFeatures(model_, kind, out, options_.min_kubernetes, problems_);
    return out;
  }

  void CheckStorage(const std::vector<const Struct*>& kinds, Value& versions) {
    if (versions.list().size() == 1) versions.MutableList()[0]["storage"] = true;
    const Struct* stored = nullptr;
    bool served = false;
    for (std::size_t i = 0; i < kinds.size(); ++i) {
      const Value& version = std::as_const(versions).list()[i];
      served = served || version["served"].bool_value();
      if (!version["storage"].bool_value()) continue;
      if (stored != nullptr) {
        problems_.Error(kinds[i]->at,
                        fmt::format("kind {} has two storage versions, {} and {}; write +kubebuilder:storageversion in one of them",
                                    kinds[i]->name, model_.FileOf(*stored).version, model_.FileOf(*kinds[i]).version));
      }
      stored = kinds[i];
    }
    if (stored == nullptr) {
      problems_.Error(
          kinds[0]->at,
          fmt::format("kind {} has {} versions and none is the stored one; write `// +kubebuilder:storageversion` above one of them",
                      kinds[0]->name, kinds.size()));
    }
    if (!served)
      problems_.Error(kinds[0]->at,
                      fmt::format("kind {} is served in no version; leave one +kubebuilder:unservedversion out", kinds[0]->name));
  }

  const Model& model_;
  BuiltinTypes& builtins_;
  const CrdOptions& options_;
  Problems& problems_;
  SchemaMaker schemas_;
  std::set<std::string> checked_;
};

}  // namespace

std::string ResourceOf(const Struct& kind) {
  const std::string path = ResourceArgument(kind, "path").string_value().str();
  return path.empty() ? PluralOf(kind.name) : path;
}

bool IsNamespaced(const Struct& kind) { return ResourceArgument(kind, "scope").string_value() != "Cluster"; }

std::string Crd::ToYaml(const std::string& header) const { return header + "---\n" + kube::ToYaml(object); }

std::vector<Crd> MakeCrds(const Model& model, BuiltinTypes& builtins, const CrdOptions& options, Problems& problems) {
  return CrdMaker(model, builtins, options, problems).Run();
}

}  // namespace kube::generate
