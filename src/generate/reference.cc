#include "generate/reference.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "generate/markdown.h"
#include "generate/schema_words.h"

namespace kube::generate {
namespace {

constexpr std::string_view kKubernetes = "https://kubernetes.io/docs/reference/generated/kubernetes-api/v1.36/#";
constexpr std::string_view kQuantity = "https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/quantity/";

// Groups whose name in C++ is not the one in the anchors of Kubernetes' reference.
constexpr auto kGroups = std::to_array<std::pair<std::string_view, std::string_view>>({
    {"admissionregistration", "admissionregistration-k8s-io"},
    {"apiextensions", "apiextensions-k8s-io"},
    {"authentication", "authentication-k8s-io"},
    {"authorization", "authorization-k8s-io"},
    {"certificates", "certificates-k8s-io"},
    {"coordination", "coordination-k8s-io"},
    {"discovery", "discovery-k8s-io"},
    {"events", "events-k8s-io"},
    {"flowcontrol", "flowcontrol-apiserver-k8s-io"},
    {"networking", "networking-k8s-io"},
    {"node", "node-k8s-io"},
    {"rbac", "rbac-authorization-k8s-io"},
    {"resource", "resource-k8s-io"},
    {"scheduling", "scheduling-k8s-io"},
    {"storage", "storage-k8s-io"},
});

std::string_view LastName(std::string_view qualified) {
  const std::size_t colon = qualified.rfind("::");
  return colon == std::string_view::npos ? qualified : qualified.substr(colon + 2);
}

// "kube::core::v1::PodSpec" in Kubernetes' reference.
std::string KubernetesLink(std::string_view qualified) {
  std::vector<std::string_view> parts;
  for (std::size_t at = 0; at < qualified.size();) {
    const std::size_t end = std::min(qualified.find("::", at), qualified.size());
    parts.push_back(qualified.substr(at, end - at));
    at = end + 2;
  }
  std::string_view name = LastName(qualified);
  if (parts.size() != 4) return std::string(name);
  std::string_view group = parts[1];
  for (const auto& [cpp, anchor] : kGroups) {
    if (cpp == group) group = anchor;
  }
  std::string anchor = fmt::format("{}-{}-{}", name, parts[2], group);
  for (char& c : anchor) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return fmt::format("[{}]({}{})", name, kKubernetes, anchor);
}

std::string Codes(const Value& names) {
  std::vector<std::string> out;
  for (const Value& name : names.list()) out.push_back(MarkdownCode(name.string_value()));
  return fmt::format("{}", fmt::join(out, ", "));
}

std::string FirstSentence(const std::string& description) {
  const std::string paragraph = description.substr(0, description.find("\n\n"));
  const std::size_t end = std::min(paragraph.find(". "), paragraph.find(".\n"));
  return paragraph.substr(0, end == std::string::npos ? end : end + 1);
}

// With a full stop and a space behind it, if there is something.
std::string WithStop(std::string text) {
  if (text.empty()) return text;
  if (std::string_view(".:!?>").find(text.back()) == std::string_view::npos) text += '.';
  return text + ' ';
}

// One kind in one version, and its entry in the CRD.
struct KindVersion {
  const Struct* kind = nullptr;
  const Crd* crd = nullptr;
  const Value* version = nullptr;
};

class PageWriter {
 public:
  PageWriter(const Model& model, SchemaMaker& schemas, std::string group_version, std::vector<KindVersion> kinds)
      : model_(model), schemas_(schemas), group_version_(std::move(group_version)), kinds_(std::move(kinds)) {}

  std::string Run() {
    Collect();
    std::string out = fmt::format("{}\n# {}\n\n", kPageNotice, group_version_);
    out += "| Kind | Resource | Scope | Description |\n|---|---|---|---|\n";
    for (const KindVersion& k : kinds_) {
      out += fmt::format("| {} | {} | {} | {} |\n", Link(*k.kind), MarkdownCode(Names(k)["plural"].string_value()),
                         k.crd->object["spec"]["scope"].string_value().view(), MarkdownCell(FirstSentence(k.kind->description)));
    }
    for (const Section& section : sections_) {
      out += section.kind != nullptr ? KindSection(section) : fmt::format("\n### {}\n", section.heading);
      out += StructSection(section);
    }
    return out;
  }

