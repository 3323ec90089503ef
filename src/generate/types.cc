#include "generate/types.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "generate/crd.h"
#include "generate/header_reader.h"
#include "generate/header_writer.h"
#include "generate/resolve.h"
#include "generate/schema_reader.h"
#include "kube/api/apiextensions/v1.h"
#include "kube/codec/json.h"
#include "kube/codec/yaml.h"

namespace kube::generate {
namespace {

constexpr std::size_t kMostDifferences = 20;

// As a server writes it: without `false` and empty lists.
Value Canonical(const Value& crd) {
  using apiextensions::v1::CustomResourceDefinition;
  Result<CustomResourceDefinition> typed = FromValue<CustomResourceDefinition>(crd);
  if (!typed) return crd;
  Result<Value> out = ToValue(*typed);
  return out ? *out : crd;
}

class Comparer {
 public:
  Comparer(const std::set<std::string>& builtins, std::string prefix) : builtins_(builtins), prefix_(std::move(prefix)) {}

  void Schemas(const Value& theirs, const Value& ours, const std::string& path, bool descriptions) {
    if (!theirs.is_object() || !ours.is_object()) {
      if (!(theirs == ours)) Add(path, "differs");
      return;
    }
    if (descriptions && !path.empty() && builtins_.contains(prefix_ + path)) {
      // Its own description stays, unless it is that of the type.
      if (ours.Find("description") != nullptr) Key("description", theirs, ours, path);
      descriptions = false;
    } else if (descriptions) {
      Key("description", theirs, ours, path);
    }
    std::set<std::string> keys;
    for (const Value* schema : {&theirs, &ours}) {
      for (const auto& [key, value] : schema->object()) keys.insert(key.str());
    }
    for (const std::string& key : keys) {
      if (key == "description" || key == kTypeNameKey || (path.empty() && key == "properties")) continue;
      if (key == "properties") {
        Properties(theirs[key], ours[key], path, descriptions);
      } else if ((key == "items" || key == "additionalProperties") && theirs[key].is_object() && ours[key].is_object()) {
        Schemas(theirs[key], ours[key], path + "[*]", descriptions);
      } else if (key == "required") {
        if (Sorted(theirs[key]) != Sorted(ours[key])) Add(path, "required differs");
      } else {
        Key(key, theirs, ours, path);
      }
    }
    if (!path.empty()) return;
    const auto without_header = [](Value properties) {
      for (const char* name : {"apiVersion", "kind", "metadata"}) {
        Value& property = properties[name];
        property.MutableObject().Erase("description");
        if (property == Value::Object({{"type", name == std::string_view("metadata") ? "object" : "string"}}) || property.object().empty())
          properties.MutableObject().Erase(name);
      }
      return properties;
    };
    Properties(without_header(theirs["properties"]), without_header(ours["properties"]), path, descriptions);
  }

  void Key(const std::string& key, const Value& theirs, const Value& ours, const std::string& path) {
    const Value *a = theirs.Find(key), *b = ours.Find(key);
    if (a == nullptr && b == nullptr) return;
    if (a != nullptr && b != nullptr && *a == *b) return;
    const auto text = [](const Value* value) { return value == nullptr ? "" : WithoutMargins(value->string_value()); };
    if (key == "description" && text(a) == text(b) && (a == nullptr || a->is_string())) return;
    Add(path, key + (b == nullptr ? " is lost" : a == nullptr ? " is new" : " differs"));
  }

  void Add(const std::string& path, const std::string& what) {
    if (found_.size() <= kMostDifferences) found_.push_back((path.empty() ? "" : path + ": ") + what);
  }

  std::vector<std::string> Take() { return std::move(found_); }

 private:
  static std::set<std::string> Sorted(const Value& names) {
    std::set<std::string> out;
    for (const Value& name : names.list()) out.insert(name.string_value().str());
    return out;
  }

  void Properties(const Value& theirs, const Value& ours, const std::string& path, bool descriptions) {
    for (const auto& [name, property] : theirs.object()) {
      const std::string inner = (path.empty() ? "" : path + ".") + name.str();
      if (const Value* other = ours.Find(name)) {
        Schemas(property, *other, inner, descriptions);
      } else {
        Add("", inner + " is lost");
      }
    }
    for (const auto& [name, property] : ours.object()) {
      if (theirs.Find(name) == nullptr) Add("", (path.empty() ? "" : path + ".") + name.str() + " is new");
    }
  }

