#include "client/discovery_parse.h"

#include <algorithm>
#include <cctype>
#include <utility>

#include "kube/api/apidiscovery/v2.h"
#include "kube/api/apidiscovery/v2beta1.h"
#include "kube/codec/json.h"
#include "kube/meta/v1.h"

namespace kube::internal {
namespace {

constexpr std::string_view kJson = "application/json";
constexpr std::string_view kGroup = "apidiscovery.k8s.io";
constexpr std::string_view kKind = "APIGroupDiscoveryList";

std::string_view Trim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

bool EqualsNoCase(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) {
    return std::tolower(static_cast<unsigned char>(x)) == std::tolower(static_cast<unsigned char>(y));
  });
}

template <typename Strings>
std::vector<String> ToVector(const Strings& strings) {
  return {strings.begin(), strings.end()};
}

List<String> ToList(const std::vector<String>& strings) { return {strings.begin(), strings.end()}; }

bool IsEmpty(const Box<meta::v1::GroupVersionKind>& kind) {
  return !kind || (kind->group.empty() && kind->version.empty() && kind->kind.empty());
}

Gvk ToGvk(const meta::v1::GroupVersionKind& kind) { return {kind.group, kind.version, kind.kind}; }

Error StaleVersion(const GroupVersion& group_version) {
  Error::Payload payload;
  payload.kind = ErrorKind::kApi;
  payload.http_code = 503;
  payload.reason = "StaleGroupVersion";
  payload.message = "stale GroupVersion discovery: " + group_version.ToString() + " (its API server does not answer)";
  return Error(std::move(payload));
}

// A resource without a kind is left out, its subresources are not: they have kinds of their own.
template <typename Resource>
void AddResource(const Resource& in, ApiResourceList& list) {
  ApiResource resource;
  resource.name = in.resource;
  resource.singular_name = in.singular_resource;
  resource.group_version = list.group_version;
  resource.namespaced = in.scope == apidiscovery::v2::kScopeNamespace;
  const ApiResource parent = resource;
  if (!IsEmpty(in.response_kind)) {
    resource.gvk = ToGvk(*in.response_kind);
    resource.verbs = ToVector(in.verbs);
    resource.short_names = ToVector(in.short_names);
    resource.categories = ToVector(in.categories);
    list.resources.push_back(std::move(resource));
  }
  for (const auto& sub : in.subresources) {
    if (IsEmpty(sub.response_kind)) continue;
    ApiResource child = parent;
    child.name = String(parent.name.str() + "/" + sub.subresource.str());
    child.gvk = ToGvk(*sub.response_kind);
    child.verbs = ToVector(sub.verbs);
    list.resources.push_back(std::move(child));
  }
}

template <typename GroupList>
Result<DiscoveryRoot> ParseAggregated(std::string_view body) {
  Result<GroupList> document = FromJson<GroupList>(body, {.keep_unknown = false});
  if (!document) return document.error();
  DiscoveryRoot root;
  root.aggregated = true;
  for (const auto& item : std::as_const(document->items)) {
    ApiGroup group;
    group.name = item.metadata.name;
    for (const auto& version : item.versions) {
      if (version.version.empty()) continue;  // nothing could be asked of it
      const GroupVersion group_version{group.name, version.version};
      if (version.freshness == apidiscovery::v2::kDiscoveryFreshnessStale) {
        root.failures.push_back({group_version, StaleVersion(group_version)});
        continue;
      }
      if (group.Has(version.version)) continue;  // once is enough
      group.versions.push_back(version.version);
      ApiResourceList& list = root.lists.emplace_back(ApiResourceList{group_version, {}});
      for (const auto& resource : version.resources) AddResource(resource, list);
    }
    if (!group.versions.empty()) group.preferred_version = group.versions.front();
    root.groups.push_back(std::move(group));
  }
  return root;
}

Result<DiscoveryRoot> ParseCoreVersions(std::string_view body) {
  Result<meta::v1::APIVersions> versions = FromJson<meta::v1::APIVersions>(body, {.keep_unknown = false});
  if (!versions) return versions.error();
  DiscoveryRoot root;
  ApiGroup core;
  for (const String& version : std::as_const(versions->versions)) {
    if (!version.empty()) core.versions.push_back(version);
  }
  if (!core.versions.empty()) {
    core.preferred_version = core.versions.front();
    root.groups.push_back(std::move(core));
  }
  return root;
}

}  // namespace

std::string DiscoveryAccept(bool legacy, bool no_peer) {
  if (legacy) return std::string(kJson);
  // The order of the parameters counts for servers.
  const auto form = [](std::string_view version) {
    return std::string(kJson) + ";g=" + std::string(kGroup) + ";v=" + std::string(version) + ";as=" + std::string(kKind);
  };
  std::string accept;
  if (no_peer) accept = form("v2") + ";profile=nopeer,";
  return accept + form("v2") + "," + form("v2beta1") + "," + std::string(kJson);
}

