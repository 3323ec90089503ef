// Names of Go: which package and declaration they mean, and what they are called in C++.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "generate/go_converter.h"
#include "generate/markers.h"
#include "generate/names.h"

namespace kube::generate {
namespace {

constexpr std::string_view kMetaPackage = "k8s.io/apimachinery/pkg/apis/meta/v1";
constexpr int kMostEmbedded = 16;  // structs that embed each other

bool IsVersion(std::string_view text) {
  return text.size() > 1 && text[0] == 'v' && std::all_of(text.begin() + 1, text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

std::string_view LastElement(std::string_view path) { return path.substr(path.rfind('/') + 1); }
std::string_view WithoutLast(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? "" : path.substr(0, slash);
}

// Whether a package of this path probably has this name: example.com/go-yaml/v3, gopkg.in/yaml.v3.
bool MayBeNamed(std::string_view path, std::string_view name) {
  std::string_view last = LastElement(path);
  if (last == name) return true;
  if (IsVersion(last)) last = LastElement(WithoutLast(path));
  if (const std::size_t dot = last.rfind(".v"); dot != std::string_view::npos) last = last.substr(0, dot);
  return last == name;
}

// fmt, encoding/json: no dot in the first element.
bool IsStandard(std::string_view path) { return path.substr(0, path.find('/')).find('.') == std::string_view::npos; }

const GoMarker* FindLine(const std::vector<GoMarker>& markers, std::string_view name) {
  auto found = std::find_if(markers.begin(), markers.end(), [&](const GoMarker& m) {
    return m.text.size() > name.size() && m.text.compare(1, name.size(), name) == 0 &&
           (m.text.size() == name.size() + 1 || m.text[name.size() + 1] == '=');
  });
  return found == markers.end() ? nullptr : &*found;
}

}  // namespace

// "network/v1" for samplecrd.k8s.io/v1; packages without a group are named after their path.
std::string GoConverter::NamespaceOf(const GoPackage& package, const std::string& group, const std::string& version) {
  const std::string_view folder = LastElement(WithoutLast(package.path));
  std::string out = group.empty() ? (folder.empty() ? "" : NamespaceOfGroup(folder) + "::") : NamespaceOfGroup(group) + "::";
  std::string last = MemberName(version.empty() ? package.name : version);
  // v1_beta2 is spelled v1beta2.
  std::erase(last, '_');
  if (IsReservedName(last) || last.empty()) last += '_';
  out += last;
  std::string unique = out;
  for (int i = 2; !namespaces_.insert(unique).second; ++i) unique = fmt::format("{}_{}", out, i);
  return unique;
}

std::size_t GoConverter::FileOf(const GoPackage& package) {
  if (auto known = files_.find(&package); known != files_.end()) return known->second;
  const bool given = given_.contains(&package);
  File file;
  Problems ignored;
  for (const auto& [name, value] : {std::pair{"groupName", &file.group}, std::pair{"versionName", &file.version}}) {
    const GoMarker* line = FindLine(package.markers, name);
    if (line == nullptr) continue;
    if (auto marker = ParseMarker(line->text, line->at, kInFile, {}, given ? problems_ : ignored))
      *value = marker->value.string_value().str();
  }
  if (file.version.empty() && !file.group.empty()) file.version = package.name;
  file.skip = !given || FindLine(package.markers, "kubebuilder:skip") != nullptr;
  file.given = given;
  required_default_[&package] = FindLine(package.markers, "kubebuilder:validation:Optional") == nullptr;
  if (given) {
    const auto read = [&](const std::vector<GoMarker>& lines, bool doc) {
      for (const GoMarker& line : lines) {
        if ((line.doc && !doc) || !MayStand(line.text, kInSource)) continue;
        if (auto marker = ParseMarker(line.text, line.at, kInFile, {.lenient = true}, problems_))
          file.markers.push_back(*std::move(marker));
      }
    };
    read(package.markers, true);
    for (const GoFile& source : package.files) {
      for (const GoTypeDecl& decl : source.types) read(decl.markers, false);
    }
  }
  const std::string space = NamespaceOf(package, file.group, file.version);
  // Kinds of a package that was not given are none here, so it has no group either.
  if (!given) file.group = file.version = "";
  file.path = space;
  for (std::size_t at = file.path.find("::"); at != std::string::npos; at = file.path.find("::")) file.path.replace(at, 2, "/");
  file.path += "/types.h";
  model_.files.push_back(std::move(file));
  scopes_.push_back(space);
  return files_[&package] = model_.files.size() - 1;
}

const GoImport* GoConverter::ImportNamed(const Scope& scope, const std::string& name) {
  auto [known, added] = imports_.try_emplace({scope.file, name});
  return added ? known->second = FindImport(scope, name) : known->second;
}

const GoImport* GoConverter::FindImport(const Scope& scope, const std::string& name) {
  const std::vector<GoImport>& imports = scope.file->imports;
  for (const GoImport& import : imports) {
    if (import.name == name) return &import;
  }
  for (const GoImport& import : imports) {
    if (import.name.empty() && MayBeNamed(import.path, name)) return &import;
  }
  // The name of a package can be any.
  for (const GoImport& import : imports) {
    if (!import.name.empty() || IsStandard(import.path) || import.path.starts_with("k8s.io/")) continue;
    const GoPackage* package = packages_.Import(*scope.package, import.path, import.at);
    if (package != nullptr && package->name == name) return &import;
  }
  return nullptr;
}

GoConverter::Named GoConverter::LookHere(const GoPackage& package, const std::string& name) {
  Named out{.path = package.path, .name = name};
  if (auto found = package.types.find(name); found != package.types.end()) {
    out.package = &package;
    out.declaration = &found->second;
  }
  return out;
}

GoConverter::Named GoConverter::Look(const Scope& scope, const GoType& type) {
  Named out{.path = "", .name = type.name};
  if (type.package.empty()) {
    out = LookHere(*scope.package, type.name);
    if (out.package != nullptr) return out;
    out.path.clear();
    for (const GoImport& import : scope.file->imports) {
      if (import.name != "." || IsStandard(import.path)) continue;
      if ((out.builtin = FindGoBuiltin(import.path, type.name))) return out;
      const GoPackage* package = packages_.Import(*scope.package, import.path, import.at);
      if (package == nullptr || !package->types.contains(type.name)) continue;
      return LookHere(*package, type.name);
    }
    return out;
  }
  const GoImport* import = ImportNamed(scope, type.package);
  if (import == nullptr) {
    problems_.Error(type.at, fmt::format("{}.{}: this file imports no package {}", type.package, type.name, type.package));
    out.path = type.package;
    return out;
  }
  out.path = import->path;
  if ((out.builtin = FindGoBuiltin(import->path, type.name))) return out;
  if (import->path == std::string(kMetaPackage) + "/unstructured" && type.name == "Unstructured") {
    // Only the markers of a field keep what is in it.
    const Value pruned = Value::Object({{"x-kubernetes-preserve-unknown-fields", Value()}});
    out.builtin =
        GoBuiltin{.type = ParseBuiltinType("kube::RawJson"),
                  .markers = {{.name = "kubebuilder:validation:Type", .value = "object"}, {.name = "kube:schema", .value = pruned}}};
    out.builtin->marshals = true;
    return out;
  }
  if (import->path == "time" && type.name == "Duration") {
    out.builtin = GoBuiltin{.type = ParseBuiltinType("std::int64_t"), .markers = {}};
    return out;
  }
  if (IsStandard(import->path)) {
    problems_.Error(type.at, fmt::format("{}.{} has no schema{}", type.package, type.name,
                                         import->path == "time" ? "; write metav1.Time" : "; write a type with JSON tags"));
    return out;
  }
  const GoPackage* package = packages_.Import(*scope.package, import->path, import->at);
  if (package == nullptr) return out;
  out = LookHere(*package, type.name);
  if (out.package == nullptr) problems_.Error(type.at, fmt::format("package \"{}\" has no type {}", import->path, type.name));
  return out;
}

std::string GoConverter::TypeName(const GoPackage& package, const std::string& name) {
  std::string out = name;
  if (out[0] >= 'a' && out[0] <= 'z') {
    out[0] = static_cast<char>(out[0] - 'a' + 'A');
    if (package.types.contains(out)) out += "Part";
  }
  // What C++ has no letters for, and names of macros.
  for (char& c : out) {
    const bool word = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
    if (!word) c = '_';
  }
  static constexpr auto kMacros = std::to_array<std::string_view>({"BUFSIZ", "EOF", "INFINITY", "NAN", "NULL"});
  if (IsReservedName(out) || out.starts_with("KUBE_") || std::find(kMacros.begin(), kMacros.end(), out) != kMacros.end()) out += "Type";
  const std::string scope = scopes_[FileOf(package)] + "::";
  std::string unique = out;
  for (int i = 2; !names_.insert(scope + unique).second; ++i) unique = fmt::format("{}_{}", out, i);
  return unique;
}

bool GoConverter::Has(const Scope& scope, const GoTypeDecl& decl, const std::string& method) {
  if (scope.package->methods.contains({decl.name, method})) return true;
  if (decl.type.form != GoForm::kStruct) return false;
  auto [known, added] = methods_.try_emplace({&decl, method}, false);  // of one that embeds itself: false
  if (!added || embedded_ > kMostEmbedded) return known->second;
  ++embedded_;
  int found = 0;
  for (const GoField& field : decl.type.fields()) {
    if (!field.name.empty()) continue;
    const GoType& type = field.type.form == GoForm::kPointer ? *field.type.element : field.type;
    if (type.form != GoForm::kName) continue;
    if (type.package.empty()) {
      const Named named = LookHere(*scope.package, type.name);
      if (named.package != nullptr) found += Has({named.package, named.declaration->file}, *named.declaration->type, method);
      continue;
    }
    // Other packages are read for what they declare; for their methods, only built-in ones are known.
    const GoImport* import = ImportNamed(scope, type.package);
    const std::optional<GoBuiltin> builtin = import == nullptr ? std::nullopt : FindGoBuiltin(import->path, type.name);
    found += builtin && builtin->marshals && method == "MarshalJSON";
  }
  --embedded_;
  return methods_[{&decl, method}] = found == 1;
}

bool GoConverter::IsMeta(const Scope& scope, const GoType& type, std::string_view name) {
  if (type.form != GoForm::kName || type.name != name || type.package.empty()) return false;
  const GoImport* import = ImportNamed(scope, type.package);
  return import != nullptr && import->path == kMetaPackage;
}

bool GoConverter::Embeds(const Scope& scope, const GoTypeDecl& decl, std::string_view name) {
  if (decl.type.form != GoForm::kStruct) return false;
  return std::any_of(decl.type.fields().begin(), decl.type.fields().end(),
                     [&](const GoField& field) { return field.name.empty() && IsMeta(scope, field.type, name); });
}

bool GoConverter::FieldsOf(const Scope& scope, const GoTypeDecl& decl, OpenStruct& out) {
  out.scope = scope;
  out.package = scope.package;
  out.decl = out.base = &decl;
  // Others are looked up only if they can be kinds, so that no import has to be found for nothing.
  const bool root = std::any_of(decl.markers.begin(), decl.markers.end(),
                                [](const GoMarker& m) { return MayStand(m.text, kOnKind) && !MayStand(m.text, kOnAlias | kOnField); });
  for (int i = 0; i < kMostEmbedded && out.base->type.form == GoForm::kName && !out.base->alias && root; ++i) {
    const Named named = Look(out.scope, out.base->type);
    if (named.declaration == nullptr || named.declaration->type->generic) return false;
    out.scope = {named.package, named.declaration->file};
    out.base = named.declaration->type;
  }
  return out.base->type.form == GoForm::kStruct;
}

bool GoConverter::IsKind(const GoPackage& package, const GoTypeDecl& decl) {
  if (!given_.contains(&package) || model_.files[FileOf(package)].skip || decl.alias || decl.generic) return false;
  OpenStruct fields{};
  return FieldsOf({&package, package.types.find(decl.name)->second.file}, decl, fields) && Embeds(fields.scope, *fields.base, "TypeMeta") &&
         Embeds(fields.scope, *fields.base, "ObjectMeta");
}

bool GoConverter::IsList(const Scope& scope, const GoTypeDecl& decl) {
  return Embeds(scope, decl, "TypeMeta") && Embeds(scope, decl, "ListMeta");
}

}  // namespace kube::generate
