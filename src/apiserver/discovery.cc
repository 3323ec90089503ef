#include "apiserver/discovery.h"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <algorithm>
#include <array>

#include "apiserver/builtin/catalogue.h"
#include "kube/version.h"

namespace kube::apiserver {
namespace {

constexpr std::string_view kMajor = "1", kMinor = "36", kPatch = "3", kOldestCompatibleMinor = "35";

std::vector<unsigned char> Digest(const EVP_MD* algorithm, std::string_view text) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int size = 0;
  EVP_Digest(text.data(), text.size(), digest.data(), &size, algorithm, nullptr);
  return {digest.begin(), digest.begin() + size};
}

std::string Base64(const unsigned char* bytes, std::size_t size) {
  std::string out((size + 2) / 3 * 4 + 1, '\0');
  int written = EVP_EncodeBlock(reinterpret_cast<unsigned char*>(out.data()), bytes, static_cast<int>(size));
  out.resize(static_cast<std::size_t>(written));
  return out;
}

// Names the kind in which objects are stored; clients that migrate storage compare it.
std::string StorageVersionHash(const Resources& resources, const ServedResource& r) {
  std::string_view group, version;
  if (r.builtin != nullptr) {
    if (r.builtin->storage_version.empty()) return "";
    group = r.builtin->storage_group;
    version = r.builtin->storage_version;
  } else {
    std::string_view api_version = r.storage_api_version;
    std::size_t slash = api_version.find('/');
    if (slash == std::string_view::npos) return "";
    group = api_version.substr(0, slash);
    version = api_version.substr(slash + 1);
    if (!resources.Find(group, version, r.resource)) return "";  // stored in a version that is not served
  }
  std::vector<unsigned char> digest = Digest(EVP_sha256(), fmt::format("{}/{}/{}", group, version, r.kind));
  return Base64(digest.data(), 8);
}

Value Strings(const std::vector<std::string>& items) {
  Value out = Value::Array();
  for (const std::string& item : items) out.MutableList().push_back(item);
  return out;
}

// The real server lists the verbs of custom resources in an order of its own.
Value Verbs(const ServedResource& r) {
  if (!r.custom) return Strings(r.verbs);
  static const std::vector<std::string> kOrder = {"delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"};
  Value out = Value::Array();
  for (const std::string& verb : kOrder) {
    if (r.HasVerb(verb)) out.MutableList().push_back(verb);
  }
  return out;
}

std::vector<const ServedSubresource*> Subresources(const ServedResource& r) {
  std::vector<const ServedSubresource*> out;
  for (const ServedSubresource& s : r.subresources) out.push_back(&s);
  // For custom resources, status stands before scale; built-in ones are already sorted by name.
  if (r.custom) std::stable_partition(out.begin(), out.end(), [](const ServedSubresource* s) { return s->name == "status"; });
  return out;
}

Value VersionOf(const ServedGroup& group, const ServedVersion& version) {
  return Value::Object({{"groupVersion", group.name + "/" + version.version}, {"version", version.version}});
}

Value GroupBody(const ServedGroup& group) {
  Value out = Value::Object({{"name", group.name}, {"versions", Value::Array()}});
  for (const ServedVersion& v : group.versions) out["versions"].MutableList().push_back(VersionOf(group, v));
  out["preferredVersion"] = VersionOf(group, group.versions.front());
  return out;
}

Value ResponseKind(std::string_view group, std::string_view version, std::string_view kind) {
  return Value::Object({{"group", group}, {"version", version}, {"kind", kind}});
}

Value DiscoveryOf(const ServedResource& r) {
  // The real server names group and version of what is built in only if they are not those of the resource.
  std::string_view group = r.custom ? r.group : std::string_view();
  std::string_view version = r.custom ? r.version : std::string_view();
  Value out = Value::Object({{"resource", r.resource},
                             {"responseKind", ResponseKind(group, version, r.kind)},
                             {"scope", r.namespaced ? "Namespaced" : "Cluster"},
                             {"singularResource", r.singular},
                             {"verbs", Verbs(r)}});
  if (!r.short_names.empty()) out["shortNames"] = Strings(r.short_names);
  if (!r.categories.empty()) out["categories"] = Strings(r.categories);
  for (const ServedSubresource* s : Subresources(r)) {
    bool own = s->group.empty() && s->version.empty();
    out["subresources"].MutableList().push_back(
        Value::Object({{"subresource", s->name},
                       {"responseKind", own ? ResponseKind(group, version, s->kind) : ResponseKind(s->group, s->version, s->kind)},
                       {"verbs", Strings(s->verbs)}}));
  }
  return out;
}

bool AllCustom(const ServedGroup& group) {
  for (const ServedVersion& v : group.versions) {
    for (const auto& [name, resource] : v.resources) {
      if (!resource->custom) return false;
    }
  }
  return true;
}

}  // namespace

std::vector<const ServedGroup*> DiscoveryGroups(const Resources& resources) {
  std::vector<const ServedGroup*> out;
  for (const ServedGroup& g : resources.groups()) {
    if (!g.name.empty()) out.push_back(&g);
  }
  auto custom = std::stable_partition(out.begin(), out.end(), [](const ServedGroup* g) { return !AllCustom(*g); });
  std::sort(custom, out.end(), [](const ServedGroup* a, const ServedGroup* b) { return a->name < b->name; });
  return out;
}

