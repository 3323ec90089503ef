#include "generate/table_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "generate/crd.h"
#include "generate/resolve.h"
#include "kube/codec/json.h"

namespace kube::generate {
namespace {

// The type with aliases resolved, so that the compiler notices when an alias changes.
std::string SpellingOf(const Model& model, const Type& type) {
  const Type* under = Underlying(model, type);
  if (under == nullptr) return type.name;
  const char* outer = under->form == TypeForm::kOptional ? "std::optional"
                      : under->form == TypeForm::kBox    ? "kube::Box"
                      : under->form == TypeForm::kList   ? "kube::List"
                      : under->form == TypeForm::kMap    ? "kube::Map"
                                                         : nullptr;
  if (outer != nullptr) return fmt::format("{}<{}>", outer, SpellingOf(model, *under->element));
  if (under->form == TypeForm::kStruct || under->form == TypeForm::kBuiltin) return "::" + under->name;
  return under->Spelling();
}

// The scalar at the bottom of a type.
const Type* Innermost(const Model& model, const Type& type) {
  const Type* under = Underlying(model, type);
  while (under != nullptr && under->element != nullptr) under = Underlying(model, *under->element);
  return under;
}

std::string Quoted(std::string_view text) {
  std::string out = "\"";
  for (char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (byte < 0x20 || byte >= 0x7f) {
      out += fmt::format("\\{:03o}", byte);
    } else {
      out += c;
    }
  }
  return out + '"';
}

// Markers of the field, and of the aliases that its type is.
std::vector<const Marker*> MarkersOf(const Model& model, const Field& field) {
  std::vector<const Marker*> out;
  for (const Marker& marker : field.markers) out.push_back(&marker);
  const Type* type = &field.type;
  if (type->element != nullptr && (type->form == TypeForm::kBox || type->form == TypeForm::kOptional)) type = type->element.get();
  for (int depth = 0; type->form == TypeForm::kAlias && depth < 32; ++depth) {
    const Alias* alias = model.FindAlias(type->name);
    if (alias == nullptr) break;
    for (const Marker& marker : alias->markers) out.push_back(&marker);
    type = &alias->type;
  }
  return out;
}

std::string_view LocalName(std::string_view name) {
  const std::size_t colon = name.rfind(':');
  return colon == std::string_view::npos ? name : name.substr(colon + 1);
}

// The initialisers of a FieldExtra; empty if there is nothing to say.
std::string ExtraOf(const Model& model, const Field& field) {
  std::string list_type, map_keys, default_json, enum_values;
  bool atomic = false;
  for (const Marker* marker : MarkersOf(model, field)) {
    if (marker->items) continue;
    const std::string_view name = LocalName(marker->name);
    const std::string_view text = marker->value.string_value();
    if (name == "listType" && list_type.empty()) {
      list_type = text == "map" ? "kMap" : text == "set" ? "kSet" : "kAtomic";
    } else if (name == "listMapKey") {
      map_keys += (map_keys.empty() ? "" : ",") + std::string(text);
    } else if (name == "mapType" || name == "structType") {
      atomic = atomic || text == "atomic";
    } else if (name == "default" && default_json.empty()) {
      default_json = ToJson(marker->value);
    } else if (marker->name == "kubebuilder:validation:Enum" && enum_values.empty()) {
      for (const Value& value : marker->value.list()) {
        enum_values += (enum_values.empty() ? "" : ",") + (value.is_string() ? value.string_value().str() : ToJson(value));
      }
    } else if (marker->name == "k8s:enum" && enum_values.empty()) {
      const Type* type = &field.type;
      while (type->element != nullptr) type = type->element.get();
      if (const Alias* alias = model.FindAlias(type->name)) {
        for (const std::string& value : alias->constants) enum_values += (enum_values.empty() ? "" : ",") + value;
      }
    }
  }
  std::vector<std::string> parts;
  if (!list_type.empty()) parts.push_back(".list_type = kube::ListType::" + list_type);
  if (atomic) parts.push_back(".atomic = true");
  if (!map_keys.empty()) parts.push_back(".map_keys = " + Quoted(map_keys));
  if (!default_json.empty()) parts.push_back(".default_json = " + Quoted(default_json));
  if (!enum_values.empty()) parts.push_back(".enum_values = " + Quoted(enum_values));
  return fmt::format("{}", fmt::join(parts, ", "));
}

bool IsRequired(const Model& model, const Struct& s, const Field& field) {
  for (const char* name : {"kubebuilder:validation:Optional", "optional", "k8s:optional"}) {
    if (field.Find(name) != nullptr) return false;
  }
  for (const char* name : {"kubebuilder:validation:Required", "required", "k8s:required"}) {
    if (field.Find(name) != nullptr) return true;
  }
  return model.FileOf(s).required_default && !field.inlined && !(s.role == StructRole::kKind && field.json == "metadata");
}

// "samplecrd.v1.NetworkSpec".
std::string TableName(const Struct& s) {
  std::string out;
  for (std::size_t i = 0; i < s.qualified.size(); ++i) {
    if (s.qualified[i] == ':') {
      out += '.';
      ++i;
    } else {
      out += s.qualified[i];
    }
  }
  return out;
}

void WriteStruct(const Model& model, const Struct& s, std::string& out) {
  const Field* before = nullptr;
  std::string columns;
  for (const Field& field : s.fields) {
    const std::string extra = ExtraOf(model, field);
    std::string options;
    if (IsRequired(model, s, field)) options += ", .required = true";
    const Type* scalar = Innermost(model, field.type);
    if (scalar != nullptr && scalar->form == TypeForm::kScalar && scalar->scalar == Scalar::kBytes) options += ", .bytes = true";
    if (field.inlined) options += ", .inlined = true";
    if (!extra.empty()) {
      const std::string name = fmt::format("k{}_{}_extra", s.name, field.name);
      out += fmt::format("static constexpr kube::FieldExtra {}{{{}}};\n", name, extra);
      options += ", .extra = &" + name;
    }
    out += before == nullptr ? fmt::format("KUBE_GENERATED_FIRST({}, ", s.name)
                             : fmt::format("KUBE_GENERATED_NEXT({}, {}, ", s.name, before->name);
    out += fmt::format("{}, {}, {}{});\n", field.name, SpellingOf(model, field.type), Quoted(field.json), options);
    columns += fmt::format(",\n    KUBE_COLUMN({}, {})", s.name, field.name);
    before = &field;
  }
  if (s.role == StructRole::kKind) {
    const File& file = model.FileOf(s);
    out += fmt::format("KUBE_GENERATED_KIND({}, {},\n    (.group = {}, .version = {}, .kind = {}, .resource = {}, .namespaced = {}){});\n",
                       s.name, Quoted(TableName(s)), Quoted(file.group), Quoted(file.version), Quoted(s.name), Quoted(ResourceOf(s)),
                       IsNamespaced(s), columns);
  } else {
    out += fmt::format("KUBE_GENERATED_TABLE({}, {}{});\n", s.name, Quoted(TableName(s)), columns);
  }
}

// JSON names of a struct, with those that it inlines.
void CollectNames(const Model& model, const Struct& s, int& visits, std::vector<std::string>& out) {
  constexpr int kMostVisits = 1000;  // structs that inline the next one twice would double them with each level
  if (++visits > kMostVisits) return;
  for (const Field& field : s.fields) {
    if (!field.inlined) {
      out.push_back(field.json);
      continue;
    }
    const Type* under = Underlying(model, field.type);
    const Struct* inner = under == nullptr ? nullptr : model.FindStruct(under->name);
    if (inner != nullptr) CollectNames(model, *inner, visits, out);
  }
}

void CheckNames(const Model& model, const Struct& s, Problems& problems) {
  if (std::none_of(s.fields.begin(), s.fields.end(), [](const Field& f) { return f.inlined; })) return;
  std::vector<std::string> names;
  int visits = 0;
  CollectNames(model, s, visits, names);
  std::sort(names.begin(), names.end());
  for (std::size_t i = 1; i < names.size(); ++i) {
    if (names[i] == names[i - 1])
      problems.Error(s.at, fmt::format("JSON name {} stands twice in {}, counting inlined structs", names[i], s.name));
  }
}

}  // namespace

std::string TableFileName(std::string_view header) {
  if (const std::size_t dot = header.rfind('.'); dot != std::string_view::npos && header.find('/', dot) == std::string_view::npos)
    header = header.substr(0, dot);
  while (header.starts_with("../") || header.starts_with("./") || header.starts_with('/')) header.remove_prefix(header.find('/') + 1);
  std::string out(header);
  std::replace(out.begin(), out.end(), '/', '_');
  return out + ".kube.cc";
}

std::string WriteTables(const Model& model, std::size_t file, std::string_view include, Problems& problems) {
  std::string body, scope;
  bool open = false;
  for (const Struct& s : model.structs) {
    if (s.file != file) continue;
    CheckNames(model, s, problems);
    if (!open || s.scope != scope) {
      if (open && !scope.empty()) body += fmt::format("\n}}  // namespace {}\n", scope);
      if (!s.scope.empty()) body += fmt::format("\nnamespace {} {{\n", s.scope);
      scope = s.scope;
      open = true;
    }
    body += '\n';
    WriteStruct(model, s, body);
  }
  if (!open) return "";
  if (!scope.empty()) body += fmt::format("\n}}  // namespace {}\n", scope);
  return fmt::format(
      "// Generated by `kubexx generate` from {0}. Do not edit: if it does not compile, run `kubexx generate`.\n#include \"{0}\"\n\n"
      "#include <kube/value/generated_table.h>\n{1}",
      include, body);
}

}  // namespace kube::generate
