#include "generate/crd_places.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <vector>

#include "generate/resolve.h"

namespace kube::generate {
namespace {

// A keyword of a schema, and the last parts of the names of markers that set it.
struct Keyword {
  std::string_view key;
  std::vector<std::string_view> markers;
};

const std::vector<Keyword>& Keywords() {
  static const std::vector<Keyword> kKeywords = {
      {"default", {"default"}},
      {"enum", {"Enum", "enum"}},
      {"example", {"example"}},
      {"externalDocs", {"externalDocs"}},
      {"format", {"Format"}},
      {"pattern", {"Pattern"}},
      {"type", {"Type"}},
      {"uniqueItems", {"UniqueItems"}},
      {"x-kubernetes-embedded-resource", {"XEmbeddedResource", "EmbeddedResource"}},
      {"x-kubernetes-int-or-string", {"XIntOrString"}},
      {"x-kubernetes-list-map-keys", {"listMapKey"}},
      {"x-kubernetes-list-type", {"listType"}},
      {"x-kubernetes-map-type", {"mapType", "structType"}},
      {"x-kubernetes-preserve-unknown-fields", {"XPreserveUnknownFields", "PreserveUnknownFields"}},
      {"x-kubernetes-validations", {"XValidation"}},
  };
  return kKeywords;
}

bool TakePrefix(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

// "[3]" at the beginning; 0 if there is none.
std::size_t TakeIndex(std::string_view& text) {
  std::size_t out = 0;
  if (!TakePrefix(text, "[")) return 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), out);
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  TakePrefix(text, "]");
  return failed == std::errc() ? out : 0;
}

const Field* FindField(const Model& model, const Struct& s, std::string_view json) {
  for (const Field& field : s.fields) {
    if (!field.inlined && field.json == json) return &field;
  }
  for (const Field& field : s.fields) {
    const Type* under = field.inlined ? Underlying(model, field.type) : nullptr;
    const Struct* inner = under != nullptr && under->form == TypeForm::kStruct ? model.FindStruct(under->name) : nullptr;
    if (inner == nullptr || inner == &s) continue;
    if (const Field* found = FindField(model, *inner, json)) return found;
  }
  return nullptr;
}

class Finder {
 public:
  Finder(const Model& model, const Struct& kind) : model_(model), kind_(kind) {}

  // `path` continues below openAPIV3Schema.
  CrdPlace InSchema(std::string_view path) {
    const Struct* s = &kind_;
    const Type* type = nullptr;
    const Field* field = nullptr;
    const Struct* holder = &kind_;
    for (;;) {
      if (TakePrefix(path, ".properties[")) {
        const std::size_t end = path.find(']');
        const Field* next = s == nullptr || end == std::string_view::npos ? nullptr : FindField(model_, *s, path.substr(0, end));
        if (next == nullptr) break;
        path.remove_prefix(end + 1);
        holder = s;
        field = next;
        type = &next->type;
      } else if (TakePrefix(path, ".items") || TakePrefix(path, ".additionalProperties")) {
        const Type* under = type == nullptr ? nullptr : Whole(*type);
        if (under == nullptr || under->element == nullptr) break;
        type = under->element.get();
      } else if (TakePrefix(path, ".allOf")) {
        TakeIndex(path);
      } else {
        break;
      }
      const Type* under = type == nullptr ? nullptr : Whole(*type);
      s = under == nullptr ? s : under->form == TypeForm::kStruct ? model_.FindStruct(under->name) : nullptr;
    }
    TakePrefix(path, ".");
    CrdPlace out = field != nullptr
                       ? CrdPlace{field->at, fmt::format("field {} of {}", field->json, holder->name), "change its type or its markers"}
                       : OfKind();
    if (field == nullptr) return WithMarker(path, kind_.markers, std::move(out));
    if (const Marker* marker = FindMarkerFor(path, field->markers)) return OfMarker(*marker, out);
    // The aliases and the struct behind the field have markers, too.
    for (const Type* t = &field->type; t != nullptr;) {
      if (const Alias* alias = t->form == TypeForm::kAlias ? model_.FindAlias(t->name) : nullptr) {
        if (const Marker* marker = FindMarkerFor(path, alias->markers)) return OfMarker(*marker, out);
        t = &alias->type;
      } else if (const Struct* part = t->form == TypeForm::kStruct ? model_.FindStruct(t->name) : nullptr) {
        return WithMarker(path, part->markers, std::move(out));
      } else {
        t = t->element.get();
      }
    }
    return out;
  }