Value ApiVersions(std::string_view address) {
  return Value::Object(
      {{"kind", "APIVersions"},
       {"versions", Value::Array({"v1"})},
       {"serverAddressByClientCIDRs", Value::Array({Value::Object({{"clientCIDR", "0.0.0.0/0"}, {"serverAddress", address}})})}});
}

Value ApiGroupList(const Resources& resources) {
  Value out = Value::Object({{"kind", "APIGroupList"}, {"apiVersion", "v1"}, {"groups", Value::Array()}});
  for (const ServedGroup* g : DiscoveryGroups(resources)) out["groups"].MutableList().push_back(GroupBody(*g));
  return out;
}

Value ApiGroup(const ServedGroup& group) {
  Value out = GroupBody(group);
  out["kind"] = "APIGroup";
  out["apiVersion"] = "v1";
  return out;
}

Value ApiResourceList(const Resources& resources, const ServedGroup& group, const ServedVersion& version) {
  Value out = Value::Object({{"kind", "APIResourceList"}, {"resources", Value::Array()}});
  out["groupVersion"] = group.name.empty() ? version.version : group.name + "/" + version.version;
  if (!group.name.empty()) out["apiVersion"] = "v1";  // the real server leaves it out for core
  List<Value>& list = out["resources"].MutableList();
  for (const auto& [name, r] : version.resources) {
    Value entry = Value::Object(
        {{"name", r->resource}, {"singularName", r->singular}, {"namespaced", r->namespaced}, {"kind", r->kind}, {"verbs", Verbs(*r)}});
    if (!r->short_names.empty()) entry["shortNames"] = Strings(r->short_names);
    if (!r->categories.empty()) entry["categories"] = Strings(r->categories);
    if (std::string hash = StorageVersionHash(resources, *r); !hash.empty()) entry["storageVersionHash"] = hash;
    list.push_back(std::move(entry));
    for (const ServedSubresource* s : Subresources(*r)) {
      Value sub = Value::Object({{"name", r->resource + "/" + s->name},
                                 {"singularName", ""},
                                 {"namespaced", r->namespaced},
                                 {"kind", s->kind},
                                 {"verbs", Strings(s->verbs)}});
      if (!s->group.empty()) sub["group"] = s->group;
      if (!s->version.empty()) sub["version"] = s->version;
      list.push_back(std::move(sub));
    }
  }
  return out;
}

Value GroupDiscoveryList(const Resources& resources, bool core, std::string_view version) {
  Value out = Value::Object({{"kind", "APIGroupDiscoveryList"},
                             {"apiVersion", fmt::format("apidiscovery.k8s.io/{}", version)},
                             {"metadata", Value::Object()},
                             {"items", Value::Array()}});
  std::vector<const ServedGroup*> groups = DiscoveryGroups(resources);
  if (core) {
    groups.clear();
    if (const ServedGroup* g = resources.FindGroup("")) groups.push_back(g);
  }
  for (const ServedGroup* g : groups) {
    Value item = Value::Object({{"metadata", Value::Object()}, {"versions", Value::Array()}});
    if (!g->name.empty()) item["metadata"]["name"] = g->name;
    for (const ServedVersion& v : g->versions) {
      Value entry = Value::Object({{"version", v.version}, {"resources", Value::Array()}, {"freshness", "Current"}});
      for (const auto& [name, r] : v.resources) entry["resources"].MutableList().push_back(DiscoveryOf(*r));
      item["versions"].MutableList().push_back(std::move(entry));
    }
    out["items"].MutableList().push_back(std::move(item));
  }
  return out;
}

std::string Sha512Hex(std::string_view text) {
  std::string out;
  for (unsigned char byte : Digest(EVP_sha512(), text)) out += fmt::format("{:02X}", byte);
  return out;
}

std::string ETagOf(std::string_view answer) { return "\"" + Sha512Hex(answer) + "\""; }

std::string_view KubernetesMinorVersion() {
  static const std::string kText = fmt::format("{}.{}", kMajor, kMinor);
  return kText;
}

Value VersionInfo() {
#if defined(__aarch64__)
  constexpr std::string_view kPlatform = "linux/arm64";
#else
  constexpr std::string_view kPlatform = "linux/amd64";
#endif
  // Clients read these texts; they say that this server does not run Go.
  return Value::Object({{"major", kMajor},
                        {"minor", kMinor},
                        {"emulationMajor", kMajor},
                        {"emulationMinor", kMinor},
                        {"minCompatibilityMajor", kMajor},
                        {"minCompatibilityMinor", kOldestCompatibleMinor},
                        {"gitVersion", fmt::format("v{}.{}.{}+kubexx.{}", kMajor, kMinor, kPatch, KUBE_VERSION_STRING)},
                        {"gitCommit", "unknown"},
                        {"gitTreeState", "clean"},
                        {"buildDate", "1970-01-01T00:00:00Z"},
                        {"goVersion", "none"},
                        {"compiler", "gcc"},
                        {"platform", kPlatform}});
}

}  // namespace kube::apiserver