 private:
  struct Section {
    const Struct* of = nullptr;
    const KindVersion* kind = nullptr;  // null for a struct that is part of others
    std::string heading, anchor;
    std::vector<const Struct*> used_by;
  };

  static const Value& Names(const KindVersion& k) { return k.crd->object["spec"]["names"]; }

  // ---- Which sections there are ----

  void Collect() {
    for (const KindVersion& k : kinds_) AddSection(*k.kind, &k, nullptr);
    // Structs of one name in several namespaces have headings with both.
    std::map<std::string, int> names;
    for (const Section& section : sections_) ++names[section.of->name];
    Anchors anchors;
    anchors.Next(group_version_);
    for (Section& section : sections_) {
      section.heading = names[section.of->name] == 1 ? section.of->name : section.of->qualified;
      section.anchor = anchors.Next(section.heading);
    }
  }

  // Behind its kind, each struct before those that it contains.
  void AddSection(const Struct& s, const KindVersion* kind, const Struct* user) {
    auto known = std::find_if(sections_.begin(), sections_.end(), [&](const Section& section) { return section.of == &s; });
    const bool fresh = known == sections_.end();
    if (fresh) {
      sections_.push_back({.of = &s, .kind = kind});
      known = sections_.end() - 1;
    }
    if (user != nullptr && std::find(known->used_by.begin(), known->used_by.end(), user) == known->used_by.end())
      known->used_by.push_back(user);
    if (fresh) AddFieldsOf(s, s);
  }
  void AddFieldsOf(const Struct& s, const Struct& user) {
    for (const Field& field : s.fields) {
      const Struct* part = StructOf(field.type);
      if (part == nullptr) continue;
      field.inlined ? AddFieldsOf(*part, user) : AddSection(*part, nullptr, &user);
    }
  }

  // The struct of the model that a type holds, inside of lists, maps and aliases.
  const Struct* StructOf(const Type& type) const {
    if (type.element != nullptr) return StructOf(*type.element);
    if (type.form == TypeForm::kStruct) return model_.FindStruct(type.name);
    const Alias* alias = type.form == TypeForm::kAlias ? model_.FindAlias(type.name) : nullptr;
    return alias == nullptr ? nullptr : StructOf(alias->type);
  }

  // ---- Their text ----

  std::string Link(const Struct& s) const {
    for (const Section& section : sections_) {
      if (section.of == &s) return fmt::format("[{}](#{})", section.heading, section.anchor);
    }
    return s.name;
  }

  std::string KindSection(const Section& section) const {
    const Value &spec = section.kind->crd->object["spec"], &version = *section.kind->version, &names = spec["names"];
    std::string out = fmt::format("\n## {}\n\n", section.heading);
    auto line = [&](std::string_view what, const std::string& text) {
      if (!text.empty()) out += fmt::format("- {}: {}\n", what, text);
    };
    line("Resource", MarkdownCode(fmt::format("{}.{}", names["plural"].string_value().view(), spec["group"].string_value().view())));
    line("Scope", spec["scope"].string_value().str());
    line("Short names", Codes(names["shortNames"]));
    line("Categories", Codes(names["categories"]));
    std::vector<std::string> subresources, selectable;
    for (const auto& [name, subresource] : version["subresources"].object()) subresources.push_back(MarkdownCode(name));
    line("Subresources", fmt::format("{}", fmt::join(subresources, ", ")));
    for (const Value& field : version["selectableFields"].list()) selectable.push_back(MarkdownCode(field["jsonPath"].string_value()));
    line("Field selectors", fmt::format("{}", fmt::join(selectable, ", ")));
    if (!version["served"].bool_value()) line("Not served", "the API server does not accept requests in this version");
    if (spec["versions"].list().size() > 1 && version["storage"].bool_value())
      line("Storage version", "objects are stored in this version");
    if (version["deprecated"].bool_value()) {
      std::string_view warning = version["deprecationWarning"].string_value();
      line("Deprecated", warning.empty() ? "use another version" : MarkdownCell(warning));
    }
    return out;
  }