DiscoveryForm DiscoveryFormOf(std::string_view content_type) {
  std::string_view media_type, group, version, as;
  bool first = true;
  for (std::string_view rest = content_type; !rest.empty() || first;) {
    const std::size_t semicolon = rest.find(';');
    const std::string_view part = Trim(rest.substr(0, semicolon));
    rest = semicolon == std::string_view::npos ? std::string_view() : rest.substr(semicolon + 1);
    if (std::exchange(first, false)) {
      media_type = part;
      continue;
    }
    const std::size_t equals = part.find('=');
    if (equals == std::string_view::npos) continue;
    const std::string_view key = Trim(part.substr(0, equals));
    std::string_view value = Trim(part.substr(equals + 1));
    if (value.size() >= 2 && value.front() == '"' && value.back() == '"') value = value.substr(1, value.size() - 2);
    if (EqualsNoCase(key, "g")) group = value;
    if (EqualsNoCase(key, "v")) version = value;
    if (EqualsNoCase(key, "as")) as = value;
  }
  if (!EqualsNoCase(media_type, kJson) || group != kGroup || as != kKind) return DiscoveryForm::kLegacy;
  if (version == "v2") return DiscoveryForm::kV2;
  return version == "v2beta1" ? DiscoveryForm::kV2Beta1 : DiscoveryForm::kLegacy;
}

Result<DiscoveryRoot> ParseDiscoveryRoot(DiscoveryForm form, bool core, std::string_view body) {
  switch (form) {
    case DiscoveryForm::kV2:
      return ParseAggregated<apidiscovery::v2::APIGroupDiscoveryList>(body);
    case DiscoveryForm::kV2Beta1:
      return ParseAggregated<apidiscovery::v2beta1::APIGroupDiscoveryList>(body);
    case DiscoveryForm::kLegacy:
      break;
  }
  if (core) return ParseCoreVersions(body);
  Result<std::vector<ApiGroup>> groups = ReadApiGroups(body);
  if (!groups) return groups.error();
  DiscoveryRoot root;
  root.groups = *std::move(groups);
  return root;
}

Result<ApiResourceList> ParseApiResourceList(const GroupVersion& group_version, std::string_view body) {
  Result<meta::v1::APIResourceList> document = FromJson<meta::v1::APIResourceList>(body, {.keep_unknown = false});
  if (!document) return document.error();
  ApiResourceList list{group_version, {}};
  for (const meta::v1::APIResource& in : std::as_const(document->resources)) {
    ApiResource out;
    out.name = in.name;
    out.singular_name = in.singular_name;
    out.group_version = group_version;
    // Each is present only if it differs from the list's.
    out.gvk = {in.group.empty() ? group_version.group : in.group, in.version.empty() ? group_version.version : in.version, in.kind};
    out.namespaced = in.namespaced;
    out.verbs = ToVector(in.verbs);
    out.short_names = ToVector(in.short_names);
    out.categories = ToVector(in.categories);
    list.resources.push_back(std::move(out));
  }
  return list;
}

std::string WriteApiGroups(const std::vector<ApiGroup>& groups) {
  meta::v1::APIGroupList document;
  for (const ApiGroup& group : groups) {
    const auto version_of = [&](const String& version) {
      return meta::v1::GroupVersionForDiscovery{.group_version = String(GroupVersion{group.name, version}.ToString()), .version = version};
    };
    meta::v1::APIGroup out;
    out.name = group.name;
    for (const String& version : group.versions) out.versions.push_back(version_of(version));
    if (!group.preferred_version.empty()) out.preferred_version = version_of(group.preferred_version);
    document.groups.push_back(std::move(out));
  }
  return ToJson(document).value_or("");
}

Result<std::vector<ApiGroup>> ReadApiGroups(std::string_view text) {
  Result<meta::v1::APIGroupList> document = FromJson<meta::v1::APIGroupList>(text, {.keep_unknown = false});
  if (!document) return document.error();
  std::vector<ApiGroup> groups;
  for (const meta::v1::APIGroup& in : std::as_const(document->groups)) {
    ApiGroup out;
    out.name = in.name;
    for (const meta::v1::GroupVersionForDiscovery& version : in.versions) {
      if (!version.version.empty()) out.versions.push_back(version.version);
    }
    out.preferred_version = in.preferred_version.version;
    if (out.preferred_version.empty() && !out.versions.empty()) out.preferred_version = out.versions.front();
    groups.push_back(std::move(out));
  }
  return groups;
}

std::string WriteApiResourceList(const ApiResourceList& list) {
  meta::v1::APIResourceList document;
  document.group_version = String(list.group_version.ToString());
  for (const ApiResource& in : list.resources) {
    meta::v1::APIResource out;
    out.name = in.name;
    out.singular_name = in.singular_name;
    if (in.gvk.group_version() != list.group_version) {
      out.group = in.gvk.group;
      out.version = in.gvk.version;
    }
    out.kind = in.gvk.kind;
    out.namespaced = in.namespaced;
    out.verbs = ToList(in.verbs);
    out.short_names = ToList(in.short_names);
    out.categories = ToList(in.categories);
    document.resources.push_back(std::move(out));
  }
  return ToJson(document).value_or("");
}

}  // namespace kube::internal
