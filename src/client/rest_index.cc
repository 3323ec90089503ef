#include "client/rest_index.h"

#include <algorithm>
#include <set>
#include <utility>

namespace kube::internal {
namespace {

std::string Lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

// Core v1, then groups in the server's order, in each the preferred version first.
std::vector<const ApiResourceList*> InOrder(const ServerApis& apis) {
  std::vector<const ApiResourceList*> out;
  std::set<GroupVersion> taken;
  const auto take = [&](const GroupVersion& group_version) {
    const ApiResourceList* list = apis.Find(group_version);
    if (list != nullptr && taken.insert(group_version).second) out.push_back(list);
  };
  take({"", "v1"});
  for (const ApiGroup& group : apis.groups) {
    take({group.name, group.preferred_version});
    for (const String& version : group.versions) take({group.name, version});
  }
  return out;
}

template <typename Map, typename Key>
const typename Map::mapped_type& FindOrEmpty(const Map& map, const Key& key) {
  static const typename Map::mapped_type kNone{};
  const auto it = map.find(key);
  return it == map.end() ? kNone : it->second;
}

bool GroupFits(std::string_view group, std::string_view wanted, bool prefix) {
  return wanted.empty() || (prefix ? group.starts_with(wanted) : group == wanted);
}

}  // namespace

RestIndex::RestIndex(std::shared_ptr<const ServerApis> apis) : apis_(std::move(apis)) {
  const std::vector<const ApiResourceList*> lists = InOrder(*apis_);
  std::size_t count = 0;
  for (const ApiResourceList* list : lists) count += list->resources.size();
  entries_.reserve(count);  // pointers into it stay good
  std::size_t rank = 0;
  for (const ApiResourceList* list : lists) {
    ++rank;
    for (const ApiResource& r : list->resources) {
      if (r.is_subresource() || r.name.empty()) continue;
      // The group of the list counts: what a resource answers with may be a kind of another one.
      const Entry* entry = &entries_.emplace_back(Entry{{r.gvr(), list->group_version.WithKind(r.gvk.kind), r.namespaced}, rank});
      const std::string kind = Lower(r.gvk.kind);
      plural_[r.name.str()].push_back(entry);
      // Servers of old do not say it.
      const std::string singular = r.singular_name.empty() ? kind : r.singular_name.str();
      if (singular != r.name) singular_[singular].push_back(entry);
      kind_lower_[kind].push_back(entry);
      kind_[entry->mapping.gvk.group_kind()].push_back(entry);
      for (const String& name : r.short_names) short_[name.str()].push_back(entry);
      for (const String& name : r.categories) category_[name.str()].push_back(entry);
    }
  }
}

RestIndex::Matches RestIndex::FullName(const std::string& name, std::string_view group, std::string_view version, GroupMatch match) const {
  Matches out;
  for (const ByName* names : {&plural_, &singular_}) {
    for (const Entry* entry : FindOrEmpty(*names, name)) {
      const Gvr& gvr = entry->mapping.gvr;
      if (!GroupFits(gvr.group, group, match == GroupMatch::kPrefix) || (!version.empty() && gvr.version != version)) continue;
      out.push_back(entry);
    }
  }
  // Within a group-version, the plural comes first.
  std::stable_sort(out.begin(), out.end(), [](const Entry* a, const Entry* b) { return a->rank < b->rank; });
  return out;
}

RestIndex::Matches RestIndex::ShortName(const std::string& name, std::string_view group, std::string_view version, GroupMatch match,
                                        const Ambiguity& ambiguity) const {
  const Entry* first = nullptr;
  std::set<GroupResource> others;
  for (const Entry* entry : FindOrEmpty(short_, name)) {
    const Gvr& gvr = entry->mapping.gvr;
    if (!GroupFits(gvr.group, group, match == GroupMatch::kPrefix)) continue;
    if (first == nullptr) first = entry;
    if (gvr.group_resource() != first->mapping.gvr.group_resource()) others.insert(gvr.group_resource());
  }
  if (first == nullptr) return {};
  if (ambiguity) {
    for (const GroupResource& other : others) ambiguity(name, first->mapping.gvr.group_resource(), other);
  }
  // The preferred version, also if another one has the short name.
  Matches out;
  for (const Entry* entry : FindOrEmpty(plural_, first->mapping.gvr.resource.str())) {
    const Gvr& gvr = entry->mapping.gvr;
    if (gvr.group == first->mapping.gvr.group && (version.empty() || gvr.version == version)) out.push_back(entry);
  }
  return out;
}

std::vector<RestMapping> RestIndex::Resources(const Gvr& resource, const Ambiguity& ambiguity) const {
  const std::string name = Lower(resource.resource);
  Matches found = FullName(name, resource.group, resource.version, GroupMatch::kExact);
  // A full name in another version hides short names all the same.
  const bool known = !found.empty() || !FullName(name, resource.group, {}, GroupMatch::kExact).empty();
  if (!known) {
    found = ShortName(name, resource.group, resource.version, GroupMatch::kExact, ambiguity);
    if (found.empty() && !resource.group.empty() && resource.version.empty()) {
      found = FullName(name, resource.group, {}, GroupMatch::kPrefix);
      if (found.empty()) found = ShortName(name, resource.group, {}, GroupMatch::kPrefix, ambiguity);
    }
  }
  std::vector<RestMapping> out;
  for (const Entry* entry : found) out.push_back(entry->mapping);
  return out;
}

std::vector<RestMapping> RestIndex::Kinds(const GroupKind& kind, const std::vector<String>& versions) const {
  const Matches& found = FindOrEmpty(kind_, kind);
  std::vector<RestMapping> out;
  if (versions.empty()) {
    for (const Entry* entry : found) out.push_back(entry->mapping);
    return out;
  }
  for (const String& version : versions) {
    for (const Entry* entry : found) {
      if (entry->mapping.gvk.version == version) out.push_back(entry->mapping);
    }
    if (!out.empty()) break;
  }
  return out;
}

std::optional<RestMapping> RestIndex::Argument(std::string_view text, const Ambiguity& ambiguity) const {
  const ResourceArg resource = ParseResourceArg(text);
  if (resource.versioned) {
    if (std::vector<RestMapping> found = Resources(*resource.versioned, ambiguity); !found.empty()) return found.front();
  }
  if (std::vector<RestMapping> found = Resources(resource.unversioned.WithVersion(""), ambiguity); !found.empty()) return found.front();
  // A kind whose singular name is something else.
  const KindArg arg = ParseKindArg(text);
  for (const bool versioned : {true, false}) {
    if (versioned && !arg.versioned) continue;
    const Gvk wanted = versioned ? *arg.versioned : arg.unversioned.WithVersion("");
    for (const Entry* entry : FindOrEmpty(kind_lower_, Lower(wanted.kind))) {
      const Gvk& gvk = entry->mapping.gvk;
      if (GroupFits(gvk.group, wanted.group, false) && (wanted.version.empty() || gvk.version == wanted.version)) return entry->mapping;
    }
  }
  return std::nullopt;
}

std::vector<RestMapping> RestIndex::Category(std::string_view category) const {
  std::vector<RestMapping> out;
  std::set<GroupResource> taken;
  for (const Entry* entry : FindOrEmpty(category_, std::string(category))) {
    if (taken.insert(entry->mapping.gvr.group_resource()).second) out.push_back(entry->mapping);
  }
  return out;
}

bool RestIndex::MayBeInFailure(const GroupVersion& group_version) const {
  return std::any_of(apis_->failures.begin(), apis_->failures.end(), [&](const DiscoveryFailure& f) {
    return f.group_version.group == group_version.group &&
           (group_version.version.empty() || f.group_version.version == group_version.version);
  });
}

}  // namespace kube::internal