  static std::string Columns(const KindVersion& k) {
    const List<Value>& columns = (*k.version)["additionalPrinterColumns"].list();
    if (columns.empty()) return "";
    std::string out = fmt::format("\nColumns of {}:\n\n| Column | Type | JSONPath | Description |\n|---|---|---|---|\n",
                                  MarkdownCode(fmt::format("kubectl get {}", Names(k)["plural"].string_value().view())));
    for (const Value& column : columns) {
      std::string description = MarkdownCell(column["description"].string_value());
      if (column["priority"].int_value() > 0) description = WithStop(description) + "With `-o wide` only.";
      out += fmt::format("| {} | {} | {} | {} |\n", MarkdownCell(column["name"].string_value()), column["type"].string_value().view(),
                         MarkdownCode(column["jsonPath"].string_value()), description);
    }
    return out;
  }

  std::string StructSection(const Section& section) {
    const Struct& s = *section.of;
    std::string out;
    if (!s.description.empty()) out += fmt::format("\n{}", MarkdownBlock(s.description));
    if (section.kind != nullptr) out += Columns(*section.kind);
    if (!section.used_by.empty()) {
      std::vector<std::string> users;
      for (const Struct* user : section.used_by) users.push_back(Link(*user));
      out += fmt::format("\nUsed by: {}\n", fmt::join(users, ", "));
    }
    out += "\n| Field | Type | Required | Default | Description |\n|---|---|---|---|---|\n";
    const Value schema = schemas_.WholeSchema(s.qualified);
    if (section.kind != nullptr) {
      out += fmt::format("| `apiVersion` | string | yes | | {} |\n| `kind` | string | yes | | {} |\n", MarkdownCode(group_version_),
                         MarkdownCode(s.name));
    }
    AddRows(s, schema, out);
    std::string rules;
    for (const Value& rule : schema["x-kubernetes-validations"].list()) rules += fmt::format("- {}\n", RuleWords(rule, false));
    return rules.empty() ? out : out + "\n" + rules;
  }

  // Rows of the struct's fields; those of inlined structs are in the schema of the outer one.
  void AddRows(const Struct& s, const Value& schema, std::string& out) {
    for (const Field& field : s.fields) {
      if (field.inlined) {
        if (const Struct* inner = StructOf(field.type)) AddRows(*inner, schema, out);
        continue;
      }
      const Value& property = schema["properties"][field.json];
      const List<Value>& required = schema["required"].list();
      const bool needed = std::find(required.begin(), required.end(), Value(field.json)) != required.end();
      const Value* default_value = property.Find("default");
      out += fmt::format("| {} | {} | {} | {} | {} |\n", MarkdownCode(field.json), TypeWords(field.type, property), needed ? "yes" : "",
                         default_value == nullptr ? "" : MarkdownValue(*default_value), Description(s, field, property));
    }
  }

  std::string Description(const Struct& s, const Field& field, const Value& property) {
    std::vector<std::string> parts;
    auto add = [&](std::string text) {
      if (!text.empty()) parts.push_back(std::move(text));
    };
    if (s.role == StructRole::kKind && field.json == "metadata") {
      add(field.description.empty() ? "Standard object metadata." : MarkdownCell(field.description));
      return parts[0];
    }
    // What the type's own section says is not said again.
    const Struct* type = StructOf(field.type);
    const bool inherited = field.description.empty() && type != nullptr;
    if (!inherited) add(MarkdownCell(property["description"].string_value()));
    for (std::string& word : SchemaWords(property, Known(field.type))) add(std::move(word));
    if (const Value* example = property.Find("example")) add(fmt::format("Example: {}.", MarkdownValue(*example)));
    const Value& docs = property["externalDocs"];
    if (std::string_view url = docs["url"].string_value(); !url.empty()) {
      const std::string text = MarkdownCell(docs["description"].string_value());
      add(fmt::format("See [{}]({}).", text.empty() ? MarkdownCell(url) : text, MarkdownCell(url)));
    }
    std::string out;
    for (const std::string& part : parts) out = WithStop(out) + part;
    return out;
  }

