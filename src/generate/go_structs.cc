// Structs of Go: kinds and their fields.
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "apiserver/builtin/crd_rules.h"
#include "generate/go_converter.h"
#include "generate/markers.h"
#include "generate/names.h"
#include "generate/struct_size.h"

namespace kube::generate {
namespace {

constexpr std::string_view kMetadata = "kubebuilder:metadata";
constexpr std::string_view kApproval = "api-approved.kubernetes.io";
constexpr std::size_t kMostFields = 4096;  // of a struct; the server's limits are far below

// What the json tag of a field says.
struct JsonTag {
  bool there = false, left_out = false, inlined = false, may_be_absent = false, as_string = false;
  std::string name;
};

JsonTag ReadTag(const GoField& field) {
  JsonTag out;
  std::string text;
  out.there = GoTagValue(field.tag, "json", text);
  if (!out.there) {
    out.inlined = field.name.empty();  // encoding/json inlines embedded structs
    return out;
  }
  std::string_view rest = text;
  const std::size_t comma = rest.find(',');
  out.name = rest.substr(0, comma);
  out.left_out = text == "-";
  rest.remove_prefix(comma == std::string_view::npos ? rest.size() : comma);
  while (!rest.empty()) {
    rest.remove_prefix(1);
    const std::string_view option = rest.substr(0, rest.find(','));
    rest.remove_prefix(option.size());
    out.inlined = out.inlined || option == "inline";
    out.may_be_absent = out.may_be_absent || option == "omitempty" || option == "omitzero";
    out.as_string = out.as_string || option == "string";
  }
  out.inlined = out.inlined || (out.name.empty() && field.name.empty());
  return out;
}

bool IsExported(std::string_view name) {
  return !name.empty() && ((name[0] >= 'A' && name[0] <= 'Z') || static_cast<unsigned char>(name[0]) >= 0x80);
}

const GoType& Behind(const GoType& type) {
  const GoType* at = &type;
  while (at->form == GoForm::kPointer) at = at->element.get();
  return *at;
}

const Marker* FindMarker(const std::vector<Marker>& markers, std::string_view name) {
  auto found = std::find_if(markers.begin(), markers.end(), [&](const Marker& m) { return m.name == name && !m.items; });
  return found == markers.end() ? nullptr : &*found;
}

bool IsZero(const Value& value) {
  return value.is_null() || (value.is_bool() && !value.bool_value()) || (value.is_number() && value.double_value() == 0);
}

// Spec, status and metadata are plain members of every kind.
bool MayBeBoxed(const Struct& s, const Field& field) {
  const bool of_kind = s.role == StructRole::kKind && (field.json == "spec" || field.json == "status");
  return !field.inlined && !of_kind && field.json != "metadata";
}

}  // namespace

void GoConverter::Run(const std::vector<const GoPackage*>& given) {
  for (const GoPackage* package : given) {
    if (package != nullptr) given_.insert(package);
  }
  for (const GoPackage* package : given) {
    if (package == nullptr) continue;
    FileOf(*package);
    std::vector<const GoPackage::Declaration*> kinds, others;
    for (const GoFile& file : package->files) {
      for (const GoTypeDecl& decl : file.types) {
        auto found = package->types.find(decl.name);
        if (found == package->types.end() || found->second.type != &decl || decl.generic) continue;
        if (IsKind(*package, decl)) {
          kinds.push_back(&found->second);
        } else if (decl.type.form == GoForm::kStruct && IsExported(decl.name) && !IsList({package, &file}, decl)) {
          others.push_back(&found->second);
        }
      }
    }
    for (const GoPackage::Declaration* declaration : kinds.empty() ? others : kinds) Declare(*package, *declaration);
  }
  while (!open_.empty()) {
    const OpenStruct open = open_.front();
    open_.pop_front();
    Fill(open);
  }
  SeparateHidden();
  BoxLargeStructs();
  MarkRoots();
  AskForApproval();
  model_.Index();
}

void GoConverter::Fill(const OpenStruct& open) {
  const bool kind = IsKind(*open.package, *open.decl);
  const bool given = given_.contains(open.package);
  Struct s = model_.structs[open.index];
  s.role = kind ? StructRole::kKind : StructRole::kPart;
  s.description = open.decl->doc.empty() ? open.base->doc : open.decl->doc;
  if (open.base != open.decl) {
    // From the type that it is made from, take the markers of its schema, not those of its kind.
    s.markers = ReadMarkers(open.base->markers, kind ? kOnKind : kOnStruct, false);
    std::erase_if(s.markers, [](const Marker& m) { return !MayStand('+' + m.name, kOnStruct | kOnField); });
  }
  const std::vector<Marker> own = ReadMarkers(open.decl->markers, kind ? kOnKind : kOnStruct, given);
  s.markers.insert(s.markers.end(), own.begin(), own.end());
  std::erase_if(s.markers, [](const Marker& m) { return m.name == "kubebuilder:object:root"; });
  FileOf(*open.scope.package);
  const bool required_default = required_default_[open.scope.package];
  if (open.base->type.fields().size() > kMostFields) {
    problems_.Error(open.base->at, fmt::format("struct with more than {} fields", kMostFields));
    return;
  }
  for (const GoField& field : open.base->type.fields()) AddField(s, open.scope, field, required_default);
  if (kind && std::none_of(s.fields.begin(), s.fields.end(), [](const Field& f) { return f.json == "metadata"; })) {
    problems_.Error(open.decl->at,
                    fmt::format("kind {} without metadata; write `json:\"metadata,omitempty\"` behind metav1.ObjectMeta", s.name));
  }
  model_.structs[open.index] = std::move(s);
}

// Reports a JSON name that another field has.
bool GoConverter::IsTaken(const Struct& s, const std::string& json, const Position& at) {
  const bool taken = std::any_of(s.fields.begin(), s.fields.end(), [&](const Field& f) { return f.json == json; });
  if (taken) problems_.Error(at, fmt::format("JSON name {} stands twice in {}", json, s.name));
  return taken;
}

void GoConverter::AddTypeMeta(Struct& s, const Position& at) {
  if (s.role == StructRole::kKind) return;
  for (const char* name : {"apiVersion", "kind"}) {
    if (IsTaken(s, name, at)) return;
    Field field{.json = name, .type = ParseBuiltinType("kube::String"), .at = at};
    NameMember(s, name, field);
    s.fields.push_back(std::move(field));
  }
}

void GoConverter::AddField(Struct& s, const Scope& scope, const GoField& go, bool required_default) {
  const JsonTag tag = ReadTag(go);
  if (tag.left_out || (!tag.there && !go.name.empty() && !IsExported(go.name))) return;
  if (tag.name.empty() && !tag.inlined) {
    return problems_.Error(go.at,
                           fmt::format("field {} of {} has no JSON name; write `json:\"name,omitempty\"` behind it, or `json:\"-\"` to "
                                       "leave it out",
                                       go.name, s.name));
  }
  if (tag.as_string) {
    return problems_.Error(go.at, fmt::format("field {} of {} is a number that JSON has as a string; write a type for it with "
                                              "`// +kubebuilder:validation:Type=string`",
                                              go.name, s.name));
  }
  const GoType& type = Behind(go.type);
  if (tag.inlined && IsMeta(scope, type, "TypeMeta")) return AddTypeMeta(s, go.at);
  if (!tag.inlined && IsTaken(s, tag.name, go.at)) return;

  Field field{.json = tag.inlined ? "" : tag.name, .inlined = tag.inlined, .description = go.doc, .at = go.at};
  field.markers = ReadMarkers(go.markers, kOnField, given_.contains(scope.package));
  const bool required = !tag.inlined && IsRequired(field.markers, required_default && !tag.may_be_absent);
  const bool schemaless = FindMarker(field.markers, "kubebuilder:validation:Schemaless") != nullptr;
  if (schemaless && type.form == GoForm::kOther) {
    field.type = ParseBuiltinType("kube::RawJson");
    field.type.at = go.at;
  } else {
    Converted converted = Convert(scope, type);
    field.type = std::move(converted.type);
    for (std::size_t i = converted.needs.size(); i-- > 0 && !schemaless;) {
      const Marker& need = converted.needs[i];
      const bool there = std::any_of(field.markers.begin(), field.markers.end(), [&](const Marker& m) {
        const bool preserves = need.name == "kube:schema" && m.name.ends_with("PreserveUnknownFields");
        return (m.name == need.name || preserves) && m.items == need.items;
      });
      if (!there) field.markers.insert(field.markers.begin(), need);
    }
  }
  // Whether it is required has been decided; only +required is said in C++.
  const bool checked = FindMarker(field.markers, "k8s:required") != nullptr;
  std::erase_if(field.markers, [&](const Marker& m) {
    return m.name == "kubebuilder:validation:Optional" || m.name == "kubebuilder:validation:Required" || m.name == "optional" ||
           m.name == "k8s:optional" || m.name == "required" || (m.name == "k8s:required" && !required);
  });
  if (required && !checked) {
    field.markers.insert(field.markers.begin(), {.name = "required", .items = false, .value = {}, .arguments = {}, .at = go.at});
  }
  Place(s, go, field, go.type.form == GoForm::kPointer, required);
  NameMember(s, go.name.empty() ? type.name : go.name, field);
  s.fields.push_back(std::move(field));
}

// How the member holds its type: as itself, std::optional or kube::Box.
void GoConverter::Place(Struct& s, const GoField& go, Field& field, bool pointer, bool required) {
  const Type* under = Under(field.type);
  const auto wrap = [&](TypeForm form) {
    Type out;
    out.form = form;
    out.at = field.type.at;
    out.element = std::make_shared<const Type>(std::move(field.type));
    field.type = std::move(out);
  };
  switch (under->form) {
    case TypeForm::kScalar: {
      const Scalar scalar = under->scalar;
      if (field.inlined) break;
      if (scalar == Scalar::kTime || scalar == Scalar::kMicroTime || scalar == Scalar::kRawJson || scalar == Scalar::kBytes) return;
      const Marker* value = FindMarker(field.markers, "kubebuilder:default");
      if (value == nullptr) value = FindMarker(field.markers, "default");
      const bool number = scalar == Scalar::kBool || scalar == Scalar::kInt32 || scalar == Scalar::kInt64 || scalar == Scalar::kDouble;
      // Zero would be absent, and the server would set its default.
      if (pointer || (number && value != nullptr && !IsZero(value->value))) wrap(TypeForm::kOptional);
      return;
    }
    case TypeForm::kStruct:
    case TypeForm::kBuiltin:
      if (!required && MayBeBoxed(s, field)) wrap(TypeForm::kBox);
      return;
    case TypeForm::kList:
    case TypeForm::kMap:
      if (field.inlined) break;
      if (pointer) wrap(TypeForm::kBox);
      return;
    default:
      return;
  }
  problems_.Error(go.at, fmt::format("inlined field of {} that is no struct; give it a JSON name", s.name));
}

// Required structs that are large, or that contain themselves, are in a Box, too. What they contain is known only after all were read.
void GoConverter::BoxLargeStructs() {
  std::vector<std::size_t> known(model_.structs.size());
  for (std::size_t i = 0; i < known.size(); ++i) BytesOf(i, 0, known);
}

std::size_t GoConverter::BytesOf(std::size_t index, int depth, std::vector<std::size_t>& known) {
  constexpr std::size_t kOpen = std::size_t{1} << 30;  // contains itself, or too many others
  constexpr int kMostNesting = 64;
  if (known[index] != 0) return known[index];
  if (depth > kMostNesting) return kOpen;
  known[index] = kOpen;
  std::size_t bytes = kHandle;
  Struct& s = model_.structs[index];
  for (Field& field : s.fields) bytes += BytesOf(s, field, depth, known);
  return known[index] = std::min(bytes, kOpen);
}

std::size_t GoConverter::BytesOf(const Struct& s, Field& field, int depth, std::vector<std::size_t>& known) {
  const Type* under = Under(field.type);
  if (under->form == TypeForm::kScalar) return generate::BytesOf(under->scalar);
  if (under->form == TypeForm::kOptional) return generate::BytesOf(Under(*under->element)->scalar);
  if (under->form == TypeForm::kBuiltin) return kBuiltinStruct;
  if (under->form != TypeForm::kStruct) return kHandle;
  const std::size_t bytes = BytesOf(StructOf(field.type), depth + 1, known);
  if (bytes <= kLargeStruct || !MayBeBoxed(s, field)) return bytes;
  Type box;
  box.form = TypeForm::kBox;
  box.at = field.type.at;
  box.element = std::make_shared<const Type>(std::move(field.type));
  field.type = std::move(box);
  return kHandle;
}

// A name that no other member of the struct has.
void GoConverter::NameMember(const Struct& s, const std::string& go_name, Field& field) const {
  const auto taken = [&](const std::string& name) {
    return name == s.name || std::any_of(s.fields.begin(), s.fields.end(), [&](const Field& f) { return f.name == name; });
  };
  field.name = MemberName(field.json.empty() ? go_name : field.json);
  if (taken(field.name)) field.name = MemberName(go_name);
  const std::string first = field.name;
  for (int i = 2; taken(field.name); ++i) field.name = fmt::format("{}_{}", first, i);
}

// In C++ a struct with ObjectMeta is a kind, unless another struct has it as a member.
void GoConverter::MarkRoots() {
  for (Struct& s : model_.structs) {
    const bool meta = std::any_of(s.fields.begin(), s.fields.end(), [](const Field& f) {
      return f.json == "metadata" && f.type.form == TypeForm::kBuiltin && f.type.name == "kube::meta::v1::ObjectMeta";
    });
    if (!meta || model_.files[s.file].skip) continue;
    const bool kind = s.role == StructRole::kKind, used = used_.contains(s.qualified);
    if (kind == !used) continue;
    s.markers.push_back({.name = "kubebuilder:object:root", .items = false, .value = Value(kind), .arguments = {}, .at = s.at});
  }
}

// Servers refuse a CRD in one of Kubernetes' own groups without this annotation, which Go projects add with tools of their own.
void GoConverter::AskForApproval() {
  const auto is_approved = [](const Struct& s) {
    return std::any_of(s.markers.begin(), s.markers.end(), [](const Marker& marker) {
      const List<Value>& pairs = marker.arguments["annotations"].list();
      return marker.name == kMetadata && std::any_of(pairs.begin(), pairs.end(), [](const Value& pair) {
               return pair.string_value().view().starts_with(std::string(kApproval) + '=');
             });
    });
  };
  // One version of a kind speaks for all of them.
  std::set<std::pair<std::string, std::string>> approved, reported;
  const auto key = [&](const Struct& s) { return std::pair(model_.files[s.file].group, s.name); };
  for (const Struct& s : model_.structs) {
    if (s.role == StructRole::kKind && is_approved(s)) approved.insert(key(s));
  }
  for (Struct& s : model_.structs) {
    const std::string& group = model_.files[s.file].group;
    if (s.role != StructRole::kKind || !apiserver::builtin::IsProtectedGroup(group) || approved.contains(key(s))) continue;
    const Value pairs = Value::Array({fmt::format("{}=unapproved", kApproval)});
    s.markers.push_back(
        {.name = std::string(kMetadata), .items = false, .value = {}, .arguments = Value::Object({{"annotations", pairs}}), .at = s.at});
    if (!reported.insert(key(s)).second) continue;
    problems_.Warning(s.at,
                      fmt::format("kind {}: group {} belongs to the Kubernetes project; its header says {}=unapproved, which has to be "
                                  "the URL of the approval if there is one",
                                  s.name, group, kApproval));
  }
}

}  // namespace kube::generate
