#include "generate/go_types.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "generate/go_converter.h"
#include "generate/header_writer.h"
#include "generate/markers.h"
#include "generate/names.h"
#include "generate/schema.h"

namespace kube::generate {
namespace {

constexpr int kMostDepth = 64;  // of types that name each other

constexpr std::string_view kFormat = "kubebuilder:validation:Format";
constexpr std::string_view kType = "kubebuilder:validation:Type";

// Numbers that Go has and C++ tables have not: the next larger one, and the format that the schema has instead.
struct Basic {
  std::string_view name, type;
  const char* format = nullptr;
};
constexpr auto kBasics = std::to_array<Basic>({
    {"string", "kube::String"},
    {"bool", "bool"},
    {"int32", "std::int32_t"},
    {"rune", "std::int32_t"},
    {"int64", "std::int64_t"},
    {"uint64", "std::int64_t"},
    {"int", "std::int64_t", ""},
    {"uint", "std::int64_t", ""},
    {"uintptr", "std::int64_t", ""},
    {"uint32", "std::int64_t", "int32"},
    {"int8", "std::int32_t", ""},
    {"int16", "std::int32_t", ""},
    {"uint8", "std::int32_t", ""},
    {"byte", "std::int32_t", ""},
    {"uint16", "std::int32_t", ""},
    {"float32", "double"},
    {"float64", "double"},
});

const Basic* FindBasic(std::string_view name) {
  auto found = std::find_if(kBasics.begin(), kBasics.end(), [&](const Basic& b) { return b.name == name; });
  return found == kBasics.end() ? nullptr : &*found;
}

Marker MarkerOf(std::string_view name, Value value, const Position& at) {
  return {.name = std::string(name), .items = false, .value = std::move(value), .arguments = {}, .at = at};
}

Type RawJson(const Position& at) {
  Type out = ParseBuiltinType("kube::RawJson");
  out.at = at;
  return out;
}

Type Wrapped(TypeForm form, Type element) {
  Type out;
  out.form = form;
  out.at = element.at;
  out.element = std::make_shared<const Type>(std::move(element));
  return out;
}

bool HasMarker(const std::vector<Marker>& markers, std::string_view name, bool items = false) {
  return std::any_of(markers.begin(), markers.end(), [&](const Marker& m) { return m.name == name && m.items == items; });
}

}  // namespace

// ---- Declarations ----

const Type* GoConverter::Under(const Type& type) const {
  const Type* at = &type;
  for (int i = 0; i < kMostDepth && at->form == TypeForm::kAlias; ++i) {
    auto alias = aliases_.find(at->name);
    if (alias == aliases_.end()) return at;
    at = &model_.aliases[alias->second].type;
  }
  return at;
}

Type GoConverter::Declare(const GoPackage& package, const GoPackage::Declaration& declaration) {
  const GoTypeDecl& decl = *declaration.type;
  const Scope scope{&package, declaration.file};
  if (auto known = declared_.find(&decl); known != declared_.end()) return known->second;
  const std::size_t file = FileOf(package);
  Alias alias{.scope = scopes_[file], .at = decl.at, .file = file};
  Type out;
  out.at = decl.at;
  if (!DeclareMarshalled(scope, decl, alias)) {
    OpenStruct fields{};
    if (decl.type.form == GoForm::kStruct ? FieldsOf(scope, decl, fields) : IsKind(package, decl) && FieldsOf(scope, decl, fields)) {
      Struct s{.name = TypeName(package, decl.name), .scope = scopes_[file], .at = decl.at, .file = file};
      s.qualified = s.scope + "::" + s.name;
      out.form = TypeForm::kStruct;
      out.name = s.qualified;
      structs_.emplace(s.qualified, model_.structs.size());
      fields.index = model_.structs.size();
      open_.push_back(fields);
      model_.structs.push_back(std::move(s));
      return declared_[&decl] = out;
    }
    if (depth_ > kMostDepth || !open_aliases_.insert(&decl).second) {
      problems_.Error(decl.at,
                      fmt::format("type {} contains itself; write a struct, or apiextensionsv1.JSON for what it contains", decl.name));
      return declared_[&decl] = RawJson(decl.at);
    }
    ++depth_;
    Converted converted = Convert(scope, decl.type);
    --depth_;
    open_aliases_.erase(&decl);
    // It may have been reported to contain itself.
    if (auto known = declared_.find(&decl); known != declared_.end()) return known->second;
    alias.type = converted.type;
    alias.markers = ReadMarkers(decl.markers, kOnAlias, given_.contains(&package));
    alias.description = decl.doc;
    for (std::size_t i = converted.needs.size(); i-- > 0;) {
      if (!HasMarker(alias.markers, converted.needs[i].name, converted.needs[i].items))
        alias.markers.insert(alias.markers.begin(), converted.needs[i]);
    }
    AddConstants(package, decl, alias);
  }
  alias.name = TypeName(package, decl.name);
  alias.qualified = alias.scope + "::" + alias.name;
  out.form = TypeForm::kAlias;
  out.name = alias.qualified;
  aliases_.emplace(alias.qualified, model_.aliases.size());
  model_.aliases.push_back(std::move(alias));
  return declared_[&decl] = out;
}

// Types that say themselves what they are in JSON. controller-gen takes their markers as the whole schema.
bool GoConverter::DeclareMarshalled(const Scope& scope, const GoTypeDecl& decl, Alias& alias) {
  const bool json = Has(scope, decl, "MarshalJSON");
  if (!json && !Has(scope, decl, "MarshalText")) return false;
  std::vector<Marker> markers = ReadMarkers(decl.markers, kOnAlias, given_.contains(scope.package));
  std::string type = json ? "" : "string";
  for (const Marker& marker : markers) {
    if (marker.name == kType && !marker.items && json) type = marker.value.string_value().str();
  }
  if (type.empty()) {
    const bool readable = std::none_of(decl.type.fields().begin(), decl.type.fields().end(), [](const GoField& field) {
      std::string tag;
      return !GoTagValue(field.tag, "json", tag) || tag == "-";
    });
    if (decl.type.form != GoForm::kStruct || readable) return false;
    problems_.Warning(decl.at,
                      fmt::format("type {} has a MarshalJSON method and no +kubebuilder:validation:Type; it becomes raw JSON", decl.name));
  }
  std::erase_if(markers, [](const Marker& m) { return m.name == kType && !m.items; });
  const std::string_view spelled = type == "string"    ? "kube::String"
                                   : type == "integer" ? "std::int64_t"
                                   : type == "boolean" ? "bool"
                                   : type == "number"  ? "double"
                                                       : "kube::RawJson";
  alias.type = ParseBuiltinType(spelled);
  alias.type.at = decl.at;
  if (type == "integer" && !HasMarker(markers, kFormat)) markers.insert(markers.begin(), MarkerOf(kFormat, Value(""), decl.at));
  if (type == "object" || type == "array") markers.insert(markers.begin(), MarkerOf(kType, Value(type), decl.at));
  alias.markers = std::move(markers);
  return true;
}

// controller-gen sees only those constants of an enum that are plain strings. The others become constants in C++, too, but no values of it.
void GoConverter::AddConstants(const GoPackage& package, const GoTypeDecl& decl, Alias& alias) {
  const Type* under = Under(alias.type);
  const auto constants = package.consts_of.find(decl.name);
  if (under->form != TypeForm::kScalar || under->scalar != Scalar::kString || constants == package.consts_of.end()) return;
  std::set<std::string> seen, plain;
  std::string others;
  for (const GoConst* constant : constants->second) {
    std::string value;
    if (!package.StringOf(*constant, value)) continue;
    if (seen.insert(value).second) alias.constants.push_back(value);
    if (constant->expression.size() == 1 && constant->expression[0].kind == GoTokenKind::kString) {
      plain.insert(value);
    } else {
      others += (others.empty() ? "" : ", ") + constant->name;
    }
  }
  const auto marker = std::find_if(alias.markers.begin(), alias.markers.end(), [](const Marker& m) { return m.name == "k8s:enum"; });
  if (marker == alias.markers.end() || plain.empty() || plain.size() == seen.size()) return;
  std::vector<std::string> sorted(plain.begin(), plain.end());
  std::sort(sorted.begin(), sorted.end(), &StandsBeforeInEnum);
  Value values = Value::Array();
  for (const std::string& value : sorted) values.MutableList().push_back(Value(value));
  *marker = MarkerOf("kubebuilder:validation:Enum", std::move(values), marker->at);
  problems_.Warning(decl.at, fmt::format("enum {} lacks {}, as in controller-gen, which knows constants with a text in quotes only; write "
                                         "{} {} = \"...\" in Go to have it",
                                         decl.name, others, others.substr(0, others.find(',')), decl.name));
}

// An alias for a type that needs markers where none can stand: inside of a map, or of a list in a list.
Type GoConverter::Helper(const Scope& scope, const Converted& of) {
  const std::size_t file = FileOf(*scope.package);
  std::string key = of.type.Spelling(), name = "Value";
  for (const Marker& marker : of.needs)
    key += fmt::format(" {}{}={}", marker.items ? "items:" : "", marker.name, marker.value.string_value().view());
  const Type* under = Under(of.type);
  if (under->form == TypeForm::kScalar) {
    const std::string_view format = of.needs[0].name == kFormat ? of.needs[0].value.string_value().view() : "?";
    if (under->scalar == Scalar::kInt64) name = format.empty() ? "Int" : "Uint32";
    if (under->scalar == Scalar::kInt32) name = "SmallInt";
    if (under->scalar == Scalar::kRawJson) name = "RawObject";
  } else if (under->form == TypeForm::kList) {
    name = "ValueList";
  }
  auto [known, added] = helpers_.try_emplace({file, key});
  if (!added) return known->second;
  while (scope.package->types.contains(name)) name += "Value";
  Alias alias{
      .name = TypeName(*scope.package, name), .scope = scopes_[file], .type = of.type, .markers = of.needs, .at = of.type.at, .file = file};
  alias.qualified = alias.scope + "::" + alias.name;
  Type out;
  out.form = TypeForm::kAlias;
  out.name = alias.qualified;
  out.at = of.type.at;
  aliases_.emplace(alias.qualified, model_.aliases.size());
  model_.aliases.push_back(std::move(alias));
  return known->second = out;
}

// ---- Types ----

GoConverter::Converted GoConverter::ConvertName(const Scope& scope, const GoType& type) {
  Named named = Look(scope, type);
  if (named.builtin) {
    named.builtin->type.at = type.at;
    for (Marker& marker : named.builtin->markers) marker.at = type.at;
    return {named.builtin->type, named.builtin->markers};
  }
  if (named.declaration != nullptr) {
    const GoTypeDecl& decl = *named.declaration->type;
    if (decl.generic) {
      problems_.Error(type.at, fmt::format("generic type {}; write a struct for each of the types that it is used with", decl.name));
      return {RawJson(type.at), {}};
    }
    const Scope inner{named.package, named.declaration->file};
    const bool basic = decl.type.form == GoForm::kName && decl.type.package.empty() && !named.package->types.contains(decl.type.name) &&
                       FindBasic(decl.type.name) != nullptr;
    // Another name for the same type. As in controller-gen, one of another package keeps its text and markers.
    if (decl.alias && !basic && type.package.empty()) {
      if (depth_ > kMostDepth) {
        problems_.Error(decl.at, fmt::format("type {} names itself, or more than {} others", decl.name, kMostDepth));
        return {RawJson(type.at), {}};
      }
      ++depth_;
      Converted out = Convert(inner, decl.type);
      --depth_;
      out.type.at = type.at;
      return out;
    }
    Type out = Declare(*named.package, *named.declaration);
    out.at = type.at;
    if (out.form == TypeForm::kStruct) used_.insert(out.name);
    return {out, {}};
  }
  if (!named.path.empty()) return {RawJson(type.at), {}};  // reported
  const Basic* basic = FindBasic(type.name);
  if (basic == nullptr) {
    const bool any = type.name == "any" || type.name == "error" || type.name.starts_with("complex");
    problems_.Error(type.at, any ? fmt::format("{} has no schema; write apiextensionsv1.JSON for any JSON value", type.name)
                                 : fmt::format("unknown type {}", type.name));
    return {RawJson(type.at), {}};
  }
  Converted out{ParseBuiltinType(basic->type), {}};
  out.type.at = type.at;
  if (basic->format != nullptr) out.needs.push_back(MarkerOf(kFormat, Value(basic->format), type.at));
  return out;
}

// The elements of a list, whose markers become those with `items:` of the list.
GoConverter::Converted GoConverter::Elements(const Scope& scope, const GoType& type) {
  Converted element = Convert(scope, type.form == GoForm::kPointer ? *type.element : type);
  Converted out;
  const bool nested = std::any_of(element.needs.begin(), element.needs.end(), [](const Marker& m) {
    const MarkerDefinition* definition = FindMarker(m.name);
    return m.items || definition == nullptr || !definition->items;
  });
  if (nested) {
    element.type = Helper(scope, element);
    element.needs.clear();
  }
  for (Marker& marker : element.needs) marker.items = true;
  out.needs = std::move(element.needs);
  out.type = Wrapped(TypeForm::kList, std::move(element.type));
  return out;
}

bool GoConverter::IsStringKey(const Scope& scope, const GoType& key, int depth) {
  if (key.form != GoForm::kName || depth > kMostDepth) return false;
  const Named named = Look(scope, key);
  if (named.builtin) return named.builtin->type.Spelling() == "kube::String";
  if (named.declaration == nullptr) return named.path.empty() ? key.name == "string" : true;
  const Scope inner{named.package, named.declaration->file};
  return Has(inner, *named.declaration->type, "MarshalText") || IsStringKey(inner, named.declaration->type->type, depth + 1);
}

GoConverter::Converted GoConverter::Convert(const Scope& scope, const GoType& type) {
  const auto refuse = [&](std::string text) {
    problems_.Error(type.at, std::move(text));
    return Converted{RawJson(type.at), {}};
  };
  switch (type.form) {
    case GoForm::kName:
      return ConvertName(scope, type);
    case GoForm::kPointer:
      return Convert(scope, *type.element);
    case GoForm::kSlice: {
      const GoType& element = *type.element;
      const bool bytes = element.form == GoForm::kName && element.package.empty() && (element.name == "byte" || element.name == "uint8") &&
                         !scope.package->types.contains(element.name);
      if (!bytes) return Elements(scope, element);
      Converted out{ParseBuiltinType("kube::Bytes"), {}};
      out.type.at = type.at;
      return out;
    }
    case GoForm::kArray:
      return Elements(scope, *type.element);
    case GoForm::kMap: {
      if (!IsStringKey(scope, *type.key)) return refuse("map whose keys are no strings; write map[string]...");
      Converted element = Convert(scope, *type.element);
      Converted out;
      out.type = Wrapped(TypeForm::kMap, element.needs.empty() ? std::move(element.type) : Helper(scope, element));
      return out;
    }
    case GoForm::kStruct:
      return refuse("struct without a name; declare it as a type of its own");
    case GoForm::kOther:
      break;
  }
  return refuse(type.name == "interface"
                    ? "interface has no schema; write apiextensionsv1.JSON for any JSON value"
                    : fmt::format("{} has no schema; write a type that JSON has, or `json:\"-\"` to leave the field out", type.name));
}

void ReadGoTypes(const std::vector<const GoPackage*>& given, GoPackages& packages, Model& model, Problems& problems) {
  GoConverter(packages, model, problems).Run(given);
}

Types MakeGoTypes(const std::vector<std::string>& folders, const GoPackageOptions& options, Problems& problems) {
  GoPackages packages(options, problems);
  std::vector<const GoPackage*> given;
  for (const std::string& folder : folders) {
    const GoPackage* package = packages.Read(folder);
    if (std::find(given.begin(), given.end(), package) == given.end()) given.push_back(package);
  }
  Model model;
  ReadGoTypes(given, packages, model, problems);
  Types out;
  for (std::size_t i = 0; i < model.files.size(); ++i) {
    // A package may be read for a type that turned out to be another name for one of kubexx.
    const auto here = [&](const auto& declaration) { return declaration.file == i; };
    if (std::none_of(model.structs.begin(), model.structs.end(), here) && std::none_of(model.aliases.begin(), model.aliases.end(), here))
      continue;
    out.files.push_back({model.files[i].path, WriteHeader(model, i, problems)});
  }
  const auto has_double = [](const Type& type) {
    const Type* at = &type;
    while (at->element != nullptr) at = at->element.get();
    return at->form == TypeForm::kScalar && at->scalar == Scalar::kDouble;
  };
  for (const Alias& alias : model.aliases) out.has_doubles = out.has_doubles || has_double(alias.type);
  for (const Struct& s : model.structs) {
    for (const Field& field : s.fields) out.has_doubles = out.has_doubles || has_double(field.type);
  }
  if (out.files.empty() && !problems.has_errors()) problems.Error({}, "these packages have no types with a place in an API");
  if (problems.has_errors()) out.files.clear();
  return out;
}

}  // namespace kube::generate