  CrdPlace OfKind() const { return {kind_.at, "kind " + kind_.name, "change the kind or its markers"}; }

  // The marker of this name, counting those before it.
  CrdPlace OfNth(std::string_view name, std::size_t n, CrdPlace otherwise) const {
    for (const Marker& marker : kind_.markers) {
      if (marker.name == name && n-- == 0) return OfMarker(marker, otherwise);
    }
    return otherwise;
  }

  CrdPlace OfFile(std::string_view name) const {
    for (const Marker& marker : model_.FileOf(kind_).markers) {
      if (marker.name == name) return OfMarker(marker, OfKind());
    }
    return {kind_.at, "kind " + kind_.name, fmt::format("write `// +{}=...` at the top of the file", name)};
  }

 private:
  const Model& model_;
  const Struct& kind_;

  // Behind aliases, std::optional and kube::Box.
  const Type* Whole(const Type& type) const {
    const Type* under = Underlying(model_, type);
    while (under != nullptr && (under->form == TypeForm::kOptional || under->form == TypeForm::kBox)) {
      under = Underlying(model_, *under->element);
    }
    return under;
  }

  static const Marker* FindMarkerFor(std::string_view keyword, const std::vector<Marker>& markers) {
    std::size_t n = 0;
    const std::string_view key = keyword.substr(0, keyword.find_first_of(".["));
    if (std::string_view rest = keyword.substr(key.size()); key == "x-kubernetes-validations") n = TakeIndex(rest);
    for (const Keyword& k : Keywords()) {
      if (k.key != key) continue;
      for (const Marker& marker : markers) {
        const std::string_view name = std::string_view(marker.name).substr(marker.name.rfind(':') + 1);
        if (std::find(k.markers.begin(), k.markers.end(), name) != k.markers.end() && n-- == 0) return &marker;
      }
    }
    return nullptr;
  }

  static CrdPlace OfMarker(const Marker& marker, const CrdPlace& owner) {
    return {marker.at, fmt::format("{}: marker +{}", owner.what, marker.name), "change this marker, or leave it out"};
  }

  static CrdPlace WithMarker(std::string_view keyword, const std::vector<Marker>& markers, CrdPlace otherwise) {
    const Marker* marker = FindMarkerFor(keyword, markers);
    return marker != nullptr ? OfMarker(*marker, otherwise) : otherwise;
  }
};

}  // namespace

CrdPlace PlaceOf(const Model& model, const Crd& crd, std::string_view path) {
  const Struct* kind = crd.kinds[0];
  std::string_view rest = path;
  TakePrefix(rest, "spec");
  if (TakePrefix(rest, ".versions[")) {
    rest = path.substr(path.find('['));
    const std::size_t version = TakeIndex(rest);
    if (version < crd.kinds.size()) kind = crd.kinds[version];
  }
  Finder finder(model, *kind);
  if (const std::size_t at = path.find("openAPIV3Schema"); at != std::string_view::npos) {
    return finder.InSchema(path.substr(at + std::string_view("openAPIV3Schema").size()));
  }
  TakePrefix(rest, ".");
  if (path == "metadata.annotations[api-approved.kubernetes.io]") {
    CrdPlace out = finder.OfKind();
    out.remedy =
        "write `// +kubebuilder:metadata:annotations=\"api-approved.kubernetes.io=unapproved, REASON\"` above it, or choose a group "
        "outside of "
        "k8s.io and kubernetes.io";
    return out;
  }
  if (rest.starts_with("names")) {
    CrdPlace otherwise = finder.OfKind();
    otherwise.remedy = "write `// +kubebuilder:resource:path=...` above it, or give it another name";
    return finder.OfNth("kubebuilder:resource", 0, otherwise);
  }
  if (rest.starts_with("group") || path == "metadata.name") return finder.OfFile("groupName");
  if (rest.starts_with("name") || rest.starts_with("version")) return finder.OfFile("versionName");
  if (TakePrefix(rest, "additionalPrinterColumns")) return finder.OfNth("kubebuilder:printcolumn", TakeIndex(rest), finder.OfKind());
  if (TakePrefix(rest, "selectableFields")) return finder.OfNth("kubebuilder:selectablefield", TakeIndex(rest), finder.OfKind());
  if (rest.starts_with("subresources.scale")) return finder.OfNth("kubebuilder:subresource:scale", 0, finder.OfKind());
  if (rest.starts_with("deprecat")) return finder.OfNth("kubebuilder:deprecatedversion", 0, finder.OfKind());
  return finder.OfKind();
}

}  // namespace kube::generate