  const std::set<std::string>& builtins_;
  const std::string prefix_;
  std::vector<std::string> found_;
};

Value WithoutDefaults(Value names) {
  const std::string kind = std::as_const(names)["kind"].string_value().str();
  std::string lower = kind;
  for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  if (std::as_const(names)["listKind"] == Value(kind + "List")) names.MutableObject().Erase("listKind");
  if (std::as_const(names)["singular"] == Value(lower)) names.MutableObject().Erase("singular");
  return names;
}

Value MetadataOf(const Value& crd) {
  Value out = Value::Object();
  for (const char* part : {"annotations", "labels"}) {
    Value list = crd["metadata"][part];
    for (const char* tool : {"controller-gen.kubebuilder.io/version", "kubectl.kubernetes.io/last-applied-configuration"}) {
      if (list.is_object()) list.MutableObject().Erase(tool);
    }
    if (!list.object().empty()) out[part] = list;
  }
  return out;
}

Value WithoutEmpty(Value version) {
  if (std::as_const(version)["subresources"].object().empty()) version.MutableObject().Erase("subresources");
  version.MutableObject().Erase("schema");
  return version;
}

const Value* FindVersion(const Value& crd, std::string_view name) {
  for (const Value& version : crd["spec"]["versions"].list()) {
    if (version["name"].string_value() == name) return &version;
  }
  return nullptr;
}

void CollectCrds(const Value& object, const std::string& where, std::vector<CrdInput>& out) {
  if (object["kind"].string_value() == "CustomResourceDefinition") out.push_back({object, where});
  if (object["kind"].string_value().view().ends_with("List") && object["items"].is_list()) {
    for (const Value& item : object["items"].list()) {
      if (item["kind"].string_value() == "CustomResourceDefinition") out.push_back({item, where});
    }
  }
}

}  // namespace

void FindCrds(std::string_view text, const std::string& where, std::vector<CrdInput>& out, Problems& problems) {
  const Result<std::vector<YamlDocument>> documents = ReadYaml(text);
  if (!documents) return problems.Error({}, fmt::format("{}: {}", where, documents.error().message()));
  for (const YamlDocument& document : *documents) {
    CollectCrds(document.value, documents->size() == 1 ? where : fmt::format("{}:{}", where, document.line), out);
  }
}

std::vector<std::string> CompareCrds(const Value& theirs_raw, const Value& ours_raw, const std::set<std::string>& builtins) {
  const Value theirs = Canonical(theirs_raw), ours = Canonical(ours_raw);
  std::vector<std::string> out;
  const auto check = [&](bool equal, const std::string& what) {
    if (!equal) out.push_back(what + " differs");
  };
  check(MetadataOf(theirs) == MetadataOf(ours), "metadata");
  check(theirs["spec"]["group"] == ours["spec"]["group"], "spec.group");
  check(theirs["spec"]["scope"] == ours["spec"]["scope"], "spec.scope");
  check(WithoutDefaults(theirs["spec"]["names"]) == WithoutDefaults(ours["spec"]["names"]), "spec.names");
  check(theirs["spec"]["versions"].list().size() == ours["spec"]["versions"].list().size(), "the number of versions");
  for (const Value& version : theirs["spec"]["versions"].list()) {
    const std::string name = version["name"].string_value().str();
    const Value* other = FindVersion(ours, name);
    if (other == nullptr) {
      out.push_back(fmt::format("version {} is lost", name));
      continue;
    }
    const Value a = WithoutEmpty(version), b = WithoutEmpty(*other);
    Comparer comparer(builtins, fmt::format("{}/{}: ", theirs["metadata"]["name"].string_value().view(), name));
    std::set<std::string> keys;
    for (const Value* v : {&a, &b}) {
      for (const auto& [key, value] : v->object()) keys.insert(key.str());
    }
    for (const std::string& key : keys) comparer.Key(key, a, b, "");
    comparer.Schemas(version["schema"]["openAPIV3Schema"], (*other)["schema"]["openAPIV3Schema"], "", true);
    for (const std::string& difference : comparer.Take()) out.push_back(fmt::format("version {}: {}", name, difference));
  }
  if (out.size() > kMostDifferences) {
    out.resize(kMostDifferences);
    out.emplace_back("and more");
  }
  return out;
}

Types MakeTypes(const std::vector<CrdInput>& crds, const CrdReaderOptions& options, Problems& problems) {
  BuiltinTypes& builtins = BuiltinTypes::Get();
  Model model;
  const CrdReading reading = ReadCrds(crds, options, builtins, model, problems);
  Types out{.files = {}, .has_doubles = reading.has_doubles};
  for (std::size_t i = 0; i < model.files.size(); ++i) out.files.push_back({model.files[i].path, WriteHeader(model, i, problems)});
  if (problems.has_errors()) return {};

  // The way back.
  Model again;
  Problems found;
  for (const OutputFile& file : out.files) ReadHeader(file.path, file.text, {}, again, found);
  ResolveTypes(again, builtins, found);
  CrdOptions crd_options;
  crd_options.schema.allow_dangerous_types = reading.has_doubles;
  std::vector<Crd> made;
  if (!found.has_errors()) made = MakeCrds(again, builtins, crd_options, found);
  for (const Problem& problem : found.Sorted()) {
    if (!problem.warning) problems.Warning({}, fmt::format("kubexx generate will refuse {}", problem.ToString()));
  }
  if (found.has_errors()) return out;
  for (const CrdInput& input : crds) {
    const std::string name = input.crd["metadata"]["name"].string_value().str();
    const std::string file = fmt::format("{}_{}.yaml", input.crd["spec"]["group"].string_value().view(),
                                         input.crd["spec"]["names"]["plural"].string_value().view());
    const auto same = std::find_if(made.begin(), made.end(), [&](const Crd& crd) { return crd.file_name == file; });
    if (same == made.end()) {
      problems.Warning({}, fmt::format("{}: no definition is made of the header", name));
      continue;
    }
    for (const std::string& difference : CompareCrds(input.crd, same->object, reading.builtins))
      problems.Warning({}, fmt::format("{}: {}", name, difference));
  }
  return out;
}

}  // namespace kube::generate