  // ---- Types ----

  std::string TypeWords(const Type& type, const Value& schema) const {
    switch (type.form) {
      case TypeForm::kUnresolved:
        return "";
      case TypeForm::kOptional:
      case TypeForm::kBox:
        return TypeWords(*type.element, schema);
      case TypeForm::kList:
        return "list of " + TypeWords(*type.element, schema["items"]);
      case TypeForm::kMap:
        return "map of " + TypeWords(*type.element, schema["additionalProperties"]);
      case TypeForm::kAlias: {
        const Alias* alias = model_.FindAlias(type.name);
        return alias == nullptr ? "" : TypeWords(alias->type, schema);
      }
      case TypeForm::kStruct: {
        const Struct* s = model_.FindStruct(type.name);
        return s == nullptr ? "" : Link(*s);
      }
      case TypeForm::kBuiltin:
        return KubernetesLink(type.name);
      case TypeForm::kScalar:
        break;
    }
    return ScalarWords(type.scalar, schema);
  }

  static std::string ScalarWords(Scalar scalar, const Value& schema) {
    switch (scalar) {
      case Scalar::kBytes:
        return "string (base64)";
      case Scalar::kQuantity:
        return fmt::format("[Quantity]({})", kQuantity);
      case Scalar::kTime:
      case Scalar::kMicroTime:
        return "string (date-time)";
      case Scalar::kDuration:
        return "string (duration)";
      default:
        break;
    }
    if (schema["x-kubernetes-int-or-string"].bool_value()) return "integer or string";
    const std::string type = schema["type"].string_value().str();  // also what +kubebuilder:validation:Type says
    return type.empty() ? "any" : type;
  }

  // The schema of what the column with the type says already.
  Value Known(const Type& type) {
    switch (type.form) {
      case TypeForm::kOptional:
      case TypeForm::kBox:
        return Known(*type.element);
      case TypeForm::kList:
        return Value::Object({{"items", Known(*type.element)}});
      case TypeForm::kMap:
        return Value::Object({{"additionalProperties", Known(*type.element)}});
      case TypeForm::kStruct:
      case TypeForm::kBuiltin:
        return schemas_.WholeSchema(type.name);
      case TypeForm::kAlias: {
        const Alias* alias = model_.FindAlias(type.name);
        return alias == nullptr ? Value() : Known(alias->type);
      }
      case TypeForm::kScalar:
        switch (type.scalar) {
          case Scalar::kQuantity:
          case Scalar::kTime:
          case Scalar::kMicroTime:
            return schemas_.WholeSchema(type.Spelling());
          case Scalar::kBytes:
            return Value::Object({{"format", "byte"}});
          default:
            return {};
        }
      case TypeForm::kUnresolved:
        break;
    }
    return {};
  }

  const Model& model_;
  SchemaMaker& schemas_;
  const std::string group_version_;
  const std::vector<KindVersion> kinds_;  // sorted by name
  std::vector<Section> sections_;
};

}  // namespace

std::vector<Page> MakePages(const Model& model, BuiltinTypes& builtins, const std::vector<Crd>& crds, const SchemaOptions& options,
                            Problems& problems) {
  std::map<std::pair<std::string, std::string>, std::vector<KindVersion>> kinds;
  for (const Crd& crd : crds) {
    for (std::size_t i = 0; i < crd.kinds.size(); ++i) {
      const File& file = model.FileOf(*crd.kinds[i]);
      kinds[{file.group, file.version}].push_back({crd.kinds[i], &crd, &crd.object["spec"]["versions"].list()[i]});
    }
  }
  SchemaMaker schemas(model, builtins, options, problems);
  std::vector<Page> out;
  for (auto& [key, list] : kinds) {
    std::sort(list.begin(), list.end(), [](const KindVersion& a, const KindVersion& b) { return a.kind->name < b.kind->name; });
    out.push_back({key.first + "_" + key.second + ".md", PageWriter(model, schemas, key.first + "/" + key.second, list).Run()});
  }
  std::sort(out.begin(), out.end(), [](const Page& a, const Page& b) { return a.file_name < b.file_name; });
  return out;
}

}  // namespace kube::generate
