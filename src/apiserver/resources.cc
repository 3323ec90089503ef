#include "apiserver/resources.h"

#include <algorithm>
#include <array>
#include <utility>

#include "apiserver/builtin/catalogue.h"
#include "kube/meta/resource.h"

namespace kube::apiserver {
namespace {

using Names = std::vector<std::string_view>;

// Whose registries answer a delete with the object.
const Names kReturnsDeleted = {
    "/pods",
    "/services",
    "/serviceaccounts",
    "/persistentvolumes",
    "/persistentvolumeclaims",
    "/resourcequotas",
    "/podtemplates",
    "/namespaces",
    "storage.k8s.io/storageclasses",
    "storage.k8s.io/csidrivers",
    "storage.k8s.io/csinodes",
    "storage.k8s.io/volumeattachments",
    "storage.k8s.io/volumeattributesclasses",
    "resource.k8s.io/resourceclaims",
    "resource.k8s.io/resourceclaimtemplates",
    "resource.k8s.io/resourceslices",
    "resource.k8s.io/deviceclasses",
};

bool Contains(const Names& names, std::string_view name) { return std::find(names.begin(), names.end(), name) != names.end(); }

std::vector<std::string> Strings(const std::vector<std::string_view>& views) { return {views.begin(), views.end()}; }

ResourcePtr FromBuiltin(const BuiltinResource& b) {
  auto out = std::make_shared<ServedResource>();
  out->group = b.group;
  out->version = b.version;
  out->resource = b.resource;
  out->singular = b.singular;
  out->kind = b.kind;
  out->list_kind = out->kind + "List";
  out->namespaced = b.namespaced;
  out->short_names = Strings(b.short_names);
  out->categories = Strings(b.categories);
  out->verbs = Strings(b.verbs);
  for (const BuiltinSubresource& s : b.subresources) {
    out->subresources.push_back({std::string(s.name), std::string(s.group), std::string(s.version), std::string(s.kind), Strings(s.verbs)});
  }
  out->builtin = &b;
  out->type = b.type;
  out->schema = SchemaOf(*b.type);
  const TypeInfo& stored = b.stored_type != nullptr ? *b.stored_type : *b.type;
  Gvk gvk = GvkOf(stored);
  out->storage = gvk.group.str() + "/" + out->resource;
  out->storage_api_version = GroupVersion{gvk.group, gvk.version}.ToString();
  out->storage_kind = gvk.kind.str();
  out->has_status = b.HasSubresource("status");
  std::string name = out->group + "/" + out->resource;
  out->create_on_update = b.create_on_update;
  out->unconditional_update = b.unconditional_update;
  out->returns_deleted = Contains(kReturnsDeleted, name);
  return out;
}

// v2 before v1 before v2beta1 before v1beta1 before v1alpha1 before everything else: how versions of CRDs are ordered.
std::array<int, 4> VersionRank(std::string_view version) {
  std::size_t i = 1;
  auto number = [&]() {
    int n = 0;
    std::size_t start = i;
    while (i < version.size() && version[i] >= '0' && version[i] <= '9') n = n * 10 + (version[i++] - '0');
    return i == start ? -1 : n;
  };
  if (version.empty() || version[0] != 'v') return {0, 0, 0, 0};
  int major = number();
  if (major < 0) return {0, 0, 0, 0};
  if (i == version.size()) return {3, major, 0, 0};
  int stage = version.substr(i, 4) == "beta" ? 2 : version.substr(i, 5) == "alpha" ? 1 : 0;
  if (stage == 0) return {0, 0, 0, 0};
  i += stage == 2 ? 4 : 5;
  int minor = number();
  return {stage, major, minor, 0};
}

}  // namespace

int CompareVersions(std::string_view a, std::string_view b) {
  auto rank_a = VersionRank(a), rank_b = VersionRank(b);
  if (rank_a != rank_b) return rank_a < rank_b ? -1 : 1;
  return rank_a[0] != 0 || a == b ? 0 : a < b ? 1 : -1;  // others are in the order of the alphabet
}

const ServedSubresource* ServedResource::Subresource(std::string_view name) const {
  for (const ServedSubresource& s : subresources) {
    if (s.name == name) return &s;
  }
  return nullptr;
}

bool ServedResource::HasVerb(std::string_view verb) const { return std::find(verbs.begin(), verbs.end(), verb) != verbs.end(); }

const ServedVersion* ServedGroup::Find(std::string_view version) const {
  for (const ServedVersion& v : versions) {
    if (v.version == version) return &v;
  }
  return nullptr;
}

void Resources::Add(ResourcePtr resource) {
  auto group = std::find_if(groups_.begin(), groups_.end(), [&](const ServedGroup& g) { return g.name == resource->group; });
  if (group == groups_.end()) group = groups_.insert(groups_.end(), ServedGroup{resource->group, {}});
  auto version =
      std::find_if(group->versions.begin(), group->versions.end(), [&](const ServedVersion& v) { return v.version == resource->version; });
  if (version == group->versions.end()) {
    auto at = group->versions.end();
    if (resource->custom) {
      at = std::find_if(group->versions.begin(), group->versions.end(), [&](const ServedVersion& v) {
        auto a = VersionRank(resource->version), b = VersionRank(v.version);
        return a > b || (a == b && resource->version < v.version);
      });
    }
    version = group->versions.insert(at, ServedVersion{resource->version, {}});
  }
  std::string name = resource->resource;
  version->resources[name] = std::move(resource);
}

std::shared_ptr<const Resources> Resources::Builtin(bool all) {
  static const auto build = [](bool everything) {
    auto out = std::make_shared<Resources>();
    for (const BuiltinResource& b : Catalogue()) {
      if (everything || b.enabled_by_default) out->Add(FromBuiltin(b));
    }
    return out;
  };
  // Made once per process: an in-process server starts in a millisecond.
  if (all) {
    static const std::shared_ptr<const Resources> everything = build(true);
    return everything;
  }
  static const std::shared_ptr<const Resources> usual = build(false);
  return usual;
}

const ServedGroup* Resources::FindGroup(std::string_view group) const {
  for (const ServedGroup& g : groups_) {
    if (g.name == group) return &g;
  }
  return nullptr;
}

ResourcePtr Resources::Find(std::string_view group, std::string_view version, std::string_view resource) const {
  const ServedGroup* g = FindGroup(group);
  const ServedVersion* v = g == nullptr ? nullptr : g->Find(version);
  if (v == nullptr) return nullptr;
  auto it = v->resources.find(resource);
  return it == v->resources.end() ? nullptr : it->second;
}

ResourcePtr Resources::FindKind(std::string_view group, std::string_view version, std::string_view kind) const {
  const ServedGroup* g = FindGroup(group);
  const ServedVersion* v = g == nullptr ? nullptr : g->Find(version);
  if (v == nullptr) return nullptr;
  for (const auto& [name, resource] : v->resources) {
    if (resource->kind == kind) return resource;
  }
  return nullptr;
}

ResourcePtr Resources::FindKind(std::string_view group, std::string_view kind) const {
  const ServedGroup* g = FindGroup(group);
  if (g == nullptr) return nullptr;
  for (const ServedVersion& v : g->versions) {
    if (ResourcePtr found = FindKind(group, v.version, kind)) return found;
  }
  return nullptr;
}

ResourcePtr Resources::FindStorage(std::string_view storage) const {
  ResourcePtr found;
  for (const ServedGroup& g : groups_) {
    for (const ServedVersion& v : g.versions) {
      for (const auto& [name, resource] : v.resources) {
        if (resource->storage != storage) continue;
        if (resource->api_version() == resource->storage_api_version) return resource;
        if (!found) found = resource;
      }
    }
  }
  return found;
}

std::shared_ptr<const Resources> Resources::WithCrd(std::string_view crd_name, std::vector<ResourcePtr> resources) const {
  auto out = std::make_shared<Resources>(*this);
  for (ServedGroup& g : out->groups_) {
    for (ServedVersion& v : g.versions) {
      std::erase_if(v.resources, [&](const auto& entry) { return entry.second->custom && entry.second->custom->crd_name == crd_name; });
    }
    std::erase_if(g.versions, [](const ServedVersion& v) { return v.resources.empty(); });
  }
  std::erase_if(out->groups_, [](const ServedGroup& g) { return g.versions.empty(); });
  for (ResourcePtr& resource : resources) out->Add(std::move(resource));
  return out;
}

}  // namespace kube::apiserver
