// Inlined structs of Go some of whose fields are hidden.
//
//   type Spec struct {
//     Token *string `json:"token,omitempty"`      // the one that JSON has: it is nested less deeply
//     Config `json:",inline"`                     // has a field token, too
//   }
//
// A C++ struct with both would have a JSON name twice, so it gets a copy of Config without the hidden fields: SpecConfig.
// controller-gen joins the schemas of both, innermost first. So the field that stays inherits the markers and the description of the hidden
// one.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>
#include <vector>

#include "generate/go_converter.h"
#include "generate/markers.h"

namespace kube::generate {
namespace {

constexpr int kMostNesting = 32;           // structs that inline each other
constexpr std::size_t kMostInlined = 500;  // of a struct, with those that they inline

bool HasMarker(const Field& field, const Marker& marker, bool same_value) {
  return std::any_of(field.markers.begin(), field.markers.end(), [&](const Marker& m) {
    const bool equal = m.value == marker.value && m.arguments == marker.arguments;
    return m.name == marker.name && m.items == marker.items && (equal || !same_value);
  });
}

bool IsDocumentation(const Marker& marker) {
  return marker.name == "kubebuilder:title" || marker.name == "kubebuilder:externalDocs" || marker.name == "kubebuilder:example";
}

bool IsRepeatable(const Marker& marker) {
  const MarkerDefinition* definition = FindMarker(marker.name);
  return definition != nullptr && definition->repeatable;
}

void Document(Field& field, const Field& other) {
  field.description = other.description;
  std::erase_if(field.markers, IsDocumentation);
  std::copy_if(other.markers.begin(), other.markers.end(), std::back_inserter(field.markers), IsDocumentation);
}

const Type& Inner(const Type& type) {
  const bool wrapped = type.form == TypeForm::kOptional || type.form == TypeForm::kBox;
  return wrapped ? *type.element : type;
}

}  // namespace

// One of the structs that a struct inlines; the first one is the struct itself.
struct GoConverter::Inlined {
  std::size_t index = 0;  // in Model::structs
  std::size_t parent = 0, parent_field = 0;
  bool copied = false;                       // fields differ from those of the struct
  std::vector<bool> hidden;                  // by field
  std::vector<std::vector<Marker>> markers;  // that fields get in addition
  std::map<std::size_t, Field> documented;   // what documents a field instead, by field
  std::string copy;                          // its qualified name
};

std::size_t GoConverter::StructOf(const Type& type) const {
  const Type* under = Under(type);
  const auto found = under->form == TypeForm::kStruct ? structs_.find(under->name) : structs_.end();
  return found == structs_.end() ? model_.structs.size() : found->second;
}

void GoConverter::SeparateHidden() {
  std::vector<bool> seen(model_.structs.size());
  for (std::size_t i = 0; i < seen.size(); ++i) SeparateHidden(i, 0, seen);
}

// Inlined structs first, so that each is copied for what it hides itself, and once only.
void GoConverter::SeparateHidden(std::size_t index, int depth, std::vector<bool>& seen) {
  if (depth > kMostNesting || index >= seen.size() || seen[index]) return;
  seen[index] = true;
  for (std::size_t i = 0; i < model_.structs[index].fields.size(); ++i) {
    if (model_.structs[index].fields[i].inlined) SeparateHidden(StructOf(model_.structs[index].fields[i].type), depth + 1, seen);
  }
  std::vector<Inlined> all{{.index = index}};
  if (FindHidden(all)) CopyInlined(all);
}

// In order of depth, so that the first field of a name is the one that Go has in JSON. False if none is hidden.
bool GoConverter::FindHidden(std::vector<Inlined>& all) {
  using Place = std::pair<std::size_t, std::size_t>;  // in `all`, and the field
  std::map<std::string, std::vector<Place>> places;
  for (std::size_t at = 0; at < all.size(); ++at) {
    const Struct& s = model_.structs[all[at].index];
    all[at].hidden.resize(s.fields.size());
    all[at].markers.resize(s.fields.size());
    for (std::size_t i = 0; i < s.fields.size(); ++i) {
      const Field& field = s.fields[i];
      if (!field.inlined) {
        places[field.json].emplace_back(at, i);
        continue;
      }
      const std::size_t inner = StructOf(field.type);
      if (inner < model_.structs.size()) all.push_back({.index = inner, .parent = at, .parent_field = i});
      if (all.size() > kMostInlined) return false;
    }
  }
  const auto field = [&](const Place& place) -> const Field& { return model_.structs[all[place.first].index].fields[place.second]; };
  const std::vector<std::size_t> order = JoinOrder(all);
  bool found = false;
  for (const auto& [name, same] : places) {
    const auto [owner, position] = same[0];
    for (std::size_t i = 1; i < same.size(); ++i) {
      found = all[same[i].first].hidden[same[i].second] = all[same[i].first].copied = true;
      Join(field(same[0]), field(same[i]), model_.structs[all[0].index], all[owner].markers[position]);
    }
    all[owner].copied = all[owner].copied || !all[owner].markers[position].empty();
    const Place first =
        *std::min_element(same.begin(), same.end(), [&](const Place& a, const Place& b) { return order[a.first] < order[b.first]; });
    if (first == same[0]) continue;
    all[owner].documented[position] = field(first);
    all[owner].copied = true;
  }
  return found;
}

// The places of structs in the order in which controller-gen joins them: each behind those that it inlines.
std::vector<std::size_t> GoConverter::JoinOrder(const std::vector<Inlined>& all) {
  std::vector<std::vector<std::size_t>> inner(all.size());
  for (std::size_t i = 1; i < all.size(); ++i) inner[all[i].parent].push_back(i);
  std::vector<std::size_t> out(all.size()), open{0};
  for (std::size_t next = all.size(); !open.empty();) {
    const std::size_t at = open.back();
    open.pop_back();
    out[at] = --next;  // from the end: a struct, and then what it inlines, the last one first
    open.insert(open.end(), inner[at].begin(), inner[at].end());
  }
  return out;
}

// The markers that `field` lacks of one that it hides.
void GoConverter::Join(const Field& field, const Field& hidden, const Struct& s, std::vector<Marker>& out) {
  bool differs = Inner(field.type).Spelling() != Inner(hidden.type).Spelling();
  for (const Marker& marker : hidden.markers) {
    if (IsDocumentation(marker) || HasMarker(field, marker, true)) continue;
    // A default may need another type, and of two values for one key there is no marker.
    if (marker.name.ends_with("default") || (HasMarker(field, marker, false) && !IsRepeatable(marker))) {
      differs = true;
    } else {
      out.push_back(marker);
    }
  }
  if (!differs) return;
  problems_.Warning(field.at, fmt::format("field {} hides one of another type, or with other markers, that {} inlines; the schema has "
                                          "only the former",
                                          field.json, s.name));
}

void GoConverter::CopyInlined(std::vector<Inlined>& all) {
  for (std::size_t at = all.size(); at-- > 0;) {
    if (!all[at].copied) continue;
    Struct s = model_.structs[all[at].index];
    std::vector<Field> fields;
    for (std::size_t i = 0; i < s.fields.size(); ++i) {
      if (all[at].hidden[i]) continue;
      Field& field = s.fields[i];
      if (const auto other = all[at].documented.find(i); other != all[at].documented.end()) Document(field, other->second);
      for (const Marker& marker : all[at].markers[i])
        field.markers.insert(IsRepeatable(marker) ? field.markers.end() : field.markers.begin(), marker);
      const auto copy = std::find_if(all.begin() + 1, all.end(), [&](const Inlined& inlined) {
        return inlined.parent == at && inlined.parent_field == i && !inlined.copy.empty();
      });
      if (field.inlined && copy != all.end()) {
        field.type = {};
        field.type.form = TypeForm::kStruct;
        field.type.name = copy->copy;
        field.type.at = field.at;
        used_.insert(copy->copy);
      }
      fields.push_back(std::move(field));
    }
    s.fields = std::move(fields);
    if (at == 0) {
      model_.structs[all[0].index] = std::move(s);
      return;
    }
    all[all[at].parent].copied = true;
    all[at].copy = AddCopy(std::move(s), model_.structs[all[0].index]);
  }
}

// Adds a copy of a struct for `user`, and returns its name.
std::string GoConverter::AddCopy(Struct s, Struct& user) {
  s.scope = user.scope;
  s.file = user.file;
  s.role = StructRole::kPart;
  const std::string name = user.name + s.name;
  s.name = name;
  for (int i = 2; !names_.insert(s.scope + "::" + s.name).second; ++i) s.name = fmt::format("{}_{}", name, i);
  s.qualified = s.scope + "::" + s.name;
  // Those that name a hidden field speak of the whole object.
  const auto names_hidden = [&](const Marker& marker) {
    return marker.name.ends_with("OneOf") && std::any_of(marker.value.list().begin(), marker.value.list().end(), [&](const Value& json) {
             return std::none_of(s.fields.begin(), s.fields.end(), [&](const Field& f) { return f.json == json.string_value().view(); });
           });
  };
  std::copy_if(s.markers.begin(), s.markers.end(), std::back_inserter(user.markers), names_hidden);
  std::erase_if(s.markers, names_hidden);
  structs_.emplace(s.qualified, model_.structs.size());
  model_.structs.push_back(std::move(s));
  return model_.structs.back().qualified;
}

}  // namespace kube::generate
